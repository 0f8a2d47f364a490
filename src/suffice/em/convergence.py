"""When a run of EM ends: the objective is flat, the parameters rest, passes run out, or the objective fell."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from suffice.em.trace import Recorder
from suffice.errors import SufficeError

if TYPE_CHECKING:
    from suffice.em.training import Iterate

AT_REST = 3e-12  # relative move of the parameters that rounding can no longer tell from rest
TINY, SMALL = 1e-10, 1e-8  # moves that may be rounding: by themselves, and where the likelihood stalls
STALLED = 3  # passes without a rise of the likelihood
ROUGH = 1e-6  # relative fall where a component is degenerate: a singular covariance on its floor has half of its digits


class ObjectiveFellError(SufficeError):
    """The likelihood fell: an M-step is wrong. Raised where ``SUFFICE_STRICT`` is set, as in tests."""


@dataclass(frozen=True)
class End:
    """Why a run stops."""

    reason: str
    converged: bool = False
    fell: bool = False
    interrupted: bool = False
    ran_out: bool = False  # of passes


FLAT = End("the likelihood is flat", converged=True)


@dataclass(frozen=True)
class Convergence:
    """The rule that ends a run.

    Without ``tol`` a run ends when the parameters no longer move (or move only by rounding); with it, as soon as the
    objective changes twice by less than ``tol`` relative. With ``gain`` it also ends as soon as the objective changes
    once by less than that; ``before`` is the objective of an earlier run that this one goes on from, without which
    there is no change before the second pass. ``unit`` is the weight of a row, as in `Iterate`.
    """

    max_iter: int
    tol: float | None = None
    gain: float | None = None
    before: float = float("nan")
    unit: float = 1.0

    def is_flat(self, record: Recorder) -> bool:
        """Whether the objective has stopped to change."""
        if self.tol is None and self.gain is None:
            return False
        seen = record.seen
        now, before = seen[-1].objective, seen[-2].objective if len(seen) > 1 else self.before
        if self.gain is not None and abs(now - before) < self.gain:
            return True
        if self.tol is None or len(seen) < 3:  # one small change alone may be a leap that hardly rose
            return False
        return max(abs(before - seen[-3].objective), abs(now - before)) <= self.tol * (self.unit + abs(now))

    def at_rest(self, record: Recorder) -> bool:
        """Whether the parameters rest."""
        if record.passes < (2 if self.gain is not None and np.isnan(self.before) else 1):
            return False
        return record.moves[-1] < SMALL and parameters_rest(record.moves, record.last(STALLED + 1))

    def may_be_at_rest(self, record: Recorder) -> bool:
        """Whether a plain step of EM will show that this is the end."""
        return bool(record.moves) and record.moves[-1] < TINY

    def out_of_passes(self) -> End:
        """The end where there are no more passes."""
        return End(f"stopped after {self.max_iter} pass{'es' if self.max_iter > 1 else ''}", ran_out=True)


def parameters_rest(moves: Sequence[float], objectives: Sequence[float]) -> bool:
    """Whether the last move is nothing, or so small that it is only rounding that moves.

    Moves that no longer halve may be rounding or slow progress. They count as rounding when they are tiny, or when they
    are small, hardly shrink, and the objective has not risen for three passes.
    """
    last = moves[-1]
    if last <= AT_REST or len(moves) < 2 or last < moves[-2] / 2:
        return last <= AT_REST
    stalled = len(objectives) > STALLED and max(objectives[-STALLED:]) <= objectives[-STALLED - 1]
    return last < TINY or (last < SMALL and stalled and last > 0.95 * moves[-2])


def fallen(current: Iterate, reached: Iterate, record: Recorder) -> End:
    """The end where the objective falls: by rounding, or by a wrong M-step."""
    rough = _is_rounding(current, reached)
    reason = "the likelihood is flat, to rounding" if rough else describe_fall(current, reached, len(record.seen))
    record.seen.pop()
    return End(reason, converged=rough, fell=not rough)


def _is_rounding(current: Iterate, reached: Iterate) -> bool:
    """Whether a fall is rounding: as the family says, or small where some component is flat in some direction."""
    lost = max(one.distribution.rounding(one.statistics) for one in (current, reached))
    if current.objective - reached.objective <= lost:
        return True
    small = reached.objective >= current.objective - ROUGH * current.size
    return bool(small and current.distribution.is_spurious(current.statistics))


def describe_fall(current: Iterate | SimpleNamespace, reached: Iterate | SimpleNamespace, number: int) -> str:
    """What to say of a fall; where ``SUFFICE_STRICT`` is set, raise it."""
    text = (
        f"stopped after pass {number}, which lowered the log-likelihood from {current.objective:.17g} to "
        f"{reached.objective:.17g}: the M-step of {reached.distribution.name} is not a maximum"
    )
    if os.environ.get("SUFFICE_STRICT", "").strip().lower() not in {"", "0", "false", "no", "off"}:
        raise ObjectiveFellError(text)
    return text
