"""What the rules ask of columns, gathered from slices of rows and added: one pass over files, in constant memory.

Sums, bounds and statistics are exact, and so are labels, of which as many are kept as a model could use. Whether whole
numbers are all different is exact while they rise, or are no more than `KEPT`; beyond that, values are compared whose
hash is small, which finds repeated values as surely as chance would make them.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from suffice import kernels
from suffice.core.errors import DataError
from suffice.core.labels import in_order, read_labels
from suffice.core.parameters import Array
from suffice.core.streamed import Source
from suffice.core.weights import Weights
from suffice.engines import local
from suffice.frames import rules
from suffice.frames.rules import DATES, FEW, FIRST, HANDFUL, POSITIVE, Finding, holes, of_booleans, of_labels
from suffice.frames.table import Coded

KEPT = 1 << 22  # values that are remembered to see whether one comes again
LEVELS = 1 << 17  # labels of a column, beyond which it is taken for an identifier
GLIMPSE = 1 << 12  # values that mostly show that some come again
NO_UNIT = 1 << 10  # decimals of numbers that have too many


def findings(source: Source, names: tuple[Any, ...], weights: Weights, groups: Any = None) -> list[Finding]:
    """Apply the rules to columns of a source; ``groups`` gives the groups of a slice of the rows."""

    def part(where: slice) -> _Columns:
        frame = source.frame(where.start, where.stop, names)
        held = weights[where].dense()[:, 0]
        within = np.zeros(len(held), np.intp) if groups is None else np.asarray(groups(where))
        return _Columns(tuple(glance(frame[name], held, within) for name in names))

    found = local.reduce(part, len(source), max(len(names), 1))
    return [one.finding(name) for name, one in zip(names, found.each, strict=True)]


@dataclass(frozen=True)
class _Columns:
    each: tuple[Glance, ...]

    def __add__(self, other: _Columns) -> _Columns:
        return _Columns(tuple(one + two for one, two in zip(self.each, other.each, strict=True)))


@dataclass(frozen=True)
class Glance:
    """Some rows of a column: their weight, and what was seen of the cells that are not missing."""

    total: float = 0.0
    missing: float = 0.0
    cells: Any = None  # of one kind: Words, Strange, Flags, Numbers, or a text that says why the column is left out

    def __add__(self, other: Glance) -> Glance:
        cells = other.cells if self.cells is None else self.cells
        if self.cells is not None and other.cells is not None and not isinstance(cells, str):
            cells = (
                "labels of different kinds" if type(self.cells) is not type(other.cells) else self.cells + other.cells
            )
        return Glance(self.total + other.total, self.missing + other.missing, cells)

    def finding(self, name: Any) -> Finding:
        """What the rules say."""
        share = self.missing / self.total if self.total > 0 else 0.0
        if self.cells is None:
            return Finding(name, None, "no value at all" if self.total > 0 else "no rows", share)
        if isinstance(self.cells, str):
            return Finding(name, None, self.cells, share)
        found: Finding = self.cells.finding(name, share)
        return found


def glance(column: Any, weights: Array, within: Array) -> Glance:  # noqa: PLR0911 (one for each kind)
    """Look at some rows of a column."""
    counted = weights > 0
    if not counted.all():
        column, weights, within = column[counted], weights[counted], within[counted]
    total = float(weights.sum())
    if isinstance(column, Coded):
        seen = column.codes >= 0
        held = weights if seen.all() else weights[seen]
        cells = Words.of(column, held) if len(held) else None
        return Glance(total, total - float(held.sum()), cells)
    if column.ndim > 1:
        return Glance(total, 0.0, f"vectors of {column.shape[1]}: name a family for them")
    masked = np.ma.getmaskarray(column) if isinstance(column, np.ma.MaskedArray) else holes(column)
    values, held = np.asarray(column), weights
    if masked.any():
        values, held, within = values[~masked], weights[~masked], within[~masked]
    gone = float(weights[masked].sum())
    if not len(values):
        return Glance(total, gone)
    kind = column.dtype.kind
    if kind in "mM" or (kind == "O" and any(isinstance(one, (dt.date, dt.time, dt.timedelta)) for one in values[:100])):
        return Glance(total, gone, DATES)
    if kind in "OUS":
        try:
            words = read_labels(values, "infer", 1).columns[0].seen
        except DataError as error:
            kinds = frozenset(type(cell).__name__ for cell in values)
            return Glance(total, gone, Strange(kinds, nested=isinstance(error.__cause__, TypeError)))
        return Glance(total, gone, Words(frozenset(words), len(held), float(held.sum())))
    if kind == "b":
        return Glance(total, gone, Flags(bool(values.any()), bool(values.all())))
    return Glance(total, gone, Numbers.of(values, held, within))


@dataclass(frozen=True)
class Flags:
    """Yes and no."""

    some: bool
    every: bool

    def __add__(self, other: Flags) -> Flags:
        return Flags(self.some or other.some, self.every and other.every)

    def finding(self, name: Any, missing: float) -> Finding:
        """What the rules say."""
        return of_booleans(name, self.some, self.every, missing)


@dataclass(frozen=True)
class Strange:
    """Cells that are no labels of one kind, by the names of their kinds."""

    kinds: frozenset[str]
    nested: bool

    def __add__(self, other: Strange) -> Strange:
        return Strange(self.kinds | other.kinds, self.nested or other.nested)

    def finding(self, name: Any, missing: float) -> Finding:
        """What the rules say."""
        return rules.of_strange(name, self.kinds, missing, nested=self.nested)


@dataclass(frozen=True)
class Words:
    """Labels that occur, or None where they are too many; rows that have one, and their weight."""

    levels: frozenset[Any] | None
    count: int
    weight: float

    @classmethod
    def of(cls, column: Coded, held: Array) -> Words:
        """The words of numbered text."""
        tally = np.bincount(column.codes + 1, minlength=len(column.words) + 1)[1:]
        levels = frozenset(column.words[place] for place in np.flatnonzero(tally).tolist())
        return cls(levels, len(held), float(held.sum()))

    def __add__(self, other: Words) -> Words:
        both = None
        if self.levels is not None and other.levels is not None:
            both = self.levels if other.levels <= self.levels else self.levels | other.levels
        if both is not None and len(both) > LEVELS:
            both = None
        return Words(both, self.count + other.count, self.weight + other.weight)

    def finding(self, name: Any, missing: float) -> Finding:
        """What the rules say."""
        if self.levels is None:
            why = f"like an identifier: more than {LEVELS} different values in {self.count} rows"
            return Finding(name, None, why, missing)
        total = self.weight * max(1.0, self.count / self.weight)
        return of_labels(name, in_order(self.levels), total, missing)


@dataclass(frozen=True)
class _Shape:
    """One group's statistics under each family of positive numbers, and its first values; None: not all can be."""

    first: Array
    stats: dict[str, Any]
    count: int

    @classmethod
    def of(cls, x: Array, w: Array) -> _Shape:
        low, high = x.min(), x.max()
        families = () if not np.isfinite(low + high) or low < 0 else POSITIVE if low > 0 else POSITIVE[:1]
        return cls(x[:FIRST], {one.name: one.suffstats(x, w) for one in families}, len(x))

    def __add__(self, other: _Shape) -> _Shape:
        stats = {name: one + other.stats[name] for name, one in self.stats.items() if name in other.stats}
        return _Shape(np.concatenate([self.first, other.first])[:FIRST], stats, self.count + other.count)


