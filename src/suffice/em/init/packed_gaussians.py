"""Mixtures that run by nothing but sums of products: those of Gaussian components.

`PackedMixture` is such a mixture as the loop of EM sees it: the same steps, floors and acceleration, without the values
and statistics that could answer anything else. Of the many passes over few rows that a start takes, these would cost
most.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice import kernels
from suffice.core.responsibilities import Joint
from suffice.core.value import replace_valid
from suffice.em.convergence import FLAT, Convergence
from suffice.em.init.packed_columns import PackedColumns
from suffice.em.linear_statistics import from_raw, pilot, raw
from suffice.em.loop import EMResult
from suffice.em.order import by_place
from suffice.em.trace import Trace
from suffice.em.training import TrainingData
from suffice.engines.once import cached_property
from suffice.errors import SufficeError
from suffice.kernels.numpy.gaussian import softmax
from suffice.kernels.numpy.primitives import LOG_2PI
from suffice.kernels.numpy.quadratic import FALL, MANY_COLUMNS, ROUGH, SEEN, coefficients_of, triangle
from suffice.statistics.moments import Scatter
from suffice.statistics.sums import share
from suffice.statistics.weights import Weights
from suffice.types import Array, Prior

MANY_FOR_A_STRUCTURE = 11  # from here on one that needs fewer products has a faster pass of its own
STEP = 1 << 15  # products at a time: 256 kB
UNTOLD = "the sums do not tell the components"


class LostError(SufficeError):
    """The sums do not tell the components: digits were lost, a component has no rows, or lies on its floor."""


@dataclass(frozen=True)
class PackedRows:
    """Where products are taken, centre and scale (d,), and what holds the components.

    A floor (d, d) and a ridge (d,).
    """

    mixture: Any
    centre: Array
    scale: Array
    floor: Array
    ridge: Array

    @classmethod
    def of(cls, mixture: Any, rows: Any, weights: Weights) -> PackedRows | None:
        """Complete rows; None where the mixture, or what it is fitted to, needs more than sums."""
        stack, floors = mixture.components, mixture.floors
        plain = type(rows) is np.ndarray and len(rows) > 1 and weights.codes is None and not mixture.hard
        if not (plain and stack.is_quadratic and "weights" in mixture.free):
            return None
        if not 0 < rows.shape[1] < (MANY_COLUMNS if stack.form.unrestricted else MANY_FOR_A_STRUCTURE):
            return None
        x = np.asarray(rows, dtype=float)
        with np.errstate(all="ignore"):
            centre, spread = x.mean(axis=0), np.log2(x.std(axis=0))
            scale = np.exp2(-np.round(spread if stack.form.unrestricted else np.full(len(spread), spread.mean())))
            if not (np.isfinite(centre) & np.isfinite(scale**2) & (scale**2 > 0)).all():
                return None
        d = len(centre)
        ridge = np.full(d, floors if isinstance(floors, float) else 0.0) * scale**2
        floor = np.zeros((d, d)) if floors is None or isinstance(floors, float) else floors * (scale[:, None] * scale)
        return cls(mixture, centre, scale, floor, ridge)

    def pack(self, mixture: Any) -> PackedMixture:
        """The mixture as the passes see it."""
        if isinstance(mixture, PackedMixture):
            return mixture
        stack = mixture.components
        mean = (np.asarray(stack.mean) - self.centre) * self.scale
        return self._described(
            replace_valid(stack, mean=mean, cov=stack.cov * (self.scale[:, None] * self.scale)), mixture.weights
        )

    def sums_of(self, rows: Array, starts: list[Array], weights: Weights) -> Array:
        """The sums of products (s, k, m) of weighted rows whose owners are known in parts, (n, k) each."""
        k, size = starts[0].shape[1], len(self.centre) + 1
        step, sums = max(STEP // (size * (size + 1) // 2), 1), np.zeros((len(starts) * k, size * (size + 1) // 2))
        for begin in range(0, len(rows), step):
            part = slice(begin, begin + step)
            shares = np.concatenate([one[part] for one in starts], axis=1)
            sums += (shares * weights[part].dense()).T @ self._products(rows[part])
        return sums.reshape(len(starts), k, -1)

    def _products(self, rows: Array) -> Array:
        """The products (n, m) of rows."""
        first, second, _ = triangle(len(self.centre) + 1)
        y = np.ones((len(rows), len(self.centre) + 1))
        np.multiply(rows - self.centre, self.scale, out=y[:, 1:])
        return np.asarray(y[:, first] * y[:, second])

    def from_responsibilities(self, rows: Array, shares: Array, weights: Weights) -> PackedMixture:
        """The estimate of weighted rows whose owners are known in parts (n, k)."""
        return self.estimate(self.sums_of(rows, [shares], weights)[0])

    def estimate(self, sums: Array, before: PackedMixture | None = None) -> PackedMixture:
        """The mixture that the sums tell of; where a structure has the M-step, from the components ``before``."""
        cov = None if before is None else before.cov
        found = kernels.quadratic_step(sums, self.floor, self.ridge, self.log_scale, self.structure, cov)
        if found.sure:
            return PackedMixture(self, found.weight / found.weight.sum(), found.mean, found.cov, found.coefficients)
        if self.mixture.components.form.unrestricted:
            raise LostError(UNTOLD)
        return self._above_floor(sums, self._unit_stack() if before is None else before.stack)

    def _above_floor(self, sums: Array, before: Any) -> PackedMixture:
        """The same by the M-step of the structure itself, which knows what is best above a floor."""
        stats = self.gathered(sums)
        seen = stats.weight > SEEN * stats.weight.sum()
        second = sums[:, triangle(len(self.centre) + 1)[2]].reshape(len(sums), len(self.centre) + 1, -1)[:, 1:, 1:]
        kept = np.einsum("kii->ki", second) <= ROUGH * np.einsum("kii->ki", stats.scatter)
        if not (seen.all() and kept.all()):
            raise LostError(UNTOLD)
        floor = self.mixture.floors
        floor = float(self.ridge[0]) if isinstance(floor, float) else None if floor is None else self.floor
        return self._described(before.m_step(stats, None, floor), stats.weight / stats.weight.sum())

    def _unit_stack(self) -> Any:
        """Components of which nothing is known."""
        stack = self.mixture.components
        unit = np.broadcast_to(np.eye(len(self.centre)), np.shape(stack.cov))
        return replace_valid(stack, mean=np.zeros(np.shape(stack.mean)), cov=unit)

    def _described(self, stack: Any, weights: Array) -> PackedMixture:
        """The mixture of such components, about the centre and in units of the scale."""
        whiten, log_det = stack.whitening
        mean, cov, form = np.asarray(stack.mean), np.asarray(stack.cov), whiten.swapaxes(1, 2) @ whiten
        deviation = np.sqrt(mean**2 + np.einsum("kii->ki", cov))
        if not (deviation[:, None] @ np.abs(form) @ deviation[:, :, None]).max() <= ROUGH or not weights.all():
            raise LostError(UNTOLD)
        constant = np.log(weights) + log_det - 0.5 * len(self.centre) * LOG_2PI + self.log_scale
        return PackedMixture(self, weights, mean, cov, coefficients_of(mean, form, constant))

    @cached_property
    def log_scale(self) -> float:
        """What the scale adds to a log density."""
        return float(np.log(self.scale).sum())

    @cached_property
    def structure(self) -> str:
        """The letters of the covariance structure."""
        return str(self.mixture.components.form.letters)

    def run(self, first: PackedMixture, data: TrainingData, passes: int, tol: float, *, leaps: bool) -> EMResult | None:
        """A run as one loop of a kernel; None where sums do not tell its components."""
        start = first.weights, first.mean, first.cov, first.coefficients
        return self._runs(tuple(one[None] for one in start), data, passes, tol, leaps)[0]

    def runs_from(
        self, sums: Array, data: TrainingData, passes: int, tol: float, *, leaps: bool
    ) -> list[EMResult | None]:
        """The same from the estimates of several sums of products (s, k, m)."""
        return self._runs((sums,), data, passes, tol, leaps)

    def _runs(self, starts: Any, data: TrainingData, passes: int, tol: float, leaps: bool) -> list[EMResult | None]:  # noqa: FBT001
        clock, w = time.perf_counter(), data.weights
        held, rule = (self.floor, self.ridge, self.log_scale), (passes, tol, data.unit, leaps)
        found = kernels.quadratic_runs(data.rows, w.values, self.centre, self.scale, starts, held, rule, self.structure)
        seconds = (time.perf_counter() - clock) / max(sum(len(one.trace) for one in found), 1)
        return [None if one.end == "lost" else self._result(one, data, passes, seconds) for one in found]

    def _result(self, run: Any, data: TrainingData, passes: int, seconds: float) -> EMResult:
        """A run of the kernel as one of the loop of EM."""
        value, entropy = run.trace.T
        unknown = np.full(len(value), np.nan)
        last = PackedMixture(self, run.share, run.mean, run.cov, run.coefficients)
        trace = Trace(value, unknown, unknown, entropy, np.full(len(value), seconds), value, run.passes)
        stats = Products(run.sums, float(value[-1]), float(entropy[-1]), np.array([data.weights.solid]))
        end = FLAT if run.end == "flat" else Convergence(passes).out_of_passes()
        return EMResult(last, stats, trace, end.converged, end.reason, unit=data.unit)

    def statistics(self, stats: Products) -> Joint:
        """The statistics as the mixture gathers them."""
        here = self.gathered(stats.sums)
        components = replace(
            here,
            centre=np.broadcast_to(self.centre, here.shift.shape),
            shift=here.shift / self.scale,
            scatter=here.scatter / (self.scale[:, None] * self.scale),
        )
        found = Joint(
            here.weight, components, np.array([stats.log_likelihood]), np.array([stats.entropy]), solid=stats.solid
        )
        return self.mixture.tag_family(found)  # type: ignore[no-any-return]

    def gathered(self, sums: Array) -> Scatter:
        """The components' statistics about the centre and in units of the scale."""
        size = len(self.centre) + 1
        whole = sums[:, triangle(size)[2]].reshape(-1, size, size)
        weight = whole[:, 0, 0].copy()
        shift = share(whole[:, 1:, 0], weight[:, None])
        scatter = whole[:, 1:, 1:] - weight[:, None, None] * (shift[:, :, None] * shift[:, None])
        return Scatter(weight, np.zeros(shift.shape), shift, scatter)


