"""What questions about some columns ask of a distribution: its marginals, its conditionals, and columns by label.

Here are those of independent columns, and of vectors as far as any has them. A column goes by its label: its name in a
product, else its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.core.combinators import make_product
from suffice.core.formulas import Formulas
from suffice.queries.conditional import ConditionalColumn
from suffice.tables.frame import Frame
from suffice.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class Queryable(Formulas):
    """A joint distribution that can be asked about some of its columns."""

    @property
    def column_names(self) -> tuple[Any, ...] | None:
        """The names of the columns, in order; None where they go by place."""
        return None

    @property
    def column_labels(self) -> tuple[Any, ...]:
        """By what the columns can be asked for: their names or places. A vector in one cell is one column."""
        return tuple(range(self.columns or 1))

    @property
    def vector_labels(self) -> frozenset[Any]:
        """The columns whose cells are vectors."""
        return frozenset(self.column_labels) if self.support.core else frozenset()

    @property
    def row_axes(self) -> int:
        """The axes that one row has: 0 of a number or label, 1 of a vector."""
        return max(self.support.core, int(self.row_vector))

    def column_levels(self, label: Any) -> tuple[Any, ...] | None:
        """The levels of a column of labels; None where it holds numbers, or components disagree about that."""
        del label
        return None

    def with_column_names(self, names: tuple[Any, ...]) -> Any:
        """The same distribution with names for its columns: a product of a single part, or of parts with names."""
        return make_product({tuple(names): self})

    def arranged(self, columns: dict[Any, Any]) -> Any:
        """Columns by label in a form that ``read`` takes; all of them, in order."""
        arrays = list(columns.values())
        return np.stack(arrays, axis=1) if self.support.core else Frame(columns, len(arrays[0]))

    def marginal_columns(self, columns: list[int]) -> Any:
        """The marginal of some columns, by place; numbers instead of arrays for a single one."""
        if self.row_vector:
            raise self._cannot("tell the distribution of some of its columns")
        if not self.batch:
            return self
        axis = len(self.batch) - 1
        chosen: Any = columns[0] if len(columns) == 1 and self.lone else columns
        return self.reshaped(lambda value: value[(slice(None),) * axis + (chosen,)])

    def marginal_column(self, label: Any) -> Any:
        """The marginal of one column, as a distribution of one number or label."""
        return self.marginal_columns([label])

    def marginal_of(self, labels: tuple[Any, ...]) -> Any:
        """The marginal of some columns, with names where they have some."""
        return self.marginal_columns(list(labels))

    def conditional(self, known: dict[Any, Any]) -> Any:
        """The distribution of the other columns, given ``known`` values by label; independent ones stay as they are."""
        if self.row_vector:
            raise self._cannot("be conditioned on some of its columns: it has no closed form for the others")
        return self.marginal_of(tuple(label for label in self.column_labels if label not in known))

    def conditional_column(self, x: Any, label: Any) -> list[ConditionalColumn]:
        """One column of rows, given the other cells that they have, for each component of the stack.

        ``x`` are rows as ``read`` gives them, in which that cell is missing.
        """
        if self.row_vector or self.support.core:
            raise self._cannot("predict a cell: it is a vector, or has no closed form given the others")
        column = self.marginal_columns([label])
        return [ConditionalColumn.of(len(x), one.reshaped(lambda value: value[0])) for one in column.unstacked]

    def leave_one_out_log_prob(self, x: Any) -> Iterator[tuple[Any, Array]]:
        """The log density (n, k) of a block of rows without one of the cells, for every column by label."""
        if not self.row_vector:
            pieces = [self.marginal_columns([label]).log_density(_column(x, label)) for label in self.column_labels]
            yield from zip(self.column_labels, all_but_one(pieces), strict=True)
            return
        for label in self.column_labels:
            masked = np.array(x, dtype=float)
            masked[:, label] = np.nan
            yield label, self.log_density(masked)

    def information(self, left: tuple[Any, ...], right: tuple[Any, ...]) -> float:
        """What two groups of columns tell of each other, in nats."""
        if not self.row_vector:
            return 0.0
        alone = self.marginal_of(left).entropy() + self.marginal_of(right).entropy()
        return max(float(alone - self.marginal_of((*left, *right)).entropy()), 0.0)


def all_but_one(parts: list[Array]) -> Iterator[Array]:
    """The sum of all arrays but one, for each of them; by addition alone, so that one large part spoils no other."""
    after = [np.zeros_like(parts[0])]
    for part in reversed(parts[1:]):
        after.append(after[-1] + part)
    before = np.zeros_like(parts[0])
    for part in parts:
        yield before + after.pop()
        before = before + part


def _column(x: Any, place: int) -> Any:
    """One column of rows as ``read`` gives them."""
    return x.column(place) if hasattr(x, "column") else x[:, place : place + 1]
