"""Shares between 0 and 1, and beliefs about a probability."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from suffice.core.exponential_family import ExponentialFamily
from suffice.core.parameters import OPEN_UNIT, POSITIVE, parameter
from suffice.numerics.lazy import special
from suffice.numerics.newton import newton
from suffice.numerics.special import BLUR, excess, ratio_excess, stirling_divergence, stirling_rest, trigamma
from suffice.statistics.sums import Sums
from suffice.types import Alert, Array

STEEPEST = 1e10  # the largest a + b that sums of float64 can tell from a point


@dataclass(frozen=True, eq=False, repr=False)
class Beta(ExponentialFamily):
    r"""A share, or a belief about a probability: :math:`p(x) = x^{a-1}(1-x)^{b-1} / B(a,b)`.

    Statistic (log x, log(1−x)), natural parameter (a, b), log-partition log B(a, b); conjugate to the probability of
    :class:`Bernoulli`, :class:`Binomial` and :class:`Geometric`.

    >>> sf.Beta(2, 3).mean
    0.4
    """

    a: Any = parameter(POSITIVE, default=1.0, typical=(0.6, 6.0))
    b: Any = parameter(POSITIVE, default=1.0, typical=(0.6, 6.0))

    support = OPEN_UNIT
    inward = "a Beta whose a and b exceed 1"

    def statistic(self, x: Array) -> Array:
        return np.stack([np.log(x), np.log1p(-x)], axis=-1)

    def log_base(self, x: Array) -> Array:
        return -np.log(x) - np.log1p(-x)

    def natural(self) -> Array:
        return np.stack([self.a, self.b], axis=-1)

    def from_natural(self, eta: Array) -> Self:
        a, b = np.moveaxis(np.asarray(eta, dtype=float), -1, 0)
        return replace(self, a=a, b=b)

    def log_partition(self) -> Array:
        return np.asarray(special.betaln(self.a, self.b))

    def log_cell(self, x: Array) -> Array:
        powers = special.xlogy(np.subtract(self.a, 1.0), x) + special.xlog1py(np.subtract(self.b, 1.0), -np.asarray(x))
        return np.asarray(powers - self.log_partition())

    def mean_statistic(self) -> Array:
        both = special.digamma(np.add(self.a, self.b))
        return np.stack([special.digamma(self.a) - both, special.digamma(self.b) - both], axis=-1)

    def from_mean(self, mean: Array) -> Self:
        return self.maximise_from(mean, np.ones(mean.shape[:-1]))

    def maximise(self, stats: Sums) -> Self:
        empty = stats.weight == 0
        mean = np.where(empty[..., None], -1.0, stats.mean)
        return self.choose(empty, self.maximise_from(mean, stats.weight))

    def maximise_from(self, mean: Array, weight: Array) -> Self:
        """Newton on a·E log x + b·E log(1−x) − log B(a, b), which is concave."""
        gap = -np.logaddexp(mean[..., 0], mean[..., 1])  # 0 where all shares are alike, about 1/2(a+b)
        mean = mean - np.maximum(0.5 / STEEPEST - gap, 0.0)[..., None]

        def evaluate(theta: Array) -> tuple[Array, Array, Array]:
            both = theta.sum(axis=-1, keepdims=True)
            # a·mean₁ + b·mean₂ − log B without the large terms of log Γ, which cancel
            cells = theta * (mean - np.log(theta / both)) + 0.5 * np.log(theta) - stirling_rest(theta)
            value = cells.sum(axis=-1) - 0.5 * np.log(both[..., 0]) + stirling_rest(both[..., 0])
            gradient = mean - special.digamma(theta) + special.digamma(both)
            hessian = trigamma(both)[..., None] - trigamma(theta)[..., None] * np.eye(2)
            return value, gradient, hessian

        start = np.stack([np.broadcast_to(self.a, weight.shape), np.broadcast_to(self.b, weight.shape)], axis=-1)
        theta = newton(evaluate, start.astype(float), weight, ("a", "b"), self.fixed, self.tied)
        return replace(self, a=theta[..., 0], b=theta[..., 1])

    def alerts(self, stats: Sums) -> tuple[Alert, ...]:
        if self.fixed or not (np.add(self.a, self.b) > 1e-3 * STEEPEST).any():
            return super().alerts(stats)
        text = (
            "the shares are so alike that a and b grow without bound and the density becomes a point; a + b was held "
            f"near {STEEPEST:g}. Add data, or fix a or b."
        )
        return (*super().alerts(stats), Alert("collapsed", text))

    @property
    def peak_precision(self) -> Array:
        return np.asarray(self.a + self.b)

    def rounding(self, stats: Sums) -> float:
        return float(BLUR * (stats.weight * self.stacked.peak_precision).sum())

    def widen(self, by: Array) -> Self:
        return replace(self, a=self.a / by, b=self.b / by)

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        return rng.beta(self.a, self.b, (n, *self.batch))

    def cumulative(self, x: Array) -> Array:
        return np.asarray(special.betainc(self.a, self.b, np.clip(x, 0, 1)))

    def inverse(self, q: Array) -> Array:
        return np.asarray(special.betaincinv(self.a, self.b, q))

    @property
    def mean(self) -> Any:
        """The expected share, a/(a+b)."""
        return self.a / (self.a + self.b)

    @property
    def var(self) -> Any:
        """The variance."""
        both = self.a + self.b
        return (self.a / both) * (self.b / both) / (both + 1)

    @property
    def mode(self) -> Any:
        """The most probable share: inside where a and b exceed 1, else at the end that has more mass."""
        a, b = np.asarray(self.a, dtype=float), np.asarray(self.b, dtype=float)
        with np.errstate(all="ignore"):
            inside = (a - 1) / (a + b - 2)
        flat = (a == 1) & (b == 1)
        ends = np.where(a < b, 0.0, np.where(a > b, 1.0, 0.5))
        mode = np.where((a >= 1) & (b >= 1) & ~flat, inside, np.where(flat, 0.5, ends))
        return float(mode) if mode.ndim == 0 else mode

    def divergence_cells(self, other: Self) -> Array:
        """Of the means, weighed by a + b; of the logarithms; and of what Stirling leaves of log Γ."""
        mine, theirs = self.a + self.b, other.a + other.b
        step = self.a / mine * ((other.b - self.b) / theirs) - self.b / mine * ((other.a - self.a) / theirs)
        means = excess(other.a / theirs, self.a / mine, step) + excess(other.b / theirs, self.b / mine, -step)
        total = theirs * means
        for sign, x, y in ((1, self.a, other.a), (1, self.b, other.b), (-1, mine, theirs)):
            total = total + sign * (0.5 * ratio_excess(y / x, (y - x) / x) + stirling_divergence(y, x))
        return np.asarray(total)

    def entropy_cell(self) -> Any:
        both = self.a + self.b
        return (
            special.betaln(self.a, self.b)
            - (self.a - 1) * special.digamma(self.a)
            - (self.b - 1) * special.digamma(self.b)
            + (both - 2) * special.digamma(both)
        )
