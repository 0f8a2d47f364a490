"""K-means: rows belong to the centre nearest to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from suffice.em.init import distances
from suffice.em.loop import EMResult, run_em
from suffice.em.training import TrainingData
from suffice.engines import local
from suffice.errors import DataError
from suffice.statistics.sums import Additive, checked_factor, same_kind
from suffice.statistics.weights import Weights
from suffice.tables.labels import Labels
from suffice.tables.row_draws import RowDraws
from suffice.tables.scales import scale_of
from suffice.tables.sketch import sketch, take_rows
from suffice.types import Array, Prior, Rows

CELLS = 1 << 21  # of the subsample that a start is drawn from
ROWS = 20000  # and its most rows
TRIALS, FEW = 4, 5  # starts, of which the best goes on, and the passes that decide it
ROUNDING = 1e-9  # of a sum of weights
SHORT = 30  # passes over the subsample before those over all rows
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
    """K centres (k, d): the limit of a mixture of equal spheres as they shrink, learned by the same loop.

    ``rest`` is the sum of squared moves of the centres that counts as none.
    """

    places: Array
    rest: float = 0.0
    name: ClassVar[str] = "Centres"
    is_monotone: ClassVar[bool] = True

    @classmethod
    def drawn(cls, rows: Array, weights: Weights, k: int, rng: np.random.Generator, *, apart: bool = True) -> Self:
        """Centres from a sketch of the rows; see `Seeding`."""
        return cls(Seeding(rows, weights, k).draw(rng, apart=apart).places)

    @staticmethod
    def spread(rows: Rows, weights: Weights) -> float:
        """The mean variance of the columns."""
        return distances.spread(rows, weights)

    def run_em(
        self, rows: Rows, weights: Weights, max_iter: int, callback: Callable[..., Any] | None = None
    ) -> EMResult:
        """Assign and average until the centres rest."""
        return run_em(self, TrainingData(rows, weights), max_iter=max_iter, accelerate=False, callback=callback)

    # ---- what the loop asks for -----------------------------------------------------------------------------------
    def suffstats(self, rows: Array | Labels, weights: object = None) -> Apart:
        """Statistics of rows that belong to their nearest centres; of equally near ones to the first."""
        return self.gather_rows(rows, Weights.of(weights, len(rows)))

    @staticmethod
    def tag_family(stats: Apart) -> Apart:
        """The statistics: only centres have such."""
        return stats

    def gather_rows(self, rows: Rows, held: Weights) -> Apart:
        """The same of weights that were checked."""

        def gather(part: slice) -> Apart:
            own = None if held.values is None else held.values[part]
            near = distances.nearest(rows[part], self.places, own)
            return Apart(near.weight, near.total, np.array([near.inertia]), rounding=np.array([near.rounding]))

        cells = distances.cells(rows)
        width = max(cells, 12 + len(self.places) * cells // 32)  # work counts, not memory
        found = local.reduce(gather, len(rows), width, self._effort(rows))
        if (found.weight > 0).all():
            return found
        return self._relocated(found, rows, held)

    def _effort(self, rows: Rows) -> int:
        return 7 + len(self.places) * distances.cells(rows) // 3

    def _relocated(self, found: Apart, rows: Any, weights: Weights) -> Apart:
        """With a row for each centre that got none, the farthest from all centres and those before, as far as it goes.

        It leaves the centre that it belonged to, unless that would be left without rows.
        """
        held = weights.per_row()
        gap = np.where(held > 0, self.gaps(rows), 0.0)
        places, weight, total = [], np.array(found.weight), np.array(found.total)
        for _ in range(int((found.weight == 0).sum())):
            if not gap.max(initial=0.0) > 0:
                break
            ties = np.flatnonzero(gap == gap.max())
            place = distances.least(rows[ties])
            same = ties[distances.squares(rows[ties], place[None])[:, 0] == 0]
            owner, worth = int(self.predict(rows[same[:1]])[0]), float(held[same].sum())
            if weight[owner] > worth * (1 + ROUNDING):
                weight[owner] -= worth
                total[owner] -= worth * (place - self.places[owner])
            places.append(place)
            gap = np.minimum(gap, replace(self, places=place[None]).gaps(rows))
        farthest = np.array(places).reshape(len(places), rows.shape[1])
        return replace(found, weight=weight, total=total, farthest=farthest)

    def gaps(self, rows: Array | Labels) -> Array:
        """Squared distance of each row to its centre, (n,)."""

        def gaps(part: slice) -> Array:
            return np.asarray(distances.squares(rows[part], self.places).min(axis=1))

        return local.fill(gaps, len(rows), distances.cells(rows) + len(self.places))

    def estimate(self, stats: Apart, prior: Prior = None) -> Self:
        """Each centre at the mean of its rows; one without rows at a row that is far from all."""
        del prior
        if stats.weight.all():
            return replace(self, places=self.places + stats.total / stats.weight[:, None])
        places = self.places + stats.total / np.where(stats.weight > 0, stats.weight, 1.0)[:, None]
        for empty, row in zip(np.flatnonzero(stats.weight == 0), stats.farthest, strict=False):
            places[empty] = row
        return replace(self, places=places)

    def measured_log_likelihood(self, stats: Apart, rows: Any = None, weights: Any = None) -> float:
        """−Σ w ‖x − c‖²."""
        return -float(stats.inertia[0])

    def log_likelihood(self, stats: Apart) -> float:
        """The same: the bound is tight."""
        return self.measured_log_likelihood(stats)

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
    def predict(self, rows: Rows) -> Array:
        """The nearest centre of each row, (n,)."""

        def nearest(part: slice) -> Array:
            codes = np.empty(len(rows[part]), np.int32)
            distances.nearest(rows[part], self.places, codes=codes)
            return codes

        return local.fill(nearest, len(rows), distances.cells(rows), self._effort(rows))

    def distances(self, rows: Rows) -> Array:
        """Distances (n, k) of rows to the centres."""
        width = distances.cells(rows) + len(self.places)
        return local.fill(lambda part: np.sqrt(distances.squares(rows[part], self.places)), len(rows), width)


class Seeding:
    """First centres of k-means, drawn from a sketch of the rows.

    ``points`` are the rows in other coordinates with the same distances, if that is where the centres shall be: which
    rows are drawn depends on the values of ``rows``. Where all rows are in the sketch it is made once for all draws.
    """

    def __init__(self, rows: Rows, weights: Weights, k: int, points: Rows | None = None) -> None:
        """Keep the rows."""
        self.rows, self.weights, self.k = rows, weights, k
        self.points = rows if points is None else points
        self.size = int(np.clip(CELLS // distances.cells(rows), max(10 * k, 1000), max(10 * k, ROWS)))
        self._all: tuple[Any, Weights, RowDraws] | None = None

    def _subsample(self, rng: np.random.Generator) -> tuple[Any, Weights, RowDraws]:
        """Points, their weights, and draws among them."""
        seed = int(rng.integers(1 << 62))
        if self._all is not None:
            return self._all
        found = sketch(self.rows, self.weights, self.size, seed)
        if len(found.index) == 0:
            msg = "k-means cannot begin: no row has a weight; give at least one row."
            raise DataError(msg)
        held = Weights.of(found.weights, len(found.index))
        small = take_rows(self.rows, found.index)
        draws = RowDraws.of(small, scale_of(small, held))
        found_points = small if self.points is self.rows else take_rows(self.points, found.index)
        if len(self.rows) <= self.size:
            self._all = found_points, held, draws
        return found_points, held, draws

    def draw(self, rng: np.random.Generator, *, apart: bool = True) -> Centres:
        """The best of several draws that lie apart, as k-means++ draws them, after a few passes over the sketch.

        Without ``apart`` they are just drawn.
        """
        small, held, draws = self._subsample(rng)
        w = held.dense()[:, 0]
        if not apart:
            return Centres(distances.dense(small[draws.distinct(w, self.k, rng)]))
        part = slice(max(50 * self.k, 2000))  # by rising hash: the first rows are a sketch of the sketch
        some, theirs, among = small[part], w[part], draws[part]
        trials = TRIALS if self.k > 1 else 1
        first_rows = (distances.seeds(some, theirs, self.k, rng, among) for _ in range(trials))
        firsts = (Centres(distances.dense(small[chosen])) for chosen in first_rows)
        runs = (first.run_em(small, held, FEW).raise_if_interrupted() for first in firsts)
        first: Centres = max(runs, key=lambda path: path.objective).distribution
        return first if len(small) < self.size else first.run_em(small, held, SHORT).raise_if_interrupted().distribution


@dataclass(frozen=True)
class RowSpace:
    """Rows with more columns than rows, in as many coordinates as there are rows: x = centre + coordinates · axes.

    Distances between rows, and to their means, are the same.
    """

    centre: Array
    axes: Array
    coordinates: Array

    @classmethod
    def of(cls, rows: Array) -> RowSpace:
        """The span of the rows about their mean."""
        centre = rows.mean(axis=0, dtype=np.float64)
        axes, lower = np.linalg.qr((rows - centre).T)
        return cls(centre, axes.T, np.ascontiguousarray(lower.T))

    def back(self, places: Array) -> Array:
        """Points in the coordinates of the rows, (k, d)."""
        return np.asarray(self.centre + places @ self.axes)
