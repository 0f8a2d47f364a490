"""What there is to say about a model, as values: text, HTML, the report and the command line show it each in its way.

Names of columns and levels stand here as they are; `suffice.display.names` makes them fit to be seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.display.values import ColumnSummary
from suffice.types import Alert


@dataclass(frozen=True)
class Fact:
    """One number about a fit: its name, its value, and how a page writes both."""

    name: str
    value: float
    text: str


@dataclass(frozen=True)
class Head:
    """A component: how it is called, its share of the rows, its family where components differ, and Σ of its rows."""

    label: Any
    share: float | None = None
    family: str = ""
    rows: float | None = None


@dataclass(frozen=True)
class Row:
    """A column of the data, and what each component says of it.

    ``tells`` is how much the column tells of who made a row: their mutual information under the model, in nats.
    """

    column: Any
    cells: tuple[ColumnSummary, ...]
    family: str = ""
    tells: float = float("nan")
    note: str = ""


@dataclass(frozen=True)
class Parameter:
    """One number of a model, or of one of its components; ``error`` is NaN where the data do not tell it."""

    column: Any
    label: str
    value: float
    error: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    fixed: bool = False
    component: Any = None


@dataclass(frozen=True)
class Summary:
    """Everything that a summary shows.

    Attributes
    ----------
    title
        What was learned, how, and from how many rows.
    statistics
        Log-likelihood, parameters, BIC, AIC, and of hidden components ICL and the entropy of who made which row, as a
        share of the most that it could be. With a prior also the log posterior.
    prior
        What was believed before, in words; "" without.
    convergence
        How the passes ended, how many starts agree, and whether the likelihood rose at every step.
    components
        A head for each component, in canonical order; a single one without a share for a model that has none.
    rows
        A row for each column, the most telling first; of a model without components in the order of the data.
    parameters, heads
        The numbers with standard errors and 95 % intervals, and how these are headed. Those of hidden components need a
        slow pass over the rows, and are there where ``fit.standard_errors`` or ``fit.estimates()`` was asked before.
    measure
        What ``tells`` of the rows means, in a sentence; "" where nobody is told apart.
    apart
        For each component the columns that set it apart, best first, as (column, D(component‖all) in nats).
    correlations
        For each component the strongest ones of columns that are described together, as (column, column, r); one entry
        for all components that share them.
    notes
        What else to know to read it.
    alerts
        ``(code, text)`` pairs.
    """

    title: str
    statistics: tuple[Fact, ...] = ()
    prior: str = ""
    convergence: str = ""
    components: tuple[Head, ...] = ()
    rows: tuple[Row, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    heads: tuple[str, str, str] = ("estimate", "std. error", "95 % interval")
    measure: str = ""
    apart: tuple[tuple[tuple[Any, float], ...], ...] = ()
    correlations: tuple[tuple[tuple[Any, Any, float], ...], ...] = ()
    notes: tuple[str, ...] = ()
    alerts: tuple[Alert, ...] = ()
    judged: bool = True  # whether somebody looked for alerts: of a distribution without a fit nobody did

    @property
    def information(self) -> dict[Any, float]:
        """What each column tells of who made a row, in nats, the most telling first."""
        return {row.column: row.tells for row in self.rows if not np.isnan(row.tells)}


def summarize(model: Any) -> Summary:
    """The summary of a fit, a distribution, a posterior or a classifier.

    >>> summarize(sf.fit(sf.Normal(), [1.0, 2.0, 3.0])).title
    'Normal by maximum likelihood, 3 rows'
    """
    found: Summary = model.summarize()
    return found
