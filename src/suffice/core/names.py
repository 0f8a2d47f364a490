"""The names of columns: those that data bring, and those that a text should say instead of places."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from suffice.core.errors import DataError
from suffice.frames import table

P = ParamSpec("P")
R = TypeVar("R")

PLACES = re.compile(r"\b(columns?) (\d+(?:, \d+)*)(?![\d:]|, \d)")


def names_of_data(data: Any) -> tuple[Any, ...] | None:
    """The names of the columns of a frame, a scan, a mapping, a structured array or rows with names; else None."""
    try:
        if table.is_frame(data):
            return tuple(table.names(data))
    except table.FrameError:  # whoever reads it says why it cannot be
        return None
    if isinstance(data, Mapping):
        return tuple(data)
    if isinstance(data, np.ndarray):
        return data.dtype.names
    if isinstance(data, (list, tuple)):
        return tuple(data[0]) if len(data) and isinstance(data[0], Mapping) else None
    known = getattr(data, "names", None) if hasattr(data, "partitions") else None
    return None if known is None else tuple(known)


def with_names(text: str, names: tuple[Any, ...] | None) -> str:
    """The text with the names of columns where it has their places, as far as there are so many."""

    def named(found: re.Match[str]) -> str:
        places = [int(place) for place in found[2].split(", ")]
        if names is None or max(places) >= len(names):
            return found[0]
        return f"{found[1]} {', '.join(repr(names[place]) for place in places)}"

    return PLACES.sub(named, text)


def saying_names(learn: Callable[P, R]) -> Callable[P, R]:
    """Let what is said of bad data name their columns, where the data do; a product names them itself."""

    @wraps(learn)
    def told(*given: P.args, **options: P.kwargs) -> R:
        try:
            return learn(*given, **options)
        except DataError as error:
            asked = {**dict(zip(("distribution", "data"), given, strict=False)), **options}
            own = getattr(asked.get("distribution"), "column_names", None)
            text = str(error)
            better = text if own is not None else with_names(text, names_of_data(asked.get("data")))
            if better == text:
                raise
            raise DataError(better) from error

    return told
