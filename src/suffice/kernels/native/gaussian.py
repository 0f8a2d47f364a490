"""Native twins of the reference's passes of EM: same names, same signatures, same answers but for the last bits.

The fused loops take moments about one pilot centre, which costs as many digits as the terms that cancel have more than
their sum. Where that is more than `LOST` allows, the pass goes by its definition, centred for each component.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from suffice.kernels import native
from suffice.kernels.native import primitives
from suffice.kernels.native.primitives import _chunks
from suffice.kernels.numpy.gaussian import GaussianExpected, centred_e_step
from suffice.kernels.numpy.primitives import LOG_2PI, Array, Real
from suffice.kernels.numpy.quadratic import LOST, MANY_COLUMNS, triangle

SEEN = 1e-7  # share of the rows of a component that loses no digit by what is cut, but for rows a million widths away
LINES = 1 << 20  # the most coefficients of lines: 8 MB
BLOCK_NUMBERS = 96 << 10  # of a block of rows of many columns: stays in the cache, has some rows of each component
BLOCK = 96  # rows, a multiple of every panel
NOBODY = 1e-17  # share of the rows that is none

Data: TypeAlias = tuple[Real, Array | None, Array]  # rows, their weights and log-weights
Pilot: TypeAlias = tuple[Array, Array]  # centre and scale

_gaussian = native.kernel("gaussian", "real n n f64 f64 f64 f64 f64 n f64 f64")
_tied_gaussian = native.kernel("tied_gaussian", "real n n f64 f64 f64 f64 f64 n f64 f64 f64")
_wide_gaussian = native.kernel("wide_gaussian", "real n n f64 f64 f64 f64 f64 f64 f64 n n n f64 f64")
_about_means = native.kernel("about_means", "f64 n n f64 f64 r f64 f64 f64 f64 f64 f64 -> n")
_gaussian_plan = native.kernel("gaussian_plan", "f64 f64 f64 f64 n n r f64 f64 f64 f64 -> n")


def gaussian_e_step(
    x: Real, mean: Array, whiten: Array, log_det: Array, log_weights: Array, weights: Array | None = None
) -> GaussianExpected:
    """Log-likelihood, entropy, and weight (k,), centre, shift (k, d) and scatter matrix (k, d, d) of the components."""
    gather = _by_products if mean.shape[1] < MANY_COLUMNS else _by_components
    found = gather((x, weights, log_weights), mean, whiten, log_det) if len(x) else None
    if found is not None:
        return found
    return centred_e_step(
        x,
        lambda rows: primitives.gaussian_log_prob(rows, mean, whiten, log_det),
        primitives.scatter,
        log_weights,
        weights,
    )


def tied_gaussian_e_step(
    x: Real, mean: Array, whiten: Array, log_det: float, log_weights: Array, weights: Array | None = None
) -> GaussianExpected:
    """The same for components with one covariance, whiten (d, d).

    The scatter (1, d, d) is the sum of the components'.
    """
    k, d = mean.shape
    centre, scale, place, factor = _about_pilot(mean, whiten[None], log_weights)
    precision = _precision(factor)
    if len(x) and _growth(precision, np.abs(place)) <= LOST:
        form = np.empty((k, d + 1))  # the quadratic term of all components alike comes last, from the sum of squares
        form[:, 1:] = place @ precision[0]
        form[:, 0] = log_det - 0.5 * d * LOG_2PI - 0.5 * np.einsum("kj,kj->k", form[:, 1:], place)
        form[:, 0] += log_weights if log_weights.ndim == 1 else 0.0
        sums, products = np.zeros((k, d + 1)), np.zeros((d + 1, d + 1))
        log_likelihood, entropy = fold(
            _tied_gaussian, (x, weights, log_weights), (centre, scale, form, k, sums, products)
        )
        weight, first, squares = sums[:, 0], sums[:, 1:], products[None, 1:, 1:]
        shift = first / np.where(weight > 0, weight, 1.0)[:, None]
        share = 1 / max(weight.sum(), np.finfo(float).tiny)
        about = share * _diagonal(squares)
        with np.errstate(invalid="ignore"):  # as the log-likelihood then says
            log_likelihood -= 0.5 * float((precision * squares).sum())
            scatter = squares - (shift.T * weight) @ shift
        kept = _growth(precision, np.sqrt(about)) <= LOST and bool((about <= LOST * share * _diagonal(scatter)).all())
        if kept or not np.isfinite(log_likelihood):
            scatter = 0.5 * (scatter + scatter.swapaxes(1, 2))
            return log_likelihood, entropy, weight, *_unscaled(weight, centre, scale, shift, scatter)
    everyones = np.broadcast_to(whiten, (k, d, d)), np.full(k, log_det)
    expected = centred_e_step(
        x,
        lambda rows: primitives.gaussian_log_prob(rows, mean, *everyones),
        primitives.scatter,
        log_weights,
        weights,
    )
    return *expected[:5], expected[5].sum(axis=0, keepdims=True)


# -- full covariances --------------------------------------------------------------------------------------------------


def _by_products(data: Data, mean: Array, whiten: Array, log_det: Array) -> GaussianExpected | None:
    """The pass over products of (1, y); None where it loses too many digits."""
    k, d = mean.shape
    own = data[2] if data[2].ndim == 1 else None
    centre, scale, forms = np.empty(d), np.empty(d), np.empty((k, d, d))
    coefficients, sums = np.empty((k, (d + 1) * (d + 2) // 2)), np.zeros((k, (d + 1) * (d + 2) // 2))
    given = map(np.ascontiguousarray, (mean, whiten, log_det))
    if not _gaussian_plan(*given, own, k, d, LOST, centre, scale, forms, coefficients):
        return None
    log_likelihood, entropy = fold(_gaussian, data, (centre, scale, coefficients, k, sums))
    moments = sums.take(triangle(d + 1)[2], axis=1)
    found, _, kept = _moments_about_means(moments, k, (centre, scale), forms)
    return (log_likelihood, entropy, *found) if kept or np.isnan(log_likelihood) else None


def _by_components(data: Data, mean: Array, whiten: Array, log_det: Array) -> GaussianExpected | None:
    """As `_by_products`, each component by itself: of many columns, whose products would not stay in the cache."""
    k, d = mean.shape
    known = _once(_factors, mean, whiten, log_det, data[2] if data[2].ndim == 1 else np.zeros(k))
    if known is None:
        return None
    pilot, form, coefficients = known
    block = int(np.clip(BLOCK_NUMBERS // (d * BLOCK), 1, 4)) * BLOCK
    for cut in (1, 0):
        sums = np.zeros((k, d + 1, d + 1))
        log_likelihood, entropy = fold(_wide_gaussian, data, (*pilot, *coefficients, cut, k, block, sums))
        share = sums[:, 0, 0] / max(sums[:, 0, 0].sum(), np.finfo(float).tiny)
        if np.isnan(log_likelihood) or not ((share >= NOBODY) & (share < SEEN)).any():
            break  # else what was cut is not nothing beside the little that a component has
    found, deviation, kept = _moments_about_means(sums, k, pilot)
    kept = kept and _whitened_growth(form, deviation) <= LOST
    return (log_likelihood, entropy, *found) if kept or np.isnan(log_likelihood) else None


_known: dict[Callable[..., Any], tuple[tuple[Array, ...], Any]] = {}


def _once(make: Callable[..., Any], *arrays: Array) -> Any:
    """What is made of arrays, kept while the same ones come again, as with the slices of a pass; none may change."""
    known, made = _known.get(make, ((), None))
    if len(known) == len(arrays) and all(a is b for a, b in zip(known, arrays, strict=True)):
        return made
    made = make(*arrays)
    if all(map(_frozen, arrays)):
        _known[make] = (arrays, made)
    return made


def _frozen(array: Any) -> bool:
    """Whether nobody can write to an array, nor to what it is a view of."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    return True


