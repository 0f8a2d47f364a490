"""The time until a drift with noise reaches a level."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import factorial
from typing import Any, Self

import numpy as np

from suffice.core.exponential_family import ExponentialFamily
from suffice.core.parameters import POSITIVE, parameter
from suffice.distributions.floors import HALF_LOG_TAU
from suffice.distributions.normal import Normal
from suffice.numerics.lazy import special
from suffice.numerics.special import BLUR, ratio_excess
from suffice.statistics.moments import Moments
from suffice.statistics.sums import Sums
from suffice.types import Alert, Array

STEEPEST = 1e10  # the largest shape/mean that sums of float64 can tell from a point: a relative spread of 1e-5
FARTHEST = 40.0  # standard normal deviations beyond which no quantile lies: no float64 is as small as their probability
STEPS = 80  # of Newton's method for quantiles, or bisection where it leaves the bracket
FAR = 50.0  # from there on the series of e^z·E₁(z) is exact
SERIES = [(-1.0) ** n * factorial(n) for n in range(24)]


@dataclass(frozen=True, eq=False, repr=False)
class InverseGaussian(ExponentialFamily):
    r"""Time of Brownian motion to a level: :math:`p(x) = \sqrt{\lambda/2\pi x^3}\,e^{-\lambda(x-m)^2/2m^2x}`.

    m is ``mean``, λ ``shape``. Statistic (x, 1/x), natural parameter (−λ/2m², −λ/2), log-partition −λ/m − ½ log λ.
    Also called Wald distribution. The estimate is exact: the mean of x, and 1/λ = mean of 1/x − 1/mean.

    References
    ----------
    Tweedie, M. C. K. (1957). Statistical properties of inverse Gaussian distributions I. Annals of Mathematical
    Statistics 28, 362-377.
    Michael, J. R., Schucany, W. R. and Haas, R. W. (1976). Generating random variates using transformations with
    multiple roots. The American Statistician 30, 88-90.

    >>> sf.fit(sf.InverseGaussian(), [1.0, 3.0]).distribution
    InverseGaussian(mean=2, shape=6)
    """

    mean: Any = parameter(POSITIVE, default=1.0, typical=(0.5, 5.0))
    shape: Any = parameter(POSITIVE, default=1.0, typical=(0.5, 8.0), unit=1)

    support = POSITIVE

    def statistic(self, x: Array) -> Array:
        return np.stack([x, 1 / np.asarray(x, dtype=np.float64)], axis=-1)

    def log_base(self, x: Array) -> Array:
        return np.asarray(-HALF_LOG_TAU - 1.5 * np.log(x, dtype=np.float64))

    def natural(self) -> Array:
        half = -0.5 * np.asarray(self.shape)
        return np.stack([half / np.square(self.mean), half], axis=-1)

    def from_natural(self, eta: Array) -> Self:
        first, second = np.moveaxis(np.asarray(eta, dtype=float), -1, 0)
        return replace(self, mean=np.sqrt(second / first), shape=-2 * second)

    def log_partition(self) -> Array:
        return np.asarray(-self.shape / self.mean - 0.5 * np.log(self.shape))

    def log_cell(self, x: Array) -> Array:
        away = (x - self.mean) / self.mean
        return np.asarray(0.5 * np.log(self.shape) + self.log_base(x) - 0.5 * self.shape * away * away / x)

    def mean_statistic(self) -> Array:
        return np.stack([np.asarray(self.mean), 1 / np.asarray(self.mean) + 1 / np.asarray(self.shape)], axis=-1)

    # ---- learning ---------------------------------------------------------------------------------------------------
    def from_mean(self, mean: Array) -> Self:
        centre = np.asarray(self.mean) if "mean" in self.fixed else mean[..., 0]
        shape = np.asarray(self.shape) if "shape" in self.fixed else 1 / _spread(mean, centre)
        return replace(self, mean=centre, shape=shape)

    def maximise(self, stats: Sums) -> Self:
        shared = self.tied & set(self.free)
        if not shared or shared == {"mean", "shape"}:
            return super().maximise(stats)
        weight = stats.weight
        mean = np.where(weight[..., None] == 0, [1.0, 2.0], stats.mean)
        centre = np.asarray(self.mean) if "mean" in self.fixed else mean[..., 0]
        if "mean" in shared:
            centre = self._shared_mean(weight, mean)
        spread = _spread(mean, centre)
        if "shape" in shared:
            pooled = (weight * spread).sum(axis=0) / np.maximum(weight.sum(axis=0), 1e-300)
            spread = np.broadcast_to(np.maximum(pooled, 1e-300), weight.shape)
        shape = np.asarray(self.shape) if "shape" in self.fixed else 1 / spread
        return self.choose(weight == 0, replace(self, mean=centre, shape=shape))

    def _shared_mean(self, weight: Array, mean: Array) -> Array:
        """The mean that components of different shapes share.

        1/λ is the spread at the best mean plus x̄·(1/m − 1/x̄)²: this is the shared mean of Normals at 1/x̄.
        """
        best = mean[..., 0]
        scatter = weight * _spread(mean, best) / best
        std = 1 / np.sqrt(np.asarray(self.shape) * best)
        fixed = frozenset({"std"} if "shape" in self.fixed else ())
        normal = Normal(1 / best, std, fixed=fixed, tied=frozenset({"mean"}))
        return 1 / np.asarray(normal.maximise(Moments(weight, 1 / best, np.zeros(weight.shape), scatter)).mean)

    def alerts(self, stats: Sums) -> tuple[Alert, ...]:
        if "shape" in self.fixed or not (np.asarray(self.peak_precision) > 0.9 * STEEPEST).any():
            return super().alerts(stats)
        text = (
            "the values differ by less than 1e-5 of their size, so the shape grows without bound and the density "
            f"becomes a point; it was held at {STEEPEST:g} times the mean. Subtract a known offset, add data, or fix "
            "shape."
        )
        return (*super().alerts(stats), Alert("collapsed", text))

    @property
    def peak_precision(self) -> Array:
        return np.asarray(self.shape / self.mean)

    def rounding(self, stats: Sums) -> float:
        return float(BLUR * (stats.weight * self.stacked.peak_precision).sum())

    def widen(self, by: Array) -> Self:
        return replace(self, shape=self.shape / by)

    # ---- answers ----------------------------------------------------------------------------------------------------
    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Of the two roots of λ(x−m)²/m²x = χ², each with its probability (Michael, Schucany and Haas, 1976)."""
        ratio = _roots(np.square(rng.standard_normal((n, *self.batch))), self.shape / self.mean)
        lower = rng.random((n, *self.batch)) * (1 + ratio) <= 1
        return np.asarray(self.mean * np.where(lower, ratio, 1 / ratio))

    def cumulative(self, x: Array) -> Array:
        ratio = np.maximum(x, 0.0) / self.mean
        below, above, _ = _tails(ratio, self.shape / self.mean)
        return np.asarray(np.where(ratio <= 1, np.exp(below), np.where(np.isinf(ratio), 1.0, -np.expm1(above))))

    def inverse(self, q: Array) -> Array:
        return np.asarray(self.mean * _quantile(*np.broadcast_arrays(q, self.shape / self.mean)))

    @property
    def var(self) -> Any:
        """The variance, mean³/shape."""
        with np.errstate(over="ignore"):
            return np.square(self.mean) * (self.mean / self.shape)

    @property
    def mode(self) -> Any:
        """The point of highest density."""
        away = 1.5 * self.mean / self.shape
        return self.mean / (np.hypot(1.0, away) + away)

    def divergence_cells(self, other: Self) -> Array:
        shapes = ratio_excess(other.shape / self.shape, (other.shape - self.shape) / self.shape)
        away = (self.mean - other.mean) / other.mean
        return np.asarray(0.5 * shapes + 0.5 * other.shape * away * away / self.mean)

    def entropy_cell(self) -> Any:
        log_mean = np.log(self.mean) - _scaled_integral(2 * np.asarray(self.shape / self.mean))
        return 0.5 + HALF_LOG_TAU - 0.5 * np.log(self.shape) + 1.5 * log_mean


