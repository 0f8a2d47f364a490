"""Statistics: what a model keeps of the rows. Immutable, and a commutative monoid under ``+``.

``a + b`` merges, ``a * factor`` forgets, ``a - b`` removes rows. Arrays have the components first: (k, d, …).
Second moments are centred, and a mean is held as centre + shift, two floats, so that merging loses no digit.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import reduce
from operator import add
from typing import Any, ClassVar, Protocol, Self, cast

import numpy as np

from suffice.errors import DataError, UnsupportedError
from suffice.numerics.low_rank import LowRank, replace, stored
from suffice.types import Array

Levels = tuple[tuple[Any, ...], ...]  # of each column


class Statistics(Protocol):
    """The contract that all statistics keep."""

    @property
    def exact(self) -> bool:
        """False where parameters were used to gather them: then fitting repeats."""

    @property
    def weight(self) -> Array:
        """Σ w of the cells that were seen, (k,) or (k, d)."""

    def __add__(self, other: Any) -> Self:
        """Merge."""

    def __mul__(self, factor: float) -> Self:
        """Forget: every row counts ``factor`` times as much."""

    def __sub__(self, other: Any) -> Self:
        """Remove rows."""


@dataclass(frozen=True, eq=False, repr=False)
class Additive:
    """What all statistics share: the family that gathered them, ``sum``, equality and a short repr.

    An empty ``family`` is unknown, and mixes with any.
    """

    common_fields: ClassVar[tuple[str, ...]] = ()  # fields that are the same for all components

    family: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        """Make the arrays read-only: what a fit kept does not change under it."""
        own = vars(self)
        for name, value in own.items():
            if isinstance(value, np.ndarray) and value.flags.writeable:
                own[name] = locked = value.view()
                locked.flags.writeable = False

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields, without what was computed from them."""
        return {f.name: stored(self, f.name) for f in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Be read-only after a copy or a pickle, too."""
        self.__dict__.update(state)
        self.__post_init__()

    def tagged(self, family: str) -> Self:
        """The same statistics, as those of a family."""
        found = object.__new__(type(self))
        found.__dict__.update(self.__dict__, family=family)
        return found

    def __rmul__(self, factor: float) -> Self:
        """``factor * statistics``."""
        return cast("Self", cast("Any", self) * factor)

    def __radd__(self, other: int) -> Self:
        """Let ``sum`` begin with its 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        """Equal when of one kind and family with equal numbers."""
        if type(self) is not type(other):
            return NotImplemented
        return all(_same(stored(self, f.name), stored(other, f.name)) for f in fields(self))

    def __hash__(self) -> int:
        """Hash of the kind, the family and the weight."""
        return hash((type(self), self.family, np.asarray(cast("Any", self).weight).tobytes()))

    def __repr__(self) -> str:
        """Show kind, family and weight."""
        weight = np.array2string(
            np.squeeze(cast("Any", self).weight), precision=6, separator=", ", threshold=8, edgeitems=2
        )
        of = f" of {self.family}" if self.family else ""
        return f"<{type(self).__name__}{of}, weight {weight}>".replace("\n", "")


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, np.ndarray) and not isinstance(right, LowRank):
        return bool(np.array_equal(left, right))
    return bool(right == left if isinstance(right, LowRank) else left == right)


def same_kind(left: Any, right: Any) -> None:
    """Refuse to mix statistics of different families, kinds or shapes."""
    mine, theirs = getattr(left, "family", ""), getattr(right, "family", "")
    if mine and theirs and mine != theirs:
        msg = (
            f"cannot combine {type(left).__name__} of {mine} with {type(right).__name__} of {theirs}: statistics merge "
            "only within one model. Gather both with the same prototype."
        )
        raise DataError(msg)
    if type(left) is not type(right) or left.weight.shape != right.weight.shape:
        msg = (
            f"cannot combine {type(left).__name__}{left.weight.shape} with {type(right).__name__}"
            f"{getattr(right, 'weight', np.empty(0)).shape}: statistics merge only within one model of one shape."
        )
        raise DataError(msg)


def refuse_negative(whole: Array, part: Array) -> Array:
    """The weight that a removal leaves: what rounding leaves of the whole is 0, less means rows that were never there.

    Rounding is judged by the whole, so that the unit of the weights does not matter.
    """
    left = whole - part
    if (left < -1e-6 * np.max(np.abs(whole), initial=0.0)).any():
        msg = "cannot remove more rows than were ever added; subtract only statistics of rows that are in the whole."
        raise DataError(msg)
    return np.where(left <= 1e-12 * whole, 0.0, left)


def checked_factor(factor: float) -> float:
    """A factor that statistics may be multiplied by: a finite number of at least 0."""
    if not (isinstance(factor, (int, float, np.number)) and 0 <= factor < np.inf):
        msg = f"statistics are multiplied by a finite number of at least 0; got {factor!r}. Use − to remove rows."
        raise DataError(msg)
    return float(factor)


