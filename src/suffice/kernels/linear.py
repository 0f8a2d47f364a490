"""Loops of one EM pass over members whose log-density is a sum over cells, for Numba.

A block of rows lies feature by feature in ``columns`` (d, rows) and member by member in ``logits`` (k, rows), which
softmax turns into responsibilities times weights; both stay in cache. Products go by tiles of two members, whose
number is padded to be even: what is computed for the padding is thrown away.

``weights`` is (n, 1), ``log_weights`` (1, k) or (n, k), ``base`` (n, 1); the first and last have no rows where there
are none. The last arguments are added to; the log-likelihood and the entropy are returned.
"""
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from suffice.kernels.jit import kernel, minus, softmax, wide

ROWS = 256  # of a block, fewer where they are long
TILE = 64  # rows transposed at a time: their cache lines are still near for the next column


@kernel
def add_shares(logits, w, ones, even, weight):
    """Turn logits (k, b) into w r and add Σ w r to the weight (k,); log-likelihood and entropy of the block."""
    wide()
    value, entropy = softmax(logits, w if w.size else ones, even)
    for k in range(weight.size):
        row, total = logits[k], 0.0
        for n in range(row.size):
            total += row[n]
        weight[k] += total
    return value, entropy


@kernel
def load(x, pilot, columns):
    """Write x (b, d) − pilot (d,), transposed, into columns (d, ≥ b)."""
    for begin in range(0, x.shape[0], TILE):
        tile = x[begin : begin + TILE]
        for j in range(tile.shape[1]):
            column = columns[j, begin : begin + tile.shape[0]]
            for i in range(column.size):
                column[i] = minus(tile[i, j], pilot[j])


@kernel
def clear(w, table):
    """Make the rows of no weight 0: they can neither overflow nor be impossible."""
    for n in range(w.size):
        if not w[n] > 0:
            for j in range(table.shape[0]):
                table[j, n] = 0.0


@kernel
def begin_logits(constant, log_weights, base, begin, count, logits):
    """Constant (k,) + log_weights + base of the rows from ``begin`` on."""
    for k in range(constant.size):
        row = logits[k, :count]
        if log_weights.shape[0] == 1:
            start = constant[k] + log_weights[0, k]
            for n in range(count):
                row[n] = start
        else:
            for n in range(count):
                row[n] = constant[k] + log_weights[begin + n, k]
        if base.size:
            for n in range(count):
                row[n] += base[begin + n, 0]


# -- independent normals -----------------------------------------------------------------------------------------------


@kernel
def subtract_squares(columns, scale, place, k, count, logits):
    """Take Σ (scale x − place)² from the logits of members k and k + 1."""
    wide()
    d = columns.shape[0]
    l0, l1 = logits[k, :count], logits[k + 1, :count]
    for j in range(0, d - 1, 2):
        p, q = columns[j, :count], columns[j + 1, :count]
        a0, a1, a2, a3 = scale[k, j], scale[k, j + 1], scale[k + 1, j], scale[k + 1, j + 1]
        b0, b1, b2, b3 = place[k, j], place[k, j + 1], place[k + 1, j], place[k + 1, j + 1]
        for n in range(count):
            z0, z1, z2, z3 = a0 * p[n] - b0, a1 * q[n] - b1, a2 * p[n] - b2, a3 * q[n] - b3
            l0[n] -= z0 * z0 + z1 * z1
            l1[n] -= z2 * z2 + z3 * z3
    if d % 2:
        p = columns[d - 1, :count]
        a0, a1, b0, b1 = scale[k, d - 1], scale[k + 1, d - 1], place[k, d - 1], place[k + 1, d - 1]
        for n in range(count):
            z0, z1 = a0 * p[n] - b0, a1 * p[n] - b1
            l0[n] -= z0 * z0
            l1[n] -= z1 * z1


@kernel
def add_moments(columns, shares, k, count, first, second):
    """Add Σ r x and Σ r x² of members k and k + 1."""
    wide()
    d = columns.shape[0]
    r, s = shares[k, :count], shares[k + 1, :count]
    for j in range(0, d - 1, 2):
        p, q = columns[j, :count], columns[j + 1, :count]
        f0 = f1 = f2 = f3 = s0 = s1 = s2 = s3 = 0.0
        for n in range(count):
            pp, qq = p[n] * p[n], q[n] * q[n]
            f0 += r[n] * p[n]
            f1 += r[n] * q[n]
            f2 += s[n] * p[n]
            f3 += s[n] * q[n]
            s0 += r[n] * pp
            s1 += r[n] * qq
            s2 += s[n] * pp
            s3 += s[n] * qq
        first[k, j] += f0
        first[k, j + 1] += f1
        first[k + 1, j] += f2
        first[k + 1, j + 1] += f3
        second[k, j] += s0
        second[k, j + 1] += s1
        second[k + 1, j] += s2
        second[k + 1, j + 1] += s3
    if d % 2:
        p = columns[d - 1, :count]
        f0 = f1 = s0 = s1 = 0.0
        for n in range(count):
            pp = p[n] * p[n]
            f0 += r[n] * p[n]
            f1 += s[n] * p[n]
            s0 += r[n] * pp
            s1 += s[n] * pp
        first[k, d - 1] += f0
        first[k + 1, d - 1] += f1
        second[k, d - 1] += s0
        second[k + 1, d - 1] += s1


