"""Native twins of `kernels.numpy.linear`: same names, same signatures, same answers but for the last bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from suffice.kernels.native import kernel, lanes
from suffice.kernels.native.mixed_columns import centred, columns_e_step, lost, normals
from suffice.kernels.native.primitives import CHUNK_CELLS, FLOATS, _plain
from suffice.kernels.native.primitives import _chunks as _row_chunks
from suffice.kernels.numpy import linear as numpy_linear
from suffice.kernels.numpy.linear import Expected, Nearest, NormalExpected
from suffice.kernels.numpy.primitives import LOG_2PI, Array, Integers, Real

_normal = kernel("normal", "real n n f64 f64 f64 f64 f64 f64 n f64 f64")
_linear = kernel("linear", "real n n f64 f64 f64 f64 f64 n f64 f64")
_tables = kernel("tables", "level n n f64 f64 f64 f64 n n n f64 f64")
_nearest = kernel("nearest", "real n n f64 f64 n f64 f64 i32 -> r")
FAR = 1e2  # standard deviations from the pilot to a mean: the scatter keeps 12 digits
TABLE_BYTES = 3 << 13  # what is looked up all the time stays in the nearest cache
WIDE = 1024  # columns: longer rows fill a core's cache by themselves, and NumPy's loops along them are as fast
LEVELS = (np.int32, np.int8, np.int16, np.int64)


def normal_e_step(x: Real, mean: Array, std: Array, log_weights: Array, weights: Array | None = None) -> NormalExpected:
    """Log-likelihood, entropy, weight (k,), and centre, shift, scatter (k, d) under independent normal columns.

    Squares are gathered about one pilot. Where this would cost digits each component has a pivot of its own.
    """
    pilot = _pilot(x, weights)
    if (np.abs(mean - pilot) <= FAR * std).all():
        value, entropy, weight, first, second = _about_pilot(x, mean, std, pilot, log_weights, weights)
        about = np.broadcast_to(pilot, mean.shape)
        if not np.isfinite(value) or not lost(weight[:, None], about, first, second).any():
            return value, entropy, weight, *centred(weight[:, None], about, first, second)
    found = columns_e_step(normals(x, mean, std), log_weights, weights)
    holes = np.isnan(x if weights is None else x[weights > 0]).any()  # which it took as such
    return np.nan if holes else found.log_likelihood, *found[1:3], *found.moments[1:]


def linear_e_step(
    features: Real,
    eta: Array,
    offset: Array,
    base: Array | None,
    log_weights: Array,
    weights: Array | None = None,
) -> Expected:
    """Log-likelihood, entropy, weight (k,) and Σ w r f (k, m) of features (n, m), logits f·eta − offset + base."""
    (k, m), score = eta.shape, np.zeros(2)
    constant, log_w = _constant(-offset, log_weights)
    slopes, sums = _plain(eta), np.zeros((k, m + 1))
    for rows, w, log_rows, b in _chunks(features, weights, log_w, base):
        _linear(rows, *rows.shape, w, log_rows, b, constant, slopes, k, sums, score)
    return float(score[0]), float(score[1]), sums[:, m].copy(), sums[:, :m].copy()


def table_e_step(levels: Integers, tables: Array, log_weights: Array, weights: Array | None = None) -> Expected:
    """Log-likelihood, entropy, weight (k,) and counts Σ w r (k, d, L) of levels (n, d); tables (k, d, L) are logs.

    Columns of few levels are looked up several at a time, in a table of their joint levels.
    """
    (k, d, n_levels), score, wide = tables.shape, np.zeros(2), lanes()
    radix, parts = n_levels + 1, -(-k // wide)
    jointly = max(j for j in (1, 2, 3, 4) if j == 1 or radix**j * -(-d // j) * 8 * wide <= TABLE_BYTES)
    groups, digits = -(-d // jointly), (radix,) * jointly
    alone = np.zeros((parts * wide, groups * jointly, radix))
    alone[:k, :d, :n_levels] = tables
    alone = alone.reshape(parts, wide, groups, jointly, radix).transpose(0, 2, 3, 4, 1)
    entries = np.zeros((parts, groups, *digits, wide))
    for j in range(jointly):
        entries += alone[:, :, j].reshape(parts, groups, *(radix if i == j else 1 for i in range(jointly)), wide)
    constant, log_w = _constant(np.zeros(k), log_weights)
    sums, total = np.zeros(entries.shape), np.empty((parts, wide, groups, jointly, radix))
    for rows, w, log_rows, _ in _chunks(levels, weights, log_w, None, LEVELS):
        _tables(rows, *rows.shape, w, log_rows, constant, entries, n_levels, jointly, k, sums, score)
    for j in range(jointly):
        others = tuple(2 + i for i in range(jointly) if i != j)
        total[:, :, :, j] = sums.sum(axis=others).transpose(0, 3, 1, 2)
    counts = total.reshape(parts * wide, groups * jointly, radix)[:k, :d]
    weight = counts[:, 0].sum(axis=1) if d else np.zeros(k)
    return float(score[0]), float(score[1]), weight, np.ascontiguousarray(counts[:, :, :n_levels])


def nearest(x: Real, centres: Array, weights: Array | None = None, codes: NDArray[np.int32] | None = None) -> Nearest:
    """Inertia Σ w ‖x − c‖² to the nearest centre, weight (k,) and Σ w (x − c) (k, d), c the row's own centre."""
    (k, d), start, inertia = centres.shape, 0, 0.0
    if d > WIDE:
        return numpy_linear.nearest(x, centres, weights, codes)
    places, weight, total = _plain(centres), np.zeros(k), np.zeros((k, d))
    for rows, w, _ in _row_chunks(x, weights, None):
        out = None if codes is None else codes[start : start + len(rows)]
        inertia += _nearest(rows, *rows.shape, w, places, k, weight, total, out)
        start += len(rows)
    return inertia, weight, total


