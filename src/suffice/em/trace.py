"""What a run of EM saw: one `Pass` for each E-step, and the `Trace` of all of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from suffice.types import Array

FALL = 1e-9  # relative fall of the objective that rounding cannot explain


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
    """The passes of a run so far, the moves of its parameters, and the time that each took."""

    def __init__(self, callback: Callable[[Pass], Any] | None = None) -> None:
        self.callback = callback
        self.seen: list[Pass] = []
        self.moves: list[float] = []
        self.passes = 0  # with those whose step was refused
        self.clock = time.perf_counter()

    def add(self, found: Any, rows: int) -> None:
        """Record a pass that was taken, and show it to the callback."""
        now = time.perf_counter()
        model, stats = found.distribution, found.statistics
        entropy, bound = _total(getattr(stats, "entropy", 0.0)), _total(model.log_likelihood(stats))
        seen = Pass(
            self.passes, found.log_likelihood, bound, entropy, found.objective, now - self.clock, rows=rows
        )  # fmt: skip
        self.clock = now
        self.seen.append(seen)
        if self.callback is not None:
            self.callback(replace(seen, distribution=model))

    def last(self, count: int) -> list[float]:
        """The objectives of the last passes."""
        return [one.objective for one in self.seen[-count:]]

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


def _total(x: Any) -> float:
    return x if isinstance(x, float) else float(np.sum(x))
