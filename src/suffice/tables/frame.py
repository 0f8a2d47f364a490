"""Frames of any library as columns of arrays: with `frame_output`, the only place that knows what a DataFrame is.

Two libraries keep the same table in different ways: a hole makes floats of pandas' whole numbers and leaves polars'
alone. Here a column becomes the array that its values say, whoever kept them, so that every answer agrees to the bit.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Hashable, Iterator, KeysView, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from suffice.engines.once import cached_property
from suffice.errors import DataError
from suffice.types import Data

if TYPE_CHECKING:
    import pyarrow as pa

Array = npt.NDArray[Any]
LIBRARIES = {
    "cudf",
    "dask",
    "dask_expr",
    "duckdb",
    "ibis",
    "modin",
    "narwhals",
    "pandas",
    "polars",
    "pyarrow",
    "pyspark",
}
WHOLE = 2.0**53  # up to here float64 holds every whole number
MISSING = {"NAType", "NaTType"}  # pandas' own marks, by name: it need not be there


class FrameError(DataError):
    """A frame that cannot be read, and what to do."""


class Frame:
    """The columns of a frame by name, each turned into an array when it is first asked for.

    Numbers and dates are arrays with NaN or NaT for a hole, booleans with holes are masked, text has None.
    """

    ndim = 2

    def __init__(self, columns: Mapping[Any, Any], length: int, *, apart: bool = False) -> None:
        """Keep the columns as they are; ``apart``: they lie one after the other when they become one array."""
        self._columns, self.apart = columns, apart
        self._arrays: dict[Any, Array] = {}
        self._length = length

    def keys(self) -> KeysView[Any]:
        """The names of the columns."""
        return self._columns.keys()

    def __iter__(self) -> Iterator[Any]:
        """Go through the names of the columns."""
        return iter(self._columns)

    def __contains__(self, name: object) -> bool:
        """Tell whether there is such a column."""
        return name in self._columns

    def __getitem__(self, name: Hashable) -> Array:
        """Return one column as an array."""
        if name not in self._arrays:
            self._arrays[name] = as_array(self._columns[name])
        return self._arrays[name]

    def raw(self, name: Hashable) -> Any:
        """One column as it is kept."""
        return self._columns[name]

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._length

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self._length, len(self._columns)


class Kept:
    """A column that something else keeps, made an array when it is first asked for."""

    def __init__(self, make: Callable[[], Array]) -> None:
        """Keep how."""
        self.make = make


class Coded:
    """A column of text as numbers of its distinct words, −1 where a cell is missing: what files keep of it.

    What asks for an array gets the words.
    """

    ndim = 1
    dtype = np.dtype(object)

    def __init__(self, codes: Array, kept: pa.Array) -> None:
        """Keep the numbers, and the words as a tuple or an array of Arrow."""
        self.codes, self.kept = codes, kept

    @cached_property
    def words(self) -> tuple[Any, ...]:
        """The words."""
        return self.kept if isinstance(self.kept, tuple) else tuple(self.kept.to_pylist())

    def some(self, places: Array) -> list[Any]:
        """Some of the words."""
        if isinstance(self.kept, tuple) or len(places) == len(self.kept):
            return [self.words[place] for place in places.tolist()]
        return list(self.kept.take(places).to_pylist())

    def shares(self, other: Coded) -> bool:
        """Whether the words of another column have the same numbers."""
        same = self.kept is other.kept or type(self.kept) is type(other.kept)
        return same and (self.kept == other.kept if isinstance(self.kept, tuple) else self.kept.equals(other.kept))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.codes)

    @property
    def shape(self) -> tuple[int]:
        """Rows."""
        return (len(self.codes),)

    def __getitem__(self, part: Array) -> Any:
        """Return some of the cells."""
        return Coded(self.codes[part], self.__dict__.get("words", self.kept))

    def __array__(self, dtype: Any = None, copy: object = None) -> Array:
        """Write out the words, None where a cell is missing."""
        del copy
        words = np.array([*self.words, None], dtype=object)
        return words[self.codes].astype(dtype or object)


def opened(x: Data) -> Any:
    """A frame as a `Frame`, a series as an array, and anything else as it is."""
    native = eager(x)
    if native is None:
        return x
    if not hasattr(native, "columns"):
        return as_array(native)
    names = list(native.columns)
    several = next((name for name in names if isinstance(name, tuple)), None)
    if several is not None:
        msg = (
            f"the frame's columns have names of several levels, such as {several!r}. Give each one name, as in "
            "df.columns = ['_'.join(map(str, name)) for name in df.columns]."
        )
        raise FrameError(msg)
    return Frame(dict(zip(names, native.iter_columns(), strict=True)), len(native))


def is_frame(x: Data) -> bool:
    """Whether something is a table of one of the libraries, or one that was opened before."""
    return isinstance(x, Frame) or hasattr(eager(x), "columns")


def names(frame: object) -> list[Any]:
    """The names of a frame's columns."""
    return list(frame) if isinstance(frame, Frame) else list(eager(frame).columns)


