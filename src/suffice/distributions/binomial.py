"""Successes among a known number of trials."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from suffice.core.exponential_family import ExponentialFamily
from suffice.core.family import Family
from suffice.core.parameters import COUNT, NATURAL, UNIT, parameter
from suffice.distributions.beta import Beta
from suffice.distributions.beta_binomial import BetaBinomial
from suffice.distributions.weak_priors import shared_row
from suffice.errors import DataError, ParameterError
from suffice.message_parts import Cell
from suffice.numerics.lazy import special
from suffice.numerics.special import FARTHEST, MANY, binary_divergence, log_binomial, log_choose, whole_quantile
from suffice.statistics.sums import Sums
from suffice.types import Array

if TYPE_CHECKING:
    from suffice.statistics.weights import Weights


@dataclass(frozen=True, eq=False, repr=False)
class Binomial(ExponentialFamily):
    r"""Successes in a known number of ``trials``: :math:`P(x) = \binom{n}{x} p^x (1-p)^{n-x}`.

    Statistic x, natural parameter log p/(1−p), log-partition −n·log(1−p); conjugate prior :class:`Beta`.

    >>> sf.fit(sf.Binomial(10), [3, 5, 4]).distribution
    Binomial(trials=10, p=0.4)
    """

    trials: Any = parameter(NATURAL, typical=(4, 12), learned=False)
    p: Any = parameter(UNIT, default=0.5, typical=(0.1, 0.9))

    support = COUNT
    discrete = True
    own_base = True
    conjugates = (Beta,)
    belief_about = "p"

    def __post_init__(self) -> None:
        """Insist on the number of trials, which is known and never learned."""
        if self.trials is None:
            msg = "Binomial needs its number of trials, which is known and not learned: Binomial(trials=10)."
            raise ParameterError(msg)
        super().__post_init__()

    @classmethod
    def example(cls, rng: np.random.Generator, batch: tuple[int, ...] = ()) -> Self:
        """A typical value; the trials belong to the column, whoever the component."""
        trials = cls.specs()["trials"].draw(rng, batch[-1:])
        return cls(trials, cls.specs()["p"].draw(rng, batch))

    def statistic(self, x: Array) -> Array:
        return x

    def log_base(self, x: Array) -> Array:
        return log_choose(np.asarray(self.trials), x)

    def natural(self) -> Array:
        return np.asarray(special.logit(self.p))

    def from_natural(self, eta: Array) -> Self:
        return replace(self, p=special.expit(np.asarray(eta, dtype=float)))

    def log_partition(self) -> Array:
        return np.asarray(-special.xlog1py(self.trials, -np.asarray(self.p)))

    def from_mean(self, mean: Array) -> Self:
        return replace(self, p=np.clip(mean / self.trials, 0.0, 1.0))

    def maximise(self, stats: Sums) -> Self:
        drawn = replace(stats, weight=stats.weight * self.trials)  # a mean per trial: components may differ in trials
        return replace(super(Binomial, replace(self, trials=1)).maximise(drawn), trials=self.trials)

    def chances(self, stats: Sums) -> Array:
        return np.asarray(stats.weight * self.trials)

    def mean_statistic(self) -> Array:
        return np.asarray(self.mean)

    def check_support(self, x: Array, w: Weights) -> tuple[Array, Array | None]:
        x, seen = super().check_support(x, w)
        over = x > np.asarray(self.trials)
        if not over.any():
            return x, seen
        counted = over & (w.per_row() > 0)[:, None]
        if counted.any():
            row, column = np.argwhere(counted)[0].tolist()
            trials = np.broadcast_to(self.trials, (1, x.shape[1]))[0, column]
            raise DataError(
                f"Binomial with trials = {trials:g} takes whole numbers from 0 to {trials:g}, but ",
                Cell(row + w.offset, column, implied=x.shape[1] == 1),
                f" has {x[row, column]:g}. Correct or drop it, mark it missing with NaN, or raise trials.",
                value=x[row, column],
            )
        return x, ~over if seen is None else seen & ~over

    def log_density(self, x: Array) -> Array:
        large = np.max(self.trials, initial=0.0) > MANY  # there η·u − A would cancel
        return Family.log_density(self, x) if large else super().log_density(x)

    def log_cell(self, x: Array) -> Array:
        if np.max(self.trials, initial=0.0) > MANY:
            inside = (x >= 0) & (x <= np.asarray(self.trials))
            return np.where(
                inside, log_binomial(np.where(inside, x, 0.0), np.where(inside, self.trials - x, 0.0), self.p), -np.inf
            )
        p, rest = np.asarray(self.p), np.maximum(np.asarray(self.trials) - x, 0)
        return np.asarray(special.xlogy(x, p) + special.xlog1py(rest, -p) + self.log_base(x))

    def likelihood_cells(self, stats: Sums) -> Array:
        p, failures = np.asarray(self.p), stats.weight * self.trials - stats.total
        return np.asarray(special.xlogy(stats.total, p) + special.xlog1py(np.maximum(failures, 0), -p) + stats.base)

    def error_cells(self, stats: Sums) -> dict[str, Array]:
        if self.tied:
            return super().error_cells(stats)
        with np.errstate(divide="ignore", invalid="ignore"):
            return {"p": np.sqrt(np.asarray(self.p * (1 - self.p)) / (stats.weight * self.trials))}

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        trials, p, shape = np.asarray(self.trials), np.asarray(self.p), (n, *self.batch)
        counts = rng.binomial(np.minimum(trials, FARTHEST).astype(np.int64), p, shape).astype(float)
        if (trials <= FARTHEST).all():
            return counts
        many = np.rint(rng.normal(trials * p, np.sqrt(trials * p * (1 - p)), shape)).clip(0, trials)
        return np.where(trials <= FARTHEST, counts, many)

    def cumulative(self, x: Array) -> Array:
        k = np.clip(np.floor(x), 0, np.asarray(self.trials) - 1)
        inside = special.betaincc(k + 1, self.trials - k, self.p)
        return np.where(x < 0, 0.0, np.where(np.floor(x) >= self.trials, 1.0, inside))

    def inverse(self, q: Array) -> Array:
        return whole_quantile(self.cumulative, q, 0, np.asarray(self.trials))

    @property
    def mean(self) -> Any:
        """The expected number of successes, trials·p."""
        return self.trials * self.p

    @property
    def var(self) -> Any:
        """The variance, trials·p·(1−p)."""
        return self.trials * self.p * (1 - self.p)

    @property
    def mode(self) -> Any:
        """A most probable number: the whole part of (trials+1)·p."""
        mode = np.minimum(np.floor((self.trials + 1) * np.asarray(self.p)), self.trials)
        return float(mode) if mode.ndim == 0 else mode

    def divergence_cells(self, other: Self) -> Array:
        return np.asarray(self.trials * binary_divergence(self.p, other.p))

    def update(self, stats: Sums, prior: Beta) -> Beta:
        return Beta(prior.a + stats.total, prior.b + (stats.weight * self.trials - stats.total))

    def predict_with(self, belief: Beta) -> BetaBinomial:
        return BetaBinomial(self.trials, belief.a, belief.b)

    def expected_component(self, belief: Beta) -> tuple[Self, Array]:
        yes, no = np.moveaxis(belief.mean_statistic(), -1, 0)
        offset = np.logaddexp(yes, no)
        return replace(self, p=np.exp(yes - offset)), np.asarray(self.trials * offset)

    def weak_prior(self, stats: Sums, part: float = 1.0) -> Beta:
        """One pseudo-trial, half of each kind."""
        del stats, part
        return Beta(shared_row(2), shared_row(2))
