"""One column predicted from the others: a value, how sure it is, and an interval or the probabilities of labels."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.arguments import check_level
from suffice.display.values import decimals, many, measured, number, rounded
from suffice.queries.condition_warnings import warn_of_unusual
from suffice.queries.given import check_single, refuse_unknown_levels
from suffice.queries.rows import QueryRows, plain
from suffice.tables.column_names import label_of
from suffice.tables.labels import is_missing
from suffice.types import Array

SHOWN = 6


@dataclass(frozen=True, eq=False, repr=False)
class Prediction:
    """What is predicted of one column, of one row or of many.

    Attributes
    ----------
    column
        Its name or place.
    value
        The conditional mean, of whole numbers the median, of labels the most probable one.
    std, interval, level
        Of numbers: the conditional standard deviation, and the ends of the central interval that holds ``level``.
    probabilities
        Of labels: the conditional probability of each level, by level.
    """

    column: Any
    value: Any
    std: Any = None
    interval: tuple[Any, Any] | None = None
    probabilities: dict[Any, Any] | None = None
    level: float = 0.95

    def __repr__(self) -> str:
        """Show the value and how sure it is; of many rows the first."""
        n = np.size(self.value) if np.ndim(self.value) else None
        if n is None:
            return f"Prediction({self.column}: {self._cell(None)})"
        shown = "; ".join(self._cell(i) for i in range(min(n, SHOWN)))
        return f"Prediction({self.column}, {many(n, 'row')}: {shown}{'; …' if n > SHOWN else ''})"

    def _cell(self, row: int | None) -> str:
        def at(values: Any) -> Any:
            return values if row is None else values[row]

        if self.probabilities is not None:
            best = sorted(self.probabilities.items(), key=lambda pair: -at(pair[1]))[:3]
            return f"{at(self.value)!s} ({', '.join(f'{level}: {number(at(p), 3)}' for level, p in best)})"
        low, high = self.interval or (np.nan, np.nan)
        ends = " … ".join(rounded(float(at(end)), decimals(at(self.std))) for end in (low, high))
        return f"{measured(float(at(self.value)), float(at(self.std)))}, {100 * self.level:g} % interval {ends}"


def predict(model: Any, column: Hashable, given: object, level: float) -> Prediction:
    """Predict one column; see :meth:`Distribution.predict`."""
    check_single(model)
    check_level(level)
    label = label_of(column, model.column_labels, model.name)
    asked = QueryRows.of(model, {} if given is None else given, some=True)
    single = asked.single
    if single:
        cells = {one: plain(values[0]) for one, values in asked.columns.items() if one in asked.there and one != label}
        refuse_unknown_levels(model, {one: cell for one, cell in cells.items() if not is_missing(cell)})
    columns = {**asked.columns, label: np.full(len(asked), np.nan)}
    rows = asked.rows(model, columns=columns)
    warn_of_unusual(model, {one: asked.columns[one] for one in asked.there if one != label})
    model.warn_about_rows(rows)
    (conditional,) = model.stacked.conditional_column(rows, label)
    conditional.remark(label)

    def one(values: Array) -> Any:
        return plain(values[0]) if single else values

    levels = conditional.levels
    value = one(conditional.typical)
    if levels is not None:
        shares = conditional.probabilities
        return Prediction(
            column, value, probabilities={each: one(shares[:, j]) for j, each in enumerate(levels)}, level=level
        )
    low, high = conditional.quantiles((1 - level) / 2, (1 + level) / 2)
    return Prediction(column, value, one(conditional.std), (one(low), one(high)), level=level)
