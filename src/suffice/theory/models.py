"""What the experiments of this package take: a distribution, or a fit that has one."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.core.distribution import Distribution
from suffice.em.result import Fit
from suffice.errors import ParameterError, UnsupportedError


def as_distribution(model: Distribution | Fit, who: str) -> Any:
    """Return the distribution of a fit, or the distribution itself.

    Parameters
    ----------
    model : Distribution or Fit
        What the caller gave.
    who : str
        The function that asks, for the error message.

    Returns
    -------
    Distribution
    """
    found = getattr(model, "distribution", model)
    if not isinstance(found, Distribution):
        msg = f"{who} takes a distribution or a fit; got {type(model).__name__}."
        raise ParameterError(msg)
    return found


def check_whole(name: str, value: object) -> int:
    """Return a whole number of at least 1, or refuse it by name."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        msg = f"{name}: whole numbers of at least 1 are needed; got {value!r}."
        raise ParameterError(msg)
    return int(value)


def check_single(model: Distribution, who: str) -> None:
    """Refuse a stack of distributions, and one with nothing to learn."""
    if not model.lone:
        msg = f"{who} takes a single distribution; pick one of a stack with .each."
        raise UnsupportedError(msg)
    if not model.free:
        msg = f"every parameter of {model!r} is fixed, so there is nothing to estimate."
        raise ParameterError(msg)
