"""The library of native kernels: which one is loaded, and how a kernel of it is declared.

Libraries lie in ``kernels/lib``, one for each level of x86-64 (v2, v3, v4) or one named ``base``; the best that the
processor has is loaded on first need. ``SUFFICE_CPU=v2`` forces one, ``SUFFICE_NATIVE`` names another folder. A kernel
is declared in one line, by its name and the kinds of its arguments::

    _row_hash = kernel("row_hash", "real n n u64 u64")

Kinds: ``real`` is an array of float64 or float32 and ``level`` one of int64, int32, int16 or int8, which choose the
symbol; ``f64``, ``f32``, ``i64``, ``i32``, ``u64`` are arrays of that type; an array may be None. ``n`` is an integer,
``r`` a float. After ``->`` comes what is returned. Arrays must be C-contiguous, which is checked, as is their type;
shapes are checked by who calls. During the call other threads run.
"""

from __future__ import annotations

import ctypes
import os
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

LIBRARIES = Path(os.environ.get("SUFFICE_NATIVE") or Path(__file__).parent.parent / "lib")
_POINTER, _INTEGER, _REAL = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
_SUFFIX = {
    np.dtype(name): short
    for short, name in {
        "f64": "f8",
        "f32": "f4",
        "i64": "i8",
        "i32": "i4",
        "i16": "i2",
        "i8": "i1",
        "u64": "u8",
    }.items()
}
_CHOOSING = {"real": ("f64", "f32"), "level": ("i64", "i32", "i16", "i8")}
_SCALARS = {"n": _INTEGER, "r": _REAL}
_at, _address = ctypes.c_char.from_buffer, ctypes.addressof


class MissingLibraryError(ImportError):
    """No library was built for this machine."""


@cache
def library() -> ctypes.CDLL:
    """The best library that was built and that the processor can run."""
    if (LIBRARIES / "suffice-base.so").exists():
        return ctypes.CDLL(str(LIBRARIES / "suffice-base.so"))
    chosen = os.environ.get("SUFFICE_CPU", "").strip()
    levels = ("v2", "v3", "v4")
    if chosen and chosen not in levels:
        msg = f"SUFFICE_CPU must be one of {', '.join(levels)}, got {chosen!r}; unset it to take the best"
        raise ValueError(msg)
    if not (LIBRARIES / "suffice-v2.so").exists():
        msg = f"no native kernels in {LIBRARIES}"
        raise MissingLibraryError(msg)
    lowest = ctypes.CDLL(str(LIBRARIES / "suffice-v2.so"))
    best = f"v{_function(lowest, 'cpu_level', _INTEGER)()}"
    return ctypes.CDLL(str(LIBRARIES / f"suffice-{min(chosen or best, best)}.so"))


@cache
def is_available() -> bool:
    """Whether there is a library; the first time there is none, a warning says so."""
    try:
        library()
    except (MissingLibraryError, OSError) as error:
        warnings.warn(f"suffice: {error}; NumPy computes everything, several times slower", stacklevel=2)
        return False
    return True


def _function(source: ctypes.CDLL, name: str, returned: Any, *arguments: Any) -> Callable[..., Any]:
    """The function that the pointer of this name in the library points to."""
    address = ctypes.c_size_t.in_dll(source, f"suffice_{name}").value
    return ctypes.CFUNCTYPE(returned, *arguments)(address)


def kernel(name: str, kinds: str) -> Callable[..., Any]:
    """A function that calls the kernel of this name, loaded when first called."""
    given, _, returned = kinds.partition("->")
    words = given.split()
    symbols: dict[str, Callable[..., Any]] = {}
    result = _SCALARS[returned.strip()] if returned else None
    arguments = [_SCALARS.get(word, _POINTER) for word in words]
    accepted = [None if word in _SCALARS else _CHOOSING.get(word, (word,)) for word in words]
    choosing = next((i for i, word in enumerate(words) if word in _CHOOSING), None)

    def call(*values: Any) -> Any:
        passed = []
        for value, types in zip(values, accepted, strict=True):
            if types is None or value is None:
                passed.append(value)
                continue
            if _SUFFIX.get(value.dtype) not in types:
                msg = f"{name} needs an array of {' or '.join(types)}, got {value.dtype}"
                raise TypeError(msg)
            flags = value.flags
            if not flags.c_contiguous:
                msg = f"{name} needs C-contiguous arrays, got strides {value.strides} of shape {value.shape}"
                raise ValueError(msg)
            if value.size == 0:
                passed.append(None)
            else:  # the first way takes a third of the time
                passed.append(_address(_at(value)) if flags.writeable else value.ctypes.data)
        symbol = name if choosing is None else f"{name}_{_SUFFIX[values[choosing].dtype]}"
        function = symbols.get(symbol)
        if function is None:
            function = symbols[symbol] = _function(library(), symbol, result, *arguments)
        return function(*passed)

    return call


_lanes = kernel("lanes", "-> n")


@cache
def lanes() -> int:
    """How many numbers a vector of the library has."""
    return int(_lanes())
