"""What a mixture can be asked: how sure its parameters are, its moments, probabilities and quantiles."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np

from suffice.core.family import WITHIN
from suffice.core.responsibilities import normalize
from suffice.em.result import Fit
from suffice.engines import local
from suffice.engines.once import cached_property
from suffice.errors import ParameterError, UnsupportedError
from suffice.models.information import mixture_bounds, mixture_errors
from suffice.models.monte_carlo import DRAWS, Simulated
from suffice.numerics import quadrature
from suffice.queries.conditional import between
from suffice.statistics.sums import Statistics
from suffice.statistics.weights import Weights
from suffice.tables.deferred_columns import weights_of
from suffice.tables.streams import read
from suffice.types import Alert, Array, Data, Prior, Rows


class Gain(NamedTuple):
    """What other parameters gain: ``total`` = log L(θ′) − log L(θ) = ``expected`` + ``divergence``.

    ``expected`` is Q(θ′, θ) − Q(θ, θ), what the M-step maximises; ``divergence`` is D(P_θ[Y|X] ‖ P_θ′[Y|X]) ≥ 0.
    """

    total: float
    expected: float
    divergence: float


class MixtureAnswers:
    """Questions to a mixture, as a base class of it."""

    n: Any  # of the mixture itself, as all of these
    components: Any
    free: Any
    weights: Any
    parts: Any
    priors: Any
    check_columns: Any
    log_prob: Any
    read: Any
    sample: Any
    scores: Any
    require_ready: Any

    @cached_property
    def diagnosed(self) -> dict[str, Any]:
        """The statistics of which it was last asked what is not a cluster, and the answer."""
        return {}

    # ---- how sure ---------------------------------------------------------------------------------------------------
    def standard_errors(self, stats: Statistics) -> dict[Any, Any]:
        """Refuse: who made which row is in the rows, not in the statistics."""
        del stats
        msg = (
            "standard errors of a Mixture need the rows, which a fit keeps only while it is in memory: ask "
            "fit.standard_errors before the fit is saved or pickled, or fit again."
        )
        raise UnsupportedError(msg)

    def errors_from(self, stats: Statistics, data: tuple[Any, ...] | None) -> dict[Any, Any]:
        """Standard errors from the observed information of the rows; NaN where the rows do not tell."""
        if data is None:
            return self.standard_errors(stats)
        return mixture_errors(self.on_boundary_if_near(stats), *data)

    def on_boundary_if_near(self, stats: Any, prior: Any = None) -> Any:
        """The same mixture with weights and parameters on their bounds, where rows do not tell them from these."""
        from suffice.models.boundary import on_boundary_if_near

        return on_boundary_if_near(self, stats, stats.row, prior)

    def alerts(self, stats: Statistics) -> tuple[Alert, ...]:
        return self.alerts_under(stats, None)

    def alerts_under(self, stats: Statistics, prior: Prior) -> tuple[Alert, ...]:
        from suffice.models.spurious_components import mixture_alerts

        return mixture_alerts(self, stats, prior)

    def confidence_bounds(self, errors: dict[Any, Any], reach: float) -> dict[Any, Any]:
        """Estimate ± reach × standard error of each parameter, inside its domain."""
        return mixture_bounds(self, errors, reach)

    def table(self, fit: Fit, width: int) -> list[str]:
        """The components of a fit as lines of text: each parameter with its standard error, where that is quick."""
        from suffice.models.mixture_table import lines

        return lines(self, fit, width)

    def summarize(self, names: tuple[Hashable, ...] | None = None, fit: Fit | None = None) -> Any:
        """What there is to say about it, as a `Summary`: the components, and what each says of each column."""
        from suffice.models.summaries import of_mixture

        return of_mixture(self, names, fit)

    def numbers(
        self, names: tuple[Hashable, ...] | None = None, errors: object = None, reach: float = WITHIN
    ) -> tuple[Any, ...]:
        """The weight and every number of each component, as `Parameter` values."""
        from suffice.models.summaries import numbers_of_mixture

        return numbers_of_mixture(self, names, errors, reach)

    def _repr_html_(self) -> str:
        """Show it as a table in a notebook."""
        from suffice.display.html import of_summary

        return of_summary(self.summarize())

    def certainty(self, rows: Rows, weights: Weights) -> float:
        """Σ w log of the probability of each row's most probable component."""

        def part(where: slice) -> float:
            scores = self.scores(rows[where])
            with np.errstate(all="ignore"):
                sure = scores.max(axis=1) - normalize(scores).total
            return float(np.nansum(weights[where].dense()[:, 0] * sure))

        return float(local.reduce(part, len(rows), self.n + 1))

    # ---- moments ----------------------------------------------------------------------------------------------------
    @property
    def mean(self) -> Any:
        """The mean of each column: Σ π mean; of products by block."""
        self._ask("have a mean")
        return _weighed(self.weights, [one.mean for one in self.parts])

    @property
    def var(self) -> Any:
        """The variance of each column: the mean of the variances and the variance of the means."""
        self._ask("have a variance")
        return _total_variance(self.weights, [one.mean for one in self.parts], [one.var for one in self.parts])

    @property
    def std(self) -> Any:
        """The standard deviation of each column."""
        return _roots(self.var)

    @property
    def cov(self) -> Any:
        """The covariance matrix of the columns, where components have one."""
        self._ask("have a covariance")
        if not all(hasattr(one, "cov") for one in self.parts):
            msg = f"only mixtures of MultivariateNormal have a cov; ask this mixture of {self.parts[0].name} for var."
            raise AttributeError(msg)
        away = np.array([one.mean for one in self.parts]) - self.mean
        return (
            np.einsum("k,kij->ij", self.weights, np.array([one.cov for one in self.parts]))
            + (self.weights * away.T) @ away
        )

    def _ask(self, what: str) -> None:
        self.require_ready(what)

    # ---- probabilities ----------------------------------------------------------------------------------------------
    def cdf(self, x: Data) -> Any:
        """P(X ≤ x), column by column."""
        self._ask("be asked")
        return _weighed(self.weights, [one.cdf(x) for one in self.parts])

    def quantile(self, q: object) -> Any:
        """The smallest x with P(X ≤ x) ≥ q, column by column: it lies between those of the components."""
        self._ask("be asked")
        ends = [np.asarray(one.quantile(q), dtype=float) for one, w in zip(self.parts, self.weights, strict=True) if w]
        return between(self.cdf, np.asarray(q, dtype=float), ends, whole=all(one.discrete for one in self.parts))

    def entropy(self) -> Any:
        """−E log p in nats: by quadrature over one column, else from draws, with a standard error in ``.error``."""
        self._ask("have an entropy")
        return self._expected(lambda x: -np.asarray(self.log_prob(x)))

    def kl(self, other: object) -> Any:
        """D(self‖other) in nats: by quadrature over one column, else from draws, with its standard error ``.error``."""
        self._ask("be compared")
        if not hasattr(other, "log_prob"):
            msg = f"kl compares with another distribution, such as Normal(); got {other!r:.60}."
            raise UnsupportedError(msg)
        return self._expected(lambda x: np.asarray(self.log_prob(x)) - np.asarray(other.log_prob(x)))

    def _expected(self, f: Callable[..., Any]) -> float:
        """E f(X): component by component, so that none is too narrow to be seen."""
        families = list(_families_of(self, 1.0))
        if all(not one.row_vector and not one.support.core and not one.batch for _, one in families):
            return float(sum(weight * _mean_of(one, f) for weight, one in families if weight > 0))
        with np.errstate(all="ignore"):
            draws = f(self.sample(DRAWS, np.random.default_rng(0)))
            return Simulated(float(np.mean(draws)), float(np.std(draws) / np.sqrt(DRAWS)))

    # ---- two parameters of one mixture ------------------------------------------------------------------------------
    def gain(self, x: Data, other: Any, weights: Array | None = None) -> Gain:
        """What ``other`` parameters gain over these on rows, in the two parts that EM knows.

        Examples
        --------
        >>> a = sf.Mixture([sf.Normal(0, 1), sf.Normal(4, 1)])
        >>> gain = a.gain([0.0, 1.0, 5.0], sf.Mixture([sf.Normal(0.5, 1), sf.Normal(5, 1)]))
        >>> bool(np.isclose(gain.total, gain.expected + gain.divergence)), gain.divergence >= 0
        (True, True)
        """
        self._ask("be compared")
        if getattr(other, "n", None) != self.n:
            msg = f"gain compares two mixtures of as many components; got {other!r:.60}."
            raise ParameterError(msg)
        rows = read(self, x)
        self.check_columns(rows)
        other.check_columns(rows)
        held = weights_of(x, weights, len(rows))

        def part(where: slice) -> Array:
            return _gain(self.scores(rows[where]), other.scores(rows[where]), held[where].dense()[:, 0])

        return Gain(*map(float, local.reduce(part, len(rows), self.n + 1)))


