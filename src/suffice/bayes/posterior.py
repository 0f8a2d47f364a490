"""Posteriors: a likelihood paired with a belief about its parameters. Only the pair can make a predictive."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.bayes.probability import Probability, by_parameter, conjugate_probability, cumulative
from suffice.display.posterior_summary import Belief
from suffice.types import Alert, Array, Seed

if TYPE_CHECKING:
    from suffice.core.family import Family


@dataclass(frozen=True, eq=False)
class Posterior(Belief):
    """What is believed of a distribution's parameters after the data; accepted wherever a prior is.

    It shows the belief's own parameters (``.a`` and ``.b`` of a Beta). Answers about one parameter are numbers or
    arrays; about several, dictionaries by parameter name.

    Attributes
    ----------
    likelihood, belief
        The distribution of the rows, and that of its parameters after them.
    log_evidence
        Log of the marginal likelihood of the rows under the prior.
    prior
        The belief before the rows.
    alerts
        ``(code, text)`` pairs: what to know before trusting it.
    column_names
        The names of the data's columns, where they had some.
    """

    likelihood: Family
    belief: Any
    log_evidence: Any
    alerts: tuple[Alert, ...] = ()
    prior: Any = None
    column_names: tuple[Any, ...] | None = None

    @property
    def mean(self) -> Any:
        """The expected parameter."""
        return plain(self.belief.expected())

    @property
    def mode(self) -> Any:
        """The most probable parameter: the MAP estimate."""
        return plain(self.belief.mode)

    @property
    def std(self) -> Any:
        """The standard deviation of the parameter."""
        return plain(self.belief.spread())

    def interval(self, level: float = 0.95) -> Any:
        """The central credible interval (low, high)."""
        return plain(self.belief.interval(level))

    def sample(self, n: int = 1, random_state: Seed = None) -> Any:
        """Draw parameters."""
        return self.belief.sample(n, random_state)

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters that the belief speaks of."""
        return tuple(getattr(self.belief, "speaks_of", ())) or (self.likelihood.belief_about,)

    def cdf(self, t: object = None, /, **named: Any) -> Any:
        r"""P(θ ≤ t | data) of each parameter by itself, :math:`\int_{-\infty}^t p(\theta \mid x)\,d\theta`.

        Parameters
        ----------
        t
            A value of the only parameter, or an array of them; of a vector, one value for each entry or for all.
        named
            Values of parameters by name, where there are several; a dictionary will do, too.

        Returns
        -------
        float or array, or a dictionary of them where several parameters are asked about.

        Examples
        --------
        >>> sf.posterior(sf.Bernoulli(), [1, 1, 0], prior=sf.Beta(1, 1)).cdf(0.5)
        0.3125
        """
        return by_parameter(lambda name, value: plain(cumulative(self.belief, name, value)), self.names, t, named)

    def marginal_density(self, name: str, values: Array) -> Any:
        """The density of one parameter by itself, the others integrated out; of a vector, of each of its entries.

        Parameters
        ----------
        name : str
            The parameter.
        values : array
            Where; of a vector, what its entries are compared with: ``x[:, None]`` gives a column for each.

        Returns
        -------
        array
        """
        own = getattr(self.belief, "marginal_density", None)
        return np.exp(self.belief.log_prob(values)) if own is None else own(name, np.asarray(values, dtype=float))

    def prob(self, predicate: object, random_state: Seed = None) -> Probability:
        r"""P(statement about θ | data), :math:`\int 1[\text{predicate}(\theta)]\,p(\theta \mid x)\,d\theta`.

        Parameters
        ----------
        predicate
            A function of the parameters, by position (or by their names), as arrays; it returns an array of booleans.
        random_state
            Of the draws, where the belief is about a vector or several columns: then the probability is sampled, and
            its ``error`` is the standard error. Else it is an integral, right to about 1e-8.

        Returns
        -------
        Probability, a float with an ``error``.

        Examples
        --------
        >>> sf.posterior(sf.Bernoulli(), [1, 1, 0], prior=sf.Beta(1, 1)).prob(lambda p: p > 0.5) > 0.68
        True
        """
        return conjugate_probability(self, predicate, random_state)

    def log_prob(self, parameter: object) -> Any:
        """Log density of the belief at a parameter."""
        return self.belief.log_prob(parameter)

    def predictive(self) -> Any:
        """The distribution of a new row, the parameters averaged over the belief; columns by name where they have some.

        That of a single column is one of numbers or labels, whatever the column is called.
        """
        return named_columns(self._averaged(), self.column_names)

    def _averaged(self) -> Any:
        axes = self.likelihood.lacking
        return self.likelihood.stacked.predict_with(self.belief.stacked).squeezed(axes)

    def estimate(self) -> Any:
        """The likelihood at the mode of the belief."""
        return at(self.likelihood, self.mode)

    def expected_component(self) -> tuple[Any, Any]:
        """Components m and offsets (k, d) with E[log p(x | θ)] = log m(x) + offset of each cell."""
        found: tuple[Any, Any] = self.likelihood.stacked.expected_component(self.belief.stacked)
        return found

    def divergence(self) -> Any:
        """D(posterior‖prior) of each component, (k,): what was learned, in nats."""
        return self.belief.stacked.divergence_cells(self.prior.stacked).sum(axis=-1)

    def take_components(self, order: Array) -> Posterior:
        """The beliefs about some components of a stack, in this order."""
        likelihood, belief = self.likelihood.take_components(order), self.belief.take_components(order)
        return replace(self, likelihood=likelihood, belief=belief, log_evidence=self.log_evidence[order])

    def __getattr__(self, name: str) -> Any:
        """Show the belief's parameters."""
        if name.startswith("_") or name not in self.belief.specs():
            msg = f"{type(self).__name__} has no attribute {name!r}"
            raise AttributeError(msg)
        return getattr(self.belief, name)

    def __repr__(self) -> str:
        """Show both halves of the pair on one line."""
        mean = self.mean
        values = mean if isinstance(mean, dict) else {self.likelihood.belief_about: mean}
        text = ""
        if all(np.ndim(value) == 0 for value in values.values()):
            several = " and ".join(f"{name} {value:.6g}" for name, value in values.items())
            text = f", expected {several}" if isinstance(mean, dict) else f", mean {mean:.6g}"
        about = f"{self.belief!r} about {' and '.join(values)} of {self.likelihood.name}"
        return f"Posterior({about}{text}, log_evidence {_short(self.log_evidence)})"


def named_columns(predictive: Any, names: Any) -> Any:
    """A distribution of several columns, which have the names of the data's."""
    several = names is not None and len(names) > 1 and predictive.column_names is None
    return predictive.with_column_names(names) if several else predictive


def plain(answer: Any) -> Any:
    """An answer with floats for numbers, inside pairs and dictionaries too; arrays stay."""
    if isinstance(answer, dict):
        return {name: plain(value) for name, value in answer.items()}
    if isinstance(answer, tuple):
        return tuple(plain(value) for value in answer)
    return float(answer) if np.ndim(answer) == 0 else answer


def _short(value: Any) -> str:
    return f"{value:.6g}" if np.ndim(value) == 0 else np.array2string(value, precision=6, separator=", ", threshold=6)


def at(likelihood: Family, point: object) -> Any:
    """The likelihood with the parameters that a belief speaks of set to ``point``."""
    values = point if isinstance(point, dict) else {likelihood.belief_about: point}
    return replace(likelihood, **values)


ONLY_A_MODE = (
    "the weak prior of {} gives the mode of its posterior alone: use sf.fit(…, prior='weak'), or give a density of the "
    "parameters as a function."
)
