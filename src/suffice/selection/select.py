"""Choosing a mixture: how many components, of which family, with which covariances."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from suffice.core.family import Family
from suffice.display.names import display_name, sentence
from suffice.display.rich_text import Page
from suffice.display.text import line_width
from suffice.display.values import count
from suffice.em.fit import named_fit
from suffice.em.result import Fit
from suffice.errors import ParameterError
from suffice.models.spurious_components import collapsed_columns
from suffice.selection.candidates import candidates
from suffice.selection.chains import chain_candidates, search_chains
from suffice.selection.search import Groups, search
from suffice.selection.table import CRITERIA, HEADS, INDENT, SHOWN, WORDS, Table, remark
from suffice.selection.trials import Found
from suffice.tables.column_names import guessed, names_of_data, with_column_names_in_errors
from suffice.tables.layout import layout_of, like_data
from suffice.tables.rows import row_count
from suffice.types import Alert, Data, Seed

__all__ = ["CRITERIA", "Selection", "criterion_of", "select"]

FOLDS = 5


@dataclass(frozen=True, eq=False, repr=False)
class Selection(Page):
    """All candidates and the best of them.

    Attributes
    ----------
    table
        One row for each candidate, the best first: ``n_components``, ``family``, ``structure``, ``log_likelihood``,
        ``n_parameters``, ``bic``, ``aic``, ``icl`` (the BIC of rows together with their most probable components),
        ``entropy`` of who made which row, ``held_out`` (mean log-likelihood of rows that were held out), ``converged``,
        ``spurious``, ``alerts``. The criteria are lower-is-better, ``held_out`` is higher-is-better.
    best
        The :class:`Fit` of the first row. Candidates of which only spurious optima were found come last.
    criterion
        What they were ranked by.
    fits
        The fit of each row.
    alerts
        ``(code, text)`` pairs: what a reader must know before trusting the choice.
    """

    table: Table
    best: Fit
    criterion: str
    fits: tuple[Fit, ...] = field(repr=False)
    alerts: tuple[Alert, ...] = ()

    def summary(self, width: int | None = None) -> str:
        """The best candidate and the whole table as text, in lines of a width."""
        wide = line_width(width)
        out = sentence(self._title, wide, then=INDENT)
        out += self.table.lines(wide, self.criterion)
        for code, text in self.alerts:
            out += sentence(f"{code}: {text}", wide, "! ", "  ")
        return "\n".join(out)

    @property
    def _title(self) -> str:
        row = self.table[0]
        what = display_name(row["structure"] or row["family"], 40)
        by = HEADS[self.criterion] if self.criterion != "held_out" else "held-out log-likelihood"
        return f"{row['n_components']} × {what} by {by}, of {count(len(self.table), 'candidate')}"

    def _repr_html_(self) -> str:
        """Show the table in a notebook."""
        from suffice.display.html import alerts, boxed, prose, table

        head, *body = self.table.cells(self.criterion)
        words = [i for i, name in enumerate(head) if name in WORDS]
        rows = [[prose(one) for one in row] + [prose(remark(own))] for row, own in zip(body, self.table, strict=False)]
        rows[0] = [f"<strong>{one}</strong>" for one in rows[0]]
        numbers = [i for i in range(len(head)) if i not in words]
        more = f"<p>… and {len(self.table) - SHOWN} more</p>" if len(self.table) > SHOWN else ""
        return boxed(
            f"<p style='margin:0'><strong>{prose(self._title)}</strong></p>",
            table([*map(prose, head), ""], rows, numbers),
            more,
            alerts(self.alerts) if self.alerts else "",
        )

    def __repr__(self) -> str:
        """Show the best and the table."""
        return self.summary()


@with_column_names_in_errors
def select(
    component: Any,
    data: Data,
    *,
    n_components: object = None,
    structures: object = None,
    families: object = None,
    criterion: str = "bic",
    weights: Data = None,
    prior: str | None = None,
    random_state: Seed = None,
    holdout: float | None = None,
    n_jobs: int | None = None,
    callback: Callable[[dict[str, Any]], Any] | None = None,
) -> Selection:
    """Fit mixtures of different sizes, covariance structures and families, and rank them.

    Parameters
    ----------
    component : Distribution, optional
        The prototype of a component, a :class:`Mixture`, or a :class:`HiddenMarkov`, of which ``n_components``
        are numbers of states and sequences are held out as wholes; with ``families`` it may be None.
    data, weights, prior : array or frame, array, str
        As in :func:`suffice.fit`.
    n_components : int or sequence of int, optional
        Numbers of components, such as ``range(1, 10)``, or one; a Mixture may do with its own.
    structures : sequence of str, optional
        Names of covariance structures, such as ``["EEE", "VVV"]``, or ``"all"`` for the fourteen.
    families : sequence of distributions, optional
        Another prototype or mixture to compare ``component`` with, or several.
    criterion : str
        ``"bic"``, ``"aic"``, ``"icl"`` or ``"held_out"``. With a prior, starts of one candidate compete by the log
        posterior, and candidates by the likelihood at its mode: densities of parameters have units of their own.
    random_state : int, Generator or RandomState, optional
        Seed or Generator; the result does not depend on the number of workers.
    holdout : float, optional
        Number of folds (5 where the criterion asks for them), or a share of the rows that is held out once. What is
        fitted to the other rows knows nothing of these: neither its start nor its floors nor a prior by name.
    n_jobs : int, optional
        Processes at most; None or -1: as many as help. Interrupted, what is there is returned with an alert.
    callback : callable, optional
        Called with each candidate's row of the table as soon as it is fitted, in the order in which they are.

    Returns
    -------
    Selection
        The table of all candidates, their fits, and the best of them.

    References
    ----------
    Schwarz, G. (1978). Estimating the dimension of a model. Annals of Statistics 6, 461-464.
    Biernacki, C., Celeux, G. and Govaert, G. (2000). Assessing a mixture model for clustering with the integrated
    completed likelihood. IEEE Transactions on Pattern Analysis and Machine Intelligence 22, 719-725.

    Examples
    --------
    >>> x = [1.0, 1.2, 0.8, 1.1, 5.0, 5.3, 4.9, 5.1]
    >>> sf.select(sf.Normal(), x, n_components=[1, 2], random_state=0).best.distribution.n
    2
    """
    criterion = criterion_of(criterion)
    folds, workers = _check_holdout(holdout, criterion), _check_workers(n_jobs)
    names = names_of_data(data, without=weights)
    report = None if callback is None else lambda some: [callback(_row(_named(one, names))) for one in some]
    if isinstance(component, Family) and component.is_chain:
        chosen = chain_candidates(component, n_components, structures, families)
        found, alerts = search_chains(chosen, data, weights, prior, random_state, folds, report)
    else:
        asked = candidates(component, n_components, structures, families, rows=row_count(data))
        found, alerts = search(Groups.of(asked, data, weights, prior, random_state, folds), workers, report)
    found = [_named(one, names) for one in found]
    layout = layout_of(data, found[0].fit.names) if found else ()
    found = [replace(one, fit=like_data(one.fit, data, layout)) for one in found]
    return _make_selection(found, criterion, alerts)


def _make_selection(found: list[Found], criterion: str, alerts: tuple[Alert, ...]) -> Selection:
    """The candidates with the best first, and what to know before trusting it."""
    pairs = sorted(((_row(one), one.fit) for one in found), key=lambda pair: _rank(pair[0], criterion))
    rows, fits = [row for row, _ in pairs], tuple(fit for _, fit in pairs)
    if rows[0]["spurious"]:
        text = (
            "all candidates have components that are degenerate or that chance explains; ask for fewer, or use a prior."
        )
        alerts = (*alerts, Alert("spurious", text))
    passed_over = _alert_passed_over(rows, fits, criterion)
    if passed_over:
        fits = (replace(fits[0], alerts=(*fits[0].alerts, *passed_over)), *fits[1:])
    return Selection(Table(rows), fits[0], criterion, fits, (*alerts, *passed_over, *_alert_largest(rows)))


def _alert_passed_over(rows: list[dict[str, Any]], fits: tuple[Fit, ...], criterion: str) -> tuple[Alert, ...]:
    """What to tell where candidates with a better criterion come last because they collapsed, best first."""
    best, sign = rows[0], -1.0 if criterion == "held_out" else 1.0
    if best["spurious"]:
        return ()
    better = [
        fit.distribution
        for row, fit in zip(rows, fits, strict=True)
        if any(alert.code == "collapsed" for alert in row["alerts"])
        and hasattr(fit.distribution, "components")
        and sign * row[criterion] < sign * best[criterion]
    ]
    if not better:
        return ()
    where = next(filter(str, (collapsed_columns(one, list(range(one.n))) for one in better)), "")
    names = fits[0].names
    text = (
        (
            f"{len(better)} of {len(rows)} candidates have a better {criterion.upper()} and were passed over: they "
            "have components that collapsed"
        ),
        where,
        (
            ", which inflates the likelihood. prior='weak' keeps components from collapsing; or give such a column "
            "another family."
        ),
    )
    alert = Alert("spurious", text)
    return (alert if names is None else alert.with_names(names),)


def _alert_largest(rows: list[dict[str, Any]]) -> tuple[Alert, ...]:
    """An alert where the best has as many components as were tried, of several numbers."""
    best = rows[0]
    sizes = {row["n_components"] for row in rows if row["family"] == best["family"]}
    if len(sizes) < 2 or best["n_components"] < max(sizes):
        return ()
    return (Alert("largest", "the best number of components is the largest that was tried; try more."),)


def criterion_of(given: object) -> str:
    """The criterion, also in the spelling of the command line: heldout."""
    known = {name.replace("_", ""): name for name in CRITERIA}
    found = known.get(given.replace("_", "").replace("-", "")) if isinstance(given, str) else None
    if found is None:
        guess = guessed(given, CRITERIA)
        msg = f"criterion is one of {', '.join(map(repr, CRITERIA))}; got {given!r:.40}. {guess}".rstrip()
        raise ParameterError(msg)
    return found


def _check_holdout(holdout: float | None, criterion: str) -> float | None:
    if holdout is None:
        return FOLDS if criterion == "held_out" else None
    whole = isinstance(holdout, (int, np.integer)) and not isinstance(holdout, bool) and holdout >= 2
    if not (whole or (isinstance(holdout, float) and 0 < holdout < 1)):
        msg = f"holdout is a number of folds of at least 2, or a share between 0 and 1; got {holdout!r}."
        raise ParameterError(msg)
    return holdout


def _check_workers(n_jobs: object) -> int | None:
    if n_jobs is None:
        return None
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or (n_jobs < 1 and n_jobs != -1):
        msg = f"n_jobs is a number of processes of at least 1, or None or -1 for as many as help; got {n_jobs!r:.60}."
        raise ParameterError(msg)
    return None if n_jobs == -1 else int(n_jobs)


def _rank(row: dict[str, Any], criterion: str) -> tuple[bool, bool, float]:
    """By the criterion; after them all what is spurious, and at last what has no value, which no order tells."""
    value = CRITERIA[criterion] * row[criterion]
    unknown = bool(np.isnan(value))
    return unknown, row["spurious"], 0.0 if unknown else value


def _named(found: Found, names: tuple[Hashable, ...] | None) -> Found:
    """The candidate with a fit that knows the names of the data's columns."""
    return replace(found, fit=named_fit(found.fit, names))


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
        "spurious": fit.distribution.is_spurious(fit.statistics),
        "alerts": fit.alerts,
    }
