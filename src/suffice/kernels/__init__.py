"""Arithmetic over rows, in two twins: NumPy, which defines and serves small work, and Numba for the rest.

``work`` is the number of cells of the whole job that a call is part of: all slices of an array take the same twin.
"""

from __future__ import annotations

from suffice.kernels import reference
from suffice.kernels.reference import Array, Integers, Moments, Real, count_range, integer_range, merge

__all__ = [
    "count_range",
    "counts",
    "extremes",
    "gaussian_log_prob",
    "integer_range",
    "merge",
    "moments",
    "normal_log_prob",
    "scatter",
    "sums",
]


def moments(
    x: Real, weights: Array | None = None, codes: Integers | None = None, members: int = 1, *, work: int | None = None
) -> Moments:
    """Weight, centre, shift, scatter, each (k, d): mean = centre + shift, scatter = Σ w (x − mean)²; NaN is absent."""
    del work
    return reference.moments(x, weights, codes, members)


def scatter(
    x: Real, weights: Array | None = None, codes: Integers | None = None, members: int = 1, *, work: int | None = None
) -> Moments:
    """Weight (k,), centre and shift (k, d), scatter matrix (k, d, d) about centre + shift; the rows are complete."""
    del work
    return reference.scatter(x, weights, codes, members)


def sums(
    f: Real, weights: Array | None = None, codes: Integers | None = None, members: int = 1, *, work: int | None = None
) -> Array:
    """Σ w f of every feature, (k, m)."""
    del work
    return reference.sums(f, weights, codes, members)


def counts(
    levels: Integers,
    n_levels: int,
    weights: Array | None = None,
    codes: Integers | None = None,
    members: int = 1,
    *,
    work: int | None = None,
) -> Array:
    """Weight of each level of each column, (k, d, n_levels); a level outside 0 … n_levels−1 is missing."""
    del work
    return reference.counts(levels, n_levels, weights, codes, members)


def extremes(
    x: Real, weights: Array | None = None, codes: Integers | None = None, members: int = 1, *, work: int | None = None
) -> tuple[Array, Array, Array]:
    """Weight, smallest and largest of the cells that have weight, each (k, d); (0, inf, −inf) where there is none."""
    del work
    return reference.extremes(x, weights, codes, members)


def normal_log_prob(x: Real, mean: Array, std: Array, *, work: int | None = None) -> Array:
    """Log-density (n, k) of rows under k products of d normals, mean and std (k, d); a NaN cell contributes 0."""
    del work
    return reference.normal_log_prob(x, mean, std)


def gaussian_log_prob(x: Real, mean: Array, whiten: Array, log_det: Array, *, work: int | None = None) -> Array:
    """Log-density (n, k) of complete rows; whiten (k, d, d) inverts the Cholesky factor, log_det = log |whiten|."""
    del work
    return reference.gaussian_log_prob(x, mean, whiten, log_det)
