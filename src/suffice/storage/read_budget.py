"""What reading one document may cost: as much as the document is long, and a constant beside it.

A few bytes can stand for much: a type of text with room for millions of letters, or a mixture of copies of a mixture of
copies. Whoever opens a document opens a budget with it, and what is made from the document is charged to it first.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from suffice.numerics.low_rank import LowRank
from suffice.types import Array

LETTERS = 1 << 24  # that arrays of text hold room for, beside those that are there
CELLS = 1 << 16  # that empty arrays would have along their other axes
NUMBERS = 1 << 16  # that copies of a component hold together
SAME_HASH = 100  # labels that differ and share a hash; chance gives two or three


class Budget:
    """How much of each kind may still be made."""

    def __init__(self, size: int = 0) -> None:
        """For a document of ``size`` bytes."""
        self.left = {"letters": LETTERS + size, "cells": CELLS + size, "numbers": NUMBERS + size}

    def takes(self, what: str, amount: int) -> bool:
        """Charge an amount; whether it is covered."""
        self.left[what] -= amount
        return self.left[what] >= 0


_current: ContextVar[Budget | None] = ContextVar("budget", default=None)


@contextmanager
def reading(size: int) -> Iterator[Budget]:
    """Open the budget of one document of ``size`` bytes."""
    budget = Budget(size)
    token = _current.set(budget)
    try:
        yield budget
    finally:
        _current.reset(token)


def takes(what: str, amount: int) -> bool:
    """Charge an amount to the document that is being read; by itself, to a budget of its own."""
    return (_current.get() or Budget()).takes(what, amount)


def size_of(model: Any, known: dict[int, int] | None = None) -> int:
    """How many numbers a distribution has, those of repeated parts as often as they are repeated."""
    known = {} if known is None else known
    if id(model) not in known:
        inside = model.blocks.values() if model.blocks else (getattr(model, "components", None),)
        own = sum(_numbers(value) for value in map(model.__dict__.get, model.specs()) if value is not None)
        known[id(model)] = 1 + own + sum(size_of(one, known) for one in inside if hasattr(one, "blocks"))
    return known[id(model)]


def _numbers(value: Array | float) -> int:
    return value.numbers if isinstance(value, LowRank) else int(np.size(value))


def share_a_hash(labels: Any) -> bool:
    """Whether many different labels have one hash, as only somebody who wants a slow set makes them.

    The hash of text is secret, that of numbers and of tuples of them is not.
    """
    by_hash: dict[int, list[Any]] = {}
    for label in labels:
        if not isinstance(label, (tuple, frozenset)) and type(label).__module__ not in ("datetime", "numpy"):
            continue
        try:
            others = by_hash.setdefault(hash(label), [])
        except TypeError:  # it can be no key, then
            continue
        if all(label != other for other in others):
            others.append(label)
            if len(others) > SAME_HASH:
                return True
    return False
