"""Sums of Gaussians over many points, to rounding and in linear time: the fast Gauss transform in one dimension.

Points are put into boxes half a bandwidth wide. Around the middle of a box, u = (x − middle) / h is at most 1/4, so
that few moments Σ w uᵖ/p! tell what its points add elsewhere (Greengard and Strain, 1991):

    φ(D + v − u) = Σ_p Σ_q φ⁽ᵖ⁺𐞥⁾(D) · vᑫ/q! · (−u)ᵖ/p!,    D the distance between two boxes in bandwidths.

With ORDER terms the error of a sum is below 1e-14 of the weight within REACH bandwidths.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial, sqrt

import numpy as np
from scipy.special import ndtr

from suffice.types import Array

WIDTH = 0.5  # of a box, in bandwidths: wider ones need more moments, narrower ones more pairs of boxes
ORDER = 18  # (1/4)¹⁸ / √18! = 2e-19 before the derivatives of pair_sum take six orders of it
REACH = 10.0  # bandwidths: φ(10) = 8e-23, and He₆(10) φ(10) = 6e-17
BLOCK = 1 << 14  # points whose moments are gathered together
NEAR = int(REACH / WIDTH)  # boxes to each side
FACTORIALS = np.array([float(factorial(p)) for p in range(ORDER + 1)])


def derivatives_of_normal(z: Array, highest: int) -> Array:
    """φ, φ′, φ″, … of the standard normal density at z, (highest + 1, …): (−1)ⁿ Heₙ φ."""
    out = np.empty((highest + 1, *np.shape(z)))
    out[0] = np.exp(-0.5 * np.square(z)) / sqrt(2 * np.pi)
    if highest:
        out[1] = -z * out[0]
    for n in range(1, highest):
        out[n + 1] = -z * out[n] - n * out[n - 1]
    return out


def _placed(x: Array, h: float) -> tuple[Array, Array]:
    """The number of each value's box, and its distance from the middle in bandwidths."""
    box = np.floor(x / (WIDTH * h))
    return box, x / h - (box + 0.5) * WIDTH


@dataclass(frozen=True)
class Boxes:
    """Weighted points as moments of the boxes that they fill.

    Attributes
    ----------
    number
        Which boxes hold points, ascending, (b,).
    moments
        Σ w uᵖ/p! of each, (b, ORDER + 1).
    origin, h
        Where box 0 begins, and the bandwidth.
    """

    number: Array
    moments: Array
    origin: float
    h: float

    @classmethod
    def of(cls, x: Array, weights: Array, h: float) -> Boxes:
        """The boxes of points (n,), in any order, with weights (n,)."""
        if (x[1:] < x[:-1]).any():
            order = np.argsort(x, kind="stable")
            x, weights = x[order], weights[order]
        origin = float(x[len(x) // 2])
        box, u = _placed(x - origin, h)
        starts = np.flatnonzero(np.concatenate([[True], box[1:] != box[:-1]]))
        number = box[starts]
        moments = np.zeros((ORDER + 1, len(number)))
        for begin in range(0, len(x), BLOCK):  # of points that stay in the cache
            end = min(begin + BLOCK, len(x))
            first, last = np.searchsorted(starts, [begin, end])
            inside = starts[first:last] - begin
            if not len(inside) or inside[0]:  # the box of the point before goes on
                first, inside = first - 1, np.concatenate([[0], inside])
            power, away = np.array(weights[begin:end], dtype=float), u[begin:end]
            for p in range(ORDER + 1):
                moments[p, first:last] += np.add.reduceat(power, inside)
                power *= away
        moments /= FACTORIALS[:, None]
        return cls(number, np.ascontiguousarray(moments.T), origin, h)

    def _matched(self, wanted: Array) -> tuple[Array, Array]:
        """Which of the wanted boxes there are, and their places."""
        place = np.minimum(np.searchsorted(self.number, wanted), len(self.number) - 1)
        found = np.flatnonzero(self.number[place] == wanted)
        return found, place[found]

    def pair_sum(self, derivative: int = 0) -> float:
        """Σᵢ Σⱼ wᵢ wⱼ φ⁽ʳ⁾((xᵢ − xⱼ)/h) over all pairs, i = j too, for an even r."""
        signs = (-1.0) ** np.arange(ORDER + 1)
        orders = np.add.outer(np.arange(ORDER + 1), np.arange(ORDER + 1)) + derivative
        table = derivatives_of_normal(WIDTH * np.arange(NEAR + 1), 2 * ORDER + derivative)
        total = 0.0
        for offset in range(NEAR + 1):
            first, second = self._matched(self.number - offset)
            kernel = table[orders, offset] * signs
            part = float(np.sum((self.moments[first] @ kernel) * self.moments[second]))
            total += part if offset == 0 else 2 * part
        return total

    def sums(self, targets: Array, *, integrated: bool = False, slope: bool = False) -> tuple[Array, Array]:
        """Σ w φ((t − x)/h) at targets (m,), and Σ w of the points that are near enough to matter.

        ``integrated`` sums Φ instead of φ, ``slope`` the derivative φ′.
        """
        box, v = _placed(targets - self.origin, self.h)
        number, index = np.unique(box, return_inverse=True)
        local, near, below = self._local(number)
        if integrated:  # ∫φ(v) dv = Φ at the middle of the box, and the Taylor series term by term
            local = np.concatenate([below[:, None], local / np.arange(1, ORDER + 2)], axis=1)
        if slope:
            local = local[:, 1:] * np.arange(1, ORDER + 1)
        columns = np.ascontiguousarray(local.T)
        out = columns[-1][index]
        for column in columns[-2::-1]:
            out = out * v + column[index]
        return out, near[index]

    def _local(self, number: Array) -> tuple[Array, Array, Array]:
        """Taylor coefficients of Σ w φ around the middle of boxes, the weight near them, and Σ w Φ at the middle."""
        size = ORDER + 1
        signs = (-1.0) ** np.arange(size)
        orders = np.add.outer(np.arange(size), np.arange(size))
        local, near, below = np.zeros((len(number), size)), np.zeros(len(number)), np.zeros(len(number))
        distance = WIDTH * np.arange(-NEAR, NEAR + 1)
        table = derivatives_of_normal(distance, 2 * ORDER)
        for at, offset in enumerate(range(-NEAR, NEAR + 1)):
            found, place = self._matched(number - offset)
            if not len(found):
                continue
            moments = self.moments[place]
            local[found] += moments @ (table[orders, at] * signs[:, None] / FACTORIALS)
            near[found] += moments[:, 0]
            below[found] += ndtr(distance[at]) * moments[:, 0] + moments[:, 1:] @ (signs[1:] * table[:ORDER, at])
        cumulated = np.concatenate([[0.0], np.cumsum(self.moments[:, 0])])
        below += cumulated[np.searchsorted(self.number, number - NEAR)]
        return local, near, below
