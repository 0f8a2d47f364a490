"""Covariance structures: objects that know their M-step, their number of parameters and their standard errors.

Σ_k = λ_k D_k A_k D_kᵀ with |A_k| = 1: a volume, a shape and an orientation. Three letters name a structure, each E
(equal in all components), V (variable) or I (the identity): the fourteen models of Banfield and Raftery, Celeux and
Govaert. A rule of :mod:`suffice.distributions.spectra` knows volume and shape; a class here knows one kind of
orientation. A structure is found by its name in ``STRUCTURES``; nothing else asks for the name. Arrays lead with the
components: a scatter is (k, d, d), a weight (k,).

Over 400 lines: fourteen models in one registry, each with its own maximum, floor and count.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from suffice.core.parameters import surely_above
from suffice.distributions import compact_covariance
from suffice.distributions.compact_covariance import RELATIVE_FLOOR
from suffice.distributions.covariance_algebra import (
    built,
    clipped,
    doubtful,
    eigen,
    floored,
    invertible_floor,
    is_round,
    objective,
    objectives,
    positive,
    resolved,
    symmetric,
    whitening,
    with_unseen,
)
from suffice.distributions.orientation import (
    Table,
    common_axes,
    generic_axes,
    generic_mix,
    proportional,
    proportional_above,
)
from suffice.distributions.spectra import SPECTRA, TOLERANCE, Spectrum
from suffice.errors import ParameterError
from suffice.numerics.low_rank import LowRank, broadcast, diagonal, diagonals, summed
from suffice.tables.column_names import guessed
from suffice.types import Array

STRUCTURES: dict[str, Structure] = {}
ON_FLOOR = 1e-4  # relative: variances that are no farther above the floor lie on it
ROUNDING = 1e-14  # of the largest variance, in units of the floor


def structure(name: Any) -> Structure:
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


class Structure:
    """One model of the covariances of all components; the base class is any covariance for each component, VVV."""

    learned: ClassVar[bool] = True
    scatter_kind: ClassVar[str] = "full"  # of the scatter: "full", its "diagonal", or "pooled" over the components
    compact: ClassVar[bool] = True  # takes matrices as `LowRank` too: else they come as arrays
    marginal_structure: ClassVar[str] = ""  # the structure that some of the columns have, where it is another

    def __init__(self, letters: str = "VVV") -> None:
        """Take the letters of volume, shape and orientation."""
        self.letters = letters
        self.rule: Spectrum = SPECTRA[letters[:2]]  # what volume and shape may share
        self.unrestricted = letters == "VVV"  # nothing links components: an inverse Wishart belief stays one
        self.coupled = self.rule.coupled or letters[2] == "E"  # a covariance depends on the rows of other components
        self.equal_volume = letters[0] == "E"
        self.shared = letters[:2] in {"EE", "EI"} and letters[2] != "V"  # all components have one covariance

    def __repr__(self) -> str:
        """Show the letters."""
        return f"<structure {self.letters}>"

    @property
    def tied_version(self) -> Structure:
        """The structure of one covariance for all components."""
        return STRUCTURES["EEE"]

    # ---- the M-step ---------------------------------------------------------------------------------------------
    def m_step(self, scatter: Any, weight: Array, current: Any = None, floor: Any = None) -> Any:
        """The covariances that maximise −½ Σ (weight log|Σ| + tr Σ⁻¹ scatter).

        Parameters
        ----------
        scatter, weight
            (k, d, d) and (k,). Where all components share one covariance, the scatter may be pooled, (1, d, d), and so
            is the answer always.
        current
            The present covariances (k, d, d), from which iterations set out and below which none ends. A component of
            weight 0 scatter_kind of them what it does not share.
        floor
            A matrix (d, d) which no covariance may fall under, in the sense of :meth:`apply_floor`.
        """
        seen = weight > 0
        if not seen.any():
            unit = diagonal(np.ones(scatter.shape[:2]), compact=isinstance(scatter, LowRank))
            return unit if current is None else current[: len(scatter)]
        if not (self.shared or seen.all()):
            scatter, weight = with_unseen(scatter, weight, seen, current)
        if floor is not None and not diagonals(floor).all():  # none in some column: what is told from none
            floor = floor + resolved(scatter, weight)
        found = self.maximise(scatter, weight, current, floor)
        if current is None or not self.coupled or self.shared:
            return found
        try:
            worse = objective(found, scatter, weight) < objective(current, scatter, weight)
        except np.linalg.LinAlgError:  # singular to rounding: a floor that float64 resolves is still to come
            worse = False
        return current if worse and (floor is None or self.above(current, floor)) else found

    def maximise(self, scatter: Any, weight: Array, current: Any, floor: Any) -> Any:
        """The M-step where every component has rows."""
        cov = scatter / weight[:, None, None]
        if floor is None:
            return cov
        if isinstance(cov, LowRank):
            raised = compact_covariance.raised(cov, compact_covariance.least_variances(cov, floor))
            if raised is not None:
                return raised
        scatter, cov, floor = np.asarray(scatter), np.asarray(cov), np.asarray(floor)
        current = None if current is None else np.asarray(current)
        least = invertible_floor(cov, floor)
        found = clipped(cov, least)
        if current is None or found is cov or len(least) < len(cov):
            return found
        return self.not_below(found, current[: len(cov)], scatter, weight, floor)

    def not_below(self, found: Array, current: Array, scatter: Array, weight: Array, floor: Array) -> Array:
        """The covariances found, or those to ``current`` with where they are above the floor and more likely.

        The floor of a covariance that float64 hardly resolves moves with its variances, so that what is best above
        today's floor may be worse than what was above yesterday's.
        """
        ratio, rounding = self.floor_ratio(current, floor)
        allowed = np.asarray((ratio >= 1 - 1e-12 - rounding).all(axis=1))
        if not allowed.any():
            return found
        usable = np.where(allowed[:, None, None], current, found)
        keep = np.asarray(allowed & (objectives(usable, scatter, weight) > objectives(found, scatter, weight)))
        return np.where(keep[:, None, None], current, found)

    def apply_floor(self, cov: Any, floor: Any) -> Any:
        """The covariances of the structure nearest to ``cov`` (k, d, d) with none under ``floor`` (d, d).

        Σ ⪰ floor where each linear map of a structure's covariances has it too; along the axes of the covariances
        otherwise, so that independent columns have at least the variances of the floor. Those that have are returned
        as they are.
        """
        if self.above(cov, floor):
            return cov
        return broadcast(self.maximise(cov, np.ones(len(cov)), cov, floor), cov.shape)

    def above(self, cov: Any, floor: Any) -> bool:
        """Whether no covariance is under the floor, but for rounding."""
        ratio, rounding = self.floor_ratio(cov, floor)
        return bool((ratio >= 1 - 1e-12 - rounding).all())

    def on_floor(self, cov: Any, floor: Any) -> Array:
        """Which components (k,) lie on the floor."""
        ratio, rounding = self.floor_ratio(cov, floor)
        return np.asarray((ratio <= 1 + ON_FLOOR + rounding).any(axis=1))

    def floor_ratio(self, cov: Any, floor: Any) -> tuple[Array, Array]:
        """How many times the floor each variance is (k, d), along the axes that are held; and the blur of rounding.

        Where a root tells that all are well above it, twice the floor is answer enough.
        """
        if isinstance(cov, LowRank):
            ratio = compact_covariance.heights(cov, compact_covariance.least_variances(cov, floor))
            if ratio is not None:
                return ratio, np.zeros((len(cov), 1))
        cov, floor = np.asarray(cov), np.asarray(floor)
        if len(cov) > 1 and cov.strides[0] == 0:  # one covariance for all
            ratio, rounding = self.floor_ratio(cov[:1], floor)
            return np.repeat(ratio, len(cov), axis=0), np.repeat(rounding, len(cov), axis=0)
        least = invertible_floor(cov, floor)
        if surely_above(cov - 2 * least, 0.0):
            return np.full(cov.shape[:2], 2.0), np.zeros((len(cov), 1))
        whiten = whitening(least)[0]
        values = np.linalg.eigvalsh(symmetric(whiten @ cov @ np.swapaxes(whiten, 1, 2)))
        return values, ROUNDING * values[:, -1:]

    def floored(self, cov: Any, least: Array) -> Any:
        """Covariances of the structure that can be inverted; ``least`` (k, d) are standard deviations."""
        if isinstance(cov, LowRank):
            found = compact_covariance.floored(cov, least)
            if found is not None and (found is cov or not self.coupled or self.shared):
                return found
            cov = cov.dense()
        mended = floored(cov, least)
        if mended is cov or not self.coupled or self.shared:
            return mended
        for factor in 4.0 * 100.0 ** np.arange(5):
            relative = factor * RELATIVE_FLOOR * cov.shape[-1] * np.einsum("kii->ki", cov).max(axis=0)
            cov = self.apply_floor(cov, np.diag(np.maximum(relative, np.square(least).max(axis=0))))
            if floored(cov, least) is cov:
                break
        return cov

    # ---- what is known of it ------------------------------------------------------------------------------------
    def count(self, k: int, d: int) -> int:
        """Number of free parameters."""
        angles = d * (d - 1) // 2
        return self.rule.count(k, d) + {"I": 0, "E": 1, "V": k}[self.letters[2]] * angles

    def equalize(self, least: Array) -> Array:
        """The least standard deviations (k, d), made equal where the structure makes variances equal."""
        return least

    def holds(self, cov: Array) -> bool:
        """Whether covariances (k, d, d) have the structure."""
        return True

    def errors(self, cov: Array, weight: Array) -> Array:
        """Standard error of every entry, from the expected information of the structure's own parameters."""
        variances = np.einsum("kii->ki", cov)
        rows = np.where(weight > 0, weight, np.nan)[:, None, None]
        return np.asarray(np.sqrt((cov**2 + variances[:, :, None] * variances[:, None, :]) / rows))


