"""Kernel sums over points of several columns: the fast Gauss transform, a tree, and the nearest points in the tails."""

from __future__ import annotations

from math import log, pi

import numpy as np
from sklearn.neighbors import KDTree

from suffice.densities import plane
from suffice.densities.far import NEGLIGIBLE, chunks
from suffice.densities.kernels import Compact, Kernel
from suffice.types import Array

TOLERANCE = 1e-8  # relative, of a sum of Gaussians
TAIL = -12.0  # of a log sum: below it scikit-learn's tree loses digits, and far out hundreds of nats
MANY = 1 << 22  # pairs of points and targets from which on the fast Gauss transform of a plane is worth while
TARGETS = 1024  # whose neighbours are listed together


def log_sums(kernel: Kernel, rows: Array, weights: Array, targets: Array) -> Array:
    """Log Σ w Πⱼ K(tⱼ − xⱼ) at targets (n, d) over rows (m, d), in units of the bandwidth."""
    if isinstance(kernel, Compact):
        return _compact(kernel, rows, weights, targets)
    found = plane.sums(rows, weights, targets) if rows.shape[1] == 2 and len(rows) * len(targets) > MANY else None
    if found is None:
        return by_tree(rows, weights, targets)
    with np.errstate(divide="ignore", invalid="ignore"):
        out = np.log(found[0])
    lost = np.flatnonzero(~found[1])
    if len(lost):
        out[lost] = by_tree(rows, weights, targets[lost])
    return out


def by_tree(rows: Array, weights: Array, targets: Array) -> Array:
    """Log Σ w φ(t − x) by a tree, to TOLERANCE of the sum; in the tails from the nearest points alone."""
    share = weights / weights.max()
    tree = KDTree(rows, sample_weight=share)
    found = tree.kernel_density(targets, 1.0, kernel="gaussian", rtol=TOLERANCE, return_log=True)
    out = np.asarray(found, dtype=float)
    lost = np.flatnonzero(~(out > TAIL))
    if len(lost):
        out[lost] = _from_nearest(tree, rows, share, targets[lost])
    return out + log(float(weights.max()))


def _from_nearest(tree: KDTree, rows: Array, weights: Array, targets: Array) -> Array:
    """Log Σ w φ(t − x) by log-sum-exp over the points that are not negligible beside the nearest."""
    nearest = tree.query(targets, 1)[0][:, 0]
    reach = np.sqrt(np.square(nearest) + 2 * (NEGLIGIBLE + log(len(rows)) - log(float(weights.min()))))
    number = tree.query_radius(targets, reach, count_only=True)
    out = np.empty(len(targets))
    for begin, end in chunks(number):
        part = slice(begin, end)
        near = tree.query_radius(targets[part], reach[part])
        row, point = np.repeat(np.arange(end - begin), number[part]), np.concatenate(near)
        squares = np.square(targets[part][row] - rows[point]).sum(axis=1)
        each = weights[point] * np.exp(-0.5 * (squares - np.square(nearest[part])[row]))
        out[part] = np.log(np.bincount(row, each, end - begin)) - 0.5 * np.square(nearest[part])
    return np.asarray(out - rows.shape[1] / 2 * log(2 * pi))


def _compact(kernel: Compact, rows: Array, weights: Array, targets: Array) -> Array:
    tree = KDTree(rows, metric="chebyshev")
    out = np.zeros(len(targets))
    for begin in range(0, len(targets), TARGETS):
        part = targets[begin : begin + TARGETS]
        near = tree.query_radius(part, 1.0)
        row = np.repeat(np.arange(len(part)), [len(one) for one in near])
        if not len(row):
            continue
        point = np.concatenate(near)
        each = np.exp(kernel.log(part[row] - rows[point]).sum(axis=1))
        out[begin : begin + len(part)] = np.bincount(row, weights[point] * each, len(part))
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(out))
