"""Options of kernel densities: bandwidths and bounds, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.densities.bandwidth import METHODS
from suffice.densities.smooth import Bounds
from suffice.errors import ParameterError


def checked_bandwidth(given: Any, kernel: str) -> Any:
    """A method, a number, one for each column, or a matrix; else an error that says why it is none."""
    if isinstance(given, str):
        if given not in METHODS:
            msg = f"KDE: bandwidth is a number or one of {', '.join(METHODS)}; got {given!r:.40}."
            raise ParameterError(msg)
        return given
    try:
        values = np.array(given, dtype=float)
    except (TypeError, ValueError) as error:
        msg = f"KDE: bandwidth is a number above 0, one for each column, or a covariance matrix; got {given!r:.60}."
        raise ParameterError(msg) from error
    if values.ndim < 2:
        if not (np.isfinite(values) & (values > 0)).all() or not values.size:
            msg = f"KDE: bandwidth is a finite number above 0, or one for each column; got {given!r:.60}."
            raise ParameterError(msg)
        values.flags.writeable = False
        return float(values) if values.ndim == 0 else values
    square = values.ndim == 2 and values.shape[0] == values.shape[1] and np.array_equal(values, values.T)
    if not square or not np.isfinite(values).all() or np.linalg.eigvalsh(values)[0] <= 0:
        msg = f"KDE: a bandwidth matrix is symmetric and positive definite; got {given!r:.80}."
        raise ParameterError(msg)
    if kernel != "gaussian":
        msg = f"KDE: a bandwidth matrix is for the Gaussian kernel; {kernel} takes one number for each column."
        raise ParameterError(msg)
    values.flags.writeable = False
    return values


def checked_bounds(given: Any) -> Bounds | None:
    """A pair of ends for each column, infinite where None was given."""
    if given is None:
        return None
    pairs = [given] if len(given) == 2 and not any(isinstance(one, (list, tuple)) for one in given) else given
    found = []
    for pair in pairs:
        low, high = (None, None) if pair is None else pair
        ends = (-np.inf if low is None else float(low), np.inf if high is None else float(high))
        if not ends[0] < ends[1]:
            msg = f"KDE: bounds are (low, high) with low below high, None where there is none; got {pair!r:.60}."
            raise ParameterError(msg)
        found.append(ends)
    return tuple(found)
