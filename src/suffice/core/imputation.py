"""Holes of rows filled from the cells that they have: by what is expected, or by draws."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from suffice.core.asked import Asked
from suffice.core.errors import ParameterError
from suffice.core.parameters import Array, generator


class Imputed(NamedTuple):
    """Completed rows, and how sure each value is, as a table of the same kind.

    ``uncertainty`` is the conditional standard deviation of a number, 0 where it was seen, and the probability of a
    label, 1 where it was seen.
    """

    data: Any
    uncertainty: Any


def impute(model: Any, data: Any, *, n: Any, draw: bool, uncertainty: bool, random_state: Any) -> Any:
    """Fill the holes of ``data``; see :meth:`Distribution.impute`."""
    if n is not None and (isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1):
        msg = f"impute: n is how many completed copies to draw, a whole number of at least 1; got {n!r}."
        raise ParameterError(msg)
    if uncertainty and (draw or n is not None):
        msg = "impute: draws show how uncertain a value is by how they differ; leave out uncertainty=True."
        raise ParameterError(msg)
    asked = Asked.of(model, data)
    model.remark(asked.rows(model))
    holes = asked.holes()
    order = by_pattern(holes)
    where = {label: order[holes[label][order]] for label in holes if holes[label].any()}
    if n is not None or draw:
        rng = generator(random_state)
        copies = [asked.back(_drawn(model, asked, where, rng)) for _ in range(int(n or 1))]
        return copies if n is not None else copies[0]
    return _expected(model, asked, where, uncertainty=uncertainty)


def _expected(model: Any, asked: Asked, where: dict[Any, Array], *, uncertainty: bool) -> Any:
    filled, doubts = {}, {}
    for label, index in where.items():
        (told,) = model.stacked.foretell(asked.rows(model, index), label)
        told.remark(label, index)
        filled[label] = put(asked.columns[label], index, told.typical)
        if uncertainty:
            doubts[label] = index, told.doubt
    whole = asked.back(filled)
    if not uncertainty:
        return whole
    sure = {}
    for label in model.column_labels:
        (one,) = model.stacked.foretell(asked.rows(model, slice(0, 1)), label)
        sure[label] = np.full(len(asked), 0.0 if one.levels is None else 1.0)
        if label in doubts:
            index, doubt = doubts[label]
            sure[label][index] = doubt
    return Imputed(whole, asked.beside(sure))


def _drawn(model: Any, asked: Asked, where: dict[Any, Array], rng: np.random.Generator) -> dict[Any, Array]:
    """One copy without holes: column by column, each given what is seen and what is drawn already."""
    columns, drawn = dict(asked.columns), {}
    for label, index in where.items():
        (told,) = model.stacked.foretell(asked.rows(model, index, columns), label)
        columns[label] = drawn[label] = put(columns[label], index, told.draw(rng))
    return drawn


def put(column: Array, index: Array, values: Array) -> Array:
    """A column with some of its cells filled."""
    same = column.dtype.kind == values.dtype.kind or (column.dtype.kind in "fb" and values.dtype.kind in "biuf")
    kind = column.dtype if same or column.dtype.kind == "O" else np.dtype(object)
    found = np.array(column, dtype=kind) if not isinstance(column, np.ma.MaskedArray) else column.astype(kind)
    if kind.kind == "O":
        found[index] = values.tolist() if values.dtype.kind not in "mM" else list(values)
    else:
        found[index] = values
    return found


def by_pattern(holes: dict[Any, Array]) -> Array:
    """The rows in an order that keeps those together which have the same cells: each set is dealt with once."""
    packed = np.packbits(np.stack(list(holes.values()), axis=1), axis=1)
    return np.lexsort(packed.T)
