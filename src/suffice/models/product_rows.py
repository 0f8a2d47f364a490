"""How a product reads rows, and scores them: a part for each of its distributions."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from suffice.errors import DataError, naming
from suffice.models.columns import (
    by_name,
    by_position,
    is_single,
    keyed,
    materialize,
    names_of,
    naming_columns,
    numbered,
)
from suffice.models.compound import Table
from suffice.tables.frame import Frame
from suffice.tables.rows import axes_of, refuse_what_is_no_data
from suffice.types import Array, Data, Rows


class ProductRows:
    """Rows of a product, as a base class of it."""

    name: Any  # of the product itself, as all of these
    blocks: Any
    named: Any
    columns: Any
    n_components: Any
    rebuilt: Any
    _widths: Any
    _columns_of: Any

    def materialize(self, x: Data) -> Any:
        """Data in a form that can be read more than once; rows with names become columns with names."""
        return numbered(self.blocks, materialize(x)) if self.named else materialize(x)

    def read(self, x: Data) -> Table:
        x = self.materialize(x)
        if not keyed(x) and not isinstance(x, Table):
            refuse_what_is_no_data(x, self.name)
        columns = x.parts if isinstance(x, Table) else self._cut(x)
        parts = []
        for (key, block), column in zip(self.blocks.items(), columns, strict=True):
            with nullcontext() if isinstance(column, Frame) else naming(self._columns_of(key)):
                parts.append(block.read(column))
        lengths = {key: len(part) for key, part in zip(self.blocks, parts, strict=True)}
        if len(set(lengths.values())) > 1:
            msg = f"the columns have different lengths: {lengths}; give as many values in each."
            raise DataError(msg)
        return Table(tuple(parts), len(parts[0]))

    def _cut(self, x: Data) -> list[Any]:
        """The rows of each part."""
        if keyed(x) and (self.named or not isinstance(x, Frame)):
            if not self.named:
                there = ", ".join(map(repr, x.keys()))
                msg = (
                    f"Product has {len(self.blocks)} parts by position, but the data have the columns {there} by name. "
                    "Name the parts, as in Product({'age': Normal()}), or give an array."
                )
                raise DataError(msg)
            return by_name(self.blocks, x, single=self.is_single(x))
        shape = axes_of(x, self.name)
        widths = self._widths(shape[1] if len(shape) == 2 else None)
        return by_position(widths, x, single=self.is_single(x))

    def is_single(self, x: Data) -> bool:
        if isinstance(x, Table) or keyed(x):
            return is_single(self.blocks, x)
        return len(axes_of(x, self.name)) == 1 and self.columns not in (None, 1) and len(x) == self.columns

    def for_data(self, rows: Any) -> Any:
        return self.rebuilt(block.for_data(part) for block, part in zip(self.blocks.values(), rows.parts, strict=True))

    def check_columns(self, rows: Any) -> None:
        for (key, block), part in zip(self.blocks.items(), rows.parts, strict=True):
            if block.row_vector or not isinstance(key, tuple):  # ("a", "b"): Normal() has two columns by its names
                with naming_columns(self._columns_of(key)):
                    block.check_columns(part)

    def warn_about_rows(self, rows: Any, where: str = "") -> None:
        for (key, block), part in zip(self.blocks.items(), rows.parts, strict=True):
            block.warn_about_rows(part, f"{where}column {key!r}: ")

    def log_density(self, x: Any) -> Array:
        out = np.zeros((len(x), self.n_components))
        for block, part in zip(self.blocks.values(), x.parts, strict=True):
            out += block.log_density(part)
        return out

    def log_prob_by_column(self, x: Rows) -> list[tuple[Any, Array]]:
        return self._by_column(x, lambda block, part: block.log_prob_by_column(part))

    def log_odds_by_column(self, x: Rows, first: int, second: int) -> list[tuple[Any, Array]]:
        return self._by_column(x, lambda block, part: block.log_odds_by_column(part, first, second))

    def unseen_levels(self, x: Rows) -> list[tuple[Any, Array]]:
        return self._by_column(x, lambda block, part: block.unseen_levels(part))

    def _by_column(self, x: Any, ask: Callable[[Any, Any], list[tuple[Any, Array]]]) -> list[tuple[Any, Array]]:
        """What blocks answer by their columns, by the columns of the whole."""
        found, start = [], 0
        for (key, block), part in zip(self.blocks.items(), x.parts, strict=True):
            names = names_of(key) if self.named else None
            width = 0
            for columns, scores in ask(block, part):
                width = max(width, max(columns) + 1)
                if names is None:
                    found.append((tuple(start + column for column in columns), scores))
                else:
                    found.append((names if len(names) < width else tuple(names[column] for column in columns), scores))
            start += width
        return found
