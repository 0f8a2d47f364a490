"""The columns of a product: which block has which, what a caller's rows give to each, and answers by column."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from suffice.errors import DataError, ParameterError
from suffice.message_parts import Cell, Columns
from suffice.models.compound import Table
from suffice.tables.column_names import lacking
from suffice.tables.frame import Coded, Frame, is_frame
from suffice.tables.rows import cells, listed
from suffice.types import Data


def names_of(key: Hashable) -> tuple[Any, ...]:
    """The columns of a block, by its key."""
    return key if isinstance(key, tuple) else (key,)


def key_of(names: Sequence[Hashable]) -> Any:
    """The key of a block with these columns; a single name that is a tuple would be taken for several."""
    return names[0] if len(names) == 1 and not isinstance(names[0], tuple) else tuple(names)


class ByColumn(dict[Any, Any]):
    """Answers by block, of which any column can be asked by its name: like columns are kept as one block.

    >>> fit = sf.fit(sf.Product({("a", "b"): sf.Normal()}), {"a": [1.0, 3.0], "b": [5.0, 9.0]})
    >>> fit.params["b"]
    {'mean': 7.0, 'std': 2.0}
    """

    def __init__(self, answers: Any, blocks: Mapping[Any, Any]) -> None:
        """Keep the answers, and the distributions that tell where in them a column is."""
        super().__init__(answers)
        self.owners = blocks

    def __copy__(self) -> ByColumn:
        """Return the same answers in a new dictionary."""
        return ByColumn(self, self.owners)

    def __reduce__(self) -> Any:
        """Return what makes it."""
        return ByColumn, (dict(self), dict(self.owners))

    def __missing__(self, name: Hashable) -> Any:
        """Return the answer of one column of a block."""
        for key, answer in self.items():
            if isinstance(key, tuple) and name in key:
                block = self.owners[key]
                if block.row_vector and not hasattr(answer, "row_vector"):
                    msg = f"{name!r} is one of the columns {key!r} that {block.name} describes together: ask by them."
                    raise KeyError(msg)
                return _share(answer, key.index(name), 0 if block.lone else 1)
        raise KeyError(name)


def _share(answer: Any, place: int, axis: int) -> Any:
    """What an answer about several columns says of one; ``axis`` counts the axes before the columns."""
    if isinstance(answer, dict):
        return {name: _share(one, place, axis) for name, one in answer.items()}
    if isinstance(answer, tuple):
        return tuple(_share(one, place, axis) for one in answer)
    if hasattr(answer, "row_vector"):
        return answer.marginal_column(answer.column_labels[place])
    if np.ndim(answer) == axis:  # of the only column
        return answer
    cell = np.asarray(answer)[(slice(None),) * axis + (place,)]
    return float(cell) if np.ndim(cell) == 0 else cell


@contextmanager
def naming_columns(columns: Columns) -> Iterator[None]:
    """Say in which of the columns of a block bad data were found."""
    try:
        yield
    except DataError as error:
        inside, message = error.cell, error.message
        by_place = columns.labels is None
        if inside is not None and isinstance(inside.column, int) and (by_place or len(columns.which) > 1):
            own = Columns((inside.column,))
            columns = own.after(columns.first) if by_place else own.with_names(columns.which)
            message = tuple(replace(part, implied=True) if isinstance(part, Cell) else part for part in message)
        raise error.with_message((columns, ": ", *message)) from error


def beside(key: tuple[Any, ...], priors: list[Any]) -> Any:
    """The priors of the columns of a block as one prior of the block."""
    beliefs = [getattr(one, "belief", one) for one in priors]
    first = beliefs[0]
    if all(isinstance(one, str) and one == first for one in beliefs):
        return first
    single = all(type(one) is type(first) and hasattr(one, "specs") and not one.batch for one in beliefs)
    if not single:
        several = ", ".join("none" if one is None else f"{one!r:.40}" for one in beliefs)
        msg = (
            f"the columns {', '.join(map(repr, key))} are one block, so their priors are of one family, one for each "
            f"of them; got {several}. Give the others one too, or make the column a block of its own."
        )
        raise ParameterError(msg)
    values = {}
    for name in first.specs():
        parts = [np.asarray(getattr(one, name)) for one in beliefs]
        width = max(part.shape[-1] if part.ndim else 0 for part in parts)
        values[name] = np.stack([np.pad(part, (0, width - len(part))) if part.ndim else part for part in parts])
    return replace(first, **values)


# ---- rows ------------------------------------------------------------------------------------------------------------
def materialize(x: Data) -> Any:
    """Data in a form that can be read more than once; rows with names become columns with names."""
    x = x if keyed(x) and not is_frame(x) else listed(x)  # one row of a frame is keyed, and stays a row
    if isinstance(x, (np.ndarray, np.void)) and x.dtype.names:
        return {name: x[name] for name in x.dtype.names}
    if isinstance(x, (list, tuple)) and len(x) and isinstance(x[0], Mapping):
        other = next((i for i, row in enumerate(x) if not isinstance(row, Mapping)), None)
        if other is not None:
            msg = f"Product: row 0 is a mapping, but row {other} is {x[other]!r:.60}; give all rows alike."
            raise DataError(msg)
        return {name: [row.get(name) for row in x] for name in dict.fromkeys(name for row in x for name in row)}
    return x


def keyed(x: Data) -> bool:
    """Whether rows come as columns by name: a mapping or anything like one."""
    return hasattr(x, "keys") and hasattr(x, "__getitem__")


def by_name(blocks: Mapping[Any, Any], x: Data, *, single: bool) -> list[Any]:
    """The rows of each block, from columns with names."""
    wanted = [name for key in blocks for name in names_of(key)]
    if any(name not in x for name in wanted):
        raise DataError(lacking(wanted, x.keys()))
    columns: list[Any] = []
    for key, block in blocks.items():
        values = [_array(x[name], f"column {name!r}") for name in names_of(key)]
        values = [value[None] for value in values] if single else values
        if isinstance(key, tuple):
            apart = len(blocks) > 1 and not (block.row_vector or block.support.core)  # as `core.cells` reads them
            columns.append(_together(key, values, apart=apart))
            continue
        if isinstance(values[0], Coded):
            columns.append(_together((key,), values))
            continue
        value = values[0][:, None] if values[0].ndim == 1 else values[0]
        if value.ndim == 2 and value.shape[1] != 1 and not (block.row_vector or block.support.core):
            msg = f"column {key!r} has {value.shape[1]} columns of its own; name them one by one, as in ('x', 'y')."
            raise DataError(msg)
        columns.append(value)
    return columns


def by_position(widths: list[int | None], x: Data, *, single: bool) -> list[Any]:
    """The rows of each block, from columns in an order."""
    if isinstance(x, Frame):
        _check_width(widths, x.shape)
        cuts, names = np.cumsum([0, *(width or 0 for width in widths)]), list(x)
        return [_together(tuple(names[a:b]), [x[name] for name in names[a:b]]) for a, b in pairwise(cuts)]
    array = _array(x, "Product")
    if array.dtype.kind in "US" and not isinstance(x, np.ndarray):
        array = np.array(x, dtype=object)  # rows of numbers and labels: each cell keeps its kind
    if array.ndim == 1:
        array = array[None] if single else array[:, None]
    _check_width(widths, array.shape)
    cuts = np.cumsum([0, *(width or 0 for width in widths)])
    return [array[:, a:b] for a, b in pairwise(cuts)]


def _check_width(widths: list[int | None], shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or None in widths or sum(width or 0 for width in widths) != shape[1]:
        known = "an unknown number of" if None in widths else sum(width or 0 for width in widths)
        msg = f"Product describes {known} columns, but the data have shape {shape}; give rows × those columns."
        raise DataError(msg)


def numbered(blocks: Mapping[Any, Any], x: Data) -> Any:
    """The columns of an array by their place, where that is what the names of a product are; else the array."""
    names = [name for key in blocks for name in names_of(key)]
    places = all(isinstance(name, (int, np.integer)) and not isinstance(name, bool) for name in names)
    if not places or not isinstance(x, np.ndarray) or x.ndim != 2 or max(names) >= x.shape[1] or min(names) < 0:
        return x
    return Frame({name: x[:, name] for name in range(x.shape[1])}, len(x))


def _together(key: tuple[Any, ...], values: list[Any], *, apart: bool = False) -> Any:
    """The columns of one block, each of its own kind."""
    lengths = {name: len(value) for name, value in zip(key, values, strict=True)}
    if len(set(lengths.values())) > 1:
        msg = f"the columns have different lengths: {lengths}; give as many values in each."
        raise DataError(msg)
    return Frame(dict(zip(key, values, strict=True)), len(values[0]), apart=apart)


def is_single(blocks: Mapping[Any, Any], x: Data) -> bool:
    """Whether columns with names are those of one row."""
    if isinstance(x, (Table, Frame)):
        return False
    return all(
        np.ndim(x[name]) == (0 if isinstance(key, tuple) else block.row_axes)
        for key, block in blocks.items()
        for name in names_of(key)
        if name in x
    )


def _array(x: Data, owner: str) -> Any:
    """An array, whose mask is left to the part that reads it."""
    x = listed(x)
    if isinstance(x, (np.ma.MaskedArray, Coded)):
        return x
    array = cells(x, owner)
    text = array.dtype.kind in "US" and not hasattr(x, "dtype")
    return np.asarray(x, dtype=object) if text and array.ndim == 1 else array  # NumPy makes text of None and NaN
