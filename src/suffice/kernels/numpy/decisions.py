"""Who made a row, in NumPy: the component of the highest score, or −1 where no score is a number above −inf.

These functions define what their native twins compute. Scores are log_weights (k,) plus a log density.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.kernels.numpy import primitives as numpy_primitives
from suffice.kernels.numpy.primitives import FADED, Array, Integers, Real

Codes = NDArray[np.intp]


def chosen(scores: Array) -> Codes:
    """The place of the highest score of each row, the first of equal ones."""
    codes = scores.argmax(axis=1)
    top = scores[np.arange(len(codes)), codes]
    return np.where(np.isfinite(top), codes, -1)


def shares(scores: Array) -> tuple[Array, Array, Array]:
    """Log Σ exp of scores (n, k), the shares of the components (n, k), and the entropy (n,) of these.

    A row whose scores are all −inf, or not numbers, belongs to nobody.
    """
    away = np.ascontiguousarray(scores.T)  # components first: NumPy adds few numbers of many rows by whole vectors
    top = away.max(axis=0)
    possible = np.isfinite(top)
    away = away - np.where(possible, top, 0.0)
    away[away < FADED] = -np.inf
    parts = np.exp(away)
    whole = parts.sum(axis=0)
    whole = np.where(whole > 0, whole, 1.0)
    parts /= whole
    log_whole = np.log(whole)
    with np.errstate(invalid="ignore"):  # a component that cannot have made the row: 0 · −inf
        entropy = log_whole - np.where(parts > 0, parts * away, 0.0).sum(axis=0)
    parts[:, ~possible] = 0.0
    total = np.where(possible, top + log_whole, top)
    return total, np.ascontiguousarray(parts.T), np.where(possible, entropy, 0.0)


def normal_best(x: Real, mean: Array, std: Array, log_weights: Array) -> Codes:
    """Under k products of d normals, mean and std (k, d); a NaN cell counts for nobody."""
    return chosen(numpy_primitives.normal_log_prob(x, mean, std) + log_weights)


def table_best(levels: Integers, tables: Array, log_weights: Array, unseen: Array | None = None) -> tuple[Codes, int]:
    """Under tables (k, d, L) of logs, and how many cells have no entry: NaN there, or a level outside 0 … L−1.

    Such cells add ``unseen`` (k, d), or nothing.
    """
    n_components, columns, n_levels = tables.shape
    padded = np.concatenate([tables, np.full((n_components, columns, 1), np.nan)], axis=2)
    inside = np.where((levels >= 0) & (levels < n_levels), levels.astype(np.intp), n_levels)
    scores, count = np.zeros((n_components, len(levels))), 0
    for column in range(columns):
        cells = padded[:, column, inside[:, column]]  # (k, n)
        unknown = np.isnan(cells)
        scores += np.where(unknown, 0.0 if unseen is None else unseen[:, column, None], cells)
        count += int(unknown[0].sum())
    return chosen(scores.T + log_weights), count


def sparse_best(values: Array, places: Integers, ends: Integers, slopes: Array, log_weights: Array) -> Codes:
    """With scores X · slopes of compressed rows, slopes (k, width)."""
    return chosen(numpy_primitives.sparse_scores(values, places, ends, slopes) + log_weights)


def above_best(x: Real, threshold: float, slopes: Array, offset: Array, log_weights: Array) -> Codes:
    """With scores Σ (slopes (k, d) · [x > threshold] − offset (k, d)) over the cells that are not NaN."""
    seen = ~np.isnan(x)
    return chosen((x > threshold) @ slopes.T - seen @ offset.T + log_weights)


def above_sums(
    x: Real,
    threshold: float,
    weights: Array | None = None,
    codes: Integers | None = None,
    n_components: int = 1,
) -> tuple[Array, Array]:
    """Σ w of the cells above the threshold, and of those that are not NaN, both (k, d)."""
    arguments: tuple[Any, ...] = (weights, codes, n_components)
    flags, seen = (x > threshold).astype(np.float64), (~np.isnan(x)).astype(np.float64)
    return numpy_primitives.sums(flags, *arguments), numpy_primitives.sums(seen, *arguments)
