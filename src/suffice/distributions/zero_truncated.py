"""Counts of at least 1: what a hurdle leaves of a family of counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from suffice.core.exponential_family import ExponentialFamily
from suffice.core.family import Family
from suffice.core.iterative_family import IterativeFamily, newton_step
from suffice.core.parameters import NATURAL, POSITIVE, SUCCESS, parameter
from suffice.distributions.negative_binomial import LARGEST, LONGEST, NegativeBinomial, _bound
from suffice.distributions.negative_binomial_pass import count_sums
from suffice.distributions.poisson import Poisson
from suffice.numerics import derivatives
from suffice.numerics.lazy import special
from suffice.numerics.special import whole_quantile
from suffice.tables.column_names import in_columns
from suffice.types import Alert, Array

if TYPE_CHECKING:
    from collections.abc import Iterator

    from suffice.statistics.sums import Sums
    from suffice.statistics.weights import Weights

SMALLEST = 1e-12  # rate below which counts of at least 1 are all 1
STEPS = 60  # of Newton's method; it takes about 6
LEAST = 1e-9  # size from which on a NegativeBinomial without zeros is a logarithmic series
MOST = LARGEST / (1 + LARGEST)  # p from which on, with a size to be learned, it is a Poisson without zeros
BELOW_1 = float(np.nextafter(1.0, 0.0))
SERIES = 1e-6  # size from which on the likelihood of some rows cannot be distinguished from that
ROUNDING = 1e-12  # a distance from a limit that is none
SHORT = 1e-5  # a step of Newton's method whose error is far below its gain
HALVINGS = 8  # of a Newton step that does not rise
BISECTIONS = 60


@dataclass(frozen=True, eq=False, repr=False)
class ZeroTruncatedPoisson(ExponentialFamily, register=False):
    r"""Poisson counts of which zeros are not seen: :math:`P(x) = \lambda^x / ((e^\lambda - 1)\, x!)`, x ≥ 1.

    Statistic x, natural parameter log rate, log-partition log(e^rate − 1).
    """

    rate: Any = parameter(POSITIVE, default=1.0, typical=(0.5, 8.0))

    support = NATURAL
    discrete = True

    @property
    def plain(self) -> Poisson:
        """The same with zeros."""
        return Poisson(self.rate)

    def statistic(self, x: Array) -> Array:
        return x

    def log_base(self, x: Array) -> Array:
        return np.asarray(-special.gammaln(np.asarray(x) + 1.0))

    def natural(self) -> Array:
        return np.asarray(np.log(self.rate))

    def log_partition(self) -> Array:
        rate = np.asarray(self.rate, dtype=float)
        return np.asarray(rate + np.log(-np.expm1(-rate)))

    def mean_statistic(self) -> Array:
        return np.asarray(self.mean)

    def from_mean(self, mean: Array) -> Self:
        """Solve rate/(1 − e^−rate) = mean by Newton's method, from below; the mean is convex in the rate."""
        mean = np.asarray(mean, dtype=float)
        rate = np.where(mean > 1, np.maximum(mean - 1 / np.maximum(mean, 1.0), SMALLEST), SMALLEST)
        rate = np.maximum(rate, np.minimum(2 * (mean - 1), mean))  # both lie below or next to the solution
        for _ in range(STEPS):
            inside = -np.expm1(-rate)
            slope = (inside - rate * np.exp(-rate)) / np.square(inside)
            step = (rate / inside - mean) / np.maximum(slope, 0.25)
            rate = np.maximum(rate - step, SMALLEST)
            if (np.abs(step) <= 1e-15 * rate).all():
                break
        return replace(self, rate=np.where(mean > 1, rate, SMALLEST))

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        u = rng.random((n, *self.batch))
        return self.inverse(u)

    def cumulative(self, x: Array) -> Array:
        none = np.exp(-np.asarray(self.rate, dtype=float))
        inside = np.maximum(self.plain.cumulative(x) - none, 0.0) / -np.expm1(-np.asarray(self.rate))
        return np.where(np.asarray(x) < 1, 0.0, inside)

    def inverse(self, q: Array) -> Array:
        return whole_quantile(self.cumulative, q, 1)

    @property
    def mean(self) -> Any:
        """The expected count, rate/(1 − e^−rate)."""
        return self.rate / -np.expm1(-np.asarray(self.rate))

    @property
    def var(self) -> Any:
        """The variance."""
        return self.mean * (1 + self.rate - self.mean)


