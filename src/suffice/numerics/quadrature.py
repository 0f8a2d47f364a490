"""Expectations, cumulative distributions and quantiles for what a family has no formula for.

Densities are integrated by Gauss–Legendre panels that follow the bulk of the density, approach finite ends of the
support geometrically and split until halving changes nothing; probabilities of whole numbers are summed outwards from
the mode, where there are many of them by panels too. All of it is vectorised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from suffice.errors import UnsupportedError
from suffice.types import Array

NODES, SHARES = np.polynomial.legendre.leggauss(20)
CHUNK, MOST_POINTS = 4096, 1 << 24  # whole numbers summed at first, and at most
FARTHEST = 2.0**52  # the last whole number that float64 tells from its neighbours
DEEPEST = 8  # halvings of a panel of whole numbers: more would resolve the rounding of the probabilities
TOLERANCE, NEGLIGIBLE = 1e-13, 1e-18  # relative to a panel's integral, so that tails are exact too; to the whole
ROUNDS, MOST_PANELS = 40, 2000  # more would resolve the rounding of the density


def _require_numbers(dist: Any) -> None:
    if dist.support.core or dist.row_vector or getattr(dist, "speaks_of", ()):
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
    """E f(X) of a distribution of one number, to about 1e-12 of the integral of its absolute value."""
    _require_numbers(cell)

    def weighed(x: Array) -> Array:
        p = np.exp(np.asarray(cell.log_prob(x)))
        with np.errstate(all="ignore"):
            return np.where(p > 0, p * f(x), 0.0)

    if cell.discrete:
        return _summed(cell, weighed)
    return float(_refined(weighed, *_panels(cell))[2].sum())


# ---- whole numbers ---------------------------------------------------------------------------------------------------
def _outwards(cell: Any) -> Iterator[tuple[Array, Array]]:
    """Chunks of whole numbers and their probabilities, upwards and then downwards from the mode, until none matters."""
    low, high = cell.support.low, cell.support.high
    middle = np.round(bulk(cell)[0]) if np.isinf(high) or np.isinf(low) or high - low > CHUNK else low
    for side, end in ((1.0, high), (-1.0, low)):
        begin, size, seen = middle if side > 0 else middle - 1, CHUNK, 0
        while side * (end - begin) >= 0 and seen < MOST_POINTS:
            x = begin + side * np.arange(min(size, side * (end - begin) + 1))
            p = np.exp(np.asarray(cell.log_prob(x)))
            yield x, p
            if p[-1] < 1e-18 and p[len(p) // 2 :].sum() < 1e-17:
                break
            begin, size, seen = begin + side * size, 2 * size, seen + size


def _summed(cell: Any, f: Callable[[Array], Array]) -> float:
    """Σ f over the whole numbers that matter: one by one near the mode, further out by ever wider panels."""

    def both(x: Array) -> Array:
        return np.stack([f(x), np.exp(np.asarray(cell.log_prob(x)))])

    low, high = cell.support.low, cell.support.high
    middle = float(np.round(bulk(cell)[0])) if high - low > CHUNK else low
    total = np.zeros(2)
    for side, end in ((1.0, high), (-1.0, low)):
        begin, power = middle if side > 0 else middle - 1, CHUNK.bit_length() - 1
        while side * (end - begin) >= 0 and abs(begin) < FARTHEST:
            room = side * (end - begin) + 1
            if room < 2**power:  # up to the end of the support
                power = int(np.log2(room))
            first = abs(begin - middle) <= 1
            part = both(begin + side * np.arange(2**power)).sum(axis=1) if first else _panel(both, begin, side, power)
            total += part
            if part[1] < 1e-18 and abs(begin - middle) >= CHUNK:
                break
            begin, power = begin + side * 2.0**power, power + 1
    if abs(total[1] - 1) > 1e-6:
        msg = f"the probabilities of {cell!r} add up to {total[1]:.6g} and not to 1: sums over them cannot be trusted."
        raise UnsupportedError(msg)
    return float(total[0])


def _panel(f: Callable[[Array], Array], begin: float, side: float, power: int, turn: int = 0) -> Array:
    """Σ f over 2^power whole numbers from ``begin`` on, split until halving changes nothing."""
    count = 2**power
    if power <= 12:
        return np.asarray(f(begin + side * np.arange(count)).sum(axis=-1))
    halves = [begin, begin + side * (count // 2)]
    whole = _ruled(f, begin, side, power)
    parts = [_ruled(f, half, side, power - 1) for half in halves]
    if (np.abs(parts[0] + parts[1] - whole) <= np.maximum(1e-12 * np.abs(whole), 1e-15)).all() or turn == DEEPEST:
        return np.asarray(parts[0] + parts[1])
    return np.asarray(sum(_panel(f, half, side, power - 1, turn + 1) for half in halves))


def _ruled(f: Callable[[Array], Array], begin: float, side: float, power: int) -> Array:
    """Σ f over 2^power whole numbers from a few of them, exact for polynomials."""
    places, shares = _rule(power)
    return np.asarray(f(begin + side * places) @ shares)


@cache
def _rule(power: int) -> tuple[Array, Array]:
    """Whole numbers below 2^power near Chebyshev's, and the weights that sum polynomials of them over all."""
    last, degree = 2.0**power - 1, 16
    places = np.round(last * (1 - np.cos(np.pi * (np.arange(degree) + 0.5) / degree)) / 2)
    powers = np.arange(degree)
    if power <= 14:
        sums = np.polynomial.chebyshev.chebvander(2 * np.arange(2**power) / last - 1, degree - 1).sum(axis=0)
    else:  # Euler and Maclaurin; odd polynomials sum to 0
        step = 2 / last
        sums = np.where(powers % 2 == 0, 2 / (1 - np.square(powers + 0.5 * (powers == 1))) / step + 1, 0.0)
        for order, factor in ((1, 1 / 6), (3, -1 / 360), (5, 1 / 15120)):
            slope = np.prod([(np.square(powers) - i * i) / (2 * i + 1) for i in range(order)], axis=0)
            sums = sums + np.where(powers % 2 == 0, factor * step**order * slope, 0.0)
    shares = np.linalg.solve(np.polynomial.chebyshev.chebvander(2 * places / last - 1, degree - 1).T, sums)
    return places, shares


