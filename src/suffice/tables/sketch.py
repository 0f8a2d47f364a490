"""A small subsample of many rows: the distinct rows whose hashes are smallest, with their summed weights.

Which rows these are depends on the values and the seed alone: not on the order of the rows, on how often one is
repeated rather than weighted, or on how they are cut into partitions. Sketches of partitions merge. The hash is one of
rounded values (`scales`), so that a last digit changes nothing; rows that are equal when they are rounded are told
apart by a hash of their bits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np

from suffice import kernels
from suffice.statistics.weights import Weights
from suffice.tables.labels import Column, Labels
from suffice.tables.scales import Scale, scale_of
from suffice.tables.sparse import Sparse
from suffice.tables.streams import Streamed, picked
from suffice.types import Array, Data, Rows

STEP = 1 << 15  # rows that are hashed at a time
OPENING = 1 << 16  # rows that a family begins from
FINGERPRINT = 1 << 23  # cells that are looked at to see a change
FINE = 2.0**16  # steps of a column's spread: rows that are drawn from a single column of many are still told apart
UPPER = np.uint64(0xFFFFFFFF00000000)


@dataclass(frozen=True)
class Sketch:
    """Rows by rising hash (m,), their weights (m,), and where the first of each stands."""

    hashes: Array
    weights: Array
    index: Array

    def merged(self, other: Sketch, size: int) -> Sketch:
        """The sketch of both."""
        hashes = np.concatenate([self.hashes, other.hashes])
        found, first, back = np.unique(hashes, return_index=True, return_inverse=True)
        weights = np.bincount(back, np.concatenate([self.weights, other.weights]), len(found))
        index = np.concatenate([self.index, other.index])[first]
        return Sketch(found[:size], weights[:size], index[:size])


def sketch(rows: Rows, weights: Weights, size: int, seed: int, scale: Scale | None = None) -> Sketch:
    """The ``size`` distinct rows of smallest hash; rows of weight 0 are none.

    Sketches of partitions merge if they have the ``scale`` of all rows; None is that of the rows at hand.
    """
    found = Sketch(np.empty(0, np.uint64), np.empty(0), np.empty(0, np.intp))
    scale = scale_of(rows, weights) if scale is None and len(rows) else scale
    for begin in range(0, len(rows), STEP):
        part = slice(begin, begin + STEP)
        hashes = _order(rows[part], scale, seed)
        w = weights[part].of_component(0).values
        kept = np.ones(len(hashes), bool) if w is None else w > 0
        if len(found.hashes) == size:
            kept &= hashes <= found.hashes[-1]
        place = np.flatnonzero(kept)
        mine = np.ones(len(place)) if w is None else w[place]
        found = found.merged(Sketch(hashes[place], mine, place + begin), size)
    return found


def _order(rows: Rows, scale: object, seed: int) -> Array:
    """A number (n,) for each row by which they are sorted: first by their rounded values, then by their bits."""
    return np.asarray((rounded_hash(rows, scale, FINE, seed) & UPPER) | (row_hash(rows, seed) >> np.uint64(32)))


def _cells(rows: Rows) -> int:
    width = int(np.prod(np.shape(rows)[1:])) if hasattr(rows, "shape") else len(getattr(rows, "parts", (0,)))
    return len(rows) * width


@singledispatch
def row_hash(rows: Rows, seed: int) -> Array:
    """A hash (n,) of the values in each row."""
    return kernels.row_hash(np.asarray(rows).reshape(len(rows), -1), seed)


@row_hash.register
def _(rows: Labels, seed: int) -> Array:
    return combined([_label_hash(column) for column in rows.columns], seed)


@row_hash.register
def _(rows: Sparse, seed: int) -> Array:
    """As that of the dense rows: the sum of the hashes of all cells, of which most are those of a 0."""
    return _sparse_hash(rows, rows.values, np.zeros(rows.width), seed)


@singledispatch
def rounded_hash(rows: Rows, scale: Any, steps: float, seed: int) -> Array:
    """A hash (n,) of the values in each row, in whole steps of 1/``steps`` of their column's spread."""
    return kernels.row_hash(scale.round(np.asarray(rows).reshape(len(rows), -1), steps), seed)


@rounded_hash.register
def _(rows: Labels, scale: Any, steps: float, seed: int) -> Array:
    del scale, steps
    return row_hash(rows, seed)


@rounded_hash.register
def _(rows: Sparse, scale: Any, steps: float, seed: int) -> Array:
    each = Scale(scale.centre[rows.places], scale.spread[rows.places])
    return _sparse_hash(rows, each.round(rows.values, steps), scale.round(np.zeros(rows.width), steps), seed)


