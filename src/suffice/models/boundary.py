"""Parameters that EM brings ever nearer to a bound: on it, where rows do not tell them from the bound.

Without a prior, how near EM comes depends only on when it ends: nothing that is said of an estimate may depend on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.core.family import Family
from suffice.numerics.low_rank import replace
from suffice.statistics.sums import Statistics
from suffice.types import Array

TRACE = 1e-3  # of a row: a probability that stands for less than it is on its way to 0, and passes ended before it came

EMPTY = 1e-8  # share of the rows below which a component has none


def without_rows(stats: Any) -> Array:
    """Which components (k,) have next to no rows."""
    return np.asarray(stats.count <= EMPTY * stats.count.sum())


def on_boundary_if_near(one: Any, stats: Any, row: float, prior: Any = None) -> Any:
    """The same parameters on the bounds of their domains, where rows do not tell them from these.

    Parameters that have a ``prior`` stay. ``row`` is the weight of one row.
    """
    if one.is_chain:
        return one
    if one.is_latent and not one.blocks:
        return _mixture_on_boundary(one, stats, row, prior)
    if one.blocks:
        paired = zip(*one.with_priors(stats, prior), strict=True)
        return one.rebuilt(on_boundary_if_near(block, part, row, own) for block, part, own in paired)
    return one if prior is not None else _family_on_boundary(one, stats, row)


def _mixture_on_boundary(mixture: Any, stats: Any, row: float, prior: Any) -> Any:
    weights = np.where(without_rows(stats), 0.0, mixture.weights)
    learned = "weights" in mixture.free and 0 < np.count_nonzero(weights) < mixture.n
    belief = mixture.priors(prior).get("components")
    return replace(
        mixture,
        weights=weights / weights.sum() if learned else mixture.weights,
        components=on_boundary_if_near(mixture.components, stats.components, row, belief),
    )


def _family_on_boundary(one: Family, stats: Statistics, row: float) -> Any:
    stack, moved = one.stacked, {}
    for name in one.free:
        domain = one.specs()[name].domain
        if not any(domain.closed):
            continue
        value = np.asarray(getattr(stack, name))
        chances = stack.chances(stats) / row
        chances = chances.sum(axis=0, keepdims=True) if name in one.tied else chances
        within = TRACE / np.maximum(chances, 1.0).reshape(*chances.shape, *(1,) * domain.core)
        there = domain.on_boundary_if_near(value, within)
        if (domain.on_boundary(there) & ~domain.on_boundary(value)).any():
            moved[name] = there
    return one.like(replace(stack, **moved)) if moved else one
