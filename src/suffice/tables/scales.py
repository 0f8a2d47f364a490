"""Where the values of each column lie and how far they spread, so that rows can be rounded relative to both.

A hash of the bits of a row changes wholly with the last digit of a cell, with float32 in the place of float64, or when
a constant is added to a column. A hash of values that are rounded relative to the centre and the spread of their column
does not, but for the few values next to an edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from suffice import kernels
from suffice.engines import local
from suffice.statistics.moments import Moments
from suffice.statistics.weights import Weights
from suffice.tables.labels import Labels
from suffice.tables.sparse import Sparse
from suffice.tables.streams import Streamed
from suffice.types import Array, Rows


@dataclass(frozen=True)
class Scale:
    """The centre and the spread of each column, (d,)."""

    centre: Array
    spread: Array

    @classmethod
    def of_moments(cls, moments: Moments) -> Scale:
        """From the mean and the variance of each column, of rows that belong together."""
        return cls(moments.mean[0], np.sqrt(moments.var[0]))

    def round(self, x: Array, steps: float) -> Array:
        """Values (…, d) in whole steps from the centre, of which the spread has ``steps``; 0 in a constant column."""
        with np.errstate(all="ignore"):  # what is infinite is NaN, like what is missing
            inverse = np.where(self.spread > 0, steps / self.spread, 0.0)
            return np.asarray(np.rint((x - self.centre) * np.where(np.isfinite(inverse), inverse, 0.0)))


UNIT = Scale(np.zeros(1), np.ones(1))  # of points that are in units of their spread already


@singledispatch
def moments_of(rows: Rows, weights: Array | None) -> Any:
    """What gives the scale of rows, which adds; None where rows have no numbers."""
    x = np.asarray(rows).reshape(len(rows), -1)
    x = x if x.dtype in (np.float64, np.float32) else x.astype(np.float64)
    return Moments(*kernels.moments(x, weights))


@moments_of.register
def _(rows: Labels, weights: Array | None) -> None:
    del rows, weights


@moments_of.register
def _(rows: Sparse, weights: Array | None) -> Moments:
    held = np.ones(len(rows)) if weights is None else weights
    here = slice(rows.ends[0], rows.ends[-1])
    places, values, each = rows.places[here], rows.values[here], np.repeat(held, np.diff(rows.ends))
    total = held.sum()
    mean = np.bincount(places, each * values, rows.width) / max(total, np.finfo(float).tiny)
    kept = np.bincount(places, each, rows.width)
    away = np.bincount(places, each * (values - mean[places]) ** 2, rows.width)
    scatter = away + np.maximum(total - kept, 0.0) * mean**2
    return Moments(np.full((1, rows.width), total), mean[None], np.zeros((1, rows.width)), scatter[None])


@singledispatch
def scale_of_moments(moments: Any) -> Any:
    """The scale that belongs to moments of rows; None where there are none."""
    return None if moments is None else Scale.of_moments(moments)


def scale_of(rows: Rows, weights: Weights) -> Any:
    """The scale of rows, in the form that `rounded_hash` takes: one for each of their parts.

    It is a sum over rows, so that their order, their repetition and their partition change it by rounding only.
    """

    def gather(part: slice) -> _Held:
        held = weights[part].of_component(0).values
        return _Held(moments_of(rows[part], held))

    if not isinstance(rows, Streamed) and len(rows) * _width(rows) <= local.SLICE_CELLS:
        return scale_of_moments(gather(slice(0, len(rows))).value)
    return scale_of_moments(local.reduce(gather, len(rows), _width(rows)).value)


def _width(rows: Rows) -> int:
    return max(int(np.prod(np.shape(rows)[1:])), 1)


@dataclass(frozen=True)
class _Held:
    """Moments, or None, that add."""

    value: Any

    def __add__(self, other: _Held) -> _Held:
        return self if self.value is None else _Held(self.value + other.value)
