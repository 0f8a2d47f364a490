"""Directions in which components have no spread, told from those in which no row has any."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.distributions.covariance_algebra import eigen, symmetric
from suffice.distributions.floors import FLOOR, rounding_floor
from suffice.numerics.low_rank import diagonals
from suffice.statistics.moments import Scatter
from suffice.types import Array

ON_FLOOR = 1e-4  # relative: variances that are no farther above the floor lie on it
TAKES_PART = 1e-3  # in a relation between columns, in units of their spreads
ON_RIDGE = 4 * FLOOR**2  # of the variance of all rows: what a component without a ridge would be held at, and rounding


def varying_columns(whole: Scatter, floor: object) -> Array:
    """Columns in which the rows together vary by more than the floor. ``whole`` are the statistics of all rows."""
    var, mean = variances(whole), np.asarray(whole.mean)[0]
    least = np.maximum(np.square(2 * rounding_floor(mean)), 2 * (1 + ON_FLOOR) * _floor_of_columns(var, floor))
    return np.flatnonzero(var > least)


def varying_axes(whole: Scatter, floor: Any) -> Array:
    """Axes (r, d) in which the rows together vary by more than the floor, in units of their spread.

    There are d of them unless a column is constant, or follows from others.
    """
    kept, unit, values, vectors = _spectrum(whole, floor)
    varies = values > 2 * (1 + ON_FLOOR)
    found = np.zeros((int(varies.sum()), len(variances(whole))))
    found[:, kept] = vectors.T[varies] * unit / np.sqrt(values[varies])[:, None]
    return found


def dependent_columns(whole: Scatter, floor: Any) -> list[int]:
    """Columns that follow from each other in all rows, though none of them is constant."""
    kept, _, values, vectors = _spectrum(whole, floor)
    flat = values <= 2 * (1 + ON_FLOOR)
    return [int(kept[i]) for i in np.flatnonzero((np.abs(vectors[:, flat]) > TAKES_PART).any(axis=1))]


def _spectrum(whole: Scatter, floor: Array | float | None) -> tuple[Array, Array, Array, Array]:
    """Columns that vary, the units in which their floor is 1, and eigenvalues and -vectors of all rows in these."""
    cov, kept = np.asarray(whole.scatter)[0] / whole.weight[0], varying_columns(whole, floor)
    unit = 1 / np.sqrt(np.maximum(_floor_of_columns(np.diagonal(cov), floor)[kept], 1e-300))
    return kept, unit, *np.linalg.eigh(cov[np.ix_(kept, kept)] * (unit[:, None] * unit))


def variances(whole: Scatter) -> Array:
    """The variance of each column (d,) in all rows."""
    return np.asarray(whole.variances[0] / whole.weight[0])


def _floor_of_columns(var: Array, floor: object) -> Array:
    """The floor under the variance of each column (d,): a ridge is none."""
    if floor is None or isinstance(floor, float):
        return np.asarray(np.square(FLOOR) * var)
    return diagonals(floor)


def lies_on(cov: Array, floor: Array, axes: Array) -> Array:
    """Which covariances (k, d, d) are on the floor (d, d) somewhere in the span of the axes (r, d)."""
    unit = np.sqrt(diagonals(floor))
    basis = np.linalg.qr((axes * unit).T)[0].T / unit
    values = np.linalg.eigvalsh(symmetric(basis @ cov @ basis.T))
    return np.asarray((values <= 1 + ON_FLOOR + 1e-14 * values[:, -1:]).any(axis=1))


def roots_along(axes: Array, cov: Array) -> Array:
    """Roots R (k, r, r) with R Rᵀ = A Σ Aᵀ, for axes A (r, d) and covariances Σ (k, d, d).

    By the eigenvectors of Σ in the units of the axes: A Σ Aᵀ itself has no digits left of a direction in which a
    component is 10⁻⁸ as wide as in another.
    """
    kept = np.flatnonzero(axes.any(axis=0))
    if not len(kept):
        return np.zeros((len(cov), 0, 0))
    size = np.linalg.norm(axes[:, kept], axis=0)
    values, vectors = eigen(cov[:, kept[:, None], kept] * (size[:, None] * size))
    found = (axes[:, kept] / size) @ (vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :])
    return found if len(axes) == len(kept) else np.swapaxes(np.linalg.qr(np.swapaxes(found, 1, 2))[1], 1, 2)


def own_degrees(letters: str, r: int) -> Array:
    """Columns and lost degrees (q, 2) of each variance that a component of a structure estimates from its own rows.

    A covariance of its own is r regressions of each column on those before it; variances along given axes lose a mean
    each; a volume averages all columns; components of one volume have none to themselves.
    """
    if letters[0] == "E":
        return np.ones((0, 2))
    if letters[1] != "V":
        return np.full((min(r, 1), 2), float(r))
    lost = np.arange(1.0, r + 1) if letters[2] == "V" else np.ones(r)
    return np.stack([np.ones(r), lost], axis=1)
