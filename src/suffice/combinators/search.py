"""Fitting the candidates of `select`: shared starts, exchanged solutions, and processes where they help.

Candidates of one family and one size are searched together. All begin from the same partitions of a small picture of
the rows: hierarchical ones, by k-means, and drawn by k-means++. Then each tries solutions of others as starts, so that
what one structure finds is not missed by another. A group's result depends on its own seed only.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice import kernels
from suffice.combinators.candidates import Candidate
from suffice.combinators.starts import belief, blurred, clusters, floors_of, owned, seeds
from suffice.core.distribution import Alert
from suffice.core.em import Climb, climb
from suffice.core.errors import DataError
from suffice.core.fit import fit
from suffice.core.latent import share_out
from suffice.core.parameters import Array
from suffice.core.result import Fit
from suffice.core.sketch import picture, points, taken
from suffice.core.weights import Weights
from suffice.engines import local

PICTURE = 2000  # rows that starts are found on
TRIES, ROUNDS = 20, 10  # of k-means in each view of the rows, whose best go on
SHORT = 8  # passes of a trial
FLAT = 1e-6  # relative change of the objective that ends a trial
FINISHED = 2  # trials that are climbed to the end
LENT = 3  # of the best solutions of a group, that every candidate of it tries
WORTH = 4.0  # seconds of work left that processes are worth
SMALL = 1 << 19  # cells × members of a pass that threads would not share


@dataclass(frozen=True)
class Found:
    """A candidate and its fit."""

    candidate: Candidate
    fit: Fit
    certainty: float  # Σ w log of the probability of each row's most probable member
    held_out: float


@dataclass(frozen=True)
class Group:
    """Candidates of one family and size with the rows as they read them, and where they begin."""

    candidates: tuple[Candidate, ...]
    rows: Any
    weights: Weights
    prior: Any
    picture: tuple[Any, Weights]
    codes: tuple[Array, ...]
    seed: int
    folds: Any

    @property
    def cells(self) -> int:
        """Cells × members of a pass."""
        return int(np.prod(np.shape(self.rows))) * self.candidates[0].n


@dataclass(frozen=True)
class Groups:
    """All groups, in the order in which they were asked for."""

    each: tuple[Group, ...]

    @classmethod
    def of(cls, asked: Any, data: Any, weights: Any, prior: Any, rng: Any, folds: Any) -> Groups:
        """Read the rows once for each family, and partition their picture for each size."""
        seed = int(rng.integers(1 << 62))
        read: dict[int, Any] = {}
        groups = []
        for candidates in asked:
            mixture = candidates[0].mixture
            key = id(mixture.parts[0]) if not candidates[0].structure else candidates[0].family
            if key not in read:
                read[key] = _prepared(mixture, data, weights, seed)
            rows, checked, small, views = read[key]
            settled = mixture.settle_prior(prior, rows, checked)
            own = np.random.default_rng([seed % (1 << 32), mixture.n])
            codes = _partitions(views, mixture.n, own)
            groups.append(Group(tuple(candidates), rows, checked, settled, small, codes, seed + mixture.n, folds))
        return cls(tuple(groups))


def _prepared(mixture: Any, data: Any, weights: Any, seed: int) -> Any:
    """Rows, weights, their picture, and views of it in which starts are found."""
    rows = mixture.read(data)
    checked = Weights.of(weights, len(rows))
    if len(rows) == 0 or checked.members != 1 or checked.codes is not None:
        msg = (
            f"select needs rows, and one weight per row; got {len(rows)} rows and weights of shape {np.shape(weights)}."
        )
        raise DataError(msg)
    small = picture(rows, checked, PICTURE, seed)
    return rows, checked, small, _views(*small)


@dataclass(frozen=True)
class View:
    """Rows as points in some units, and Ward's hierarchy over them."""

    places: Array
    held: Array
    tree: Array | None
    best: int  # of k-means that are tried
    first: int  # drawn by k-means++ and left so

    def partitions(self, k: int, rng: Any) -> list[Array]:
        """Owners (n,) by the hierarchy, by k-means, and nearest to rows that lie apart."""
        found = []
        if self.tree is not None:
            from scipy.cluster.hierarchy import fcluster

            found.append(fcluster(self.tree, k, "maxclust") - 1)
        tried = sorted((self._means(k, rng) for _ in range(TRIES)), key=lambda one: one[0])
        heights = np.array([one[0] for one in tried])
        other = np.append(True, np.diff(heights) > 1e-9 * np.abs(heights[:-1]))  # the same again is no other start
        found += [codes for (_, codes), new in zip(tried, other, strict=True) if new][: self.best]
        return found + [np.asarray(clusters(self.places, self.held, k, rng)) for _ in range(self.first)]

    def _means(self, k: int, rng: Any) -> tuple[float, Array]:
        """The inertia and the owners of some rounds of k-means."""
        centres, codes = self.places[seeds(self.places, self.held, k, rng)], np.zeros(len(self.places), np.int32)
        for _ in range(ROUNDS):
            inertia, weight, moved = kernels.nearest(self.places, centres, self.held, codes=codes)[:3]
            centres = centres + moved / np.where(weight > 0, weight, 1.0)[:, None]
        return float(inertia), codes


