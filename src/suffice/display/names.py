"""Names as they are shown: what a reader cannot see is made visible, and what is too long is cut.

A table, a page and a command line show names of columns and levels that others chose. Here is the one place that makes
them harmless: control characters, line breaks and marks of direction become escapes, and no name is longer than its
place. HTML escapes belong to whoever writes HTML.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

LONGEST = 40  # letters of a name that a page shows where nothing is narrower
ELLIPSIS = "…"
HIDDEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))  # categories that have no look of their own
NO_WIDTH = frozenset(("Mn", "Me"))
PILE = 2  # marks that one letter may carry


def display_name(name: Hashable, width: int = LONGEST) -> str:
    r"""A name or level in at most ``width`` places of a line, with escapes for what cannot be seen.

    >>> display_name("a\nb"), display_name("x" * 99, 5), display_name(("bill", "mass"))
    ('a\\nb', 'xxxx…', 'bill, mass')
    """
    if isinstance(name, tuple):
        return fitted(", ".join(display_name(one, width) for one in name), width)
    text = name if isinstance(name, str) else _plain(name)
    if not text:
        return "''"
    head = text[: 4 * max(width, 1)]  # the rest is cut anyway
    return fitted(visible(head) + (ELLIPSIS if len(text) > len(head) else ""), width)


def visible(text: str) -> str:
    """The text with escapes for what cannot be seen: marks that stand on no letter, or in piles, among it."""
    out, pile = [], PILE
    for letter in text:
        mark = not letter.isascii() and unicodedata.category(letter) in NO_WIDTH
        pile = pile + 1 if mark else 0
        out.append(_escaped(letter) if mark and pile > PILE else _visible(letter))
    return "".join(out)


def _escaped(letter: str) -> str:
    code = ord(letter)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def column(name: Any, width: int = LONGEST) -> str:
    """The name of a column; one that has only a place says so."""
    place = isinstance(name, (int, np.integer)) and not isinstance(name, bool)
    return fitted(f"column {name}", width) if place else display_name(name, width)


def apart(names: Iterable[Any], width: int = LONGEST) -> list[str]:
    """Names of columns that stay different where they begin alike: of those the middle is cut, not the end.

    >>> apart(["income of the household, 2023", "income of the household, 2024", "age"], 16)
    ['income o…d, 2023', 'income o…d, 2024', 'age']
    """
    asked = list(names)
    found = [column(name, width) for name in asked]
    often = Counter(found)
    return [
        _ends(column(name, len(str(name)) * 12 + 12), width) if often[text] > 1 else text
        for name, text in zip(asked, found, strict=True)
    ]


def _ends(text: str, width: int) -> str:
    """The beginning and the end of a text in a width."""
    if places(text) <= width:
        return text
    tail, room = "", (width - 1) // 2
    for letter in reversed(text):
        if places(letter + tail) > room:
            break
        tail = letter + tail
    return fitted(text, width - places(tail)) + tail


def _plain(value: object) -> str:
    if isinstance(value, (float, np.floating)) and float(value).is_integer() and abs(float(value)) < 1e15:
        return str(int(value))
    return str(value)


def _visible(letter: str) -> str:
    if letter.isascii():
        return letter if letter.isprintable() else repr(letter)[1:-1]
    if unicodedata.category(letter) in HIDDEN:
        return _escaped(letter)
    return " " if letter.isspace() else letter


def places(text: str) -> int:
    """How many places of a line a text takes: East Asian letters take two, marks on letters none."""
    if text.isascii():
        return len(text)
    return sum(map(_place, text))


def _place(letter: str) -> int:
    if unicodedata.category(letter) in NO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def fitted(text: str, width: int) -> str:
    """The text, cut to a width with an ellipsis; marks count as letters, so that no pile of them hides the cut."""
    if places(text) <= width and len(text) <= 2 * width:
        return text
    kept: list[str] = []
    used = 0
    for letter in text:
        used += _place(letter)
        if used > width - 1 or len(kept) >= 2 * width:
            break
        kept.append(letter)
    return "".join(kept).rstrip() + ELLIPSIS if width > 0 else ""


def left(text: str, width: int) -> str:
    """The text, filled with spaces on its right."""
    return text + " " * max(width - places(text), 0)


def right(text: str, width: int) -> str:
    """The text, filled with spaces on its left."""
    return " " * max(width - places(text), 0) + text


def wrapped(pieces: Iterable[str], width: int, *, joint: str = " ", first: str = "", then: str = "") -> list[str]:
    """Pieces in lines of a width, cut between pieces; one that is longer than a line is broken."""
    lines: list[str] = []
    line = first
    bare = True  # nothing but the indent
    for piece in pieces:
        added = piece if bare else joint + piece
        if not bare and places(line) + places(added) > width:
            lines.append(line)
            line, bare, added = then, True, piece
        while places(line) + places(added) > width:
            room = max(width - places(line), 1)
            cut = _broken(added, room)
            lines.append(line + added[:cut])
            line, added = then, added[cut:]
        line, bare = line + added, False
    return [*lines, line] if not bare else lines


def _broken(text: str, room: int) -> int:
    """How many letters of a text have room; one at least."""
    used = 0
    for count, letter in enumerate(text):
        used += _place(letter)
        if used > room:
            return max(count, 1)
    return len(text)


def sentence(text: str, width: int, first: str = "", then: str = "") -> list[str]:
    """Prose in lines of a width."""
    return wrapped(words(text), width, first=first, then=then)


def words(text: str) -> list[str]:
    """The words of a text, visible and none of them endless."""
    return [visible(word) if len(word) <= 2 * LONGEST else display_name(word, 2 * LONGEST) for word in text.split()]


def minus(text: str) -> str:
    """A number with the sign that is as wide as a plus."""
    return text.replace("-", "−")
