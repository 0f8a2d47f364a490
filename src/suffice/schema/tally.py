"""The different numbers of a column with the weight of each: facts that add, in memory that does not grow.

Numbers of more than `MOST` different values are thinned: the values are kept whose hash ends in enough zeros, each with
its full weight. That is a sample of the values which does not depend on the order of the rows or on how they are cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from suffice import kernels
from suffice.types import Array

MOST = 4096  # different values that are kept, besides 0
NARROW = 1 << 16  # whole numbers in so short a range are counted rather than sorted
CELLS = 1 << 22  # and groups × range, so many


@dataclass(frozen=True)
class Tally:
    """Pairs of a group and a value, in order, and the weight of the rows that have both.

    Attributes
    ----------
    values, groups, weights
        Arrays (m,) of the pairs.
    halvings
        Values other than 0 are kept where their hash ends in so many zeros: about one in 2^halvings.
    """

    values: Array
    groups: Array
    weights: Array
    halvings: int = 0

    @classmethod
    def of(cls, values: Array, held: Array | None, within: Array | None, halvings: int = 0) -> Tally:
        """Count some numbers; held None: each counts once, within None: they are one group."""
        x = np.asarray(values, dtype=np.float64) + 0.0  # −0 becomes 0
        counted = _count(x, held, within)
        if counted is not None:
            return cls(*counted).thinned(halvings)
        keep, halvings = _sample(x, halvings)
        groups = np.zeros(len(x), np.int64) if within is None else np.asarray(within, dtype=np.int64)
        weights = np.ones(len(x)) if held is None else np.asarray(held, dtype=np.float64)
        if keep is not None:
            x, groups, weights = x[keep], groups[keep], weights[keep]
        return cls(*_sum(x, groups, weights), halvings).thinned(halvings)

    def __add__(self, other: Self) -> Tally:
        halvings = max(self.halvings, other.halvings)
        mine, theirs = self.thinned(halvings), other.thinned(halvings)
        pairs = zip(
            (mine.values, mine.groups, mine.weights), (theirs.values, theirs.groups, theirs.weights), strict=True
        )
        return Tally(*_sum(*(np.concatenate(pair) for pair in pairs)), halvings).thinned(halvings)

    @property
    def different(self) -> Array:
        """The different values that were kept."""
        return np.unique(self.values)

    @property
    def whole(self) -> bool:
        """Whether every value was kept."""
        return self.halvings == 0

    def of_groups(self, groups: Array | None) -> Tally:
        """The same of some groups; None: of all of them, as one group."""
        if groups is None:
            return Tally(*_sum(self.values, np.zeros_like(self.groups), self.weights), self.halvings)
        mine = np.isin(self.groups, groups)
        return Tally(self.values[mine], self.groups[mine], self.weights[mine], self.halvings)

    def thinned(self, halvings: int) -> Tally:
        """With at least as many halvings, and no more values than may be kept."""
        different = np.unique(self.values)
        hashes = _hashes(different)
        kept = _ends(hashes, different, halvings)
        while np.count_nonzero(different[kept]) > MOST:
            halvings += 1
            kept = _ends(hashes, different, halvings)
        if halvings == self.halvings:
            return self
        mine = kept[np.searchsorted(different, self.values)]
        return Tally(self.values[mine], self.groups[mine], self.weights[mine], halvings)


def _hashes(x: Array) -> Array:
    return np.asarray(kernels.row_hash(x[:, None], 0))


def _ends(hashes: Array, x: Array, halvings: int) -> Array:
    """Which values are kept."""
    return np.asarray((hashes & np.uint64((1 << halvings) - 1) == 0) | (x == 0))


def _sample(x: Array, halvings: int) -> tuple[Array | None, int]:
    """Which of many cells to keep, and by how many halvings: no more than are needed."""
    if halvings == 0 and len(x) <= 4 * MOST:
        return None, 0
    hashes, least = _hashes(x), halvings
    keep = _ends(hashes, x, halvings)
    while np.count_nonzero(keep & (x != 0)) > 16 * MOST:  # sort as few as possible
        halvings += 1
        keep = _ends(hashes, x, halvings)
    while halvings > least:  # values that repeat: fewer halvings will do
        more = _ends(hashes, x, halvings - 1)
        if np.count_nonzero(np.unique(x[more])) > MOST:
            break
        halvings, keep = halvings - 1, more
    return keep, halvings


def _count(x: Array, held: Array | None, within: Array | None) -> tuple[Array, Array, Array] | None:
    """Whole numbers in a short range: counted, without sorting."""
    low, high = float(x.min()), float(x.max())
    if not (high - low < NARROW and abs(low) < 2.0**52) or (x[:1024] != np.floor(x[:1024])).any():
        return None
    shifted = x - low
    places = shifted.astype(np.int64)
    if (places != shifted).any():
        return None
    span, first, groups = int(high - low) + 1, 0, 1
    if within is not None:
        first = int(within.min())
        groups = int(within.max()) - first + 1
        if groups * span > CELLS:
            return None
        places = places + (np.asarray(within, dtype=np.int64) - first) * span
    seen = np.bincount(places, minlength=0)
    where = np.flatnonzero(seen)
    weights = seen[where].astype(np.float64) if held is None else np.bincount(places, held)[where]
    return where % span + low, where // span + first, weights


def _sum(values: Array, groups: Array, weights: Array) -> tuple[Array, Array, Array]:
    """The different pairs in order, and the weight of each."""
    order = np.argsort(values, kind="stable") if not groups.any() else np.lexsort((values, groups))
    values, groups, weights = values[order], groups[order], weights[order]
    if not len(values):
        return values, groups, weights
    begins = np.flatnonzero(np.r_[True, (values[1:] != values[:-1]) | (groups[1:] != groups[:-1])])
    return values[begins], groups[begins], np.add.reduceat(weights, begins)
