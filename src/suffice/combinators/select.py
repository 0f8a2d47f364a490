"""Choosing a mixture: how many members, of which family, with which covariances."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from suffice.combinators.candidates import candidates
from suffice.combinators.search import Groups, search
from suffice.combinators.trials import Found
from suffice.core.distribution import Alert
from suffice.core.errors import ParameterError
from suffice.core.result import Fit

CRITERIA = {"bic": 1.0, "aic": 1.0, "icl": 1.0, "held_out": -1.0}  # lower is better, or higher
FOLDS = 5
SHOWN = 10  # lines of the table that are printed
COLUMNS = ("log_likelihood", "n_parameters", "bic", "aic", "icl", "entropy", "held_out")


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
        """One column by family or structure and number of members, as mclust prints it."""
        found: dict[str, dict[int, Any]] = {}
        for row in sorted(self.rows, key=lambda row: row["n_components"]):
            found.setdefault(row["structure"] or row["family"], {})[row["n_components"]] = row[column]
        return found

    def __repr__(self) -> str:
        """Show the best candidates."""
        if not self.rows:
            return "no candidates"
        families = len({row["family"] for row in self.rows}) > 1
        head = ["n", *(["family"] if families else []), *(["structure"] if self._any("structure") else [])]
        numbers = [name for name in COLUMNS if self._any(name)]
        lines = [[*head, *(name.replace("_", " ") for name in numbers), ""]]
        for row in self.rows[:SHOWN]:
            lead = [str(row["n_components"]), *([row["family"]] if families else [])]
            lead += [row["structure"]] if "structure" in head else []
            lines.append([*lead, *(_cell(name, row[name]) for name in numbers), _remark(row)])
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        words = {i for i, name in enumerate(head) if name != "n"} | {len(lines[0]) - 1}
        shown = [
            "  ".join(
                f"{cell:<{w}}" if i in words else f"{cell:>{w}}"
                for i, (cell, w) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        ]
        if len(self.rows) > SHOWN:
            shown.append(f"… {len(self.rows) - SHOWN} more")
        return "\n".join(line.rstrip() for line in shown)

    def _any(self, name: str) -> bool:
        return any(row[name] not in ("", None) and row[name] == row[name] for row in self.rows)  # NaN is none


def _cell(name: str, value: Any) -> str:
    if value is None or not np.isfinite(value):
        return "–"
    return str(value) if name == "n_parameters" else f"{value:.4f}" if name == "held_out" else f"{value:,.2f}"


def _remark(row: dict[str, Any]) -> str:
    codes = [code for code, _ in row["alerts"]]
    return ("spurious: " if row["spurious"] else "") + ", ".join(dict.fromkeys(codes))


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """All candidates and the best of them.

    Attributes
    ----------
    table
        One row for each candidate, the best first: ``n_components``, ``family``, ``structure``, ``log_likelihood``,
        ``n_parameters``, ``bic``, ``aic``, ``icl`` (the BIC of rows together with their most probable members),
        ``entropy`` of who made which row, ``held_out`` (mean log-likelihood of rows that were held out), ``converged``,
        ``spurious``, ``alerts``. The criteria are lower-is-better, ``held_out`` is higher-is-better.
    best
        The :class:`Fit` of the first row. Candidates of which only spurious optima were found come last.
    criterion
        What they were ranked by.
    fits
        The fit of each row.
    """

    table: Table
    best: Fit
    criterion: str
    fits: tuple[Fit, ...] = field(repr=False)
    alerts: tuple[Alert, ...] = ()

    def __repr__(self) -> str:
        """Show the best and the table."""
        row = self.table[0]
        what = row["structure"] or row["family"]
        lines = [
            f"{row['n_components']} × {what} by {self.criterion}, of {len(self.table)} candidates",
            repr(self.table),
        ]
        for code, text in self.alerts:
            lines.extend(textwrap.wrap(f"{code}: {text}", 100, initial_indent="! ", subsequent_indent="  "))
        return "\n".join(lines)


def select(
    component: Any,
    data: Any,
    *,
    n_components: Any = None,
    structures: Any = None,
    families: Any = None,
    criterion: str = "bic",
    weights: Any = None,
    prior: Any = None,
    random_state: Any = None,
    holdout: Any = None,
    n_jobs: int | None = None,
    callback: Callable[[dict[str, Any]], Any] | None = None,
) -> Selection:
    """Fit mixtures of different sizes, covariance structures and families, and rank them.

    Parameters
    ----------
    component
        The prototype of a member, or a :class:`Mixture`; with ``families`` it may be None.
    data, weights, prior
        As in :func:`suffice.fit`.
    n_components
        Numbers of members, such as ``range(1, 10)``, or one; a Mixture may do with its own.
    structures
        Names of covariance structures, such as ``["EEE", "VVV"]``, or ``"all"`` for the fourteen.
    families
        Another prototype or mixture to compare ``component`` with, or several.
    criterion
        ``"bic"``, ``"aic"``, ``"icl"`` or ``"held_out"``. With a prior, starts of one candidate compete by the log
        posterior, and candidates by the likelihood at its mode: densities of parameters have units of their own.
    random_state
        Seed or Generator; the result does not depend on the number of workers.
    holdout
        Number of folds (5 where the criterion asks for them), or a share of the rows that is held out once. What is
        fitted to the other rows knows nothing of these: neither its start nor its floors nor a prior by name.
    n_jobs
        Processes at most; None or -1: as many as help. Interrupted, what is there is returned with an alert.
    callback
        Called with each candidate's row of the table as soon as it is fitted, in the order in which they are.

    Examples
    --------
    >>> x = [1.0, 1.2, 0.8, 1.1, 5.0, 5.3, 4.9, 5.1]
    >>> sf.select(sf.Normal(), x, n_components=[1, 2], random_state=0).best.distribution.n
    2
    """
    if criterion not in CRITERIA:
        msg = f"criterion is one of {', '.join(map(repr, CRITERIA))}; got {criterion!r}."
        raise ParameterError(msg)
    folds, workers = _check_holdout(holdout, criterion), _check_workers(n_jobs)
    asked = candidates(component, n_components, structures, families)
    groups = Groups.of(asked, data, weights, prior, random_state, folds)
    told = None if callback is None else lambda some: [callback(_row(one)) for one in some]
    found, alerts = search(groups, workers, told)
    rows = [_row(one) for one in found]
    order = sorted(range(len(found)), key=lambda i: _rank(rows[i], criterion))
    fits = tuple(found[i].fit for i in order)
    if rows[order[0]]["spurious"]:
        text = "every candidate rests on members that are accidents of a few rows; ask for fewer, or give a prior."
        alerts = (*alerts, ("spurious", text))
    return Selection(Table(rows[i] for i in order), fits[0], criterion, fits, alerts)


def _check_holdout(holdout: Any, criterion: str) -> Any:
    if holdout is None:
        return FOLDS if criterion == "held_out" else None
    whole = isinstance(holdout, (int, np.integer)) and not isinstance(holdout, bool) and holdout >= 2
    if not (whole or (isinstance(holdout, float) and 0 < holdout < 1)):
        msg = f"holdout is a number of folds of at least 2, or a share between 0 and 1; got {holdout!r}."
        raise ParameterError(msg)
    return holdout


def _check_workers(n_jobs: Any) -> int | None:
    if n_jobs is None:
        return None
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or (n_jobs < 1 and n_jobs != -1):
        msg = f"n_jobs is a number of processes of at least 1, or None or -1 for as many as help; got {n_jobs!r:.60}."
        raise ParameterError(msg)
    return None if n_jobs == -1 else int(n_jobs)


def _rank(row: dict[str, Any], criterion: str) -> tuple[bool, float]:
    value = CRITERIA[criterion] * row[criterion]
    return row["spurious"] or bool(np.isnan(value)), value


def _row(found: Found) -> dict[str, Any]:
    candidate, fit = found.candidate, found.fit
    entropy = float(np.sum(fit.statistics.entropy))
    return {
        "n_components": candidate.n,
        "family": candidate.family,
        "structure": candidate.structure,
        "log_likelihood": fit.log_likelihood,
        "n_parameters": fit.n_parameters,
        "bic": fit.bic,
        "aic": fit.aic,
        "icl": fit.bic - 2.0 * found.certainty,
        "entropy": entropy,
        "held_out": found.held_out,
        "converged": fit.converged,
        "spurious": not fit.distribution.sound(fit.statistics),
        "alerts": fit.alerts,
    }
