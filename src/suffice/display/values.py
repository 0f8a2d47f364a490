"""How a page says what a component is: a few letters for each column, in the way that is natural to its family."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np

from suffice.display.names import minus
from suffice.types import Array

SMALL, LARGE = 1e-4, 1e6  # between them numbers are written without powers of ten
LONG = 9  # decimals


@dataclass(frozen=True)
class ColumnSummary:
    """What a component says of a column: pieces of text, the weightiest first, of which a narrow place shows the first.

    ``numbers`` are the same by name: ``{"mean": …, "std": …}``, or a probability for each level.
    """

    pieces: tuple[str, ...]
    numbers: dict[Any, float] = field(default_factory=dict)
    levels: tuple[Any, ...] = ()  # whom each piece is about, where that is a level: it is shown before the piece


def count(n: float, what: str) -> str:
    """A number of things: "1 row", "344 rows", "361.2 rows"."""
    number = f"{n:.0f}" if abs(n - round(n)) < 1e-9 * max(abs(n), 1.0) else f"{n:.6g}"
    return f"{number} {what}" + ("" if number == "1" else "es" if what.endswith("s") else "s")


def many(n: int, what: str) -> str:
    """A whole number of things, however large: "1 row", "12,000 rows"."""
    return f"{n:,} {what}{'s'[: n != 1]}"


def score(value: float) -> str:
    """A likelihood or criterion: models are compared by differences of about 1, however large n is."""
    return minus(f"{value:.1f}") if np.isfinite(value) else "–" if np.isnan(value) else minus(f"{value:g}")


def number(value: float, digits: int = 4) -> str:
    """A number by its first digits, and by all that stand before the point; in powers of ten beyond 1e-4 and 1e6.

    >>> number(3021.4, 3), number(0.00123456), number(1.5e-7), number(12345678.0)
    ('3021', '0.001235', '1.5e−07', '1.235e+07')
    """
    if not np.isfinite(value):
        return "–" if np.isnan(value) else minus(f"{value:g}")
    return minus(f"{value:.0f}" if 10.0**digits <= abs(value) < LARGE else f"{value:.{digits}g}")


def chance(p: float) -> str:
    """A probability; what is nearly nothing is not written as nothing."""
    return f"{p:.2f}" if p >= 0.005 or p == 0 else "<0.01"


def percent(share: float) -> str:
    """A share of the rows."""
    if share in {0, 1} or 0.095 <= share < 0.995:
        return f"{100 * share:.0f} %"
    return "<0.1 %" if share < 5e-4 else ">99.9 %" if share > 0.9995 else f"{100 * share:.1f} %"


def decimals(spread: float) -> int:
    """The decimals by which a spread has two digits at least."""
    return int(np.clip(1 - np.floor(np.log10(spread)), 0, 12)) if 0 < spread < np.inf else 2


def rounded(value: float, places: int) -> str:
    """A number with so many decimals; in powers of ten where that would be long.

    >>> rounded(0.123, 1), rounded(2e-9, 6), rounded(4.94e-5, 6), rounded(-0.001, 2)
    ('0.1', '0', '4.9e−05', '0.00')
    """
    if not isfinite(value) or abs(value) >= 10 * LARGE or places > LONG:
        return number(value)
    if places > 4 and abs(value) < SMALL:
        least = 0.5 * 10.0**-places
        return number(value, int(np.floor(np.log10(abs(value)))) + places + 1) if abs(value) > least else "0"
    text = f"{value:.{places}f}"
    return minus(text.removeprefix("-") if float(text) == 0 else text)


def measured(value: float, spread: float) -> str:
    """A number with its error or spread, and as many digits as that warrants: two of its own.

    >>> measured(3021.44, 210.3), measured(0.123456, 0.0217), measured(2e-9, 9.841e-6), measured(2.0, 0.0)
    ('3021 ± 210', '0.123 ± 0.022', '0 ± 9.8e−06', '2')
    """
    places = decimals(spread)
    return f"{rounded(value, places)} ± {rounded(spread, places)}" if spread > 0 else number(value)


def spreads(means: Array, stds: Array) -> list[list[ColumnSummary]]:
    """Mean ± std of each column (d) and component (k), from (k, d): columns with one number of decimals each."""
    means, stds = np.asarray(means, dtype=float), np.asarray(stds, dtype=float)
    found = []
    for mean, std in zip(means.T, stds.T, strict=True):
        known = std[np.isfinite(std) & (std > 0)]
        places = decimals(float(known.min())) if known.size else 2
        found.append([
            ColumnSummary((f"{rounded(m, places)} ± {rounded(s, places)}",), {"mean": m, "std": s})
            for m, s in zip(mean.tolist(), std.tolist(), strict=True)
        ])  # fmt: skip
    return found


def levels_of(levels: Any, probs: object) -> ColumnSummary:
    """Levels by falling probability; those of next to none are left to the numbers."""
    probs = np.asarray(probs)[: len(levels)]  # what follows is padding
    order = np.argsort(-probs, kind="stable")
    likely = [j for j in order if probs[j] >= 0.005] or list(order[:1])
    numbers = {levels[j]: float(probs[j]) for j in range(len(levels))}
    return ColumnSummary(tuple(chance(probs[j]) for j in likely), numbers, tuple(levels[j] for j in likely))


def single(name: str, values: Array) -> list[list[ColumnSummary]]:
    """One number of each column and component, by its name, from (k, d)."""
    return [
        [ColumnSummary((f"{name} {number(v, 3)}",), {name: float(v)}) for v in column]
        for column in np.asarray(values).T
    ]


def factor(medians: Array, factors: Array) -> list[ColumnSummary]:
    """Median ×÷ the factor of one standard deviation of the logarithm, for each component (k,)."""
    return [
        ColumnSummary((f"{number(m, 3)} ×÷ {number(f, 3)}",), {"median": float(m), "factor": float(f)})
        for m, f in zip(medians, factors, strict=True)
    ]


def between(low: float, high: float) -> ColumnSummary:
    """Everything between two bounds."""
    return ColumnSummary((f"{number(low, 3)} … {number(high, 3)}",), {"low": float(low), "high": float(high)})
