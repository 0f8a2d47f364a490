"""Statistics of densities without parameters: the distinct rows with their weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from suffice.errors import DataError
from suffice.statistics.sums import Additive, checked_factor, refuse_negative, same_kind
from suffice.statistics.weights import Weights
from suffice.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class WeightedRows(Additive):
    """Distinct rows in ascending order, (m, d), and how much each weighs in each component, (k, m).

    Rows with some cells missing weigh ``incomplete`` (k,) and are not kept. Adding merges equal rows, so that any split
    of the data gives the same statistics.
    """

    common_fields: ClassVar[tuple[str, ...]] = ("rows",)

    rows: Array
    mass: Array
    incomplete: Array
    exact: bool = True

    @property
    def weight(self) -> Array:
        """Σ w of the rows kept, (k,)."""
        return np.asarray(self.mass.sum(axis=1))

    @classmethod
    def of(cls, x: Array, w: Weights, k: int) -> WeightedRows:
        """The statistics of a block of rows (n, d)."""
        if k == 1 and w.values is None and w.codes is None and x.shape[1] == 1:  # sorting values is fast, places slow
            values, count = np.unique(x[~np.isnan(x[:, 0]), 0] + 0.0, return_counts=True)
            return cls(values.astype(float)[:, None], count.astype(float)[None], np.zeros(1))
        mass = np.broadcast_to(w.for_each(k).dense(), (len(x), k))
        missing, counted = np.isnan(x), mass.any(axis=1)
        partly = missing.any(axis=1) & ~missing.all(axis=1)
        whole = counted & ~missing.any(axis=1)
        incomplete = np.asarray(mass[partly].sum(axis=0))
        if not whole.all():
            x, mass = x[whole], mass[whole]
        return cls(*_distinct(x.astype(float), mass.T), incomplete)

    @classmethod
    def of_component(cls, rows: Array, weights: Array, index: int, k: int) -> WeightedRows:
        """Rows with weights that belong to one of k components."""
        mass = np.zeros((k, len(rows)))
        mass[index] = weights
        return cls(rows, mass, np.zeros(k))

    def __add__(self, other: WeightedRows) -> WeightedRows:
        rows, mine, theirs = self._aligned(other)
        return replace(self, rows=rows, mass=mine + theirs, incomplete=self.incomplete + other.incomplete)

    def __sub__(self, other: WeightedRows) -> WeightedRows:
        rows, mine, theirs = self._aligned(other)
        mass = refuse_negative(mine, theirs)
        kept = mass.any(axis=0)
        left = refuse_negative(self.incomplete, other.incomplete)
        return replace(self, rows=rows[kept], mass=mass[:, kept], incomplete=left)

    def _aligned(self, other: WeightedRows) -> tuple[Array, Array, Array]:
        """The distinct rows of both, and what they weigh in each."""
        same_kind(self, other)
        if self.rows.shape[1] != other.rows.shape[1]:
            here, there = self.rows.shape[1], other.rows.shape[1]
            msg = f"cannot combine rows of {here} columns with rows of {there}; gather both from the same columns."
            raise DataError(msg)
        k, m = self.mass.shape
        both = np.zeros((2 * k, m + len(other.rows)))
        both[:k, :m], both[k:, m:] = self.mass, other.mass
        rows, mass = _distinct(np.concatenate([self.rows, other.rows]), both)
        return rows, mass[:k], mass[k:]

    def __mul__(self, factor: float) -> WeightedRows:
        factor = checked_factor(factor)
        return replace(self, mass=self.mass * factor, incomplete=self.incomplete * factor)


def _distinct(rows: Array, mass: Array) -> tuple[Array, Array]:
    """The distinct rows in ascending order with their summed masses (k, m)."""
    rows = rows + 0.0  # no −0
    order = np.argsort(rows[:, 0], kind="stable") if rows.shape[1] == 1 else np.lexsort(rows.T[::-1])
    rows, mass = rows[order], mass[:, order]
    if len(rows) < 2:
        return rows, np.ascontiguousarray(mass)
    new = np.flatnonzero(np.concatenate([[True], (rows[1:] != rows[:-1]).any(axis=1)]))
    return rows[new], np.add.reduceat(mass, new, axis=1)
