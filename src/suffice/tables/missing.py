"""How many cells of the rows of a fit are missing."""

from __future__ import annotations

import numpy as np

from suffice.statistics.weights import Weights
from suffice.tables.labels import Labels
from suffice.types import Array, Rows

BLOCK = 65_536  # rows that are looked at together


def missing_cells(seen: Array, rows: Rows, weights: Weights) -> int:
    """How many cells are missing: each counts once, whatever its row weighs, unless that is 0.

    ``seen`` is the weight of the cells that are there, by column, which tells it where rows have no weights.
    """
    if weights.values is None:
        return round(float((weights.total - seen).clip(0).sum()))
    count = 0
    for begin in range(0, len(rows), BLOCK):
        part = slice(begin, begin + BLOCK)
        count += _holes(rows[part], np.asarray(weights[part].per_row() > 0))
    return count


def _holes(rows: Rows, held: Array) -> int:
    """How many cells of the rows that count are missing."""
    if isinstance(rows, Labels):
        return sum(int((column.codes[held] < column.low).sum()) for column in rows.columns)
    if isinstance(rows, np.ndarray) and rows.dtype.kind == "f":
        found = np.isnan(rows[held])
        return int((found.any(axis=tuple(range(2, rows.ndim))) if rows.ndim > 2 else found).sum())
    return sum(_holes(one, held) for one in getattr(rows, "parts", ()))  # of a table; others have no holes
