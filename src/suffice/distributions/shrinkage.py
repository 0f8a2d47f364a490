"""Covariances drawn towards a multiple of the identity: how far, and the result. Arrays lead with the components."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.core.parameters import surely_above
from suffice.distributions.compact_covariance import RELATIVE_FLOOR
from suffice.engines import local
from suffice.numerics.low_rank import LowRank, diagonals
from suffice.statistics.sums import share
from suffice.statistics.weights import Weights
from suffice.types import Array


def shrunk(cov: Array | LowRank, amount: Array | float) -> Any:
    """(1 − amount) Σ + amount · (tr Σ / d) · I, for an amount of each component (k,) or of all."""
    d = cov.shape[-1]
    if isinstance(cov, LowRank):
        each = np.broadcast_to(amount, len(cov))
        less = cov.scaled(1 - each)
        return LowRank(less.diagonal + (each * cov.variances.mean(axis=1))[:, None], less.factors)
    part = np.broadcast_to(amount, len(cov))[:, None, None]
    level = np.einsum("kii->k", cov)[:, None, None] / d
    return np.asarray((1 - part) * cov + part * level * np.eye(d))


def in_units(cov: Array | LowRank) -> tuple[Any, Array]:
    """Covariances of columns divided by their spread (k, d), and that spread; 1 for columns that have none."""
    variance = diagonals(cov)
    spread = np.sqrt(np.where(variance > 0, variance, 1.0))
    if isinstance(cov, LowRank):
        return cov.in_units(1 / spread), spread
    return cov / (spread[:, :, None] * spread[:, None, :]), spread


def outside_units(cov: Array | LowRank, spread: Array) -> Any:
    """The inverse of `in_units`."""
    if isinstance(cov, LowRank):
        return cov.in_units(spread)
    return np.asarray(cov * (spread[:, :, None] * spread[:, None, :]))


def _squares(cov: Array | LowRank) -> Array:
    """The sum of the squares of all entries, (k,)."""
    return cov.squared_norm() if isinstance(cov, LowRank) else np.asarray((cov**2).sum(axis=(1, 2)))


def oas(cov: Array | LowRank, weight: Array) -> Array:
    """How far to go, (k,): the oracle approximating shrinkage of Chen, Wiesel, Eldar and Hero (2010)."""
    d = cov.shape[-1]
    squares, level = _squares(cov) / d**2, diagonals(cov).mean(axis=1) ** 2
    beyond = (weight + 1) * (squares - level / d)
    amount = np.where(beyond > 0, share(squares + level, beyond), 1.0)
    return np.asarray(np.minimum(amount, 1.0) if d > 1 else np.zeros(len(cov)))


def ledoit_wolf(cov: Array | LowRank, weight: Array, fourth: Array) -> Array:
    """How far to go, (k,): Ledoit and Wolf (2004), where ``fourth`` (k,) are Σ w ‖x − mean‖⁴."""
    d = cov.shape[-1]
    squares, level = _squares(cov), diagonals(cov).mean(axis=1)
    apart = (squares - d * level**2) / d
    noise = share(share(fourth, weight) - squares, d * weight)
    amount = share(np.clip(noise, 0.0, np.maximum(apart, 0.0)), apart)
    return np.asarray(amount if d > 1 else np.zeros(len(cov)))


def fourth_moments(x: Array, owners: Weights, mean: Array, spread: Array) -> Array:
    """Σ w ‖(x − mean) / spread‖⁴ of the rows of each component, (k,); mean and spread are (k, d)."""

    def part(where: slice) -> Any:
        mine = owners[where]
        codes = np.asarray(mine.codes)
        away = (x[where] - mean[codes]) / spread[codes]
        squares = np.einsum("ij,ij->i", away, away)
        held = 1.0 if mine.values is None else mine.values
        return np.bincount(codes, held * squares**2, owners.n_components)

    return np.asarray(local.reduce(part, len(x), 4 * x.shape[1]))


def is_singular(cov: Array) -> bool:
    """Whether a covariance (d, d) has no inverse to rounding, in units of the columns' spreads."""
    units, _ = in_units(cov[None])
    return not surely_above(units, RELATIVE_FLOOR)


def regularise_wide(scatter: Array | LowRank, weight: Array, rows: Array, least: Array) -> tuple[Any, Array]:
    """Scatter matrices of fewer rows than columns, with as much of a diagonal matrix as makes them good estimates.

    The floor of a covariance is there for columns that follow from others. Where there are fewer rows than columns,
    all directions beyond the rows would lie on it, and probabilities would be 0 or 1. So the covariance is drawn
    towards the diagonal of the columns' variances by the amount of Chen, Wiesel, Eldar and Hero (2010), which needs
    nothing but the covariance and the number of rows.

    Parameters
    ----------
    scatter, weight
        (k, d, d) and (k,).
    rows
        How many rows (k,) each scatter is of, beyond those that its means took.
    least
        Variances (d,) under which a column is constant; those are left as they are.

    Returns
    -------
    tuple of Array
        The scatter matrices, and how far each was drawn, (k,): 0 where there are rows enough.
    """
    if isinstance(scatter, LowRank):
        return _regularise_rows(scatter, weight, rows, least)
    found, amounts = scatter, np.zeros(len(scatter))
    for index in np.flatnonzero((weight > 0) & (rows > 0)):
        varies = np.flatnonzero(np.diag(scatter[index]) > least * weight[index])
        if not 0 <= rows[index] < len(varies):
            continue
        cov = scatter[index][np.ix_(varies, varies)] / weight[index]
        if not is_singular(cov):  # weights are not always numbers of rows
            continue
        units, spread = in_units(cov[None])
        amounts[index] = oas(units, weight[index : index + 1])[0]
        found = scatter.copy() if found is scatter else found
        drawn = shrunk(units, amounts[index])[0] * (spread[0, :, None] * spread[0])
        found[index][np.ix_(varies, varies)] = drawn * weight[index]
    return found, amounts


def _regularise_rows(scatter: LowRank, weight: Array, rows: Array, least: Array) -> tuple[LowRank, Array]:
    """The same of scatter matrices that are kept by their rows."""
    diagonal, factors = np.array(scatter.diagonal), list(scatter.factors)
    variances, amounts = scatter.variances, np.zeros(len(scatter))
    for index in np.flatnonzero((weight > 0) & (rows > 0)):
        varies = variances[index] > least * weight[index]
        if not factors or rows[index] >= np.count_nonzero(varies) or len(factors[index]) >= np.count_nonzero(varies):
            continue
        spread = np.sqrt(np.where(varies, variances[index], np.inf))
        own = factors[index][:, varies] / spread[varies]
        units = LowRank((diagonal[index] / spread**2)[None, varies], [own])
        amount = amounts[index] = oas(units, weight[index : index + 1])[0]
        drawn = (1 - amount) * diagonal[index] + amount * variances[index]
        diagonal[index] = np.where(varies, drawn, variances[index])
        factors[index] = np.where(varies, np.sqrt(1 - amount) * factors[index], 0.0)
    return (LowRank(diagonal, factors) if amounts.any() else scatter), amounts
