"""Positive amounts, and beliefs about a rate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from suffice.core.exponential_family import ExponentialFamily
from suffice.core.family import Family
from suffice.core.parameters import POSITIVE, parameter
from suffice.distributions.weak_priors import ROWS
from suffice.errors import UnsupportedError
from suffice.numerics.lazy import special
from suffice.numerics.newton import newton
from suffice.numerics.special import BLUR, ratio_excess, stirling_divergence, trigamma
from suffice.statistics.sums import Sums
from suffice.statistics.weights import Weights
from suffice.types import Alert, Array, Prior

STEPS = 6  # of Newton's method: from the guess, five reach the last bit
FAR = 100.0  # of the shape: from there on the series of log a − ψ(a) is exact
STEEPEST = 1e10  # the largest shape that sums of float64 can tell from a point: a relative spread of 1e-5


LEARNED = "choose a weak prior unless {} are learned, and of each component by itself; give prior= a density"


def belief_about(name: str, family: Family, prior: dict[str, Any]) -> Any:
    """The belief that a prior by parameters holds of the one parameter that it may speak of."""
    if set(prior) != {name} or not isinstance(prior[name], Gamma):
        takes = f"prior={{{name!r}: sf.Gamma(…)}}, 'weak', or a density as a function"
        msg = f"{family.name} takes {takes}; got {prior!r:.80}."
        raise UnsupportedError(msg)
    return prior[name]


@dataclass(frozen=True, eq=False, repr=False)
class Gamma(ExponentialFamily):
    r"""A positive amount, or a belief about a rate: :math:`p(x) = r^a x^{a-1} e^{-rx} / \Gamma(a)`.

    Statistic (log x, x), natural parameter (shape, −rate), log-partition log Γ(shape) − shape·log rate; conjugate to
    the rate of :class:`Poisson` and :class:`Exponential`.

    References
    ----------
    Minka, T. P. (2002). Estimating a Gamma distribution. Technical report, Microsoft Research.

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
        return self._newton(mean, np.ones(mean.shape[:-1]))

    def maximise(self, stats: Sums) -> Self:
        empty = stats.weight == 0
        mean = np.where(empty[..., None], [-1.0, 1.0], stats.mean)
        return self.choose(empty, self._newton(mean, stats.weight))

    def estimate(self, stats: Sums, prior: Prior = None) -> Self:
        """As every family does; ``{"shape": Gamma(…)}`` is a belief about the shape, and so is ``"weak"``."""
        prior = self.weak_prior(stats) if isinstance(prior, str) and prior == "weak" else prior
        if not isinstance(prior, dict):
            return super().estimate(stats, prior)
        self.check_family(stats)
        model = self.for_statistics(stats)
        return model.like(estimate_with_shape_prior(model.stacked, stats, belief_about("shape", self, prior).stacked))

    def weak_prior(self, stats: Sums, part: float = 1.0) -> dict[str, Gamma]:
        if self.fixed or self.tied:
            raise self._cannot(LEARNED.format("shape and rate"))
        return {"shape": weak_prior_of_shape(stats, part)}

    def log_prior(self, prior: Prior) -> Array:
        if not isinstance(prior, dict):
            return super().log_prior(prior)
        return np.asarray(belief_about("shape", self, prior).stacked.log_cell(np.asarray(self.stacked.shape)))

    def resolve_block_prior(self, prior: Prior, rows: Array, weights: Weights, part: float = 1.0) -> Any:
        return prior if isinstance(prior, dict) else super().resolve_block_prior(prior, rows, weights, part)

    def _newton(self, mean: Array, weight: Array) -> Self:
        """Newton on shape·E log x − rate·E x − A, which is concave, from a rational guess of the shape."""
        largest = float(np.max(mean[..., 1], initial=0.0))
        unit = np.exp2(np.floor(np.log2(largest))) if largest > 1e100 else 1.0  # so that squares do not overflow
        mean = np.stack([mean[..., 0] - np.log(unit), mean[..., 1] / unit], axis=-1)
        level = np.log(mean[..., 1])
        gap = np.maximum(level - mean[..., 0], 0.5 / STEEPEST)  # log E x − E log x
        if not self.fixed and not self.tied:
            shape = _shape(gap)
            return replace(self, shape=shape, rate=shape / mean[..., 1] / unit)
        mean = np.stack([level - gap, mean[..., 1]], axis=-1)

        def evaluate(theta: Array) -> tuple[Array, Array, Array]:
            shape, rate = theta[..., 0], theta[..., 1]
            value = shape * (mean[..., 0] + np.log(rate)) - rate * mean[..., 1] - special.gammaln(shape)
            slope = mean[..., 0] + np.log(rate) - special.digamma(shape)
            gradient = np.stack([slope, shape / rate - mean[..., 1]], axis=-1)
            across = 1 / rate
            rows = [[-trigamma(shape), across], [across, -shape * across**2]]
            return value, gradient, np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)

        values = {"shape": _guess(gap)}
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

    def alerts(self, stats: Sums) -> tuple[Alert, ...]:
        if "shape" in self.fixed or not (np.asarray(self.shape) > 0.9 * STEEPEST).any():
            return super().alerts(stats)
        text = (
            "the values differ by less than 1e-5 of their size, so the shape grows without bound and the density "
            f"becomes a point; it was held at {STEEPEST:g}. Subtract a known offset, add data, or fix shape."
        )
        return (*super().alerts(stats), Alert("collapsed", text))

    @property
    def peak_precision(self) -> Array:
        return np.asarray(self.shape)

    def rounding(self, stats: Sums) -> float:
        return float(BLUR * (stats.weight * self.stacked.peak_precision).sum())

    def widen(self, by: Array) -> Self:
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

    def divergence_cells(self, other: Self) -> Array:
        """Of the means, weighed by the shape; of log shape; and of what Stirling leaves of log Γ."""
        a, b = self.shape, other.shape
        step = a / b * ((other.rate - self.rate) / self.rate) - (b - a) / b  # the ratio of the means, less 1
        means = b * ratio_excess(a * (other.rate / self.rate) / b, step)
        return np.asarray(means + 0.5 * ratio_excess(b / a, (b - a) / a) + stirling_divergence(b, a))

    def entropy_cell(self) -> Any:
        slope = (1 - np.asarray(self.shape)) * special.digamma(self.shape)
        return self.shape - np.log(self.rate) + special.gammaln(self.shape) + slope


