"""K-means: rows belong to the centre nearest to them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from suffice import kernels
from suffice.combinators.starts import seeds
from suffice.core.em import Climb, climb
from suffice.core.errors import DataError
from suffice.core.parameters import Array
from suffice.core.sketch import picture
from suffice.core.statistics import Additive, checked_factor, same_kind
from suffice.core.weights import Weights
from suffice.distributions.normal import Normal
from suffice.engines import local

CELLS = 1 << 21  # of the picture that a start is drawn from
ROWS = 20000  # and its most rows
TRIALS, FEW = 4, 5  # starts, of which the best goes on, and the passes that decide it
SHORT = 30  # passes over the picture before those over all rows


@dataclass(frozen=True, eq=False, repr=False)
class Apart(Additive):
    """What k-means keeps of rows: Σ w (k,) and Σ w (x − c) (k, d) of each centre, and Σ w ‖x − c‖² of all, (1,).

    ``farthest`` (e, d) are rows for the centres that got none.
    """

    weight: Array
    total: Array
    inertia: Array
    farthest: Array = field(default_factory=lambda: np.empty((0, 0)))
    exact: ClassVar[bool] = False

    def __add__(self, other: Apart) -> Apart:
        same_kind(self, other)
        return Apart(self.weight + other.weight, self.total + other.total, self.inertia + other.inertia)

    def __mul__(self, factor: float) -> Apart:
        factor = checked_factor(factor)
        return replace(self, weight=self.weight * factor, total=self.total * factor, inertia=self.inertia * factor)


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
    def drawn(cls, rows: Array, weights: Weights, k: int, rng: Any, *, apart: bool = True) -> Self:
        """Centres from a sketch of the rows: the best of several that were drawn apart, as k-means++ does, and rested.

        Without ``apart`` they are just drawn.
        """
        size = int(np.clip(CELLS // rows.shape[1], max(10 * k, 1000), max(10 * k, ROWS)))
        small, held = picture(rows, weights, size, int(rng.integers(1 << 62)))
        if len(small) == 0:
            msg = "k-means cannot begin: no row has a weight; give at least one row."
            raise DataError(msg)
        small, w = np.asarray(small, dtype=float), held.dense()[:, 0]
        if not apart:
            return cls(small[rng.choice(len(small), k, replace=len(small) < k, p=w / w.sum())])
        part = slice(max(50 * k, 2000))  # by rising hash: the first rows are a sketch of the sketch
        firsts = (cls(small[seeds(small[part], w[part], k, rng)]) for _ in range(TRIALS if k > 1 else 1))
        climbs = (first.climb(small, held, FEW) for first in firsts)
        first: Self = max(climbs, key=lambda path: path.rank).distribution
        return first if len(small) < size else first.climb(small, held, SHORT).distribution

    @staticmethod
    def spread(rows: Array, weights: Weights) -> float:
        """The mean variance of the columns."""
        return float(np.mean(Normal().shaped(rows).suffstats(rows, weights).var))

    def climb(self, rows: Array, weights: Weights, max_iter: int, callback: Any = None) -> Climb:
        """Assign and average until the centres rest."""
        return climb(self, rows, weights, None, max_iter, None, accelerate=False, callback=callback)

    # ---- what the loop asks for -----------------------------------------------------------------------------------
    def suffstats(self, rows: Array, weights: Any = None) -> Apart:
        """Statistics of rows that belong to their nearest centres; of equally near ones to the first."""
        held = Weights.of(weights, len(rows))

        def gather(part: slice) -> Apart:
            inertia, weight, total = kernels.nearest(rows[part], self.places, held[part].values)
            return Apart(weight, total, np.array([inertia]))

        width = max(rows.shape[1], 12 + self.places.size // 32)  # work counts, not memory
        found = local.reduce(gather, len(rows), width)
        if (found.weight > 0).all():
            return found
        return replace(found, farthest=self._farthest(rows, held, int((found.weight == 0).sum())))

    def _farthest(self, rows: Array, weights: Weights, most: int) -> Array:
        """Up to ``most`` rows, each the farthest from all centres and those before; of equal ones the least."""
        gap = np.where(weights.per_row() > 0, self.gaps(rows), 0.0)
        found: list[Array] = []
        while len(found) < most and gap.max(initial=0.0) > 0:
            ties = rows[gap == gap.max()]
            found.append(np.asarray(ties[np.lexsort(ties.T[::-1])[0]], dtype=float))
            gap = np.minimum(gap, replace(self, places=found[-1][None]).gaps(rows))
        return np.array(found).reshape(len(found), rows.shape[1])

    def gaps(self, rows: Array) -> Array:
        """Squared distance of each row to its centre, (n,)."""
        return local.fill(lambda part: self.squares(rows[part]).min(axis=1), len(rows), rows.shape[1])

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
        """How far the centres are from those of ``other``, beside the extent of them all; 0 within ``rest``."""
        away = (other.places - self.places).ravel()
        moved = float(away @ away)
        if moved <= self.rest:
            return 0.0
        extent = float((self.places.max(axis=0) - self.places.min(axis=0)).max()) or 1.0
        return float(np.sqrt(moved)) / extent

    def sound(self, stats: Apart) -> bool:
        """Whether no centre is without rows."""
        return bool((stats.weight > 0).all())

    # ---- asking ---------------------------------------------------------------------------------------------------
    def predict(self, rows: Array) -> Array:
        """The nearest centre of each row, (n,)."""

        def nearest(part: slice) -> Array:
            codes = np.empty(len(rows[part]), np.int32)
            kernels.nearest(rows[part], self.places, codes=codes)
            return codes

        return local.fill(nearest, len(rows), rows.shape[1])

    def squares(self, block: Array) -> Array:
        """Squared distances (n, k) of some rows to the centres."""
        out = np.empty((len(block), len(self.places)))
        for j, place in enumerate(self.places):
            away = block - place
            out[:, j] = np.einsum("nd,nd->n", away, away)
        return out

    def distances(self, rows: Array) -> Array:
        """Distances (n, k) of rows to the centres."""
        width = rows.shape[1] + len(self.places)
        return local.fill(lambda part: np.sqrt(self.squares(rows[part])), len(rows), width)