def _factors(
    mean: Array, whiten: Array, log_det: Array, log_weights: Array
) -> tuple[Pilot, Array, tuple[Array, ...]] | None:
    """Pilot, factors about it, and what the loop takes of components with many columns.

    Factors (k, d, d + 1) of (1, y), constants (k,) and lines towards each other. None where components are so far from
    the pilot that digits are lost.
    """
    k, d = mean.shape
    centre, scale, place, form = _about_pilot(mean, whiten, log_weights)
    if not _whitened_growth(form, np.abs(place)) <= LOST**0.5:
        return None
    rows = np.empty((k, d, d + 1))
    rows[:, :, 0] = -(form @ place[:, :, None])[:, :, 0]
    rows[:, :, 1:] = form
    constant = log_det - 0.5 * d * LOG_2PI + log_weights
    lines = np.zeros(0) if k == 1 or k * k * (d + 1) > LINES else _lines(place, rows)
    return (centre, scale), form, (rows, constant, lines)


def _lines(place: Array, rows: Array) -> Array:
    """Coefficients (j, k, d + 1) of u · W_k (1, y), u the direction in which component k sees component j."""
    form = rows[:, :, 1:]
    away = form @ (place[None] - place[:, None]).swapaxes(1, 2)  # (k, d, j)
    length = np.sqrt(np.einsum("kdj,kdj->kj", away, away))[:, None]
    with np.errstate(all="ignore"):
        away = np.where(length > 1e-140, away / length, 0.0)  # squares of less are subnormal
    return np.ascontiguousarray((away.swapaxes(1, 2) @ rows).swapaxes(0, 1))