class EigenDecomposed(Structure):
    """Covariances that are known by their axes and the variances along them."""

    compact = False

    def axes(self, cov: Array) -> tuple[Array, Array]:
        """The axes (k, d, d) of the components and the variances (k, d) along them."""
        values, vectors = eigen(cov)
        return vectors, values

    def orientation_variance(self, v: Array, weight: Array) -> Array:
        """The variance of the covariance of each pair of axes, (k, d, d): what is not known of the orientation."""
        return np.asarray(v[:, :, None] * v[:, None, :] / weight[:, None, None])

    def errors(self, cov: Array, weight: Array) -> Array:
        k, d = cov.shape[:2]
        weight = np.where(weight > 0, weight, np.nan)
        vectors, v = self.axes(cov)
        about_axes = np.where(np.eye(d, dtype=bool), 0.0, self.orientation_variance(v, weight))
        both = self.rule.spread(k, d, weight) * v[:, :, None] * v[:, None, :] + about_axes
        pairs = vectors[:, :, None, :] * vectors[:, None, :, :]  # entry (a, b) by axis
        variance = np.einsum("kabi,kabi->kab", (pairs.reshape(k, d * d, d) @ both).reshape(pairs.shape), pairs)
        squares = vectors**2
        return np.asarray(np.sqrt(variance + squares @ about_axes @ np.swapaxes(squares, 1, 2)))


