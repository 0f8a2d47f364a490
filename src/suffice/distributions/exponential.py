"""Waiting times."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, Self

import numpy as np

from suffice.core.exponential_family import ExponentialFamily
from suffice.core.parameters import NONNEGATIVE, POSITIVE, parameter
from suffice.display.values import ColumnSummary, single
from suffice.distributions.gamma import Gamma
from suffice.distributions.lomax import Lomax
from suffice.distributions.weak_priors import EVENTS
from suffice.numerics.lazy import special
from suffice.numerics.special import ratio_excess
from suffice.statistics.sums import Sums
from suffice.tables.column_names import in_columns
from suffice.types import Alert, Array

SHORTEST = 1e-150  # the least mean that an estimate may have: log densities stay finite


@dataclass(frozen=True, eq=False, repr=False)
class Exponential(ExponentialFamily):
    r"""Time to the next event of a process with constant ``rate``: :math:`p(x) = \lambda e^{-\lambda x}`.

    Statistic x, natural parameter −rate, log-partition −log rate; conjugate prior :class:`Gamma`.

    >>> sf.fit(sf.Exponential(), [1.0, 3.0]).distribution
    Exponential(rate=0.5)
    """

    rate: Any = parameter(POSITIVE, default=1.0, typical=(0.2, 5.0))

    support = NONNEGATIVE
    conjugates = (Gamma,)
    belief_about = "rate"

    def statistic(self, x: Array) -> Array:
        return x

    def natural(self) -> Array:
        return -np.asarray(self.rate)

    def from_natural(self, eta: Array) -> Self:
        return replace(self, rate=-np.asarray(eta, dtype=float))

    def log_partition(self) -> Array:
        return np.asarray(-np.log(self.rate))

    def from_mean(self, mean: Array) -> Self:
        return replace(self, rate=1 / np.maximum(mean, SHORTEST))

    def mean_statistic(self) -> Array:
        return np.asarray(self.mean)

    def error_cells(self, stats: Sums) -> dict[str, Array]:
        weight = stats.weight.sum(axis=0) if self.tied else stats.weight
        with np.errstate(divide="ignore", over="ignore"):
            return {"rate": np.asarray(self.rate / np.sqrt(weight))}

    def alerts(self, stats: Sums) -> tuple[Alert, ...]:
        zero = (stats.weight > 0) & (stats.total <= SHORTEST * stats.weight)
        if self.fixed or not zero.any():
            return super().alerts(stats)
        held = f" is 0, so the rate grows without bound; it was held at {1 / SHORTEST:g}."
        advice = "A prior, such as sf.Gamma(2, 1), keeps it finite."
        text = ("every value", in_columns(zero), held)
        return (*super().alerts(stats), Alert("collapsed", text, value=0.0, prior_advice=advice))

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        return rng.exponential(1 / np.asarray(self.rate), (n, *self.batch))

    def cumulative(self, x: Array) -> Array:
        return np.asarray(-np.expm1(-self.rate * np.maximum(x, 0)))

    def inverse(self, q: Array) -> Array:
        return np.asarray(-np.log1p(-q) / self.rate)

    def column_summaries(self) -> list[list[ColumnSummary]]:
        return single("mean", self.stacked.mean)

    @property
    def mean(self) -> Any:
        """The expected time, 1/rate."""
        return 1 / self.rate

    @property
    def var(self) -> Any:
        """The variance, 1/rate²."""
        return np.square(self.mean)

    @property
    def mode(self) -> Any:
        """The point of highest density: 0."""
        return 0.0 * self.rate

    def divergence_cells(self, other: Self) -> Array:
        return ratio_excess(other.rate / self.rate, (other.rate - self.rate) / self.rate)

    def entropy_cell(self) -> Any:
        return 1 - np.log(self.rate)

    def update(self, stats: Sums, prior: Gamma | SimpleNamespace) -> Gamma:
        return Gamma(prior.shape + stats.weight, prior.rate + stats.total)

    def predict_with(self, belief: Gamma) -> Lomax:
        return Lomax(belief.shape, belief.rate)

    def expected_component(self, belief: Gamma) -> tuple[Self, Array]:
        return replace(self, rate=belief.mean), np.asarray(special.digamma(belief.shape) - np.log(belief.shape))

    def weak_prior(self, stats: Sums, part: float = 1.0) -> Gamma:
        """Half a pseudo-event, in half of the mean time of the data (of 1 where that is 0)."""
        del part
        return Gamma(1 + EVENTS, EVENTS * np.where(stats.mean > 0, stats.mean, 1.0))
