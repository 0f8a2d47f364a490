"""The one loop: statistics given the parameters, parameters given the statistics, until the likelihood is flat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.core.parameters import Array

SETTLED = 3e-12  # relative move of the parameters that rounding can no longer tell from rest
TINY, SMALL = 1e-10, 1e-8  # moves that may be rounding: by themselves, and where the likelihood stalls
STALLED = 3  # passes without a rise of the likelihood


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
    log-likelihood changes by less than ``tol`` relative. Interrupted after the first pass, it ends with what it has.
    """
    current, stats = start, start.suffstats(rows, weights)
    seen = [float(np.sum(current.log_likelihood(stats)))]
    moves: list[float] = []
    reason, converged = f"stopped after {max_iter} passes", False
    try:
        while len(seen) <= max_iter:
            following = current.estimate(stats, prior)
            moves.append(distance(current, following))
            flat = tol is not None and len(seen) > 1 and abs(seen[-1] - seen[-2]) <= tol * (1 + abs(seen[-1]))
            if flat or _settled(moves, seen):
                converged, reason = True, "the likelihood is flat"
                break
            if len(seen) == max_iter:
                break
            stats = following.suffstats(rows, weights)
            current = following
            seen.append(float(np.sum(current.log_likelihood(stats))))
    except KeyboardInterrupt:
        reason = f"interrupted after {len(seen)} passes"
    history = np.array(seen)
    changes = np.array([*moves, np.nan][: len(seen)])
    return Climb(current, stats, Trace(history, history.copy(), changes), converged, reason)


def _settled(moves: list[float], seen: list[float]) -> bool:
    """Whether the last move is nothing, or so small that it is only rounding that moves.

    Moves that no longer halve may be rounding or slow progress. They count as rounding when they are tiny, or when
    they are small, hardly shrink, and the likelihood has not risen for three passes.
    """
    last = moves[-1]
    if last <= SETTLED or len(moves) < 2 or last < moves[-2] / 2:
        return last <= SETTLED
    stalled = len(seen) > STALLED and max(seen[-STALLED:]) <= seen[-STALLED - 1]
    return last < TINY or (last < SMALL and stalled and last > 0.95 * moves[-2])


def distance(left: Any, right: Any) -> float:
    """The largest relative move of a parameter; a location is measured against the spread."""
    if left.blocks:
        return max(distance(block, right.blocks[key]) for key, block in left.blocks.items())
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
