"""Special functions to the last digit where differences of SciPy's would cancel, and quantiles of whole numbers."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.numerics.lazy import special

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from suffice.types import Array

# Stirling's series of log Γ(z) after (z−½) log z − z: B₂ₘ / (2m(2m−1) z^(2m−1)). Eight terms are exact from z = 10 on.
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
LARGE = 10.0
FARTHEST = 2.0**62  # the largest count that is drawn or sought as a whole number
BLUR = 256 * np.finfo(float).eps  # of a row's log density, per unit of a concentration that multiplies logarithms
REPEATED = 4  # rows for each number of a table that is looked up
MANY = 1e4  # counts from which on differences of log Γ lose digits that matter


def _tail_gap(a: Array, n: Array, order: int) -> Array:
    """The ``order``-th derivative of Stirling's series at a + n less that at a, without cancellation."""
    ratio = -np.log1p(n / a)
    total = np.zeros(np.broadcast(a, n).shape)
    for m, coefficient in enumerate(STIRLING):
        power = 2 * m + 1
        factor = coefficient * math.prod(-(power + i) for i in range(order))
        total = total + factor * a ** -(power + order) * np.expm1((power + order) * ratio)
    return total


def trigamma(z: Any) -> Any:
    """The second derivative of log Γ, which is Hurwitz's ζ(2, z)."""
    return special.zeta(2.0, z)


def _stirling(coefficients: Sequence[float], z: Array) -> Array:
    """Σ coefficient z⁻²ᵐ, by Horner's rule."""
    square, total = np.square(1 / z), np.zeros(np.shape(z))
    for coefficient in reversed(coefficients):
        total = total * square + coefficient
    return np.asarray(total)


def stirling_rest(z: Array) -> Array:
    """Log Γ(z) less Stirling's (z − ½) log z − z + ½ log 2π: what is left of it in differences of large log Γ."""
    z = np.asarray(z, dtype=float)
    big = np.maximum(z, LARGE)
    far = _stirling(STIRLING, big) / big
    near = special.gammaln(z) - (z - 0.5) * np.log(z) + z - 0.5 * np.log(2 * np.pi)
    return np.where(z < LARGE, near, far)


def stirling_slope(z: Array) -> Array:
    """The derivative of :func:`stirling_rest`."""
    z = np.asarray(z, dtype=float)
    big = np.maximum(z, LARGE)
    far = sum(-c * (2 * m + 1) * big ** -(2 * m + 2) for m, c in enumerate(STIRLING))
    return np.where(z < LARGE, special.digamma(z) - np.log(z) + 0.5 / z, far)


def stirling_bend(z: Array) -> Array:
    """The second derivative of :func:`stirling_rest`."""
    z = np.asarray(z, dtype=float)
    big = np.maximum(z, LARGE)
    far = sum(c * (2 * m + 1) * (2 * m + 2) * big ** -(2 * m + 3) for m, c in enumerate(STIRLING))
    return np.where(z < LARGE, trigamma(z) - 1 / z - 0.5 / np.square(z), far)


# ---- divergences: f(y) − f(x) − (y − x)·f′(x) without the cancellation of its three terms ---------------------------
def excess(p: Array, q: Array, step: Array) -> Array:
    """P·log(p/q) + q − p ≥ 0, exact also where p and q nearly agree; ``step`` is q − p, as exact as it can be had."""
    p, q, step = np.asarray(p, dtype=float), np.asarray(q, dtype=float), np.asarray(step, dtype=float)
    with np.errstate(all="ignore"):
        t = step / p
        near = np.where(np.abs(t) < 0.5, t, 0.0)
        r = near / (2 + near)  # log(1+t) = 2·artanh r, and t − 2r = r·t
        square = r * r
        rest = sum(square**m / (2 * m + 3) for m in range(17))
        return np.asarray(np.where(np.abs(t) < 0.5, p * (r * near - 2 * r * square * rest), special.kl_div(p, q)))


def ratio_excess(ratio: Array, step: Array) -> Array:
    """Ratio − 1 − log ratio ≥ 0; ``step`` is ratio − 1."""
    return excess(np.ones(np.shape(ratio)), ratio, step)


def binary_divergence(p: Array, q: Array) -> Array:
    """D(p‖q) of one yes or no."""
    p, q = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
    return np.asarray(excess(p, q, q - p) + excess(1 - p, 1 - q, p - q))


@cache
def _nodes() -> tuple[Array, Array]:
    """Nodes and weights of Gauss and Legendre."""
    nodes, shares = np.polynomial.legendre.leggauss(24)
    return nodes, shares


def bregman(bend: Callable[[Array], Array], y: Array, x: Array) -> Array:
    """The divergence of f whose second derivative is ``bend``: the integral of (y − t)·f″(t) from x to y."""
    nodes, shares = _nodes()
    half = 0.5 * (np.asarray(y, dtype=float) - x)
    total = sum(share * (1 - node) * bend(x + half * (1 + node)) for node, share in zip(nodes, shares, strict=True))
    return np.asarray(np.square(half) * total)


