"""Angles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from suffice.core.exponential_family import ExponentialFamily
from suffice.core.family import Family
from suffice.core.parameters import NONNEGATIVE, REAL, parameter
from suffice.numerics.derivatives import errors_from_information
from suffice.numerics.lazy import special
from suffice.numerics.special import bregman
from suffice.statistics.sums import Sums
from suffice.types import Alert, Array

SHARPEST = 1e10  # the largest concentration that sums of cosines can tell from a point
CHANCE = 3.0  # n·R² below which uniform angles look as concentrated in one sample out of twenty
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(80)
REACH = 42.0  # e^−42 of a density is beyond float64


def resultant(concentration: Array | float) -> tuple[Array, Array]:
    """E cos(x − loc) = I₁/I₀ and its derivative in the concentration."""
    kappa = np.asarray(concentration, dtype=float)
    ratio = special.i1e(kappa) / special.i0e(kappa)
    with np.errstate(all="ignore"):
        near = np.where(kappa > 1e-8, 1 - ratio**2 - ratio / kappa, 0.5)
        far = (1 + 0.5 / kappa + 0.75 / kappa**2) / (2 * kappa**2)
    return ratio, np.where(kappa > 1e4, far, near)


def concentration_of(length: Array) -> Array:
    """The concentration whose E cos(x − loc) is ``length``, by Newton's method from a rational guess."""
    r = np.clip(length, 0.0, 1 - 0.5 / SHARPEST)
    low, high = 2 * r + r**3 + 5 * r**5 / 6, 1 / (r**3 - 4 * r**2 + 3 * r + 1e-300)
    kappa = np.where(r < 0.53, low, np.where(r < 0.85, -0.4 + 1.39 * r + 0.43 / (1 - r), high))
    for _ in range(50):
        ratio, slope = resultant(kappa)
        step = np.clip((r - ratio) / slope, -0.5 * kappa, kappa)
        kappa = kappa + step
        if (np.abs(step) <= 1e-15 * kappa).all():
            break
    return np.where(length <= 1e-15, 0.0, np.minimum(kappa, SHARPEST))


