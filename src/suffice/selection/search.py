"""Fitting the candidates of `select`: shared starts, exchanged solutions, and processes where they help.

Candidates of one family and one size are searched together. All begin from the same partitions of a small subsample of
the rows: hierarchical ones, among them that of mclust, by k-means, and drawn by k-means++. Then each tries solutions of
others as starts, so that what one structure finds is not missed by another. A group's result depends on its own seed
only. At last each size also begins where the one before it ended.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice import kernels
from suffice.em.init.agglomeration import by_squares, of_unlike_sizes, owners
from suffice.em.init.partitions import clusters, seeds
from suffice.em.init.starts import floors_of
from suffice.engines import blas, local
from suffice.errors import DataError
from suffice.models.mixture import Mixture
from suffice.selection.growth import grown
from suffice.selection.trials import Found, Group, Trials
from suffice.statistics.weights import Weights
from suffice.tables.deferred_columns import weights_of
from suffice.tables.row_draws import RowDraws
from suffice.tables.scales import scale_of
from suffice.tables.sketch import points, subsample_rows
from suffice.tables.streams import read
from suffice.types import Alert, Array, Data, Rows, Seed

SUBSAMPLE = 2000  # rows that starts are found on
TRIES, ROUNDS = 10, 10  # of k-means in each view of the rows, whose best go on
LENT = 3  # of the best solutions of a group, that every candidate of it tries
SAME_PARTITION = 0.97  # of the rows in two partitions that are the same start
ALIKE = 0.05  # mean difference of responsibilities, from 0 to 2, that are the same start
WORTH = 4.0  # seconds of work left that processes are worth
SMALL = 1 << 19  # cells × components of a pass that threads would not share


@dataclass(frozen=True)
class Groups:
    """All groups, in the order in which they were asked for."""

    each: tuple[Group, ...]

    @classmethod
    def of(
        cls, asked: list[Any], data: Data, weights: Data, prior: str | None, random_state: Seed, folds: float | None
    ) -> Groups:
        """Read the rows once for each family, and partition their subsample for each size."""
        seed = int(np.random.default_rng(random_state).integers(1 << 62))
        first = int(random_state) if isinstance(random_state, (int, np.integer)) else seed  # begins as `fit` would
        read: dict[int, Any] = {}  # by prototype
        floors: dict[Any, Any] = {}  # by prototype and structure
        groups = []
        for candidates in asked:
            mixture = candidates[0].mixture
            key = candidates[0].line
            if key not in read:
                sizes = [group[0].n for group in asked if group[0].line == key]
                read[key] = _prepare(mixture, data, weights, seed, sizes)
            rows, checked, small, views, joined = read[key]
            resolved = mixture.resolve_prior(prior, rows, checked)
            own = np.random.default_rng([seed % (1 << 32), mixture.n])
            codes = _partitions(views, mixture.n, own)
            own_seed = seed + mixture.n
            for one in candidates:
                if (key, one.structure) not in floors:
                    floors[key, one.structure] = _floors(one.mixture.for_data(rows), rows, checked, small)
            groups.append(Group(
                tuple(candidates), rows, checked, prior, resolved, small, codes, joined[mixture.n], own_seed, first,
                folds, {one.structure: floors[key, one.structure] for one in candidates},
            ))  # fmt: skip
        return cls(tuple(groups))


def _floors(mixture: Any, rows: Any, weights: Weights, small: tuple[Any, Any]) -> Any:
    """The floors of the components, from a subsample; a bad value is named by its row among all."""
    try:
        return floors_of(mixture, *small)
    except DataError:
        mixture.components.suffstats(rows, weights)
        raise


def _prepare(mixture: Mixture, data: Data, weights: Data, seed: int, sizes: list[int]) -> tuple[Any, ...]:
    """Rows, weights, their subsample, views of it in which starts are found, and its groups of several sizes."""
    rows = read(mixture, data, without=weights)
    checked = weights_of(data, weights, len(rows))
    if len(rows) == 0 or checked.n_components != 1 or checked.codes is not None:
        msg = (
            f"select needs rows, and one weight per row; got {len(rows)} rows and weights of shape {np.shape(weights)}."
        )
        raise DataError(msg)
    small = subsample_rows(rows, checked, SUBSAMPLE, seed)
    views = _views(*small, sizes)
    joined = _agglomerations(views[0], sizes)
    return rows, checked, small, views, {size: tuple(one[size] for one in joined if size in one) for size in sizes}


@dataclass(frozen=True)
class View:
    """Rows as points in some units, and their groups by Ward's hierarchy."""

    places: Array
    held: Array
    draws: RowDraws
    joined: Callable[[int], Array | None]
    best: int  # of k-means that are tried
    first: int  # drawn by k-means++ and left so

    def partitions(self, k: int, rng: np.random.Generator) -> list[Array]:
        """Owners (n,) by the hierarchy, by k-means, and nearest to rows that lie apart."""
        joined = self.joined(k)
        found = [] if joined is None else [joined]
        tried = sorted((self._means(k, rng) for _ in range(TRIES)), key=lambda one: one[0])
        log_probs = np.array([one[0] for one in tried])
        other = np.append(True, np.diff(log_probs) > 1e-9 * np.abs(log_probs[:-1]))  # the same again is no other start
        found += [codes for (_, codes), new in zip(tried, other, strict=True) if new][: self.best]
        return found + [np.asarray(clusters(self.places, self.held, k, rng, self.draws)) for _ in range(self.first)]

    def _means(self, k: int, rng: np.random.Generator) -> tuple[float, Array]:
        """The inertia and the owners of some rounds of k-means."""
        centres = self.places[seeds(self.places, self.held, k, rng, self.draws)]
        codes = np.zeros(len(self.places), np.int32)
        for _ in range(ROUNDS):
            inertia, weight, moved = kernels.nearest(self.places, centres, self.held, codes=codes)[:3]
            centres = centres + moved / np.where(weight > 0, weight, 1.0)[:, None]
        return float(inertia), codes


