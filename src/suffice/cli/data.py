"""Files of rows as the commands take them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click


def opened(files: Sequence[str]) -> Any:
    """The rows of some files."""
    import pyarrow as pa
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    from suffice.core.errors import DataError

    tables = []
    for one in files:
        try:
            if one.endswith(".parquet"):
                tables.append(pq.read_table(one))
            else:
                tables.append(pc.read_csv(one, convert_options=pc.ConvertOptions(strings_can_be_null=True)))
        except pa.ArrowInvalid as error:
            raise DataError(f"{one}: {error}") from error
    return pa.concat_tables(tables)


def names_of(data: Any) -> tuple[str, ...]:
    """The names of the columns."""
    return tuple(data.column_names)


def frames(data: Any) -> Iterator[Any]:
    """The rows, one table after the other."""
    yield data


def column(data: Any, name: str) -> Any:
    """The cells of one column of all rows."""
    import numpy as np

    from suffice.frames.table import opened as as_frame

    return np.concatenate([as_frame(frame)[name] for frame in frames(data)])


def row_at(file: str, row: int) -> Any:
    """One row of a file, as a table of one."""
    from suffice.core.errors import DataError

    data = opened([file])
    seen = 0
    for frame in frames(data):
        if row < seen + len(frame):
            return frame.slice(row - seen, 1)
        seen += len(frame)
    msg = f"{file} has {seen:,} rows, numbered from 0; there is no row {row:,}."
    raise DataError(msg)


def known(name: str, names: Iterable[Any], what: str) -> Any:
    """The column that a word means; where there is none, the nearest is offered."""
    from difflib import get_close_matches

    from suffice.core.shown import shown

    there = {str(one): one for one in names}
    if name in there:
        return there[name]
    near = get_close_matches(name, there, 1, 0.5)
    if near:
        hint = f"did you mean {shown(near[0])!r}?"
    else:
        hint = f"it has {', '.join(shown(one) for one in list(there)[:30])}{', …' if len(there) > 30 else '.'}"
    msg = f"{what}: there is no column {shown(name)!r}; {hint}"
    raise click.UsageError(msg)


def written_beside(path: str) -> Path:
    """A path whose folder exists, or a refusal before any work is done."""
    found = Path(path)
    if found.is_dir():
        raise IsADirectoryError(21, "it is a folder; name a file in it", path)
    if not found.parent.is_dir():
        raise FileNotFoundError(2, "its folder does not exist; make it first", path)
    return found
