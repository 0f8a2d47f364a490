"""Positive amounts, and beliefs about a rate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from suffice.core.distribution import Alert
from suffice.core.exponential import ExponentialFamily
from suffice.core.lazy import special
from suffice.core.newton import newton
from suffice.core.parameters import POSITIVE, Array, parameter
from suffice.core.special import BLUR, ratio_excess, stirling_divergence

STEEPEST = 1e10  # the largest shape that sums of float64 can tell from a point: a relative spread of 1e-5


@dataclass(frozen=True, eq=False, repr=False)
class Gamma(ExponentialFamily):
    r"""A positive amount, or a belief about a rate: :math:`p(x) = r^a x^{a-1} e^{-rx} / \Gamma(a)`.

    Statistic (log x, x), natural parameter (shape, −rate), log-partition log Γ(shape) − shape·log rate; conjugate to
    the rate of :class:`Poisson` and :class:`Exponential`.

    >>> sf.Gamma(3, 2).mean
    1.5
    """

    shape: Any = parameter(POSITIVE, default=1.0, typical=(0.5, 6.0))
    rate: Any = parameter(POSITIVE, default=1.0, typical=(0.2, 5.0))

    support = POSITIVE
    inward = "a Gamma whose shape exceeds 1"

    def statistic(self, x: Array) -> Array:
        return np.stack([np.log(x, dtype=np.float64), x], axis=-1)

    def log_base(self, x: Array) -> Array:
        return -np.log(x, dtype=np.float64)

    def natural(self) -> Array:
        return np.stack([self.shape, -np.asarray(self.rate)], axis=-1)

    def from_natural(self, eta: Array) -> Self:
        shape, rate = np.moveaxis(np.asarray(eta, dtype=float) * [1.0, -1.0], -1, 0)
        return replace(self, shape=shape, rate=rate)

    def log_partition(self) -> Array:
        return np.asarray(special.gammaln(self.shape) - self.shape * np.log(self.rate))

    def mean_statistic(self) -> Array:
        return np.stack([special.digamma(self.shape) - np.log(self.rate), self.mean], axis=-1)

    def log_cell(self, x: Array) -> Array:
        return np.asarray(special.xlogy(np.asarray(self.shape) - 1, x) - self.rate * x - self.log_partition())

    def from_mean(self, mean: Array) -> Self:
        return self._climb(mean, np.ones(mean.shape[:-1]))

    def maximise(self, stats: Any) -> Self:
        empty = stats.weight == 0
        mean = np.where(empty[..., None], [-1.0, 1.0], stats.mean)
        return self.choose(empty, self._climb(mean, stats.weight))

    def _climb(self, mean: Array, weight: Array) -> Self:
        """Newton on shape·E log x − rate·E x − A, which is concave, from a rational guess of the shape."""
        largest = float(np.max(mean[..., 1], initial=0.0))
        unit = np.exp2(np.floor(np.log2(largest))) if largest > 1e100 else 1.0  # so that squares do not overflow
        mean = np.stack([mean[..., 0] - np.log(unit), mean[..., 1] / unit], axis=-1)
        level = np.log(mean[..., 1])
        gap = np.maximum(level - mean[..., 0], 0.5 / STEEPEST)  # log E x − E log x
        mean = np.stack([level - gap, mean[..., 1]], axis=-1)

        def evaluate(theta: Array) -> tuple[Array, Array, Array]:
            shape, rate = theta[..., 0], theta[..., 1]
            value = shape * (mean[..., 0] + np.log(rate)) - rate * mean[..., 1] - special.gammaln(shape)
            slope = mean[..., 0] + np.log(rate) - special.digamma(shape)
            gradient = np.stack([slope, shape / rate - mean[..., 1]], axis=-1)
            across = 1 / rate
            rows = [[-special.polygamma(1, shape), across], [across, -shape * across**2]]
            return value, gradient, np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)

        values = {"shape": (3 - gap + np.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)}
        values["rate"] = (self.shape if "shape" in self.fixed else values["shape"]) / mean[..., 1]
        for name in self.fixed:
            values[name] = np.asarray(getattr(self, name)) * (unit if name == "rate" else 1.0)
        for name in self.tied - self.fixed:
            pooled = (np.log(values[name]) * weight).sum(axis=0) / np.maximum(weight.sum(axis=0), 1e-300)
            values[name] = np.exp(pooled)
        start = np.stack([np.broadcast_to(values[name], weight.shape) for name in ("shape", "rate")], axis=-1)
        theta = newton(evaluate, start, weight, ("shape", "rate"), self.fixed, self.tied)
        rate = np.asarray(self.rate) if "rate" in self.fixed else theta[..., 1] / unit
        return replace(self, shape=theta[..., 0], rate=rate)

    def alerts(self, stats: Any) -> tuple[Alert, ...]:
        if "shape" in self.fixed or not (np.asarray(self.shape) > 0.9 * STEEPEST).any():
            return super().alerts(stats)
        text = (
            "the values differ by less than 1e-5 of their size, so the shape grows without bound and the density "
            f"becomes a point; it was held at {STEEPEST:g}. Subtract a known offset, add data, or fix shape."
        )
        return (*super().alerts(stats), ("collapsed", text))

    @property
    def sharpness(self) -> Array:
        return np.asarray(self.shape)

    def rounding(self, stats: Any) -> float:
        return float(BLUR * (stats.weight * self.stacked.sharpness).sum())

    def blunted(self, by: Array) -> Self:
        return replace(self, shape=self.shape / by, rate=self.rate / by)

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        return rng.gamma(self.shape, 1 / np.asarray(self.rate), (n, *self.batch))

    def cumulative(self, x: Array) -> Array:
        return np.asarray(special.gammainc(self.shape, self.rate * np.maximum(x, 0)))

    def inverse(self, q: Array) -> Array:
        return np.asarray(special.gammaincinv(self.shape, q) / self.rate)

    @property
    def mean(self) -> Any:
        """The expected amount, shape/rate."""
        return self.shape / self.rate

    @property
    def var(self) -> Any:
        """The variance, shape/rate²."""
        return self.mean / self.rate

    @property
    def mode(self) -> Any:
        """The most probable amount, (shape − 1)/rate, or 0 where the shape is below 1."""
        mode = np.maximum(np.asarray(self.shape) - 1, 0.0) / self.rate
        return float(mode) if np.ndim(mode) == 0 else mode

    def divergence_cells(self, other: Any) -> Array:
        """Of the means, weighed by the shape; of log shape; and of what Stirling leaves of log Γ."""
        a, b = self.shape, other.shape
        step = a / b * ((other.rate - self.rate) / self.rate) - (b - a) / b  # the ratio of the means, less 1
        means = b * ratio_excess(a * (other.rate / self.rate) / b, step)
        return np.asarray(means + 0.5 * ratio_excess(b / a, (b - a) / a) + stirling_divergence(b, a))

    def entropy_cell(self) -> Any:
        slope = (1 - np.asarray(self.shape)) * special.digamma(self.shape)
        return self.shape - np.log(self.rate) + special.gammaln(self.shape) + slope