@dataclass(frozen=True, eq=False, repr=False)
class VonMises(ExponentialFamily):
    r"""An angle in radians around ``loc``: :math:`p(x) = e^{\kappa\cos(x-m)} / 2\pi I_0(\kappa)`, of period 2π.

    Statistic (cos x, sin x), natural parameter κ·(cos m, sin m), log-partition log I₀(κ); κ is ``concentration``, 0 for
    uniform angles. Draws, cdf, quantile and variance speak of the turn from loc − π to loc + π.

    >>> sf.fit(sf.VonMises().fix("concentration"), [0.0, np.pi / 2]).distribution
    VonMises(loc=0.785398, concentration=1).fix('concentration')
    """

    loc: Any = parameter(REAL, default=0.0, typical=(-3.0, 3.0), period=2 * np.pi)
    concentration: Any = parameter(NONNEGATIVE, default=1.0, typical=(0.5, 8.0))

    quick_quantiles = False

    def statistic(self, x: Array) -> Array:
        return np.stack([np.cos(x, dtype=np.float64), np.sin(x, dtype=np.float64)], axis=-1)

    def log_base(self, x: Array) -> Array:
        return np.full(np.shape(x), -np.log(2 * np.pi))

    def natural(self) -> Array:
        return np.stack([self.concentration * np.cos(self.loc), self.concentration * np.sin(self.loc)], axis=-1)

    def from_natural(self, eta: Array) -> Self:
        cosine, sine = np.moveaxis(np.asarray(eta, dtype=float), -1, 0)
        return replace(self, loc=np.arctan2(sine, cosine), concentration=np.hypot(cosine, sine))

    def log_partition(self) -> Array:
        return np.asarray(self.concentration + np.log(special.i0e(self.concentration)))

    def mean_statistic(self) -> Array:
        length, _ = resultant(self.concentration)
        return np.stack([length * np.cos(self.loc), length * np.sin(self.loc)], axis=-1)

    def log_cell(self, x: Array) -> Array:
        fall = 2 * self.concentration * np.square(np.sin((x - self.loc) / 2))
        return np.asarray(-fall - np.log(2 * np.pi * special.i0e(self.concentration)))

    @property
    def plain_score(self) -> bool:
        return bool(np.max(self.concentration, initial=0.0) <= 1e3)  # beyond, η·u − A would cancel

    def log_density(self, x: Array) -> Array:
        return super().log_density(x) if self.plain_score else Family.log_density(self, x)

    def from_mean(self, mean: Array) -> Self:
        return self._solve(mean, np.ones(mean.shape[:-1]))

    def maximise(self, stats: Sums) -> Self:
        return self.choose(stats.weight == 0, self._solve(stats.mean, stats.weight))

    def _solve(self, mean: Array, weight: Array) -> Self:
        """Direction and length of the mean vector; with a shared loc the two depend on each other, and take turns."""
        loc, kappa = np.asarray(self.loc, dtype=float), np.asarray(self.concentration, dtype=float)
        for _ in range(1000):
            before = loc, kappa
            if "loc" not in self.fixed:
                pull = mean
                if "loc" in self.tied:
                    strength = (weight * np.where("concentration" in self.tied, 1.0, kappa + 1e-300))[..., None]
                    pull = np.broadcast_to((strength * mean).sum(axis=0), mean.shape)
                loc = np.arctan2(pull[..., 1], pull[..., 0])
                loc = np.where(loc >= np.pi, -np.pi, loc)
            if "concentration" not in self.fixed:
                along = np.hypot(mean[..., 0], mean[..., 1])
                if {"loc"} & (self.fixed | self.tied):
                    along = mean[..., 0] * np.cos(loc) + mean[..., 1] * np.sin(loc)
                if "concentration" in self.tied:
                    pooled = (weight * along).sum(axis=0) / np.maximum(weight.sum(axis=0), 1e-300)
                    along = np.broadcast_to(pooled, along.shape)
                kappa = concentration_of(along)
            moved = np.abs(loc - before[0]) + np.abs(kappa - before[1]) / (1 + kappa)
            if "loc" not in self.tied or (moved <= 1e-14).all():
                break
        return replace(self, loc=loc, concentration=kappa)

    def error_cells(self, stats: Sums) -> dict[str, Array]:
        along = stats.total[..., 0] * np.cos(self.loc) + stats.total[..., 1] * np.sin(self.loc)
        across = stats.total[..., 1] * np.cos(self.loc) - stats.total[..., 0] * np.sin(self.loc)
        rows = [[self.concentration * along, -across], [-across, stats.weight * resultant(self.concentration)[1]]]
        information = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
        pick = [("loc", "concentration").index(name) for name in self.free]
        return errors_from_information(information[..., pick, :][..., pick], self.free, self.tied)

    def alerts(self, stats: Sums) -> tuple[Alert, ...]:
        if "concentration" in self.fixed:
            return ()
        found: list[Alert] = []
        seen = stats.weight > 0
        length = np.hypot(stats.mean[..., 0], stats.mean[..., 1])
        if (seen & (stats.weight * np.square(length) < CHANCE) & (length < 0.9)).any():
            text = (
                "the angles point no more to one side than uniform ones would by chance, so loc means little and the "
                "concentration may be 0. Add data, or fix one of them."
            )
            code = "boundary" if (np.asarray(self.concentration) == 0).any() else "unidentified"
            found.append(Alert(code, text))
        if (seen & (np.asarray(self.stacked.concentration) >= 0.9 * SHARPEST)).any():
            text = (
                "the angles are nearly all the same, so the concentration grows without bound; it was held at "
                f"{SHARPEST:g}. Add data, or fix concentration."
            )
            found.append(Alert("collapsed", text))
        return tuple(found)

    @property
    def peak_precision(self) -> Array:
        return np.asarray(np.maximum(self.concentration, 1e-6))

    def widen(self, by: Array) -> Self:
        return replace(self, concentration=self.concentration / by)

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        return np.asarray(self.loc + rng.vonmises(0.0, self.concentration, (n, *self.batch)))

    def cumulative(self, x: Array) -> Array:
        t = np.clip(x - np.asarray(self.loc), -np.pi, np.pi)
        lower = _below(-np.abs(t), np.asarray(self.concentration, dtype=float))
        return np.where(t <= 0, lower, 1 - lower)

    def inverse(self, q: Array) -> Array:
        kappa = np.asarray(self.concentration, dtype=float)
        side = _quantile_below(np.minimum(q, 1 - np.asarray(q)), kappa)
        return np.asarray(self.loc + np.where(np.asarray(q) <= 0.5, side, -side))

    @property
    def mean(self) -> Any:
        """The mean direction: loc."""
        return self.loc

    @property
    def var(self) -> Any:
        """The variance of the angle on the turn around loc."""
        kappa = np.asarray(self.concentration, dtype=float)
        half = 0.5 * np.pi * (NODES + 1)  # the angle from 0 to π
        reach = np.minimum(np.sqrt(2 * REACH / np.maximum(kappa, 1e-300)) * np.pi / 2, np.pi)[..., None] / np.pi
        t = half * reach
        density = np.exp(-2 * kappa[..., None] * np.square(np.sin(t / 2)))
        var = (NODE_WEIGHTS * t * t * density).sum(axis=-1) * reach[..., 0] / (2 * special.i0e(kappa))
        return float(var) if np.ndim(var) == 0 else var

    @property
    def mode(self) -> Any:
        """The point of highest density: loc."""
        return self.loc

    def divergence_cells(self, other: Self) -> Array:
        x, y = np.asarray(self.concentration, dtype=float), np.asarray(other.concentration, dtype=float)
        length, turn = resultant(x)[0], np.square(np.sin((self.loc - other.loc) / 2))
        near = np.abs(y - x) < 0.5 * np.maximum(x, y)
        wide = np.log(special.i0e(y) / special.i0e(x)) + (y - x) * (1 - length)
        sharper = np.where(near, bregman(lambda t: resultant(t)[1], np.where(near, y, x), x), wide)
        return np.asarray(sharper + 2 * y * length * turn)

    def entropy_cell(self) -> Any:
        fall = self.concentration * (1 - resultant(self.concentration)[0])
        return np.log(2 * np.pi * special.i0e(self.concentration)) + fall

    def scale_of(self, name: str) -> Any:
        return 1 / np.sqrt(1 + np.asarray(self.concentration))


