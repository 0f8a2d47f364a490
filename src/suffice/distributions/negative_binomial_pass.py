"""What a pass over counts computes for a NegativeBinomial: all components at once, one column at a time.

Where counts are small and rows many, every formula is computed once for each number from 0 to the largest count, and
the rows are counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.numerics.lazy import special
from suffice.numerics.special import MANY, digamma_rise, log_binomial, log_rising, repeated_counts, trigamma_fall
from suffice.statistics.sums import Sums

if TYPE_CHECKING:
    from suffice.statistics.weights import Weights
    from suffice.types import Array


def log_probability(x: Array, size: Array, p: Array) -> Array:
    """Log probability of counts; without the large terms that cancel where counts or sizes are large."""
    if max(np.max(size, initial=0.0), np.nanmax(x, initial=0.0)) > MANY:
        return np.asarray(log_binomial(size, x, p) - np.log1p(x / size))
    return np.asarray(log_rising(size, x) - special.gammaln(x + 1.0) + size * np.log(p) + special.xlog1py(x, -p))


def _of_components(x: Array, size: Array, p: Array) -> Array:
    """Log probability (n, k) of counts (n,) under each component, each with the formula that suits it alone."""
    out = np.empty((len(x), len(size)))
    large = (size > MANY) | (np.nanmax(x, initial=0.0) > MANY)
    for those in (large, ~large):
        if those.any():
            out[:, those] = log_probability(x[:, None], size[those], p[those])
    return out


def _terms(x: Array, size: Array, mean: Array) -> Array:
    """x, Σ r/(r+j) and Σ rj/(r+j)² over j < x (two derivatives of log Γ(x+r) in log r), and (x − mean)²: (n, k, 4)."""
    x = x[:, None]
    slope = size * digamma_rise(size, x)
    bend = np.maximum(slope - np.square(size) * trigamma_fall(size, x), 0.0)
    return np.stack([np.broadcast_to(x, slope.shape), slope, bend, np.square(x - mean)], axis=-1)


def count_log_density(stack: Any, x: Array) -> Array:
    """Log probability (n, k) of rows (n, d) of counts."""
    out = np.zeros((len(x), stack.n_components))
    inside, missing = stack.support.contains(x), np.isnan(x)
    size, p = np.asarray(stack.size), np.asarray(stack.p)
    for column in range(x.shape[1]):
        kept = inside[:, column]
        cells = np.where(kept, x[:, column], 0.0).astype(float)
        places = repeated_counts(cells)
        with np.errstate(all="ignore"):
            numbers = cells if places is None else np.arange(places.max() + 1.0)
            table = _of_components(numbers, size[:, column], p[:, column])
        found = table if places is None else table[places]
        if not kept.all():
            found = np.where(kept[:, None], found, np.where(missing[:, column], 0.0, -np.inf)[:, None])
        out += found
    return out


def count_sums(stack: Any, x: Array, seen: Array | None, w: Weights) -> Sums:
    """Σ w of the terms and of the log probability under each component's parameters."""
    weights, (k, d) = w.dense(), (w.n_components, x.shape[1])
    size, p, mean = (np.asarray(value) for value in (stack.size, stack.p, stack.mean))
    weight, base, total = np.zeros((k, d)), np.zeros((k, d)), np.zeros((k, d, 4))
    for column in range(d):
        kept = np.ones(len(x), bool) if seen is None else seen[:, column]
        cells = np.where(kept, x[:, column], 0.0).astype(float)
        held = weights if seen is None else np.where(kept[:, None], weights, 0.0)
        places = repeated_counts(cells)
        if places is not None:
            cells = np.arange(places.max() + 1.0)
            held = np.stack([np.bincount(places, mine, len(cells)) for mine in held.T], axis=1)
        with np.errstate(all="ignore"):
            terms = _terms(cells, size[:, column], mean[:, column])
            scores = _of_components(cells, size[:, column], p[:, column])
        if not (held > 0).all():  # far counts may overflow, and 0 · ∞ is not 0
            terms, scores = np.where((held > 0)[..., None], terms, 0.0), np.where(held > 0, scores, 0.0)
        weight[:, column], base[:, column] = held.sum(axis=0), np.einsum("nk,nk->k", held, scores)
        total[:, column] = np.einsum("nk,nkt->kt", held, terms)
    return Sums(weight, base, total, exact=False)
