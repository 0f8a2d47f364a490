"""Text files as Parquet: types by the whole of every file, then a spool that many passes can read.

A column is what all of its cells are: whole numbers, numbers, yes and no, days, moments, or else text. Whole numbers of
which one begins with a 0, such as 01067, are codes, and text. The first pass looks at every cell, the second writes the
spool.
"""

from __future__ import annotations

import codecs
import errno
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suffice.errors import DataError, ParameterError
from suffice.tables.csv_types import Guess, cast_to
from suffice.tables.parquet import File, brief

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK = 1 << 21  # bytes of text that are looked at together; the reader holds many such blocks at a time
GROUP = 1 << 17  # rows of a row group of the spool
ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".csv.zst", ".tsv.zst")
DELIMITERS = (",", ";", "\t", "|")  # of which the first that the first line has is taken
NOT_UTF8 = "it is not in UTF-8; say in what it is, as scan(…, encoding='latin1'), or convert it by iconv -f LATIN1"
MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "#N/A", "<NA>")  # as pandas has them


@dataclass(frozen=True)
class Style:
    """How text files are written: the decimal sign of numbers, and the encoding."""

    decimal: str = "."
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        """Refuse what is not a sign or not an encoding."""
        if not isinstance(self.decimal, str) or len(self.decimal) != 1 or self.decimal.isalnum():
            msg = f"scan: decimal is one sign, such as ','; got {self.decimal!r:.40}."
            raise ParameterError(msg)
        try:
            codecs.lookup(self.encoding)
        except (LookupError, TypeError) as error:
            msg = f"scan: there is no encoding {self.encoding!r:.40}; latin1, cp1252 and utf-16 are some."
            raise ParameterError(msg) from error

    @property
    def utf8(self) -> bool:
        """Whether the reader needs no translation."""
        return codecs.lookup(self.encoding).name in {"utf-8", "ascii", "utf-8-sig"}

    def translated(self, stream: object) -> Any:
        """A stream of bytes in UTF-8."""
        import pyarrow as pa

        return stream if self.utf8 else pa.transcoding_input_stream(stream, self.encoding, "utf-8")

    def pointed(self, batch: Any) -> Any:
        """A batch of text in which numbers have a decimal point."""
        if self.decimal == ".":
            return batch
        import pyarrow as pa
        import pyarrow.compute as pc

        number = rf"^(\s*[-+]?\d*){re.escape(self.decimal)}(\d+(?:[eE][-+]?\d+)?\s*)$"
        columns = [pc.replace_substring_regex(one, number, r"\1.\2") for one in batch.columns]
        return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


