"""Bells with tails that fall like an exponential."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from suffice.core.iterative_family import newton_step, weighted_median
from suffice.core.parameters import POSITIVE, REAL, parameter
from suffice.distributions.floors import rounding_floor
from suffice.distributions.location_scale import LocationScale
from suffice.numerics.derivatives import errors_from_information
from suffice.numerics.lazy import special
from suffice.statistics.sums import Sums
from suffice.types import Alert, Array

NAMES = ("loc", "scale")
SHORT = 0.2  # a Newton step this short, in loc/scale and log scale, raises log L: |∂³ log p| ≤ |∂² log p| along loc


@dataclass(frozen=True, eq=False, repr=False)
class Logistic(LocationScale):
    r"""A bell with exponential tails: :math:`p(x) = 1 / 4s\cosh^2(r/2)`, r = (x − m)/s; m is ``loc``, s ``scale``.

    Not an exponential family. It is a Normal whose precision differs from row to row (Andrews and Mallows, 1974), and
    the expected precision given a row is tanh(r/2)/r: these are the weights of an EM step, which never lowers the
    likelihood. A pass gathers its sums with the exact gradient and Hessian; the step is Newton's when it is short.

    References
    ----------
    Andrews, D. F. and Mallows, C. L. (1974). Scale mixtures of normal distributions. Journal of the Royal Statistical
    Society B 36, 99-102.

    >>> sf.fit(sf.Logistic(), [1.0, 2.0, 3.0, 4.0, 9.0]).distribution
    Logistic(loc=3.33664, scale=1.52575)
    """

    loc: Any = parameter(REAL, default=0.0, typical=(-3.0, 3.0))
    scale: Any = parameter(POSITIVE, default=1.0, typical=(0.3, 3.0))

    terms_per_cell = 6

    def log_cell(self, x: Array) -> Array:
        r = np.abs(x - self.loc) / self.scale
        return np.asarray(-r - 2 * np.log1p(np.exp(-r)) - np.log(self.scale))

    def guess(self, x: Array, weights: Array) -> dict[str, float]:
        """The median, and the mean distance from it, which is 2 log 2 scales."""
        loc = weighted_median(x, weights)
        scale = float(np.average(np.abs(x - loc), weights=weights)) / (2 * np.log(2.0))
        return {"loc": loc, "scale": max(scale, float(rounding_floor(np.asarray(loc))))}

    def terms(self, x: Array) -> Array:
        """τ = tanh(r/2)/r, τr, τr² of the EM step, and h = ∂τr/∂r, hr, hr² of the Hessian."""
        r = np.asarray((x - self.loc) / self.scale)
        slope = np.tanh(0.5 * r)
        tau = np.where(np.abs(r) > 1e-5, slope / np.where(r == 0, 1.0, r), 0.5 - np.square(np.minimum(r, 1.0)) / 24)
        tail = np.exp(-np.abs(r))
        bend = 2 * tail / np.square(1 + tail)
        return np.stack([tau, slope, slope * r, bend, bend * r, bend * r * r], axis=-1)

    @property
    def _unit(self) -> Array:
        """The length in which moves of loc are measured: the scale, one for all components where loc is tied."""
        scale = np.asarray(self.scale)
        return np.broadcast_to(scale.min(axis=0), scale.shape) if "loc" in self.tied else scale

    def _derivatives(self, stats: Sums) -> tuple[Array, Array]:
        """Σ w of gradient and Hessian in the free ones of loc in units and log scale."""
        _, one, two, bend0, bend1, bend2 = np.moveaxis(stats.total, -1, 0)
        size = np.stack([self._unit / np.asarray(self.scale), np.ones(stats.weight.shape)], axis=-1)
        gradient = np.stack([one, two - stats.weight], axis=-1) * size
        across = -bend1 - one
        rows = [[-bend0, across], [across, -bend2 - two]]
        hessian = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2) * size[..., :, None] * size[..., None, :]
        pick = [NAMES.index(name) for name in self.free]
        return gradient[..., pick], hessian[..., pick, :][..., pick]

    def maximise(self, stats: Sums) -> Self:
        loc, scale = self._em_step(stats)
        limits = np.full(len(self.free), SHORT)
        step, trust = newton_step(*self._derivatives(stats), stats.weight, self.free, self.tied, limits)
        moves = {name: step[..., index] for index, name in enumerate(self.free)}
        take = trust == 1
        if self.tied:
            take = np.broadcast_to(take.all(axis=0), take.shape)
        loc = np.where(take, self.loc + self._unit * moves.get("loc", 0.0), loc)
        scale = np.where(take, self.scale * np.exp(moves.get("scale", 0.0)), scale)
        if "scale" in self.free:
            around = np.maximum(np.abs(loc), np.abs(self.loc))  # the old loc rounds the step away from it
            scale = np.maximum(scale, rounding_floor(around))
        values: dict[str, Any] = {"loc": loc, "scale": scale}
        for name in self.tied:  # the same number for all, without the rounding of each one's own units
            values[name] = np.broadcast_to(values[name][:1], loc.shape)
        return self.choose(stats.weight == 0, replace(self, **values))

    def _em_step(self, stats: Sums) -> tuple[Array, Array]:
        """The mean and spread of the rows, each counting by its expected precision."""
        weight, scale = stats.weight, np.asarray(self.scale)
        zero, one, two = np.moveaxis(stats.total[..., :3], -1, 0)
        shift = np.zeros(weight.shape)
        if "loc" in self.tied and "loc" in self.free:
            pooled = (one / scale).sum(axis=0) / np.maximum((zero / np.square(scale)).sum(axis=0), 1e-300)
            shift = pooled / scale
        elif "loc" in self.free:
            shift = one / np.where(zero > 0, zero, 1.0)
        loc = self.loc + scale * shift
        if "scale" in self.fixed:
            return loc, scale
        spread = np.maximum(two - 2 * shift * one + np.square(shift) * zero, 0.0) * np.square(scale)
        if "scale" in self.tied:
            weight, spread = (np.broadcast_to(a.sum(axis=0), scale.shape) for a in (weight, spread))
        return loc, np.sqrt(spread / np.where(weight > 0, weight, 1.0))

    def error_cells(self, stats: Any) -> dict[str, Array]:
        _, hessian = self._derivatives(stats)
        units = {"loc": self._unit, "scale": np.asarray(self.scale)}
        unit = np.stack([units[name] for name in self.free], axis=-1)
        with np.errstate(over="ignore"):
            information = -hessian / unit[..., :, None] / unit[..., None, :]
        return errors_from_information(information, self.free, self.tied)

    def alerts(self, stats: Sums) -> tuple[Alert, ...]:
        return (*super().alerts(stats), *self.collapse_alerts(stats))

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        return rng.logistic(self.loc, self.scale, (n, *self.batch))

    def cumulative(self, x: Array) -> Array:
        return np.asarray(special.expit((x - self.loc) / self.scale))

    def inverse(self, q: Array) -> Array:
        return np.asarray(self.loc + self.scale * special.logit(q))

    @property
    def mean(self) -> Any:
        """The mean: loc."""
        return self.loc

    @property
    def var(self) -> Any:
        """The variance, π²·scale²/3."""
        with np.errstate(over="ignore"):
            return np.square(np.pi * self.scale) / 3

    @property
    def mode(self) -> Any:
        """The point of highest density: loc."""
        return self.loc

    def entropy_cell(self) -> Any:
        return 2 + np.log(np.asarray(self.scale))
