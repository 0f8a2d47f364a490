"""The columns of a table as it was fitted: their order, kinds and units, so that new rows look like it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from suffice.errors import SufficeError
from suffice.tables import frame, frame_output
from suffice.tables.rows import listed
from suffice.types import Array, Data

F = TypeVar("F")
KINDS = ("whole", "real", "yes or no", "label")
FINEST = 6  # decimals of a unit
SHOW = 20  # real numbers that show a unit; fewer may be round by chance
EQUAL = 1e-9  # 0.07 + 0.01 is a multiple of 0.01, though not to the last bit
LOOKED_AT = 65_536  # rows of files by which a unit is judged

Layout = tuple[tuple[Any, ...], ...]  # (name, kind, unit or None) of each column


def layout_of(data: Data, names: tuple[Any, ...] | None) -> Layout:
    """What is known of the columns of a table that a model describes, in the order of the table; () without names.

    >>> layout_of({"visits": [1, 0, 2], "smokes": [True, False, True]}, ("smokes", "visits"))
    (('visits', 'whole', 1.0), ('smokes', 'yes or no', None))
    """
    if names is None:
        return ()
    try:
        columns = _columns(data, names)
        return () if columns is None else tuple((n, *_kind(columns, n)) for n in columns if n in set(names))
    except (SufficeError, TypeError, ValueError):  # whoever reads the data says what is wrong with them
        return ()


def _columns(data: Data, names: tuple[Any, ...]) -> Any:
    """A table as columns by name; of files the first rows of those that are named."""
    if callable(getattr(type(data), "table", None)) and hasattr(data, "partitions"):
        return listed(data.table(0, LOOKED_AT, [name for name in data.names if name in set(names)]))
    if isinstance(data, np.ndarray) and data.dtype.names:
        return {name: data[name] for name in data.dtype.names}
    if isinstance(data, (list, tuple)) and len(data) and isinstance(data[0], Mapping):
        return {name: [row.get(name) for row in data] for name in dict.fromkeys(name for row in data for name in row)}
    if isinstance(data, Mapping):
        return data
    opened = listed(data)
    return opened if isinstance(opened, frame.Frame) else None


def _kind(columns: Any, name: Hashable) -> tuple[str, float | None]:
    """The kind of a column, and the unit of its numbers."""
    dtype = getattr(columns.raw(name), "dtype", None) if isinstance(columns, frame.Frame) else None
    if dtype is not None and hasattr(dtype, "is_integer") and dtype.is_integer():  # also with holes
        return "whole", 1.0
    values = columns[name]
    if not isinstance(values, (np.ndarray, frame.Coded)):
        cells = np.empty(len(values), dtype=object)
        cells[:] = list(values)
        values = frame.of_objects(cells)
    if values.dtype.kind == "b":
        return "yes or no", None
    if values.dtype.kind in "iu":
        return "whole", 1.0
    return ("real", unit_of(values)) if values.dtype.kind == "f" else ("label", None)


def unit_of(values: Array) -> float | None:
    """The power of ten, at most 1, that all numbers are multiples of; None where they are too few or too fine.

    >>> unit_of(np.arange(30) / 4), unit_of(np.sqrt(np.arange(30))), unit_of(np.array([1.5, 2.5]))
    (0.01, None, None)
    """
    seen = values[np.isfinite(values)]
    if len(seen) < SHOW or np.abs(seen).max() > 10.0**9:
        return None
    for part in (seen[:SHOW], seen):  # most columns show by a few values that they have no unit
        decimals = next((p for p in range(FINEST + 1) if np.allclose(np.round(part, p), part, 0, EQUAL)), None)
        if decimals is None:
            return None
    return float(10.0**-decimals) if decimals is not None else None


def like_data(fit: F, data: Data, layout: Layout | None = None) -> F:
    """A fit with what its table was like, so that rows that it draws look the same."""
    found: Any = fit
    layout = layout_of(data, found.names) if layout is None else layout
    like: F = (
        replace(found, layout=layout, _like=frame_output.empty(data, [name for name, *_ in layout])) if layout else fit
    )
    return like


def restore(layout: Layout, columns: dict[Any, Any], model: object) -> dict[Any, Any]:
    """Drawn columns in the order, kinds and units of the table; ``model`` says which values can be."""
    found = {}
    for name, kind, unit in layout:
        if name in columns:
            found[name] = of_kind(columns[name], kind, unit, model, name)
    return {**found, **{name: values for name, values in columns.items() if name not in found}}


def of_kind(values: Array, kind: str, unit: float | None, model: object, name: Hashable) -> Any:
    """Values of a column in its kind and unit."""
    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.kind not in "bf":
        return values
    if kind == "yes or no":
        return values.astype(bool) if np.isin(values, (0, 1)).all() else values
    if unit is not None and values.dtype.kind == "f":
        values = rounded(values, unit, model, name)
    whole = kind == "whole" and (values == np.floor(values)).all() and (np.abs(values) < 2.0**53).all()
    return values.astype(np.int64) if whole else values


def rounded(values: Array, unit: float, model: object, name: Hashable) -> Array:
    """Numbers as multiples of a unit; one that cannot be, such as a weight of 0, as the next one that can."""
    decimals = round(-np.log10(unit))
    found = np.round(values, decimals)
    for other in (np.ceil(values / unit) * unit, np.floor(values / unit) * unit, values):
        bad = _impossible(model, name, found)
        if not bad.any():
            break
        found = np.where(bad, other if other is values else np.round(other, decimals), found)
    return found


def _impossible(model: Any, name: Hashable, values: Array) -> Array:
    try:
        return np.isneginf(np.atleast_1d(model.marginal(name).log_prob(values)))
    except SufficeError:
        return np.zeros(len(values), bool)
