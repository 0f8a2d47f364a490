"""Where a user's own family lives: the support as it is given, and the base measure that decides about its ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.core.parameters import Domain
from suffice.errors import ParameterError
from suffice.types import Array


@dataclass(frozen=True)
class Positive:
    """Whether h is positive and finite: what the support's interval leaves to the base measure."""

    h: Callable[[Any], Any]

    def __call__(self, x: Array) -> Array:
        """Evaluate h quietly."""
        with np.errstate(all="ignore"):
            h = np.broadcast_to(self.h(x), np.shape(x))
            return np.asarray((h > 0) & np.isfinite(h))


def domain_of(family: Any) -> Domain:
    """The support as a domain."""
    given, integer = family.support, False
    if isinstance(given, range) and given.step == 1 and len(given):
        low, high, integer = float(given.start), float(given.stop - 1), True
    elif isinstance(given, str) and given == "integers":
        low, high, integer = -np.inf, np.inf, True
    elif isinstance(given, tuple) and len(given) in (2, 3) and given[2:] in ((), (int,)):
        low, high, integer = float(given[0]), float(given[1]), len(given) == 3
    else:
        msg = (
            f"{family.name}: support is (low, high), (low, high, int) for whole numbers, a range with step 1, or "
            f"'integers'; got {given!r:.60}."
        )
        raise ParameterError(msg)
    if not low < high and not (integer and low == high):
        msg = f"{family.name}: support needs low < high; got {given!r}."
        raise ParameterError(msg)
    positive = Positive(family.h)
    closed = [bool(np.isfinite(end) and _belongs(positive, family.u, end)) for end in (low, high)]
    kind = "whole number" if integer else "number"
    words = f"a {kind} from {low:g} to {high:g} where h is positive"
    return Domain(words, low, high, (closed[0], closed[1]), integer, rule=positive)


def _belongs(positive: Positive, u: Callable[[Any], Any], end: float) -> bool:
    """Whether h is positive and u finite at an end of the support."""
    with np.errstate(all="ignore"):
        try:
            finite = np.isfinite(np.asarray(u(np.asarray(end)), dtype=float)).all()
            return bool(finite and positive(np.asarray(end)))
        except (TypeError, ValueError, ArithmeticError):  # told in words when the shapes are checked
            return False


def inside(support: Domain) -> Array:
    """Three points of the support."""
    low, high = support.low, support.high
    if support.integer:
        first = low if np.isfinite(low) else high - 2 if np.isfinite(high) else 0.0
        return first + np.arange(3.0)
    if np.isfinite(low) and np.isfinite(high):
        return np.asarray(low + (high - low) * np.array([0.25, 0.5, 0.75]))
    steps = np.array([0.5, 1.0, 2.0])
    return np.asarray(high - steps if np.isfinite(high) else (low if np.isfinite(low) else 0.0) + steps)


def display_name(support: Domain) -> str:
    """The support as it was given, in words."""
    ends = f"{support.low:g}, {support.high:g}"
    return f"({ends}, int)" if support.integer else f"({ends})"
