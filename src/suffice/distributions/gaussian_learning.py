"""What Gaussian components learn: means, and covariances of a structure and above a floor; and how sure they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Self

import numpy as np

from suffice import kernels
from suffice.core.family import Family
from suffice.core.value import replace_valid
from suffice.core.variance_floor import no_worse
from suffice.distributions import gaussian_alerts
from suffice.distributions.compact_covariance import RELATIVE_FLOOR
from suffice.distributions.covariance_algebra import FEW, flattest, symmetric, traces
from suffice.distributions.covariance_structures import structure
from suffice.distributions.degeneracy import (
    ON_FLOOR,
    ON_RIDGE,
    dependent_columns,
    lies_on,
    own_degrees,
    roots_along,
    variances,
    varying_axes,
    varying_columns,
)
from suffice.distributions.floors import HALF_LOG_TAU, rounding_floor, std_floor
from suffice.distributions.gaussian import Gaussian
from suffice.distributions.normal_inverse_wishart import NormalInverseWishart
from suffice.engines import blas, local
from suffice.errors import ParameterError, UnsupportedError
from suffice.message_parts import Columns
from suffice.numerics.low_rank import LowRank, all_finite, broadcast, diagonal, diagonals, replace, summed
from suffice.statistics.moments import Scatter
from suffice.statistics.separation import Separation, of_columns, of_roots
from suffice.statistics.sums import share
from suffice.types import Alert, Array, Data, Prior
from suffice.uncertainty.information import Knowledge


@cache
def _free(fixed: frozenset[str], name: str) -> tuple[str, ...]:
    learned = ("mean", "cov") if structure(name).learned else ("mean",)
    return tuple(one for one in learned if one not in fixed)


@dataclass(frozen=True, eq=False, repr=False)
class GaussianLearning(Gaussian, register=False):
    """The M-step of Gaussian components; what is restricted, shared or fixed is so here."""

    @property
    def coupled(self) -> bool:
        return super().coupled or ("cov" in self.free and self.form.coupled)

    @property
    def free(self) -> tuple[str, ...]:
        return _free(self.fixed, self.structure)

    @property
    def n_parameters(self) -> int:
        k, d = self.n_components, self.columns or 0
        mean = 0 if "mean" in self.fixed else d if "mean" in self.tied else k * d
        return mean + (self.form.count(k, d) if "cov" in self.free else 0)

    # ---- estimating ---------------------------------------------------------------------------------------------
    def likelihood_cells(self, stats: Scatter) -> Array:
        about = stats.about(np.asarray(self.mean))
        if self.form.scatter_kind == "diagonal":
            squares, log_det = (diagonals(about) / self.var[: len(about)]).sum(axis=1), self.log_det
        elif isinstance(about, LowRank) and self.roots is not None:
            squares, log_det = self.roots.traces(about), self.log_det
        else:
            whiten, log_det = self.whitening
            squares = traces(whiten[: len(about)], np.asarray(about))
        if len(about) < len(stats.weight):  # kept of all components together: each by its weight
            squares = squares * share(stats.weight, stats.weight.sum())
        constant = log_det - HALF_LOG_TAU * stats.centre.shape[1]
        found = stats.weight * constant - 0.5 * squares
        return np.asarray(found if stats.entropy is None else found + stats.entropy)[:, None]

    def estimate(self, stats: Scatter, prior: Prior = None, floor: Array | None = None) -> Self:
        """As every family does; with a ``floor`` (d, d) that no covariance may fall under."""
        self.check_family(stats)
        with blas.one_thread_for(np.shape(stats.centre)[-1]):  # more threads than one wait for each other
            return self._estimate(stats, prior, floor)

    def _estimate(self, stats: Scatter, prior: Prior, floor: Array | None) -> Self:
        prior = (
            self.weak_prior(stats) if isinstance(prior, str) and prior == "weak" else getattr(prior, "belief", prior)
        )
        if prior is None and floor is not None:
            model = self.for_statistics(stats)
            return model.like(model.stacked.maximise(stats, floor))
        if not isinstance(prior, NormalInverseWishart):
            return super().estimate(stats, prior)
        if "mean" in self.fixed:
            msg = "NormalInverseWishart speaks of mean and cov together; with the mean fixed give a density instead."
            raise UnsupportedError(msg)
        model, before = self.for_statistics(stats), prior.stacked
        mean = before.after(stats).mean
        away = mean - before.mean
        believed = (before.count * away.T).T[:, :, None] * away[:, None, :]
        about = stats.about(mean)
        about = np.asarray(about) + (believed.sum(axis=0, keepdims=True) if len(about) < len(mean) else believed)
        return model.like(model.stacked.solve(mean, about, stats.weight + before.mode_rows[0], before, floor))

    def maximise(self, stats: Scatter, floor: Array | LowRank | None = None) -> Self:
        mean = np.asarray(self.mean) if "mean" in self.fixed else stats.mean
        scatter = stats.about(mean) if "mean" in self.fixed else stats.kept
        found = self.solve(mean, scatter, stats.weight, None, floor)
        if not stats.exact and floor is None and self.batch == found.batch and gaussian_alerts.raised(found):
            found = no_worse(self, found, stats, None)  # that floor follows the variances, and may lower log L
        current = self.choose(stats.weight == 0, found)
        if "mean" not in self.tied or "mean" in self.fixed or self.n_components == 1:
            return current
        for _ in range(200):  # a shared mean and the covariances take turns; each turn rises
            precision = stats.weight[:, None, None] * np.linalg.inv(current.cov)
            shared = np.linalg.solve(precision.sum(axis=0), np.einsum("kij,kj->i", precision, stats.mean))
            moved = (np.abs(shared - current.mean) / np.sqrt(current.var)).max()
            mean = np.broadcast_to(shared, stats.mean.shape)
            current = self.solve(mean, stats.about(mean), stats.weight, None, floor)
            if moved < 1e-13:
                break
        return current

    def solve(
        self,
        mean: Array,
        scatter: Array | LowRank,
        divisor: Array,
        prior: NormalInverseWishart | None = None,
        floor: Array | LowRank | None = None,
    ) -> Self:
        """The stack at ``mean`` with the structure's covariance of the scatter around it, floored.

        A prior adds its scale and its degrees to the scatter, which is pooled first where components share.
        """
        if "cov" not in self.free:
            return replace(self, mean=mean)
        (k, d), form = mean.shape, self.form
        least = rounding_floor(mean)
        if form.closed_form and prior is None:
            whitened = self._whitened(mean, scatter, divisor, floor, least)
            if whitened is not None:
                return whitened
        least = form.equalize(least)
        if form.shared:
            scatter, divisor = summed(scatter), divisor.sum(keepdims=True)
            least = least[:1]
        if prior is not None:
            divisor = divisor + prior.df[: len(divisor)] + prior.mode_rows[1]
            scatter = scatter + prior.scale[: len(scatter)]
        begin = self.matrices
        if not form.compact:
            scatter, begin, floor = np.asarray(scatter), np.asarray(begin), None if floor is None else np.asarray(floor)
        cov = broadcast(form.floored(form.m_step(scatter, divisor, begin, floor), least), (k, d, d))
        if mean.shape == np.shape(self.mean) and all_finite(mean) and all_finite(cov):
            found: Self = replace_valid(self, mean=mean, cov=cov)
            return found
        return replace(self, mean=mean, cov=cov)

    def _whitened(self, mean: Array, scatter: Any, weight: Array, floor: Any, least: Array) -> Self | None:
        """As `solve`, and whitened already, where columns are few and nothing holds the covariances."""
        if isinstance(scatter, LowRank) or mean.shape[1] >= FEW or mean.shape != np.shape(self.mean):
            return None
        floor = None if floor is None else np.asarray(floor)
        found = kernels.whitened_covariances(scatter, weight, floor, least, RELATIVE_FLOOR)
        if found is None:
            return None
        cov, whiten, log_det = found
        whiten.flags.writeable = log_det.flags.writeable = False
        model: Self = replace_valid(self, mean=mean, cov=cov)
        model.__dict__["whitening"] = whiten, log_det
        return model

    def choose(self, keep: Array, other: Self) -> Self:
        """The stack itself where ``keep`` (k,) holds, else ``other``; covariances that share anything: the other's."""
        if not keep.any():
            return other
        mean = np.where(keep[:, None], self.mean, other.mean)
        if keep.all():
            return self
        cov = other.matrices
        if not self.form.coupled and self.scatter_kind == "diagonal":
            cov = LowRank(np.where(keep[:, None], self.var, other.var))
        elif not self.form.coupled:
            cov = np.where(keep[:, None, None], self.cov, other.cov)
        return replace(other, mean=mean, cov=cov)

    def constrain(self, values: dict[str, Any], proportions: Array) -> Self:
        if "cov" not in values:
            return replace(self, **values)
        mean, cov = (np.asarray(values.get(name, getattr(self, name))) for name in ("mean", "cov"))
        if self.form.holds(cov):
            return replace(self, **values)
        weight = np.maximum(proportions, 1e-12)
        return self.solve(mean, cov * weight[:, None, None], weight)

    def unbiased(self, stats: Scatter | None, ddof: float) -> Self:
        if stats is None or "cov" not in self.free:
            return self
        weight, k = stats.weight, self.n_components
        weight, ddof = (weight.sum(keepdims=True), ddof * k) if self.form.equal_volume else (weight, ddof)
        if not (weight > ddof).all():
            msg = f"ddof={ddof:g} needs more than {ddof:g} rows; there are {np.min(weight):g}. Lower it or add rows."
            raise ParameterError(msg)
        factor = weight / (weight - ddof)
        return replace(self, cov=self.matrices * (float(factor[0]) if self.lone else factor[:, None, None]))

    # ---- floors -------------------------------------------------------------------------------------------------
    def floor(self) -> Any:
        """A small multiple of the variances of all rows, as a matrix (d, d)."""
        least = np.square(std_floor(self.stacked.mean[0], np.sqrt(self.stacked.var[0])))
        return diagonal(least, compact=isinstance(self.matrices, LowRank))

    def floor_of(self, stats: Scatter) -> Any:
        if not isinstance(stats.kept, LowRank) or self.fixed or "cov" not in self.free:
            return super().floor_of(stats)
        var = np.maximum(stats.variances[0] / stats.weight[0], np.square(rounding_floor(stats.mean[0])))
        return LowRank(np.square(std_floor(stats.mean[0], np.sqrt(var))))

    def apply_floor(self, floor: object) -> Self:
        if floor is None or "cov" not in self.free:
            return self
        if isinstance(floor, float):  # a ridge, as scikit-learn adds it
            return replace(self, cov=self._with_ridge(floor)) if floor else self
        before = self.stacked.matrices
        floor = floor if isinstance(before, LowRank) else np.asarray(floor)
        cov = self.form.apply_floor(before, floor)
        if cov is before:
            return self
        cov = self.form.floored(cov, self.form.equalize(rounding_floor(np.asarray(self.stacked.mean))))
        return self.like(replace(self.stacked, cov=cov))

    def m_step(self, stats: Any, prior: Family | None, floor: Any) -> Any:
        """The floor is a constraint of the structure's own M-step, so that the best above it is found."""
        if floor is None or isinstance(floor, float) or "cov" not in self.free:
            return super().m_step(stats, prior, floor)
        if prior is not None and not isinstance(prior, NormalInverseWishart):
            return super().m_step(stats, prior, floor)
        if prior is not None or self.batch != stats.weight.shape:
            return no_worse(self, self.estimate(stats, prior, floor), stats, prior)
        found = self.maximise(stats, floor)
        closed = not self.form.coupled and not self.tied  # a formula, which nothing can be better than
        return found if closed else no_worse(self, found, stats, prior)

    def on_floor(self, floor: object) -> Array:
        if floor is None or "cov" not in self.free:
            return super().on_floor(floor)
        if isinstance(floor, float):  # no spread of its own beside what was added
            if self.scatter_kind == "diagonal":
                return np.asarray(self.stacked.var.min(axis=1) <= 2 * floor)
            return np.asarray(np.linalg.eigvalsh(self.stacked.cov)[:, 0] <= 2 * floor)
        cov = self.stacked.matrices
        return self.form.on_floor(cov, floor if isinstance(cov, LowRank) else np.asarray(floor))

    def _with_ridge(self, ridge: float) -> Any:
        cov = self.matrices
        if isinstance(cov, LowRank):
            return LowRank(cov.diagonal + ridge, cov.factors)
        return cov + ridge * np.eye(cov.shape[-1])

    def degenerate(self, floor: Any, stats: Scatter) -> Array:
        if floor is None or "cov" not in self.free or not stats.weight.sum() > 0:
            return self.on_floor(floor)
        if not isinstance(floor, float) and not (held := self.on_floor(floor)).any():
            return held
        whole = stats.pooled()
        if self.scatter_kind == "diagonal":
            kept = varying_columns(whole, floor)
            var = np.asarray(self.stacked.var)[:, kept]
            if isinstance(floor, float):
                return np.asarray((var - floor <= ON_RIDGE * variances(whole)[kept]).any(axis=1))
            least = diagonals(floor)[kept]
            return np.asarray((var <= (1 + ON_FLOOR) * least).any(axis=1)) if len(kept) else self.on_floor(floor)
        axes, cov = varying_axes(whole, floor), np.asarray(self.stacked.cov)
        if isinstance(floor, float):  # what was added is not a spread of its own
            own = symmetric(axes @ (cov - floor * np.eye(cov.shape[-1])) @ axes.T)
            return np.asarray(np.linalg.eigvalsh(own)[:, 0] <= ON_RIDGE) if len(axes) else self.on_floor(floor)
        return lies_on(cov, floor, axes) if 0 < len(axes) < axes.shape[1] else self.on_floor(floor)

    def singular_alerts(self, floor: object, stats: Scatter) -> tuple[Alert, ...]:
        if "cov" not in self.free or self.scatter_kind == "diagonal" or not stats.weight.sum() > 0:
            return ()
        whole = stats.pooled()
        columns = dependent_columns(whole, floor)
        if not columns:
            return ()
        rest = (
            " follow from each other in all rows: every covariance is singular there and was held at its floor, which "
            "the likelihood depends on. Drop a column or choose a simpler structure."
        )
        return (Alert("singular", (Columns(tuple(columns)), rest)),)

    def separation(self, stats: Scatter, floor: object = None) -> Separation | None:
        if "cov" not in self.free or not stats.weight.sum() > 0:
            return None
        whole = stats.pooled()
        letters = "E" if "cov" in self.tied else self.form.letters
        mean = np.asarray(self.stacked.mean) - whole.mean
        if self.scatter_kind == "diagonal":
            kept = varying_columns(whole, floor)
            var, unit = np.asarray(self.stacked.var)[:, kept], variances(whole)[None, kept]
            return of_columns(mean[:, kept], var, np.zeros(unit.shape), unit, own_degrees(letters, len(kept)))
        axes, cov = varying_axes(whole, floor), np.asarray(self.stacked.cov)
        one = None if self.form.unrestricted else whole.scatter / whole.weight[:, None, None]  # of any structure
        background = None if one is None else roots_along(axes, one)[0]
        return of_roots(mean @ axes.T, roots_along(axes, cov), own_degrees(letters, len(axes)), background)

    # ---- how sure -----------------------------------------------------------------------------------------------
    def seen_cells(self, stats: Scatter) -> Array:
        return np.asarray(stats.cells)

    def needs_rows(self, stats: Scatter) -> bool:
        return not stats.exact

    def distance(self, other: Any) -> float:
        """As of every family, and how far the least eigenvalue of a correlation matrix moved.

        On the way to a correlation of ±1 the entries hardly move, while the likelihood rises with every step.
        """
        form, fmax = self.form, np.fmax.reduce
        if (
            form.scatter_kind == "diagonal"
            and self.n_components == other.n_components
            and self.columns == other.columns
        ):
            before, after = self.var, other.var
            far = np.abs(np.asarray(other.mean) - self.mean) / np.sqrt(before)
            wide = np.abs(after - before) / before
            return float(max(fmax(far, axis=None, initial=0.0), fmax(wide, axis=None, initial=0.0)))
        if form.scatter_kind == "diagonal" or "cov" not in self.free or np.shape(self.mean) != np.shape(other.mean):
            return super().distance(other)
        cov, reached = np.asarray(self.cov), np.asarray(other.cov)
        std = np.sqrt(diagonals(cov))
        with np.errstate(all="ignore"):
            far = np.abs(np.asarray(other.mean) - self.mean) / std
            turned = np.abs(reached - cov) / (std[..., :, None] * std[..., None, :])
        move = float(max(fmax(far, axis=None, initial=0.0), fmax(turned, axis=None, initial=0.0)))
        if move > 1e-6:
            return move
        before, after = (flattest(np.asarray(one.stacked.cov)) for one in (self, other))
        least = np.maximum(np.minimum(before, after), np.finfo(float).eps)
        blur = 100 * np.finfo(float).eps * int(self.columns or 0) / least
        change = np.abs(after - before) / least
        return max(
            move, float(np.where((least < gaussian_alerts.NEARLY_SINGULAR) & (change > blur), change, 0.0).max())
        )

    def rounding(self, stats: Scatter) -> float:
        """What is lost where a covariance that is all but singular is inverted."""
        cov = self.stacked.matrices
        least = (cov.diagonal / diagonals(cov)).min(axis=1) if isinstance(cov, LowRank) else flattest(np.asarray(cov))
        lost = stats.weight * np.finfo(float).eps * int(self.columns or 0) / np.maximum(least, np.finfo(float).eps)
        return float(lost.sum())

    def standard_errors(self, stats: Scatter) -> dict[str, Any]:
        """From exact statistics; with holes they need the rows, and are NaN where those are not at hand."""
        if stats.exact:
            return super().standard_errors(stats)
        self.check_family(stats)
        return {
            name: np.full(np.shape(value), 0.0 if name not in self.free else np.nan)
            for name, value in self.params.items()
        }

    def errors_from(self, stats: Scatter, data: Data) -> dict[Any, Any]:
        """With holes: from the observed information of the cells that were seen."""
        if stats.exact or data is None:
            return self.standard_errors(stats)
        from suffice.distributions.gaussian_chart import GaussianChart

        (rows, weights), known = data, GaussianChart(self.stacked)
        width = rows.shape[1]  # long slices: each looks at every pattern of holes
        with np.errstate(all="ignore"):
            found = local.reduce(lambda part: known.information(rows[part], weights[part].dense()), len(rows), width)
            errors = known.errors(Knowledge.of(found))
        lead = (0,) * self.lacking
        return {name: value[lead] for name, value in errors.items()}

    def error_cells(self, stats: Scatter) -> dict[str, Array]:
        cov, weight = self.cov, np.where(stats.weight > 0, stats.weight, np.nan)
        if "mean" in self.tied:
            whole = np.nansum(weight[:, None, None] * np.linalg.inv(cov), axis=0)
            variance = np.broadcast_to(np.diag(np.linalg.inv(whole)), self.mean.shape)
        else:
            variance = np.einsum("kii->ki", cov) / weight[:, None]
        return {"mean": np.sqrt(variance), "cov": self.form.errors(cov, stats.weight)}

    def alerts(self, stats: Scatter) -> tuple[Alert, ...]:
        if "cov" not in self.free:
            return gaussian_alerts.constant_columns(self, stats)
        with blas.one_thread_for(int(self.columns or 0)):
            return gaussian_alerts.singular(self, stats) or gaussian_alerts.constant_columns(self, stats)
