"""Text from other people's data, made harmless: nothing in it moves a cursor, changes a colour or turns a line around."""

from __future__ import annotations

import unicodedata
from typing import Any

LONGEST = 60  # characters of a name or a value in a line


def harmless(text: str) -> str:
    """Text of several lines, where what a terminal would obey is written out."""
    return "".join(one if one == "\n" or not _obeyed(one) else _written(one) for one in text)


def shown(value: Any, longest: int = LONGEST) -> str:
    """A name or a value on one line."""
    text = "".join(_written(one) if _obeyed(one) else one for one in str(value))
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _obeyed(sign: str) -> bool:
    """Control signs, those that turn the direction of a line or cannot be seen, halves of signs, breaks of lines."""
    return unicodedata.category(sign) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def _written(sign: str) -> str:
    return sign.encode("unicode_escape").decode("ascii") if sign != "\t" else " "
