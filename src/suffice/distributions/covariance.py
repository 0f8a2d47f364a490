"""Covariance structures: objects that know their M-step, their number of parameters and their standard errors.

A structure registers itself under its name; nothing else asks for the name. Arrays lead with the members: a scatter is
(k, d, d), a weight (k,).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from suffice.core.errors import ParameterError
from suffice.core.parameters import Array

STRUCTURES: dict[str, Structure] = {}
RELATIVE_FLOOR = (
    1e-12  # times d: the least eigenvalue of a correlation matrix that is inverted without losing all digits
)


def structure(name: Any) -> Structure:
    """The structure of that name."""
    if not isinstance(name, str) or name not in STRUCTURES:
        known = ", ".join(map(repr, STRUCTURES))
        msg = f"MultivariateNormal: structure must be one of {known}; got {name!r}."
        raise ParameterError(msg)
    return STRUCTURES[name]


@dataclass(frozen=True)
class Structure:
    """Any covariance, one for each member: the structure ``full``."""

    name: ClassVar[str] = "full"
    learned: ClassVar[bool] = True
    shared: ClassVar[bool] = False  # one covariance for all members
    free: ClassVar[bool] = True  # no restriction within a member, so that an inverse Wishart belief stays one

    def __init_subclass__(cls) -> None:
        """Enter the registry."""
        STRUCTURES[cls.name] = cls()

    def project(self, scatter: Array, weight: Array) -> Array:
        """The covariances that maximise −½ Σ (weight log|Σ| + tr Σ⁻¹ scatter)."""
        return np.asarray(scatter / np.where(weight > 0, weight, 1.0)[:, None, None])

    def common(self, least: Array) -> Array:
        """The least standard deviations (k, d), made equal where the structure makes variances equal."""
        return least

    def count(self, k: int, d: int) -> int:
        """Number of free parameters."""
        return k * d * (d + 1) // 2

    def errors(self, cov: Array, weight: Array) -> Array:
        """Standard error of every entry."""
        variances = np.einsum("kii->ki", cov)
        return np.asarray(
            np.sqrt(
                (cov**2 + variances[:, :, None] * variances[:, None, :])
                / np.where(weight > 0, weight, np.nan)[:, None, None]
            )
        )


STRUCTURES[Structure.name] = Structure()


class Diagonal(Structure):
    """Uncorrelated columns, each with its own variance."""

    name = "diag"
    free = False

    def project(self, scatter: Array, weight: Array) -> Array:
        return super().project(scatter, weight) * np.eye(scatter.shape[-1])

    def count(self, k: int, d: int) -> int:
        return k * d

    def errors(self, cov: Array, weight: Array) -> Array:
        return super().errors(cov, weight) * np.eye(cov.shape[-1])


class Spherical(Diagonal):
    """Uncorrelated columns of one variance: circles."""

    name = "spherical"

    def project(self, scatter: Array, weight: Array) -> Array:
        d = scatter.shape[-1]
        trace = np.einsum("kii->k", scatter) / d
        return np.asarray((trace / np.where(weight > 0, weight, 1.0))[:, None, None] * np.eye(d))

    def common(self, least: Array) -> Array:
        return np.broadcast_to(least.max(axis=1, keepdims=True), least.shape)

    def count(self, k: int, d: int) -> int:
        return k

    def errors(self, cov: Array, weight: Array) -> Array:
        return np.asarray(super().errors(cov, weight) / np.sqrt(cov.shape[-1]))


class Identity(Diagonal):
    """Σ = I, never learned."""

    name = "identity"
    learned = False

    def project(self, scatter: Array, weight: Array) -> Array:
        return np.broadcast_to(np.eye(scatter.shape[-1]), scatter.shape)

    def count(self, k: int, d: int) -> int:
        return 0

    def errors(self, cov: Array, weight: Array) -> Array:
        return np.zeros_like(cov)


class Tied(Structure):
    """One covariance, any, shared by all members."""

    name = "tied"
    shared = True


def floored(cov: Array, least: Array) -> Array:
    """Covariances (k, d, d) that can be inverted.

    Variances are at least ``least``² (k, d), and the eigenvalues of the correlation matrix at least
    d·10⁻¹²; covariances that obey both are returned as they are.
    """
    d = cov.shape[-1]
    variances = np.einsum("kii->ki", cov)
    low = variances < least**2
    spread = np.sqrt(np.where(low, least**2, variances))
    outer = spread[:, :, None] * spread[:, None, :]
    correlation = np.where(low[:, :, None] | low[:, None, :], 0.0, cov / outer)
    correlation[:, np.arange(d), np.arange(d)] = 1.0
    values, vectors = np.linalg.eigh(correlation)
    bad = values[:, 0] < RELATIVE_FLOOR * d
    if not (bad.any() or low.any()):
        return cov
    raised = (vectors * np.maximum(values, RELATIVE_FLOOR * d)[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    repaired = np.where(bad[:, None, None], 0.5 * (raised + np.swapaxes(raised, 1, 2)), correlation) * outer
    return np.where((bad | low.any(axis=1))[:, None, None], repaired, cov)


def deficiency(cov: Array, least: Array) -> tuple[int, list[int]]:
    """The rank that the floor left of one covariance (d, d), and the columns that depend on each other."""
    d = len(cov)
    spread = np.sqrt(np.diag(cov))
    flat = spread <= least * (1 + 1e-6)
    values, vectors = np.linalg.eigh(cov / np.outer(spread, spread))
    null = (values < 4 * RELATIVE_FLOOR * d) & (d > 1)
    involved = flat | (np.abs(vectors[:, null]) > 1e-3).any(axis=1)
    return d - int(null.sum()) - int(flat.sum()), np.flatnonzero(involved).tolist()


def whitening(cov: Array) -> tuple[Array, Array]:
    """W (k, d, d) with W Σ Wᵀ = I, and log|W| (k,)."""
    d = cov.shape[-1]
    spread = np.sqrt(np.einsum("kii->ki", cov))
    factor = np.linalg.cholesky(cov / (spread[:, :, None] * spread[:, None, :]))
    inverse = np.tril(np.linalg.solve(factor, np.broadcast_to(np.eye(d), cov.shape))) / spread[:, None, :]
    return np.ascontiguousarray(inverse), -(np.log(spread) + np.log(np.einsum("kii->ki", factor))).sum(axis=1)


def root(cov: Array) -> Array:
    """A (k, d, d) with A Aᵀ = Σ, by Cholesky."""
    spread = np.sqrt(np.einsum("kii->ki", cov))
    return np.asarray(spread[:, :, None] * np.linalg.cholesky(cov / (spread[:, :, None] * spread[:, None, :])))


def score_incomplete(out: Array, x: Array, marginal: Callable[[list[int]], Any]) -> Array:
    """Mend the scores (n, k) of rows with missing or infinite cells: each pattern by the marginal of what was seen."""
    rows = np.flatnonzero(~np.isfinite(out).all(axis=1))
    if not rows.size:
        return out
    seen = ~np.isnan(x[rows])
    for pattern in np.unique(seen, axis=0):
        columns = np.flatnonzero(pattern).tolist()
        where = rows[(seen == pattern).all(axis=1)]
        if not columns:
            out[where] = 0.0
            continue
        part = x[np.ix_(where, columns)]
        finite = np.isfinite(part).all(axis=1)
        out[where[~finite]] = -np.inf
        if len(columns) < x.shape[1] and finite.any():
            out[where[finite]] = marginal(columns).log_density(part[finite])
    return out
