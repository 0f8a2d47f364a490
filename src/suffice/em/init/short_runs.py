"""Short runs over one subsample of the rows: what starts and choices are the best of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.em.init.packed_columns import ColumnRows
from suffice.em.init.packed_gaussians import UNTOLD, LostError, PackedRows, is_packed
from suffice.em.loop import EMResult, run_em
from suffice.em.training import TrainingData
from suffice.statistics.weights import Weights
from suffice.tables.labels import Labels
from suffice.types import Array, Data, Prior

if TYPE_CHECKING:
    from suffice.core.family import Family

BRIEF = 16  # passes up to which a run is one loop of a kernel: longer ones gain by combining passes


class ShortRuns:
    """Rows of many runs of one mixture: over packed sums where there are such, else by its own passes."""

    def __init__(self, model: Any, rows: Array | Labels, weights: Weights, prior: Prior) -> None:
        self.model, self.small, self.weights, self.prior = model, rows, weights, prior
        self.rows = model.preprocess(rows)
        self.packed = None if prior is not None else PackedRows.of(model, self.rows, weights)
        columns = prior is None and self.packed is None
        self.columns = ColumnRows.of(model, self.rows, weights) if columns else None
        self.data = TrainingData(self.rows, weights, prior, belief(prior))

    def run_em(self, first: object, passes: int, tol: float, *, accelerate: bool = True) -> EMResult:
        """A run of so many passes at most, or until the objective changes by less than ``tol`` relative.

        Its end may be packed: runs go on from it as it is, and :func:`unpacked` makes it one of the mixture.
        """
        if self.packed is not None:
            try:
                return self._run_packed(self.packed.pack(first), passes, tol, accelerate)
            except LostError:
                first = getattr(first, "unpacked", first)
        if self.columns is not None:
            found = self.columns.run(self.columns.pack(first), self.data, passes, tol, leaps=accelerate)
            if found is not None:
                return found
            first = getattr(first, "unpacked", first)
        return run_em(first, self.data, max_iter=passes, tol=tol, accelerate=accelerate, brief=True)

    def run_from(self, shares: Array, rng: object, passes: int, tol: float, *, accelerate: bool = True) -> EMResult:
        """The same from the estimate of rows whose owners are known in parts (n, k)."""
        if self.packed is not None:
            try:
                first = self.packed.from_responsibilities(self.rows, shares, self.weights)
                return self._run_packed(first, passes, tol, accelerate)
            except LostError:
                pass
        held = self.weights.dense()
        held = shares if (held == 1).all() else shares * held
        return self.run_em(tag_assignments(self.model, self.small, held, rng), passes, tol, accelerate=accelerate)

    def runs_from(
        self, starts: list[Array], rng: Any, passes: int, tol: float, *, accelerate: bool = True, needed: bool = True
    ) -> list[EMResult]:
        """Runs from several such estimates; where some lose a component to its floor, those that do not.

        Where all do they are made however long it takes, if they are ``needed``.
        """
        if self.packed is not None and starts:
            sums = self.packed.sums_of(self.rows, starts, self.weights)
            runs = self.packed.runs_from(sums, self.data, passes, tol, leaps=accelerate)
            kept = [run for run in runs if run is not None]
            if kept or not needed:
                return kept
        return [self.run_from(shares, rng, passes, tol, accelerate=accelerate) for shares in starts]

    def run_on(self, path: EMResult, passes: int, tol: float) -> EMResult | None:
        """A run from where another ended; None where it loses a component to its floor."""
        first = path.distribution
        if is_packed(first):
            return first.packed.run(first, self.data, passes, tol, leaps=True)  # type: ignore[no-any-return]
        return self.run_em(first, passes, tol)

    def _run_packed(self, first: Any, passes: int, tol: float, accelerate: bool) -> EMResult:  # noqa: FBT001
        packed = first.packed
        if passes <= BRIEF:
            found = packed.run(first, self.data, passes, tol, leaps=accelerate)
            if found is not None:
                return found  # type: ignore[no-any-return]
            if packed.structure == "VVV":
                raise LostError(UNTOLD)
        return run_em(first, self.data, max_iter=passes, tol=tol, accelerate=accelerate, brief=True)


def best_of(runs: list[EMResult], count: int) -> list[EMResult]:
    """The runs of the greatest robust objective, which is at most their objective, and takes longer to compute."""
    runs = sorted(runs, key=lambda path: path.objective, reverse=True)
    found: list[EMResult] = []
    for index, path in enumerate(runs):
        found = sorted([*found, path], key=lambda one: one.robust_objective, reverse=True)[:count]
        if len(found) == count and index + 1 < len(runs) and found[-1].robust_objective >= runs[index + 1].objective:
            break
    return found


def belief(prior: Prior) -> Callable[[Any], float] | None:
    """What a run under a prior adds to the log-likelihood: the log density of the prior."""
    return None if prior is None else (lambda one: float(np.sum(one.log_prior(prior))))


def tag_assignments(model: Any, rows: Any, shares: Array, rng: Any) -> Any:
    """The estimate of rows whose owners are known in parts (n, k)."""
    shares = _of_the_able(model.components, rows, shares)
    components = model.components.start(rows, shares, rng).apply_floor(model.floors)
    total = shares.sum(axis=0)
    own = model.weights if "weights" in model.fixed else total / total.sum()
    return replace(model, components=components, weights=own)


def _of_the_able(stack: Family, rows: Data, shares: Array) -> Array:
    """The shares (n, k) without those of components that cannot have made a row; others of the row have them."""
    able = stack.can_generate(rows) if stack.heterogeneous else np.ones((1, 1), bool)
    if able.all():
        return shares
    mine = np.where(able, shares, 0.0)
    mine = np.where(mine.any(axis=1, keepdims=True), mine, able)
    total = mine.sum(axis=1, keepdims=True)
    held = shares.sum(axis=1, keepdims=True)
    return np.where(total > 0, mine * (held / np.where(total > 0, total, 1.0)), shares)  # nobody's: an error names it
