"""Derivatives of likelihoods: Newton's method for stacks, and standard errors from the observed information."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from suffice.core.parameters import Array

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
    """Second derivatives of ``f``: (…, p) → (…) at ``at`` (…, p); returns (…, p, p)."""
    p = at.shape[-1]
    steps = [np.where(np.arange(p) == i, STEP * scale, 0.0) for i in range(p)]
    out = np.empty((*at.shape, p))
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


def newton(  # noqa: PLR0915 (one method, told in one piece)
    evaluate: Any,
    theta: Array,
    weight: Array,
    names: tuple[str, ...],
    fixed: frozenset[str] = frozenset(),
    tied: frozenset[str] = frozenset(),
    max_iter: int = 200,
) -> Array:
    """Maximise Σ weight · value over positive parameters ``theta`` (k, d, p), in log coordinates.

    ``evaluate(theta)`` gives per unit of weight the value (k, d), its gradient (k, d, p) and its Hessian (k, d, p, p) in
    theta. Where the Hessian in log coordinates is not negative definite, its concave part is used; steps are halved
    until they climb. Fixed parameters stay; tied ones move together over the members.
    """
    k, d, p = theta.shape
    free = tuple(name for name in names if name not in fixed)
    if not free:
        return theta
    pick = [names.index(name) for name in free]
    q = len(free)
    joint = bool(tied & set(free)) and k > 1
    share_out = sharing(k, free, tied) if joint else np.eye(q)

    def grouped(cells: Array, axes: int) -> Array:
        """(k, d, q, …) cells as groups of coordinates that are solved together."""
        if not joint:
            return cells.reshape((k * d, *cells.shape[2:]))
        columns = np.moveaxis(cells, 1, 0)  # (d, k, …)
        if axes == 1:
            return columns.reshape(d, k * q)
        if axes == 0:
            return columns.sum(axis=1)
        blocks = np.zeros((d, k * q, k * q))
        for j in range(k):
            blocks[:, j * q : (j + 1) * q, j * q : (j + 1) * q] = columns[:, j]
        return blocks

    def spread(steps: Array) -> Array:
        """Steps of the groups as steps of the cells."""
        cells = steps @ share_out.T
        return np.moveaxis(cells.reshape(d, k, q), 0, 1) if joint else cells.reshape(k, d, q)

    total = grouped(weight, 0) if joint else weight.reshape(k * d)
    value, gradient, curvature = evaluate(theta)
    for _ in range(max_iter):
        scale, w = theta[..., pick], weight[..., None]
        slope = gradient[..., pick] * scale
        concave = curvature[..., pick, :][..., pick] * scale[..., :, None] * scale[..., None, :]
        full = concave + slope[..., :, None] * np.eye(q)
        g = grouped(slope * w, 1) @ share_out
        h = share_out.T @ grouped(full * w[..., None], 2) @ share_out
        safe = share_out.T @ grouped(concave * w[..., None], 2) @ share_out
        unit = np.where(total > 0, total, 1.0)
        g, h, safe = g / unit[:, None], h / unit[:, None, None], safe / unit[:, None, None]
        bad = np.linalg.eigvalsh(h)[:, -1] >= -1e-14
        h = np.where(bad[:, None, None], safe - 1e-12 * np.eye(h.shape[-1]), h)
        step = np.clip(np.linalg.solve(-h, g[..., None])[..., 0], -3.0, 3.0)
        step[total <= 0] = 0.0
        if np.abs(step).max(initial=0.0) < 1e-15 or np.abs(g).max(initial=0.0) < 1e-15:
            break
        before = grouped(value * weight, 0) if joint else (value * weight).reshape(k * d)
        tolerance = 1e-13 * (np.abs(before) + total)
        for _ in range(40):
            trial = theta.copy()
            trial[..., pick] = scale * np.exp(spread(step))
            new = evaluate(trial)
            after = grouped(new[0] * weight, 0) if joint else (new[0] * weight).reshape(k * d)
            fell = ~(after >= before - tolerance)
            if not fell.any():
                break
            step[fell] /= 2
        else:
            break
        moved = np.abs(step).max(initial=0.0)
        theta, (value, gradient, curvature) = trial, new
        if moved < 1e-14:
            break
    return theta


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
