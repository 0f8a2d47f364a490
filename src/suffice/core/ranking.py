"""Which of several runs of EM is kept, and what is told of those that ended higher."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from suffice.core.em import AGREE, Climb


def discarded(climbs: Sequence[Climb], best: Climb) -> tuple[tuple[str, str], ...]:
    """What to tell where a climb that ended higher than the best was discarded."""
    highest = max(climbs, key=lambda one: one.height)
    if highest.height <= best.height + AGREE * (best.unit + abs(best.height)):
        return ()
    higher, lower = (float(one.trace.log_likelihood[-1]) for one in (highest, best))
    return (("spurious", higher_end(higher, lower)),)


def drop_in_rank(run: Climb) -> float:
    """What makes a run of a drop-in the best of ``n_init``: its lower bound, as in scikit-learn.

    Only what degenerate components bring is left out; components that chance explains are named in ``alerts_``.
    """
    return run.height - float(run.distribution.spurious_gain(run.statistics, chance=False))


def fit_merit(fit: Any) -> float:
    """The merit of a `Fit`: as that of the climb that it is the end of."""
    return float(fit.trace.objective[-1]) - float(fit.distribution.spurious_gain(fit.statistics))


def higher_end(higher: float, lower: float) -> str:
    """What to tell where an end of log-likelihood ``higher`` was discarded for one that is lower."""
    return (
        f"a run of EM ended higher, at a log-likelihood of {higher:.6g}, and was discarded for this one, at "
        f"{lower:.6g}: the difference is no more than degenerate components, or chance with so few rows, can bring. "
        "Use fewer components, a structure that shares its spread, or a prior."
    )
