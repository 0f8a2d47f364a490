"""The best of several runs of EM: which is kept, and what to say of those that ended higher."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from suffice.em.loop import AGREE, EMResult
from suffice.types import Alert

if TYPE_CHECKING:
    from suffice.em.result import Fit


@dataclass(frozen=True)
class Restarts:
    """Runs from several starts, and the best of them."""

    runs: tuple[EMResult, ...]
    best: EMResult
    asked: int

    @property
    def interrupted(self) -> bool:
        """Whether there are fewer runs than were asked for, or the last of them was cut short."""
        return len(self.runs) < self.asked or self.runs[-1].interrupted

    @property
    def agreeing(self) -> int:
        """How many runs ended as high as the best."""
        return sum(one.agrees(self.best) for one in self.runs)


def best_of_restarts(
    run: Callable[[tuple[EMResult, ...]], EMResult],
    count: int,
    rank: Callable[[EMResult], float] = lambda one: one.robust_objective,
    before: Sequence[EMResult] = (),
) -> Restarts:
    """Run from ``count`` starts and keep the run of the highest rank; interrupted, the best of those that there are.

    ``run`` gets the runs before it, of which the first may be those of an earlier call.
    """
    runs = list(before)
    try:
        while len(runs) < count and not (runs and runs[-1].interrupted):
            runs.append(run(tuple(runs)))
    except KeyboardInterrupt:
        if not runs:
            raise
    return Restarts(tuple(runs), max(runs, key=rank), count)


def discarded(runs: Sequence[EMResult], best: EMResult) -> tuple[Alert, ...]:
    """The alert of a run that ended higher than the best and was discarded."""
    highest = max(runs, key=lambda one: one.objective)
    if highest.objective <= best.objective + AGREE * (best.unit + abs(best.objective)):
        return ()
    higher, lower = (float(one.trace.log_likelihood[-1]) for one in (highest, best))
    return (Alert("spurious", higher_end(higher, lower)),)


def drop_in_rank(run: EMResult) -> float:
    """What makes a run of a drop-in the best of ``n_init``: its lower bound, as in scikit-learn.

    Only what degenerate components bring is left out; components that chance explains are named in ``alerts_``.
    """
    return run.objective - float(run.distribution.spurious_gain(run.statistics, chance=False))


def robust_objective_of(fit: Fit) -> float:
    """The robust objective of a `Fit`: that of its best run."""
    return float(fit.trace.objective[-1]) - float(fit.distribution.spurious_gain(fit.statistics))


def higher_end(higher: float, lower: float) -> str:
    """What to tell where an end of log-likelihood ``higher`` was discarded for one that is lower."""
    return (
        f"a run of EM ended higher, at a log-likelihood of {higher:.6g}, and was discarded for this one, at "
        f"{lower:.6g}: the difference is no more than degenerate components, or chance with so few rows, can bring. "
        "Use fewer components, a structure that shares its spread, or a prior."
    )
