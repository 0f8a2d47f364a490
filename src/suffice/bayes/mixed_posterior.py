"""Posteriors under a mixture of conjugate priors: again a mixture, its weights multiplied by the evidences.

With the prior Σ_j w_j p_j(θ) and the evidences m_j = ∫ p(data | θ) p_j(θ) dθ, the posterior is
Σ_j w′_j p_j(θ | data) with w′_j ∝ w_j m_j, and the evidence is Σ_j w_j m_j (Dalal and Hall, 1983).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from suffice.arguments import check_count, check_level
from suffice.bayes.posterior import Posterior, at, named_columns, plain
from suffice.bayes.probability import Probability, by_parameter, cumulative
from suffice.core.combinators import make_mixture
from suffice.core.distribution import Distribution
from suffice.core.family import Family
from suffice.display.posterior_summary import Belief
from suffice.display.summary import Summary
from suffice.errors import UnsupportedError
from suffice.numerics.lazy import special
from suffice.types import Alert, Array, Prior, Seed

HALVINGS = 200  # of the interval between the components' quantiles
GRID = 2001  # points between the components' modes at which the highest is looked for


@dataclass(frozen=True, eq=False, repr=False)
class MixedPosterior(Belief):
    """What is believed of a distribution's parameters under a mixture of conjugate priors.

    It has the face of :class:`suffice.Posterior`, and is accepted wherever such a prior is.

    Attributes
    ----------
    components : tuple of Posterior
        The posterior under each of the priors.
    weights, prior_weights : array (k,)
        The probability of each component after and before the data.
    log_evidence : float
        log Σ_j w_j m_j, where m_j is the evidence under component j.
    """

    likelihood: Family
    components: tuple[Posterior, ...]
    weights: Array
    prior_weights: Array
    log_evidence: float
    prior: Any = None
    alerts: tuple[Alert, ...] = ()
    column_names: tuple[Any, ...] | None = field(repr=False, default=None)

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters that the belief speaks of."""
        return self.components[0].names

    def _average(self, answer: Callable[[Posterior], Any]) -> Any:
        """Σ_j w_j · answer of component j; components without weight are left out."""
        live = [(w, answer(one)) for w, one in zip(self.weights, self.components, strict=True) if w > 0]
        first = live[0][1]
        if isinstance(first, dict):
            return {key: plain(sum(w * np.asarray(one[key]) for w, one in live)) for key in first}
        return plain(sum(w * np.asarray(one) for w, one in live))

    @property
    def mean(self) -> Any:
        """The expected parameter, Σ_j w_j · E_j[θ]."""
        return self._average(lambda one: one.mean)

    @property
    def var(self) -> Any:
        """The variance of the parameter: within the components, and between their means."""
        mean = self.mean

        def spread(one: Posterior) -> Any:
            if isinstance(mean, dict):
                return {key: np.square(one.std[key]) + np.square(one.mean[key] - mean[key]) for key in mean}
            return np.square(one.std) + np.square(np.asarray(one.mean) - mean)

        return self._average(spread)

    @property
    def std(self) -> Any:
        """The standard deviation of the parameter."""
        var = self.var
        return {key: plain(np.sqrt(one)) for key, one in var.items()} if isinstance(var, dict) else plain(np.sqrt(var))

    def _cumulative(self, name: str, t: Array) -> Any:
        parts = [np.asarray(cumulative(one.belief, name, t)) for one in self.components]
        return sum(w * part for w, part in zip(self.weights, parts, strict=True))

    def cdf(self, t: Array | float | None = None, /, **named: Any) -> Any:
        """P(θ ≤ t | data) of each parameter by itself; arguments are those of :meth:`suffice.Posterior.cdf`."""
        return by_parameter(lambda name, value: plain(self._cumulative(name, value)), self.names, t, named)

    def interval(self, level: float = 0.95) -> Any:
        """The central credible interval (low, high) of each number by itself.

        A quantile of a mixture lies between the least and the greatest of its components' quantiles, where it is found
        by halving.
        """
        check_level(level)
        each = [one.interval(level) for one, w in zip(self.components, self.weights, strict=True) if w > 0]
        if not isinstance(each[0], dict):
            return self._between(self.names[0], each, level)
        return {name: self._between(name, [one[name] for one in each], level) for name in each[0]}

    def _between(self, name: str, each: list[Any], level: float) -> tuple[Any, Any]:
        found = []
        for side, q in enumerate(((1 - level) / 2, (1 + level) / 2)):
            ends = np.stack([np.asarray(one[side], dtype=float) for one in each])
            low, high = ends.min(axis=0), ends.max(axis=0)
            for _ in range(HALVINGS):
                middle = 0.5 * (low + high)
                if ((middle <= low) | (middle >= high)).all():
                    break
                short = self._cumulative(name, middle) < q
                low, high = np.where(short, middle, low), np.where(short, high, middle)
            found.append(plain(0.5 * (low + high)))
        return found[0], found[1]

    def prob(self, predicate: Callable[..., Any], random_state: Seed = None) -> Probability:
        """P(statement about θ | data); arguments are those of :meth:`suffice.Posterior.prob`."""
        parts = [one.prob(predicate, random_state) for one in self.components]
        total = sum(w * float(part) for w, part in zip(self.weights, parts, strict=True))
        return Probability(total, sum(w * part.error for w, part in zip(self.weights, parts, strict=True)))

    def log_prob(self, parameter: Array | float) -> Any:
        """Log density of the belief at a parameter."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.weights)
        parts = [np.asarray(one.log_prob(parameter)) + log for one, log in zip(self.components, logs, strict=True)]
        return plain(special.logsumexp(np.stack(parts), axis=0))

    def marginal_density(self, name: str, values: Any) -> Any:
        """The density of one parameter by itself; of a vector, of each of its entries."""
        parts = [w * one.marginal_density(name, values) for w, one in zip(self.weights, self.components, strict=True)]
        return sum(parts)

    def prior_density(self, values: Array) -> Array:
        """The density of the prior."""
        parts = [
            w * np.exp(one.prior.log_prob(values)) for w, one in zip(self.prior_weights, self.components, strict=True)
        ]
        return np.asarray(sum(parts))

    def sample(self, n: int = 1, random_state: Seed = None) -> Any:
        """Draw parameters: of each draw the component, then the parameter."""
        check_count(n)
        rng = np.random.default_rng(random_state)
        which = rng.choice(len(self.weights), n, p=self.weights)
        counts = np.bincount(which, minlength=len(self.weights))
        drawn = [one.sample(int(count), rng) for one, count in zip(self.components, counts, strict=True)]
        place = np.argsort(np.argsort(which, kind="stable"), kind="stable")
        if isinstance(drawn[0], dict):
            return {key: np.concatenate([np.asarray(one[key]) for one in drawn])[place] for key in drawn[0]}
        return np.concatenate([np.asarray(one) for one in drawn])[place]

    @property
    def mode(self) -> Any:
        """The most probable parameter, of a belief about one number."""
        modes = [one.mode for one in self.components]
        if isinstance(modes[0], dict) or np.ndim(modes[0]):
            about = " and ".join(self.names)
            msg = f"the mode of a mixture of beliefs is found for one number, not for {about}; ask .components[j].mode."
            raise UnsupportedError(msg)
        grid = np.unique([*np.linspace(min(modes), max(modes), GRID), *modes])
        for _ in range(12):  # between the outermost modes: beyond them every component falls
            best = int(np.argmax(self.log_prob(grid)))
            low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
            grid = np.unique([*np.linspace(low, high, 65), grid[best]])
        return float(grid[int(np.argmax(self.log_prob(grid)))])

    def estimate(self) -> Any:
        """The likelihood at the mode of the belief."""
        return at(self.likelihood, self.mode)

    def predictive(self) -> Any:
        """The distribution of a new row: the mixture of the components' predictives."""
        support = self.likelihood.support
        if support.integer and (support.low, support.high) == (0, 1):  # an average of distributions is one of them
            mean = np.reshape(self.mean, (1, -1))
            return self.likelihood.like(replace(self.likelihood.stacked, fixed=frozenset()).from_mean(mean))
        live = np.flatnonzero(self.weights > 0)
        found = self.components[live[0]].predictive()
        if len(live) > 1:
            found = make_mixture([self.components[j].predictive() for j in live], self.weights[live])
        return named_columns(found, self.column_names)

    def summarize(self) -> Summary:
        """What there is to say about the belief, as values; of each component its probability before and after."""
        found: Summary = super().summarize()
        lines = tuple(
            f"{before:.4g} → {after:.4g}  {one.belief!r:.80}"
            for before, after, one in zip(self.prior_weights, self.weights, self.components, strict=True)
        )
        return replace(found, notes=("probability of each component before and after the data:", *lines))

    def __repr__(self) -> str:
        """Show the components with their weights, and the evidence."""
        parts = " + ".join(f"{w:.4g} {one.belief!r:.60}" for w, one in zip(self.weights, self.components, strict=True))
        return f"Posterior({parts} about {' and '.join(self.names)}, log_evidence {self.log_evidence:.6g})"


