"""Derivatives of likelihoods by central differences, and standard errors from the observed information."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from suffice.types import Array

# Central differences of eighth order for f″ and f′ at steps 1…4.
SECOND = (8 / 5, -1 / 5, 8 / 315, -1 / 560)
SECOND_CENTRE = -205 / 72
FIRST = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
STEP = 0.005  # of the distance to the nearest bound: truncation and rounding are then both near 1e-11


def first_derivative(f: Callable[[Array], Array], at: Array, scale: Array) -> Array:
    """f′ at ``at`` by central differences, elementwise; ``scale`` is the length on which f is smooth."""
    h = STEP * scale
    terms = [c * (f(at + j * h) - f(at - j * h)) for j, c in enumerate(FIRST, 1)]
    return np.asarray(sum(terms) / h)


def _curvature(f: Callable[[Array], Array], at: Array, direction: Array) -> Array:
    """d²/dt² f(at + t·direction) at t = 0."""
    total = SECOND_CENTRE * f(at)
    for j, c in enumerate(SECOND, 1):
        total = total + c * (f(at + j * direction) + f(at - j * direction))
    return np.asarray(total)


def hessian(f: Callable[[Array], Array], at: Array, scale: Array) -> Array:
    """Second derivatives of ``f``: (…, p) → (…) at ``at`` (…, p), for one or several ``scale``s; returns (…, p, p)."""
    p = at.shape[-1]
    steps = [np.where(np.arange(p) == i, STEP * scale, 0.0) for i in range(p)]
    out = np.empty((*np.broadcast_shapes(at.shape, scale.shape), p))
    for i in range(p):
        for j in range(i + 1):
            if i == j:
                value = _curvature(f, at, steps[i])
            else:
                value = (_curvature(f, at, steps[i] + steps[j]) - _curvature(f, at, steps[i] - steps[j])) / 4
            with np.errstate(all="ignore"):
                out[..., i, j] = out[..., j, i] = value / (STEP**2 * scale[..., i] * scale[..., j])
    return out


def smooth_scale(stack: Any, name: str) -> Array:
    """The length on which the likelihood is smooth in a parameter: its distance to the nearest bound, or the std."""
    value, domain = np.asarray(getattr(stack, name), dtype=float), stack.specs()[name].domain
    nearest = np.minimum(value - domain.low, domain.high - value)
    if np.isinf(nearest).all():
        spread = np.broadcast_to(np.asarray(stack.std, dtype=float), value.shape)
        return np.where(np.isfinite(spread) & (spread > 0), spread, 1.0)
    return np.asarray(nearest)


def sharing(k: int, names: tuple[str, ...], tied: frozenset[str]) -> Array:
    """The 0/1 matrix that maps free coordinates to the (k × names) parameters: tied ones share a coordinate."""
    columns: dict[tuple[str, int], int] = {}
    owner = [columns.setdefault((n, -1 if n in tied else j), len(columns)) for j in range(k) for n in names]
    return np.eye(len(columns))[owner]


def standard_errors(stack: Any, stats: Any) -> dict[str, Array]:
    """Square roots of the diagonal of the inverse observed information, (k, d) each; NaN where it is not positive."""
    names = stack.free
    at = np.stack([np.asarray(getattr(stack, name)) for name in names], axis=-1)
    scale = np.stack([smooth_scale(stack, name) for name in names], axis=-1)

    def likelihood(theta: Array) -> Array:
        moved = replace(stack, **{name: theta[..., i] for i, name in enumerate(names)})
        return np.asarray(moved.likelihood_cells(stats))

    usable = (np.isfinite(scale) & (scale > 0)).all(axis=-1) & (stats.weight > 0)
    safe = np.where(usable[..., None], scale, 0.0)
    with np.errstate(all="ignore"):
        information = -hessian(likelihood, at, safe)
    information[~usable] = np.nan
    return errors_from_information(information, names, stack.tied)


def errors_from_information(information: Array, names: tuple[str, ...], tied: frozenset[str]) -> dict[str, Array]:
    """Standard errors by name from the information (k, d, p, p) of each cell, respecting tied parameters."""
    k, d, p = information.shape[:3]
    share_out = sharing(k, names, tied)
    blocks = np.zeros((d, k * p, k * p))
    for j in range(k):
        blocks[:, j * p : (j + 1) * p, j * p : (j + 1) * p] = information[j]
    variance = np.full((d, k * p), np.nan)
    for column in range(d):
        with np.errstate(all="ignore"):
            whole = share_out.T @ blocks[column] @ share_out
        good = np.isfinite(whole).all(axis=1)
        if good.any():
            kept = whole[np.ix_(good, good)]
            diagonal = np.full(len(whole), np.nan)
            if np.linalg.eigvalsh(kept)[0] > 0:
                diagonal[good] = np.diag(np.linalg.inv(kept))
            variance[column] = diagonal[share_out.argmax(axis=1)]
    errors = np.sqrt(variance).reshape(d, k, p)
    return {name: errors[:, :, i].T for i, name in enumerate(names)}


def mean_statistic(dist: Any) -> Array:
    """E u = ∂A/∂η of an exponential family, by differentiating A and η along each parameter and solving.

    For families whose parameters are numbers; as many parameters as statistics.
    """
    names = tuple(dist.params)
    eta = np.asarray(dist.natural())
    batch = dist.batch
    slopes, steepness = [], []
    for name in names:
        at, scale = np.asarray(getattr(dist, name)), smooth_scale(dist, name)

        def natural(value: Array, name: str = name) -> Array:
            return np.asarray(replace(dist, **{name: value}).natural()).reshape((*batch, -1))

        def partition(value: Array, name: str = name) -> Array:
            return np.asarray(replace(dist, **{name: value}).log_partition())

        slopes.append(first_derivative(partition, at, scale))
        h = STEP * scale
        terms = [c * (natural(at + j * h) - natural(at - j * h)) for j, c in enumerate(FIRST, 1)]
        steepness.append(sum(terms) / np.asarray(h)[..., None])
    jacobian = np.stack(steepness, axis=-2)  # (…, parameters, statistics)
    mean = np.linalg.solve(jacobian, np.stack(slopes, axis=-1)[..., None])[..., 0]
    return mean.reshape(eta.shape)


def covariance_statistic(dist: Any) -> Array:
    """Cov u = ∂E[u]/∂η of an exponential family, by differentiating E u and η along each parameter and solving.

    For families whose parameters are numbers. Parameters that u does not belong to, as the size of a
    NegativeBinomial, stay where they are.
    """
    eta, batch = np.asarray(dist.natural()), dist.batch
    m = int(np.prod(eta.shape[len(batch) :], dtype=int))
    names = tuple(dist.params)
    if len(names) > m:
        names = tuple(name for name in names if dist.fix(*(set(names) - {name})).exact)[:m]
    moves: dict[str, list[Array]] = {"natural": [], "mean_statistic": []}
    for name in names:
        at, scale = np.asarray(getattr(dist, name), dtype=float), smooth_scale(dist, name)
        h = STEP * scale
        for ask, found in moves.items():

            def value(theta: Array, ask: str = ask, name: str = name) -> Array:
                return np.asarray(getattr(replace(dist, **{name: theta}), ask)()).reshape((*batch, m))

            terms = [c * (value(at + j * h) - value(at - j * h)) for j, c in enumerate(FIRST, 1)]
            found.append(np.asarray(sum(terms) / np.asarray(h)[..., None]))
    by_eta, by_mean = (np.stack(found, axis=-2) for found in moves.values())  # (…, parameters, statistics)
    cov = np.linalg.solve(by_eta, by_mean)
    cov = 0.5 * (cov + np.swapaxes(cov, -2, -1))
    return cov if eta.ndim > len(batch) else cov[..., 0, 0]
