"""Native twins of the steps that short runs are made of: same names, same signatures."""

from __future__ import annotations

import numpy as np

from suffice.kernels import native
from suffice.kernels.native.gaussian import fold
from suffice.kernels.native.primitives import FLOATS, _plain
from suffice.kernels.numpy.primitives import LOG_2PI, Array, Real
from suffice.kernels.numpy.quadratic import ROUGH, SEEN, SURE, Members, QuadraticRun, QuadraticSums

_gaussian = native.kernel("gaussian", "real n n f64 f64 f64 f64 f64 n f64 f64")
_quadratic_run = native.kernel(
    "quadratic_run", "real n n f64 f64 f64 f64 f64 r r r r n n n r r f64 f64 f64 f64 f64 f64 i64 -> n"
)
_quadratic_step = native.kernel("quadratic_step", "f64 n n f64 f64 r r r r f64 f64 f64 -> n")


def quadratic_e_step(x: Real, weights: Array | None, centre: Array, scale: Array, coefficients: Array) -> QuadraticSums:
    """Log-likelihood and entropy of rows under the coefficients (k, m), and the sums (k, m) of their products."""
    sums = np.zeros(coefficients.shape)
    plain = (np.ascontiguousarray(a, np.float64) for a in (centre, scale, coefficients))
    log_likelihood, entropy = fold(_gaussian, (x, weights, np.zeros(1)), (*plain, len(coefficients), sums))
    return log_likelihood, entropy, sums


def quadratic_step(sums: Array, floor: Array, ridge: Array, log_scale: float) -> Members:
    """The components that the sums (k, m) tell of, with ``ridge`` (d,) added to variances.

    None below ``floor`` (d, d).
    """
    k, d = len(sums), len(floor)
    mean, cov, out = np.empty((k, d)), np.empty((k, d, d)), np.empty(sums.shape)
    constant = log_scale - 0.5 * d * LOG_2PI
    plain = (np.ascontiguousarray(a, np.float64) for a in (floor, ridge))
    sure = _quadratic_step(np.ascontiguousarray(sums), k, d, *plain, constant, ROUGH, SURE, SEEN, mean, cov, out)
    return Members(bool(sure), sums[:, 0], mean, cov, out)


def quadratic_run(
    x: Real,
    weights: Array | None,
    centre: Array,
    scale: Array,
    start: tuple[Array, Array, Array, Array],
    held: tuple[Array, Array, float],
    rule: tuple[int, float, float, bool],
) -> QuadraticRun:
    """EM from ``start`` (shares, mean, cov, coefficients), for as long as the rule says."""
    share, mean, cov, coefficients = (np.array(a, np.float64, order="C") for a in start)
    floor, ridge, log_scale = held
    most, tol, unit, leaps = rule
    d, sums = mean.shape[1], np.empty(coefficients.shape)
    trace, counts = np.empty((max(most, 1), 2)), np.zeros(2, np.int64)
    rows = _plain(x, x.dtype if x.dtype in FLOATS else np.float64)
    end = _quadratic_run(
        *(rows, len(rows), d, None if weights is None else _plain(weights), _plain(centre), _plain(scale)),
        *(_plain(floor), _plain(ridge), log_scale - 0.5 * d * LOG_2PI, ROUGH, SURE, SEEN),
        *(len(share), most, int(leaps), tol, unit, share, mean, cov, coefficients, sums, trace, counts),
    )
    taken, passes = counts.tolist()
    return QuadraticRun(("lost", "flat", "passes")[end], share, mean, cov, coefficients, sums, trace[:taken], passes)