def eager(x: Data) -> Any:
    """A frame or series behind narwhals' one interface; None where it is neither."""
    kind = type(x)
    if not _is_foreign(cast("Hashable", kind)):
        return None
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    if kind.__module__.startswith("pyarrow"):
        x = _arrow(x)
    try:
        found = nw.from_native(x, pass_through=True, allow_series=True)
        names = list(getattr(found, "columns", ()))
    except DuplicateError as error:
        msg = f"the frame has two columns of one name ({' '.join(str(error).split())}). Rename or drop one of them."
        raise FrameError(msg) from error
    if isinstance(found, nw.LazyFrame):
        msg = f"the data are lazy ({kind.__name__}): collect them first, as in frame.collect()."
        raise FrameError(msg)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        msg = f"the frame has two columns called {twice!r}. Rename or drop one of them."
        raise FrameError(msg)
    return found if isinstance(found, (nw.DataFrame, nw.Series)) else None


@lru_cache
def _is_foreign(kind: type) -> bool:
    """Whether values of a class may be frames or series of one of the libraries."""
    return any(
        one.__module__.partition(".")[0] in LIBRARIES or "__narwhals_dataframe__" in vars(one) for one in kind.__mro__
    )


def _arrow(x: Data) -> Any:
    """Arrow's plain arrays and batches as the chunked ones that narwhals knows."""
    import pyarrow as pa

    if isinstance(x, pa.RecordBatch):
        return pa.Table.from_batches([x])
    return pa.chunked_array([x]) if isinstance(x, pa.Array) else x


# ---- columns ---------------------------------------------------------------------------------------------------------
def as_array(series: Any) -> Array:  # noqa: PLR0911 (one for each kind)
    """One column as the array that its values say; what is an array, or text with numbers, stays as it is."""
    if isinstance(series, (np.ndarray, Coded)):
        return cast("Array", series)
    if isinstance(series, Kept):
        return series.make()
    dtype, holes = series.dtype, series.is_null().to_numpy().astype(bool)
    if holes.all():
        return np.full(len(holes), np.nan)
    if dtype.is_integer():
        return _integers(series, holes)
    if str(dtype) == "Boolean":
        return masked(np.asarray(series.fill_null(value=False).to_numpy()).astype(bool), holes)
    if dtype.is_float() or (dtype.is_temporal() and str(dtype) != "Time"):
        values = np.asarray(series.to_numpy())
        return values if values.dtype.kind == "f" else _moments(values)
    objects = np.empty(len(holes), dtype=object)
    objects[:] = series.to_list()
    objects[holes] = None
    return objects if str(dtype) == "String" else of_objects(objects)


def _integers(series: Any, holes: Array) -> Array:
    if not holes.any():
        values = np.asarray(series.to_numpy())
        return values if values.dtype.kind in "iu" else values.astype(np.int64)
    whole = np.asarray(series.fill_null(0).to_numpy())
    whole = whole if whole.dtype.kind in "iu" else whole.astype(np.int64)
    if len(whole) == 0 or max(abs(int(whole.min())), abs(int(whole.max()))) <= WHOLE:
        values = whole.astype(np.float64)
        values[holes] = np.nan
        return values
    return np.ma.array(whole, mask=holes)


