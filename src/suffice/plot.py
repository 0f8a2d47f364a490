"""Pictures: likelihoods, beliefs, mixtures, their columns and rows, how they are learned, evidence, comparisons.

Needs the extra ``plot``.
"""

from __future__ import annotations

from suffice.canvas import MissingExtraError
from suffice.plot_columns import fitted, profile
from suffice.plot_comparison import comparison
from suffice.plot_consistency import consistency
from suffice.plot_em_steps import em_steps
from suffice.plot_evidence import evidence
from suffice.plot_learning import selection, trace, traces
from suffice.plot_likelihood import bound, likelihood, surface
from suffice.plot_mixture import mixture
from suffice.plot_pairs import pairs
from suffice.plot_posterior import posterior
from suffice.plot_regions import regions
from suffice.plot_sampling import sampling

__all__ = [
    "MissingExtraError",
    "bound",
    "comparison",
    "consistency",
    "em_steps",
    "evidence",
    "fitted",
    "likelihood",
    "mixture",
    "pairs",
    "posterior",
    "profile",
    "regions",
    "sampling",
    "selection",
    "surface",
    "trace",
    "traces",
]


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
