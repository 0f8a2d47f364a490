"""The fourteen covariance structures, by name.

Σ_k = λ_k D_k A_k D_kᵀ with |A_k| = 1: a volume, a shape and an orientation. Three letters name a structure, each E
(equal in all components), V (variable) or I (the identity): the fourteen models of Banfield and Raftery (1993) and
Celeux and Govaert (1995). A rule of :mod:`suffice.distributions.spectra` knows volume and shape; a class here, in
:mod:`suffice.distributions.diagonal_structures` or in :mod:`suffice.distributions.structure_base`, one kind of
orientation. A structure is found by its name in ``STRUCTURES``; nothing else asks for the name.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from suffice.distributions.covariance_algebra import (
    built,
    doubtful,
    eigen,
    is_round,
    positive,
    resolved,
    symmetric,
)
from suffice.distributions.diagonal_structures import Diagonal, DiagonalEqualVolume, Identity
from suffice.distributions.orientation import (
    Table,
    common_axes,
    generic_axes,
    generic_mix,
    proportional,
    proportional_above,
)
from suffice.distributions.spectra import TOLERANCE
from suffice.distributions.structure_base import ROUNDING, EigenDecomposed, Structure
from suffice.errors import ParameterError
from suffice.numerics.low_rank import LowRank, summed
from suffice.tables.column_names import guessed
from suffice.types import Array


def structure(name: Hashable) -> Structure:
    """The structure of that name."""
    if not isinstance(name, str) or name not in STRUCTURES:
        known = ", ".join(map(repr, STRUCTURES))
        guess = guessed(name, STRUCTURES)
        msg = f"MultivariateNormal: structure must be one of {known}; got {name!r:.40}. {guess}".rstrip()
        raise ParameterError(msg)
    return STRUCTURES[name]


def floor_ratio_along(vectors: Array, v: Array, floor: Array) -> tuple[Array, Array]:
    """How many times the floor the variances (k, d) along axes (k, d, d) are; and how far rounding blurs that."""
    least = np.einsum("kia,ij,kja->ka", vectors, floor, vectors)
    ratio = v / least
    return ratio, ROUNDING * ratio.max(axis=1, keepdims=True)


class VariableOrientation(EigenDecomposed):
    """Each component has its own axes; EEV, VEV: the scatter's, the longest with the longest."""

    marginal_structure = "VVV"

    def maximise(self, scatter: Array, weight: Array, current: Array | None, floor: Array | None) -> Array:
        floor = resolved(scatter, weight) if floor is None else floor
        s, vectors = eigen(scatter)
        least = np.einsum("kia,ij,kja->ka", vectors, floor, vectors)
        guess = None if current is None else eigen(current)[0]
        return built(vectors, self.rule.fit(np.maximum(s, 0.0), weight, least, guess))

    def holds(self, cov: Array) -> bool:
        v = np.linalg.eigvalsh(cov)
        return self.rule.holds(*doubtful(v))

    def floor_ratio(self, cov: Array, floor: Array) -> tuple[Array, Array]:
        return floor_ratio_along(*self.axes(cov), floor)


class EqualVolume(VariableOrientation):
    """Components of one volume and nothing else in common, EVV: whatever the units of the columns."""

    floor_ratio = Structure.floor_ratio

    def maximise(self, scatter: Array, weight: Array, current: Array | None, floor: Array | None) -> Array:
        floor = resolved(scatter, weight) if floor is None else floor
        lower = np.linalg.cholesky(floor)
        inverse = np.linalg.inv(lower)
        s, vectors = np.linalg.eigh(inverse @ scatter @ inverse.T)
        return symmetric(lower @ built(vectors, self.rule.fit(np.maximum(s, 0.0), weight, 1.0)) @ lower.T)

    def holds(self, cov: Array) -> bool:
        unit = np.sqrt(np.einsum("kii->i", cov))
        return super().holds(cov / (unit[:, None] * unit))


