"""Sums of Gaussians over many points of a plane: the fast Gauss transform of `gauss_transform`, an axis at a time."""

from __future__ import annotations

from math import factorial

import numpy as np

from suffice.densities.gauss_transform import derivatives_of_normal
from suffice.types import Array

WIDTH = 0.5  # of a box, in bandwidths
ORDER = 12  # (1/4)¹³ / √13! = 2e-13
NEAR = 15  # boxes to each side: φ beyond 7.5 bandwidths is below 6e-13 of φ(0)
ENOUGH = 1e-4  # of the weight around: smaller sums have lost digits, and are left to the tree
BOXES = 1 << 16  # of the grid at most: 90 MB of moments
BLOCK = 1 << 15  # points that are looked at together
SIZE = ORDER + 1
FACTORIALS = np.array([float(factorial(p)) for p in range(SIZE)])


def sums(rows: Array, weights: Array, targets: Array) -> tuple[Array, Array] | None:
    """Σ w φ(t − x) of targets (n, 2) over points (m, 2) in bandwidths, and which of them have their digits.

    None where the points are spread over so many boxes that a tree is better.
    """
    corner = rows.min(axis=0)
    shape = np.floor((rows.max(axis=0) - corner) / WIDTH).astype(int) + 1 + 2 * NEAR
    if np.prod(shape.astype(float)) > BOXES:
        return None
    moments = _moments(rows, weights, corner, shape)
    near = _around(moments[..., 0, 0])
    local = _translated(_translated(moments).transpose(1, 0, 3, 2)).transpose(1, 0, 3, 2)
    local = np.ascontiguousarray(local).reshape(-1, SIZE, SIZE)
    out, good = np.zeros(len(targets)), np.zeros(len(targets), bool)
    for begin in range(0, len(targets), BLOCK):
        part = slice(begin, begin + BLOCK)
        box, away = _placed(targets[part], corner)
        inside = np.flatnonzero(((box >= 0) & (box < shape)).all(axis=1))
        flat = box[inside, 0] * shape[1] + box[inside, 1]
        first, second = (np.power(away[inside, axis, None], np.arange(SIZE)) for axis in (0, 1))
        found = np.einsum("ni,ni->n", np.matmul(first[:, None, :], local[flat])[:, 0], second)
        out[begin + inside] = found
        good[begin + inside] = found > ENOUGH * near.ravel()[flat]
    return out, good


def _placed(x: Array, corner: Array) -> tuple[Array, Array]:
    """The box of each point, and its distance from the middle."""
    scaled = (x - corner) / WIDTH
    box = np.floor(np.clip(scaled, -1e6, 1e6))
    return box.astype(int) + NEAR, (scaled - box - 0.5) * WIDTH


def _moments(rows: Array, weights: Array, corner: Array, shape: Array) -> Array:
    """Σ w uᵖ vᑫ / p! q! of each box, (boxes, boxes, SIZE, SIZE)."""
    box, away = _placed(rows, corner)
    flat = box[:, 0] * shape[1] + box[:, 1]
    order = np.argsort(flat, kind="stable")
    flat, away, weights = flat[order], away[order], weights[order]
    moments = np.zeros((int(np.prod(shape)), SIZE * SIZE))
    for begin in range(0, len(flat), BLOCK):
        part = slice(begin, begin + BLOCK)
        first, second = (np.power(away[part, axis, None], np.arange(SIZE)) / FACTORIALS for axis in (0, 1))
        each = ((weights[part, None] * first)[:, :, None] * second[:, None, :]).reshape(-1, SIZE * SIZE)
        starts = np.flatnonzero(np.diff(flat[part], prepend=-1))
        moments[flat[part][starts]] += np.add.reduceat(each, starts, axis=0)
    return moments.reshape(*shape, SIZE, SIZE)


def _translated(moments: Array) -> Array:
    """Moments (a, b, p, q) along the first axis as Taylor coefficients around the middle of every box."""
    a, b = moments.shape[:2]
    table = derivatives_of_normal(WIDTH * np.arange(-NEAR, NEAR + 1), 2 * ORDER)
    orders = np.add.outer(np.arange(SIZE), np.arange(SIZE))
    signs = (-1.0) ** np.arange(SIZE)
    by_order = np.ascontiguousarray(moments.transpose(2, 0, 1, 3)).reshape(SIZE, a, b * SIZE)
    out = np.zeros_like(by_order)
    for at, offset in enumerate(range(-NEAR, NEAR + 1)):
        kernel = (table[orders, at] * signs[:, None] / FACTORIALS).T
        low, high = max(offset, 0), min(a + offset, a)
        if low < high:
            source = by_order[:, low - offset : high - offset].reshape(SIZE, -1)
            out[:, low:high] += (kernel @ source).reshape(SIZE, high - low, -1)
    return out.reshape(SIZE, a, b, SIZE).transpose(1, 2, 0, 3)


def _around(weight: Array) -> Array:
    """The weight within NEAR boxes of each box."""
    for axis in (0, 1):
        total = np.cumsum(weight, axis=axis)
        last = np.minimum(np.arange(weight.shape[axis]) + NEAR, weight.shape[axis] - 1)
        first = np.arange(weight.shape[axis]) - NEAR - 1
        before = np.take(total, np.maximum(first, 0), axis=axis)
        before = np.where(np.expand_dims(first >= 0, 1 - axis), before, 0.0)
        weight = np.take(total, last, axis=axis) - before
    return weight
