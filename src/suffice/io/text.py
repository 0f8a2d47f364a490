"""The JSON of a model file: what may be read at all, and how it is laid out for a person who opens it."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from suffice.errors import ModelFileError

LIMIT = 256 * 1024 * 1024  # bytes of a document
DEPTH = 64  # levels of nesting
WIDTH = 110  # characters of a line that holds a whole object

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"(\s*:)?', re.DOTALL)


def parsed(data: bytes, limit: int) -> Any:
    """The tree of a document: within the limits, in UTF-8, and no key of an object twice."""
    if len(data) > limit:
        msg = (
            f"the document has {len(data):,} bytes, and at most {limit:,} are read. Raise limit=, where you trust the "
            "file and have the memory."
        )
        raise ModelFileError(msg)
    try:
        tree = msgspec.json.decode(data)
    except RecursionError:
        raise ModelFileError(_too_deep()) from None
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError) as error:
        msg = f"the document is not JSON: {error}. Is it a model file, and all of it?"
        raise ModelFileError(msg) from error
    written = sum(1 for match in _STRING.finditer(data) if match[1])
    if written != _keys(tree, 0):
        msg = f"the document says something twice: an object has the key {_repeated(data)!r} more than once."
        raise ModelFileError(msg)
    return tree


def _too_deep() -> str:
    return f"the document is nested more than {DEPTH} levels deep; no model is."


def _keys(tree: object, depth: int) -> int:
    """How many keys the objects of a tree have together."""
    if depth > DEPTH:
        raise ModelFileError(_too_deep())
    if type(tree) is dict:
        return len(tree) + sum(_keys(one, depth + 1) for one in tree.values() if type(one) in _NESTED)
    if type(tree) is list:
        return sum(_keys(one, depth + 1) for one in tree if type(one) in _NESTED)
    return 0


_NESTED = frozenset((dict, list))


def _repeated(data: bytes) -> str:
    """The first key that an object has twice."""
    seen: list[set[bytes]] = [set()]
    for match in re.finditer(rb'("(?:[^"\\]|\\.)*+")(\s*:)|"(?:[^"\\]|\\.)*+"|[\[{]|[\]}]', data, re.DOTALL):
        if match[2]:
            if match[1] in seen[-1]:
                return str(msgspec.json.decode(match[1]))
            seen[-1].add(match[1])
        elif match[0] in (b"{", b"["):
            seen.append(set())
        elif match[0] in (b"}", b"]"):
            seen.pop()
    return "?"  # two spellings of one key


def laid_out(tree: dict[Any, Any]) -> bytes:
    """A tree as JSON: one line for each field, arrays of numbers on a line of their own."""
    try:
        return b"".join((*_lines(tree, b"\n"), b"\n"))
    except UnicodeEncodeError as error:
        msg = f"the text {error.object!r:.60} is not Unicode, and cannot stand in a file."
        raise ModelFileError(msg) from error


def _lines(tree: Any, margin: bytes) -> list[bytes]:
    flat = type(tree) not in _NESTED or not tree or _plain(tree) or (type(tree) is dict and "array" in tree)
    whole = msgspec.json.encode(tree) if flat or _room(tree, WIDTH // 4) >= 0 else b""
    if flat or (whole and len(whole) + len(margin) <= WIDTH):
        return [whole]
    inner = margin + b" "
    found: list[bytes] = []
    if type(tree) is dict:
        for key, one in tree.items():
            found += [b"," if found else b"{", inner, msgspec.json.encode(key), b": ", *_lines(one, inner)]
        return [*found, margin, b"}"]
    for one in tree:
        found += [b"," if found else b"[", inner, *_lines(one, inner)]
    return [*found, margin, b"]"]


def _plain(tree: object) -> bool:
    """Whether it is a list of numbers or words."""
    return type(tree) is list and not any(type(one) in _NESTED for one in tree)


def _room(tree: Any, left: int) -> int:
    """What is left of a number of entries after those of a tree; below 0 where it has more."""
    for one in tree.values() if type(tree) is dict else tree:
        left -= 1
        if left >= 0 and type(one) in _NESTED:
            left = _room(one, left)
        if left < 0:
            break
    return left
