"""Native twin of `kernels.numpy.mixed_columns`: same names, same signatures, same answers but for the last bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.native import kernel, lanes
from suffice.kernels.native.primitives import _plain
from suffice.kernels.numpy.mixed_columns import Cells, CellSums, ColumnRun
from suffice.kernels.numpy.primitives import LOG_2PI, Array, Real
from suffice.kernels.numpy.quadratic import SEEN

_columns = kernel(
    "columns",
    "n f64 n f64 f64 f64 f64 f64 n f64 i32 n i64 f64 f64 f64 f64 n f64 f64 f64 f64 f64 f64",
)
_columns_run = kernel("columns_run", "n f64 n f64 f64 i32 n i64 f64 n n n r r r r f64 f64 f64 f64 f64 i64 -> n")
CANCELLED = 1e4  # of squares about a pivot, over those about the mean: the scatter keeps 12 digits


def columns_e_step(
    cells: Cells, log_weights: Array, weights: Array | None = None, shares: Array | None = None
) -> CellSums:
    """Log-likelihood, entropy, weight and sums of one pass; w r of every row and component is written into ``shares``.

    Squares are gathered about the means that components have. Where this would cost digits, about better ones.
    """
    x, mean, std, features, eta, levels, starts, tables, offset = cells
    n, (k, a), n_entries, wide = len(x), mean.shape, tables.shape[1], lanes()
    constant = log_weights - offset if log_weights.ndim == 1 else -offset
    numbers = _plain(x.T), a, _plain(mean), _plain(np.sqrt(0.5) / std), _plain(-(0.5 * LOG_2PI + np.log(std)))
    entries = _by_lanes(tables, wide)
    others = (
        *(_plain(features.T), features.shape[1], _plain(eta)),
        *(_plain(levels.T, np.int32), levels.shape[1], _plain(starts, np.int64)),
        *(entries, _plain(constant)),
        None if log_weights.ndim == 1 else _plain(log_weights),
        None if weights is None else _plain(weights),
        k,
    )
    out = shares if shares is None or shares.flags.c_contiguous else np.empty(shares.shape)
    pivot = mean
    for trial in range(3):
        count, sums, total = np.zeros(k), np.zeros((3, k, a)), np.zeros(eta.shape)
        counts, score = np.zeros(entries.size), np.zeros(2)
        _columns(n, *numbers, _plain(pivot), *others, count, sums, total, counts, out, score)
        value, entropy = float(score[0]), float(score[1])
        if trial == 2 or not np.isfinite(value) or not lost(sums[0], pivot, sums[1], sums[2]).any():
            break
        pivot = pivot + _shift(sums[0], sums[1])
    if shares is not None and out is not shares:
        shares[:] = out
    moments = sums[0], *centred(sums[0], pivot, sums[1], sums[2])
    by_component = counts.reshape(-1, n_entries + 1, wide).swapaxes(1, 2).reshape(-1, n_entries + 1)
    return CellSums(value, entropy, count, moments, total, by_component[:k, :n_entries])


def columns_run(
    cells: tuple[Array, ...],
    weights: Array | None,
    start: tuple[Array, ...],
    rule: tuple[int, float, float, bool],
) -> ColumnRun | None:
    """EM from shares, mean, std and probabilities, for as long as the rule says; None where sums do not tell enough."""
    (x, centre, floor, levels, starts), (most, tol, unit, leaps) = cells, rule
    share, mean, std, probs = (np.array(a, np.float64, order="C") for a in start)
    trace, counts = np.empty((max(most, 1), 2)), np.zeros(2, np.int64)
    end = _columns_run(
        *(x.shape[1], _plain(x), len(x), _plain(centre), _plain(floor), levels, len(levels), _plain(starts, np.int64)),
        *(None if weights is None else _plain(weights), len(share), max(most, 1), int(leaps), tol, unit, CANCELLED),
        *(SEEN, share, mean, std, probs, trace, counts),
    )
    taken, made = counts.tolist()
    return None if end == 0 else ((share, mean, std, probs), trace[:taken], made, end == 1)


def _by_lanes(tables: Array, wide: int) -> Array:
    """Tables (k, L) by vectors of components, (k / wide, L + 1, wide): the last entry, of no level, is 0."""
    k, size = tables.shape
    padded = np.zeros((-(-k // wide) * wide, size + 1))
    padded[:k, :size] = tables
    return np.ascontiguousarray(padded.reshape(-1, wide, size + 1).swapaxes(1, 2))


def normals(x: Real, mean: Array, std: Array) -> Cells:
    """Nothing but numbers under normals."""
    n, k = len(x), len(mean)
    none = np.empty((n, 0)), np.empty((k, 0)), np.empty((n, 0), np.int32), np.zeros(1, np.int64), np.empty((k, 0))
    return Cells(x, mean, std, *none, np.zeros(k))


def lost(weight: Array, pivot: Array, first: Array, second: Array) -> NDArray[np.bool_]:
    """Where squares about a pivot have too few digits for those about the mean."""
    rounding = weight * (1e-13 * pivot) ** 2
    kept = second - first * _shift(weight, first)
    return np.logical_and(second > rounding, second > CANCELLED * kept)


def centred(weight: Array, pivot: Array, first: Array, second: Array) -> tuple[Array, Array, Array]:
    """Centre, shift and scatter of sums about a pivot."""
    shift = _shift(weight, first)
    return np.where(weight > 0, pivot, 0.0), shift, np.maximum(second - first * shift, 0.0)


def _shift(weight: Array, first: Array) -> Array:
    return first / np.where(weight > 0, weight, 1.0)
