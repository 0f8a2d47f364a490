"""Loops of one EM pass over components whose log-density is a sum over cells, for Numba.

A block of rows lies feature by feature in ``u``, which is flat: a feature's rows begin ``stride`` after those of the
one before. Logits and sums go by tiles of 4 components × 3 vectors that stay in registers; what belongs to the
components lies as (k / 4, features, 4), components padded to fours and the features that are summed to threes.

``weights`` is (n, 1), ``log_weights`` (n, k), ``base`` (n, 1), with no rows where there are none. The last arguments
are added to; the log-likelihood and the entropy are returned. Rows of no weight are written as zeros: whatever they
hold does no harm.
"""
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from suffice.kernels.jit import kernel, minus, softmax
from suffice.kernels.lanes import LANES, add_totals, fill, load, multiply, multiply_add, store, strided, subtract

ROWS = 3 * LANES  # of a tile
BLOCK = 240  # rows of a block: tiles and, for most, the cells of short rows


@kernel
def write_rows(x, begin, count, pilot, u, stride):
    """Write x − pilot of ``count`` rows, column by column; zeros up to a tile."""
    d = pilot.size
    cells = x.reshape(x.size)
    whole = count - count % LANES
    for j in range(d):
        place, start, c = j * stride, begin * d + j, fill(pilot[j])
        for i in range(0, whole, LANES):
            store(u, place + i, subtract(strided(cells, start + i * d, d), c))
        for i in range(whole, count):
            u[place + i] = minus(x[begin + i, j], pilot[j])
        for i in range(count, -(-count // ROWS) * ROWS):
            u[place + i] = 0.0


@kernel
def write_weights(weights, begin, count, features, u, stride, w):
    """Write the weights of the rows, 0 up to a tile, and zeros for the cells of those that have none."""
    for i in range(w.size):
        w[i] = (weights[begin + i, 0] if weights.size else 1.0) if i < count else 0.0
    if weights.size:
        for i in range(count):
            if w[i] == 0.0:
                for j in range(features):
                    u[j * stride + i] = 0.0


@kernel
def add_log_weights(log_weights, base, begin, count, w, logits):
    """Add each row's own log-weights (n, k) and base to the logits."""
    for k in range(logits.shape[0]):
        row = logits[k]
        if log_weights.size:
            for i in range(count):
                row[i] += log_weights[begin + i, k] if w[i] != 0.0 else 0.0
        if base.size:
            for i in range(count):
                row[i] += base[begin + i, 0] if w[i] != 0.0 else 0.0


@kernel
def put(a, i, first, second, third):
    """Store three vectors, one after the other."""
    store(a, i, first)
    store(a, i + LANES, second)
    store(a, i + 2 * LANES, third)


@kernel
def add_sums(u, p, r, q, rows, stride, sums, s):
    """Add to 3 × 4 sums the products of three features, from u[p] on, and four components' shares, from r[q] on."""
    a0 = a1 = a2 = b0 = b1 = b2 = c0 = c1 = c2 = d0 = d1 = d2 = fill(0.0)
    for t in range(0, rows, LANES):
        u0, u1, u2 = load(u, p + t), load(u, p + stride + t), load(u, p + 2 * stride + t)
        e = load(r, q + t)
        a0, a1, a2 = multiply_add(e, u0, a0), multiply_add(e, u1, a1), multiply_add(e, u2, a2)
        e = load(r, q + stride + t)
        b0, b1, b2 = multiply_add(e, u0, b0), multiply_add(e, u1, b1), multiply_add(e, u2, b2)
        e = load(r, q + 2 * stride + t)
        c0, c1, c2 = multiply_add(e, u0, c0), multiply_add(e, u1, c1), multiply_add(e, u2, c2)
        e = load(r, q + 3 * stride + t)
        d0, d1, d2 = multiply_add(e, u0, d0), multiply_add(e, u1, d1), multiply_add(e, u2, d2)
    add_totals(sums, s, a0, b0, c0, d0)
    add_totals(sums, s + 4, a1, b1, c1, d1)
    add_totals(sums, s + 8, a2, b2, c2, d2)


@kernel
def gather(u, features, rows, stride, r, n_components, sums):
    """Add Σ r u over the rows; sums (components / 4, features, 4), features a multiple of 3."""
    for f in range(0, features, 3):
        for k in range(0, n_components, 4):
            add_sums(u, f * stride, r, k * stride, rows, stride, sums, k * features + 4 * f)


# -- independent normals -----------------------------------------------------------------------------------------------


@kernel
def subtract_squares(u, d, rows, stride, scale, place, constant, n_components, logits):
    """Write constant − Σ (scale u − place)² as the logits of the components."""
    for t in range(0, rows, ROWS):
        for k in range(0, n_components, 4):
            a0 = a1 = a2 = b0 = b1 = b2 = c0 = c1 = c2 = d0 = d1 = d2 = fill(0.0)
            p, q = t, k * d
            for _ in range(d):
                u0, u1, u2 = load(u, p), load(u, p + LANES), load(u, p + 2 * LANES)
                e, f = fill(scale[q]), fill(place[q])
                z0, z1, z2 = multiply_add(e, u0, f), multiply_add(e, u1, f), multiply_add(e, u2, f)
                a0, a1, a2 = multiply_add(z0, z0, a0), multiply_add(z1, z1, a1), multiply_add(z2, z2, a2)
                e, f = fill(scale[q + 1]), fill(place[q + 1])
                z0, z1, z2 = multiply_add(e, u0, f), multiply_add(e, u1, f), multiply_add(e, u2, f)
                b0, b1, b2 = multiply_add(z0, z0, b0), multiply_add(z1, z1, b1), multiply_add(z2, z2, b2)
                e, f = fill(scale[q + 2]), fill(place[q + 2])
                z0, z1, z2 = multiply_add(e, u0, f), multiply_add(e, u1, f), multiply_add(e, u2, f)
                c0, c1, c2 = multiply_add(z0, z0, c0), multiply_add(z1, z1, c1), multiply_add(z2, z2, c2)
                e, f = fill(scale[q + 3]), fill(place[q + 3])
                z0, z1, z2 = multiply_add(e, u0, f), multiply_add(e, u1, f), multiply_add(e, u2, f)
                d0, d1, d2 = multiply_add(z0, z0, d0), multiply_add(z1, z1, d1), multiply_add(z2, z2, d2)
                p += stride
                q += 4
            e, f = fill(constant[k]), fill(constant[k + 1])
            put(logits, k * stride + t, subtract(e, a0), subtract(e, a1), subtract(e, a2))
            put(logits, (k + 1) * stride + t, subtract(f, b0), subtract(f, b1), subtract(f, b2))
            e, f = fill(constant[k + 2]), fill(constant[k + 3])
            put(logits, (k + 2) * stride + t, subtract(e, c0), subtract(e, c1), subtract(e, c2))
            put(logits, (k + 3) * stride + t, subtract(f, d0), subtract(f, d1), subtract(f, d2))


@kernel
def normals(x, weights, log_weights, constant, scale, place, pilot, n_components, block, sums):
    """Sums (k / 4, ≥ 2d + 1, 4) of x, x² and 1 about one pilot (d,); scale x + place = (x − mean) / std √½."""
    d, stride, padded, features = pilot.size, block + 8, constant.size, sums.shape[1]
    u, w, logits, nothing = np.zeros(features * stride), np.empty(block), np.zeros((padded, stride)), np.empty((0, 1))
    u[2 * d * stride : 2 * d * stride + block] = 1.0
    flat, total, value, entropy = logits.reshape(logits.size), sums.reshape(sums.size), 0.0, 0.0
    for begin in range(0, x.shape[0], block):
        count = min(block, x.shape[0] - begin)
        rows = -(-count // ROWS) * ROWS
        write_rows(x, begin, count, pilot, u, stride)
        write_weights(weights, begin, count, d, u, stride, w)
        for j in range(d):
            for t in range(0, rows, LANES):
                v = load(u, j * stride + t)
                store(u, (d + j) * stride + t, multiply(v, v))
        subtract_squares(u, d, rows, stride, scale, place, constant, padded, flat)
        add_log_weights(log_weights, nothing, begin, count, w, logits[:n_components])
        more, spread = softmax(logits[:n_components], w[:rows], count == block and weights.size == 0)
        gather(u, features, rows, stride, flat, padded, total)
        value += more
        entropy += spread
        if not np.isfinite(value):  # a hole: the sums are of no use
            break
    return value, entropy


# -- linear in features ------------------------------------------------------------------------------------------------


@kernel
def combine(u, features, rows, stride, coefficients, constant, n_components, logits):
    """Write constant + coefficients · features as the logits of the components."""
    for t in range(0, rows, ROWS):
        for k in range(0, n_components, 4):
            a0 = a1 = a2 = fill(constant[k])
            b0 = b1 = b2 = fill(constant[k + 1])
            c0 = c1 = c2 = fill(constant[k + 2])
            d0 = d1 = d2 = fill(constant[k + 3])
            p, q = t, k * features
            for _ in range(features):
                u0, u1, u2 = load(u, p), load(u, p + LANES), load(u, p + 2 * LANES)
                e = fill(coefficients[q])
                a0, a1, a2 = multiply_add(e, u0, a0), multiply_add(e, u1, a1), multiply_add(e, u2, a2)
                e = fill(coefficients[q + 1])
                b0, b1, b2 = multiply_add(e, u0, b0), multiply_add(e, u1, b1), multiply_add(e, u2, b2)
                e = fill(coefficients[q + 2])
                c0, c1, c2 = multiply_add(e, u0, c0), multiply_add(e, u1, c1), multiply_add(e, u2, c2)
                e = fill(coefficients[q + 3])
                d0, d1, d2 = multiply_add(e, u0, d0), multiply_add(e, u1, d1), multiply_add(e, u2, d2)
                p += stride
                q += 4
            put(logits, k * stride + t, a0, a1, a2)
            put(logits, (k + 1) * stride + t, b0, b1, b2)
            put(logits, (k + 2) * stride + t, c0, c1, c2)
            put(logits, (k + 3) * stride + t, d0, d1, d2)


@kernel
def linear(x, weights, log_weights, base, constant, eta, n_components, block, sums):
    """Logits x·eta + constant + base, eta (k / 4, m, 4) as one stretch; sums (k / 4, ≥ m + 1, 4) of x and 1."""
    m, stride, padded, features = x.shape[1], block + 8, constant.size, sums.shape[1]
    u, w, logits, origin = np.zeros(features * stride), np.empty(block), np.zeros((padded, stride)), np.zeros(m)
    u[m * stride : m * stride + block] = 1.0
    flat, total, value, entropy = logits.reshape(logits.size), sums.reshape(sums.size), 0.0, 0.0
    for begin in range(0, x.shape[0], block):
        count = min(block, x.shape[0] - begin)
        rows = -(-count // ROWS) * ROWS
        write_rows(x, begin, count, origin, u, stride)
        write_weights(weights, begin, count, m, u, stride, w)
        combine(u, m, rows, stride, eta, constant, padded, flat)
        add_log_weights(log_weights, base, begin, count, w, logits[:n_components])
        more, spread = softmax(logits[:n_components], w[:rows], count == block and weights.size == 0)
        gather(u, features, rows, stride, flat, padded, total)
        value += more
        entropy += spread
    return value, entropy