def _views(small: Any, w: Weights) -> list[View]:
    """Rows in units of each column's spread, in units of their covariance, and as they are."""
    held = w.dense()[:, 0]
    places = np.ascontiguousarray(points(small, held))
    found = [View(places, held, _tree(places), 2, 4)]
    if len(places) > 2 and places.shape[1] > 1:
        values, vectors = np.linalg.eigh(np.cov(places.T, ddof=0))
        kept = values > 1e-9 * max(values[-1], 1e-300)
        round_ = np.ascontiguousarray(places @ (vectors[:, kept] / np.sqrt(values[kept])))
        found.append(View(round_, held, _tree(round_), 1, 0))
        if isinstance(small, np.ndarray) and small.ndim == 2 and np.isfinite(small).all():
            plain = (small - small.mean(axis=0)) / max(float(small.std(axis=0).max()), 1e-300)
            found.append(View(np.ascontiguousarray(plain), held, _tree(plain), 2, 0))
    return found


def _tree(places: Array) -> Array | None:
    if len(places) < 3:
        return None
    from scipy.cluster.hierarchy import ward

    return np.asarray(ward(places))


def _partitions(views: list[View], k: int, rng: Any) -> tuple[Array, ...]:
    if k == 1:
        return (np.zeros(len(views[0].places), np.int64),)
    return tuple(codes for view in views for codes in view.partitions(k, rng))


# ---- one group -------------------------------------------------------------------------------------------------------
def searched(group: Group) -> list[Found]:
    """Fit every candidate of a group."""
    with local._one_blas_thread():  # noqa: SLF001 (its threads would change bits, and compete with other workers)
        trials = [_Trials(group, candidate) for candidate in group.candidates]
        for one in trials:
            one.begin()
        if group.candidates[0].n > 1 and len(trials) > 1:
            _exchange(trials)
        return [one.conclude() for one in trials]


def _exchange(trials: list[_Trials]) -> None:
    """Let each candidate begin at the responsibilities of the best of the others, and of those most like it."""
    best = sorted(trials, key=lambda one: one.score)[:LENT]
    shares = {id(one): one.shares() for one in trials}
    for borrower in trials:
        for lender in trials:
            if lender is not borrower and (lender in best or borrower.candidate.like(lender.candidate)):
                borrower.borrow(shares[id(lender)])


class _Trials:
    """The search of one candidate."""

    def __init__(self, group: Group, candidate: Candidate) -> None:
        self.group, self.candidate = group, candidate
        small, w = group.picture
        shaped = candidate.mixture.shaped(small)
        self.model = replace(shaped, floors=floors_of(shaped, small, w))
        self.rng = np.random.default_rng(group.seed)
        self.staged = self.model.staged(small)
        self.best: Climb | None = None

    def begin(self) -> None:
        """Short climbs from every partition; the most promising go on."""
        k, (small, w) = self.model.n, self.group.picture
        held = w.dense()[:, 0]
        shared = (blurred(codes, k) * held[:, None] for codes in self.group.codes)
        paths = [self._climb(owned(self.model, small, shares, self.rng), SHORT) for shares in shared]
        paths.sort(key=lambda path: path.rank, reverse=True)
        for path in paths[:FINISHED]:
            self._finish(path)

    def borrow(self, shares: Array) -> None:
        """A climb from another candidate's responsibilities, which goes on where it promises more."""
        small, w = self.group.picture
        path = self._climb(owned(self.model, small, shares * w.dense(), self.rng), SHORT)
        assert self.best is not None  # noqa: S101 (begin comes first)
        last = path.trace.objective
        slope = last[-1] - last[-2] if len(last) > 1 else 0.0
        if path.rank > self.best.rank or (
            path.rank[0] >= self.best.rank[0] and last[-1] + 20 * slope > self.best.rank[1]
        ):
            self._finish(path)

    def _climb(self, first: Any, passes: int) -> Climb:
        return self._climbed(first, passes, FLAT)

    def _climbed(self, first: Any, passes: int, tol: float) -> Climb:
        """A climb on the picture; one that the user interrupted ends the search, too."""
        prior = self.group.prior
        path = climb(first, self.staged, self.group.picture[1], prior, passes, tol, log_prior=belief(prior))
        if path.reason.startswith("interrupted"):
            raise KeyboardInterrupt
        return path

    def _finish(self, path: Climb) -> None:
        there = self._climbed(path.distribution, 500, 1e-9)
        if self.best is None or there.rank > self.best.rank:
            self.best = there

    @property
    def score(self) -> tuple[bool, float]:
        """What makes a solution worth lending: soundness, then BIC."""
        assert self.best is not None  # noqa: S101 (begin comes first)
        sound, height = self.best.rank[0], self.best.trace.log_likelihood[-1]
        return not sound, self.best.distribution.n_parameters * np.log(self.group.weights.total) - 2 * height

    def shares(self) -> Array:
        """Responsibilities of the picture's rows."""
        assert self.best is not None  # noqa: S101 (begin comes first)
        return np.asarray(self.best.distribution.predict_proba(self.group.picture[0]))

    def conclude(self) -> Found:
        """The fit to all rows from the best solution on the picture, and what it says of rows that it has not seen."""
        assert self.best is not None  # noqa: S101 (begin comes first)
        group = self.group
        found = fit(
            self.candidate.mixture, group.rows, weights=group.weights.values, prior=group.prior,
            start=self.best.distribution.ordered(), random_state=group.seed,
        )  # fmt: skip
        if any(text.startswith("interrupted") for _, text in found.alerts):
            raise KeyboardInterrupt
        outside = held_out(group, found) if group.folds else float("nan")
        return Found(self.candidate, found, _certainty(group, found.distribution), outside)


