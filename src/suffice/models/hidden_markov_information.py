"""What sequences tell of the parameters of a hidden Markov model: its observed information and standard errors.

By Louis's identity it is what would be known if the states were seen, less the variance of the score over the paths of
states given the rows. Mean and variance of the score go forward along a sequence with the filter: exact, for any
emission that knows its own derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice import kernels
from suffice.core.parameters import SIMPLEX
from suffice.models.information import _bounds, _by_component
from suffice.models.transition_matrix import stationary
from suffice.statistics.weights import Weights
from suffice.tables.sequences import Sequences
from suffice.types import Array
from suffice.uncertainty.information import Knowledge, chart

STEP = 1e-4  # of a log-odds: derivatives of the stationary distribution are differences


class ChainChart:
    """Coordinates of a model: those of the emissions, then the log-odds of the transitions and initial probabilities.

    Every row of probabilities goes without its largest entry, and without those that are 0.
    """

    def __init__(self, model: Any) -> None:
        self.model, self.emissions = model, chart(model.emissions)
        self.rows = [*model.transitions, model.initial]
        kept = ["transitions" in model.free] * model.n + ["initial" in model.free]
        self.entries = [
            _free_entries(row) if free else np.zeros(0, int) for row, free in zip(self.rows, kept, strict=True)
        ]
        self.begins = np.cumsum([self.emissions.size, *map(len, self.entries)])
        self.size = int(self.begins[-1])

    def columns(self, row: int) -> Array:
        """The coordinates of a row of probabilities; the last row is the initial one."""
        return np.arange(self.begins[row], self.begins[row + 1])

    def move_scores(self) -> tuple[Array, Array, Array]:
        """The derivatives of log Γ (k, k, p) and of log δ (k, p), and the second ones of log δ (k, p, p)."""
        k = self.model.n
        moves, first, second = (
            np.zeros((k, k, self.size)),
            np.zeros((k, self.size)),
            np.zeros((k, self.size, self.size)),
        )
        for i in range(k):
            moves[i][:, self.columns(i)] = _score(self.rows[i], self.entries[i])
        if self.model.from_stationary and "initial" not in self.model.fixed:
            self._stationary_derivatives(first, second)
        else:
            own = self.columns(k)
            first[:, own] = _score(self.rows[k], self.entries[k])
            second[:, own[:, None], own] = -_spread(self.rows[k])[np.ix_(self.entries[k], self.entries[k])]
        return moves, first, second

    def _stationary_derivatives(self, first: Array, second: Array) -> None:
        begin, end = int(self.begins[0]), int(self.begins[self.model.n])

        def log_start(*moved: tuple[int, float]) -> Array:
            odds = np.log(np.where(self.model.transitions > 0, self.model.transitions, 1.0))
            for column, step in moved:
                row = int(np.searchsorted(self.begins, column, side="right")) - 1
                odds[row, self.entries[row][column - self.begins[row]]] += step
            matrix = np.where(self.model.transitions > 0, np.exp(odds), 0.0)
            return np.asarray(np.log(stationary(matrix / matrix.sum(axis=1, keepdims=True))))

        middle = log_start()
        for a in range(begin, end):
            up, down = log_start((a, STEP)), log_start((a, -STEP))
            first[:, a] = (up - down) / (2 * STEP)
            second[:, a, a] = (up - 2 * middle + down) / STEP**2
            for b in range(begin, a):
                both = log_start((a, STEP), (b, STEP)) - log_start((a, STEP), (b, -STEP))
                both = both - log_start((a, -STEP), (b, STEP)) + log_start((a, -STEP), (b, -STEP))
                second[:, a, b] = second[:, b, a] = both / (4 * STEP**2)

    def information(self, rows: Sequences, weights: Weights) -> Array:
        """The observed information (p, p)."""
        model, held = self.model, weights.dense()[:, 0]
        moves, first, second = self.move_scores()
        total = np.zeros((self.size, self.size))
        for index in range(len(rows)):
            own = rows[[index]]
            if held[index] == 0:
                continue
            scores = model.scores(own)
            found = kernels.forward_backward(scores, own.ends, model.initial, model.transitions)
            _, known = kernels.filtered(scores, own.ends, model.initial, model.transitions)
            emitted = np.zeros((own.n_rows, model.n, self.size))
            for j, (columns, score) in enumerate(self.emissions.scores(own.rows)):
                emitted[:, j, columns] = np.where((found.responsibilities[:, j] > 0)[:, None], score, 0.0)
            seen = np.zeros((self.size, self.size))
            inner = self.emissions.size
            seen[:inner, :inner] = self.emissions.curvature(own.rows, found.responsibilities)
            for i in range(model.n):
                at, entries = self.columns(i), self.entries[i]
                seen[np.ix_(at, at)] += found.moves[i].sum() * _spread(self.rows[i])[np.ix_(entries, entries)]
            seen -= np.tensordot(found.first, second, axes=1)
            total += held[index] * (seen - _score_variance(known, model.transitions, emitted, moves, first))
        low = np.asarray(model.emissions.on_floor(model.floors))
        for (columns, _), floored in zip(self.emissions.scores(rows[[0]].rows), low, strict=True):
            if floored:
                total[columns] = np.nan
        return total

    def errors(self, known: Knowledge) -> dict[Any, Any]:
        """Standard errors in the layout of ``params``."""
        model, inner = self.model, self.emissions.size
        rows = [self._row_errors(known, row) for row in range(model.n + 1)]
        if model.from_stationary and "initial" not in model.fixed:
            _, first, _ = self.move_scores()
            rows[-1] = known.spread(model.initial[:, None] * first, np.arange(self.size))
        part = Knowledge(known.root[:inner], known.lost[:inner], known.unit[:inner])
        emissions = _by_component(model.emissions, self.emissions.errors(part))
        answers = {"initial": rows[-1], "transitions": np.array(rows[:-1]), **emissions}
        found: dict[Any, Any] = model.emissions.by_key(answers) if model.emissions.blocks else answers
        return found

    def _row_errors(self, known: Knowledge, row: int) -> Array:
        value = np.asarray(self.rows[row])
        kept = "transitions" if row < self.model.n else "initial"
        if kept not in self.model.free:
            return np.zeros(len(value))
        found = known.spread(_spread(value)[:, self.entries[row]], self.columns(row))
        return np.where((value > 0) & (value < 1), found, np.nan)


def _free_entries(row: Array) -> Array:
    free = row > 0
    free[int(np.argmax(row))] = False
    return np.flatnonzero(free)


def _score(row: Array, entries: Array) -> Array:
    """The derivatives (k, q) of log probabilities by the log-odds of some entries."""
    return np.asarray(np.eye(len(row))[:, entries] - row[entries])


def _spread(row: Array) -> Array:
    """The derivatives of probabilities by log-odds, (k, k)."""
    return np.asarray(np.diag(row) - np.outer(row, row))


def _score_variance(known: Array, transitions: Array, emitted: Array, moves: Array, first: Array) -> Array:
    """The variance (p, p) of the score over the paths of one sequence, from the filter (n, k)."""
    mean = first + emitted[0]  # (k, p), given the state of the row at hand
    inside = np.zeros((len(mean), mean.shape[1], mean.shape[1]))
    for t in range(1, len(known)):
        joint = known[t - 1][:, None] * transitions
        whole = joint.sum(axis=0)
        before = (joint / np.where(whole > 0, whole, 1.0)).T  # (k now, k before)
        reached = mean[None] + moves.transpose(1, 0, 2) + emitted[t][:, None]
        mean = np.einsum("ji,jip->jp", before, reached)
        away = reached - mean[:, None]
        inside = np.tensordot(before, inside, axes=1)
        inside += np.matmul((before[:, :, None] * away).transpose(0, 2, 1), away)
    last = known[-1]
    away = mean - last @ mean
    return np.asarray(np.tensordot(last, inside, axes=1) + (last[:, None] * away).T @ away)


def standard_errors(model: Any, rows: Sequences, weights: Weights) -> dict[Any, Any]:
    """Standard errors in the layout of ``params``; NaN where the rows do not tell."""
    with np.errstate(all="ignore"):
        found = ChainChart(model)
        return found.errors(Knowledge.of(found.information(rows, weights)))


def bounds(model: Any, errors: dict[Any, Any], reach: float) -> dict[Any, Any]:
    """Estimate ± reach × standard error, inside each domain."""
    found = {}
    for name in ("initial", "transitions"):
        value = np.asarray(getattr(model, name))
        ends = SIMPLEX.clip(np.stack([value - reach * errors[name], value + reach * errors[name]]))
        found[name] = (ends[0], ends[1])
    answers = {**found, **_bounds(model.emissions, model.params, errors, reach)}
    keyed: dict[Any, Any] = model.emissions.by_key(answers) if model.emissions.blocks else answers
    return keyed
