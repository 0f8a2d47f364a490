"""Loops of one EM pass over Gaussian members, for Numba.

A block of rows is written feature by feature, about a pilot centre: y₀ = 1, yⱼ = (xⱼ − centreⱼ) scaleⱼ. A quadratic
form of y is a linear one of the products yᵢ yⱼ, i ≥ j: logits are products of coefficients and these, and statistics
products of shares and these. Both go by tiles of 4 members × 3 vectors whose sums stay in registers. What belongs to
the members, coefficients or sums, lies as (k / 4, features, 4); members and features are padded to whole tiles. Arrays
are flat where the loops see them as vectors; a feature's rows begin ``stride`` after those of the one before.
"""
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from suffice.kernels.jit import kernel, minus, softmax
from suffice.kernels.lanes import LANES, add_totals, fill, load, multiply, multiply_add, store, strided, subtract

ROWS = 3 * LANES  # of a tile


@kernel
def write_rows(x, begin, count, centre, scale, y, stride):
    """Write (x − centre) scale of ``count`` rows, column by column from the second feature on; zeros up to a tile."""
    d = centre.size
    cells = x.reshape(x.size)
    whole = count - count % LANES
    for j in range(d):
        place, start = (j + 1) * stride, begin * d + j
        c, s = fill(centre[j]), fill(scale[j])
        for i in range(0, whole, LANES):
            store(y, place + i, multiply(subtract(strided(cells, start + i * d, d), c), s))
        for i in range(whole, count):
            y[place + i] = minus(x[begin + i, j], centre[j]) * scale[j]
        for i in range(count, -(-count // ROWS) * ROWS):
            y[place + i] = 0.0


@kernel
def write_weights(weights, begin, count, y, d, stride, w):
    """Write the weights of the rows; those of no weight move to the centre, where whatever they held does no harm."""
    for i in range(w.size):
        w[i] = (weights[begin + i, 0] if weights.size else 1.0) if i < count else 0.0
    if weights.size:
        for i in range(count):
            if w[i] == 0.0:
                for j in range(1, d + 1):
                    y[j * stride + i] = 0.0


@kernel
def write_products(y, d, rows, stride, u):
    """Write yᵢ yⱼ, i ≥ j, as features."""
    q = 0
    for i in range(d + 1):
        for j in range(i + 1):
            for t in range(0, rows, LANES):
                store(u, q + t, multiply(load(y, i * stride + t), load(y, j * stride + t)))
            q += stride


@kernel
def add_log_weights(log_weights, begin, count, w, logits):
    """Add each row's own log-weights (n, k) to the logits."""
    for k in range(log_weights.shape[1]):
        row = logits[k]
        for i in range(count):
            row[i] += log_weights[begin + i, k] if w[i] != 0.0 else 0.0


@kernel
def combine(u, features, rows, stride, coefficients, members, logits):
    """Logits of the members: the coefficients times the features."""
    for t in range(0, rows, ROWS):
        for k in range(0, members, 4):
            a0 = a1 = a2 = b0 = b1 = b2 = c0 = c1 = c2 = d0 = d1 = d2 = fill(0.0)
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
def put(a, i, first, second, third):
    """Store three vectors, one after the other."""
    store(a, i, first)
    store(a, i + LANES, second)
    store(a, i + 2 * LANES, third)


@kernel
def add_sums(u, p, r, q, rows, stride, sums, s):
    """Add to 3 × 4 sums the products of three features, from u[p] on, and four members' shares, from r[q] on."""
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
def gather(u, features, rows, stride, r, members, sums):
    """Add Σ r u over the rows; sums (members / 4, features, 4), features a multiple of 3."""
    for f in range(0, features, 3):
        for k in range(0, members, 4):
            add_sums(u, f * stride, r, k * stride, rows, stride, sums, k * features + 4 * f)


@kernel
def gaussian(x, weights, log_weights, centre, scale, coefficients, members, block, sums):
    """Log-likelihood and entropy under quadratic coefficients (k / 4, m, 4); adds to sums (k / 4, m, 4) of yᵢ yⱼ."""
    d, stride, features = centre.size, block + 8, sums.shape[1]
    padded = 4 * sums.shape[0]
    y, u, w = np.zeros((d + 1) * stride), np.zeros(features * stride), np.empty(block)
    y[:block] = 1.0
    logits = np.zeros((padded, stride))
    flat, total = logits.reshape(logits.size), sums.reshape(sums.size)
    eta = coefficients.reshape(coefficients.size)
    log_likelihood = entropy = 0.0
    for begin in range(0, x.shape[0], block):
        count = min(block, x.shape[0] - begin)
        rows = -(-count // ROWS) * ROWS
        write_rows(x, begin, count, centre, scale, y, stride)
        write_weights(weights, begin, count, y, d, stride, w)
        write_products(y, d, rows, stride, u)
        combine(u, features, rows, stride, eta, padded, flat)
        if log_weights.size:
            add_log_weights(log_weights, begin, count, w, logits)
        value, spread = softmax(logits[:members], w[:rows], count == block and weights.size == 0)
        gather(u, features, rows, stride, flat, padded, total)
        log_likelihood += value
        entropy += spread
    return log_likelihood, entropy


@kernel
def combine_nested(y, d, rows, stride, coefficients, members, logits):
    """Logits as Σ yᵢ (Σ coefficients yⱼ over j ≤ i): no product of two features is ever stored."""
    size = (d + 1) * (d + 2) // 2
    for t in range(0, rows, ROWS):
        for k in range(0, members, 4):
            e0 = e1 = e2 = f0 = f1 = f2 = g0 = g1 = g2 = h0 = h1 = h2 = fill(0.0)
            q = k * size
            for i in range(d + 1):
                a0 = a1 = a2 = b0 = b1 = b2 = c0 = c1 = c2 = d0 = d1 = d2 = fill(0.0)
                p = t
                for _ in range(i + 1):
                    u0, u1, u2 = load(y, p), load(y, p + LANES), load(y, p + 2 * LANES)
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
                p -= stride
                u0, u1, u2 = load(y, p), load(y, p + LANES), load(y, p + 2 * LANES)
                e0, e1, e2 = multiply_add(a0, u0, e0), multiply_add(a1, u1, e1), multiply_add(a2, u2, e2)
                f0, f1, f2 = multiply_add(b0, u0, f0), multiply_add(b1, u1, f1), multiply_add(b2, u2, f2)
                g0, g1, g2 = multiply_add(c0, u0, g0), multiply_add(c1, u1, g1), multiply_add(c2, u2, g2)
                h0, h1, h2 = multiply_add(d0, u0, h0), multiply_add(d1, u1, h1), multiply_add(d2, u2, h2)
            put(logits, k * stride + t, e0, e1, e2)
            put(logits, (k + 1) * stride + t, f0, f1, f2)
            put(logits, (k + 2) * stride + t, g0, g1, g2)
            put(logits, (k + 3) * stride + t, h0, h1, h2)


@kernel
def gather_nested(y, d, rows, stride, r, members, sums, part):
    """Add Σ r yᵢ yⱼ; the j ≤ i of each i are padded to whole tiles."""
    s = 0
    for k in range(0, members, 4):
        for i in range(d + 1):
            for m in range(4):
                for t in range(0, rows, LANES):
                    store(part, m * stride + t, multiply(load(r, (k + m) * stride + t), load(y, i * stride + t)))
            for j in range(0, i + 1, 3):
                add_sums(y, j * stride, part, 0, rows, stride, sums, s)
                s += 12


@kernel
def gaussian_nested(x, weights, log_weights, centre, scale, coefficients, members, block, sums):
    """As `gaussian`, for many columns; coefficients (k / 4, m, 4) and sums (k / 4, ≥ m, 4) of another length."""
    d, stride, padded = centre.size, block + 8, 4 * sums.shape[0]
    y, w = np.zeros((d + 3) * stride), np.empty(block)
    y[:block] = 1.0
    logits, part = np.zeros((padded, stride)), np.empty(4 * stride)
    flat, total = logits.reshape(logits.size), sums.reshape(sums.size)
    eta = coefficients.reshape(coefficients.size)
    log_likelihood = entropy = 0.0
    for begin in range(0, x.shape[0], block):
        count = min(block, x.shape[0] - begin)
        rows = -(-count // ROWS) * ROWS
        write_rows(x, begin, count, centre, scale, y, stride)
        write_weights(weights, begin, count, y, d, stride, w)
        combine_nested(y, d, rows, stride, eta, padded, flat)
        if log_weights.size:
            add_log_weights(log_weights, begin, count, w, logits)
        value, spread = softmax(logits[:members], w[:rows], count == block and weights.size == 0)
        gather_nested(y, d, rows, stride, flat, padded, total, part)
        log_likelihood += value
        entropy += spread
    return log_likelihood, entropy


@kernel
def drop_impossible(logits, members, w):
    """Take the weight from rows that belong to nobody."""
    for i in range(w.size):
        share = 0.0
        for k in range(members):
            share += logits[k, i]
        w[i] = 0.0 if share == 0.0 else w[i]


@kernel
def shared(x, weights, log_weights, centre, scale, coefficients, members, block, sums, squares):
    """As `gaussian`, linear coefficients (k / 4, m, 4): sums (k / 4, m, 4) of y, squares (≥ m / 4, m, 4) of Σ w yᵢ yⱼ.

    The squares are whole below the diagonal only. The quadratic term that all members share is left to the caller.
    """
    d, stride, features = centre.size, block + 8, sums.shape[1]
    padded, tall = 4 * sums.shape[0], 4 * squares.shape[0]
    y, w, weighted = np.zeros(tall * stride), np.empty(block), np.zeros(tall * stride if weights.size else 0)
    y[:block] = 1.0
    logits = np.zeros((padded, stride))
    flat, total, products = logits.reshape(logits.size), sums.reshape(sums.size), squares.reshape(squares.size)
    eta = coefficients.reshape(coefficients.size)
    log_likelihood = entropy = 0.0
    for begin in range(0, x.shape[0], block):
        count = min(block, x.shape[0] - begin)
        rows = -(-count // ROWS) * ROWS
        write_rows(x, begin, count, centre, scale, y, stride)
        write_weights(weights, begin, count, y, d, stride, w)
        combine(y, features, rows, stride, eta, padded, flat)
        if log_weights.size:
            add_log_weights(log_weights, begin, count, w, logits)
        value, spread = softmax(logits[:members], w[:rows], count == block and weights.size == 0)
        gather(y, features, rows, stride, flat, padded, total)
        log_likelihood += value
        entropy += spread
        left = y
        if weights.size or value == -np.inf:
            if weighted.size == 0:
                weighted = np.zeros(tall * stride)
            if value == -np.inf:
                drop_impossible(logits, members, w[:rows])
            for j in range(d + 1):
                for t in range(rows):
                    weighted[j * stride + t] = y[j * stride + t] * w[t]
            left = weighted
        for i in range(0, tall, 4):
            for f in range(0, min(i + 4, features), 3):
                add_sums(y, f * stride, left, i * stride, rows, stride, products, i * features + 4 * f)
    return log_likelihood, entropy