class EqualOrientation(EigenDecomposed):
    """All components have the same axes, EVE and VVE: common principal components."""

    marginal_structure = "VVV"

    def maximise(self, scatter: Array, weight: Array, current: Array | None, floor: Array | None) -> Array:
        floor = resolved(scatter, weight) if floor is None else floor
        tiny = resolved(scatter, weight)
        within = positive(scatter) + weight[:, None, None] * tiny  # so that no axis has none
        known = None if current is None or is_round(current) else generic_axes(current)
        vectors = common_axes(Table(within, weight, self.rule, tiny), known)
        s = np.maximum(np.einsum("kij,ia,ja->ka", scatter, vectors, vectors), 0.0)
        least = np.einsum("ia,ij,ja->a", vectors, floor, vectors)
        return built(vectors[None], self.rule.fit(s, weight, least))

    def holds(self, cov: Array) -> bool:
        mixed = generic_mix(cov)
        product = cov @ mixed
        limit = TOLERANCE * np.einsum("kii->k", cov) * np.trace(mixed)
        if (np.abs(product - np.swapaxes(product, 1, 2)).max(axis=(1, 2)) > limit).any():
            return False
        return not self.rule.coupled or self.rule.holds(*doubtful(np.linalg.eigvalsh(cov)))

    def axes(self, cov: Array) -> tuple[Array, Array]:
        vectors = generic_axes(cov)
        return np.broadcast_to(vectors, cov.shape), np.einsum("kij,ia,ja->ka", cov, vectors, vectors)

    def orientation_variance(self, v: Array, weight: Array) -> Array:
        squares = (v[:, :, None] - v[:, None, :]) ** 2
        known = np.nansum(weight[:, None, None] * squares / (v[:, :, None] * v[:, None, :]), axis=0)
        return np.asarray(np.where(known > 0, squares / np.where(known > 0, known, 1.0), 0.0))

    def floor_ratio(self, cov: Array, floor: Array) -> tuple[Array, Array]:
        return floor_ratio_along(*self.axes(cov), floor)


class Proportional(EqualOrientation):
    """One covariance up to a factor for each component, VEE."""

    marginal_structure = ""
    floor_ratio = Structure.floor_ratio

    def maximise(self, scatter: Array, weight: Array, current: Array | None, floor: Array | None) -> Array:
        scatter, floor = positive(scatter), resolved(scatter, weight) if floor is None else floor
        cov, exact = self.most_likely(scatter, weight, current, np.sqrt(np.diag(floor)))
        lower = np.linalg.cholesky(floor)
        inverse = np.linalg.inv(lower)
        inner, cov = (symmetric(inverse @ matrix @ inverse.T) for matrix in (scatter, cov))
        above = exact and bool((np.linalg.eigvalsh(cov) >= 1).all())
        return symmetric(lower @ (cov if above else proportional_above(inner, weight, cov)) @ lower.T)

    def most_likely(self, scatter: Array, weight: Array, current: Array | None, unit: Array) -> tuple[Array, bool]:
        """The M-step without a floor, in units (d,) of the least deviations; and whether it has a maximum.

        Where it has none, it is that of a scatter with a unit of deviation in each direction.
        """
        outer, one = unit[:, None] * unit, np.eye(len(unit))
        inner = scatter / outer
        flat = np.linalg.eigvalsh(inner.sum(axis=0))[0] < weight.sum() or (np.einsum("kii->k", inner) < weight).any()
        inner = inner + weight[:, None, None] * one if flat else inner
        first = inner.sum(axis=0) / weight.sum() if current is None else current[int(np.argmax(weight))] / outer
        volume, shape = proportional(inner, weight, first)
        return np.asarray(volume[:, None, None] * shape * outer), not flat

    def holds(self, cov: Array) -> bool:
        spread = np.einsum("kii->ki", cov)
        if not self.rule.holds(spread):
            return False
        root = np.sqrt(spread)
        shape = cov / (root[:, :, None] * root[:, None, :])
        return bool((np.abs(shape - shape[0]) <= TOLERANCE).all())


class Tied(Structure):
    """One covariance, any, for all components: EEE."""

    scatter_kind = "pooled"

    def maximise(self, scatter: Any, weight: Array, current: Any, floor: Any) -> Any:
        return super().maximise(summed(scatter), weight.sum(keepdims=True), current, floor)

    def equalize(self, least: Array) -> Array:
        return self.rule.level(least)

    def holds(self, cov: Array | LowRank) -> bool:
        if isinstance(cov, LowRank):
            if cov.shared:
                return True
            cov = cov.dense()
        spread = np.sqrt(np.einsum("kii->ki", cov))
        limit = TOLERANCE * spread[:, :, None] * spread[:, None, :]
        return bool((np.abs(cov - cov[0]) <= limit).all())

    def errors(self, cov: Array, weight: Array) -> Array:
        return super().errors(cov, np.broadcast_to(weight.sum(), weight.shape))


MODELS: dict[type[Structure], str] = {
    Diagonal: "EII VII EEI VEI VVI",
    DiagonalEqualVolume: "EVI",
    Tied: "EEE",
    Proportional: "VEE",
    EqualOrientation: "EVE VVE",
    VariableOrientation: "EEV VEV",
    EqualVolume: "EVV",
    Structure: "VVV",
}
_MADE = {letters: kind(letters) for kind, names in MODELS.items() for letters in names.split()}
STRUCTURES: dict[str, Structure] = {
    "full": _MADE["VVV"],
    "diag": _MADE["VVI"],
    "spherical": _MADE["VII"],
    "identity": Identity(),
}
STRUCTURES |= {"tied": _MADE["EEE"], **_MADE}
