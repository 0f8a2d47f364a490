"""Where a hidden Markov model begins: the best of several short runs.

Some begin at a mixture that ignores time, made sticky; some at groups of windows of rows that follow each other, which
differ where the states differ in their spread or their movement; some at groups of rows that are drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from suffice.core.distribution import Distribution
from suffice.core.responsibilities import normalize
from suffice.em.init import starts
from suffice.em.init.partitions import clusters, soften_labels
from suffice.em.init.short_runs import belief, tag_assignments
from suffice.em.loop import EMResult, InterruptedStart, run_em
from suffice.em.training import TrainingData
from suffice.errors import DataError, ParameterError
from suffice.statistics.weights import Weights
from suffice.tables.row_draws import RowDraws
from suffice.tables.scales import scale_of
from suffice.tables.sequences import Sequences
from suffice.tables.sketch import points
from suffice.types import Alert, Array

STICKY = (0.9, 0.5)  # probabilities of staying, beside what a mixture says
WINDOWS = (3, 9, 27)  # rows whose mean and spread tell where a state may be
DRAWN = 12  # groups of rows that are drawn
ROWS, STRETCH = 20000, 1000  # rows that short runs see of a long table, in stretches of so many
SHORT, KEPT = 20, 6  # passes of a short run, and how many of them go on for twice as many more: of 12 random problems
# (2 to 4 states, 80 to 400 rows) 12 passes, 3 kept and 3 drawn ended lower in three, by up to 4e-3 nats per row
FLAT = 1e-7  # relative change of the objective that ends one
SOFT = 0.1  # share of a row that groups leave to the other states


def initialize(
    model: Any, rows: Sequences, weights: Weights, rng: Any, start: Any, prior: Any
) -> tuple[Any, tuple[Alert, ...]]:
    """The first value of a run, and what to tell about it."""
    held = rows.row_weights(weights)
    mixture = model.mixture_by(np.full(model.n, 1 / model.n))
    inner = None if prior is None else {"components": model.priors(prior).get("emissions")}
    inner = None if inner is None or inner["components"] is None else inner
    if isinstance(start, Distribution):
        return _given(model, start, rows, held, rng), ()
    if start is not None and not isinstance(start, str):
        shares = starts.shares_of(mixture, rows.rows, rows_order(rows, start))
        floored = starts.initialize(mixture, rows.rows, held, rng, start, inner)[0]
        return checked(_from_mixture(model, floored, rows, held, shares, rng), rows), ()
    first, notes = starts.initialize(mixture, rows.rows, held, rng, start, inner)
    if model.n == 1:
        return checked(_sticky(model, first, STICKY[0]), rows), notes
    few = rows.stretches(ROWS, STRETCH)
    data = TrainingData(model.preprocess(few), _of(few, rows, weights), prior, belief(prior))
    best = _best_of_short_runs(_candidates(model, first, few, data.weights, rng, start), data)
    if few is not rows:  # what these stretches lack is not impossible
        even = np.full(model.n, 1 / model.n)
        best = best.off_boundary(starts.UNSEEN).with_chain(*(
            (1 - starts.UNSEEN) * value + starts.UNSEEN * even for value in (best.initial, best.transitions)
        ))  # fmt: skip
    return checked(best, rows), notes


def rows_order(rows: Sequences, start: Any) -> Any:
    """Labels or responsibilities in the order in which rows stand in their sequences."""
    return start if rows.order is None else np.asarray(start)[rows.order]


def _of(few: Sequences, rows: Sequences, weights: Weights) -> Weights:
    """The weights of all sequences; stretches of them count alike."""
    return weights if few is rows else Weights(len(few))


def _given(model: Any, start: Any, rows: Sequences, held: Weights, rng: Any) -> Any:
    """The prototype with the parameters of the start, above the floors of these rows."""
    floors = starts.floors_of(model.mixture_by(np.full(model.n, 1 / model.n)), rows.rows, held)
    if not hasattr(start, "with_chain"):
        msg = f"start= of a HiddenMarkov is one with parameters, labels, or responsibilities; got {start!r:.60}."
        raise ParameterError(msg)
    del rng
    found = model.with_parameters_of([start.for_data(rows)], np.ones(1))
    return checked(found.with_floors(floors), rows)


def _best_of_short_runs(candidates: Iterator[Any], data: TrainingData) -> Any:
    """The best of several runs: some go on, and of these the best."""
    runs: list[EMResult] = []

    def run(first: Any, passes: int) -> EMResult:
        path = run_em(first, data, max_iter=passes, tol=FLAT, brief=True)
        runs.append(path)
        return path.raise_if_interrupted()

    def rank(path: EMResult) -> float:
        height = path.robust_objective
        return height if np.isfinite(height) else -np.inf

    try:
        for first in candidates:
            run(first, SHORT)
        for path in sorted(runs, key=rank, reverse=True)[:KEPT]:
            run(path.distribution, 2 * SHORT)
    except KeyboardInterrupt:
        if not runs:
            raise KeyboardInterrupt from None
        raise InterruptedStart(max(runs, key=rank).distribution) from None
    return max(runs, key=rank).distribution


def _candidates(model: Any, first: Any, rows: Sequences, weights: Weights, rng: Any, how: Any) -> Iterator[Any]:
    """First values, one after the other."""
    held = rows.row_weights(weights)
    for stay in STICKY:
        yield _known(_sticky(model, first, stay), first, rows, held, rng)
    if how is not None:
        return
    w = held.dense()[:, 0]
    places, draws = points(rows.rows, w), RowDraws.of(rows.rows, scale_of(rows.rows, held))
    for width in WINDOWS:
        if width <= rows.lengths.max():
            codes = clusters(_windows(places, rows, width), w, model.n, rng, draws)
            yield _from_mixture(model, first, rows, held, soften_labels(codes, model.n, SOFT), rng)
    for _ in range(DRAWN):
        codes = clusters(places, w, model.n, rng, draws)
        yield _from_mixture(model, first, rows, held, soften_labels(codes, model.n, SOFT), rng)


def _windows(places: Array, rows: Sequences, width: int) -> Array:
    """The mean and the spread of the rows around each, inside its sequence."""
    both = np.concatenate([places, np.square(places)], axis=1)
    sums = np.concatenate([np.zeros((1, both.shape[1])), np.cumsum(both, axis=0)])
    place, index = np.arange(len(places)), np.repeat(np.arange(len(rows)), rows.lengths)
    low = np.maximum(place - width // 2, rows.ends[index])
    high = np.minimum(place + width // 2 + 1, rows.ends[index + 1])
    mean, square = np.split((sums[high] - sums[low]) / (high - low)[:, None], 2, axis=1)
    spread = np.sqrt(np.maximum(square - mean**2, 0.0))
    found = np.concatenate([mean, spread], axis=1)
    scale = found.std(axis=0)
    return np.asarray(found / np.where(scale > 0, scale, 1.0))


def _sticky(model: Any, mixture: Any, stay: float) -> Any:
    """The model with the components of a mixture, whose states stay where they are more often than its weights say."""
    weights = np.maximum(mixture.weights, 1e-3)
    weights = weights / weights.sum()
    moves = stay * np.eye(model.n) + (1 - stay) * weights
    return _with_chain(model, weights, moves, mixture)


def _with_chain(model: Any, initial: Array, moves: Array, mixture: Any) -> Any:
    """Probabilities to begin from, unless the caller gave them."""
    initial = model.initial if "initial" in model.specified else initial
    moves = model.transitions if "transitions" in model.specified else moves
    return model.with_chain(initial, moves, mixture.components).with_floors(mixture.floors, measured=mixture.measured)


def _from_mixture(model: Any, mixture: Any, rows: Sequences, held: Weights, shares: Array, rng: Any) -> Any:
    """The estimate of rows whose states are told in parts (n, k); states that are known are as they are."""
    shares = with_known(rows, shares)
    found = tag_assignments(mixture, rows.rows, shares * held.dense(), rng)
    moves = np.full((model.n, model.n), 1 / model.n)  # a row's worth for each state: none is without
    inside = np.ones(len(shares) - 1, bool)
    inside[rows.ends[1:-1] - 1] = False
    moves = moves + shares[:-1][inside].T @ shares[1:][inside]
    return _with_chain(model, found.weights, moves / moves.sum(axis=1, keepdims=True), found)


def with_known(rows: Sequences, shares: Array) -> Array:
    """Shares of states, of which some rows have one that is known."""
    if rows.states is None:
        return shares
    known = rows.states[:, None] == np.arange(shares.shape[1])
    return np.where((rows.states >= 0)[:, None], known, shares)


def _known(found: Any, mixture: Any, rows: Sequences, held: Weights, rng: Any) -> Any:
    """The start, where some states are known that which their rows tell."""
    if rows.states is None:
        return found
    k = found.n
    seen = np.isin(np.arange(k), rows.states)
    shares = with_known(rows, np.zeros((rows.n_rows, k)))
    if not seen.all():  # the other states share what is left
        others = normalize(mixture.scores(rows.rows)).parts * ~seen
        total = others.sum(axis=1, keepdims=True)
        shares = with_known(rows, np.where(total > 0, others / np.where(total > 0, total, 1.0), ~seen / (~seen).sum()))
    return _from_mixture(found, mixture, rows, held, shares, rng)


def checked(model: Any, rows: Sequences) -> Any:
    """The start, or an error that names the first row that no path of states can have led to."""
    likelihood = model.log_density(rows)[:, 0]
    lost = np.flatnonzero(np.isneginf(likelihood))
    if len(lost):
        raise model.impossible(rows, int(lost[0]))
    return model


def no_path(rows: Sequences, index: int, place: int) -> DataError:
    """What to say of a sequence that cannot be, from one of its rows on."""
    msg = (
        f"row {place} of {rows.label(index)} cannot be: no path of states that the transitions allow leads to it. "
        "Allow more transitions, correct a state that was given, or mark the row as missing."
    )
    return DataError(msg)