@kernel
def normals(x, weights, log_weights, constant, scale, place, pilot, weight, first, second):
    """Moments about one pilot (d,); scale and place (k, d) make (x − mean) / std √½ of x − pilot."""
    members, d = constant.size, x.shape[1]
    rows = min(ROWS, max(64, 32768 // max(d, 1)))
    columns, logits, ones = np.empty((d, rows)), np.zeros((scale.shape[0], rows)), np.ones(rows)
    nothing, value, entropy = np.empty((0, 1)), 0.0, 0.0
    for begin in range(0, x.shape[0], rows):
        block, w = x[begin : begin + rows], weights[begin : begin + rows, 0]
        count = block.shape[0]
        load(block, pilot, columns)
        clear(w, columns)
        begin_logits(constant, log_weights, nothing, begin, count, logits)
        for k in range(0, scale.shape[0], 2):
            subtract_squares(columns, scale, place, k, count, logits)
        clear(w, logits)
        more, spread = add_shares(logits[:members, :count], w, ones[:count], w.size == 0, weight)
        value += more
        entropy += spread
        for k in range(0, scale.shape[0], 2):
            add_moments(columns, logits, k, count, first, second)
    return value, entropy


@kernel
def normals_apart(x, weights, log_weights, constant, scale, mean, pivot, weight, first, second):
    """The same with a pivot (k, d) for each member and every difference taken of the cells themselves."""
    members, d = constant.size, x.shape[1]
    rows = min(ROWS, max(64, 32768 // max(d, 1)))
    columns, logits, ones = np.empty((d, rows)), np.zeros((members, rows)), np.ones(rows)
    nothing, origin, value, entropy = np.empty((0, 1)), np.zeros(d), 0.0, 0.0
    for begin in range(0, x.shape[0], rows):
        block, w = x[begin : begin + rows], weights[begin : begin + rows, 0]
        count = block.shape[0]
        load(block, origin, columns)
        clear(w, columns)
        begin_logits(constant, log_weights, nothing, begin, count, logits)
        for k in range(members):
            row = logits[k, :count]
            for j in range(d):
                column, m, a = columns[j, :count], mean[k, j], scale[k, j]
                for n in range(count):
                    z = minus(column[n], m) * a
                    row[n] -= z * z
        clear(w, logits)
        more, spread = add_shares(logits[:members, :count], w, ones[:count], w.size == 0, weight)
        value += more
        entropy += spread
        for k in range(members):
            row = logits[k, :count]
            for j in range(d):
                column, c, f, s = columns[j, :count], pivot[k, j], 0.0, 0.0
                for n in range(count):
                    t = minus(column[n], c)
                    f += row[n] * t
                    s += row[n] * t * t
                first[k, j] += f
                second[k, j] += s
    return value, entropy


# -- linear in features ------------------------------------------------------------------------------------------------


@kernel
def add_products(columns, eta, k, count, logits):
    """Add eta · columns to the logits of members k and k + 1."""
    wide()
    m = columns.shape[0]
    l0, l1 = logits[k, :count], logits[k + 1, :count]
    whole = m - m % 4
    for j in range(0, whole, 4):
        p, q, s, t = columns[j, :count], columns[j + 1, :count], columns[j + 2, :count], columns[j + 3, :count]
        a0, a1, a2, a3 = eta[k, j], eta[k, j + 1], eta[k, j + 2], eta[k, j + 3]
        b0, b1, b2, b3 = eta[k + 1, j], eta[k + 1, j + 1], eta[k + 1, j + 2], eta[k + 1, j + 3]
        for n in range(count):
            l0[n] += (a0 * p[n] + a1 * q[n]) + (a2 * s[n] + a3 * t[n])
            l1[n] += (b0 * p[n] + b1 * q[n]) + (b2 * s[n] + b3 * t[n])
    for j in range(whole, m):
        p, a0, b0 = columns[j, :count], eta[k, j], eta[k + 1, j]
        for n in range(count):
            l0[n] += a0 * p[n]
            l1[n] += b0 * p[n]


@kernel
def add_totals(columns, shares, k, count, total):
    """Add Σ r f of members k and k + 1."""
    wide()
    m = columns.shape[0]
    r, u = shares[k, :count], shares[k + 1, :count]
    whole = m - m % 4
    for j in range(0, whole, 4):
        p, q, s, t = columns[j, :count], columns[j + 1, :count], columns[j + 2, :count], columns[j + 3, :count]
        a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = 0.0
        for n in range(count):
            a0 += r[n] * p[n]
            a1 += r[n] * q[n]
            a2 += r[n] * s[n]
            a3 += r[n] * t[n]
            b0 += u[n] * p[n]
            b1 += u[n] * q[n]
            b2 += u[n] * s[n]
            b3 += u[n] * t[n]
        total[k, j] += a0
        total[k, j + 1] += a1
        total[k, j + 2] += a2
        total[k, j + 3] += a3
        total[k + 1, j] += b0
        total[k + 1, j + 1] += b1
        total[k + 1, j + 2] += b2
        total[k + 1, j + 3] += b3
    for j in range(whole, m):
        p = columns[j, :count]
        a0 = b0 = 0.0
        for n in range(count):
            a0 += r[n] * p[n]
            b0 += u[n] * p[n]
        total[k, j] += a0
        total[k + 1, j] += b0


@kernel
def linear(x, weights, log_weights, base, constant, eta, weight, total):
    """Logits x·eta + constant + base, and Σ w r x (k, m)."""
    members, m = constant.size, x.shape[1]
    rows = min(ROWS, max(64, 32768 // max(m, 1)))
    columns, logits, ones = np.empty((m, rows)), np.zeros((eta.shape[0], rows)), np.ones(rows)
    origin, value, entropy = np.zeros(m), 0.0, 0.0
    for begin in range(0, x.shape[0], rows):
        block, w = x[begin : begin + rows], weights[begin : begin + rows, 0]
        count = block.shape[0]
        load(block, origin, columns)
        clear(w, columns)
        begin_logits(constant, log_weights, base, begin, count, logits)
        for k in range(0, eta.shape[0], 2):
            add_products(columns, eta, k, count, logits)
        clear(w, logits)
        more, spread = add_shares(logits[:members, :count], w, ones[:count], w.size == 0, weight)
        value += more
        entropy += spread
        for k in range(0, eta.shape[0], 2):
            add_totals(columns, logits, k, count, total)
    return value, entropy


# -- tables ------------------------------------------------------------------------------------------------------------


@kernel
def place_levels(levels, n_levels, step, places):
    """Where the entry of each cell of levels (b, d) begins; missing levels have an entry of their own, the last."""
    d = levels.shape[1]
    flat = levels.reshape(levels.size)
    for t in range(flat.size):
        level = flat[t]
        known = np.int32(level if 0 <= level < n_levels else n_levels)
        places[t] = known
    for i in range(levels.shape[0]):
        for j in range(d):
            places[i * d + j] = (places[i * d + j] + j * (n_levels + 1)) * step


@kernel
def tables(levels, weights, log_weights, constant, flat, n_levels, weight, counts):
    """Latent classes; flat and counts are (d, n_levels + 1, k) with k padded to fours, as one stretch of memory."""
    members, d = constant.size, levels.shape[1]
    step = flat.size // (d * (n_levels + 1))
    rows = ROWS
    places, logits, ones = np.empty(rows * d, np.int32), np.zeros((step, rows)), np.ones(rows)
    nothing, value, entropy = np.empty((0, 1)), 0.0, 0.0
    for begin in range(0, levels.shape[0], rows):
        block, w = levels[begin : begin + rows], weights[begin : begin + rows, 0]
        count = block.shape[0]
        place_levels(block, n_levels, step, places)
        begin_logits(constant, log_weights, nothing, begin, count, logits)
        for k in range(0, step, 4):
            for n in range(count):
                a0 = a1 = a2 = a3 = 0.0
                for t in range(n * d, n * d + d):
                    at = places[t] + k
                    a0 += flat[at]
                    a1 += flat[at + 1]
                    a2 += flat[at + 2]
                    a3 += flat[at + 3]
                logits[k, n] += a0
                logits[k + 1, n] += a1
                logits[k + 2, n] += a2
                logits[k + 3, n] += a3
        clear(w, logits)
        more, spread = add_shares(logits[:members, :count], w, ones[:count], w.size == 0, weight)
        value += more
        entropy += spread
        for k in range(0, step, 4):
            for n in range(count):
                r0, r1, r2, r3 = logits[k, n], logits[k + 1, n], logits[k + 2, n], logits[k + 3, n]
                for t in range(n * d, n * d + d):
                    at = places[t] + k
                    counts[at] += r0
                    counts[at + 1] += r1
                    counts[at + 2] += r2
                    counts[at + 3] += r3
    return value, entropy
