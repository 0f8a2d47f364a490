"""One E-step over Gaussian components, by what their covariance structure keeps of the scatter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from suffice import kernels
from suffice.core.family import Family
from suffice.core.responsibilities import EStep, normalize
from suffice.distributions import gaussian_missing
from suffice.distributions.covariance_structures import Tied
from suffice.distributions.normal import Normal
from suffice.numerics.low_rank import MANY_COLUMNS, LowRank, compact, replace
from suffice.statistics.moments import Scatter
from suffice.statistics.weights import Weights
from suffice.types import Array


def _full(model: Any, x: Array, log_weights: Array, weights: Array | None) -> EStep:
    """Any covariance: a scatter matrix of each component."""
    whiten, log_det = model.whitening
    found = kernels.gaussian_e_step(x, model.mean, whiten, log_det, log_weights, weights)
    likelihood, entropy, count, centre, shift, scatter = found
    return EStep(likelihood, entropy, Scatter(count, centre, shift, scatter), count)


def _diagonal(model: Family, x: Array, log_weights: Array, weights: Array | None) -> EStep:
    """Uncorrelated columns: a sum of squares of each component and column."""
    found = kernels.normal_e_step(x, model.mean, np.sqrt(model.var), log_weights, weights)
    likelihood, entropy, count, centre, shift, squares = found
    return EStep(likelihood, entropy, Scatter(count, centre, shift, compact(squares), diagonal=True), count)


def _pooled(model: Any, x: Array, log_weights: Array, weights: Array | None) -> EStep:
    """One covariance for all: one scatter matrix for all."""
    whiten, log_det = model.whitening
    found = kernels.tied_gaussian_e_step(x, model.mean, whiten[0], float(log_det[0]), log_weights, weights)
    likelihood, entropy, count, centre, shift, scatter = found
    return EStep(likelihood, entropy, Scatter(count, centre, shift, scatter), count)


# ---- rows that belong to components
# -----------------------------------------------------------------------------------
def scatter(form: Any, x: Array, w: Weights) -> Scatter:
    """The statistics of complete rows, as far as the structure needs them of each component."""
    if form.scatter_kind == "diagonal" and x.shape[1] >= MANY_COLUMNS:  # of fewer, other structures can use the whole
        _, centre, shift, squares = kernels.moments(x, **w.arguments)
        squares = np.full(squares.shape, np.nan) if np.isnan(x).any() else squares  # those are not complete rows
        return Scatter(w.component_totals(), centre, shift, compact(squares), diagonal=True)
    if _is_wide(form, x):
        weight, centre, shift, rows = kernels.centred_rows(x, w.values, w.codes, w.n_components)
        return Scatter(weight, centre, shift, compact(np.zeros(centre.shape), rows))
    return Scatter(*kernels.scatter(x, **w.arguments))


def shared_scatter(form: Tied, x: Array, w: Weights) -> Scatter:
    """The same with one scatter for all components together."""
    if not _is_wide(form, x):
        return Scatter(*kernels.shared_scatter(x, **w.arguments))
    found = scatter(form, x, w)
    return replace(found, scatter=found.kept.summed())


def _is_wide(form: Any, x: Array) -> bool:
    """Whether rows are so few for their columns that they need less room than products of columns."""
    return bool(form.compact and x.shape[1] >= MANY_COLUMNS and 2 * len(x) <= x.shape[1])


PASSES: dict[str, Callable[..., EStep]] = {"full": _full, "diagonal": _diagonal, "pooled": _pooled}


def e_step_with_missing(model: Any, split: gaussian_missing.Split, log_weights: Array, weights: Array | None) -> EStep:
    """The E-step of the rows that have some cells, and not all: as the components complete them."""
    mean = np.asarray(model.mean)
    if model.scatter_kind != "diagonal":
        cov = np.asarray(model.cov)[:1] if model.shared else np.asarray(model.cov)
        return gaussian_missing.e_step(split, log_weights, weights, mean, cov, pooled=model.shared)
    std = np.sqrt(model.var)
    found = Normal(mean, std).e_step(split.cells, log_weights, weights)
    return replace(found, statistics=gaussian_missing.filled(found.statistics, found.count, mean, std))


def e_step_blank(shape: tuple[int, int], log_weights: Array, weights: Array | None) -> tuple[float, float, Array]:
    """What rows without any cell add to an E-step: log-likelihood, entropy, and the weight of each component."""
    total, parts, entropy = normalize(np.broadcast_to(log_weights, shape))
    w = np.ones(shape[0]) if weights is None else weights
    with np.errstate(invalid="ignore"):
        likelihood = float(np.where(w > 0, w * total, 0.0).sum())
    return likelihood, float(w @ entropy), w @ parts


def without(found: EStep, gone: Array) -> EStep:
    """The same E-step in which some components (k,) got nothing; of a scatter kept together nothing is taken away."""
    stats, keep = found.statistics, ~gone
    own, kept_scatter = len(stats.kept) == len(gone), stats.kept
    if own and isinstance(kept_scatter, LowRank) and not kept_scatter.factors:
        kept_scatter = LowRank(np.where(keep[:, None], kept_scatter.diagonal, 0.0))
    elif own:
        kept_scatter = np.where(keep[:, None, None], stats.scatter, 0.0)
    kept = replace(
        stats,
        weight=np.where(keep, stats.weight, 0.0),
        centre=np.where(keep[:, None], stats.centre, 0.0),
        shift=np.where(keep[:, None], stats.shift, 0.0),
        scatter=kept_scatter,
    )
    return replace(found, statistics=kept, count=np.where(keep, found.count, 0.0))
