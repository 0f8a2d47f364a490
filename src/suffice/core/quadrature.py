"""Expectations by adaptive quadrature or summation, for what a family has no formula for. SciPy is loaded on first need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.core.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from suffice.core.parameters import Array

SUM_CHUNK = 4096
TAIL = 1e-17


def _require_numbers(dist: Any) -> None:
    if dist.support.core:
        msg = f"{dist.name} has no formula for this, and only distributions over numbers are integrated."
        raise UnsupportedError(msg)


def cellwise(dist: Any, question: Callable[[Any], float]) -> Any:
    """Ask each cell of a stack; the answers have the batch shape."""
    if not dist.batch:
        return question(dist)
    answers = np.empty(dist.batch)
    for place in np.ndindex(*dist.batch):
        answers[place] = question(dist.reshaped(lambda value, place=place: value[place]))
    return answers


def expectation(cell: Any, f: Callable[[Array], Array]) -> float:
    """E f(X) of a distribution of one number, to about 1e-10 relative."""
    _require_numbers(cell)
    return _sum(cell, f) if cell.discrete else _integral(cell, f)


def _sum(cell: Any, f: Callable[[Array], Array]) -> float:
    """Sum outwards in chunks until the probability that is left no longer matters."""
    low, high = cell.support.low, cell.support.high
    total, seen, begin = 0.0, 0.0, low
    while begin <= high:
        x = np.arange(begin, min(begin + SUM_CHUNK, high + 1))
        p = np.exp(cell.log_prob(x))
        with np.errstate(all="ignore"):
            terms = np.where(p > 0, p * f(x), 0.0)
        total, before, seen = total + float(terms.sum()), seen, seen + float(p.sum())
        if seen > 0.5 and ((p[-1] < TAIL and seen - before < 1e-15 * max(seen, 1e-300)) or p[-1] == 0):
            break
        begin += SUM_CHUNK
    return total


def _integral(cell: Any, f: Callable[[Array], Array]) -> float:
    """Integrate between break points that follow the bulk of the density."""
    from scipy.integrate import quad

    low, high, points = breaks(cell)

    def integrand(x: float) -> float:
        p = np.exp(cell.log_prob(x))
        return float(p * f(np.asarray(x))) if p > 0 else 0.0

    edges = [low, *points, high]
    parts = [
        quad(integrand, a, b, epsabs=1e-13, epsrel=1e-11, limit=200)[0]
        for a, b in zip(edges, edges[1:], strict=False)
        if b > a
    ]
    return float(np.sum(parts))


def breaks(cell: Any) -> tuple[float, float, list[float]]:
    """The support's ends and points between which the density is tame, found from the density alone."""
    low, high = cell.support.low, cell.support.high
    peak, width = bulk(cell)
    points = sorted({peak + side * width * 4.0**j for j in range(-4, 6) for side in (-1.0, 1.0)} | {peak})
    return low, high, [p for p in points if low < p < high]


def bulk(cell: Any) -> tuple[float, float]:
    """A point of high density and a length scale around it."""
    low, high = cell.support.low, cell.support.high
    ladder = np.concatenate([-np.logspace(8, -8, 129), [0.0], np.logspace(-8, 8, 129)])
    if np.isfinite(low) and np.isfinite(high):
        grid = low + (high - low) * (np.arange(513) + 0.5) / 513
    elif np.isfinite(low):
        grid = low + np.logspace(-8, 8, 257)
    elif np.isfinite(high):
        grid = high - np.logspace(-8, 8, 257)
    else:
        grid = ladder
    for _ in range(3):  # refine around the best point
        log_p = np.asarray(cell.log_prob(grid))
        log_p = np.where(np.isfinite(log_p), log_p, -np.inf)
        best = int(np.argmax(log_p))
        left, right = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        peak = grid[best]
        grid = np.linspace(left, right, 257)
    near = peak + np.concatenate([-np.logspace(6, -9, 200), np.logspace(-9, 6, 200)]) * max(abs(peak), 1.0)
    near = near[(near > low) & (near < high)]
    log_p = np.asarray(cell.log_prob(near))
    inside = near[log_p > cell.log_prob(peak) - 2.0]
    width = max((inside.max() - inside.min()) / 2, 1e-9 * max(abs(peak), 1.0)) if inside.size else 1.0
    return float(peak), float(width)


