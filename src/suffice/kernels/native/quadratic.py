"""Native twins of the steps that short runs are made of: same names, same signatures."""

from __future__ import annotations

import numpy as np

from suffice.kernels import native
from suffice.kernels.native.gaussian import fold
from suffice.kernels.native.primitives import FLOATS, _plain
from suffice.kernels.numpy.primitives import LOG_2PI, Array, Real
from suffice.kernels.numpy.quadratic import ROUGH, SEEN, SURE, QuadraticComponents, QuadraticRun, QuadraticSums, Starts

_gaussian = native.kernel("gaussian", "real n n f64 f64 f64 f64 f64 n f64 f64")
_quadratic_runs = native.kernel(
    "quadratic_runs", "real n n f64 f64 f64 n f64 f64 r r r r n n n r r n n f64 f64 f64 f64 f64 f64 i64"
)
_quadratic_step = native.kernel("quadratic_step", "f64 n n n n f64 f64 r r r r f64 f64 f64 -> n")
ENDS = "lost", "flat", "passes"


def quadratic_e_step(x: Real, weights: Array | None, centre: Array, scale: Array, coefficients: Array) -> QuadraticSums:
    """Log-likelihood and entropy of rows under the coefficients (k, m), and the sums (k, m) of their products."""
    sums = np.zeros(coefficients.shape)
    plain = (np.ascontiguousarray(a, np.float64) for a in (centre, scale, coefficients))
    log_likelihood, entropy = fold(_gaussian, (x, weights, np.zeros(1)), (*plain, len(coefficients), sums))
    return log_likelihood, entropy, sums


def quadratic_step(
    sums: Array, floor: Array, ridge: Array, log_scale: float, structure: str = "VVV", before: Array | None = None
) -> QuadraticComponents:
    """The components that the sums (k, m) tell of, with ``ridge`` (d,) added to variances.

    None below ``floor`` (d, d). Where steps of a structure take turns they set out from ``before`` (k, d, d).
    """
    k, d = len(sums), len(floor)
    mean, out = np.empty((k, d)), np.empty(sums.shape)
    cov = np.empty((k, d, d)) if before is None else np.array(before, np.float64, order="C")
    constant = log_scale - 0.5 * d * LOG_2PI
    plain = (np.ascontiguousarray(a, np.float64) for a in (floor, ridge))
    sure = _quadratic_step(
        *(np.ascontiguousarray(sums), k, d, _number(structure), int(before is not None), *plain),
        *(constant, ROUGH, SURE, SEEN, mean, cov, out),
    )
    return QuadraticComponents(bool(sure), sums[:, 0], mean, cov, out)


def quadratic_runs(
    x: Real,
    weights: Array | None,
    centre: Array,
    scale: Array,
    starts: Starts,
    held: tuple[Array, Array, float],
    rule: tuple[int, float, float, bool],
    structure: str = "VVV",
) -> list[QuadraticRun]:
    """EM from each of the starts, for as long as the rule says."""
    begun, (floor, ridge, log_scale), (most, tol, unit, leaps) = len(starts) > 1, held, rule
    count, k, m = starts[-1].shape
    d = len(centre)
    if begun:
        share, mean, cov, coefficients = (np.array(a, np.float64, order="C") for a in starts)
        sums = np.empty((count, k, m))
    else:
        share, mean, cov = np.empty((count, k)), np.empty((count, k, d)), np.empty((count, k, d, d))
        coefficients, sums = np.empty((count, k, m)), np.array(starts[0], np.float64, order="C")
    trace, counts = np.empty((count, max(most, 1), 2)), np.zeros((count, 3), np.int64)
    rows = _plain(x, x.dtype if x.dtype in FLOATS else np.float64)
    _quadratic_runs(
        *(rows, len(rows), d, None if weights is None else _plain(weights), _plain(centre), _plain(scale)),
        *(_number(structure), _plain(floor), _plain(ridge), log_scale - 0.5 * d * LOG_2PI, ROUGH, SURE, SEEN),
        *(k, max(most, 1), int(leaps), tol, unit, count, int(begun)),
        *(share, mean, cov, coefficients, sums, trace, counts),
    )
    return [
        QuadraticRun(ENDS[end], share[i], mean[i], cov[i], coefficients[i], sums[i], trace[i, :taken], passes)
        for i, (taken, passes, end) in enumerate(counts.tolist())
    ]


def _number(structure: str) -> int:
    volume, shape, orientation = ("EVI".index(letter) for letter in structure)
    return volume + 3 * shape + 9 * orientation
