"""The native twin of the M-step of covariances: same name, same signature."""

from __future__ import annotations

import numpy as np

from suffice.kernels import native
from suffice.kernels.numpy.covariances import Whitened
from suffice.kernels.numpy.primitives import Array

_covariances = native.kernel("whitened_covariances", "f64 f64 n n f64 f64 r f64 f64 f64 -> n")


def whitened_covariances(
    scatter: Array, weight: Array, floor: Array | None, least: Array, relative: float
) -> Whitened | None:
    """Covariances (k, d, d) of scatter (k, d, d) and weight (k,), W with W Σ Wᵀ = I, and log|W| (k,)."""
    k, d = len(weight), scatter.shape[-1]
    cov, whiten, log_det = np.empty((k, d, d)), np.empty((k, d, d)), np.empty(k)
    floor = None if floor is None else np.ascontiguousarray(floor, np.float64)
    given = (np.ascontiguousarray(scatter), np.ascontiguousarray(weight), k, d, floor, np.ascontiguousarray(least))
    return (cov, whiten, log_det) if _covariances(*given, relative, cov, whiten, log_det) else None
