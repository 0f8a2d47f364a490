"""Partitions of the rows that runs of EM start from: by k-means++, k-means, or at random, in several coordinates.

Distances depend on the units of the columns, and no choice of them is best for all rows: clusters of correlated columns
lie apart when the rows are whitened, those in a few leading principal components when rows are taken as they are. Many
starts in one kind of coordinates may all lead to one local maximum, so that several kinds take turns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from suffice import kernels
from suffice.statistics.weights import Weights
from suffice.tables.labels import Labels
from suffice.tables.row_draws import RowDraws
from suffice.tables.scales import scale_of
from suffice.tables.sketch import points
from suffice.types import Array, Rows

ROUNDS = 10  # of k-means, and in which rows of high leverage are sought
LEVERAGE = 0.2  # of a row: more is too much (Huber 1981, Robust Statistics, chapter 7)
WIDEST = 128  # columns up to which rows are whitened: beyond, it would take longer than the runs of EM
SOFTENED = 0.05  # share of a row that its first owner gives to the others: no component begins without a spread
BITS = 30  # of the values that starts see
FAR = 1e4  # spreads of a column from 0 to its mean: beyond it so few do not tell the rest
SCALED, WHITENED, PLAIN, RANDOM, SOFT = "scaled", "whitened", "plain", "random", "soft"
NUMBERS = (  # coordinates, and rounds of k-means from seeds by k-means++, of one initial partition after the other
    (SCALED, 0),
    (WHITENED, 0),
    (PLAIN, ROUNDS),
    (SCALED, 0),
    (WHITENED, ROUNDS),
    (SCALED, ROUNDS),
    (RANDOM, 0),
    (WHITENED, 0),
)
LABELS = ((SOFT, 0), (SCALED, 0))  # indicators of labels have no units


class Partitions:
    """Initial partitions of rows, each drawn in other coordinates than the one before."""

    def __init__(self, rows: Rows, weights: Weights, *, hard: bool = False) -> None:
        held = weights.dense()[:, 0]
        self.rows, self.held = rows, held / held.max(initial=np.finfo(float).tiny)  # squares of tiny weights are 0
        self.draws = RowDraws.of(rows, scale_of(rows, weights))
        self.places = points(rows, self.held)
        self.kinds: tuple[tuple[str, int], ...] = LABELS if isinstance(rows, Labels) else NUMBERS
        if hard:  # components of random rows are alike, and one of them takes every row
            self.kinds = tuple(kind for kind in self.kinds if kind[0] not in (RANDOM, SOFT))
        self._known: dict[str, Array] = {SCALED: self.places}

    def draw(self, index: int, k: int, rng: Any) -> Array:
        """The component (n,) of each row in partition number ``index``, or responsibilities (n, k) where it is soft."""
        kind, rounds = self.kinds[index % len(self.kinds)]
        if kind == RANDOM:
            return self.draws.codes(k, rng)
        if kind == SOFT:
            return self.draws.simplex(k, rng)
        places = self._coordinates(kind)
        return k_means(places, self.held, places[seeds(places, self.held, k, rng, self.draws)], rounds)[1]

    def _coordinates(self, kind: str) -> Array:
        if kind not in self._known:
            found = whitened(self.places, self.held) if kind == WHITENED else plain(self.rows, self.held)
            self._known[kind] = self.places if found is None else found
        return self._known[kind]


def soften_labels(codes: Array, k: int, blur: float = SOFTENED) -> Array:
    """Shares (n, k) of rows whose owners give a part of them to the others."""
    if k == 1:
        return np.ones((len(codes), 1))
    return np.where(codes[:, None] == np.arange(k), 1 - blur, blur / (k - 1))


def whitened(places: Array, held: Array) -> Array | None:
    """Points whose covariance is the identity, without directions that hardly vary; None where that is nothing new."""
    n, d = places.shape
    if not 1 < d <= WIDEST or n <= 2:
        return None
    return _whitened(places, held)


def _whitened(places: Array, held: Array) -> Array:
    weight = held / held.sum()
    centred = places - weight @ places
    values, vectors = np.linalg.eigh((centred * weight[:, None]).T @ centred)
    kept = values > 1e-9 * max(float(values[-1]), 1e-300)
    return np.ascontiguousarray(centred @ (vectors[:, kept] / np.sqrt(values[kept])))


def without_last_digits(rows: object) -> Any:
    """Rows of numbers to nine digits, where these tell their spread: noise in the last ones leads to the same start.

    Runs part ways after some passes however little their rows differ, and where several ends are nearly as good each
    leads to another. A value next to an edge of the rounding is one in a million.
    """
    if not (type(rows) is np.ndarray and rows.dtype == np.float64 and np.isfinite(rows).all()):
        return rows
    with np.errstate(all="ignore"):
        if not (np.abs(rows.mean(axis=0)) <= FAR * rows.std(axis=0)).all():
            return rows
    mantissa, exponent = np.frexp(rows)
    return np.ldexp(np.rint(np.ldexp(mantissa, BITS)), exponent - BITS)


def without_leverage(rows: Array, weights: Weights) -> Weights:
    """The weights in a subsample, without those of a few rows that make most of the spread in some direction.

    Such a row stands for many that are not like it, and whichever component has a share of it at first becomes too wide
    for anything else. m rows at one place far from all others have a leverage of 1/m each, so that rows of a larger one
    than 1/(d + 1) are too few for a covariance of their own: no cluster is lost. Of few rows each has a large leverage,
    and all have their weights.
    """
    held = weights.dense()[:, 0]
    places, unit = points(rows, held / held.max(initial=np.finfo(float).tiny)), weights.unit
    d = places.shape[1]
    if not 0 < d <= min(WIDEST, LEVERAGE / 10 * len(rows)):
        return weights
    found = held
    for _ in range(ROUNDS):  # a row may hide behind one that is farther off
        leverage = unit / found.sum() * np.square(_whitened(places, found)).sum(axis=1)
        high = (leverage > max(LEVERAGE, 1 / (d + 1))) & (found > 0)
        if not high.any():
            break
        found = np.where(high, 0.0, found)
    return weights if found is held else Weights.of(found, len(rows))


def plain(rows: Rows, held: Array) -> Array | None:
    """Rows of numbers in the units they have, but for one factor; None where they are not points."""
    if not (isinstance(rows, np.ndarray) and rows.ndim == 2 and np.isfinite(rows).all()):
        return None
    weight = held / held.sum()
    centred = rows - weight @ rows
    widest = float(np.sqrt(weight @ np.square(centred)).max(initial=0.0))
    return np.ascontiguousarray(centred / widest) if 0 < widest < np.inf else None


def k_means(places: Array, held: Array, centres: Array, rounds: int) -> tuple[float, Array]:
    """The sum of squares after some rounds of k-means, and the nearest centre (n,) of each row."""
    codes = np.zeros(len(places), np.int32)
    inertia, weight, moved = kernels.nearest(places, centres, held, codes=codes)[:3]
    for _ in range(rounds):
        before = codes.copy()
        centres = centres + moved / np.where(weight > 0, weight, 1.0)[:, None]
        inertia, weight, moved = kernels.nearest(places, centres, held, codes=codes)[:3]
        if (codes == before).all():
            break
    return float(inertia), codes


def clusters(x: Array, weights: Array, k: int, rng: object, draws: RowDraws) -> Array:
    """The nearest (n,) of k rows that lie apart."""
    return k_means(x, weights, x[seeds(x, weights, k, rng, draws)], 0)[1]


def seeds(
    x: Any, weights: Array, k: int, rng: Any, draws: RowDraws, gaps: Callable[[Array], Array] | None = None
) -> Array:
    """Rows (k,) that lie apart: each the best of several drawn by its distance to those before, as k-means++ does.

    ``gaps`` gives the squared distances (n, m) of all rows to some of them, where ``x`` is not an array of points.
    """
    chance = weights / weights.sum()
    chosen = [int(draws.choose(chance, 1, rng)[0])]
    gaps = gaps or _gaps_between(x, chance)
    gap = gaps(np.array(chosen))[:, 0]
    for _ in range(k - 1):
        mass = weights * gap
        total = mass.sum()
        drawn = draws.choose(mass if total > 0 else chance, 2 + int(np.log(k)), rng)
        nearer = np.minimum(gap[:, None], gaps(drawn))
        best = int(np.argmin(weights @ nearer))
        chosen.append(int(drawn[best]))
        gap = nearer[:, best]
    return np.array(chosen)


def _gaps_between(x: Array, chance: Array) -> Callable[[Array], Array]:
    """What gives the squared distances of points to some of them."""
    x = x - chance @ x
    norms = np.einsum("nd,nd->n", x, x)
    none = 1e-13 * norms.max()  # of a squared distance: rounding

    def gaps(rows: Array) -> Array:
        found = norms[:, None] - 2.0 * (x @ x[rows].T) + norms[rows]
        return np.where(found > none, found, 0.0)

    return gaps
