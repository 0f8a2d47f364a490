"""The rows that the model finds strangest, and the cells that make them so."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.display.names import display_name, minus
from suffice.display.values import number
from suffice.errors import SufficeError
from suffice.plot.component_columns import without
from suffice.plot.model_view import ModelView
from suffice.queries.surprisal import averages, expected_surprisal, largest_excess
from suffice.report.words import cell, reading
from suffice.types import Array

ROWS = 8
CELLS = 3
USUAL = 2000  # rows by which is judged what is usual in a column
LOOKED_AT = 500_000  # cells of which all are looked at
LEAST = 1.0  # nats by which a cell must be stranger than usual


def strangest(view: ModelView) -> list[dict[str, Any]]:
    """The rows with the cells that are most surprising given the others of their row.

    The surprise of a cell is −log p(cell | all others of the row), less what it is on average in its column: densities
    have units, and only so can columns be compared. Rows are ranked by their most surprising cell. Of very many rows
    only those are looked at that are least probable for the cells that they have: a row that lacks cells has a larger
    density, so that what the model expects of its cells is taken off.
    """
    log_probs, usual = view.log_prob(), _usual(view)
    some = np.arange(view.n)
    if view.n * len(view.columns) > LOOKED_AT:
        gain = log_probs + _expected(view)
        some = np.argsort(np.where(np.isnan(gain), np.inf, gain), kind="stable")[:USUAL]
    looked = view.at(some)
    matrix = np.where(_seen(looked), surprises(looked), np.nan)
    worst = largest_excess(matrix, usual, -log_probs[some])
    if all(column.kind == "vector" for column in looked.columns):
        worst = -log_probs[some]
    order = some[np.argsort(-worst, kind="stable")[:ROWS]]
    few = view.at(order)
    excess = surprises(few) - usual
    excess[:, [column.kind == "vector" for column in few.columns]] = np.nan
    found = []
    for place, row in enumerate(order.tolist()):
        least = LEAST if len(few.columns) > 1 else -np.inf  # the only cell it is, then
        cells = [int(i) for i in np.argsort(-excess[place], kind="stable")[:CELLS] if excess[place, i] >= least]
        found.append({
            "row": f"{row:,}", "log_prob": number(log_probs[row]),
            "component": display_name(few.components[few.owners[place]], 24),
            "cells": [_cell(few, place, column, excess[place, column]) for column in cells],
        })  # fmt: skip
    return found


def surprises(view: ModelView) -> Array:
    """−log p(cell | all others of its row), (n, d); 0 for a hole."""
    whole = view.log_prob()
    found = np.zeros((view.n, len(view.columns)))
    for i, column in enumerate(view.columns):
        if column.kind != "vector":
            rest = view.log_prob(without(view.model, view.rows, i))
            with np.errstate(all="ignore"):
                gap = rest - whole
            found[:, i] = np.where(column.seen, np.where(np.isnan(gap), 0.0, gap), 0.0)
    return found


def _expected(view: ModelView) -> Array:
    """What the model expects of −log p of each row's cells; 0 where it cannot be asked by cells."""
    try:
        return expected_surprisal(view.model, np.stack([column.seen for column in view.columns], axis=1))
    except SufficeError:  # vectors in a cell
        return np.zeros(view.n)


def _usual(view: ModelView) -> Array:
    few = view.fewer(USUAL)
    return averages(np.where(_seen(few), surprises(few), np.nan))


def _seen(view: ModelView) -> Array:
    """Which cells are there, and are numbers or labels, (n, d)."""
    return np.stack([np.zeros(view.n, bool) if one.kind == "vector" else one.seen for one in view.columns], axis=1)


def _cell(view: ModelView, place: int, which: int, excess: float) -> dict[str, str]:
    column = view.columns[which]
    owner = int(view.owners[place])
    return {
        "name": display_name(column.label),
        "value": cell(column, column.values[place]),
        "usual": reading(column, owner),
        "excess": "+∞" if np.isinf(excess) else minus(f"{excess:+.1f}"),
    }
