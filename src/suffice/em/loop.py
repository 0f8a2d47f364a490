"""The EM loop: statistics given the parameters, parameters given the statistics, until the objective is flat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from suffice.em.acceleration import Accelerator
from suffice.em.convergence import FLAT, Convergence, End, fallen
from suffice.em.trace import FALL, Pass, Recorder, Trace
from suffice.em.training import Iterate, TrainingData
from suffice.engines import blas
from suffice.engines.once import cached_property
from suffice.types import Alert

AGREE = 1e-6  # relative distance of the objectives of runs that ended alike


class InterruptedStart(KeyboardInterrupt):
    """Interrupted while a start was sought; ``best`` is the best so far."""

    def __init__(self, best: Any) -> None:
        super().__init__()
        self.best = best


@dataclass(frozen=True)
class EMResult:
    """The last parameters of a run of EM, the statistics gathered under them, and its trace."""

    distribution: Any
    statistics: Any
    trace: Trace
    converged: bool
    reason: str
    fell: bool = False
    interrupted: bool = False
    starts: tuple[Trace, ...] = ()  # how the runs from all starts came to their ends
    unit: float = 1.0  # as in `Iterate`
    alerts: tuple[Alert, ...] = ()  # about its start

    @property
    def objective(self) -> float:
        """How high it ended."""
        return float(self.trace.objective[-1])

    @cached_property
    def robust_objective(self) -> float:
        """What runs are ranked by: its objective, without what degenerate components or chance gained.

        It is a property of the run alone, so that the best of more runs is never worse than the best of fewer.
        """
        return self.objective - float(self.distribution.spurious_gain(self.statistics))

    def agrees(self, best: EMResult) -> bool:
        """Whether this run ended as high as the best."""
        least = AGREE * (self.unit + abs(best.objective))
        return bool(self.objective >= best.objective - least and self.robust_objective >= best.robust_objective - least)

    def raise_if_interrupted(self) -> EMResult:
        """The run; one that the user interrupted ends what it is a part of, too."""
        if self.interrupted:
            raise KeyboardInterrupt
        return self


@blas.one_thread()  # its threads wait for more to do for a while after an M-step, and would keep ours from the pass
def run_em(
    start: Any,
    data: TrainingData,
    *,
    max_iter: int,
    tol: float | None = None,
    gain: float | None = None,
    before: float = float("nan"),
    accelerate: bool = True,
    callback: Callable[[Pass], Any] | None = None,
    keep: Callable[[dict[str, Any]], None] | None = None,
    resumed: dict[str, Any] | None = None,
    brief: bool = False,
    whole: bool = False,
) -> EMResult:
    """Alternate E- and M-steps from ``start`` until the objective is flat (Dempster, Laird and Rubin 1977).

    The objective is the log-likelihood, or with a prior the log posterior; `Convergence` says when it is flat.
    Accelerated steps that lower it are taken back. Interrupted after the first pass, or where the objective falls, the
    run ends with the best it has. After ``max_iter`` passes a ``whole`` run makes the last M-step too, and measures
    log L there without counting it; a ``brief`` one does not ask whether the next step would move. ``keep`` gets the
    state of the run after each step, and ``resumed`` is such a state to go on from.
    """
    record = Recorder(callback, bounds=not brief)
    run = _Run(data, Convergence(max_iter, tol, gain, before, data.unit), record, brief=brief)
    current = run.e_step(start) if resumed is None else run.resume(resumed)
    if resumed is None and accelerate:
        run.accelerator = Accelerator(current.statistics, current.distribution)
    monotone = start.is_monotone
    try:
        while True:
            taken = len(run.record.seen)
            if keep is not None:
                keep(run.state(current))
            found = FLAT if run.rule.is_flat(run.record) else run.step(current)
            if isinstance(found, End):
                break
            if monotone and not found.objective >= current.objective - FALL * current.size:
                found = fallen(current, found, run.record)
                break
            current = found
        if whole and found.ran_out:
            current, taken = run.complete(current), len(run.record.seen)
        run.finish(current)
    except KeyboardInterrupt:
        del run.record.seen[taken:]  # a pass whose callback interrupted
        found = End(f"interrupted after {run.record.passes} passes", interrupted=True)
    return EMResult(
        current.distribution, current.distribution.tag_family(current.statistics), run.record.trace(), found.converged,
        found.reason, found.fell, found.interrupted, unit=data.unit,
    )  # fmt: skip


class _Run:
    """The steps of one run."""

    def __init__(self, data: TrainingData, rule: Convergence, record: Recorder, *, brief: bool) -> None:
        self.data, self.rule, self.record, self.brief = data, rule, record, brief
        self.accelerator: Accelerator | None = None

    def step(self, current: Iterate) -> Iterate | End:
        """One step: accelerated where that does not lower the objective, else by EM; or the end."""
        record, data, most = self.record, self.data, self.rule.max_iter
        if self.brief and record.passes >= most:
            return self.rule.out_of_passes()
        ahead = self.accelerator is not None and record.passes < most and not self.rule.may_be_at_rest(record)
        proposed = self.accelerator.propose(current, data) if ahead and self.accelerator else None
        if proposed is None:
            record.moves.append(current.distribution.distance(data.m_step(current)))
            if self.rule.at_rest(record):
                return FLAT
        reached: Iterate | None = None
        if proposed is not None:
            reached = self.try_step(proposed, above=current.objective)
        if reached is None:
            if record.passes >= most:
                return self.rule.out_of_passes()
            if self.accelerator is not None:
                self.accelerator.stepped(refused=proposed is not None)
            reached = self.e_step(data.m_step(current))
        if proposed is not None:
            record.moves.append(current.distribution.distance(reached.distribution))
        return reached

    def e_step(self, model: Any) -> Iterate:
        """Pass over the rows."""
        found = self.data.e_step(model)
        self.record.passes += 1
        self.record.add(found, len(self.data))
        return found

    def try_step(self, model: Any, above: float) -> Iterate | None:
        """Pass over the rows; None where the objective is not at least ``above``."""
        found = self.data.e_step(model)
        self.record.passes += 1
        if not found.objective >= above:
            return None
        self.record.add(found, len(self.data))
        return found

    def complete(self, current: Iterate) -> Iterate:
        """Make the M-step of the last pass, and measure what it leads to."""
        reached = self.e_step(self.data.m_step(current))
        self.record.passes -= 1
        lower = current.distribution.is_monotone and not reached.objective >= current.objective - FALL * current.size
        return current if lower and fallen(current, reached, self.record) else reached

    def finish(self, current: Iterate) -> None:
        """Record the move that a further step would make."""
        if len(self.record.moves) < len(self.record.seen) and not self.brief:
            self.record.moves.append(current.distribution.distance(self.data.m_step(current)))

    def state(self, current: Iterate) -> dict[str, Any]:
        """All that the rest of the run depends on, but for the rows."""
        record = self.record
        seen = {"seen": record.seen, "moves": record.moves, "passes": record.passes}
        return {"iterate": current, **seen, "speed": self.accelerator}

    def resume(self, state: dict[str, Any]) -> Iterate:
        """Stand where another run stood."""
        record = self.record
        record.seen, record.moves, record.passes = state["seen"], state["moves"], state["passes"]
        self.accelerator = state["speed"]
        current: Iterate = state["iterate"]
        return current