# -- arguments as the loops expect them --------------------------------------------------------------------------------


def _pilot(x: Real, weights: Array | None) -> Array:
    """The mean of some rows that have weight, about the first of them."""
    rows = x[:256] if weights is None else x[:4096][weights[:4096] > 0][:256]
    if len(rows) == 0:
        return _plain(np.zeros(x.shape[1]))
    with np.errstate(invalid="ignore", over="ignore"):
        cells = rows.astype(np.float64, copy=False)
        return _plain(cells[0] + (cells - cells[0]).mean(axis=0))


def _about_pilot(
    x: Real, mean: Array, std: Array, pilot: Array, log_weights: Array, weights: Array | None
) -> tuple[float, float, Array, Array, Array]:
    """Log-likelihood, entropy, weight (k,), Σ w r (x − pilot) and its squares (k, d)."""
    (k, d), score = mean.shape, np.zeros(2)
    sums, scale = np.zeros((k, 2 * d + 1)), np.sqrt(0.5) / std
    constant, log_w = _constant(-(0.5 * LOG_2PI + np.log(std)).sum(axis=1), log_weights)
    given = _plain(pilot), constant, _plain(scale), _plain((pilot - mean) * scale), k
    for rows, w, log_rows, _ in _chunks(x, weights, log_w, None):
        _normal(rows, *rows.shape, w, log_rows, *given, sums, score)
    return float(score[0]), float(score[1]), sums[:, 2 * d].copy(), sums[:, :d], sums[:, d : 2 * d]


def _constant(constant: Array, log_weights: Array) -> tuple[Array, Array | None]:
    """The constant of the logits; log-weights that all rows share are part of it, else they are (n, k)."""
    if log_weights.ndim == 1:
        return _plain(constant + log_weights), None
    return _plain(constant), log_weights


def _chunks(
    x: NDArray[Any],
    weights: Array | None,
    log_weights: Array | None,
    base: Array | None,
    dtypes: tuple[DTypeLike, ...] = FLOATS,
) -> Iterator[tuple[NDArray[Any], Array | None, Array | None, Array | None]]:
    """Rows, weights (n,), log_weights (n, k), base (n,): as they lie, or copies of some rows at a time."""
    dtype = x.dtype if x.dtype in dtypes else dtypes[0]
    ready = x.dtype == dtype and all(a.flags.c_contiguous for a in (x, weights, log_weights, base) if a is not None)
    step = max(len(x) if ready else CHUNK_CELLS // max(x.shape[1], 1), 1)
    for start in range(0, len(x), step):
        s = slice(start, start + step)
        w, log_w, b = (None if a is None else _plain(a[s]) for a in (weights, log_weights, base))
        yield _plain(x[s], dtype), w, log_w, b
