"""Means and second moments: centred, merged by Chan, Golub and LeVeque, a mean held as centre + shift, two floats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.engines.once import cached_property
from suffice.errors import UnsupportedError
from suffice.numerics.low_rank import LowRank, OnDemand, all_finite, diagonals, replace, summed
from suffice.statistics.sums import Additive, checked_factor, refuse_negative, same_kind, share
from suffice.types import Array


def _merged_centre(left: Any, right: Any, left_weight: Array, right_weight: Array) -> tuple[Array, Array, Array]:
    """Centre and shift of the union, and the distance between the two means; exact where one side is empty."""
    delta = (right.centre - left.centre) + (right.shift - left.shift)
    delta = np.where((left_weight == 0) | (right_weight == 0), 0.0, delta)
    centre = np.where(left_weight == 0, right.centre, left.centre)
    shift = np.where(left_weight == 0, right.shift, left.shift)
    return centre, shift + delta * share(right_weight, left_weight + right_weight), delta


@dataclass(frozen=True, eq=False, repr=False)
class Moments(Additive):
    """Weight, mean (centre + shift) and Σ w (x − mean)² of each component and column, all (k, d)."""

    weight: Array
    centre: Array
    shift: Array
    scatter: Array
    exact: bool = True

    @property
    def mean(self) -> Array:
        """The mean, 0 where nothing was seen."""
        return self.centre + self.shift

    @cached_property
    def var(self) -> Array:
        """The variance with divisor Σ w."""
        return share(self.scatter, self.weight)

    def about(self, point: Array) -> Array:
        """The mean of (x − point)²."""
        return np.asarray(self.var + ((self.centre - point) + self.shift) ** 2)

    def pooled(self) -> Moments:
        """Those of the rows of all components together."""
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

    An E-step keeps what its components need: only the ``diagonal`` of the matrices, or only their sum, (1, d, d). Where
    rows had holes, they are expected given parameters, and not ``exact``: ``entropy`` (k,) is that of the cells which
    were not seen, and ``seen`` (k, d, d) the weight of the rows in which both of two columns were, as far as is kept.
    Of many columns, ``kept`` is what is kept of the scatter: diagonals, or a few rows that make it, as `LowRank`.
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
        return np.array(diagonals(self._pairs))

    @property
    def pairs(self) -> Array:
        """Σ w of the rows in which both of two columns were seen, (k, d, d)."""
        return np.asarray(self._pairs)

    @property
    def _pairs(self) -> Any:
        if self.__dict__["seen"] is not None:
            return self.__dict__["seen"]
        if isinstance(self.kept, LowRank) and self.diagonal:
            return LowRank(np.broadcast_to(self.weight[:, None], self.centre.shape))
        d = self.centre.shape[1]
        return np.broadcast_to(self.weight[:, None, None], (len(self.weight), d, d))

    @property
    def kept(self) -> Any:
        """The scatter as it is kept: matrices (k, d, d), or a `LowRank`."""
        return self.__dict__["scatter"]

    @property
    def variances(self) -> Array:
        """Σ w (x − mean)² of each column, (k, d) or (1, d)."""
        return diagonals(self.kept)

    @property
    def finite(self) -> bool:
        """Whether the scatter is."""
        return all_finite(self.__dict__["scatter"])

    @property
    def hidden(self) -> Array:
        """The entropy of the cells that were not seen, (k,)."""
        return np.zeros(len(self.weight)) if self.entropy is None else self.entropy

    def about(self, point: Array) -> Any:
        """Σ w (x − point)(x − point)ᵀ, as far as the scatter is kept."""
        return self._with(self.weight, (self.centre - point) + self.shift)

    def _with(self, weight: Array, away: Array) -> Any:
        """The scatter and Σ w away awayᵀ."""
        kept = self.__dict__["scatter"]
        if not isinstance(kept, LowRank):
            return kept + self._between(weight, away)
        pooled = len(kept) < len(weight)
        if self.diagonal:
            squares = weight[:, None] * away**2
            more = LowRank(squares.sum(axis=0, keepdims=True) if pooled else squares)
            return kept.plus(more)
        rows = np.sqrt(weight)[:, None] * away
        if pooled:
            return kept.with_rows([rows[rows.any(axis=1)]])
        return kept.with_rows([one[None][: int(one.any())] for one in rows])

    def _between(self, weight: Array, away: Array) -> Array:
        """Σ w away awayᵀ, as far as the scatter is kept."""
        between = (weight[:, None] * away)[:, :, None] * away[:, None, :]
        between = between * np.eye(away.shape[1]) if self.diagonal else between
        return between.sum(axis=0, keepdims=True) if len(self.__dict__["scatter"]) < len(weight) else between

    def pooled(self) -> Scatter:
        """Those of the rows of all components together."""
        weight = self.weight.sum(keepdims=True)
        away = (self.centre - self.centre[:1]) + self.shift
        mean = share((self.weight[:, None] * away).sum(axis=0, keepdims=True), weight[:, None])
        within = self._with(self.weight, away - mean)
        return replace(
            self,
            weight=weight,
            centre=self.centre[:1],
            shift=mean,
            scatter=summed(within),
            entropy=None if self.entropy is None else self.entropy.sum(keepdims=True),
            seen=None if self.__dict__["seen"] is None else summed(self._pairs),
        )

    def kept_as(self, other: Scatter) -> Scatter:
        """No more of the scatter than ``other`` keeps."""
        scatter, diagonal = self.kept, self.diagonal or other.diagonal
        if diagonal and not (self.diagonal and isinstance(scatter, LowRank)):
            scatter = LowRank(self.variances)
        elif not diagonal and isinstance(scatter, LowRank) and not isinstance(other.kept, LowRank):
            scatter = scatter.dense()
        scatter = summed(scatter) if len(other.kept) < len(scatter) else scatter
        return self if scatter is self.kept else replace(self, scatter=scatter, diagonal=diagonal)

    def __add__(self, other: Scatter) -> Scatter:
        same_kind(self, other)
        mine, theirs = self.kept_as(other), other.kept_as(self)
        left, right = self.weight[:, None], other.weight[:, None]
        centre, shift, delta = _merged_centre(self, other, left, right)
        weight = self.weight + other.weight
        both = replace(mine, scatter=mine.kept + theirs.kept)._with(self.weight * share(other.weight, weight), delta)
        whole = replace(mine, weight=weight, centre=centre, shift=shift, scatter=both)
        if self.exact and other.exact:
            return whole
        seen = self._pairs + other._pairs if not whole.diagonal else LowRank(self.cells + other.cells)
        return replace(whole, exact=False, entropy=self.hidden + other.hidden, seen=seen)

    def __mul__(self, factor: float) -> Scatter:
        factor = checked_factor(factor)
        part = replace(self, weight=self.weight * factor, scatter=self.kept * factor)
        return part if self.exact else replace(part, entropy=self.hidden * factor, seen=self._pairs * factor)

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
        lost = other.weight * share(self.weight, weight)
        if mine.diagonal and isinstance(mine.kept, LowRank):
            squares = lost[:, None] * delta**2
            squares = squares.sum(axis=0, keepdims=True) if len(mine.kept) < len(kept) else squares
            scatter: Any = np.maximum(mine.variances - theirs.variances - squares, 0.0)
            scatter = LowRank(np.where(kept if len(scatter) == len(kept) else kept.any(), scatter, 0.0))
        else:  # of a low rank this is a difference, and has to be taken as a whole
            scatter = mine.scatter - theirs.scatter - mine._between(lost, delta)
            scatter = np.where(kept[:, :, None] if len(scatter) == len(kept) else kept.any(), scatter, 0.0)
        return replace(mine, weight=weight, centre=np.where(kept, self.centre, 0.0), shift=shift, scatter=scatter)


for _name in ("scatter", "seen"):
    setattr(Scatter, _name, OnDemand(_name))
