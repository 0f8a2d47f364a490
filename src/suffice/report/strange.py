"""The rows that the model finds strangest, and the cells that make them so."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.anatomy import without
from suffice.core.errors import SufficeError
from suffice.core.parameters import Array
from suffice.core.readings import number
from suffice.core.shown import minus, shown
from suffice.core.surprisal import averages, expected_surprisal, largest_excess
from suffice.exhibit import Exhibit
from suffice.report.words import cell, reading

ROWS = 8
CELLS = 3
USUAL = 2000  # rows by which is judged what is usual in a column
LOOKED_AT = 500_000  # cells of which all are looked at
LEAST = 1.0  # nats by which a cell must be stranger than usual


def strangest(exhibit: Exhibit) -> list[dict[str, Any]]:
    """The rows with the cells that are most surprising given the others of their row.

    The surprise of a cell is −log p(cell | all others of the row), less what it is on average in its column: densities
    have units, and only so can columns be compared. Rows are ranked by their most surprising cell. Of very many rows
    only those are looked at that are least probable for the cells that they have: a row that lacks cells has a larger
    density, so that what the model expects of its cells is taken off.
    """
    heights, usual = exhibit.log_prob(), _usual(exhibit)
    some = np.arange(exhibit.n)
    if exhibit.n * len(exhibit.columns) > LOOKED_AT:
        gain = heights + _expected(exhibit)
        some = np.argsort(np.where(np.isnan(gain), np.inf, gain), kind="stable")[:USUAL]
    looked = exhibit.at(some)
    matrix = np.where(_seen(looked), surprises(looked), np.nan)
    worst = largest_excess(matrix, usual, -heights[some])
    if all(column.kind == "vector" for column in looked.columns):
        worst = -heights[some]
    order = some[np.argsort(-worst, kind="stable")[:ROWS]]
    few = exhibit.at(order)
    excess = surprises(few) - usual
    excess[:, [column.kind == "vector" for column in few.columns]] = np.nan
    found = []
    for place, row in enumerate(order.tolist()):
        least = LEAST if len(few.columns) > 1 else -np.inf  # the only cell it is, then
        cells = [int(i) for i in np.argsort(-excess[place], kind="stable")[:CELLS] if excess[place, i] >= least]
        found.append({
            "row": f"{row:,}", "log_prob": number(heights[row]),
            "member": shown(few.members[few.owners[place]], 24),
            "cells": [_cell(few, place, column, excess[place, column]) for column in cells],
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


def _expected(exhibit: Exhibit) -> Array:
    """What the model expects of −log p of each row's cells; 0 where it cannot be asked by cells."""
    try:
        return expected_surprisal(exhibit.model, np.stack([column.seen for column in exhibit.columns], axis=1))
    except SufficeError:  # vectors in a cell
        return np.zeros(exhibit.n)


def _usual(exhibit: Exhibit) -> Array:
    few = exhibit.fewer(USUAL)
    return averages(np.where(_seen(few), surprises(few), np.nan))


def _seen(exhibit: Exhibit) -> Array:
    """Which cells are there, and are numbers or labels, (n, d)."""
    return np.stack(
        [np.zeros(exhibit.n, bool) if one.kind == "vector" else one.seen for one in exhibit.columns], axis=1
    )


def _cell(exhibit: Exhibit, place: int, which: int, excess: float) -> dict[str, str]:
    column = exhibit.columns[which]
    owner = int(exhibit.owners[place])
    return {
        "name": shown(column.label),
        "value": cell(column, column.values[place]),
        "usual": reading(column, owner),
        "excess": "+∞" if np.isinf(excess) else minus(f"{excess:+.1f}"),
    }
