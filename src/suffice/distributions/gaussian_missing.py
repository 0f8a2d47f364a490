"""Missing cells under a covariance: they are integrated out, given the cells that are there.

Rows are grouped by which cells they have: given those, what is expected of the others depends on the group alone. The
arithmetic is the kernels' (`kernels.numpy.missing` defines it); here rows are sorted for it, once for many passes
where they are `Preprocessed`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice import kernels
from suffice.core.responsibilities import EStep
from suffice.distributions.floors import HALF_LOG_TAU
from suffice.engines.once import cached_property
from suffice.kernels.numpy.missing import HoledMoments, Told, applied, away, parts
from suffice.numerics.low_rank import compact
from suffice.statistics.moments import Moments, Scatter
from suffice.statistics.weights import Weights
from suffice.types import Array

KEPT = 1 << 26  # cells that are kept a second time for many passes: 512 MB; what is beyond is sorted in each


# ---- patterns --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Patterns:
    """Rows by which cells they have: ``order`` (n,) brings those together that have the same."""

    order: Array
    starts: Array  # (g + 1,): where the rows of each pattern begin, in that order
    columns: Array  # (g, d): of each pattern, the seen ones first
    sizes: Array  # (g,): how many are seen

    @classmethod
    def of(cls, x: Array) -> Patterns:
        """The patterns of rows (n, d)."""
        return cls.where(~np.isnan(x))

    @classmethod
    def where(cls, has: Array) -> Patterns:
        """The patterns of rows that have these cells, (n, d)."""
        packed = np.packbits(has, axis=1)
        width = next((width for width in (1, 2, 4, 8) if width >= packed.shape[1]), 0)
        if width:
            keys = np.zeros((len(has), width), np.uint8)
            keys[:, : packed.shape[1]] = packed
            number = keys.view(f"u{width}")[:, 0]
            order = np.argsort(number, kind="stable")
            changed = np.flatnonzero(np.diff(number[order])) + 1
        else:
            order = np.lexsort(packed.T)
            changed = np.flatnonzero((packed[order[1:]] != packed[order[:-1]]).any(axis=1)) + 1
        starts = np.concatenate([[0], changed, [len(has)]]) if len(has) else np.zeros(1, int)
        kinds = has[order[starts[:-1]]]
        return cls(order, starts, np.argsort(~kinds, axis=1, kind="stable"), kinds.sum(axis=1))

    @property
    def unstacked(self) -> list[tuple[Array, Array]]:
        """The rows and the seen columns of every pattern."""
        rows = np.split(self.order, self.starts[1:-1]) if len(self.sizes) else []
        return [(own, columns[:size]) for own, columns, size in zip(rows, self.columns, self.sizes, strict=True)]

    @property
    def arguments(self) -> tuple[Array, Array, Array]:
        """What the kernels take."""
        return self.starts, self.columns, self.sizes

    def pairs(self, weight: Array) -> Array:
        """The weight (k, d, d) of rows in which both of two columns were seen, from that of each pattern (g, k)."""
        return np.asarray((weight.T[:, None, :] * self.seen.T) @ self.seen)

    @cached_property
    def seen(self) -> Array:
        """1 where a pattern has a cell, else 0, (g, d)."""
        return (np.argsort(self.columns, axis=1) < self.sizes[:, None]).astype(float)


@dataclass(frozen=True)
class Split:
    """A block of rows in three parts, by number: complete ones, those with holes by pattern, and those without a cell.

    ``cells`` are the rows with holes, column by column in memory; ``infinite`` tells of cells that are not finite.
    """

    whole: Array
    some: Array
    blank: Array
    rows: Array
    cells: Array
    patterns: Patterns
    infinite: bool

    @classmethod
    def of(cls, x: Array) -> Split:
        """Sort a block of rows."""
        count = np.isnan(x).sum(axis=1)
        whole, blank = np.flatnonzero(count == 0), np.flatnonzero(count == x.shape[1])
        some = np.flatnonzero((count > 0) & (count < x.shape[1]))
        found = Patterns.of(x[some])
        some = some[found.order]
        rows, cells = x[whole], np.asfortranarray(x[some], dtype=np.float64)
        return cls(whole, some, blank, rows, cells, found, bool(np.isinf(rows).any() or np.isinf(cells).any()))


class Preprocessed(np.ndarray):
    """Rows with holes for many passes, in which nobody writes: what was found of a slice is kept with them."""

    kept: dict[tuple[int, int], Split] | None = None
    begin = 0

    @classmethod
    def of(cls, rows: Array) -> Array:
        """Stage rows; those that have no holes are as they were."""
        if isinstance(rows, Preprocessed) or not np.isnan(rows.min(initial=0.0)):
            return rows
        preprocessed = rows.view(cls)
        preprocessed.kept = {}
        return preprocessed

    def __getitem__(self, part: Any) -> Any:
        """Return a slice of rows that knows its place, or anything else as a plain array."""
        if self.kept is None or not isinstance(part, slice) or part.step not in (None, 1):
            return np.asarray(self)[part]
        found = np.asarray(self)[part].view(Preprocessed)
        found.kept, found.begin = self.kept, self.begin + part.indices(len(self))[0]
        return found

    @property
    def split(self) -> Split | None:
        """The parts of these rows, found once; None of an array that was computed from them."""
        if self.kept is None:
            return None
        place = (self.begin, len(self))
        found = self.kept.get(place)
        if found is None:
            found = Split.of(np.asarray(self))
            if sum(length for _, length in list(self.kept)) * self.shape[1] < KEPT:
                self.kept[place] = found
        return found


# ---- scores ----------------------------------------------------------------------------------------------------------
def score(out: Array, x: Array, mean: Array, cov: Array) -> Array:
    """Mend the scores (n, k) of rows with missing or infinite cells: by the cells that were seen."""
    if np.isfinite(out.sum()):
        return out
    rows = np.flatnonzero(~np.isfinite(out).all(axis=1))
    if not rows.size:
        return out
    part = x[rows]
    holes = np.isnan(part).any(axis=1)
    with np.errstate(invalid="ignore", over="ignore"):
        out[rows[holes]] = scores(part[holes], mean, cov)
    out[rows[np.isinf(part).any(axis=1)]] = -np.inf
    return out


def scores(x: Array, mean: Array, cov: Array) -> Array:
    """Log density (n, k) of the cells that rows have; 0 for a row that has none."""
    found, out = Patterns.of(x), np.empty((len(x), len(mean)))
    cells = np.asfortranarray(x[found.order], dtype=np.float64)
    out[found.order] = kernels.holed_log_prob(cells, *found.arguments, mean, cov)
    return out


def score_by_marginals(out: Array, x: Array, marginal: Callable[[list[int]], Any]) -> Array:
    """Mend the scores (n, k) of rows with missing or infinite cells: each pattern by the marginal of what was seen."""
    rows = np.flatnonzero(~np.isfinite(out).all(axis=1))
    for which, columns in Patterns.of(x[rows]).unstacked:
        where = rows[which]
        if not len(columns):
            out[where] = 0.0
            continue
        part = x[where][:, columns]
        finite = np.isfinite(part).all(axis=1)
        out[where[~finite]] = -np.inf
        if len(columns) < x.shape[1] and finite.any():
            out[where[finite]] = marginal(columns.tolist()).log_density(part[finite])
    return out


# ---- expectations ----------------------------------------------------------------------------------------------------
def gather(split: Split, w: Weights, mean: Array, cov: Array, *, pooled: bool) -> Scatter:
    """The expected statistics of rows with holes that belong to components with these means and covariances.

    ``w`` are the weights of these rows, in their order. ``pooled`` keeps one scatter for all components together.
    """
    data = split.cells, *split.patterns.arguments
    found = kernels.holed_scatter(*data, mean, cov, w.values, w.codes)
    return _scatter(found, split.patterns, mean, pooled=pooled)


def _scatter(found: HoledMoments, patterns: Patterns, mean: Array, *, pooled: bool) -> Scatter:
    """What the kernels found as statistics."""
    weight, shift, scatter, entropy, by_pattern = found
    scatter = scatter.sum(axis=0, keepdims=True) if pooled else scatter
    centre, seen = np.where(weight[:, None] > 0, mean, 0.0), patterns.pairs(by_pattern)
    return Scatter(weight, centre, shift, scatter, exact=False, entropy=entropy, seen=seen)


def gather_columns(x: Array, w: Weights, mean: Array, std: Array) -> Scatter:
    """The same where columns are independent: a missing cell has the distribution that the component gives to it."""
    return filled(Moments(*kernels.moments(x, **w.arguments)), w.component_totals(), mean, std)


def filled(seen: Moments, count: Array, mean: Array, std: Array) -> Scatter:
    """The statistics of ``count`` (k,) rows, of whose cells some were seen."""
    absent = np.maximum(count[:, None] - seen.weight, 0.0)
    guess = Moments(absent, np.asarray(mean), np.zeros_like(mean), absent * std**2)
    whole = replace(seen, family="") + guess
    entropy = (absent * (HALF_LOG_TAU + 0.5 + np.log(std))).sum(axis=1)
    squares, cells = compact(whole.scatter), compact(seen.weight)
    return Scatter(count, whole.centre, whole.shift, squares, exact=False, diagonal=True, entropy=entropy, seen=cells)


def chosen(w: Weights, index: Array) -> Weights:
    """The weights of some rows, in this order."""
    values = None if w.values is None else w.values[index]
    return replace(w, length=len(index), values=values, codes=None if w.codes is None else w.codes[index])


def e_step(split: Split, log_weights: Array, weights: Array | None, mean: Array, cov: Array, *, pooled: bool) -> EStep:
    """One E-step over rows with holes: scores, responsibilities and expected statistics from one factor of a pattern.

    ``log_weights`` and ``weights`` are those of these rows, in their order.
    """
    data = split.cells, *split.patterns.arguments
    found = kernels.missing_e_step(*data, mean, cov, log_weights, weights)
    stats = _scatter(found[2:], split.patterns, mean, pooled=pooled)
    return EStep(found[0], found[1], stats, stats.weight)


def expected_rows(x: Array, shares: Array, mean: Array, cov: Array) -> Array:
    """Rows (n, d) with what is expected of their missing cells.

    By the ``shares`` (n, k) that components have in them.
    """
    patterns = Patterns.of(x)
    cells, held = x[patterns.order].astype(float), shares[patterns.order]
    for some, rows, cuts in parts(patterns.starts, cov.size):
        fill, guess = Told(cov, patterns.columns[some], patterns.sizes[some]).fill, np.zeros(cells[rows].shape)
        for j, own in enumerate(mean):
            filling = applied(fill[:, min(j, len(cov) - 1)], away(cells[rows], own), cuts)
            guess = guess + held[rows, j, None] * (own + filling)
        cells[rows] = np.where(np.isnan(cells[rows]), guess, cells[rows])
    out = np.empty(cells.shape)
    out[patterns.order] = cells
    return out
