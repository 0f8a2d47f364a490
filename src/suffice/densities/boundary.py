"""Kernels that are not mirrored at a bound but made linear there, so that a slope at the bound stays a slope."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np

from suffice.densities.far import chunks
from suffice.densities.smooth import NODES, WEIGHTS, Smooth
from suffice.engines.once import cached_property
from suffice.types import Array

RULE = np.polynomial.legendre.leggauss(64)  # of the moments of a kernel that a bound cuts


@dataclass(frozen=True)
class LocallyLinear(Smooth):
    """A single column under Jones and Foster's boundary kernel, which is positive, divided by its integral.

    With aₗ = ∫uˡK over the part of the kernel between the bounds, f̄ = f₀/a₀ and f̃ = (a₂f₀ − a₁f₁)/(a₀a₂ − a₁²), where
    fₗ is the mean of zˡK(z), the density is f̄ exp(f̃/f̄ − 1). Away from bounds it is f₀ (Jones and Foster, 1996).
    """

    @cached_property
    def mirrored(self) -> tuple[Array, Array]:
        """The points alone."""
        return self.rows, self.weights

    def marginal(self, columns: list[int]) -> Smooth:
        """The density itself: there is one column."""
        return self

    def _log_prob_whole(self, x: Array) -> Array:
        return self._unscaled(x[:, 0]) - self._log_integral

    def _unscaled(self, t: Array) -> Array:
        out = np.full(len(t), -np.inf)
        inside = np.flatnonzero((t >= self.bounds[0][0]) & (t <= self.bounds[0][1]) & np.isfinite(t))
        if not len(inside):
            return out
        h, t = float(self.root[0, 0]), t[inside]
        found = self.line.log_sums(t) - log(self.total) - log(h)
        reach = self.reach * h
        near = np.flatnonzero((t - self.bounds[0][0] < reach) | (self.bounds[0][1] - t < reach))
        near = near[np.isfinite(found[near])]
        if len(near):
            a = self._moments_of_kernel(t[near])
            ratio = a[0] * (a[2] - a[1] * self._mean_distance(t[near])) / (a[0] * a[2] - np.square(a[1]))
            found[near] += ratio - 1 - np.log(a[0])
        out[inside] = found
        return out

    def _moments_of_kernel(self, t: Array) -> Array:
        """a₀, a₁ and a₂, (3, m)."""
        h, (low, high) = float(self.root[0, 0]), self.bounds[0]
        first = np.clip((t - high) / h, -self.reach, self.reach)
        half = (np.clip((t - low) / h, -self.reach, self.reach) - first) / 2
        u = first[:, None] + half[:, None] * (RULE[0] + 1)
        each = np.exp(self.kernel.log(u)) * RULE[1] * half[:, None]
        return np.stack([(each * u**power).sum(axis=1) for power in range(3)])

    def _mean_distance(self, t: Array) -> Array:
        """f₁/f₀: the mean of z = (t − x)/h, each point weighed by its kernel."""
        h, x = float(self.root[0, 0]), self._sorted[0]
        first = np.searchsorted(x, t - self.reach * h)
        last = np.maximum(np.searchsorted(x, t + self.reach * h, side="right"), first + 1)
        first = np.minimum(first, len(x) - 1)
        last = np.minimum(last, len(x))
        out = np.empty(len(t))
        for begin, end in chunks(last - first):
            length = last[begin:end] - first[begin:end]
            row = np.repeat(np.arange(end - begin), length)
            point = np.arange(len(row)) - (np.cumsum(length) - length - first[begin:end])[row]
            z = (t[begin:end][row] - x[point]) / h
            with np.errstate(divide="ignore"):
                score = self.kernel.log(z) + np.log(self._sorted[1][point])
            top = np.maximum.reduceat(score, np.cumsum(length) - length)
            each = np.exp(score - top[row])
            out[begin:end] = np.bincount(row, each * z, end - begin) / np.bincount(row, each, end - begin)
        return out

    @cached_property
    def _sorted(self) -> tuple[Array, Array]:
        order = np.argsort(self.rows[:, 0], kind="stable")
        return self.rows[order, 0], self.weights[order]

    @cached_property
    def _panel_masses(self) -> tuple[Array, Array, Array]:
        """Where panels begin, how wide they are, and the integral below each and all of them."""
        nodes, weights = (values.reshape(-1, len(NODES)) for values in self.panels)
        half = weights[:, 0] / WEIGHTS[0]
        begin = nodes[:, 0] - half * (NODES[0] + 1)
        mass = (np.exp(self._unscaled(nodes.ravel())).reshape(nodes.shape) * weights).sum(axis=1)
        return begin, 2 * half, np.concatenate([[0.0], np.cumsum(mass)])

    @cached_property
    def _log_integral(self) -> float:
        return float(np.log(self._panel_masses[2][-1]))

    def cumulative(self, x: Array) -> Array:
        """P(X ≤ x): the panels below, and a part of one."""
        begin, width, below = self._panel_masses
        flat = np.ravel(np.asarray(x, dtype=float))
        at = np.clip(np.searchsorted(begin, flat, side="right") - 1, 0, len(begin) - 1)
        half = np.clip(flat - begin[at], 0.0, width[at]) / 2
        nodes = begin[at, None] + half[:, None] * (NODES + 1)
        part = (np.exp(self._unscaled(nodes.ravel())).reshape(nodes.shape) * WEIGHTS * half[:, None]).sum(axis=1)
        share = np.clip((below[at] + part) / below[-1], 0.0, 1.0)
        share = np.where(flat >= self.ends[1], 1.0, np.where(flat < self.ends[0], 0.0, share))
        return np.where(np.isnan(flat), np.nan, share).reshape(np.shape(x))

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Rows (n, 1), by the inverse of the cumulative distribution."""
        return self.inverse(rng.random(n))[:, None]
