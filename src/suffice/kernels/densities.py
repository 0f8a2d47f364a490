"""Loops for the scores of rows and what follows from them, for Numba: log densities, and shares of the components."""
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from suffice.kernels.jit import exp, kernel, log, wide
from suffice.kernels.lanes import LANES, fill, load, multiply_add, store, strided, subtract

ROWS = 3 * LANES  # of a panel
FADED, LEAST = -600.0, -708.0  # as in the reference: a share of less is none; exp of less than the second is 0


# -- Gaussian components
# --------------------------------------------------------------------------------------------------


@kernel
def write_panel(x, begin, y):
    """Write the rows from ``begin`` on by columns, (d, ROWS); zeros complete the last panel."""
    n, d = x.shape
    cells = x.reshape(x.size)
    for j in range(d):
        if begin + ROWS <= n:
            for t in range(0, ROWS, LANES):
                store(y, j * ROWS + t, strided(cells, (begin + t) * d + j, d))
        else:
            for t in range(ROWS):
                y[j * ROWS + t] = x[begin + t, j] if begin + t < n else 0.0


@kernel
def whitened_square(z, d, factor, constant, scores, place):
    """Write constant − ½ ‖factor z‖² of a panel; the factor's rows come by fours, a last one or two as a pair.

    Four rows have as many columns as the last of them, side by side; those beyond the diagonal are 0.
    """
    q = 0
    s0 = s1 = s2 = fill(0.0)
    for i in range(0, d - 2, 4):
        a0 = a1 = a2 = b0 = b1 = b2 = c0 = c1 = c2 = d0 = d1 = d2 = fill(0.0)
        p = 0
        for _ in range(min(i + 4, d)):
            u0, u1, u2 = load(z, p), load(z, p + LANES), load(z, p + 2 * LANES)
            e = fill(factor[q])
            a0, a1, a2 = multiply_add(e, u0, a0), multiply_add(e, u1, a1), multiply_add(e, u2, a2)
            e = fill(factor[q + 1])
            b0, b1, b2 = multiply_add(e, u0, b0), multiply_add(e, u1, b1), multiply_add(e, u2, b2)
            e = fill(factor[q + 2])
            c0, c1, c2 = multiply_add(e, u0, c0), multiply_add(e, u1, c1), multiply_add(e, u2, c2)
            e = fill(factor[q + 3])
            d0, d1, d2 = multiply_add(e, u0, d0), multiply_add(e, u1, d1), multiply_add(e, u2, d2)
            p += ROWS
            q += 4
        s0 = multiply_add(d0, d0, multiply_add(c0, c0, multiply_add(b0, b0, multiply_add(a0, a0, s0))))
        s1 = multiply_add(d1, d1, multiply_add(c1, c1, multiply_add(b1, b1, multiply_add(a1, a1, s1))))
        s2 = multiply_add(d2, d2, multiply_add(c2, c2, multiply_add(b2, b2, multiply_add(a2, a2, s2))))
    if 1 <= d % 4 <= 2:
        a0 = a1 = a2 = b0 = b1 = b2 = fill(0.0)
        p = 0
        for _ in range(d):
            u0, u1, u2 = load(z, p), load(z, p + LANES), load(z, p + 2 * LANES)
            e = fill(factor[q])
            a0, a1, a2 = multiply_add(e, u0, a0), multiply_add(e, u1, a1), multiply_add(e, u2, a2)
            e = fill(factor[q + 1])
            b0, b1, b2 = multiply_add(e, u0, b0), multiply_add(e, u1, b1), multiply_add(e, u2, b2)
            p += ROWS
            q += 2
        s0 = multiply_add(b0, b0, multiply_add(a0, a0, s0))
        s1 = multiply_add(b1, b1, multiply_add(a1, a1, s1))
        s2 = multiply_add(b2, b2, multiply_add(a2, a2, s2))
    start, half = fill(constant), fill(-0.5)
    store(scores, place, multiply_add(half, s0, start))
    store(scores, place + LANES, multiply_add(half, s1, start))
    store(scores, place + 2 * LANES, multiply_add(half, s2, start))


@kernel
def gaussian_log_prob(x, mean, factor, constant, out):
    """Constant (k,) − ½ ‖factor (x − mean)‖², (n, k); the factors (k, ·) as `whitened_square` takes them.

    Each component's mean is taken from the rows first, so that no digit is lost wherever they lie.
    """
    (n, d), n_components = x.shape, mean.shape[0]
    y, z, scores = np.zeros(d * ROWS), np.zeros(d * ROWS), np.empty(n_components * ROWS)
    for begin in range(0, n, ROWS):
        write_panel(x, begin, y)
        for k in range(n_components):
            for j in range(d):
                m = fill(mean[k, j])
                for t in range(j * ROWS, (j + 1) * ROWS, LANES):
                    store(z, t, subtract(load(y, t), m))
            whitened_square(z, d, factor[k], constant[k], scores, k * ROWS)
        for t in range(min(ROWS, n - begin)):
            for k in range(n_components):
                out[begin + t, k] = scores[k * ROWS + t]


# -- shares ------------------------------------------------------------------------------------------------------------


@kernel
def shares(scores, total, parts, entropy):  # noqa: C901 (loops)
    """Log Σ exp of scores (n, k), the shares of the components, and their entropy; NaN shows in the total."""
    wide()
    n, n_components = scores.shape
    rows = max(32768 // max(n_components, 1) // 8 * 8, 8)
    block, space = np.empty((n_components, rows)), np.empty((4, rows))
    for begin in range(0, n, rows):
        b = min(rows, n - begin)
        top, whole, tilt, inverse = space[0, :b], space[1, :b], space[2, :b], space[3, :b]
        top[:], whole[:], tilt[:], inverse[:] = -np.inf, 0.0, 0.0, 0.0
        for k in range(n_components):
            row = block[k]
            for i in range(b):
                row[i] = scores[begin + i, k]
                top[i] = max(top[i], row[i])  # the first unless the second is more: NaN never is
                inverse[i] += 0.0 if row[i] == row[i] else np.nan
        for k in range(n_components):
            row = block[k]
            for i in range(b):
                z = row[i] - (top[i] if abs(top[i]) < np.inf else 0.0)
                z = 2 * LEAST if z < FADED else z
                e = exp(z)
                whole[i] += e
                tilt[i] += e * z
                row[i] = e
        for i in range(b):
            number = inverse[i] == inverse[i]
            possible = (abs(top[i]) < np.inf) & number
            summed = whole[i] if possible else 1.0
            inverse[i] = 1.0 / summed if possible else 0.0
            logarithm = log(summed)
            entropy[begin + i] = logarithm - tilt[i] * inverse[i] if possible else 0.0
            total[begin + i] = top[i] + logarithm if number else np.nan
        for i in range(b):
            if inverse[i] == 0.0:
                for k in range(n_components):
                    block[k, i] = 0.0
        for i in range(b):
            for k in range(n_components):
                parts[begin + i, k] = block[k, i] * inverse[i]


@kernel
def chosen(scores, out):
    """The first of the highest scores (n, k) of each row into out; −1 where it is not finite, or one is NaN."""
    for i in range(scores.shape[0]):
        best, who, total = -np.inf, -1, 0.0
        for k in range(scores.shape[1]):
            score = scores[i, k]
            better = score > best
            who = k if better else who
            best = score if better else best
            total += np.nan if np.isnan(score) else 0.0
        out[i] = who if (best < np.inf) & (total == 0.0) else -1
