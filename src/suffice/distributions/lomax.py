"""Waiting times when the rate itself is uncertain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.core.family import Family
from suffice.core.parameters import NONNEGATIVE, POSITIVE, parameter
from suffice.errors import UnsupportedError
from suffice.statistics.weights import Weights
from suffice.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class Lomax(Family, register=False):
    r"""A waiting time whose rate is Gamma(shape, scale): :math:`p(x) = \frac{a}{s} (1 + x/s)^{-a-1}`.

    The predictive of :class:`Exponential` under a :class:`Gamma` belief: scored and sampled, not fitted.

    >>> sf.posterior(sf.Exponential(), [1.0, 3.0], prior=sf.Gamma(1, 1)).predictive()
    Lomax(shape=3, scale=5)
    """

    shape: Any = parameter(POSITIVE, default=1.0, typical=(2.5, 6.0))
    scale: Any = parameter(POSITIVE, default=1.0, typical=(0.5, 5.0))

    support = NONNEGATIVE

    def log_cell(self, x: Array) -> Array:
        with np.errstate(over="ignore", divide="ignore"):
            ratio = x / self.scale
            beyond = np.where(np.isinf(ratio), np.log(x) - np.log(self.scale), np.log1p(ratio))
        return np.asarray(np.log(self.shape) - np.log(self.scale) - (self.shape + 1.0) * beyond)

    def gather(self, x: Array, w: Weights) -> Any:
        msg = (
            "Lomax is the predictive of an Exponential and is not fitted itself: fit sf.Exponential() with "
            "prior=sf.Gamma(shape, rate) and ask its posterior for .predictive()."
        )
        raise UnsupportedError(msg)

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        return np.asarray(self.scale * np.expm1(rng.standard_exponential((n, *self.batch)) / self.shape))

    def cumulative(self, x: Array) -> Array:
        return np.asarray(-np.expm1(-self.shape * np.log1p(np.maximum(x, 0) / self.scale)))

    def inverse(self, q: Array) -> Array:
        return np.asarray(self.scale * np.expm1(-np.log1p(-q) / self.shape))

    @property
    def mean(self) -> Any:
        """The expected time, scale/(shape − 1); infinite where shape ≤ 1."""
        shape = np.asarray(self.shape, dtype=float)
        with np.errstate(all="ignore"):
            mean = np.where(shape > 1, self.scale / (shape - 1), np.inf)
        return float(mean) if mean.ndim == 0 else mean

    @property
    def var(self) -> Any:
        """The variance; infinite where shape ≤ 2."""
        shape = np.asarray(self.shape, dtype=float)
        with np.errstate(all="ignore"):
            var = np.where(shape > 2, np.square(self.mean) * shape / (shape - 2), np.inf)
        return float(var) if var.ndim == 0 else var

    @property
    def mode(self) -> Any:
        """The point of highest density: 0."""
        return 0.0 * self.scale

    def entropy_cell(self) -> Any:
        return 1 + 1 / self.shape + np.log(self.scale / self.shape)
