"""What to tell with an estimate: priors that say nothing, rows and columns without a value, rows that cannot be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from suffice.core.family import Family
from suffice.engines import local
from suffice.message_parts import Cell, Columns, Message
from suffice.statistics.weights import Weights
from suffice.tables.rows import LARGEST, too_large
from suffice.tables.sketch import blank
from suffice.types import Alert, Array, Prior, Rows


def are_alerts(value: tuple[Any, ...]) -> bool:
    """Whether it is a tuple of alerts, or of pairs of a code and a text: so says a file, which may say anything."""
    return isinstance(value, tuple) and all(isinstance(one, Alert) or _is_pair(one) for one in value)


def _is_pair(value: tuple[Any, ...]) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(isinstance(text, str) for text in value)


def as_alerts(pairs: Iterable[Alert | tuple[str, str]]) -> tuple[Alert, ...]:
    """Alerts, where files of earlier versions have pairs of a code and a text."""
    return tuple(one if isinstance(one, Alert) else Alert(*one) for one in pairs)


def unbelieved(prototype: Family, prior: Prior) -> tuple[Alert, ...]:
    """What to tell of the parts that a named prior says nothing of."""
    silent = prototype.blocks_without_prior(prior)
    if not silent:
        return ()
    text = (
        f"prior='weak' says nothing of {', '.join(silent)}: there is no conjugate prior that gives its mode, so its "
        "parameters are estimated by maximum likelihood."
    )
    return (Alert("no prior", text),)


def under(prior: Prior, alert: Alert) -> Alert:
    """An alert that advises a prior, where there is one already: what that prior would have to be instead."""
    if prior is None or isinstance(prior, dict) or not alert.prior_advice:  # a dictionary may leave out the block
        return alert
    inward = getattr(getattr(prior, "belief", prior), "inward", Family.inward)
    return replace(alert, prior_advice=f"This prior does not prevent it; {inward} does.")


def without_cells(learned: Any, cells: Array, rows: Rows, weights: Weights) -> list[Alert]:
    """What to tell of columns and rows without any value, where ``cells`` is the weight of those that were seen."""
    found = list[Alert]()
    if (cells == 0).any():
        found.append(unseen(learned, np.unique(np.argwhere(cells == 0)[:, -1])))
    lacks = cells.ndim == 2 and weights.total - cells.sum(axis=0) > 1e-9 * weights.total
    if not np.all(lacks) or cells.shape[1:] == (1,):  # some column has every cell, or a hole is a row
        return found
    lost = _rows(lambda part: blank(rows[part]), weights, cells.shape[1])
    if lost:
        text = " no value at all: nothing is learned from what n still counts. Drop such rows."
        found.append(Alert("blank", (*lost, text)))
    return found


def impossible(learned: Any, rows: Any, weights: Weights) -> Alert:
    """What to tell of an estimate under which some row cannot be."""
    stack, width = learned.stacked, max(int(learned.columns or 1), 1)
    lost = _rows(lambda part: np.isneginf(stack.log_density(rows[part])).any(axis=1), weights, width)
    text = " probability 0 under the estimate: no pass could rise from the start. Give another start."
    return Alert("impossible", (*(lost or ("some row has",)), text))


def refuse_large(model: Any, rows: object, weights: Weights) -> None:
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
            known = None if model.column_names is None else model.column_label(first + column)
            raise too_large(
                model.name, cells[row, column], Cell(row, first + column if known is None else known, known)
            )


def _numbers(rows: Any, first: int = 0) -> Iterator[tuple[int, Array]]:
    """The parts of rows that are numbers, and how many columns are before each."""
    for part in getattr(rows, "parts", (rows,)):
        if hasattr(part, "parts"):
            yield from _numbers(part, first)
        elif isinstance(part, np.ndarray) and part.dtype == np.float64:  # others hold none
            yield first, part
        first += int(np.prod(np.shape(part)[1:]))


def _rows(which: Callable[[slice], Array], weights: Weights, width: int) -> Message:
    """The rows of which something holds, as the subject of a sentence; none that count: nothing."""

    def cells(part: slice) -> Array:
        return np.where(which(part) & (weights[part].per_row() > 0), 1.0, 0.0)[:, None]

    found = np.flatnonzero(local.fill(cells, weights.length, width)[:, 0]).tolist()
    if not found:
        return ()
    first = Cell(found[0])
    return (f"{len(found)} rows, of which ", first, " is the first, have") if found[1:] else (first, " has")


def unseen(model: Family, places: Iterable[int]) -> Alert:
    """What to tell of columns without any value."""
    columns = columns_by_label(model, places)
    rest = "has no value at all; its" if len(columns.which) == 1 else "have no value at all; their"
    return Alert("unseen", (columns, f" {rest} parameters are those of the prototype."))


def columns_by_label(model: Family, places: Iterable[int]) -> Columns:
    """Columns of a model as its alerts name them: by its own names, else by place until they are known."""
    if model.column_names is None:
        return Columns(tuple(map(int, places)))
    labels = tuple(dict.fromkeys(model.column_label(int(place)) for place in places))
    return Columns(labels, labels)
