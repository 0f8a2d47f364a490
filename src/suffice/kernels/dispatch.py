"""Which twin of a kernel computes: the native one, or NumPy's, which defines it, where no library was built.

``SUFFICE_KERNELS=reference`` (NumPy) or ``compiled`` decides for every call.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from types import ModuleType
from typing import ParamSpec, TypeVar

from suffice.errors import ParameterError
from suffice.kernels import native

P = ParamSpec("P")
R = TypeVar("R")


def uses_numpy() -> bool:
    """Whether NumPy computes."""
    chosen = os.environ.get("SUFFICE_KERNELS")
    if not chosen:
        return not native.is_available()
    if chosen in {"reference", "compiled"}:
        return chosen == "reference"
    msg = f"SUFFICE_KERNELS must be 'reference' or 'compiled', got {chosen!r}; unset it to use the native library"
    raise ParameterError(msg)


def twins(definition: Callable[P, R]) -> Callable[P, R]:
    """The kernel that a function of ``kernels.numpy`` defines; the same module of ``kernels.native`` has its twin."""
    name, home = definition.__name__, definition.__module__
    by_numpy, by_library = import_module(home), list[ModuleType]()

    @wraps(definition)
    def kernel(*arguments: P.args, **named: P.kwargs) -> R:
        if uses_numpy():
            twin = by_numpy
        else:
            if not by_library:  # loaded on first need
                by_library.append(import_module(home.replace(".numpy.", ".native.")))
            twin = by_library[0]
        result: R = getattr(twin, name)(*arguments, **named)
        return result

    return kernel
