"""Native twins of the reference: same names, same signatures, same answers but for the last bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from suffice.kernels.native import kernel
from suffice.kernels.numpy import primitives as numpy_primitives
from suffice.kernels.numpy.primitives import LOG_2PI, Array, Integers, Moments, Real

CHUNK_CELLS = 1 << 18  # what is not contiguous, or of another type, is copied in pieces of this size
NARROW = 16  # rows shorter than this leave vector registers empty
FLOATS = (np.float64, np.float32)
INTEGERS = (np.int64, np.int32, np.int16, np.int8)

_moments_by_row = kernel("moments_by_row", "real n n f64 i64 n f64 f64 f64 f64")
_moments_by_column = kernel("moments_by_column", "real n n f64 n f64 f64 f64 f64")
_scatter = kernel("scatter", "real n n f64 n i64 n f64 f64 f64 f64 n")
_shared_scatter = kernel("shared_scatter", "real n n f64 i64 n f64 f64 f64 f64 n")
_sums = kernel("sums", "real n n f64 i64 n f64")
_sparse_sums = kernel("sparse_sums", "f64 i32 i64 n f64 i64 n n f64 -> r")
_sparse_scores = kernel("sparse_scores", "f64 i32 i64 n f64 n f64")
_counts = kernel("counts", "level n n f64 i64 n n f64")
_whole_counts = kernel("whole_counts", "level n n i64 n n i64")
_count_range = kernel("count_range", "level n n n i64")
_integer_range = kernel("integer_range", "level n i64")
_extremes = kernel("extremes", "real n n f64 i64 n f64 f64 f64")
_extremes_unweighted = kernel("extremes_unweighted", "real n n f64 f64 f64 -> n")
_normal_log_prob = kernel("normal_log_prob", "real n n f64 f64 n f64")
_gaussian_log_prob = kernel("gaussian_log_prob", "real n n f64 f64 f64 n f64")
_row_hash = kernel("row_hash", "real n n u64 u64 u64")


def moments(x: Real, weights: Array | None = None, codes: Integers | None = None, n_components: int = 1) -> Moments:
    """Weight, centre, shift, scatter, each (k, d): mean = centre + shift, scatter = Σ w (x − mean)²; NaN is absent."""
    k, d = _n_components(weights, codes, n_components), x.shape[1]
    total = np.zeros((4, k, d))
    by_row = codes is not None or (d >= NARROW and (weights is None or weights.ndim == 1))
    for rows, w, c in _chunks(x, weights, codes):
        if by_row:
            _moments_by_row(rows, len(rows), d, w, c, k, *total)
        else:
            _moments_by_column(rows, len(rows), d, w, k, *total)
    weight, centre, shift, squares = total
    return weight, centre, shift, squares


def scatter(x: Real, weights: Array | None = None, codes: Integers | None = None, n_components: int = 1) -> Moments:
    """Weight (k,), centre and shift (k, d), scatter matrix (k, d, d) about centre + shift; the rows are complete."""
    k, d = _n_components(weights, codes, n_components), x.shape[1]
    weight, centre, shift = np.zeros(k), np.zeros((k, d)), np.zeros((k, d))
    squares = np.zeros((k, _padded(d), _padded(d)))
    for rows, w, c in _chunks(x, weights, codes):
        _scatter(rows, len(rows), d, w, w.shape[1], c, k, weight, centre, shift, squares, _padded(d))
    lower = np.tril(squares[:, :d, :d])
    return weight, centre, shift, lower + np.tril(lower, -1).swapaxes(1, 2)


def shared_scatter(
    x: Real, weights: Array | None = None, codes: Integers | None = None, n_components: int = 1
) -> Moments:
    """Weight, centre and shift as `scatter`, and the sum (1, d, d) of the components' scatter matrices."""
    if codes is None:
        weight, centre, shift, squares = scatter(x, weights)
        return weight, centre, shift, squares.sum(axis=0, keepdims=True)
    d = x.shape[1]
    weight, centre, shift = np.zeros(n_components), np.zeros((n_components, d)), np.zeros((n_components, d))
    squares = np.zeros((_padded(d), _padded(d)))
    for rows, w, c in _chunks(x, weights, codes):
        _shared_scatter(rows, len(rows), d, w, c, n_components, weight, centre, shift, squares, _padded(d))
    lower = np.tril(squares[None, :d, :d])
    return weight, centre, shift, lower + np.tril(lower, -1).swapaxes(1, 2)


