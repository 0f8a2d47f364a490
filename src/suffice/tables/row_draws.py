"""Random choices among rows that depend on the rows' values, not on where they stand.

Drawing a row by its place in a list makes every draw another when one row moves. Here each row has a random number of
its own, a hash of its rounded values and of the draw, and the row that wins is the one with the least −log u / mass: it
wins with a probability in proportion to its mass (the exponential race), and a row that changes its number changes a
draw only if it was or becomes the winner.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.tables.scales import UNIT
from suffice.tables.sketch import rounded_hash, row_hash
from suffice.types import Array, Rows

COARSE = 2.0**8  # steps of a column's spread: float32 in the place of float64 moves one value in many thousands
LEAST = 2.0**-60


@dataclass(frozen=True)
class RowDraws:
    """Draws among rows: a key (n,) of each row's rounded values, and one of its bits for those that share it.

    ``group`` (n,) numbers the rows that share a key; None where none do.
    """

    keys: Array
    bits: Array
    group: Array | None

    @classmethod
    def of(cls, rows: Rows, scale: object = UNIT) -> RowDraws:
        """Draws among rows of this scale; points have that of 1."""
        keys = rounded_hash(rows, scale, COARSE, 0)
        distinct, group = np.unique(keys, return_inverse=True)
        return cls(keys, row_hash(rows, 0), None if len(distinct) == len(keys) else group)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.keys)

    def __getitem__(self, part: slice) -> RowDraws:
        """Return the draws among some of the rows."""
        return RowDraws(self.keys[part], self.bits[part], None if self.group is None else self.group[part])

    def choose(self, mass: Array, size: int, rng: np.random.Generator) -> Array:
        """Numbers (size,) of rows, each drawn in proportion to its ``mass`` (n,); rows may be drawn again."""
        factors = _factors(size, rng)
        whole = mass if self.group is None else np.bincount(self.group, mass)[self.group]
        winners = np.array([_race(self.keys, whole, factor) for factor in factors])
        if self.group is None:
            return winners
        for place, (winner, factor) in enumerate(zip(winners, factors, strict=True)):
            among = np.flatnonzero(self.group == self.group[winner])
            winners[place] = among[_race(self.bits[among], mass[among], factor)]
        return winners

    def distinct(self, mass: Array, size: int, rng: np.random.Generator) -> Array:
        """Numbers (size,) of rows, each drawn in proportion to its ``mass`` from those not drawn before, if any."""
        chosen: list[int] = []
        left = np.array(mass, dtype=float)
        for _ in range(size):
            chosen += self.choose(left if left.any() else mass, 1, rng).tolist()
            left[chosen[-1]] = 0.0
        return np.array(chosen)

    def uniform(self, size: int, rng: np.random.Generator) -> Array:
        """Numbers (n, size) from 0 to below 1, all as likely."""
        return np.stack([_uniform(self.keys, factor) for factor in _factors(size, rng)], axis=1)

    def simplex(self, k: int, rng: np.random.Generator) -> Array:
        """Shares (n, k) of each row that add up to 1, uniformly distributed over the simplex: Dirichlet(1, …, 1)."""
        found = -np.log(np.maximum(self.uniform(k, rng), LEAST))
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def codes(self, k: int, rng: np.random.Generator) -> Array:
        """A number from 0 to k − 1 for each row, (n,), all as likely."""
        return np.asarray((self.uniform(1, rng)[:, 0] * k).astype(np.intp))


def _factors(size: int, rng: np.random.Generator) -> Array:
    """Odd factors (size,), one for each draw."""
    return np.asarray(rng.integers(1 << 63, size=size, dtype=np.uint64) * np.uint64(2) + np.uint64(1))


def _uniform(keys: Array, factor: object) -> Array:
    """Numbers from 0 to below 1: the upper bits of a product are a hash of keys that are hashes already."""
    return np.asarray(((keys * factor) >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def _race(keys: Array, mass: Array, factor: object) -> int:
    """The row of the least −log u / mass; rows without mass never win."""
    with np.errstate(divide="ignore"):
        return int(np.argmin(-np.log(np.maximum(_uniform(keys, factor), LEAST)) / mass))