def stirling_divergence(y: Array, x: Array) -> Array:
    """The divergence of :func:`stirling_rest`."""
    y, x = np.broadcast_arrays(np.asarray(y, dtype=float), np.asarray(x, dtype=float))
    near = np.abs(y - x) < 0.5 * np.maximum(x, y)
    found = np.array(stirling_rest(y) - stirling_rest(x) - (y - x) * stirling_slope(x))
    if near.any():
        found[near] = bregman(stirling_bend, y[near], x[near])
    return found


def _near_or_far(
    near: Callable[[Array, Array], Array], far: Callable[[Array, Array], Array], a: Array, n: Array
) -> Array:
    """``far(a, n)`` where a is large, else ``near(a, n)``; neither is computed where the other is asked for."""
    a, n = np.asarray(a, dtype=float), np.asarray(n, dtype=float)
    close = ~(a >= LARGE)
    with np.errstate(all="ignore"):
        if close.all() or not close.any():
            return np.asarray((near if close.all() else far)(a, n))
        a, n, close = np.broadcast_arrays(a, n, close)
        found = np.empty(a.shape)
        found[close], found[~close] = near(a[close], n[close]), far(a[~close], n[~close])
    return found


def log_rising(a: Array, n: Array) -> Array:
    """Log Γ(a+n)/Γ(a) for n ≥ 0, exact also where a is so large that the two gammas cancel."""

    def far(a: Array, n: Array) -> Array:
        return np.asarray((a - 0.5) * np.log1p(n / a) + n * np.log(a + n) - n + _tail_gap(a, n, 0))

    def near(a: Array, n: Array) -> Array:
        return np.asarray(special.gammaln(a + n) - special.gammaln(a))

    return np.where(np.asarray(n) == 0, 0.0, _near_or_far(near, far, a, n))


def digamma_rise(a: Array, n: Array) -> Array:
    """ψ(a+n) − ψ(a) = Σ 1/(a+j) over j < n."""

    def far(a: Array, n: Array) -> Array:
        return np.asarray(np.log1p(n / a) + 0.5 * n / (a * (a + n)) + _tail_gap(a, n, 1))

    def near(a: Array, n: Array) -> Array:
        return np.asarray(special.digamma(a + n) - special.digamma(a))

    return _near_or_far(near, far, a, n)


def trigamma_fall(a: Array, n: Array) -> Array:
    """ψ′(a) − ψ′(a+n) = Σ 1/(a+j)² over j < n."""

    def far(a: Array, n: Array) -> Array:
        ends = n / (a * (a + n))
        return np.asarray(ends + 0.5 * ends * (1 / a + 1 / (a + n)) - _tail_gap(a, n, 2))

    def near(a: Array, n: Array) -> Array:  # ζ(2, z) is ψ′(z), without the factorials of higher derivatives
        return np.asarray(special.zeta(2.0, a) - special.zeta(2.0, a + n))

    return _near_or_far(near, far, a, n)


@cache
def _log_factorials() -> Array:
    return np.asarray(special.gammaln(np.arange(1.0, 4097.0)))


def log_factorial(x: Array) -> Array:
    """Log x!; many small whole numbers are looked up, which is ten times as fast as computing them."""
    x = np.asarray(x)
    if x.size > 1024 and x.min() >= 0 and x.max() < 4096:
        return np.asarray(_log_factorials()[x.astype(np.intp)])
    return np.asarray(special.gammaln(x + 1.0))


def tabulated(formula: Callable[[Array], Array], x: Array) -> Array:
    """``formula(x)`` of cells (n, d) that are counts: where they are small it is computed once for each number."""
    missing = np.isnan(x)
    places = repeated_counts(np.where(missing, 0.0, x)) if x.ndim == 2 else None
    if places is None:
        return formula(x)
    numbers = np.arange(int(places.max()) + 1.0)[:, None]
    table = formula(np.broadcast_to(numbers, (len(numbers), x.shape[1])))
    found = table[places, np.arange(x.shape[1])]
    found[missing] = np.nan
    return found


def repeated_counts(x: Array) -> Array | None:
    """Counts as places in a table of 0, 1, …, where there are several rows for each of its numbers; else None."""
    if not x.size or x.min() < 0 or REPEATED * x.max() >= len(x):
        return None
    places = x.astype(np.intp)
    return None if (places != x).any() else places


def log_choose(n: Array, x: Array) -> Array:
    """Log of the binomial coefficient, −inf outside 0 ≤ x ≤ n."""
    with np.errstate(all="ignore"):
        inside = -np.log1p(n) - special.betaln(np.subtract(n, x) + 1, np.add(x, 1))
    return np.where((x >= 0) & (x <= n), inside, -np.inf)


