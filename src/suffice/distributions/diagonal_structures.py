"""Covariance structures of uncorrelated columns: EII, VII, EEI, VEI, EVI, VVI and the identity."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.distributions.compact_covariance import RELATIVE_FLOOR
from suffice.distributions.covariance_algebra import resolved
from suffice.distributions.spectra import TOLERANCE
from suffice.distributions.structure_base import EigenDecomposed
from suffice.numerics.low_rank import LowRank, diagonals
from suffice.types import Array


class Diagonal(EigenDecomposed):
    """Uncorrelated columns."""

    scatter_kind = "diagonal"
    compact = True

    def __init__(self, letters: str) -> None:
        """Take the letters of volume, shape and orientation."""
        super().__init__(letters)
        self.tied_version = "EII" if letters[1] == "I" else "EEI"

    def m_step(
        self,
        scatter: Array | LowRank,
        weight: Array,
        current: Array | LowRank | None = None,
        floor: Array | LowRank | None = None,
    ) -> Any:
        """On diagonals alone."""
        start = None if current is None else LowRank(diagonals(current))
        return super().m_step(LowRank(diagonals(scatter)), weight, start, floor)

    def maximise(
        self, scatter: Array | LowRank, weight: Array, current: Array | LowRank | None, floor: Array | LowRank | None
    ) -> Any:
        s = np.maximum(diagonals(scatter), 0.0)
        if floor is None and self.rule.needs_least:
            floor = resolved(scatter, weight)
        least: Array | float = 0.0 if floor is None else diagonals(floor)
        return LowRank(self.rule.fit(s, weight, least, None if current is None else diagonals(current)))

    def floored(self, cov: Any, least: Array) -> Any:
        v = diagonals(cov)
        low = v < least**2
        if not low.any():
            return cov
        if not self.coupled or self.shared:
            return LowRank(np.where(low, least**2, v))
        raised = LowRank(v)
        for factor in 4.0 * 100.0 ** np.arange(5):
            relative = factor * RELATIVE_FLOOR * v.shape[1] * raised.diagonal.max(axis=0)
            raised = self.apply_floor(raised, LowRank(np.maximum(relative, np.square(least).max(axis=0))))
            if not (raised.diagonal < least**2).any():
                break
        return raised

    def floor_ratio(self, cov: Array | LowRank, floor: Array | LowRank) -> tuple[Array, Array]:
        ratio = diagonals(cov) / self.rule.level(np.sqrt(diagonals(floor))[None]) ** 2
        return ratio, np.zeros((len(cov), 1))

    def equalize(self, least: Array) -> Array:
        return self.rule.level(least)

    def holds(self, cov: Array | LowRank) -> bool:
        v = diagonals(cov)
        if isinstance(cov, LowRank) and not cov.factors:
            return self.rule.holds(v)
        cov = np.asarray(cov)
        apart, spread = np.abs(cov * (1 - np.eye(cov.shape[-1]))), np.sqrt(v)
        return not (apart > TOLERANCE * spread[:, :, None] * spread[:, None, :]).any() and self.rule.holds(v)

    def axes(self, cov: Array) -> tuple[Array, Array]:
        return np.broadcast_to(np.eye(cov.shape[-1]), cov.shape), np.einsum("kii->ki", cov)

    def errors(self, cov: Array, weight: Array) -> Array:
        k, d = cov.shape[:2]
        logs = self.rule.spread(k, d, np.where(weight > 0, weight, np.nan))
        found, place = np.zeros(cov.shape), np.arange(d)
        found[:, place, place] = np.sqrt(logs[:, place, place]) * diagonals(cov)
        return found

    def orientation_variance(self, v: Array, weight: Array) -> Array:
        return np.zeros((*v.shape, v.shape[1]))


class DiagonalEqualVolume(Diagonal):
    """Uncorrelated columns, components of one volume, EVI: some of the columns have any volume."""

    marginal_structure = "VVI"


class Identity(Diagonal):
    """Σ = I, never learned."""

    learned = False

    def __init__(self) -> None:
        """Be as EII is, with nothing to learn."""
        super().__init__("EII")
        self.coupled = self.shared = False
        self.tied_version = "identity"

    def maximise(self, scatter: Any, weight: Array, current: Any, floor: Any) -> Any:
        return LowRank(np.ones(scatter.shape[:-1]))

    def count(self, k: int, d: int) -> int:
        return 0

    def holds(self, cov: Array | LowRank) -> bool:
        if isinstance(cov, LowRank) and not cov.factors:
            return bool((np.abs(cov.diagonal - 1.0) <= TOLERANCE).all())
        return bool((np.abs(np.asarray(cov) - np.eye(cov.shape[-1])) <= TOLERANCE).all())

    def errors(self, cov: Array, weight: Array) -> Array:
        return np.zeros_like(cov)
