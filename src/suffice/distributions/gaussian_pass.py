"""One E-step over Gaussian members, by what their covariance structure keeps of the scatter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from suffice import kernels
from suffice.core.compact import MANY_COLUMNS, Compact, compact, replace
from suffice.core.latent import Expectation, share_out
from suffice.core.moments import Scatter
from suffice.core.parameters import Array
from suffice.core.weights import Weights
from suffice.distributions import holes
from suffice.distributions.normal import Normal


def _full(model: Any, x: Array, log_weights: Array, weights: Array | None) -> Expectation:
    """Any covariance: a scatter matrix of each member."""
    whiten, log_det = model.whitening
    found = kernels.gaussian_expect(x, model.mean, whiten, log_det, log_weights, weights)
    likelihood, entropy, count, centre, shift, scatter = found
    return Expectation(likelihood, entropy, Scatter(count, centre, shift, scatter), count)


def _diagonal(model: Any, x: Array, log_weights: Array, weights: Array | None) -> Expectation:
    """Uncorrelated columns: a sum of squares of each member and column."""
    found = kernels.normal_expect(x, model.mean, np.sqrt(model.var), log_weights, weights)
    likelihood, entropy, count, centre, shift, squares = found
    return Expectation(likelihood, entropy, Scatter(count, centre, shift, compact(squares), diagonal=True), count)


def _pooled(model: Any, x: Array, log_weights: Array, weights: Array | None) -> Expectation:
    """One covariance for all: one scatter matrix for all."""
    whiten, log_det = model.whitening
    found = kernels.shared_gaussian_expect(x, model.mean, whiten[0], float(log_det[0]), log_weights, weights)
    likelihood, entropy, count, centre, shift, scatter = found
    return Expectation(likelihood, entropy, Scatter(count, centre, shift, scatter), count)


# ---- rows that belong to members -----------------------------------------------------------------------------------
def scatter(form: Any, x: Array, w: Weights) -> Scatter:
    """The statistics of complete rows, as far as the structure needs them of each member."""
    if form.keeps == "diagonal" and x.shape[1] >= MANY_COLUMNS:  # of fewer, other structures can use the whole
        _, centre, shift, squares = kernels.moments(x, **w.arguments)
        squares = np.full(squares.shape, np.nan) if np.isnan(x).any() else squares  # those are no complete rows
        return Scatter(w.member_totals(), centre, shift, compact(squares), diagonal=True)
    if _is_wide(form, x):
        weight, centre, shift, rows = kernels.centred_rows(x, w.values, w.codes, w.members)
        return Scatter(weight, centre, shift, compact(np.zeros(centre.shape), rows))
    return Scatter(*kernels.scatter(x, **w.arguments))


def shared_scatter(form: Any, x: Array, w: Weights) -> Scatter:
    """The same with one scatter for all members together."""
    if not _is_wide(form, x):
        return Scatter(*kernels.shared_scatter(x, **w.arguments))
    found = scatter(form, x, w)
    return replace(found, scatter=found.kept.summed())


def _is_wide(form: Any, x: Array) -> bool:
    """Whether rows are so few for their columns that they need less room than products of columns."""
    return bool(form.compact and x.shape[1] >= MANY_COLUMNS and 2 * len(x) <= x.shape[1])


PASSES: dict[str, Callable[..., Expectation]] = {"full": _full, "diagonal": _diagonal, "pooled": _pooled}


def expect_with_holes(model: Any, split: holes.Split, log_weights: Array, weights: Array | None) -> Expectation:
    """The E-step of the rows that have some cells, and not all: as the members complete them."""
    mean = np.asarray(model.mean)
    if model.keeps != "diagonal":
        cov = np.asarray(model.cov)[:1] if model.shared else np.asarray(model.cov)
        return holes.expect(split, log_weights, weights, mean, cov, pooled=model.shared)
    std = np.sqrt(model.var)
    found = Normal(mean, std).expect(split.cells, log_weights, weights)
    return replace(found, statistics=holes.filled(found.statistics, found.count, mean, std))


def expect_blank(shape: tuple[int, int], log_weights: Array, weights: Array | None) -> tuple[float, float, Array]:
    """What rows without any cell add to an E-step: log-likelihood, entropy, and the weight of each member."""
    total, parts, entropy = share_out(np.broadcast_to(log_weights, shape))
    w = np.ones(shape[0]) if weights is None else weights
    with np.errstate(invalid="ignore"):
        likelihood = float(np.where(w > 0, w * total, 0.0).sum())
    return likelihood, float(w @ entropy), w @ parts


def without(found: Expectation, gone: Array) -> Expectation:
    """The same E-step in which some members (k,) got nothing; of a scatter kept together nothing is taken away."""
    stats, keep = found.statistics, ~gone
    own, kept_scatter = len(stats.kept) == len(gone), stats.kept
    if own and isinstance(kept_scatter, Compact) and not kept_scatter.factors:
        kept_scatter = Compact(np.where(keep[:, None], kept_scatter.diagonal, 0.0))
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