def _gain(here: Array, there: Array, w: Array) -> Array:
    """Total, expected and divergence from scores (n, k) under both parameters."""
    mine, theirs = normalize(here), normalize(there)
    with np.errstate(all="ignore"):
        moved = np.where(mine.parts > 0, mine.parts * (there - here), 0.0).sum(axis=1)
        logs = (here - mine.total[:, None]) - (there - theirs.total[:, None])
        apart = np.where(mine.parts > 0, mine.parts * logs, 0.0).sum(axis=1)
        parts = np.stack([theirs.total - mine.total, moved, apart])
    return np.asarray(np.where(w > 0, w * parts, 0.0).sum(axis=1))


def _weighed(weights: Array, values: list[Any]) -> Any:
    """Σ π v of numbers, arrays, or dictionaries of them."""
    if isinstance(values[0], dict):
        return {key: _weighed(weights, [value[key] for value in values]) for key in values[0]}
    total = np.tensordot(weights, np.array(values, dtype=float), axes=1)
    return float(total) if np.ndim(total) == 0 else total


def _total_variance(weights: Array, means: list[Any], variances: list[Any]) -> Any:
    if isinstance(means[0], dict):
        return {
            key: _total_variance(weights, [mean[key] for mean in means], [var[key] for var in variances])
            for key in means[0]
        }
    away = np.array(means, dtype=float) - _weighed(weights, means)
    return _weighed(weights, list(np.array(variances, dtype=float) + np.square(away)))


def _roots(var: float) -> Any:
    if isinstance(var, dict):
        return {key: _roots(value) for key, value in var.items()}
    return float(np.sqrt(var)) if np.ndim(var) == 0 else np.sqrt(var)


def _families_of(one: Any, weight: float) -> Any:
    """Components that are not mixtures, with their share of the whole."""
    if not isinstance(one, MixtureAnswers):
        yield weight, one
        return
    for part, share in zip(one.parts, one.weights, strict=True):
        yield from _families_of(part, weight * float(share))


def _mean_of(one: Any, f: Any) -> float:
    """E f(X) of a distribution of one number or label."""
    levels = getattr(one, "levels", None)
    if levels is None:
        return quadrature.expectation(one, f)
    kept = np.asarray(one.probs) > 0
    return float(np.asarray(one.probs)[kept] @ f([level for level, there in zip(levels, kept, strict=True) if there]))
