"""Events at a constant rate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, Self

import numpy as np

from suffice.core.exponential_family import ExponentialFamily
from suffice.core.family import Family
from suffice.core.parameters import COUNT, NONNEGATIVE, parameter
from suffice.display.values import ColumnSummary, single
from suffice.distributions.gamma import Gamma
from suffice.distributions.negative_binomial import NegativeBinomial
from suffice.distributions.weak_priors import EVENTS
from suffice.numerics.lazy import special
from suffice.numerics.special import MANY, excess, log_factorial, log_poisson, poisson_draws, whole_quantile
from suffice.statistics.sums import Sums
from suffice.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class Poisson(ExponentialFamily):
    r"""The number of events that come at a constant ``rate``: :math:`P(x) = \lambda^x e^{-\lambda} / x!`.

    Statistic x, natural parameter log rate, log-partition rate; conjugate prior :class:`Gamma`.

    >>> sf.fit(sf.Poisson(), [2, 3, 7]).distribution
    Poisson(rate=4)
    """

    rate: Any = parameter(NONNEGATIVE, default=1.0, typical=(0.3, 8.0))

    support = COUNT
    discrete = True
    conjugates = (Gamma,)
    belief_about = "rate"

    def statistic(self, x: Array) -> Array:
        return x

    def log_base(self, x: Array) -> Array:
        return -log_factorial(x)

    def natural(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.rate))

    def from_natural(self, eta: Array) -> Self:
        return replace(self, rate=np.exp(np.asarray(eta, dtype=float)))

    def log_partition(self) -> Array:
        return np.asarray(self.rate)

    def from_mean(self, mean: Array) -> Self:
        return replace(self, rate=mean)

    def mean_statistic(self) -> Array:
        return np.asarray(self.rate)

    @property
    def plain_score(self) -> bool:
        return bool(np.max(self.rate, initial=0.0) <= MANY)  # beyond, η·u − A would cancel

    def log_density(self, x: Array) -> Array:
        return super().log_density(x) if self.plain_score else Family.log_density(self, x)

    def log_cell(self, x: Array) -> Array:
        if not self.plain_score:
            return log_poisson(x, self.rate)
        return np.asarray(special.xlogy(x, self.rate) - self.rate + self.log_base(x))

    def error_cells(self, stats: Sums) -> dict[str, Array]:
        if self.tied:
            return super().error_cells(stats)
        with np.errstate(divide="ignore"):
            return {"rate": np.sqrt(np.asarray(self.rate) / stats.weight)}

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        return poisson_draws(np.asarray(self.rate), (n, *self.batch), rng)

    def cumulative(self, x: Array) -> Array:
        inside = special.gammaincc(np.maximum(np.floor(x), 0) + 1, self.rate)
        return np.where(x < 0, 0.0, np.where(np.isposinf(x), 1.0, inside))

    def inverse(self, q: Array) -> Array:
        return whole_quantile(self.cumulative, q, 0)

    def column_summaries(self) -> list[list[ColumnSummary]]:
        return single("mean", self.stacked.mean)

    @property
    def mean(self) -> Any:
        """The expected number: the rate."""
        return self.rate

    @property
    def var(self) -> Any:
        """The variance: the rate."""
        return self.rate

    @property
    def mode(self) -> Any:
        """A most probable number: the whole part of the rate."""
        return np.floor(self.rate)

    def divergence_cells(self, other: Self) -> Array:
        return excess(self.rate, other.rate, other.rate - self.rate)

    def update(self, stats: Sums, prior: Gamma | SimpleNamespace) -> Gamma:
        return Gamma(prior.shape + stats.total, prior.rate + stats.weight)

    def predict_with(self, belief: Gamma) -> NegativeBinomial:
        return NegativeBinomial(belief.shape, belief.rate / (belief.rate + 1.0))

    def expected_component(self, belief: Gamma) -> tuple[Self, Array]:
        rate = np.exp(belief.mean_statistic()[..., 0])
        return replace(self, rate=rate), np.asarray(rate - belief.mean)

    def weak_prior(self, stats: Sums, part: float = 1.0) -> Gamma:
        """Half a pseudo-event, in the time in which the data have half an event."""
        del part
        return Gamma(1 + EVENTS, EVENTS * np.maximum(stats.weight, 1.0) / (stats.total + EVENTS))
