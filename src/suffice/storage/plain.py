"""Plain data as JSON: numbers, labels, arrays and containers, each with its type and checked when it is read.

A JSON array is a tuple. An object has one of the tags below, or is a value of the library, which ``inner`` knows.

Two kinds of files rest on this. A model file (`suffice.io`) may come from anyone: its numbers can be read,
its values are made by their constructors, and it means the same wherever it is opened. A checkpoint
(`em.checkpoint_encoding`) is for the one fit that goes on with it, to the bit and several times a second: arrays are
bytes with their layout in memory, along which sums are taken, values are their fields as they stood, the caller's own
families among them, and a function is its place in the prototype. Those few forms are its own; all others are these.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from suffice.errors import ModelFileError
from suffice.storage import read_budget
from suffice.types import Array

NUMBERS = frozenset(
    ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
)
SPECIAL = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
ALIKE = 8  # parameters of a family that take the shape of one
GIANTS = 1000  # whole numbers beyond 64 bits side by side
_MOMENT = re.compile(r"(datetime64|timedelta64)\[[0-9]{0,9}(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\]")
_DATE = re.compile(r"NaT|-?[0-9T:.-]{4,60}")
_WORDS = re.compile(r"<U([0-9]{1,9})")

Writer = Callable[[Any, str], Any]
Reader = Callable[[Any, str], Any]


def refused(path: str, text: str) -> ModelFileError:
    """An error that names the place in the document."""
    return ModelFileError(f"{path or 'the document'}: {text}")


# ---- writing ---------------------------------------------------------------------------------------------------------
def written(value: object, path: str, inner: Writer) -> Any:
    """A tree of plain data; ``inner`` writes what is in containers."""
    if value is None or type(value) in (bool, str, int):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": _special(value)}
    if isinstance(value, np.generic):
        _check_dtype(value.dtype, path)
        return {"scalar": _cells(np.array([value]), path, inner)[0], "dtype": _name(value.dtype)}
    if isinstance(value, np.ndarray):
        return _array(value, path, inner)
    return _contained(value, path, inner)


def _contained(value: Any, path: str, inner: Writer) -> Any:
    if isinstance(value, tuple):
        return [inner(one, f"{path}[{i}]") for i, one in enumerate(value)]
    if type(value) is list:
        return {"list": [inner(one, f"{path}[{i}]") for i, one in enumerate(value)]}
    if isinstance(value, dict):
        return {"dict": [[inner(key, f"{path} key"), inner(one, f"{path}[{key!r}]")] for key, one in value.items()]}
    if type(value) in (set, frozenset):
        return {"set": [inner(one, path) for one in sorted(value, key=lambda one: (type(one).__name__, repr(one)))]}
    return _label(value, path)


def _label(value: Any, path: str) -> Any:
    if type(value) is dt.datetime and (value.tzinfo is None or type(value.tzinfo) is dt.timezone):
        return {"datetime": value.isoformat()}
    if type(value) in (dt.date, dt.time) and getattr(value, "tzinfo", None) is None:
        return {type(value).__name__: value.isoformat()}
    if type(value) is dt.timedelta:
        return {"timedelta": [value.days, value.seconds, value.microseconds]}
    if type(value) is bytes:
        return {"bytes": value.hex()}
    if callable(value) and not hasattr(value, "get_params"):
        name = getattr(value, "__name__", type(value).__name__)
        msg = (
            f"it holds the function {name!r}, and a file holds data, never code. Use what has a name instead (a "
            "conjugate prior, a family of suffice), save a part of the model, or pickle it for yourself alone."
        )
        raise refused(path, msg)
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    msg = (
        f"it holds {value!r:.60} of the kind {kind}, and files hold suffice's own kinds, numbers, text, dates and "
        "NumPy arrays of them. Replace it by one of these, or pickle the model for yourself alone."
    )
    raise refused(path, msg)


def _special(value: float) -> str:
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def _name(dtype: np.dtype[Any]) -> str:
    return f"<U{dtype.itemsize // 4}" if dtype.kind == "U" else dtype.name


def _check_dtype(dtype: np.dtype[Any], path: str) -> None:
    if not (dtype.name in NUMBERS or dtype.kind in "UO" or _MOMENT.fullmatch(dtype.name)):
        msg = f"it holds an array of the type {dtype}, and files hold numbers, booleans, text, dates and labels."
        raise refused(path, msg)


def _array(array: Array, path: str, inner: Writer) -> dict[str, Any]:
    if isinstance(array, np.ma.MaskedArray):
        msg = "it holds a masked array; give an array with NaN, or a list with None, where cells are missing."
        raise refused(path, msg)
    _check_dtype(array.dtype, path)
    return {
        "array": _cells(np.asarray(array).ravel(), path, inner),
        "dtype": _name(array.dtype),
        "shape": list(array.shape),
    }


def _cells(array: Array, path: str, inner: Writer) -> list[Any]:
    if array.dtype.kind == "O":
        return [inner(one, f"{path}[{i}]") for i, one in enumerate(array)]
    if array.dtype.kind == "M":
        return list(np.datetime_as_string(array).tolist())
    if array.dtype.kind == "m":
        return list(array.astype(np.int64).tolist())
    cells: list[Any] = array.tolist()
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        cells = [one if math.isfinite(one) else _special(one) for one in cells]
    return cells


# ---- reading ---------------------------------------------------------------------------------------------------------
def read(node: object, path: str, inner: Reader) -> Any:
    """The data of a tree, checked; ``inner`` reads what is in containers."""
    if type(node) is list:
        _refuse_giants(node, path)
        return _distinguishable(tuple(inner(one, f"{path}[{i}]") for i, one in enumerate(node)), path)
    if type(node) is not dict:
        return node
    reader = READERS.get(frozenset(node))
    if reader is None:
        msg = f"an object here has the fields {', '.join(map(repr, node)) or 'none'}, which mean nothing together."
        raise refused(path, msg)
    return reader(node, path, inner)


def _refuse_giants(labels: list[Any], path: str) -> None:
    """Refuse many whole numbers beyond 64 bits: they can be chosen to share a hash, and a set of such takes forever."""
    if sum(type(one) is int and one.bit_length() > 64 for one in labels) > GIANTS:
        raise refused(path, f"there are more than {GIANTS} whole numbers beyond 64 bits.")


def _distinguishable(labels: Any, path: str) -> Any:
    """The labels, unless so many of them share a hash that a set of them takes forever."""
    if len(labels) > read_budget.SAME_HASH and read_budget.share_a_hash(labels):
        raise refused(
            path, f"more than {read_budget.SAME_HASH} different labels share a hash, which none of a table do."
        )
    return labels


def _read_float(node: dict[str, Any], path: str, inner: Reader) -> float:
    del inner
    if not isinstance(node["float"], str) or node["float"] not in SPECIAL:
        raise refused(path, f"a float with a name is one of {', '.join(SPECIAL)}; got {node['float']!r:.40}.")
    return SPECIAL[node["float"]]


def _listed(node: dict[str, Any], name: str, path: str) -> list[Any]:
    found = node[name]
    if not isinstance(found, list):
        raise refused(path, f"{name!r} is an array of JSON; got {found!r:.40}.")
    return found


def _read_list(node: dict[str, Any], path: str, inner: Reader) -> list[Any]:
    return [inner(one, f"{path}[{i}]") for i, one in enumerate(_listed(node, "list", path))]


def _read_set(node: dict[str, Any], path: str, inner: Reader) -> frozenset[Any]:
    found = read(_listed(node, "set", path), path, inner)
    return frozenset(_hashable(one, path) for one in found)


def _read_dict(node: dict[str, Any], path: str, inner: Reader) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    pairs = _listed(node, "dict", path)
    _refuse_giants([pair[0] for pair in pairs if type(pair) is list and pair], path)
    keys = _distinguishable([inner(pair[0], f"{path} key {i}") for i, pair in enumerate(pairs) if _is_pair(pair)], path)
    for i, pair in enumerate(pairs):
        if not _is_pair(pair):
            raise refused(path, f"entry {i} of a dictionary is a key and a value; got {pair!r:.40}.")
        key = _hashable(keys[i], path)
        if key in found:
            raise refused(path, f"the key {key!r:.40} of a dictionary is there twice.")
        found[key] = inner(pair[1], f"{path}[{key!r:.40}]")
    return found


def _is_pair(pair: object) -> bool:
    return type(pair) is list and len(pair) == 2


def _hashable(value: object, path: str) -> Any:
    try:
        hash(value)
    except TypeError:
        raise refused(path, f"a key or an entry of a set is a label, and {value!r:.40} is none.") from None
    return value


def _read_label(node: dict[str, Any], path: str, inner: Reader) -> Any:
    del inner
    ((tag, text),) = node.items()
    try:
        value = _LABELS[tag](text)
        same = _label(value, path) == node
    except (TypeError, ValueError, OverflowError) as error:
        raise refused(path, f"{text!r:.40} is not a valid {tag}: {error}.") from error
    if not same:
        raise refused(path, f"{text!r:.40} is not a valid {tag} as it is written here.")
    return value


def _timedelta(parts: Any) -> dt.timedelta:
    days, seconds, microseconds = parts
    return dt.timedelta(days, seconds, microseconds)


_LABELS: dict[str, Callable[[Any], Any]] = {
    "date": dt.date.fromisoformat,
    "datetime": dt.datetime.fromisoformat,
    "time": dt.time.fromisoformat,
    "timedelta": _timedelta,
    "bytes": bytes.fromhex,
}


def _read_scalar(node: dict[str, Any], path: str, inner: Reader) -> Any:
    if node["dtype"] == "object":
        raise refused(path, "a NumPy scalar is a number, text or a date.")
    return _fill([node["scalar"]], node["dtype"], path, inner)[0]


def _read_array(node: dict[str, Any], path: str, inner: Reader) -> Array:
    cells, shape = _listed(node, "array", path), _listed(node, "shape", path)
    if len(shape) > 16 or not all(type(size) is int and size >= 0 for size in shape):
        raise refused(path, f"the shape of an array is a list of whole numbers of at least 0; got {shape!r:.60}.")
    room = 0 if cells else ALIKE * math.prod(size or 1 for size in shape)
    if math.prod(shape) != len(cells):
        raise refused(path, f"an array of the shape {shape!r:.60} does not have the {len(cells)} cells that are here.")
    if not read_budget.takes("cells", room):
        raise refused(path, f"an array of the shape {shape!r:.60} asks for more memory than a file of this size may.")
    return _fill(cells, node["dtype"], path, inner).reshape(shape)


def _fill(cells: list[Any], dtype: str, path: str, inner: Reader) -> Array:
    """An array (n,) of a type, or the reason why the cells are not of it."""
    if dtype == "object":
        _refuse_giants(cells, path)
        found = np.empty(len(cells), dtype=object)
        for i, one in enumerate(cells):
            found[i] = inner(one, f"{path}[{i}]")
        return cast("Array", _distinguishable(found, path))
    kinds = set(map(type, cells))
    words = _WORDS.fullmatch(dtype) if isinstance(dtype, str) else None
    if words:
        if not kinds <= {str}:
            raise refused(path, "an array of text holds text.")
        return _text(cells, int(words[1]), path)
    if not isinstance(dtype, str) or not (dtype in NUMBERS or _MOMENT.fullmatch(dtype)):
        raise refused(path, f"arrays of the type {dtype!r:.40} are not known.")
    try:
        return _numbers(cells, kinds, np.dtype(dtype))
    except (TypeError, ValueError, OverflowError) as error:
        raise refused(path, f"the cells are not all of the type {dtype}: {error}.") from error


def _text(cells: list[str], width: int, path: str) -> Array:
    room = width * len(cells) - sum(map(len, cells))
    longest = max(map(len, cells), default=0)
    if longest > width:
        raise refused(path, f"an array of text of at most {width} letters has one of {longest}.")
    if not read_budget.takes("letters", room):
        raise refused(path, f"texts of {width} letters each ask for more memory than a file of this size may.")
    return np.array(cells, dtype=f"<U{width}")


def _numbers(cells: list[Any], kinds: set[type], dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "f":
        if str in kinds:
            cells = [SPECIAL.get(one, one) for one in cells]
            kinds = set(map(type, cells))
        if not kinds <= {float, int}:
            msg = "a number or one of 'nan', 'inf', '-inf' was expected"
            raise ValueError(msg)
        wide = np.array(cells, dtype=np.float64)
        if dtype == np.float64:
            return wide
        with np.errstate(over="ignore"):
            found = wide.astype(dtype)
        if not np.array_equal(found.astype(np.float64), wide, equal_nan=True):
            msg = "a number has more digits, or is larger, than it may"
            raise ValueError(msg)
        return found
    if dtype.kind == "M":
        return _moments(cells, kinds, dtype)
    whole = np.dtype(np.int64) if dtype.kind == "m" else dtype
    if not kinds <= {bool if dtype.kind == "b" else int}:
        msg = "true or false was expected" if dtype.kind == "b" else "a whole number was expected"
        raise ValueError(msg)
    if dtype.kind != "b" and cells and not np.iinfo(whole).min <= min(cells) <= max(cells) <= np.iinfo(whole).max:
        msg = "a number is too large"
        raise ValueError(msg)
    return np.array(cells, dtype=whole).astype(dtype)


def _moments(cells: list[Any], kinds: set[type], dtype: np.dtype[Any]) -> Array:
    """Dates as they were written: NumPy would also read 'now', and zones of time."""
    plain = kinds <= {str} and all(_DATE.fullmatch(one) for one in cells)
    found = np.array(cells, dtype=dtype) if plain else None
    if found is None or np.datetime_as_string(found).tolist() != cells:
        msg = "a date was expected, as 2026-01-31 or 2026-01-31T12:00"
        raise ValueError(msg)
    return found


READERS: dict[frozenset[str], Callable[[dict[str, Any], str, Reader], Any]] = {
    frozenset({"float"}): _read_float,
    frozenset({"list"}): _read_list,
    frozenset({"set"}): _read_set,
    frozenset({"dict"}): _read_dict,
    frozenset({"scalar", "dtype"}): _read_scalar,
    frozenset({"array", "dtype", "shape"}): _read_array,
    **{frozenset({tag}): _read_label for tag in _LABELS},
}
