"""What the rules ask of columns of numbers, gathered from some rows and added.

Rows come in batches that a processor's cache holds. Of each batch only that is looked at which can still matter given
what other rows have shown (`Hint`): a column with a negative number needs no logarithms, one whose first numbers have
many decimals is not searched for a unit. A hint spares work and never changes an answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from suffice import kernels
from suffice.core.moments import Moments
from suffice.core.parameters import Array
from suffice.core.statistics import Sums
from suffice.frames import rules
from suffice.frames.rules import FEW, FINEST, FIRST, HANDFUL, POSITIVE, REPEATS, Finding

KEPT = 1 << 22  # values that are remembered to see whether one comes again
GLIMPSE = 1 << 12  # values that mostly show that some come again
NARROW = 1 << 16  # whole numbers in so short a range are counted rather than sorted
ANY = (1 << FINEST + 1) - 1  # numbers of decimals that are possible, as bits
WHOLE = 1  # of them: none


class Unshaped(Exception):  # noqa: N818 (no error: the rows are looked at once more)
    """Rows were thought to be counts or labels, and their shape is asked for after all."""


@dataclass(frozen=True)
class Hint:
    """What rows have shown that no others can undo; ``rows`` are all that there are, of every kind."""

    rows: int
    low: float = np.inf
    high: float = -np.inf
    decimals: int = ANY
    few: bool = True
    alone: bool = True
    shaped: bool = False  # the shape is wanted even where it need not be

    def after(self, found: Numbers) -> Hint:
        """The same with more rows."""
        low, high = min(self.low, found.low), max(self.high, found.high)
        few, alone = self.few and found.seen.few is not None, self.alone and found.seen.alone
        return Hint(self.rows, low, high, self.decimals & found.decimals, few, alone, self.shaped)


@dataclass(frozen=True)
class Spread:
    """Weight, mean (centre + shift) and Σ w (x − mean)² of numbers."""

    weight: float
    centre: float
    shift: float
    scatter: float

    @classmethod
    def of(cls, x: Array, w: Array | None) -> Spread:
        """Those of some."""
        centre = x[0]
        away = x - centre
        weight = float(len(x)) if w is None else float(w.sum())
        shift = float(away.sum() if w is None else w @ away) / weight
        away -= shift
        return cls(weight, float(centre), shift, float(away @ away if w is None else w @ np.square(away)))

    def __add__(self, other: Spread) -> Spread:
        """Those of both, after Chan, Golub and LeVeque."""
        weight = self.weight + other.weight
        apart, share = (other.centre - self.centre) + (other.shift - self.shift), other.weight / weight
        between = apart**2 * self.weight * share
        return Spread(weight, self.centre, self.shift + apart * share, self.scatter + other.scatter + between)

    @property
    def mean(self) -> float:
        """The mean."""
        return self.centre + self.shift

    @property
    def moments(self) -> Moments:
        """The same as the statistics of one member."""
        weight, centre, shift, scatter = np.array([self.weight, self.centre, self.shift, self.scatter])[:, None, None]
        return Moments(weight, centre, shift, scatter)


@dataclass(frozen=True)
class Shape:
    """One group's first values and spreads: of the numbers, and of their logarithms; None: not all can be had."""

    first: Array
    count: int
    weight: float
    plain: Spread | None
    logs: Spread | None

    @classmethod
    def of(cls, x: Array, w: Array | None, *, plain: bool, logs: bool) -> Shape:
        """Look at some rows, and no further than is asked."""
        weight = float(len(x)) if w is None else float(w.sum())
        rows = np.asarray(x, dtype=np.float64) if plain else x
        spread = Spread.of(rows, w) if plain else None
        return cls(x[:FIRST].astype(np.float64), len(x), weight, spread, Spread.of(np.log(rows), w) if logs else None)

    def __add__(self, other: Shape) -> Shape:
        return Shape(
            np.concatenate([self.first, other.first])[:FIRST] if len(self.first) < FIRST else self.first,
            self.count + other.count,
            self.weight + other.weight,
            _both(self.plain, other.plain),
            _both(self.logs, other.logs),
        )

    def statistics(self, family: Any) -> Any:
        """What a family of positive numbers would gather of the rows."""
        if self.plain is None or self.logs is None:
            raise Unshaped
        if family.name != "Gamma":
            return family.owned((self.plain if family.name == "Normal" else self.logs).moments)
        logs = self.weight * self.logs.mean
        total = np.array([[[logs, self.weight * self.plain.mean]]])
        return family.owned(Sums(np.array([[self.weight]]), np.array([[-logs]]), total))


