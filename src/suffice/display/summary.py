"""What there is to say about a model, as values: text, HTML, the report and the command line show it each in its way.

Names of columns and levels stand here as they are; `suffice.display.names` makes them fit to be seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.display.values import ColumnSummary
from suffice.types import Alert, Label


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

    ``information`` is the mutual information of the column and the component under the model, in nats.
    """

    column: Any
    cells: tuple[ColumnSummary, ...]
    family: str = ""
    information: float = float("nan")
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
    level: Label | None = None  # whose probability it is


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
        A row for each column, the most informative first; of a model without components in the order of the data.
    parameters, heads
        The numbers with standard errors and 95 % intervals, and how these are headed. Those of hidden components need a
        slow pass over the rows, and are there where ``fit.standard_errors`` or ``fit.estimates()`` was asked before.
    measure
        What ``information`` of the rows means, in a sentence; "" without several components.
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
    judged: bool = True  # whether alerts were looked for: not of a distribution without a fit

    @property
    def information(self) -> dict[Any, float]:
        """The mutual information of each column and the component, in nats, the highest first."""
        return {row.column: row.information for row in self.rows if not np.isnan(row.information)}


def summarize(model: Any) -> Summary:
    """The summary of a fit, a distribution, a posterior or a classifier.

    >>> summarize(sf.fit(sf.Normal(), [1.0, 2.0, 3.0])).title
    'Normal by maximum likelihood, 3 rows'
    """
    found: Summary = model.summarize()
    return found
