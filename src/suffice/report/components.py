"""A card for each component.

Its share, the columns that set it apart, all that it says, and what goes together in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.display.names import display_name
from suffice.display.values import ColumnSummary, number, percent
from suffice.plot.canvas import colour
from suffice.plot.column import Column
from suffice.plot.model_view import FADED, ModelView, ranked
from suffice.report.words import reading

CARDS = 24
WEAK = 0.1  # correlation that is not worth a line
NAME = 40  # letters
LINES = 40  # columns of a card


def cards(view: ModelView) -> tuple[list[dict[str, Any]], int]:
    """The components with a weight to speak of, and how many were left out."""
    live = [j for j, weight in enumerate(view.weights) if weight >= FADED] or list(range(len(view.parts)))
    made = [_card(view, j, i) for j, i in ranked(view.weights, live[:CARDS])]
    return made, len(view.parts) - len(made)


def _card(view: ModelView, j: int, i: int) -> dict[str, Any]:
    summary = view.summarize
    said = {row.column: text_of(row.cells[j]) for row in summary.rows if j < len(row.cells)}
    known = {column.name: column for column in view.columns}
    mine = view.owners == j
    sure = float(view.responsibilities[mine, j].mean()) if mine.any() else float("nan")
    return {
        "name": display_name(view.components[j], NAME),
        "colour": colour(i),
        "share": percent(float(view.weights[j])),
        "width": f"{100 * float(view.weights[j]):.2f}",
        "rows": f"{int(mine.sum()):,}",
        "sure": "" if np.isnan(sure) else percent(sure),
        "informative": [
            {
                "name": display_name(name, NAME),
                "here": said[name],
                "all": _whole(known.get(name)),
                "nats": f"{nats:.2f}",
            }
            for name, nats in (summary.apart[j] if summary.apart else ())
        ],
        "values": [{"name": display_name(name, NAME), "here": text} for name, text in list(said.items())[:LINES]],
        "more": max(len(said) - LINES, 0),
        "ties": [
            {"pair": f"{display_name(a, NAME)} and {display_name(b, NAME)}", "r": number(r, 2)}
            for a, b, r in _ties(summary.correlations, j)
            if abs(r) >= WEAK
        ],
    }


def _ties(correlations: tuple[Any, ...], j: int) -> tuple[Any, ...]:
    """The correlations of a component; once where components share them."""
    return tuple(correlations[j if len(correlations) > 1 else 0]) if correlations else ()


def text_of(one: ColumnSummary) -> str:
    """What a component says of a column, in a line: levels with their probabilities, or its pieces."""
    if not one.levels:
        return display_name(" · ".join(one.pieces[:4]), 80)
    pairs = zip(one.levels[:3], one.pieces[:3], strict=True)
    more = len(one.levels) - 3
    return ", ".join(f"{display_name(level, 24)} {piece}" for level, piece in pairs) + (
        f", {more} more" if more > 0 else ""
    )


def _whole(column: Column | None) -> str:
    """What all components together say of a column."""
    return "" if column is None or column.kind == "vector" else reading(column)
