"""Tables of Arrow, as files give them, as frames: what can be had without a copy is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from suffice.tables.frame import WHOLE, Array, Coded, Frame, Kept, masked, opened


def of_arrow(table: Any) -> Frame:
    """A table or batch of pyarrow as a `Frame`; columns of text that are numbered there stay numbered."""
    found = {field.name: _kept(table.column(place), field.type) for place, field in enumerate(table.schema)}
    if not all(found.values()):
        whole = pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table
        rest = opened(undone(whole.select([name for name, one in found.items() if one is None])))
        found = {name: rest.raw(name) if one is None else one for name, one in found.items()}
    return Frame(found, len(table))


def is_text(kind: object) -> bool:
    """Whether a type of pyarrow is text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_temporal(kind: object) -> bool:
    """Whether a type of pyarrow is dates, times or durations."""
    return bool(pa.types.is_temporal(kind))


def _kept(column: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> Any:
    """A column of numbers, of booleans or of numbered text; None where another way must be found."""
    if pa.types.is_dictionary(kind) and is_text(kind.value_type):
        return Kept(lambda: _coded(column))
    if pa.types.is_float64(kind) or pa.types.is_float32(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return Kept(lambda: _numbers(column, kind))
    return None


def _numbers(column: Any, kind: object) -> Array:
    """The array that `frames.table.as_array` makes of such a column."""
    holes = column.null_count
    if holes == len(column):
        return np.full(len(column), np.nan)
    if pa.types.is_floating(kind) or not holes:
        return np.asarray(_plain(column))
    if pa.types.is_boolean(kind):
        return masked(_plain(column.fill_null(fill_value=False)), _plain(column.is_null()))
    values = np.asarray(_plain(column))  # NaN for holes
    if values.dtype == np.float64 and np.nanmax(np.abs(values)) < WHOLE:
        return values
    whole, absent = _plain(column.fill_null(0)), _plain(column.is_null())
    if max(abs(int(whole.min())), abs(int(whole.max()))) > WHOLE:
        return masked(whole, absent)
    values = whole.astype(np.float64)
    values[absent] = np.nan
    return np.asarray(values)


def _plain(column: Any) -> Array:
    """Whole arrays of Arrow copy only where they must; those in pieces always do."""
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _coded(column: Any) -> Any:
    """A dictionary column, whose pieces may have dictionaries of their own."""
    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks != 1:
            column = column.unify_dictionaries() if column.num_chunks else column
            column = pa.chunked_array(column.chunks, column.type).combine_chunks()
        column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
    indices = column.indices
    codes = (indices.fill_null(-1) if indices.null_count else indices).to_numpy(zero_copy_only=False)
    return Coded(codes.astype(np.int32, copy=False), column.dictionary)


def undone(table: Any) -> Any:
    """The same table without dictionaries, which a reader of text makes."""
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(place, field.name, table[field.name].cast(field.type.value_type))
    return table
