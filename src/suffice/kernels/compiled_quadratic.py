"""Numba twins of the steps that short runs are made of: same names, same signatures."""

from __future__ import annotations

import numpy as np

from suffice.kernels import mixtures, steps
from suffice.kernels.compiled import _plain
from suffice.kernels.compiled_expect import BLOCK, _fold, _tiled, _untiled, _whole
from suffice.kernels.reference import LOG_2PI, Array, Real
from suffice.kernels.reference_quadratic import LOST, SEEN, SURE, Members, QuadraticSums


def quadratic_e_step(x: Real, weights: Array | None, centre: Array, scale: Array, coefficients: Array) -> QuadraticSums:
    """Log-likelihood and entropy of rows under the coefficients (k, m), and the sums (k, m) of their products."""
    k, m = coefficients.shape
    eta = _plain(_tiled(coefficients, _whole(m)))
    sums = np.zeros(eta.shape)
    log_likelihood, entropy = _fold(
        mixtures.gaussian, (x, weights, np.zeros(1)), (_plain(centre), _plain(scale), eta, k, BLOCK, sums)
    )
    return log_likelihood, entropy, _untiled(sums)[:k, :m].copy()


def quadratic_step(sums: Array, floor: Array, ridge: Array, log_scale: float) -> Members:
    """The components that the sums (k, m) tell of, with ``ridge`` (d,) added to variances.

    None below ``floor`` (d, d).
    """
    k, d = len(sums), len(floor)
    mean, cov, out = np.empty((k, d)), np.empty((k, d, d)), np.empty(sums.shape)
    constant = log_scale - 0.5 * d * LOG_2PI
    sure = steps.gaussian_components(
        _plain(sums), _plain(floor), _plain(ridge), constant, LOST, SURE, SEEN, mean, cov, out
    )
    return Members(bool(sure), sums[:, 0], mean, cov, out)
