"""A small picture of many rows: the distinct rows whose hashes are smallest, with their summed weights.

Which rows these are depends on the values and the seed alone: not on the order of the rows, on how often one is
repeated rather than weighted, or on how they are cut into partitions. Sketches of partitions merge.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np

from suffice import kernels
from suffice.core.labels import Column, Labels
from suffice.core.parameters import Array
from suffice.core.sparse import Sparse
from suffice.core.streamed import Streamed, picked
from suffice.core.weights import Weights

STEP = 1 << 15  # rows that are hashed at a time
OPENING = 1 << 16  # rows that a family begins from
FINGERPRINT = 1 << 23  # cells that are looked at to see a change


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


def sketch(rows: Any, weights: Weights, size: int, seed: int) -> Sketch:
    """The ``size`` distinct rows of smallest hash; rows of weight 0 are none."""
    found = Sketch(np.empty(0, np.uint64), np.empty(0), np.empty(0, np.intp))
    for begin in range(0, len(rows), STEP):
        part = slice(begin, begin + STEP)
        with kernels.job(_cells(rows)):
            hashes = row_hash(rows[part], seed)
        w = weights[part].of_member(0).values
        kept = np.ones(len(hashes), bool) if w is None else w > 0
        if len(found.hashes) == size:
            kept &= hashes <= found.hashes[-1]
        place = np.flatnonzero(kept)
        mine = np.ones(len(place)) if w is None else w[place]
        found = found.merged(Sketch(hashes[place], mine, place + begin), size)
    return found


def _cells(rows: Any) -> int:
    width = int(np.prod(np.shape(rows)[1:])) if hasattr(rows, "shape") else len(getattr(rows, "parts", (0,)))
    return len(rows) * width


@singledispatch
def row_hash(rows: Any, seed: int) -> Array:
    """A hash (n,) of the values in each row."""
    return kernels.row_hash(np.asarray(rows).reshape(len(rows), -1), seed)


@row_hash.register
def _(rows: Labels, seed: int) -> Array:
    return combined([_label_hash(column) for column in rows.columns], seed)


@row_hash.register
def _(rows: Sparse, seed: int) -> Array:
    """The sum of the hashes of a row's cells, whatever their order; a 0 that is kept counts as one that is not."""
    here = slice(rows.ends[0], rows.ends[-1])
    cells = kernels.row_hash(np.stack([rows.places[here], rows.values[here]], axis=1), seed)
    sums = np.zeros(len(cells) + 1, np.uint64)
    np.cumsum(np.where(rows.values[here] == 0, np.uint64(0), cells), out=sums[1:])
    ends = rows.ends - rows.ends[0]
    return np.asarray(sums[ends[1:]] - sums[ends[:-1]] + kernels.row_hash(np.zeros((1, 1)), seed))


def _label_hash(column: Column) -> Array:
    known: Array = np.array([0, *map(_digest, column.vocabulary)], dtype=np.uint64)
    return np.asarray(known[column.among(np.arange(len(column.vocabulary))) + 1])


def _digest(label: Any) -> int:
    if isinstance(label, float) and label.is_integer():
        label = int(label)  # whether 1 is 1.0 depends on the other labels of its column, and on those of a partition
    return int.from_bytes(
        hashlib.blake2b(f"{type(label).__name__}:{label!r}".encode(), digest_size=8).digest(), "little"
    )


def combined(parts: list[Array], seed: int) -> Array:
    """One hash of several."""
    return kernels.row_hash(np.stack([part >> np.uint64(11) for part in parts], axis=1).astype(np.float64), seed)


def fingerprint(rows: Any, weights: Weights) -> int:
    """A number that tells whether rows or weights were changed: of all of them, or of many rows far apart.

    Of rows in files it is a number of the files, which are not read again.
    """
    if isinstance(rows, Streamed):
        return rows.stream.source.mark ^ _mark_of(weights.values)
    width = _cells(rows) // max(len(rows), 1)
    every, total = 1 + len(rows) * max(width, 1) // FINGERPRINT, 0
    for begin in range(0, len(rows), STEP * every):
        index = np.arange(begin, min(begin + STEP * every, len(rows)), every)
        with kernels.job(len(rows) * width):
            hashes = row_hash(taken(rows, index), 0)
        if weights.values is not None:
            hashes = hashes ^ kernels.row_hash(weights.values[index].reshape(len(index), -1), 1)
        total += int((hashes * (2 * index + 1).astype(np.uint64)).sum())  # the order counts
    return total % (1 << 64)


def _mark_of(weights: Any) -> int:
    """A number of the weights beside rows in files: of the column that holds them, or of all of them."""
    if weights is None:
        return 0
    held = weights.tobytes() if isinstance(weights, np.ndarray) else repr(weights.name).encode()
    return int.from_bytes(hashlib.blake2b(held, digest_size=8).digest(), "little")


# ---- rows as points --------------------------------------------------------------------------------------------------
@singledispatch
def points(rows: Any, weights: Array) -> Array:
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
def blank(rows: Any) -> Array:
    """Which rows (n,) have no value at all."""
    x = np.asarray(rows)
    missing = np.isnan(x) if x.dtype.kind == "f" else np.zeros(x.shape, bool)
    return np.asarray(missing.reshape(len(rows), -1).all(axis=1))


@blank.register
def _(rows: Labels) -> Array:
    each = [column.among(np.arange(len(column.vocabulary))) < 0 for column in rows.columns]
    return np.asarray(np.logical_and.reduce(each))


def taken(rows: Any, index: Array) -> Any:
    """Some of the rows, in memory."""
    return rows.take(index) if isinstance(rows, Streamed) else picked(rows, index)


def picture(rows: Any, weights: Weights, size: int, seed: int) -> tuple[Any, Weights]:
    """The rows of a sketch and their weights."""
    found = sketch(rows, weights, size, seed)
    return taken(rows, found.index), replace(Weights(len(found.index)), values=found.weights)


def opening(rows: Any, weights: Weights) -> tuple[Any, Weights]:
    """The rows that a family of several passes begins from: all, or where they are many a picture of them."""
    if len(rows) > OPENING:
        return picture(rows, weights, OPENING, 0)
    return rows[0 : len(rows)] if isinstance(rows, Streamed) else rows, weights[0 : len(rows)]
