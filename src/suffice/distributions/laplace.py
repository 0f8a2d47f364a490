"""Two exponentials back to back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from suffice.core.iterative_family import weighted_median
from suffice.core.parameters import POSITIVE, REAL, parameter
from suffice.distributions.floors import rounding_floor
from suffice.distributions.location_scale import LocationScale
from suffice.errors import UnsupportedError
from suffice.numerics.derivatives import errors_from_information
from suffice.statistics.sums import Additive, Statistics, same_kind, share
from suffice.statistics.weights import Weights
from suffice.types import Alert, Array

FINEST, COARSEST, PARTS = -60, 12, 4  # cuts at loc ± scale·2^j for j between the two, each octave in four parts
SIDE = (COARSEST - FINEST) * PARTS  # bins on one side; the bin in the middle holds the values that equal loc
TIE = 1e-12  # weights that are not whole numbers add up with rounding


@dataclass(frozen=True, eq=False, repr=False)
class Cuts(Additive):
    """Per bin around a centre, (k, d, bins): weight, Σ w (x − centre), smallest and largest value."""

    weight: Array
    base: Array
    mass: Array
    moment: Array
    low: Array
    high: Array
    exact: bool = False

    def __add__(self, other: Cuts) -> Cuts:
        same_kind(self, other)
        sums = {name: getattr(self, name) + getattr(other, name) for name in ("weight", "base", "mass", "moment")}
        return replace(self, **sums, low=np.minimum(self.low, other.low), high=np.maximum(self.high, other.high))

    def __mul__(self, factor: float) -> Cuts:
        return replace(self, **{name: getattr(self, name) * factor for name in ("weight", "base", "mass", "moment")})

    def __sub__(self, other: Cuts) -> Cuts:
        msg = "rows cannot be removed from statistics that were gathered given parameters. Fit again without them."
        raise UnsupportedError(msg)

    def shared(self, scale: Array) -> Cuts:
        """All components together, each row counting by the inverse of its component's scale."""
        sums = {name: getattr(self, name) / scale for name in ("weight", "base")}
        sums |= {name: getattr(self, name) / scale[..., None] for name in ("mass", "moment")}
        ends = {"low": self.low.min(axis=0, keepdims=True), "high": self.high.max(axis=0, keepdims=True)}
        return Cuts(**{name: value.sum(axis=0, keepdims=True) for name, value in sums.items()}, **ends)

    def distance(self, point: Array, centre: Array) -> Array:
        """Σ w |x − point|, exact where no bin has values on both sides of the point."""
        signs = np.where(self.high <= point[..., None], -1.0, 1.0)
        return np.asarray((signs * (self.moment - (point - centre)[..., None] * self.mass)).sum(axis=-1))

    def median(self, place: tuple[int, ...], centre: float) -> float:
        """The median of a cell where the bins tell it, else the better end of the bin that holds it."""
        filled = np.flatnonzero(self.mass[place] > 0)
        mass, moment, low, high = (a[place][filled] for a in (self.mass, self.moment, self.low, self.high))
        below = np.cumsum(mass)
        half, tie = below[-1] / 2, TIE * below[-1]
        at = int(np.searchsorted(below, half - tie))
        if abs(below[at] - half) <= tie:  # any point between two bins will do
            return float(high[at] + (low[at + 1] - high[at]) / 2)
        ends = np.array([low[at], high[at]])
        away = moment - (ends - centre)[:, None] * mass  # Σ w (x − end) of each bin, (2, bins)
        loss = away[:, at + 1 :].sum(axis=1) - away[:, :at].sum(axis=1) + np.abs(away[:, at])
        return float(ends[loss.argmin()])


