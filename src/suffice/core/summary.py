"""A fit as text: what was learned, how well, and whether to trust it."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

MANY = 12  # rows of the table before the middle is left out


def summarise(fit: Any) -> str:
    """The fit as a short page: a sentence, its numbers, a table of parameters, its alerts."""
    dist = fit.distribution
    how = "maximum likelihood" if fit.prior is None else "maximum a posteriori"
    columns = dist.columns or 1
    shape = f"{_amount(fit.n)} row{'s'[: fit.n != 1]}" + (f" × {columns} columns" if columns > 1 else "")
    holes = f", {fit.missing} cell{'s'[: fit.missing != 1]} missing" if fit.missing else ""
    lines = [f"{dist.name} by {how}, {shape}{holes}"]
    lines.append(
        f"log-likelihood {_score(fit.log_likelihood)} · {fit.n_parameters} parameter{'s'[: fit.n_parameters != 1]}"
        f" · AIC {_score(fit.aic)} · BIC {_score(fit.bic)}"
    )
    if fit.prior is not None:
        lines.append(f"log-posterior {_score(fit.log_posterior)} under prior {_prior(fit)}")
    lines.append(_passes(fit))
    lines.extend(_table(fit))
    lines.append("alerts: none" if not fit.alerts else "alerts:")
    for code, text in fit.alerts:
        lines.extend(textwrap.wrap(f"{code}: {text}", 100, initial_indent="  ! ", subsequent_indent="    "))
    return "\n".join(lines)


def _prior(fit: Any) -> str:
    prior, name = fit.prior, f"{fit.prior_name} = " if fit.prior_name else ""
    return name + (f"density {getattr(prior, '__name__', 'function')}" if callable(prior) else repr(prior))


def _passes(fit: Any) -> str:
    if fit.statistics.exact:
        return "exact after one pass over the data"
    state = "converged" if fit.converged else "NOT converged"
    return f"{state} after {fit.n_iter} pass{'es'[: 2 * (fit.n_iter != 1)]} over the data"


def _table(fit: Any) -> list[str]:
    """One line per parameter: estimate, standard error, 95 % interval; what has a table of its own shows that."""
    own = getattr(fit.distribution, "table", None)
    if own is not None:
        return list(own(fit))
    rows = _entries(fit.distribution, fit.standard_errors, fit.interval())
    if len(rows) > MANY:
        left_out = len(rows) - MANY
        rows = [*rows[: MANY // 2], (f"… {left_out} more", "", "", ""), *rows[-(MANY // 2) :]]
    head = ("", "estimate", "std. error", "95 % interval")
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(4)]
    return [
        f"  {row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]:<{widths[3]}}".rstrip()
        for row in [head, *rows]
    ]


def _entries(dist: Any, errors: Any, intervals: Any) -> list[tuple[str, str, str, str]]:
    """Label, estimate, standard error and interval of every entry; of blocks, each with the name of its block."""
    if dist.blocks:
        parts = {key: _entries(block, errors[key], intervals[key]) for key, block in dist.blocks.items()}
        return [(f"{_named(key)}: {row[0]}", *row[1:]) for key, part in parts.items() for row in part]
    rows: list[tuple[str, str, str, str]] = []
    for name, value in dist.params.items():
        low, high = intervals[name]
        known = name in dist.fixed
        for label, v, e, a, b in zip(*_cells(dist, name, value, errors[name], low, high), strict=True):
            tail = ("fixed", "") if known else (_number(e), f"{_number(a)} … {_number(b)}" if np.isfinite(e) else "")
            if label:
                rows.append((label, _number(v), *tail))
    return rows


def _named(key: Any) -> str:
    return ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def _cells(dist: Any, name: str, *values: Any) -> tuple[list[Any], ...]:
    """Labels and flat values of one parameter."""
    shape = np.shape(values[0])
    labels = [dist.label(name, place) for place in np.ndindex(*shape)]
    return (labels, *(np.broadcast_to(value, shape).ravel().tolist() for value in values))


def _amount(n: float) -> str:
    return f"{n:,.0f}" if n == round(n) else f"{n:,.6g}"


def _score(value: float) -> str:
    """Two decimals: models are compared by differences of about 1, however large n is."""
    return f"{value:,.2f}" if np.isfinite(value) else f"{value:g}"


def _number(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.5g}"
