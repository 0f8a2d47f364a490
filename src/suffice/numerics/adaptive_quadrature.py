"""Adaptive quadrature of one to three dimensions, vectorised: panels that split until their interpolant is resolved.

A panel holds the values of the integrand at Gauss–Lobatto nodes. The last Legendre coefficients of its interpolant
say whether it is resolved; if not, the panel is halved. So jumps and kinks cost halvings, smooth stretches nothing,
and the panels that remain give integrals, moments, the cumulative distribution and its inverse without evaluating
the integrand again. Several dimensions are nested, which keeps jumps along any curve harmless.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.polynomial import legendre

from suffice.types import Array

CHUNK = 1 << 16  # points that are evaluated at once
MOST_PANELS = 4000  # of one integral: more would mean that the integrand is noise
ROUNDS = 60
NEGLIGIBLE = 1e-24  # of the peak: panels whose ends and middle lie below are left out


@lru_cache(maxsize=4)
def rule(order: int) -> tuple[Array, Array, Array, Array]:
    """Lobatto's nodes and weights on [−1, 1], values → Legendre coefficients, and those → of the antiderivative.

    The ends are nodes: a jump close to the edge of a panel does not hide between the edge and the first node.
    """
    highest = np.eye(order)[-1]
    nodes = np.concatenate([[-1.0], np.sort(legendre.legroots(legendre.legder(highest)).real), [1.0]])
    weights = 2.0 / (order * (order - 1) * np.square(legendre.legval(nodes, highest)))
    to_coefficients = np.linalg.inv(legendre.legvander(nodes, order - 1))
    antiderivative = np.stack([legendre.legint(row, lbnd=-1) for row in np.eye(order)], axis=1)
    return nodes, weights, to_coefficients, antiderivative


@dataclass(frozen=True)
class Panels:
    """Resolved panels of a batch of one-dimensional integrals, in the order of batch and position."""

    batch: Array  # (P,) which integral
    low: Array
    high: Array
    values: Array  # (P, order)
    error: float = 0.0

    @property
    def nodes(self) -> Array:
        """Where the values stand, (P, order)."""
        x = rule(self.values.shape[1])[0]
        return (0.5 * (self.low + self.high))[:, None] + (0.5 * (self.high - self.low))[:, None] * x

    @property
    def weights(self) -> Array:
        """Quadrature weights of the nodes, (P, order)."""
        return (0.5 * (self.high - self.low))[:, None] * rule(self.values.shape[1])[1]

    @property
    def masses(self) -> Array:
        """The integral of each panel."""
        return np.asarray((self.weights * self.values).sum(axis=1))

    def totals(self, count: int) -> Array:
        """The integral of each component of the batch."""
        return np.bincount(self.batch, self.masses, count)

    def quantile(self, component: Array, level: Array, count: int) -> Array:
        """The point below which a share ``level`` of the integral of ``component`` lies."""
        _, _, to_coefficients, antiderivative = rule(self.values.shape[1])
        order = np.lexsort((self.low, self.batch))
        masses = np.maximum(self.masses[order], 0.0)
        ends = np.cumsum(masses)
        total = np.bincount(self.batch, self.masses.clip(0), count)
        before = np.concatenate([[0.0], np.cumsum(total)])[component]
        first = np.searchsorted(self.batch[order], np.arange(count))
        last = np.searchsorted(self.batch[order], np.arange(count), side="right") - 1
        goal = before + level * total[component]
        at = np.clip(np.searchsorted(ends, goal), first[component], last[component])
        panel = order[at]
        need = goal - (ends[at] - masses[at])
        half = 0.5 * (self.high - self.low)[panel]
        curve = antiderivative @ (to_coefficients @ self.values[panel].T) * half  # (order + 1, n)
        left, right = np.full(len(panel), -1.0), np.full(len(panel), 1.0)
        for _ in range(54):
            middle = 0.5 * (left + right)
            short = legendre.legval(middle, curve, tensor=False) < need
            left, right = np.where(short, middle, left), np.where(short, right, middle)
        return np.asarray(0.5 * (self.low + self.high)[panel] + half * 0.5 * (left + right))

    def cumulative(self, points: Array) -> Array:
        """The share of the integral below each point, where there is one integral."""
        _, _, to_coefficients, antiderivative = rule(self.values.shape[1])
        order = np.argsort(self.low)
        masses = np.maximum(self.masses[order], 0.0)
        ends = np.cumsum(masses)
        at = np.clip(np.searchsorted(self.high[order], points), 0, len(order) - 1)
        panel = order[at]
        half = 0.5 * (self.high - self.low)[panel]
        within = np.clip((points - 0.5 * (self.low + self.high)[panel]) / half, -1.0, 1.0)
        curve = antiderivative @ (to_coefficients @ self.values[panel].T) * half
        part = legendre.legval(within, curve, tensor=False)
        return np.asarray(np.clip((ends[at] - masses[at] + part) / ends[-1], 0.0, 1.0))


@dataclass
class Nested:
    """∫ exp(log_f(t) − peak) dt over the boxes between the first and the last edge of every axis.

    ``log_f`` takes points (N, p). ``tolerances`` are relative to the largest integral of each axis, loosest first.
    """

    log_f: Callable[[Array], Array]
    edges: list[Array]
    peak: float
    order: int
    tolerances: tuple[float, ...]
    largest: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin with no idea of the size of the integrals."""
        self.largest = [0.0] * len(self.edges)

    def density(self, points: Array) -> Array:
        """exp(log_f − peak) in chunks."""
        parts = [self.log_f(points[i : i + CHUNK]) for i in range(0, len(points), CHUNK)]
        with np.errstate(all="ignore"):
            return np.exp(np.concatenate(parts) - self.peak) if parts else np.zeros(0)

    def inner(self, points: Array) -> Array:
        """What is left at the points after the axes that follow are integrated out."""
        axis = points.shape[1]
        if axis == len(self.edges):
            return self.density(points)
        step = max(CHUNK >> (4 * (len(self.edges) - axis)), 64)
        return np.concatenate(
            [self.panels(points[i : i + step]).totals(len(points[i : i + step])) for i in range(0, len(points), step)]
        )

    def panels(self, outer: Array) -> Panels:
        """Resolved panels of the next axis, one integral for each row of ``outer`` (B, axes so far)."""
        count, axis = outer.shape
        _, weights, to_coefficients, _ = rule(self.order)
        batch, low, high = self._begin(outer)
        kept: list[Panels] = []
        sums, doubts = np.zeros(count), np.zeros(count)
        for turn in range(ROUNDS):
            raw = Panels(batch, low, high, np.zeros((len(batch), self.order)))
            values = self.inner(_join(outer, np.repeat(batch, self.order), raw.nodes.ravel())).reshape(-1, self.order)
            half = 0.5 * (high - low)
            masses = half * (values @ weights)
            error = half * np.abs(values @ to_coefficients[-3:].T).max(axis=1, initial=0.0)
            now = sums + np.bincount(batch, masses, count)
            self.largest[axis] = max(self.largest[axis], float(now.max(initial=0.0)))
            allowed = self.tolerances[axis] * np.maximum(now, self.largest[axis])
            wide = high - low > 1e-14 * np.maximum(np.maximum(np.abs(low), np.abs(high)), 1e-3)
            split = (error > allowed[batch] / 16) & wide
            if turn == ROUNDS - 1 or sum(len(part.batch) for part in kept) + len(batch) > MOST_PANELS * count:
                split[:] = False
            stay = ~split
            kept.append(Panels(batch[stay], low[stay], high[stay], values[stay]))
            sums += np.bincount(batch[stay], masses[stay], count)
            doubts += np.bincount(batch[stay], error[stay], count)
            if not split.any():
                break
            batch, low, high = batch[split], low[split], high[split]
            middle = 0.5 * (low + high)
            batch, low, high = np.tile(batch, 2), np.concatenate([low, middle]), np.concatenate([middle, high])
        batch, low, high, values = (
            np.concatenate([getattr(part, name) for part in kept]) for name in ("batch", "low", "high", "values")
        )
        return Panels(batch, low, high, values, float(doubts.max(initial=0.0)))

    def _begin(self, outer: Array) -> tuple[Array, Array, Array]:
        """The first panels: those between the edges that are not negligible everywhere one looks."""
        count, axis = outer.shape
        edges = self.edges[axis]
        looked = np.sort(np.concatenate([edges, 0.5 * (edges[1:] + edges[:-1])]))
        rows = np.repeat(np.arange(count), len(looked))
        seen = self.inner(_join(outer, rows, np.tile(looked, count))).reshape(count, -1)
        best = np.maximum(np.maximum(seen[:, :-2:2], seen[:, 1::2]), seen[:, 2::2])  # (B, panels)
        reference = 1.0 if axis == len(self.edges) - 1 else float(seen.max(initial=0.0))
        batch, panel = np.nonzero(best > NEGLIGIBLE * reference)
        return batch, edges[panel], edges[panel + 1]

    def all_nodes(self, outer: Panels) -> tuple[Array, Array]:
        """Every node of the nested rule (N, p) below the panels of the first axis, and its share of the integral."""
        points, shares = outer.nodes.reshape(-1, 1), outer.weights.ravel()
        keep = outer.values.ravel() * shares > 1e-18 * float(outer.masses.sum())
        points, shares, values = points[keep], shares[keep], outer.values.ravel()[keep]
        while points.shape[1] < len(self.edges):
            step, found = 256, []
            for i in range(0, len(points), step):
                part = self.panels(points[i : i + step])
                flat = np.repeat(part.batch, self.order)
                here = _join(points[i : i + step], flat, part.nodes.ravel())
                found.append((here, shares[i : i + step][flat] * part.weights.ravel(), part.values.ravel()))
            points, shares, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
            keep = shares * values > 1e-18 * float((shares * values).sum())
            points, shares, values = points[keep], shares[keep], values[keep]
        mass = shares * values
        return points, mass / mass.sum()


def _join(outer: Array, rows: Array, last: Array) -> Array:
    return np.concatenate([outer[rows], last[:, None]], axis=1)
