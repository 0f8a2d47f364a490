"""How loops are compiled: on first use, for good, and not in silence.

Numba's cache knows a function by the text of the file that holds it. So no file of loops calls what is compiled in
another, except `minus`: the cache would miss a change there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeAlias

import numba
from numba.core import event

Function: TypeAlias = Callable[..., Any]


def kernel(function: Function, *, reorder: bool = True) -> Function:
    """Compile on first use and keep the machine code on disk, if there is a place to write.

    Sums may be reordered, which makes vectors of them; NaN and infinity keep their meaning.
    """
    fastmath = {"reassoc", "contract", "nsz", "arcp"} if reorder else set[str]()
    options: dict[str, Any] = {"nogil": True, "fastmath": fastmath, "error_model": "numpy"}
    try:
        compiled: Function = numba.njit(function, cache=True, **options)
    except RuntimeError:
        compiled = numba.njit(function, **options)
    return compiled


def _minus(a: Any, b: Any) -> Any:
    """The difference a − b itself: what is centred must not become Σ x − n b when a sum around it is reordered."""
    return a - b


minus = kernel(_minus, reorder=False)


class _Note(event.Listener):
    """Say on stderr why a first call takes seconds; what Numba finds in its cache raises no event."""

    def __init__(self) -> None:
        self.depth = 0

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        if function.__module__.startswith("suffice."):
            if self.depth == 0:
                sys.stderr.write(f"suffice: compiling kernel {function.__name__} once; cached for later\n")
            self.depth += 1

    def on_end(self, event: Any) -> None:
        self.depth -= event.data["dispatcher"].py_func.__module__.startswith("suffice.")


event.register("numba:compile", _Note())  # type: ignore[no-untyped-call]