def _both(one: Spread | None, other: Spread | None) -> Spread | None:
    return None if one is None or other is None else one + other


@dataclass(frozen=True)
class Numbers:
    """Facts of numbers, as the rules ask for them."""

    low: float
    high: float
    count: int
    weight: float
    decimals: int  # those that are possible, as bits
    shapes: dict[int, Shape] = field(repr=False)
    seen: Different = field(repr=False)

    @classmethod
    def of(cls, values: Array, held: Array | None, within: Array | None, hint: Hint) -> Numbers:
        """Look at some of them; held None: each counts once, within None: they are one group."""
        least, most = values.min(), values.max()
        low, high = float(least), float(most)
        decimals = decimals_of(values, hint.decimals)
        least, most = min(least, hint.low), max(most, hint.high)
        whole = bool(decimals & WHOLE)
        seen = Different.of(values, low, high, hint) if whole else Different()
        plain = bool(least >= 0 and np.isfinite(most))
        named = whole and (least <= 1 or (hint.few and seen.few is not None))  # counts or labels, so far
        shapes = {}
        for group in [0] if within is None else np.unique(within).tolist():
            mine = slice(None) if within is None else within == group
            w = None if held is None else held[mine]
            logs = plain and bool(least > 0) and (hint.shaped or not named)
            shapes[group] = Shape.of(values[mine], w, plain=plain, logs=logs)
        weight = float(len(values)) if held is None else float(held.sum())
        return cls(low, high, len(values), weight, decimals, shapes, seen)

    def __add__(self, other: Numbers) -> Numbers:
        shapes = dict(self.shapes)
        for group, one in other.shapes.items():
            shapes[group] = shapes[group] + one if group in shapes else one
        decimals = self.decimals & other.decimals
        return Numbers(
            min(self.low, other.low),
            max(self.high, other.high),
            self.count + other.count,
            self.weight + other.weight,
            decimals,
            shapes,
            self.seen + other.seen if decimals & WHOLE else Different(),
        )

    def finding(self, name: Any, missing: float) -> Finding:
        """What the rules say."""
        return rules.of_numbers(name, self, missing)

    @property
    def unit(self) -> float | None:
        """The power of ten that all are multiples of."""
        fewest = (self.decimals & -self.decimals).bit_length() - 1
        return None if self.decimals == 0 else float(10.0**-fewest)

    @property
    def scale(self) -> float:
        """What weights that are shares are multiplied with."""
        return max(1.0, self.count / self.weight)

    @property
    def alone(self) -> bool:
        """Whether all differ, and none counts twice."""
        return self.seen.alone and self.count >= self.weight * self.scale * (1 - 1e-12)

    @property
    def few(self) -> tuple[Any, ...] | None:
        """The different values, where there are few."""
        return None if self.seen.few is None else tuple(sorted(self.seen.few))

    @property
    def known(self) -> list[Shape]:
        """The groups that show a shape: those that are known, or where few rows have one, all rows together."""
        known = [one for group, one in self.shapes.items() if group >= 0]
        if len(known) == len(self.shapes) or sum(one.count for one in known) >= HANDFUL:
            return known
        whole, *others = self.shapes.values()
        for one in others:
            whole = whole + one
        return [whole]

    @property
    def total(self) -> float:
        """The weight of the rows of known group."""
        return sum(one.weight for one in self.known) * self.scale

    @property
    def dispersion(self) -> float:
        """Variance/mean, within the groups."""
        spreads = [one.plain for one in self.known if one.plain is not None and one.plain.mean > 0]
        return sum(one.scatter / one.mean for one in spreads) * self.scale / self.total

    @property
    def scores(self) -> dict[str, float]:
        """The log-likelihood of each family, within the groups."""
        eligible = [one for one in self.known if len(np.unique(one.first)) > 2]
        found = {}
        for family in POSITIVE:
            stats = [one.statistics(family) for one in eligible]
            found[family.name] = self.scale * sum(float(family.estimate(one).log_likelihood(one)) for one in stats)
        return found


