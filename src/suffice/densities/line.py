"""Kernel sums over points on a line: the density and its integral at any targets, for each kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from suffice.densities.far import chunks, log_sums
from suffice.densities.gauss_transform import Boxes
from suffice.densities.kernels import Compact, Kernel
from suffice.engines.once import cached_property
from suffice.types import Array

ENOUGH = 1e-4  # of the weight around: sums below are made anew from the nearest points, as 1e-14 of it may be rounding
ROUNDING = 1e-15  # of the whole weight: what a difference of cumulated sums may have lost
DIGITS = 1e-11  # relative: what a compact sum may lack before it is made anew


class Line(Protocol):
    """Points on a line under a kernel."""

    def log_sums(self, targets: Array) -> Array:
        """Log Σ w K((t − x)/h)."""

    def cumulated(self, targets: Array) -> Array:
        """Σ w ∫K up to (t − x)/h."""


def line(kernel: Kernel, x: Array, w: Array, h: float) -> Line:
    """The points (n,), in any order, with their weights under a kernel of bandwidth h."""
    order = np.argsort(x, kind="stable")
    return (
        CompactLine(kernel, x[order], w[order], h)
        if isinstance(kernel, Compact)
        else GaussianLine(x[order], w[order], h)
    )


@dataclass(frozen=True)
class GaussianLine:
    """Sorted points under Gaussians: the fast Gauss transform, and logarithms where it has lost digits."""

    x: Array
    w: Array
    h: float

    @cached_property
    def boxes(self) -> Boxes:
        """The moments of the points."""
        return Boxes.of(self.x, self.w, self.h)

    def log_sums(self, targets: Array) -> Array:
        """Log Σ w φ((t − x)/h), to 1e-10 of the sum."""
        sums, near = self.boxes.sums(targets)
        with np.errstate(divide="ignore", invalid="ignore"):
            out = np.log(sums)
        lost = np.flatnonzero(sums <= ENOUGH * near)
        if len(lost):
            out[lost] = log_sums(self.x, self.w, self.h, targets[lost])
        return out

    def cumulated(self, targets: Array) -> Array:
        """Σ w Φ((t − x)/h), to 1e-14 of Σ w."""
        return np.maximum(self.boxes.sums(targets, integrated=True)[0], 0.0)


@dataclass(frozen=True)
class CompactLine:
    """Sorted points under a kernel of radius 1: differences of cumulated sums, each about the middle of a box.

    Boxes are one bandwidth wide, so that a window meets three of them. Where few points of a large sample are seen, the
    difference has lost digits, and they are summed one by one.
    """

    kernel: Compact
    x: Array
    w: Array
    h: float

    def _placed(self, values: Array) -> tuple[Array, Array]:
        scaled = (values - self.x[0]) / self.h
        box = np.floor(scaled)
        return box, scaled - box - 0.5

    @cached_property
    def _boxes(self) -> Array:
        return self._placed(self.x)[0]

    def _cumulated_features(self, *, integrated: bool) -> Array:
        u = self._placed(self.x)[1]
        features = self.kernel.features(u, integrated=integrated) * self.w
        return np.concatenate([np.zeros((len(features), 1)), np.cumsum(features, axis=1)], axis=1)

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        return self._cumulated_features(integrated=False), self._cumulated_features(integrated=True)

    def _windows(self, targets: Array, *, integrated: bool) -> tuple[Array, Array, Array]:
        """Σ over the points nearer than h, and their range."""
        moments = self._moments[integrated]
        box, v = self._placed(targets)
        first = np.searchsorted(self.x, targets - self.h, side="right")
        last = np.maximum(np.searchsorted(self.x, targets + self.h), first)
        middle = np.searchsorted(self.x, targets, side="right")
        begin, end = np.searchsorted(self._boxes, box), np.searchsorted(self._boxes, box, side="right")
        ranges = (
            (first, np.clip(begin, first, last), v + 1, 1),
            (np.clip(begin, first, last), middle, v, 1),
            (middle, np.clip(end, first, last), v, -1),
            (np.clip(end, first, last), last, v - 1, -1),
        )
        total = np.zeros(len(targets))
        for left, right, where, side in ranges:
            slopes = self.kernel.slopes(where, side, integrated=integrated)
            total += np.einsum("pm,pm->m", slopes, moments[:, right] - moments[:, left])
        return total, first, last

    def log_sums(self, targets: Array) -> Array:
        """Log Σ w K((t − x)/h), −inf where no point is near."""
        sums, first, last = self._windows(targets, integrated=False)
        sums = np.where(last > first, sums, 0.0)
        lost = np.flatnonzero((sums * DIGITS <= ROUNDING * self._total) & (last > first))
        sums[lost] = self._one_by_one(targets[lost], first[lost], last[lost])
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum(sums, 0.0)))

    @cached_property
    def _total(self) -> float:
        return float(self.w.sum())

    def _one_by_one(self, targets: Array, first: Array, last: Array) -> Array:
        out = np.zeros(len(targets))
        for begin, end in chunks(last - first):
            length = last[begin:end] - first[begin:end]
            row = np.repeat(np.arange(end - begin), length)
            point = np.arange(len(row)) - (np.cumsum(length) - length - first[begin:end])[row]
            z = (targets[begin:end][row] - self.x[point]) / self.h
            out[begin:end] = np.bincount(row, self.w[point] * np.exp(self.kernel.log(z)), end - begin)
        return out

    def cumulated(self, targets: Array) -> Array:
        """Σ w ∫K up to (t − x)/h."""
        sums, first, _ = self._windows(targets, integrated=True)
        return np.asarray(np.maximum(sums + self._below[first], 0.0))

    @cached_property
    def _below(self) -> Array:
        return np.concatenate([[0.0], np.cumsum(self.w)])
