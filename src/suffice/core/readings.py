"""How a page says what a member is: a few letters for each column, in the way that is natural to its family."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np

from suffice.core.shown import minus


@dataclass(frozen=True)
class Reading:
    """What a member says of a column: pieces of text, the weightiest first, of which a narrow place shows the first.

    ``numbers`` are the same by name: ``{"mean": …, "std": …}``, or a probability for each level.
    """

    pieces: tuple[str, ...]
    numbers: dict[Any, float] = field(default_factory=dict)
    levels: tuple[Any, ...] = ()  # whom each piece is about, where that is a level: it is shown before the piece


def count(n: float, what: str) -> str:
    """A number of things: "1 row", "344 rows", "361.2 rows"."""
    number = f"{n:.0f}" if abs(n - round(n)) < 1e-9 * max(abs(n), 1.0) else f"{n:.6g}"
    return f"{number} {what}" + ("" if number == "1" else "es" if what.endswith("s") else "s")


def score(value: float) -> str:
    """A likelihood or criterion: models are compared by differences of about 1, however large n is."""
    return minus(f"{value:.1f}") if np.isfinite(value) else "–" if np.isnan(value) else minus(f"{value:g}")


def number(value: float, digits: int = 4) -> str:
    """A number in few letters."""
    return minus(f"{value:.{digits}g}") if np.isfinite(value) else "–" if np.isnan(value) else minus(f"{value:g}")


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
    """A number with so many decimals; in powers of ten where that would be long."""
    if not isfinite(value):
        return number(value)
    text = f"{value:.4g}" if abs(value) >= 1e7 or places > 6 else f"{value:.{places}f}"
    return minus(text.removeprefix("-") if float(text) == 0 else text)


def spreads(means: Any, stds: Any) -> list[list[Reading]]:
    """Mean ± std of each column (d) and member (k), from (k, d): columns with one number of decimals each."""
    means, stds = np.asarray(means, dtype=float), np.asarray(stds, dtype=float)
    found = []
    for mean, std in zip(means.T, stds.T, strict=True):
        known = std[np.isfinite(std) & (std > 0)]
        places = decimals(float(known.min())) if known.size else 2
        found.append([
            Reading((f"{rounded(m, places)} ± {rounded(s, places)}",), {"mean": m, "std": s})
            for m, s in zip(mean.tolist(), std.tolist(), strict=True)
        ])  # fmt: skip
    return found


def levels_of(levels: Any, probs: Any) -> Reading:
    """Levels by falling probability; those of next to none are left to the numbers."""
    probs = np.asarray(probs)[: len(levels)]  # what follows is padding
    order = np.argsort(-probs, kind="stable")
    told = [j for j in order if probs[j] >= 0.005] or list(order[:1])
    numbers = {levels[j]: float(probs[j]) for j in range(len(levels))}
    return Reading(tuple(chance(probs[j]) for j in told), numbers, tuple(levels[j] for j in told))


def single(name: str, values: Any) -> list[list[Reading]]:
    """One number of each column and member, by its name, from (k, d)."""
    return [[Reading((f"{name} {number(v, 3)}",), {name: float(v)}) for v in column] for column in np.asarray(values).T]


def factor(medians: Any, factors: Any) -> list[Reading]:
    """Median ×÷ the factor of one standard deviation of the logarithm, for each member (k,)."""
    return [
        Reading((f"{number(m, 3)} ×÷ {number(f, 3)}",), {"median": float(m), "factor": float(f)})
        for m, f in zip(medians, factors, strict=True)
    ]


def between(low: float, high: float) -> Reading:
    """Everything between two bounds."""
    return Reading((f"{number(low, 3)} … {number(high, 3)}",), {"low": float(low), "high": float(high)})
