"""Beliefs about how often each component makes a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from suffice.arguments import check_level
from suffice.distributions.beta import Beta
from suffice.distributions.dirichlet import Dirichlet
from suffice.engines.once import cached_property
from suffice.errors import ParameterError
from suffice.types import Array

LEAST = 1e-12  # a concentration that stands for none
DRAWS = 20_000  # of weights, where their spread is told from draws


class Shares(Protocol):
    """What a mixture asks of a belief about its weights."""

    @property
    def exchangeable(self) -> bool:
        """Whether components may change places."""

    def of(self, k: int) -> Any:
        """The belief for k components."""

    def after(self, count: Array) -> Any:
        """The belief after seeing so many rows of each component, (k,)."""

    @property
    def log(self) -> Array:
        """E log π, (k,)."""

    @property
    def mean(self) -> Array:
        """E π, (k,), of the components that there are."""

    @property
    def std(self) -> Array:
        """The standard deviation of each weight, (k,)."""

    def interval(self, level: float) -> tuple[Array, Array]:
        """The central interval of each weight by itself, (k,) and (k,)."""

    def divergence(self, prior: Any) -> float:
        """D(self‖prior)."""

    def permuted(self, order: Array) -> Any:
        """The belief with the components in another order."""

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw weights, (n, k)."""


@dataclass(frozen=True)
class DirichletShares:
    """Weights that are exchangeable, or nearly: a :class:`Dirichlet`."""

    belief: Dirichlet

    @property
    def exchangeable(self) -> bool:
        return bool(np.ptp(self.belief.alpha) == 0)

    def of(self, k: int) -> DirichletShares:
        return DirichletShares(Dirichlet(np.array(np.broadcast_to(self.belief.alpha, k))))

    def after(self, count: Array) -> DirichletShares:
        return DirichletShares(Dirichlet(self.belief.alpha + count))

    @property
    def log(self) -> Array:
        return self.belief.mean_statistic()

    @property
    def mean(self) -> Array:
        return np.asarray(self.belief.mean)

    @property
    def std(self) -> Array:
        return np.asarray(np.sqrt(self.belief.var))

    def interval(self, level: float) -> tuple[Array, Array]:
        low, high = self.belief.interval(level)
        return low, high

    @property
    def concentrations(self) -> Array:
        """Alpha, (k,)."""
        return np.array(self.belief.alpha)

    def moved(self, weights: Array) -> DirichletShares:
        """A belief that expects these weights, as sure as this one."""
        total = self.belief.alpha.sum()
        return DirichletShares(Dirichlet(np.maximum(weights * total, LEAST)))

    def divergence(self, prior: DirichletShares) -> float:
        return float(self.belief.divergence_cells(prior.belief))

    def permuted(self, order: Array) -> DirichletShares:
        return DirichletShares(Dirichlet(self.belief.alpha[order]))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        return np.asarray(self.belief.sample(n, rng))


