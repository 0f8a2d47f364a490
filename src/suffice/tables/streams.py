"""Rows that are not in memory: read slice by slice when they are asked for, and never all at once.

A `Source` can read any stretch of its rows as a frame. `Streamed` are such rows as one distribution reads them: they
have a length, a shape and slices, which is all that a pass asks for. Cuts and sums are those of rows in memory, so that
every answer is bitwise the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from suffice.engines import local
from suffice.engines.once import cached_property
from suffice.errors import DataError
from suffice.statistics.weights import Weights
from suffice.tables.frame import Frame
from suffice.tables.labels import Column, Labels, in_order
from suffice.types import Array, Data, Rows

FEW = local.SLICE_CELLS  # cells that are read at once: where a pass has a single slice, nothing is gained by streaming
FIRST = 64  # rows that show how a distribution reads them


class Piece(Protocol):
    """Some columns of some rows, which are read by themselves, a few rows at a time."""

    @property
    def columns(self) -> tuple[Any, ...]:
        """The names of the columns."""

    @property
    def first(self) -> int:
        """The number of the first row among all."""

    @property
    def rows(self) -> int:
        """How many rows."""

    def frames(self, columns: tuple[Any, ...]) -> Iterator[Frame]:
        """The rows in order, with some of the columns."""

    def dates(self, name: Hashable) -> bool:
        """Whether a column is known to hold dates or times."""

    def missing(self, name: Hashable) -> int | None:
        """How many cells of a column are missing, where that is known without reading it."""


class Source(ABC):
    """Rows somewhere else: their names, their number, and any stretch of them as a frame."""

    names: tuple[Any, ...]

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def frame(self, start: int, stop: int, columns: tuple[Any, ...]) -> Frame:
        """The rows from ``start`` up to ``stop``."""

    @abstractmethod
    def place(self, row: int) -> str:
        """Where a row is, in words."""

    @property
    @abstractmethod
    def mark(self) -> int:
        """A number that changes where the rows do."""

    @abstractmethod
    def frames(self, columns: Any = None) -> Iterator[Frame]:
        """All rows, partition by partition."""

    @abstractmethod
    def pieces(self, columns: tuple[Any, ...]) -> Sequence[Piece]:
        """All rows in pieces for threads to share, cut by rows and by columns; the cuts depend on the rows alone."""

    @abstractmethod
    def only(self, columns: tuple[Any, ...]) -> Source:
        """The same rows with some of the columns."""

    def mapped(self, answer: Callable[[Frame], Any], columns: Any = None) -> Array:
        """What is answered for each row, partition by partition, put together: (n,) or (n, k)."""
        found, begin = [], 0
        for frame in self.frames(columns):
            with located(self, begin):
                found.append(np.asarray(answer(frame)))
            begin += len(frame)
        return np.concatenate(found or [np.asarray(answer(self.frame(0, 0, columns)))])  # even no rows have a shape


class _Asked(Frame):
    """The first rows, which note what columns a distribution asks for."""

    def __init__(self, frame: Frame) -> None:
        super().__init__({name: frame[name] for name in frame}, len(frame))
        self.asked: dict[Any, None] = {}

    def __getitem__(self, name: Hashable) -> Array:
        """Return one column, and note that it was asked for."""
        self.asked[name] = None
        return super().__getitem__(name)


@dataclass(frozen=True, eq=False)
class Stream:
    """A source, the columns that are read of it, and how frames become rows."""

    source: Source
    columns: tuple[Any, ...]
    read: Callable[[Frame], Any]
    counted: Weights | None = None  # rows of weight 0 bring no level of a label

    def rows(self, start: int, stop: int) -> Any:
        """Some rows; an error in them names the row of the whole."""
        frame = self.source.frame(start, stop, self.columns)
        try:
            return self.read(frame)
        except DataError as error:
            raise error.after_rows(start) from error

    @cached_property
    def first(self) -> Any:
        """The first rows."""
        return self.rows(0, min(len(self.source), FIRST))

    @cached_property
    def levels(self) -> Any:
        """The labels that occur, in the order in which rows in memory have them, nested as the rows are."""
        width = int(np.prod(np.shape(self.first)[1:]))

        def seen(part: slice) -> _Seen:
            rows = self.rows(part.start, part.stop)
            held = None if self.counted is None else self.counted[part].values
            return _Seen.of(rows if held is None else picked(rows, np.flatnonzero(held)))

        return local.reduce(seen, len(self.source), max(width, 1)).levels


class Streamed:
    """Rows of a source, as a distribution reads them; ``path`` leads to the part of them that one block has."""

    def __init__(self, stream: Stream, path: tuple[int, ...] = ()) -> None:
        """Keep the stream."""
        self.stream, self.path = stream, path

    def _at(self, rows: Any) -> Any:
        for place in self.path:
            rows = rows.parts[place]
        return rows

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.stream.source)

    def __getitem__(self, part: slice) -> Any:
        """Read a slice of the rows."""
        start, stop, _ = part.indices(len(self))
        return self._at(self.stream.rows(start, max(stop, start)))

    @cached_property
    def _first(self) -> Any:
        return self._at(self.stream.first)

    @property
    def kind(self) -> type:
        """What a slice is."""
        return type(self._first)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that all rows would have in memory."""
        return (len(self), *np.shape(self._first)[1:])

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def parts(self) -> tuple[Streamed, ...]:
        """The rows of each block, where rows are kept in parts."""
        return tuple(Streamed(self.stream, (*self.path, place)) for place in range(len(self._first.parts)))

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The labels of each column without their rows: what a prototype learns its levels from."""
        levels = self.stream.levels
        for place in self.path:
            levels = levels[place]
        return tuple(_vocabulary(column) for column in levels)

    def take(self, index: Array) -> Any:
        """Some of the rows, in the order of the index; one more pass over the files."""
        order = np.argsort(index, kind="stable")
        chosen, step = np.asarray(index)[order], max(FEW // max(int(np.prod(self.shape[1:])), 1), 1)
        found = []
        for begin in range(0, len(self), step):
            low, high = np.searchsorted(chosen, [begin, begin + step])
            if high > low:
                rows = self[begin : begin + step]
                found.append(picked(rows, chosen[low:high] - begin))
        whole = joined(found) if found else self[0:0]
        return picked(whole, np.argsort(order, kind="stable"))

    def through(self, change: Callable[[Any], Any]) -> Streamed:
        """The same rows, each slice changed after it is read."""
        read = self.stream.read
        changed = Stream(self.stream.source, self.stream.columns, lambda frame: change(read(frame)))
        return Streamed(changed, self.path)


def _vocabulary(levels: tuple[Any, ...]) -> Column:
    column = Column(np.empty(0, np.int64), 0, levels)
    column.__dict__["tally"] = np.ones(len(levels), np.int64)
    return column


@dataclass(frozen=True)
class _Seen:
    """The labels of some rows, nested as the rows are: a tuple of sets for labels, nothing for numbers."""

    found: Any

    @classmethod
    def of(cls, rows: Rows) -> _Seen:
        """What these rows hold."""
        return cls(cls._of(rows))

    @classmethod
    def _of(cls, rows: Rows) -> Any:
        if isinstance(rows, Labels):
            return tuple(frozenset(column.seen) for column in rows.columns)
        inner = getattr(rows, "parts", None)
        return None if inner is None else [cls._of(part) for part in inner]

    def __add__(self, other: Self) -> Self:
        return type(self)(self._both(self.found, other.found))

    @classmethod
    def _both(cls, left: Any, right: Any) -> Any:
        if left is None:
            return None
        if isinstance(left, list):
            return [cls._both(one, two) for one, two in zip(left, right, strict=True)]
        return tuple(one | two for one, two in zip(left, right, strict=True))

    @property
    def levels(self) -> Any:
        """The same with labels in order."""
        return self._order(self.found)

    @classmethod
    def _order(cls, found: Sequence[Any] | None) -> Any:
        if found is None:
            return None
        if isinstance(found, list):
            return [cls._order(one) for one in found]
        return tuple(in_order(_alike(labels)) for labels in found)


def _alike(labels: frozenset[Any]) -> list[Any]:
    """Whole numbers among others as rows in memory have them: 1 and 2.5 are 1.0 and 2.5."""
    kinds = set(map(type, labels))
    return [float(one) for one in labels] if kinds == {int, float} else list(labels)


# ---- rows that were read ---------------------------------------------------------------------------------------------
def picked(rows: Data, index: Array) -> Any:
    """Some of the rows in memory."""
    return rows.take(index) if hasattr(rows, "parts") else rows[index]


def joined(found: list[Any]) -> Any:
    """Rows in memory, one stretch after the other."""
    first = found[0]
    if len(found) == 1:
        return first
    if isinstance(first, np.ndarray):
        return np.concatenate(found)
    if isinstance(first, Labels):
        columns = zip(*(rows.columns for rows in found), strict=True)
        return Labels(tuple(map(_column, columns)))
    parts = zip(*(rows.parts for rows in found), strict=True)
    return type(first)(tuple(joined(list(part)) for part in parts), sum(map(len, found)))


def _column(columns: tuple[Column, ...]) -> Column:
    """The cells of several columns under one vocabulary."""
    labels = in_order(_alike(frozenset(label for column in columns for label in column.seen)))
    return Column(np.concatenate([column.among(column.places(labels)) for column in columns]), 0, labels)


# ---- the door --------------------------------------------------------------------------------------------------------
def read(model: Any, x: Any, without: object = None) -> Any:
    """Rows as a distribution reads them: those of a source when they are asked for, unless they are few.

    ``without`` is a column that is none of the rows', such as the weights.
    """
    if isinstance(x, Streamed):
        return x
    if not isinstance(x, Source):
        return model.read(x)
    names = tuple(name for name in x.names if not (isinstance(without, str) and name == without))
    if not few(x, len(names)):
        return streamed(model, x, names)
    with located(x):
        return model.read(x.frame(0, len(x), names))


def few(source: Source, columns: int) -> bool:
    """Whether so many columns of a source are read at once."""
    return len(source) * max(columns, 1) <= FEW


def streamed(model: Any, source: Source, names: tuple[Any, ...], counted: Weights | None = None) -> Streamed:
    """Rows of a source, of which the columns are read that the distribution asks for."""
    first = _Asked(source.frame(0, min(len(source), FIRST), names))
    with located(source):
        model.read(first)
    asked = tuple(name for name in names if name in first.asked)
    return Streamed(Stream(source, asked or names, model.read, counted))


def preprocess(model: Any, rows: Rows) -> Any:
    """Rows prepared for many passes under a model: now, or whenever a slice is read."""
    return rows.through(model.preprocess) if isinstance(rows, Streamed) else model.preprocess(rows)


@contextmanager
def located(data: Data, offset: int = 0) -> Iterator[None]:
    """Say in which file and row group bad data were found."""
    try:
        yield
    except DataError as error:
        source = data.stream.source if isinstance(data, Streamed) else data
        if not isinstance(source, Source) or error.row is None or not error.row + offset < len(source) or error.place:
            raise
        raise error.located(source.place(error.row + offset)) from error
