"""Variational Bayes: what to believe of a mixture's weights and components, by the same loop as EM.

The belief is q(π) Π q(θ_j), each conjugate. Given it, a row is shared out by E[log π_j] + E[log p(x | θ_j)], which is
the log density of a component plus an offset; given the statistics of the rows so shared, each belief is its prior's
posterior. Both steps raise one lower bound of the log evidence, so the loop raises it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from suffice import kernels
from suffice.core.responsibilities import Joint, normalize, plus
from suffice.engines import local
from suffice.engines.once import cached_property
from suffice.models.mixture import Mixture
from suffice.models.weight_posterior import DirichletShares, KnownShares, StickBreaking
from suffice.statistics.sums import Statistics, picked
from suffice.statistics.weights import Weights
from suffice.types import Alert, Array, Data, Prior, Rows


@dataclass(frozen=True, eq=False, repr=False)
class VariationalMixture(Mixture, register=False):
    """A mixture whose weights and components are only believed, as the loop sees it.

    Its ``components`` stand at the expected natural parameters and its ``weights`` at the expected weights; rows are
    scored with what is lost by not being sure of either.
    """

    beliefs: Any = field(default=None, kw_only=True)  # the posterior of the components
    shares: Any = field(default=None, kw_only=True)  # the belief about the weights
    prior: Any = field(default=None, kw_only=True)  # of both, by name
    offset: Any = field(default=None, kw_only=True)  # (k, d), of each cell's log density
    barred: Any = field(default=None, kw_only=True)  # (k,), components that get no rows; None: all may

    @classmethod
    def of(cls, beliefs: Any, shares: DirichletShares | KnownShares | StickBreaking, prior: dict[str, Any]) -> Self:
        """The mixture of a belief about the components and one about the weights."""
        components, offset = beliefs.expected_component()
        return cls(components, weights=shares.mean, beliefs=beliefs, shares=shares, prior=prior, offset=offset)

    @cached_property
    def log_weights(self) -> Array:
        """E log π (k,)."""
        log = np.asarray(self.shares.log)
        return log if self.barred is None else np.where(self.barred, -np.inf, log)

    def without(self, component: int) -> Self:
        """The same beliefs, under which one component makes no rows: the others share them out."""
        return replace(self, barred=np.arange(self.n) == component)

    @property
    def is_monotone(self) -> bool:
        return not getattr(self.prior["components"], "ridge", 0.0)

    # ---- rows ---------------------------------------------------------------------------------------------------
    def _base(self, x: Data) -> Array:
        """What scores have beside the components' log densities: (k,), or (n, k) where rows have different offsets."""
        exposure = self.components.exposure(x)
        own = self.offset.sum(axis=1) if exposure is None else exposure @ self.offset.T
        return np.asarray(self.log_weights + own)

    def scores(self, x: Array) -> Array:
        return plus(self.components.log_density(x), self._base(x))

    def relative_scores(self, x: Array) -> Array:
        return self.scores(x)

    def best_of(self, x: Array) -> Array:
        return kernels.chosen(self.scores(x))

    def gather(self, x: Data, w: Weights) -> Joint:
        found = self.components.e_step(x, self._base(x), w.of_component(0).values)
        log_likelihood, entropy = np.array([found.log_likelihood]), np.array([found.entropy])
        return Joint(found.count, found.statistics, log_likelihood, entropy)

    def log_density(self, x: Any) -> Array:
        return self.predictive.log_density(x)

    def row_bounds(self, x: Array) -> Array:
        """What each row adds to the bound, (n,): log Σ exp(E log π + E log p), less than its log density."""
        rows = self._read_checked(x)
        return local.fill(lambda part: normalize(self.scores(rows[part])).total, len(rows), self.score_width(rows))

    @property
    def at_expected(self) -> Mixture:
        """The mixture at the expected weights and natural parameters."""
        return Mixture(self.components, weights=self.weights)

    @cached_property
    def predictive(self) -> Mixture:
        """The distribution of a new row, weights and parameters averaged over the beliefs."""
        return Mixture(self.beliefs.predictive(), weights=self.weights)

    def sample_with_components(self, n: int = 1, random_state: Any = None) -> tuple[Any, Array]:
        return self.predictive.sample_with_components(n, random_state)

    # ---- learning -----------------------------------------------------------------------------------------------
    def estimate(self, stats: Any, prior: Any = None) -> Self:
        """The beliefs after the statistics; the prior is the one that the first of them was made with."""
        del prior
        self.check_family(stats)
        beliefs = self.components.posterior(stats.components, self.prior["components"])
        return type(self).of(beliefs, self.prior["weights"].after(stats.count), self.prior)

    @cached_property
    def learned(self) -> float:
        """D(belief‖prior) of weights and components together, in nats."""
        return float(self.shares.divergence(self.prior["weights"]) + np.sum(self.beliefs.divergence()))

    def measured_log_likelihood(self, stats: Any, rows: Any = None, weights: Any = None) -> float:
        """A lower bound of the log evidence, from the pass that gathered the statistics."""
        return float(stats.log_likelihood[0]) - self.learned

    def log_likelihood(self, stats: Any) -> Any:
        """The same bound from the statistics alone, under any belief."""
        self.check_family(stats)
        made = np.sum(self.components.log_likelihood(stats.components))
        lost = np.sum(self.components.exposed(stats.components) * self.offset)
        return float(self._chosen(stats.count) + made + lost + stats.entropy[0] - self.learned)

    def sound(self, stats: Any) -> bool:
        del stats
        return True

    def missing_bound(self, stats: Any) -> float:
        del stats
        return 0.0

    def in_order(self, stats: Statistics, prior: Any = None) -> tuple[Any, Any]:
        del prior
        return super().in_order(stats) if _exchangeable(self.prior) else (self, stats)

    def permuted(self, order: Any) -> Self:
        order = np.asarray(order)
        if (order == np.arange(self.n)).all():
            return self
        return type(self).of(self.beliefs.take_components(order), self.shares.permuted(order), self.prior)

    def alerts_under(self, stats: Statistics, prior: Any) -> tuple[Alert, ...]:
        del stats, prior
        return ()

    def log_prior(self, prior: Any) -> Array:
        """0: the prior is in the bound."""
        del prior
        return np.zeros(())


