"""Cells and columns in few letters, as a page shows them."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.display.names import display_name
from suffice.display.values import chance, decimals, number, rounded
from suffice.plot.column import Column


def cell(column: Column, value: Any) -> str:
    """A cell of a column."""
    if column.kind == "label":
        return "missing" if value < 0 else display_name(column.levels[int(value)], 30)
    return "missing" if not np.isfinite(value) else number(float(value), 6)


def reading(column: Column, component: int | None = None) -> str:
    """What a component, or all together, say of a column: where and how wide, or the most probable levels."""
    if column.kind == "label":
        chances = column.weights @ column.probabilities if component is None else column.probabilities[component]
        order = [i for i in np.argsort(-chances, kind="stable") if chances[i] >= 0.005]
        text = ", ".join(f"{display_name(column.levels[i], 24)} {chance(float(chances[i]))}" for i in order[:3])
        return text + (f", {len(order) - 3} more" if len(order) > 3 else "")
    centre, spread = column.place(column.whole if component is None else column.parts[component])
    places = decimals(spread)
    return f"{rounded(centre, places)} ± {rounded(spread, places)}"
