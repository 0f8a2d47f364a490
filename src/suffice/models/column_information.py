"""How much a column tells of who made a row, under the model itself.

D(component‖all) of a column is E log p_j(x) − log Σ π p(x) over the values that the component makes; the mean of it
over the components by their shares is the mutual information of the column and the component, in nats. Labels and
counts are summed, numbers are integrated over each component's own quantiles, and where there is no formula for that
rows are drawn.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from suffice.core.family import Family
from suffice.errors import SufficeError
from suffice.types import Array

NODES, FEWEST = 128, 8  # points of the integral over a component, and the least that say something
WORK = 1_000_000  # log densities that are computed for one page
WHOLE = 4096  # counts that are summed one by one
TAIL = 1e-10  # probability on either side of the counts that are summed
DRAWS = 2000  # of each cell whose family has no formula for quantiles
EVENTS = 200  # of each component, where a row is one event
STEP = 256  # columns at a time


def divergences(stack: Any, weights: Array) -> Array:
    """D(component‖all) of each column of a stack of independent columns, (k, d)."""
    stack = stack.stacked
    if hasattr(stack, "named"):
        return np.stack([_of_levels(stack.probs[:, j, : len(n)], weights) for j, n in enumerate(stack.named)], axis=1)
    k, d = stack.batch
    nodes = int(np.clip(WORK // (k * k * d), 0, NODES))
    if nodes < FEWEST:
        return np.full((k, d), np.nan)
    parts = (stack.reshaped(lambda v, a=a: v[:, a : a + STEP]) for a in range(0, d, STEP))
    with np.errstate(all="ignore"):
        return np.concatenate([_of_numbers(part, weights, nodes) for part in parts], axis=1)


def _of_levels(probs: Array, weights: Array) -> Array:
    """From probabilities (k, L)."""
    whole = weights @ probs
    with np.errstate(all="ignore"):
        return np.asarray(np.where(probs > 0, probs * (np.log(probs) - np.log(whole)), 0.0).sum(axis=1))


def _of_numbers(stack: Family, weights: Array, nodes: int) -> Array:
    k, d = stack.batch
    lattice = _lattice(stack) if stack.discrete else None
    if lattice is not None:
        logs = _logs(stack, lattice)  # (n, k, d)
        chances = np.exp(logs)
        return _mean(chances, logs, _mixed(logs, weights))
    values, chances = _values(stack, nodes)
    found = np.empty((k, d))
    for j in range(k):
        logs = _logs(stack, values[:, j])
        found[j] = _mean(chances[:, None, None], logs[:, j : j + 1], _mixed(logs, weights))[0]
    return found


def _values(stack: Family, nodes: int) -> tuple[Array, Array]:
    """Values (m, k, d) of every cell, and the chance (m,) that each of them stands for.

    They are quantiles at Gauss's points in t, where u = ½ + (3t − t³)/4: the tails, in which log p has no bound, get
    points enough. A family without a formula for its quantiles is drawn from.
    """
    if not stack.quick_quantiles:
        many = DRAWS * nodes // NODES
        return np.asarray(stack.draw(many, np.random.default_rng(0))), np.full(many, 1.0 / many)
    t, chances = _gauss(nodes)
    levels = 0.5 + (3 * t - t**3) / 4
    return np.asarray(stack.inverse(levels[:, None, None])), chances * 0.75 * (1 - t**2)


@cache
def _gauss(nodes: int) -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(nodes)


def _lattice(stack: Family) -> Array | None:
    """All counts that some component makes, (n, d); None where they are too many."""
    ends = np.asarray(stack.inverse(np.array([TAIL, 1 - TAIL])[:, None, None]))
    low, high = ends[0].min(axis=0), ends[1].max(axis=0)
    if not np.isfinite([low, high]).all() or (high - low).max() >= WHOLE:
        return None
    return np.asarray(low + np.arange(int((high - low).max()) + 1)[:, None])


def _logs(stack: Family, x: Array) -> Array:
    """Log densities of cells (n, d) under each component, (n, k, d)."""
    inside = stack.support.contains(x)
    return np.stack([np.where(inside, one.log_cell(x), -np.inf) for one in stack.unstacked], axis=1)


def _mixed(logs: Array, weights: Array) -> Array:
    """Log Σ π p of each cell, (n, 1, d)."""
    scores = logs + np.log(weights)[:, None]
    top = scores.max(axis=1, keepdims=True)
    return np.asarray(top + np.log(np.exp(scores - top).sum(axis=1, keepdims=True)))


def _mean(chances: Array, logs: Array, whole: Array) -> Array:
    """Σ p (log p − log of the mixture); never below 0, as the integral is not."""
    return np.asarray(np.maximum(np.where(chances > 0, chances * (logs - whole), 0.0).sum(axis=0), 0.0))


def apart(components: list[list[tuple[float, Any]]], weights: Array) -> Array:
    """D(component‖all) of one column (k,).

    Components are unlike, each itself a mixture of (share, stack of one cell).
    """
    families = [(j, share, one) for j, parts in enumerate(components) for share, one in parts if share > 0]
    with np.errstate(all="ignore"):
        if all(hasattr(one, "named") for _, _, one in families):
            return _of_levels(_common(components, families), weights)
        if any(hasattr(one, "named") for _, _, one in families):
            return np.full(len(components), np.nan)
        found = np.zeros(len(components))
        for j, share, family in families:
            x, chances = _points(family)
            own = np.stack([np.logaddexp.reduce([_at(one, x) + np.log(s) for s, one in parts]) for parts in components])
            scores = own + np.log(weights)[:, None]
            found[j] += share * float(
                np.where(chances > 0, chances * (own[j] - np.logaddexp.reduce(scores)), 0.0).sum()
            )
    return np.maximum(found, 0.0)


def _common(components: Any, families: Any) -> Array:
    """Probabilities (k, L) over the levels that any family has."""
    levels = list(dict.fromkeys(level for _, _, one in families for level in one.named[0]))
    place = {level: i for i, level in enumerate(levels)}
    probs = np.zeros((len(components), len(levels)))
    for j, share, one in families:
        for level, p in zip(one.named[0], np.asarray(one.probs)[0, 0], strict=False):
            probs[j, place[level]] += share * p
    return probs


def _points(family: Family) -> tuple[Array, Array]:
    """Values of one cell and the chance that each stands for."""
    lattice = _lattice(family) if family.discrete else None
    if lattice is not None:
        x = lattice[:, 0]
        return x, np.exp(_at(family, x))
    values, chances = _values(family, NODES)
    return values[:, 0, 0], chances


def _at(family: Family, x: Array) -> Array:
    return _logs(family, x[:, None])[:, 0, 0]


def drawn(stack: Family, weights: Array) -> Array:
    """D(component‖all) of rows that are one event (k,), from draws with a fixed seed; NaN where none can be drawn."""
    rng = np.random.default_rng(0)
    found = np.empty(len(weights))
    try:
        with np.errstate(all="ignore"):
            for j, one in enumerate(stack.unstacked):
                logs = np.asarray(stack.log_density(stack.read(one.sample(EVENTS, rng))))
                scores = logs + np.log(weights)
                found[j] = np.mean(logs[:, j] - np.logaddexp.reduce(scores, axis=1))
    except (SufficeError, TypeError, ValueError):
        return np.full(len(weights), np.nan)
    return np.maximum(found, 0.0)
