"""The arithmetic over rows, in NumPy: these functions define what their native twins compute.

Shapes: n rows, d columns, k components. ``weights`` is None, (n,) or (n, k); ``codes`` (n,) says which component each
row belongs to (a one-hot that is never stored), a code outside 0 … k−1 meaning none. Answers lead with the component
axis. Whatever the shape of the weights, `_components` gives the rows of each component and one weight for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Real: TypeAlias = NDArray[np.float64] | NDArray[np.float32]
Integers: TypeAlias = NDArray[np.integer[Any]]
Moments: TypeAlias = tuple[Array, Array, Array, Array]

LOG_2PI = float(np.log(2 * np.pi))
HASH_STEP, HASH_FACTORS = np.uint64(0x9E3779B97F4A7C15), (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
BLOCK_CELLS = 1 << 15  # a block and its temporaries stay in a core's cache,
BLOCK_ROWS = 256  # unless the rows are long: merging d × d matrices must cost less than making them
FADED = -600.0  # a share of less than exp of this is none: times other numbers it could be subnormal, and they NaN


def moments(x: Real, weights: Array | None = None, codes: Integers | None = None, n_components: int = 1) -> Moments:
    """Weight, centre, shift, scatter, each (k, d): mean = centre + shift, scatter = Σ w (x − mean)²; NaN is absent."""
    return _stack(_fold(_block_moments, rows, w) for rows, w in _components(x, weights, codes, n_components))


def scatter(x: Real, weights: Array | None = None, codes: Integers | None = None, n_components: int = 1) -> Moments:
    """Weight (k,), centre and shift (k, d), scatter matrix (k, d, d) about centre + shift; the rows are complete."""
    return _stack(_fold(_block_scatter, rows, w) for rows, w in _components(x, weights, codes, n_components))


def merge(a: Moments, b: Moments) -> Moments:
    """Moments or scatter of the rows of both (Chan, Golub and LeVeque), about the centre of the first."""
    weight = a[0] + b[0]
    share = b[0] / np.where(weight > 0, weight, 1)
    apart = (b[1] - a[1]) + (b[2] - a[2])
    between = a[0] * share
    if a[3].ndim > a[1].ndim:  # a matrix for each component
        square = apart[..., :, None] * apart[..., None, :]
        empty, share, between = a[0][..., None] == 0, share[..., None], between[..., None, None]
        first = empty[..., None]
    else:
        square, empty = apart * apart, a[0] == 0
        first = empty
    centre = np.where(empty, b[1], a[1])
    shift = np.where(empty, b[2], a[2] + share * apart)
    return weight, centre, shift, np.where(first, b[3], a[3] + b[3] + between * square)


def shared_scatter(
    x: Real, weights: Array | None = None, codes: Integers | None = None, n_components: int = 1
) -> Moments:
    """Weight, centre and shift as `scatter`, and the sum (1, d, d) of the components' scatter matrices."""
    weight, centre, shift, squares = scatter(x, weights, codes, n_components)
    return weight, centre, shift, squares.sum(axis=0, keepdims=True)


def sums(features: Real, weights: Array | None = None, codes: Integers | None = None, n_components: int = 1) -> Array:
    """Σ w f of every feature, (k, m)."""
    if codes is None and weights is not None and weights.ndim > 1:
        products: Array = np.sum([weights[rows].T @ features[rows] for rows in _cuts(features)], axis=0)
        return products
    return np.array(
        [
            np.sum([_total(block, u) for block, u in _blocks(rows, w)], axis=0)
            for rows, w in _components(features, weights, codes, n_components)
        ]
    )


def counts(
    levels: Integers,
    n_levels: int,
    weights: Array | None = None,
    codes: Integers | None = None,
    n_components: int = 1,
) -> Array:
    """Weight of each level of each column, (k, d, n_levels); a level outside 0 … n_levels−1 is missing."""
    found = [
        [_level_weights(column, 0, n_levels - 1, w) for column in rows.T]
        for rows, w in _components(levels, weights, codes, n_components)
    ]
    return np.array(found, dtype=np.float64).reshape(len(found), levels.shape[1], n_levels)


def count_range(x: Integers, low: int, high: int) -> NDArray[np.int64]:
    """How often each of low … high occurs in x (n,); other values are not counted."""
    return _level_weights(x, low, high, None).astype(np.int64, copy=False)


def integer_range(x: Integers) -> tuple[int, int]:
    """Smallest and largest of x (n,); (0, −1), the empty range, when there is nothing."""
    return (int(x.min()), int(x.max())) if x.size else (0, -1)


