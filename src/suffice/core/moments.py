"""Means and second moments: centred, merged by Chan, Golub and LeVeque, a mean held as centre + shift, two floats."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice.core.errors import UnsupportedError
from suffice.core.parameters import Array
from suffice.core.statistics import Additive, checked_factor, refuse_negative, same_kind, share


def _merged_centre(left: Any, right: Any, left_weight: Array, right_weight: Array) -> tuple[Array, Array, Array]:
    """Centre and shift of the union, and the distance between the two means; exact where one side is empty."""
    delta = (right.centre - left.centre) + (right.shift - left.shift)
    delta = np.where((left_weight == 0) | (right_weight == 0), 0.0, delta)
    centre = np.where(left_weight == 0, right.centre, left.centre)
    shift = np.where(left_weight == 0, right.shift, left.shift)
    return centre, shift + delta * share(right_weight, left_weight + right_weight), delta


@dataclass(frozen=True, eq=False, repr=False)
class Moments(Additive):
    """Weight, mean (centre + shift) and Σ w (x − mean)² of each member and column, all (k, d)."""

    weight: Array
    centre: Array
    shift: Array
    scatter: Array
    exact: bool = True

    @property
    def mean(self) -> Array:
        """The mean, 0 where nothing was seen."""
        return self.centre + self.shift

    @property
    def var(self) -> Array:
        """The variance with divisor Σ w."""
        return share(self.scatter, self.weight)

    def about(self, point: Array) -> Array:
        """The mean of (x − point)²."""
        return np.asarray(self.var + ((self.centre - point) + self.shift) ** 2)

    def pooled(self) -> Moments:
        """Those of the rows of all members together."""
        weight = self.weight.sum(axis=0, keepdims=True)
        away = (self.centre - self.centre[:1]) + self.shift
        mean = share((self.weight * away).sum(axis=0, keepdims=True), weight)
        within = (self.scatter + self.weight * np.square(away - mean)).sum(axis=0, keepdims=True)
        return replace(self, weight=weight, centre=self.centre[:1], shift=mean, scatter=within)

    def __add__(self, other: Moments) -> Moments:
        same_kind(self, other)
        centre, shift, delta = _merged_centre(self, other, self.weight, other.weight)
        weight = self.weight + other.weight
        between = delta**2 * self.weight * share(other.weight, weight)
        return replace(self, weight=weight, centre=centre, shift=shift, scatter=self.scatter + other.scatter + between)

    def __mul__(self, factor: float) -> Moments:
        factor = checked_factor(factor)
        return replace(self, weight=self.weight * factor, scatter=self.scatter * factor)

    def __sub__(self, other: Moments) -> Moments:
        same_kind(self, other)
        weight = refuse_negative(self.weight, other.weight)
        delta = (other.centre - self.centre) + (other.shift - self.shift)
        kept = weight > 0
        shift = np.where(kept, self.shift - delta * share(other.weight, weight), 0.0)
        between = delta**2 * other.weight * share(self.weight, weight)
        scatter = np.where(kept, np.maximum(self.scatter - other.scatter - between, 0.0), 0.0)
        return replace(self, weight=weight, centre=np.where(kept, self.centre, 0.0), shift=shift, scatter=scatter)


@dataclass(frozen=True, eq=False, repr=False)
class Scatter(Additive):
    """Weight (k,), mean (k, d) as centre + shift, and the matrix Σ w (x − mean)(x − mean)ᵀ (k, d, d).

    An E-step keeps what its members need: only the ``diagonal`` of the matrices, or only their sum, (1, d, d). Where
    rows had holes, they are expected given parameters, and not ``exact``: ``entropy`` (k,) is that of the cells which
    were not seen, and ``seen`` (k, d, d) the weight of the rows in which both of two columns were, as far as is kept.
    """

    weight: Array
    centre: Array
    shift: Array
    scatter: Array
    exact: bool = True
    diagonal: bool = False
    entropy: Array | None = None
    seen: Array | None = None

    @property
    def mean(self) -> Array:
        """The mean, 0 where nothing was seen."""
        return self.centre + self.shift

    @property
    def cells(self) -> Array:
        """Σ w of the cells that were seen, (k, d)."""
        return np.asarray(np.einsum("kii->ki", self.pairs))

    @property
    def pairs(self) -> Array:
        """Σ w of the rows in which both of two columns were seen, (k, d, d)."""
        d = self.centre.shape[1]
        whole = np.broadcast_to(self.weight[:, None, None], (len(self.weight), d, d))
        return whole if self.seen is None else self.seen

    @property
    def hidden(self) -> Array:
        """The entropy of the cells that were not seen, (k,)."""
        return np.zeros(len(self.weight)) if self.entropy is None else self.entropy

    def about(self, point: Array) -> Array:
        """Σ w (x − point)(x − point)ᵀ."""
        return self.scatter + self._between(self.weight, (self.centre - point) + self.shift)

    def _between(self, weight: Array, away: Array) -> Array:
        """Σ w away awayᵀ, as far as the scatter is kept."""
        between = (weight[:, None] * away)[:, :, None] * away[:, None, :]
        between = between * np.eye(away.shape[1]) if self.diagonal else between
        return between.sum(axis=0, keepdims=True) if len(self.scatter) < len(weight) else between

    def pooled(self) -> Scatter:
        """Those of the rows of all members together."""
        weight = self.weight.sum(keepdims=True)
        away = (self.centre - self.centre[:1]) + self.shift
        mean = share((self.weight[:, None] * away).sum(axis=0, keepdims=True), weight[:, None])
        within = self.scatter + self._between(self.weight, away - mean)
        return replace(
            self,
            weight=weight,
            centre=self.centre[:1],
            shift=mean,
            scatter=within.sum(axis=0, keepdims=True),
            entropy=None if self.entropy is None else self.entropy.sum(keepdims=True),
            seen=None if self.seen is None else self.seen.sum(axis=0, keepdims=True),
        )

    def kept_as(self, other: Scatter) -> Scatter:
        """No more of the scatter than ``other`` keeps."""
        scatter = self.scatter * np.eye(self.scatter.shape[-1]) if other.diagonal > self.diagonal else self.scatter
        pooled = len(other.scatter) < len(scatter)
        scatter = scatter.sum(axis=0, keepdims=True) if pooled else scatter
        return self if scatter is self.scatter else replace(self, scatter=scatter, diagonal=other.diagonal)

    def __add__(self, other: Scatter) -> Scatter:
        same_kind(self, other)
        mine, theirs = self.kept_as(other), other.kept_as(self)
        left, right = self.weight[:, None], other.weight[:, None]
        centre, shift, delta = _merged_centre(self, other, left, right)
        weight = self.weight + other.weight
        between = mine._between(self.weight * share(other.weight, weight), delta)
        whole = replace(
            mine, weight=weight, centre=centre, shift=shift, scatter=mine.scatter + theirs.scatter + between
        )
        if self.exact and other.exact:
            return whole
        return replace(whole, exact=False, entropy=self.hidden + other.hidden, seen=self.pairs + other.pairs)

    def __mul__(self, factor: float) -> Scatter:
        factor = checked_factor(factor)
        part = replace(self, weight=self.weight * factor, scatter=self.scatter * factor)
        return part if self.exact else replace(part, entropy=self.hidden * factor, seen=self.pairs * factor)

    def __sub__(self, other: Scatter) -> Scatter:
        same_kind(self, other)
        if not (self.exact and other.exact):
            msg = (
                "rows cannot be removed from statistics in which cells were missing: what was expected of those cells "
                "was learned from the rows. Fit again without them."
            )
            raise UnsupportedError(msg)
        mine, theirs = self.kept_as(other), other.kept_as(self)
        weight = refuse_negative(self.weight, other.weight)
        kept = (weight > 0)[:, None]
        delta = (other.centre - self.centre) + (other.shift - self.shift)
        shift = np.where(kept, self.shift - delta * share(other.weight, weight)[:, None], 0.0)
        between = mine._between(other.weight * share(self.weight, weight), delta)
        scatter = mine.scatter - theirs.scatter - between
        scatter = np.where(kept[:, :, None] if len(scatter) == len(kept) else kept.any(), scatter, 0.0)
        return replace(mine, weight=weight, centre=np.where(kept, self.centre, 0.0), shift=shift, scatter=scatter)
