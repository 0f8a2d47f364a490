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
    key = None if fit.distribution.blocks else fit.names
    rows = _entries(fit.distribution, fit.standard_errors, fit.interval(), key)
    if len(rows) > MANY:
        left_out = len(rows) - MANY
        rows = [*rows[: MANY // 2], (f"… {left_out} more", "", "", ""), *rows[-(MANY // 2) :]]
    head = ("", "estimate", "std. error", "95 % interval")
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(4)]
    return [
        f"  {row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]:<{widths[3]}}".rstrip()
        for row in [head, *rows]
    ]


def _entries(dist: Any, errors: Any, intervals: Any, key: Any = None) -> list[tuple[str, str, str, str]]:
    """Label, estimate, standard error and interval of every entry; of blocks, each with the name of its column."""
    if dist.blocks:
        parts = {one: _entries(block, errors[one], intervals[one], one) for one, block in dist.blocks.items()}
        inner = [row for part in parts.values() for row in part]
        return inner if key is None else [(f"{named(key)}: {row[0]}", *row[1:]) for row in inner]
    rows: list[tuple[str, str, str, str]] = []
    for name, value in dist.params.items():
        low, high = intervals[name]
        known = name in dist.fixed
        for label, v, e, a, b in zip(*_cells(dist, key, name, value, errors[name], low, high), strict=True):
            tail = ("fixed", "") if known else (_number(e), f"{_number(a)} … {_number(b)}" if np.isfinite(e) else "")
            if label:
                rows.append((label, _number(v), *tail))
    return sorted(rows, key=lambda row: column_place(key, row[0])) if isinstance(key, tuple) else rows


def column_place(key: tuple[Any, ...], label: str) -> int:
    """The place of a label's column in its block: the numbers of a column stand together."""
    return next((i for i, name in enumerate(key) if label.startswith(f"{name}: ")), 0)


def named(key: Any) -> str:
    """The key of a block as text."""
    return ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def labelled(dist: Any, key: Any, name: str, place: tuple[int, ...]) -> str:
    """How a table names one entry of the block ``key``: under its own column, where the block has one for each.

    "" leaves it out; without a key the entry stands alone.
    """
    label = str(dist.label(name, place))
    if key is None or not label:
        return label
    if not isinstance(key, tuple) or not place:
        return f"{named(key)}: {label}"
    if dist.row_vector:
        return f"{name}[{', '.join(str(key[i]) for i in place)}]"
    rest = label.removeprefix(f"{name}[{place[0]}").removeprefix(", ")
    return f"{key[place[0]]}: {name}" + (f"[{rest}" if rest != "]" else "")


def _cells(dist: Any, key: Any, name: str, *values: Any) -> tuple[list[Any], ...]:
    """Labels and flat values of one parameter."""
    shape = np.shape(values[0])
    labels = [labelled(dist, key, name, place) for place in np.ndindex(*shape)]
    return (labels, *(np.broadcast_to(value, shape).ravel().tolist() for value in values))


def _amount(n: float) -> str:
    return f"{n:,.0f}" if n == round(n) else f"{n:,.6g}"


def _score(value: float) -> str:
    """Two decimals: models are compared by differences of about 1, however large n is."""
    return f"{value:,.2f}" if np.isfinite(value) else f"{value:g}"


def _number(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.5g}"
