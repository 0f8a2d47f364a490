"""Squared distances of rows to centres, for rows of numbers and for those that are mostly 0.

Of the latter only the cells that are kept are read, so that ‖x − c‖² = ‖x‖² − 2 x·c + ‖c‖²; what that loses is told.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from suffice import kernels
from suffice.em.init.partitions import seeds as seeds_of_points
from suffice.statistics.weights import Weights
from suffice.tables.row_draws import RowDraws
from suffice.tables.scales import scale_of
from suffice.tables.sketch import row_hash
from suffice.tables.sparse import Sparse
from suffice.types import Array, Rows

ROUNDING = 64 * np.finfo(float).eps  # of a squared distance, beside the squares that it is the difference of


class Near(NamedTuple):
    """Σ w ‖x − c‖², Σ w (k,) and Σ w (x − c) (k, d), c being the nearest centre; and how far off the first may be."""

    inertia: float
    weight: Array
    total: Array
    rounding: float = 0.0


@singledispatch
def nearest(rows: Any, places: Array, weights: Array | None = None, codes: Any = None) -> Near:
    """What rows are to their nearest centres; ``codes`` (n,) is filled with which."""
    return Near(*kernels.nearest(rows, places, weights, codes=codes))


@nearest.register
def _(rows: Sparse, places: Array, weights: Array | None = None, codes: Any = None) -> Near:
    who = np.empty(len(rows), np.int32) if codes is None else codes
    lengths, reach = rows.squares(), np.einsum("kd,kd->k", places, places)
    offs = reach - 2.0 * rows.scores(places)
    chosen = offs.argmin(axis=1)
    who[:] = chosen
    gaps = np.maximum(lengths + np.take_along_axis(offs, chosen[:, None], axis=1)[:, 0], 0.0)
    held = np.ones(len(rows)) if weights is None else weights
    weight = np.bincount(who, held, len(places))
    sums, _ = kernels.sparse_sums(rows.values, rows.places, rows.ends, rows.width, weights, who, len(places))
    rounding = ROUNDING * float(held @ lengths + weight @ reach)
    return Near(float(held @ gaps), weight, sums - weight[:, None] * places, rounding)


@singledispatch
def squares(rows: Any, places: Array) -> Array:
    """Squared distances (n, k) of some rows to the centres."""
    out = np.empty((len(rows), len(places)))
    for j, place in enumerate(places):
        away = rows - place
        out[:, j] = np.einsum("nd,nd->n", away, away)
    return out


@squares.register
def _(rows: Sparse, places: Array) -> Array:
    lengths, reach = rows.squares()[:, None], np.einsum("kd,kd->k", places, places)
    found = lengths - 2.0 * rows.scores(places) + reach
    return np.where(found > ROUNDING * (lengths + reach), found, 0.0)


@singledispatch
def seeds(rows: Any, weights: Array, k: int, rng: Any, draws: RowDraws) -> Array:
    """Numbers (k,) of rows that lie apart, as k-means++ draws them."""
    return seeds_of_points(rows, weights, k, rng, draws)


@seeds.register
def _(rows: Sparse, weights: Array, k: int, rng: Any, draws: RowDraws) -> Array:
    return seeds_of_points(rows, weights, k, rng, draws, lambda chosen: squares(rows, dense(rows[chosen])))


def spread(rows: Rows, weights: Weights) -> float:
    """The mean variance of the columns."""
    return float(np.mean(np.square(scale_of(rows, weights).spread)))


@singledispatch
def least(rows: object) -> Array:
    """One of several rows, the same in whatever order they come, as an array (d,)."""
    points = dense(rows)
    return np.asarray(points[np.lexsort(points.T[::-1])[0]])


@least.register
def _(rows: Sparse) -> Array:
    return np.asarray(dense(rows[np.array([np.argmin(row_hash(rows, 0))])])[0])


@singledispatch
def cells(rows: Any) -> int:
    """How many cells of a row are read."""
    return int(rows.shape[1])


@cells.register
def _(rows: Sparse) -> int:
    return rows.cells


@singledispatch
def dense(rows: object) -> Array:
    """A few rows as an array (n, d)."""
    return np.asarray(rows, dtype=float)


@dense.register
def _(rows: Sparse) -> Array:
    return np.asarray(rows.matrix.toarray())