def masked(values: Array, holes: Array) -> Array:
    """Values of which some are missing."""
    return np.ma.array(values, mask=holes) if holes.any() else values


def _moments(values: Array) -> Array:
    """Dates and durations to the microsecond, unless they are finer; objects as their values say."""
    if values.dtype.kind not in "mM":
        return of_objects(values)
    kind = np.dtype(f"{values.dtype.kind}8[us]")
    coarse = values.astype(kind)
    return coarse if (coarse[~np.isnat(values)] == values[~np.isnat(values)]).all() else values


def of_objects(cells: Array) -> Array:
    """Objects as the array that their values say: booleans, numbers, dates, vectors of one length, or as they are."""
    if str in (kinds := set(map(type, cells))) and kinds <= {str, type(None)}:
        return cells
    holes = np.fromiter((_is_missing(cell) for cell in cells), bool, len(cells))
    seen = cells[~holes]
    if not len(seen):
        return np.full(len(cells), np.nan)
    found = _plain(cells, holes, seen)
    if found is None:
        found = cells.copy()
        found[holes] = None
    return found


def _plain(cells: Array, holes: Array, seen: Array) -> Array | None:
    """Objects of one kind as an array of that kind; None where they have none in common."""
    kinds = set(map(type, seen))

    def are(*wanted: type) -> bool:
        return all(issubclass(kind, wanted) for kind in kinds)

    if are(bool, np.bool_):
        return masked(_fill(cells, holes, bool, hole=False), holes)
    if are(int, float, Decimal, np.integer, np.floating) and bool not in kinds:
        if are(int, np.integer) and not (holes.any() and _short(seen, WHOLE)):
            return masked(np.where(holes, 0, cells).astype(np.int64), holes) if _short(seen) else None
        return _fill(cells, holes, np.float64, np.nan)
    if are(dt.date, np.datetime64) and not any(_has_time_zone(cell) for cell in seen):
        return _fill(cells, holes, np.dtype("M8[us]"), np.datetime64("NaT"))
    if are(dt.timedelta, np.timedelta64):
        return _fill(cells, holes, np.dtype("m8[us]"), np.timedelta64("NaT"))
    return _vectors(cells) if are(list, tuple, np.ndarray) and not holes.any() else None


def _vectors(cells: Array) -> Array:
    """Rows of numbers as an array of two axes where they are equally long."""
    if len({len(cell) for cell in cells}) > 1:
        return cells
    try:
        together = np.array(cells.tolist())
    except ValueError:  # what they hold is of different lengths
        return cells
    return together if together.dtype.kind in "biuf" else cells


def _fill(cells: Array, holes: Array, kind: Any, hole: Any) -> Array:
    out = np.full(len(cells), hole, dtype=kind)
    out[~holes] = [float(cell) if isinstance(cell, Decimal) else cell for cell in cells[~holes]]
    return out


def _is_missing(cell: object) -> bool:
    nan = isinstance(cell, (float, np.floating)) and math.isnan(cell)
    return cell is None or nan or type(cell).__name__ in MISSING


def _short(seen: Array, limit: float = 2.0**62) -> bool:
    return all(abs(int(cell)) <= limit for cell in seen)


def _has_time_zone(cell: object) -> bool:
    return getattr(cell, "tzinfo", None) is not None


def holes(array: Array) -> Array:
    """Which cells of a column are missing, (n,)."""
    if isinstance(array, np.ma.MaskedArray):
        return np.ma.getmaskarray(array) | holes(np.asarray(array.data))
    if array.dtype.kind in "fc":
        return np.isnan(array)
    if array.dtype.kind in "mM":
        return np.isnat(array)
    if array.dtype.kind == "O":
        return np.fromiter((_is_missing(cell) for cell in array), bool, len(array))
    return np.zeros(len(array), bool)