def _guess(gap: Array) -> Array:
    """A rational guess of the shape a with log a − ψ(a) = gap."""
    return np.asarray((3 - gap + np.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap))


def _shape(gap: Array) -> Array:
    """The shape a with log a − ψ(a) = gap, by Newton's method in 1/a (Minka, 2002, Estimating a Gamma distribution)."""
    a = _guess(gap)
    for _ in range(STEPS):  # the same for all, so that components together are what they are alone
        near, b = np.minimum(a, FAR), 1.0 / np.maximum(a, FAR)
        series = (  # without cancellation
            b / 2 + b**2 / 12 - b**4 / 120 + b**6 / 252,
            -(b**2) / 2 - b**3 / 6 + b**5 / 30 - b**7 / 42,
        )
        value = np.where(a < FAR, np.log(near) - special.digamma(near), series[0])
        slope = np.where(a < FAR, 1 / near - trigamma(near), series[1])
        a = 1 / (1 / a - (value - gap) / (slope * -(a**2)))
    return np.asarray(a)


def weak_prior_of_shape(stats: Any, part: float = 1.0) -> Gamma:
    """One row about the shape, as `hurdle_prior` derives it."""
    return Gamma(1 + ROWS / 2, np.maximum(part * _gap(stats), 0.5 / STEEPEST))


def _gap(stats: Sums) -> Array:
    """Log E x − E log x of amounts."""
    mean = np.where((stats.weight > 0)[..., None], stats.mean, [0.0, 1.0])
    return np.asarray(np.maximum(np.log(mean[..., 1]) - mean[..., 0], 0.0))


def estimate_with_shape_prior(base: Any, stats: Any, prior: Any) -> Any:
    """The shape at its mode, and the rate that gives the mean of the rows."""
    n, gap = stats.weight, _gap(stats)
    rows = n + ROWS
    power, rate = np.asarray(prior.shape) - 1, np.asarray(prior.rate)

    def evaluate(theta: Array) -> tuple[Array, Array, Array]:
        a = theta[..., 0]
        value = n * (a * np.log(a) - a - special.gammaln(a) - a * gap) + power * np.log(a) - rate * a
        slope = n * (np.log(a) - special.digamma(a) - gap) + power / a - rate
        bend = n * (1 / a - trigamma(a)) - power / a**2
        return value / rows, (slope / rows)[..., None], (bend / rows)[..., None, None]

    begin = (0.5 * n + power) / (n * gap + rate)  # the solution where the shape is large
    shape = newton(evaluate, np.broadcast_to(begin, n.shape)[..., None].copy(), rows, ("shape",))[..., 0]
    mean = np.where(n > 0, stats.mean[..., 1], np.asarray(base.shape) / base.rate)
    return replace(base, shape=shape, rate=shape / mean)
