"""One run of EM on the data of a fit, from a start or from where a checkpoint stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from suffice.bayes.prior_function import in_order
from suffice.em.checkpoint import Checkpoint
from suffice.em.loop import EMResult, InterruptedStart, run_em
from suffice.em.training import TrainingData
from suffice.statistics.weights import Weights
from suffice.tables.streams import preprocess
from suffice.types import Alert


@dataclass
class Problem:
    """What all runs of a fit share, and the checkpoint that the first of them may go on from."""

    prototype: Any
    rows: Any
    weights: Weights
    prior: Any
    start: Any
    rng: np.random.Generator
    options: dict[str, Any]  # of `run_em`
    checkpoint: Checkpoint | None = None
    _state: Any = field(default=None, init=False)  # in the checkpoint, until a run has gone on from it

    def earlier_runs(self) -> tuple[EMResult, ...]:
        """The runs that had ended when the checkpoint was written; the random numbers go on from there."""
        self._state = None if self.checkpoint is None else self.checkpoint.state
        if self._state is None:
            return ()
        self.rng.bit_generator.state = self._state["rng"]
        return tuple(self._state["runs"])

    def run(self, before: tuple[EMResult, ...]) -> EMResult:
        """One run; components without a given order come in canonical order."""
        state, self._state = self._state, None
        options, interrupted = self.options, False
        if state is not None:
            begin, alerts, state = state["loop"]["iterate"].distribution, state["notes"], state["loop"]
        else:
            try:
                begin, alerts = self.prototype.initialize(self.rows, self.weights, self.rng, self.start, self.prior)
            except InterruptedStart as stopped:  # one pass, to know how good it is
                begin, alerts, interrupted = stopped.best, (), True
                options = {**options, "max_iter": 1, "whole": False}
        if options["tol"] is None:
            options = {**options, "tol": self.prototype.tolerance}
        path = run_em(begin, self._data(begin), keep=self._keeper(before, alerts), resumed=state, **options)
        if interrupted:
            path = replace(path, converged=False, reason="interrupted before the first pass", interrupted=True)
        if self.start is None or isinstance(self.start, str):
            learned, stats = path.distribution.in_order(path.statistics, self.prior)
            path = replace(path, distribution=learned, statistics=stats)
        return replace(path, alerts=alerts)

    def _data(self, begin: object) -> TrainingData:
        prior = self.prior
        log_prior = None if prior is None else (lambda one: log_prior_at(one, prior, self.prototype))
        return TrainingData(preprocess(begin, self.rows), self.weights, prior, log_prior)

    def _keeper(self, before: tuple[EMResult, ...], alerts: tuple[Alert, ...]) -> Callable[[Any], None] | None:
        """What writes the state of the run, and of all around it."""
        if self.checkpoint is None:
            return None
        around = {"runs": before, "rng": self.rng.bit_generator.state, "notes": alerts}
        save = self.checkpoint.save
        return lambda state: save({**around, "loop": state})


def log_prior_at(learned: Any, prior: object, prototype: Any) -> float:
    """Log density of the prior at the estimate."""
    if prior is None or isinstance(prior, str):
        return 0.0
    if prototype.blocks:
        priors = prototype.priors(prior)
        return sum(log_prior_at(learned.blocks[key], p, prototype.blocks[key]) for key, p in priors.items())
    if callable(prior):  # of one block; the density is taken as it is
        with np.errstate(all="ignore"):
            return float(np.sum(np.log(in_order(prior, learned.free)(*(learned.params[n] for n in learned.free)))))
    with np.errstate(all="ignore"):  # an estimate on the boundary, where the density may be infinite
        return float(np.sum(learned.log_prior(prior)))
