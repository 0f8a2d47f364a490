"""What suffice raises. Every message says who, which rule, which value, where, and what to do."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Self

from suffice.message_parts import Cell, Columns, Message, Part, rendered, with_names


class SufficeError(Exception):
    """Anything that suffice refuses to do, with the reason and the remedy.

    >>> error = DataError("Poisson: ", Cell(3, 1), " has -1; counts are at least 0.", value=-1)
    >>> print(error.with_names(("a", "b")).located("row 3 of file 'x.csv'"))
    Poisson: row 3, column 'b' has -1; counts are at least 0. (That is row 3 of file 'x.csv'.)

    Attributes
    ----------
    message
        The parts of the text: text, and the places that it names.
    row, column
        Where the value is: the row of the table, and the column by place or name; None where it is not known.
    value
        The value that breaks the rule.
    place
        In which file the row is, in words.
    """

    def __init__(self, *message: Part, value: object = None, place: str = "") -> None:
        """Render the message."""
        super().__init__(rendered(message))
        self.message: Message = message
        self.value = value
        self.place = place

    @property
    def cell(self) -> Cell | None:
        """The first row or cell that the message names."""
        return next((part for part in self.message if isinstance(part, Cell)), None)

    @property
    def row(self) -> int | None:
        """The row that it is about."""
        return None if self.cell is None else self.cell.row

    @property
    def column(self) -> Hashable:
        """The column that it is about, by place or name."""
        names = (part.which[0] for part in self.message if isinstance(part, Columns) and part.which)
        known = next(names, None)
        return self.cell.column if known is None and self.cell is not None else known

    def with_message(self, message: Message, place: str | None = None) -> Self:
        """The same error with another message."""
        return type(self)(*message, value=self.value, place=self.place if place is None else place)

    def with_names(self, names: Sequence[Hashable]) -> Self:
        """The same error with the names of columns where it has their places."""
        return self.with_message(with_names(self.message, names))

    def after_rows(self, rows: int) -> Self:
        """The same error in a table in which so many rows are before these."""
        return self.with_message(tuple(part.after(rows) if isinstance(part, Cell) else part for part in self.message))

    def located(self, place: str) -> Self:
        """The same error, with the place of the row in words."""
        return self.with_message((*self.message, f" (That is {place}.)"), place)


class DataError(SufficeError, ValueError):
    """The data break a rule of the distribution: the message names column, row, value and remedy."""


class ParameterError(SufficeError, ValueError):
    """A parameter, prior or option lies outside its domain."""


class ArgumentError(ParameterError, TypeError):
    """A parameter that the family does not have: the message lists those that it has."""


class UnsupportedError(SufficeError, TypeError):
    """The question makes sense, but not for this distribution: the message says which ones can answer it."""


class ModelFileError(SufficeError, ValueError):
    """A model cannot be written to a file, or a file is not one that can be read: the message names the place in it."""


class SufficeWarning(UserWarning):
    """An answer that stands, but not for what the caller may think: the message says what was left out, and why."""


@contextmanager
def naming(where: Part, kind: type[SufficeError] = DataError) -> Iterator[None]:
    """Say in which part bad data, or another kind of mistake, were found."""
    try:
        yield
    except kind as error:
        raise kind(where, ": ", *error.message, value=error.value, place=error.place) from error
