"""Trials up to the first success when its probability is uncertain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from suffice.core.family import Family
from suffice.core.parameters import NATURAL, POSITIVE, parameter
from suffice.errors import UnsupportedError
from suffice.numerics import quadrature
from suffice.numerics.special import log_rising, whole_quantile
from suffice.statistics.weights import Weights
from suffice.types import Array

SUMMED = 4000  # terms added one by one; beyond, the sum is an integral with Euler and Maclaurin's correction


@dataclass(frozen=True, eq=False, repr=False)
class BetaGeometric(Family, register=False):
    r"""Trials up to a first success of Beta(a, b) probability: :math:`P(x) = B(a+1, b+x-1) / B(a,b)`, x = 1, 2, ….

    The predictive of :class:`Geometric` under a :class:`Beta` belief: scored and sampled, not fitted.

    >>> sf.posterior(sf.Geometric(), [1, 3], prior=sf.Beta(1, 1)).predictive()
    BetaGeometric(a=3, b=3)
    """

    a: Any = parameter(POSITIVE, default=1.0, typical=(0.6, 6.0))
    b: Any = parameter(POSITIVE, default=1.0, typical=(0.6, 6.0))

    support = NATURAL
    discrete = True

    def log_cell(self, x: Array) -> Array:
        hazard = np.log(self.a / (np.add(self.a, self.b) + (x - 1.0)))
        return np.asarray(hazard + self._log_beyond(x - 1.0))

    def _log_beyond(self, x: Array) -> Array:
        """Log P(X > x) = log Γ(b+x)Γ(a+b) / Γ(b)Γ(a+b+x), by the rise of the shorter argument: nothing cancels."""
        a, b = np.asarray(self.a, dtype=float), np.asarray(self.b, dtype=float)
        few, many = np.minimum(a, x), np.maximum(a, x)
        return np.asarray(log_rising(b, few) - log_rising(b + many, few))

    def gather(self, x: Array, w: Weights) -> Any:
        msg = (
            "BetaGeometric is the predictive of a Geometric and is not fitted itself: fit sf.Geometric() with "
            "prior=sf.Beta(a, b) and ask its posterior for .predictive()."
        )
        raise UnsupportedError(msg)

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        p = np.maximum(rng.beta(self.a, self.b, (n, *self.batch)), 1e-18)
        return rng.geometric(p).astype(float)

    def cumulative(self, x: Array) -> Array:
        k = np.maximum(np.floor(x), 0)
        return np.where(np.isposinf(x), 1.0, -np.expm1(self._log_beyond(k)))

    def inverse(self, q: Array) -> Array:
        return whole_quantile(self.cumulative, q, 1)

    @property
    def mean(self) -> Any:
        """The expected number of trials, (a+b−1)/(a−1); infinite where a ≤ 1."""
        a = np.asarray(self.a, dtype=float)
        with np.errstate(all="ignore"):
            mean = np.where(a > 1, (a + self.b - 1) / (a - 1), np.inf)
        return float(mean) if mean.ndim == 0 else mean

    @property
    def var(self) -> Any:
        """The variance; infinite where a ≤ 2."""
        a = np.asarray(self.a, dtype=float)
        with np.errstate(all="ignore"):
            var = np.where(a > 2, a * self.b * (a + self.b - 1) / ((a - 1) ** 2 * (a - 2)), np.inf)
        return float(var) if var.ndim == 0 else var

    @property
    def mode(self) -> Any:
        """The most probable number: 1."""
        return 0.0 * self.a + 1.0

    def entropy_cell(self) -> Any:
        return quadrature.cellwise(self, lambda cell: cell.expect_smooth(lambda x: -cell.log_cell(x)))

    def kl(self, other: Family) -> Any:
        """D(self‖other), by summation; the tails are too heavy to be cut off."""
        if not (isinstance(other, BetaGeometric) and self.batch == other.batch and self.lone):
            return super().kl(other)
        total = 0.0
        for place in np.ndindex(*self.batch):
            p, q = (one.reshaped(lambda value, at=place: value[at]) for one in (self, other))
            total += p.expect_smooth(partial(_log_ratio, p, q))
        return total

    def expect_smooth(self, f: Callable[[Array], Array]) -> float:
        """E f(X) of a single value for a smooth f."""
        from scipy.integrate import quad

        def term(x: Any) -> Any:
            return np.exp(self.log_cell(x)) * f(x)

        body = float(np.sum(term(np.arange(1.0, SUMMED))))
        tail = quad(
            lambda s: SUMMED * np.exp(s) * term(SUMMED * np.exp(s)), 0, min(700 / self.a, 680), epsabs=0, limit=500
        )[0]
        slope = (term(SUMMED + 1.0) - term(SUMMED - 1.0)) / 2
        return body + float(tail) + float(term(float(SUMMED))) / 2 - float(slope) / 12


def _log_ratio(p: BetaGeometric, q: BetaGeometric, x: Array) -> Array:
    return p.log_cell(x) - q.log_cell(x)
