"""How far components differ from each other and from all rows, in nats: what tells a cluster from a chance find."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from suffice.types import Array


@dataclass(frozen=True)
class Separation:
    """Divergences between normal components, and what each of them estimates from its own rows alone.

    Attributes
    ----------
    divergence
        Kullback–Leibler divergences (k, k + 1) of each component (row) from each other one, and in the last column from
        the one component that all rows together would have.
    log_volume
        (k,) log of the determinant of each covariance relative to that of all rows together.
    degrees
        (q, 2): for each variance that a component estimates from its own rows alone the number of columns whose squares
        it averages, and the degrees of freedom that means and regressions cost it. (1, 1) is the variance of a column
        about its own mean. Empty where all components share their volume.
    others
        Number of columns that are not normal, of which nothing is said.
    """

    divergence: Array
    log_volume: Array
    degrees: Array
    others: int = 0

    def __add__(self, other: Self) -> Separation:
        """The separation by independent columns of both."""
        return Separation(
            self.divergence + other.divergence,
            self.log_volume + other.log_volume,
            np.concatenate([self.degrees, other.degrees]),
            self.others + other.others,
        )

    @property
    def needed_rows(self) -> float:
        """Rows from which on a component has a spread of its own."""
        return float((self.degrees[:, 1] / self.degrees[:, 0]).max() + 1) if len(self.degrees) else 1.0

    @property
    def own_parameters(self) -> float:
        """Parameters that a component estimates from its own rows alone, with its weight."""
        return float(self.degrees[:, 1].sum() + len(self.degrees) + 1)


def of_columns(mean: Array, var: Array, whole_mean: Array, whole_var: Array, degrees: Array) -> Separation:
    """The separation of components with independent columns: means and variances (k, d), those of all rows (1, d)."""
    if not mean.shape[1]:
        none = np.zeros((len(mean), len(mean) + 1))
        return Separation(none, none[:, 0], degrees)
    means, variances = np.concatenate([mean, whole_mean]), np.concatenate([var, whole_var])
    with np.errstate(all="ignore"):
        ratio = var[:, None] / variances
        away = np.square(mean[:, None] - means) / variances
        divergence = 0.5 * (ratio + away - 1 - np.log(ratio)).sum(axis=2)
    return Separation(divergence, np.log(var / whole_var).sum(axis=1), degrees)


def of_roots(mean: Array, roots: Array, degrees: Array, background: Array | None = None) -> Separation:
    """The separation of components with means (k, r) and covariances R Rᵀ, R of ``roots`` (k, r, r).

    All in units of all rows. ``background`` (r, r) is a root of the covariance that all rows have under the structure
    of the components. Roots have twice the digits of covariances, whose determinant is lost where a component is 10⁸
    times as long as it is wide, and the columns of a root may have any units.
    """
    k, r = mean.shape
    whole = np.eye(r) if background is None else background
    inverse, log_det = _inverse(np.concatenate([roots, whole[None]]))
    away = mean[:, None] - np.concatenate([mean, np.zeros((1, r))])
    with np.errstate(over="ignore"):  # components infinitely far from each other
        squares = np.square(np.einsum("jab,ijb->ija", inverse, away)).sum(axis=2)
        side_by_side = np.swapaxes(roots, 0, 1).reshape(r, k * r)
        traces = np.stack([np.square(one @ side_by_side).reshape(r, k, r).sum(axis=(0, 2)) for one in inverse], axis=1)
        divergence = 0.5 * (traces + squares - r) + log_det - log_det[:k, None]
    return Separation(divergence, 2 * (log_det[:k] - log_det[k]), degrees)


def _inverse(roots: Array) -> tuple[Array, Array]:
    """The inverses of roots (k, r, r) and the logarithms of their determinants; each column has its own units."""
    size = np.linalg.norm(roots, axis=1)
    size = np.where(size > 0, size, np.finfo(float).tiny)
    unit = roots / size[:, None, :]
    log_det = np.maximum(np.linalg.slogdet(unit)[1], np.log(np.finfo(float).tiny))
    try:
        inverse = np.linalg.inv(unit)
    except np.linalg.LinAlgError:  # singular to rounding: the inverses in the directions that vary
        inverse = np.linalg.pinv(unit)
    with np.errstate(over="ignore"):
        return inverse / size[:, :, None], np.log(size).sum(axis=1) + log_det
