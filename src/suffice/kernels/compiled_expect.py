"""Numba twins of the reference's passes of EM: same names, same signatures, same answers but for the last bits."""

from __future__ import annotations

import numpy as np

from suffice.kernels import compiled
from suffice.kernels.reference import Array, Real
from suffice.kernels.reference_expect import GaussianExpected, centred_expect


def gaussian_expect(
    x: Real, mean: Array, whiten: Array, log_det: Array, log_weights: Array, weights: Array | None = None
) -> GaussianExpected:
    """Log-likelihood, entropy, and weight (k,), centre, shift (k, d) and scatter matrix (k, d, d) of the members."""
    return centred_expect(
        x, lambda rows: compiled.gaussian_log_prob(rows, mean, whiten, log_det), compiled.scatter, log_weights, weights
    )


def shared_gaussian_expect(
    x: Real, mean: Array, whiten: Array, log_det: float, log_weights: Array, weights: Array | None = None
) -> GaussianExpected:
    """The same for members with one covariance, whiten (d, d); the scatter (1, d, d) is the sum of the members'."""
    k, d = mean.shape
    everyones = np.broadcast_to(whiten, (k, d, d)), np.full(k, log_det)
    expected = gaussian_expect(x, mean, *everyones, log_weights, weights)
    return *expected[:5], expected[5].sum(axis=0, keepdims=True)
