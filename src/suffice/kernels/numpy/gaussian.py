"""One pass of EM over Gaussian components, in NumPy: these functions define what their native twins compute.

With log densities as `gaussian_log_prob` has them, r = softmax(log_weights + log density) are the shares of the
components in a row and w the row's weight: the answer is Σ w log Σ exp, the entropy −Σ w r log r, and the statistics of
every component under the weights w r. log_weights is (k,) or (n, k) and forbids a component by −inf: its share is
exactly 0. A row of weight 0 counts for nothing, whatever it holds. One that may belong to nobody makes the
log-likelihood −inf and adds nothing else. A cell that is NaN or infinite makes it NaN or −inf, and the rest of the
answer worthless.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TypeAlias

import numpy as np

from suffice.kernels.numpy import primitives as numpy_primitives
from suffice.kernels.numpy.primitives import BLOCK_CELLS, BLOCK_ROWS, FADED, Array, Moments, Real

GaussianExpected: TypeAlias = tuple[float, float, Array, Array, Array, Array]


def gaussian_e_step(
    x: Real, mean: Array, whiten: Array, log_det: Array, log_weights: Array, weights: Array | None = None
) -> GaussianExpected:
    """Log-likelihood, entropy, and weight (k,), centre, shift (k, d) and scatter matrix (k, d, d) of the components."""
    return centred_e_step(
        x,
        lambda rows: numpy_primitives.gaussian_log_prob(rows, mean, whiten, log_det),
        numpy_primitives.scatter,
        log_weights,
        weights,
    )


def tied_gaussian_e_step(
    x: Real, mean: Array, whiten: Array, log_det: float, log_weights: Array, weights: Array | None = None
) -> GaussianExpected:
    """The same for components with one covariance, whiten (d, d).

    The scatter (1, d, d) is the sum of the components'.
    """
    k, d = mean.shape
    everyones = np.broadcast_to(whiten, (k, d, d)), np.full(k, log_det)
    expected = gaussian_e_step(x, mean, *everyones, log_weights, weights)
    return *expected[:5], expected[5].sum(axis=0, keepdims=True)


def centred_e_step(
    x: Real,
    log_prob: Callable[[Real], Array],
    scatter: Callable[[Real, Array], Moments],
    log_weights: Array,
    weights: Array | None,
) -> GaussianExpected:
    """The pass by its definition, a block of rows at a time: densities, shares, centred scatter, merged."""
    k = log_weights.shape[-1]
    rows = max(BLOCK_CELLS // max(x.shape[1] + k, 1), BLOCK_ROWS)
    likelihood, entropy, parts = [], [], list[Moments]()
    with np.errstate(invalid="ignore", over="ignore"):  # cells that are not finite show in the log-likelihood
        for start in range(0, max(len(x), 1), rows):
            cut = slice(start, start + rows)
            block, own, w = x[cut], log_weights if log_weights.ndim == 1 else log_weights[cut], np.ones(1)
            if weights is not None:
                some = weights[cut] != 0
                block, own, w = block[some], own if own.ndim == 1 else own[some], weights[cut][some]
            shares, log_sum, spread = softmax(log_prob(block) + own)
            likelihood.append((w * log_sum).sum())
            entropy.append((w * spread).sum())
            parts = [reduce(numpy_primitives.merge, [*parts, scatter(block, w[:, None] * shares)])]
    return float(np.sum(likelihood)), float(np.sum(entropy)), *parts[0]


def softmax(logits: Array) -> tuple[Array, Array, Array]:
    """Shares r (n, k), log Σ exp (n,) and entropy −Σ r log r (n,), a sum of terms none of which is negative.

    A logit that is 600 below the largest of its row has share 0.
    """
    top = logits.max(axis=1, keepdims=True)
    top[np.isneginf(top)] = 0.0
    z = logits - top
    z[z < FADED] = -np.inf
    e = np.exp(z)
    total = e.sum(axis=1)
    tilt = np.multiply(e, z, out=np.zeros_like(e), where=e != 0).sum(axis=1)  # at most 0
    nobody = total == 0
    total[nobody] = 1.0
    log_total = np.log(total)
    entropy = log_total - tilt / total
    e /= total[:, None]
    return e, np.where(nobody, -np.inf, top[:, 0] + log_total), entropy
