"""Parquet files in partitions: footers, cuts, and a reader that several threads share.

A partition is a piece of one file: row groups that are small together, one row group, or a stretch of a long one. The
cuts depend on the files alone. Of the partitions that were read the last few are kept, as many as threads may be at
work on; a long row group is read from its beginning, batch by batch, and never as a whole.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from suffice.engines import local
from suffice.engines.once import cached_property
from suffice.errors import DataError
from suffice.tables.frame import Frame

CELLS = 1 << 19  # of a partition, about: 4 MB of numbers
SHORTEST = 1 << 12  # rows of a partition of a wide table
KEPT = 1 << 23  # bytes of partitions that are kept for each thread
BATCH = 1 << 16  # rows of one column that are looked at together: half a megabyte, which caches hold
BUFFER = 1 << 20  # bytes that are read at a time of a column of a long row group
OPEN = 2  # long row groups that are open at a time


def _stamp(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns, found.st_ino


@dataclass(frozen=True)
class File:
    """A Parquet file, what it was made from, if it is a spool of text, its footer, and its columns."""

    path: Path
    origin: Path
    metadata: Any = field(repr=False)
    schema: Any = field(repr=False)
    stamp: tuple[int, int, int] = field(repr=False)

    @classmethod
    def opened(cls, path: Path, origin: Path | None = None) -> Self:
        """Read the footer."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            stamp = _stamp(path)  # before the footer: whatever changes from now on is seen
            found = pq.ParquetFile(path, pre_buffer=False)
        except (pa.ArrowException, OSError) as error:
            size = path.stat().st_size if path.exists() else 0
            why = "it is empty" if size == 0 else f"{brief(error)} It has {size} bytes"
            msg = f"file {str(path)!r} cannot be read as Parquet: {why}. It may be cut off; write or copy it again."
            raise DataError(msg) from error
        return cls(path, origin or path, found.metadata, found.schema_arrow, stamp)

    def check(self) -> None:
        """Refuse a file that is not the one whose footer was read: its rows would be those of two files."""
        try:
            same = _stamp(self.path) == self.stamp
        except OSError as error:
            msg = f"file {str(self.path)!r} is no longer there: {error.strerror}."
            raise DataError(msg) from error
        if not same:
            msg = f"file {str(self.path)!r} has changed since it was opened. Scan it anew when it is written no more."
            raise DataError(msg)

    @property
    def plain(self) -> bool:
        """Whether it is not a spool of text, whose row groups nobody knows."""
        return self.path == self.origin

    @cached_property
    def leaves(self) -> dict[str, int]:
        """Where the footer tells of a column that has no columns inside."""
        schema = self.metadata.schema
        return {schema.column(place).path: place for place in range(len(schema))}

    def reader(self, words: tuple[str, ...]) -> Any:
        """The file open for reading, with columns of text as numbered words."""
        import pyarrow.parquet as pq

        return pq.ParquetFile(
            self.path,
            metadata=self.metadata,
            pre_buffer=False,
            buffer_size=BUFFER,
            read_dictionary=list(words),
            page_checksum_verification=True,
        )


@dataclass(frozen=True)
class Partition:
    """A piece of a file that is read at once.

    Attributes
    ----------
    file, groups
        The file, and its row groups.
    rows, first
        How many rows, and the number of the first of them among all.
    begin, step
        Where the piece begins in a row group that is cut, and the rows of each piece of it; 0 where none is cut.
    """

    number: int
    file: File = field(repr=False)
    groups: tuple[int, ...]
    rows: int
    first: int
    begin: int = 0
    step: int = 0

    def __str__(self) -> str:
        """Name the file and the row groups."""
        if not self.file.plain:
            return f"file {str(self.file.origin)!r}"
        several = len(self.groups) > 1
        groups = f"row groups {self.groups[0]} to {self.groups[-1]}" if several else f"row group {self.groups[0]}"
        return f"file {str(self.file.path)!r}, {groups}"

    def place(self, row: int) -> str:
        """Where one of its rows is, by its number in the whole."""
        inside = row - self.first
        if not self.file.plain:
            before = sum(self.file.metadata.row_group(group).num_rows for group in range(self.groups[0]))
            return f"row {before + self.begin + inside} of {self}"
        for group in self.groups:
            size = self.file.metadata.row_group(group).num_rows
            if self.step or inside < size:
                return f"row {self.begin + inside} of file {str(self.file.path)!r}, row group {group}"
            inside -= size
        return str(self)


