"""Values as plain JSON and back, to the bit: a closed set of kinds, nothing that is run when it is read.

Objects are suffice's own values and the caller's own distributions: their fields are set as they were, and no code of
theirs runs. Functions, such as those of a user's family, are not written: they are found again in the prototype. What
is neither, nor an array, is plain data as in any file; `storage.plain` says why these are not.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.core.parameters import Domain
from suffice.engines.once import cached_property
from suffice.errors import ModelFileError, UnsupportedError
from suffice.storage.plain import read, written
from suffice.types import Array

if TYPE_CHECKING:
    from suffice.core.family import Family

SEVERAL: dict[str, Any] = {kind.__name__: kind for kind in (tuple, set, frozenset)}  # a list is plain
LARGEST = 1 << 27  # cells of an array whose rows are repeated, which its bytes do not bound


def encoded(value: object, functions: tuple[Any, ...] = ()) -> Any:
    """A value as lists, dictionaries, text and numbers; ``functions`` are those that the reader will have."""
    return _Code(functions).written(value, "")


def decoded(text: object, functions: tuple[Any, ...] = ()) -> Any:
    """The value again."""
    return _Code(functions).read(text, "")


class _Code:
    """The kinds of values and the functions that writer and reader share."""

    def __init__(self, functions: tuple[Any, ...]) -> None:
        self.functions = functions
        self.kinds = _known()
        self.names = {kind: name for name, kind in self.kinds.items()}

    def written(self, value: Any, path: str) -> Any:
        """A value in a form of a checkpoint's own, or as plain data."""
        kind = tuple if isinstance(value, tuple) else type(value)  # levels that were checked are a tuple of their own
        if kind is float:
            return value  # NaN and infinity as Python's JSON has them
        if isinstance(value, (np.ndarray, np.generic)):
            return {"array" if isinstance(value, np.ndarray) else "number": self._array(np.asarray(value))}
        if kind in SEVERAL.values():
            inside = [self.written(one, path) for one in value]
            return {kind.__name__: inside if kind is tuple else sorted(inside, key=repr)}
        if kind in self.names:
            return {"value": self.names[kind], "fields": self.written(_fields(value), path)}
        place = next((place for place, function in enumerate(self.functions) if function is value), None)
        return self._plain(value, path) if place is None else {"function": place}

    def _plain(self, value: object, path: str) -> Any:
        try:
            if not isinstance(value, dict) or type(value) is dict:  # one of another kind would come back as a dict
                return written(value, path, self.written)
        except ModelFileError:
            pass
        msg = f"a checkpoint cannot hold {type(value).__name__} {value!r:.60}; fit without checkpoint=."
        raise UnsupportedError(msg)

    def read(self, node: Any, path: str) -> Any:
        """The value of a tree."""
        if type(node) is list:
            msg = "a list says of which kind it is"
            raise TypeError(msg)
        kind, inside = next(iter(node.items())) if type(node) is dict else ("", None)
        own: dict[str, Callable[[Any], Any]] = {
            "array": self._read_array,
            "number": lambda inside: self._read_array(inside)[()],
            "value": lambda name: self._read_value(name, node["fields"]),
            "function": lambda place: self.functions[place],
            **dict.fromkeys(SEVERAL, lambda inside: SEVERAL[kind](self.read(one, path) for one in inside)),
        }
        return own[kind](inside) if kind in own else read(node, path, self.read)

    def _read_value(self, name: str, fields: object) -> Any:
        made: Any = object.__new__(self.kinds[name])
        made.__dict__.update(self.read(fields, name))
        return made

    def _array(self, array: Array) -> dict[str, Any]:
        """Bytes, and the layout in memory: sums are taken along it."""
        if array.dtype.kind == "O":
            return {"shape": list(array.shape), "cells": [self.written(one, "") for one in array.ravel().tolist()]}
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

    def _read_array(self, inside: dict[str, Any]) -> Array:
        shape = tuple(inside["shape"])
        if "cells" in inside:
            objects = np.empty(len(inside["cells"]), dtype=object)
            objects[:] = [self.read(one, "") for one in inside["cells"]]
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


def functions_of(value: Family) -> tuple[Any, ...]:
    """The functions that a value holds, in the order in which they are met."""
    return tuple(_functions(value))


def _functions(value: object) -> Iterator[Any]:
    if type(value) in _known().values():
        value = _fields(value)
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from _functions(one)
    elif callable(value) and not isinstance(value, type):
        yield value


# ---- objects ---------------------------------------------------------------------------------------------------------
def _fields(value: object) -> dict[str, Any]:
    """All that a value holds, without what it has only computed from it."""
    kind = type(value)
    return {name: one for name, one in vars(value).items() if not isinstance(_found(kind, name), cached_property)}


def _found(kind: type, name: str) -> Any:
    return next((vars(one)[name] for one in kind.__mro__ if name in vars(one)), None)


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _known() -> dict[str, type]:
    """The kinds of values that are written: distributions, statistics, and what the loop keeps of its way."""
    from suffice.core.distribution import Distribution
    from suffice.em import acceleration, loop, trace, training
    from suffice.message_parts import Cell, Columns
    from suffice.numerics.low_rank import LowRank
    from suffice.statistics.sums import Additive
    from suffice.types import Alert

    found: dict[str, type] = {}
    waiting: list[type] = [
        Distribution,
        Additive,
        Domain,
        loop.EMResult,
        trace.Trace,
        trace.Pass,
        training.Iterate,
        acceleration.Accelerator,
        Alert,
        Columns,
        Cell,
    ]
    plain = {LowRank, acceleration.Accelerator}
    waiting.append(LowRank)
    while waiting:
        one = waiting.pop()
        found[_name(one)] = one
        waiting.extend(one.__subclasses__())
    return {name: one for name, one in found.items() if is_dataclass(one) or one in plain}
