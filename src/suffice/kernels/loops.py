"""Loops for the densities of columns, for Numba; `compiled` prepares the arguments and says what they do."""
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from suffice.kernels.jit import kernel, minus

TILE = 128  # rows transposed at a time: their cache lines are still near for the next column


@kernel
def load(x, columns):
    """Transpose x (b, d) into columns (d, ≥ b)."""
    for begin in range(0, x.shape[0], TILE):
        tile = x[begin : begin + TILE]
        for j in range(tile.shape[1]):
            column = columns[j, begin : begin + tile.shape[0]]
            for i in range(column.size):
                column[i] = tile[i, j]


@kernel
def add_up(values):
    """Σ of a contiguous array, as vectors: the ``sum`` method adds one by one."""
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


@kernel
def normal_log_prob(x, mean, std, out):
    """Log-density (n, k) under products of normals; a NaN cell contributes 0."""
    n_components, d = mean.shape
    rows = min(1024, max(64, 32768 // max(d, 1)))
    columns, value, constant = np.empty((d, rows)), np.empty(rows), -0.5 * np.log(2 * np.pi) - np.log(std)
    for begin in range(0, x.shape[0], rows):
        block = x[begin : begin + rows]
        b, total = block.shape[0], 0.0
        load(block, columns)
        for j in range(d):
            total += add_up(columns[j, :b])
        complete = np.isfinite(total)
        for k in range(n_components):
            value[:] = constant[k].sum() if complete else 0.0
            for j in range(d):
                column, m, precision, c = columns[j, :b], mean[k, j], 1 / std[k, j], constant[k, j]
                if complete:
                    for i in range(b):
                        z = minus(column[i], m) * precision
                        value[i] -= 0.5 * z * z
                else:
                    for i in range(b):
                        z = minus(column[i], m) * precision
                        value[i] += c - 0.5 * z * z if column[i] == column[i] else 0.0
            for i in range(b):
                out[begin + i, k] = value[i]
