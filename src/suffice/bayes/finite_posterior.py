"""Beliefs about finitely many distributions: P(θ | data) ∝ P(θ) · P(data | θ), a sum instead of an integral."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from suffice.arguments import check_count, check_level
from suffice.bayes.posterior import named_columns
from suffice.bayes.probability import Probability, by_parameter, holds
from suffice.core.combinators import make_mixture
from suffice.core.distribution import Distribution
from suffice.core.family import Family
from suffice.core.likelihood import log_likelihood_of_rows
from suffice.display.posterior_summary import Belief
from suffice.display.summary import Summary
from suffice.errors import ParameterError, SufficeError, UnsupportedError
from suffice.numerics.lazy import special
from suffice.numerics.low_rank import replace
from suffice.statistics.weights import Weights
from suffice.types import Alert, Array, Prior, Seed

SHOWN = 8  # candidates that are shown with their probabilities


@dataclass(frozen=True, eq=False, repr=False)
class FinitePosterior(Belief):
    """What is believed of finitely many candidates after the data; accepted wherever such a prior is.

    Attributes
    ----------
    candidates
        The distributions that may have made the data.
    weights
        The probability of each, given the data; ``prior_weights`` before it.
    log_evidence
        log Σ_θ P(θ) · P(data | θ).
    """

    likelihood: Family
    candidates: tuple[Any, ...]
    weights: Array
    prior_weights: Array
    log_evidence: float
    alerts: tuple[Alert, ...] = ()
    column_names: tuple[Any, ...] | None = field(repr=False, default=None)

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters that the belief speaks of."""
        return tuple(self.likelihood.free)

    def values(self, name: str) -> Array:
        """The values of a parameter, candidate by candidate."""
        if self.likelihood.blocks:
            msg = f"{self.likelihood.name} is made of distributions: ask .candidates, .weights and .predictive()."
            raise UnsupportedError(msg)
        return np.stack([np.asarray(getattr(one, name), dtype=float) for one in self.candidates])

    def _answer(self, of: Callable[..., Any]) -> Any:
        found = {name: of(self.values(name)) for name in self.names}
        found = {name: float(value) if np.ndim(value) == 0 else value for name, value in found.items()}
        return next(iter(found.values())) if len(found) == 1 else found

    @property
    def mean(self) -> Any:
        """The expected parameter, Σ_θ P(θ | data) · θ."""
        return self._answer(lambda values: np.tensordot(self.weights, values, 1))

    @property
    def std(self) -> Any:
        """The standard deviation of the parameter."""

        def spread(values: Array) -> Array:
            away = np.square(values - np.tensordot(self.weights, values, 1))
            return np.asarray(np.sqrt(np.tensordot(self.weights, away, 1)))

        return self._answer(spread)

    @property
    def mode(self) -> Any:
        """The parameter of the most probable candidate."""
        return self._answer(lambda values: values[int(np.argmax(self.weights))])

    def estimate(self) -> Any:
        """The most probable candidate."""
        return self.candidates[int(np.argmax(self.weights))]

    def interval(self, level: float = 0.95) -> Any:
        """The central credible interval of each number by itself: the least values that reach each tail."""
        check_level(level)

        def ends(values: Array) -> tuple[Any, Any]:
            flat = values.reshape(len(values), -1)
            order = np.argsort(flat, axis=0, kind="stable")
            reached = np.cumsum(self.weights[order], axis=0)
            both = []
            for q in ((1 - level) / 2, (1 + level) / 2):
                place = np.minimum((reached < q - 1e-12).sum(axis=0), len(values) - 1)
                columns = np.arange(flat.shape[1])
                both.append(flat[order[place, columns], columns].reshape(values.shape[1:]))
            return both[0], both[1]

        found: dict[str, Any] = {}
        for name in self.names:
            low, high = ends(self.values(name))
            found[name] = (float(low), float(high)) if np.ndim(low) == 0 else (low, high)
        return next(iter(found.values())) if len(found) == 1 else found

    def sample(self, n: int = 1, random_state: Seed = None) -> Any:
        """Draw parameters."""
        check_count(n)
        which = np.random.default_rng(random_state).choice(len(self.weights), n, p=self.weights)
        found = {name: self.values(name)[which] for name in self.names}
        return next(iter(found.values())) if len(found) == 1 else found

    def log_prob(self, parameter: float) -> Any:
        """Log probability of the candidates that have this parameter, or these by name; −inf where none has."""
        given = parameter if isinstance(parameter, dict) else {self.names[0]: parameter}
        if set(given) != set(self.names):
            msg = f"this belief speaks of {', '.join(self.names)}: give log_prob a dictionary of them."
            raise ParameterError(msg)
        same = np.ones(len(self.weights), dtype=bool)
        for name, value in given.items():
            values = self.values(name)
            same &= (values == np.asarray(value, dtype=float)).reshape(len(values), -1).all(axis=1)
        with np.errstate(divide="ignore"):
            return float(np.log(self.weights[same].sum()))

    def cdf(self, t: object = None, /, **named: Any) -> Any:
        """P(θ ≤ t | data) of each number by itself: the sum over the candidates that are no greater."""

        def below(name: str, value: Array) -> Any:
            values = self.values(name)
            if values.ndim == 1:
                found = np.asarray((values <= value[..., None]) @ self.weights)
            else:
                found = np.tensordot(self.weights, values <= value, 1)
            return float(found) if found.ndim == 0 else found

        return by_parameter(below, self.names, t, named)

    def prob(self, predicate: Callable[..., Any], random_state: Seed = None) -> Probability:
        """P(statement about θ | data): the sum over the candidates of which it holds.

        ``predicate`` takes the parameters by position, as arrays with the candidates first, and returns booleans.
        """
        del random_state
        columns = [self.values(name) for name in self.names]
        return Probability(float(self.weights[holds(predicate, self.names, columns)].sum()))

    def predictive(self) -> Any:
        """The distribution of a new row, P(x | data) = Σ_θ P(θ | data) · P(x | θ)."""
        support = self.likelihood.support
        if not self.likelihood.blocks and support.integer and (support.low, support.high) == (0, 1):
            mean = np.reshape(self.mean, (1, -1))  # over 0 and 1 an average of distributions is one of them
            return self.likelihood.like(replace(self.likelihood.stacked, fixed=frozenset()).from_mean(mean))
        live = np.flatnonzero(self.weights > 0)
        found = self.candidates[live[0]]
        if len(live) > 1:
            shares = self.weights[live] / self.weights[live].sum()
            found = make_mixture([self.candidates[j] for j in live], shares)
        return named_columns(found, self.column_names)

    def summarize(self) -> Summary:
        """What there is to say about the belief, as values; of the most probable candidates their probabilities."""
        found: Summary = super().summarize()
        order = np.argsort(-self.weights, kind="stable")[:SHOWN]
        lines = tuple(f"{self.weights[j]:.4g}  {self.candidates[j]!r:.80}" for j in order)
        left = len(self.weights) - len(order)
        more = (f"and {left} less probable ones",) if left else ()
        return replace(found, notes=("probability of each candidate:", *lines, *more))

    def __repr__(self) -> str:
        """Show the most probable candidate, and the evidence."""
        best = int(np.argmax(self.weights))
        about = f"{self.candidates[best]!r:.60} with probability {self.weights[best]:.4g}"
        return f"Posterior({len(self.weights)} candidates, {about}, log_evidence {self.log_evidence:.6g})"