def partitions(files: tuple[File, ...], columns: int) -> tuple[Partition, ...]:
    """Cut files into pieces of about as many cells; empty row groups are in none."""
    most = max(CELLS // max(columns, 1), SHORTEST)
    found: list[Partition] = []
    first = 0
    for file in files:
        for groups, sizes in _together(file, most):
            rows = sum(sizes)
            step = most if rows > 2 * most else 0
            for begin in range(0, rows, step or rows):
                size = min(step or rows, rows - begin)
                found.append(Partition(len(found), file, groups, size, first, begin, step))
                first += size
    return tuple(found)


def _together(file: File, most: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Row groups that follow each other and are small together, with their sizes; long ones by themselves."""
    waiting: list[tuple[int, int]] = []
    for group in range(file.metadata.num_row_groups):
        rows = file.metadata.row_group(group).num_rows
        if waiting and sum(size for _, size in waiting) + rows > most:
            yield tuple(one for one, _ in waiting), tuple(size for _, size in waiting)
            waiting = []
        if rows:
            waiting.append((group, rows))
    if waiting:
        yield tuple(one for one, _ in waiting), tuple(size for _, size in waiting)


@dataclass(frozen=True)
class Chunk:
    """Some columns of row groups, which one thread reads from its beginning to its end, a few rows at a time."""

    file: File = field(repr=False)
    groups: tuple[int, ...]
    columns: tuple[Any, ...]
    rows: int
    first: int
    words: tuple[str, ...] = field(repr=False)
    done: Callable[[int], None] | None = field(repr=False, default=None)

    def frames(self, columns: tuple[Any, ...]) -> Iterator[Frame]:
        """The rows in order, with some of the columns; read errors name the row group."""
        from suffice.tables.arrow import of_arrow

        try:
            if columns:
                yield from map(of_arrow, self._batches(columns))
        finally:  # also where the first rows were enough
            if self.done is not None:
                self.done(self.first + self.rows)

    def _batches(self, columns: tuple[Any, ...]) -> Iterator[Any]:
        reader = self.file.reader(self.words)
        for group in self.groups:
            with naming(f"file {str(self.file.origin)!r}" + (f", row group {group}" if self.file.plain else "")):
                yield from reader.iter_batches(BATCH, row_groups=[group], columns=list(columns), use_threads=False)

    def dates(self, name: Hashable) -> bool:
        """Whether a column holds dates or times."""
        from suffice.tables.arrow import is_temporal

        return is_temporal(self.file.schema.field(name).type)

    def missing(self, name: Hashable) -> int | None:
        """How many cells of a column are missing, where the footer says so."""
        place = self.file.leaves.get(str(name))
        if place is None:
            return None
        found = [self.file.metadata.row_group(group).column(place).statistics for group in self.groups]
        known = all(one is not None and one.has_null_count for one in found)
        return sum(one.null_count for one in found) if known else None


def chunks(
    files: tuple[File, ...],
    columns: tuple[Any, ...],
    words: tuple[str, ...],
    done: Callable[[int], None] | None = None,
) -> tuple[Chunk, ...]:
    """Cut columns of files into chunks of about as many cells, or one column of a row group; the cuts are the files'.

    ``done`` is called with the number of rows up to the end of a row group, when the last chunk of it is done.
    """
    most = max(CELLS // max(len(columns), 1), SHORTEST)
    found: list[Chunk] = []
    first = 0
    for file in files:
        for groups, sizes in _together(file, most):
            rows = sum(sizes)
            width = max(CELLS // rows, 1)
            for begin in range(0, len(columns), width):
                last = begin + width >= len(columns)
                some = columns[begin : begin + width]
                found.append(Chunk(file, groups, some, rows, first, words, done if last else None))
            first += rows
    return tuple(found)


class Reader:
    """Reads partitions for several threads, each once for all of them, and keeps the last."""

    def __init__(self, words: tuple[str, ...]) -> None:
        """Note which columns hold text."""
        self.words = words
        self.lock = threading.Lock()
        self.guards: dict[Any, threading.Lock] = {}
        self.kept: OrderedDict[Any, Any] = OrderedDict()
        self.bytes = 0
        self.long: OrderedDict[Any, _Long] = OrderedDict()

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what another process makes its own reader of: locks and what was read stay here."""
        return type(self), (self.words,)

    def table(self, part: Partition, columns: tuple[Any, ...]) -> Any:
        """A partition as a table of pyarrow."""
        key = (part.number, columns)
        found = self._kept(key)
        if found is not None:
            return found
        place = (part.file.path, part.groups[0], columns)
        with self.lock:
            guard = self.guards.setdefault(place, threading.Lock())
        with guard:  # others that want the same wait for it
            found = self._kept(key)
            if found is None:
                try:
                    found = self._stretch(part, place, columns) if part.step else self._whole(part, columns)
                except DataError:
                    part.file.check()  # what cannot be read may be another file by now
                    raise
        return found

    def _kept(self, key: Hashable) -> Any:
        with self.lock:
            found = self.kept.get(key)
            if found is not None:
                self.kept.move_to_end(key)
            return found

    def _keep(self, file: File, key: Hashable, table: Any) -> None:
        file.check()
        with self.lock:
            if key in self.kept:
                return
            self.kept[key] = table
            self.bytes += table.nbytes
            limit = KEPT * (local.threads() + 1)
            while self.bytes > limit and len(self.kept) > 1:
                self.bytes -= self.kept.popitem(last=False)[1].nbytes

    def _whole(self, part: Partition, columns: tuple[Any, ...]) -> Any:
        def read(groups: tuple[int, ...]) -> Any:
            with naming(f"file {str(part.file.path)!r}, row group {groups[0]}"):
                return part.file.reader(self.words).read_row_groups(list(groups), list(columns), use_threads=False)

        try:
            table = read(part.groups)
        except DataError:
            for group in part.groups:  # which of them is it?
                read((group,))
            raise
        self._keep(part.file, (part.number, columns), table)
        return table

    def _stretch(self, part: Partition, place: tuple[Any, ...], columns: tuple[Any, ...]) -> Any:
        """A piece of a long row group; what comes before it goes by, and is kept for threads that lag behind."""
        with self.lock:
            long = self.long.pop(place, None)
        with naming(str(part)):
            if long is None or long.at > part.begin:
                reader = part.file.reader(self.words)
                group = list(part.groups)
                batches = reader.iter_batches(part.step, row_groups=group, columns=list(columns), use_threads=False)
                long = _Long(batches, part.step)
            while True:
                at, table = long.next()
                self._keep(part.file, (part.number - (part.begin - at) // part.step, columns), table)
                if at == part.begin:
                    break
        with self.lock:
            if long.at < part.file.metadata.row_group(part.groups[0]).num_rows:
                self.long[place] = long
            while len(self.long) > OPEN:
                self.long.popitem(last=False)
        return table


class _Long:
    """A row group on its way: batches put together to pieces of one size."""

    def __init__(self, batches: Iterator[Any], step: int) -> None:
        self.batches, self.step, self.at = batches, step, 0
        self.left: list[Any] = []

    def next(self) -> tuple[int, Any]:
        """Where the next piece begins, and the piece."""
        import pyarrow as pa

        while sum(map(len, self.left)) < self.step:
            batch = next(self.batches, None)
            if batch is None:
                break
            self.left.append(batch)
        table = pa.Table.from_batches(self.left)
        piece, rest = table.slice(0, self.step), table.slice(self.step)
        self.left = rest.to_batches()
        begin, self.at = self.at, self.at + len(piece)
        if not len(piece):
            msg = "the row group ends before the rows that its footer counts"
            raise OSError(msg)
        return begin, piece


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Say which file and row group cannot be read."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        msg = f"{where} cannot be read: {brief(error)} It may be damaged or cut off; write or copy it again."
        raise DataError(msg) from error


def brief(error: BaseException) -> str:
    """The first line of what a library says."""
    text = " ".join(str(error).split())
    return f"{text[:200]}." if not text[:200].endswith(".") else text[:200]
