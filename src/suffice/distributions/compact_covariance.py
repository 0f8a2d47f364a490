"""Covariances of many columns, kept as a diagonal plus a low rank: floors, inverses and determinants without d × d."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.numerics.low_rank import LowRank, diagonals
from suffice.types import Array

RELATIVE_FLOOR = (
    1e-12  # times d: the least eigenvalue of a correlation matrix that is inverted without losing all digits
)
MARGIN = 1.01  # times that floor: what is clipped there stays above it, whatever rounding does

WELL_ABOVE = 2.0  # times a floor: from there on nobody asks how far


class Whitening:
    r"""Square roots of the precisions of covariances diag(a) + Fᵀ F, applied to rows.

    With Z = F / √a, the matrix I + ZᵀZ has the inverse square root I + Zᵀ M Z, where M = U g(T) Uᵀ, Z Zᵀ = U T Uᵀ and
    :math:`g(t) = \{(1 + t)^{-1/2} - 1\}/t`: work for n rows of rank r is O(n r d).
    """

    def __init__(self, cov: LowRank) -> None:
        """Take a stack of covariances, or one."""
        stack = cov if cov.ndim == 3 else cov[None]
        self.matrices = stack[:1] if stack.shared else stack
        self.n_components = len(stack)
        self.scale = 1.0 / np.sqrt(self.matrices.diagonal)
        self.rows: list[tuple[Array, Array, Array] | None] = []  # Z, M, and the inverse of I + Z Zᵀ
        log_det = np.log(self.scale).sum(axis=1)
        for index, own in enumerate(self.matrices.factors):
            z = own * self.scale[index]
            values, vectors = np.linalg.eigh(z @ z.T)
            t = np.maximum(values, 0.0)
            root = np.sqrt(1.0 + t)
            inner = (vectors * (-1.0 / (root * (1.0 + root)))) @ vectors.T
            self.rows.append((z, inner, (vectors / (1.0 + t)) @ vectors.T))
            log_det[index] -= 0.5 * np.log1p(t).sum()
        self.log_det = np.broadcast_to(log_det, self.n_components) if len(log_det) < self.n_components else log_det

    def _own(self, index: int) -> tuple[Array, Any]:
        index = min(index, len(self.matrices) - 1)
        return self.scale[index], self.rows[index] if self.rows else None

    def __call__(self, index: int, x: Array) -> Array:
        """W x of rows (n, d), where W Σ Wᵀ = I for the covariance of one component."""
        scale, own = self._own(index)
        return _turned(x * scale, own)

    def back(self, index: int, z: Array) -> Array:
        """Wᵀ z of rows (n, d): Σ⁻¹ x is ``back(W x)``."""
        scale, own = self._own(index)
        return np.asarray(_turned(z, own) * scale)

    def log_density(self, x: Array, mean: Array) -> Array:
        """Log densities (n, k) of rows (n, d)."""
        constant = -0.5 * x.shape[1] * np.log(2 * np.pi)
        out = np.empty((len(x), len(mean)))
        for index, own in enumerate(mean):
            z = self(index, x - own)
            out[:, index] = self.log_det[index] + constant - 0.5 * np.einsum("nd,nd->n", z, z)
        return out

    def traces(self, scatter: LowRank) -> Array:
        """The trace of Σ⁻¹ S of each of a stack of scatter matrices, (k,)."""
        found = np.empty(len(scatter))
        for index, diagonal in enumerate(scatter.diagonal):
            scale, own = self._own(index)
            part = scale**2
            if own is not None:
                part = part * (1.0 - np.einsum("rd,rs,sd->d", own[0], own[2], own[0], optimize=True))
            found[index] = diagonal @ part
            if scatter.factors:
                found[index] += np.square(self(index, scatter.factors[index])).sum()
        return found


def _turned(y: Array, own: tuple[Array, Array, Array] | None) -> Array:
    return y if own is None else np.asarray(y + (y @ own[0].T) @ own[1] @ own[0])


def least_variances(cov: LowRank, floor: Any) -> Array:
    """The floor under each column of each covariance, (k, d): the caller's, and what float64 resolves beside it."""
    d = cov.shape[-1]
    return np.maximum(diagonals(floor), MARGIN * RELATIVE_FLOOR * d * cov.variances)


def variance_ratios(cov: LowRank, least: Array) -> Array | None:
    """How many times the least variances (k, d) the covariances are, column by column; None where that takes more.

    A column that varies with others is well above where its own part of the diagonal is.
    """
    coupled, ratio = cov.coupled, cov.diagonal / least
    return None if (coupled & (ratio < WELL_ABOVE)).any() else np.where(coupled, WELL_ABOVE, ratio)


def raised(cov: LowRank, least: Array) -> LowRank | None:
    """Covariances with no column under the least variances (k, d); None where `variance_ratios` is None."""
    ratio = variance_ratios(cov, least)
    if ratio is None:
        return None
    return LowRank(np.where(ratio < 1, least, cov.diagonal), cov.factors) if (ratio < 1).any() else cov


def floored(cov: LowRank, least: Array) -> LowRank | None:
    """Covariances that can be inverted, as `covariance_algebra.floored` makes them; None where that takes more."""
    relative = RELATIVE_FLOOR * cov.shape[-1] * cov.variances
    coupled = cov.coupled
    if (coupled & ((cov.diagonal < relative) | (cov.variances < least**2))).any():
        return None
    low = cov.diagonal < least**2
    low &= ~coupled
    return LowRank(np.where(low, least**2, cov.diagonal), cov.factors) if low.any() else cov


def deficiency(cov: LowRank, least: Array, limit: float) -> tuple[int, list[int]] | None:
    """As `suffice.distributions.covariance_algebra.deficiency` of one covariance; None where that takes more."""
    d = cov.shape[-1]
    flat = np.sqrt(cov.variances) <= least * (1 + 1e-6)
    if (cov.coupled & (flat | (cov.diagonal < limit * d * cov.variances))).any():
        return None
    return d - int(flat.sum()), np.flatnonzero(flat).tolist()
