"""Sentences about rows and columns: by place until names are known, then by name.

A message is a tuple of parts, text and places. Who learns more about a place, its name or the row that it is of the
whole, changes the part; nobody reads the text.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Columns:
    """Columns in a sentence.

    >>> str(Columns((0, 2))), str(Columns((0, 2)).with_names(("a", "b", "c")))
    ('columns 0, 2', "columns 'a', 'c'")

    Attributes
    ----------
    which
        Their places, or their names where ``labels`` are known.
    labels
        How each is shown.
    before, between
        What stands before them, " in " for example, and between two of them.
    most
        How many are shown one by one; None: all.
    implied
        Whether it goes without saying, because there is no other column.
    """

    which: tuple[Hashable, ...]
    labels: tuple[str, ...] | None = None
    before: str = ""
    between: str = ", "
    most: int | None = None
    implied: bool = False

    @classmethod
    def named(cls, *names: Hashable) -> Columns:
        """Columns whose names are known."""
        return cls(names, tuple(map(repr, names)))

    @property
    def first(self) -> int:
        """The place of the first of them; 0 where they have names."""
        return next((place for place in self.which if self.labels is None and isinstance(place, int)), 0)

    def with_names(self, names: Sequence[Hashable]) -> Columns:
        """The same columns by name, unless they have theirs, or there are not so many."""
        places = [place for place in self.which if isinstance(place, int) and place < len(names)]
        if self.labels is not None or len(places) < len(self.which):
            return self
        found = tuple(names[place] for place in places)
        return replace(self, which=found, labels=tuple(map(repr, found)))

    def after(self, columns: int) -> Columns:
        """The same columns of a table in which so many columns are before these."""
        if self.labels is not None:
            return self
        return replace(self, which=tuple(place + columns if isinstance(place, int) else place for place in self.which))

    def __str__(self) -> str:
        """Return how the sentence names them."""
        if self.implied or not self.which:
            return ""
        shown = list(map(str, self.which) if self.labels is None else self.labels)
        if self.most is not None and len(shown) > self.most + 1:
            shown = [*shown[: self.most], f"{len(shown) - self.most} more"]
        return f"{self.before}column{'s'[: len(self.which) != 1]} {self.between.join(shown)}"


@dataclass(frozen=True)
class Cell:
    """A row in a sentence, or one cell of it.

    >>> str(Cell(3)), str(Cell(3, 1)), str(Cell(3, 1).with_names(("a", "b")).after(10))
    ('row 3', 'row 3, column 1', "row 13, column 'b'")

    ``label`` is how the column is shown once its name is known; ``implied``: it goes without saying.
    """

    row: int
    column: Hashable = None
    label: str | None = None
    implied: bool = False

    def with_names(self, names: Sequence[Hashable]) -> Cell:
        """The same cell with the name of its column, unless it has one, or there are not so many."""
        if self.label is not None or not isinstance(self.column, int) or self.column >= len(names):
            return self
        name = names[self.column]
        return replace(self, column=name, label=repr(name))

    def after(self, rows: int) -> Cell:
        """The same cell in a table in which so many rows are before these."""
        return replace(self, row=self.row + rows)

    def __str__(self) -> str:
        """Return how the sentence names it."""
        if self.column is None or self.implied:
            return f"row {self.row}"
        return f"row {self.row}, column {self.column if self.label is None else self.label}"


Part = str | Columns | Cell
Message = tuple[Part, ...]


def rendered(message: Iterable[Part]) -> str:
    """The text of a message."""
    return "".join(map(str, message))


def with_names(message: Message, names: Sequence[Hashable]) -> Message:
    """The message with the names of columns where it has their places."""
    return tuple(part if isinstance(part, str) else part.with_names(names) for part in message)
