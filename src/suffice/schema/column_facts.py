"""What the rules ask of columns, gathered from batches of rows and added: one pass over files, in constant memory.

Sums, bounds and statistics are exact, and so are labels, of which as many are kept as a model could use. Whether whole
numbers are all different is exact while they rise, or are no more than `numbers.KEPT`; beyond that, values are compared
whose hash is small, which finds repeated values as surely as chance would make them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.engines import local
from suffice.errors import DataError
from suffice.schema.number_facts import Hint, Numbers
from suffice.schema.repeats import Repeats
from suffice.schema.rules import DATES, Finding, holes, of_booleans, of_labels, of_strange
from suffice.statistics.weights import Weights
from suffice.tables.frame import Coded
from suffice.tables.labels import Column, in_order, read_labels
from suffice.tables.streams import Piece, Source
from suffice.types import Array, Rows

LEVELS = 1 << 17  # labels of a column, beyond which it is taken for an identifier
TOO_MANY = Hint(0)  # of text: its labels are


def findings(
    source: Source, names: tuple[Any, ...], weights: Weights, groups: Callable[..., Any] | None = None
) -> list[Finding]:
    """Apply the rules to columns of a source; ``groups`` gives the groups of a slice of the rows."""
    found = _look_at(source, names, _RowWeights(weights, groups), Hint(len(source)))
    return [found[name].finding(name) for name in names]


def finding(name: Hashable, column: Array, weights: Array | None, groups: Array | None = None) -> Finding:
    """Apply the rules to one column in memory, whose rows count by their weights (None: once each).

    With groups, shapes are judged within them; a negative group is unknown.
    """
    column = np.asarray(column) if isinstance(column, Coded) else column
    return glance(column, weights, groups, Hint(len(column))).finding(name)


def _look_at(source: Source, names: tuple[Any, ...], weighting: _RowWeights, hint: Hint) -> dict[Any, Glance]:
    """Look at all rows, column by column and piece by piece, in as many threads as there are."""
    pieces = source.pieces(names)
    hints = dict.fromkeys(names, hint)
    if not pieces:
        return {name: Glance() for name in names}
    return local.total(lambda index: _Columns.of(pieces[index], weighting, hints), len(pieces)).each


@dataclass(frozen=True)
class _RowWeights:
    """Weights and groups of the rows."""

    weights: Weights
    groups: Any

    @property
    def plain(self) -> bool:
        """Whether each row counts once."""
        return self.weights.values is None

    def of(self, where: slice) -> tuple[Array | None, Array | None]:
        """Those of some rows, None for weights that are 1, and for a single group."""
        held = None if self.plain else self.weights[where].dense()[:, 0]
        return held, None if self.groups is None else np.asarray(self.groups(where))


@dataclass(frozen=True)
class _Columns:
    """Columns by name."""

    each: dict[Any, Glance]

    @classmethod
    def of(cls, piece: Piece, weighting: _RowWeights, hints: dict[Any, Hint]) -> _Columns:
        """Look at a piece; ``hints`` are read and added to, in whatever order: they change no answer."""
        glances, looks = dict[Any, Glance](), dict[Any, _Look]()
        for name in piece.columns:
            one = _untouched(piece, name, hints[name]) if weighting.plain else None
            if one is None:
                looks[name] = _Look()
            else:
                glances[name] = one
        begin = piece.first
        for frame in piece.frames(tuple(looks)):
            held, within = weighting.of(slice(begin, begin + len(frame)))
            for name, look in looks.items():
                hints[name] = look.add(frame[name], held, within, hints[name])
            begin += len(frame)
            if len(looks) == 1 and weighting.plain:  # a long column of text, perhaps, of which enough was seen
                (name,) = looks
                one = _untouched(piece, name, hints[name])
                if one is not None:
                    return cls({**glances, name: one})
        return cls({**glances, **{name: look.all() for name, look in looks.items()}})

    def __add__(self, other: _Columns) -> _Columns:
        both = dict(self.each)
        for name, one in other.each.items():
            both[name] = both[name] + one if name in both else one
        return _Columns(both)


def _untouched(piece: Piece, name: Hashable, hint: Hint) -> Glance | None:
    """A column that need not be read, since nothing but its holes matters, and the file says how many they are."""
    dates = piece.dates(name)
    missing = piece.missing(name) if dates or hint is TOO_MANY else None
    if missing is None:
        return None
    seen = piece.rows - missing
    cells = None if seen == 0 else DATES if dates else Words(None, Repeats.of(None, seen))
    return Glance(float(piece.rows), float(missing), cells)


class _Look:
    """Some rows of a column, batch by batch: added two by two, and text word by word."""

    def __init__(self) -> None:
        self.sums: list[tuple[int, Glance]] = []
        self.text: _Text | None = None

    def add(self, column: Rows, held: Array | None, within: Array | None, hint: Hint) -> Hint:
        """Look at more rows; returns what is known now."""
        if isinstance(column, Coded):
            self.text = self.text or _Text()
            self.text.add(column, held)
            return TOO_MANY if self.text.levels is None else hint
        found, rank = glance(column, held, within, hint), 0
        if isinstance(found.cells, Numbers):
            hint = hint.after(found.cells)
        while self.sums and self.sums[-1][0] == rank:
            found, rank = self.sums.pop()[1] + found, rank + 1
        self.sums.append((rank, found))
        return hint

    def all(self) -> Glance:
        """What was seen."""
        found = Glance() if self.text is None else self.text.all()
        for _, one in reversed(self.sums):
            found = one + found
        return found


class _Text:
    """Numbered text, batch by batch: the words that occur, each looked up once."""

    def __init__(self) -> None:
        self.total = 0.0
        self.repeats = Repeats.of(None, 0)
        self.levels: dict[Any, float] | None = {}
        self.last: Coded | None = None
        self.used = np.empty(0)  # the weight of each word of the last numbering

    def add(self, column: Coded, held: Array | None) -> None:
        """Look at more rows."""
        codes = column.codes
        if held is not None:
            codes, held = codes[held > 0], held[held > 0]
        seen = codes >= 0
        every = bool(seen.all())
        self.total += float(len(codes) if held is None else held.sum())
        rows = len(codes) if every else int(np.count_nonzero(seen))
        self.repeats += Repeats.of(None if held is None else held[seen], rows)
        if self.levels is None:
            return
        if self.last is None or not column.shares(self.last):
            self._note()
            self.last, self.used = column, np.zeros(len(column.kept))
        if not every:
            codes, held = codes[seen], None if held is None else held[seen]
        self.used += np.bincount(codes, held, len(self.used))

    def _note(self) -> None:
        if self.last is not None and self.levels is not None:
            there = np.flatnonzero(self.used)
            self.levels = _added(self.levels, dict(zip(self.last.some(there), self.used[there].tolist(), strict=True)))

    def all(self) -> Glance:
        """What was seen."""
        self._note()
        cells = Words(self.levels, self.repeats) if self.repeats.rows else None
        return Glance(self.total, self.total - self.repeats.weight, cells)


@dataclass(frozen=True)
class Glance:
    """Some rows of a column: their weight, and what was seen of the cells that are not missing."""

    total: float = 0.0
    missing: float = 0.0
    cells: Any = None  # of one kind: Words, Flags, Numbers, Strange, or a text that says why the column is left out

    def __add__(self, other: Glance) -> Glance:
        cells = other.cells if self.cells is None else self.cells
        if self.cells is not None and other.cells is not None and not isinstance(cells, str):
            cells = (
                "labels of different kinds" if type(self.cells) is not type(other.cells) else self.cells + other.cells
            )
        return Glance(self.total + other.total, self.missing + other.missing, cells)

    def finding(self, name: Hashable) -> Finding:
        """What the rules say."""
        share = self.missing / self.total if self.total > 0 else 0.0
        if self.cells is None:
            return Finding(name, None, "no value at all" if self.total > 0 else "no rows", share)
        if isinstance(self.cells, str):
            return Finding(name, None, self.cells, share)
        found: Finding = self.cells.finding(name, share)
        return found


def glance(  # noqa: PLR0911 (one for each kind)
    column: Any, held: Array | None, within: Array | None, hint: Hint
) -> Glance:
    """Look at some rows of a column; held None: each counts once, within None: they are one group."""
    if held is not None and not (held > 0).all():
        counted = held > 0
        column, held, within = column[counted], held[counted], None if within is None else within[counted]
    total = _weight(held, len(column))
    if column.ndim > 1:
        return Glance(total, 0.0, f"vectors of {column.shape[1]}: name a family for them")
    masked = np.ma.getmaskarray(column) if isinstance(column, np.ma.MaskedArray) else holes(column)
    values, gone = np.asarray(column), 0.0
    if masked.any():
        gone = _weight(None if held is None else held[masked], int(np.count_nonzero(masked)))
        seen = ~masked
        values = values[seen]
        held, within = None if held is None else held[seen], None if within is None else within[seen]
    if not len(values):
        return Glance(total, gone)
    kind = column.dtype.kind
    if kind in "mM" or (kind == "O" and any(isinstance(one, (dt.date, dt.time, dt.timedelta)) for one in values[:100])):
        return Glance(total, gone, DATES)
    if kind in "OUS":
        try:
            words = read_labels(values, "infer", 1).columns[0]
        except DataError as error:
            kinds = frozenset(type(cell).__name__ for cell in values)
            return Glance(total, gone, Strange(kinds, none=isinstance(error.__cause__, TypeError)))
        return Glance(total, gone, Words(_weights_of(words, held), Repeats.of(held, len(values))))
    if kind == "b":
        return Glance(total, gone, Flags(bool(values.any()), bool(values.all())))
    return Glance(total, gone, Numbers.of(values, held, within, hint))


def _weights_of(words: Column, held: Array | None) -> dict[Any, float]:
    """The weight of every label that occurs."""
    places = words.among(np.arange(len(words.vocabulary)))
    weights = words.tally if held is None else np.bincount(places[places >= 0], held[places >= 0], len(words.tally))
    return {words.vocabulary[i]: float(weights[i]) for i in np.flatnonzero(words.tally).tolist()}


def _added(left: dict[Any, float], right: dict[Any, float]) -> dict[Any, float] | None:
    """The weights of both; None where the labels are too many."""
    both = dict(left) if len(left) >= len(right) else dict(right)
    for label, weight in (right if len(left) >= len(right) else left).items():
        both[label] = both.get(label, 0.0) + weight
    return None if len(both) > LEVELS else both


def _weight(held: Array | None, rows: int) -> float:
    return float(rows) if held is None else float(held.sum())


@dataclass(frozen=True)
class Strange:
    """Cells that cannot be put in order, or are not labels at all, by their kinds."""

    kinds: frozenset[str]
    none: bool

    def __add__(self, other: Strange) -> Strange:
        return Strange(self.kinds | other.kinds, none=self.none or other.none)

    def finding(self, name: Hashable, missing: float) -> Finding:
        """What the rules say."""
        return of_strange(name, self.kinds, missing, none=self.none)


@dataclass(frozen=True)
class Flags:
    """Yes and no."""

    some: bool
    every: bool

    def __add__(self, other: Flags) -> Flags:
        return Flags(self.some or other.some, self.every and other.every)

    def finding(self, name: Hashable, missing: float) -> Finding:
        """What the rules say."""
        return of_booleans(name, missing, some=self.some, every=self.every)


@dataclass(frozen=True)
class Words:
    """Labels that occur with their weights, or None where they are too many, and the rows that have one."""

    levels: dict[Any, float] | None
    repeats: Repeats

    def __add__(self, other: Words) -> Words:
        many = self.levels is None or other.levels is None
        both = None if many else _added(self.levels, other.levels)  # type: ignore[arg-type] # neither is None
        return Words(both, self.repeats + other.repeats)

    def finding(self, name: Hashable, missing: float) -> Finding:
        """What the rules say."""
        if self.levels is None:
            why = f"like an identifier: more than {LEVELS} different values in {self.repeats.count} rows"
            return Finding(name, None, why, missing)
        levels, rows = in_order(self.levels), self.repeats.count
        each = np.array([self.levels[level] for level in levels]) * (rows / self.repeats.weight)
        return of_labels(name, levels, rows, missing, each)