def sums(features: Real, weights: Array | None = None, codes: Integers | None = None, n_components: int = 1) -> Array:
    """Σ w f of every feature, (k, m)."""
    if weights is not None and codes is None:  # a matrix product
        return numpy_primitives.sums(features, weights)
    if codes is None and features.size <= AT_ONCE:
        return np.add.reduce(features, axis=0, keepdims=True, dtype=np.float64)
    if codes is None and features.shape[1] < NARROW:
        wide, rest = _several_at_a_time(features)
        return np.add.reduce(sums(wide).reshape(-1, features.shape[1]), keepdims=True) + sums(rest)
    total = np.zeros((_n_components(weights, codes, n_components), features.shape[1]))
    for rows, w, c in _chunks(features, weights, codes):
        _sums(rows, *rows.shape, w, c, len(total), total)
    return total


def sparse_sums(
    values: Array,
    places: Integers,
    ends: Integers,
    width: int,
    weights: Array | None = None,
    codes: Integers | None = None,
    n_components: int = 1,
) -> tuple[Array, float]:
    """Σ w x (k, width) of compressed rows, and the least x that counts, or 0.

    Row i has the cells ends[i] … ends[i + 1], and at most one weight.
    """
    total = np.zeros((n_components, width))
    w = None if weights is None else _plain(weights)
    c = None if codes is None else _plain(codes, np.int64)
    return total, _sparse_sums(*_compressed(values, places, ends), w, c, n_components, width, total)


def sparse_scores(values: Array, places: Integers, ends: Integers, slopes: Array) -> Array:
    """X · slopes (n, k) of compressed rows, slopes (k, width)."""
    out = np.empty((len(ends) - 1, len(slopes)))
    _sparse_scores(*_compressed(values, places, ends), _plain(slopes.T), len(slopes), out)
    return out


def counts(
    levels: Integers, n_levels: int, weights: Array | None = None, codes: Integers | None = None, n_components: int = 1
) -> Array:
    """Weight of each level of each column, (k, d, n_levels); a level outside 0 … n_levels−1 is missing."""
    k, whole = _n_components(weights, codes, n_components), weights is None
    total = np.zeros((levels.shape[1], n_levels, k), np.int64 if whole else np.float64)
    for rows, w, c in _chunks(levels, weights, codes, INTEGERS):
        if whole:
            _whole_counts(rows, *rows.shape, c, n_levels, k, total)
        else:
            _counts(rows, *rows.shape, w, c, n_levels, k, total)
    return np.ascontiguousarray(total.transpose(2, 0, 1), dtype=np.float64)


def count_range(x: Integers, low: int, high: int) -> NDArray[np.int64]:
    """How often each of low … high occurs in x (n,); other values are not counted."""
    if x.dtype == np.uint64:
        return numpy_primitives.count_range(x, low, high)
    total = np.zeros((4, high - low + 1), np.int64)
    for rows, _, _ in _chunks(x[:, None], None, None, INTEGERS):
        _count_range(rows, len(rows), low, total.shape[1], total)
    counted: NDArray[np.int64] = total.sum(axis=0)
    return counted


def integer_range(x: Integers) -> tuple[int, int]:
    """Smallest and largest of x (n,); (0, −1), the empty range, when there is nothing."""
    if x.dtype == np.uint64 or x.size == 0:
        return numpy_primitives.integer_range(x)
    found, lows, highs = np.empty(2, np.int64), [], []
    for rows, _, _ in _chunks(x[:, None], None, None, INTEGERS):
        _integer_range(rows, len(rows), found)
        lows.append(int(found[0]))
        highs.append(int(found[1]))
    return min(lows), max(highs)


def extremes(
    x: Real, weights: Array | None = None, codes: Integers | None = None, n_components: int = 1
) -> tuple[Array, Array, Array]:
    """Weight, smallest and largest of the cells that have weight, each (k, d); (0, inf, −inf) where there is none."""
    if weights is not None and weights.ndim > 1:
        weight, low, high = (np.concatenate(part) for part in zip(*(extremes(x, w) for w in weights.T), strict=True))
        return weight, low, high
    d, unweighted = x.shape[1], weights is None and codes is None
    if unweighted and d < NARROW and len(x) >= 64:
        wide, rest = (extremes(part) for part in _several_at_a_time(x))
        weight, low, high = (np.vstack([a.reshape(-1, d), b]) for a, b in zip(wide, rest, strict=True))
        return weight.sum(axis=0, keepdims=True), low.min(axis=0, keepdims=True), high.max(axis=0, keepdims=True)
    shape = (_n_components(weights, codes, n_components), d)
    weight, low, high = np.zeros(shape), np.full(shape, np.inf), np.full(shape, -np.inf)
    for rows, w, c in _chunks(x, weights, codes):
        if not (unweighted and _extremes_unweighted(rows, *rows.shape, weight, low, high)):
            _extremes(rows, *rows.shape, w, c, len(weight), weight, low, high)
    return weight, low, high


