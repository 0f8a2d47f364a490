"""Files of rows as the commands take them."""

from __future__ import annotations

import tempfile
from collections.abc import Hashable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from suffice.types import Data

OPTIONS = ("delimiter", "missing", "decimal", "encoding")  # of scan


def opened(files: Sequence[str], *, learned: bool = False) -> Any:
    """The rows of some files, and what to know of them as notes; ``learned``: from which there must be some."""
    import suffice as sf
    from suffice.cli.terminal import note
    from suffice.errors import DataError

    said = click.get_current_context().meta
    found = sf.scan(list(files), **{name: said[f"suffice.{name}"] for name in OPTIONS if f"suffice.{name}" in said})
    for _, text in found.alerts:
        note(f"note: {text}")
    if learned and not len(found):
        which = f"{files[0]} has" if len(files) == 1 else f"the {len(files)} files have"
        msg = f"{which} no rows, only the names of columns: there is nothing to learn from."
        raise DataError(msg)
    return found


def frames(data: Data, columns: list[Hashable] | None = None) -> Iterator[Any]:
    """The rows, one table of Arrow after the other, with the types of the files; NaN is a missing cell."""
    return map(without_nan, data.tables(columns))


def without_nan(rows: Data) -> Any:
    """A table of Arrow in which NaN is null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for place, field in enumerate(rows.schema):
        if pa.types.is_floating(field.type) and pc.any(pc.is_nan(rows.column(place))).as_py():
            cells = rows.column(place)
            rows = rows.set_column(place, field, pc.if_else(pc.is_nan(cells), pa.scalar(None, field.type), cells))
    return rows


def used(data: Data, names: Iterable[Any]) -> list[Any]:
    """The columns of some files that a model has: no other one is read."""
    known = set(names)
    return [name for name in data.names if name in known]


def column(data: Any, name: str) -> Any:
    """The cells of one column of all rows."""
    import numpy as np

    cells = [frame[name] for frame in data.frames([name])]
    if any(isinstance(one, np.ma.MaskedArray) for one in cells):
        cells = [np.array(one.tolist(), dtype=object) for one in cells]  # None where a cell is missing
    return np.concatenate([np.asarray(one) for one in cells])


def row_at(file: str, row: int) -> Any:
    """One row of a file, as a table of one."""
    from suffice.display.values import many
    from suffice.errors import DataError

    data = opened([file])
    if row >= len(data):
        msg = f"{file} has {many(len(data), 'row')}, numbered from 0; there is no row {row:,}."
        raise DataError(msg)
    return without_nan(data.table(row, row + 1))


def known(name: str, names: Iterable[Any], what: str) -> Any:
    """The column that a word means; where there is none, the nearest is offered."""
    from suffice.display.names import display_name

    there = {str(one): one for one in names}
    if name in there:
        return there[name]
    msg = f"{what}: there is no column {display_name(name)!r}; {hint(name, list(there), 30)}"
    raise click.UsageError(msg)


def hint(word: str, there: Sequence[Any], most: int) -> str:
    """What may have been meant by a word: the nearest of those that there are, else the first of them."""
    from difflib import get_close_matches

    from suffice.display.names import display_name

    near = get_close_matches(word, map(str, there), 1, 0.5)
    if near:
        return f"did you mean {display_name(near[0])!r}?"
    return f"it has {', '.join(map(display_name, there[:most]))}{', …' if len(there) > most else '.'}"


def output_path(path: str) -> Path:
    """A path whose folder exists, or a refusal before any work is done."""
    found = Path(path)
    if found.is_dir():
        raise IsADirectoryError(21, "it is a folder; name a file in it", path)
    if not found.parent.is_dir():
        raise FileNotFoundError(2, "its folder does not exist; make it first", path)
    if found.exists() and not found.is_file():
        raise OSError(22, "it is no file that can be replaced; name another one", path)
    if not _can_be_made(found):
        raise PermissionError(13, "it cannot be written; name another one", path)
    return found


def _can_be_made(path: Path) -> bool:
    """Whether a file can be made beside a path: tried, as permissions alone do not tell."""
    try:
        with tempfile.NamedTemporaryFile(prefix=f".{path.name[:40]}.", dir=path.parent):
            return True
    except OSError:
        return False
