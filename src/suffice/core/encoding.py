"""Values as plain JSON and back, to the bit: a closed set of kinds, nothing that is run when it is read.

Objects are suffice's own values and the caller's own distributions: their fields are set as they were, and no code of
theirs runs. Functions, such as those of a user's family, are not written: they are found again in the prototype.
"""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cached_property
from typing import Any

import numpy as np

from suffice.core.errors import UnsupportedError
from suffice.core.parameters import Array, Domain

PLAIN = (type(None), bool, int, float, str)
SEVERAL: tuple[Any, ...] = (list, tuple, set, frozenset)
LARGEST = 1 << 27  # cells of an array whose rows are repeated, which its bytes do not bound
DATES: dict[str, Any] = {"datetime": dt.datetime, "date": dt.date, "time": dt.time}


def encoded(value: Any, functions: tuple[Any, ...] = ()) -> Any:  # noqa: PLR0911 (one for each kind)
    """A value as lists, dictionaries, text and numbers; ``functions`` are those that the reader will have."""
    if type(value) in PLAIN:
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        array = _array(np.asarray(value), functions)
        return {"array": array} if isinstance(value, np.ndarray) else {"number": array}
    several = tuple if isinstance(value, tuple) else type(value)  # levels that were checked are a tuple of their own
    if several in SEVERAL:
        inside = [encoded(one, functions) for one in value]
        return {several.__name__: sorted(inside, key=repr) if isinstance(value, (set, frozenset)) else inside}
    if type(value) is dict:
        return {"dict": [[encoded(key, functions), encoded(one, functions)] for key, one in value.items()]}
    if type(value) in DATES.values():
        return {type(value).__name__: value.isoformat()}
    if type(value) in _known().values():
        return {"value": _name(type(value)), "fields": encoded(_fields(value), functions)}
    for number, function in enumerate(functions):
        if function is value:
            return {"function": number}
    msg = f"a checkpoint cannot hold {type(value).__name__} {value!r:.60}; fit without checkpoint=."
    raise UnsupportedError(msg)


def decoded(text: Any, functions: tuple[Any, ...] = ()) -> Any:  # noqa: PLR0911 (one for each kind)
    """The value again."""
    if type(text) in PLAIN:
        return text
    kind, inside = next(iter(text.items()))
    if kind in ("array", "number"):
        array = _read_array(inside, functions)
        return array if kind == "array" else array[()]
    if kind == "dict":
        return {decoded(key, functions): decoded(one, functions) for key, one in inside}
    if kind in DATES:
        return DATES[kind].fromisoformat(inside)
    if kind == "value":
        made: Any = object.__new__(_known()[inside])
        made.__dict__.update(decoded(text["fields"], functions))
        return made
    if kind == "function":
        return functions[inside]
    build = next(one for one in SEVERAL if one.__name__ == kind)
    return build(decoded(one, functions) for one in inside)


def functions_of(value: Any) -> tuple[Any, ...]:
    """The functions that a value holds, in the order in which they are met."""
    return tuple(_functions(value))


def _functions(value: Any) -> Iterator[Any]:
    if type(value) in _known().values():
        value = _fields(value)
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from _functions(one)
    elif callable(value) and not isinstance(value, type):
        yield value


# ---- arrays ----------------------------------------------------------------------------------------------------------
def _array(array: Array, functions: tuple[Any, ...]) -> dict[str, Any]:
    """Bytes, and the layout in memory: sums are taken along it."""
    if array.dtype.kind == "O":
        return {"shape": list(array.shape), "cells": [encoded(one, functions) for one in array.ravel().tolist()]}
    repeated = [axis for axis in range(array.ndim) if array.strides[axis] == 0 and array.shape[axis] > 1]
    cut = array[tuple(slice(0, 1) if axis in repeated else slice(None) for axis in range(array.ndim))]
    turned = cut.ndim > 1 and cut.flags.f_contiguous and not cut.flags.c_contiguous
    little = cut.astype(cut.dtype.newbyteorder("<"), copy=False)
    return {
        "dtype": little.dtype.str,
        "shape": list(array.shape),
        "repeated": repeated,
        "turned": turned,
        "locked": not array.flags.writeable,
        "bytes": base64.b64encode(little.tobytes("F" if turned else "C")).decode(),
    }


def _read_array(inside: dict[str, Any], functions: tuple[Any, ...]) -> Array:
    shape = tuple(inside["shape"])
    if "cells" in inside:
        objects = np.empty(len(inside["cells"]), dtype=object)
        objects[:] = [decoded(one, functions) for one in inside["cells"]]
        return objects.reshape(shape)
    kind = np.dtype(inside["dtype"])
    flat = np.frombuffer(base64.b64decode(inside["bytes"]), kind).astype(kind.newbyteorder("="))
    if int(np.prod(shape, dtype=object)) > LARGEST:
        msg = f"an array of the shape {shape!r:.40} is none that a fit keeps"
        raise ValueError(msg)
    own = tuple(1 if axis in inside["repeated"] else length for axis, length in enumerate(shape))
    array: Array = flat.reshape(own, order="F" if inside["turned"] else "C")
    if inside["repeated"]:
        return np.broadcast_to(array, shape)
    array.flags.writeable = not inside["locked"]
    return array


# ---- objects ---------------------------------------------------------------------------------------------------------
def _fields(value: Any) -> dict[str, Any]:
    """All that a value holds, without what it has only computed from it."""
    kind = type(value)
    return {name: one for name, one in vars(value).items() if not isinstance(_found(kind, name), cached_property)}


def _found(kind: type, name: str) -> Any:
    return next((vars(one)[name] for one in kind.__mro__ if name in vars(one)), None)


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _known() -> dict[str, type]:
    """The kinds of values that are written: distributions, statistics, and what the loop keeps of its way."""
    from suffice.core import acceleration, em
    from suffice.core.distribution import Distribution
    from suffice.core.statistics import Additive

    found: dict[str, type] = {}
    waiting: list[type] = [Distribution, Additive, Domain, em.Climb, em.Trace, em.Pass, em.Here, acceleration.Ahead]
    while waiting:
        one = waiting.pop()
        found[_name(one)] = one
        waiting.extend(one.__subclasses__())
    return {name: one for name, one in found.items() if is_dataclass(one) or one is acceleration.Ahead}