def normal_log_prob(x: Real, mean: Array, std: Array) -> Array:
    """Log-density (n, k) of rows under k products of d normals, mean and std (k, d); a NaN cell contributes 0."""
    out, start = np.empty((len(x), len(mean))), 0
    given = _plain(mean), _plain(std), len(mean)
    for rows, _, _ in _chunks(x, None, None):
        _normal_log_prob(rows, *rows.shape, *given, out[start : start + len(rows)])
        start += len(rows)
    return out


def gaussian_log_prob(x: Real, mean: Array, whiten: Array, log_det: Array) -> Array:
    """Log-density (n, k) of complete rows; whiten (k, d, d) inverts the Cholesky factor, log_det = log |whiten|."""
    given = _plain(mean), _plain(whiten), _plain(log_det - 0.5 * x.shape[1] * LOG_2PI), len(mean)
    out, start = np.empty((len(x), len(mean))), 0
    for rows, _, _ in _chunks(x, None, None):
        _gaussian_log_prob(rows, *rows.shape, *given, out[start : start + len(rows)])
        start += len(rows)
    return out


def row_hash(x: Real, seed: int) -> NDArray[np.uint64]:
    """A hash (n,) of the values of each row: −0 is 0, every NaN alike, and float32 counts as the float64 it equals."""
    out, start = np.empty(len(x), np.uint64), 0
    keys, first = numpy_primitives.column_keys(x.shape[1], seed), numpy_primitives.seed_hash(seed)
    for rows, _, _ in _chunks(x, None, None):
        _row_hash(rows, *rows.shape, keys, first, out[start : start + len(rows)])
        start += len(rows)
    return out


# -- arguments as the loops expect them --------------------------------------------------------------------------------


def _n_components(weights: Array | None, codes: Integers | None, n_components: int) -> int:
    if codes is not None:
        return n_components
    return 1 if weights is None or weights.ndim == 1 else weights.shape[1]


def _compressed(values: Array, places: Integers, ends: Integers) -> tuple[Array, Integers, Integers, int]:
    return _plain(values), _plain(places, np.int32), _plain(ends, np.int64), len(ends) - 1


def _padded(d: int) -> int:
    return -(-d // 4) * 4


def _several_at_a_time(x: Real) -> tuple[Real, Real]:
    """Narrow rows, several written as one wide row, and the few rows that are left over."""
    d = x.shape[1]
    count = 64 // max(d, 1)
    whole = len(x) // count * count
    return x[:whole].reshape(whole // count, count * d), x[whole:]


def _plain(a: NDArray[Any], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """As the library reads it: contiguous, and of one type."""
    return np.ascontiguousarray(a, dtype)


AT_ONCE = 1 << 12  # cells that NumPy has summed before a kernel is called
NOTHING, NOBODY = _plain(np.empty((0, 1))), _plain(np.empty(0), np.int64)


def _chunks(
    x: NDArray[Any], weights: Array | None, codes: Integers | None, dtypes: tuple[DTypeLike, ...] = FLOATS
) -> Iterator[tuple[NDArray[Any], Array, Integers]]:
    """All rows at once where they lie as the loops expect, else copies of some rows at a time."""
    n, dtype = len(x), x.dtype if x.dtype in dtypes else dtypes[0]
    ready = x.dtype == dtype and x.flags.c_contiguous and (weights is None or weights.flags.c_contiguous)
    ready = ready and (codes is None or (codes.flags.c_contiguous and codes.dtype == np.int64))
    step = max(n if ready else CHUNK_CELLS // max(x.shape[1], 1), 1)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        w = NOTHING if weights is None else _plain(weights[rows].reshape(len(weights[rows]), -1))
        yield x if ready else _plain(x[rows], dtype), w, NOBODY if codes is None else _plain(codes[rows], np.int64)
