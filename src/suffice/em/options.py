"""What `fit` and `posterior` are given: arguments that are checked, and data that are read."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.core.distribution import Distribution
from suffice.errors import DataError, ParameterError, UnsupportedError
from suffice.statistics.sums import Statistics
from suffice.statistics.weights import Weights
from suffice.tables.deferred_columns import weights_of
from suffice.tables.streams import read
from suffice.types import Data, Prior


def check_options(distribution: object, n_init: int, max_iter: int, tol: float | None) -> None:
    """Refuse what is not a prototype, and options out of their range."""
    if isinstance(distribution, type) and issubclass(distribution, Distribution):
        msg = f"give an instance as the prototype: {distribution.__name__}() instead of {distribution.__name__}."
        raise ParameterError(msg)
    if not isinstance(distribution, Distribution):
        msg = f"the first argument is a distribution, such as sf.Normal(); got {type(distribution).__name__}."
        raise ParameterError(msg)
    if not distribution.lone:
        msg = "fit takes a single prototype; a stack of components is estimated by a Mixture or a classifier."
        raise UnsupportedError(msg)
    for name, value in (("n_init", n_init), ("max_iter", max_iter)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            msg = f"{name} is a whole number of at least 1; got {value!r}."
            raise ParameterError(msg)
    if tol is not None and not (isinstance(tol, (int, float, np.number)) and not isinstance(tol, bool) and tol >= 0):
        msg = f"tol is a number of at least 0; got {tol!r}."
        raise ParameterError(msg)


def check_ddof(ddof: object, prior: Prior) -> None:
    """Refuse a correction that is not a number, or has no meaning under a prior."""
    if isinstance(ddof, bool) or not isinstance(ddof, (int, float, np.number)) or not 0 <= ddof < np.inf:
        msg = f"ddof is a number of at least 0, usually 0 or 1; got {ddof!r}."
        raise ParameterError(msg)
    if ddof and prior is not None:
        msg = f"ddof={ddof:g} corrects a maximum-likelihood variance; under a prior leave it out."
        raise ParameterError(msg)


def refuse_ddof(prototype: Any, ddof: float, stats: Statistics | None) -> None:
    """Refuse to correct a variance that several passes find; ``stats`` are there where holes are the reason."""
    if ddof:
        prototype.unbiased(None, ddof)
        if stats is not None:
            msg = f"ddof={ddof:g} corrects the variance of complete rows, and cells are missing here; leave it out."
            raise UnsupportedError(msg)


def prepare(distribution: Any, data: Data, weights: Data, *, empty: bool = False) -> tuple[Any, Weights, Any]:
    """Rows, their weights, and the prototype for them."""
    rows = read(distribution, data, without=weights)
    if len(rows) == 0 and not empty:
        msg = f"{distribution.name} cannot be fitted to no rows; give at least one."
        raise DataError(msg)
    checked = weights_of(data, weights, len(rows))
    if checked.n_components != 1 or checked.codes is not None:
        msg = f"weights have shape {np.shape(weights)}, but there are {len(rows)} rows; give one weight per row."
        raise DataError(msg)
    return rows, checked, distribution.for_data(rows)
