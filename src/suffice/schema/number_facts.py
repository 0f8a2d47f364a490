"""What the rules ask of columns of numbers, gathered from some rows and added.

Rows come in batches that a processor's cache holds. Of each batch only that is looked at which can still matter given
what other rows have shown (`Hint`): numbers that have come again once are not identifiers, those whose first have many
decimals are not searched for a unit. A hint spares work and never changes an answer.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace

import numpy as np

from suffice import kernels
from suffice.engines.once import cached_property
from suffice.schema import rules
from suffice.schema.repeats import Repeats
from suffice.schema.rules import FINEST, FIRST, HANDFUL, REPEATS, Finding
from suffice.schema.scores import Scores
from suffice.schema.tally import NARROW, Tally
from suffice.types import Array

KEPT = 1 << 22  # values that are remembered to see whether one comes again
GLIMPSE = 1 << 12  # values that mostly show that some come again
ANY = (1 << FINEST + 1) - 1  # numbers of decimals that are possible, as bits
WHOLE = 1  # of them: none


@dataclass(frozen=True)
class Hint:
    """What rows have shown that no others can undo; ``rows`` are all that there are, of every kind."""

    rows: int
    low: float = np.inf
    high: float = -np.inf
    decimals: int = ANY
    alone: bool = True
    halvings: int = 0

    def after(self, found: Numbers) -> Hint:
        """The same with more rows."""
        low, high = min(self.low, found.low), max(self.high, found.high)
        halvings = max(self.halvings, found.tally.halvings)
        return Hint(self.rows, low, high, self.decimals & found.decimals, self.alone and found.seen.alone, halvings)


@dataclass(frozen=True)
class Numbers:
    """Facts of numbers, as the rules ask for them."""

    low: float
    high: float
    repeats: Repeats
    decimals: int  # those that are possible, as bits
    rows: dict[int, int] = field(repr=False)  # of each group
    tally: Tally = field(repr=False)
    seen: Different = field(repr=False)

    @classmethod
    def of(cls, values: Array, held: Array | None, within: Array | None, hint: Hint) -> Numbers:
        """Look at some of them; held None: each counts once, within None: they are one group."""
        low, high = float(values.min()), float(values.max())
        decimals = decimals_of(values, hint.decimals)
        seen = Different.of(values, low, high, hint) if decimals & WHOLE else Different()
        repeats = Repeats.of(held, len(values))
        rows = {0: len(values)} if within is None else dict(zip(*_counts(within), strict=True))
        tally = Tally.of(values, held, within, hint.halvings)
        return cls(low, high, repeats, decimals, rows, tally, seen)

    def __add__(self, other: Numbers) -> Numbers:
        rows = {group: self.rows.get(group, 0) + other.rows.get(group, 0) for group in self.rows | other.rows}
        decimals = self.decimals & other.decimals
        return Numbers(
            min(self.low, other.low),
            max(self.high, other.high),
            self.repeats + other.repeats,
            decimals,
            rows,
            self.tally + other.tally,
            self.seen + other.seen if decimals & WHOLE else Different(),
        )

    def finding(self, name: Hashable, missing: float) -> Finding:
        """What the rules say."""
        return rules.of_numbers(name, self, missing)

    @property
    def unit(self) -> float | None:
        """The power of ten that all are multiples of."""
        fewest = (self.decimals & -self.decimals).bit_length() - 1
        return None if self.decimals == 0 else float(10.0**-fewest)

    @property
    def count(self) -> int:
        """How many there are."""
        return self.repeats.count

    @property
    def alone(self) -> bool:
        """Whether all differ."""
        return self.seen.alone and self.repeats.once

    @property
    def different(self) -> float:
        """How many different values there are; an estimate where they are more than a tally keeps."""
        return float(len(self.tally.different)) * 2.0**self.tally.halvings

    @property
    def ends(self) -> float:
        """The weight of the least or of the greatest value, whichever is less, by that of all values on average."""
        tally = self.tally
        least, most = (float(tally.weights[tally.values == end].sum()) for end in (self.low, self.high))
        return min(least, most) * self.different / self.repeats.weight

    @property
    def few(self) -> tuple[float, ...] | None:
        """The different values, where there are few."""
        values = self.tally.different
        return tuple(values.tolist()) if self.tally.whole and len(values) <= rules.LABELS else None

    @cached_property
    def scores(self) -> Scores:
        """What families make of the rows of known group; where few rows have one, of all rows together.

        Weights that sum to less than the rows are shares, and are scaled to sum to the rows.
        """
        known = {group: rows for group, rows in self.rows.items() if group >= 0}
        tally = self.tally
        if len(known) < len(self.rows):
            tally = tally.of_groups(np.array(list(known)) if sum(known.values()) >= HANDFUL else None)
        scale = max(1.0, self.repeats.rows / self.repeats.weight)
        return Scores(replace(tally, weights=tally.weights * scale), self.unit)


def _counts(groups: Array) -> tuple[list[int], list[int]]:
    each, rows = np.unique(groups, return_counts=True)
    return each.tolist(), rows.tolist()


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
    pieces: tuple[Array, ...] = ()  # each above the one before
    halvings: int = 0

    @classmethod
    def of(cls, values: Array, low: float, high: float, hint: Hint) -> Different:
        """Look at some values, unless the answer is known from others."""
        alone = hint.alone and hint.rows**2 > 2 * REPEATS * (max(high, hint.high) - min(low, hint.low) + 1)
        if not alone:
            return cls()
        if (values[1:] > values[:-1]).all():
            return cls(alone=True, pieces=(values,))
        if high - low < NARROW and abs(low) < 2.0**52:
            different = np.flatnonzero(np.bincount(values.astype(np.int64, copy=False) - int(low))) + int(low)
            alone = len(different) == len(values)
        else:
            glimpse = np.unique(values[:GLIMPSE])
            alone = len(glimpse) == min(len(values), GLIMPSE)
            different = np.sort(values) if alone else glimpse
            alone = alone and not (different[1:] == different[:-1]).any()
        return cls(alone, (different,)) if alone else cls()

    def __add__(self, other: Different) -> Different:
        if not (self.alone and other.alone):
            return Different()
        halvings = max(self.halvings, other.halvings)
        mine, theirs = self.thinned(halvings), other.thinned(halvings)
        pieces = _in_order(mine, theirs)
        if pieces is None:
            return Different()
        found = Different(alone=True, pieces=pieces, halvings=halvings)
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
