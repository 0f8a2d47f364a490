"""Parameters as coordinates, for families whose statistics are gathered given their parameters.

Sums of such statistics over several passes belong to several parameters, so that accelerated EM cannot combine them.
Its coordinates are then what the M-step makes of them: logarithms of positive parameters, log-odds of probabilities,
real numbers in units of their spread. Blocks with exact statistics keep theirs. Only families take part whose M-step is
proved to climb from any parameters (``monotone_from_anywhere``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from suffice.core.responsibilities import Joint
from suffice.em.linear_statistics import from_raw, pilot, raw
from suffice.numerics.lazy import special
from suffice.statistics.estimated import Estimated
from suffice.statistics.sums import Parts, Sums
from suffice.types import Array

ROUNDED = 2.0**-53  # a probability of 1 has finite log-odds that are farther than those of any other


def needs_estimate(stats: object) -> bool:
    """Whether statistics of a mixture hold sums that were gathered given parameters."""
    if isinstance(stats, Joint):
        return needs_estimate(stats.components)
    if isinstance(stats, Parts):
        return any(map(needs_estimate, stats.parts))
    return isinstance(stats, Sums) and not stats.exact


def with_parameters(stats: Any, distribution: Any) -> Any:
    """Statistics of a mixture, with the parameters of ``distribution`` in place of sums that depend on parameters."""
    if isinstance(stats, Joint):
        return replace(stats, components=with_parameters(stats.components, distribution.components))
    if not needs_estimate(stats):
        return stats
    if isinstance(stats, Parts) and distribution.blocks:
        blocks = distribution.blocks.values()
        return replace(
            stats, parts=tuple(with_parameters(part, one) for part, one in zip(stats.parts, blocks, strict=True))
        )
    if not distribution.monotone_from_anywhere:
        return stats  # which cannot be combined
    stack, specs = distribution.stacked, distribution.specs()
    values = tuple(np.asarray(getattr(stack, name), dtype=float) for name in stack.free)
    bounds = tuple((float(specs[name].domain.low), float(specs[name].domain.high)) for name in stack.free)
    return Estimated(tuple(stack.free), values, bounds, stats.weight, family=stats.family)


@pilot.register
def _(stats: Estimated) -> Any:
    units = []
    for value, (low, _) in zip(stats.values, stats.bounds, strict=True):
        middle = value.mean(axis=0)
        spread = np.sqrt(np.square(value - middle).mean(axis=0))
        unit = np.where(spread > 0, spread, np.where(middle != 0, np.abs(middle), 1.0))
        units.append(unit if low == -np.inf else np.ones(unit.shape))
    return tuple(units)


@raw.register
def _(stats: Estimated, about: Any) -> Array:
    parts = [_coordinate(*one).ravel() for one in zip(stats.values, stats.bounds, about, strict=True)]
    return np.concatenate(parts) if parts else np.zeros(0)


@from_raw.register
def _(stats: Estimated, vector: Array, about: Any) -> Any:
    moved = []
    cells = np.split(vector, np.cumsum([value.size for value in stats.values])[:-1]) if stats.values else []
    for part, value, (low, high), unit in zip(cells, stats.values, stats.bounds, about, strict=True):
        where = part.reshape(value.shape)
        with np.errstate(over="ignore"):
            new = where * unit if low == -np.inf else special.expit(where) if high < np.inf else low + np.exp(where)
        if not (np.isfinite(new) & (new > low)).all():
            return None
        moved.append(new)
    return replace(stats, values=tuple(moved))


def _coordinate(value: Array, bounds: tuple[float, float], unit: Array) -> Array:
    low, high = bounds
    if low == -np.inf:
        return np.asarray(value / unit)
    if high < np.inf:
        return np.asarray(special.logit(np.clip(value, ROUNDED, 1 - ROUNDED)))
    return np.asarray(np.log(np.maximum(value - low, np.finfo(float).tiny)))
