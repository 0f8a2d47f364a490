"""Whether likelihood × an improper prior has a finite integral: how the density of each parameter ends."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from suffice.bayes.coordinates import Bulk, Space
from suffice.bayes.integral import ImproperError, Integral
from suffice.types import Array

STEEP = 1.5  # a density that falls like 1/distance**STEEP or faster, distances in log units, has a finite integral
INSET = 6.0  # log units from an end at which rounding of the parameter no longer shows
NEAR = 0.7  # of the distance to the end, where the density is looked at again
POWER_AT = np.array([20.0, 14.0])  # log units from the bulk between which a power is read off
SLACK = 1e-3  # of a power that was read off


@dataclass(frozen=True)
class Tails:
    """How the density of one parameter ends.

    Attributes
    ----------
    beyond : float
        The mass beyond the ends of its coordinate, relative to the whole.
    power : float
        The least a of a density that falls like |θ|^(−1 − a) towards an infinite end: moments below a are finite.
    """

    beyond: float
    power: float

    def has_moment(self, order: int) -> bool:
        """Whether E|θ|^order is finite."""
        return self.power > order + SLACK


def refuse_bulk_at_an_end(space: Space, bulk: Bulk) -> None:
    """Refuse likelihood × prior that is greatest where floats end."""
    for j, axis in enumerate(space.axes):
        for side, end in enumerate(axis.limits):
            if np.isfinite(bulk.log_peak) and abs(bulk.centre[j] - end) < 1e-3 * abs(end):
                raise ImproperError.with_data(axis, side)


def refuse_improper_tails(whole: Integral) -> Tails:
    """Refuse an integral whose first axis has too much mass far out, the other axes integrated out.

    The density of the axis in log units (of the parameter, or of its distance from a finite bound) must fall faster
    than 1/distance^1.5 towards both ends: then doubling the range adds next to nothing. Powers of the parameter fall
    exponentially in these units, and a density such as 1/θ, whose integral diverges slowly, does not fall at all.
    """
    j = whole.order[0]
    axis, centre, scale = whole.space.axes[j], whole.bulk.centre[j], whole.bulk.scale[j]
    # Tolerances relative to the tails, not to the bulk, and edges that do not miss a peak far from it.
    rule = replace(whole.rule, largest=[], edges=_closer(whole))
    straight = axis.bounded == (False, False)

    def log_density(distance: Array, sign: float) -> Array:
        t = sign * distance if straight else np.arcsinh(sign * distance / scale)
        with np.errstate(divide="ignore"):
            return np.log(rule.inner(t[:, None])) - (0.0 if straight else np.log(np.cosh(t)) + np.log(scale))

    total, beyond, power = float(whole.panels.masses.sum()), 0.0, np.inf
    for side, end in enumerate(axis.limits):
        sign = 1.0 if side else -1.0
        reach = sign * float(np.arcsinh((end - centre) / scale) if straight else end - centre)
        if reach < 2 * INSET:  # the bulk itself is at the end
            raise ImproperError.with_data(axis, side)
        distance = (reach - INSET) * np.array([1.0, NEAR])
        outer, inner = log_density(distance, sign)
        if outer > -np.inf:
            steepness = (outer - inner) / np.log(NEAR)
            if not steepness > STEEP:
                raise ImproperError.with_data(axis, side)
            beyond += float(np.exp(outer) * distance[0] / (steepness - 1))
        if not axis.bounded[side]:
            far, near = log_density(POWER_AT, sign)
            power = min(power, float((near - far) / (POWER_AT[0] - POWER_AT[1])) if far > -np.inf else np.inf)
    return Tails(beyond / total if total > 0 else np.inf, power)


def _closer(whole: Integral) -> list[Array]:
    """The edges of an integral of two axes with those of the inner one a log unit apart; of three, as they are."""
    if whole.space.size != 2:
        return whole.rule.edges
    j = whole.order[1]
    axis, inner = whole.space.axes[j], whole.rule.edges[1]
    if axis.bounded == (False, False):
        more = np.arange(inner[0], inner[-1])
    else:
        more = np.arcsinh((np.arange(*axis.limits) - whole.bulk.centre[j]) / whole.bulk.scale[j])
    ends = np.unique([*inner, *more])
    return [whole.rule.edges[0], ends[np.concatenate([[True], np.diff(ends) > 1e-9])]]
