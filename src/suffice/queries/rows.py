"""Rows that a distribution is asked about cell by cell: their columns by label, and the way back to the same table."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.errors import DataError, UnsupportedError
from suffice.tables import frame, frame_output
from suffice.tables.column_names import offer, warn_of_absent
from suffice.tables.rows import listed, numbers, refuse_what_is_no_data
from suffice.types import Array, Data


@dataclass(frozen=True, eq=False)
class QueryRows:
    """The columns of rows by label, how the caller calls them, and what the caller gave: a table, or one row.

    Without names ``data`` are rows (n, d), and ``flat`` says that the caller gave one axis.
    """

    columns: dict[Any, Array]
    keys: dict[Any, Any]
    single: bool
    data: Any
    named: bool = True
    flat: bool = False
    absent: frozenset[Any] = frozenset()  # columns that the data do not have

    @property
    def there(self) -> tuple[Any, ...]:
        """The columns that the data have, by label."""
        return tuple(label for label in self.columns if label not in self.absent)

    @classmethod
    def of(cls, model: Any, data: Data, *, some: bool = False) -> QueryRows:
        """Rows of a caller, for a model. Columns that are not there are missing cells; unless ``some``, it warns."""
        for label in model.vector_labels:
            msg = (
                f"{model.name}: the cells of column {label!r} are vectors, and cells are asked about one number or "
                "label at a time. Leave it out with marginal(…), or name its columns one by one, as in ('x', 'y')."
            )
            raise UnsupportedError(msg)
        data = list(data) if hasattr(data, "__next__") else data
        if hasattr(data, "to_frame") and hasattr(data, "items"):  # one row of a frame, or one column
            there = data.keys()
            row = model.column_names is not None and any(name in there for name in model.column_names)
            data = dict(data.items()) if row else listed(data)
        x = _named(data)
        if x is None:
            return cls._by_place(model, listed(data))
        labels, keys = model.column_labels, _keys(model, x)
        _check_names(model, x, keys, some=some)
        there = {label: x[key] for label, key in keys.items() if key in x}
        single = not isinstance(x, frame.Frame) and all(np.ndim(value) == 0 for value in there.values())
        columns = {label: column(value, single=single) for label, value in there.items()}
        lengths = {keys[label]: len(values) for label, values in columns.items()}
        if len(set(lengths.values())) > 1:
            msg = f"the columns have different lengths: {lengths}; give as many values in each."
            raise DataError(msg)
        for label, values in columns.items():
            _refuse_vectors(label, values)
        n = len(x) if isinstance(x, frame.Frame) else next(iter(lengths.values()), 1)
        whole = {label: columns[label] if label in columns else np.full(n, np.nan) for label in labels}
        return cls(whole, keys, single, data, absent=frozenset(label for label in labels if label not in columns))

    @classmethod
    def _by_place(cls, model: Any, x: Data) -> QueryRows:
        labels = model.column_labels
        array = x if isinstance(x, np.ma.MaskedArray) else _array(x)
        single = array.ndim == 0 or (array.ndim == 1 and len(labels) > 1 and len(array) == len(labels))
        rows = array.reshape(1, -1) if single else array[:, None] if array.ndim == 1 else array
        numbers = model.column_names is not None and all(isinstance(label, (int, np.integer)) for label in labels)
        places = list(labels) if numbers and rows.ndim == 2 and max(labels) < rows.shape[1] else range(len(labels))
        if rows.ndim != 2 or (rows.shape[1] != len(labels) and not numbers):
            msg = (
                f"{model.name} describes {len(labels)} column{'s'[: len(labels) != 1]}, but the data have shape "
                f"{np.shape(array)}; give rows × those columns, one value in each cell."
            )
            raise DataError(msg)
        cells = [rows[:, j] for j in places]
        cells = [frame.of_objects(one) if one.dtype.kind == "O" else one for one in cells]
        return cls(
            dict(zip(labels, cells, strict=True)),
            dict(zip(labels, places, strict=True)),
            single,
            rows,
            named=False,
            flat=array.ndim < 2,
        )

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.columns.values())))

    def holes(self) -> dict[Any, Array]:
        """Which cells are missing, by label."""
        return {label: frame.holes(values) for label, values in self.columns.items()}

    def rows(self, model: Any, index: Any = slice(None), columns: dict[Any, Array] | None = None) -> Any:
        """Some of the rows, as the model reads them."""
        return model.read(model.arranged({label: one[index] for label, one in (columns or self.columns).items()}))

    def back(self, columns: dict[Any, Array]) -> Any:
        """The caller's table with other values in some columns."""
        changed = {self.keys[label]: values for label, values in columns.items()}
        if self.named:
            first = {name: plain(values[0]) for name, values in changed.items()} if self.single else changed
            return frame_output.replaced(self.data, first)
        mixed = any(values.dtype.kind not in "fiub" for values in changed.values())
        whole = np.array(self.data, dtype=object if mixed else None)
        for place, values in changed.items():
            whole[:, place] = values
        return self._flat(whole)

    def as_table(self, columns: dict[Any, Array]) -> Any:
        """Numbers by column as the same kind of table as the caller's."""
        named = {self.keys[label]: values for label, values in columns.items()}
        if not self.named:
            return self._flat(np.stack(list(columns.values()), axis=1))
        return (
            {name: plain(values[0]) for name, values in named.items()}
            if self.single
            else frame_output.like(self.data, named)
        )

    def _flat(self, rows: Array) -> Any:
        """Rows without names in the layout in which the caller gave them."""
        return rows[0] if self.single else rows[:, 0] if self.flat else rows


