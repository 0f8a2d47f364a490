"""Files as rows: Parquet and CSV, one or many, larger than memory."""

from __future__ import annotations

import copy
import glob
import hashlib
import os
import shutil
import tempfile
import warnings
import weakref
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, Self

from suffice.engines.once import cached_property
from suffice.errors import DataError, ParameterError, SufficeWarning
from suffice.tables.csv import ENDINGS, MISSING, Style, Text
from suffice.tables.frame import Frame
from suffice.tables.parquet import Chunk, File, Partition, Reader, chunks, partitions
from suffice.tables.rows import is_several
from suffice.tables.streams import Source
from suffice.types import Alert

PARQUET = (".parquet", ".pq")
SHOWN = 5  # names that a message lists


def scan(
    files: object,
    *,
    columns: object = None,
    delimiter: str | None = None,
    missing: Iterable[str] | None = None,
    decimal: str = ".",
    encoding: str = "utf-8",
    spool: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> Scan:
    r"""Open files as rows that are read when they are needed, and never held in memory together.

    Parameters
    ----------
    files : path or sequence of paths
        A file, a pattern such as ``"trips/*.parquet"``, a directory (all files in it, with those below), or a list of
        them. Parquet (.parquet, .pq) and text (.csv, .tsv, also .gz and .zst). All have the same columns, by name, and
        columns have the same type in all Parquet files. Files come in the order of their names.
    columns : sequence of labels, optional
        The names of the columns to read, in this order; by default all of them, of which a fit reads what it needs.
    delimiter : str, optional
        What stands between the cells of text; by default a tab in .tsv, and elsewhere the first of comma, semicolon,
        tab and bar that the line of the names has.
    missing : sequence of str, optional
        What means a missing cell in text, beside an empty one: these words and no others, so that ``missing=["NA"]``
        keeps "None" as a value, and ``missing=()`` keeps every word. By default ``NA``, ``N/A``, ``n/a``, ``NaN``,
        ``nan``, ``null``, ``NULL``, ``None``, ``#N/A`` and ``<NA>``. Among numbers, ``nan`` is missing in any case.
    decimal : str
        The decimal sign of numbers in text, ``","`` for instance.
    encoding : str
        That of text, by a name that Python knows, such as ``"latin1"`` or ``"utf-16"``.
    spool : path, optional
        Where a directory for the spool of text files is made; by default that of ``TMPDIR``. It is removed with the
        scan, or when Python ends.
    progress : callable, optional
        Called with the number of the last row that was read and the number of rows, while a pass goes on.

    Returns
    -------
    Scan
        Rows for :func:`fit`, :func:`infer` and whatever else takes data.

    Notes
    -----
    Text is read twice before the first pass: its types are those of all cells, so that one word makes text of a column
    of numbers (``scan.alerts`` then names the cell), and a spool in Parquet serves the passes.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "sizes.csv"
    >>> _ = path.write_text("size,kind\n1.5,a\n2.5,b\n")
    >>> print(sf.fit(sf.Product({"size": sf.Normal()}), sf.scan(path)).distribution)
    Product({'size': Normal(mean=2, std=0.5)})
    """
    found = _find_files(files)
    marks = None if missing is None else ("", missing) if isinstance(missing, str) else ("", *missing)
    wrong = next((one for one in marks or () if not isinstance(one, str)), None)
    if wrong is not None:
        msg = f"scan: missing names words of text, as in missing=['NA', '?']; got {wrong!r:.40}."
        raise ParameterError(msg)
    written = Style(decimal, encoding)
    return Scan(
        found, columns=columns, delimiter=delimiter, missing=marks, style=written, spool=spool, progress=progress
    )


class Scan(Source):
    """Rows in files, as :func:`scan` opens them.

    Attributes
    ----------
    files
        Their paths.
    columns, delimiter, missing, style, spool, progress
        As :func:`scan` takes them; ``style`` has the decimal sign and the encoding.
    names
        The columns.
    partitions
        The pieces in which they are read; each knows its file, row groups, first row and number of rows.
    alerts
        ``(code, text)`` pairs: what to know of the files before trusting them.
    """

    def __init__(
        self,
        files: tuple[Path, ...],
        *,
        columns: Any = None,
        delimiter: str | None = None,
        missing: tuple[str, ...] | None = None,
        style: Style | None = None,
        spool: str | os.PathLike[str] | None = None,
        progress: Callable[[int, int], Any] | None = None,
    ) -> None:
        """Keep the paths; footers and text are read when something is asked of them."""
        self.files, self.progress = files, progress
        self._asked = None if columns is None else (columns,) if isinstance(columns, str) else tuple(columns)
        self._delimiter, self._missing, self._spool = delimiter, missing or (), spool
        self._style = style or Style()
        self._folder: Path | None = None
        self._whole: Scan | None = None

    @cached_property
    def _opened(self) -> tuple[tuple[File, ...], tuple[Alert, ...]]:
        if self._delimiter is not None and not (isinstance(self._delimiter, str) and len(self._delimiter) == 1):
            msg = f"scan: delimiter is one sign, such as ';'; got {self._delimiter!r:.40}."
            raise ParameterError(msg)
        texts = tuple(file for file in self.files if _is_text(file))
        text = Text(texts, self._delimiter, self._missing or MISSING, self._style)
        spooled: dict[Path, File] = {}
        if text.files:
            text.look()
            folder = Path(tempfile.mkdtemp(prefix="suffice-", dir=self._spool))
            self._folder = folder
            self._finalizer = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            spooled = {file.origin: file for file in text.spool(folder)}
        found = tuple(spooled[file] if file in spooled else File.opened(file) for file in self.files)
        return found, tuple(Alert("text", remark) for remark in text.remarks)

    @property
    def alerts(self) -> tuple[Alert, ...]:
        """What to know of the files before trusting them."""
        return self._opened[1]

    @cached_property
    def names(self) -> tuple[Any, ...]:  # type: ignore[override] # computed when asked
        """The columns; files that differ in them are refused."""
        opened = self._opened[0]
        first = opened[0]
        names = tuple(first.schema.names) if self._asked is None else self._asked
        for file in opened:
            there = set(file.schema.names)
            for name in names:
                if name not in there:
                    raise DataError(_no_column(name, file, first, asked=self._asked is not None))
                kinds = [_plain(one.schema.field(name).type) for one in (file, first)]
                if str(kinds[0]) != str(kinds[1]) and "null" not in map(str, kinds):
                    msg = (
                        f"column {name!r} is {kinds[0]} in file {str(file.origin)!r} and {kinds[1]} in "
                        f"{str(first.origin)!r}. Write both with one type, or leave it out: scan(…, columns=[…])."
                    )
                    raise DataError(msg)
            more = sorted(there - set(first.schema.names))
            if more and self._asked is None:
                raise DataError(_no_column(more[0], first, file, asked=False))
        return names

    @cached_property
    def partitions(self) -> tuple[Partition, ...]:
        """The pieces in which the rows are read."""
        opened = self._opened[0]
        return partitions(opened, len(opened[0].schema.names))

    @cached_property
    def _starts(self) -> list[int]:
        return [part.first for part in self.partitions]

    @cached_property
    def _words(self) -> tuple[str, ...]:
        """The columns of text."""
        from suffice.tables.arrow import is_text

        schema = self._opened[0][0].schema
        return tuple(name for name in self.names if is_text(schema.field(name).type))

    @cached_property
    def _reader(self) -> Reader:
        return Reader(self._words)

    def __len__(self) -> int:
        """Return the number of rows."""
        return sum(file.metadata.num_rows for file in self._opened[0])

    def frame(self, start: int = 0, stop: int | None = None, columns: Sequence[Hashable] | None = None) -> Frame:
        """The rows from ``start`` up to ``stop``, as columns by name."""
        from suffice.tables.arrow import of_arrow

        return of_arrow(self._arrow(start, stop, columns))

    def table(self, start: int = 0, stop: int | None = None, columns: list[Hashable] | None = None) -> Any:
        """The rows from ``start`` up to ``stop`` as a table of Arrow with the types of the file."""
        from suffice.tables.arrow import undone

        return undone(self._arrow(start, stop, columns))

    def _arrow(self, start: int, stop: int | None, columns: Sequence[Hashable] | None) -> Any:
        import pyarrow as pa

        stop = len(self) if stop is None else min(stop, len(self))
        names = self.names if columns is None else tuple(columns)
        tables = []
        place = max(bisect_right(self._starts, start) - 1, 0)
        for part in self.partitions[place:]:
            if part.first >= stop:
                break
            low, high = max(start - part.first, 0), min(stop - part.first, part.rows)
            if low < high:
                tables.append(self._reader.table(part, names).slice(low, high - low).select(list(names)))
        if self.progress is not None and stop > start:
            self.progress(stop, len(self))
        if not tables:
            return self._opened[0][0].schema.empty_table().select(list(names))
        return pa.concat_tables(tables, promote_options="permissive") if len(tables) > 1 else tables[0]

    def frames(self, columns: Sequence[Hashable] | None = None) -> Iterator[Frame]:
        """All rows, partition by partition, each as columns by name."""
        for part in self.partitions:
            yield self.frame(part.first, part.first + part.rows, columns)

    def tables(self, columns: list[Hashable] | None = None) -> Iterator[Any]:
        """All rows, partition by partition, each as a table of Arrow with the types of the file."""
        for part in self.partitions:
            yield self.table(part.first, part.first + part.rows, columns)

    def pieces(self, columns: tuple[Any, ...]) -> tuple[Chunk, ...]:
        """All rows in pieces for threads to share: a column of a long row group, several of short ones."""
        progress = None if self.progress is None else partial(self._report_progress, len(self))
        return chunks(self._opened[0], columns, self._words, progress)

    def _report_progress(self, rows: int, row: int) -> None:
        if self.progress is not None:
            self.progress(row, rows)

    def only(self, columns: tuple[Any, ...]) -> Scan:
        """The same rows with some of the columns."""
        some = copy.copy(self)
        vars(some).update(names=tuple(columns), _whole=self)  # whose spool lives as long as this
        return some

    def place(self, row: int) -> str:
        """Where a row is: its file, row group, and number in it."""
        return self.partitions[bisect_right(self._starts, row) - 1].place(row)

    @property
    def mark(self) -> int:
        """A number of the files' names, sizes and times."""
        text = repr((self.names, [(str(file), _stamp(file)) for file in self.files], self._delimiter, self._missing))
        text += "" if self._style == Style() else repr(self._style)
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")

    def close(self) -> None:
        """Remove the spool of text files."""
        if self._folder is not None:
            self._finalizer()

    def __enter__(self) -> Self:
        """Open for a while."""
        return self

    def __exit__(self, *error: object) -> None:
        """Remove the spool of text files."""
        self.close()

    def __repr__(self) -> str:
        """Show the files."""
        more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        return f"Scan({str(self.files[0])!r}{more})"


def _stamp(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except OSError as error:
        msg = f"file {str(file)!r} is no longer there: {error.strerror}."
        raise DataError(msg) from error
    return found.st_size, found.st_mtime_ns


def _plain(kind: Any) -> Any:
    """The type of the values, however they are kept."""
    import pyarrow as pa

    from suffice.tables.arrow import is_text

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.string() if is_text(kind) else kind


def _no_column(name: Hashable, file: File, other: File, *, asked: bool) -> str:
    there = ", ".join(map(repr, file.schema.names)) or "none"
    wanted = "which columns= asks for" if asked else f"which {str(other.origin)!r} has"
    return (
        f"file {str(file.origin)!r} has no column {name!r}, {wanted}; it has {there}. Give files with the same columns."
    )


# ---- which files -----------------------------------------------------------------------------------------------------
def _is_text(file: Path) -> bool:
    return file.name.lower().endswith(ENDINGS)


def _is_known(file: Path) -> bool:
    return file.name.lower().endswith((*PARQUET, *ENDINGS)) and not file.name.startswith((".", "_"))


def _find_files(files: Any) -> tuple[Path, ...]:
    """The files that a caller names, each once, and none without a reason."""
    if not isinstance(files, (str, os.PathLike)) and not is_several(files):
        msg = f"scan: files are paths, patterns or directories, one or several; got {files!r:.60}."
        raise ParameterError(msg)
    several = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    if not several:
        msg = "scan: the list of files is empty; name at least one."
        raise ParameterError(msg)
    found: list[Path] = []
    for one in several:
        try:
            found.extend(_named(one))
        except OSError as error:
            msg = f"scan: {str(one)!r} cannot be read: {error.strerror or error}."
            raise DataError(msg) from error
    repeated = [file for file, times in Counter(found).items() if times > 1]
    if repeated:
        text = f"scan: file {str(repeated[0])!r} is named {found.count(repeated[0])} times; its rows count once."
        warnings.warn(text, SufficeWarning, stacklevel=3)
    for file in found:
        if not _is_known(file) and not file.name.lower().endswith((*PARQUET, *ENDINGS)):
            known = ", ".join((*PARQUET, *ENDINGS))
            msg = f"scan: file {str(file)!r} is of no kind that is known by its name: {known}. Rename or convert it."
            raise DataError(msg)
    return tuple(dict.fromkeys(found))


def _named(one: object) -> list[Path]:
    if not isinstance(one, (str, os.PathLike)):
        msg = f"scan: files are paths, patterns or directories; got {one!r:.60}."
        raise ParameterError(msg)
    path = Path(one)
    if path.is_dir():
        found = sorted(file for file in path.rglob("*") if file.is_file() and _is_known(file))
        if not found:
            raise DataError(f"scan: directory {str(path)!r} holds no Parquet or CSV file; {_there(path)}.")
        return found
    if path.is_file():
        return [path]
    matched = sorted(Path(file) for file in glob.glob(str(one), recursive=True))  # noqa: PTH207 (patterns as they are)
    found = [file for file in matched if file.is_file()]
    if not found:
        folder = path.parent
        while not folder.is_dir() and folder != folder.parent:
            folder = folder.parent
        if path.exists():
            raise DataError(f"scan: {str(one)!r} is not a file of rows (a device, a pipe or a socket); name a file.")
        near = get_close_matches(path.name, [file.name for file in folder.iterdir()], 1)
        hint = f"did you mean {str(folder / near[0])!r}?" if near else f"in {str(folder)!r} {_there(folder)}."
        raise DataError(f"scan: no file matches {str(one)!r}; {hint}")
    return found


def _there(folder: Path) -> str:
    """What a directory holds, in words: first the files that can be read."""
    tables = (*PARQUET, *ENDINGS)
    names = sorted(
        (one.name + ("/" if one.is_dir() else "") for one in folder.iterdir()),
        key=lambda name: (not name.lower().endswith(tables), name),
    )
    if not names:
        return "there is nothing"
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"there is {', '.join(map(repr, names[:SHOWN]))}{more}"