def _spread(mean: Array, centre: Array) -> Array:
    """E (x − m)²/m²x, which is 1/λ, from E x and E 1/x."""
    best, inverse = mean[..., 0], mean[..., 1]
    within = np.maximum(inverse * best - 1, 1 / STEEPEST) / best
    return np.asarray(within + np.square((best - centre) / centre) / best)


def _roots(square: Array, shape: Array) -> Array:
    """The lower root z of shape·(z − 1)²/z = square, without cancellation; the upper one is 1/z."""
    half = 0.5 * square / np.asarray(shape)
    return np.asarray(1 / (1 + half + np.sqrt(half) * np.sqrt(half + 2)))


def _tails(ratio: Array, shape: Array) -> tuple[Array, Array, Array]:
    """Log P(Z ≤ z) where z ≤ 1, log P(Z > z) where it is not far below 1, and log of z·p(z), for mean 1.

    Both are Φ(∓a) ± e^(2·shape)·Φ(−b) with b² = a² + 4·shape: their common factor is e^(−a²/2).
    """
    with np.errstate(all="ignore"):
        root = np.sqrt(shape / ratio)
        a, b = root * (ratio - 1) / np.sqrt(2), root * (ratio + 1) / np.sqrt(2)
        far = special.erfcx(b)
        below = np.log(0.5 * (special.erfcx(-a) + far)) - a * a
        above = np.log(0.5 * (special.erfcx(a) - far)) - a * a
        log_density = np.log(root) - HALF_LOG_TAU - a * a
    return np.where(ratio > 0, below, -np.inf), above, log_density


def _quantile(q: Array, shape: Array) -> Array:
    """Quantiles for mean 1: Newton's method for the logarithm of the smaller tail, along log z, in a bracket."""
    lower = q < 0.5
    with np.errstate(all="ignore"):
        goal = np.where(lower, np.log(q), np.log1p(-q))
        left = np.log(_roots(np.square(FARTHEST), shape))
        right = -left
        guess = -np.log(_roots(np.square(special.ndtri(q)), shape))
        at = np.clip(np.where(lower, -guess, guess), left, right)
        for _ in range(STEPS):
            below, above, log_density = _tails(np.exp(at), shape)
            excess = np.where(lower, below - goal, goal - above)  # rises with z
            left, right = np.where(excess < 0, at, left), np.where(excess < 0, right, at)
            trial = at - excess / np.exp(log_density - np.where(lower, below, above))
            trial = np.where((trial >= left) & (trial <= right), trial, 0.5 * (left + right))
            moved = np.abs(trial - at) > 1e-16 * np.maximum(np.abs(at), 1.0)
            at = trial
            if not moved.any():
                break
    return np.asarray(np.where(q <= 0, 0.0, np.where(q >= 1, np.inf, np.exp(at))))


def _scaled_integral(z: Array) -> Array:
    """e^z·E₁(z), the exponential integral, also where e^z is not a float."""
    near, far = np.minimum(z, FAR), 1 / np.maximum(z, FAR)
    series = far * np.polynomial.polynomial.polyval(far, SERIES)
    return np.where(z < FAR, np.exp(near) * special.exp1(near), series)
