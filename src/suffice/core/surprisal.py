"""How strange rows and cells are under a distribution."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from suffice.core.asked import Asked
from suffice.core.errors import SufficeError
from suffice.core.imputation import by_pattern
from suffice.core.latent import BLOCK_CELLS
from suffice.core.parameters import Array
from suffice.core.readings import number
from suffice.core.sketch import taken
from suffice.engines.once import cached_property

SHOWN = 5
FEW, DRAWS = 30, 300  # rows that do not say yet what is usual, and draws of the model that do instead


@dataclass(frozen=True, eq=False, repr=False)
class Surprisal:
    """−log p of rows, and of each cell given the other cells that its row has, in nats.

    Attributes
    ----------
    rows
        −log p of each row, (n,): infinite where it cannot be.
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
        return self._asked.beside(dict(zip(self._asked.columns, self.matrix.T, strict=True)))

    @cached_property
    def usual(self) -> Array:
        """What a cell of each column has on average: in these rows, or where they are few, in draws of the model."""
        if len(self) < FEW:
            with suppress(SufficeError):  # a model that cannot be drawn from
                return averages(surprisal(self._model, self._model.sample(DRAWS, 0)).matrix)
        return averages(self.matrix)

    def strangest(self, n: int = SHOWN) -> list[tuple[int, Any]]:
        """The n strangest rows, by falling surprisal, each with the column that exceeds most what is usual in it."""
        order = np.argsort(-self.rows, kind="stable")[:n].tolist()
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
                shown = number(float(cell), 6) if isinstance(cell, (float, np.floating)) else f"{cell!s:.40}"
                told, usual = number(self.matrix[row, place]), number(self.usual[place], 2)
                why = f", most by {column} = {shown} ({told}; usual is {usual})"
            lines.append(f"  row {row}: {number(self.rows[row])}{why}")
        return "\n".join(lines)


def surprisal(model: Any, data: Any) -> Surprisal:
    """The surprisal of rows and cells; see :meth:`Distribution.surprisal`.

    Rows that have the same cells stand together, and a bounded number of them is dealt with at a time.
    """
    asked, stack = Asked.of(model, data), model.stacked
    rows, holes = asked.rows(model), asked.holes()
    model.remark(rows)
    labels, n = model.column_labels, len(asked)
    order = by_pattern(holes)
    found, matrix = np.empty(n), np.empty((n, len(labels)))
    step = max(BLOCK_CELLS // (width(model) * len(labels)), 256)
    for begin in range(0, n, step):
        index = order[begin : begin + step]
        part = taken(rows, index)
        whole = stack.log_density(part)[:, 0]
        found[index] = -whole
        for label, others in stack.without_each(part):
            with np.errstate(invalid="ignore"):
                matrix[index, labels.index(label)] = others[:, 0] - whole
    for place, label in enumerate(labels):
        matrix[holes[label], place] = np.nan
    keys = tuple(asked.keys[label] for label in labels)
    return Surprisal(found, matrix, keys, asked, model)


def averages(matrix: Array) -> Array:
    """What a cell of each column has on average, (d,): of a matrix like `Surprisal.matrix`, as far as it is finite."""
    there = np.isfinite(matrix)
    return np.asarray(np.where(there, matrix, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1))


def width(model: Any) -> int:
    """How many members score a row."""
    inner = getattr(model, "components", None)
    return int(model.members) if inner is None else max(int(inner.members), 1)