def _exchangeable(prior: dict[str, Any]) -> bool:
    """Whether the prior says the same of every component, so that they may change places."""
    return bool(prior["weights"].exchangeable) and all(_alike(one) for one in _each(prior["components"]))


def _each(prior: Prior) -> list[Any]:
    nested = prior.values() if isinstance(prior, dict) else getattr(prior, "beliefs", {}).values()
    return list(nested) or [prior]


def _alike(prior: Prior) -> bool:
    belief = getattr(prior, "belief", prior)
    return bool(getattr(belief, "lone", False) or getattr(belief, "n_components", 0) == 1)


def tag_assignments(model: Mixture, rows: Rows, shares: Weights) -> Joint:
    """The statistics of rows whose owners are known, as a whole or in parts."""
    components = model.components.first_statistics(rows, shares)
    return Joint(shares.component_totals(), components, np.zeros(1), np.zeros(1))


def largest_first(stats: Joint) -> Joint:
    """The statistics with the components by falling weight: where weights have an order, the bound is best so."""
    order = np.argsort(-stats.count, kind="stable")
    return replace(stats, count=stats.count[order], components=picked(stats.components, order))


def posterior_of(model: Mixture, stats: Joint, prior: dict[str, Any]) -> VariationalMixture:
    """The belief after the statistics of a first sharing out."""
    beliefs = model.components.posterior(stats.components, prior["components"])
    return VariationalMixture.of(beliefs, prior["weights"].after(stats.count), prior)
