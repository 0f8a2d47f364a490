"""Kernel sums over points of several columns: a tree for Gaussians, boxes around targets for compact kernels."""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import KDTree

from suffice.densities.kernels import Compact, Kernel
from suffice.types import Array

TOLERANCE = 1e-8  # relative, of a sum of Gaussians
TARGETS = 4096  # of compact kernels at a time, whose neighbours are listed


def log_sums(kernel: Kernel, rows: Array, weights: Array, targets: Array) -> Array:
    """Log Σ w Πⱼ K(tⱼ − xⱼ) at targets (n, d) over rows (m, d), in units of the bandwidth."""
    if isinstance(kernel, Compact):
        return _compact(kernel, rows, weights, targets)
    tree = KDTree(rows, sample_weight=weights)
    found = tree.kernel_density(targets, 1.0, kernel="gaussian", rtol=TOLERANCE, return_log=True)
    return np.asarray(found, dtype=float)


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