def share(part: Array, whole: Array) -> Array:
    """``part / whole``, and 0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros(np.broadcast(part, whole).shape), where=whole != 0)


@dataclass(frozen=True, eq=False, repr=False)
class Sums(Additive):
    """Σ w u(x) with the weight Σ w and the base Σ w log h(x).

    weight (k, d), base (k, d), total (k, d, …). With ``exact=False`` they were gathered given parameters, and
    the base is the log-likelihood of those parameters.
    """

    weight: Array
    base: Array
    total: Array
    exact: bool = True

    @property
    def mean(self) -> Array:
        """The mean statistic, 0 where nothing was seen."""
        return share(self.total, self.weight.reshape(self.weight.shape + (1,) * (self.total.ndim - self.weight.ndim)))

    def __add__(self, other: Sums) -> Sums:
        same_kind(self, other)
        return replace(
            self, weight=self.weight + other.weight, base=self.base + other.base, total=self.total + other.total
        )

    def __mul__(self, factor: float) -> Sums:
        factor = checked_factor(factor)
        return replace(self, weight=self.weight * factor, base=self.base * factor, total=self.total * factor)

    def __sub__(self, other: Sums) -> Sums:
        same_kind(self, other)
        if not (self.exact and other.exact):
            msg = (
                "rows cannot be removed from statistics that were gathered given parameters: those parameters already "
                "depend on the rows. Fit again without them."
            )
            raise UnsupportedError(msg)
        weight = refuse_negative(self.weight, other.weight)
        return replace(self, weight=weight, base=self.base - other.base, total=self.total - other.total)


def check_pools(what: str, here: tuple[Levels, Any], there: tuple[Levels, Any]) -> None:
    """Refuse to bring together what pools labels otherwise; each is the levels of every column, and their pool."""
    (mine, pool), (theirs, other) = here, there
    unlike = [(f"pool={pool!r:.40}", f"pool={other!r:.40}")] if pool != other else []
    unlike += [
        (f"levels {list(one)!r:.60}", f"levels {list(two)!r:.60}")
        for one, two in zip(mine, theirs, strict=True)
        if pool is not None and set(one) != set(two)
    ]
    if unlike:
        msg = (
            f"cannot combine {what} with {unlike[0][0]} and with {unlike[0][1]}: a pool counts every label that is "
            "none of its levels, so that the same label is counted in different places. Gather both with the same "
            "prototype."
        )
        raise DataError(msg)


@dataclass(frozen=True, eq=False, repr=False)
class Counts(Additive):
    """How often each level was seen: (k, d, L), with the levels of each column; padding is never counted.

    Statistics that know different levels merge to their union, in the order of first mention. Removing the last row of
    a level removes the level; those that a prototype declares come back with it. Where a level is the ``pool`` of all
    other labels, only statistics of the same levels merge: the pool of others may hold their labels, or lack them.
    """

    count: Array
    levels: tuple[tuple[Any, ...], ...]
    exact: bool = True
    pool: Any = None

    @property
    def weight(self) -> Array:
        """Σ w of the cells seen, (k, d)."""
        return cast("Array", self.count.sum(axis=-1))

    def on(self, levels: tuple[tuple[Any, ...], ...]) -> Array:
        """The counts arranged by other levels, which must contain these."""
        if levels == self.levels:
            return self.count
        width = max(map(len, levels), default=0)
        count = np.zeros((*self.count.shape[:2], width))
        for column, (old, new) in enumerate(zip(self.levels, levels, strict=True)):
            place = {level: index for index, level in enumerate(new)}
            for index, level in enumerate(old):
                count[:, column, place[level]] = self.count[:, column, index]
        return count

    def _aligned(self, other: Counts) -> tuple[tuple[tuple[Any, ...], ...], Array, Array]:
        same_kind(self, other)
        check_pools("Counts of Categorical", (self.levels, self.pool), (other.levels, other.pool))
        if self.levels == other.levels:
            return self.levels, self.count, other.count
        levels = tuple(
            tuple(dict.fromkeys(mine + theirs)) for mine, theirs in zip(self.levels, other.levels, strict=True)
        )
        return levels, self.on(levels), other.on(levels)

    def __add__(self, other: Counts) -> Counts:
        levels, mine, theirs = self._aligned(other)
        return replace(self, count=mine + theirs, levels=levels)

    def __mul__(self, factor: float) -> Counts:
        factor = checked_factor(factor)
        return replace(self, count=self.count * factor)

    def __sub__(self, other: Counts) -> Counts:
        levels, mine, theirs = self._aligned(other)
        left = replace(self, count=refuse_negative(mine, theirs), levels=levels)
        return left._of_rows()

    def _of_rows(self) -> Counts:
        """Without the levels that no row has; a column that lost all its rows keeps its own, for want of others."""
        if self.pool is not None:  # which labels it stands for is known by the levels beside it
            return self
        seen = np.any(self.count, axis=0)
        kept = seen | ~np.any(seen, axis=1, keepdims=True)
        named = [[index for index in range(len(names)) if kept[j, index]] for j, names in enumerate(self.levels)]
        if all(len(some) == len(names) for some, names in zip(named, self.levels, strict=True)):
            return self
        count = np.zeros((*self.count.shape[:2], max(map(len, named), default=0)))
        for j, some in enumerate(named):
            count[:, j, : len(some)] = self.count[:, j, some]
        levels = tuple(tuple(names[i] for i in some) for names, some in zip(self.levels, named, strict=True))
        return replace(self, count=count, levels=levels)


@dataclass(frozen=True, eq=False, repr=False)
class Extremes(Additive):
    """Weight, smallest and largest value of each component and column, all (k, d)."""

    weight: Array
    low: Array
    high: Array
    exact: bool = True

    def __add__(self, other: Extremes) -> Extremes:
        same_kind(self, other)
        return replace(
            self,
            weight=self.weight + other.weight,
            low=np.minimum(self.low, other.low),
            high=np.maximum(self.high, other.high),
        )

    def __mul__(self, factor: float) -> Extremes:
        factor = checked_factor(factor)
        return replace(self, weight=self.weight * factor)

    def __sub__(self, other: Extremes) -> Extremes:
        msg = (
            "rows cannot be removed from a minimum and a maximum: the next smallest and largest values are not kept. "
            "Fit again without the rows."
        )
        raise UnsupportedError(msg)


@dataclass(frozen=True, eq=False, repr=False)
class Parts(Additive):
    """Statistics of several parts side by side: the columns of a product, or the components of a stack."""

    parts: tuple[Any, ...]
    weight: Array
    of_components: bool = False  # one part for each component, rather than for each block of columns

    @property
    def exact(self) -> bool:
        """Exact where every part is."""
        return all(part.exact for part in self.parts)

    def _paired(self, other: Parts) -> zip[tuple[Any, Any]]:
        same_kind(self, other)
        return zip(self.parts, other.parts, strict=True)

    def __add__(self, other: Parts) -> Parts:
        parts = tuple(a + b for a, b in self._paired(other))
        return replace(self, parts=parts, weight=self.weight + other.weight)

    def __mul__(self, factor: float) -> Parts:
        factor = checked_factor(factor)
        return replace(self, parts=tuple(part * factor for part in self.parts), weight=self.weight * factor)

    def __sub__(self, other: Parts) -> Parts:
        parts = tuple(a - b for a, b in self._paired(other))
        return replace(self, parts=parts, weight=refuse_negative(self.weight, other.weight))


def component_statistics(stats: object, index: int) -> Any:
    """The statistics of one component alone, still with a leading axis of length 1."""
    return picked(stats, np.array([index]))


def picked(stats: Any, order: Array) -> Any:
    """The statistics of some components, in this order; what is kept of all together stays."""
    if isinstance(stats, Parts):
        own = tuple(stats.parts[j] for j in order) if stats.of_components else None
        parts = tuple(picked(part, order) for part in stats.parts) if own is None else own
        return replace(stats, parts=parts, weight=stats.weight[order])
    arrays = {f.name: stored(stats, f.name) for f in fields(stats) if f.name not in stats.common_fields}
    k, kinds = len(stats.weight), (np.ndarray, LowRank)
    return replace(stats, **{n: v[order] for n, v in arrays.items() if isinstance(v, kinds) and len(v) == k})


def pooled(stats: Any) -> Any:
    """The statistics of the rows of all components together, with a leading axis of length 1."""
    if isinstance(stats, Parts) and not stats.of_components:
        weight = np.asarray(stats.weight.sum(axis=0, keepdims=True))
        return replace(stats, parts=tuple(map(pooled, stats.parts)), weight=weight)
    if hasattr(stats, "pooled"):
        return stats.pooled()
    return reduce(add, (component_statistics(stats, index) for index in range(len(stats.weight))))


def levelled(stats: Any) -> Any:
    """The statistics of each component with the spread that all rows have about the mean of their own component.

    A component without rows has the mean of all; statistics without a spread are pooled.
    """
    whole = pooled(stats)
    if not hasattr(stats, "scatter"):
        return whole
    shape = (-1,) + (1,) * (stats.scatter.ndim - 1)
    own = np.sum(stats.scatter, axis=0, keepdims=True)
    own = np.where(np.diagonal(own[0]).all() if own.ndim == 3 else own > 0, own, whole.scatter)  # none: of all rows
    empty = stats.weight == 0
    weight, column = np.where(empty, 1.0, stats.weight), empty.reshape(len(empty), -1)
    per_row = own / np.reshape(whole.weight, (1, *np.shape(whole.weight)[1:], *(1,) * (own.ndim - whole.weight.ndim)))
    return replace(
        stats,
        weight=weight,
        centre=np.where(column, whole.mean, stats.centre),
        shift=np.where(column, 0.0, stats.shift),
        scatter=per_row * (weight.reshape(shape) if weight.ndim < own.ndim else weight),
    )
