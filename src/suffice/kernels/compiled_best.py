"""Numba twins of `reference_best`: same names, same signatures, same answers but for ties within rounding."""

from __future__ import annotations

import numpy as np

from suffice.kernels import decisions, densities, reference_best
from suffice.kernels.compiled import INTEGERS, _chunks, _padded, _plain
from suffice.kernels.lanes import LANES
from suffice.kernels.reference import LOG_2PI, Array, Integers, Real
from suffice.kernels.reference_best import Codes

PAIRED_CELLS = 1 << 15  # tables of two columns at once stay in the cache up to this size


def chosen(scores: Array) -> Codes:
    """The place of the highest score of each row, the first of equal ones."""
    out = np.empty(len(scores), np.intp)
    densities.chosen(_plain(scores), out)
    return out


def shares(scores: Array) -> tuple[Array, Array, Array]:
    """Log Σ exp of scores (n, k), the shares of the components (n, k), and the entropy (n,) of these."""
    total, parts, entropy = np.empty(len(scores)), np.empty(scores.shape), np.empty(len(scores))
    densities.shares(_plain(scores), total, parts, entropy)
    return total, parts, entropy


def normal_best(x: Real, mean: Array, std: Array, log_weights: Array) -> Codes:
    """Under k products of d normals, mean and std (k, d); a NaN cell counts for nobody."""
    out, start = np.empty(len(x), np.intp), 0
    given = _plain(mean), _plain(1.0 / std), _plain(-0.5 * LOG_2PI - np.log(std)), _plain(log_weights)
    for rows, _, _ in _chunks(x, None, None):
        decisions.normal_best(rows, *given, out[start : start + len(rows)])
        start += len(rows)
    return out


def table_best(levels: Integers, tables: Array, log_weights: Array, unseen: Array | None = None) -> tuple[Codes, int]:
    """Under tables (k, d, L) of logs, and how many cells have no entry: NaN there, or a level outside 0 … L−1."""
    n_components, columns, n_levels = tables.shape
    present = ~np.isnan(tables[0])
    lengths = _plain(present.sum(axis=1), np.int64)
    if not (present == (np.arange(n_levels) < lengths[:, None])).all():  # entries are missing in the middle
        return reference_best.table_best(levels, tables, log_weights, unseen)
    full = -(-n_components // LANES) * LANES
    wide = np.zeros((columns, n_levels + 1, full))
    wide[:, :, :n_components] = 0.0 if unseen is None else unseen.T[:, None]
    wide[:, :n_levels, :n_components][present] = tables.transpose(1, 2, 0)[present]
    twos = columns // 2 if wide.size * (n_levels + 1) <= PAIRED_CELLS else 0
    pairs = wide[0 : 2 * twos : 2, :, None] + wide[1 : 2 * twos : 2, None]
    given = n_levels + 1, _plain(pairs.ravel()), _plain(wide[2 * twos :].ravel()), _start(log_weights, full)
    out, start, unknown = np.empty(len(levels), np.intp), 0, 0
    for rows, _, _ in _chunks(levels, None, None, INTEGERS):
        unknown += decisions.table_best(rows, lengths, *given, out[start : start + len(rows)])
        start += len(rows)
    return out, unknown


def sparse_best(values: Array, places: Integers, ends: Integers, slopes: Array, log_weights: Array) -> Codes:
    """With scores X · slopes of compressed rows, slopes (k, width)."""
    out = np.empty(len(ends) - 1, np.intp)
    cells = _plain(values), _plain(places, np.int32), _plain(ends, np.int64)
    wide = np.zeros((slopes.shape[1], _padded(len(slopes))))
    wide[:, : len(slopes)] = slopes.T
    decisions.sparse_best(*cells, _plain(wide.ravel()), _start(log_weights, wide.shape[1]), out)
    return out


def _start(log_weights: Array, full: int) -> Array:
    """The first score of each component; those that fill up have no chance."""
    start = np.full(full, -np.inf)
    start[: len(log_weights)] = log_weights
    return _plain(start)


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
    n_components: int = 1,
) -> tuple[Array, Array]:
    """Σ w of the cells above the threshold, and of those that are not NaN, both (k, d)."""
    if weights is not None and weights.ndim > 1:
        return reference_best.above_sums(x, threshold, weights, codes, n_components)
    total = np.zeros((2, n_components, x.shape[1]))
    for rows, w, c in _chunks(x, weights, codes):
        decisions.above_sums(rows, float(threshold), w, c, *total)
    return total[0], total[1]
