"""The search for one candidate of `select`: short runs on a subsample of the rows, and the fit to all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice.core.distribution import Distribution
from suffice.em.fit import fit
from suffice.em.init.packed_gaussians import is_packed, unpacked
from suffice.em.init.partitions import soften_labels
from suffice.em.init.short_runs import ShortRuns
from suffice.em.init.starts import widen_to_all_rows
from suffice.em.loop import EMResult
from suffice.em.restarts import discarded
from suffice.em.result import Fit
from suffice.errors import UnsupportedError
from suffice.models.mixture import Mixture
from suffice.selection.candidates import Candidate
from suffice.statistics.weights import Weights
from suffice.tables.sketch import take_rows
from suffice.tables.streams import Streamed
from suffice.types import Array

FIRST, KEPT = 4, 4  # passes from every partition, and how many of them go on
SHORT = 8  # passes of a trial
FLAT = 1e-6  # relative change of the objective that ends a trial
PLAIN, COARSE = 200, 1e-5  # passes of plain EM from the agglomeration, and the relative change that ends them
STRETCH, STRETCHES, FINE = 45, 10, 1e-8  # passes before a run is judged again, how often, and what is its end
LAST, STILL = 500, 1e-13  # passes of the best run before it is fitted to all rows, and the change that ends them
PATIENT = 1000  # passes from the start of `fit`, as many as it would take itself
FEW = 3  # candidates of a group that each try the start of `fit`
AHEAD = 20  # passes for which a run is trusted to rise as it does
NEAR, SAME = 1e-2, 1e-4  # relative distances of parameters that lead to the same place, and that are there
EQUAL = 1e-9  # relative difference of objectives that are the same


@dataclass(frozen=True)
class Found:
    """A candidate and its fit."""

    candidate: Candidate
    fit: Fit
    certainty: float  # Σ w log of the probability of each row's most probable component
    held_out: float

    def with_fit(self, group: Group, fit: Fit) -> Found:
        """The same candidate with a better fit."""
        return replace(self, fit=fit, certainty=fit.distribution.certainty(group.rows, group.weights))


@dataclass(frozen=True)
class Group:
    """Candidates of one family and size with the rows as they read them, and where they begin."""

    candidates: tuple[Candidate, ...]
    rows: Any
    weights: Weights
    asked_prior: Any
    prior: Any  # what it stands for, given all rows
    subsample_rows: tuple[Any, Weights]
    codes: tuple[Array, ...]
    joined: tuple[Array, ...]  # owners by agglomeration
    seed: int
    first: int  # the seed of the start of `fit`
    folds: Any
    floors: dict[str, Any]  # of the components, by structure

    @property
    def cells(self) -> int:
        """Cells × components of a pass."""
        return int(np.prod(np.shape(self.rows))) * self.candidates[0].n


class Trials:
    """The search of one candidate."""

    def __init__(self, group: Group, candidate: Candidate) -> None:
        self.group, self.candidate = group, candidate
        small, w = group.subsample_rows
        prototype = candidate.mixture.for_data(group.rows)  # the subsample may lack a rare label
        self.model = replace(prototype, floors=group.floors[candidate.structure])
        self.rng = np.random.default_rng(group.seed)
        self.short_runs = ShortRuns(self.model, small, w, group.prior)
        self.best: EMResult | None = None
        self.ends: list[EMResult] = []  # of the runs that were not given up early

    def begin(self) -> None:
        """Short runs from every partition, of which the most promising go on; the agglomeration; the start of `fit`.

        From the agglomeration it is plain EM that runs, as in mclust: leaps may lead to another place, and this is
        not to end below. Among many candidates the solutions of others take the place of the start of `fit`, which
        costs as much as all others.
        """
        k = self.model.n
        paths = self._runs_from([soften_labels(codes, k) for codes in self.group.codes], FIRST)
        paths.sort(key=lambda path: path.objective, reverse=True)
        kept = [found for path in paths[:KEPT] if (found := self._run_on(path, SHORT, FLAT)) is not None]
        for path in sorted(kept, key=lambda path: path.objective, reverse=True):
            if self.best is None or not self._same(path):
                self._finish(path)
        joined = [soften_labels(codes, k, 0.0) for codes in self.group.joined]
        for path in self._runs_from(joined, PLAIN, COARSE, accelerate=False):
            self._finish(path)
        if self.best is None:  # all of them lost components
            self._keep(self._run_em(unpacked(paths[0]).distribution, PATIENT, FINE))
        if k > 1 and len(self.group.candidates) <= FEW:
            rng = np.random.default_rng(self.group.first)
            mixture, rows = self.candidate.mixture, self.group.rows
            first = mixture.initialize(rows, self.group.weights, rng, None, self.group.prior)[0]
            self._keep(self._run_em(first, PATIENT, FINE / 10))  # not judged on its way: no worse than fit

    def resume(self, learned: Mixture) -> None:
        """Go on from what was learned before."""
        self.best = self._run_em(learned, 1, FLAT)

    def borrow(self, responsibilities: list[Array]) -> None:
        """EM runs from other candidates' responsibilities, which go on where they promise more."""
        for path in self._runs_from(responsibilities, SHORT):
            if self._promises(path) and not self._same(path):
                self._finish(path)

    def _run_em(self, first: Distribution, passes: int, tol: float) -> EMResult:
        """A short EM run on the subsample."""
        return self.short_runs.run_em(first, passes, tol).raise_if_interrupted()

    def _run_on(self, path: EMResult, passes: int, tol: float) -> EMResult | None:
        """A run from where another ended; None where it loses a component to its floor."""
        found = self.short_runs.run_on(path, passes, tol)
        return found if found is None else found.raise_if_interrupted()

    def _runs_from(
        self, starts: list[Array], passes: int, tol: float = FLAT, *, accelerate: bool = True
    ) -> list[EMResult]:
        """EM runs from the estimates of responsibilities."""
        needed = self.best is None
        paths = self.short_runs.runs_from(starts, self.rng, passes, tol, accelerate=accelerate, needed=needed)
        return [path.raise_if_interrupted() for path in paths]

    def _finish(self, path: EMResult) -> None:
        """Climb on as long as that may lead above the best, and is no way to the same place."""
        there = self._run_on(path, STRETCH, FINE)
        for _ in range(STRETCHES - 1):
            if there is None or there.converged or not self._promises(there) or self._same(there):
                break
            there = self._run_on(there, STRETCH, FINE)
        if there is not None:
            self._keep(there)

    def _keep(self, there: EMResult) -> None:
        """Keep the better of the best and another run."""
        self.ends.append(there)
        if self.best is None or self._above(there):
            self.best = there

    def _above(self, path: EMResult) -> bool:
        """Whether a run is better than the best; its objective is no less than what it is ranked by."""
        if self.best is None:
            return True
        least = self.best.robust_objective
        least += EQUAL * (path.unit + abs(least))
        return bool(path.objective > least and not self._close(path, SAME) and path.robust_objective > least)

    def _close(self, path: EMResult, reach: float) -> bool:
        """Whether a run and the best have nearly the same parameters."""
        assert self.best is not None  # noqa: S101 (who asks has one)
        both = [path.distribution, self.best.distribution]
        if not all(map(is_packed, both)):
            both = [getattr(one, "unpacked", one) for one in both]
        here, there = (one.ordered() for one in both)
        return bool(here.distance(there) < reach)

    def _promises(self, path: EMResult) -> bool:
        """Whether a run may be better than the best, or would be if it rose for long as it does now."""
        last = path.trace.objective
        slope = last[-1] - last[-2] if len(last) > 1 else 0.0
        return self.best is None or bool(path.objective + max(AHEAD * slope, 0.0) > self.best.robust_objective)

    def _same(self, path: EMResult) -> bool:
        """Whether the best is where this run is going."""
        return self.best is not None and not self._above(path) and self._close(path, NEAR)

    @property
    def score(self) -> float:
        """What a solution is ranked by: its BIC, from the robust objective."""
        assert self.best is not None  # noqa: S101 (begin comes first)
        return float(self.model.n_parameters * np.log(self.group.weights.total) - 2 * self.best.robust_objective)

    def responsibilities(self) -> Array:
        """Responsibilities of the subsample's rows, with the components in canonical order."""
        assert self.best is not None  # noqa: S101 (begin comes first)
        best, rows = self.best.distribution, self.group.subsample_rows[0]
        if is_packed(best):
            return np.asarray(best.ordered().responsibilities(rows))
        return np.asarray(getattr(best, "unpacked", best).ordered().predict_proba(rows))

    def learned(self, start: Array | None = None) -> Fit:
        """The fit to all rows from a start, or from the best solution on the subsample."""
        assert self.best is not None  # noqa: S101 (begin comes first)
        brief = start is None and is_packed(self.best.distribution)  # a loop that costs less than that of `fit`
        last = self._run_on(self.best, LAST, STILL) if brief else None
        group, best = self.group, unpacked(last or self.best)
        begin = (
            widen_to_all_rows(best.distribution, group.rows, group.weights, *group.subsample_rows).ordered()
            if start is None
            else start
        )
        mixture = self.candidate.mixture
        if group.subsample_rows[1].total == group.weights.total:  # of all rows: what holds the components is known
            mixture = replace(mixture.for_data(group.rows), floors=self.model.floors)
        found = _whole(fit(
            mixture, group.rows, weights=group.weights, prior=group.prior, start=begin,
            random_state=group.seed,
        ))  # fmt: skip
        if mixture is not self.candidate.mixture:
            found = replace(found, distribution=replace(found.distribution, measured=True))
        if start is not None or len(self.ends) < 2:
            return found
        found = replace(found, alerts=(*discarded(self.ends, self.best), *found.alerts))
        alike = sum(one.agrees(self.best) or self._same(one) for one in self.ends)
        return replace(found, trace=replace(found.trace, starts=len(self.ends), agreeing=alike))

    def conclude(self) -> Found:
        """The fit to all rows, and what the candidate says of rows that it has not seen."""
        group, found = self.group, self.learned()
        outside = held_out(group, self.candidate) if group.folds else float("nan")
        sure = found.distribution.certainty(group.rows, group.weights)
        return Found(self.candidate, found, sure, outside)


