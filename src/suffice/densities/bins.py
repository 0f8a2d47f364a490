"""Where the bins of a histogram end: rules of width, Knuth's and Scargle's posteriors over the number of bins."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log, pi, sqrt

import numpy as np
from scipy.special import gammaln

from suffice.densities.bandwidth import Points
from suffice.types import Array

MOST = 1 << 16  # bins that a rule of width may make
CANDIDATES = 4096  # places where blocks may end: the search takes their square
FALSE_ALARMS = 0.05  # Scargle's p₀, the chance of a block that is noise
SEARCHED = 4  # times the bins of Scott's rule: how far Knuth's posterior is looked at


def _even(points: Points, width: float) -> Array:
    low, high = float(points.x[0]), float(points.x[-1])
    number = min(max(ceil((high - low) / width), 1), MOST) if width > 0 else 1
    return np.linspace(low, high, number + 1)


def _population_std(points: Points) -> float:
    return points.std * sqrt((points.n - 1) / points.n) if points.n > 1 else 0.0


def _scott(points: Points) -> Array:
    return _even(points, (24 * sqrt(pi) / points.n) ** (1 / 3) * _population_std(points))


def _freedman_diaconis(points: Points) -> Array:
    width = 2 * points.quartile_range * points.n ** (-1 / 3)
    return _even(points, width) if width > 0 else _scott(points)


def _sturges(points: Points) -> Array:
    return _even(points, float(points.x[-1] - points.x[0]) / (np.log2(points.n) + 1))


def counts(points: Points, edges: Array) -> Array:
    """Σ w in each bin; the last holds its right end."""
    below = np.concatenate([[0.0], np.cumsum(points.w)])
    at = np.searchsorted(points.x, edges)
    at[-1] = np.searchsorted(points.x, edges[-1], side="right")
    return np.diff(below[at])


def knuth_log_posterior(count: Array) -> float:
    """Log posterior of as many even bins, up to a constant (Knuth, 2019)."""
    m, n = len(count), float(count.sum())
    return float(n * log(m) + gammaln(m / 2) - m * gammaln(0.5) - gammaln(n + m / 2) + np.sum(gammaln(count + 0.5)))


def _knuth(points: Points) -> Array:
    most = min(max(SEARCHED * (len(_scott(points)) - 1), 50), MOST)
    low, high = float(points.x[0]), float(points.x[-1])

    def score(m: int) -> float:
        return knuth_log_posterior(counts(points, np.linspace(low, high, m + 1)))

    return np.linspace(low, high, max(range(1, most + 1), key=score) + 1)


def _blocks(points: Points) -> Array:
    """Bayesian blocks: the best partition, by dynamic programming over where the last block begins (Scargle, 2013)."""
    edges = np.concatenate([points.x[:1], (points.x[1:] + points.x[:-1]) / 2, points.x[-1:]])
    if len(edges) > CANDIDATES:
        share = np.concatenate([[0.0], np.cumsum(points.w)]) / points.n
        edges = edges[np.unique(np.searchsorted(share, np.linspace(0, 1, CANDIDATES)).clip(0, len(edges) - 1))]
    count = counts(points, edges)
    cost = 4 - log(73.53 * FALSE_ALARMS * points.n**-0.478)
    best, last = np.zeros(len(count)), np.zeros(len(count), int)
    below = np.concatenate([[0.0], np.cumsum(count)])
    for right in range(len(count)):
        length = edges[right + 1] - edges[: right + 1]
        inside = below[right + 1] - below[: right + 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            fit = np.where(inside > 0, inside * (np.log(inside) - np.log(length)), 0.0) - cost
        fit[1:] += best[:right]
        last[right] = int(np.argmax(fit))
        best[right] = fit[last[right]]
    ends, at = [len(count)], len(count)
    while at > 0:
        at = int(last[at - 1])
        ends.append(at)
    return np.asarray(edges[ends[::-1]])


RULES: dict[str, Callable[[Points], Array]] = {
    "fd": _freedman_diaconis,
    "scott": _scott,
    "sturges": _sturges,
    "knuth": _knuth,
    "blocks": _blocks,
}


def edges_of(points: Points, bins: str | int) -> Array:
    """The edges (b + 1,) of the bins of some values, by a rule or a number of even bins."""
    low, high = float(points.x[0]), float(points.x[-1])
    if low == high:
        least = 4 * max(abs(low) * np.finfo(float).eps, np.finfo(float).tiny)
        return np.array([low - least, high + least])
    found = np.linspace(low, high, bins + 1) if isinstance(bins, int) else RULES[bins](points)
    return np.unique(found)
