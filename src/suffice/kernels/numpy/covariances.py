"""The M-step of covariances of which each is free, in NumPy."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from suffice.kernels.numpy.primitives import Array

Whitened: TypeAlias = tuple[Array, Array, Array]


def whitened_covariances(
    scatter: Array, weight: Array, floor: Array | None, least: Array, relative: float
) -> Whitened | None:
    """Covariances (k, d, d) of scatter (k, d, d) and weight (k,), W with W Σ Wᵀ = I, and log|W| (k,).

    None where one may not be above the ``floor`` (d, d), has a standard deviation below ``least`` (k, d) or a
    correlation matrix with an eigenvalue below d times ``relative``; or where the floor itself is so small beside a
    variance that it is hardly more than that.
    """
    d = scatter.shape[-1]
    with np.errstate(all="ignore"):
        cov = scatter / weight[:, None, None]
        variances = np.einsum("kii->ki", cov)
        held = (weight > 0).all() and (variances >= least**2).all() and np.isfinite(variances).all()
        if not held or not (floor is None or (np.diag(floor) >= 2 * relative * d * variances).all()):
            return None
        spread = np.sqrt(variances)
        correlation = cov / (spread[:, :, None] * spread[:, None, :])
        try:
            if floor is not None:
                np.linalg.cholesky(cov - floor)
            np.linalg.cholesky(correlation - relative * d * np.eye(d))
            lower = np.linalg.cholesky(correlation)
        except np.linalg.LinAlgError:
            return None
    log_det = -(np.log(spread) + np.log(np.einsum("kii->ki", lower))).sum(axis=1)
    whiten = np.tril(np.linalg.solve(lower, np.broadcast_to(np.eye(d), lower.shape))) / spread[:, None, :]
    return (cov, whiten, log_det) if np.isfinite(log_det).all() else None
