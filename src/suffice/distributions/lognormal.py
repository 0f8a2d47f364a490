"""Products of many small effects."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from suffice import kernels
from suffice.core.exponential_family import ExponentialFamily
from suffice.core.mixed_columns import Part, e_step_alone
from suffice.core.parameters import POSITIVE, REAL, parameter
from suffice.core.responsibilities import EStep
from suffice.core.value import replace_valid
from suffice.display.values import ColumnSummary, factor
from suffice.distributions.floors import HALF_LOG_TAU
from suffice.distributions.normal import Normal
from suffice.distributions.normal_inverse_gamma import NormalInverseGamma
from suffice.engines.once import cached_property
from suffice.statistics.moments import Moments
from suffice.statistics.weights import Weights
from suffice.types import Alert, Array, Prior

SKEWED = 0.25  # of sigma: below it mean ± standard deviation says the same as median ×÷ factor

STANDARD = Normal()
AS_NORMAL = {"mu": "mean", "sigma": "std"}


@dataclass(frozen=True, eq=False, repr=False)
class LogNormal(ExponentialFamily):
    r"""An amount whose logarithm is Normal: :math:`p(x) = e^{-(\log x-\mu)^2/2\sigma^2} / x\sigma\sqrt{2\pi}`.

    Statistic (log x, log² x), natural parameter (μ/σ², −1/2σ²), log-partition μ²/2σ² + log σ. The moments of log x are
    kept centred, as :class:`Normal` keeps them.

    >>> sf.fit(sf.LogNormal(), np.exp([1.0, 3.0])).distribution
    LogNormal(mu=2, sigma=1)
    """

    mu: Any = parameter(REAL, default=0.0, typical=(-2.0, 2.0))
    sigma: Any = parameter(POSITIVE, default=1.0, typical=(0.3, 1.2))

    support = POSITIVE

    @cached_property
    def logarithm(self) -> Normal:
        """The distribution of log x."""
        fixed, tied = (frozenset(AS_NORMAL[name] for name in names) for names in (self.fixed, self.tied))
        found: Normal = replace_valid(STANDARD, mean=self.mu, std=self.sigma, fixed=fixed, tied=tied, batch=self.batch)
        return found

    def _of(self, normal: Normal) -> Self:
        return replace(self, mu=normal.mean, sigma=normal.std)

    def statistic(self, x: Array) -> Array:
        return self.logarithm.statistic(np.log(x, dtype=np.float64))

    def log_base(self, x: Array) -> Array:
        return np.asarray(-HALF_LOG_TAU - np.log(x, dtype=np.float64))

    def natural(self) -> Array:
        return self.logarithm.natural()

    def from_natural(self, eta: Array) -> Self:
        return self._of(self.logarithm.from_natural(eta))

    def log_partition(self) -> Array:
        return self.logarithm.log_partition()

    def from_mean(self, mean: Array) -> Self:
        return self._of(self.logarithm.from_mean(mean))

    def mean_statistic(self) -> Array:
        return self.logarithm.mean_statistic()

    def gather(self, x: Array, w: Weights) -> Moments:
        x, seen = self.check_support(x, w)
        with np.errstate(all="ignore"):
            logs = np.log(x, dtype=np.float64)
        return Moments(*kernels.moments(logs if seen is None else np.where(seen, logs, np.nan), **w.arguments))

    def log_density(self, x: Array) -> Array:
        inside, missing = self.support.contains(x), np.isnan(x)
        logs = np.log(np.where(inside, x, np.nan), dtype=np.float64)
        base = np.where(inside, -logs, np.where(missing, 0.0, -np.inf)).sum(axis=1)
        return np.asarray(kernels.normal_log_prob(logs, self.mu, self.sigma) + base[:, None])

    def e_step(self, x: Array, log_weights: Array, weights: Array | None = None) -> EStep:
        return e_step_alone(self, x, log_weights, weights)

    def in_cells(self, x: Array) -> Part | None:
        inside, missing = self.support.contains(x), np.isnan(x)
        if not (inside | missing).all():
            return None
        logs = np.log(x, dtype=np.float64)
        base = -np.where(missing, 0.0, logs).sum(axis=1, keepdims=True)
        normals = logs, np.asarray(self.mu), np.asarray(self.sigma)
        return Part(lambda learned: Moments(*learned.moments), normals, ([base], np.ones((self.n_components, 1))))

    def log_cell(self, x: Array) -> Array:
        logs = np.log(x, dtype=np.float64)
        return self.logarithm.log_cell(logs) - logs

    def likelihood_cells(self, stats: Moments) -> Array:
        return np.asarray(self.logarithm.likelihood_cells(stats) - stats.weight * stats.mean)

    def maximise(self, stats: Moments) -> Self:
        return self._of(self.logarithm.maximise(stats))

    def estimate(self, stats: Moments, prior: Prior = None) -> Self:
        """As of the Normal of log x; so is a :class:`NormalInverseGamma` of (mu, sigma), and ``"weak"``."""
        if prior is None or not self.free or callable(prior):
            return super().estimate(stats, prior)
        self.check_family(stats)
        return self._of(self.logarithm.estimate(replace(stats, family=""), prior))

    def weak_prior(self, stats: Moments, part: float = 1.0) -> Any:
        return self.logarithm.weak_prior(stats, part)

    def log_prior(self, prior: NormalInverseGamma) -> Array:
        return self.logarithm.log_prior(prior)

    def unbiased(self, stats: Moments, ddof: float) -> Self:
        return self._of(self.logarithm.unbiased(stats, ddof))

    def error_cells(self, stats: Moments) -> dict[str, Array]:
        errors = self.logarithm.error_cells(stats)
        return {name: errors[AS_NORMAL[name]] for name in self.free}

    def alerts(self, stats: Moments) -> tuple[Alert, ...]:
        if not self.logarithm.alerts(stats):
            return ()
        text = (
            "every value is the same, so sigma is 0 and no density exists; it was set to the smallest that float64 "
            "resolves there. Add data, or fix sigma."
        )
        return (Alert("collapsed", text),)

    @property
    def peak_precision(self) -> Array:
        return np.asarray(1 / np.square(self.sigma))

    def widen(self, by: Array) -> Self:
        return replace(self, sigma=self.sigma * np.sqrt(by))

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        return rng.lognormal(self.mu, self.sigma, (n, *self.batch))

    def cumulative(self, x: Array) -> Array:
        return self.logarithm.cumulative(np.log(np.maximum(x, 0.0)))

    def inverse(self, q: Array) -> Array:
        return np.exp(self.logarithm.inverse(q))

    def column_summaries(self) -> list[list[ColumnSummary]]:
        """Median ×÷ factor; where the factor is small, so that ± says the same, mean ± standard deviation."""
        stack, plain = self.stacked, super().column_summaries()
        skewed = np.asarray(stack.sigma).max(axis=0) >= SKEWED
        factors = [factor(np.exp(mu), np.exp(sigma)) for mu, sigma in zip(stack.mu.T, stack.sigma.T, strict=True)]
        return [other if far else near for near, other, far in zip(plain, factors, skewed, strict=True)]

    @property
    def mean(self) -> Any:
        """The expected amount, exp(mu + sigma²/2)."""
        return np.exp(self.mu + np.square(self.sigma) / 2)

    @property
    def var(self) -> Any:
        """The variance."""
        return np.expm1(np.square(self.sigma)) * np.square(self.mean)

    @property
    def mode(self) -> Any:
        """The point of highest density, exp(mu − sigma²)."""
        return np.exp(self.mu - np.square(self.sigma))

    def divergence_cells(self, other: Self) -> Array:
        return self.logarithm.divergence_cells(other.logarithm)

    def entropy_cell(self) -> Any:
        return self.mu + self.logarithm.entropy_cell()

    def scale_of(self, name: str) -> Any:
        return self.sigma