def _whole(found: Fit) -> Fit:
    """The fit; one that the user interrupted ends the search, too."""
    if any(alert.interrupted for alert in found.alerts):
        raise KeyboardInterrupt
    return found


def held_out(group: Group, candidate: Candidate) -> float:
    """Mean log-likelihood of rows that nothing knew of, neither start nor prior nor floor, while others were fitted."""
    if isinstance(group.rows, Streamed):
        msg = (
            "rows of files cannot be held out: folds take rows out of their order. Choose by 'bic', 'aic' or 'icl', or "
            "keep some files apart and ask the fits for their log_prob."
        )
        raise UnsupportedError(msg)
    n = len(group.rows)
    order = np.random.default_rng(group.seed).permutation(n)
    cuts = [order[i :: group.folds] for i in range(group.folds)] if isinstance(group.folds, (int, np.integer)) else None
    parts = cuts if cuts is not None else [order[: max(round(group.folds * n), 1)]]
    weights = np.ones(n) if group.weights.values is None else group.weights.values
    total = seen = 0.0
    for part in parts:
        rest = np.setdiff1d(order, part)
        if not len(rest) or not len(part) or not weights[rest].any():
            continue
        again = _whole(fit(
            candidate.mixture, take_rows(group.rows, rest), weights=weights[rest], prior=group.asked_prior,
            random_state=group.first,
        ))  # fmt: skip
        with np.errstate(all="ignore"):
            log_probs = np.asarray(again.distribution.log_prob(take_rows(group.rows, part)))
        total += float(np.sum(np.where(weights[part] > 0, weights[part] * log_probs, 0.0)))
        seen += float(weights[part].sum())
    return total / seen if seen else float("nan")
