"""The parameters of a fit as rows: a table to print, to filter, or to make a DataFrame of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

from suffice.display.names import display_name
from suffice.display.summary import Parameter
from suffice.display.table import table_lines
from suffice.display.values import decimals, number, rounded

NAMES = ("component", "column", "parameter", "level")
SHOWN = 60  # rows of a print


class Estimates(Sequence[dict[str, Any]]):
    """Parameters as dictionaries, one for each number; ``estimates["std_error"]`` is a column, a print is a table.

    Each has ``component``, ``column``, ``parameter``, ``level`` (None where there is none), ``estimate``,
    ``std_error``,
    ``low`` and ``high``: 0 is the error of what is fixed, NaN that of what the rows do not tell.
    ``note`` says why there are no errors at all, where there are none.
    ``pandas.DataFrame(estimates)`` and ``polars.DataFrame(list(estimates))`` take them as they are.
    """

    def __init__(self, rows: Iterable[dict[str, Any]], level: float = 0.95, note: str = "") -> None:
        """Keep the rows; ``level`` is that of the intervals."""
        self.rows, self.level, self.note = list(rows), level, note

    @classmethod
    def of(cls, numbers: Iterable[Parameter], level: float, note: str = "") -> Self:
        """The rows of parameters with intervals of a level."""
        return cls(map(_row, numbers), level, note)

    def __len__(self) -> int:
        """Return the number of parameters."""
        return len(self.rows)

    def __getitem__(self, place: Any) -> Any:
        """Return a row by its number, some rows by a slice, or a column by its name."""
        if isinstance(place, str):
            return [row[place] for row in self.rows]
        return Estimates(self.rows[place], self.level, self.note) if isinstance(place, slice) else self.rows[place]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows."""
        return iter(self.rows)

    def __repr__(self) -> str:
        """Show the first rows as a table, without columns that say nothing."""
        used = [name for name in NAMES if any(one is not None for one in self[name]) or name == "parameter"]
        lines = [[*used, "estimate", "std. error", f"{100 * self.level:g} %"]]
        for row in self.rows[:SHOWN]:
            names = ["" if row[name] is None else display_name(row[name], 24) for name in used]
            lines.append([*names, *_numbers(row)])
        more = len(self.rows) - SHOWN
        tail = [*([f"… and {more} more"] if more > 0 else []), *([self.note] if self.note else [])]
        return "\n".join([*table_lines(lines, range(len(used), len(used) + 3)), *tail])


def _row(one: Parameter) -> dict[str, Any]:
    of_level = one.level is not None
    return {
        "component": one.component,
        "column": one.column,
        "parameter": "probs" if of_level else one.label,
        "level": str(one.level) if of_level else None,
        "estimate": one.value,
        "std_error": one.error,
        "low": one.low,
        "high": one.high,
    }


def _numbers(row: dict[str, Any]) -> list[str]:
    value, error = row["estimate"], row["std_error"]
    if not error > 0:
        return [number(value), "fixed" if error == 0 else "–", ""]
    texts = [rounded(one, decimals(error)) for one in (value, error, row["low"], row["high"])]
    return [*texts[:2], " … ".join(texts[2:])]
