"""What to tell with an estimate: priors that say nothing, rows and columns without a value, rows that cannot be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from suffice.core.data import LARGEST, too_large
from suffice.core.distribution import Alert, Distribution
from suffice.core.errors import DataError
from suffice.core.parameters import Array
from suffice.core.sketch import blank
from suffice.core.weights import Weights
from suffice.engines import local


def unbelieved(prototype: Any, prior: Any) -> tuple[Alert, ...]:
    """What to tell of the parts that a named prior says nothing of."""
    silent = prototype.silent(prior)
    if not silent:
        return ()
    text = (
        f"prior='weak' says nothing of {', '.join(silent)}: there is no conjugate prior that gives its mode, so its "
        "parameters are estimated by maximum likelihood."
    )
    return (("no prior", text),)


def under(prior: Any, alert: Alert) -> Alert:
    """An alert that advises a prior, where there is one already: what that prior would have to be instead."""
    code, text = alert
    fact, advised, _ = text.partition(" A prior")
    if prior is None or isinstance(prior, dict) or not advised:  # a dictionary may leave out the block in question
        return alert
    inward = getattr(getattr(prior, "belief", prior), "inward", Distribution.inward)
    return code, f"{fact} This prior does not prevent it; {inward} does."


def without_cells(learned: Any, cells: Array, rows: Any, weights: Weights) -> list[Alert]:
    """What to tell of columns and rows without any value, where ``cells`` is the weight of those that were seen."""
    found = list[Alert]()
    if (cells == 0).any():
        bare = [learned.column_label(int(column)) for column in np.unique(np.argwhere(cells == 0)[:, -1])]
        found.append(("unseen", unseen(bare)))
    lacks = cells.ndim == 2 and weights.total - cells.sum(axis=0) > 1e-9 * weights.total
    if not np.all(lacks) or cells.shape[1:] == (1,):  # some column has every cell, or a hole is a row
        return found
    lost = _rows(lambda part: blank(rows[part]), weights, cells.shape[1])
    if lost:
        text = f"{lost} no value at all: nothing is learned from what n still counts. Drop such rows."
        found.append(("blank", text))
    return found


def impossible(learned: Any, rows: Any, weights: Weights) -> Alert:
    """What to tell of an estimate under which some row cannot be."""
    stack, width = learned.stacked, max(int(learned.columns or 1), 1)
    lost = _rows(lambda part: np.isneginf(stack.log_density(rows[part])).any(axis=1), weights, width) or "some row has"
    text = f"{lost} probability 0 under the estimate: no pass could climb from the start. Give another start."
    return "impossible", text


def refuse_large(model: Any, rows: Any, weights: Weights) -> None:
    """Refuse numbers whose squares float64 cannot hold: every spread would be infinite, or no number at all."""
    for first, part in _numbers(rows):
        cells = part.reshape(len(part), -1)
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.vdot(cells, cells)
        if squares < LARGEST**2:  # none; else one, or a hole, or many
            continue
        far = np.argwhere((np.abs(cells) > LARGEST) & np.isfinite(cells) & (weights.per_row() > 0)[:, None])
        if len(far):
            row, column = far[0].tolist()
            raise DataError(too_large(model.name, cells[row, column], row, model.column_label(first + column)))


def _numbers(rows: Any, first: int = 0) -> Iterator[tuple[int, Array]]:
    """The parts of rows that are numbers, and how many columns are before each."""
    for part in getattr(rows, "parts", (rows,)):
        if hasattr(part, "parts"):
            yield from _numbers(part, first)
        elif isinstance(part, np.ndarray) and part.dtype == np.float64:  # others hold none
            yield first, part
        first += int(np.prod(np.shape(part)[1:]))


def _rows(which: Callable[[slice], Array], weights: Weights, width: int) -> str:
    """The rows of which something holds, as the subject of a sentence; none that count: nothing."""

    def cells(part: slice) -> Array:
        return np.where(which(part) & (weights[part].per_row() > 0), 1.0, 0.0)[:, None]

    found = np.flatnonzero(local.fill(cells, weights.length, width)[:, 0]).tolist()
    if not found:
        return ""
    return f"{len(found)} rows, of which row {found[0]} is the first, have" if found[1:] else f"row {found[0]} has"


def unseen(columns: list[str]) -> str:
    """What to tell of columns without any value."""
    columns = list(dict.fromkeys(columns))
    if not columns[1:]:
        return f"column {columns[0]} has no value at all; its parameters are those of the prototype."
    return f"columns {', '.join(columns)} have no value at all; their parameters are those of the prototype."
