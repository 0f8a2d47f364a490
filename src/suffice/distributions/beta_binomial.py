"""Successes when the probability itself is uncertain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.core.family import Family
from suffice.core.parameters import COUNT, NATURAL, POSITIVE, parameter
from suffice.errors import ParameterError, UnsupportedError
from suffice.numerics.special import log_choose, log_rising, whole_quantile
from suffice.statistics.weights import Weights
from suffice.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class BetaBinomial(Family, register=False):
    r"""Successes in ``trials`` of a Beta(a, b) probability: :math:`P(x) = \binom{n}{x} B(x+a, n-x+b) / B(a,b)`.

    The predictive of :class:`Binomial` under a :class:`Beta` belief: scored and sampled, not fitted.

    >>> sf.posterior(sf.Binomial(10), [3, 5], prior=sf.Beta(1, 1)).predictive()
    BetaBinomial(trials=10, a=9, b=13)
    """

    trials: Any = parameter(NATURAL, typical=(4, 12), learned=False)
    a: Any = parameter(POSITIVE, default=1.0, typical=(0.6, 6.0))
    b: Any = parameter(POSITIVE, default=1.0, typical=(0.6, 6.0))

    support = COUNT
    discrete = True

    def __post_init__(self) -> None:
        """Insist on the number of trials."""
        if self.trials is None:
            msg = "BetaBinomial needs its number of trials: BetaBinomial(trials=10, a=1, b=1)."
            raise ParameterError(msg)
        super().__post_init__()

    def log_cell(self, x: Array) -> Array:
        failures = np.maximum(np.asarray(self.trials) - x, 0)
        ways = log_rising(self.a, x) + log_rising(self.b, failures) - log_rising(np.add(self.a, self.b), self.trials)
        return np.asarray(log_choose(np.asarray(self.trials), x) + ways)

    def gather(self, x: Array, w: Weights) -> Any:
        msg = (
            "BetaBinomial is the predictive of a Binomial and is not fitted itself: fit sf.Binomial(trials) with "
            "prior=sf.Beta(a, b) and ask its posterior for .predictive()."
        )
        raise UnsupportedError(msg)

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        p = rng.beta(self.a, self.b, (n, *self.batch))
        return rng.binomial(np.asarray(self.trials).astype(np.int64), p).astype(float)

    def cumulative(self, x: Array) -> Array:
        top = int(np.max(self.trials))
        table = np.cumsum(np.exp(self.log_cell(np.arange(top + 1.0).reshape(-1, *(1,) * len(self.batch)))), axis=0)
        shape = np.broadcast_shapes(np.shape(x), self.batch)
        at = np.broadcast_to(np.clip(np.nan_to_num(np.floor(x)), 0, self.trials), shape).astype(np.intp)
        inside = np.minimum(table[(at, *np.indices(self.batch))], 1.0)
        return np.where(x < 0, 0.0, np.where(np.greater_equal(x, self.trials), 1.0, inside))

    def inverse(self, q: Array) -> Array:
        return whole_quantile(self.cumulative, q, 0, np.asarray(self.trials))

    @property
    def mean(self) -> Any:
        """The expected number of successes."""
        return self.trials * self.a / (self.a + self.b)

    @property
    def var(self) -> Any:
        """The variance: that of the binomial, and that of its probability."""
        both = self.a + self.b
        return self.trials * (self.a / both) * (self.b / both) * ((both + self.trials) / (both + 1))
