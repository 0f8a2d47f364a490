"""Numba twins of `reference_linear`: same names, same signatures, same answers but for the last bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from suffice.kernels import centres as searches
from suffice.kernels import linear
from suffice.kernels.compiled import CHUNK_CELLS, FLOATS, _plain
from suffice.kernels.reference import LOG_2PI, Array, Integers, Real
from suffice.kernels.reference_linear import Expected, Nearest, NormalExpected

FAR = 1e4  # standard deviations from the pilot to a mean: z keeps 12 digits
CANCELLED = 1e6  # of squares about a pivot, over those about the mean: the scatter keeps 10 digits
LEVELS = (np.int32, np.int8, np.int16, np.int64)


def normal_expect(x: Real, mean: Array, std: Array, log_weights: Array, weights: Array | None = None) -> NormalExpected:
    """Log-likelihood, entropy, weight (k,), and centre, shift, scatter (k, d) under independent normal columns.

    Squares are gathered about one pilot. Where this would cost digits each member has a pivot of its own.
    """
    constant, scale, pilot = _plain(-(0.5 * LOG_2PI + np.log(std)).sum(axis=1)), np.sqrt(0.5) / std, _pilot(x, weights)
    pivot, loop, place = np.broadcast_to(pilot, mean.shape), linear.normals, (mean - pilot) * scale
    if not (np.abs(place) <= FAR).all():
        pivot, loop = mean, linear.normals_apart
    for _ in range(3):
        parameters = (
            (_even(scale), _even(place), pilot)
            if loop is linear.normals
            else (_plain(scale), _plain(mean), _plain(pivot))
        )
        weight, first, second = np.zeros(len(mean)), np.zeros(parameters[0].shape), np.zeros(parameters[0].shape)
        value = entropy = 0.0
        for rows, w, log_w, _ in _chunks(x, weights, log_weights, None):
            more, spread = loop(rows, w, log_w, constant, *parameters, weight, first, second)
            value, entropy = value + more, entropy + spread
        first, second = first[: len(mean)], second[: len(mean)]
        shift = first / np.where(weight > 0, weight, 1.0)[:, None]
        scatter = np.maximum(second - first * shift, 0.0)
        rounding = 1e-13 * np.abs(pivot)
        lost = (second > CANCELLED * scatter) & (second > weight[:, None] * rounding * rounding)
        if not (np.isfinite(value) and lost.any()):
            break
        pivot, loop = pivot + shift, linear.normals_apart
    return value, entropy, weight, np.where(weight[:, None] > 0, pivot, 0.0), shift, scatter


def linear_expect(
    features: Real,
    eta: Array,
    offset: Array,
    base: Array | None,
    log_weights: Array,
    weights: Array | None = None,
) -> Expected:
    """Log-likelihood, entropy, weight (k,) and Σ w r f (k, m) of features (n, m), logits f·eta − offset + base."""
    k = len(eta)
    wide, constant = _even(eta), _plain(-offset)
    weight, total = np.zeros(k), np.zeros(wide.shape)
    value = entropy = 0.0
    for rows, w, log_w, b in _chunks(features, weights, log_weights, base):
        more, spread = linear.linear(rows, w, log_w, b, constant, wide, weight, total)
        value, entropy = value + more, entropy + spread
    return value, entropy, weight, total[:k]


def table_expect(levels: Integers, tables: Array, log_weights: Array, weights: Array | None = None) -> Expected:
    """Log-likelihood, entropy, weight (k,) and counts Σ w r (k, d, L) of levels (n, d); tables (k, d, L) are logs."""
    k, d, n_levels = tables.shape
    wide = np.zeros((d, n_levels + 1, -(-k // 4) * 4))
    wide[:, :n_levels, :k] = tables.transpose(1, 2, 0)
    weight, counts, constant = np.zeros(k), np.zeros(wide.size), _plain(np.zeros(k))
    value = entropy = 0.0
    for rows, w, log_w, _ in _chunks(levels, weights, log_weights, None, LEVELS):
        more, spread = linear.tables(rows, w, log_w, constant, _plain(wide.ravel()), n_levels, weight, counts)
        value, entropy = value + more, entropy + spread
    return value, entropy, weight, np.ascontiguousarray(counts.reshape(wide.shape)[:, :-1, :k].transpose(2, 0, 1))


def nearest(x: Real, centres: Array, weights: Array | None = None, codes: NDArray[np.int32] | None = None) -> Nearest:
    """Inertia Σ w ‖x − c‖² to the nearest centre, weight (k,) and Σ w (x − c) (k, d), c the row's own centre."""
    k, d = centres.shape
    weight, total, inertia, start = np.zeros(k), np.zeros((k, d)), 0.0, 0
    own, kinds = _plain(centres), [np.float64] if d <= searches.DIRECT else [np.float32, np.float64]
    pilot = centres.mean(axis=0) if d > searches.DIRECT else np.zeros(d)
    unit = 1.0 if d <= searches.DIRECT else 1.0 / max(np.sqrt(((centres - pilot) ** 2).sum(axis=1)).max(), 1e-300)
    table = np.zeros((-(-k // 4) * 4, d if d <= searches.DIRECT else -(-d // 4) * 4))
    table[:k, :d] = (centres - pilot) * unit
    half = 0.5 * (table * table).sum(axis=1)
    nowhere = np.empty(0, np.int32)
    for rows, w, _, _ in _chunks(x, weights, np.zeros(k), None):
        done = 0
        while done < len(rows):
            kind = kinds[0]
            out = nowhere if codes is None else codes[start + done : start + len(rows)]
            more, count = searches.nearest(
                rows[done:],
                w[done:],
                own,
                _plain(table, kind),
                _plain(half, kind),
                _plain(pilot),
                unit,
                4 * (d + 8) * float(np.finfo(kind).eps),
                weight,
                total,
                out,
            )
            inertia, done, kinds = inertia + more, done + count, kinds[-1:]
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


def _even(a: Array) -> Array:
    """With one more row of zeros where their number is odd."""
    return _plain(np.vstack([a, np.zeros((len(a) % 2, a.shape[1]))]))


def _chunks(
    x: NDArray[Any],
    weights: Array | None,
    log_weights: Array,
    base: Array | None,
    dtypes: tuple[DTypeLike, ...] = FLOATS,
) -> Iterator[tuple[NDArray[Any], Array, Array, Array]]:
    """Rows, weights (n, 1), log_weights (1 or n, k), base (n, 1): as they lie, or copies of some rows at a time."""
    dtype = x.dtype if x.dtype in dtypes else dtypes[0]
    ready = x.dtype == dtype and all(a.flags.c_contiguous for a in (x, weights, log_weights, base) if a is not None)
    step = max(len(x) if ready else CHUNK_CELLS // max(x.shape[1], 1), 1)
    nothing = _plain(np.empty((0, 1)))
    for start in range(0, len(x), step):
        s = slice(start, start + step)
        yield (
            _plain(x[s], dtype),
            nothing if weights is None else _plain(weights[s, None]),
            _plain(log_weights[None] if log_weights.ndim == 1 else log_weights[s]),
            nothing if base is None else _plain(base[s, None]),
        )