def decimals_of(values: Array, possible: int) -> int:
    """Of the numbers of decimals that are possible, as bits, those that all values have no more than."""
    if values.dtype.kind in "iu" or not possible:
        return possible
    numbers = np.asarray(values, dtype=np.float64)
    fits = 0
    for decimals in range(FINEST + 1):
        if not possible >> decimals & 1 or not rules.multiples(numbers[:FIRST], decimals):  # a few tell it of most
            continue
        if rules.multiples(numbers, decimals):
            fits |= 1 << decimals
            if decimals == 0 or not ((np.abs(numbers) < 0.5 * 10.0**-decimals) & (numbers != 0)).any():
                return fits | (possible >> decimals << decimals)  # all but next to nothing has no more with finer ones
    return fits


@dataclass(frozen=True)
class Different:
    """Whether values come again: in pieces of rising values, thinned by their hashes where they are very many."""

    alone: bool = False
    few: frozenset[Any] | None = None
    pieces: tuple[Array, ...] = ()  # each above the one before
    halvings: int = 0

    @classmethod
    def of(cls, values: Array, low: float, high: float, hint: Hint) -> Different:
        """Look at some, unless others have settled it."""
        alone = hint.alone and hint.rows**2 > 2 * REPEATS * (max(high, hint.high) - min(low, hint.low) + 1)
        rising = alone and bool((values[1:] > values[:-1]).all())
        if not alone and not hint.few:
            return cls()
        if rising and len(values) > FEW:
            return cls(alone=True, pieces=(values,))
        if high - low < NARROW and abs(low) < 2.0**52:
            different = np.flatnonzero(np.bincount(values.astype(np.int64, copy=False) - int(low))) + int(low)
        else:
            glimpse = np.unique(values[:GLIMPSE])
            alone = alone and len(glimpse) == min(len(values), GLIMPSE)
            different = np.unique(values) if len(glimpse) <= FEW else np.sort(values) if alone else glimpse
            if alone and (different[1:] == different[:-1]).any():
                alone = False
        few = frozenset(different.tolist()) if hint.few and len(different) <= FEW else None
        alone = alone and len(different) == len(values)
        return cls(alone, few, (different,) if alone else ())

    def __add__(self, other: Different) -> Different:
        few = None
        if self.few is not None and other.few is not None:
            few = self.few | other.few
            few = few if len(few) <= FEW else None
        if not (self.alone and other.alone):
            return Different(few=few)
        halvings = max(self.halvings, other.halvings)
        mine, theirs = self.thinned(halvings), other.thinned(halvings)
        pieces = _in_order(mine, theirs)
        if pieces is None:
            return Different(few=few)
        found = Different(alone=True, few=few, pieces=pieces, halvings=halvings)
        while sum(map(len, found.pieces)) > KEPT:
            halvings += 1
            found = replace(found, pieces=found.thinned(halvings), halvings=halvings)
        return found

    def thinned(self, halvings: int) -> tuple[Array, ...]:
        """The values whose hash ends in as many zeros, in one piece where there are fewer for it."""
        if halvings == self.halvings or not self.pieces:
            return self.pieces
        values = np.concatenate(self.pieces)
        hashes = kernels.row_hash(values.astype(np.float64)[:, None], 0)
        return (values[hashes % np.uint64(1 << halvings) == 0],)


def _in_order(mine: tuple[Array, ...], theirs: tuple[Array, ...]) -> tuple[Array, ...] | None:
    """The pieces of both, none reaching into another; None where a value is in both."""
    mine, theirs = tuple(one for one in mine if len(one)), tuple(one for one in theirs if len(one))
    if not mine or not theirs or mine[-1][-1] < theirs[0][0]:
        return mine + theirs
    if theirs[-1][-1] < mine[0][0]:
        return theirs + mine
    both = np.sort(np.concatenate([*mine, *theirs]), kind="stable")  # which merges what rises already
    return None if (both[1:] == both[:-1]).any() else (both,)
