"""One covariance structure: its M-step above a floor, its number of parameters and its standard errors.

Arrays lead with the components: a scatter is (k, d, d), a weight (k,). The base class is any covariance for each
component; :mod:`suffice.distributions.covariance_structures` has the fourteen by name.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from suffice.core.parameters import surely_above
from suffice.distributions import compact_covariance
from suffice.distributions.compact_covariance import RELATIVE_FLOOR
from suffice.distributions.covariance_algebra import (
    clipped,
    eigen,
    floored,
    invertible_floor,
    objective,
    objectives,
    resolved,
    symmetric,
    whitening,
    with_unseen,
)
from suffice.distributions.spectra import SPECTRA, Spectrum
from suffice.numerics.low_rank import LowRank, broadcast, diagonal, diagonals
from suffice.types import Array

ON_FLOOR = 1e-4  # relative: variances that are no farther above the floor lie on it
ROUNDING = 1e-14  # of the largest variance, in units of the floor


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
        self.closed_form = self.unrestricted and type(self).maximise is Structure.maximise  # the M-step is a quotient
        self.coupled = self.rule.coupled or letters[2] == "E"  # a covariance depends on the rows of other components
        self.equal_volume = letters[0] == "E"
        self.shared = letters[:2] in {"EE", "EI"} and letters[2] != "V"  # all components have one covariance
        self.tied_version = "EEE"  # the structure of one covariance for all components

    def __repr__(self) -> str:
        """Show the letters."""
        return f"<structure {self.letters}>"

    # ---- the M-step ---------------------------------------------------------------------------------------------
    def m_step(
        self,
        scatter: Array | LowRank,
        weight: Array,
        current: Array | LowRank | None = None,
        floor: Array | LowRank | None = None,
    ) -> Any:
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

    def apply_floor(self, cov: Array | LowRank, floor: Any) -> Any:
        """The covariances of the structure nearest to ``cov`` (k, d, d) with none under ``floor`` (d, d).

        Σ ⪰ floor where each linear map of a structure's covariances has it too; along the axes of the covariances
        otherwise, so that independent columns have at least the variances of the floor. Those that have are returned
        as they are.
        """
        if self.above(cov, floor):
            return cov
        return broadcast(self.maximise(cov, np.ones(len(cov)), cov, floor), cov.shape)

    def above(self, cov: Array | LowRank, floor: Array | LowRank) -> bool:
        """Whether no covariance is under the floor, but for rounding."""
        ratio, rounding = self.floor_ratio(cov, floor)
        return bool((ratio >= 1 - 1e-12 - rounding).all())

    def on_floor(self, cov: Array | LowRank, floor: Any) -> Array:
        """Which components (k,) lie on the floor."""
        ratio, rounding = self.floor_ratio(cov, floor)
        return np.asarray((ratio <= 1 + ON_FLOOR + rounding).any(axis=1))

    def floor_ratio(self, cov: Any, floor: Any) -> tuple[Array, Array]:
        """How many times the floor each variance is (k, d), along the axes that are held; and the blur of rounding.

        Where a root tells that all are well above it, twice the floor is answer enough.
        """
        if isinstance(cov, LowRank):
            ratio = compact_covariance.variance_ratios(cov, compact_covariance.least_variances(cov, floor))
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
        variance = np.empty_like(cov)
        for a in range(d):  # entries (a, b) by axis, one row at a time: (k, d, d)
            pairs = vectors[:, a, None, :] * vectors
            variance[:, a] = np.einsum("kbi,kbi->kb", pairs @ both, pairs)
        squares = vectors**2
        return np.asarray(np.sqrt(variance + squares @ about_axes @ np.swapaxes(squares, 1, 2)))
