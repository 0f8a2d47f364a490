"""Labels that mean the same, however a file or a library keeps them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from suffice.types import Array

NUMBERS = (int, float, np.number)
WHOLE = 2.0**53  # up to here float64 holds every whole number


def places_among(labels: Sequence[Any], levels: Any) -> Array:
    """The place of each label among the levels, −1 where it is none of them.

    A file of text may keep as "1" what another keeps as the number 1. Where all levels are text a number is looked up
    by its digits, and where none is, text by the number that it says; "01" says none: it is another code than "1".

    >>> places_among(["2", 1, "x"], (1, 2)), places_among([2.0, True, 7], ("1", "2", "true"))
    (array([ 1,  0, -1]), array([ 1,  2, -1]))
    """
    place = {_key(level): index for index, level in enumerate(levels)}
    found = np.array([place.get(_key(label), -1) for label in labels], dtype=np.int64)
    if (found >= 0).all() or len({isinstance(level, str) for level in levels}) != 1:
        return found
    words = isinstance(next(iter(levels)), str)
    other = [i for i, label in enumerate(labels) if found[i] < 0 and isinstance(label, str) != words]
    if other:
        spelled: dict[Any, int] = {}
        for index, level in enumerate(levels):
            spelled.setdefault(spelling(level), index)
        for i in other:
            found[i] = spelled.get(spelling(labels[i]), -1)
    return found


def spelling(label: Hashable) -> Any:
    """The text by which a number or boolean and its text are the same; other labels, which have none, as they are.

    >>> [spelling(one) for one in (1, 1.0, "1.0", "01", True, "True", 2.5, "x")]
    ['1', '1', '1', '01', 'true', 'true', '2.5', 'x']
    """
    if isinstance(label, (bool, np.bool_)):
        return str(bool(label)).lower()
    if isinstance(label, NUMBERS):
        return _digits(label)
    return _said(label) if isinstance(label, str) else label


def _digits(number: Any) -> str:
    """A number as text: 1 and 1.0 are the same."""
    whole = bool(number == number // 1) and abs(number) < WHOLE
    return str(int(number)) if whole else repr(number.item() if isinstance(number, np.generic) else number)


def _said(text: str) -> str:
    """The number or boolean that a text says, as text again; the text itself where it says none."""
    if text.lower() in {"true", "false"}:
        return text.lower()
    bare = text.lstrip("-")
    if not bare[:1].isdigit() or (bare[0] == "0" and bare[1:2].isdigit()) or not bare.isascii() or "_" in bare:
        return text
    try:
        return _digits(int(text) if bare.isdigit() else float(text))
    except (ValueError, OverflowError):
        return text


def _key(label: Hashable) -> Any:
    """What makes two labels the same: a date is one, whoever wrote it."""
    if isinstance(label, np.datetime64):
        rounded = label.astype("datetime64[us]")
        return rounded.item() if rounded == label else label
    if isinstance(label, dt.date) and not isinstance(label, dt.datetime):
        return dt.datetime(label.year, label.month, label.day)  # noqa: DTZ001 (labels have no time zone)
    return label
