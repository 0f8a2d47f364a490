"""Numba twin of `reference_cells`: same names, same signatures, same answers but for the last bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.kernels import cells as loops
from suffice.kernels.compiled import NOTHING, _plain
from suffice.kernels.lanes import LANES
from suffice.kernels.reference import LOG_2PI, Array, Real
from suffice.kernels.reference_cells import Cells, CellSums

CANCELLED = 1e6  # of squares about a pivot, over those about the mean: the scatter keeps 10 digits


def columns_e_step(
    cells: Cells, log_weights: Array, weights: Array | None = None, shares: Array | None = None
) -> CellSums:
    """Log-likelihood, entropy, weight and sums of one pass; w r of every row and component is written into ``shares``.

    Squares are gathered about the means that components have. Where this would cost digits, about better ones.
    """
    x, mean, std, features, eta, levels, starts, tables, offset = cells
    (k, a), n_entries = mean.shape, tables.shape[1]
    out = np.empty((0, k)) if shares is None else shares
    constant = log_weights - offset if log_weights.ndim == 1 else -offset
    columns = _plain(x.T), _plain(mean), _plain(np.sqrt(0.5) / std), _plain(-(0.5 * LOG_2PI + np.log(std)))
    others = (
        *(_plain(features.T), _plain(eta)),
        *(_plain(levels.T, np.int32), _plain(starts, np.int64)),
        _plain(_by_lanes(tables)),
        _plain(constant),
        _plain(log_weights if log_weights.ndim > 1 else np.empty((0, k))),
        NOTHING if weights is None else _plain(weights[:, None]),
    )
    pivot = mean
    for trial in range(3):
        count, sums, total = np.zeros(k), np.zeros((3, k, a)), np.zeros(eta.shape)
        counts = np.zeros(others[4].size)
        value, entropy = loops.e_step(*columns, _plain(pivot), *others, count, sums, total, counts, out)
        if trial == 2 or not np.isfinite(value) or not lost(sums[0], pivot, sums[1], sums[2]).any():
            break
        pivot = pivot + _shift(sums[0], sums[1])
    moments = sums[0], *centred(sums[0], pivot, sums[1], sums[2])
    by_member = counts.reshape(-1, n_entries + 1, LANES).swapaxes(1, 2).reshape(-1, n_entries + 1)
    return CellSums(value, entropy, count, moments, total, by_member[:k, :n_entries])


def _by_lanes(tables: Array) -> Array:
    """Tables (k, L) by vectors of components, (k / 8, L + 1, 8) as one stretch: the last entry, of no level, is 0."""
    k, size = tables.shape
    padded = np.zeros((-(-k // LANES) * LANES, size + 1))
    padded[:k, :size] = tables
    return padded.reshape(-1, LANES, size + 1).swapaxes(1, 2).ravel()


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
