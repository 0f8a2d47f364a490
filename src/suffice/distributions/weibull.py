"""Life times."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from suffice.core.iterative_family import IterativeFamily, newton_step
from suffice.core.parameters import POSITIVE, parameter
from suffice.numerics.derivatives import errors_from_information
from suffice.numerics.lazy import special
from suffice.statistics.sums import Sums
from suffice.types import Alert, Array

OFFSETS = np.array([0.0, -1.6, -0.5, -0.15, -0.05, 0.05, 0.15, 0.5, 1.6])  # candidates of log shape around the current
SHORT = 0.08  # a Newton step this short in log shape and shape·log scale needs no candidates
STEEPEST = 1e8  # the largest shape: log x is known to 1e-16, and x^shape must be known too
WIDEST = 700.0  # the largest log of a scale, and of 1 / the smallest
NAMES = ("shape", "scale")


@dataclass(frozen=True, eq=False, repr=False)
class Weibull(IterativeFamily):
    r"""A life time that ages: :math:`p(x) = \frac{c}{s} (x/s)^{c-1} e^{-(x/s)^c}`; c is ``shape``, s ``scale``.

    Not an exponential family while the shape is learned. A pass at the current value gathers the exact gradient and
    Hessian and scores a fan of shapes, each with its best scale; the step is Newton's when it is short, else the best
    of the fan, so the likelihood never falls.

    >>> sf.fit(sf.Weibull(shape=1).fix("shape"), [1.0, 3.0]).distribution
    Weibull(shape=1, scale=2).fix('shape')
    """

    shape: Any = parameter(POSITIVE, default=1.0, typical=(0.6, 4.0))
    scale: Any = parameter(POSITIVE, default=1.0, typical=(0.5, 5.0))

    support = POSITIVE
    terms_per_cell = 12

    def log_cell(self, x: Array) -> Array:
        y = np.log(x, dtype=np.float64) - np.log(self.scale)
        return np.asarray(np.log(self.shape / self.scale) + (self.shape - 1.0) * y - np.exp(self.shape * y))

    def guess(self, x: Array, weights: Array) -> dict[str, float]:
        """Match mean and variance of log x, whose distribution is Gumbel's."""
        logs = np.log(x)
        mean = np.average(logs, weights=weights)
        std = np.sqrt(np.average(np.square(logs - mean), weights=weights))
        shape = self.shape if "shape" in self.fixed else min(np.pi / np.sqrt(6) / max(std, 1e-300), STEEPEST)
        shape = float(np.mean(shape))
        return {"shape": shape, "scale": float(_exp(mean + np.euler_gamma / shape))}

    def terms(self, x: Array) -> Array:
        """U = shape·log(x/scale), eᵘ, u·eᵘ, u²·eᵘ, and (x/scale)^c of the other candidates c."""
        u = np.asarray(self.shape * (np.log(x, dtype=np.float64) - np.log(self.scale)))
        fan = np.exp(np.minimum(u[..., None] * np.exp(OFFSETS), 600.0))
        power = fan[..., 0]
        return np.concatenate([np.stack([u, power, u * power, u * u * power], axis=-1), fan[..., 1:]], axis=-1)

    def _derivatives(self, stats: Sums) -> tuple[Array, Array]:
        """Σ w of gradient and Hessian in the free ones of log shape and log scale."""
        weight, (u, power, first, second) = stats.weight, np.moveaxis(stats.total[..., :4], -1, 0)
        c = np.asarray(self.shape)
        gradient = np.stack([weight + u - first, c * (power - weight)], axis=-1)
        across = c * (power - weight + first)
        rows = [[u - first - second, across], [across, -(c**2) * power]]
        hessian = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
        pick = [NAMES.index(name) for name in self.free]
        return gradient[..., pick], hessian[..., pick, :][..., pick]

    def maximise(self, stats: Sums) -> Self:
        limits = {"shape": np.full(self.batch, SHORT), "scale": SHORT / np.asarray(self.shape)}
        reach = np.stack([limits[name] for name in self.free], axis=-1)
        step, trust = newton_step(*self._derivatives(stats), stats.weight, self.free, self.tied, reach)
        moves = {name: step[..., index] for index, name in enumerate(self.free)}
        shape = self.shape * np.exp(moves["shape"]) if "shape" in moves else np.asarray(self.shape)
        scale = _exp(np.log(self.scale) + moves["scale"]) if "scale" in moves else np.asarray(self.scale)
        safe_shape, safe_scale = self._best_candidate(stats)
        # Where the fan has nothing better, even a Newton step that was cut gets further.
        rest = (safe_shape == self.shape) & (np.abs(np.log(safe_scale) - np.log(self.scale)) < limits["scale"])
        take = ((trust == 1) | rest) & (shape <= STEEPEST)
        if self.tied:
            take = np.broadcast_to(take.all(axis=0), take.shape)
        shape, scale = np.where(take, shape, safe_shape), np.where(take, scale, safe_scale)
        return self.choose(stats.weight == 0, replace(self, shape=shape, scale=scale))

    def _best_candidate(self, stats: Sums) -> tuple[Array, Array]:
        """The best shape of the fan, the current one among them, and the scale that is best with it."""
        weight, shape, scale = stats.weight, np.asarray(self.shape), np.asarray(self.scale)
        unit = np.where(weight > 0, weight, 1.0)
        powers = np.concatenate([stats.total[..., 1:2], stats.total[..., 4:]], axis=-1) / unit[..., None]
        shapes = shape[..., None] * np.exp(OFFSETS)
        own = "scale" in self.fixed or "scale" in self.tied
        with np.errstate(all="ignore"):
            loss = powers if own else 1 + np.log(powers)
            mean = (stats.total[..., 0] / unit)[..., None] * np.exp(OFFSETS)
            value = weight[..., None] * (np.log(shapes) + mean - loss)
        value = np.where((shapes > STEEPEST) | np.isnan(value), -np.inf, value)  # NaN: nothing was seen
        if "shape" in self.tied:
            value = np.broadcast_to(value.sum(axis=0), value.shape)
        best = np.where("shape" in self.fixed, 0, np.argmax(value, axis=-1))[..., None]
        chosen = np.take_along_axis(shapes, best, -1)[..., 0]
        power = np.take_along_axis(powers, best, -1)[..., 0]
        if "shape" in self.fixed:
            chosen = shape
        if "scale" in self.fixed:
            return chosen, scale
        with np.errstate(all="ignore"):
            if "scale" in self.tied:
                return chosen, _exp(np.log(scale) + _shared_shift(weight, chosen, power))
            return chosen, _exp(np.log(scale) + np.log(power) / chosen)

    def error_cells(self, stats: Sums) -> dict[str, Array]:
        _, hessian = self._derivatives(stats)
        size = np.stack([np.asarray(getattr(self, name)) for name in self.free], axis=-1)
        with np.errstate(all="ignore"):
            information = -hessian / size[..., :, None] / size[..., None, :]
        return errors_from_information(information, self.free, self.tied)

    def alerts(self, stats: Sums) -> tuple[Alert, ...]:
        if "shape" in self.fixed or not (np.asarray(self.shape) > 0.1 * STEEPEST).any():
            return super().alerts(stats)
        text = (
            "the values are nearly all the same, so the shape grows without bound and the density becomes a point; it "
            f"was held below {STEEPEST:g}. Add data, or fix shape."
        )
        return (*super().alerts(stats), Alert("collapsed", text))

    @property
    def peak_precision(self) -> Array:
        return np.asarray(np.square(self.shape))

    def widen(self, by: Array) -> Self:
        return replace(self, shape=self.shape / np.sqrt(by))

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        return np.asarray(self.scale * rng.standard_exponential((n, *self.batch)) ** (1 / np.asarray(self.shape)))

    def cumulative(self, x: Array) -> Array:
        return np.asarray(-np.expm1(-((np.maximum(x, 0.0) / self.scale) ** self.shape)))

    def inverse(self, q: Array) -> Array:
        return np.asarray(self.scale * (-np.log1p(-q)) ** (1 / np.asarray(self.shape)))

    @property
    def mean(self) -> Any:
        """The expected life time."""
        return self.scale * special.gamma(1 + 1 / self.shape)

    @property
    def var(self) -> Any:
        """The variance."""
        once, twice = special.gammaln(1 + 1 / self.shape), special.gammaln(1 + 2 / self.shape)
        return np.square(self.mean) * np.expm1(twice - 2 * once)

    @property
    def mode(self) -> Any:
        """The point of highest density; 0 where the shape is at most 1."""
        shape = np.asarray(self.shape)
        mode = self.scale * np.maximum(1 - 1 / shape, 0.0) ** (1 / shape)
        return float(mode) if np.ndim(mode) == 0 else mode

    def entropy_cell(self) -> Any:
        return np.euler_gamma * (1 - 1 / self.shape) + np.log(self.scale / self.shape) + 1


def _exp(log_scale: Array) -> Array:
    """The scale of a logarithm, kept where floats can hold it and its ratios."""
    return np.asarray(np.exp(np.clip(log_scale, -WIDEST, WIDEST)))


def _shared_shift(weight: Array, shape: Array, power: Array) -> Array:
    """The move t of a log scale that components of different shapes share: it maximises −Σ w (c·t + power·e^(−c·t))."""
    t = np.zeros(weight.shape[1:])
    for _ in range(100):
        decay = np.where(weight > 0, power * np.exp(-shape * t), 0.0)
        slope = (weight * shape * (decay - 1)).sum(axis=0)
        bend = (weight * shape**2 * decay).sum(axis=0)
        move = np.clip(slope / np.maximum(bend, 1e-300), -1.0, 1.0)
        t = t + move
        if np.abs(move).max(initial=0.0) < 1e-15:
            break
    return t
