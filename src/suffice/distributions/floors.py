"""The least spread that an estimate may have."""

from __future__ import annotations

import numpy as np

from suffice.types import Array

HALF_LOG_TAU = 0.5 * np.log(2 * np.pi)
RESOLVED = 4 * float(np.finfo(float).eps)  # of a number: the least difference that float64 tells from none
TINY = 1e-150  # its square is still a number: less is 0
FLOOR = 1e-5  # of the spread of all rows: no component of a mixture may be narrower


def rounding_floor(centre: Array, least: float = TINY) -> Array:
    """The least spread that float64 can resolve around a centre: collapsed estimates end there.

    Not below ``least``, whose square is still a number; where no square is taken it may be lower.
    """
    return np.maximum(RESOLVED * np.abs(centre), least)


def std_floor(mean: Array, std: Array) -> Array:
    """The least spread of a component where all rows have this one; a column that is constant has any."""
    least = np.maximum(FLOOR * std, rounding_floor(mean))
    size = np.abs(mean)
    return np.where(std <= 2 * rounding_floor(mean), 1e-6 * np.where(size < TINY, 1.0, size), least)
