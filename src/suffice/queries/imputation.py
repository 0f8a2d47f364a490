"""Holes of rows filled from the cells that they have: by what is expected, or by draws."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, cast

import numpy as np

from suffice.arguments import generator
from suffice.errors import ParameterError
from suffice.queries.conditional import ConditionalColumn
from suffice.queries.given import check_single
from suffice.queries.rows import QueryRows
from suffice.tables.label_matching import spelling
from suffice.tables.labels import is_missing
from suffice.tables.layout import Layout, rounded
from suffice.types import Array, Data, Seed

Units = dict[Any, float]  # of columns, by name
CellConditional = Callable[
    ..., ConditionalColumn
]  # rows, a column, and columns that are drawn already → how the cells may be


class Imputed(NamedTuple):
    """Completed rows, and how sure each value is, as a table of the same kind.

    ``uncertainty`` is the conditional standard deviation of a number, 0 where it was seen, and the probability of a
    label, 1 where it was seen.
    """

    data: Any
    uncertainty: Any


def impute(
    model: Any,
    data: Data,
    *,
    n: int | None,
    draw: bool,
    uncertainty: bool,
    random_state: Seed,
    layout: Layout = (),
    tell: Callable[[QueryRows, Any], CellConditional] | None = None,
) -> Any:
    """Fill the holes of ``data``; see :meth:`Distribution.impute`. ``layout``: units to which numbers are rounded.

    ``tell(rows, rng)`` gives what says how one cell of some rows is distributed, where more is known of it than the
    other cells of its row; with an ``rng`` for one copy of draws.
    """
    check_single(model)
    if n is not None and (isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1):
        msg = f"impute: n is how many completed copies to draw, a whole number of at least 1; got {n!r}."
        raise ParameterError(msg)
    if uncertainty and (draw or n is not None):
        msg = "impute: draws show how uncertain a value is by how they differ; leave out uncertainty=True."
        raise ParameterError(msg)
    asked = QueryRows.of(model, data)
    model.warn_about_rows(asked.rows(model))
    holes = asked.holes()
    order = by_pattern(holes)
    where = {label: order[holes[label][order]] for label in asked.there if holes[label].any()}
    units = {name: unit for name, _, unit in layout if unit is not None}
    tell = tell or (lambda rows, _: _by_row(model, rows))
    if n is not None or draw:
        rng = generator(random_state)
        copies = [asked.back(_drawn(model, asked, where, rng, units, tell)) for _ in range(int(n or 1))]
        return copies if n is not None else copies[0]
    return _expected(model, asked, where, units, tell(asked, None), uncertainty=uncertainty)


def _by_row(model: Any, asked: QueryRows) -> CellConditional:
    """How a cell is distributed given the other cells of its row."""

    def cell(index: Any, label: Any, columns: Any = None) -> ConditionalColumn:
        (conditional,) = model.stacked.conditional_column(asked.rows(model, index, columns), label)
        return cast("ConditionalColumn", conditional)

    return cell


def _expected(
    model: Any, asked: QueryRows, where: dict[Any, Array], units: Units, cell: CellConditional, *, uncertainty: bool
) -> Any:
    filled, doubts = {}, {}
    for label, index in where.items():
        conditional = cell(index, label)
        conditional.remark(label, index)
        filled[label] = put(asked.columns[label], index, _in_unit(conditional.typical, units, model, label))
        if uncertainty:
            doubts[label] = index, conditional.doubt
    whole = asked.back(filled)
    if not uncertainty:
        return whole
    sure = {}
    for label in asked.there:
        one = cell(slice(0, 1), label)
        sure[label] = np.full(len(asked), 0.0 if one.levels is None else 1.0)
        if label in doubts:
            index, doubt = doubts[label]
            sure[label][index] = doubt
    return Imputed(whole, asked.as_table(sure))


def _drawn(
    model: Any, asked: QueryRows, where: dict[Any, Array], rng: np.random.Generator, units: Units, tell: Any
) -> dict[Any, Array]:
    """One copy without holes: column by column, each given what is seen and what is drawn already."""
    columns, drawn, cell = dict(asked.columns), {}, tell(asked, rng)
    for label, index in where.items():
        conditional = cell(index, label, columns)
        columns[label] = drawn[label] = put(columns[label], index, _in_unit(conditional.draw(rng), units, model, label))
    return drawn


def _in_unit(values: Array, units: Units, model: object, label: Hashable) -> Array:
    """Numbers rounded to the unit of their column, where it has one."""
    return rounded(values, units[label], model, label) if label in units and values.dtype.kind == "f" else values


def put(column: Array, index: Array, values: Array) -> Array:
    """A column with some of its cells filled, by labels of its own kind where these are kept as another."""
    values = like_cells(values, column)
    if column.dtype.kind in "iuf" and values.dtype.kind in "OU" and isinstance(values[0], str):  # such as 1, 2 and "x"
        column = as_objects([None if is_missing(one) else spelling(one) for one in column.tolist()])
    same = column.dtype.kind == values.dtype.kind or (column.dtype.kind in "fb" and values.dtype.kind in "biuf")
    kind = column.dtype if same or column.dtype.kind == "O" else np.dtype(object)
    found = np.array(column, dtype=kind) if not isinstance(column, np.ma.MaskedArray) else column.astype(kind)
    if kind.kind == "O":
        found[index] = values.tolist() if values.dtype.kind not in "mM" else list(values)
    else:
        found[index] = values
    return found


def like_cells(values: Array, column: Array) -> Array:
    """Labels in the kind of a column's own cells: text where these are text, numbers where they are numbers.

    >>> like_cells(np.array([1, 2]), np.array(["2", None], dtype=object)).tolist()
    ['1', '2']
    >>> like_cells(np.array(["1", "2"], dtype=object), np.array([2.0, np.nan])).tolist()
    [1, 2]
    """
    cells = values.tolist() if values.dtype.kind not in "mM" else []
    words = {isinstance(one, str) for one in cells}
    if words == {False} and column.dtype.kind in "OU" and values.dtype.kind in "biuf":
        seen = [one for one in column.tolist() if not is_missing(one)]
        if seen and all(isinstance(one, str) for one in seen):
            return as_objects([spelling(one) for one in cells])
    if words == {True} and column.dtype.kind in "iuf":
        try:
            found = np.array([int(one) if one.lstrip("-").isdigit() else float(one) for one in map(spelling, cells)])
        except ValueError:
            return values
        return found
    return values


def as_objects(cells: list[Any]) -> Array:
    """Cells as an array of objects, whatever they are."""
    found = np.empty(len(cells), dtype=object)
    found[:] = cells
    return found


def by_pattern(holes: dict[Any, Array]) -> Array:
    """The rows in an order that keeps those together which have the same cells: each set is dealt with once."""
    packed = np.packbits(np.stack(list(holes.values()), axis=1), axis=1)
    return np.lexsort(packed.T)
