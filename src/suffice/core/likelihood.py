"""The log-likelihood of many candidate parameters at once, from statistics or from rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from suffice.core.formulas import Formulas
from suffice.core.learner import Learner
from suffice.engines import local
from suffice.statistics.weights import Weights
from suffice.types import Array

CELLS = 1 << 22  # rows × candidates that are scored at once

Score = Callable[[Any], Array]  # a stack of candidates → the log-likelihood of each


def column_log_prob(stack: Any, x: Array) -> Array:
    """Log density of one column (n, 1) under every component at once, (n, k), where the family itself would loop."""
    own = type(stack).log_density is not Formulas.log_density and not getattr(stack, "own_base", False)
    if own or stack.support.core:
        return np.asarray(stack.log_density(x))
    column = x[:, 0]
    with np.errstate(all="ignore"):
        cells = np.broadcast_to(stack.log_cell(column[:, None, None])[..., 0], (len(x), stack.n_components))
    inside, missing = stack.support.contains(column), np.isnan(column)
    if inside.all():
        return np.asarray(cells)
    return np.where(missing[:, None], 0.0, np.where(inside[:, None], cells, -np.inf))


def score_of_statistics(stats: Any) -> Score:
    """The log-likelihood of many candidates at once, from exact statistics."""

    def score(stack: Any) -> Array:
        with np.errstate(all="ignore"):
            values = np.asarray(stack.log_likelihood(stats))
        return np.where(np.isnan(values), -np.inf, values)

    return score


def score_of_rows(rows: Any, weights: Weights) -> Score:
    """The log-likelihood of many candidates at once, by passes over the (distinct) rows."""
    count = np.ones(len(rows)) if weights.values is None else np.asarray(weights.values)
    cells = np.asarray(rows)
    single = cells.ndim == 2 and cells.shape[1] == 1 and cells.dtype.kind == "f"
    if single:
        flat = cells[:, 0]
        seen = ~np.isnan(flat)
        distinct, code = np.unique(flat[seen], return_inverse=True)
        cells, count = distinct[:, None], np.bincount(code, count[seen], len(distinct))
    cells, count = cells[count > 0], count[count > 0]

    def score(stack: Any) -> Array:
        step = max(CELLS // max(len(cells), 1), 1)
        found = []
        for i in range(0, stack.n_components, step):
            part = stack.reshaped(lambda value, i=i: value[i : i + step])
            with np.errstate(all="ignore"):
                scored = column_log_prob(part, cells) if single else np.asarray(part.log_prob(cells))
                found.append(count @ scored.reshape(len(cells), -1))
        values = np.concatenate(found)
        return np.where(np.isnan(values), -np.inf, values)

    return score


def log_likelihood_of_rows(model: Learner, rows: Any, weights: Weights) -> float:
    """Σ w log p(x), from the rows."""

    def part(where: slice) -> float:
        held = weights[where].dense()[:, 0]
        with np.errstate(invalid="ignore"):
            return float(np.where(held > 0, held * model.stacked.log_density(rows[where])[:, 0], 0.0).sum())

    return float(local.reduce(part, len(rows), model.score_width(rows)))
