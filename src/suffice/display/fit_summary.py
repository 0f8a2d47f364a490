"""Summaries of fits and families: title, statistics, convergence, parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from suffice.display.names import display_name
from suffice.display.summary import Fact, Head, Parameter, Row, Summary
from suffice.display.values import ColumnSummary, count, measured, number, score
from suffice.errors import SufficeError
from suffice.numerics.low_rank import LowRank, diagonals, stored
from suffice.types import Array, Prior

MANY = 2000  # numbers whose standard errors a summary still computes by itself
WORK = 2e7  # multiplications that it still does for what needs the rows
HOLES = 1e8  # the same where only holes need them: matrix products
LEVEL = 24  # letters of a level
BAND = 512  # rows of a covariance that are looked at together
LONG = 110  # letters of a prior


def of_fit(fit: Any) -> Summary:
    """The whole summary of a fit."""
    own: Summary = fit.distribution.summarize(getattr(fit, "names", None), fit)
    p = fit.n_parameters
    numbers = [Fact("log-likelihood", fit.log_likelihood, f"log-likelihood {score(fit.log_likelihood)}")]
    if fit.distribution.hard_assignment and hasattr(fit.distribution, "certainty"):
        log_likelihood = float(fit.trace.log_likelihood[-1])
        numbers.append(
            Fact(
                "classification log-likelihood",
                log_likelihood,
                f"of rows and components together {score(log_likelihood)}",
            )
        )
    if fit.prior is not None:
        numbers.append(Fact("log posterior", fit.log_posterior, f"log posterior {score(fit.log_posterior)}"))
    numbers.append(Fact("parameters", p, count(p, "parameter")))
    numbers += [Fact("BIC", fit.bic, f"BIC {score(fit.bic)}"), Fact("AIC", fit.aic, f"AIC {score(fit.aic)}")]
    return replace(
        own,
        title=f"{own.title} by {_how(fit)}, {_rows(fit)}",
        statistics=(*numbers, *own.statistics),
        prior=_prior(fit),
        convergence=_passes(fit),
        alerts=tuple(fit.alerts),
        judged=True,
    )


def _how(fit: Any) -> str:
    if fit.prior is None:
        return str(fit.distribution.estimated_by)
    return "maximum a posteriori" + (f" under a {fit.prior_name} prior" if fit.prior_name else "")


def _rows(fit: Any) -> str:
    rows, weights = fit.data or (None, None)
    weighted = fit.n != round(fit.n) if weights is None else weights.values is not None
    columns = fit.distribution.columns or 1
    wide = f" × {columns} columns" if columns > 1 else ""
    holes = f", {count(fit.missing, 'cell')} missing" if fit.missing else ""
    if not weighted:
        return f"{count(fit.n, 'row')}{wide}{holes}"
    many = "rows" if rows is None else count(len(rows), "row")
    return f"{many}{wide} of weight {number(fit.n, 6)} in all{holes}"


def _prior(fit: Any) -> str:
    prior = fit.prior
    if prior is None:
        return ""
    if callable(prior):
        return f"prior: the density {display_name(getattr(prior, '__name__', 'function'))}"
    if isinstance(prior, dict):
        return "prior: " + "; ".join(f"{display_name(key)} {_brief(one)}" for key, one in prior.items())
    return f"prior: {_brief(prior)}"


def _brief(prior: Prior) -> str:
    if isinstance(prior, dict):
        kinds = dict.fromkeys(type(one).__name__ for one in prior.values() if one is not None)
        return "of " + ", ".join(kinds)
    if isinstance(prior, (list, tuple)):
        return "of each component"
    text = repr(prior)
    return text if len(text) <= LONG else type(prior).__name__


def _passes(fit: Any) -> str:
    trace = fit.trace
    if fit.statistics.exact:
        return "exact after one pass over the data"
    parts = [f"{'converged' if fit.converged else 'NOT converged'} after {count(fit.n_iter, 'pass')}"]
    if trace.starts > 1:
        parts.append(f"{trace.agreeing} of {trace.starts} starts agree")
    elif trace.tries > 1:
        parts[0] += f" from the best of {trace.tries} short starts"
    objective = trace.objective if len(trace.objective) else trace.log_likelihood
    if len(objective) > 1:
        what = "likelihood" if fit.prior is None else "log posterior"
        fell = trace.falls
        rose = "rose at every step" if not fell else f"fell at {fell} of {count(len(objective) - 1, 'step')}"
        parts.append(f"the {what} {rose}")
    return "; ".join(parts)


# ---- a model without components
# -----------------------------------------------------------------------------------------
def errors_of(fit: Any) -> Any:
    """The standard errors, where they are there or quickly found; else None."""
    if fit is None:
        return None
    if "standard_errors" in fit.__dict__:
        return fit.standard_errors
    p, model = fit.n_parameters, fit.distribution
    most = WORK if model.is_latent else HOLES
    if p > MANY or (model.needs_rows(fit.statistics) and (not fit.intact or fit.n * p * p > most)):
        return None
    try:
        return fit.standard_errors
    except SufficeError:
        return None


def of_family(dist: Any, names: Sequence[Any] | None, fit: object) -> Summary:
    """The summary of a family: its numbers, and a row for each column."""
    errors = errors_of(fit)
    columns = column_names(dist, names)
    numbers = dist.numbers(names, errors)
    rows = by_column(dist, columns, numbers, errors)
    return Summary(dist.name, components=(Head(""),), rows=rows, parameters=numbers,
                    correlations=(strongest(dist, columns),), judged=False)  # fmt: skip


def column_names(dist: Any, names: Sequence[Any] | None) -> tuple[Any, ...]:
    """How the columns of a family are called: by the names of the data, else by their places."""
    d = 1 if dist.support.core and not dist.row_vector else int(dist.columns or 1)
    if names is not None and len(names) == d:
        return tuple(names)
    return tuple(range(d)) if d > 1 else ("value",)


def parameters(
    dist: Any, columns: tuple[Any, ...], errors: Mapping[str, Any] | None, reach: float
) -> tuple[Parameter, ...]:
    """Every number of a family under the name of its column, with its standard error where that is known.

    Intervals reach so many standard errors to both sides.
    """
    if not dist.ready or (dist.row_vector and dist.n_parameters > MANY):  # a covariance of many columns is not read
        return ()
    bounds = None if errors is None else dist.confidence_bounds(errors, reach)
    found = []
    for name, value in dist.params.items():
        values = np.asarray(value, dtype=float)
        error = np.full(values.shape, np.nan) if errors is None else np.broadcast_to(errors[name], values.shape)
        low, high = (error, error) if bounds is None else (np.broadcast_to(one, values.shape) for one in bounds[name])
        for place in np.ndindex(*values.shape):
            column, label = under_column(dist, columns, name, place)
            if not label:
                continue
            ends = (float(low[place]), float(high[place])) if np.isfinite(error[place]) else (np.nan, np.nan)
            figures = (float(values[place]), float(error[place]), *ends)
            found.append(Parameter(column, label, *figures, name in dist.fixed, level=dist.level_at(name, place)))
    return tuple(found)


def under_column(dist: Any, columns: tuple[Any, ...], name: str, place: tuple[int, ...]) -> tuple[Any, str]:
    """The column that one number of a parameter is shown under, and what it is called there; "" where it is not."""
    label = str(dist.label(name, place))
    if dist.row_vector and isinstance(columns[0], str) and label.startswith(f"{name}["):
        label = f"{name}[{', '.join(display_name(columns[i]) for i in place)}]"
    wide = not dist.row_vector and len(dist.batch) > 0
    column = columns[place[0]] if (wide or dist.row_vector) and place and place[0] < len(columns) else columns[0]
    if wide and label:
        rest = label.removeprefix(f"{name}[{place[0]}").removeprefix(", ")
        label = name + (f"[{rest}" if rest != "]" else "")
    return column, label


def by_column(
    dist: Any, columns: tuple[Any, ...], numbers: tuple[Parameter, ...], errors: dict[Any, Any] | None
) -> tuple[Row, ...]:
    """A row for each column, with its parameters and their standard errors as pieces.

    Columns that are described together have those of their marginals; correlations are told apart from them.
    """
    found, family = [], dist.name
    alone = dist.marginals if dist.row_vector and dist.ready else None
    if alone is not None:
        known = {name: error for name, error in (errors or {}).items() if np.shape(error) == np.shape(columns)}
        unknown = {name: np.full(len(columns), np.nan) for name in alone.params if name not in known}
        numbers = tuple(
            Parameter(column, name, float(value), float({**known, **unknown}[name][j]))
            for name, values in alone.params.items()
            for j, (column, value) in enumerate(zip(columns, np.asarray(values)[0], strict=True))
        )
    parts: dict[Any, list[Parameter]] = {column: [] for column in columns}
    for one in numbers:
        parts[one.column].append(one)
    for column, own in parts.items():
        pieces = tuple(
            f"{display_name(one.label if one.level is None else one.level, LEVEL)} {with_error(one)}" for one in own
        )
        found.append(Row(column, (ColumnSummary(pieces, {one.label: one.value for one in own}),), family))
    return tuple(found)


def with_error(one: Parameter) -> str:
    """An estimate with its standard error."""
    if one.fixed:
        return f"{number(one.value)} fixed"
    return measured(one.value, one.error)


def strongest(
    dist: Any, columns: tuple[Any, ...], most: int = 3, least: float = 0.05
) -> tuple[tuple[Any, Any, float], ...]:
    """The strongest correlations of columns that are described together."""
    cov = stored(dist, "cov") if dist.row_vector and dist.ready and hasattr(type(dist), "cov") else None
    if cov is None or cov.ndim != 2 or len(cov) < 2 or (isinstance(cov, LowRank) and not cov.factors):
        return ()
    spread = np.sqrt(diagonals(cov))
    found: list[tuple[int, int, float]] = []
    for first in range(0, len(cov), BAND):
        band = slice(first, first + BAND)
        with np.errstate(all="ignore"):
            r = np.nan_to_num(_band(cov, band) / (spread[band, None] * spread))
        r[np.tri(len(r), r.shape[1], first, np.bool_)] = 0.0  # each pair once
        order = np.argsort(-np.abs(r), axis=None, kind="stable")[:most]
        found += [(first + i, j, float(r[i, j])) for i, j in zip(*np.unravel_index(order, r.shape), strict=True)]
    found.sort(key=lambda pair: -abs(pair[2]))
    return tuple((columns[i], columns[j], r) for i, j, r in found[:most] if abs(r) >= least)


def _band(cov: Array | LowRank, rows: slice) -> Any:
    """Some rows of a covariance; those of a `LowRank` without their diagonal."""
    return cov.factors[0][:, rows].T @ cov.factors[0] if isinstance(cov, LowRank) else np.asarray(cov)[rows]
