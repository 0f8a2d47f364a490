"""How often rows count, where the rules ask whether values come again.

Weights that are whole multiples of one number say how often a row is there: with weights of 1 and 2 a row of weight 2
is the row twice, and weights that are all 50 say nothing. Other weights are those of a survey: each row is there once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.types import Array

LARGEST = 2.0**53  # whole numbers up to here are told apart


@dataclass(frozen=True)
class Repeats:
    """Rows, their weight, the largest weight, and the greatest whole number that divides all weights; 0: none does."""

    rows: int
    weight: float
    most: float
    unit: int

    @classmethod
    def of(cls, held: Array | None, rows: int) -> Repeats:
        """Those of some rows; held None: each counts once."""
        if held is None or not len(held):
            return cls(rows, float(rows), 1.0, 1)
        most = float(held.max())
        whole = most <= LARGEST and bool((held == np.rint(held)).all())
        return cls(rows, float(held.sum()), most, int(np.gcd.reduce(held.astype(np.int64))) if whole else 0)

    def __add__(self, other: Repeats) -> Repeats:
        """Return those of both; of no rows they change nothing."""
        if not self.rows or not other.rows:
            return self if self.rows else other
        unit = int(np.gcd(self.unit, other.unit)) if self.unit and other.unit else 0
        return Repeats(self.rows + other.rows, self.weight + other.weight, max(self.most, other.most), unit)

    @property
    def count(self) -> int:
        """How many rows there are, those that are repeated as often as they are."""
        return round(self.weight / self.unit) if self.unit else self.rows

    @property
    def once(self) -> bool:
        """Whether no row is repeated."""
        return not self.unit or self.most == self.unit