def _moments_about_means(
    moments: Array, k: int, pilot: Pilot, forms: Array | None = None
) -> tuple[tuple[Array, Array, Array, Array], Array, bool]:
    """Weight, centre, shift and scatter in the units of the rows; deviations from the pilot; whether digits remain."""
    d = len(pilot[0])
    found = np.empty(k), np.empty((k, d)), np.empty((k, d)), np.empty((k, d, d))
    deviation = np.empty((k, d))
    return found, deviation, bool(_about_means(moments, k, d, *pilot, LOST, forms, *found, deviation))


# -- about the pilot ---------------------------------------------------------------------------------------------------


def _about_pilot(mean: Array, whiten: Array, log_weights: Array) -> tuple[Array, Array, Array, Array]:
    """Centre and scale (d,) of the pilot, and means and whitening factors of the components there.

    The scale is a power of two, which rounds nothing: it keeps the squares of any unit within the range of floats.
    """
    with np.errstate(all="ignore"):  # what is not finite does not pass the guard
        share = np.exp(log_weights - log_weights.max()) if log_weights.ndim == 1 else np.ones(len(mean))
        centre = mean[0] + share @ (mean - mean[0]) / share.sum()
        width = np.sqrt((whiten * whiten).sum(axis=1)).min(axis=0)
        spread = np.maximum(np.abs(mean - centre).max(axis=0), 1 / width)
        scale = np.exp2(-np.round(np.log2(np.where((spread > 0) & np.isfinite(spread), spread, 1.0))))
        return centre, scale, (mean - centre) * scale, whiten / scale


def _precision(factor: Array) -> Array:
    with np.errstate(all="ignore"):
        precision: Array = factor.swapaxes(1, 2) @ factor
    return precision


def _growth(form: Array, deviation: Array) -> float:
    """How much larger than 1 the terms are that cancel in the quadratic forms, at deviations (k, d) from the pilot."""
    with np.errstate(all="ignore"):
        return float((deviation[:, None] @ np.abs(form) @ deviation[:, :, None]).max())


def _whitened_growth(form: Array, deviation: Array) -> float:
    """The same where rows are whitened first, so that what cancels is not yet squared."""
    with np.errstate(all="ignore"):
        return float((np.abs(form) @ deviation[:, :, None]).mean(axis=1).max())


def _diagonal(a: Array) -> Array:
    return np.diagonal(a, axis1=1, axis2=2).copy()


def _unscaled(weight: Array, centre: Array, scale: Array, shift: Array, scatter: Array) -> tuple[Array, Array, Array]:
    """Centre, shift and scatter in the units of the rows; means of 0 for a component without weight."""
    some = (weight != 0)[:, None]
    return np.where(some, centre, 0.0), np.where(some, shift / scale, 0.0), scatter / (scale[:, None] * scale)


def fold(loops: Callable[..., None], data: Data, arguments: tuple[object, ...]) -> tuple[float, float]:
    """Log-likelihood and entropy of all chunks; the sums, among the arguments, grow."""
    x, weights, log_weights = data
    score, start = np.zeros(2), 0
    for rows, w, _ in _chunks(x, weights, None):
        own = None if log_weights.ndim == 1 else np.ascontiguousarray(log_weights[start : start + len(rows)])
        loops(rows, *rows.shape, w, own, *arguments, score)
        start += len(rows)
    return float(score[0]), float(score[1])
