"""Labels as numbers: columns of strings, whole numbers, booleans, dates or anything hashable, numbered once.

A column of whole numbers within a modest range is its own numbering and is never copied. Every other column is numbered
by its distinct values in sorted order. None, NaN, NaT and NA are missing.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from suffice import kernels
from suffice.engines import local
from suffice.engines.once import cached_property
from suffice.errors import DataError
from suffice.message_parts import Cell
from suffice.tables.frame import Coded, Frame
from suffice.tables.label_matching import places_among
from suffice.tables.rows import as_rows, cells, columns_of, is_hashable, listed
from suffice.types import Array, Data

BOOLEANS = {bool, np.bool_}
NUMBERS = (int, float, np.number)
RANGE = 1 << 16  # whole numbers that span no more than this are counted as they are


@dataclass(frozen=True, eq=False)
class Column:
    """Codes of one column: ``vocabulary[code − low]`` is the label; a code below ``low`` is a missing cell."""

    codes: Array
    low: int
    vocabulary: tuple[Any, ...]
    known: dict[tuple[Any, ...], Array] = field(default_factory=dict)  # places of the vocabulary; slices share it

    def __getitem__(self, part: Any) -> Column:
        """Return some of the rows, numbered as before."""
        return replace(self, codes=self.codes[part])

    @cached_property
    def tally(self) -> Array:
        """How often each label of the vocabulary occurs."""
        last = self.low + len(self.vocabulary) - 1
        return local.reduce(lambda part: kernels.count_range(self.codes[part], self.low, last), len(self.codes), 1)

    @property
    def seen(self) -> tuple[Any, ...]:
        """The labels that occur, in sorted order."""
        return tuple(self.vocabulary[i] for i in np.flatnonzero(self.tally).tolist()) if self.vocabulary else ()

    def places(self, levels: tuple[Any, ...]) -> Array:
        """The place of each label of the vocabulary among the levels, −1 where it is none of them."""
        if levels not in self.known and levels == self.vocabulary:
            self.known[levels] = np.arange(len(levels))
        elif levels not in self.known:
            self.known[levels] = places_among(self.vocabulary, levels)
        return self.known[levels]

    def pooled(self, levels: tuple[Any, ...], pool: str) -> Column:
        """The column with labels that are none of the levels as ``pool``, which is one of them."""
        if self.vocabulary is levels:
            return self
        places = self.places(levels)
        return Column(self.among(np.where(places < 0, levels.index(pool), places)), 0, levels)

    def among(self, places: Array) -> Array:
        """The place of every cell, by the places of the vocabulary: −1 for a missing cell and for an unknown label."""
        if len(places) == 0:
            return np.full(len(self.codes), -1)
        if self.codes.dtype == np.uint64:
            steps = self.codes - np.uint64(self.low)
        else:
            steps = self.codes.astype(np.int64, copy=False)
            steps = steps - self.low if self.low else steps
        whole = places[0] == 0 and places[-1] == len(places) - 1 and (np.diff(places) == 1).all()
        steps = steps.astype(np.int64, copy=False)
        return steps if whole else np.where(steps < 0, -1, places[np.maximum(steps, 0)])


@dataclass(frozen=True, eq=False)
class Labels:
    """Rows of labels, numbered column by column; slices like an array of rows × columns."""

    columns: tuple[Column, ...]
    preprocess: tuple[Any, Array] | None = None  # the places of all cells among some levels, (n, d), for many passes
    ndim = 2

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.columns[0].codes), len(self.columns)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.columns[0].codes)

    def __getitem__(self, part: Any) -> Labels:
        """Return some of the rows, numbered as before."""
        preprocessed = None if self.preprocess is None else (self.preprocess[0], self.preprocess[1][part])
        return Labels(tuple(column[part] for column in self.columns), preprocessed)

    def column(self, index: int) -> Labels:
        """One column of the rows."""
        return Labels((self.columns[index],))

    def pooled(self, named: tuple[tuple[Any, ...], ...], pool: str) -> Labels:
        """The rows with labels that are none of their column's levels as ``pool``; one column's levels are all's."""
        each = named * len(self.columns) if len(named) == 1 else named
        columns = tuple(column.pooled(levels, pool) for column, levels in zip(self.columns, each, strict=True))
        same = all(new is old for new, old in zip(columns, self.columns, strict=True))
        return self if same else Labels(columns)

    def among(self, named: tuple[tuple[Any, ...], ...]) -> Array:
        """The place of every cell among its column's levels, (n, d): −1 for a missing cell and for an unknown label."""
        if self.preprocess is not None and self.preprocess[0] == named:
            return self.preprocess[1]
        width = max(map(len, named), default=0)
        kind = np.int8 if width < 1 << 7 else np.int16 if width < 1 << 15 else np.int32
        places = np.empty(self.shape, dtype=kind)
        for index, (column, levels) in enumerate(zip(self.columns, named, strict=True)):
            places[:, index] = column.among(column.places(levels))
        return places


