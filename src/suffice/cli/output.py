"""Rows as answers: a file whose ending says its kind, CSV in a pipe, the first rows on a terminal."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click

from suffice.cli.terminal import banks, is_terminal, note, plain, say
from suffice.display.names import display_name
from suffice.display.values import many

if TYPE_CHECKING:
    from suffice.types import Data

KINDS = {".csv": "csv", ".parquet": "parquet", ".json": "json"}
SHOWN = 10  # rows on a terminal


class Rows:
    """Where tables of answers go, one after the other; a file appears under its name when all of it is there."""

    def __init__(self, out: str | None, *, as_json: bool = False) -> None:
        """Decide by the ending of ``out``, or by who reads standard output."""
        from suffice.cli.data import output_path

        self.path = None if out is None else output_path(out)
        if self.path is not None:
            self.kind = _kind(self.path)
        else:
            self.kind = "json" if as_json else "screen" if is_terminal() else "csv"
        self.draft = None if self.path is None else self.path.with_name(f".{self.path.name}.{os.getpid()}.part")
        self.count = 0
        self._schema: Any = None
        self._stream: Any = None
        self._parquet_file: Any = None
        self._first: list[Any] = []

    def __enter__(self) -> Self:
        """Open the file."""
        if self.kind in {"csv", "json"}:
            self._stream = sys.stdout.buffer if self.draft is None else self.draft.open("wb")
        return self

    def write(self, rows: Any) -> None:
        """Add a table of Arrow."""
        rows = rows if self._schema is None else rows.cast(self._schema)
        getattr(self, f"_{self.kind}")(rows)
        self._schema = rows.schema
        self.count += len(rows)

    def _csv(self, rows: Data) -> None:
        import pyarrow.csv as pc

        if self._schema is None:
            head = io.StringIO()
            csv.writer(head, lineterminator="\n").writerow(rows.column_names)
            self._stream.write(head.getvalue().encode())
        lines = io.BytesIO()
        rows = in_words(rows)
        style = "needed" if _special(rows) else "none"  # Arrow needs quotes wherever a column is text
        pc.write_csv(rows, lines, pc.WriteOptions(include_header=False, quoting_style=style))
        self._stream.write(lines.getvalue())

    def _parquet(self, rows: Data) -> None:
        import pyarrow.parquet as pq

        if self._parquet_file is None:
            self._parquet_file = pq.ParquetWriter(self.draft, rows.schema)
        self._parquet_file.write_table(rows)

    def _json(self, rows: Data) -> None:
        for number, row in enumerate(rows.to_pylist(), self.count):
            text = json.dumps(plain(row), ensure_ascii=False, allow_nan=False)
            self._stream.write((",\n" if number else "[\n").encode() + text.encode())

    def _screen(self, rows: Any) -> None:
        left = SHOWN - sum(map(len, self._first))
        if left > 0:
            self._first.append(rows.slice(0, left))

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Close; keep a file only where nothing went wrong."""
        if self.kind == "json" and kind is None:
            self._stream.write(b"\n]\n" if self.count else b"[]\n")
        if self._parquet_file is not None:
            self._parquet_file.close()
        if self.draft is not None:
            if self._stream is not None:
                self._stream.close()
            if kind is None and self.draft.exists():
                self.draft.replace(str(self.path))
                note(f"{many(self.count, 'row')} written to {self.path}")
            else:
                self.draft.unlink(missing_ok=True)
        elif self._stream is not None:
            self._stream.flush()
        elif kind is None and self.kind == "screen":
            self._show()

    def _show(self) -> None:
        if not self._first:
            return
        import pyarrow as pa

        rows = pa.concat_tables(self._first)
        own = rows.column_names[0] == "row"  # answers that say of which row they are
        lines = [[*([] if own else [str(i)]), *map(_cell, row.values())] for i, row in enumerate(rows.to_pylist())]
        head = [*([] if own else [""]), *rows.column_names]
        numbers = [i + (not own) for i, field in enumerate(rows.schema) if pa.types.is_floating(field.type)]
        banks(head, lines, right=[0, *numbers])
        if self.count > len(rows):
            say(f"… {self.count - len(rows):,} more; --out FILE.csv, .parquet or .json has all of them.", "dim")


def arrow(columns: dict[Any, Any]) -> Any:
    """Columns of answers as a table of Arrow; NaN and masked cells are empty."""
    import numpy as np
    import pyarrow as pa

    arrays = []
    for values in columns.values():
        if isinstance(values, pa.ChunkedArray | pa.Array):
            arrays.append(values)
            continue
        masked = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
        array = np.asarray(values)
        array = array.astype(object) if array.dtype.kind == "U" else array
        arrays.append(pa.array(array.tolist() if array.dtype == object else array, mask=masked, from_pandas=True))
    return pa.table(arrays, names=[str(name) for name in columns])


def in_words(rows: Data) -> Any:
    """A table of Arrow with text where CSV has no other way: durations as "2 days 03:00:00", nested cells as JSON.

    >>> import datetime as dt, pyarrow as pa
    >>> in_words(pa.table({"span": [dt.timedelta(days=2, hours=3)], "tags": [[1, 2]]})).to_pylist()
    [{'span': '2 days 03:00:00', 'tags': '[1, 2]'}]
    """
    import pyarrow as pa

    for place, field in enumerate(rows.schema):
        if not (pa.types.is_duration(field.type) or pa.types.is_nested(field.type)):
            continue
        write = _duration if pa.types.is_duration(field.type) else _nested
        cells = [None if one is None else write(one) for one in rows.column(place).to_pylist()]
        rows = rows.set_column(place, field.name, pa.array(cells, pa.string()))
    return rows


def _duration(span: timedelta) -> str:
    """A duration as pandas writes and reads it."""
    whole = int(span.total_seconds() // 1)
    days, seconds = divmod(whole, 86_400)
    micro = getattr(span, "microseconds", 0)
    tail = f".{micro:06d}" if micro else ""
    return f"{days} days {seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{tail}"


def _nested(cell: dict[Any, Any]) -> str:
    return json.dumps(plain(cell), ensure_ascii=False, allow_nan=False)


def _special(rows: Data) -> bool:
    """Whether a cell holds what CSV must quote, or is empty but not missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = [
        column for column in rows.columns if pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    ]
    return any(pc.any(pc.match_substring_regex(column, r'[",\r\n]|^$')).as_py() for column in text)


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else display_name(value, 30)


def _kind(path: Path) -> str:
    if path.suffix.lower() not in KINDS:
        msg = f"--out: the ending of {path.name!r} says nothing; .csv, .parquet and .json can be written."
        raise click.UsageError(msg)
    return KINDS[path.suffix.lower()]