@dataclass(frozen=True, eq=False, repr=False)
class ZeroTruncatedNegativeBinomial(IterativeFamily, register=False):
    r"""NegativeBinomial counts of which zeros are not seen: :math:`P(x) = P_{NB}(x) / (1 - p^{size})`, x ≥ 1.

    A pass gathers the sums of a :class:`NegativeBinomial`. They give the slope and curvature of the likelihood, and a
    lower bound of it that touches to second order. A step is Newton's or that of EM (which counts the zeros that it
    expects), whichever raises the bound more, so no step lowers the likelihood.
    """

    size: Any = parameter(POSITIVE, default=1.0, typical=(0.5, 6.0))
    p: Any = parameter(SUCCESS, default=0.5, typical=(0.15, 0.8))

    support = NATURAL
    discrete = True
    terms_per_cell = 12
    monotone_from_anywhere = True

    @property
    def plain(self) -> NegativeBinomial:
        """The same with zeros."""
        return NegativeBinomial(self.size, self.below_1, fixed=self.fixed, tied=self.tied)

    @property
    def below_1(self) -> Array:
        """p, or the number next to 1 in place of 1: in that limit all counts are 1."""
        return np.asarray(np.minimum(self.p, BELOW_1))

    @property
    def log_zero(self) -> Array:
        """Log probability of a zero, were it seen."""
        return np.asarray(self.size * np.log(self.below_1))

    @property
    def some(self) -> Array:
        """The probability that a count with zeros is at least 1."""
        return np.asarray(-np.expm1(self.log_zero))

    def log_cell(self, x: Array) -> Array:
        return np.asarray(self.plain.log_cell(x) - np.log(self.some))

    # ---- learning -----------------------------------------------------------------------------------------------
    def gather(self, x: Array, w: Weights) -> Sums:
        stats = count_sums(self.plain, *self.check_support(x, w), w)
        return replace(stats, base=stats.base - stats.weight * np.log(self.some))

    def maximise(self, stats: Sums, belief: Family | None = None) -> Self:
        size, p = np.asarray(self.size), np.asarray(self.p)
        best = np.zeros(size.shape)
        with np.errstate(all="ignore"):
            step, near = self._newton(stats, belief)
            for proposed in self._proposals(stats, step, belief):
                new_size, new_p = self._held(*proposed)
                gain = self._gain(stats, new_size, new_p, belief)
                better = gain > best
                size, p = np.where(better, new_size, size), np.where(better, new_p, p)
                best = np.where(better, gain, best)
            new_size, new_p = self._held(*self._moved(step))  # next to the maximum, where gains drown in rounding
        new = replace(self, size=np.where(near, new_size, size), p=np.where(near, new_p, p))
        return self.choose(np.broadcast_to(stats.weight == 0, size.shape), new)

    def _proposals(self, stats: Sums, step: Array, belief: Family | None) -> Iterator[tuple[Array, Array]]:
        """Pairs of size and p: of EM, of Newton's method, and of the two limits of the family."""
        plain, shape = self.plain, np.shape(self.size)
        unseen = stats.weight * np.exp(self.log_zero) / self.some
        total = stats.total.copy()
        total[..., 3] += unseen * np.square(plain.mean)
        total = total[..., 0] if plain.exact else total
        em = plain.maximise(replace(stats, weight=stats.weight + unseen, total=total, family=""), belief)
        yield np.asarray(em.size), np.asarray(em.p)
        for halvings in range(HALVINGS):
            yield self._moved(step * 0.5**halvings)
        if not (self.fixed or self.tied):
            mean = np.where(stats.weight > 0, stats.mean[..., 0], 1.0)
            rate = np.asarray(ZeroTruncatedPoisson(rate=np.ones(shape)).from_mean(mean).rate)
            yield LARGEST * rate, np.full(shape, MOST)
            yield np.full(shape, LEAST), _p_of_series(mean)

    def _newton(self, stats: Sums, belief: Family | None) -> tuple[Array, Array]:
        """Newton's step (k, d, 2) of log size and the log-odds of p, and where (k, d) it is so short that it is sure.

        A parameter that is held at its limit stays there, where the step would lead beyond.
        """
        size, p, weight = np.asarray(self.size), np.asarray(self.p), stats.weight
        gradient, hessian = self._slopes(stats, belief)
        pick = [("size", "p").index(name) for name in self.free]

        def solve(gradient: Array, hessian: Array) -> tuple[Array, Array]:
            step, some, limits = np.zeros(gradient.shape), hessian[..., pick, :][..., pick], np.full(len(pick), LONGEST)
            step[..., pick], trust = newton_step(gradient[..., pick], some, weight, self.free, self.tied, limits)
            return step, trust

        step, trust = solve(gradient, hessian)
        if not (self.fixed or self.tied):
            low, high = size <= LEAST * (1 + ROUNDING), p >= MOST - ROUNDING
            held = np.stack([low & (step[..., 0] < 0), high & (step[..., 1] > 0)], axis=-1)
            if held.any():
                either = held[..., None] | held[..., None, :]
                frozen = np.where(either, -weight[..., None, None] * np.eye(2), hessian)
                step, trust = solve(np.where(held, 0.0, gradient), frozen)
        longest = np.abs(step).max(axis=-1)
        longest = np.broadcast_to(longest.max(axis=0), longest.shape) if self.tied else longest
        return step, (trust == 1) & (longest <= SHORT)

    def _moved(self, step: Array) -> tuple[Array, Array]:
        """Size and p after a step of log size and the log-odds of p; fixed ones bit by bit as they were."""
        size, p = np.asarray(self.size), np.asarray(self.p)
        return (
            size if "size" in self.fixed else size * np.exp(step[..., 0]),
            p if "p" in self.fixed else special.expit(special.logit(self.below_1) + step[..., 1]),
        )

    def _held(self, size: Array, p: Array) -> tuple[Array, Array]:
        """Size and p within the limits beyond which they mean a Poisson or a logarithmic series."""
        if "size" in self.fixed:
            return size, np.minimum(p, 1 - np.maximum(1e-6 / np.maximum(size, 1.0), 1e-15))
        if "p" not in self.fixed:
            top = np.broadcast_to(p.max(axis=0), p.shape) if self.tied else p
            size = np.where(top > MOST, size * (1 - top) / top * LARGEST, size)
            p = np.where(p > MOST - ROUNDING, MOST, p)
        return np.maximum(size, LEAST), p

    def _slopes(self, stats: Sums, belief: Any = None) -> tuple[Array, Array]:
        """Gradient (k, d, 2) and Hessian (k, d, 2, 2) of the objective in log size and the log-odds of p."""
        size, p, n = np.asarray(self.size), self.below_1, stats.weight
        total, slope, bend = (stats.total[..., i] for i in range(3))
        u, some, rq = self.log_zero, self.some, size * (1 - p)
        first, second = 1 / some, np.exp(u) / np.square(some)  # derivatives of u − log(1 − eᵘ)
        power, rate = (0.0, 0.0) if belief is None else (np.asarray(belief.shape) - 1, np.asarray(belief.rate))
        gradient = [slope + n * first * u + power - rate * size, n * first * rq - total * p]
        across = n * rq * (second * u + first)
        steep = bend + n * u * (second * u + first) - rate * size
        rows = [[steep, across], [across, n * rq * (second * rq - first * p) - total * p * (1 - p)]]
        return np.stack(gradient, axis=-1), np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)

    def _gain(self, stats: Sums, size: Array, p: Array, belief: Any = None) -> Array:
        """By how much a lower bound of the objective rises, (k, d): the objective rises at least as much.

        Tied parameters serve all components of a column, so that their gains are added.
        """
        n, total, old = stats.weight, stats.total[..., 0], np.asarray(self.size)
        new = replace(self, size=size, p=p)
        away = np.log(size / old)
        curved, s = _bound(stats.total, away)
        grown = np.log1p(s * np.expm1(away)) - s * away
        gain = stats.total[..., 1] * away + np.where(curved > 0, curved * grown / (s * (1 - s)), 0.0)
        gain = gain + n * (new.log_zero - np.log(new.some) - self.log_zero + np.log(self.some))
        gain = gain + total * (np.log1p(-new.below_1) - np.log1p(-self.below_1))
        if belief is not None:
            gain = gain + (np.asarray(belief.shape) - 1) * away - np.asarray(belief.rate) * (size - old)
        gain = np.where(n > 0, gain, 0.0)
        return np.broadcast_to(gain.sum(axis=0), gain.shape) if self.tied else gain

    def size_of_moments(self, mean: Array, square: Array) -> Array:
        """The size that matches E x and E x² of counts of at least 1, between LEAST and what is next to a Poisson.

        With D = E x² / E x − 1 = (size + 1)·(1 − p)/p, E x = size·D/(size + 1)/(1 − p^size) rises with the size.
        """
        more = np.maximum(square / mean - 1, 1e-12)
        low, high = np.full(np.shape(mean), np.log(LEAST)), np.log(LARGEST * more)
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            r = np.exp(middle)
            below = r * more / (r + 1) / -np.expm1(-r * np.log1p(more / (r + 1))) < mean
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray(np.exp((low + high) / 2))

    def size_of_data(self, stats: Sums, part: float = 1.0) -> Array:
        """The size that matches the moments of the rows, and at most that which so many can tell from a Poisson.

        ``part`` is the part of their variance that is expected within a component.
        """
        off = stats.mean[..., 0] - self.plain.mean
        var = np.maximum(stats.mean[..., 3] - np.square(off), 0.0)
        mean = np.where(stats.weight > 0, stats.mean[..., 0], 1.0)
        size = self.size_of_moments(mean, np.square(mean) + part * var)
        return np.asarray(np.minimum(size, mean * np.sqrt(np.maximum(stats.weight, 1.0) / 2)))

    def guess(self, x: Array, weights: Array) -> dict[str, float]:
        mean, square = np.average(x, weights=weights), np.average(np.square(x), weights=weights)
        size = float(np.clip(self.size_of_moments(mean, square), 0.01, 100 * mean))
        return {"size": size, "p": float((size + 1) / (size + max(square / mean, 1.001)))}

    def error_cells(self, stats: Sums) -> dict[str, Array]:
        size, p = np.asarray(self.size), np.asarray(self.p)
        with np.errstate(all="ignore"):
            gradient, hessian = self._slopes(stats)
            scale = np.stack([size, p * (1 - p)], axis=-1)
            own = gradient * np.stack([np.ones(p.shape), 1 - 2 * p], axis=-1)
            information = (own[..., None] * np.eye(2) - hessian) / (scale[..., None] * scale[..., None, :])
        pick = [("size", "p").index(name) for name in self.free]
        return derivatives.errors_from_information(information[..., pick, :][..., pick], self.free, self.tied)

    def alerts(self, stats: Sums) -> tuple[Alert, ...]:
        found = super().alerts(stats)
        if self.fixed:
            return found
        stack = self.stacked
        size, p, mean = np.asarray(stack.size), np.asarray(stack.p), stats.mean[..., 0]
        ones = (stats.weight > 0) & (mean == 1)
        flat = (mean > 1) & (p >= MOST - ROUNDING)
        series = (mean > 1) & (size <= SERIES)
        texts = (
            (
                "all counts other than 0 are 1",
                ones,
                ", so they tell nothing of size. Use sf.Bernoulli(), or fix size.",
            ),
            (
                "the counts other than 0 vary no more than those of a Poisson",
                flat,
                (
                    f", so the likelihood rises for ever with size, towards a Poisson; size was held at {LARGEST:.2g} "
                    "times the mean. Use sf.Hurdle(sf.Poisson()), or fix size."
                ),
            ),
            (
                "the counts other than 0 vary at least as much as those of a logarithmic series",
                series,
                (
                    f", so the likelihood rises for ever as size falls to 0; size was held at {LEAST:.2g} or more. Fix "
                    "size."
                ),
            ),
        )
        alerts = [Alert("boundary", (fact, in_columns(which), rest)) for fact, which, rest in texts if which.any()]
        return (*found, *alerts)

    # ---- asking -------------------------------------------------------------------------------------------------
    def draw(self, n: int, rng: np.random.Generator) -> Array:
        return self.inverse(rng.random((n, *self.batch)))

    def cumulative(self, x: Array) -> Array:
        above = special.betaincc(self.size, np.maximum(np.floor(x), 0) + 1, self.below_1)  # P(X > x), with zeros
        inside = np.where(np.isposinf(x), 1.0, 1 - above / self.some)
        return np.where(np.asarray(x) < 1, 0.0, np.clip(inside, 0.0, 1.0))

    def inverse(self, q: Array) -> Array:
        return whole_quantile(self.cumulative, q, 1)

    @property
    def mean(self) -> Any:
        """The expected count."""
        return self.plain.mean / self.some

    @property
    def var(self) -> Any:
        """The variance."""
        plain = self.plain
        return (plain.var + np.square(plain.mean)) / self.some - np.square(self.mean)


def _p_of_series(mean: Array) -> Array:
    """The p of a logarithmic series with this mean, (1 − p)/(−p·log p): the limit of size 0."""
    low, high = np.full(np.shape(mean), -700.0), np.full(np.shape(mean), np.log(LARGEST))  # log-odds of p
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        odds = np.exp(-middle)
        above = odds / np.log1p(odds) > mean
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray(special.expit((low + high) / 2))
