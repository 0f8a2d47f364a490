"""The one loop: statistics given the parameters, parameters given the statistics, until the likelihood is flat."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from suffice.core.acceleration import Ahead, depends_on_parameters
from suffice.core.errors import SufficeError
from suffice.core.parameters import Array
from suffice.core.weights import Weights
from suffice.engines import blas
from suffice.engines.once import cached_property

SETTLED = 3e-12  # relative move of the parameters that rounding can no longer tell from rest
TINY, SMALL = 1e-10, 1e-8  # moves that may be rounding: by themselves, and where the likelihood stalls
STALLED = 3  # passes without a rise of the likelihood
FALL = 1e-9  # relative fall of the objective that rounding cannot explain
AGREE = 1e-6  # relative distance of the objectives of climbs that ended alike
ROUGH = 1e-6  # the same where a member is an accident: what is singular but for its floor has half of its digits


class FallenError(SufficeError):
    """The likelihood fell: an M-step is wrong. Raised where ``SUFFICE_STRICT`` is set, as in tests."""


class InterruptedStart(KeyboardInterrupt):
    """Interrupted while a start was sought; ``best`` is the best so far."""

    def __init__(self, best: Any) -> None:
        super().__init__()
        self.best = best


@dataclass(frozen=True)
class Trace:
    """What each pass saw.

    Attributes
    ----------
    log_likelihood
        Σ w log p(x) under the parameters of the pass; of a hard mixture Σ w log p(x, its component).
    bound
        G(Q, θ) = Σ Q log p(x, y) + H(Q), computed from the statistics of the pass.
    change
        The relative move of the parameters in the step after the pass.
    entropy
        H(Q): how undecided the responsibilities are.
    seconds
        How long the pass and its M-step took, with a step that was refused before it.
    objective
        What the climb raises: the log-likelihood, and with a prior its log density beside it.
    passes
        Passes over the data, with those whose accelerated step was refused.
    starts, agreeing
        How many climbs were made, and how many of them ended as high as the best.
    tries
        Short climbs on a part of the rows that the start was the best of.
    """

    log_likelihood: Array
    bound: Array
    change: Array
    entropy: Array = field(default_factory=lambda: np.zeros(0))
    seconds: Array = field(default_factory=lambda: np.zeros(0))
    objective: Array = field(default_factory=lambda: np.zeros(0))
    passes: int = 0
    starts: int = 1
    agreeing: int = 1
    tries: int = 1


@dataclass(frozen=True)
class Pass:
    """One pass, as a ``callback`` sees it."""

    number: int
    log_likelihood: float
    bound: float
    entropy: float
    objective: float
    seconds: float
    distribution: Any = field(default=None, repr=False)
    rows: int = 0

    @property
    def rows_per_second(self) -> float:
        """How fast the rows went by."""
        return self.rows / self.seconds if self.seconds > 0 else float("nan")


@dataclass(frozen=True)
class Climb:
    """Where the loop ended, the statistics gathered there, and how it came there."""

    distribution: Any
    statistics: Any
    trace: Trace
    converged: bool
    reason: str
    fell: bool = False
    interrupted: bool = False
    starts: tuple[Trace, ...] = ()  # how the climbs from all starts came to their ends
    judged: float | None = None  # the log-likelihood of other rows, as if they were as many, outliers aside
    unit: float = 1.0  # as in `Here`

    @property
    def height(self) -> float:
        """How high it ended."""
        return float(self.trace.objective[-1] if self.judged is None else self.judged)

    @cached_property
    def merit(self) -> float:
        """What makes one climb better than another: its height, without what degenerate components or chance brought.

        It is a property of the climb alone, so that the best of more climbs is never worse than the best of fewer.
        """
        return self.height - float(self.distribution.spurious_gain(self.statistics))

    def agrees(self, best: Climb) -> bool:
        """Whether this climb ended as high as the best."""
        least = AGREE * (self.unit + abs(best.height))
        return bool(self.height >= best.height - least and self.merit >= best.merit - least)

    def heeded(self) -> Climb:
        """The climb; one that the user interrupted ends what it is a part of, too."""
        if self.interrupted:
            raise KeyboardInterrupt
        return self


@blas.one_thread()  # its threads wait for more to do for a while after an M-step, and would keep ours from the pass
def climb(
    start: Any,
    rows: Any,
    weights: Any,
    prior: Any,
    max_iter: int,
    tol: float | None,
    *,
    accelerate: bool = True,
    log_prior: Callable[[Any], float] | None = None,
    callback: Callable[[Pass], Any] | None = None,
    gain: float | None = None,
    before: float = float("nan"),
    keep: Callable[[dict[str, Any]], None] | None = None,
    resumed: dict[str, Any] | None = None,
    brief: bool = False,
    whole: bool = False,
) -> Climb:
    """Repeat statistics → estimate from ``start``.

    Without ``tol`` it stops when the parameters no longer move (or move only by rounding); with it, as soon as the
    objective (the log-likelihood, or with a prior the log posterior) changes twice by less than ``tol`` relative.
    With ``gain`` it also stops as soon as the objective changes once by less than that; ``before`` is the objective of
    an earlier climb that this one goes on from, without which there is no change before the second pass.
    After ``max_iter`` passes a ``whole`` one makes the last M-step too, and measures log L there without counting it.
    A ``brief`` one that made all its passes does not ask whether the next would move: that is one M-step less.
    ``keep`` gets the state of the climb after each step, and ``resumed`` is such a state to go on from.
    Accelerated steps that lower the objective are taken back. Interrupted after the first pass, or where the objective
    falls, it ends with the best it has.
    """
    walk = _Walk(rows, weights, prior, max_iter, log_prior or (lambda _: 0.0), callback, brief=brief)
    walk.least = 2 if gain is not None and np.isnan(before) else 1
    if resumed is not None:
        here = walk.resume(resumed)
    else:
        here = walk.visit(start)
        walk.speed = Ahead(here.statistics, here.distribution) if accelerate else None
    seen = len(walk.seen)  # passes up to here
    try:
        while True:
            if keep is not None:
                keep(walk.state(here))
            found = FLAT if walk.flat(tol) or walk.gained_less(gain, before) else walk.step(here)
            if isinstance(found, _End):
                break
            if start.guarded and not found.objective >= here.objective - FALL * here.size:
                found = walk.fallen(here, found)
                break
            here, seen = found, len(walk.seen)
        if whole and found.ran_out:
            here, seen = walk.complete(here), len(walk.seen)
        walk.finish(here)
    except KeyboardInterrupt:
        del walk.seen[seen:]  # a pass whose callback interrupted
        found = _End(f"interrupted after {walk.passes} passes", interrupted=True)
    return Climb(
        here.distribution, here.statistics, walk.trace(), found.converged, found.reason, found.fell, found.interrupted,
        unit=walk.unit,
    )  # fmt: skip


@dataclass(frozen=True)
class _End:
    """Why a climb goes no further."""

    reason: str
    converged: bool = False
    fell: bool = False
    interrupted: bool = False
    ran_out: bool = False  # of passes


FLAT = _End("the likelihood is flat", converged=True)


@dataclass(frozen=True)
class Here:
    """Parameters, the statistics gathered under them, and how good they are.

    Differences of the objective are judged beside its ``size``: beside 1 where it is nearly 0, or beside the weight of
    a row where that is less, so that weights in any unit lead to the same end.
    """

    distribution: Any
    statistics: Any
    objective: float
    unit: float = 1.0

    @property
    def size(self) -> float:
        """What differences of the objective are large or small beside."""
        return self.unit + abs(self.objective)


class _Walk:
    """The passes so far."""

    def __init__(
        self,
        rows: Any,
        weights: Any,
        prior: Any,
        most: int,
        log_prior: Callable[[Any], float],
        callback: Any,
        *,
        brief: bool,
    ) -> None:
        self.rows, self.weights, self.prior, self.log_prior, self.callback = rows, weights, prior, log_prior, callback
        self.unit = Weights.of(weights, len(rows)).unit
        self.most = most  # passes
        self.least = 1  # passes before the end is asked for
        self.brief = brief
        self.speed: Ahead | None = None
        self.seen: list[Pass] = []
        self.moves: list[float] = []
        self.passes = 0
        self.clock = time.perf_counter()

    def state(self, here: Here) -> dict[str, Any]:
        """All that the rest of the climb depends on, but for the rows."""
        return {"here": here, "seen": self.seen, "moves": self.moves, "passes": self.passes, "speed": self.speed}

    def resume(self, state: dict[str, Any]) -> Here:
        """Stand where another walk stood."""
        self.seen, self.moves, self.passes = state["seen"], state["moves"], state["passes"]
        self.speed = state["speed"]
        here: Here = state["here"]
        return here

    def step(self, here: Here) -> Any:
        """One step up: accelerated where that climbs, else by EM; or the end."""
        stopped = _End(f"stopped after {self.most} pass{'es' if self.most > 1 else ''}", ran_out=True)
        if self.brief and self.passes >= self.most:
            return stopped
        rests = bool(self.moves) and self.moves[-1] < TINY  # a step of EM will tell whether it is the end
        ahead = self.speed is not None and not rests and self.passes < self.most
        proposed, following = self.propose(here) if ahead else (None, None)
        if proposed is None:
            following = following or here.distribution.estimate(here.statistics, self.prior)
            self.moves.append(distance(here.distribution, following))
            if self.passes >= self.least and _settled(self.moves, self.last(STALLED + 1)):
                return FLAT
        if self.passes >= self.most:
            return stopped
        there = None if proposed is None else self.visit(proposed, above=here.objective)
        if there is None:
            if self.passes >= self.most:
                return stopped
            if self.speed:
                self.speed.stepped(refused=proposed is not None)
            there = self.visit(following or here.distribution.estimate(here.statistics, self.prior))
        if proposed is not None:
            self.moves.append(distance(here.distribution, there.distribution))
        return there

    def propose(self, here: Here) -> tuple[Any, Any]:
        """An accelerated step, or None; and the step of EM where that one was needed to find it."""
        following = None
        if self.speed and self.speed.about is not None and depends_on_parameters(here.statistics):
            following = here.distribution.estimate(here.statistics, self.prior)
        return self.speed.propose(here, self.prior, following) if self.speed else None, following

    def complete(self, here: Here) -> Here:
        """Make the M-step of the last pass, and measure what it leads to."""
        there: Here = self.visit(here.distribution.estimate(here.statistics, self.prior))
        self.passes -= 1
        lower = here.distribution.guarded and not there.objective >= here.objective - FALL * here.size
        return here if lower and self.fallen(here, there) else there

    def fallen(self, here: Here, there: Here) -> _End:
        """The end where the objective falls: by rounding, or by a wrong M-step."""
        rough = _rough(here, there)
        reason = "the likelihood is flat, to rounding" if rough else _fallen(here, there, len(self.seen))
        self.seen.pop()
        return _End(reason, converged=rough, fell=not rough)

    def finish(self, here: Here) -> None:
        """Tell the move that a further step would make."""
        if len(self.moves) < len(self.seen) and not self.brief:
            self.moves.append(distance(here.distribution, here.distribution.estimate(here.statistics, self.prior)))

    def visit(self, distribution: Any, above: float = -np.inf) -> Any:
        """Pass over the rows; None where the objective is not at least ``above``."""
        stats = distribution.suffstats(self.rows, self.weights)
        self.passes += 1
        evidence = distribution.evidence(stats)
        objective = evidence + self.log_prior(distribution)
        if above > -np.inf and not objective >= above:
            return None
        now = time.perf_counter()
        entropy = _total(getattr(stats, "entropy", 0.0))
        bound = _total(distribution.log_likelihood(stats))
        seen = Pass(self.passes, evidence, bound, entropy, objective, now - self.clock, rows=len(self.rows))
        self.clock = now
        self.seen.append(seen)
        if self.callback is not None:
            self.callback(replace(seen, distribution=distribution))
        return Here(distribution, stats, objective, self.unit)

    def column(self, name: str) -> list[float]:
        return [getattr(one, name) for one in self.seen]

    def last(self, count: int) -> list[float]:
        """The objectives of the last passes."""
        return [one.objective for one in self.seen[-count:]]

    def flat(self, tol: float | None) -> bool:
        """Whether the last two changes of the objective were small; one alone may be a leap that hardly rose."""
        last = self.last(3)
        return tol is not None and len(last) == 3 and max(np.abs(np.diff(last))) <= tol * (self.unit + abs(last[-1]))

    def gained_less(self, gain: float | None, before: float) -> bool:
        """Whether the last change of the objective was less than ``gain``."""
        last = [before, *self.last(2)][-2:]
        return gain is not None and abs(last[1] - last[0]) < gain

    def trace(self) -> Trace:
        changes = np.array([*self.moves, *[np.nan] * len(self.seen)][: len(self.seen)])  # not all, where interrupted
        entropy, seconds, objective = (np.array(self.column(name)) for name in ("entropy", "seconds", "objective"))
        likelihood, bound = np.array(self.column("log_likelihood")), np.array(self.column("bound"))
        return Trace(likelihood, bound, changes, entropy, seconds, objective, self.passes)


def _total(x: Any) -> float:
    return x if isinstance(x, float) else float(np.sum(x))


def _rough(here: Here, there: Here) -> bool:
    """Whether a fall is rounding: as the family tells, or small where some member is flat in some direction."""
    if here.objective - there.objective <= max(one.distribution.rounding(one.statistics) for one in (here, there)):
        return True
    small = there.objective >= here.objective - ROUGH * here.size
    return bool(small and here.distribution.is_spurious(here.statistics))


def _fallen(here: Here, there: Here, number: int) -> str:
    text = (
        f"stopped after pass {number}, which lowered the log-likelihood from {here.objective:.17g} to "
        f"{there.objective:.17g}: the M-step of {there.distribution.name} is not a maximum"
    )
    if os.environ.get("SUFFICE_STRICT", "").strip().lower() not in {"", "0", "false", "no", "off"}:
        raise FallenError(text)
    return text


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
    """The largest relative move of a parameter."""
    return float(left.distance(right))
