"""The end of a fit that took one pass over the rows: its log-likelihood, from the statistics or the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.core.family import Family
from suffice.core.likelihood import log_likelihood_of_rows
from suffice.em.loop import EMResult
from suffice.em.trace import Trace
from suffice.statistics.weights import Weights

NOTHING = np.zeros(0)
LOST = 1e-10  # relative: the part of a log-likelihood that may be lost to rounding before it is summed over the rows


def fitted_in_one_pass(learned: Family, stats: Any, rows: Any, weights: Weights) -> EMResult:
    """The estimate and its log-likelihood, as the loop of EM would return them."""
    likelihood = np.array([log_likelihood(learned, stats, rows, weights)])
    trace = Trace(likelihood, likelihood, np.zeros(1), NOTHING, NOTHING, NOTHING)
    return EMResult(learned, stats, trace, converged=True, reason="exact")


def log_likelihood(learned: Family, stats: Any, rows: Any, weights: Weights) -> float:
    """Σ w log p(x) from the statistics; where rounding takes its digits, from the rows.

    The scatter of nearly dependent columns has lost their difference, which the estimate follows: the error of
    Σ log p is of first order in that rounding from the statistics, and of second order from the rows, since the
    estimate is a maximum.
    """
    found = learned.measured_log_likelihood(stats)
    if not np.isfinite(found) or learned.rounding(stats) <= LOST * max(1.0, abs(found)):
        return found
    return float(log_likelihood_of_rows(learned, rows, weights))