def moment(dist: Any, order: int) -> Any:
    """The mean (order 1) or the variance (order 2) of each cell."""

    def ask(cell: Any) -> float:
        mean = expectation(cell, lambda x: x)
        return mean if order == 1 else expectation(cell, lambda x: (x - mean) ** 2)

    return cellwise(dist, ask)


def cumulative(dist: Any, x: Array) -> Array:
    """P(X ≤ x) by integrating or summing the density."""
    _require_numbers(dist)
    shape = np.broadcast_shapes(np.shape(x), dist.batch)
    values, out = np.broadcast_to(x, shape), np.empty(shape)
    tail = len(shape) - len(dist.batch)
    for place in np.ndindex(*dist.batch):
        cell = dist.reshaped(lambda value, place=place: value[place]) if dist.batch else dist
        index = (slice(None),) * tail + place if dist.batch else ...
        out[index] = np.vectorize(lambda v, cell=cell: _cumulative(cell, float(v)), otypes=[float])(values[index])
    return out


def _cumulative(cell: Any, x: float) -> float:
    if cell.discrete:
        return min(_sum(cell, lambda v: (v <= x).astype(float)), 1.0)
    from scipy.integrate import quad

    low, high, points = breaks(cell)
    if x <= low:
        return 0.0
    edges = [low, *[p for p in points if p < x], min(x, high)]
    total = sum(
        quad(lambda t: float(np.exp(cell.log_prob(t))), a, b, epsabs=1e-13, epsrel=1e-11, limit=200)[0]
        for a, b in zip(edges, edges[1:], strict=False)
        if b > a
    )
    return min(total, 1.0)


def inverse(dist: Any, q: Array) -> Array:
    """Quantiles by bracketing the cumulative distribution."""
    _require_numbers(dist)
    shape = np.broadcast_shapes(np.shape(q), dist.batch)
    levels, out = np.broadcast_to(q, shape), np.empty(shape)
    tail = len(shape) - len(dist.batch)
    for place in np.ndindex(*dist.batch):
        cell = dist.reshaped(lambda value, place=place: value[place]) if dist.batch else dist
        index = (slice(None),) * tail + place if dist.batch else ...
        out[index] = _inverse(cell, np.asarray(levels[index]))
    return out


def _inverse(cell: Any, levels: Array) -> Array:
    """Invert a table of the cumulative distribution, each node integrated by Gauss–Legendre and refined by Newton."""
    low, high, points = breaks(cell)
    if cell.discrete:
        x = np.arange(low, low + SUM_CHUNK * 16 if np.isinf(high) else high + 1)
        table = np.cumsum(np.exp(cell.log_prob(x)))
        return np.asarray(x[np.minimum(np.searchsorted(table, levels - 1e-15), len(x) - 1)])
    from scipy.optimize import brentq

    inner = [p for p in points if low < p < high]
    heights = np.array([_cumulative(cell, p) for p in inner])

    def solve(level: float) -> float:
        if level <= 0 or level >= 1:
            return low if level <= 0 else high
        right = int(np.searchsorted(heights, level))
        a = inner[right - 1] if right else _outside(cell, low, inner[0], level, -1.0)
        b = inner[right] if right < len(inner) else _outside(cell, high, inner[-1], level, 1.0)
        return float(brentq(lambda v: _cumulative(cell, v) - level, a, b, xtol=1e-14, rtol=1e-13))

    return np.vectorize(solve, otypes=[float])(levels)


def _outside(cell: Any, bound: float, edge: float, level: float, side: float) -> float:
    """A point beyond ``edge`` on the other side of the level."""
    if np.isfinite(bound):
        return float(bound)
    step = max(abs(edge), 1.0)
    while side * (_cumulative(cell, edge + side * step) - level) < 0:
        step *= 4
    return edge + side * step


def relative_entropy(left: Any, right: Any) -> Any:
    """D(left‖right), column by column and added; infinite where ``right`` excludes what ``left`` makes."""
    if not (left.lone and right.lone) or left.batch != right.batch:
        msg = "kl compares two single distributions over the same columns; pick members of a stack with .each."
        raise UnsupportedError(msg)
    if left.discrete != right.discrete:
        return float("inf")
    total = 0.0
    for place in np.ndindex(*left.batch):
        p = left.reshaped(lambda value, place=place: value[place]) if left.batch else left
        q = right.reshaped(lambda value, place=place: value[place]) if right.batch else right
        total += expectation(p, lambda x, p=p, q=q: np.asarray(p.log_prob(x)) - np.asarray(q.log_prob(x)))
    return float(total)