@dataclass(frozen=True, eq=False)
class Products:
    """What a pass gathers: the components' sums of products (k, m), the log-likelihood and the entropy."""

    sums: Array
    log_likelihood: float
    entropy: float
    solid: Array


@dataclass(frozen=True, eq=False)
class PackedMixture:
    """A mixture as passes over packed sums see it: what the loop of EM asks for, in units of the scale."""

    packed: PackedRows
    weights: Array
    mean: Array
    cov: Array
    coefficients: Array

    @cached_property
    def stack(self) -> Any:
        """The components, in units of the scale."""
        return replace_valid(self.packed.mixture.components, mean=self.mean, cov=self.cov)

    @cached_property
    def unpacked(self) -> Any:
        """The mixture, in units of the rows."""
        packed, mixture = self.packed, self.packed.mixture
        mean, cov = packed.centre + self.mean / packed.scale, self.cov / (packed.scale[:, None] * packed.scale)
        components = replace_valid(mixture.components, mean=mean, cov=cov)
        return replace_valid(mixture, components=components, weights=self.weights)

    def ordered(self) -> PackedMixture:
        """The same mixture with its components in canonical order."""
        order = by_place(self.mean, self.weights)
        return PackedMixture(
            self.packed, self.weights[order], self.mean[order], self.cov[order], self.coefficients[order]
        )

    def responsibilities(self, rows: Array) -> Array:
        """P(component given row), (n, k)."""
        return softmax(self.packed._products(rows) @ self.coefficients.T)[0]  # noqa: SLF001 (ours)

    def spurious_gain(self, stats: Products) -> float:
        """As of the mixture itself."""
        return float(self.unpacked.spurious_gain(self.packed.statistics(stats)))

    @property
    def is_monotone(self) -> bool:
        return bool(self.packed.mixture.is_monotone)

    @staticmethod
    def tag_family(stats: Products) -> Products:
        """The statistics: they are marked when they leave."""
        return stats

    def gather_rows(self, rows: Array, weights: Weights) -> Products:
        """One pass over the rows."""
        value, entropy, sums = kernels.quadratic_e_step(
            rows, weights.values, self.packed.centre, self.packed.scale, self.coefficients
        )
        if not np.isfinite(value):
            msg = "a row that nobody can have made"
            raise LostError(msg)
        return Products(sums, value, entropy, np.array([weights.solid]))

    def estimate(self, stats: Products, prior: Prior = None) -> PackedMixture:
        """The next mixture."""
        del prior
        return self.packed.estimate(stats.sums, self)

    def measured_log_likelihood(self, stats: Products, rows: Any = None, weights: Any = None) -> float:
        return stats.log_likelihood

    def log_likelihood(self, stats: Products) -> float:
        """The bound, which after a pass is the log-likelihood."""
        return stats.log_likelihood

    def distance(self, other: PackedMixture) -> float:
        """The largest relative move of a parameter."""
        std = np.sqrt(np.einsum("kii->ki", self.cov))
        moved = np.abs(other.mean - self.mean) / std
        turned = np.abs(other.cov - self.cov) / (std[:, :, None] * std[:, None])
        return float(max(moved.max(), turned.max(), np.abs(other.weights - self.weights).max()))

    def rounding(self, stats: Products) -> float:
        return FALL * abs(stats.log_likelihood)

    def is_spurious(self, stats: Products) -> bool:
        del stats
        return False

    @property
    def name(self) -> str:
        return str(self.packed.mixture.name)


@pilot.register
def _(stats: Products) -> Any:
    del stats
    return ()


@raw.register
def _(stats: Products, about: Any) -> Array:
    del about
    return stats.sums.ravel()


@from_raw.register
def _(stats: Products, vector: Array, about: Any) -> Any:
    del about
    sums = vector.reshape(stats.sums.shape)
    return None if (sums[:, 0] < 0).any() else replace(stats, sums=sums)


def is_packed(mixture: Any) -> bool:
    """Whether a mixture is one as passes over packed sums see it."""
    return isinstance(mixture, PackedMixture)


def unpacked(path: EMResult) -> EMResult:
    """A run over packed sums as one of the mixture; any other as it is."""
    last = path.distribution
    if isinstance(last, PackedColumns):
        return replace(path, distribution=last.unpacked, statistics=last.statistics)
    if not isinstance(last, PackedMixture):
        return path
    return replace(path, distribution=last.unpacked, statistics=last.packed.statistics(path.statistics))
