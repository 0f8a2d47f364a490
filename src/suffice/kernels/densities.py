"""Loops that evaluate log-densities, for Numba; `compiled` prepares their arguments and says what they compute."""
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from suffice.kernels.blocks import load
from suffice.kernels.jit import kernel, minus


@kernel
def normal_log_prob(x, mean, std, out):
    """Log-density (n, k) under products of normals; a NaN cell contributes 0."""
    members, d = mean.shape
    rows = min(1024, max(64, 32768 // d))
    columns, value = np.empty((d, rows)), np.empty((members, rows))
    constant = -0.5 * np.log(2 * np.pi) - np.log(std)
    for begin in range(0, x.shape[0], rows):
        block = x[begin : begin + rows]
        b = block.shape[0]
        load(block, columns)
        total = 0.0
        for j in range(d):
            total += columns[j, :b].sum()
        whole = np.isfinite(total)
        for k in range(members):
            sum_k = value[k, :b]
            sum_k[:] = constant[k].sum() if whole else 0.0
            for j in range(d):
                column, m, precision, c = columns[j, :b], mean[k, j], 1 / std[k, j], constant[k, j]
                if whole:
                    for i in range(b):
                        z = minus(column[i], m) * precision
                        sum_k[i] -= 0.5 * z * z
                else:
                    for i in range(b):
                        z = minus(column[i], m) * precision
                        sum_k[i] += c - 0.5 * z * z if column[i] == column[i] else 0.0
        load(value[:, :b], out[begin : begin + rows])
