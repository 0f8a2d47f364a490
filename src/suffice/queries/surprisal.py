"""How strange rows and cells are under a distribution."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from suffice.display.names import display_name
from suffice.display.values import number
from suffice.engines.once import cached_property
from suffice.errors import SufficeError
from suffice.queries.given import check_single
from suffice.queries.imputation import by_pattern
from suffice.queries.rows import QueryRows
from suffice.tables.sketch import take_rows
from suffice.types import Array, Data

SHOWN = 5
MASKED = 1_000_000  # draws that are scored to learn what is expected of every set of cells, about
BLOCK_ROWS = 60_000  # that are scored together
FEW, DRAWS = 30, 300  # rows that do not say yet what is usual, and draws of the model that do instead
BLOCK_CELLS = 1 << 17  # rows × components that are scored at a time: 1 MB


@dataclass(frozen=True, eq=False, repr=False)
class Surprisal:
    """−log p of rows, and of each cell given the other cells that its row has, in nats.

    Attributes
    ----------
    rows
        −log p of each row, (n,): infinite where it cannot be. A row that lacks cells has less of it.
    expected
        What the model expects of a row with the same cells, (n,): its entropy, from 300 draws with a fixed seed.
    excess
        ``rows − expected``: how strange a row is as a whole for the cells that it has.
    worst
        By how much the strangest cell of each row exceeds what is usual in its column, (n,): −inf where a row has no
        cell. By this rows are ranked: one wrong cell is lost among the chance of many others in the sum of all, and
        with one corrupted cell in 2 % of the rows this found them more often than ``excess`` on every table that was
        tried (airquality, pbc, SLID, bfi).
    matrix
        −log p of each cell given the others of its row, (n, d). NaN where the cell is missing, and where the others
        alone cannot be, so that nothing follows from them.
    names
        The columns.
    cells
        The matrix as the same kind of table as the rows.
    usual
        What a cell of each column has on average, (d,): only by what exceeds it can columns of different units be
        compared.
    """

    rows: Array
    matrix: Array
    names: tuple[Any, ...]
    _asked: Any = field(default=None, repr=False)
    _model: Any = field(default=None, repr=False)

    @cached_property
    def cells(self) -> Any:
        """The surprisal of every cell, as the same kind of table as the rows."""
        return self._asked.as_table(dict(zip(self._asked.columns, self.matrix.T, strict=True)))

    @cached_property
    def usual(self) -> Array:
        """What a cell of each column has on average: in these rows, or where they are few, in draws of the model."""
        if len(self) < FEW:
            with suppress(SufficeError):  # a model that cannot be drawn from
                return averages(surprisal(self._model, self._model.sample(DRAWS, 0)).matrix)
        return averages(self.matrix)

    @cached_property
    def expected(self) -> Array:
        """What the model expects of a row with the same cells, (n,)."""
        return expected_surprisal(self._model, ~np.stack(list(self._asked.holes().values()), axis=1))

    @cached_property
    def excess(self) -> Array:
        """How strange each row is for the cells that it has, (n,): in nats more than expected."""
        return np.asarray(self.rows - self.expected)

    @cached_property
    def worst(self) -> Array:
        """By how much the strangest cell of each row exceeds what is usual in its column, (n,)."""
        return largest_excess(self.matrix, self.usual, self.rows)

    def strangest(self, n: int = SHOWN) -> list[tuple[int, Any]]:
        """The n strangest rows, by falling ``worst``, each with the column that exceeds most what is usual in it."""
        order = np.argsort(-self.worst, kind="stable")[:n].tolist()
        return [(row, self._worst(row)) for row in order]

    def _worst(self, row: int) -> Any:
        cells = self.matrix[row] - self.usual
        return None if np.isnan(cells).all() else self.names[int(np.nanargmax(cells))]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def __repr__(self) -> str:
        """Show the strangest rows and which cell makes them so."""
        n = len(self.rows)
        finite = self.rows[np.isfinite(self.rows)]
        middle = f", median {number(np.median(finite))} nats" if len(finite) else ""
        lines = [f"Surprisal of {n} row{'s'[: n != 1]}{middle}"]
        values = self._asked.columns
        for row, column in self.strangest():
            why = ""
            if column is not None:
                place = self.names.index(column)
                cell = list(values.values())[place][row]
                value = number(float(cell), 6) if isinstance(cell, (float, np.floating)) else display_name(cell)
                own, usual = number(self.matrix[row, place]), number(self.usual[place], 2)
                why = f", most by {display_name(column)} = {value} ({own}; usual is {usual})"
            lines.append(f"  row {row}: {number(self.rows[row])}, expected {number(self.expected[row], 3)}{why}")
        return "\n".join(lines)


def surprisal(model: Any, data: Data) -> Surprisal:
    """The surprisal of rows and cells; see :meth:`Distribution.surprisal`.

    Rows that have the same cells stand together, and a bounded number of them is dealt with at a time.
    """
    check_single(model)
    asked, stack = QueryRows.of(model, data), model.stacked
    rows, holes = asked.rows(model), asked.holes()
    model.warn_about_rows(rows)
    labels, n = model.column_labels, len(asked)
    order = by_pattern(holes)
    found, matrix = np.empty(n), np.empty((n, len(labels)))
    step = max(BLOCK_CELLS // (width(model) * len(labels)), 256)
    for begin in range(0, n, step):
        index = order[begin : begin + step]
        part = take_rows(rows, index)
        whole = stack.log_density(part)[:, 0]
        found[index] = -whole
        for label, others in stack.leave_one_out_log_prob(part):
            with np.errstate(invalid="ignore"):
                matrix[index, labels.index(label)] = others[:, 0] - whole
    for place, label in enumerate(labels):
        matrix[holes[label], place] = np.nan
    keys = tuple(asked.keys[label] for label in labels)
    return Surprisal(found, matrix, keys, asked, model)


def expected_surprisal(model: Any, seen: Array) -> Array:
    """E[−log p] of the cells that each row has, (n,), under the model; ``seen`` (n, d) says which these are.

    It is the entropy of their marginal, as the average of draws: the same draws for all sets of cells.
    """
    patterns, which = np.unique(seen, axis=0, return_inverse=True)
    try:
        columns = QueryRows.of(model, model.sample(DRAWS, 0)).columns
    except SufficeError:  # a model that cannot be drawn from
        return np.zeros(len(seen))
    columns = {label: values[: max(MASKED // len(patterns), FEW)] for label, values in columns.items()}
    draws = len(next(iter(columns.values())))
    found = np.empty(len(patterns))
    step = max(BLOCK_ROWS // draws, 1)
    for begin in range(0, len(patterns), step):
        some = patterns[begin : begin + step]
        masks = zip(columns.items(), np.repeat(some, draws, axis=0).T, strict=True)
        masked = {label: _masked(np.tile(values, len(some)), there) for (label, values), there in masks}
        log_probs = model.stacked.log_density(model.read(model.arranged(masked)))[:, 0].reshape(len(some), draws)
        finite = np.isfinite(log_probs)
        found[begin : begin + step] = -np.where(finite, log_probs, 0.0).sum(axis=1) / np.maximum(finite.sum(axis=1), 1)
    return np.asarray(found[which.reshape(-1)])


def _masked(values: Array, there: Array) -> Array:
    """A column in which only some cells are there."""
    if there.all():
        return values
    values = values.astype(float) if values.dtype.kind in "biuf" else values.astype(object)
    values[~there] = np.nan if values.dtype.kind == "f" else None
    return values


def largest_excess(matrix: Array, usual: Array, rows: Array) -> Array:
    """The largest excess of a cell over what is usual, (n,); rows that cannot be, by whatever cells, come first."""
    above = np.where(np.isnan(matrix), -np.inf, matrix - usual)
    return np.asarray(np.where(np.isposinf(rows), np.inf, above.max(axis=1, initial=-np.inf)))


def averages(matrix: Array) -> Array:
    """What a cell of each column has on average, (d,): of a matrix like `Surprisal.matrix`, as far as it is finite."""
    there = np.isfinite(matrix)
    return np.asarray(np.where(there, matrix, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1))


def width(model: Any) -> int:
    """How many components score a row."""
    inner = getattr(model, "components", None)
    return int(model.n_components) if inner is None else max(int(inner.n_components), 1)
