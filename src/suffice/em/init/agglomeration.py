"""A hierarchy of round groups that differ in size: where mclust begins, too.

Ward's hierarchy joins the groups that raise the sum of squares within groups least, as if all had one variance, and so
cuts wide clusters rather than join them. Here each group has its own: the sum Σ n log((t + α)/n) over groups of n rows
with sum of squares t is what rises least, the classification likelihood of spheres (Banfield and Raftery 1993), and α,
the mean variance of a column, gives a spread to groups of one row (Fraley 1998).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from suffice.types import Array


def halfway(places: Array, held: Array) -> Array:
    """Rows in units halfway between their own and those of their covariance: principal axes by the roots of spreads."""
    weight = held / held.sum()
    centred = places - weight @ places
    values, vectors = np.linalg.eigh((centred * weight[:, None]).T @ centred)
    kept = values > 1e-9 * max(float(values[-1]), 1e-300)
    return np.ascontiguousarray(centred @ (vectors[:, kept] / values[kept] ** 0.25))


def owners(places: Array, held: Array, sizes: Iterable[int]) -> dict[int, Array]:
    """Owners (n,) of rows in as many groups as each of the sizes; along one column groups of equal weight."""
    asked = _possible(places, sizes)
    if not asked:
        return {}
    if places.shape[1] == 1:
        found = {size: _quantiles(places[:, 0], held, size) for size in asked}
        return {size: codes for size, codes in found.items() if len(np.unique(codes)) == size}
    return _joined(held.astype(float), halfway(places, held), asked)


def of_unlike_sizes(places: Array, held: Array, sizes: Iterable[int]) -> dict[int, Array]:
    """Owners (n,) by the same hierarchy in the units of the places."""
    asked = _possible(places, sizes)
    return _joined(held.astype(float), places.copy(), asked) if asked else {}


def by_squares(places: Array, held: Array, sizes: Iterable[int]) -> dict[int, Array]:
    """Owners (n,) by Ward's hierarchy, of rows that count by their weights."""
    asked = _possible(places, sizes)
    return _joined(held.astype(float), places.copy(), asked, alike=True) if asked else {}


def _possible(places: Array, sizes: Iterable[int]) -> set[int]:
    """The sizes that tell rows apart."""
    return set() if (places == places[0]).all() else {size for size in sizes if 1 < size < len(places)}


def _quantiles(x: Array, held: Array, size: int) -> Array:
    """Owners (n,) between quantiles, each interpolated between the two rows about it, as R does."""
    order = np.argsort(x)
    ranked, below = x[order], np.cumsum(held[order])
    place = max(below[-1] - 1.0, 0.0) * np.arange(1, size) / size
    low, high = (
        ranked[np.minimum(np.searchsorted(below, at, "right"), len(x) - 1)] for at in (place // 1, place // 1 + 1)
    )
    return np.searchsorted(low + (place % 1) * (high - low), x, "right")


def _joined(weight: Array, mean: Array, sizes: set[int], *, alike: bool = False) -> dict[int, Array]:
    """Owners (m,) of rows after they were joined, the two that cost least, to groups of each of the sizes.

    ``alike``: as if all groups had one variance.
    """
    m, within = len(weight), np.zeros(len(weight))
    least = max(float(weight @ np.square(mean).mean(axis=1) / weight.sum()), 1e-300)
    own = weight * np.log((within + least) / weight)
    alive, codes, found = np.ones(m, bool), np.arange(m), {}

    def rises(i: int) -> Array:
        """What joining group i with each other adds."""
        both = weight + weight[i]
        apart = np.square(mean - mean[i]).sum(axis=1) * (weight * weight[i] / both)
        if alike:
            return np.asarray(np.where(alive, apart, np.inf))
        rise = both * np.log((within + within[i] + apart + least) / both) - own - own[i]
        return np.asarray(np.where(alive, rise, np.inf))

    table = np.empty((m, m))
    for i in range(m):
        table[i] = rises(i)
        table[i, i] = np.inf
    nearest = table.argmin(axis=1)
    height = table[np.arange(m), nearest]
    for left in range(m, 0, -1):
        if left in sizes:
            found[left] = np.unique(codes, return_inverse=True)[1]
        if left <= min(sizes):
            break
        i = int(height.argmin())
        i, j = sorted((i, int(nearest[i])))
        both = weight[i] + weight[j]
        away = mean[j] - mean[i]
        within[i] += within[j] + weight[i] * weight[j] / both * float(away @ away)
        mean[i] += weight[j] / both * away
        weight[i] = both
        own[i] = both * np.log((within[i] + least) / both)
        codes[codes == j] = i
        alive[j] = False
        table[j], table[:, j], height[j] = np.inf, np.inf, np.inf
        row = rises(i)
        row[i] = np.inf
        table[i], table[:, i] = row, row
        stale = alive & ((nearest == i) | (nearest == j))
        stale[i] = True
        nearest[stale] = table[stale].argmin(axis=1)
        lower = row < height
        nearest[lower & ~stale] = i
        height[alive] = table[alive, nearest[alive]]
    return found