def column(values: Data, *, single: bool) -> Array:
    """What a caller gives for one column as an array."""
    values = listed(values)
    if single:
        cell = np.empty(1, dtype=object)
        cell[0] = values
        return frame.of_objects(cell)
    return values if isinstance(values, np.ndarray) and values.dtype.kind != "O" else _objects(values)


def plain(value: object) -> Any:
    """A cell without NumPy's wrapping."""
    return value.item() if isinstance(value, np.generic) and value.dtype.kind not in "mM" else value


def _objects(values: Array) -> Array:
    refuse_what_is_no_data(values, "a column")
    cells = np.empty(len(values), dtype=object)
    cells[:] = list(values)
    return frame.of_objects(cells)


def _array(x: Data) -> Array:
    """Rows without names; of lists each cell keeps its kind."""
    if isinstance(x, np.ndarray):
        return x
    uneven = DataError("the rows have different lengths; give each as many cells, None for a missing one.")
    try:
        found = np.array(x, dtype=object)
    except ValueError as error:
        raise uneven from error
    if any(isinstance(cell, (list, tuple, np.ndarray)) for cell in found.ravel()):  # which NumPy keeps as they are
        raise uneven
    return numbers(found, "the model") if all(_number(cell) for cell in found.ravel()) else found


def _number(cell: object) -> bool:
    return cell is None or (isinstance(cell, (int, float, np.number)) and not isinstance(cell, bool))


def _named(data: Data) -> Any:
    """Data whose columns have names, as columns by name; None where they have none."""
    if isinstance(data, (list, tuple)) and len(data) and isinstance(data[0], Mapping):
        return {name: [row.get(name) for row in data] for name in dict.fromkeys(name for row in data for name in row)}
    if isinstance(data, np.ndarray):
        return None if data.dtype.names is None else {name: data[name] for name in data.dtype.names}
    if frame.is_frame(data):
        return listed(data)
    return data if isinstance(data, Mapping) or (hasattr(data, "keys") and hasattr(data, "__getitem__")) else None


def _keys(model: Any, x: Data) -> dict[Any, Any]:
    """How the data call each column of the model: by its name, or by any where the model goes by place."""
    labels = model.column_labels
    if model.column_names is not None or (isinstance(x, Mapping) and all(key in labels for key in x)):
        return {label: label for label in labels}
    if len(x.keys()) != len(labels):
        msg = f"{model.name} describes {len(labels)} columns, but the data have {len(x.keys())}; give the same."
        raise DataError(msg)
    return dict(zip(labels, x.keys(), strict=True))


def _check_names(model: Any, x: Data, keys: dict[Any, Any], *, some: bool) -> None:
    """Warn of columns that the data lack; refuse those without any, and with ``some`` a name that is not a column."""
    absent, there = [key for key in keys.values() if key not in x], x.keys()
    if len(absent) == len(keys) and not some:
        msg = f"{model.name}: the data have no column {absent[0]!r}. {offer(absent[0], there)}"
        raise DataError(msg)
    if absent and not some:
        warn_of_absent(keys.values(), there)
    unknown = [name for name in there if name not in keys.values()]
    if some and unknown and not isinstance(x, frame.Frame):
        msg = f"{model.name} has no column {unknown[0]!r}. {offer(unknown[0], keys)}"
        raise DataError(msg)


def _refuse_vectors(label: Hashable, values: Array) -> None:
    if values.ndim > 1:
        msg = (
            f"column {label!r} holds vectors, and cells are asked about one number or label at a time; name its "
            "columns one by one, as in ('x', 'y')."
        )
        raise DataError(msg)
