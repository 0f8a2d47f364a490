"""Densities of one to three coordinates, integrated axis by axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.bayes.coordinates import Axis, Bulk, LogDensity, Space
from suffice.errors import ParameterError
from suffice.numerics.adaptive_quadrature import Nested, Panels
from suffice.types import Array

# Edges of the first panels, in units of the bulk: u = centre + scale·sinh(t).
EDGES = {
    1: (0.25, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 14, 20, 30, 45, 70, 100, 150, 220, 300),
    2: (0.5, 1, 2, 3, 4, 6, 10, 20, 45, 100, 300),
    3: (1.5, 3, 6, 20, 200),
}
ORDER = {1: 20, 2: 20, 3: 16}
# Of the interpolant; where it is smooth its integral is right to about the square.
TOLERANCES = {1: (1e-14,), 2: (1e-9, 1e-10), 3: (1e-5, 1e-6, 1e-6)}


class ImproperError(ParameterError):
    """A prior whose integral is infinite: likelihood × prior may still have a finite one, or a mode."""

    @classmethod
    def towards(cls, axis: Axis, side: int) -> ImproperError:
        """The refusal of a prior that does not fall off towards one end of an axis."""
        where = f"as {axis.name} goes to {(axis.domain.low, axis.domain.high)[side]:g}"
        return cls(
            f"the integral of the prior diverges: it does not fall off {where}. Give a proper density: bound it, or "
            "multiply it by one that falls off. Its mode alone, if there is one, is what sf.fit(…, prior=…) finds."
        )

    @classmethod
    def with_data(cls, axis: Axis, side: int) -> ImproperError:
        """The refusal of an improper prior under which the posterior is improper, too."""
        where = f"as {axis.name} goes to {(axis.domain.low, axis.domain.high)[side]:g}"
        return cls(
            "the posterior is improper: the integral of the prior diverges, and with these data so does that of "
            f"likelihood × prior: it does not fall off {where}. Add rows, or give a proper density: bound it, or "
            "multiply it by one that falls off."
        )


@dataclass(frozen=True)
class Integral:
    """A density of the coordinates, integrated axis by axis in the given order."""

    space: Space
    bulk: Bulk
    rule: Nested
    panels: Panels
    order: tuple[int, ...]

    @property
    def log_total(self) -> float:
        """The log of the integral."""
        total = float(self.panels.masses.sum())
        return self.rule.peak + float(np.log(total)) if total > 0 else -np.inf

    @property
    def error(self) -> float:
        """What the panels leave in doubt, relative to the integral."""
        total = float(self.panels.masses.sum())
        return self.panels.error / total if total > 0 else np.inf

    def points(self, t: Array) -> Array:
        """Parameters (N, p), in their own order, of nodes in the order of integration."""
        u = np.empty_like(t)
        for i, j in enumerate(self.order[: t.shape[1]]):
            u[:, j] = _unfold(t[:, i], self.bulk, j, self.space.axes[j])
        return self.space.values(u)

    def marginal(self, t: Array) -> Array:
        """Values of the first axis."""
        j = self.order[0]
        return self.space.axes[j].value(_unfold(t, self.bulk, j, self.space.axes[j]))


def _unfold(t: Array, bulk: Bulk, j: int, axis: Axis) -> Array:
    return np.asarray(np.clip(bulk.centre[j] + bulk.scale[j] * np.sinh(t), *axis.limits))


def integrate(
    log_g: LogDensity, space: Space, bulk: Bulk, others: tuple[Bulk, ...] = (), first: int = 0, loose: float = 1.0
) -> Integral:
    """Integrate a density of the coordinates with axis ``first`` outermost."""
    order = (first, *(j for j in range(space.size) if j != first))
    edges = []
    for j in order:
        low, high = (float(np.arcsinh((u - bulk.centre[j]) / bulk.scale[j])) for u in space.axes[j].limits)
        inner = [side * t for t in EDGES[space.size] for side in (-1.0, 1.0)]
        extra = [
            float(np.arcsinh((one.centre[j] + k * one.scale[j] - bulk.centre[j]) / bulk.scale[j]))
            for one in others
            for k in ((-8, -2, -0.5, 0, 0.5, 2, 8) if space.size == 1 else (0,))
        ]
        ends = np.unique([low, *(t for t in (0.0, *inner, *extra) if low < t < high), high])
        edges.append(ends[np.concatenate([[True], np.diff(ends) > 1e-9])])

    def log_f(t: Array) -> Array:
        u = np.empty_like(t)
        for i, j in enumerate(order):
            u[:, j] = _unfold(t[:, i], bulk, j, space.axes[j])
        stretch = np.log(np.cosh(t)).sum(axis=1) + np.log(bulk.scale).sum()
        return np.asarray(log_g(u) + stretch)

    # What rounding leaves of the digits of the log density, and of the parameters far from the origin.
    noise = np.finfo(float).eps * max(8 * abs(bulk.log_peak), 4 * float(np.abs(bulk.centre / bulk.scale).max()))
    tolerances = tuple(loose * max(tolerance, noise) for tolerance in TOLERANCES[space.size])
    peak = bulk.log_peak + float(np.log(bulk.scale).sum())
    nested = Nested(log_f, edges, peak, ORDER[space.size], tolerances)
    return Integral(space, bulk, nested, nested.panels(np.zeros((1, 0))), order)


def refuse_improper(log_g: LogDensity, space: Space, bulk: Bulk) -> float:
    """Refuse a prior that does not fall off at the ends of an axis, where it must for its integral to be finite.

    Returns the log of what lies beyond the ends, where floats cannot follow.
    """
    beyond = -np.inf
    for j, axis in enumerate(space.axes):
        for side in (0, 1):
            end = axis.limits[side]
            straight = axis.bounded == (False, False)
            back = end * np.exp(-8.0) if straight else end - (8.0 if side else -8.0)
            points = np.repeat(bulk.centre[None], 2, axis=0)
            points[:, j] = end, back
            outer, inner = log_g(points) + (np.log(np.abs([end, back])) if straight else 0.0)
            if outer > -np.inf and outer - inner > -0.02:
                raise ImproperError.towards(axis, side)
            if outer > -np.inf:
                beyond = max(beyond, float(outer - np.log((inner - outer) / 8)))
    return beyond
