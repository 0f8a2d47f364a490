"""One EM pass over the rows, in NumPy, for components whose log-density is a sum over cells.

And k-means' nearest centre.

Each pass turns rows into logits (b, k) a block at a time, these into responsibilities r by softmax, and adds Σ w r of
what the family gathers: no (n, k) array is made. ``log_weights`` is (k,) or (n, k), where −inf forbids a component. It
leads with the log-likelihood Σ w log Σ exp(logit) and the entropy −Σ w r log r. A row that no component can have makes
the log-likelihood −inf and adds nothing; a row of no weight adds nothing whatever its cells.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.numpy.gaussian import softmax
from suffice.kernels.numpy.primitives import BLOCK_CELLS, LOG_2PI, Array, Integers, Moments, Real, merge

Expected: TypeAlias = tuple[float, float, Array, Array]
NormalExpected: TypeAlias = tuple[float, float, Array, Array, Array, Array]
Nearest: TypeAlias = tuple[float, Array, Array]
T = TypeVar("T")


def normal_e_step(x: Real, mean: Array, std: Array, log_weights: Array, weights: Array | None = None) -> NormalExpected:
    """Log-likelihood, entropy, weight (k,), and centre, shift, scatter (k, d) under independent normal columns.

    The new mean is centre + shift, and the scatter Σ w r (x − mean)² about it. The rows are complete: a cell that is
    NaN or infinite shows in the log-likelihood.
    """
    constant = -(0.5 * LOG_2PI + np.log(std)).sum(axis=1)

    def gather(rows: slice, log_w: Array, w: Array | None) -> tuple[float, float, Moments]:
        block = seen(x[rows], w)
        squares = np.empty((len(block), len(mean)))
        for component, (m, s) in enumerate(zip(mean, std, strict=True)):
            z = (block - m) / s
            squares[:, component] = np.einsum("nd,nd->n", z, z)
        value, entropy, r = shares_of(constant - 0.5 * squares + log_w, w)
        return value, entropy, _centred_moments(block, r)

    parts = each_block(gather, x.shape, len(mean), log_weights, weights)
    value, entropy, moments = zip(*parts, strict=True)
    with np.errstate(invalid="ignore", over="ignore"):
        weight, centre, shift, scatter = reduce(merge, moments)
    return float(np.sum(value)), float(np.sum(entropy)), weight[:, 0], centre, shift, scatter


def linear_e_step(
    features: Real,
    eta: Array,
    offset: Array,
    base: Array | None,
    log_weights: Array,
    weights: Array | None = None,
) -> Expected:
    """Log-likelihood, entropy, weight (k,) and Σ w r f (k, m) of features (n, m), logits f·eta − offset + base.

    Eta is (k, m), offset (k,), base (n,): any exponential family.
    """

    def gather(rows: slice, log_w: Array, w: Array | None) -> tuple[float, float, Array, Array]:
        block = seen(features[rows], w)
        logits = block @ eta.T - offset + log_w
        if base is not None:
            logits = logits + base[rows, None]
        value, entropy, r = shares_of(logits, w)
        return value, entropy, r.sum(axis=0), r.T @ block

    return _added(each_block(gather, features.shape, len(eta), log_weights, weights))


def table_e_step(levels: Integers, tables: Array, log_weights: Array, weights: Array | None = None) -> Expected:
    """Log-likelihood, entropy, weight (k,) and counts Σ w r (k, d, L) of levels (n, d); tables (k, d, L) are logs.

    A level outside 0 … L−1 is missing; a log-probability may be −inf.
    """
    k, d, n_levels = tables.shape

    def gather(rows: slice, log_w: Array, w: Array | None) -> tuple[float, float, Array, Array]:
        block = levels[rows]
        seen = (block >= 0) & (block < n_levels)
        codes = np.where(seen, block, 0).astype(np.int64)
        logits = np.zeros((len(block), k)) + log_w
        for j in range(d):
            logits += np.where(seen[:, j, None], tables[:, j, codes[:, j]].T, 0.0)
        value, entropy, r = shares_of(logits, w)
        counts = np.empty((k, d, n_levels))
        for j in range(d):
            for component, share in enumerate(r.T):
                counts[component, j] = np.bincount(codes[seen[:, j], j], share[seen[:, j]], n_levels)
        return value, entropy, r.sum(axis=0), counts

    return _added(each_block(gather, levels.shape, k, log_weights, weights))


def nearest(x: Real, centres: Array, weights: Array | None = None, codes: NDArray[np.int32] | None = None) -> Nearest:
    """Inertia Σ w ‖x − c‖² to the nearest centre, weight (k,) and Σ w (x − c) (k, d), each row with its own centre c.

    Of several that are equally near the first is taken. Which centre each row has is written into ``codes`` (n,).
    """
    k, d = centres.shape
    inertia, weight, total = 0.0, np.zeros(k), np.zeros((k, d))
    step = _step(d, k)
    away = np.empty((min(step, len(x)), d))  # one for all: the system takes its time to give out large arrays
    for start in range(0, len(x), step):
        rows = slice(start, start + step)
        block = x[rows].astype(np.float64, copy=False)
        apart = away[: len(block)]
        with np.errstate(invalid="ignore", over="ignore"):
            distance = np.empty((len(block), k))
            for component, centre in enumerate(centres):
                np.subtract(block, centre, out=apart)
                distance[:, component] = np.einsum("nd,nd->n", apart, apart)
            best = distance.argmin(axis=1)
            least = distance[np.arange(len(block)), best]
        if codes is not None:
            codes[rows] = best
        w = None if weights is None else weights[rows]
        counted = np.ones(len(block), bool) if w is None else w > 0
        held = np.ones(len(block)) if w is None else np.where(counted, w, 0.0)
        inertia += float(held[counted] @ least[counted])
        weight += np.bincount(best, held, k)
        if k >= d:
            np.subtract(block, centres[best], out=apart)
            apart[~counted] = 0.0
            apart *= held[:, None]
            for j in range(d):
                total[:, j] += np.bincount(best, apart[:, j], k)
            continue
        for component in np.unique(best[counted]):
            mine = counted & (best == component)
            own = block[mine] - centres[component]
            total[component] += own.sum(axis=0) if w is None else held[mine] @ own
    return inertia, weight, total


# -- blocks ------------------------------------------------------------------------------------------------------------


def _step(d: int, k: int) -> int:
    return max(BLOCK_CELLS // max(d, k, 1), 64)


def each_block(
    gather: Callable[[slice, Array, Array | None], T], shape: tuple[int, ...], k: int, log_w: Array, w: Array | None
) -> list[T]:
    """What is gathered of each block of rows (n, d), with its log-weights and weights."""
    step = _step(shape[1], k)
    slices = [slice(start, start + step) for start in range(0, max(shape[0], 1), step)]
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):  # the log-likelihood shows it
        return [gather(s, log_w if log_w.ndim == 1 else log_w[s], None if w is None else w[s]) for s in slices]


def seen(x: Real, w: Array | None) -> Array:
    """As float64; what weighs nothing becomes 0, so that it cannot overflow."""
    cells = x.astype(np.float64, copy=False)
    if w is None or w.all():
        return cells
    return np.where(w[:, None] > 0, cells, 0.0)


def shares_of(logits: Array, w: Array | None) -> tuple[float, float, Array]:
    """Σ w log Σ exp(logit), the entropy, and the responsibilities times w."""
    r, value, entropy = softmax(logits)
    if w is None:
        return float(value.sum()), float(entropy.sum()), r
    kept = w > 0
    return float(w[kept] @ value[kept]), float(w[kept] @ entropy[kept]), np.where(kept[:, None], w[:, None] * r, 0.0)


def _centred_moments(x: Array, r: Array) -> Moments:
    """Moments (k, d) with weights r (b, k): a first mean about a row, then squares about it."""
    k, d = r.shape[1], x.shape[1]
    weight, centre, shift, scatter = np.zeros((k, d)), np.zeros((k, d)), np.zeros((k, d)), np.zeros((k, d))
    for component, share in enumerate(r.T):
        total = share.sum()
        if total == 0:
            continue
        weight[component] = total
        pivot = x[share.argmax()]
        middle = pivot + share @ (x - pivot) / total
        apart = x - middle
        shift[component] = share @ apart / total
        centre[component] = middle
        apart -= shift[component]
        scatter[component] = (share[:, None] * apart * apart).sum(axis=0)
    return weight, centre, shift, scatter


def _added(parts: list[Expected]) -> Expected:
    value, entropy, weight, total = zip(*parts, strict=True)
    return float(np.sum(value)), float(np.sum(entropy)), np.sum(weight, axis=0), np.sum(total, axis=0)
