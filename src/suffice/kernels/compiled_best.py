"""Numba twins of `reference_best`: same names, same signatures, same answers but for ties within rounding."""

from __future__ import annotations

import numpy as np

from suffice.kernels import decisions, reference_best
from suffice.kernels.compiled import INTEGERS, _chunks, _plain
from suffice.kernels.reference import LOG_2PI, Array, Integers, Real
from suffice.kernels.reference_best import Codes


def normal_best(x: Real, mean: Array, std: Array, log_weights: Array) -> Codes:
    """Under k products of d normals, mean and std (k, d); a NaN cell counts for nobody."""
    out, start = np.empty(len(x), np.intp), 0
    given = _plain(mean), _plain(1.0 / std), _plain(-0.5 * LOG_2PI - np.log(std)), _plain(log_weights)
    for rows, _, _ in _chunks(x, None, None):
        decisions.normal_best(rows, *given, out[start : start + len(rows)])
        start += len(rows)
    return out


def table_best(levels: Integers, tables: Array, log_weights: Array) -> tuple[Codes, int]:
    """Under tables (k, d, L) of logs, and how many cells have no entry: NaN there, or a level outside 0 … L−1."""
    out, start, unknown = np.empty(len(levels), np.intp), 0, 0
    side_by_side, first = _plain(tables.transpose(1, 2, 0)), _plain(log_weights)
    for rows, _, _ in _chunks(levels, None, None, INTEGERS):
        unknown += decisions.table_best(rows, side_by_side, first, out[start : start + len(rows)])
        start += len(rows)
    return out, unknown


def sparse_best(values: Array, places: Integers, ends: Integers, slopes: Array, log_weights: Array) -> Codes:
    """With scores X · slopes of compressed rows, slopes (k, width)."""
    out = np.empty(len(ends) - 1, np.intp)
    cells = _plain(values), _plain(places, np.int32), _plain(ends, np.int64)
    decisions.sparse_best(*cells, _plain(slopes.T), _plain(log_weights), out)
    return out


def above_best(x: Real, threshold: float, slopes: Array, offset: Array, log_weights: Array) -> Codes:
    """With scores Σ (slopes (k, d) · [x > threshold] − offset (k, d)) over the cells that are not NaN."""
    out, start = np.empty(len(x), np.intp), 0
    for rows, _, _ in _chunks(x, None, None):
        part = out[start : start + len(rows)]
        decisions.above_best(rows, float(threshold), _plain(slopes), _plain(offset), _plain(log_weights), part)
        start += len(rows)
    return out


def above_sums(
    x: Real,
    threshold: float,
    weights: Array | None = None,
    codes: Integers | None = None,
    members: int = 1,
) -> tuple[Array, Array]:
    """Σ w of the cells above the threshold, and of those that are not NaN, both (k, d)."""
    if weights is not None and weights.ndim > 1:
        return reference_best.above_sums(x, threshold, weights, codes, members)
    total = np.zeros((2, members, x.shape[1]))
    for rows, w, c in _chunks(x, weights, codes):
        decisions.above_sums(rows, float(threshold), w, c, *total)
    return total[0], total[1]
