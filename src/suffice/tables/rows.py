"""Rows as arrays: what a caller gives becomes (n, d) numbers, or an error that says which value is not one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, KeysView, Mapping, Sized, ValuesView
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import DataError, naming
from suffice.message_parts import Cell, Columns, Message
from suffice.statistics.sums import Additive
from suffice.tables import frame

if TYPE_CHECKING:
    from collections.abc import Hashable

    from suffice.types import Array, Data, Rows


MISSING = frame.MISSING
LARGEST = 1e150  # its square is still a number, and so is a sum of many such squares


def listed(x: Data) -> Any:
    """Data that can be read more than once: an iterator becomes a list, a frame its columns, a series an array."""
    if type(x) is np.ndarray:
        return x
    if isinstance(x, (Iterator, KeysView, ValuesView)):
        return list(x)
    try:
        return frame.opened(x)
    except frame.FrameError as error:
        raise DataError(*error.message) from error


def cells(x: Data, owner: str) -> Array:
    """What a caller gives as an array whose masked cells are missing, or an error that says why it is none."""
    x = listed(x)
    refuse_what_is_no_data(x, owner)
    if isinstance(x, frame.Frame):
        columns = columns_of(x, owner)
        kind = None if all(one.dtype.kind in "biuf" for one in columns) else object
        return np.stack([one.astype(kind) for one in columns], axis=1) if kind else np.stack(columns, axis=1)
    try:
        if isinstance(x, (list, tuple)) and len(x) and isinstance(x[0], np.ndarray):
            x = np.ma.array(x) if any(isinstance(row, np.ma.MaskedArray) for row in x) else x
        array = x if isinstance(x, np.ma.MaskedArray) else np.asarray(x)
    except ValueError as error:
        raise DataError(uneven(x, owner)) from error
    return unmasked(array) if isinstance(array, np.ma.MaskedArray) else array


def columns_of(frame: frame.Frame, owner: str, names: list[Hashable] | None = None) -> list[Array]:
    """The columns of a frame, or some of them, in their order, as plain arrays of one axis."""
    if not len(frame.keys()):
        msg = f"{owner} needs at least one column; the frame has none, and {len(frame)} rows."
        raise DataError(msg)
    columns = []
    for name in frame if names is None else names:
        with naming(Columns.named(name)):
            columns.append(cells(frame[name], owner))
        if columns[-1].ndim != 1:
            text = f" holds vectors, where {owner} takes one value; make columns of them."
            raise DataError(Columns.named(name), text)
    return columns


def unmasked(array: Array) -> Array:
    """A masked array as a plain one: NaN, NaT or None where it was masked."""
    mask = np.ma.getmaskarray(array)
    if not mask.any():
        return np.asarray(array.data)
    missing = {"f": np.nan, "c": np.nan, "m": "NaT", "M": "NaT"}.get(array.dtype.kind)
    plain: Array = np.array(array.data, dtype=object if missing is None else array.dtype)
    plain[mask] = missing
    return plain


def refuse_what_is_no_data(x: Data, owner: str) -> None:
    """Refuse what has no rows in an order, or is the result of reading some."""
    if isinstance(x, Mapping):
        names = ", ".join(map(repr, list(x)[:4])) or "nothing"
        what = f"a mapping of {names}"
        remedy = "Give the values of one column, as in data['x'], or describe the columns by name with a Product"
    elif hasattr(x, "tocsr"):
        what, remedy = "a sparse matrix", "Give X.toarray(), or Categorical() labels in sparse rows"
    elif isinstance(x, (set, frozenset)):
        what, remedy = "a set, which has no order and forgets repeated values", "Give a list or an array"
    elif isinstance(x, Additive):
        what, remedy = "statistics, which were gathered from rows before", "Use prototype.estimate(statistics)"
    elif hasattr(type(x), "log_prob") and "statistics" in vars(x):  # of the kind: a frame's columns are attributes too
        what, remedy = "a Fit", "Give the rows; a Fit's own statistics make prototype.estimate(fit.statistics)"
    elif hasattr(type(x), "log_prob"):
        what, remedy = f"a distribution, {x!r:.60}", "Give rows, such as those that its sample(n) draws"
    else:
        return
    msg = f"{owner} takes rows, but the data are {what}. {remedy}."
    raise DataError(msg)


def axes_of(x: Data, owner: str) -> tuple[int, ...]:
    """The shape of rows, or an error where they have none."""
    try:
        return np.shape(x)
    except ValueError as error:
        raise DataError(uneven(x, owner)) from error


def uneven(x: list[Any], owner: str) -> str:
    """Name the first row that is not as long as the one before it."""
    lengths = [len(row) if isinstance(row, Sized) and not isinstance(row, str) else None for row in x]
    row = next((i for i, length in enumerate(lengths) if length != lengths[0]), None)
    words = ["one value" if length is None else f"{length} values" for length in (lengths[0], lengths[row or 0])]
    place = "inside its rows" if row is None else f"row {row} has {words[1]}, row 0 has {words[0]}"
    return (
        f"{owner} takes rows × columns, but the rows have different lengths: {place}. "
        "Give each as many cells, None for a missing one."
    )


def numbers(x: Data, owner: str) -> Array:
    """An array of float64 (float32 stays float32), NaN for a missing cell, or an error naming the first bad value."""
    x = listed(x)
    if isinstance(x, np.ma.MaskedArray) and x.dtype.kind in "biu":
        x = x.astype(np.float64)
    if isinstance(x, frame.Frame) and len(x.keys()):
        columns = []
        for name in x:
            with naming(Columns.named(name)):
                columns.append(numbers(x[name], owner))
        return np.stack(columns).T if x.apart else np.stack(columns, axis=1)
    array = cells(x, owner)
    if array.dtype.kind == "f" and array.dtype.itemsize in (4, 8):
        return array
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    if array.dtype.kind == "O":
        return _objects(array, owner)
    kind = {"U": "text", "S": "text", "M": "dates", "m": "durations", "c": "complex numbers"}.get(
        array.dtype.kind, "records"
    )
    first = f", such as {str(array.flat[0])!r:.60}" if array.size else ""
    msg = f"{owner} needs numbers, but the data are {kind}{first}. Convert them, or use Categorical for labels."
    raise DataError(msg)


def _objects(array: Array, owner: str) -> Array:
    """Objects one by one: None is missing, numbers are numbers, anything else is named with its place."""
    out = np.empty(array.shape, dtype=np.float64)
    for place, value in np.ndenumerate(array):
        if value is None or type(value).__name__ in MISSING:
            out[place] = np.nan
        elif isinstance(value, (bool, int, float, np.number, np.bool_)) and not isinstance(value, np.complexfloating):
            out[place] = _as_float(value, place, owner)
        else:
            shown = f"{type(value).__name__} {value!r:.60}"
            if not place:
                msg = f"{owner} takes rows of numbers, but the data are {shown}. Give a list, an array or a table."
                raise DataError(msg)
            remedy = "Convert it, or use None or NaN for missing."
            raise DataError(f"{owner} needs numbers, but ", _cell(place), f" holds {shown}. {remedy}", value=value)
    return out


def _cell(place: tuple[int, ...]) -> Cell:
    return Cell(place[0], place[1] if len(place) > 1 else None)


def _as_float(value: Any, place: tuple[int, ...], owner: str) -> float:
    try:
        return float(value)
    except OverflowError as error:
        at: Message = (_cell(place), " holds") if place else ("the data are",)
        remedy = "Divide the column by a constant, take logarithms, or mark the cell missing with NaN."
        raise DataError(
            f"{owner} needs numbers that float64 can hold, but ",
            *at,
            f" a whole number of {value.bit_length()} bits. {remedy}",
            value=value,
        ) from error


def is_several(given: object) -> bool:
    """Whether something has elements that one can go through; text and bytes are one thing."""
    one = isinstance(given, (str, bytes, memoryview)) or getattr(given, "ndim", 1) == 0
    return isinstance(given, Iterable) and not one


def is_hashable(label: Hashable) -> bool:
    """Whether something can be a label, or a key."""
    try:
        hash(label)
    except TypeError:
        return False
    return True


def too_large(owner: str, value: float, cell: Cell) -> DataError:
    """What to tell of a number whose weighted square float64 cannot hold."""
    rule = "squares of such numbers, times their weights, exceed the range of float64."
    remedy = "Divide the column, or large weights, by a constant, or mark the cell missing with NaN."
    return DataError(f"{owner}: ", cell, f" has {value:g}; {rule} {remedy}", value=value)


def as_rows(array: Array, owner: str, columns: int | None, event: int) -> Array:
    """Arrange numbers as (n, d) plus the axes of one event.

    ``columns`` is the number that the model already has (None while it can take any). One number, or one vector
    for a model of several columns, is one row.
    """
    full, given = 2 + event, array.shape
    if array.ndim == event:  # one event: one row of one column
        array = array[None, None]
    elif array.ndim == 1 + event:
        alone = columns not in (None, 1) and array.shape[0] == columns
        array = array[None] if alone else array[:, None]
    if array.ndim != full:
        msg = f"{owner} takes rows × columns; the data have shape {array.shape}. Reshape them to two axes."
        raise DataError(msg)
    if 0 in array.shape[1:]:
        msg = f"{owner} needs at least one column; the data have shape {given}. Give rows × columns."
        raise DataError(msg)
    if columns is not None and array.shape[1] != columns:
        msg = (
            f"{owner} describes {columns} column{'s'[: columns != 1]}, but the data have {array.shape[1]}. "
            "Give the same columns as in the fit."
        )
        raise DataError(msg)
    return array


def check_columns(model: Any, rows: Rows) -> None:
    """Refuse rows with another number of columns than a distribution has parameters for.

    A value over one column has numbers as parameters, which formulas would apply to any number of columns.
    """
    if model.row_vector:
        return
    entries, given = _vector_length(model), np.shape(rows)[2:]
    if entries is not None and given and given[0] != entries:
        msg = (
            f"{model.name} describes vectors of {entries} entries, but the rows of the data have {given[0]}. "
            "Give the same columns as in the fit."
        )
        raise DataError(msg)
    known = model.columns or 1
    if rows.shape[1] != known:
        msg = (
            f"{model!r:.200} describes {known} column{'s'[: known != 1]}, but the data have {rows.shape[1]}. Give the "
            "same columns as in the fit, fit it to these columns, or give one value per column, as in "
            f"{model.name}({next(iter(model.params))}=[…])."
        )
        raise DataError(msg)


def _vector_length(model: Any) -> int | None:
    """How many entries one event has; None where an event is one number."""
    if not model.support.core:
        return None
    vectors = [getattr(model, name) for name, spec in model.specs().items() if spec.domain.core]
    known = [np.shape(vector)[-1] for vector in vectors if vector is not None]
    return int(known[0]) if known else None


def row_count(data: Data) -> int | None:
    """The number of rows, where data tell it before they are read."""
    if isinstance(data, Mapping):
        data = next(iter(data.values()), ())
    shape = getattr(data, "shape", None)
    if isinstance(shape, tuple) and shape and isinstance(shape[0], int):
        return shape[0]
    return len(data) if isinstance(data, Sized) and not isinstance(data, str) else None
