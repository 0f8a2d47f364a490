"""Counts that vary more than a constant rate allows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from suffice.core.exponential_family import ExponentialFamily
from suffice.core.family import Family
from suffice.core.iterative_family import IterativeFamily, newton_step
from suffice.core.parameters import COUNT, POSITIVE, SUCCESS, parameter
from suffice.distributions.negative_binomial_belief import SizeBelief
from suffice.distributions.negative_binomial_pass import count_log_density, count_sums, log_probability
from suffice.numerics import derivatives
from suffice.numerics.lazy import special
from suffice.numerics.special import (
    FARTHEST,
    MANY,
    binary_divergence,
    log_rising,
    poisson_draws,
    tabulated,
    whole_quantile,
)
from suffice.tables.column_names import in_columns
from suffice.tables.streams import read
from suffice.types import Alert, Array, Data

if TYPE_CHECKING:
    from collections.abc import Callable

    from suffice.statistics.sums import Sums
    from suffice.statistics.weights import Weights

LARGEST = 1e6  # size/mean from which on the family cannot be distinguished from a Poisson in float64
RESOLVED = 1e-4  # of the standard deviation √mean: how far p, next to 1, may be off the mean by rounding
NORMAL = 1e7  # a mean from which on mean and variance are as good as the likelihood, where size is large too
LOST = 1e10  # a size from which on sums of Γ(x + size)/Γ(size) lose what the likelihood depends on
SMALLEST = 1e-100  # size whose reciprocal still has a square
LONGEST = 5.0  # the largest step of log size in one pass
TURNS = 20  # of Newton's method for a step of log size
STILL = 1e-13  # move of log size by Newton after which the next one is rounding


@dataclass(frozen=True, eq=False, repr=False)
class NegativeBinomial(SizeBelief, IterativeFamily, ExponentialFamily):
    r"""Failures before the ``size``-th success: :math:`P(x) = \frac{\Gamma(x+r)}{\Gamma(r)\, x!} p^r (1-p)^x`.

    With size fixed an exponential family of one pass: statistic x, natural parameter log(1−p), log-partition
    −size·log p. With size unknown it takes several passes, none of which lowers the likelihood.

    >>> sf.fit(sf.NegativeBinomial(size=2).fix("size"), [1, 5]).distribution
    NegativeBinomial(size=2, p=0.4).fix('size')
    """

    size: Any = parameter(POSITIVE, default=1.0, typical=(0.5, 6.0))
    p: Any = parameter(SUCCESS, default=0.5, typical=(0.15, 0.8))

    support = COUNT
    discrete = True
    own_base = True
    terms_per_cell = 12
    monotone_from_anywhere = True

    @property
    def exact(self) -> bool:
        """Whether one pass is enough: where size is fixed."""
        return "size" in self.fixed

    def statistic(self, x: Array) -> Array:
        return x

    def log_base(self, x: Array) -> Array:
        return np.asarray(log_rising(self.size, x) - special.gammaln(x + 1.0))

    def natural(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log1p(-np.asarray(self.p)))

    def from_natural(self, eta: Array) -> Self:
        return replace(self, p=-np.expm1(np.asarray(eta, dtype=float)))

    def log_partition(self) -> Array:
        return np.asarray(-self.size * np.log(self.p))

    def from_mean(self, mean: Array) -> Self:
        return replace(self, p=self.size / (self.size + mean))

    def chances(self, stats: Sums) -> Array:
        return np.asarray(stats.weight * self.size)  # of a failure: with p next to 1 there are nearly as many as trials

    def mean_statistic(self) -> Array:
        return np.asarray(self.mean)

    def log_density(self, x: Array) -> Array:
        if self.n_components > 1:
            return count_log_density(self, x)
        large = max(np.max(self.size, initial=0.0), np.nanmax(x, initial=0.0)) > MANY  # there η·u − A would cancel
        return Family.log_density(self, x) if large else super().log_density(x)

    def log_cell(self, x: Array) -> Array:
        return tabulated(lambda counts: log_probability(counts, np.asarray(self.size), np.asarray(self.p)), x)

    # ---- learning -----------------------------------------------------------------------------------------------

    def gather(self, x: Array, w: Weights) -> Sums:
        if not self.exact:
            return count_sums(self, *self.check_support(x, w), w)
        stats: Sums = ExponentialFamily.gather(self, x, w)
        return stats

    def likelihood_cells(self, stats: Sums) -> Array:
        return (ExponentialFamily if self.exact else IterativeFamily).likelihood_cells(self, stats)

    def start(self, x: Array, weights: Data = None, rng: np.random.Generator | None = None) -> Self:
        """The size and p that match mean and variance."""
        rows = read(self, x)
        model = self.for_data(rows)
        if self.exact or "p" in self.fixed:
            return super().start(x, weights, rng)
        stats = model.suffstats(rows, weights)
        model = model.for_statistics(stats)
        stack = model.stacked
        mean, excess = stack.overdispersion(stats)
        with np.errstate(all="ignore"):
            size = _size_of_moments(mean, excess)
        size = np.where((stats.weight > 0) & (mean > 0), size, stack.size)
        size = _shared(size, stats.weight) if "size" in self.tied else size
        p = _pooled_p(stats.weight, size, mean) if self.tied == {"p"} else size / (size + mean)
        return model.like(replace(stack, size=size, p=np.where(stats.weight > 0, p, stack.p)))

    def overdispersion(self, stats: Sums) -> tuple[Array, Array]:
        """The mean, and by how much the variance exceeds it; of statistics gathered under these parameters."""
        mean = stats.mean[..., 0]
        with np.errstate(over="ignore", invalid="ignore"):
            excess = stats.mean[..., 3] - np.square(mean - self.mean) - mean
        if "size" in self.tied:
            total = stats.weight.sum(axis=0)
            excess = np.broadcast_to((stats.weight * excess).sum(axis=0) / np.maximum(total, 1e-300), mean.shape)
        return mean, excess

    def maximise(self, stats: Sums, belief: Family | None = None) -> Self:
        if self.exact:  # a mean per unit of size: components may differ in size
            unit = replace(stats, weight=stats.weight * self.size)
            return replace(super(IterativeFamily, replace(self, size=1.0)).maximise(unit), size=self.size)
        weight, size, p = stats.weight, np.asarray(self.size), np.asarray(self.p)
        mean, excess = self.overdispersion(stats)
        if {"size", "p"} <= self.tied:
            total = (weight * mean).sum(axis=0) / np.maximum(weight.sum(axis=0), 1e-300)
            mean = np.broadcast_to(total, mean.shape)
        profiled = "p" not in self.fixed and ("p" not in self.tied or "size" in self.tied)
        step = self._step(stats, size, mean if profiled else None, belief)
        size = size * np.exp(step)
        size = _shared(size, weight) if "size" in self.tied else size
        if profiled:
            top = np.broadcast_to(mean.max(axis=0), mean.shape) if "size" in self.tied else mean
            ratio = _largest_ratio(top)
            if belief is not None:
                excess, size = np.full(mean.shape, np.inf), np.where(top > 0, np.minimum(size, ratio * top), size)
            elif "size" not in self.tied:
                moments = _size_of_moments(mean, excess)
                size = np.where((moments > LOST) & (mean > NORMAL), moments, size)
            size = np.where((excess * ratio <= top) & (top > 0), ratio * top, size)
            p = size / (size + mean)
        elif "p" not in self.fixed:
            size, p = self._together(stats, size, _pooled_p(weight, size, mean))
            most = _largest_ratio(mean) * mean
            size = np.where(mean > 0, np.minimum(size, most), size)
            p = np.where((size == most).any(axis=0), _pooled_p(weight, size, mean), p)
        size = np.maximum(size, SMALLEST)
        return self.choose(np.broadcast_to(weight == 0, size.shape), replace(self, size=size, p=p))

    def _step(self, stats: Sums, size: Array, mean: Array | None, belief: Any = None) -> Array:
        """The step of log size that maximises a lower bound of the likelihood, (k, d).

        The slope of log Γ(x+r)/Γ(r) in log r is Σ s over j < x with s = r/(r+j). Given Σ 1, Σ s and Σ s², its values at
        other r lie beyond those of one s, the same for all j, and one that is 0 or 1 (:func:`_bound`): a bound that
        touches to second order. So the step rises as surely as EM and converges as fast as Newton. What is left,
        r·log p, is exact, with p = r/(r + mean) where p is learned, and so is the density of a ``belief`` about r.
        """
        sums, weight, tied = stats.mean, stats.weight, "size" in self.tied
        log_p = np.log(self.p)

        def rest(r: Array) -> Array:
            return np.asarray(r * log_p if mean is None else -r * np.log1p(mean / r))

        def total(cells: Array) -> Array:
            cells = cells * weight
            return np.broadcast_to(cells.sum(axis=0), cells.shape) if tied else cells

        power, rate = (0.0, 0.0) if belief is None else (np.asarray(belief.shape) - 1, np.asarray(belief.rate))
        way = np.sign(total(sums[..., 1] + rest(size)) + power - rate * size)
        bend, s = _bound(sums, way)

        def slopes(step: Array) -> tuple[Array, Array]:
            """The slope of the bound after a step of log size, and its own slope there."""
            r, more = size * np.exp(step), np.expm1(step)
            below = 1 + more * s
            left = rest(r)
            turn = left if mean is None else left + r * mean / (r + mean)
            slope = total(sums[..., 1] + bend * more / below + left) + power - rate * r
            return slope, total(bend * (1 + more) / below**2 + turn) - rate * r

        return _crossing(slopes, way)

    def _together(self, stats: Sums, size: Array, p: Array) -> tuple[Array, Array]:
        """Sizes and the p that components share: Newton's joint step where it gains more than ``size`` and ``p`` do.

        One after the other they creep. Gains are those of the lower bound of :meth:`_step`, so neither can fall.
        """
        weight, old, at = stats.weight, np.asarray(self.size), np.asarray(self.p)
        if not (at == at[:1]).all():
            return size, p
        total, slope, bend = (stats.total[..., i] for i in range(3))
        with np.errstate(all="ignore"):
            gradient = np.stack([slope + weight * old * np.log(at), weight * old * (1 - at) - total * at], axis=-1)
            across = weight * old * (1 - at)
            steep = np.where(weight > 0, bend + weight * old * np.log(at), -1.0)
            rows = [[steep, across], [across, -(weight * old + total) * at * (1 - at)]]
            hessian = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
            limits = np.full(2, LONGEST)
            step, _ = newton_step(gradient, hessian, weight, ("size", "p"), frozenset({"p"}), limits)

            def gain(new: Array, share: Array) -> Array:
                away = np.log(new / old)
                curved, s = _bound(stats.total, away)
                grown = np.log1p(s * np.expm1(away)) - s * away
                bound = slope * away + np.where(curved > 0, curved * grown / (s * (1 - s)), 0.0)
                moved = weight * (new * np.log(share) - old * np.log(at)) + special.xlog1py(total, -share)
                cells = np.where(weight > 0, bound + moved - special.xlog1py(total, -at), 0.0)
                return np.asarray(cells.sum(axis=0))

            best = gain(size, p)
            for halvings in range(8):
                move = step * 0.5**halvings
                new, share = old * np.exp(move[..., 0]), special.expit(special.logit(at) + move[..., 1])
                better = gain(new, share) > best
                size, p = np.where(better, new, size), np.where(better, share, p)
                best = np.maximum(best, np.where(better, gain(new, share), best))
        return size, p

    def error_cells(self, stats: Sums) -> dict[str, Array]:
        if self.exact:
            return super().error_cells(stats)
        size, p, weight = np.asarray(self.size), np.asarray(self.p), stats.weight
        total, slope, bend = (stats.total[..., i] for i in range(3))
        with np.errstate(all="ignore"):
            of_size, of_p = (slope - bend) / size**2, weight * size / p**2 + total / (1 - p) ** 2
            rows = [[of_size, -weight / p], [-weight / p, of_p]]
            information = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
        pick = [("size", "p").index(name) for name in self.free]
        return derivatives.errors_from_information(information[..., pick, :][..., pick], self.free, self.tied)

    def alerts(self, stats: Sums) -> tuple[Alert, ...]:
        found = super().alerts(stats)
        if self.exact or "p" in self.fixed:
            return found
        mean, excess = self.stacked.overdispersion(stats)
        ratio = _largest_ratio(mean)
        flat = (excess * ratio <= mean) & (mean > 0) & (np.asarray(self.stacked.size) >= 0.99 * ratio * mean)
        if not flat.any():
            return found
        least = float(ratio[flat].min())
        by = f" by more than 1/{least:.2g} of it, the least that float64 tells of such counts"
        by = "" if least == LARGEST else by
        text = (
            "the variance does not exceed the mean",
            in_columns(flat),
            (
                f"{by}, so the likelihood rises for ever with size, towards a Poisson; "
                f"size was held at {least:.2g} times the mean. Use sf.Poisson(), or fix size."
            ),
        )
        return (*found, Alert("boundary", text))

    # ---- asking -------------------------------------------------------------------------------------------------
    def draw(self, n: int, rng: np.random.Generator) -> Array:
        size, odds, shape = np.asarray(self.size), (1 - np.asarray(self.p)) / self.p, (n, *self.batch)
        if ((size + 10 * np.sqrt(size)) * odds <= FARTHEST).all():
            return rng.negative_binomial(size, self.p, shape).astype(float)
        return poisson_draws(rng.standard_gamma(size, shape) * odds, shape, rng)

    def cumulative(self, x: Array) -> Array:
        inside = special.betainc(self.size, np.maximum(np.floor(x), 0) + 1, self.p)
        return np.where(x < 0, 0.0, np.where(np.isposinf(x), 1.0, inside))

    def inverse(self, q: Array) -> Array:
        return whole_quantile(self.cumulative, q, 0)

    @property
    def mean(self) -> Any:
        """The expected number of failures, size·(1−p)/p."""
        return self.size * (1 - self.p) / self.p

    @property
    def var(self) -> Any:
        """The variance, size·(1−p)/p²."""
        return self.mean / self.p

    @property
    def mode(self) -> Any:
        """A most probable number: the whole part of (size−1)·(1−p)/p, or 0."""
        mode = np.floor(np.maximum(np.asarray(self.size) - 1, 0) * (1 - self.p) / self.p)
        return float(mode) if np.ndim(mode) == 0 else mode

    def divergence_cells(self, other: Self) -> Array:
        return np.asarray(self.size * binary_divergence(self.p, other.p) / self.p)

    def _comparable(self, other: Self) -> bool:
        return bool(np.array_equal(self.size, other.size) and super()._comparable(other))


def _crossing(slopes: Callable[[Array], tuple[Array, Array]], way: Array) -> Array:
    """How far to go until a slope is 0, at most LONGEST: by Newton, halving where it would leap out of the bracket.

    ``way`` is the sign of the slope at 0. What is not found after so many turns ends short of it, where the slope still
    has that sign.
    """
    near, far, at = np.zeros(way.shape), np.full(way.shape, LONGEST), np.zeros(way.shape)
    done = (way == 0) | (way * slopes(way * LONGEST)[0] > 0)
    step = np.where(done & (way != 0), LONGEST, 0.0)
    for _ in range(TURNS):
        value, turn = slopes(way * at)
        up = way * value > 0
        near, far = np.where(up, at, near), np.where(up, far, at)
        with np.errstate(all="ignore"):
            new = at - way * value / turn
        found = np.abs(new - at) <= STILL
        step = np.where(done, step, np.where(found, np.maximum(new, 0.0), near))
        done |= found
        if done.all():
            break
        at = np.where((new > near) & (new < far), new, (near + far) / 2)
    return np.asarray(way * step)


def _bound(sums: Array, step: Array) -> tuple[Array, Array]:
    """B and s: a step t of log r adds B·(eᵗ − 1)/(1 + (eᵗ − 1)·s) to the slope of log Γ(x+r)/Γ(r) in log r.

    At least so much for a step up, and at most for one down: the quadratures of Gauss and Radau with a node at s = 0 or
    at s = 1, for the sums of 1, s and s², whose remainder has one sign for every function s·eᵗ/(1 + (eᵗ − 1)·s).
    """
    ones, slope, bend = (sums[..., i] for i in range(3))
    with np.errstate(all="ignore"):
        s = np.where(step > 0, 1 - bend / slope, bend / (ones - slope))
    inside = (bend > 0) & (s > 0) & (s < 1)  # else there are no counts above 1, or rounding has the last word
    return np.where(inside, bend, 0.0), np.where(inside, s, 0.5)


def _largest_ratio(mean: Array) -> Array:
    """size/mean from which on the family is held: p = size/(size + mean) next to 1 must still tell the mean."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.minimum(LARGEST, RESOLVED / (np.finfo(float).eps * np.sqrt(mean))))


def _size_of_moments(mean: Array, excess: Array) -> Array:
    """The size that matches the mean and by how much the variance exceeds it, held at its largest."""
    ratio = _largest_ratio(mean)
    with np.errstate(all="ignore"):
        return np.asarray(np.where(excess * ratio > mean, np.square(mean) / excess, ratio * mean))


def _pooled_p(weight: Array, size: Array, mean: Array) -> Array:
    """The best p that components of these sizes can share."""
    whole = (weight * size).sum(axis=0)
    return np.broadcast_to(whole / np.maximum(whole + (weight * mean).sum(axis=0), 1e-300), size.shape)


def _shared(size: Array, weight: Array) -> Array:
    """One size for all components of a column: where they differ, between them."""
    if (size == size[:1]).all():
        return size
    total = np.maximum(weight.sum(axis=0), 1e-300)
    return np.broadcast_to(np.exp((weight * np.log(size)).sum(axis=0) / total), size.shape)