def is_mixed(likelihood: Family, prior: Prior) -> bool:
    """Whether a prior is a mixture of the family's conjugate priors, or the posterior under one."""
    if isinstance(prior, MixedPosterior):
        return True
    parts: Any = getattr(prior, "parts", ())
    return bool(parts) and isinstance(prior, Distribution) and all(isinstance(p, likelihood.conjugates) for p in parts)


def mixed_posterior(likelihood: Family, prior: Any, update: Callable[[Any], Posterior]) -> MixedPosterior:
    """The posterior under each component of the prior, weighed by prior weight × evidence."""
    if isinstance(prior, MixedPosterior):
        priors: list[Any] = [one.belief for one in prior.components]
    else:
        prior.require_ready("be a prior")
        priors = list(prior.parts)
    components = tuple(update(one) for one in priors)
    evidences = np.array([np.sum(one.log_evidence) for one in components])
    model = components[0].likelihood
    if not model.lone or model.batch not in ((), (1,)):
        msg = (
            f"a mixture of priors speaks of one column, and {likelihood.name} has several: give a Product of columns, "
            "with a prior for each."
        )
        raise UnsupportedError(msg)
    before = np.asarray(prior.weights, dtype=float)
    with np.errstate(divide="ignore"):
        joint = np.log(before) + evidences
    total = float(special.logsumexp(joint))
    return MixedPosterior(model, components, np.exp(joint - total), before, total, prior)
