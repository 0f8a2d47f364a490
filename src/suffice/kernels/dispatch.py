"""Which twin of a kernel computes: NumPy, which defines it, or the native library.

A native call costs some microseconds more than one of NumPy, so that tiny work stays there. ``work`` is the number of
cells of the whole job that a call sees a slice of: all slices take the same twin. The engine says it, else the cells at
hand count. ``SUFFICE_KERNELS=reference`` or ``compiled`` decides for every call; where no library was built NumPy
computes everything.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

from suffice.kernels import native

R = TypeVar("R")

LARGE = 1 << 20  # cells times components: some 10 ms in NumPy
LARGE_PASS = 1 << 17  # of a pass that is made a hundred times
_job = threading.local()


@contextmanager
def job(work: int) -> Iterator[None]:
    """Calls inside, on this thread, see slices of a job of ``work`` cells."""
    outer = getattr(_job, "work", 0)
    _job.work = max(outer, work)
    try:
        yield
    finally:
        _job.work = outer


def is_small(cells: int, work: int | None, n_components: int = 1, large: int = LARGE) -> bool:
    """Whether NumPy serves a call with so many cells at hand."""
    chosen = os.environ.get("SUFFICE_KERNELS", "").strip()
    if chosen:
        if chosen in {"reference", "compiled"}:
            return chosen == "reference"
        msg = f"SUFFICE_KERNELS must be 'reference' or 'compiled', got {chosen!r}; unset it to let the work decide"
        raise ValueError(msg)
    work = getattr(_job, "work", 0) if work is None else work
    return max(cells, work) * n_components < large or not native.is_available()


def twins(
    definition: Callable[..., R], module: str, size: Callable[..., tuple[int, int]], large: int = LARGE
) -> Callable[..., R]:
    """The kernel that a NumPy function defines and that ``module`` has a native twin of.

    ``size`` gives the cells and the components of a call; ``work`` is a keyword of every kernel.
    """
    name, home, other = definition.__name__, import_module(definition.__module__), list[ModuleType]()

    @wraps(definition)
    def kernel(*arguments: Any, work: int | None = None, **named: Any) -> R:
        cells, n_components = size(*arguments, **named)
        if is_small(cells, work, n_components, large):
            twin = home
        else:
            if not other:
                other.append(import_module(f"suffice.kernels.{module}"))
            twin = other[0]
        result: R = getattr(twin, name)(*arguments, **named)
        return result

    return kernel


# -- the cells and the components of a call ----------------------------------------------------------------------------


def of_rows(x: Any, weights: Any = None, *_: Any, **__: Any) -> tuple[int, int]:
    """Rows with weights, for each component or for all."""
    return x.size, 1 if weights is None or weights.ndim == 1 else weights.shape[1]


def of_components(x: Any, components: Any, *_: Any, **__: Any) -> tuple[int, int]:
    """Rows, each of which is held against every component."""
    return x.size, len(components)


def of_values(x: Any, *_: Any, **__: Any) -> tuple[int, int]:
    """Values, once."""
    return x.size, 1