def is_finite(prior: Prior) -> bool:
    """Whether a prior is one over finitely many distributions: numbers as labels, or distributions with weights."""
    if isinstance(prior, FinitePosterior):
        return True
    if isinstance(prior, dict):
        return bool(prior) and all(isinstance(one, Distribution) for one in prior)
    return isinstance(prior, Distribution) and hasattr(prior, "levels") and hasattr(prior, "probs")


def finite_posterior(likelihood: Family, rows: Array, weights: Weights, prior: Prior) -> FinitePosterior:
    """Bayes' rule over the candidates of a prior: each has its prior probability times its likelihood."""
    candidates, before = _candidates(likelihood, prior)
    scores = []
    for one in candidates:
        shaped = one.for_data(rows) if len(rows) else one
        scores.append(float(log_likelihood_of_rows(shaped, rows, weights)) if len(rows) else 0.0)
    with np.errstate(divide="ignore"):
        joint = np.log(before) + np.array(scores)
    total = float(special.logsumexp(joint))
    if not np.isfinite(total):
        msg = (
            f"prior and data exclude each other: every {likelihood.name} with a positive prior weight gives the data "
            "probability 0. Add candidates."
        )
        raise ParameterError(msg)
    after = np.exp(joint - total)
    return FinitePosterior(likelihood, candidates, after / after.sum(), before, total)


def _candidates(likelihood: Family, prior: Any) -> tuple[tuple[Any, ...], Array]:
    """The distributions that a prior speaks of, and their probabilities."""
    if isinstance(prior, FinitePosterior):
        if type(prior.likelihood) is not type(likelihood):
            msg = f"the prior speaks of {prior.likelihood.name}, but the likelihood is {likelihood.name}."
            raise ParameterError(msg)
        return prior.candidates, prior.weights
    if isinstance(prior, dict):
        return _given(likelihood, prior)
    names = likelihood.free
    if likelihood.blocks or len(names) != 1 or likelihood.specs()[names[0]].domain.core:
        what = ", ".join(names) or "no parameters"
        msg = (
            f"{likelihood.name} has {what} to learn, and labels are values of one number: give the candidates as "
            "{distribution: weight, …}, or fix parameters with .fix(…)."
        )
        raise UnsupportedError(msg)
    if not prior.ready or not prior.lone or len(prior.named) != 1:
        msg = (
            f"a prior over values of {names[0]} is Categorical(values, probabilities) of one column; got {prior!r:.60}."
        )
        raise ParameterError(msg)
    found = []
    for value in prior.named[0]:
        if isinstance(value, (bool, str)) or not isinstance(value, (int, float, np.number)):
            msg = f"a prior over values of {names[0]} has numbers as its levels; got {value!r:.40}."
            raise ParameterError(msg)
        try:
            found.append(replace(likelihood, **{names[0]: float(value)}))
        except SufficeError as error:
            msg = f"the prior gives {names[0]} the value {value!r}, which it cannot have. {error}"
            raise ParameterError(msg) from error
    return tuple(found), np.ravel(np.asarray(prior.probs, dtype=float))


def _given(likelihood: Family, prior: dict[Any, Any]) -> tuple[tuple[Any, ...], Array]:
    """Candidates as keys and their weights, which are normalised."""
    for one in prior:
        if type(one) is not type(likelihood) or not one.lone or not one.ready:
            msg = f"each candidate is one {likelihood.name} with values for its parameters; got {one!r:.60}."
            raise ParameterError(msg)
    try:
        weights = np.array(list(prior.values()), dtype=float)
    except (TypeError, ValueError):
        weights = np.array([np.nan])
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
        msg = f"the weights of candidates are numbers of at least 0, not all 0; got {list(prior.values())!r:.60}."
        raise ParameterError(msg)
    return tuple(prior), weights / weights.sum()
