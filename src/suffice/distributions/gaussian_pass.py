"""One E-step over Gaussian members, by what their covariance structure keeps of the scatter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from suffice import kernels
from suffice.core.latent import Expectation
from suffice.core.parameters import Array
from suffice.core.statistics import Scatter


def _full(model: Any, x: Array, log_weights: Array, weights: Array | None) -> Expectation:
    """Any covariance: a scatter matrix of each member."""
    found = kernels.gaussian_expect(x, model.mean, *model.whitening, log_weights, weights)
    likelihood, entropy, count, centre, shift, scatter = found
    return Expectation(likelihood, entropy, Scatter(count, centre, shift, scatter), count)


def _diagonal(model: Any, x: Array, log_weights: Array, weights: Array | None) -> Expectation:
    """Uncorrelated columns: a sum of squares of each member and column."""
    std = np.sqrt(np.einsum("kii->ki", model.cov))
    found = kernels.normal_expect(x, model.mean, std, log_weights, weights)
    likelihood, entropy, count, centre, shift, squares = found
    scatter = squares[:, :, None] * np.eye(squares.shape[1])
    return Expectation(likelihood, entropy, Scatter(count, centre, shift, scatter), count)


def _pooled(model: Any, x: Array, log_weights: Array, weights: Array | None) -> Expectation:
    """One covariance for all: one scatter matrix for all."""
    whiten, log_det = model.whitening
    found = kernels.shared_gaussian_expect(x, model.mean, whiten[0], float(log_det[0]), log_weights, weights)
    likelihood, entropy, count, centre, shift, scatter = found
    return Expectation(likelihood, entropy, Scatter(count, centre, shift, scatter), count)


PASSES: dict[str, Callable[..., Expectation]] = {"full": _full, "diagonal": _diagonal, "pooled": _pooled}


def kept(stats: Scatter, keeps: str) -> Scatter:
    """What a structure keeps of the members' scatter: all, the diagonals, or the sum."""
    if keeps == "diagonal":
        return replace(stats, scatter=stats.scatter * np.eye(stats.scatter.shape[-1]))
    return replace(stats, scatter=stats.scatter.sum(axis=0, keepdims=True)) if keeps == "pooled" else stats
