"""What a mixture can be asked: how sure its parameters are, its moments, probabilities and quantiles."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from suffice.core import quadrature
from suffice.core.beside import weights_of
from suffice.core.errors import ParameterError, UnsupportedError
from suffice.core.latent import share_out
from suffice.core.parameters import Array
from suffice.core.streamed import read
from suffice.engines import local

DRAWS = 100_000  # rows of an answer by simulation


class Simulated(float):
    """A number found from draws, with its standard error."""

    error: float

    def __new__(cls, value: float, error: float = float("nan")) -> Self:
        """Keep the number and its standard error."""
        found = super().__new__(cls, value)
        found.error = error
        return found

    def __repr__(self) -> str:
        """Show the number with its standard error."""
        return f"{float(self):.6g} ± {self.error:.2g}"

    __str__ = __repr__


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
    weights: Any
    parts: Any
    begin: Any
    log_prob: Any
    permuted: Any
    read: Any
    sample: Any
    scores: Any
    _require_ready: Any

    # ---- how sure ---------------------------------------------------------------------------------------------------
    def relative_scores(self, x: Any) -> Array:
        """The scores of a block of rows, up to what is the same for all members of a row."""
        return np.asarray(self.scores(x))

    def standard_errors(self, stats: Any) -> dict[Any, Any]:
        """Refuse: who made which row is in the rows, not in the statistics."""
        del stats
        msg = (
            "standard errors of a Mixture need the rows, which a fit keeps only while it is in memory: ask "
            "fit.standard_errors before the fit is saved or pickled, or fit again."
        )
        raise UnsupportedError(msg)

    def errors_from(self, stats: Any, data: Any) -> dict[Any, Any]:
        """Standard errors from the observed information of the rows; NaN where the rows do not tell."""
        if data is None:
            return self.standard_errors(stats)
        from suffice.combinators.information import mixture_errors

        return mixture_errors(self, *data)

    def bounds(self, errors: dict[Any, Any], reach: float) -> dict[Any, Any]:
        """Estimate ± reach × standard error of each parameter, inside its domain."""
        from suffice.combinators.information import mixture_bounds

        return mixture_bounds(self, errors, reach)

    def table(self, fit: Any) -> list[str]:
        """The members of a fit as lines of text: each entry with its standard error, where that is quickly found."""
        from suffice.combinators.mixture_table import lines

        return lines(self, fit)

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
        """The covariance matrix of the columns, where members have one."""
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
        self._require_ready(what)

    # ---- probabilities ----------------------------------------------------------------------------------------------
    def cdf(self, x: Any) -> Any:
        """P(X ≤ x), column by column."""
        self._ask("be asked")
        return _weighed(self.weights, [one.cdf(x) for one in self.parts])

    def quantile(self, q: Any) -> Any:
        """The smallest x with P(X ≤ x) ≥ q, column by column: it lies between those of the members."""
        self._ask("be asked")
        ends = [np.asarray(one.quantile(q), dtype=float) for one, w in zip(self.parts, self.weights, strict=True) if w]
        low, high = np.min(ends, axis=0), np.max(ends, axis=0)
        level = np.asarray(q, dtype=float)
        whole = all(one.discrete for one in self.parts)
        apart = low < high
        low, high = np.where(apart, np.maximum(low, -1e307), low), np.where(apart, np.minimum(high, 1e307), high)
        with np.errstate(all="ignore"):
            high = np.where(np.asarray(self.cdf(low)) >= level, low, high)  # from here on P(X ≤ high) ≥ q > P(X ≤ low)
            return _bisected(self.cdf, level, low, high, whole=whole)

    def entropy(self) -> Any:
        """−E log p in nats: by quadrature over one column, else from draws, with a standard error in ``.error``."""
        self._ask("have an entropy")
        return self._expected(lambda x: -np.asarray(self.log_prob(x)))

    def kl(self, other: Any) -> Any:
        """D(self‖other) in nats: by quadrature over one column, else from draws, with its standard error ``.error``."""
        self._ask("be compared")
        if not hasattr(other, "log_prob"):
            msg = f"kl compares with another distribution, such as Normal(); got {other!r:.60}."
            raise UnsupportedError(msg)
        return self._expected(lambda x: np.asarray(self.log_prob(x)) - np.asarray(other.log_prob(x)))

    def _expected(self, f: Any) -> float:
        """E f(X): member by member, so that none is too narrow to be seen."""
        leaves = list(_leaves(self, 1.0))
        if all(not one.row_vector and not one.support.core and not one.batch for _, one in leaves):
            return float(sum(weight * _mean_of(one, f) for weight, one in leaves if weight > 0))
        with np.errstate(all="ignore"):
            draws = f(self.sample(DRAWS, np.random.default_rng(0)))
            return Simulated(float(np.mean(draws)), float(np.std(draws) / np.sqrt(DRAWS)))

    # ---- fewer columns ----------------------------------------------------------------------------------------------
    def marginal(self, *columns: Any) -> Any:
        """The mixture of some columns alone: of a Product by name or place, of others by place."""
        from suffice.combinators.mixture import Mixture

        self._ask("be asked")
        return Mixture([_marginal(one, columns) for one in self.parts], weights=self.weights)

    # ---- two parameters of one mixture ------------------------------------------------------------------------------
    def gain(self, x: Any, other: Any, weights: Any = None) -> Gain:
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
            msg = f"gain compares two mixtures of as many members; got {other!r:.60}."
            raise ParameterError(msg)
        rows = read(self, x)
        held = weights_of(x, weights, len(rows))

        def part(where: slice) -> Array:
            return _gain(self.scores(rows[where]), other.scores(rows[where]), held[where].dense()[:, 0])

        return Gain(*map(float, local.reduce(part, len(rows), self.n + 1)))

    def first_guess(self, rows: Any, weights: Any, rng: Any) -> Any:
        """These parameters themselves: of the many maxima, the one next to them is meant."""
        return self.begin(rows, weights, rng, self, None)[0]

    def matched(self, other: Any) -> Any:
        """The same mixture with its members in the order of those of ``other``."""
        from suffice.combinators.order import align

        order = align(other, self)
        return self.permuted(order)


def _gain(here: Array, there: Array, w: Array) -> Array:
    """Total, expected and divergence from scores (n, k) under both parameters."""
    mine, theirs = share_out(here), share_out(there)
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


def _roots(var: Any) -> Any:
    if isinstance(var, dict):
        return {key: _roots(value) for key, value in var.items()}
    return float(np.sqrt(var)) if np.ndim(var) == 0 else np.sqrt(var)


def _leaves(one: Any, weight: float) -> Any:
    """Members that are no mixtures, with their share of the whole."""
    if not isinstance(one, MixtureAnswers):
        yield weight, one
        return
    for part, share in zip(one.parts, one.weights, strict=True):
        yield from _leaves(part, weight * float(share))


def _bisected(cdf: Any, level: Array, low: Array, high: Array, *, whole: bool) -> Any:
    """The smallest x (a whole number, or to the last bit) with cdf(x) ≥ level, between low and high."""
    for _ in range(2200):
        middle = np.floor((low + high) / 2) if whole else low + (high - low) / 2
        inside = (middle > low) & (middle < high)
        if not inside.any():
            break
        enough = np.asarray(cdf(np.where(inside, middle, high))) >= level
        high = np.where(inside & enough, middle, high)
        low = np.where(inside & ~enough, middle, low)
    return float(high) if np.ndim(high) == 0 else high


def _mean_of(one: Any, f: Any) -> float:
    """E f(X) of a distribution of one number or label."""
    levels = getattr(one, "levels", None)
    if levels is None:
        return quadrature.expectation(one, f)
    kept = np.asarray(one.probs) > 0
    return float(np.asarray(one.probs)[kept] @ f([level for level, there in zip(levels, kept, strict=True) if there]))


def _marginal(one: Any, columns: tuple[Any, ...]) -> Any:
    from suffice.combinators.columns import columns_of

    if hasattr(one, "marginal"):
        return one.marginal(*columns)
    d = one.columns
    if d is None or not all(isinstance(c, (int, np.integer)) and -d <= c < d for c in columns) or not columns:
        msg = f"{one.name} has columns by place, from 0 to {(d or 1) - 1}; got {columns!r}."
        raise ParameterError(msg)
    return columns_of(one, [int(c) % d for c in columns])