class Diagonal(EigenDecomposed):
    """Uncorrelated columns."""

    scatter_kind = "diagonal"
    compact = True

    @property
    def tied_version(self) -> Structure:
        return STRUCTURES["EII" if self.letters[1] == "I" else "EEI"]

    def m_step(self, scatter: Any, weight: Array, current: Any = None, floor: Any = None) -> Any:
        """On diagonals alone."""
        start = None if current is None else LowRank(diagonals(current))
        return super().m_step(LowRank(diagonals(scatter)), weight, start, floor)

    def maximise(self, scatter: Any, weight: Array, current: Any, floor: Any) -> Any:
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

    def floor_ratio(self, cov: Any, floor: Any) -> tuple[Array, Array]:
        ratio = diagonals(cov) / self.rule.level(np.sqrt(diagonals(floor))[None]) ** 2
        return ratio, np.zeros((len(cov), 1))

    def equalize(self, least: Array) -> Array:
        return self.rule.level(least)

    def holds(self, cov: Any) -> bool:
        v = diagonals(cov)
        if isinstance(cov, LowRank) and not cov.factors:
            return self.rule.holds(v)
        cov = np.asarray(cov)
        apart, spread = np.abs(cov * (1 - np.eye(cov.shape[-1]))), np.sqrt(v)
        return not (apart > TOLERANCE * spread[:, :, None] * spread[:, None, :]).any() and self.rule.holds(v)

    def axes(self, cov: Array) -> tuple[Array, Array]:
        return np.broadcast_to(np.eye(cov.shape[-1]), cov.shape), np.einsum("kii->ki", cov)

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

    @property
    def tied_version(self) -> Structure:
        return self

    def maximise(self, scatter: Any, weight: Array, current: Any, floor: Any) -> Any:
        return LowRank(np.ones(scatter.shape[:-1]))

    def count(self, k: int, d: int) -> int:
        return 0

    def holds(self, cov: Any) -> bool:
        if isinstance(cov, LowRank) and not cov.factors:
            return bool((np.abs(cov.diagonal - 1.0) <= TOLERANCE).all())
        return bool((np.abs(np.asarray(cov) - np.eye(cov.shape[-1])) <= TOLERANCE).all())

    def errors(self, cov: Array, weight: Array) -> Array:
        return np.zeros_like(cov)


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

    def holds(self, cov: Any) -> bool:
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
STRUCTURES |= {"full": _MADE["VVV"], "diag": _MADE["VVI"], "spherical": _MADE["VII"], "identity": Identity()}
STRUCTURES |= {"tied": _MADE["EEE"], **_MADE}