@dataclass
class Text:
    """Text files with the same columns, and how their cells are told apart."""

    files: tuple[Path, ...]
    delimiter: str | None = None
    marks: tuple[str, ...] = MISSING  # of missing cells
    style: Style = field(default_factory=Style)
    names: tuple[str, ...] = field(default=(), init=False)
    guesses: dict[str, Guess] = field(default_factory=dict, init=False)
    seen: set[str] = field(default_factory=set, init=False)  # marks of missing cells that there are

    def look(self) -> None:
        """The first pass: what every column is, by every cell of every file."""
        for file in self.files:
            row = 0
            for batch in self._batches(file):
                for name, array in zip(batch.schema.names, batch.columns, strict=True):
                    self.guesses[name].see(array, row, str(file))
                row += len(batch)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Columns that are text by a few cells only."""
        found = (guess.remark(name, sorted(self.seen)) for name, guess in self.guesses.items())
        return tuple(text for text in found if text is not None)

    def spool(self, folder: Path) -> tuple[File, ...]:
        """The second pass: the same rows as Parquet."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        kinds = {name: guess.column_type for name, guess in self.guesses.items()}
        schema = pa.schema([(name, pa.type_for_alias(kinds[name])) for name in self.names])
        found = []
        for number, file in enumerate(self.files):
            path = folder / f"{number}.parquet"
            with _space(path), pq.ParquetWriter(path, schema, compression="lz4", write_statistics=False) as writer:
                waiting: list[Any] = []
                for batch in self._batches(file):
                    columns = [_cast_column(batch.column(name), kinds[name], file) for name in self.names]
                    waiting.append(pa.RecordBatch.from_arrays(columns, schema=schema))
                    while sum(map(len, waiting)) >= GROUP:
                        table = pa.Table.from_batches(waiting)
                        writer.write_table(table.slice(0, GROUP), row_group_size=GROUP)
                        waiting = table.slice(GROUP).to_batches()
                if waiting and sum(map(len, waiting)):
                    writer.write_table(pa.Table.from_batches(waiting), row_group_size=GROUP)
            found.append(File.opened(path, file))
        pa.default_memory_pool().release_unused()  # what reading text took is of no use to the passes
        return tuple(found)

    def _batches(self, file: Path) -> Iterator[Any]:
        """The cells of a file as text, block by block."""
        import pyarrow as pa
        from pyarrow import csv

        header, delimiter, alone = self._header(file)
        if alone:  # the reader wants the line of the names to end
            return
        text = dict.fromkeys(header, pa.string())
        options = csv.ConvertOptions(column_types=text, strings_can_be_null=True, null_values=[""])
        parsed = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        with _readable(file), pa.input_stream(str(file), compression="detect") as stream:
            try:
                whole = self.style.translated(stream)
                for batch in csv.open_csv(whole, csv.ReadOptions(block_size=BLOCK), parsed, options):
                    yield self.style.pointed(self._without_marks(batch))
            except pa.ArrowInvalid as error:
                utf8 = self._is_utf8(file)
                uneven = _describe_uneven_row(file, parsed, "utf8" if utf8 else "latin1")
                wrong = [one for one in (uneven, None if utf8 else NOT_UTF8) if one]
                raise pa.ArrowInvalid("; and ".join(wrong) or str(error)) from error

    def _is_utf8(self, file: Path) -> bool:
        """Whether all of the file, translated, is in UTF-8."""
        import pyarrow as pa

        decoder = codecs.getincrementaldecoder("utf-8")()
        with suppress(pa.ArrowException), pa.input_stream(str(file), compression="detect") as stream:
            whole = self.style.translated(stream)
            try:
                while block := whole.read(BLOCK):
                    decoder.decode(block)
                decoder.decode(b"", final=True)
            except UnicodeDecodeError:
                return False
        return True

    def _without_marks(self, batch: Any) -> Any:
        """Cells that hold a mark of missing ones made null."""
        import pyarrow as pa
        import pyarrow.compute as pc

        for place, cells in enumerate(columns := batch.columns):
            marked = pc.is_in(cells, pa.array(self.marks, pa.string()), skip_nulls=True)
            if pc.any(marked).as_py():
                self.seen.update(pc.unique(cells.filter(marked)).to_pylist())
                columns[place] = pc.if_else(marked, pa.scalar(None, pa.string()), cells)
        return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)

    def _header(self, file: Path) -> tuple[tuple[str, ...], str, bool]:
        """The names of a file's columns, which are those of the first file, in any order; what stands between cells.

        Last, whether the names are all that there is.
        """
        import csv as plain

        import pyarrow as pa

        with _readable(file), pa.input_stream(str(file), compression="detect") as stream:
            begin = self.style.translated(stream).read(BLOCK)
            short = len(begin) < BLOCK
        delimiter = self.delimiter or ("\t" if ".tsv" in file.name.lower() else None) or _delimiter(begin)
        try:
            names = tuple(next(plain.reader(_lines(begin), delimiter=delimiter), ()))
        except (UnicodeDecodeError, plain.Error) as error:
            why = (
                _not_utf8(begin)
                if isinstance(error, UnicodeDecodeError)
                else f"its first line names no columns: {error}"
            )
            msg = f"file {str(file)!r} cannot be read as text with columns: {why}."
            raise DataError(msg) from error
        if not names:
            msg = f"file {str(file)!r} is empty: its first line must name the columns. Leave it out, or write it again."
            raise DataError(msg)
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            msg = f"file {str(file)!r} has two columns called {twice!r}. Rename or drop one of them."
            raise DataError(msg)
        if not self.names:
            self.names = names
            self.guesses = {name: Guess() for name in names}
        other = sorted(set(self.names) ^ set(names))
        if other:
            mine, theirs = (file, self.files[0]) if other[0] in self.names else (self.files[0], file)
            hint = (
                "" if len(names) > 1 else f" (The columns were told apart by {delimiter!r}; delimiter= changes that.)"
            )
            msg = (
                f"file {str(mine)!r} has no column {other[0]!r}, which {str(theirs)!r} has. Give files with the same "
                f"columns.{hint}"
            )
            raise DataError(msg)
        return names, delimiter, short and not re.search(rb"[\r\n]", begin)


