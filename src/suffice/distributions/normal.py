"""The bell curve, and what to believe of its mean and its standard deviation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from suffice import kernels
from suffice.core.exponential_family import ExponentialFamily
from suffice.core.family import Family
from suffice.core.mixed_columns import ClosedForm, Part, e_step_alone
from suffice.core.parameters import POSITIVE, REAL, parameter
from suffice.core.responsibilities import EStep
from suffice.core.value import replace_finite, replace_valid
from suffice.distributions.floors import HALF_LOG_TAU, rounding_floor, std_floor
from suffice.distributions.normal_inverse_gamma import NormalInverseGamma
from suffice.distributions.weak_priors import MEAN_ROWS, ROWS
from suffice.errors import ParameterError, UnsupportedError
from suffice.message_parts import Cell
from suffice.numerics.lazy import special
from suffice.numerics.special import ratio_excess
from suffice.statistics.moments import Moments
from suffice.statistics.separation import Separation, of_columns
from suffice.tables.column_names import in_columns
from suffice.tables.rows import too_large
from suffice.types import Alert, Array, Prior

if TYPE_CHECKING:
    from suffice.statistics.weights import Weights


@dataclass(frozen=True, eq=False, repr=False)
class Normal(ExponentialFamily):
    r"""Sums of many small effects: :math:`p(x) = e^{-(x-\mu)^2/2\sigma^2} / \sigma\sqrt{2\pi}`.

    Statistic (x, x²), natural parameter (μ/σ², −1/2σ²), log-partition μ²/2σ² + log σ; conjugate priors
    :class:`NormalInverseGamma`, and :class:`NormalPrior` when std is fixed. Moments are kept centred.

    >>> sf.fit(sf.Normal(), [1.0, 3.0]).distribution
    Normal(mean=2, std=1)
    """

    mean: Any = parameter(REAL, default=0.0, typical=(-3.0, 3.0))
    std: Any = parameter(POSITIVE, default=1.0, typical=(0.3, 3.0))

    is_gaussian = True
    _in_place = True

    def statistic(self, x: Array) -> Array:
        return np.stack([x, x * x], axis=-1)

    def log_base(self, x: Array) -> Array:
        return np.full(np.shape(x), -HALF_LOG_TAU)

    def natural(self) -> Array:
        return np.stack([self.mean / np.square(self.std), -0.5 / np.square(self.std)], axis=-1)

    def from_natural(self, eta: Array) -> Self:
        first, second = np.moveaxis(np.asarray(eta, dtype=float), -1, 0)
        with np.errstate(all="ignore"):
            return replace(self, mean=-0.5 * first / second, std=np.sqrt(-0.5 / second))

    def log_partition(self) -> Array:
        return np.asarray(0.5 * np.square(self.mean / self.std) + np.log(self.std))

    def from_mean(self, mean: Array) -> Self:
        return replace(self, mean=mean[..., 0], std=np.sqrt(mean[..., 1] - mean[..., 0] ** 2))

    def mean_statistic(self) -> Array:
        return np.stack([self.mean, np.square(self.mean) + np.square(self.std)], axis=-1)

    def gather(self, x: Array, w: Weights) -> Any:
        stats = Moments(*kernels.moments(x, **w.arguments))
        if not np.isfinite(stats.scatter).all():
            x, seen = self.check_support(x, w)  # names an infinite cell, unless its row counts for nobody
            if seen is not None:
                x = np.where(seen, x, np.nan)
            stats = Moments(*kernels.moments(x, **w.arguments))
            if not np.isfinite(stats.scatter).all():
                row, column = np.unravel_index(np.nanargmax(np.abs(x)), x.shape)
                raise too_large(self.name, x[row, column], Cell(int(row) + w.offset, int(column)))
        return stats

    def log_density(self, x: Array) -> Array:
        return kernels.normal_log_prob(x, self.mean, self.std)

    def best(self, x: Array, log_weights: Array) -> Array:
        return kernels.normal_best(x, self.mean, self.std, log_weights)

    def e_step(self, x: Array, log_weights: Array, weights: Array | None = None) -> EStep:
        found = kernels.normal_e_step(x, self.mean, self.std, log_weights, weights)
        likelihood, entropy, count, centre, shift, scatter = found
        if not np.isfinite(likelihood):  # holes, or rows that are far from every component
            return e_step_alone(self, x, log_weights, weights)
        weight = np.repeat(count[:, None], x.shape[1], axis=1)
        return EStep(likelihood, entropy, Moments(weight, centre, shift, scatter), count)

    def in_cells(self, x: Array) -> Part:
        return Part(lambda learned: Moments(*learned.moments), normals=(x, self.mean, self.std))

    def closed_form(self, x: Array | None) -> ClosedForm | None:
        if self.fixed or self.tied or (x is not None and np.isinf(x).any()):
            return None
        rows = np.empty((0, self.mean.shape[1])) if x is None else x
        return ClosedForm(
            lambda mean, std, _: replace_valid(self, mean=mean, std=std),
            rows, np.asarray(self.mean), np.asarray(self.std), np.empty((len(rows), 0), np.int32),
        )  # fmt: skip

    def floor(self) -> Any:
        """A hundred-thousandth of the spread of all rows, in each column."""
        return std_floor(self.stacked.mean[0], self.stacked.std[0])

    def apply_floor(self, floor: Array | None) -> Self:
        if floor is None or "std" in self.fixed or not (np.asarray(self.std) < floor).any():
            return self
        return self.like(replace(self.stacked, std=np.maximum(self.stacked.std, floor)))

    def blurred(self, noise: Array, stats: Moments) -> Self:
        """What the statistics show, and independent noise of these variances, (d,); the sum is held above the floor.

        An estimate that was raised to its floor is not blurred once more: the noise is added to what was below it.
        """
        var = np.where(stats.weight > 0, stats.var, np.square(self.std))
        return replace(self, std=np.maximum(np.sqrt(var + noise), self.std))

    def on_floor(self, floor: Array | None) -> Array:
        if floor is None or "std" in self.fixed:
            return super().on_floor(floor)
        return np.asarray((self.stacked.std <= floor * (1 + 1e-9)).any(axis=1))

    def floor_columns(self, floor: Array, index: int) -> tuple[Any, ...]:
        if floor is None or "std" in self.fixed:
            return ()
        return tuple(np.flatnonzero(self.stacked.std[index] <= floor * (1 + 1e-9)).tolist())

    def degenerate(self, floor: Array | None, stats: Moments) -> Array:
        if floor is None or "std" in self.fixed:
            return self.on_floor(floor)
        held = self.stacked.std <= floor * (1 + 1e-9)
        varies = self._varying(stats, floor)
        return np.asarray((held & varies).any(axis=1) if varies.any() else held.any(axis=1))

    def separation(self, stats: Moments, floor: Array | None = None) -> Separation | None:
        if "std" in self.fixed:
            return None
        whole, kept = stats.pooled(), self._varying(stats, floor)
        degrees = np.ones((0 if "std" in self.tied else int(kept.sum()), 2))
        mean, var = np.asarray(self.stacked.mean)[:, kept], np.square(self.stacked.std)[:, kept]
        return of_columns(mean, var, whole.mean[:, kept], whole.var[:, kept], degrees)

    def _varying(self, stats: Moments, floor: Array | None) -> Array:
        """Columns (d,) in which the rows together differ by more than the floor."""
        whole = stats.pooled()
        least = np.maximum(2 * rounding_floor(whole.mean), 0.0 if floor is None else 2 * np.asarray(floor))
        return np.asarray((whole.var > np.square(least))[0])

    def log_cell(self, x: Array) -> Array:
        return np.asarray(-0.5 * np.square((x - self.mean) / self.std) - np.log(self.std) - HALF_LOG_TAU)

    def likelihood_cells(self, stats: Moments) -> Array:
        squares = stats.about(np.asarray(self.mean)) / np.square(self.std)
        return np.asarray(-stats.weight * (0.5 * squares + np.log(self.std) + HALF_LOG_TAU))

    def maximise(self, stats: Moments) -> Self:
        weight = stats.weight
        mean = np.asarray(self.mean) if "mean" in self.fixed else stats.mean
        if "mean" in self.tied and "mean" not in self.fixed:
            mean = np.broadcast_to(self._shared_mean(stats), mean.shape)
        var = stats.about(mean) if {"mean"} & (self.fixed | self.tied) else stats.var
        if "std" in self.tied:
            seen = weight.sum(axis=0)
            var = np.broadcast_to((weight * var).sum(axis=0) / np.where(seen > 0, seen, 1.0), var.shape)
        std = np.asarray(self.std) if "std" in self.fixed else np.maximum(np.sqrt(var), rounding_floor(mean))
        return self.choose(weight == 0, replace_finite(self, mean=mean, std=std))

    def _shared_mean(self, stats: Moments) -> Array:
        """The mean (d,) that components share.

        Rows count by their component's precision, which depends on it in turn.
        """
        weight, origin = stats.weight, stats.centre[:1]
        place = (stats.centre - origin) + stats.shift  # about one centre, so that no digit is lost far from 0

        def pooled(precision: Array) -> Array:
            rate = weight * precision
            whole = rate.sum(axis=0)
            return np.asarray((rate * place).sum(axis=0) / np.where(whole > 0, whole, 1.0))

        if "std" in self.tied and "std" not in self.fixed:
            return np.asarray(origin[0] + pooled(np.ones(weight.shape)))
        mean = pooled(1 / np.square(self.std))
        if "std" in self.fixed:
            return np.asarray(origin[0] + mean)
        least = np.square(rounding_floor(stats.mean))

        def spread(at: Array) -> Array:
            return np.asarray(np.maximum(stats.var + np.square(place - at), least))

        def objective(at: Array) -> Array:
            return np.asarray(-(weight * np.log(spread(at))).sum(axis=0))

        for one in np.where(weight > 0, place, mean):  # there may be several maxima: begin at the best place known
            mean = np.where(objective(one) > objective(mean), one, mean)
        for _ in range(1000):
            var, before = spread(mean), mean
            slope = (weight * (place - mean) / var).sum(axis=0)
            bend = (weight / var * (1 - 2 * np.square(place - mean) / var)).sum(axis=0)
            step = mean + slope / np.where(bend > 0, bend, np.inf)
            mean = np.where((bend > 0) & (objective(step) > objective(mean)), step, pooled(1 / var))
            if (np.abs(mean - before) <= 1e-15 * np.sqrt(var.min(axis=0))).all():
                break
        return np.asarray(origin[0] + mean)

    def unbiased(self, stats: Moments, ddof: float) -> Self:
        if stats is None or "std" in self.fixed:
            return self
        weight = stats.weight if self.lone is False else stats.weight[(0,) * (2 - len(self.batch))]
        if not (np.asarray(weight) > ddof).all():
            msg = f"ddof={ddof:g} needs more than {ddof:g} rows; there are {np.min(weight):g}. Lower it or add rows."
            raise ParameterError(msg)
        return replace(self, std=self.std * np.sqrt(weight / (weight - ddof)))

    def error_cells(self, stats: Moments) -> dict[str, Array]:
        if "mean" in self.tied and "std" in self.free and "std" not in self.tied:
            return super().error_cells(stats)  # the shared mean and the spreads depend on each other
        pooled = {name: np.broadcast_to(stats.weight.sum(axis=0), stats.weight.shape) for name in self.tied}
        with np.errstate(divide="ignore"):
            mean = self.std / np.sqrt(pooled.get("mean", stats.weight))
            if "mean" in self.tied:  # components of known spreads
                mean = np.broadcast_to(1 / np.sqrt((stats.weight / np.square(self.std)).sum(axis=0)), mean.shape)
            return {"mean": mean, "std": self.std / np.sqrt(2 * pooled.get("std", stats.weight))}

    def alerts(self, stats: Moments) -> tuple[Alert, ...]:
        stack = self.stacked
        flat = (np.asarray(stack.std) <= rounding_floor(np.asarray(stack.mean))) & (stats.weight > 0)
        if "std" in self.fixed or not flat.any():
            return super().alerts(stats)
        value = np.asarray(stack.mean)[flat][0]
        text = (
            "every value",
            in_columns(flat),
            (
                f" equals {value:g}, or differs from it by less than squares in float64 resolve, so the standard "
                "deviation is 0 and no density exists; it was set to the smallest that is resolved there. Add data, "
                "multiply very small ones, fix std, or give a prior."
            ),
        )
        return (*super().alerts(stats), Alert("collapsed", text, value=float(value)))

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        return rng.normal(self.mean, self.std, (n, *self.batch))

    def cumulative(self, x: Array) -> Array:
        return np.asarray(special.ndtr((x - self.mean) / self.std))

    def inverse(self, q: Array) -> Array:
        return np.asarray(self.mean + self.std * special.ndtri(q))

    @property
    def var(self) -> Any:
        """The variance."""
        with np.errstate(over="ignore"):
            return np.square(self.std)

    @property
    def mode(self) -> Any:
        """The point of highest density: the mean."""
        return self.mean

    def divergence_cells(self, other: Family) -> Array:
        away, wider = (self.mean - other.mean) / other.std, (self.std - other.std) / other.std
        with np.errstate(over="ignore"):
            squares = 0.5 * (np.square(away) + np.square(wider))
        return np.asarray(squares + ratio_excess(self.std / other.std, wider))

    def entropy_cell(self) -> Any:
        return HALF_LOG_TAU + 0.5 + np.log(self.std)

    # ---- believing ----------------------------------------------------------------------------------------------
    def estimate(self, stats: Moments, prior: Prior = None) -> Self:
        """As every family does; components that share std, too, have a mode under NormalInverseGamma."""
        belief = getattr(prior, "belief", prior)
        if not isinstance(belief, NormalInverseGamma) or self.fixed or self.tied != {"std"}:
            return super().estimate(stats, prior)
        self.check_family(stats)
        model = self.for_statistics(stats)
        if model.n_components == 1:
            return super().estimate(stats, prior)
        mean, std = belief.stacked.together(model, stats)
        return model.like(replace(model.stacked, mean=mean, std=std))

    def log_prior(self, prior: Family) -> Array:
        belief = getattr(prior, "belief", prior)
        if not isinstance(belief, NormalInverseGamma):
            return super().log_prior(prior)
        about_mean, about_std = belief.stacked.relative_parts({"mean": self.stacked.mean, "std": self.stacked.std})
        if "std" not in self.tied:
            return np.asarray(about_mean + about_std)
        return np.asarray(about_mean.sum() + np.broadcast_to(about_std, about_mean.shape)[0].sum())

    def update(self, stats: Any, prior: Any) -> Any:
        return prior.after(self, stats)

    def reference_belief(self, stats: Moments) -> Any:
        if "std" in self.fixed and "mean" not in self.fixed:
            with np.errstate(divide="ignore"):
                return NormalPrior(stats.mean, self.std / np.sqrt(stats.weight))
        if self.fixed or not (stats.var > np.square(rounding_floor(stats.mean))).all():
            msg = "the mean is fixed." if self.fixed else "all values are equal, or there is only one."
            raise ParameterError(msg)
        return NormalInverseGamma(stats.mean, stats.weight, (stats.weight - 1) / 2, stats.scatter / 2, mode_offset=2)

    def predict_with(self, belief: Any) -> Any:
        return belief.predictive_of(self)

    def expected_component(self, belief: Any) -> tuple[Normal, Array]:
        component, offset = belief.expected_of(self)
        return component, offset

    def weak_alerts(self, stats: Moments) -> tuple[Alert, ...]:
        flat = (stats.weight > 0) & (stats.var <= np.square(rounding_floor(stats.mean)))
        if not flat.any():
            return ()
        value = float(np.asarray(stats.mean)[flat][0])
        text = (
            "every value",
            in_columns(flat),
            (
                f" equals {value:g}: the weak prior takes its scale from the spread of the data, and there is none, so "
                "the belief is nearly a point. Give a prior with a scale of its own."
            ),
        )
        return (Alert("collapsed", text, value=value),)

    def weak_prior(self, stats: Moments, part: float = 1.0) -> Any:
        """A hundredth of a row at the mean of the data, and one row of a ``part`` of their variance.

        Where the std is known, the first alone, of rows as far apart as the data or that std, whichever is more.
        """
        pooled = np.maximum(stats.var, np.square(rounding_floor(stats.mean)))
        if "std" in self.fixed and "mean" not in self.fixed:
            return NormalPrior(stats.mean, np.sqrt(np.maximum(pooled, np.square(self.std)) / MEAN_ROWS))
        return NormalInverseGamma(stats.mean, MEAN_ROWS, 0.5, ROWS / 2 * part * pooled, mode_offset=ROWS - 1)

    def after(self, likelihood: Normal, stats: Moments) -> NormalPrior:
        """The belief about the mean of ``likelihood``, whose std is known, after the statistics."""
        if "std" not in likelihood.fixed or "mean" in likelihood.fixed:
            msg = "NormalPrior speaks of the mean of a Normal whose std is known: use Normal(std=…).fix('std')."
            raise UnsupportedError(msg)
        known, seen = 1 / np.square(self.std), stats.weight / np.square(likelihood.std)
        away = (stats.centre - self.mean) + stats.shift
        return NormalPrior(self.mean + away * (seen / (known + seen)), 1 / np.sqrt(known + seen))

    def predictive_of(self, likelihood: Normal) -> Normal:
        return Normal(self.mean, np.hypot(self.std, likelihood.std))

    def expected_of(self, likelihood: Normal) -> tuple[Normal, Array]:
        """The ``likelihood`` at the expected mean, and what a mean that is not sure costs the log density."""
        offset = -0.5 * np.square(np.asarray(self.std) / likelihood.std)
        return replace(likelihood, mean=self.mean, std=likelihood.std), offset

    def expected(self) -> Any:
        return self.mean


@dataclass(frozen=True, eq=False, repr=False)
class NormalPrior(Normal, register=False):
    """The belief that the mean of a Normal with known std is near ``mean``, give or take ``std``."""


Normal.conjugates = (NormalInverseGamma, NormalPrior, Normal)
Normal.belief_about = "mean"