@dataclass(frozen=True)
class Numbers:
    """Facts of numbers, as the rules ask for them."""

    low: float
    high: float
    count: int
    weight: float
    decimals: int
    shapes: dict[int, _Shape] = field(repr=False)
    seen: _Different = field(repr=False)

    @classmethod
    def of(cls, values: Array, held: Array, within: Array) -> Numbers:
        """Look at some of them."""
        unit = rules.unit_of(values)
        decimals = NO_UNIT if unit is None else round(-np.log10(unit))
        rows = np.asarray(values, dtype=float)
        shapes = {}
        for group in np.unique(within).tolist() if within.any() else [0]:
            mine = within == group if within.any() else slice(None)
            shapes[group] = _Shape.of(rows[mine], held[mine])
        different = _Different.of(values) if unit == 1 else _Different()
        low, high = float(values.min()), float(values.max())
        return cls(low, high, len(values), float(held.sum()), decimals, shapes, different)

    def __add__(self, other: Numbers) -> Numbers:
        decimals = max(self.decimals, other.decimals)
        shapes = dict(self.shapes)
        for group, one in other.shapes.items():
            shapes[group] = shapes[group] + one if group in shapes else one
        return Numbers(
            min(self.low, other.low),
            max(self.high, other.high),
            self.count + other.count,
            self.weight + other.weight,
            decimals,
            shapes,
            self.seen + other.seen if decimals == 0 else _Different(),
        )

    def finding(self, name: Any, missing: float) -> Finding:
        """What the rules say."""
        return rules.of_numbers(name, self, missing)

    @property
    def unit(self) -> float | None:
        """The power of ten that all are multiples of."""
        return None if self.decimals == NO_UNIT else float(10.0**-self.decimals)

    @property
    def scale(self) -> float:
        """What weights that are shares are multiplied with."""
        return max(1.0, self.count / self.weight)

    @property
    def alone(self) -> bool:
        """Whether all differ, and none counts twice."""
        return self.seen.alone and self.count >= self.weight * self.scale * (1 - 1e-12)

    @property
    def few(self) -> tuple[Any, ...] | None:
        """The different values, where there are few."""
        return None if self.seen.few is None else tuple(sorted(self.seen.few))

    @property
    def known(self) -> list[_Shape]:
        """The groups that show a shape: those that are known, or where few rows have one, all rows together."""
        known = [one for group, one in self.shapes.items() if group >= 0]
        if len(known) == len(self.shapes) or sum(one.count for one in known) >= HANDFUL:
            return known
        whole, *others = self.shapes.values()
        for one in others:
            whole = whole + one
        return [whole]

    @property
    def total(self) -> float:
        """The weight of the rows of known group."""
        return float(sum(one.stats["Normal"].weight.sum() for one in self.known)) * self.scale

    @property
    def dispersion(self) -> float:
        """Variance/mean, within the groups."""
        spread = 0.0
        for one in self.known:
            stats = one.stats["Normal"]
            mean = float(np.sum(stats.mean))
            spread += float(np.sum(stats.scatter)) / mean if mean > 0 else 0.0
        return spread * self.scale / self.total

    @property
    def scores(self) -> dict[str, float]:
        """The log-likelihood of each family, within the groups."""
        eligible = [one for one in self.known if len(np.unique(one.first)) > 2]
        found = {}
        for family in POSITIVE:
            stats = [one.stats[family.name] for one in eligible]
            found[family.name] = self.scale * sum(float(family.estimate(one).log_likelihood(one)) for one in stats)
        return found


