"""Counts of several outcomes when their probabilities are uncertain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from suffice.core.family import Family
from suffice.core.parameters import COUNT_VECTOR, NATURAL, POSITIVE_VECTOR, described, parameter
from suffice.errors import ParameterError, UnsupportedError
from suffice.numerics.lazy import special
from suffice.numerics.special import log_rising
from suffice.statistics.weights import Weights
from suffice.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class DirichletMultinomial(Family, register=False):
    r"""Counts in n trials of Dirichlet(alpha) probabilities: :math:`\frac{n!}{\prod x_j!} B(\alpha + x) / B(\alpha)`.

    The predictive of :class:`Multinomial` under a :class:`Dirichlet` belief: scored and sampled, not fitted. Rows may
    have different totals; ``trials`` is needed only to draw rows.

    >>> sf.posterior(sf.Multinomial(), [[2, 1]], prior=sf.Dirichlet([1, 1])).predictive().alpha
    array([3., 2.])
    """

    trials: Any = parameter(NATURAL, typical=(3, 9), learned=False)
    alpha: Any = parameter(POSITIVE_VECTOR, typical=(0.6, 6.0))
    levels: tuple[Any, ...] | None = field(
        default=None, metadata=described("tuple, optional", "The labels that are counted, by position.")
    )

    support = COUNT_VECTOR
    discrete = True

    def log_cell(self, x: Array) -> Array:
        total = x.sum(axis=-1)
        ways = special.gammaln(total + 1.0) - special.gammaln(x + 1.0).sum(axis=-1)
        return np.asarray(ways + log_rising(self.alpha, x).sum(axis=-1) - log_rising(self.alpha.sum(axis=-1), total))

    def gather(self, x: Array, w: Weights) -> Any:
        msg = (
            "DirichletMultinomial is the predictive of a Multinomial and is not fitted itself: fit sf.Multinomial() "
            "with prior=sf.Dirichlet(alpha) and ask its posterior for .predictive()."
        )
        raise UnsupportedError(msg)

    def _known(self, what: str) -> Array:
        if self.trials is None:
            msg = (
                f"DirichletMultinomial needs its number of trials to {what}: DirichletMultinomial(trials=10, alpha=…)."
            )
            raise ParameterError(msg)
        return np.asarray(self.trials)

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        trials = self._known("draw rows").astype(np.int64)
        parts = rng.standard_gamma(self.alpha, (n, *self.alpha.shape))
        total = parts.sum(axis=-1, keepdims=True)
        lost = total[..., 0] == 0  # all underflow: so small concentrations give everything to one outcome
        if lost.any():
            bounds = np.cumsum(self.alpha / self.alpha.sum(axis=-1, keepdims=True), axis=-1)
            first = (rng.random(total.shape) > bounds[..., :-1]).sum(axis=-1)
            parts = np.where(lost[..., None], np.eye(parts.shape[-1])[first], parts)
            total = parts.sum(axis=-1, keepdims=True)
        return rng.multinomial(trials, parts / total).astype(float)

    @property
    def mean(self) -> Any:
        """The expected counts."""
        return self._known("have a mean")[..., None] * self.alpha / self.alpha.sum(axis=-1, keepdims=True)

    @property
    def var(self) -> Any:
        """The variance of each count: that of the binomial, and that of its probability."""
        trials, total = self._known("have a variance")[..., None], self.alpha.sum(axis=-1, keepdims=True)
        return self.mean * (1 - self.alpha / total) * (total + trials) / (total + 1)
