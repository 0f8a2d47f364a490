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
    rule, record = Convergence(max_iter, tol, gain, before, data.unit), Recorder(callback, bounds=not brief)
    run = _Run(data, rule, record, keep, brief=brief, monotone=start.is_monotone)
    if resumed is None:
        run.begin(start, accelerate=accelerate)
    else:
        run.resume(resumed)
    try:
        run.save()
        end = alternate(run)
        run.finish(last_step=whole and end.ran_out)
    except KeyboardInterrupt:
        del record.seen[run.taken :]  # a pass whose callback interrupted
        end = End(f"interrupted after {record.passes} passes", interrupted=True)
    current = run.current
    return EMResult(
        current.distribution, current.distribution.tag_family(current.statistics), record.trace(), end.converged,
        end.reason, end.fell, end.interrupted, unit=data.unit,
    )  # fmt: skip


def alternate(run: _Run) -> End:
    """The loop: an accelerated step where that does not lower the objective, else one of EM."""
    data, rule, record = run.data, run.rule, run.record
    while True:
        current, following = run.current, None
        if rule.is_flat(record):
            return FLAT
        if run.brief and record.passes >= rule.max_iter:
            return rule.out_of_passes()
        proposal = run.propose()
        if proposal is not None:
            following = run.try_step(proposal)
        model = data.m_step(current) if following is None else following.distribution
        record.moves.append(current.distribution.distance(model))
        if following is None:  # no proposal, or one that was refused
            if proposal is None and rule.at_rest(record):
                return FLAT
            if record.passes >= rule.max_iter:
                return rule.out_of_passes()
            if run.accelerator is not None:
                run.accelerator.stepped(refused=proposal is not None)
            following = run.e_step(model)
        if run.falls_to(following):
            return fallen(current, following, record)
        run.advance(following)


class _Run:
    """Where a run stands, and what is around its loop."""

    current: Iterate
    taken: int  # passes on record when it came there

    def __init__(
        self,
        data: TrainingData,
        rule: Convergence,
        record: Recorder,
        keep: Callable[[dict[str, Any]], None] | None,
        *,
        brief: bool,
        monotone: bool,
    ) -> None:
        self.data, self.rule, self.record, self.keep = data, rule, record, keep
        self.brief, self.monotone = brief, monotone
        self.accelerator: Accelerator | None = None

    def begin(self, start: Any, *, accelerate: bool) -> None:
        """Make the first pass."""
        self.current, self.taken = self.e_step(start), 1
        if accelerate:
            self.accelerator = Accelerator(self.current.statistics, self.current.distribution)

    def advance(self, following: Iterate) -> None:
        """Stand at the parameters of the last pass."""
        self.current, self.taken = following, len(self.record.seen)
        self.save()

    def save(self) -> None:
        """Keep the state where that is asked for."""
        if self.keep is not None:
            self.keep(self.state())

    def propose(self) -> Any:
        """Parameters ahead of the next step of EM; None where a plain one is due."""
        record, rule = self.record, self.rule
        if self.accelerator is None or record.passes >= rule.max_iter or rule.may_be_at_rest(record):
            return None
        return self.accelerator.propose(self.current, self.data)

    def e_step(self, model: object) -> Iterate:
        """Pass over the rows."""
        found = self.data.e_step(model)
        self.record.passes += 1
        self.record.add(found, len(self.data.rows))
        return found

    def try_step(self, model: object) -> Iterate | None:
        """Pass over the rows; None where the objective falls."""
        found = self.data.e_step(model)
        self.record.passes += 1
        if not found.objective >= self.current.objective:
            return None
        self.record.add(found, len(self.data.rows))
        return found

    def falls_to(self, following: Iterate) -> bool:
        """Whether the objective falls by more than rounding."""
        current = self.current
        return self.monotone and not following.objective >= current.objective - FALL * current.size

    def finish(self, *, last_step: bool) -> None:
        """Make the M-step of the last pass where it is asked for; record the move that a further step would make."""
        if last_step:
            following = self.e_step(self.data.m_step(self.current))
            self.record.passes -= 1
            if not (self.falls_to(following) and fallen(self.current, following, self.record)):
                self.advance(following)
        if len(self.record.moves) < len(self.record.seen) and not self.brief:
            self.record.moves.append(self.current.distribution.distance(self.data.m_step(self.current)))

    def state(self) -> dict[str, Any]:
        """All that the rest of the run depends on, but for the rows."""
        record = self.record
        seen = {"seen": record.seen, "moves": record.moves, "passes": record.passes}
        return {"iterate": self.current, **seen, "speed": self.accelerator}

    def resume(self, state: dict[str, Any]) -> None:
        """Stand where another run stood."""
        record = self.record
        record.seen, record.moves, record.passes = state["seen"], state["moves"], state["passes"]
        self.accelerator = state["speed"]
        self.current, self.taken = state["iterate"], len(record.seen)
