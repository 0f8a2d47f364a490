"""Logarithms of sums of Gaussians where they are small: the nearest points in full, by log-sum-exp."""

from __future__ import annotations

from math import log, pi

import numpy as np

from suffice.types import Array

PAIRS = 1 << 21  # that are in memory at a time
NEGLIGIBLE = 40.0  # nats below the nearest point: 4e-18 of its part, times as many points


def log_sums(x: Array, w: Array, h: float, targets: Array, without: Array | None = None) -> Array:
    """Log Σ w φ((t − x)/h) over sorted points (n,) at targets (m,).

    ``without`` names a point for each target, of which weight 1 is left out.
    """
    below = np.searchsorted(x, targets)
    left, right = np.maximum(below - 1, 0), np.minimum(below, len(x) - 1)
    nearest = np.minimum(np.abs(targets - x[left]), np.abs(targets - x[right]))
    if without is not None:  # the nearest of the others
        before, after = np.maximum(without - 1, 0), np.minimum(without + 1, len(x) - 1)
        away = np.minimum(
            np.where(without > 0, targets - x[before], np.inf),
            np.where(without < len(x) - 1, x[after] - targets, np.inf),
        )
        nearest = np.where(w[without] > 1, nearest, away)
    scaled = nearest / h
    span = NEGLIGIBLE + log(len(x)) + log(float(w.max() / w.min()))  # the nearest point may weigh least
    reach = h * np.sqrt(np.square(scaled) + 2 * span)
    reach = np.maximum(reach, nearest * (1 + 1e-12))
    first, last = np.searchsorted(x, targets - reach), np.searchsorted(x, targets + reach, side="right")
    out = np.empty(len(targets))
    for begin, end in chunks(last - first):
        part = slice(begin, end)
        length = last[part] - first[part]
        start = np.cumsum(length) - length
        row = np.repeat(np.arange(end - begin), length)
        point = np.arange(len(row)) - start[row] + first[part][row]
        z = (targets[part][row] - x[point]) / h
        near = scaled[part][row]
        mass = w[point]
        if without is not None:
            mass = np.where(point == without[part][row], np.maximum(mass - 1, 0.0), mass)
        exponent = np.minimum(-0.5 * (np.abs(z) - near) * (np.abs(z) + near), 0.0)  # above 0: the point left out
        total = np.add.reduceat(mass * np.exp(exponent), np.minimum(start, max(len(row) - 1, 0)))
        with np.errstate(divide="ignore"):
            out[part] = np.log(total) - 0.5 * np.square(scaled[part])
    return out - 0.5 * log(2 * pi)


def chunks(lengths: Array) -> list[tuple[int, int]]:
    """Ranges of targets that have about PAIRS pairs together."""
    ends = np.cumsum(lengths)
    cuts, begin = [], 0
    while begin < len(lengths):
        done = ends[begin - 1] if begin else 0
        end = max(int(np.searchsorted(ends, done + PAIRS, side="right")), begin + 1)
        cuts.append((begin, end))
        begin = end
    return cuts