@dataclass(frozen=True)
class _Different:
    """Whether values come again: while they rise, by the last; else by a set of them, thinned by their hashes."""

    alone: bool = False
    few: frozenset[Any] | None = None
    first: float = 0.0
    last: float = 0.0
    rising: bool = False
    sample: Array | None = None
    halvings: int = 0

    @classmethod
    def of(cls, values: Array) -> _Different:
        glimpse = np.unique(values[:GLIMPSE])
        few: frozenset[Any] | None = None
        if len(glimpse) <= FEW:
            glimpse = np.unique(values)
            few = frozenset(glimpse.tolist()) if len(glimpse) <= FEW else None
        if len(glimpse) < min(len(values), GLIMPSE):
            return cls(few=few)
        if (np.diff(values) > 0).all():
            return cls(alone=True, few=few, first=float(values[0]), last=float(values[-1]), rising=True, sample=values)
        different = np.unique(values)
        return cls(alone=len(different) == len(values), few=few, sample=different)

    def __add__(self, other: _Different) -> _Different:
        few = None
        if self.few is not None and other.few is not None:
            few = self.few | other.few
            few = few if len(few) <= FEW else None
        if not (self.alone and other.alone):
            return _Different(few=few)
        rising = self.rising and other.rising and self.last < other.first
        halvings = max(self.halvings, other.halvings)
        mine, theirs = _thinned(self, halvings), _thinned(other, halvings)
        both = np.concatenate([mine, theirs])
        if not rising:
            both = np.sort(both)
            if (both[1:] == both[:-1]).any():
                return _Different(few=few)
        found = _Different(True, few, self.first, other.last, rising, both, halvings)  # noqa: FBT003
        while found.sample is not None and len(found.sample) > KEPT:
            found = replace(found, sample=_thinned(found, found.halvings + 1), halvings=found.halvings + 1)
        return found


def _thinned(found: _Different, halvings: int) -> Array:
    """The values whose hash ends in as many zeros."""
    assert found.sample is not None  # noqa: S101 (all differ so far)
    if halvings == found.halvings:
        return found.sample
    hashes = kernels.row_hash(found.sample.astype(np.float64)[:, None], 0)
    return np.asarray(found.sample[hashes % np.uint64(1 << halvings) == 0])
