"""Short climbs over one small picture of the rows: what starts and choices are the best of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from suffice import kernels
from suffice.combinators.stack import Stack
from suffice.combinators.swift import LostError, Track
from suffice.core.em import Climb, climb
from suffice.core.parameters import Array
from suffice.core.weights import Weights

FEW = 0.01  # of the judging rows, those of least density, that count as the next: one outlier is not to decide


class Course:
    """Rows that one mixture climbs over again and again; on a track where there is one, else by itself.

    Climbs are ranked by other rows, the ``judges`` with their weights, where there are any.
    """

    def __init__(
        self, model: Any, rows: Any, weights: Weights, prior: Any, judges: tuple[Any, Weights] | None = None
    ) -> None:
        self.model, self.small, self.weights, self.prior = model, rows, weights, prior
        self.rows = model.staged(rows)
        self.track = None if prior is not None else Track.of(model, self.rows, weights)
        fine = self.track is not None and judges is not None and np.isfinite(judges[0]).all()
        self.judges = judges if fine else None
        self.believed = belief(prior)

    def climb(self, first: Any, passes: int, tol: float, *, accelerate: bool = True) -> Climb:
        """A climb of so many passes at most, or until the objective changes by less than ``tol`` relative."""
        if self.track is not None:
            try:
                return self._on(self.track, self.track.begin(first), passes, tol, accelerate)
            except LostError:
                pass
        path = climb(
            first, self.rows, self.weights, self.prior, passes, tol, accelerate=accelerate, log_prior=self.believed,
            brief=True,
        )  # fmt: skip
        return self._judged(path)

    def climb_from(self, shares: Array, rng: Any, passes: int, tol: float, *, accelerate: bool = True) -> Climb:
        """The same from the estimate of rows whose owners are known in parts (n, k)."""
        if self.track is not None:
            try:
                first = self.track.owned(self.rows, shares, self.weights)
                return self._on(self.track, first, passes, tol, accelerate)
            except LostError:
                pass
        held = self.weights.dense()
        held = shares if (held == 1).all() else shares * held
        return self.climb(owned(self.model, self.small, held, rng), passes, tol, accelerate=accelerate)

    def _on(self, track: Track, first: Any, passes: int, tol: float, accelerate: bool) -> Climb:  # noqa: FBT001
        with kernels.job(self.rows.size):
            path = climb(first, self.rows, self.weights, None, passes, tol, accelerate=accelerate, brief=True)
        return self._judged(track.off(path))

    def _judged(self, path: Climb) -> Climb:
        if self.judges is None:
            return path
        rows, held = self.judges[0], self.judges[1].dense()[:, 0]
        heights = np.asarray(path.distribution.log_density(rows)).reshape(len(rows))
        heights = np.maximum(heights, np.quantile(heights, FEW))
        return replace(path, judged=self.weights.total / self.judges[1].total * float(held @ heights))


def belief(prior: Any) -> Callable[[Any], float] | None:
    """What a climb under a prior adds to the log-likelihood: the log density of the prior."""
    return None if prior is None else (lambda one: float(np.sum(one.log_prior(prior))))


def owned(model: Any, rows: Any, shares: Array, rng: Any) -> Any:
    """The estimate of rows whose owners are known in parts (n, k)."""
    shares = _of_the_able(model.components, rows, shares)
    members = model.components.start(rows, shares, rng).raised(model.floors)
    total = shares.sum(axis=0)
    own = model.weights if "weights" in model.fixed else total / total.sum()
    return replace(model, components=members, weights=own)


def _of_the_able(stack: Any, rows: Any, shares: Array) -> Array:
    """The shares (n, k) without those of members that cannot have made a row; others of the row have them."""
    able = stack.within(rows) if isinstance(stack, Stack) else np.ones((1, 1), bool)
    if able.all():
        return shares
    mine = np.where(able, shares, 0.0)
    mine = np.where(mine.any(axis=1, keepdims=True), mine, able)
    total = mine.sum(axis=1, keepdims=True)
    held = shares.sum(axis=1, keepdims=True)
    return np.where(total > 0, mine * (held / np.where(total > 0, total, 1.0)), shares)  # nobody's: an error names it
