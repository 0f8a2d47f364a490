"""What a run of EM saw: one `Pass` for each E-step, and the `Trace` of all of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.types import Array

if TYPE_CHECKING:
    from suffice.em.training import Iterate

FALL = 1e-9  # relative fall of the objective that rounding cannot explain
_objective = attrgetter("objective")


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
        What the run raises: the log-likelihood, and with a prior its log density beside it.
    passes
        Passes over the data, with those whose accelerated step was refused.
    starts, agreeing
        Number of runs, and how many of them ended as high as the best.
    tries
        Short runs on a part of the rows that the start was the best of.
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

    @property
    def falls(self) -> int:
        """How many steps lowered the objective by more than rounding explains."""
        raised = self.objective if len(self.objective) else self.log_likelihood
        with np.errstate(invalid="ignore"):  # an infinite likelihood has no difference to another
            return int(np.sum(np.diff(raised) < -FALL * (1 + np.abs(raised[:-1]))))


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


class Recorder:
    """The passes of a run so far, the moves of its parameters, and the time that each took.

    Without ``bounds`` that of each pass is not computed from its statistics, and NaN.
    """

    def __init__(self, callback: Callable[[Pass], Any] | None = None, *, bounds: bool = True) -> None:
        self.callback, self.bounds = callback, bounds
        self.seen: list[Pass] = []
        self.moves: list[float] = []
        self.passes = 0  # with those whose step was refused
        self.clock = time.perf_counter()

    def add(self, found: Iterate, rows: int) -> None:
        """Record a pass that was taken, and show it to the callback."""
        now = time.perf_counter()
        model, stats = found.distribution, found.statistics
        seen = Pass(
            number=self.passes,
            log_likelihood=found.log_likelihood,
            bound=float(np.sum(model.log_likelihood(stats))) if self.bounds else float("nan"),
            entropy=float(np.sum(getattr(stats, "entropy", 0.0))),
            objective=found.objective,
            seconds=now - self.clock,
            rows=rows,
        )
        self.clock = now
        self.seen.append(seen)
        if self.callback is not None:
            self.callback(replace(seen, distribution=model))

    def last(self, count: int) -> list[float]:
        """The objectives of the last passes."""
        return list(map(_objective, self.seen[-count:]))

    def trace(self) -> Trace:
        """All of it, as a result keeps it."""
        changes = np.array([*self.moves, *[np.nan] * len(self.seen)][: len(self.seen)])  # not all, where interrupted
        return Trace(
            log_likelihood=np.array([one.log_likelihood for one in self.seen]),
            bound=np.array([one.bound for one in self.seen]),
            change=changes,
            entropy=np.array([one.entropy for one in self.seen]),
            seconds=np.array([one.seconds for one in self.seen]),
            objective=np.array([one.objective for one in self.seen]),
            passes=self.passes,
        )
