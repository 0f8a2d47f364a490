"""Counts of at least 1: what a hurdle leaves of a family of counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from suffice.core.exponential import ExponentialFamily
from suffice.core.lazy import special
from suffice.core.parameters import NATURAL, POSITIVE, Array, parameter
from suffice.core.special import whole_quantile
from suffice.distributions.poisson import Poisson

SMALLEST = 1e-12  # rate below which counts of at least 1 are all 1
STEPS = 60  # of Newton's method; it takes about 6


@dataclass(frozen=True, eq=False, repr=False)
class ZeroTruncatedPoisson(ExponentialFamily, register=False):
    r"""Poisson counts of which zeros are not seen: :math:`P(x) = \lambda^x / ((e^\lambda - 1)\, x!)`, x ≥ 1.

    Statistic x, natural parameter log rate, log-partition log(e^rate − 1).
    """

    rate: Any = parameter(POSITIVE, default=1.0, typical=(0.5, 8.0))

    support = NATURAL
    discrete = True

    @property
    def plain(self) -> Poisson:
        """The same with zeros."""
        return Poisson(self.rate)

    def statistic(self, x: Array) -> Array:
        return x

    def log_base(self, x: Array) -> Array:
        return np.asarray(-special.gammaln(np.asarray(x) + 1.0))

    def natural(self) -> Array:
        return np.asarray(np.log(self.rate))

    def log_partition(self) -> Array:
        rate = np.asarray(self.rate, dtype=float)
        return np.asarray(rate + np.log(-np.expm1(-rate)))

    def mean_statistic(self) -> Array:
        return np.asarray(self.mean)

    def from_mean(self, mean: Array) -> Self:
        """Solve rate/(1 − e^−rate) = mean by Newton's method, from below; the mean is convex in the rate."""
        mean = np.asarray(mean, dtype=float)
        rate = np.where(mean > 1, np.maximum(mean - 1 / np.maximum(mean, 1.0), SMALLEST), SMALLEST)
        rate = np.maximum(rate, np.minimum(2 * (mean - 1), mean))  # both lie below or next to the solution
        for _ in range(STEPS):
            inside = -np.expm1(-rate)
            slope = (inside - rate * np.exp(-rate)) / np.square(inside)
            step = (rate / inside - mean) / np.maximum(slope, 0.25)
            rate = np.maximum(rate - step, SMALLEST)
            if (np.abs(step) <= 1e-15 * rate).all():
                break
        return replace(self, rate=np.where(mean > 1, rate, SMALLEST))

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        u = rng.random((n, *self.batch))
        return self.inverse(u)

    def cumulative(self, x: Array) -> Array:
        none = np.exp(-np.asarray(self.rate, dtype=float))
        inside = np.maximum(self.plain.cumulative(x) - none, 0.0) / -np.expm1(-np.asarray(self.rate))
        return np.where(np.asarray(x) < 1, 0.0, inside)

    def inverse(self, q: Array) -> Array:
        return whole_quantile(self.cumulative, q, 1)

    @property
    def mean(self) -> Any:
        """The expected count, rate/(1 − e^−rate)."""
        return self.rate / -np.expm1(-np.asarray(self.rate))

    @property
    def var(self) -> Any:
        """The variance."""
        return self.mean * (1 + self.rate - self.mean)
