"""Native twins of `kernels.numpy.decisions`: same names, same signatures, same answers but for ties within rounding."""

from __future__ import annotations

import numpy as np

from suffice.kernels.native import kernel, lanes
from suffice.kernels.native.primitives import INTEGERS, _chunks, _compressed, _padded, _plain
from suffice.kernels.numpy import decisions as numpy_decisions
from suffice.kernels.numpy.decisions import Codes
from suffice.kernels.numpy.primitives import LOG_2PI, Array, Integers, Real

_chosen = kernel("chosen", "f64 n n i64")
_shares = kernel("shares", "f64 n n f64 f64 f64")
_normal_best = kernel("normal_best", "real n n f64 f64 f64 f64 n i64")
_table_best = kernel("table_best", "level n n i64 n f64 n f64 f64 n i64 -> n")
_sparse_best = kernel("sparse_best", "f64 i32 i64 n f64 f64 n i64")
_above_best = kernel("above_best", "real n n r f64 f64 f64 n i64")
_above_sums = kernel("above_sums", "real n n r f64 i64 n f64 f64")
PAIRED_CELLS = 1 << 15  # tables of two columns at once stay in the cache up to this size


def chosen(scores: Array) -> Codes:
    """The place of the highest score of each row, the first of equal ones."""
    out = np.empty(len(scores), np.intp)
    _chosen(_plain(scores), *scores.shape, out)
    return out


def shares(scores: Array) -> tuple[Array, Array, Array]:
    """Log Σ exp of scores (n, k), the shares of the components (n, k), and the entropy (n,) of these."""
    total, parts, entropy = np.empty(len(scores)), np.empty(scores.shape), np.empty(len(scores))
    _shares(_plain(scores), *scores.shape, total, parts, entropy)
    return total, parts, entropy


def normal_best(x: Real, mean: Array, std: Array, log_weights: Array) -> Codes:
    """Under k products of d normals, mean and std (k, d); a NaN cell counts for nobody."""
    out, start = np.empty(len(x), np.intp), 0
    given = _plain(mean), _plain(1.0 / std), _plain(-0.5 * LOG_2PI - np.log(std)), _plain(log_weights)
    for rows, _, _ in _chunks(x, None, None):
        _normal_best(rows, *rows.shape, *given, len(mean), out[start : start + len(rows)])
        start += len(rows)
    return out


def table_best(levels: Integers, tables: Array, log_weights: Array, unseen: Array | None = None) -> tuple[Codes, int]:
    """Under tables (k, d, L) of logs, and how many cells have no entry: NaN there, or a level outside 0 … L−1."""
    n_components, columns, n_levels = tables.shape
    present = ~np.isnan(tables[0])
    lengths = _plain(present.sum(axis=1), np.int64)
    if not (present == (np.arange(n_levels) < lengths[:, None])).all():  # entries are missing in the middle
        return numpy_decisions.table_best(levels, tables, log_weights, unseen)
    full = -(-n_components // lanes()) * lanes()
    wide = np.zeros((columns, n_levels + 1, full))
    wide[:, :, :n_components] = 0.0 if unseen is None else unseen.T[:, None]
    wide[:, :n_levels, :n_components][present] = tables.transpose(1, 2, 0)[present]
    twos = columns // 2 if wide.size * (n_levels + 1) <= PAIRED_CELLS else 0
    pairs = wide[0 : 2 * twos : 2, :, None] + wide[1 : 2 * twos : 2, None]
    given = n_levels + 1, _plain(pairs), twos, _plain(wide[2 * twos :]), _start(log_weights, full), full
    out, start, unknown = np.empty(len(levels), np.intp), 0, 0
    for rows, _, _ in _chunks(levels, None, None, INTEGERS):
        unknown += _table_best(rows, *rows.shape, lengths, *given, out[start : start + len(rows)])
        start += len(rows)
    return out, unknown


def sparse_best(values: Array, places: Integers, ends: Integers, slopes: Array, log_weights: Array) -> Codes:
    """With scores X · slopes of compressed rows, slopes (k, width)."""
    out = np.empty(len(ends) - 1, np.intp)
    cells, full = _compressed(values, places, ends), _padded(len(slopes))
    wide = np.zeros((slopes.shape[1], full))
    wide[:, : len(slopes)] = slopes.T
    _sparse_best(*cells, wide, _start(log_weights, full), full, out)
    return out


def _start(log_weights: Array, full: int) -> Array:
    """The first score of each component; those that fill up have no chance."""
    start = np.full(full, -np.inf)
    start[: len(log_weights)] = log_weights
    return _plain(start)


def above_best(x: Real, threshold: float, slopes: Array, offset: Array, log_weights: Array) -> Codes:
    """With scores Σ (slopes (k, d) · [x > threshold] − offset (k, d)) over the cells that are not NaN."""
    out, start = np.empty(len(x), np.intp), 0
    given = float(threshold), _plain(slopes), _plain(offset), _plain(log_weights), len(slopes)
    for rows, _, _ in _chunks(x, None, None):
        _above_best(rows, *rows.shape, *given, out[start : start + len(rows)])
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
        return numpy_decisions.above_sums(x, threshold, weights, codes, n_components)
    total = np.zeros((2, n_components, x.shape[1]))
    for rows, w, c in _chunks(x, weights, codes):
        _above_sums(rows, *rows.shape, float(threshold), w, c, n_components, *total)
    return total[0], total[1]
