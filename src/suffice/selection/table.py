"""The table of a selection: log-likelihood, BIC, AIC and ICL of each candidate, and how it prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from suffice.display.names import display_name, fitted, minus, places, sentence
from suffice.display.table import table_lines
from suffice.display.text import line_width

CRITERIA = {"bic": 1.0, "aic": 1.0, "icl": 1.0, "held_out": -1.0}  # lower is better, or higher
SHOWN = 60  # candidates that are printed
COLUMNS = ("log_likelihood", "n_parameters", "bic", "aic", "icl", "entropy", "held_out")
HEADS = {
    "log_likelihood": "log L",
    "n_parameters": "parameters",
    "bic": "BIC",
    "aic": "AIC",
    "icl": "ICL",
    "entropy": "entropy",
    "held_out": "held out",
}
WORDS = ("family", "structure")  # columns of text
SPARE = ("entropy", "parameters", "AIC", "log L", "ICL")  # what a narrow page can do without, first to last
BEST, INDENT = "▸ ", "  "


class Table(Sequence[dict[str, Any]]):
    """Candidates as a list of dictionaries that prints as a table; ``table["bic"]`` is a column."""

    def __init__(self, rows: Iterable[dict[str, Any]]) -> None:
        """Keep the rows, the best first."""
        self.rows = list(rows)

    def __len__(self) -> int:
        """Return the number of candidates."""
        return len(self.rows)

    def __getitem__(self, place: Any) -> Any:
        """Return a row by its number, some rows by a slice, or a column by its name."""
        if isinstance(place, str):
            return [row[place] for row in self.rows]
        return Table(self.rows[place]) if isinstance(place, slice) else self.rows[place]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows."""
        return iter(self.rows)

    def pivot(self, column: str = "bic") -> dict[str, dict[int, Any]]:
        """One column by family or structure and number of components, as mclust prints it."""
        found: dict[str, dict[int, Any]] = {}
        for row in sorted(self.rows, key=lambda row: row["n_components"]):
            found.setdefault(row["structure"] or row["family"], {})[row["n_components"]] = row[column]
        return found

    def __repr__(self) -> str:
        """Show the candidates."""
        return "\n".join(self.lines(line_width()))

    def lines(self, width: int, criterion: str = "", most: int = SHOWN) -> list[str]:
        """The candidates as lines of a width; with a criterion also how much worse each is than the best."""
        if not self.rows:
            return ["no candidates"]
        head, *body = self.cells(criterion, most)
        while True:
            lines = table_lines([head, *body], {i for i, name in enumerate(head) if name not in WORDS})
            if len(INDENT) + max(map(places, lines)) <= width or len(head) <= 3:
                break
            spare = next((i for name in SPARE for i, own in enumerate(head) if own == name), None)
            if spare is None:
                break
            head, *body = [[one for i, one in enumerate(row) if i != spare] for row in [head, *body]]
        out = []
        for number, line in enumerate(lines):
            mark = BEST if number == 1 and criterion else INDENT
            out.append(fitted(mark + line, width))
            doubt = remark(self.rows[number - 1]) if number else ""
            if doubt:
                out += sentence(doubt, width, "    ! ", "      ")
        return out + ([f"{INDENT}… and {len(self.rows) - most} more"] if len(self.rows) > most else [])

    def cells(self, criterion: str = "", most: int = SHOWN) -> list[list[str]]:
        """The table as text: a row of heads, and one for each candidate."""
        families = len({row["family"] for row in self.rows}) > 1
        lead = ["n", *(["family"] if families else []), *(["structure"] if self._any("structure") else [])]
        keys = {"n": "n_components", "family": "family", "structure": "structure"}
        numbers = [name for name in COLUMNS if self._any(name)]
        found = [[*lead, *(HEADS[name] for name in numbers), *([f"Δ {HEADS[criterion]}"] if criterion else [])]]
        for row in self.rows[:most]:
            own = [display_name(row[keys[name]] or "–", 24) for name in lead] + [
                _cell(name, row[name]) for name in numbers
            ]
            if criterion:
                sign = CRITERIA[criterion]
                own.append(_cell(criterion, sign * (row[criterion] - self.rows[0][criterion]) + 0.0))
            found.append(own)
        return found

    def _any(self, name: str) -> bool:
        return any(row[name] not in ("", None) and row[name] == row[name] for row in self.rows)  # NaN is none


def _cell(name: str, value: float) -> str:
    if value is None or not np.isfinite(value):
        return "–"
    digits = {"n_parameters": 0, "held_out": 4, "entropy": 2}.get(name, 1)
    return minus(f"{value:.{digits}f}")


def remark(row: dict[str, Any]) -> str:
    """What speaks against a candidate, in a few words."""
    codes = [one.code for one in row["alerts"] if one.code != "boundary"]  # a share of 0 casts no doubt on the whole
    return ("spurious: " if row["spurious"] else "") + ", ".join(dict.fromkeys(codes))