def _not_utf8(begin: bytes) -> str:
    """What to do with text of another encoding, by how it begins."""
    wide = begin[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) or begin[:200].count(b"\0") > len(begin[:200]) // 4
    return NOT_UTF8.replace("latin1", "utf-16").replace("LATIN1", "UTF-16") if wide else NOT_UTF8


def _lines(begin: bytes) -> Iterator[str]:
    """The lines with which a file begins; names may have breaks, and what follows them may be cut anywhere."""
    for line in re.finditer(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", begin.removeprefix(b"\xef\xbb\xbf")):
        yield line[0].decode()


def _delimiter(begin: bytes) -> str:
    """What stands between the names: the first sign that does so anywhere in the first line."""
    line = re.sub(rb'"[^"]*"', b"", begin).partition(b"\n")[0].partition(b"\r")[0]
    return next((sign for sign in DELIMITERS if sign.encode() in line), ",")


def _describe_uneven_row(file: Path, parsed: Any, encoding: str) -> str | None:
    """What is wrong with the first row that has more or fewer cells than there are names; None if there is none."""
    import pyarrow as pa
    from pyarrow import csv

    found: list[Any] = []

    def note(row: object) -> str:
        found.append(row)
        return "error"

    with suppress(pa.ArrowException), pa.input_stream(str(file), compression="detect") as stream:
        options = csv.ReadOptions(use_threads=False, block_size=BLOCK, encoding=encoding)
        watched = csv.ParseOptions(delimiter=parsed.delimiter, newlines_in_values=True, invalid_row_handler=note)
        for _ in csv.open_csv(stream, options, watched, csv.ConvertOptions(include_columns=[])):
            pass
    if not found or found[0].number is None:
        return None
    row = found[0]  # the first line has the number 1, and names the columns
    return (
        f"row {row.number - 2} is {row.text!r:.60}. Expected {row.expected_columns} columns, got {row.actual_columns}"
    )


def _cast_column(array: pa.Array, kind: str, file: Path) -> Any:
    import pyarrow as pa

    if kind == "string":
        return array
    found = cast_to(array, kind) if kind != "null" else pa.nulls(len(array)) if array.null_count == len(array) else None
    if found is None:
        msg = f"file {str(file)!r} has changed while it was read. Scan it anew when it is written no more."
        raise DataError(msg)
    return found


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    """Say which file is not a table."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, EOFError) as error:
        msg = f"file {str(file)!r} cannot be read as text with columns: {brief(error)} Mend or leave out what it names."
        raise DataError(msg) from error


@contextmanager
def _space(path: Path) -> Iterator[None]:
    """Say where the disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        written = path.stat().st_size if path.exists() else 0
        free = shutil.disk_usage(path.parent).free
        msg = (
            f"the spool of the text files does not fit into {str(path.parent)!r}: {written >> 20} MB of it were "
            f"written, {free >> 20} MB are free. Set TMPDIR or scan(…, spool=) to a larger disk, or convert to Parquet."
        )
        raise DataError(msg) from error
