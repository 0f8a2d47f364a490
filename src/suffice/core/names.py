"""The names of columns: those that data bring, those that a text should say instead of places, and those asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from suffice.core.errors import DataError, ParameterError
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
        return None if data.dtype.names is None else tuple(data.dtype.names)
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


def label_of(asked: Any, labels: tuple[Any, ...], owner: str) -> Any:
    """The label of a column that is asked for, by name or place (from the end, too), or an error that offers others."""
    try:
        if asked in labels:
            return labels[labels.index(asked)]
    except (TypeError, ValueError):  # what is no name at all
        pass
    places = labels == tuple(range(len(labels)))
    whole = isinstance(asked, (int, np.integer)) and not isinstance(asked, bool)
    if places and whole and -len(labels) <= asked < len(labels):
        return int(asked) % len(labels)
    shown = repr(asked) if np.ndim(asked) == 0 else f"like this {type(asked).__name__}"
    raise ParameterError(f"{owner} has no column {shown:.60}. {offer(asked, labels)}")


def offer(asked: Any, labels: Iterable[Any]) -> str:
    """What to say to a name that is none: the nearest one, or all of them."""
    known = tuple(labels)
    near = get_close_matches(str(asked), [str(label) for label in known], 1, 0.6) if isinstance(asked, str) else []
    shown = ", ".join(map(repr, known[:12])) + (", …" if len(known) > 12 else "")
    guess = f"Did you mean {near[0]!r}? " if near else ""
    if known == tuple(range(len(known))):
        return f"It has columns by place, from 0 to {len(known) - 1}."
    return f"{guess}It has the columns {shown}."