def _views(small: Rows, w: Weights, sizes: list[int]) -> list[View]:
    """Rows in units of each column's spread, in units of their covariance, and as they are."""
    held, draws = w.dense()[:, 0], RowDraws.of(small, scale_of(small, w))
    places = np.ascontiguousarray(points(small, held))
    found = [View(places, held, draws, _hierarchy(places, held, sizes), 2, 3)]
    if len(places) > 2 and places.shape[1] > 1:
        values, vectors = np.linalg.eigh(np.cov(places.T, ddof=0))
        kept = values > 1e-9 * max(values[-1], 1e-300)
        round_ = np.ascontiguousarray(places @ (vectors[:, kept] / np.sqrt(values[kept])))
        found.append(View(round_, held, draws, _hierarchy(round_, held, sizes), 1, 0))
        if isinstance(small, np.ndarray) and small.ndim == 2 and np.isfinite(small).all():
            plain = (small - small.mean(axis=0)) / max(float(small.std(axis=0).max()), 1e-300)
            found.append(View(np.ascontiguousarray(plain), held, draws, _hierarchy(plain, held, sizes), 2, 0))
    return found


def _hierarchy(places: Array, held: Array, sizes: list[int]) -> Callable[[int], Array | None]:
    """Owners (n,) of rows in as many groups as are asked for, by Ward's hierarchy; None where there is none."""
    if len(places) < 3:
        return lambda _: None
    if _uneven(held):
        return by_squares(places, held, sizes).get
    from scipy.cluster.hierarchy import fcluster, ward

    tree = ward(places)
    return lambda k: np.asarray(fcluster(tree, k, "maxclust") - 1)


def _agglomerations(view: View, sizes: list[int]) -> list[dict[int, Array]]:
    """Owners by size in the hierarchy of mclust; of repeated rows also in units of their columns.

    There ties decide which groups are joined, and where mclust ends, so that no one hierarchy is as good.
    """
    found = [owners(view.places, view.held, sizes)]
    if _uneven(view.held) and view.places.shape[1] > 1:
        found.append(of_unlike_sizes(view.places, view.held, sizes))
    return found


def _uneven(held: Array) -> bool:
    """Whether rows have different weights, as repeated ones do."""
    return bool((held != held[0]).any())


def _partitions(views: list[View], k: int, rng: np.random.Generator) -> tuple[Array, ...]:
    if k == 1:
        return (np.zeros(len(views[0].places), np.int64),)
    held = views[0].held
    kept: list[Array] = []
    for codes in (codes for view in views for codes in view.partitions(k, rng)):
        if not any(_agreement(codes, one, held) > SAME_PARTITION for one in kept):
            kept.append(codes)
    return tuple(kept)


def _agreement(left: Array, right: Array, held: Array) -> float:
    """Share of the rows in the largest common part of a group with one of another partition, whatever their numbers."""
    width = int(right.max()) + 1
    common = np.bincount(left * width + right, held, (int(left.max()) + 1) * width).reshape(-1, width)
    return float(min(common.max(axis=0).sum(), common.max(axis=1).sum()) / held.sum())


# ---- one group -------------------------------------------------------------------------------------------------------
def searched(group: Group) -> list[Found]:
    """Fit every candidate of a group."""
    try:
        return _search_group(group)
    except DataError:
        group.candidates[0].mixture.for_data(group.rows).components.suffstats(group.rows, group.weights)
        raise  # what names the row of the data was raised before, not that of the subsample


def _search_group(group: Group) -> list[Found]:
    with blas.one_thread():  # its threads would change bits, and compete with other workers
        trials = [Trials(group, candidate) for candidate in group.candidates]
        for one in trials:
            one.begin()
        if group.candidates[0].n > 1 and len(trials) > 1:
            _exchange(trials)
        return [one.conclude() for one in trials]


