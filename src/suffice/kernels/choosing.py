"""Which component made a row, and how surely: the twins for it, chosen by the size of the work like the others."""

from __future__ import annotations

from suffice.kernels import is_small, loading, reference_best
from suffice.kernels.reference import Array, Integers, Real
from suffice.kernels.reference_best import Codes

__all__ = ["above_best", "above_sums", "chosen", "normal_best", "shares", "sparse_best", "table_best"]


def chosen(scores: Array, *, work: int | None = None) -> Codes:
    """The place (n,) of the highest of scores (n, k), the first of equal ones; −1 where it is not finite."""
    if is_small(scores.size, work):
        return reference_best.chosen(scores)
    with loading():
        from suffice.kernels import compiled_best
    return compiled_best.chosen(scores)


def shares(scores: Array, *, work: int | None = None) -> tuple[Array, Array, Array]:
    """Log Σ exp of scores (n, k), the shares of the components (n, k), and the entropy (n,) of these.

    A row whose scores are all −inf, or not numbers, belongs to nobody.
    """
    if is_small(scores.size, work):
        return reference_best.shares(scores)
    with loading():
        from suffice.kernels import compiled_best
    return compiled_best.shares(scores)


def normal_best(x: Real, mean: Array, std: Array, log_weights: Array, *, work: int | None = None) -> Codes:
    """Under k products of d normals, mean and std (k, d): the component (n,) of the highest score; NaN is absent."""
    if is_small(x.size, work, len(mean)):
        return reference_best.normal_best(x, mean, std, log_weights)
    with loading():
        from suffice.kernels import compiled_best
    return compiled_best.normal_best(x, mean, std, log_weights)


def table_best(
    levels: Integers, tables: Array, log_weights: Array, unseen: Array | None = None, *, work: int | None = None
) -> tuple[Codes, int]:
    """Under tables (k, d, L) of logs: the component (n,), and how many cells have no entry (NaN, or none in the table).

    Such cells add ``unseen`` (k, d), or nothing.
    """
    if is_small(levels.size, work, len(tables)):
        return reference_best.table_best(levels, tables, log_weights, unseen)
    with loading():
        from suffice.kernels import compiled_best
    return compiled_best.table_best(levels, tables, log_weights, unseen)


def sparse_best(
    values: Array, places: Integers, ends: Integers, slopes: Array, log_weights: Array, *, work: int | None = None
) -> Codes:
    """With scores X · slopes of compressed rows, slopes (k, width): the component (n,)."""
    if is_small(int(ends[-1] - ends[0]), work, len(slopes)):
        return reference_best.sparse_best(values, places, ends, slopes, log_weights)
    with loading():
        from suffice.kernels import compiled_best
    return compiled_best.sparse_best(values, places, ends, slopes, log_weights)


def above_best(
    x: Real, threshold: float, slopes: Array, offset: Array, log_weights: Array, *, work: int | None = None
) -> Codes:
    """With scores Σ slopes · [x > threshold] − offset, both (k, d), over cells that are not NaN: the component (n,)."""
    if is_small(x.size, work, len(slopes)):
        return reference_best.above_best(x, threshold, slopes, offset, log_weights)
    with loading():
        from suffice.kernels import compiled_best
    return compiled_best.above_best(x, threshold, slopes, offset, log_weights)


def above_sums(
    x: Real,
    threshold: float,
    weights: Array | None = None,
    codes: Integers | None = None,
    n_components: int = 1,
    *,
    work: int | None = None,
) -> tuple[Array, Array]:
    """Σ w of the cells above the threshold, and of those that are not NaN, both (k, d)."""
    if is_small(x.size, work, 1 if weights is None or weights.ndim == 1 else weights.shape[1]):
        return reference_best.above_sums(x, threshold, weights, codes, n_components)
    with loading():
        from suffice.kernels import compiled_best
    return compiled_best.above_sums(x, threshold, weights, codes, n_components)
