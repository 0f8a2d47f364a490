"""Where a mixture begins: the best of several short climbs on a small picture of the rows, or as the caller says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from suffice import kernels
from suffice.combinators.course import Course, owned
from suffice.combinators.order import alike, twins
from suffice.combinators.seeding import Partitions, clusters
from suffice.combinators.splitting import moves
from suffice.combinators.stack import Stack
from suffice.core.data import uneven
from suffice.core.distribution import Alert, Distribution
from suffice.core.doubts import refuse_large
from suffice.core.draws import RowDraws
from suffice.core.em import Climb, InterruptedStart
from suffice.core.errors import DataError, ParameterError
from suffice.core.latent import share_out
from suffice.core.names import guessed
from suffice.core.parameters import Array
from suffice.core.readings import count
from suffice.core.scales import scale_of
from suffice.core.sketch import picture, points, taken
from suffice.core.weights import Weights
from suffice.engines import blas, local

TRIALS, KEPT = 8, 4  # short runs, and how many of them go on; then the best of these
SHORT = 9  # passes
SPARE = "spare"  # the start of more members than are needed, of which some are to become empty
MOVES = 9  # ways to make two members one and cut another that are tried
STRETCHES, AHEAD = 6, 20  # short climbs from each, and passes for which a climb is trusted to rise as it does
MOVED = 1 << 17  # rows × members of the picture up to which they are made: among many members so few do little
FLAT = 1e-6  # relative change of the objective that ends a short climb
BLUR = 0.05  # share of a row that its first owner gives to the others: no member begins without a spread
EQUAL = 1e-9  # relative difference of members that are the same
FAR = 100  # interquartile ranges from the median: a row so far out has no say in the spread of all rows
UNSEEN = 1e-4  # how far a start moves off a bound that it stands on, because the picture lacks what other rows have
SLACK = 1.02  # how much wider bounds are that may lack the ends of the rows
DOUBLINGS = 1000  # of the distance of bounds, until they reach a row
JUDGED = 0.05  # of the parameters of a member: what a judged climb must rise by, or it went back to where it was
JUDGES = 2  # times as many rows that trials do not climb over, and by which they are judged: few rows are overfitted
PER = 30  # rows of the picture for each member and column
LEAST, MOST = 2000, 20000  # rows of the picture


def begin(model: Any, rows: Any, weights: Weights, rng: Any, start: Any, prior: Any) -> tuple[Any, tuple[Alert, ...]]:
    """The first value of a climb, and what to tell about it."""
    refuse_large(model, rows, weights)
    try:
        return _begin(model, rows, weights, rng, start, prior)
    except DataError:
        _name_row(model.components, rows, weights)
        raise


def _name_row(stack: Any, rows: Any, weights: Weights) -> None:
    """Raise the error of a row that no member, or of a member that no row can be: in the data, not in the picture."""
    if not isinstance(stack, Stack):
        stack.suffstats(rows, weights)
        return
    able = stack.within(rows)
    idle, lost = ~np.any(able, axis=0), ~np.any(able, axis=1, keepdims=True)
    stack.suffstats(rows, weights.dense() * (np.broadcast_to(idle, able.shape) if idle.any() else able | lost))


def _begin(model: Any, rows: Any, weights: Weights, rng: Any, start: Any, prior: Any) -> tuple[Any, tuple[Alert, ...]]:
    if start is None or isinstance(start, str):
        return _from_picture(model, rows, weights, rng, start, prior)
    if isinstance(start, Distribution):
        found = _floored(_given(model, start, rows), *_picture(model, rows, weights, rng))
    else:
        found = _from_owners(model, rows, weights, start, rng)
    if not (found.symmetric or _even(found, rows, weights, start)):
        return _split(found, rows, weights, rng)
    broken, _ = _from_picture(model, rows, weights, rng, None, prior)
    text = (
        "the start gives every member the same rows, which no pass of EM would ever change: all members would stay "
        "equal. It was replaced by the best of several random starts."
    )
    return broken, (("symmetric", text),)


def _even(found: Any, rows: Any, weights: Weights, start: Any) -> bool:
    """Whether like members get every row in the same parts; those that draw their own starts then differ by chance."""
    first, *others = found.components.each
    if isinstance(start, Distribution) or not others or not first.free or not all(alike(first, one) for one in others):
        return False
    shares = shares_of(found, rows, start) * weights.dense()
    shares = shares[shares.any(axis=1)]
    parts = shares / shares.sum(axis=1, keepdims=True)  # in no unit of weight
    return bool(np.allclose(parts, shares.sum(axis=0) / shares.sum(), rtol=EQUAL, atol=EQUAL))


def _split(found: Any, rows: Any, weights: Weights, rng: Any) -> tuple[Any, tuple[Alert, ...]]:
    """The start with other parameters where some members are equal: no pass of EM would make them different."""
    groups = twins(found, found.weights > 0, EQUAL)
    if not groups:
        return found, ()
    small, w = _picture(found, rows, weights, rng)
    held = w.dense()
    shares = share_out(found.scores(small)).parts * held
    places, draws = points(small, held[:, 0]), RowDraws.of(small, scale_of(small, w))
    for group in groups:
        total = shares[:, group].sum(axis=1)
        if total.sum() > 0:
            shares[:, group] = total[:, None] * blurred(clusters(places, total, len(group), rng, draws), len(group))
    text = (
        f"members {', '.join(map(str, groups[0]))} of the start are equal, and no pass of EM would ever make them "
        "different: their rows were split between them."
    )
    return owned(found, small, shares, rng), (("symmetric", text),)


def _given(model: Any, start: Any, rows: Any) -> Any:
    """The prototype with the parameters of the start."""
    if not hasattr(start, "log_weights"):  # members without weights
        count = model.n if start.lone else start.members
        start = replace(model, components=start, n=count, weights=model.weights if count == model.n else None)
    if start.n != model.n:
        msg = f"start= has {start.n} components, but the mixture has {model.n}; give as many."
        raise ParameterError(msg)
    return model.adopted([start.shaped(rows)], np.ones(1))


def _from_owners(model: Any, rows: Any, weights: Weights, owners: Any, rng: Any) -> Any:
    """Begin at the estimate of given labels (n,) or responsibilities (n, k)."""
    shares = shares_of(model, rows, owners)
    floored = _floored(model, *_picture(model, rows, weights, rng))
    return owned(floored, rows, shares * weights.dense(), rng)


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
        if array.dtype.kind in "iuf" and np.isin(names, np.arange(model.n)).all():  # numbers of members are kept
            codes = array.astype(int)
        return np.asarray(codes[:, None] == np.arange(model.n), dtype=float)
    shares = np.asarray(array, dtype=float)
    fine = (shares >= 0) & (shares < np.inf)
    if not fine.all() or not shares.any():
        row, member = np.argwhere(~fine)[0] if not fine.all() else (0, 0)
        msg = (
            "responsibilities in start= are finite numbers of at least 0, one for each row and component, and not all "
            f"0; row {row} has {shares[row, member]:g} for component {member}. Mend it, or give labels."
        )
        raise DataError(msg)
    return shares


def _size(model: Any, rows: Any) -> int:
    """Rows of a picture: some for each parameter of a place."""
    return int(np.clip(PER * model.n * (int(np.prod(np.shape(rows)[1:])) + 1), LEAST, MOST))


def _picture(model: Any, rows: Any, weights: Weights, rng: Any, copies: int = 1) -> tuple[Any, Weights]:
    size = _size(model, rows)
    return picture(rows, weights, max(size, min(copies * size, MOST)), int(rng.integers(1 << 62)))


def _floored(model: Any, rows: Any, weights: Weights) -> Any:
    """The mixture above floors for these rows: those of an earlier fit were for others."""
    given = model.floors is not None and not model.measured
    return replace(model, floors=floors_of(model, rows, weights), measured=not given)


def _bulk(places: Array) -> Array:
    """Which rows (n,) are no far outliers: a single one must not make the spread of all rows."""
    low, middle, high = np.quantile(places, [0.25, 0.5, 0.75], axis=0)
    wide = high - low
    return np.asarray(((np.abs(places - middle) <= FAR * wide) | (wide == 0)).all(axis=1))


def floors_of(model: Any, rows: Any, weights: Weights) -> Any:
    """What the members are held above, from all rows together; what the caller gave stays."""
    stack = model.components
    own = None if model.measured else model.floors
    if own is not None or not stack.simple or not len(rows):
        return own
    bulk = _bulk(points(rows, weights.dense()[:, 0]))
    if not bulk.all():
        rows, weights = taken(rows, np.flatnonzero(bulk)), Weights.of(weights.dense()[bulk, 0], int(bulk.sum()))
    if isinstance(stack, Stack):
        return [one.start(view, held).floor() for one, view, held in stack.with_own_rows(rows, weights)]
    return stack.each[0].start(rows, weights).floor()


def _from_picture(
    model: Any, rows: Any, weights: Weights, rng: Any, how: Any, prior: Any
) -> tuple[Any, tuple[Alert, ...]]:
    if how not in (None, SPARE, "k-means++", "random"):
        guess, known = guessed(how, ("k-means++", "random")), "'k-means++', 'random', labels, responsibilities"
        msg = f"start={how!r:.40} is not known. {guess}It is {known} or a distribution."
        raise ParameterError(msg)
    copies = 1 + JUDGES if model.components.quadratic and prior is None else 1
    small, w = _picture(model, rows, weights, rng, copies)
    if len(small) == 0:  # a member of another mixture that got no row: any will do
        small, w = _picture(model, rows, Weights(len(rows)), rng)
    size = _size(model, rows)
    judges = (small[size:], w[size:]) if len(small) >= 2 * size else None
    small, w = small[:size], w[:size]
    model = _floored(model, small, w)
    notes: tuple[Alert, ...] = ()
    if len(small) <= model.n and model.n > 1:
        text = f"{model.n} components, but only {count(len(small), 'distinct row')}: too few to tell what is a cluster."
        notes = (("few rows", text),)
    with blas.one_thread(), kernels.job(int(np.prod(np.shape(rows)))):  # what the fit will load serves its starts too
        found = _tried(model, Course(model, small, w, prior, judges), rng, how)
    return (for_all(found, rows, weights, small, w) if len(small) < len(rows) else found), notes


def for_all(model: Any, rows: Any, weights: Weights, small: Any, w: Weights) -> Any:
    """A start that was found on a picture, for all rows: none is impossible because the picture lacks its like.

    Members that learn their bounds rule out what lies beyond. No pass would ever give it to them, so that it would be
    impossible, or left to a member that is no good for it. So one pass over all rows is made from these bounds and one
    from slightly wider ones, and the better is taken.
    """
    model = model.eased(UNSEEN)
    if not model.components.rigid:
        return model
    model = _reaching(model, rows, weights, small, w)
    wider = replace(model, components=model.components.loosened(SLACK))
    after = [one.estimate(one.suffstats(rows, weights)) for one in (model, wider)]
    return max(after, key=lambda one: float(one.log_likelihood_of(rows, weights))).eased(UNSEEN)


def _reaching(model: Any, rows: Any, weights: Weights, small: Any, w: Weights) -> Any:
    """The start with wider bounds, so that every row can be: it goes to the member that reaches it first."""
    stack, held = model.components, weights.dense()[:, 0]
    total = local.fill(lambda part: model.log_density(rows[part]), len(rows), model._width(rows))[:, 0]  # noqa: SLF001
    lost = np.flatnonzero(np.isneginf(total) & (held > 0))
    if not len(lost):
        return model
    beyond, left = taken(rows, lost), np.ones(len(lost), bool)
    owners = np.full(len(lost), int(np.argmax(model.weights)))
    for power in range(1, DOUBLINGS):
        scores = replace(model, components=stack.loosened(2.0**power)).scores(beyond)
        reached = left & (scores.max(axis=1) > -np.inf)
        owners[reached] = scores[reached].argmax(axis=1)
        left &= ~reached
        if not left.any():
            break
    given = (owners[:, None] == np.arange(model.n)) * held[lost, None]
    shares = share_out(model.scores(small)).parts * w.dense()
    stats = stack.suffstats(small, shares) + stack.suffstats(beyond, given)
    return replace(model, components=stack.estimate_above(stats, None, model.floors))


def _tried(model: Any, course: Course, rng: Any, how: Any) -> Any:
    """The best of several short runs of EM over the picture: the better ones go on, until one is left."""
    several = how in (None, SPARE) and model.n > 1
    paths: list[Climb] = []

    def climbed(first: Any, passes: int = SHORT) -> Climb:
        if isinstance(first, np.ndarray):
            path = course.climb_from(first, rng, passes, FLAT)
        else:
            path = course.climb(first, passes, FLAT)
        paths.append(path)  # kept, should the next be interrupted
        return path.heeded()

    def further(path: Climb) -> Climb:
        return path if path.converged else climbed(path.distribution)

    try:
        first = _first_shares(course, TRIALS if several else 1, rng, how)
        runs = [climbed(shares, SHORT if several else 1) for shares in first]
        if several:
            runs = [further(path) for path in _best(runs, KEPT)]
        best = _best(runs, 1)[0]
        best = further(best) if several else best
        needed = how is None and course.prior is None  # a prior may want members empty
        cells = len(course.rows) * model.n
        if needed and model.n > 2 and not isinstance(model.components, Stack) and cells <= MOVED:
            best = _regrouped(best, climbed, course)
    except KeyboardInterrupt:
        if not paths:
            raise KeyboardInterrupt from None  # a start of a member, if there is one, is none of all of them
        raise InterruptedStart(max(paths, key=lambda path: path.merit).distribution) from None
    return best.distribution


def _best(runs: list[Climb], count: int) -> list[Climb]:
    """The runs of the greatest merit, which is at most their height, and takes longer to compute."""
    runs = sorted(runs, key=lambda path: path.height, reverse=True)
    found: list[Climb] = []
    for index, path in enumerate(runs):
        found = sorted([*found, path], key=lambda one: one.merit, reverse=True)[:count]
        if len(found) == count and index + 1 < len(runs) and found[-1].merit >= runs[index + 1].height:
            break
    return found


def _first_shares(course: Course, trials: int, rng: Any, how: Any) -> Iterator[Array]:
    """Responsibilities (n, k) from which trials begin."""
    model, partitions = (
        course.model,
        Partitions(course.small, course.weights, hard=bool(getattr(course.model, "hard", False))),
    )
    seen: set[tuple[bytes, bool]] = set()
    for index in range(trials):
        codes = partitions.draws.codes(model.n, rng) if how == "random" else partitions.draw(index, model.n, rng)
        apart = model.components.rigid and index % 2 == 0  # bounds of a member that has a part of every row
        mark = (_unnumbered(codes), apart)
        if mark in seen and model.components.simple and not isinstance(model.components, Stack):
            continue  # where clusters are clear k-means ends at one partition, whatever its seeds
        seen.add(mark)
        yield blurred(codes, model.n, BLUR if model.components.simple and not apart else 0.0)


def _unnumbered(codes: Array) -> bytes:
    """The partition (n,), however its parts are numbered."""
    _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[codes], np.int32).tobytes()


def _regrouped(best: Climb, climbed: Callable[[Any], Climb], course: Course) -> Climb:
    """The climb, or as long as that leads higher, those from where two members are made one and another is cut.

    Climbs from seeds end where two members share a cluster and one has two, which no pass of EM would undo. A rise by
    less than the parameters of a member is what chance would do for so few rows; where others judge, by much less.
    """
    held = course.weights.dense()[:, 0]
    left, places = MOVES, points(course.small, held)
    chance = (1.0 if best.judged is None else JUDGED) * best.distribution.n_parameters / best.distribution.n
    chance *= course.weights.unit
    while left > 0:
        shared, found = share_out(best.distribution.scores(course.small)), None
        for moved in islice(moves(shared.parts, places, held, shared.total), left):
            left -= 1
            found = _higher(best, climbed, moved, chance)
            if found is not None:
                break
        if found is None:
            return best
        best = found
    return best


def _higher(best: Climb, climbed: Callable[[Any], Climb], moved: Array, chance: float) -> Climb | None:
    """The climb from these responsibilities as soon as it is higher than the best; None where it will not be."""
    there = climbed(moved)
    for _ in range(STRETCHES):
        last, least = there.trace.objective, best.merit + chance
        if there.height > least and there.merit > least:
            return there
        slope = last[-1] - last[-2] if len(last) > 1 else 0.0
        if there.converged or there.height + AHEAD * slope <= least or there.merit + AHEAD * slope <= least:
            break
        there = climbed(there.distribution)
    return None


def blurred(codes: Array, k: int, blur: float = BLUR) -> Array:
    """Shares (n, k) of rows whose owners give a part of them to the others."""
    if k == 1:
        return np.ones((len(codes), 1))
    return np.where(codes[:, None] == np.arange(k), 1 - blur, blur / (k - 1))