def extremes(
    x: Real, weights: Array | None = None, codes: Integers | None = None, n_components: int = 1
) -> tuple[Array, Array, Array]:
    """Weight, smallest and largest of the cells that have weight, each (k, d); (0, inf, −inf) where there is none."""
    parts = []
    for rows, w in _components(x, weights, codes, n_components):
        kept, u = (rows, np.ones(len(rows))) if w is None else (rows[w > 0], w[w > 0])
        low = np.fmin.reduce(kept, axis=0, initial=np.inf)
        high = np.fmax.reduce(kept, axis=0, initial=-np.inf)
        parts.append((u @ ~np.isnan(kept), low, high))
    weight, low, high = (np.array(part, dtype=np.float64) for part in zip(*parts, strict=True))
    return weight, low, high


def normal_log_prob(x: Real, mean: Array, std: Array) -> Array:
    """Log-density (n, k) of rows under k products of d normals, mean and std (k, d); a NaN cell contributes 0."""
    out = np.empty((len(x), len(mean)))
    for component, (m, s) in enumerate(zip(mean, std, strict=True)):
        cell = -0.5 * LOG_2PI - np.log(s)
        for rows in _cuts(x):
            z = (x[rows] - m) / s
            out[rows, component] = np.where(np.isnan(x[rows]), 0.0, cell - 0.5 * z * z).sum(axis=1)
    return out


def gaussian_log_prob(x: Real, mean: Array, whiten: Array, log_det: Array) -> Array:
    """Log-density (n, k) of complete rows; whiten (k, d, d) inverts the Cholesky factor, log_det = log |whiten|."""
    out = np.empty((len(x), len(mean)))
    for component, (m, inverse) in enumerate(zip(mean, whiten, strict=True)):
        constant = log_det[component] - 0.5 * x.shape[1] * LOG_2PI
        for rows in _cuts(x):
            z = (x[rows] - m) @ inverse.T
            out[rows, component] = constant - 0.5 * np.einsum("nd,nd->n", z, z)
    return out


def row_hash(x: Real, seed: int) -> NDArray[np.uint64]:
    """A hash (n,) of the values of each row: −0 is 0, every NaN alike, and float32 counts as the float64 it equals.

    It is the sum of the hashes of the row's cells, each of its column and its value, so that rows that are mostly one
    value need only the others.
    """
    out = np.empty(len(x), np.uint64)
    keys, start = column_keys(x.shape[1], seed), seed_hash(seed)
    for rows in _cuts(x):
        out[rows] = start + cell_hash(keys, x[rows].astype(np.float64)).sum(axis=1, dtype=np.uint64)
    return out


def column_keys(d: int, seed: int) -> NDArray[np.uint64]:
    """What the hash of a cell takes from its column, (d,)."""
    return _mix((np.arange(1, d + 1, dtype=np.uint64) * HASH_STEP) ^ seed_hash(seed))


def seed_hash(seed: int) -> NDArray[np.uint64]:
    """The hash (1,) of a row without cells."""
    return _mix(np.array([seed % 2**64], np.uint64))


def cell_hash(keys: NDArray[np.uint64], cells: Array) -> NDArray[np.uint64]:
    """Hashes of cells, given the keys of their columns."""
    cells = cells + 0.0  # −0 becomes 0
    cells[np.isnan(cells)] = np.nan
    return _mix(keys ^ cells.view(np.uint64))


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
    here = slice(ends[0], ends[-1])
    who = np.repeat(np.zeros(len(ends) - 1, np.int64) if codes is None else codes, np.diff(ends))
    amount = values[here] if weights is None else values[here] * np.repeat(weights, np.diff(ends))
    known = (who >= 0) & (who < n_components)
    flat = np.bincount(who[known] * width + places[here][known], amount[known], n_components * width)
    return flat.reshape(n_components, width).astype(np.float64, copy=False), float(values[here][known].min(initial=0.0))


def sparse_scores(values: Array, places: Integers, ends: Integers, slopes: Array) -> Array:
    """X · slopes (n, k) of compressed rows, slopes (k, width)."""
    here = slice(ends[0], ends[-1])
    row = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    cells = (np.bincount(row, values[here] * slope[places[here]], len(ends) - 1) for slope in slopes)
    return np.stack(list(cells), axis=1) if len(slopes) else np.empty((len(ends) - 1, 0))


# -- one component, one block
# ---------------------------------------------------------------------------------------------


def _components(
    x: NDArray[Any], weights: Array | None, codes: Integers | None, n_components: int
) -> Iterator[tuple[NDArray[Any], Array | None]]:
    """Rows and their weights (n,) or None, component by component."""
    if codes is not None:
        order = np.argsort(codes, kind="stable")
        cuts = np.searchsorted(codes, np.arange(n_components + 1), sorter=order)
        for start, stop in pairwise(cuts):
            rows = order[start:stop]
            yield x[rows], None if weights is None else weights[rows]
    elif weights is not None and weights.ndim > 1:
        for w in weights.T:
            yield x, w
    else:
        yield x, weights