@dataclass(frozen=True, eq=False)
class StickBreaking:
    r"""Weights of a Dirichlet process.

    Component j takes a part v_j ~ Beta(1, concentration) of what those before it left.

    A small ``concentration`` lets few components have nearly all rows. The process has infinitely many components; a
    mixture of k keeps the first k.

    Parameters
    ----------
    concentration : float, default 1
        A number above 0: the larger, the more components have rows.
    parts : Beta, optional
        The belief about each part v, (k,), after a fit.

    References
    ----------
    Sethuraman, J. (1994). A constructive definition of Dirichlet priors. Statistica Sinica 4, 639-650.
    Blei, D. M. and Jordan, M. I. (2006). Variational inference for Dirichlet process mixtures. Bayesian Analysis 1,
    121-143.

    Examples
    --------
    >>> prior = {"weights": sf.StickBreaking(0.1), "components": sf.Gamma(1, 1)}
    >>> post = sf.posterior(sf.Mixture(sf.Poisson(), 5), [1, 0, 2, 1] * 10, prior=prior, random_state=0)
    >>> post.weights.max() > 0.9
    np.True_
    """

    concentration: float = 1.0
    parts: Beta | None = None  # the belief about each v, (k,)
    exchangeable = False

    def __post_init__(self) -> None:
        """Check the concentration."""
        if not (np.ndim(self.concentration) == 0 and 0 < self.concentration < np.inf):
            msg = f"StickBreaking: concentration is a number above 0; got {self.concentration!r}."
            raise ParameterError(msg)

    @property
    def belief(self) -> Self:
        """Itself."""
        return self

    def of(self, k: int) -> StickBreaking:
        """The same belief about the weights of k components."""
        if self.parts is not None and len(self.parts.a) != k:
            msg = f"StickBreaking speaks of {len(self.parts.a)} components, but the mixture has {k}; give as many."
            raise ParameterError(msg)
        parts = Beta(np.ones(k), np.full(k, float(self.concentration))) if self.parts is None else self.parts
        return StickBreaking(self.concentration, parts)

    def _parts(self) -> Beta:
        if self.parts is None:
            msg = "StickBreaking does not know the number of components yet; give it as a prior of a Mixture."
            raise ParameterError(msg)
        return self.parts

    def after(self, count: Array) -> StickBreaking:
        """The belief after ``count`` (k,) rows of each component."""
        later = np.append(np.cumsum(count[::-1])[-2::-1], 0.0)
        before = self._parts()
        return StickBreaking(self.concentration, Beta(before.a + count, before.b + later))

    @property
    def log(self) -> Array:
        """The expected logarithms of the weights, (k,)."""
        taken, left = np.moveaxis(self._parts().mean_statistic(), -1, 0)
        return np.asarray(taken + np.append(0.0, np.cumsum(left)[:-1]))

    @property
    def mean(self) -> Array:
        """The expected weights, (k,)."""
        taken = np.asarray(self._parts().mean)
        return _of_one(taken * np.append(1.0, np.cumprod(1.0 - taken)[:-1]))

    @cached_property
    def _draws(self) -> Array:
        """Weights, (n, k), from which their spread is told: products of parts have no closed form."""
        return self.sample(DRAWS, np.random.default_rng(0))

    @property
    def std(self) -> Array:
        """The spread of each weight, (k,), from draws."""
        return np.asarray(self._draws.std(axis=0))

    def interval(self, level: float) -> tuple[Array, Array]:
        """From draws, to about three digits."""
        check_level(level)
        low, high = np.quantile(self._draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return low, high

    @property
    def concentrations(self) -> tuple[Array, Array]:
        """The two concentrations of each part, (k,) each."""
        parts = self._parts()
        return np.array(parts.a), np.array(parts.b)

    def moved(self, weights: Array) -> StickBreaking:
        """A belief that expects these weights, as sure as this one.

        What the last component leaves stays the same part.
        """
        parts = self._parts()
        total, before = np.asarray(parts.a + parts.b), np.array(parts.mean)
        last = before[-1]
        kept = weights * last / (weights[-1] + last * (1.0 - weights[-1]))
        left = 1.0 - np.append(0.0, np.cumsum(kept)[:-1])
        taken = np.clip(np.divide(kept, left, out=before, where=left > 0), 0.0, 1.0)
        beta = Beta(np.maximum(taken * total, LEAST), np.maximum((1.0 - taken) * total, LEAST))
        return StickBreaking(self.concentration, beta)

    def divergence(self, prior: StickBreaking) -> float:
        """The relative entropy of this belief to another."""
        return float(self._parts().divergence_cells(prior._parts()).sum())

    def permuted(self, order: Array) -> StickBreaking:
        """Itself in its own order, and no other: what a component takes depends on those before it."""
        if (order == np.arange(len(order))).all():
            return self
        msg = "StickBreaking: the components of a Dirichlet process keep their order."
        raise ParameterError(msg)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw weights, (n, k)."""
        taken = np.asarray(self._parts().sample(n, rng))
        before = np.cumprod(np.concatenate([np.ones((n, 1)), 1.0 - taken[:, :-1]], axis=1), axis=1)
        return _of_one(taken * before)


@dataclass(frozen=True, eq=False)
class KnownShares:
    """Weights that are not learned."""

    belief: Array

    @property
    def exchangeable(self) -> bool:
        return bool(np.ptp(self.belief) == 0)

    def of(self, k: int) -> KnownShares:
        del k
        return self

    def after(self, count: Array) -> KnownShares:
        del count
        return self

    @property
    def log(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.belief)

    @property
    def mean(self) -> Array:
        return self.belief

    @property
    def std(self) -> Array:
        return np.zeros(len(self.belief))

    def interval(self, level: float) -> tuple[Array, Array]:
        check_level(level)
        return self.belief, self.belief

    def divergence(self, prior: KnownShares) -> float:
        del prior
        return 0.0

    def permuted(self, order: Array) -> KnownShares:
        return KnownShares(self.belief[order])

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        del rng
        return np.broadcast_to(self.belief, (n, len(self.belief)))


def shares_of(concentrations: tuple[Any, ...]) -> DirichletShares | StickBreaking:
    """The belief with these concentrations: alpha (k,), or the two of each part of a stick."""
    if isinstance(concentrations, tuple):
        a, b = (np.array(one, dtype=np.float64) for one in concentrations)
        return StickBreaking(parts=Beta(a, b))
    return DirichletShares(Dirichlet(np.array(concentrations, dtype=np.float64)))


def _of_one(parts: Array) -> Array:
    """Parts as shares of their sum: of the components that there are."""
    return np.asarray(parts / parts.sum(axis=-1, keepdims=True))
