"""Pictures: likelihoods, beliefs, mixtures, their columns and rows, how they are learned, evidence, comparisons.

Needs the extra ``plot``.
"""

from __future__ import annotations

from suffice.plot.canvas import MissingExtraError
from suffice.plot.columns import fitted, profile
from suffice.plot.comparisons import comparison
from suffice.plot.consistency_curves import consistency
from suffice.plot.decision_regions import regions
from suffice.plot.em_path import em_steps
from suffice.plot.learning import selection, trace, traces
from suffice.plot.likelihoods import bound, likelihood, surface
from suffice.plot.log_odds import evidence
from suffice.plot.mixtures import mixture
from suffice.plot.pair_matrix import pairs
from suffice.plot.posteriors import posterior
from suffice.plot.sampling_distribution import sampling
from suffice.plot.sequences import forecast, states, transitions

__all__ = [
    "MissingExtraError",
    "bound",
    "comparison",
    "consistency",
    "em_steps",
    "evidence",
    "fitted",
    "forecast",
    "likelihood",
    "mixture",
    "pairs",
    "posterior",
    "profile",
    "regions",
    "sampling",
    "selection",
    "states",
    "surface",
    "trace",
    "traces",
    "transitions",
]


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
