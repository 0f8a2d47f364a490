"""Native twins of the passes over rows with missing cells: same names and signatures, same answers but for rounding."""

from __future__ import annotations

import numpy as np

from suffice.kernels.native import kernel
from suffice.kernels.native.primitives import _plain
from suffice.kernels.numpy import missing as numpy_missing
from suffice.kernels.numpy.missing import HoledExpected, HoledMoments
from suffice.kernels.numpy.primitives import Array, Integers, Real

_log_prob = kernel("missing_log_prob", "f64 n n i64 i64 i64 n f64 f64 f64 n n f64 -> n")
_e_step = kernel(
    "missing_e_step",
    "f64 n n i64 i64 i64 n f64 f64 f64 n n f64 n f64 f64 n i64 f64 f64 f64 f64 f64 f64 -> n",
)


def holed_log_prob(x: Real, starts: Integers, columns: Integers, sizes: Integers, mean: Array, cov: Array) -> Array:
    """Log density (n, k) of the cells that rows have; 0 for a row that has none."""
    out = np.empty((len(x), len(mean)))
    _require(sound=_log_prob(*_data(x, starts, columns, sizes), *_components(mean, cov), out))
    return out


def holed_scatter(
    x: Real,
    starts: Integers,
    columns: Integers,
    sizes: Integers,
    mean: Array,
    cov: Array,
    weights: Array | None = None,
    codes: Integers | None = None,
) -> HoledMoments:
    """What is expected of rows that belong to components: by weights (n, k), or to those that codes name, by (n,)."""
    w = np.ones((len(x), 1)) if weights is None else weights.reshape(len(x), -1)
    found = _gathered(x, starts, columns, sizes, mean, cov, np.zeros((1, len(mean))), None, w, codes)
    return found[2:]


def missing_e_step(
    x: Real,
    starts: Integers,
    columns: Integers,
    sizes: Integers,
    mean: Array,
    cov: Array,
    log_weights: Array,
    weights: Array | None = None,
) -> HoledExpected:
    """One pass of EM: log-likelihood and entropy of the shares of components in rows.

    And `holed_scatter` under them.
    """
    logs = log_weights[None] if log_weights.ndim == 1 else log_weights
    found = _gathered(x, starts, columns, sizes, mean, cov, logs, weights)
    if np.isfinite(found[0]):
        return found
    return numpy_missing.missing_e_step(x, starts, columns, sizes, mean, cov, log_weights, weights)


def _gathered(
    x: Real,
    starts: Integers,
    columns: Integers,
    sizes: Integers,
    mean: Array,
    cov: Array,
    log_weights: Array,
    weights: Array | None,
    given: Array | None = None,
    codes: Integers | None = None,
) -> HoledExpected:
    k, d = mean.shape
    weight, shift, squares, hidden = np.zeros(k), np.zeros((k, d)), np.zeros((k, d, d)), np.zeros(k)
    by_pattern = np.zeros((len(sizes), k))
    score = np.zeros(2)
    sound = _e_step(
        *_data(x, starts, columns, sizes),
        *_components(mean, cov),
        *(_plain(log_weights), len(log_weights)),
        None if weights is None else _plain(weights),
        *((None, 0) if given is None else (_plain(given), given.shape[1])),
        None if codes is None else _plain(codes, np.int64),
        *(score, weight, shift, squares, hidden, by_pattern),
    )
    _require(sound=sound)
    squares += np.tril(squares, -1).swapaxes(1, 2)
    return float(score[0]), float(score[1]), weight, shift, squares, hidden, by_pattern


def _data(
    x: Real, starts: Integers, columns: Integers, sizes: Integers
) -> tuple[Array, int, int, Integers, Integers, Integers, int]:
    """Rows by columns, and their patterns; rows that lie column by column already are not copied."""
    patterns = _plain(starts, np.int64), _plain(columns, np.int64), _plain(sizes, np.int64), len(sizes)
    return _plain(x.T), *x.shape, *patterns


def _components(mean: Array, cov: Array) -> tuple[Array, Array, Array, int, int]:
    """Means, correlations and standard deviations, and how many there are of the last and of the first."""
    spread = np.sqrt(np.einsum("kii->ki", cov))
    units = cov / (spread[:, :, None] * spread[:, None, :])
    return _plain(mean), _plain(units), _plain(spread), len(cov), len(mean)


def _require(*, sound: int) -> None:
    if not sound:
        msg = "Matrix is not positive definite"  # as NumPy says it
        raise np.linalg.LinAlgError(msg)
