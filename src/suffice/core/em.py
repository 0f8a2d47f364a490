"""The one loop: statistics given the parameters, parameters given the statistics, until the likelihood is flat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.core.parameters import Array

SETTLED = 3e-12  # relative move of the parameters that rounding can no longer tell from rest


@dataclass(frozen=True)
class Trace:
    """What each pass saw: the log-likelihood, the bound it maximised, and the relative move of the parameters."""

    log_likelihood: Array
    bound: Array
    change: Array


@dataclass(frozen=True)
class Climb:
    """Where the loop ended, the statistics gathered there, and how it came there."""

    distribution: Any
    statistics: Any
    trace: Trace
    converged: bool
    reason: str


def climb(start: Any, rows: Any, weights: Any, prior: Any, max_iter: int, tol: float | None) -> Climb:
    """Repeat statistics → estimate from ``start``.

    Without ``tol`` it stops when the parameters no longer move (or move only by rounding); with it, as soon as the
    log-likelihood changes by less than ``tol`` relative.
    """
    current, before = start, np.inf
    likelihoods: list[float] = []
    changes: list[float] = []
    reason, converged = f"stopped after {max_iter} passes", False
    for _ in range(max_iter):
        stats = current.suffstats(rows, weights)
        likelihoods.append(float(np.sum(current.log_likelihood(stats))))
        following = current.estimate(stats, prior)
        move = distance(current, following)
        changes.append(move)
        risen = abs(likelihoods[-1] - likelihoods[-2]) if len(likelihoods) > 1 else np.inf
        flat = tol is not None and risen <= tol * (1 + abs(likelihoods[-1]))
        if flat or move <= SETTLED or (move < 1e-8 and move >= before / 2):
            converged, reason = True, "the likelihood is flat"
            break
        current, before = following, move
    else:
        stats = current.suffstats(rows, weights)
        likelihoods.append(float(np.sum(current.log_likelihood(stats))))
        changes.append(float("nan"))
    history = np.array(likelihoods)
    return Climb(current, stats, Trace(history, history.copy(), np.array(changes)), converged, reason)


def distance(left: Any, right: Any) -> float:
    """The largest relative move of a parameter; a location is measured against the spread."""
    worst = 0.0
    for name, old in left.params.items():
        new = np.asarray(getattr(right, name))
        domain = left.specs()[name].domain
        unbounded = np.isinf(domain.low) and np.isinf(domain.high)
        scale = np.asarray(left.scale_of(name) if unbounded else np.abs(old))
        with np.errstate(all="ignore"):
            ratio = np.abs(new - old) / np.where(scale > 0, scale, 1.0)
        worst = max(worst, float(np.nanmax(ratio, initial=0.0)))
    return worst