def _masses(cell: object) -> tuple[Array, Array]:
    """All whole numbers that matter, in order, and P(X ≤ x) at each."""
    chunks = list(_outwards(cell))
    x, p = np.concatenate([c[0] for c in chunks]), np.concatenate([c[1] for c in chunks])
    order = np.argsort(x)
    return x[order], np.cumsum(p[order])


# ---- densities -------------------------------------------------------------------------------------------------------
def _gauss(f: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """The integral of f over each panel."""
    half = 0.5 * (high - low)
    x = (0.5 * (high + low))[:, None] + half[:, None] * NODES
    with np.errstate(all="ignore"):
        return np.asarray(half * (f(x.ravel()).reshape(x.shape) @ SHARES))


def _refined(f: Callable[[Array], Array], low: Array, high: Array) -> tuple[Array, Array, Array]:
    """Panels and their integrals, split until halving changes nothing; in the order of position."""
    kept: list[tuple[Array, Array, Array]] = []
    mass = _gauss(f, low, high)
    whole = float(np.abs(mass).sum())
    for turn in range(ROUNDS):
        middle = 0.5 * (low + high)
        left, right = _gauss(f, low, middle), _gauss(f, middle, high)
        narrow = high - low <= 1e-15 * np.maximum(np.abs(low), np.abs(high))
        endless = ~np.isfinite(left + right)  # splitting does not make an infinite integral finite
        allowed = np.maximum(TOLERANCE * (np.abs(left) + np.abs(right)), NEGLIGIBLE * whole)
        with np.errstate(invalid="ignore"):
            accurate = np.abs(left + right - mass) <= allowed
        many = sum(len(part[0]) for part in kept) + len(low) > MOST_PANELS
        good = accurate | endless | narrow | many | (turn == ROUNDS - 1)
        kept.append((low[good], high[good], (left + right)[good]))
        if good.all():
            break
        bad = ~good
        low, high = np.concatenate([low[bad], middle[bad]]), np.concatenate([middle[bad], high[bad]])
        mass = np.concatenate([left[bad], right[bad]])
        whole = max(whole, float(sum(np.abs(part[2]).sum() for part in kept) + np.abs(mass).sum()))
    order = np.argsort(np.concatenate([part[0] for part in kept]))
    lows, highs, masses = (np.concatenate([part[i] for part in kept])[order] for i in range(3))
    return lows, highs, masses


def _panels(cell: object) -> tuple[Array, Array]:
    """The first panels: around the bulk, outwards in growing steps, and towards finite ends in shrinking ones."""
    edges = breaks(cell)
    return edges[:-1], edges[1:]


def breaks(cell: Any) -> Array:
    """Points between which the density is tame, found from the density alone; the first and last hold all its mass."""
    low, high = cell.support.low, cell.support.high
    peak, width = bulk(cell)
    sides = []
    for side, end in ((-1.0, low), (1.0, high)):
        room = side * (end - peak)
        if np.isfinite(end):
            steps = np.exp2(-np.arange(0.0, 1000.0 if end == 0 else 60.0))
            towards = end - side * room * steps if room > 0 else np.empty(0)
            away = peak + side * width * np.exp2(np.arange(-2.0, 60.0, 0.25))
            away = away[side * (end - away) > 0.5 * room]
            reach = np.concatenate([_with_mass(cell, towards, end), away, [end]])
        else:
            reach = peak + side * width * np.concatenate([[0.25, 0.5, 0.75], np.exp2(np.arange(0.0, 600.0, 0.25))])
            reach = reach[np.abs(reach) < 1e300]
            reach = _with_mass(cell, reach, peak)
        sides.append(reach)
    return np.unique(np.concatenate([sides[0], [peak], sides[1]]))


def _with_mass(cell: Any, points: Array, origin: float) -> Array:
    """The points up to a little beyond the last that has any mass near it; ``origin`` is what they go from or to."""
    if not points.size:
        return points
    with np.errstate(all="ignore"):
        heavy = np.asarray(cell.log_prob(points)) + np.log(np.abs(points - origin)) > -90.0
    return points[: int(np.max(np.flatnonzero(heavy), initial=4)) + 3]


def bulk(cell: Any) -> tuple[float, float]:
    """A point of high density and a length scale around it."""
    low, high = cell.support.low, cell.support.high
    ladder = np.concatenate([-np.logspace(8, -8, 129), [0.0], np.logspace(-8, 8, 129)])
    if np.isfinite(low) and np.isfinite(high):
        grid = low + (high - low) * (np.arange(513) + 0.5) / 513
    elif np.isfinite(low):
        grid = low + np.logspace(-8, 16 if cell.discrete else 8, 385)
    elif np.isfinite(high):
        grid = high - np.logspace(-8, 16 if cell.discrete else 8, 385)
    else:
        grid = ladder
    for _ in range(12):  # refine around the best point
        grid = np.unique(np.round(grid) if cell.discrete else grid)
        log_p = np.asarray(cell.log_prob(grid))
        log_p = np.where(np.isfinite(log_p), log_p, -np.inf)
        best = int(np.argmax(log_p))
        left, right = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        peak = grid[best]
        if right - left <= (2.0 if cell.discrete else 1e-13 * abs(peak)):
            break
        grid = np.linspace(left, right, 257)
    near = peak + np.concatenate([-np.logspace(6, -14, 240), np.logspace(-14, 6, 240)]) * max(abs(peak), 1.0)
    near = near[(near > low) & (near < high)]
    log_p = np.asarray(cell.log_prob(near))
    inside = near[log_p > cell.log_prob(peak) - 2.0]
    width = max((inside.max() - inside.min()) / 2, 1e-14 * max(abs(peak), 1.0)) if inside.size else 1.0
    return float(peak), float(width)


def moment(dist: object, order: int) -> Any:
    """The mean (order 1) or the variance (order 2) of each cell."""

    def ask(cell: object) -> float:
        _require_numbers(cell)
        peak = bulk(cell)[0]  # far from the origin, an error of the mass would move E x but not E (x − peak)
        mean = peak + expectation(cell, lambda x: x - peak)
        return mean if order == 1 else expectation(cell, lambda x: (x - mean) ** 2)

    return cellwise(dist, ask)


def _by_cell(dist: Any, x: Array, answer: Callable[[Any, Array], Array]) -> Array:
    """The answers of each cell to its own values, under broadcasting with the batch."""
    _require_numbers(dist)
    shape = np.broadcast_shapes(np.shape(x), dist.batch)
    values, out = np.broadcast_to(x, shape), np.empty(shape)
    tail = len(shape) - len(dist.batch)
    for place in np.ndindex(*dist.batch):
        cell = dist.reshaped(lambda value, place=place: value[place]) if dist.batch else dist
        index = (slice(None),) * tail + place
        mine = np.asarray(values[index])
        out[index] = answer(cell, mine.ravel()).reshape(mine.shape)
    return out


def cumulative(dist: object, x: Array) -> Array:
    """P(X ≤ x) by integrating or summing the density."""
    return _by_cell(dist, x, _cumulative)


def _cumulative(cell: Any, x: Array) -> Array:
    if cell.discrete:
        points, heights = _masses(cell)
        place = np.searchsorted(points, x, side="right")
        return np.asarray(np.minimum(np.append(0.0, heights)[place], 1.0))
    table = _Table(cell)
    panel = np.clip(np.searchsorted(table.low, x, side="right") - 1, 0, len(table.low) - 1)
    inside = np.clip(x, table.low[panel], table.high[panel])
    return np.where(np.isnan(x), np.nan, np.clip(table.before[panel] + table.partial(panel, inside), 0.0, 1.0))


class _Table:
    """The cumulative distribution of one cell: the mass before each panel, and within a panel by integrating again."""

    def __init__(self, cell: Any) -> None:
        """Tabulate once."""
        self.cell = cell
        self.low, self.high, mass = _refined(self.density, *_panels(cell))
        ends = np.cumsum(mass)
        self.before, self.after = np.append(0.0, ends[:-1]), ends

    def density(self, x: Array) -> Array:
        """The density."""
        return np.asarray(np.exp(self.cell.log_prob(x)))

    def partial(self, panel: Array, x: Array) -> Array:
        """The mass from the left edge of each panel to x."""
        return _gauss(self.density, self.low[panel], x)


def inverse(dist: object, q: Array) -> Array:
    """Quantiles: a table of the cumulative distribution, then Newton's method kept inside the panel."""
    return _by_cell(dist, q, _inverse)


def _inverse(cell: Any, levels: Array) -> Array:
    if cell.discrete:
        points, heights = _masses(cell)
        return np.asarray(points[np.minimum(np.searchsorted(heights, levels - 1e-15), len(points) - 1)])
    table = _Table(cell)
    panel = np.clip(np.searchsorted(table.after, levels), 0, len(table.low) - 1)
    left, right = table.low[panel], table.high[panel]
    need = levels - table.before[panel]
    held = table.after[panel] - table.before[panel]
    with np.errstate(all="ignore"):
        x = left + (right - left) * np.clip(np.where(held > 0, need / held, 0.5), 0.0, 1.0)
        for _ in range(60):
            excess = table.partial(panel, x) - need
            left, right = np.where(excess < 0, x, left), np.where(excess < 0, right, x)
            trial = x - excess / table.density(x)
            trial = np.where((trial > left) & (trial < right), trial, 0.5 * (left + right))
            moved = np.abs(trial - x) > 1e-15 * np.abs(x)
            x = trial
            if not moved.any():
                break
    support = cell.support
    return np.asarray(np.where(levels <= 0, support.low, np.where(levels >= 1, support.high, x)))


def _excess(p: Any, q: Any) -> Callable[[Array], Array]:
    return lambda x: np.asarray(p.log_prob(x)) - np.asarray(q.log_prob(x))


def relative_entropy(left: Any, right: Any) -> Any:
    """D(left‖right), column by column and added; infinite where ``right`` excludes what ``left`` makes."""
    if not hasattr(right, "log_prob"):
        msg = f"kl compares with another distribution, such as Normal(); got {right!r:.60}."
        raise UnsupportedError(msg)
    if not (left.lone and right.lone) or left.batch != right.batch:
        msg = "kl compares two single distributions over the same columns; pick components of a stack with .each."
        raise UnsupportedError(msg)
    if left.discrete != right.discrete:
        return float("inf")
    total = 0.0
    for place in np.ndindex(*left.batch):
        p = left.reshaped(lambda value, place=place: value[place]) if left.batch else left
        q = right.reshaped(lambda value, place=place: value[place]) if right.batch else right
        total += expectation(p, _excess(p, q))
    return float(total)
