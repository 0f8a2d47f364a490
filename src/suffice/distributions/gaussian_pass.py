"""One E-step over Gaussian members, by what their covariance structure keeps of the scatter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from suffice import kernels
from suffice.core.latent import Expectation, share_out
from suffice.core.moments import Scatter
from suffice.core.parameters import Array
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
    std = np.sqrt(np.einsum("kii->ki", model.cov))
    found = kernels.normal_expect(x, model.mean, std, log_weights, weights)
    likelihood, entropy, count, centre, shift, squares = found
    scatter = squares[:, :, None] * np.eye(squares.shape[1])
    return Expectation(likelihood, entropy, Scatter(count, centre, shift, scatter, diagonal=True), count)


def _pooled(model: Any, x: Array, log_weights: Array, weights: Array | None) -> Expectation:
    """One covariance for all: one scatter matrix for all."""
    whiten, log_det = model.whitening
    found = kernels.shared_gaussian_expect(x, model.mean, whiten[0], float(log_det[0]), log_weights, weights)
    likelihood, entropy, count, centre, shift, scatter = found
    return Expectation(likelihood, entropy, Scatter(count, centre, shift, scatter), count)


PASSES: dict[str, Callable[..., Expectation]] = {"full": _full, "diagonal": _diagonal, "pooled": _pooled}


def expect_with_holes(model: Any, split: holes.Split, log_weights: Array, weights: Array | None) -> Expectation:
    """The E-step of the rows that have some cells, and not all: as the members complete them."""
    mean = np.asarray(model.mean)
    if model.keeps != "diagonal":
        cov = np.asarray(model.cov)[:1] if model.shared else np.asarray(model.cov)
        return holes.expect(split, log_weights, weights, mean, cov, pooled=model.shared)
    std = np.sqrt(np.einsum("kii->ki", model.cov))
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
    own = len(stats.scatter) == len(gone)
    kept = replace(
        stats,
        weight=np.where(keep, stats.weight, 0.0),
        centre=np.where(keep[:, None], stats.centre, 0.0),
        shift=np.where(keep[:, None], stats.shift, 0.0),
        scatter=np.where(keep[:, None, None], stats.scatter, 0.0) if own else stats.scatter,
    )
    return replace(found, statistics=kept, count=np.where(keep, found.count, 0.0))
