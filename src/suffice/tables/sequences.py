"""Sequences: rows that follow each other. A sequence is a unit, as a row is elsewhere; nothing cuts one."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np

from suffice import kernels
from suffice.statistics.weights import Weights
from suffice.tables import frame
from suffice.tables.scales import moments_of, scale_of_moments
from suffice.tables.sketch import blank, points, rounded_hash, row_hash
from suffice.tables.streams import picked
from suffice.types import Alert, Array


@dataclass(frozen=True, eq=False)
class Sequences:
    """Rows of several sequences, one sequence after the other, as :func:`suffice.sequences` makes them.

    Attributes
    ----------
    rows
        All rows: as they were given, or as a distribution has read them.
    ends : array (m + 1,)
        Where each sequence begins, and the number of rows.
    keys
        How the sequences are called; None: by number.
    states : array (n,)
        The state of each row where it is known, else −1; None: of none.
    order : array (n,)
        The place of each row in the table that was given; None: the same.
    notes
        What to know of their order.
    """

    rows: Any
    ends: Array
    keys: tuple[Hashable, ...] | None = None
    states: Array | None = None
    order: Array | None = None
    notes: tuple[Alert, ...] = ()

    @classmethod
    def one(cls, rows: Any) -> Sequences:
        """A single sequence."""
        return cls(rows, np.array([0, len(rows)]))

    def __len__(self) -> int:
        """Return the number of sequences."""
        return len(self.ends) - 1

    @property
    def lengths(self) -> Array:
        """How many rows each sequence has, (m,)."""
        return np.diff(self.ends)

    @property
    def n_rows(self) -> int:
        """How many rows all sequences have."""
        return int(self.ends[-1] - self.ends[0])

    @property
    def shape(self) -> tuple[int, ...]:
        """Sequences, and the columns of a row."""
        return (len(self), *np.shape(self.rows)[1:])

    @property
    def names(self) -> tuple[Any, ...] | None:
        """The names of the columns, where they have some."""
        if isinstance(self.rows, list) and self.rows and isinstance(self.rows[0], Mapping):
            return tuple(self.rows[0])
        return tuple(self.rows) if isinstance(self.rows, frame.Frame) else None

    def __getitem__(self, part: Any) -> Self:
        """Return some of the sequences: a slice, or their numbers in any order."""
        which = np.arange(len(self))[part]
        if isinstance(part, slice) and part.step in (None, 1):
            begin, end = (self.ends[which[0]], self.ends[which[-1] + 1]) if len(which) else (0, 0)
            place: Any = slice(int(begin), int(end))
            if place == slice(0, self.n_rows):
                return self
        else:
            spans = [np.arange(self.ends[i], self.ends[i + 1]) for i in which]
            place = np.concatenate(spans) if spans else np.empty(0, np.intp)
        return replace(
            self,
            rows=some_rows(self.rows, place),
            ends=np.concatenate([[0], np.cumsum(self.lengths[which])]),
            keys=tuple(range(len(self)))[part] if self.keys is None and isinstance(part, slice) else self._keys(which),
            states=None if self.states is None else self.states[place],
            order=None if self.order is None else self.order[place],
        )

    def _keys(self, which: Array) -> tuple[Hashable, ...]:
        return tuple(which.tolist()) if self.keys is None else tuple(self.keys[i] for i in which)

    def with_rows(self, rows: Any) -> Self:
        """The same sequences of other rows, as many."""
        return self if rows is self.rows else replace(self, rows=rows)

    def row_weights(self, weights: Weights) -> Weights:
        """The weight of its sequence for each row."""
        if weights.values is None:
            return Weights(self.n_rows)
        return Weights(self.n_rows, np.repeat(np.asarray(weights.of_component(0).values), self.lengths))

    def label(self, index: int) -> str:
        """How a sentence names a sequence."""
        return f"sequence {index if self.keys is None else repr(self.keys[index])}"

    def place(self, row: int) -> tuple[int, int]:
        """The sequence of a row, and the number of the row in it."""
        index = int(np.searchsorted(self.ends, row, side="right")) - 1
        return index, int(row - self.ends[index])

    def in_given_order(self, values: Array) -> Array:
        """Answers for all rows (n, …), in the order of the table that was given."""
        if self.order is None:
            return values
        found = np.empty_like(values)
        found[self.order] = values
        return found

    def piece(self, begin: int, end: int) -> Self:
        """Some of the rows of a single sequence, as a sequence."""
        states = None if self.states is None else self.states[begin:end]
        rows, ends = some_rows(self.rows, slice(begin, end)), np.array([0, end - begin])
        return replace(self, rows=rows, ends=ends, states=states, order=None)

    def groups(self, rows: int) -> list[slice]:
        """The sequences in groups of about so many rows; the cuts depend on the lengths alone."""
        if 0 < self.n_rows < rows:
            return [slice(0, len(self))]
        cuts = np.searchsorted(self.ends[1:], np.arange(rows, self.n_rows + rows, rows)) + 1
        places = np.unique(np.concatenate([[0], np.minimum(cuts, len(self))]))
        return [slice(int(a), int(b)) for a, b in pairwise(places)]

    def stretches(self, rows: int, length: int) -> Self:
        """Stretches of the sequences with about so many rows together, evenly spread; all if they are few."""
        if self.n_rows <= rows:
            return self
        starts = np.concatenate([np.arange(a, b, length) for a, b in pairwise(self.ends)])
        ends = np.minimum(starts + length, self.ends[np.searchsorted(self.ends, starts, side="right")])
        chosen = np.unique(np.linspace(0, len(starts) - 1, max(rows // length, 1)).round().astype(int))
        place = np.concatenate([np.arange(starts[i], ends[i]) for i in chosen])
        return replace(
            self,
            rows=some_rows(self.rows, place),
            ends=np.concatenate([[0], np.cumsum(ends[chosen] - starts[chosen])]),
            keys=None,
            states=None if self.states is None else self.states[place],
            order=None,
        )


def some_rows(rows: Any, place: Any) -> Any:
    """Some of the rows, whatever they are kept in."""
    if isinstance(rows, frame.Frame):
        count = len(range(*place.indices(len(rows)))) if isinstance(place, slice) else len(place)
        return frame.Frame({name: rows[name][place] for name in rows}, count)
    if isinstance(rows, (list, tuple)):
        return rows[place] if isinstance(place, slice) else [rows[i] for i in place]
    return rows[place] if isinstance(place, slice) else picked(rows, place)


# ---- sequences as rows of a sketch: hashes, scales, places -----------------------------------------------------------
def _in_sequence(hashes: Array, found: Sequences) -> Array:
    """One hash for each sequence, of the hashes of its rows and their order."""
    place = np.arange(found.n_rows) - np.repeat(found.ends[:-1], found.lengths)
    mixed = hashes * (2 * place.astype(np.uint64) + np.uint64(1))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    whole = sums[found.ends[1:]] - sums[found.ends[:-1]]
    return kernels.row_hash((whole >> np.uint64(11)).astype(np.float64)[:, None], 0)


@row_hash.register
def _(rows: Sequences, seed: int) -> Array:
    return _in_sequence(row_hash(rows.rows, seed), rows)


@rounded_hash.register
def _(rows: Sequences, scale: Any, steps: float, seed: int) -> Array:
    return _in_sequence(rounded_hash(rows.rows, scale, steps, seed), rows)


@dataclass(frozen=True)
class _Moments:
    """The moments of the rows of sequences."""

    inner: Any

    def __add__(self, other: Self) -> Self:
        return self if self.inner is None else type(self)(self.inner + other.inner)


@moments_of.register
def _(rows: Sequences, weights: Any) -> _Moments:
    return _Moments(moments_of(rows.rows, None if weights is None else np.repeat(weights, rows.lengths)))


@scale_of_moments.register
def _(moments: _Moments) -> Any:
    return scale_of_moments(moments.inner)


@blank.register
def _(rows: Sequences) -> Array:
    return np.asarray(np.logical_and.reduceat(blank(rows.rows), rows.ends[:-1]))


@points.register
def _(rows: Sequences, weights: Array) -> Array:
    """How a sequence lies and moves: the mean, the spread and the products of neighbours of its columns."""
    each = points(rows.rows, np.repeat(weights, rows.lengths))
    sizes = rows.lengths[:, None]
    mean = np.add.reduceat(each, rows.ends[:-1], axis=0) / sizes
    away = each - np.repeat(mean, rows.lengths, axis=0)
    spread = np.sqrt(np.add.reduceat(away**2, rows.ends[:-1], axis=0) / sizes)
    following = np.vstack([away[:-1] * away[1:], np.zeros((1, each.shape[1]))])
    following[rows.ends[1:] - 1] = 0.0
    together = np.add.reduceat(following, rows.ends[:-1], axis=0) / sizes
    found = np.concatenate([mean, spread, together], axis=1)
    scale = found.std(axis=0)
    return np.asarray((found - found.mean(axis=0)) / np.where(scale > 0, scale, 1.0))
