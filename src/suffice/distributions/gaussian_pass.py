"""One E-step over Gaussian members, by what their covariance structure keeps of the scatter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from suffice import kernels
from suffice.core.latent import Expectation
from suffice.core.moments import Moments, Scatter
from suffice.core.parameters import Array
from suffice.distributions.normal import HALF_LOG_TAU, Normal


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
    if not np.isfinite(found[0]) and np.isnan(x).any():
        return _filled(Normal(model.mean, std), x, log_weights, weights)
    likelihood, entropy, count, centre, shift, squares = found
    scatter = squares[:, :, None] * np.eye(squares.shape[1])
    return Expectation(likelihood, entropy, Scatter(count, centre, shift, scatter, diagonal=True), count)


def _filled(columns: Any, x: Array, log_weights: Array, weights: Array | None) -> Expectation:
    """Uncorrelated columns with holes: a missing cell has the distribution that the member gives to it."""
    found = columns.expect(x, log_weights, weights)
    absent = np.maximum(found.count[:, None] - found.statistics.weight, 0.0)
    guess = Moments(absent, columns.mean, np.zeros_like(columns.mean), absent * columns.std**2)
    whole = replace(found.statistics, family="") + guess
    entropy = found.entropy + float((absent * (HALF_LOG_TAU + 0.5 + np.log(columns.std))).sum())
    squares = whole.scatter[:, :, None] * np.eye(x.shape[1])
    scatter = Scatter(found.count, whole.centre, whole.shift, squares, diagonal=True)
    return Expectation(found.log_likelihood, entropy, scatter, found.count)


def _pooled(model: Any, x: Array, log_weights: Array, weights: Array | None) -> Expectation:
    """One covariance for all: one scatter matrix for all."""
    whiten, log_det = model.whitening
    found = kernels.shared_gaussian_expect(x, model.mean, whiten[0], float(log_det[0]), log_weights, weights)
    likelihood, entropy, count, centre, shift, scatter = found
    return Expectation(likelihood, entropy, Scatter(count, centre, shift, scatter), count)


PASSES: dict[str, Callable[..., Expectation]] = {"full": _full, "diagonal": _diagonal, "pooled": _pooled}


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
