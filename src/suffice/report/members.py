"""A card for each member: its share, the columns that set it apart, all that it says, and what goes together in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.canvas import colour
from suffice.core.shown import shown
from suffice.exhibit import FADED, Exhibit, correlations, ranked
from suffice.report.words import number, percent, reading

CARDS = 24
TELLING = 5  # columns that a card names
TIES = 3  # correlations that it names
LEAST = 0.02  # nats that a column must tell
WEAK = 0.1  # correlation that is not worth a line


def cards(exhibit: Exhibit) -> tuple[list[dict[str, Any]], int]:
    """The members with a weight to speak of, and how many were left out."""
    live = [j for j, weight in enumerate(exhibit.weights) if weight >= FADED] or list(range(len(exhibit.parts)))
    return [_card(exhibit, j, i) for j, i in ranked(exhibit.weights, live[:CARDS])], len(exhibit.parts) - len(
        live[:CARDS]
    )


def _card(exhibit: Exhibit, j: int, i: int) -> dict[str, Any]:
    told = exhibit.telling[:, j] if exhibit.rows is not None else np.zeros(len(exhibit.columns))
    values = [_value(exhibit, place, j) for place in range(len(exhibit.columns))]
    first = [place for place in np.argsort(-told, kind="stable")[:TELLING] if told[place] >= LEAST]
    mine = exhibit.owners == j if exhibit.rows is not None else np.zeros(0, bool)
    sure = float(exhibit.shares[mine, j].mean()) if mine.any() else float("nan")
    return {
        "name": shown(exhibit.members[j], 40),
        "colour": colour(i),
        "share": percent(exhibit.weights[j]),
        "width": f"{100 * float(exhibit.weights[j]):.2f}",
        "rows": f"{int(mine.sum()):,}" if mine.size else "",
        "sure": "" if np.isnan(sure) else percent(sure),
        "telling": [{**values[place], "nats": f"{told[place]:.2f}"} for place in first],
        "values": values,
        "ties": _ties(exhibit, j),
    }


def _value(exhibit: Exhibit, place: int, j: int) -> dict[str, str]:
    column = exhibit.columns[place]
    if column.kind == "vector":
        return {"name": shown(column.label), "here": f"{column.family}, a vector", "all": ""}
    label = column.kind == "label"
    chances = column.probabilities if label else None
    here = reading(column, column.parts[j], chances[j] if chances is not None else None)
    whole = reading(column, column.whole, column.weights @ chances if chances is not None else None)
    return {"name": shown(column.label), "here": here, "all": whole}


def _ties(exhibit: Exhibit, j: int) -> list[dict[str, str]]:
    """The strongest correlations within a member, of columns that are described together."""
    places = [i for i, column in enumerate(exhibit.columns) if column.kind == "number"][:60]
    found = np.tril(correlations(exhibit.parts[j], places), -1)
    pairs = np.argwhere(np.abs(found) >= WEAK)
    order = sorted(map(tuple, pairs.tolist()), key=lambda pair: -abs(found[pair]))[:TIES]
    names = [shown(exhibit.columns[i].label, 30) for i in places]
    return [{"pair": f"{names[b]} and {names[a]}", "r": number(found[a, b], 2)} for a, b in order]
