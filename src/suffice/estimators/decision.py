"""Decisions: the action of least expected loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.errors import DataError, ParameterError
from suffice.types import Array, Data

ROUNDING = 4e-16  # by which risks may differ that are equal
SLACK = 1e-6  # by which probabilities may miss a sum of 1: those of float32 do


def decide(proba: Any, loss: Data = None, reject: float | None = None) -> Any:
    """The action j of least expected loss Σᵢ pᵢ loss[i, j] for each row of probabilities.

    Parameters
    ----------
    proba : array
        (n, k), the probability of each class in each row; or (k,), one row, which makes the answer one number.
    loss : matrix, optional
        (k, m): ``loss[i, j]`` is what it costs to decide for action j when class i is the truth. There may be more
        actions than classes. None costs 1 for every mistake, so that the most probable class is taken.
    reject : float, optional
        Where even the best action has an expected loss above this, no decision is made: the answer is −1.

    Returns
    -------
    The number of the action for each row, (n,); of several that cost the same, the first.

    Examples
    --------
    >>> sf.decide([[0.9, 0.1], [0.6, 0.4]], loss=[[0, 1], [5, 0]])
    array([0, 1])
    >>> sf.decide([0.6, 0.4], reject=0.3)
    -1
    """
    chances = _probabilities(proba)
    costs = None if loss is None else _costs(loss, chances.shape[1])
    if reject is not None and not (np.ndim(reject) == 0 and np.isreal(reject) and not np.isnan(reject)):
        msg = f"decide: reject is the largest expected loss that is accepted, a number; got {reject!r:.60}."
        raise ParameterError(msg)
    if costs is None:
        best, least, slack = np.asarray(chances.argmax(axis=1)), 1.0 - chances.max(axis=1), ROUNDING
    else:
        risks = chances @ costs
        least, slack = risks.min(axis=1), ROUNDING * len(costs) * max(float(np.abs(costs).max()), 1e-300)
        best = np.asarray((risks <= least[:, None] + slack).argmax(axis=1))
    if reject is not None:
        best = np.where(least > reject + slack, -1, best)
    return int(best[0]) if np.ndim(proba) == 1 else best


def _probabilities(proba: Any) -> Array:
    try:
        chances = np.atleast_2d(np.asarray(proba, dtype=float))
    except (TypeError, ValueError) as error:
        msg = f"decide takes probabilities (n, k), one row for each decision; got {proba!r:.60}."
        raise DataError(msg) from error
    if chances.ndim != 2 or chances.shape[1] == 0:
        msg = f"decide takes probabilities (n, k), one row for each decision; got shape {np.shape(proba)}."
        raise DataError(msg)
    wrong = ~((chances >= 0).all(axis=1) & (np.abs(chances.sum(axis=1) - 1.0) <= SLACK))
    if wrong.any():
        row = int(np.argmax(wrong))
        msg = (
            f"decide takes probabilities, at least 0 and with sum 1 in each row; row {row} has "
            f"{chances[row].tolist()!r:.80}. Give what predict_proba returns."
        )
        raise DataError(msg)
    return chances


def _costs(loss: Data, classes: int) -> Array:
    try:
        costs = np.asarray(loss, dtype=float)
    except (TypeError, ValueError) as error:
        msg = f"decide: loss is a matrix of numbers, classes × actions; got {loss!r:.60}."
        raise ParameterError(msg) from error
    if costs.ndim != 2 or costs.shape[0] != classes or costs.shape[1] == 0:
        msg = (
            f"decide: loss is classes × actions, and there are {classes} classes; got shape {costs.shape}. loss[i, j] "
            "costs deciding j when i is true, so it needs one row for each class."
        )
        raise ParameterError(msg)
    if not np.isfinite(costs).all():
        i, j = np.argwhere(~np.isfinite(costs))[0].tolist()
        msg = f"decide: losses are finite numbers; loss[{i}, {j}] is {costs[i, j]}. Use a large number instead."
        raise ParameterError(msg)
    return costs
