"""How well each family would predict a column of numbers: log-evidence, from the different values and their weights.

A family scores its log-likelihood at the estimate less ½ log n for each parameter (Schwarz, 1978), within each group.
Values are read as rounded to their unit, so that densities and probabilities compare: a value stands for the interval
of one unit around it. Labels score what they would have predicted row after row (Krichevsky and Trofimov, 1981), less
the choice of these values among all between the least and the greatest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.core.family import Family
from suffice.core.parameters import LABEL
from suffice.distributions.beta import Beta
from suffice.distributions.categorical import Categorical
from suffice.distributions.gamma import Gamma
from suffice.distributions.hurdle import HurdleGamma, HurdleLogNormal, HurdleNormal, HurdlePoisson
from suffice.distributions.lognormal import LogNormal
from suffice.distributions.negative_binomial import NegativeBinomial
from suffice.distributions.normal import Normal
from suffice.distributions.poisson import Poisson
from suffice.distributions.student_t import StudentT
from suffice.em.fit import fit
from suffice.engines.once import cached_property
from suffice.numerics.lazy import special
from suffice.schema.tally import Tally
from suffice.types import Array

NODES, SHARES = np.polynomial.legendre.leggauss(5)  # points of an interval, and their shares of it
COARSE = 0.02  # of the spread: a unit above it is an interval rather than a point
FINE = 1e-7  # of the range: the unit of numbers that have none
TOGETHER = 32  # groups that are scored at once
HEAVY = 4.0  # kurtosis from which on StudentT is tried; 3 is a Normal's (benchmarks/RESULTS.md, "Families")
LARGEST_COUNT = 1e5  # numbers beyond it, or with a mean above the next, are amounts rather than counts
LARGEST_MEAN = 1e3
SMALL_MEAN = 10.0  # above it the density of an amount describes counts nearly as well


@dataclass(frozen=True)
class Score:
    """A candidate and its log-evidence."""

    family: Any
    evidence: float


class Scores:
    """The candidates that the values of a column allow, the simplest first."""

    def __init__(self, tally: Tally, unit: float | None) -> None:
        self.tally = tally
        self.low, self.high = float(tally.values.min()), float(tally.values.max())
        self.unit = (self.high - self.low) * FINE if unit is None else unit
        self.rounded = unit is not None
        thinned = np.where(
            tally.values == 0, 0.5**tally.halvings, 1.0
        )  # other values stand for more that were left out
        self.weights = tally.weights * thinned

    @cached_property
    def rows(self) -> float:
        """The weight that scores are sums over."""
        return float(self.weights.sum())

    @cached_property
    def chunks(self) -> list[tuple[Array, Array]]:
        """Values (m,) and their weights (m, g) in each of some groups, until all groups are told."""
        groups = np.unique(self.tally.groups)
        if len(groups) == 1:
            return [(self.tally.values, self.weights[:, None])]
        found = []
        for begin in range(0, len(groups), TOGETHER):
            mine = groups[begin : begin + TOGETHER]
            here = np.isin(self.tally.groups, mine)
            values, row = np.unique(self.tally.values[here], return_inverse=True)
            dense = np.zeros((len(values), len(mine)))
            dense[row, np.searchsorted(mine, self.tally.groups[here])] = self.weights[here]
            found.append((values, dense))
        return found

    @property
    def zeros(self) -> float:
        """The weight of zeros."""
        return float(self.weights[self.tally.values == 0].sum())

    @property
    def small(self) -> bool:
        """Whether whole numbers are small enough that counts and amounts are told apart."""
        return self.moments[2] <= SMALL_MEAN

    @cached_property
    def moments(self) -> tuple[float, float, float]:
        """Dispersion (variance/mean), kurtosis, and mean: within the groups, averaged over rows."""
        dispersion = second = fourth = total = 0.0
        for values, weights in self.chunks:
            held = np.maximum(weights.sum(axis=0), 1e-300)
            mean = values @ weights / held
            away = np.square(values[:, None] - mean)
            variance = (weights * away).sum(axis=0)
            with np.errstate(all="ignore"):
                dispersion += float(np.where(mean > 0, variance / mean, 0.0).sum())
                standard = away / np.where(variance > 0, variance / held, np.inf)
            second += float(np.where(variance > 0, held, 0.0).sum())
            fourth += float((weights * np.square(standard)).sum())
            total += float((mean * held).sum())
        return dispersion / self.rows, fourth / second if second > 0 else 0.0, total / self.rows

    def all(self, *, counts: bool, labels: bool) -> list[Score]:
        """Every candidate that the support allows; ``counts``: counting families among them, ``labels``: labels."""
        found = [Score(family, self._evidence(family)) for family in self._candidates(counts=counts, labels=labels)]
        plain = max(found, key=lambda one: one.evidence).family.name == "Normal"
        if plain and self.moments[1] > HEAVY:  # tails on one side only are those of amounts
            found.append(Score(StudentT(), self._evidence(StudentT())))
        return found

    def _candidates(self, *, counts: bool, labels: bool) -> Iterator[Any]:
        counting = self._counting() if counts else ()
        yield from (*counting, Normal()) if self.small else (Normal(), *counting)
        if self.zeros > 0:
            yield HurdleNormal()
            if self.low == 0:
                yield from (HurdleLogNormal(), HurdleGamma())
        if self.low > 0:
            yield from (LogNormal(), Gamma())
            if self.high < 1:
                yield Beta()
        if labels:
            yield Categorical()

    def _counting(self) -> Iterator[Any]:
        yield Poisson()
        if self.moments[0] > 1 + np.sqrt(2 / self.rows):  # less cannot pay for another parameter
            yield NegativeBinomial()
        if self.zeros > 0:
            yield HurdlePoisson()

    def _evidence(self, family: Family) -> float:
        if family.support == LABEL:
            return self.labels()
        return sum(self._parametric(family, values, weights) for values, weights in self.chunks)

    def _parametric(self, family: Family, values: Array, weights: Array) -> float:
        """Of a family of numbers, in each of some groups."""
        if family.exact:
            mine = weights[:, 0] if weights.shape[1] == 1 else weights
            learned = [family.estimate(family.suffstats(values, mine)).stacked]
        else:
            learned = [self._fitted(family, values, w).stacked for w in weights.T]
        logs = np.concatenate([self._log_mass(one, values) for one in learned], axis=1)
        likelihood = float((weights * np.where(weights > 0, logs, 0.0)).sum())
        held = np.maximum(weights.sum(axis=0), 1.0)
        parameters = sum(one.n_parameters for one in learned) / len(held)
        return float(likelihood - 0.5 * parameters * np.log(held).sum())

    def _fitted(self, family: Family, values: Array, weights: Array) -> Any:
        seen = weights > 0
        return fit(family, values[seen], weights=weights[seen], max_iter=200, tol=1e-7).distribution

    def _log_mass(self, stack: Any, values: Array) -> Array:
        """Log of the probability (m, k) of the interval of one unit around each value, or of the value itself."""
        if stack.discrete:
            return np.asarray(stack.log_density(values[:, None]))
        if stack.atoms:
            zero = np.asarray(stack.zero).reshape(-1)
            with np.errstate(all="ignore"):
                other = np.log1p(-zero) + self._log_mass(stack.nonzero, np.where(values == 0, np.nan, values))
                return np.asarray(np.where(values[:, None] == 0, np.log(zero), other))
        with np.errstate(all="ignore"):
            spread = np.sqrt(np.asarray(stack.var, dtype=float)).reshape(-1)
        spread = np.where(np.isfinite(spread), spread, np.inf)
        if not (self.rounded and self.unit > COARSE * spread.min()):
            return np.asarray(np.minimum(stack.log_density(values[:, None]) + np.log(self.unit), 0.0))
        points = values[:, None] + 0.5 * self.unit * NODES
        logs = stack.log_density(points.reshape(-1, 1)).reshape(len(values), len(NODES), -1)
        mass = special.logsumexp(logs, axis=1, b=SHARES[None, :, None] / 2)
        return np.asarray(np.minimum(mass + np.log(self.unit), 0.0))

    @property
    def possible(self) -> float:
        """How many values there could be, as many rows have shown these."""
        seen = (self.high - self.low) / self.unit + 1
        return seen * (self.rows + 1) / max(self.rows - 1, 1.0)

    def labels(self) -> float:
        """Of labels: what was predicted row after row, and the choice of the values."""
        levels = len(self.tally.different)
        found = -log_choices(self.possible, levels)
        for _, weights in self.chunks:
            found += float((special.gammaln(weights + 0.5) - special.gammaln(0.5)).sum())
            held = weights.sum(axis=0)
            found += float((special.gammaln(levels / 2) - special.gammaln(held + levels / 2)).sum())
        return found

    def uniform(self) -> float:
        """Of whole numbers that are all alike probable, as those of identifiers."""
        return -self.rows * float(np.log(self.possible))


def log_choices(n: float, k: float) -> float:
    """Log of the number of ways to choose k of n."""
    return float(special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1))
