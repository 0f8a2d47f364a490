"""Where a mixture begins: the best of several short runs on a subsample of the rows, or as the caller says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.core.distribution import Distribution
from suffice.core.likelihood import log_likelihood_of_rows
from suffice.core.responsibilities import normalize
from suffice.display.values import count
from suffice.em.alerts import refuse_large
from suffice.em.init.packed_gaussians import unpacked
from suffice.em.init.partitions import (
    SOFTENED,
    Partitions,
    clusters,
    soften_labels,
    without_last_digits,
    without_leverage,
)
from suffice.em.init.short_runs import ShortRuns, best_of, tag_assignments
from suffice.em.init.split_merge import moves
from suffice.em.loop import EMResult, InterruptedStart
from suffice.em.order import alike, equal_components
from suffice.engines import blas, local
from suffice.errors import DataError, ParameterError
from suffice.statistics.weights import Weights
from suffice.tables.column_names import guessed
from suffice.tables.labels import Labels
from suffice.tables.row_draws import RowDraws
from suffice.tables.rows import uneven
from suffice.tables.scales import scale_of
from suffice.tables.sketch import points, subsample_rows, take_rows
from suffice.types import Alert, Array, Data, Prior, Rows

if TYPE_CHECKING:
    from suffice.core.family import Family

TRIALS, KEPT = 8, 4  # short runs, and how many of them go on; then the best of these
SHORT = 9  # passes
LABEL_TRIALS, FINALISTS, LONG = 20, 6, 60  # short runs over labels, of which so many go on for so many passes more:
# 30 of 30 seeds reach the best maximum of gss82 (3 classes); 12 runs, of which 2 go on for 36, reached 26
SPARE = "spare"  # the start of more components than are needed, of which some are to become empty
MOVES = 9  # ways to make two components one and cut another that are tried
STRETCHES, AHEAD = 6, 20  # short runs from each, and passes for which a run is trusted to rise as it does
MOVED = 1 << 17  # rows × components of the subsample up to which they are made: among many components so few do little
FLAT = 1e-6  # relative change of the objective that ends a short run
EQUAL = 1e-9  # relative difference of components that are the same
FAR = 100  # interquartile ranges from the median: a row so far out has no say in the spread of all rows
UNSEEN = 1e-4  # how far a start moves off a bound that it stands on, because the subsample lacks what other rows have
SLACK = 1.02  # how much wider bounds are that may lack the ends of the rows
DOUBLINGS = 1000  # of the distance of bounds, until they reach a row
PER = 30  # rows of the subsample for each component and column
LEAST, MOST = 6000, 20000  # rows of the subsample: of 2000 the highest maximum is often another than that of all rows


def initialize(
    model: Any, rows: object, weights: Weights, rng: np.random.Generator, start: object, prior: Prior
) -> tuple[Any, tuple[Alert, ...]]:
    """The first value of a run, and what to tell about it."""
    refuse_large(model, rows, weights)
    try:
        return _begin(model, rows, weights, rng, start, prior)
    except DataError:
        _name_row(model.components, rows, weights)
        raise


def _name_row(stack: Family, rows: object, weights: Weights) -> None:
    """Raise the error of a row, in the data, that no component can be, or of a component that no row can be."""
    if not stack.heterogeneous:
        stack.suffstats(rows, weights)
        return
    able = stack.can_generate(rows)
    idle, lost = ~np.any(able, axis=0), ~np.any(able, axis=1, keepdims=True)
    stack.suffstats(rows, weights.dense() * (np.broadcast_to(idle, able.shape) if idle.any() else able | lost))


def _begin(
    model: object, rows: object, weights: Weights, rng: np.random.Generator, start: object, prior: Prior
) -> tuple[Any, tuple[Alert, ...]]:
    if start is None or isinstance(start, str):
        return _from_subsample(model, rows, weights, rng, start, prior)
    if isinstance(start, Distribution):
        found = _given(model, start, rows)
        if found.floors is None or found.measured:
            found = _floored(found, *_subsample(model, rows, weights, rng))
    else:
        found = _from_assignments(model, rows, weights, start, rng)
    if not (found.is_symmetric or _is_uniform(found, rows, weights, start)):
        return _split(found, rows, weights, rng)
    broken, _ = _from_subsample(model, rows, weights, rng, None, prior)
    text = (
        "the start gives every component the same rows, which no pass of EM would ever change: all would stay "
        "equal. It was replaced by the best of several random starts."
    )
    return broken, (Alert("symmetric", text),)


def _is_uniform(found: Any, rows: object, weights: Weights, start: object) -> bool:
    """Whether like components get every row in the same parts.

    Those that draw their own starts then differ by chance.
    """
    first, *others = found.components.unstacked
    if isinstance(start, Distribution) or not others or not first.free or not all(alike(first, one) for one in others):
        return False
    shares = shares_of(found, rows, start) * weights.dense()
    shares = shares[shares.any(axis=1)]
    parts = shares / shares.sum(axis=1, keepdims=True)  # in no unit of weight
    return bool(np.allclose(parts, shares.sum(axis=0) / shares.sum(), rtol=EQUAL, atol=EQUAL))


def _split(found: Any, rows: object, weights: Weights, rng: np.random.Generator) -> tuple[Any, tuple[Alert, ...]]:
    """The start with other parameters where some components are equal: no pass of EM would make them different."""
    groups = equal_components(found, found.weights > 0, EQUAL)
    if not groups:
        return found, ()
    small, w = _subsample(found, rows, weights, rng)
    held = w.dense()
    shares = normalize(found.scores(small)).parts * held
    places, draws = points(small, held[:, 0]), RowDraws.of(small, scale_of(small, w))
    for group in groups:
        total = shares[:, group].sum(axis=1)
        if total.sum() > 0:
            shares[:, group] = total[:, None] * soften_labels(
                clusters(places, total, len(group), rng, draws), len(group)
            )
    text = (
        f"components {', '.join(map(str, groups[0]))} of the start are equal, and no pass of EM would ever make them "
        "different: their rows were split between them."
    )
    return tag_assignments(found, small, shares, rng), (Alert("symmetric", text),)


def _given(model: Any, start: Any, rows: object) -> Any:
    """The prototype with the parameters of the start."""
    if not hasattr(start, "log_weights"):  # components without weights
        count = model.n if start.lone else start.n_components
        start = replace(model, components=start, n=count, weights=model.weights if count == model.n else None)
    if start.n != model.n:
        msg = f"start= has {start.n} components, but the mixture has {model.n}; give as many."
        raise ParameterError(msg)
    return model.with_parameters_of([start.for_data(rows)], np.ones(1))


def _from_assignments(model: object, rows: object, weights: Weights, owners: object, rng: np.random.Generator) -> Any:
    """Begin at the estimate of given labels (n,) or responsibilities (n, k)."""
    shares = shares_of(model, rows, owners)
    floored = _floored(model, *_subsample(model, rows, weights, rng))
    return tag_assignments(floored, rows, shares * weights.dense(), rng)


def shares_of(model: Any, rows: Any, owners: Any) -> Array:
    """Labels (n,) or responsibilities (n, k), checked, as responsibilities."""
    try:
        array = np.asarray(owners)
    except ValueError as error:
        raise DataError(uneven(owners, "start=")) from error
    if array.shape not in ((len(rows),), (len(rows), model.n)):
        msg = (
            f"start= is a name, a distribution, one label for each of {len(rows)} rows, or ({len(rows)}, {model.n}) "
            f"responsibilities; got an array of shape {array.shape}."
        )
        raise DataError(msg)
    if array.ndim == 1:
        names, codes = np.unique(array, return_inverse=True)
        if len(names) > model.n:
            msg = f"start= names {len(names)} groups, but the mixture has {model.n} components; give as many."
            raise DataError(msg)
        if array.dtype.kind in "iuf" and np.isin(names, np.arange(model.n)).all():  # numbers of components are kept
            codes = array.astype(int)
        return np.asarray(codes[:, None] == np.arange(model.n), dtype=float)
    shares = np.asarray(array, dtype=float)
    fine = (shares >= 0) & (shares < np.inf)
    if not fine.all() or not shares.any():
        row, component = np.argwhere(~fine)[0] if not fine.all() else (0, 0)
        msg = (
            "responsibilities in start= are finite numbers of at least 0, one for each row and component, and not all "
            f"0; row {row} has {shares[row, component]:g} for component {component}. Mend it, or give labels."
        )
        raise DataError(msg)
    return shares


def _size(model: Any, rows: Any) -> int:
    """Rows of a subsample: some for each parameter of a location."""
    return int(np.clip(PER * model.n * (int(np.prod(np.shape(rows)[1:])) + 1), LEAST, MOST))


def _subsample(model: Any, rows: Any, weights: Weights, rng: Any) -> tuple[Any, Weights]:
    size, quadratic = _size(model, rows), model.components.is_quadratic
    if quadratic and len(rows) <= size:  # before equal rows become one: noise would tell them apart
        rows = without_last_digits(rows)
    small, held = subsample_rows(rows, weights, size, int(rng.integers(1 << 62)))
    return without_last_digits(small) if quadratic and len(rows) > size else small, held


def _floored(model: Any, rows: Array | Labels, weights: Weights) -> Any:
    """The mixture above floors for these rows: those of an earlier fit were for others."""
    given = model.floors is not None and not model.measured
    return replace(model, floors=floors_of(model, rows, weights), measured=not given)


def _bulk(places: Array) -> Array:
    """Which rows (n,) are not far outliers: a single one must not make the spread of all rows."""
    low, middle, high = np.quantile(places, [0.25, 0.5, 0.75], axis=0)
    wide = high - low
    return np.asarray(((np.abs(places - middle) <= FAR * wide) | (wide == 0)).all(axis=1))


def floors_of(model: Any, rows: Data, weights: Weights) -> Any:
    """What the components are held above, from all rows together; what the caller gave stays."""
    stack = model.components
    own = None if model.measured else model.floors
    if own is not None or not stack.is_single_cluster or not len(rows):
        return own
    bulk = _bulk(points(rows, weights.dense()[:, 0]))
    if not bulk.all():
        rows, weights = take_rows(rows, np.flatnonzero(bulk)), Weights.of(weights.dense()[bulk, 0], int(bulk.sum()))
    if stack.heterogeneous:
        return [one.start(view, held).floor() for one, view, held in stack.with_own_rows(rows, weights)]
    return stack.unstacked[0].start(rows, weights).floor()


def _from_subsample(
    model: Any, rows: Any, weights: Weights, rng: object, how: str | None, prior: Prior
) -> tuple[Any, tuple[Alert, ...]]:
    if how not in (None, SPARE, "k-means++", "random"):
        guess, known = guessed(how, ("k-means++", "random")), "'k-means++', 'random', labels, responsibilities"
        msg = f"start={how!r:.40} is not known. {guess}It is {known} or a distribution."
        raise ParameterError(msg)
    small, w = _subsample(model, rows, weights, rng)
    if len(small) == 0:  # a component of another mixture that got no row: any will do
        small, w = _subsample(model, rows, Weights(len(rows)), rng)
    model, sampled = _floored(model, small, w), len(small) == _size(model, rows) < len(rows)
    notes: tuple[Alert, ...] = ()
    if len(small) <= model.n and model.n > 1:
        text = f"{model.n} components, but only {count(len(small), 'distinct row')}: too few to tell what is a cluster."
        notes = (Alert("few rows", text),)
    with blas.one_thread():
        trusted = without_leverage(small, w) if sampled and model.components.is_quadratic else w
        found = _best_of_short_runs(model, ShortRuns(model, small, w, prior), trusted, rng, how)
    return (widen_to_all_rows(found, rows, weights, small, w) if len(small) < len(rows) else found), notes


def widen_to_all_rows(model: Any, rows: object, weights: Weights, small: Rows, w: Weights) -> Any:
    """A start that was found on a subsample, widened so that no other row has density 0.

    Components that learn their bounds rule out what lies beyond. No pass would ever give it to them, so that it would
    be impossible, or left to a component that is no good for it. So one pass over all rows is made from these bounds
    and one from slightly wider ones, and the better is taken.
    """
    model = model.off_boundary(UNSEEN)
    if not model.components.learns_bounds:
        return model
    model = _widen_bounds(model, rows, weights, small, w)
    wider = replace(model, components=model.components.with_wider_bounds(SLACK))
    after = [one.estimate(one.suffstats(rows, weights)) for one in (model, wider)]
    return max(after, key=lambda one: float(log_likelihood_of_rows(one, rows, weights))).off_boundary(UNSEEN)


def _widen_bounds(model: Any, rows: Any, weights: Weights, small: object, w: Weights) -> Any:
    """The start with wider bounds, so that every row can be: it goes to the component that reaches it first."""
    stack, held = model.components, weights.dense()[:, 0]
    total = local.fill(lambda part: model.log_density(rows[part]), len(rows), model.score_width(rows))[:, 0]
    lost = np.flatnonzero(np.isneginf(total) & (held > 0))
    if not len(lost):
        return model
    beyond, left = take_rows(rows, lost), np.ones(len(lost), bool)
    owners = np.full(len(lost), int(np.argmax(model.weights)))
    for power in range(1, DOUBLINGS):
        scores = replace(model, components=stack.with_wider_bounds(2.0**power)).scores(beyond)
        reached = left & (scores.max(axis=1) > -np.inf)
        owners[reached] = scores[reached].argmax(axis=1)
        left &= ~reached
        if not left.any():
            break
    given = (owners[:, None] == np.arange(model.n)) * held[lost, None]
    shares = normalize(model.scores(small)).parts * w.dense()
    stats = stack.suffstats(small, shares) + stack.suffstats(beyond, given)
    return replace(model, components=stack.m_step(stats, None, model.floors))


def _best_of_short_runs(model: Any, short_runs: ShortRuns, trusted: Weights, rng: object, how: Any) -> Any:
    """The best of several short runs of EM over the subsample: the better ones go on, until one is left.

    They begin at estimates from rows with the weights ``trusted``.
    """
    several = how in (None, SPARE) and model.n > 1
    labels = isinstance(short_runs.small, Labels)
    paths: list[EMResult] = []

    def run_from(first: object, passes: int = SHORT) -> EMResult:
        if isinstance(first, np.ndarray):
            path = short_runs.run_from(first, rng, passes, FLAT)
        else:
            path = short_runs.run_em(first, passes, FLAT)
        paths.append(path)  # kept, should the next be interrupted
        return path.raise_if_interrupted()

    def further(path: EMResult, passes: int = SHORT) -> EMResult:
        return path if path.converged else run_from(path.distribution, passes)

    try:
        trials = LABEL_TRIALS if labels else TRIALS
        first = _first_weights(short_runs, trusted, trials if several else 1, rng, how)
        runs = [run_from(shares, SHORT if several else 1) for shares in first]
        if several:
            runs = [further(path) for path in best_of(runs, KEPT)]
        if several and labels:  # maxima differ by little, and EM is slow: only long runs tell them apart
            runs = [further(path, LONG) for path in best_of(runs, FINALISTS)]
        best = best_of(runs, 1)[0]
        best = further(best) if several and not labels else best
        needed = how is None and short_runs.prior is None and not labels  # a prior may want components empty
        cells = len(short_runs.rows) * model.n
        if needed and model.n > 2 and not model.components.heterogeneous and cells <= MOVED:
            best = _split_and_merge(best, run_from, short_runs)
    except KeyboardInterrupt:
        if not paths:
            raise KeyboardInterrupt from None  # a start of a component, if there is one, is none of all of them
        raise InterruptedStart(unpacked(max(paths, key=lambda path: path.robust_objective)).distribution) from None
    return unpacked(best).distribution


def _first_weights(short_runs: ShortRuns, weights: Weights, trials: int, rng: Any, how: Any) -> Iterator[Array]:
    """Responsibilities (n, k) from which trials begin, of rows that have these weights in them."""
    model = short_runs.model
    partitions = Partitions(short_runs.small, weights, hard=bool(getattr(model, "hard", False)))
    some = partitions.held[:, None] > 0
    seen: set[tuple[bytes, bool]] = set()
    for index in range(trials):
        codes = partitions.draws.codes(model.n, rng) if how == "random" else partitions.draw(index, model.n, rng)
        if codes.ndim == 2:  # responsibilities
            yield codes
            continue
        apart = model.components.learns_bounds and index % 2 == 0  # bounds of a component that has a part of every row
        mark = (_unnumbered(codes), apart)
        if mark in seen and model.components.is_single_cluster and not model.components.heterogeneous:
            continue  # where clusters are clear k-means ends at one partition, whatever its seeds
        seen.add(mark)
        yield (
            soften_labels(codes, model.n, SOFTENED if model.components.is_single_cluster and not apart else 0.0) * some
        )


def _unnumbered(codes: Array) -> bytes:
    """The partition (n,), however its parts are numbered."""
    _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[codes], np.int32).tobytes()


def _split_and_merge(best: EMResult, run_from: Callable[[Any], EMResult], short_runs: ShortRuns) -> EMResult:
    """The best run after moves: two components are merged and another is split, while that raises the objective.

    Runs from seeds end where two components share a cluster and one has two, which no pass of EM would undo. A rise
    by less than the parameters of a component is what chance would do for so few rows.
    """
    held = short_runs.weights.dense()[:, 0]
    left, places = MOVES, points(short_runs.small, held)
    chance = short_runs.weights.unit * short_runs.model.n_parameters / short_runs.model.n
    while left > 0:
        shared, found = normalize(unpacked(best).distribution.scores(short_runs.small)), None
        for moved in islice(moves(shared.parts, places, held, shared.total), left):
            left -= 1
            found = _higher(best, run_from, moved, chance)
            if found is not None:
                break
        if found is None:
            return best
        best = found
    return best


def _higher(best: EMResult, run_from: Callable[[Any], EMResult], moved: Array, chance: float) -> EMResult | None:
    """The run from these responsibilities as soon as it is higher than the best; None where it will not be."""
    there = run_from(moved)
    for _ in range(STRETCHES):
        last, least = there.trace.objective, best.robust_objective + chance
        if there.objective > least and there.robust_objective > least:
            return there
        slope = last[-1] - last[-2] if len(last) > 1 else 0.0
        if (
            there.converged
            or there.objective + AHEAD * slope <= least
            or there.robust_objective + AHEAD * slope <= least
        ):
            break
        there = run_from(there.distribution)
    return None
