"""Numba twins of `reference_linear`: same names, same signatures, same answers but for the last bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from suffice.kernels import cells, linear
from suffice.kernels import centres as searches
from suffice.kernels.compiled import CHUNK_CELLS, FLOATS, NOTHING, _plain
from suffice.kernels.compiled import _chunks as _row_chunks
from suffice.kernels.compiled_cells import centred, columns_e_step, lost, normals
from suffice.kernels.lanes import LANES
from suffice.kernels.reference import LOG_2PI, Array, Integers, Real
from suffice.kernels.reference_linear import Expected, Nearest, NormalExpected

FAR = 1e4  # standard deviations from the pilot to a mean: z keeps 12 digits
BLOCK_CELLS = 1 << 15  # of long rows, that stay in cache
TABLE_BYTES = 3 << 13  # what is looked up all the time stays in the nearest cache
NO_CODES = np.empty(0, np.int32)
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
    (k, m), value, entropy = eta.shape, 0.0, 0.0
    constant, log_w = _constant(-offset, log_weights)
    fours, sums, block = _fours(eta), *_sums(k, m + 1)
    for rows, w, log_rows, b in _chunks(features, weights, log_w, base):
        more, spread = linear.linear(rows, w, log_rows, b, constant, fours, k, block, sums)
        value, entropy = value + more, entropy + spread
    total = _components(sums, k)
    return value, entropy, total[:, m], total[:, :m]


def table_e_step(levels: Integers, tables: Array, log_weights: Array, weights: Array | None = None) -> Expected:
    """Log-likelihood, entropy, weight (k,) and counts Σ w r (k, d, L) of levels (n, d); tables (k, d, L) are logs.

    Columns of few levels are looked up several at a time, in a table of their joint levels.
    """
    k, d, n_levels = tables.shape
    value, entropy, radix, parts = 0.0, 0.0, n_levels + 1, -(-k // LANES)
    jointly = max(j for j in (1, 2, 3, 4) if j == 1 or radix**j * -(-d // j) * 8 * LANES <= TABLE_BYTES)
    groups, digits = -(-d // jointly), (radix,) * jointly
    alone = np.zeros((parts * LANES, groups * jointly, radix))
    alone[:k, :d, :n_levels] = tables
    alone = alone.reshape(parts, LANES, groups, jointly, radix).transpose(0, 2, 3, 4, 1)
    entries = np.zeros((parts, groups, *digits, LANES))
    for j in range(jointly):
        entries += alone[:, :, j].reshape(parts, groups, *(radix if i == j else 1 for i in range(jointly)), LANES)
    column = np.arange(groups * jointly)
    factors = np.tile(LANES * radix ** (jointly - 1 - column % jointly), cells.BLOCK)
    offsets = np.tile(LANES * radix**jointly * np.where(column % jointly, 0, column // jointly), cells.BLOCK)
    constant, log_w = _constant(np.zeros(k), log_weights)
    sums, total = np.zeros(entries.size), np.empty((parts, LANES, groups, jointly, radix))
    for rows, w, log_rows, _ in _chunks(levels, weights, log_w, None, LEVELS):
        more, spread = cells.tables(
            rows,
            w,
            log_rows,
            constant,
            _plain(entries.ravel()),
            n_levels,
            _plain(factors, np.int32),
            _plain(offsets, np.int32),
            jointly,
            k,
            sums,
        )
        value, entropy = value + more, entropy + spread
    for j in range(jointly):
        others = tuple(2 + i for i in range(jointly) if i != j)
        total[:, :, :, j] = sums.reshape(entries.shape).sum(axis=others).transpose(0, 3, 1, 2)
    counts = total.reshape(parts * LANES, groups * jointly, radix)[:k, :d]
    weight = counts[:, 0].sum(axis=1) if d else np.zeros(k)
    return value, entropy, weight, np.ascontiguousarray(counts[:, :, :n_levels])


def nearest(x: Real, centres: Array, weights: Array | None = None, codes: NDArray[np.int32] | None = None) -> Nearest:
    """Inertia Σ w ‖x − c‖² to the nearest centre, weight (k,) and Σ w (x − c) (k, d), c the row's own centre."""
    (k, d), start, inertia = centres.shape, 0, 0.0
    places = _plain(centres)
    weight, total = np.zeros(k), np.zeros((k, -(-d // LANES) * LANES))
    for rows, w, _ in _row_chunks(x, weights, None):
        out = NO_CODES if codes is None else codes[start : start + len(rows)]
        inertia += searches.nearest(rows, w, places, weight, total.reshape(-1), out)
        start += len(rows)
    return inertia, weight, total[:, :d].copy()


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
    (k, d), value, entropy = mean.shape, 0.0, 0.0
    sums, block = _sums(k, 2 * d + 1)
    scale = np.sqrt(0.5) / std
    places = _fours((pilot - mean) * scale)
    constant, log_w = _constant(-(0.5 * LOG_2PI + np.log(std)).sum(axis=1), log_weights)
    for rows, w, log_rows, _ in _chunks(x, weights, log_w, None):
        more, spread = linear.normals(rows, w, log_rows, constant, _fours(scale), places, pilot, k, block, sums)
        value, entropy = value + more, entropy + spread
    total = _components(sums, k)
    return value, entropy, total[:, 2 * d], total[:, :d], total[:, d : 2 * d]


def _constant(constant: Array, log_weights: Array, lanes: int = 4) -> tuple[Array, Array]:
    """The constant of the logits, padded; log-weights that all rows share are part of it, else they are (n, k)."""
    k = len(constant)
    padded = np.zeros(-(-k // lanes) * lanes)
    padded[:k] = constant + log_weights if log_weights.ndim == 1 else constant
    return _plain(padded), np.empty((0, k)) if log_weights.ndim == 1 else log_weights


def _fours(a: Array) -> Array:
    """Flat, from (k, m) as (k / 4, m, 4)."""
    k, m = a.shape
    padded = np.zeros((-(-k // 4) * 4, m))
    padded[:k] = a
    return _plain(padded.reshape(-1, 4, m).swapaxes(1, 2).ravel())


def _sums(n_components: int, features: int) -> tuple[Array, int]:
    """Zeros (k / 4, features, 4) to add to, padded, and the number of rows of a block."""
    padded = -(-features // 3) * 3
    rows = max(min(linear.BLOCK, BLOCK_CELLS // padded), linear.ROWS) // linear.ROWS * linear.ROWS
    return np.zeros((-(-n_components // 4), padded, 4)), rows


def _components(sums: Array, n_components: int) -> Array:
    return sums.swapaxes(1, 2).reshape(-1, sums.shape[1])[:n_components]


def _chunks(
    x: NDArray[Any],
    weights: Array | None,
    log_weights: Array,
    base: Array | None,
    dtypes: tuple[DTypeLike, ...] = FLOATS,
) -> Iterator[tuple[NDArray[Any], Array, Array, Array]]:
    """Rows, weights (n, 1), log_weights (n, k), base (n, 1): as they lie, or copies of some rows at a time."""
    dtype = x.dtype if x.dtype in dtypes else dtypes[0]
    ready = x.dtype == dtype and all(a.flags.c_contiguous for a in (x, weights, log_weights, base) if a is not None)
    step = max(len(x) if ready else CHUNK_CELLS // max(x.shape[1], 1), 1)
    for start in range(0, len(x), step):
        s = slice(start, start + step)
        yield (
            _plain(x[s], dtype),
            NOTHING if weights is None else _plain(weights[s, None]),
            _plain(log_weights[s]),
            NOTHING if base is None else _plain(base[s, None]),
        )
