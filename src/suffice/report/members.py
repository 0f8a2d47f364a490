"""A card for each member: its share, the columns that set it apart, all that it says, and what goes together in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.canvas import colour
from suffice.core.readings import Reading, number, percent
from suffice.core.shown import shown
from suffice.exhibit import FADED, Column, Exhibit, ranked
from suffice.report.words import reading

CARDS = 24
WEAK = 0.1  # correlation that is not worth a line
NAME = 40  # letters
LINES = 40  # columns of a card


def cards(exhibit: Exhibit) -> tuple[list[dict[str, Any]], int]:
    """The members with a weight to speak of, and how many were left out."""
    live = [j for j, weight in enumerate(exhibit.weights) if weight >= FADED] or list(range(len(exhibit.parts)))
    made = [_card(exhibit, j, i) for j, i in ranked(exhibit.weights, live[:CARDS])]
    return made, len(exhibit.parts) - len(made)


def _card(exhibit: Exhibit, j: int, i: int) -> dict[str, Any]:
    portrait = exhibit.portrait
    said = {row.column: told(row.cells[j]) for row in portrait.rows if j < len(row.cells)}
    known = {column.name: column for column in exhibit.columns}
    mine = exhibit.owners == j
    sure = float(exhibit.shares[mine, j].mean()) if mine.any() else float("nan")
    return {
        "name": shown(exhibit.members[j], NAME),
        "colour": colour(i),
        "share": percent(float(exhibit.weights[j])),
        "width": f"{100 * float(exhibit.weights[j]):.2f}",
        "rows": f"{int(mine.sum()):,}",
        "sure": "" if np.isnan(sure) else percent(sure),
        "telling": [
            {"name": shown(name, NAME), "here": said[name], "all": _whole(known.get(name)), "nats": f"{nats:.2f}"}
            for name, nats in (portrait.apart[j] if j < len(portrait.apart) else ())
        ],
        "values": [{"name": shown(name, NAME), "here": text} for name, text in list(said.items())[:LINES]],
        "more": max(len(said) - LINES, 0),
        "ties": [
            {"pair": f"{shown(a, NAME)} and {shown(b, NAME)}", "r": number(r, 2)}
            for a, b, r in (portrait.correlations[j] if j < len(portrait.correlations) else ())
            if abs(r) >= WEAK
        ],
    }


def told(one: Reading) -> str:
    """What a member says of a column, in a line: levels with their probabilities, or its pieces."""
    if not one.levels:
        return shown(" · ".join(one.pieces[:4]), 80)
    pairs = zip(one.levels[:3], one.pieces[:3], strict=True)
    more = len(one.levels) - 3
    return ", ".join(f"{shown(level, 24)} {piece}" for level, piece in pairs) + (f", {more} more" if more > 0 else "")


def _whole(column: Column | None) -> str:
    """What all members together say of a column."""
    return "" if column is None or column.kind == "vector" else reading(column)
