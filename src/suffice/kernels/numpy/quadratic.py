"""Steps of EM over Gaussian components that are known by sums of products alone, in NumPy.

What short runs are made of.

With y = (x − centre) · scale and y₀ = 1 a row is the products yᵢ yⱼ, i ≥ j, row by row of that triangle: m numbers. A
score is linear in them, with coefficients (k, m), and so are the sums (k, m) from which the next coefficients follow.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from suffice.kernels.numpy.gaussian import softmax
from suffice.kernels.numpy.primitives import LOG_2PI, Array, Integers, Real

LOST = 1e6  # the largest growth of rounding errors: components a thousand standard deviations from the pilot
MANY_COLUMNS = 32  # from here on products of features would not stay in the cache
SURE = 1e-9  # of a variance given the columns before, relative to what it is without: less may be rounding
SEEN = 1e-8  # share of the rows that a component has at least

QuadraticSums: TypeAlias = tuple[float, float, Array]


class Members(NamedTuple):
    """What sums tell of Gaussian components, in units of the scale: weight (k,), mean, cov and coefficients.

    ``sure`` says whether that is all there is to say: no component lies on the floor, has no rows, or is so narrow or
    so far from the centre that its digits are lost.
    """

    sure: bool
    weight: Array
    mean: Array
    cov: Array
    coefficients: Array


@lru_cache
def triangle(size: int) -> tuple[Integers, Integers, Integers]:
    """Rows and columns of what lies on and below a diagonal, and where each cell of the square is among these."""
    rows, columns = np.tril_indices(size)
    back = np.empty((size, size), np.int64)
    back[rows, columns] = back[columns, rows] = np.arange(len(rows))
    return rows, columns, back.ravel()


def quadratic_e_step(x: Real, weights: Array | None, centre: Array, scale: Array, coefficients: Array) -> QuadraticSums:
    """Log-likelihood and entropy of rows under the coefficients (k, m), and the sums (k, m) of their products."""
    rows, columns, _ = triangle(len(centre) + 1)
    y = np.empty((len(x), len(centre) + 1))
    y[:, 0] = 1.0
    np.multiply(x - centre, scale, out=y[:, 1:])
    with np.errstate(invalid="ignore", over="ignore"):  # cells that are not finite show in the log-likelihood
        products = y[:, rows] * y[:, columns]
        shares, log_sum, spread = softmax(products @ coefficients.T)
        if weights is not None:
            shares *= weights[:, None]
            return float(weights @ log_sum), float(weights @ spread), shares.T @ products
        return float(log_sum.sum()), float(spread.sum()), shares.T @ products


def quadratic_step(sums: Array, floor: Array, ridge: Array, log_scale: float) -> Members:
    """The components that the sums (k, m) tell of, with ``ridge`` (d,) added to variances, none below ``floor`` (d, d).

    ``log_scale`` is what the scale adds to a log density.
    """
    k, d = len(sums), len(floor)
    whole = sums[:, triangle(d + 1)[2]].reshape(k, d + 1, d + 1)
    weight = whole[:, 0, 0].copy()
    with np.errstate(all="ignore"):
        mean = whole[:, 1:, 0] / weight[:, None]
        second = whole[:, 1:, 1:] / weight[:, None, None]
        cov = second - mean[:, :, None] * mean[:, None]
        about, variances = np.einsum("kii->ki", second), np.einsum("kii->ki", cov)
        sure = (weight > SEEN * weight.sum()).all() and (about <= LOST * variances).all()
        cov[:, range(d), range(d)] += ridge
        if not (sure and np.isfinite(cov).all()):
            return Members(False, weight, mean, cov, sums)  # noqa: FBT003 (as named above)
        try:
            np.linalg.cholesky(cov - floor)
            lower = np.linalg.cholesky(cov)
        except np.linalg.LinAlgError:
            return Members(False, weight, mean, cov, sums)  # noqa: FBT003
        pivots = np.einsum("kii->ki", lower)
        factor = np.linalg.inv(lower)
        form = factor.swapaxes(1, 2) @ factor
        deviation = np.sqrt(about)
        growth = (deviation[:, None] @ np.abs(form) @ deviation[:, :, None]).max()
    constant = np.log(weight / weight.sum()) - np.log(pivots).sum(axis=1) - 0.5 * d * LOG_2PI + log_scale
    sure = bool((pivots**2 > SURE * np.einsum("kii->ki", cov)).all() and growth <= LOST)
    return Members(sure, weight, mean, cov, coefficients_of(mean, form, constant))


def coefficients_of(mean: Array, form: Array, constant: Array) -> Array:
    """The coefficients (k, m) of constant − ½ (y − mean)ᵀ form (y − mean), for means (k, d) and forms (k, d, d)."""
    k, d = mean.shape
    table = np.empty((k, d + 1, d + 1))
    table[:, 1:, 0] = (form @ mean[:, :, None])[:, :, 0]
    table[:, 0, 0] = constant - 0.5 * (table[:, 1:, 0] * mean).sum(axis=1)
    table[:, 1:, 1:] = -form
    table[:, range(1, d + 1), range(1, d + 1)] *= 0.5
    rows, columns, _ = triangle(d + 1)
    return table[:, rows, columns]
