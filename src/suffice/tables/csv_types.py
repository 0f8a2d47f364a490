"""The type of a column of text: what all of its cells are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


ODD = 0.01  # share of the cells that are not numbers, in a column that otherwise is: worth a remark
KINDS = ("int64", "double", "bool", "date32", "timestamp[us]")  # in the order in which they are tried
WIDER = {("int64", "double"): "double", ("date32", "timestamp[us]"): "timestamp[us]"}
NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"
COMMA = r"^\s*[-+]?\d+,\d+\s*$"
GLIMPSE = 100  # cells that show whether numbers have a comma


@dataclass
class Guess:
    """What the cells of a column have been so far."""

    kind: str = ""  # "": nothing but missing cells
    cells: int = 0
    numbers: int = 0  # cells that are numbers, in a column that is text
    odd: tuple[int, str, str] | None = None  # the first cell that made text of it: row, value, file
    flags: bool = True  # whether whole numbers are 0 and 1 only, which yes and no may follow
    commas: bool = False  # whether the first cells of a column of text are numbers with a comma
    padded: bool = False  # whether a whole number begins with a 0

    @property
    def column_type(self) -> str:
        """What the column is, when all cells have been seen."""
        return "string" if self.kind == "int64" and self.padded else self.kind or "null"

    def see(self, array: pa.Array, first: int, file: str) -> None:
        """Look at some cells."""
        known = len(array) - array.null_count
        self.cells += known
        if not known:
            return
        if self.kind == "string":
            self.numbers += _countable(array) if self.odd is not None else 0
            return
        found = _kind(array, self.kind)
        if found == "int64" and self.flags:
            self.flags = cast_to(array, "bool") is not None
        if self.kind == "int64" and found == "string" and self.flags and cast_to(array, "bool") is not None:
            self.kind = "bool"
            return
        joined = found if self.kind in ("", found) else WIDER.get((self.kind, found)) or WIDER.get((found, self.kind))
        if joined is not None and joined != "string":
            self.kind = joined
            self.padded = self.padded or (joined == "int64" and _has_leading_zero(array))
            return
        before, self.kind = self.kind, "string"
        good = _countable(array)
        first_cells = array.drop_null().slice(0, GLIMPSE)
        self.commas = not before and _matching(first_cells, COMMA) == len(first_cells)
        if before in ("int64", "double") or (not before and good >= (1 - ODD) * known):
            bad = _first_odd(array)
            self.odd = (first + bad, array[bad].as_py(), file)
            self.numbers = good + self.cells - known

    def remark(self, name: str, seen: Sequence[str] = ()) -> str | None:
        """What to tell of a column that is text by a few cells only; ``seen`` are the marks that any column has."""
        if self.commas:
            return (
                f"column {name!r} is text, and its cells look like numbers with a comma, as 1,5 for 1.5. Write them "
                "with a point."
            )
        if self.kind != "string" or self.odd is None or self.numbers < (1 - ODD) * self.cells:
            return None
        row, value, file = self.odd
        others, marks = self.cells - self.numbers, ", ".join(f"{one!r:.40}" for one in (*seen, value))
        which = "this cell" if others == 1 else f"{others} such cells"
        return (
            f"column {name!r} is text because of {which}, and numbers otherwise: row {row} of file {file!r} has "
            f"{value!r:.40}. If that means a missing cell, scan(…, missing=[{marks}])."
        )


def cast_to(array: object, kind: str) -> Any:
    """Cells as another type; None where one of them is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return pc.cast(pc.utf8_trim_whitespace(array), pa.type_for_alias(kind))
    except pa.ArrowInvalid:
        return None


def _kind(array: object, first: str) -> str:
    """The first type that all cells have, beginning with the one that the cells before had."""
    tried = (first, *(kind for kind in KINDS if kind != first)) if first in KINDS else KINDS
    if first == "int64":
        tried = ("int64", "double")
    return next((kind for kind in tried if cast_to(array, kind) is not None), "string")


def _first_odd(array: pa.Array) -> int:
    """Where the first cell is that is not a number: by halves."""
    low, high = 0, len(array)  # the cells before `low` are numbers, and one before `high` is none
    while high - low > 1:
        middle = (low + high) // 2
        if cast_to(array.slice(low, middle - low), "double") is None:
            high = middle
        else:
            low = middle
    return low


def _has_leading_zero(array: object) -> bool:
    """Whether a whole number is written with a 0 before it: as a number it would lose its name."""
    import pyarrow.compute as pc

    return bool(pc.any(pc.match_substring_regex(array, r"^\s*[-+]?0\d")).as_py())


def _countable(array: object) -> int:
    """How many cells are numbers, about: those that look like one."""
    return _matching(array, NUMBER)


def _matching(array: object, pattern: str) -> int:
    import pyarrow.compute as pc

    return int(pc.sum(pc.match_substring_regex(array, pattern)).as_py() or 0)
