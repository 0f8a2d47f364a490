"""The base class of every family and model: all of the small contracts, with their general answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from suffice.core.component import Bounded, Explained, Sequential
from suffice.core.conjugate import Belief, Conjugate
from suffice.core.formulas import Formulas
from suffice.core.model import Model, Uncertain
from suffice.core.queryable import Queryable
from suffice.core.variance_floor import Floored
from suffice.types import Label

WITHIN = 1.959963984540054  # standard errors to both sides of 95 %


@dataclass(frozen=True, eq=False, repr=False)
class Shown(Formulas):
    """How summaries and plots name and describe parameters and columns."""

    estimated_by: ClassVar[str] = "maximum likelihood"  # what an estimate without a prior is, in a title
    is_gaussian: ClassVar[bool] = False  # whether columns are jointly normal, with ``mean`` and ``cov`` or ``std``

    def label(self, name: str, place: tuple[int, ...]) -> str:
        """How a table names one entry of a parameter; "" leaves it out."""
        return name + (f"[{', '.join(map(str, place))}]" if place else "")

    def level_at(self, name: str, place: tuple[int, ...]) -> Label | None:
        """The level whose probability one entry of a parameter is; None where it is none."""
        del name, place
        return None

    def column_label(self, column: int) -> str:
        """How an alert names a column."""
        return str(column)

    @property
    def marginals(self) -> Any:
        """The columns by themselves, as a stack of independent ones; None where a row is one event and has no parts."""
        return None if self.row_vector or self.support.core else self.stacked

    def column_summaries(self) -> list[list[Any]]:
        """What a summary says of each column (d) under each component (k): by default mean ± standard deviation."""
        from suffice.display.values import spreads

        own = self.marginals
        return spreads(own.mean, own.std) if own is self.stacked else list(own.column_summaries())

    def summarize(self, names: Any = None, fit: Any = None) -> Any:
        """What there is to say about it, as a `Summary`; ``names`` are those of the data's columns."""
        from suffice.display.fit_summary import of_family

        return of_family(self, names, fit)

    def numbers(self, names: Any = None, errors: Any = None, reach: float = WITHIN) -> tuple[Any, ...]:
        """Every number as a `Parameter`, with standard errors and intervals of ``reach`` of them to both sides."""
        from suffice.display.fit_summary import column_names, parameters

        return parameters(self, column_names(self, names), errors, reach)


@dataclass(frozen=True, eq=False, repr=False)
class Family(Queryable, Shown, Floored, Model, Uncertain, Explained, Bounded, Sequential, Conjugate, Belief):
    """A distribution with its formulas, which algorithms can learn, mix, condition and believe in."""