def _cuts(x: NDArray[Any]) -> Iterator[slice]:
    rows = max(BLOCK_CELLS // max(x.shape[1], 1), BLOCK_ROWS)
    return (slice(start, start + rows) for start in range(0, max(len(x), 1), rows))


def _blocks(x: Real, w: Array | None) -> Iterator[tuple[Array, Array | None]]:
    return ((x[rows].astype(np.float64, copy=False), None if w is None else w[rows]) for rows in _cuts(x))


def _level_weights(x: Integers, low: int, high: int, w: Array | None) -> NDArray[Any]:
    if x.size and x.dtype.kind == "i" and x.min() >= low and x.max() <= high:
        return np.bincount(x if low == 0 else x - low, w, high - low + 1)
    inside = (x >= low) & (x <= high)
    steps = x[inside]
    steps = steps - np.uint64(low) if x.dtype == np.uint64 else steps.astype(np.int64) - low
    return np.bincount(steps.astype(np.int64, copy=False), None if w is None else w[inside], high - low + 1)


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finalizer of splitmix64, a bijection in which every bit moves every other."""
    z = (z ^ (z >> np.uint64(30))) * HASH_FACTORS[0]
    z = (z ^ (z >> np.uint64(27))) * HASH_FACTORS[1]
    return z ^ (z >> np.uint64(31))


def _total(x: Array, w: Array | None) -> Array:
    total: Array = x.sum(axis=0) if w is None else w @ x
    return total


def _centred(x: Array, w: Array | None) -> tuple[Array, Array, Array, Array]:
    """Weight (), mean as centre + shift (d,), and the rows less their mean."""
    weight = np.float64(len(x) if w is None else w.sum())
    if weight == 0:
        return np.asarray(weight), np.zeros(x.shape[1]), np.zeros(x.shape[1]), np.zeros_like(x)
    # Differences from one of the rows, the heaviest, are exact where the spread is small, and 0 in a constant column.
    pivot = x[0] if w is None else x[w.argmax()]
    centre = pivot + _total(x - pivot, w) / weight
    r = x - centre
    shift = _total(r, w) / weight
    return np.asarray(weight), centre, shift, r - shift


def _block_moments(x: Array, w: Array | None) -> Moments:
    seen = ~np.isnan(x)
    if not seen.all():  # each column has its own rows
        columns = [_block_moments(x[rows, j : j + 1], None if w is None else w[rows]) for j, rows in enumerate(seen.T)]
        weight, centre, shift, squares = (np.concatenate(part) for part in zip(*columns, strict=True))
        return weight, centre, shift, squares
    total, centre, shift, r = _centred(x, w)
    weighted = r if w is None else w[:, None] * r  # before squaring: a row of no weight must not overflow
    return np.full(x.shape[1], total), centre, shift, (weighted * r).sum(axis=0)


def _block_scatter(x: Array, w: Array | None) -> Moments:
    weight, centre, shift, r = _centred(x, w)
    if w is not None:
        r *= np.sqrt(w)[:, None]
    return weight, centre, shift, r.T @ r  # NumPy sees a matrix and its own transpose: BLAS computes one half


def centred_rows(
    x: Real, weights: Array | None = None, codes: Integers | None = None, n_components: int = 1
) -> tuple[Array, Array, Array, list[Array]]:
    """Weight (k,), centre and shift (k, d) as `scatter`.

    And rows R (n, d) of each component whose RᵀR is its scatter.
    """
    parts, rows = [], []
    with np.errstate(invalid="ignore", over="ignore"):
        for own, w in _components(x, weights, codes, n_components):
            weight, centre, shift, r = _centred(own.astype(np.float64, copy=False), w)
            parts.append((weight, centre, shift))
            rows.append(r if w is None else np.sqrt(w)[:, None] * r)
    weight, centre, shift = (np.array(part) for part in zip(*parts, strict=True))
    return weight, centre, shift, rows


def _fold(block: Callable[[Array, Array | None], Moments], x: Real, w: Array | None) -> Moments:
    with np.errstate(invalid="ignore", over="ignore"):  # infinite cells show in the result; the caller looks there
        return reduce(merge, (block(rows, u) for rows, u in _blocks(x, w)))


def _stack(parts: Iterator[Moments]) -> Moments:
    weight, centre, shift, squares = (np.array(part) for part in zip(*parts, strict=True))
    return weight, centre, shift, squares
