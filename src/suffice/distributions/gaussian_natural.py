"""Gaussian components as an exponential family: statistics, natural and mean parameters, and what links them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from suffice.core.exponential_family import ExponentialFamily
from suffice.distributions.floors import HALF_LOG_TAU
from suffice.numerics.low_rank import replace
from suffice.types import Array


class GaussianNatural(ExponentialFamily, register=False):
    """The exponential family of means and covariances: u(x) = (x, x xᵀ), η = (Σ⁻¹ μ, −½ Σ⁻¹)."""

    mean: Any  # of the components themselves, as all of these
    cov: Any
    whitening: Any

    def statistic(self, x: Array) -> Array:
        return np.concatenate([x, (x[..., :, None] * x[..., None, :]).reshape(*x.shape[:-1], -1)], axis=-1)

    def log_base(self, x: Array) -> Array:
        return np.full(np.shape(x)[:-1], -HALF_LOG_TAU * np.shape(x)[-1])

    def natural(self) -> Array:
        precision, mean = np.linalg.inv(self.cov), np.asarray(self.mean)
        flat = -0.5 * precision.reshape(*mean.shape[:-1], -1)
        return np.concatenate([(precision @ mean[..., None])[..., 0], flat], axis=-1)

    def from_natural(self, eta: Array) -> Self:
        d = int(self.columns or 0)
        eta = np.asarray(eta, dtype=float)
        precision = -2.0 * eta[..., d:].reshape(*eta.shape[:-1], d, d)
        precision = 0.5 * (precision + np.swapaxes(precision, -2, -1))  # entries (i, j) and (j, i) of u are the same
        cov = np.linalg.inv(precision)
        return replace(self, mean=(cov @ eta[..., :d, None])[..., 0], cov=cov)

    def covariance_statistic(self) -> Array:
        mean, cov = np.asarray(self.mean), np.asarray(self.cov)
        d, batch = mean.shape[-1], mean.shape[:-1]
        half = np.einsum("...ij,...k->...ijk", cov, mean)
        third = half + np.swapaxes(half, -1, -2)  # Cov(x_i, x_j x_k) = Σ_ij μ_k + Σ_ik μ_j
        one = np.einsum("...ik,...jl->...ijkl", cov, cov + mean[..., :, None] * mean[..., None, :])
        one = one + np.einsum("...jl,...i,...k->...ijkl", cov, mean, mean)
        two = np.einsum("...il,...jk->...ijkl", cov, cov + mean[..., :, None] * mean[..., None, :])
        fourth = one + two + np.einsum("...jk,...i,...l->...ijkl", cov, mean, mean)
        out = np.empty((*batch, d + d * d, d + d * d))
        out[..., :d, :d] = cov
        out[..., :d, d:] = third.reshape(*batch, d, d * d)
        out[..., d:, :d] = np.swapaxes(out[..., :d, d:], -1, -2)
        out[..., d:, d:] = fourth.reshape(*batch, d * d, d * d)
        return out

    def log_partition(self) -> Array:
        whiten, log_det = self.whitening
        z = np.einsum("kij,kj->ki", whiten, np.asarray(self.stacked.mean))
        return np.asarray((0.5 * (z**2).sum(axis=1) - log_det).reshape(self.batch))

    def mean_statistic(self) -> Array:
        mean = np.asarray(self.mean)
        second = np.asarray(self.cov) + mean[..., :, None] * mean[..., None, :]
        return np.concatenate([mean, second.reshape(*mean.shape[:-1], -1)], axis=-1)

    def from_mean(self, mean: Array) -> Self:
        d = int(self.columns or 0)
        first = mean[..., :d]
        second = mean[..., d:].reshape(*first.shape, d)
        return replace(self, mean=first, cov=second - first[..., :, None] * first[..., None, :])
