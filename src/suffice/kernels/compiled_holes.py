"""Numba twins of the reference's passes over rows with holes: same names, signatures, answers but for the last bits."""

from __future__ import annotations

import numpy as np

from suffice.kernels import holes, reference_holes
from suffice.kernels.compiled import _plain
from suffice.kernels.reference import Array, Integers, Real
from suffice.kernels.reference_holes import HoledExpected, HoledMoments


def holed_log_prob(x: Real, starts: Integers, columns: Integers, sizes: Integers, mean: Array, cov: Array) -> Array:
    """Log density (n, k) of the cells that rows have; 0 for a row that has none."""
    out = np.empty((len(x), len(mean)))
    _require(sound=holes.log_prob(*_data(x, starts, columns, sizes), *_components(mean, cov), out))
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
    return reference_holes.missing_e_step(x, starts, columns, sizes, mean, cov, log_weights, weights)


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
    log_likelihood, entropy, sound = holes.e_step(
        *_data(x, starts, columns, sizes),
        *_components(mean, cov),
        _plain(log_weights),
        _plain(np.empty(0) if weights is None else weights),
        _plain(np.empty((0, k)) if given is None else given),
        _plain(np.empty(0) if codes is None else codes, np.int64),
        (weight, shift, squares, hidden),
        by_pattern,
    )
    _require(sound=sound)
    squares += np.tril(squares, -1).swapaxes(1, 2)
    return log_likelihood, entropy, weight, shift, squares, hidden, by_pattern


def _data(x: Real, starts: Integers, columns: Integers, sizes: Integers) -> tuple[Array, Integers, Integers, Integers]:
    """Rows by columns, and their patterns; rows that lie column by column already are not copied."""
    return _plain(x.T), _plain(starts, np.int64), _plain(columns, np.int64), _plain(sizes, np.int64)


def _components(mean: Array, cov: Array) -> tuple[Array, Array, Array]:
    """Means, correlations and standard deviations."""
    spread = np.sqrt(np.einsum("kii->ki", cov))
    return _plain(mean), _plain(cov / (spread[:, :, None] * spread[:, None, :])), _plain(spread)


def _require(*, sound: bool) -> None:
    if not sound:
        msg = "Matrix is not positive definite"  # as NumPy says it
        raise np.linalg.LinAlgError(msg)
