"""Where curves and bars of one column are drawn: the range, the points of a curve, the bins of a histogram."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.core.family import Family
from suffice.tables.layout import unit_of
from suffice.types import Array

POINTS = 801  # of a curve
FINEST = 5000  # units that the values span, beyond which bins of any width look smooth
CROWDED = 0.4  # share of the rows in one bar of a histogram, from which on it hides the others
CLIPPED = 0.025  # of the rows at each end that are not drawn then, where a logarithm cannot be
DECADES = 100.0  # the largest number over the least, from which on a logarithmic axis says more
LARGE = 0.4  # of a bounded support, from which on all of it is drawn
TAIL = np.array([1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 1e-2])
LEVELS = (*TAIL, *np.linspace(0.03, 0.97, 48), *(1 - TAIL[::-1]))  # of a component, through which its curve goes


def heights(part: Family, x: Array) -> Array:
    """The density of a component, or its probabilities."""
    with np.errstate(all="ignore"):
        return np.asarray(np.exp(part.log_prob(x)))


def is_discrete(part: Any) -> bool:
    """Whether a component has whole numbers."""
    return all(map(is_discrete, part.parts)) if part.is_mixture else bool(part.discrete)


def extent(parts: list[Any], cells: Any) -> tuple[float, float]:
    """Where to draw: the data, and the bulk of each component."""
    ends = [] if cells is None or not len(cells) else [float(cells.min()), float(cells.max())]
    for part in parts:
        ends += whole_support(part, bulk(part))
    low, high = min(ends), max(ends)
    if cells is not None and len(cells):  # a component with few rows may be far wider than the data
        span = max(float(np.ptp(cells)), 1e-12 * max(abs(high), 1.0))
        low, high = max(low, float(cells.min()) - 0.3 * span), min(high, float(cells.max()) + 0.3 * span)
    return low, high


def whole_support(part: Family, ends: list[float]) -> list[float]:
    """The bounds of a component's support instead of the ends of its bulk, where both are finite.

    And the bulk is large.
    """
    if part.is_mixture or part.discrete:
        return ends
    low, high = part.support.low, part.support.high
    large = np.isfinite(high - low) and max(ends) - min(ends) > LARGE * (high - low)
    return [float(low), float(high)] if large else ends


def bulk(part: Any, levels: Any = (0.001, 0.999)) -> list[float]:
    """Quantiles of a component; of a mixture, of each of its own."""
    if part.is_mixture:
        return [end for inner in part.parts for end in bulk(inner, levels)]
    return [float(part.quantile(q)) for q in levels]


def grid(parts: list[Any], low: float, high: float, points: int = POINTS) -> Array:
    """Where curves are computed: everywhere, and close enough for the narrowest component."""
    every = max(round(POINTS / points), 1)
    knots = [knot for part in parts for knot in bulk(part, LEVELS[::every]) if low <= knot <= high]
    return np.unique([*np.linspace(low, high, points), *knots])


def bins(cells: Array) -> Array:
    """Half as wide as Freedman and Diaconis have them, for mixtures have gaps; no less than 10 and no more than 120.

    Values that are multiples of a unit have bins of whole units, between the multiples: others would make a comb.
    """
    low, high = np.quantile(cells, [0.25, 0.75])
    width = (high - low) / len(cells) ** (1 / 3)
    count = np.clip(np.ptp(cells) / width if width > 0 else 30.0, 10, 120)
    unit = unit_of(cells)
    if unit is None or np.ptp(cells) / unit > FINEST:
        return np.histogram_bin_edges(cells, int(count))
    steps = np.diff(np.unique(np.rint(cells / unit).astype(np.int64)))
    unit *= int(np.gcd.reduce(steps)) if len(steps) else 1  # half units, quarters, tens
    wide = max(round(np.ptp(cells) / count / unit), 1) * unit
    first = cells.min() - unit / 2
    return np.asarray(first + wide * np.arange(np.ceil((cells.max() + unit / 2 - first) / wide - 1e-9) + 1))


def crowded(cells: Array | None) -> str:
    """How to draw numbers of which one bar would hold most: "log" where all are above 0, else "clip"; "" for others.

    What is clipped is the share ``CLIPPED`` of the rows at each end.
    """
    if cells is None or len(cells) < 10 or not np.ptp(cells) > 0:
        return ""
    bars, _ = np.histogram(cells, bins(cells))
    if bars.max() < CROWDED * len(cells):
        return ""
    if cells.min() > 0:
        return "log" if cells.max() >= DECADES * cells.min() else ""
    low, high = np.quantile(cells, [CLIPPED, 1 - CLIPPED])
    return "clip" if 0 < high - low < 0.5 * np.ptp(cells) else ""
