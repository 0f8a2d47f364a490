"""Names for members that have none: a canonical order, and the matching of two fits."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.combinators.stack import Stack
from suffice.core.errors import SufficeError
from suffice.core.parameters import Array


def canonical(mixture: Any) -> Array:
    """The order of the members by their means, column after column; by falling weight where they have none.

    Members of different kinds keep the order in which they were given.
    """
    stack = mixture.components
    if isinstance(stack, Stack) and len({type(one) for one in stack.each}) > 1:
        return np.arange(mixture.n)
    places = _places(stack)
    keys = [] if places is None else list(places.T[::-1])
    return np.lexsort([-mixture.weights, *keys]) if keys else np.argsort(-mixture.weights, kind="stable")


def _places(stack: Any) -> Array | None:
    """The means of the members as points (k, q); None where they have no numbers."""
    try:
        means = [_flat(one.mean) for one in stack.each]
    except (SufficeError, AttributeError, TypeError, ValueError):
        return None
    places = np.array(means, dtype=float)
    return places if places.size and np.isfinite(places).all() else None


def _flat(mean: Any) -> Array:
    if isinstance(mean, dict):
        parts = [_number(value) for value in mean.values()]
        return np.concatenate([part for part in parts if part is not None] or [np.empty(0)])
    return np.asarray(mean, dtype=float).ravel()


def _number(value: Any) -> Array | None:
    try:
        return np.asarray(value, dtype=float).ravel()
    except (TypeError, ValueError):
        return None
