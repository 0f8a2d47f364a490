"""Beliefs about the probabilities of labels: they also say what a label costs that nobody has seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice.bayes.posterior import Posterior
from suffice.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class LabelPosterior(Posterior):
    """A Dirichlet about the probabilities of levels, which remembers the prior that it began with.

    ``stated`` is the smallest concentration of that prior in each column. A label that is none of the L levels is
    scored like a level that no row had: at the mode α/(n + αL) with α = stated − 1 pseudo-rows of each level, in the
    predictive α/(n + αL) with α = stated. With α = 0 the prior gives it nothing, and the cell is left out.
    """

    stated: Any = 0.0

    @classmethod
    def of(cls, found: Posterior, before: object) -> LabelPosterior:
        """The posterior ``found``; ``before`` is the prior as the caller gave it, which may be a posterior too."""
        if isinstance(before, LabelPosterior):
            stated = np.asarray(before.stated)
        else:
            alpha = np.asarray(found.prior.stacked.alpha)
            stated = np.where(alpha > 0, alpha, np.inf).min(axis=-1)
        shape = found.likelihood.batch
        lead = stated.ndim - len(shape)
        stated = np.broadcast_to(stated[(0,) * lead] if lead > 0 else stated, shape)
        return cls(found.likelihood, found.belief, found.log_evidence, found.alerts, found.prior, stated=stated)

    def estimate(self) -> Any:
        """The likelihood at the mode of the belief."""
        return self._pricing(super().estimate(), 1.0)

    def _averaged(self) -> Any:
        return self._pricing(super()._averaged(), 0.0)

    def take_components(self, order: Any) -> Any:
        """The beliefs about some components of a stack, in this order."""
        found: Any = super().take_components(order)
        return replace(found, stated=self.stated[order])

    def _pricing(self, found: Any, less: float) -> Any:
        """The distribution with the probability of an unseen label, where concentrations count ``less``."""
        whole = np.maximum(np.asarray(self.belief.alpha) - less, 0.0).sum(axis=-1)
        spare: Array = np.maximum(self.stated - less, 0.0)
        return replace(found, unseen=spare / np.where(whole > 0, whole, 1.0)) if spare.any() else found
