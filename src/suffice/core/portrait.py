"""What there is to say about a model, as values: text, HTML, the report and the command line show it each in its way.

Names of columns and levels stand here as they are; `suffice.core.shown` makes them fit to be seen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from suffice.core.distribution import Alert
from suffice.core.shown import minus


@dataclass(frozen=True)
class Statistic:
    """One number about a fit: its name, its value, and how a page writes both."""

    name: str
    value: float
    text: str


@dataclass(frozen=True)
class Reading:
    """What a member says of a column: pieces of text, the weightiest first, of which a narrow place shows the first.

    ``numbers`` are the same by name: ``{"mean": …, "std": …}``, or a probability for each level.
    """

    pieces: tuple[str, ...]
    numbers: dict[Any, float] = field(default_factory=dict)
    levels: tuple[Any, ...] = ()  # of each piece, where pieces are about levels


@dataclass(frozen=True)
class Head:
    """A member: how it is called, its share of the rows, its family where members differ, and Σ of its rows."""

    label: Any
    share: float | None = None
    family: str = ""
    rows: float | None = None


@dataclass(frozen=True)
class Row:
    """A column of the data, and what each member says of it.

    ``tells`` is how much the column tells of who made a row: their mutual information under the model, in nats.
    """

    column: Any
    cells: tuple[Reading, ...]
    family: str = ""
    tells: float = float("nan")
    note: str = ""


@dataclass(frozen=True)
class Parameter:
    """One number of a model that has no members; ``error`` is NaN where the data do not tell it."""

    column: Any
    label: str
    value: float
    error: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    fixed: bool = False


@dataclass(frozen=True)
class Portrait:
    """Everything that a summary shows.

    Attributes
    ----------
    title
        What was learned, how, and from how many rows.
    statistics
        Log-likelihood, parameters, BIC, AIC, and of hidden members ICL and the entropy of who made which row, as a
        share of the most that it could be. With a prior also the log posterior.
    prior
        What was believed before, in words; "" without.
    convergence
        How the passes ended, how many starts agree, and whether the likelihood rose at every step.
    members
        A head for each member, in canonical order; a single one without a share for a model that has none.
    rows
        A row for each column, the most telling first; of a model without members in the order of the data.
    parameters
        Of a model without members: its numbers with standard errors and 95 % intervals.
    measure
        What ``tells`` of the rows means, in a sentence; "" where nobody is told apart.
    apart
        For each member the columns that set it apart, best first, as (column, D(member‖all) in nats).
    correlations
        For each member the strongest ones of columns that are described together, as (column, column, r).
    notes
        What else to know to read it.
    alerts
        ``(code, text)`` pairs.
    """

    title: str
    statistics: tuple[Statistic, ...] = ()
    prior: str = ""
    convergence: str = ""
    members: tuple[Head, ...] = ()
    rows: tuple[Row, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    measure: str = ""
    apart: tuple[tuple[tuple[Any, float], ...], ...] = ()
    correlations: tuple[tuple[tuple[Any, Any, float], ...], ...] = ()
    notes: tuple[str, ...] = ()
    alerts: tuple[Alert, ...] = ()
    judged: bool = True  # whether somebody looked for alerts: of a distribution without a fit nobody did

    @property
    def telling(self) -> dict[Any, float]:
        """What each column tells of who made a row, in nats, the most telling first."""
        return {row.column: row.tells for row in self.rows if not np.isnan(row.tells)}


def portrait(model: Any) -> Portrait:
    """The portrait of a fit, a distribution, a posterior or a classifier.

    >>> portrait(sf.fit(sf.Normal(), [1.0, 2.0, 3.0])).title
    'Normal by maximum likelihood, 3 rows'
    """
    found: Portrait = model.portrait()
    return found


# ---- numbers ---------------------------------------------------------------------------------------------------------
def count(n: float, what: str) -> str:
    """A number of things: "1 row", "344 rows", "361.2 rows"."""
    number = f"{n:.0f}" if abs(n - round(n)) < 1e-9 * max(abs(n), 1.0) else f"{n:.6g}"
    return f"{number} {what}" + ("" if number == "1" else "es" if what.endswith("s") else "s")


def score(value: float) -> str:
    """A likelihood or criterion: models are compared by differences of about 1, however large n is."""
    return minus(f"{value:.1f}") if np.isfinite(value) else "–" if np.isnan(value) else minus(f"{value:g}")


def number(value: float, digits: int = 4) -> str:
    """A number in few letters."""
    return minus(f"{value:.{digits}g}") if np.isfinite(value) else "–" if np.isnan(value) else minus(f"{value:g}")


def chance(p: float) -> str:
    """A probability; what is nearly nothing is not written as nothing."""
    return f"{p:.2f}" if p >= 0.005 or p == 0 else "<0.01"


def percent(share: float) -> str:
    """A share of the rows."""
    return f"{100 * share:.0f} %" if share >= 0.095 or share == 0 else f"{100 * share:.1f} %" if share >= 5e-4 else "<0.1 %"


def decimals(spread: float) -> int:
    """The decimals by which a spread has two digits at least."""
    return int(np.clip(1 - np.floor(np.log10(spread)), 0, 12)) if 0 < spread < np.inf else 2


def rounded(value: float, places: int) -> str:
    """A number with so many decimals; in powers of ten where that would be long."""
    if not np.isfinite(value):
        return number(value)
    return minus(f"{value:.4g}") if abs(value) >= 1e7 or places > 6 else minus(f"{value:.{places}f}")


def spreads(means: Any, stds: Any) -> list[list[Reading]]:
    """Mean ± std of each column (d) and member (k), from (k, d): columns with one number of decimals each."""
    means, stds = np.asarray(means, dtype=float), np.asarray(stds, dtype=float)
    found = []
    for mean, std in zip(means.T, stds.T, strict=True):
        known = std[np.isfinite(std) & (std > 0)]
        places = decimals(float(known.min())) if known.size else 2
        found.append([
            Reading((f"{rounded(m, places)} ± {rounded(s, places)}",), {"mean": float(m), "std": float(s)})
            for m, s in zip(mean, std, strict=True)
        ])  # fmt: skip
    return found


def levels_of(levels: Any, probs: Any) -> Reading:
    """Levels by falling probability; those of next to none are left to the numbers."""
    order = np.argsort(-np.asarray(probs), kind="stable")
    told = [j for j in order if probs[j] >= 0.005] or list(order[:1])
    numbers = {levels[j]: float(probs[j]) for j in range(len(levels))}
    return Reading(tuple(chance(probs[j]) for j in told), numbers, tuple(levels[j] for j in told))


def single(name: str, values: Any) -> list[list[Reading]]:
    """One number of each column and member, by its name, from (k, d)."""
    return [[Reading((f"{name} {number(v, 3)}",), {name: float(v)}) for v in column] for column in np.asarray(values).T]
