"""Families without finite statistics: every pass gathers sums given the current parameters, as EM does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.core.distribution import Distribution
from suffice.core.exponential import weighted_sums
from suffice.core.statistics import Sums

if TYPE_CHECKING:
    from suffice.core.parameters import Array
    from suffice.core.weights import Weights


@dataclass(frozen=True, eq=False, repr=False)
class Iterative(Distribution):
    """A family that gives ``terms``: what one pass sums up, given the parameters.

    The sums stream, weigh and merge like any statistics; their base is the log-likelihood of the parameters that
    gathered them. ``maximise`` turns them into better parameters and never worse ones.
    """

    @property
    def exact(self) -> bool:
        """Whether one pass is enough: not here."""
        return False

    def terms(self, x: Array) -> Array:
        """What a pass sums, (n, d, m), under parameters (d,)."""
        raise self._cannot("gather statistics")

    def gather(self, x: Array, w: Weights) -> Sums:
        x, seen = self.admit(x, w)
        parts = []
        for index, member in enumerate(self.each):
            with np.errstate(all="ignore"):
                terms, base = member.terms(x), member.log_cell(x)
            parts.append(weighted_sums(terms, np.asarray(base), seen, w.of_member(index), exact=False))
        return Sums(
            np.concatenate([part.weight for part in parts]),
            np.concatenate([part.base for part in parts]),
            np.concatenate([part.total for part in parts]),
            exact=False,
        )

    def likelihood_cells(self, stats: Any) -> Array:
        return np.asarray(stats.base)