@dataclass(frozen=True, eq=False)
class Whole(Labels):
    """Rows of whole numbers as they are: each is its own place among the levels 0 … ``width`` − 1, or has none.

    Nobody has looked whether all have: statistics of it count those that do.
    """

    columns: tuple[Column, ...] = field(init=False)
    matrix: Array = field(default_factory=lambda: np.empty((0, 0), np.int64), kw_only=True)
    width: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        """Say what the columns hold, without looking."""
        vocabulary, possible = tuple(range(self.width)), np.ones(self.width, np.int64)
        columns = tuple(Column(column, 0, vocabulary) for column in self.matrix.T)
        for column in columns:
            column.__dict__["tally"] = possible
        object.__setattr__(self, "columns", columns)

    def refuse_negative(self) -> None:
        """Refuse what lies below every level there could be."""
        below = self.matrix < 0
        if below.any():
            row, column = np.argwhere(below)[0].tolist()
            value = self.matrix[row, column]
            remedy = "Number them from 0, or use NaiveBayes, which takes labels of any kind."
            raise DataError(
                "Negative values in data passed to CategoricalNB (input X): ",
                Cell(row, column),
                f" has {value:g}, and categories are 0, 1, …. {remedy}",
                value=value,
            )

    def __getitem__(self, part: Any) -> Whole:
        """Return some of the rows."""
        return Whole(matrix=self.matrix[part], width=self.width)


def read_labels(x: Data, owner: str, columns: int | None) -> Labels:
    """Number what a caller gives; labels that were numbered before stay as they are."""
    if isinstance(x, Labels):
        if columns is not None and len(x.columns) != columns:
            msg = f"{owner} describes {columns} columns, but the data have {len(x.columns)}."
            raise DataError(msg)
        return x
    x = listed(x)
    x = Frame({"": x}, len(x)) if isinstance(x, Coded) else x
    if isinstance(x, Frame):
        values = [x[name] if isinstance(x[name], Coded) else columns_of(x, owner, [name])[0] for name in x]
        values = values or columns_of(x, owner)
        if columns not in (None, len(values)):
            msg = f"{owner} describes {columns} columns, but the frame has {len(values)}: {', '.join(map(repr, x))}."
            raise DataError(msg)
        return Labels(tuple(_column(one, owner, j, len(values)) for j, one in enumerate(values)))
    array = cells(x, owner)
    if array.dtype.kind in "USc" and not hasattr(x, "dtype"):  # NumPy made text of a list that also holds others
        array = np.asarray(x, dtype=object)
    if array.dtype.kind in "iuf" and array.ndim and not hasattr(x, "dtype"):  # or numbers of one with booleans
        array = np.asarray(x, dtype=object) if _holds_booleans(x) else array
    rows = as_rows(array, owner, columns, 0)
    if rows.shape[1] == 0:
        msg = f"{owner} needs at least one column; the data have shape {rows.shape}."
        raise DataError(msg)
    return Labels(tuple(_column(rows[:, j], owner, j, rows.shape[1]) for j in range(rows.shape[1])))


def _column(values: Array, owner: str, column: int, columns: int) -> Column:
    if isinstance(values, Coded):
        return _ranked(values)
    if values.dtype.kind == "b":
        return Column(values.view(np.uint8), 0, (False, True))
    if values.dtype.kind in "iu":
        n, guess = len(values), kernels.integer_range(values[:RANGE])
        spread = local.reduce(lambda part: _Spread.of(values[part], guess), n, 1)
        if spread.count is not None:
            whole = Column(values, spread.low, tuple(range(spread.low, spread.low + len(spread.count))))
            whole.__dict__["tally"] = spread.count
            return whole
    if values.dtype.kind in "iufmM":
        return _sorted(values)
    return _numbered(values, owner, column, columns)


@dataclass(frozen=True, eq=False)
class _Spread:
    """How often each of the whole numbers from ``low`` on occurs; the count is None where they span too far."""

    low: int
    count: Array | None

    @classmethod
    def of(cls, values: Array, guess: tuple[int, int]) -> _Spread:
        """Count a slice within the range that the first rows have; where that falls short, within its own."""
        low, high = guess
        count = kernels.count_range(values, low, high) if high - low < RANGE else None
        if count is None or count.sum() == len(values):
            return cls(low, count)
        low, high = kernels.integer_range(values)
        return cls(low, kernels.count_range(values, low, high) if high - low < RANGE else None)

    def __add__(self, other: _Spread) -> _Spread:
        if self.count is None or other.count is None:
            return _Spread(0, None)
        if not (len(self.count) and len(other.count)):
            return self if len(self.count) else other
        low = min(self.low, other.low)
        span = max(self.low + len(self.count), other.low + len(other.count)) - low
        if span > RANGE:
            return _Spread(0, None)
        count = np.zeros(span, dtype=np.int64)
        for part in (self, other):
            if part.count is not None:
                count[part.low - low : part.low - low + len(part.count)] += part.count
        return _Spread(low, count)