@dataclass(frozen=True, eq=False, repr=False)
class Laplace(LocationScale):
    r"""Two exponentials back to back: :math:`p(x) = e^{-|x-m|/s} / 2s`; m is ``loc``, s ``scale``.

    Not an exponential family while loc is learned. loc is the weighted median, exactly (the midpoint where it is not
    unique), and scale the mean distance from it. A pass keeps weight, sum and extremes of bins that narrow towards the
    current loc, so the next loc is a value of the data at which the likelihood is known.

    >>> sf.fit(sf.Laplace(), [1.0, 2.0, 6.0]).distribution
    Laplace(loc=2, scale=1.66667)
    """

    loc: Any = parameter(REAL, default=0.0, typical=(-3.0, 3.0))
    scale: Any = parameter(POSITIVE, default=1.0, typical=(0.3, 3.0))

    terms_per_cell = 4

    def log_cell(self, x: Array) -> Array:
        return np.asarray(-np.abs(x - self.loc) / self.scale - np.log(self.scale) - np.log(2.0))

    def guess(self, x: Array, weights: Array) -> dict[str, float]:
        """The median, and the mean distance from it."""
        loc = weighted_median(x, weights)
        return {
            "loc": loc,
            "scale": max(np.average(np.abs(x - loc), weights=weights), float(rounding_floor(np.asarray(loc)))),
        }

    def gather(self, x: Array, w: Weights) -> Cuts:
        x, seen = self.check_support(x, w)
        shape = (*self.batch, 2 * SIDE + 1)
        mass, moment = np.zeros(shape), np.zeros(shape)
        low, high = np.full(shape, np.inf), np.full(shape, -np.inf)
        loc, unit = np.asarray(self.loc), np.asarray(self.scale)
        if "loc" in self.tied:  # components that share loc share the cuts
            unit = np.broadcast_to(unit.max(axis=0), unit.shape)
        for component, column in np.ndindex(*self.batch):
            weights = w.of_component(component).dense()[:, 0]
            kept = weights > 0 if seen is None else (weights > 0) & seen[:, column]
            values, u, place = x[kept, column].astype(float), weights[kept], (component, column)
            away = values - loc[place]
            bins = _bins(away / unit[place])
            mass[place] = np.bincount(bins, u, shape[-1])
            moment[place] = np.bincount(bins, u * away, shape[-1])
            np.minimum.at(low[place], bins, values)
            np.maximum.at(high[place], bins, values)
        weight = mass.sum(axis=-1)
        stats = Cuts(weight, np.zeros(weight.shape), mass, moment, low, high)
        base = -weight * np.log(2 * np.asarray(self.scale)) - stats.distance(loc, loc) / self.scale
        return replace(stats, base=base)

    def maximise(self, stats: Any) -> Self:
        loc, scale = np.asarray(self.loc), np.asarray(self.scale)
        if "loc" not in self.fixed:
            pooled = stats.shared(scale) if "loc" in self.tied else stats
            best = np.array(loc[: len(pooled.weight)])
            for place in np.argwhere(pooled.weight > 0):
                best[tuple(place)] = pooled.median(tuple(place), best[tuple(place)])
            loc = np.broadcast_to(best, scale.shape)
        if "scale" not in self.fixed:
            weight, distance = stats.weight, stats.distance(loc, np.asarray(self.loc))
            if "scale" in self.tied:
                weight, distance = (np.broadcast_to(a.sum(axis=0), scale.shape) for a in (weight, distance))
            scale = np.maximum(share(distance, weight), rounding_floor(loc))
        return self.choose(stats.weight == 0, replace(self, loc=loc, scale=scale))

    def error_cells(self, stats: Statistics) -> dict[str, Array]:
        with np.errstate(over="ignore"):
            unit = stats.weight / np.square(self.scale)
        return errors_from_information(unit[..., None, None] * np.eye(len(self.free)), self.free, self.tied)

    def alerts(self, stats: Statistics) -> tuple[Alert, ...]:
        return (*super().alerts(stats), *self.collapse_alerts(stats))

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        return rng.laplace(self.loc, self.scale, (n, *self.batch))

    def cumulative(self, x: Array) -> Array:
        r = (x - self.loc) / self.scale
        tail = 0.5 * np.exp(-np.abs(r))
        return np.asarray(np.where(r < 0, tail, 1 - tail))

    def inverse(self, q: Array) -> Array:
        return np.asarray(self.loc + self.scale * np.where(q < 0.5, np.log(2 * q), -np.log(2 * (1 - q))))

    @property
    def mean(self) -> Any:
        """The mean: loc."""
        return self.loc

    @property
    def var(self) -> Any:
        """The variance, 2·scale²."""
        with np.errstate(over="ignore"):
            return 2 * np.square(self.scale)

    @property
    def mode(self) -> Any:
        """The point of highest density: loc."""
        return self.loc

    def entropy_cell(self) -> Any:
        return 1 + np.log(2 * np.asarray(self.scale))


def _bins(r: Array) -> Array:
    """The bin of each distance, in units of the scale: octaves in equal parts, mirrored about the middle."""
    fraction, octave = np.frexp(np.abs(r))  # |r| = fraction · 2^octave, fraction in [½, 1)
    steps = (octave - FINEST) * PARTS + ((2 * fraction - 1) * PARTS).astype(int)
    return np.asarray(SIDE + np.sign(r).astype(int) * np.where(r == 0, 0, np.clip(steps, 1, SIDE)))
