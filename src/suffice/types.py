"""The types that signatures name."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from suffice.message_parts import Cell, Columns, Message, rendered, with_names

Array = npt.NDArray[Any]  # of any dtype: rows, parameters, responsibilities
Data = Any  # from outside: a list, an array, a table of any library, files; whoever reads it says what it cannot be
Label = Hashable  # a column by its name or place, or a level of labels
Prior = object  # a belief, a density, those by column or component, a name, or None: whoever takes it asks which it is
Seed = int | np.integer[Any] | np.random.SeedSequence | np.random.Generator | np.random.RandomState | None


class Rows(Protocol):
    """Rows as a distribution reads them: an array, labels, parts side by side, or a stream of them from files."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows, columns, and the axes of a cell."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def __getitem__(self, part: slice, /) -> Self:
        """Return some of the rows."""


@dataclass(frozen=True, eq=False, repr=False)
class Alert:
    """What a reader must know before trusting a fit: a pair (code, text), and what it is about.

    >>> alert = Alert("collapsed", ("every value", Columns((1,), before=" in "), " equals 3."), value=3.0)
    >>> alert.with_names(("a", "b"))
    Alert('collapsed', "every value in column 'b' equals 3.", columns=('b',), value=3.0)
    >>> code, text = alert
    >>> text, alert.columns
    ('every value in column 1 equals 3.', (1,))

    Attributes
    ----------
    code
        What is the case, in a word or two: "collapsed", "boundary", "not converged", …
    message
        What is the case, in a sentence: text, or parts of which some name columns.
    columns
        The columns that it is about, by place or name.
    component, row, value
        The component or class, the first row, and the value that it is about, where there is one.
    interrupted
        Whether the user stopped the work.
    prior_advice
        What a prior would change; the text ends with it.
    """

    code: str
    message: str | Message
    columns: tuple[Hashable, ...] = ()
    component: int | None = None
    row: int | None = None
    value: object = None
    interrupted: bool = False
    prior_advice: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        """Note the row and the columns that the message names."""
        if isinstance(self.message, str):
            return
        columns = [one for part in self.message if isinstance(part, Columns) for one in part.which]
        columns += [part.column for part in self.message if isinstance(part, Cell) and part.column is not None]
        row = next((part.row for part in self.message if isinstance(part, Cell)), self.row)
        object.__setattr__(self, "columns", tuple(dict.fromkeys(columns)) or self.columns)
        object.__setattr__(self, "row", row)

    @property
    def text(self) -> str:
        """The sentence, and what to do."""
        fact = self.message if isinstance(self.message, str) else rendered(self.message)
        return f"{fact} {self.prior_advice}" if self.prior_advice else fact

    def with_names(self, names: Sequence[Hashable]) -> Alert:
        """The same alert with the names of columns where it has their places."""
        return self if isinstance(self.message, str) else replace(self, message=with_names(self.message, names))

    def of_columns(self, columns: Columns) -> Alert:
        """The alert of a model of these columns, which speaks of them by place, in the words of the whole table."""
        parts = (self.message,) if isinstance(self.message, str) else self.message
        if columns.labels is None:
            parts = tuple(part.after(columns.first) if isinstance(part, Columns) else part for part in parts)
        else:
            parts = with_names(parts, columns.which)
        said = any(isinstance(part, Columns) and str(part) for part in parts) and len(columns.which) > 1
        return replace(self, message=parts if said else (columns, ": ", *parts))

    def of_component(self, component: int) -> Alert:
        """The alert of one component, in the words of the whole model."""
        parts = (self.message,) if isinstance(self.message, str) else self.message
        return replace(self, message=(f"component {component}: ", *parts), component=component)

    def __iter__(self) -> Iterator[str]:
        """Code and text, as of a pair."""
        return iter((self.code, self.text))

    def __getitem__(self, index: int) -> str:
        """Return the code or the text."""
        return (self.code, self.text)[index]

    def __len__(self) -> int:
        """Return 2, as of a pair."""
        return 2

    def __eq__(self, other: object) -> bool:
        """Whether code and text are the same; the other may be a pair."""
        return tuple(self) == tuple(other) if isinstance(other, (Alert, tuple)) else NotImplemented

    def __hash__(self) -> int:
        """Hash of the pair."""
        return hash((self.code, self.text))

    def __repr__(self) -> str:
        """Show the pair, and what it is about."""
        about = {name: getattr(self, name) for name in ("columns", "component", "row", "value")}
        more = "".join(f", {name}={one!r}" for name, one in about.items() if one is not None and one != ())
        return f"Alert({self.code!r}, {self.text!r}{more})"