def _certainty(group: Group, mixture: Any) -> float:
    """Σ w log max r."""

    def part(where: slice) -> float:
        scores = mixture.scores(group.rows[where])
        with np.errstate(all="ignore"):
            sure = scores.max(axis=1) - share_out(scores).total
        return float(np.nansum(group.weights[where].dense()[:, 0] * sure))

    return float(local.reduce(part, len(group.rows), mixture.n + 1))


def held_out(group: Group, found: Fit) -> float:
    """Mean log-likelihood of rows that were left out while the candidate was fitted again to the others."""
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
        again = fit(
            found.distribution, taken(group.rows, rest), weights=weights[rest], prior=group.prior,
            start=found.distribution, random_state=group.seed,
        )  # fmt: skip
        with np.errstate(all="ignore"):
            heights = np.asarray(again.distribution.log_prob(taken(group.rows, part)))
        total += float(np.sum(np.where(weights[part] > 0, weights[part] * heights, 0.0)))
        seen += float(weights[part].sum())
    return total / seen if seen else float("nan")


# ---- all groups ------------------------------------------------------------------------------------------------------
def search(groups: Groups, n_jobs: int | None) -> tuple[list[Found], tuple[Alert, ...]]:
    """Search every group: here, or in processes once it is seen that they are worth it; the largest groups first."""
    order = sorted(range(len(groups.each)), key=lambda i: -groups.each[i].cells * len(groups.each[i].candidates))
    done: dict[int, list[Found]] = {}
    clock, workers = time.perf_counter(), local.threads() if n_jobs is None else n_jobs
    alerts: tuple[Alert, ...] = ()
    try:
        waiting = list(reversed(order))  # the smallest first: they tell how long the others will take
        while waiting:
            left = sum(groups.each[i].cells for i in waiting)
            ready = sum(groups.each[i].cells for i in done) or 1
            expected = (time.perf_counter() - clock) / ready * left if done else 0.0
            small = max(groups.each[i].cells for i in waiting) <= SMALL
            if workers > 1 and len(waiting) > 1 and small and expected > WORTH:
                _in_processes(groups, list(reversed(waiting)), workers, done)
                break
            index = waiting.pop(0)
            done[index] = searched(groups.each[index])
    except KeyboardInterrupt:
        if not done:
            raise
        missing = sum(len(group.candidates) for i, group in enumerate(groups.each) if i not in done)
        alerts = (("interrupted", f"stopped by the user: {missing} candidates were not fitted."),)
    found = []
    for index, group in enumerate(groups.each):
        data = (group.rows, group.weights)
        found += [replace(one, fit=replace(one.fit, _data=data)) for one in done.get(index, [])]
    return found, alerts


def _in_processes(groups: Groups, order: list[int], workers: int, done: dict[int, list[Found]]) -> None:
    from joblib import Parallel, delayed  # type: ignore[import-untyped]

    pool = Parallel(n_jobs=min(workers, len(order)), return_as="generator_unordered", batch_size=1)
    tasks = (delayed(_numbered)(index, groups.each[index]) for index in order)
    for index, found in pool(tasks):
        done[index] = found  # noqa: PERF403 (one by one: an interruption keeps what is there)


def _numbered(index: int, group: Group) -> tuple[int, list[Found]]:
    os.environ["SUFFICE_THREADS"] = "1"
    return index, searched(group)
