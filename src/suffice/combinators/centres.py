"""K-means: rows belong to the centre nearest to them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from suffice.combinators import distances
from suffice.core.em import Climb, climb
from suffice.core.errors import DataError
from suffice.core.parameters import Array
from suffice.core.sketch import picture
from suffice.core.statistics import Additive, checked_factor, same_kind
from suffice.core.weights import Weights
from suffice.engines import local

CELLS = 1 << 21  # of the picture that a start is drawn from
ROWS = 20000  # and its most rows
TRIALS, FEW = 4, 5  # starts, of which the best goes on, and the passes that decide it
SHORT = 30  # passes over the picture before those over all rows
NOWHERE, EXACTLY = np.broadcast_to(0.0, (0, 0)), np.broadcast_to(0.0, 1)  # read-only


@dataclass(frozen=True, eq=False, repr=False)
class Apart(Additive):
    """What k-means keeps of rows: Σ w (k,) and Σ w (x − c) (k, d) of each centre, and Σ w ‖x − c‖² of all, (1,).

    ``farthest`` (e, d) are rows for the centres that got none, and ``rounding`` (1,) is how far off that sum may be.
    """

    weight: Array
    total: Array
    inertia: Array
    farthest: Array = field(default_factory=lambda: NOWHERE)
    rounding: Array = field(default_factory=lambda: EXACTLY)
    exact: ClassVar[bool] = False

    def __add__(self, other: Apart) -> Apart:
        same_kind(self, other)
        return Apart(
            self.weight + other.weight,
            self.total + other.total,
            self.inertia + other.inertia,
            rounding=self.rounding + other.rounding,
        )

    def __mul__(self, factor: float) -> Apart:
        factor = checked_factor(factor)
        sums = {name: getattr(self, name) * factor for name in ("weight", "total", "inertia", "rounding")}
        return replace(self, **sums)


@dataclass(frozen=True, eq=False)
class Centres:
    """K centres (k, d): the limit of a mixture of equal spheres as they shrink, climbed by the same loop.

    ``rest`` is the sum of squared moves of the centres that counts as none.
    """

    places: Array
    rest: float = 0.0
    name: ClassVar[str] = "Centres"
    guarded: ClassVar[bool] = True

    @classmethod
    def drawn(cls, rows: Any, weights: Weights, k: int, rng: Any, *, apart: bool = True) -> Self:
        """Centres from a sketch of the rows: the best of several that were drawn apart, as k-means++ does, and rested.

        Without ``apart`` they are just drawn.
        """
        size = int(np.clip(CELLS // distances.cells(rows), max(10 * k, 1000), max(10 * k, ROWS)))
        small, held = picture(rows, weights, size, int(rng.integers(1 << 62)))
        if len(small) == 0:
            msg = "k-means cannot begin: no row has a weight; give at least one row."
            raise DataError(msg)
        w = held.dense()[:, 0]
        if not apart:
            return cls(distances.dense(small[rng.choice(len(small), k, replace=len(small) < k, p=w / w.sum())]))
        part = slice(max(50 * k, 2000))  # by rising hash: the first rows are a sketch of the sketch
        first_rows = (distances.seeds(small[part], w[part], k, rng) for _ in range(TRIALS if k > 1 else 1))
        firsts = (cls(distances.dense(small[chosen])) for chosen in first_rows)
        climbs = (first.climb(small, held, FEW).heeded() for first in firsts)
        first: Self = max(climbs, key=lambda path: path.rank).distribution
        return first if len(small) < size else first.climb(small, held, SHORT).heeded().distribution

    @staticmethod
    def spread(rows: Any, weights: Weights) -> float:
        """The mean variance of the columns."""
        return distances.spread(rows, weights)

    def climb(self, rows: Any, weights: Weights, max_iter: int, callback: Any = None) -> Climb:
        """Assign and average until the centres rest."""
        return climb(self, rows, weights, None, max_iter, None, accelerate=False, callback=callback)

    # ---- what the loop asks for -----------------------------------------------------------------------------------
    def suffstats(self, rows: Any, weights: Any = None) -> Apart:
        """Statistics of rows that belong to their nearest centres; of equally near ones to the first."""
        held = Weights.of(weights, len(rows))

        def gather(part: slice) -> Apart:
            own = None if held.values is None else held.values[part]
            near = distances.nearest(rows[part], self.places, own)
            return Apart(near.weight, near.total, np.array([near.inertia]), rounding=np.array([near.rounding]))

        cells = distances.cells(rows)
        width = max(cells, 12 + len(self.places) * cells // 32)  # work counts, not memory
        found = local.reduce(gather, len(rows), width, self._effort(rows))
        if (found.weight > 0).all():
            return found
        return replace(found, farthest=self._farthest(rows, held, int((found.weight == 0).sum())))

    def _effort(self, rows: Any) -> int:
        return 7 + len(self.places) * distances.cells(rows) // 3

    def _farthest(self, rows: Any, weights: Weights, most: int) -> Array:
        """Up to ``most`` rows, each the farthest from all centres and those before."""
        gap = np.where(weights.per_row() > 0, self.gaps(rows), 0.0)
        found: list[Array] = []
        while len(found) < most and gap.max(initial=0.0) > 0:
            found.append(distances.least(rows[np.flatnonzero(gap == gap.max())]))
            gap = np.minimum(gap, replace(self, places=found[-1][None]).gaps(rows))
        return np.array(found).reshape(len(found), rows.shape[1])

    def gaps(self, rows: Any) -> Array:
        """Squared distance of each row to its centre, (n,)."""

        def gaps(part: slice) -> Array:
            return np.asarray(distances.squares(rows[part], self.places).min(axis=1))

        return local.fill(gaps, len(rows), distances.cells(rows) + len(self.places))

    def estimate(self, stats: Apart, prior: Any = None) -> Self:
        """Each centre at the mean of its rows; one without rows at a row that is far from all."""
        del prior
        if stats.weight.all():
            return replace(self, places=self.places + stats.total / stats.weight[:, None])
        places = self.places + stats.total / np.where(stats.weight > 0, stats.weight, 1.0)[:, None]
        for empty, row in zip(np.flatnonzero(stats.weight == 0), stats.farthest, strict=False):
            places[empty] = row
        return replace(self, places=places)

    def evidence(self, stats: Apart) -> float:
        """−Σ w ‖x − c‖²."""
        return -float(stats.inertia[0])

    def log_likelihood(self, stats: Apart) -> float:
        """The same: the bound is tight."""
        return self.evidence(stats)

    def distance(self, other: Self) -> float:
        """How far the centres are from those of ``other``, beside the extent of them all; 0 within ``rest``.

        One alone has no extent: how far it is from 0 is what it is rounded by.
        """
        away = (other.places - self.places).ravel()
        moved = float(away @ away)
        if moved <= self.rest:
            return 0.0
        extent = (self.places.max(axis=0) - self.places.min(axis=0)).max() or np.abs(self.places).max() or 1.0
        return float(np.sqrt(moved) / extent)

    def rounding(self, stats: Apart) -> float:
        """How far off the sum of squares may be."""
        return float(stats.rounding[0])

    def sound(self, stats: Apart) -> bool:
        """Whether no centre is without rows."""
        return bool((stats.weight > 0).all())

    # ---- asking ---------------------------------------------------------------------------------------------------
    def predict(self, rows: Any) -> Array:
        """The nearest centre of each row, (n,)."""

        def nearest(part: slice) -> Array:
            codes = np.empty(len(rows[part]), np.int32)
            distances.nearest(rows[part], self.places, codes=codes)
            return codes

        return local.fill(nearest, len(rows), distances.cells(rows), self._effort(rows))

    def distances(self, rows: Any) -> Array:
        """Distances (n, k) of rows to the centres."""
        width = distances.cells(rows) + len(self.places)
        return local.fill(lambda part: np.sqrt(distances.squares(rows[part], self.places)), len(rows), width)
