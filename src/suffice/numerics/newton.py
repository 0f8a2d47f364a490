"""Newton's method for all cells of a stack at once, with fixed parameters left alone and tied ones moved together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from suffice.numerics.derivatives import sharing

if TYPE_CHECKING:
    from collections.abc import Callable

    from suffice.types import Array

    Derivatives = tuple[Array, Array, Array]  # value (k, d), gradient (k, d, p), Hessian (k, d, p, p)

LONGEST = 3.0  # the largest step in a log coordinate
STILL = 1e-15
HALVINGS, SHORTEST = 8, 1e-9


@dataclass(frozen=True)
class Groups:
    """Cells that are solved together: each cell by itself, or where parameters are tied all components of a column."""

    shape: tuple[int, int, int]  # k, d, free parameters
    joint: bool
    share: Array  # free coordinates of a group → its parameters

    def values(self, cells: Array) -> Array:
        """(k, d) values added up within each group."""
        return np.asarray(cells.sum(axis=0) if self.joint else cells.ravel())

    def gradient(self, cells: Array) -> Array:
        """(k, d, q) slopes in the free coordinates of each group."""
        k, d, q = self.shape
        flat = np.moveaxis(cells, 1, 0).reshape(d, k * q) if self.joint else cells.reshape(k * d, q)
        return np.asarray(flat @ self.share)

    def hessian(self, cells: Array) -> Array:
        """(k, d, q, q) curvatures in the free coordinates of each group."""
        k, d, q = self.shape
        if not self.joint:
            return np.asarray(cells.reshape(k * d, q, q))
        blocks = np.zeros((d, k * q, k * q))
        for j in range(k):
            blocks[:, j * q : (j + 1) * q, j * q : (j + 1) * q] = cells[j]
        return np.asarray(self.share.T @ blocks @ self.share)

    def spread(self, steps: Array) -> Array:
        """Steps of the groups as steps of the cells, (k, d, q)."""
        k, d, q = self.shape
        cells = steps @ self.share.T
        return np.asarray(np.moveaxis(cells.reshape(d, k, q), 0, 1) if self.joint else cells.reshape(k, d, q))


def newton(
    evaluate: Callable[[Array], Derivatives],
    theta: Array,
    weight: Array,
    names: tuple[str, ...],
    fixed: frozenset[str] = frozenset(),
    tied: frozenset[str] = frozenset(),
    max_iter: int = 200,
) -> Array:
    """Maximise Σ weight · value over positive parameters ``theta`` (k, d, p), in log coordinates.

    ``evaluate(theta)`` gives value, gradient and Hessian per unit of weight, in theta itself. Where the Hessian in log
    coordinates is not negative definite its concave part is used; steps are halved until the objective rises.
    """
    free = tuple(name for name in names if name not in fixed)
    if not free:
        return theta
    k, d, _ = theta.shape
    pick = [names.index(name) for name in free]
    joint = bool(tied & set(free)) and k > 1
    groups = Groups((k, d, len(free)), joint, sharing(k, free, tied) if joint else np.eye(len(free)))
    current, last = evaluate(theta), np.inf
    for _ in range(max_iter):
        step = _direction(groups, theta[..., pick], current, weight, pick)
        if np.abs(step).max(initial=0.0) < STILL:
            break
        moved = _line_search(evaluate, groups, theta, current, weight, pick, step)
        if moved is None:
            break
        theta, current, length = moved
        if length < 10 * STILL or (length < 1e-9 and length > last / 4):  # at rest, or moved by rounding alone
            break
        last = length
    return theta


def _direction(groups: Groups, scale: Array, at: Derivatives, weight: Array, pick: list[int]) -> Array:
    """The Newton step of every group in log coordinates."""
    _, gradient, hessian = at
    slope = gradient[..., pick] * scale
    concave = hessian[..., pick, :][..., pick] * scale[..., :, None] * scale[..., None, :]
    full = concave + slope[..., :, None] * np.eye(len(pick))
    total = groups.values(weight)
    unit = np.where(total > 0, total, 1.0)
    g = groups.gradient(slope * weight[..., None]) / unit[:, None]
    h = groups.hessian(full * weight[..., None, None]) / unit[:, None, None]
    safe = groups.hessian(concave * weight[..., None, None]) / unit[:, None, None]
    convex = np.linalg.eigvalsh(h)[:, -1] >= -1e-14
    h = np.where(convex[:, None, None], safe - 1e-12 * np.eye(h.shape[-1]), h)
    h = np.where((total > 0)[:, None, None], h, -np.eye(h.shape[-1]))
    step = np.linalg.solve(-h, g[..., None])[..., 0]
    step *= LONGEST / np.maximum(np.abs(step).max(axis=-1, keepdims=True), LONGEST)  # shorter, in the same direction
    return np.where((total > 0)[:, None], step, 0.0)


def _line_search(
    evaluate: Callable[[Array], Derivatives],
    groups: Groups,
    theta: Array,
    at: Derivatives,
    weight: Array,
    pick: list[int],
    step: Array,
) -> tuple[Array, Derivatives, float] | None:
    """The first of the ever shorter steps at which no group falls, or None.

    A group that falls even by a step of no length to speak of is at rest, to rounding: the others go on without it.
    """
    before, total = groups.values(at[0] * weight), groups.values(weight)
    tolerance = 1e-13 * (np.abs(before) + total)
    for turn in range(40):
        trial = theta.copy()
        trial[..., pick] = theta[..., pick] * np.exp(groups.spread(step))
        new = evaluate(trial)
        fell = ~(groups.values(new[0] * weight) >= before - tolerance)
        if not fell.any():
            return trial, new, float(np.abs(step).max(initial=0.0))
        shorter = step / (2 if turn < HALVINGS else 32)
        shorter = np.where(np.abs(shorter).max(axis=-1, keepdims=True) < SHORTEST, 0.0, shorter)
        step = np.where(fell[:, None], shorter, step)
        if not step.any():
            return None
    return None
