"""Rows as arrays: what a caller gives becomes (n, d) numbers, or an error that says which value is not one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.core.errors import DataError

if TYPE_CHECKING:
    from suffice.core.parameters import Array


def numbers(x: Any, owner: str) -> Array:
    """An array of float64 (float32 stays float32), NaN for a missing cell, or an error naming the first bad value."""
    array = np.asarray(x)
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
        if value is None or type(value).__name__ in {"NAType", "NaTType"}:
            out[place] = np.nan
        elif isinstance(value, (bool, int, float, np.number, np.bool_)):
            out[place] = value
        else:
            shown = f"{type(value).__name__} {value!r:.60}"
            msg = (
                f"{owner} needs numbers, but {where(place)} holds {shown}. Convert it, or use None or NaN for missing."
            )
            raise DataError(msg)
    return out


def where(place: tuple[int, ...]) -> str:
    """A place in words: 'row 3' or 'row 3, column 1'."""
    return f"row {place[0]}" if len(place) == 1 else f"row {place[0]}, column {place[1]}"


def as_rows(array: Array, owner: str, columns: int | None, event: int) -> Array:
    """Arrange numbers as (n, d) plus the axes of one event.

    ``columns`` is the number that the model already has (None while it can take any). One number, or one vector
    for a model of several columns, is one row.
    """
    full = 2 + event
    if array.ndim == event:  # one event: one row of one column
        array = array[None, None]
    elif array.ndim == 1 + event:
        alone = columns not in (None, 1) and array.shape[0] == columns
        array = array[None] if alone else array[:, None]
    if array.ndim != full:
        msg = f"{owner} takes rows × columns; the data have shape {array.shape}. Reshape them to two axes."
        raise DataError(msg)
    if columns is not None and array.shape[1] != columns:
        msg = (
            f"{owner} describes {columns} column{'s'[: columns != 1]}, but the data have {array.shape[1]}. "
            "Give the same columns as in the fit."
        )
        raise DataError(msg)
    return array