def _sorted(values: Array) -> Column:
    """Number what NumPy sorts: numbers and dates."""
    missing = np.zeros(len(values), bool) if values.dtype.kind in "iu" else np.isnan(values)
    vocabulary, codes = np.unique(values[~missing], return_inverse=True)
    out = np.full(len(values), -1, dtype=np.int64)
    out[~missing] = codes
    if values.dtype.kind in "mM":
        return Column(out, 0, tuple(vocabulary))
    whole = values.dtype.kind == "f" and (vocabulary == np.floor(vocabulary)).all() and (abs(vocabulary) < 2**53).all()
    return Column(out, 0, tuple((vocabulary.astype(np.int64) if whole else vocabulary).tolist()))  # 1.0 is 1


def _ranked(coded: Coded) -> Column:
    """Number words in their order that are numbered in another."""
    vocabulary = in_order(coded.words)
    rank = {label: index for index, label in enumerate(vocabulary)}
    order = np.array([*(rank[word] for word in coded.words), -1], dtype=np.int32)
    return Column(order[coded.codes], 0, vocabulary)


class _Numbering(dict[Any, int]):
    """Numbers keys in the order in which they are first asked for."""

    def __missing__(self, key: Hashable) -> int:
        number = self[key] = len(self)
        return number


def _numbered(values: Array, owner: str, column: int, columns: int) -> Column:
    """Number any hashable labels, and sort the numbering."""
    numbering = _Numbering()
    cells = values.tolist()
    kinds = set(map(type, cells))
    if not kinds.isdisjoint(BOOLEANS) and any(issubclass(kind, NUMBERS) for kind in kinds - BOOLEANS):
        row = next(i for i, cell in enumerate(cells) if type(cell) in BOOLEANS)
        other = next(cell for cell in cells if isinstance(cell, NUMBERS) and type(cell) not in BOOLEANS)
        why = "for Python True equals 1 and False equals 0. Make labels of one kind, such as text."
        raise DataError(
            f"{owner} takes labels, but ",
            Cell(row, column, implied=columns == 1),
            f" holds the boolean {cells[row]!r} and another row the number {other!r}: {why}",
            value=cells[row],
        )
    try:
        codes = np.fromiter(map(numbering.__getitem__, cells), np.int64, len(values))
    except TypeError as error:
        row = next(i for i, cell in enumerate(cells) if not is_hashable(cell))
        raise DataError(
            f"{owner} takes labels, which must be hashable, but ",
            Cell(row, column, implied=columns == 1),
            f" holds {type(cells[row]).__name__} {cells[row]!r:.60}. Make text of it, or a tuple.",
            value=cells[row],
        ) from error
    labels = [label for label in numbering if not is_missing(label)]
    vocabulary = in_order(labels)
    rank = {label: index for index, label in enumerate(vocabulary)}
    # Only a missing label can be absent from the vocabulary; NaNs may have been numbered many times.
    order = np.array([-1 if is_missing(label) else rank[label] for label in numbering], dtype=np.int64)
    return Column(order[codes] if len(order) else codes, 0, vocabulary)


def _holds_booleans(x: list[Any]) -> bool:
    """Whether a list (of lists) holds a boolean."""
    rows = [x] if not isinstance(x, (list, tuple)) or not x or not isinstance(x[0], (list, tuple)) else x
    return any(not BOOLEANS.isdisjoint(map(type, row)) for row in rows)


def is_missing(label: Hashable) -> bool:
    """Whether a label stands for no value: None, NaN, NaT, NA."""
    if label is None or type(label).__name__ in {"NAType", "NaTType"}:
        return True
    return not isinstance(label, np.ndarray) and bool(label != label)  # noqa: PLR0124 (of any kind)


def in_order(labels: Any) -> tuple[Any, ...]:
    """Labels sorted; those that cannot be compared, by the name of their kind first."""
    try:
        return tuple(sorted(labels))
    except TypeError:
        return tuple(sorted(labels, key=lambda label: (type(label).__name__, repr(label))))


def plain(label: Hashable) -> Any:
    """A label without NumPy's wrapping; NumPy's dates stay, because Python has none of their precision."""
    return label.item() if isinstance(label, np.generic) and label.dtype.kind not in "mM" else label


def as_array(levels: tuple[Any, ...]) -> Array:
    """Levels as an array of their natural type: text, whole numbers, booleans, numbers, dates, else objects."""
    kinds = {type(level) for level in levels}
    if len(kinds) == 1 and issubclass(next(iter(kinds)), (str, bool, int, float, np.generic)):
        return np.array(levels)
    array = np.empty(len(levels), dtype=object)
    array[:] = levels
    return array
