"""Statistics as points of a linear space: raw moments about a pilot, in units that make them comparable.

Accelerated EM combines the statistics of several passes with weights that may be negative. That is meaningful where the
M-step sees nothing but sums over rows. Every coordinate is a sum over rows, divided by what is typical for it.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from suffice.core.responsibilities import Joint
from suffice.kernels.numpy.quadratic import triangle
from suffice.numerics.low_rank import LowRank, replace
from suffice.statistics.moments import Moments, Scatter
from suffice.statistics.sums import Counts, Parts, Sums, share
from suffice.types import Array


@singledispatch
def pilot(stats: Any) -> Any:
    """Where and in which units coordinates are taken, from statistics of a first pass; None: they cannot be."""
    del stats


@singledispatch
def raw(stats: Any, about: Any) -> Array:
    """The coordinates (m,) of statistics."""
    raise TypeError(type(stats), about)


@singledispatch
def from_raw(stats: Any, vector: Array, about: Any) -> Any:
    """Statistics like ``stats`` with other coordinates; None where no rows could have them."""
    raise TypeError(type(stats), vector, about)


def _unit(values: Array) -> Array:
    return np.where(np.isfinite(values) & (values > 0), values, 1.0)


# ---- sums and counts -----------------------------------------------------------------------------------------------
@pilot.register
def _(stats: Sums) -> Any:
    if not stats.exact:
        return None
    whole = stats.weight.sum(axis=0)
    whole = whole.reshape(whole.shape + (1,) * (stats.total.ndim - 1 - whole.ndim))
    return (_unit(share(np.abs(stats.total).sum(axis=0), whole)),)


@raw.register
def _(stats: Sums, about: Any) -> Array:
    return np.concatenate([stats.weight.ravel(), (stats.total / about[0]).ravel()])


@from_raw.register
def _(stats: Sums, vector: Array, about: Any) -> Any:
    weight, total = np.split(vector, [stats.weight.size])
    if (weight < 0).any():
        return None
    return replace(stats, weight=weight.reshape(stats.weight.shape), total=total.reshape(stats.total.shape) * about[0])


@pilot.register
def _(stats: Counts) -> Any:
    del stats
    return ()


@raw.register
def _(stats: Counts, about: Any) -> Array:
    del about
    return stats.count.ravel()


@from_raw.register
def _(stats: Counts, vector: Array, about: Any) -> Any:
    del about
    return None if (vector < 0).any() else replace(stats, count=vector.reshape(stats.count.shape))


# ---- moments -------------------------------------------------------------------------------------------------------
def _spread(weight: Array, mean: Array, squares: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of all components' rows together, (d,).

    Squares (k, d) or (1, d) are about the means.
    """
    whole = weight.sum(axis=0)
    centre = share((weight * mean).sum(axis=0), whole)
    return centre, _unit(np.sqrt(share(squares.sum(axis=0) + (weight * (mean - centre) ** 2).sum(axis=0), whole)))


@pilot.register
def _(stats: Moments) -> Any:
    return _spread(stats.weight, stats.mean, stats.scatter)


@raw.register
def _(stats: Moments, about: Any) -> Array:
    centre, unit = about
    away = ((stats.centre - centre) + stats.shift) / unit
    first = stats.weight * away
    return np.concatenate([stats.weight.ravel(), first.ravel(), (stats.scatter / unit**2 + first * away).ravel()])


@from_raw.register
def _(stats: Moments, vector: Array, about: Any) -> Any:
    centre, unit = about
    weight, first, second = vector.reshape(3, *stats.weight.shape)
    away = share(first, weight)
    scatter = (second - first * away) * unit**2
    if (weight < 0).any() or (scatter < 0).any():
        return None
    return replace(stats, weight=weight, centre=np.broadcast_to(centre, away.shape), shift=away * unit, scatter=scatter)


@pilot.register
def _(stats: Scatter) -> Any:
    return _spread(stats.weight[:, None], stats.mean, stats.variances)


def _products(first: Array, away: Array, *, pooled: bool) -> Array:
    second = first[:, :, None] * away[:, None, :]
    return second.sum(axis=0, keepdims=True) if pooled else second


@raw.register
def _(stats: Scatter, about: Any) -> Array:
    centre, unit = about
    away = ((stats.centre - centre) + stats.shift) / unit
    first = stats.weight[:, None] * away
    if stats.diagonal:
        products = first * away
        products = products.sum(axis=0, keepdims=True) if len(stats.kept) < len(first) else products
        return np.concatenate([stats.weight, first.ravel(), (stats.variances / unit**2 + products).ravel()])
    second = stats.scatter / (unit[:, None] * unit) + _products(first, away, pooled=len(stats.scatter) < len(first))
    rows, columns, _ = triangle(len(unit))
    return np.concatenate([stats.weight, first.ravel(), second[:, rows, columns].ravel()])


@from_raw.register
def _(stats: Scatter, vector: Array, about: Any) -> Any:
    centre, unit = about
    k, d = stats.centre.shape
    weight, first, packed = np.split(vector, [k, k + k * d])
    first = first.reshape(k, d)
    away = share(first, weight[:, None])
    if stats.diagonal:
        products = first * away
        products = products.sum(axis=0, keepdims=True) if len(stats.kept) < k else products
        squares = packed.reshape(-1, d) - products
        possible, scatter = (squares >= 0).all(), LowRank(np.maximum(squares, 0.0) * unit**2)
    else:
        second = packed.reshape(len(stats.kept), -1).take(triangle(d)[2], axis=1).reshape(-1, d, d)
        second = second - _products(first, away, pooled=len(second) < k)
        possible, scatter = (np.einsum("kii->ki", second) >= 0).all(), second * (unit[:, None] * unit)
    if (weight < 0).any() or not possible:
        return None
    return replace(stats, weight=weight, centre=np.broadcast_to(centre, away.shape), shift=away * unit, scatter=scatter)


# ---- several together ----------------------------------------------------------------------------------------------
@pilot.register
def _(stats: Parts) -> Any:
    found = tuple(pilot(part) for part in stats.parts)
    return None if any(one is None for one in found) else found


@raw.register
def _(stats: Parts, about: Any) -> Array:
    return np.concatenate([raw(part, one) for part, one in zip(stats.parts, about, strict=True)])


@from_raw.register
def _(stats: Parts, vector: Array, about: Any) -> Any:
    parts, begin = [], 0
    for part, one in zip(stats.parts, about, strict=True):
        end = begin + len(raw(part, one))
        parts.append(from_raw(part, vector[begin:end], one))
        begin = end
    return None if any(part is None for part in parts) else replace(stats, parts=tuple(parts))


@pilot.register
def _(stats: Joint) -> Any:
    return pilot(stats.components)


@raw.register
def _(stats: Joint, about: Any) -> Array:
    return np.concatenate([stats.count, raw(stats.components, about)])


@from_raw.register
def _(stats: Joint, vector: Array, about: Any) -> Any:
    k = len(stats.count)
    components = from_raw(stats.components, vector[k:], about)
    return (
        None
        if components is None or (vector[:k] < 0).any()
        else replace(stats, count=vector[:k], components=components)
    )