def _below(t: Array, kappa: Array) -> Array:
    """P(X ≤ t) for t in [−π, 0] about loc = 0, to full relative accuracy: Gauss–Legendre over what counts below t."""
    with np.errstate(all="ignore"):
        edge = np.square(np.sin(t / 2)) + np.where(kappa > 0, REACH / (2 * kappa), np.inf)
    start = np.where(edge < 1, -2 * np.arcsin(np.sqrt(np.minimum(edge, 1.0))), -np.pi)
    half = (t - start) / 2
    total = np.zeros(np.broadcast(t, kappa).shape)
    for node, weight in zip(NODES, NODE_WEIGHTS, strict=True):
        total = total + weight * np.exp(-2 * kappa * np.square(np.sin((start + half * (1 + node)) / 2)))
    return np.asarray(half * total / (2 * np.pi * special.i0e(kappa)))


def _quantile_below(q: Array, kappa: Array) -> Array:
    """The t in [−π, 0] with P(X ≤ t) = q: Newton's method on log P, which is concave, kept inside a bracket."""
    q, kappa = np.broadcast_arrays(np.asarray(q, dtype=float), kappa)
    low, high = np.full(q.shape, -np.pi), np.zeros(q.shape)
    t = np.array(high)
    with np.errstate(all="ignore"):
        for _ in range(100):
            mass = _below(t, kappa)
            density = np.exp(-2 * kappa * np.square(np.sin(t / 2))) / (2 * np.pi * special.i0e(kappa))
            low, high = np.where(mass < q, t, low), np.where(mass >= q, t, high)
            step = t + np.log(q / mass) * mass / density
            inside = (step >= low) & (step <= high)
            moved = np.where(inside, step, (low + high) / 2)
            still = np.abs(moved - t) <= 2e-16 * np.abs(t)
            t = moved
            if still.all():
                break
    return np.where(q <= 0, -np.pi, np.where(q >= 0.5, 0.0, t))
