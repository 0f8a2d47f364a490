"""Yes or no."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, Self

import numpy as np

from suffice.core.exponential_family import ExponentialFamily
from suffice.core.mixed_columns import ClosedForm
from suffice.core.parameters import BINARY, UNIT, parameter
from suffice.core.value import replace_valid
from suffice.display.values import ColumnSummary, chance
from suffice.distributions.beta import Beta
from suffice.distributions.weak_priors import shared_row
from suffice.numerics.lazy import special
from suffice.numerics.special import binary_divergence
from suffice.statistics.sums import Sums
from suffice.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class Bernoulli(ExponentialFamily):
    r"""One yes with probability ``p``, else no: :math:`P(x) = p^x (1-p)^{1-x}`.

    Statistic x, natural parameter log p/(1−p), log-partition −log(1−p); conjugate prior :class:`Beta`.

    >>> sf.fit(sf.Bernoulli(), [1, 0, 1, 1]).distribution
    Bernoulli(p=0.75)
    """

    p: Any = parameter(UNIT, default=0.5, typical=(0.1, 0.9))

    support = BINARY
    discrete = True
    conjugates = (Beta,)
    belief_about = "p"

    @property
    def by_label(self) -> dict[Any, float]:
        """The probability of no and of yes, in a single column."""
        return {0: 1.0 - float(self.p), 1: float(self.p)}

    def statistic(self, x: Array) -> Array:
        return x

    def natural(self) -> Array:
        return np.asarray(special.logit(self.p))

    def from_natural(self, eta: Array) -> Self:
        return replace(self, p=special.expit(np.asarray(eta, dtype=float)))

    def log_partition(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(-np.log1p(-np.asarray(self.p)))

    def from_mean(self, mean: Array) -> Self:
        return replace(self, p=np.clip(mean, 0.0, 1.0))

    def closed_form(self, x: Array | None) -> ClosedForm | None:
        if self.fixed or self.tied:
            return None
        p = np.asarray(self.p)
        rows = np.empty((0, p.shape[1])) if x is None else x
        none, levels = np.empty((len(p), 0)), np.where(np.isnan(rows), -1.0, rows).astype(np.int32)
        tables = [np.stack([1 - column, column], axis=1) for column in p.T]
        return ClosedForm(
            lambda _mean, _std, probs: replace_valid(self, p=np.stack([one[:, 1] for one in probs], axis=1)),
            np.empty((len(rows), 0)), none, none, levels, tables,
        )  # fmt: skip

    def mean_statistic(self) -> Array:
        return np.asarray(self.p)

    def log_cell(self, x: Array) -> Array:
        return np.asarray(special.xlogy(x, self.p) + special.xlog1py(1 - x, -np.asarray(self.p)))

    def likelihood_cells(self, stats: Sums) -> Array:
        p = np.asarray(self.p)
        return np.asarray(special.xlogy(stats.total, p) + special.xlog1py(stats.weight - stats.total, -p))

    def error_cells(self, stats: Sums) -> dict[str, Array]:
        if self.tied:
            return super().error_cells(stats)
        with np.errstate(divide="ignore", invalid="ignore"):
            return {"p": np.sqrt(np.asarray(self.var) / stats.weight)}

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        return np.asarray(rng.random((n, *self.batch)) < self.p, dtype=float)

    def cumulative(self, x: Array) -> Array:
        return np.where(x < 0, 0.0, np.where(x < 1, 1.0 - self.p, 1.0))

    def inverse(self, q: Array) -> Array:
        return np.where(q <= 1.0 - np.asarray(self.p), 0.0, 1.0)

    def column_summaries(self) -> list[list[ColumnSummary]]:
        return [
            [ColumnSummary((f"yes {chance(p)}",), {"yes": float(p)}) for p in column]
            for column in np.asarray(self.stacked.p).T
        ]

    @property
    def mean(self) -> Any:
        """P(X = 1)."""
        return self.p

    @property
    def var(self) -> Any:
        """The variance p(1−p)."""
        return self.p * (1 - self.p)

    def divergence_cells(self, other: Self) -> Array:
        return binary_divergence(self.p, other.p)

    def entropy_cell(self) -> Any:
        return special.entr(self.p) + special.entr(1 - np.asarray(self.p))

    def update(self, stats: Sums, prior: Beta | SimpleNamespace) -> Beta:
        return Beta(prior.a + stats.total, prior.b + (stats.weight - stats.total))

    def predict_with(self, belief: Beta) -> Bernoulli:
        return Bernoulli(belief.mean)

    def expected_component(self, belief: Beta) -> tuple[Self, Array]:
        yes, no = np.moveaxis(belief.mean_statistic(), -1, 0)
        offset = np.logaddexp(yes, no)
        return replace(self, p=np.exp(yes - offset)), np.asarray(offset)

    def weak_prior(self, stats: Sums, part: float = 1.0) -> Beta:
        """One pseudo-example, half of each kind: the estimate is (½ + Σx)/(m + 1)."""
        del stats, part
        return Beta(shared_row(2), shared_row(2))