def _exchange(trials: list[Trials]) -> None:
    """Let each candidate begin at the responsibilities of the best of the others, and of those most like it."""
    best = sorted(trials, key=lambda one: one.score)[:LENT]
    responsibilities = {id(one): one.responsibilities() for one in trials}
    held = trials[0].group.subsample_rows[1].dense()[:, 0]
    for borrower in trials:
        known = [responsibilities[id(borrower)]]  # what need not be tried
        for lender in trials:
            if lender is borrower or not (lender in best or borrower.candidate.like(lender.candidate)):
                continue
            given = responsibilities[id(lender)]
            if all(np.abs(given - one).sum(axis=1) @ held > ALIKE * held.sum() for one in known):
                known.append(given)
        borrower.borrow(known[1:])


# ---- all groups ------------------------------------------------------------------------------------------------------
def search(
    groups: Groups, n_jobs: int | None, report: Callable[..., Any] | None = None
) -> tuple[list[Found], tuple[Alert, ...]]:
    """Search every group; then let each size also begin where the one before it ended.

    ``report`` is called with what each group found, when it is found.
    """
    workers = local.threads() if n_jobs is None else n_jobs
    alerts: tuple[Alert, ...] = ()
    tasks = [Task(group, group.cells, group.cells * len(group.candidates)) for group in groups.each]
    done: dict[int, list[Found]] = {}
    try:
        _work(searched, tasks, workers, done, report)
    except KeyboardInterrupt:
        if not done:
            raise
        missing = sum(len(group.candidates) for i, group in enumerate(groups.each) if i not in done)
        text = f"stopped by the user: {missing} candidates were not fitted."
        alerts = (Alert("interrupted", text, interrupted=True),)
    else:
        try:
            _grow(groups, workers, done)
        except KeyboardInterrupt:
            text = "stopped by the user: some sizes did not begin where smaller ones ended."
            alerts = (Alert("interrupted", text, interrupted=True),)
    found = []
    for index, group in enumerate(groups.each):
        data = (group.rows, group.weights)
        found += [replace(one, fit=replace(one.fit, _data=data)) for one in done.get(index, [])]
    return found, alerts


def _grow(groups: Groups, workers: int, done: dict[int, list[Found]]) -> None:
    """Replace what is found by what grows out of smaller sizes, where that is better."""
    lines: dict[Any, list[tuple[int, int]]] = {}
    for index, group in enumerate(groups.each):
        for place, candidate in enumerate(group.candidates):
            lines.setdefault((candidate.line, candidate.structure), []).append((index, place))
    longer = [sorted(line, key=lambda at: groups.each[at[0]].candidates[0].n) for line in lines.values()]
    longer = [line for line in longer if len(line) > 1]
    tasks = []
    for line in longer:
        parts = [(groups.each[index], done[index][place]) for index, place in line]
        cells = [group.cells for group, _ in parts]
        tasks.append(Task(parts, max(cells), sum(cells)))
    better: dict[int, list[Found]] = {}
    try:
        _work(grown, tasks, workers, better)
    finally:
        for number, found in better.items():
            for (index, place), one in zip(longer[number], found, strict=True):
                done[index][place] = one


@dataclass(frozen=True)
class Task:
    """What to work on, the cells of one pass over it, and how much work it is."""

    what: Any
    cells: int
    work: int


def _work(
    call: Callable[..., Any],
    tasks: list[Task],
    workers: int,
    done: dict[int, list[Found]],
    report: Callable[..., Any] | None = None,
) -> None:
    """Do all tasks: here, or in processes once it is seen that they are worth it; then the largest first."""
    waiting = sorted(range(len(tasks)), key=lambda i: tasks[i].work)  # the smallest tell how long the others will take
    clock = time.perf_counter()
    while waiting:
        ready = sum(tasks[i].work for i in done) or 1
        expected = (time.perf_counter() - clock) / ready * sum(tasks[i].work for i in waiting) if done else 0.0
        small = max(tasks[i].cells for i in waiting) <= SMALL
        if workers > 1 and len(waiting) > 1 and small and expected > WORTH:
            _in_processes(call, {i: tasks[i].what for i in reversed(waiting)}, workers, done, report)
            return
        index = waiting.pop(0)
        done[index] = call(tasks[index].what)
        if report is not None:
            report(done[index])


def _in_processes(
    call: Callable[..., Any], tasks: dict[int, Any], workers: int, done: dict[int, list[Found]], report: Any
) -> None:
    from joblib import Parallel, delayed  # type: ignore[import-untyped]

    pool = Parallel(n_jobs=min(workers, len(tasks)), return_as="generator_unordered", batch_size=1)
    here = os.getpid()
    for index, found in pool(delayed(_numbered)(call, index, what, here) for index, what in tasks.items()):
        done[index] = found  # one by one: an interruption keeps what is there
        if report is not None:
            report(found)


def _numbered(call: Callable[..., Any], index: int, what: object, parent: int) -> tuple[int, list[Found]]:
    if os.getpid() != parent:  # a worker has one thread; Ctrl-C is for whoever asked, who then ends the workers
        os.environ["SUFFICE_THREADS"] = "1"
        with suppress(ValueError):  # in a thread
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    return index, call(what)