def _sparse_hash(rows: Sparse, values: Array, absent: Array, seed: int) -> Array:
    """The hash of rows whose kept cells have these values and whose other cells are ``absent`` (width,)."""
    here = slice(rows.ends[0], rows.ends[-1])
    keys = kernels.column_keys(rows.width, seed)
    empty = kernels.cell_hash(keys, absent)
    places = rows.places[here]
    sums = np.zeros(len(places) + 1, np.uint64)
    np.cumsum(kernels.cell_hash(keys[places], values[here]) - empty[places], out=sums[1:])
    ends = rows.ends - rows.ends[0]
    start = kernels.row_hash(np.zeros((1, 0)), seed) + empty.sum(dtype=np.uint64)
    return np.asarray(sums[ends[1:]] - sums[ends[:-1]] + start)


def _label_hash(column: Column) -> Array:
    known: Array = np.array([0, *map(_digest, column.vocabulary)], dtype=np.uint64)
    return np.asarray(known[column.among(np.arange(len(column.vocabulary))) + 1])


def _digest(label: Hashable) -> int:
    if isinstance(label, float) and label.is_integer():
        label = int(label)  # whether 1 is 1.0 depends on the other labels of its column, and on those of a partition
    return int.from_bytes(
        hashlib.blake2b(f"{type(label).__name__}:{label!r}".encode(), digest_size=8).digest(), "little"
    )


def combined(parts: list[Array], seed: int) -> Array:
    """One hash of several."""
    return kernels.row_hash(np.stack([part >> np.uint64(11) for part in parts], axis=1).astype(np.float64), seed)


def fingerprint(rows: Rows, weights: Weights) -> int:
    """A number that tells whether rows or weights were changed: of all of them, or of many rows far apart.

    Of rows in files it is a number of the files, which are not read again.
    """
    if isinstance(rows, Streamed):
        return rows.stream.source.mark ^ _mark_of(weights.values)
    width = _cells(rows) // max(len(rows), 1)
    every, total = 1 + len(rows) * max(width, 1) // FINGERPRINT, 0
    for begin in range(0, len(rows), STEP * every):
        index = np.arange(begin, min(begin + STEP * every, len(rows)), every)
        hashes = row_hash(take_rows(rows, index), 0)
        if weights.values is not None:
            hashes = hashes ^ kernels.row_hash(weights.values[index].reshape(len(index), -1), 1)
        total += int((hashes * (2 * index + 1).astype(np.uint64)).sum())  # the order counts
    return total % (1 << 64)


def _mark_of(weights: Data) -> int:
    """A number of the weights beside rows in files: of the column that holds them, or of all of them."""
    if weights is None:
        return 0
    held = weights.tobytes() if isinstance(weights, np.ndarray) else repr(weights.name).encode()
    return int.from_bytes(hashlib.blake2b(held, digest_size=8).digest(), "little")


# ---- rows as points --------------------------------------------------------------------------------------------------
@singledispatch
def points(rows: Rows, weights: Array) -> Array:
    """Rows as points (n, q) that have distances: columns in units of their spread, holes at the mean."""
    x = np.asarray(rows, dtype=float).reshape(len(rows), -1)
    seen = np.isfinite(x)
    w = weights[:, None] * seen
    total = np.maximum(w.sum(axis=0), 1e-300)
    with np.errstate(all="ignore"):
        centred = np.where(seen, x - (w * np.where(seen, x, 0.0)).sum(axis=0) / total, 0.0)
        spread = np.sqrt((w * centred**2).sum(axis=0) / total)
        return np.where(spread > 0, centred / np.where(spread > 0, spread, 1.0), 0.0)


@points.register
def _(rows: Labels, weights: Array) -> Array:
    del weights
    columns = []
    for column in rows.columns:
        width = len(column.vocabulary)
        place = column.among(np.arange(width))
        columns.append((place[:, None] == np.arange(min(width, 64))).astype(float))
    return np.concatenate(columns, axis=1)


@singledispatch
def blank(rows: Rows) -> Array:
    """Which rows (n,) have no value at all."""
    x = np.asarray(rows)
    missing = np.isnan(x) if x.dtype.kind == "f" else np.zeros(x.shape, bool)
    return np.asarray(missing.reshape(len(rows), -1).all(axis=1))


@blank.register
def _(rows: Labels) -> Array:
    each = [column.among(np.arange(len(column.vocabulary))) < 0 for column in rows.columns]
    return np.asarray(np.logical_and.reduce(each))


def take_rows(rows: Rows, index: Array) -> Any:
    """Some of the rows, in memory."""
    return rows.take(index) if isinstance(rows, Streamed) else picked(rows, index)


def subsample_rows(rows: Rows, weights: Weights, size: int, seed: int) -> tuple[Any, Weights]:
    """The rows of a sketch and their weights."""
    found = sketch(rows, weights, size, seed)
    return take_rows(rows, found.index), replace(Weights(len(found.index)), values=found.weights)


def starting_rows(rows: Rows, weights: Weights) -> tuple[Any, Weights]:
    """The rows that a family of several passes begins from: all, or where they are many a subsample of them."""
    if len(rows) > OPENING:
        return subsample_rows(rows, weights, OPENING, 0)
    return rows[0 : len(rows)] if isinstance(rows, Streamed) else rows, weights[0 : len(rows)]
