"""What to believe of the size of a NegativeBinomial: its weak prior, and the mode under it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from suffice.core.family import Family
from suffice.distributions.gamma import LEARNED, Gamma, belief_about
from suffice.distributions.weak_priors import ROWS
from suffice.statistics.estimated import Estimated
from suffice.statistics.weights import Weights
from suffice.types import Prior

if TYPE_CHECKING:
    from suffice.types import Array


class SizeBelief(Family, register=False):
    """Estimates under a Gamma density of the ``size``; p follows from the mean of the rows."""

    if TYPE_CHECKING:
        size: Any

        def overdispersion(self, stats: Any) -> tuple[Array, Array]: ...

    def estimate(self, stats: Any, prior: Prior = None) -> Self:
        """As every family does; ``{"size": Gamma(…)}`` is a belief about the size, and so is ``"weak"``."""
        prior = self.weak_prior(stats) if isinstance(prior, str) and prior == "weak" else prior
        if not isinstance(prior, dict) or isinstance(stats, Estimated):
            return super().estimate(stats, None if isinstance(prior, dict) else prior)
        self._refuse_restricted()
        self.check_family(stats)
        model, belief = self.for_statistics(stats), belief_about("size", self, prior)
        stack: Any = model.stacked
        return model.like(stack.maximise(stats, belief.stacked))

    def weak_prior(self, stats: Any, part: float = 1.0) -> dict[str, Gamma]:
        """One row about the size of the data, of statistics under these parameters.

        In the gammas of which the rates are drawn, so that the density is that of a Gamma's shape. Rows that are no
        wider than a Poisson have the size that so many rows could still tell from it.
        """
        self._refuse_restricted()
        mean, excess = self.stacked.overdispersion(stats)
        smallest = mean * np.sqrt(2 / np.maximum(stats.weight, 1.0))
        size = np.square(mean) / np.maximum(np.maximum(part * excess, smallest), 1e-300)
        return {"size": Gamma(1 + ROWS / 2, ROWS / 2 / np.where(mean > 0, size, 1.0))}

    def _refuse_restricted(self) -> None:
        if self.fixed or self.tied:
            raise self._cannot(LEARNED.format("size and p"))

    def log_prior(self, prior: Prior) -> Array:
        if not isinstance(prior, dict):
            return super().log_prior(prior)
        return np.asarray(belief_about("size", self, prior).stacked.log_cell(np.asarray(self.stacked.size)))

    def resolve_prior(self, prior: Prior, rows: Array, weights: Weights) -> Any:
        if self.exact or not isinstance(prior, str):
            return prior
        found = self.resolve_block_prior(prior, rows, weights)
        if found is None:
            self._refuse_restricted()
        return {name: self.like(one) for name, one in found.items()}

    def resolve_block_prior(self, prior: str, rows: Array, weights: Weights, part: float = 1.0) -> Any:
        if isinstance(prior, dict):
            return prior
        return super().resolve_block_prior(prior, rows, weights, part)

    def default_prior(self, rows: Array, weights: Weights, part: float = 1.0) -> Any:
        one = self.unstacked[0]
        if one.fixed or one.tied:
            return None
        begun = one.start(rows, weights)
        return begun.weak_prior(begun.suffstats(rows, weights), part)
