"""Numbers, cells and values of members in few letters, as a page shows them."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.core.shown import shown
from suffice.exhibit import Column

SURE = 0.9995  # probabilities above it are written as 100 %


def number(value: Any, digits: int = 4) -> str:
    """A number in few digits, with a true minus."""
    value = float(value)
    if np.isnan(value):
        return "–"
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:,.0f}" if 1000 <= abs(value) < 1e7 and digits <= 4 else f"{value:.{digits}g}"
    return text.replace("-", "−")


def score(value: float) -> str:
    """A log-likelihood or criterion: models are compared by differences of about 1, however large it is."""
    return f"{value:,.1f}".replace("-", "−") if np.isfinite(value) else number(value)


def percent(value: float) -> str:
    """A share in percent; what is not 0 or 1 is not written so."""
    value = 100 * float(value)
    if 0 < value < 0.1:
        return "< 0.1 %"
    if 99.9 < value < 100:
        return "> 99.9 %"
    return f"{value:.0f} %" if value in (0.0, 100.0) or value >= 9.95 else f"{value:.1f} %"


def cell(column: Column, value: Any) -> str:
    """A cell of a column."""
    if column.kind == "label":
        return "missing" if value < 0 else shown(column.levels[int(value)], 30)
    return "missing" if not np.isfinite(value) else number(value, 6)


def reading(column: Column, part: Any, chances: Any = None) -> str:
    """What a distribution says of a column: where and how wide, or the most probable levels."""
    if column.kind == "label":
        order = np.argsort(-np.asarray(chances), kind="stable")
        kept = [i for i in order[:3] if chances[i] >= 0.005]
        text = ", ".join(f"{shown(column.levels[i], 24)} {percent(chances[i])}" for i in kept)
        return text + (" …" if len(order) > len(kept) and sum(chances[i] for i in kept) < SURE else "")
    centre, spread = column.place(part)
    return f"{number(centre)} ± {number(spread, 3)}"
