"""Parts of SciPy, loaded when the first of their functions is called: importing them takes longer than a small fit."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Lazy:
    """A module that is imported when one of its names is first used."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        """Import the module and remember the name."""
        value = getattr(import_module(self._module), name)
        setattr(self, name, value)
        return value


special: Any = Lazy("scipy.special")
