"""Columns of arrays as frames: of the library, with the types and the index of a frame that is given."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

import numpy as np

from suffice.tables.frame import eager, holes


def like(frame: object, columns: Mapping[Any, Any]) -> Any:
    """Columns as the same kind of table as ``frame``, in its order, with its index and where values allow its types.

    A frame of pandas, polars or pyarrow gives one of them; rows with names give a list of them; anything else gives a
    dictionary of arrays.

    >>> like([{"a": 1}], {"a": np.array([2, 3])})
    [{'a': 2}, {'a': 3}]
    """
    native = eager(frame)
    if native is None or not hasattr(native, "columns"):
        arrays = {name: np.asarray(values) for name, values in columns.items()}
        if isinstance(frame, (list, tuple)) and len(frame) and isinstance(frame[0], Mapping):
            rows = zip(*(values.tolist() for values in arrays.values()), strict=True)
            return [dict(zip(arrays, row, strict=True)) for row in rows]
        return arrays
    import narwhals as nw

    known = [name for name in native.columns if name in columns]
    order = [*known, *(name for name in columns if name not in native.columns)]
    space = nw.get_native_namespace(native)
    made = [_series(name, columns[name], native.get_column(name) if name in known else None, space) for name in order]
    built = made[0].to_frame().with_columns(*made[1:]).to_native()  # `from_dict` would lose types of pandas
    index = nw.maybe_get_index(native)
    if index is not None and len(index) == len(built):
        built.index = index
    return built


def empty(frame: object, names: list[Any]) -> Any:
    """The same kind of table with some of the columns and no rows, for `like`; None for a dictionary of arrays."""
    native = eager(frame)
    if native is not None and hasattr(native, "columns"):
        import narwhals as nw

        return native.select([nw.col(name) for name in names]).head(0).to_native()
    return [{}] if isinstance(frame, (list, tuple)) else None


def replaced(frame: Any, columns: Mapping[Any, Any]) -> Any:
    """The same table with other values in some of its columns, in their types where the values allow it.

    >>> replaced({"a": [1, 2], "b": [3, 4]}, {"b": np.array([5, 6])})
    {'a': [1, 2], 'b': array([5, 6])}
    """
    native = eager(frame)
    if native is not None:
        import narwhals as nw

        space = nw.get_native_namespace(native)
        made = [_series(name, values, native.get_column(name), space) for name, values in columns.items()]
        index = nw.maybe_get_index(native)
        if index is not None:
            made = [nw.maybe_set_index(one, index=index) for one in made]
        return native.with_columns(*made).to_native() if made else native.to_native()
    if isinstance(frame, (list, tuple)):  # rows with names
        lists = {name: np.asarray(values).tolist() for name, values in columns.items()}
        return [{**row, **{name: values[i] for name, values in lists.items()}} for i, row in enumerate(frame)]
    names = frame.keys()  # of anything that has them
    return {**{name: frame[name] for name in names}, **columns}


def _series(name: str, values: object, like: object, space: Any) -> Any:
    """A native column of these values, of the type of the column ``like`` where none of them changes by it."""
    import narwhals as nw

    array = values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    kind = array.dtype.kind
    absent = holes(array)
    plain = [None if hole else cell for cell, hole in zip(np.asarray(array).tolist(), absent, strict=True)]
    if absent.any() or kind not in "biufmM":
        series = nw.new_series(name=name, values=plain, backend=space)
    else:
        series = nw.new_series(name=name, values=np.asarray(array), backend=space)
    if like is None:
        return series
    try:
        cast = _cast_like(series, like)
        short = kind == "f" and str(cast.dtype) == "Float32"  # as precise as the column is
        same = bool((cast.is_null() == series.is_null()).all()) and (short or _agree(cast, plain))
    except Exception:  # noqa: BLE001 (whatever a library raises where values do not fit its type)
        return series
    return cast if same else series


def _cast_like(series: Any, like: Any) -> Any:
    """A column cast to the type of another, as the library itself knows it: pandas has Int8 beside int8."""
    import narwhals as nw

    own, wanted = series.to_native(), like.to_native()
    if hasattr(own, "astype"):  # pandas, and what is like it
        return series if own.dtype == wanted.dtype else nw.from_native(own.astype(wanted.dtype), series_only=True)
    if hasattr(wanted, "type"):  # pyarrow
        coded = str(wanted.type).startswith("dictionary")
        made = own.cast(wanted.type.value_type).dictionary_encode() if coded else own
        return nw.from_native(made.cast(wanted.type), series_only=True).alias(series.name)
    return series.cast(like.dtype)


def _agree(cast: Any, plain: list[Any]) -> bool:
    pairs = zip(plain, cast.to_list(), strict=True)
    return all(left is None or _midnight(left) == _midnight(right) for left, right in pairs)


def _midnight(cell: Any) -> Any:
    """A day as the moment at which it begins, so that it can be compared with one."""
    plain = isinstance(cell, dt.date) and not isinstance(cell, dt.datetime)
    return dt.datetime(cell.year, cell.month, cell.day) if plain else cell  # noqa: DTZ001 (days have no zone)