def log_poisson(x: Array, rate: Array) -> Array:
    """Log of rate^x e^−rate / x!, without the large terms that cancel where x and rate are large."""
    x, rate = np.asarray(x, dtype=float), np.asarray(rate, dtype=float)
    with np.errstate(all="ignore"):
        some = -excess(x, rate, rate - x) - 0.5 * np.log(2 * np.pi * x) - stirling_rest(x)
    return np.where(x == 0, -rate, some)


def _product_less(n: Array, p: Array, a: Array) -> Array:
    """N·p − a, with the digits of n·p that float64 drops (Dekker's product)."""
    parts = []
    for value in (n, p):
        big = 134217729.0 * value
        high = big - (big - value)
        parts.append((high, value - high))
    (n_high, n_low), (p_high, p_low) = parts
    product = n * p
    dropped = ((n_high * p_high - product) + n_high * p_low + n_low * p_high) + n_low * p_low
    return np.asarray((product - a) + dropped)


def log_binomial(a: Array, b: Array, p: Array) -> Array:
    """Log of Γ(a+b+1) / Γ(a+1)Γ(b+1) · p^a (1−p)^b, without the large terms that cancel where a and b are large."""
    a, b, p = np.asarray(a, dtype=float), np.asarray(b, dtype=float), np.asarray(p, dtype=float)
    with np.errstate(all="ignore"):
        n = a + b
        rest = stirling_rest(n) - stirling_rest(a) - stirling_rest(b) + 0.5 * (np.log(n / a / b) - np.log(2 * np.pi))
        step = _product_less(n, p, a) + p * np.where(a > b, b - (n - a), a - (n - b))  # with what n has lost
        some = rest - excess(a, n * p, step) - excess(b, n * (1 - p), -step)
    ends = special.xlogy(a, p) + special.xlog1py(b, -p)
    return np.asarray(np.where((a == 0) | (b == 0), ends, some))


def whole_quantile(cumulative: Callable[[Array], Array], q: Array, low: float, high: Array | float = np.inf) -> Array:
    """The smallest whole number x ≥ low with cumulative(x) ≥ q, elementwise, by doubling and halving."""
    levels = np.asarray(q, dtype=float)
    needed = levels - 4 * np.spacing(levels)  # a level that is cumulative(x) but for rounding belongs to x
    top = np.broadcast_to(np.asarray(high, dtype=float), np.broadcast(levels, high, cumulative(np.asarray(low))).shape)
    below, step = np.full(top.shape, low - 1.0), 1.0  # cumulative(below) < q, or below the support
    above = np.minimum(low + 0.0, top)
    short = (cumulative(above) < needed) & (above < top)
    while short.any() and step < FARTHEST:
        below = np.where(short, above, below)
        above = np.where(short, np.minimum(above + step, top), above)
        short = (cumulative(above) < needed) & (above < top)
        step *= 2
    above = np.where(short, np.inf, above)
    open_ = _number_between(below, above)
    while open_.any():
        middle = np.where(open_, np.floor((below + above) / 2), above)
        enough = cumulative(middle) >= needed
        above, below = np.where(open_ & enough, middle, above), np.where(open_ & ~enough, middle, below)
        open_ = _number_between(below, above)
    return np.where(levels >= 1, np.where(np.isfinite(top), top, np.inf), above)


def _number_between(below: Array, above: Array) -> Array:
    """Whether float64 has a whole number between two; beyond 2⁵³ neighbours are farther apart than 1."""
    return np.isfinite(above) & (above - below > np.maximum(1.0, np.spacing(above)))


def t_quantile(df: Array, q: Array) -> Array:
    """Quantiles of Student's t, to the last digits in the middle and in the tails, where SciPy's has neither."""
    df, q = np.asarray(df, dtype=float), np.asarray(q, dtype=float)
    lower = np.minimum(q, 1 - q)
    with np.errstate(all="ignore"):
        tail = special.betaincinv(df / 2, 0.5, 2 * lower)
        middle = special.betaincinv(0.5, df / 2, 1 - 2 * lower)
        size = np.sqrt(df * np.where(lower < 0.25, (1 - tail) / tail, middle / (1 - middle)))
    exact = np.copysign(size, q - 0.5)
    usual = np.where(q == 0, -np.inf, special.stdtrit(df, q))
    return np.where((df <= 100) & np.isfinite(exact), exact, usual)


# ---- draws -----------------------------------------------------------------------------------------------------------
def poisson_draws(rate: Array, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Counts of given rates; those that no int64 holds are Normal, which they differ from by less than float64 sees."""
    if (rate <= FARTHEST).all():
        return rng.poisson(rate, shape).astype(float)
    counts = rng.poisson(np.minimum(rate, FARTHEST), shape).astype(float)
    return np.where(rate <= FARTHEST, counts, np.rint(rng.normal(rate, np.sqrt(rate), shape)))
