"""Trials up to and with the first success."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from suffice.core.exponential_family import ExponentialFamily
from suffice.core.parameters import NATURAL, SUCCESS, parameter
from suffice.display.values import ColumnSummary, single
from suffice.distributions.beta import Beta
from suffice.distributions.beta_geometric import BetaGeometric
from suffice.distributions.weak_priors import shared_row
from suffice.numerics.lazy import special
from suffice.numerics.special import binary_divergence, whole_quantile
from suffice.statistics.sums import Sums
from suffice.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class Geometric(ExponentialFamily):
    r"""Trials up to and with the first success: :math:`P(x) = (1-p)^{x-1} p` for x = 1, 2, ….

    Statistic x−1, natural parameter log(1−p), log-partition −log p; conjugate prior :class:`Beta`.

    >>> sf.fit(sf.Geometric(), [1, 3, 4]).distribution
    Geometric(p=0.375)
    """

    p: Any = parameter(SUCCESS, default=0.5, typical=(0.1, 0.9))

    support = NATURAL
    discrete = True
    conjugates = (Beta,)
    belief_about = "p"

    def statistic(self, x: Array) -> Array:
        return x - 1.0

    def natural(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log1p(-np.asarray(self.p)))

    def from_natural(self, eta: Array) -> Self:
        return replace(self, p=-np.expm1(np.asarray(eta, dtype=float)))

    def log_partition(self) -> Array:
        return np.asarray(-np.log(self.p))

    def from_mean(self, mean: Array) -> Self:
        return replace(self, p=1 / (1 + mean))

    def mean_statistic(self) -> Array:
        return np.asarray((1 - self.p) / self.p)

    def log_cell(self, x: Array) -> Array:
        return np.asarray(special.xlog1py(x - 1, -np.asarray(self.p)) + np.log(self.p))

    def error_cells(self, stats: Sums) -> dict[str, Array]:
        if self.tied:
            return super().error_cells(stats)
        with np.errstate(divide="ignore"):
            return {"p": self.p * np.sqrt((1 - self.p) / stats.weight)}

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        return rng.geometric(self.p, (n, *self.batch)).astype(float)

    def cumulative(self, x: Array) -> Array:
        return np.asarray(-np.expm1(special.xlog1py(np.maximum(np.floor(x), 0), -np.asarray(self.p))))

    def inverse(self, q: Array) -> Array:
        return whole_quantile(self.cumulative, q, 1)

    def column_summaries(self) -> list[list[ColumnSummary]]:
        return single("mean", self.stacked.mean)

    @property
    def mean(self) -> Any:
        """The expected number of trials, 1/p."""
        return 1 / self.p

    @property
    def var(self) -> Any:
        """The variance, (1−p)/p²."""
        return (1 - self.p) / self.p / self.p

    @property
    def mode(self) -> Any:
        """The most probable number: 1."""
        return 0.0 * self.p + 1.0

    def divergence_cells(self, other: Self) -> Array:
        return np.asarray(binary_divergence(self.p, other.p) / self.p)

    def entropy_cell(self) -> Any:
        rest = 1 - np.asarray(self.p)
        return (special.entr(self.p) - special.xlog1py(rest, -np.asarray(self.p))) / self.p

    def update(self, stats: Sums, prior: Beta) -> Beta:
        return Beta(prior.a + stats.weight, prior.b + stats.total)

    def predict_with(self, belief: Beta) -> BetaGeometric:
        return BetaGeometric(belief.a, belief.b)

    def expected_component(self, belief: Beta) -> tuple[Self, Array]:
        yes, no = np.moveaxis(belief.mean_statistic(), -1, 0)
        p = -np.expm1(no)
        return replace(self, p=p), np.asarray(yes - np.log(p))

    def weak_prior(self, stats: Sums, part: float = 1.0) -> Beta:
        """One pseudo-trial, half a success and half a failure."""
        del stats, part
        return Beta(shared_row(2), shared_row(2))
