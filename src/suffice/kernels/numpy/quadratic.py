"""Steps of EM over Gaussian components that are known by sums of products alone, in NumPy.

What short runs are made of.

With y = (x − centre) · scale and y₀ = 1 a row is the products yᵢ yⱼ, i ≥ j, row by row of that triangle: m numbers. A
score is linear in them, with coefficients (k, m), and so are the sums (k, m) from which the next coefficients follow.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from suffice.kernels.numpy.gaussian import softmax
from suffice.kernels.numpy.primitives import LOG_2PI, Array, Integers, Real

LOST = 1e6  # the largest growth of rounding errors: components a thousand standard deviations from the pilot
ROUGH = 1e9  # the same in short runs: six digits of a log density are enough to tell where to begin
MANY_COLUMNS = 32  # from here on products of features would not stay in the cache
SURE = 1e-9  # of a variance given the columns before, relative to what it is without: less may be rounding
SEEN = 1e-8  # share of the rows that a component has at least
FALL = 1e-7  # relative fall of the log-likelihood that rounding cannot explain
LONGEST, GROWTH = 4.0, 4.0  # how far a leap goes at first, and how much farther after one that went so far

QuadraticSums: TypeAlias = tuple[float, float, Array]
Starts: TypeAlias = tuple[Array, ...]  # shares, means, covariances and coefficients of several starts, or sums alone


class QuadraticComponents(NamedTuple):
    """What sums tell of Gaussian components, in units of the scale: weight (k,), mean, cov and coefficients.

    ``sure`` says whether that is all there is to say: no component lies on the floor, has no rows, or is so narrow or
    so far from the centre that its digits are lost.
    """

    sure: bool
    weight: Array
    mean: Array
    cov: Array
    coefficients: Array


@lru_cache
def triangle(size: int) -> tuple[Integers, Integers, Integers]:
    """Rows and columns of what lies on and below a diagonal, and where each cell of the square is among these."""
    rows, columns = np.tril_indices(size)
    back = np.empty((size, size), np.int64)
    back[rows, columns] = back[columns, rows] = np.arange(len(rows))
    return rows, columns, back.ravel()


def quadratic_e_step(x: Real, weights: Array | None, centre: Array, scale: Array, coefficients: Array) -> QuadraticSums:
    """Log-likelihood and entropy of rows under the coefficients (k, m), and the sums (k, m) of their products."""
    rows, columns, _ = triangle(len(centre) + 1)
    y = np.empty((len(x), len(centre) + 1))
    y[:, 0] = 1.0
    np.multiply(x - centre, scale, out=y[:, 1:])
    with np.errstate(invalid="ignore", over="ignore"):  # cells that are not finite show in the log-likelihood
        products = y[:, rows] * y[:, columns]
        shares, log_sum, spread = softmax(products @ coefficients.T)
        if weights is not None:
            shares *= weights[:, None]
            return float(weights @ log_sum), float(weights @ spread), shares.T @ products
        return float(log_sum.sum()), float(spread.sum()), shares.T @ products


def quadratic_step(
    sums: Array, floor: Array, ridge: Array, log_scale: float, structure: str = "VVV", before: Array | None = None
) -> QuadraticComponents:
    """The components that the sums (k, m) tell of, with ``ridge`` (d,) added to variances, none below ``floor`` (d, d).

    ``log_scale`` is what the scale adds to a log density. The M-steps of restricted structures are defined in
    `distributions.covariance_structures`, and by sums there is none here; where the native one takes turns between
    volumes, shapes and axes it sets out from the covariances ``before`` (k, d, d).
    """
    del before
    k, d = len(sums), len(floor)
    whole = sums[:, triangle(d + 1)[2]].reshape(k, d + 1, d + 1)
    weight = whole[:, 0, 0].copy()
    with np.errstate(all="ignore"):
        mean = whole[:, 1:, 0] / weight[:, None]
        second = whole[:, 1:, 1:] / weight[:, None, None]
        cov = second - mean[:, :, None] * mean[:, None]
        about, variances = np.einsum("kii->ki", second), np.einsum("kii->ki", cov)
        sure = (weight > SEEN * weight.sum()).all() and (about <= ROUGH * variances).all() and structure == "VVV"
        cov[:, range(d), range(d)] += ridge
        if not (sure and np.isfinite(cov).all()):
            return QuadraticComponents(False, weight, mean, cov, sums)  # noqa: FBT003 (as named above)
        try:
            np.linalg.cholesky(cov - floor)
            lower = np.linalg.cholesky(cov)
        except np.linalg.LinAlgError:
            return QuadraticComponents(False, weight, mean, cov, sums)  # noqa: FBT003
        pivots = np.einsum("kii->ki", lower)
        factor = np.linalg.inv(lower)
        form = factor.swapaxes(1, 2) @ factor
        deviation = np.sqrt(mean**2 + np.einsum("kii->ki", cov))
        growth = (deviation[:, None] @ np.abs(form) @ deviation[:, :, None]).max()
    constant = np.log(weight / weight.sum()) - np.log(pivots).sum(axis=1) - 0.5 * d * LOG_2PI + log_scale
    sure = bool((pivots**2 > SURE * np.einsum("kii->ki", cov)).all() and growth <= ROUGH)
    return QuadraticComponents(sure, weight, mean, cov, coefficients_of(mean, form, constant))


class QuadraticRun(NamedTuple):
    """How a short run of EM went, and where it ended.

    ``end`` is "flat", "passes" (there are no more), or "lost": sums do not tell the components, or a step lowered the
    log-likelihood. The trace has log-likelihood and entropy of each step taken, (t, 2).
    """

    end: str
    share: Array
    mean: Array
    cov: Array
    coefficients: Array
    sums: Array
    trace: Array
    passes: int


def quadratic_runs(
    x: Real,
    weights: Array | None,
    centre: Array,
    scale: Array,
    starts: Starts,
    held: tuple[Array, Array, float],
    rule: tuple[int, float, float, bool],
    structure: str = "VVV",
) -> list[QuadraticRun]:
    """EM from each of the starts.

    These are shares (s, k), mean (s, k, d), cov and coefficients (s, k, m), or sums (s, k, m) alone, from which the
    first parameters are estimated. ``held`` (floor, ridge, log_scale) and ``structure`` are as in `quadratic_step`.

    The ``rule`` is (passes, tol, unit, leaps): at most so many passes, fewer where the log-likelihood changes twice by
    no more than tol · (unit + its size). With ``leaps`` two steps in a row tell how far to go along them (SQUAREM,
    Varadhan and Roland 2008), where that does not lower the log-likelihood.
    """
    found = []
    for start in zip(*starts, strict=True):
        begin = start if len(start) > 1 else None
        if begin is None and (components := quadratic_step(start[0], *held, structure)).sure:
            begin = _e_step_arguments(components)
        if begin is None or structure != "VVV":
            found.append(QuadraticRun("lost", start[0], start[0], start[0], start[-1], start[-1], np.zeros((0, 2)), 0))
        else:
            found.append(_run(x, weights, centre, scale, begin, held, rule))
    return found


def _run(
    x: Real, weights: Array | None, centre: Array, scale: Array, start: Starts, held: tuple[Array, Array, float],
    rule: tuple[int, float, float, bool],
) -> QuadraticRun:  # fmt: skip
    """One run of `quadratic_runs`."""
    most, tol, unit, leaps = rule

    def e_step(share: Array, mean: Array, cov: Array, coefficients: Array) -> _Known:
        return _Known(share, mean, cov, coefficients, *quadratic_e_step(x, weights, centre, scale, coefficients))

    now, longest, made = e_step(*start), LONGEST, 1
    end, trace = "passes" if np.isfinite(now.value) else "lost", [(now.value, now.entropy)]
    chain: list[Array] = []  # sums in a row, before those of now
    while end == "passes" and made < most:
        if _is_flat([value for value, _ in trace[-3:]], tol, unit):
            end = "flat"
            break
        found: _Known | None = None
        if leaps and len(chain) == 2:
            ahead, components, longest = _leap(chain[0], chain[1], now.sums, longest, held)
            if components is not None:
                there, made = e_step(*_e_step_arguments(components)), made + 1
                found, chain = (there, [ahead]) if there.value >= now.value else (None, [])
                longest = longest if found else max(longest / GROWTH, 1.5)
        if found is None and made < most:
            components = quadratic_step(now.sums, *held)
            found = e_step(*_e_step_arguments(components)) if components.sure else None
            made, chain = made + 1, [*chain, now.sums][-2:]
            if found is None or not found.value >= now.value - FALL * (unit + abs(now.value)):
                end = "lost"
                break
            if found.value < now.value:  # by rounding
                end = "flat"
                break
        if found is not None:
            now = found
            trace.append((now.value, now.entropy))
    return QuadraticRun(end, *now[:4], now.sums, np.array(trace), made)


class _Known(NamedTuple):
    """Parameters, and what a pass under them found."""

    share: Array
    mean: Array
    cov: Array
    coefficients: Array
    value: float
    entropy: float
    sums: Array


def _e_step_arguments(components: QuadraticComponents) -> tuple[Array, Array, Array, Array]:
    return components.weight / components.weight.sum(), components.mean, components.cov, components.coefficients


def _is_flat(last: list[float], tol: float, unit: float) -> bool:
    """Whether the last three values differ twice by nearly nothing."""
    return len(last) == 3 and max(abs(last[1] - last[0]), abs(last[2] - last[1])) <= tol * (unit + abs(last[2]))


def _leap(
    first: Array, second: Array, third: Array, longest: float, held: tuple[Array, Array, float]
) -> tuple[Array, QuadraticComponents | None, float]:
    """The sums at the end of the farthest leap that tells components, these components, and how long a leap may be."""
    step = second - first
    bend = (third - second) - step
    turn = _norm(bend)
    length = _norm(step) / turn if turn > 0 else np.inf
    if length >= longest:
        length, longest = longest, longest * GROWTH
    ahead = first
    while length > 1.01:
        ahead = first + 2 * length * step + length**2 * bend
        if (ahead[:, 0] >= 0).all() and (components := quadratic_step(ahead, *held)).sure:
            return ahead, components, longest
        length = (length + 1) / 2
    return ahead, None, longest


def _norm(a: Array) -> float:
    """The length of sums in any unit: their squares may be more than numbers hold, or less."""
    most = float(np.abs(a).max())
    return most * float(np.sqrt(np.square(a / most).sum())) if most > 0 else 0.0


def coefficients_of(mean: Array, form: Array, constant: Array) -> Array:
    """The coefficients (k, m) of constant − ½ (y − mean)ᵀ form (y − mean), for means (k, d) and forms (k, d, d)."""
    k, d = mean.shape
    table = np.empty((k, d + 1, d + 1))
    table[:, 1:, 0] = (form @ mean[:, :, None])[:, :, 0]
    table[:, 0, 0] = constant - 0.5 * (table[:, 1:, 0] * mean).sum(axis=1)
    table[:, 1:, 1:] = -form
    table[:, range(1, d + 1), range(1, d + 1)] *= 0.5
    rows, columns, _ = triangle(d + 1)
    return table[:, rows, columns]
