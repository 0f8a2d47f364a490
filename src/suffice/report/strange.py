"""The rows that the model finds strangest, and the cells that make them so."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.anatomy import without
from suffice.core.parameters import Array
from suffice.core.readings import number
from suffice.core.shown import minus, shown
from suffice.core.surprisal import averages
from suffice.exhibit import Exhibit
from suffice.report.words import cell, reading

ROWS = 8
CELLS = 3
USUAL = 2000  # rows by which is judged what is usual in a column
LEAST = 1.0  # nats by which a cell must be stranger than usual


def strangest(exhibit: Exhibit) -> list[dict[str, Any]]:
    """The rows of least probability, each with the cells that are most surprising given the others.

    The surprise of a cell is −log p(cell | all others of the row), less what it is on average in its column: densities
    have units, and only so can columns be compared.
    """
    heights = exhibit.log_prob()
    order = np.argsort(np.where(np.isnan(heights), np.inf, heights), kind="stable")[:ROWS]
    few = exhibit.at(order)
    excess = surprises(few) - _usual(exhibit)
    excess[:, [column.kind == "vector" for column in few.columns]] = np.nan
    found = []
    for place, row in enumerate(order.tolist()):
        least = LEAST if len(few.columns) > 1 else -np.inf  # the only cell it is, then
        worst = [int(i) for i in np.argsort(-excess[place], kind="stable")[:CELLS] if excess[place, i] >= least]
        found.append({
            "row": f"{row:,}", "log_prob": number(heights[row]),
            "member": shown(few.members[few.owners[place]], 24),
            "cells": [_cell(few, place, column, excess[place, column]) for column in worst],
        })  # fmt: skip
    return found


def surprises(exhibit: Exhibit) -> Array:
    """−log p(cell | all others of its row), (n, d); 0 for a hole."""
    whole = exhibit.log_prob()
    found = np.zeros((exhibit.n, len(exhibit.columns)))
    for i, column in enumerate(exhibit.columns):
        if column.kind != "vector":
            rest = exhibit.log_prob(without(exhibit.model, exhibit.rows, i))
            with np.errstate(all="ignore"):
                gap = rest - whole
            found[:, i] = np.where(column.seen, np.where(np.isnan(gap), 0.0, gap), 0.0)
    return found


def _usual(exhibit: Exhibit) -> Array:
    few = exhibit.fewer(USUAL)
    found = surprises(few)
    seen = np.stack([np.zeros(few.n, bool) if one.kind == "vector" else one.seen for one in few.columns], axis=1)
    return averages(np.where(seen, found, np.nan))


def _cell(exhibit: Exhibit, place: int, which: int, excess: float) -> dict[str, str]:
    column = exhibit.columns[which]
    owner = int(exhibit.owners[place])
    return {
        "name": shown(column.label),
        "value": cell(column, column.values[place]),
        "usual": reading(column, owner),
        "excess": "+∞" if np.isinf(excess) else minus(f"{excess:+.1f}"),
    }
