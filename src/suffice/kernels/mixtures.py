"""Loops of one EM pass over Gaussian components, for Numba.

A block of rows is written as features about a pilot centre: y₀ = 1, yⱼ = (xⱼ − centreⱼ) scaleⱼ. A quadratic form of y
is a linear one of the products yᵢ yⱼ, i ≥ j: logits are products of coefficients and these, and statistics products of
shares and these. Where d is large the products would not stay in the cache: then each component whitens y, and weighs
it. All of it goes by tiles of 4 × 3 vectors whose sums stay in registers.

Features lie by panels of `ROWS` rows, (panels, features, ROWS), shares and logits as (components, rows); coefficients
and sums as (components / 4, features, 4). Components and features are padded to whole tiles; arrays are flat where the
loops see them as vectors.

Over 400 lines: Numba's cache notices changes of one file, so all that is compiled into a pass stands together.
"""
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from suffice.kernels.jit import kernel, minus, softmax
from suffice.kernels.lanes import LANES, add_totals, fill, load, multiply, multiply_add, store, strided, subtract

ROWS = 3 * LANES  # of a panel
CUT = 45.0  # below the largest logit of a row: a share of 3e-20, which no sum of float64 sees
GUESS = 2  # fours of a factor that guess the best component of a row
PAUSE = 15  # blocks of overlapping components in which nothing is cut


@kernel
def write_rows(x, begin, count, centre, scale, y, width):
    """Write 1 and (x − centre) scale of ``count`` rows, by panels of ``width`` features; zeros complete the last."""
    d = centre.size
    cells = x.reshape(x.size)
    for first in range(0, count, ROWS):
        p = first * width
        for t in range(0, ROWS, LANES):
            store(y, p + t, fill(1.0))
        for j in range(d):
            place, start = p + (j + 1) * ROWS, (begin + first) * d + j
            if first + ROWS <= count:
                c, s = fill(centre[j]), fill(scale[j])
                for t in range(0, ROWS, LANES):
                    store(y, place + t, multiply(subtract(strided(cells, start + t * d, d), c), s))
            else:
                for i in range(ROWS):
                    inside = first + i < count
                    y[place + i] = minus(x[begin + first + i, j], centre[j]) * scale[j] if inside else 0.0


@kernel
def write_weights(weights, begin, count, y, d, width, w):
    """Write the weights of the rows; those of no weight move to the centre, where whatever they held does no harm."""
    for i in range(w.size):
        w[i] = (weights[begin + i, 0] if weights.size else 1.0) if i < count else 0.0
    if weights.size:
        for i in range(count):
            if w[i] == 0.0:
                p = i // ROWS * ROWS * width + i % ROWS
                for j in range(1, d + 1):
                    y[p + j * ROWS] = 0.0


@kernel
def write_products(y, p, d, u, q):
    """Write yᵢ yⱼ, i ≥ j, of the panel that begins at y[p] as features from u[q] on."""
    for i in range(d + 1):
        first = p + i * ROWS
        a0, a1, a2 = load(y, first), load(y, first + LANES), load(y, first + 2 * LANES)
        for j in range(i + 1):
            b = p + j * ROWS
            put(
                u,
                q,
                multiply(a0, load(y, b)),
                multiply(a1, load(y, b + LANES)),
                multiply(a2, load(y, b + 2 * LANES)),
            )
            q += ROWS


@kernel
def put(a, i, first, second, third):
    """Store three vectors, one after the other."""
    store(a, i, first)
    store(a, i + LANES, second)
    store(a, i + 2 * LANES, third)


@kernel
def add_log_weights(log_weights, begin, count, w, logits):
    """Add each row's own log-weights (n, k) to the logits."""
    for k in range(log_weights.shape[1]):
        row = logits[k]
        for i in range(count):
            row[i] += log_weights[begin + i, k] if w[i] != 0.0 else 0.0


@kernel
def combine_two(u, begin, features, coefficients, k, logits, t, stride):
    """As `combine`, of the two components from k on alone: the first half of a tile."""
    a0 = a1 = a2 = b0 = b1 = b2 = fill(0.0)
    p, q = begin, k * features
    for _ in range(features):
        u0, u1, u2 = load(u, p), load(u, p + LANES), load(u, p + 2 * LANES)
        e = fill(coefficients[q])
        a0, a1, a2 = multiply_add(e, u0, a0), multiply_add(e, u1, a1), multiply_add(e, u2, a2)
        e = fill(coefficients[q + 1])
        b0, b1, b2 = multiply_add(e, u0, b0), multiply_add(e, u1, b1), multiply_add(e, u2, b2)
        p += ROWS
        q += 4
    put(logits, k * stride + t, a0, a1, a2)
    put(logits, (k + 1) * stride + t, b0, b1, b2)


@kernel
def combine(u, begin, features, coefficients, n_components, logits, t, stride):
    """Logits of all components in the rows of one panel, from u[begin] on: the coefficients times the features."""
    for k in range(0, n_components, 4):
        if n_components - k <= 2:
            combine_two(u, begin, features, coefficients, k, logits, t, stride)
            return
        a0 = a1 = a2 = b0 = b1 = b2 = c0 = c1 = c2 = d0 = d1 = d2 = fill(0.0)
        p, q = begin, k * features
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
            p += ROWS
            q += 4
        put(logits, k * stride + t, a0, a1, a2)
        put(logits, (k + 1) * stride + t, b0, b1, b2)
        put(logits, (k + 2) * stride + t, c0, c1, c2)
        put(logits, (k + 3) * stride + t, d0, d1, d2)


@kernel
def whiten(y, begin, factor, fours, constant, logits, place):
    """Logits of one component in the rows of a panel: constant − ½ ‖factor y‖², or more.

    From so many fours of its rows.

    The factor is lower triangular but for its first column: four of its rows at a time, of 5, 9, 13, … columns.
    """
    q, columns = 0, 5
    s0 = s1 = s2 = fill(0.0)
    for _ in range(fours):
        a0 = a1 = a2 = b0 = b1 = b2 = c0 = c1 = c2 = d0 = d1 = d2 = fill(0.0)
        p = begin
        for _ in range(columns):
            u0, u1, u2 = load(y, p), load(y, p + LANES), load(y, p + 2 * LANES)
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
        columns += 4
        s0 = multiply_add(d0, d0, multiply_add(c0, c0, multiply_add(b0, b0, multiply_add(a0, a0, s0))))
        s1 = multiply_add(d1, d1, multiply_add(c1, c1, multiply_add(b1, b1, multiply_add(a1, a1, s1))))
        s2 = multiply_add(d2, d2, multiply_add(c2, c2, multiply_add(b2, b2, multiply_add(a2, a2, s2))))
    start, half = fill(constant), fill(-0.5)
    put(logits, place, multiply_add(half, s0, start), multiply_add(half, s1, start), multiply_add(half, s2, start))


@kernel
def add_sums(u, f, width, r, q, rows, stride, sums, s):
    """Add to 3 × 4 sums the products of the features f … f + 2 of ``width``.

    And four components' shares, from r[q] on.
    """
    a0 = a1 = a2 = b0 = b1 = b2 = c0 = c1 = c2 = d0 = d1 = d2 = fill(0.0)
    p = f * ROWS
    for begin in range(q, q + rows, ROWS):
        for t in range(0, ROWS, LANES):
            u0, u1, u2 = load(u, p + t), load(u, p + ROWS + t), load(u, p + 2 * ROWS + t)
            e = load(r, begin + t)
            a0, a1, a2 = multiply_add(e, u0, a0), multiply_add(e, u1, a1), multiply_add(e, u2, a2)
            e = load(r, begin + stride + t)
            b0, b1, b2 = multiply_add(e, u0, b0), multiply_add(e, u1, b1), multiply_add(e, u2, b2)
            e = load(r, begin + 2 * stride + t)
            c0, c1, c2 = multiply_add(e, u0, c0), multiply_add(e, u1, c1), multiply_add(e, u2, c2)
            e = load(r, begin + 3 * stride + t)
            d0, d1, d2 = multiply_add(e, u0, d0), multiply_add(e, u1, d1), multiply_add(e, u2, d2)
        p += width * ROWS
    add_totals(sums, s, a0, b0, c0, d0)
    add_totals(sums, s + 4, a1, b1, c1, d1)
    add_totals(sums, s + 8, a2, b2, c2, d2)


@kernel
def add_two_sums(u, f, width, r, q, rows, stride, sums, s):
    """As `add_sums`, of two components alone: the first half of a tile."""
    a0 = a1 = a2 = b0 = b1 = b2 = none = fill(0.0)
    p = f * ROWS
    for begin in range(q, q + rows, ROWS):
        for t in range(0, ROWS, LANES):
            u0, u1, u2 = load(u, p + t), load(u, p + ROWS + t), load(u, p + 2 * ROWS + t)
            e = load(r, begin + t)
            a0, a1, a2 = multiply_add(e, u0, a0), multiply_add(e, u1, a1), multiply_add(e, u2, a2)
            e = load(r, begin + stride + t)
            b0, b1, b2 = multiply_add(e, u0, b0), multiply_add(e, u1, b1), multiply_add(e, u2, b2)
        p += width * ROWS
    add_totals(sums, s, a0, b0, none, none)
    add_totals(sums, s + 4, a1, b1, none, none)
    add_totals(sums, s + 8, a2, b2, none, none)


@kernel
def add_all_sums(u, features, r, n_components, rows, stride, sums):
    """Add to sums (k / 4, features, 4) the products of all features and all components' shares."""
    for f in range(0, features, 3):
        for k in range(0, n_components, 4):
            if n_components - k <= 2:
                add_two_sums(u, f, features, r, k * stride, rows, stride, sums, k * features + 4 * f)
            else:
                add_sums(u, f, features, r, k * stride, rows, stride, sums, k * features + 4 * f)


@kernel
def add_squares(y, d, width, r, q, rows, stride, part, squares):
    """Add Σ r yᵢ yⱼ, the r of the rows from r[q] on, to squares (≥ (d + 1) / 4, width, 4), whole where j ≤ i."""
    for i in range(d + 1):
        p = i * ROWS
        for begin in range(0, rows, ROWS):
            for t in range(begin, begin + ROWS, LANES):
                store(part, i * stride + t, multiply(load(r, q + t), load(y, p + t - begin)))
            p += width * ROWS
    for i in range(0, d + 1, 4):
        for f in range(0, min(i + 4, d + 1), 3):
            add_sums(y, f, width, part, i * stride, rows, stride, squares, i * width + 4 * f)


@kernel
def gaussian(x, weights, log_weights, centre, scale, coefficients, n_components, block, sums):
    """Log-likelihood and entropy under quadratic coefficients (k / 4, m, 4); adds to sums (k / 4, m, 4) of yᵢ yⱼ."""
    d, stride, features = centre.size, block + 8, sums.shape[1]
    padded = 4 * sums.shape[0]
    y, u, w = np.zeros((d + 1) * block), np.zeros(features * block), np.empty(block)
    logits = np.zeros((padded, stride))
    flat, total = logits.reshape(logits.size), sums.reshape(sums.size)
    eta = coefficients.reshape(coefficients.size)
    log_likelihood = entropy = 0.0
    for begin in range(0, x.shape[0], block):
        count = min(block, x.shape[0] - begin)
        rows = -(-count // ROWS) * ROWS
        write_rows(x, begin, count, centre, scale, y, d + 1)
        write_weights(weights, begin, count, y, d, d + 1, w)
        for t in range(0, rows, ROWS):
            write_products(y, t * (d + 1), d, u, t * features)
            combine(u, t * features, features, eta, n_components, flat, t, stride)
        if log_weights.size:
            add_log_weights(log_weights, begin, count, w, logits)
        value, spread = softmax(logits[:n_components], w[:rows], count == block and weights.size == 0)
        log_likelihood += value
        entropy += spread
        add_all_sums(u, features, flat, n_components, rows, stride, total)
    return log_likelihood, entropy


@kernel
def pack(y, d, width, chosen, count, z):
    """Write the chosen rows of y side by side into z, by panels; zeros complete the last."""
    for t in range(-(-count // ROWS) * ROWS):
        q = t // ROWS * ROWS * width + t % ROWS
        p = chosen[t] // ROWS * ROWS * width + chosen[t] % ROWS
        for j in range(d + 1):
            z[q + j * ROWS] = y[p + j * ROWS] if t < count else 0.0


@kernel
def complete(y, d, width, factor, constant, own, begin, k, w, chosen, count, z, found, logits):
    """Write the logits of component k in the chosen rows."""
    pack(y, d, width, chosen, count, z)
    for t in range(0, count, ROWS):
        whiten(z, t * width, factor, factor_fours(factor.size), constant, found, t)
    for t in range(count):
        i = chosen[t]
        logits[i] = found[t] + (own[begin + i, k] if own.size and w[i] != 0.0 else 0.0)


@kernel
def factor_fours(size):
    """Fours of rows of a factor of so many numbers: 4 · (5 + 9 + 13 + …)."""
    fours = 0
    while size > 0:
        size -= 4 * (5 + 4 * fours)
        fours += 1
    return fours


@kernel
def guess(y, width, factor, constant, own, begin, w, logits, rows, best):
    """Write the component of each row that is best by a few fours of the factors; their logits bound the whole ones."""
    n_components, stride = logits.shape
    flat, top = logits.reshape(logits.size), np.full(rows, -np.inf)
    for k in range(n_components):
        for t in range(0, rows, ROWS):
            whiten(y, t * width, factor[k], GUESS, constant[k], flat, k * stride + t)
    if own.size:
        add_log_weights(own, begin, min(rows, own.shape[0] - begin), w, logits)
    for k in range(n_components):
        row = logits[k]
        for i in range(rows):
            better = not row[i] <= top[i]
            top[i] = row[i] if better else top[i]
            best[i] = k if better else best[i]


@kernel
def rule_out(lines, constant, own, begin, w, k, chosen, count, least, logits):
    """Write −inf where constant − ½ line².

    Which bounds the logit of component k in a chosen row, is less than needed.
    """
    for t in range(count):
        i = chosen[t]
        bound = constant - 0.5 * lines[t] * lines[t]
        bound += own[begin + i, k] if own.size and w[i] != 0.0 else 0.0
        logits[i] = -np.inf if bound < least[i] else logits[i]


@kernel
def select_logits(y, d, width, factor, constant, towards, own, begin, w, logits, rows, chosen, z, found, lines):
    """Logits of all components in a block, −inf where they are `CUT` below the largest; how many besides the largest.

    The best of a row is guessed, and its logit completed. Then no other component is nearer to the row than along one
    line, ``towards`` the guess, which rules most of them out. Those that could come near the best are completed too.
    ``own`` are the rows' own log-weights (n, k) from row ``begin`` on.
    """
    n_components, stride = logits.shape
    least, best, more = np.empty(rows), np.zeros(rows, np.int64), 0
    guess(y, width, factor, constant, own, begin, w, logits, rows, best)
    for j in range(n_components):
        count = 0
        for i in range(rows):
            chosen[count] = i
            count += best[i] == j
        complete(y, d, width, factor[j], constant[j], own, begin, j, w, chosen, count, z, found, logits[j])
        for t in range(0, count, ROWS):
            combine(z, t * width, width, towards[j], n_components, lines, t, stride)
        for t in range(count):
            least[chosen[t]] = logits[j, chosen[t]] - CUT
        for k in range(n_components):
            if k != j:
                rule_out(lines[k * stride :], constant[k], own, begin, w, k, chosen, count, least, logits[k])
    for k in range(n_components):
        row, count = logits[k], 0
        for i in range(rows):
            near = not row[i] < least[i]
            row[i] = row[i] if near else -np.inf
            chosen[count] = i
            count += near and best[i] != k
        complete(y, d, width, factor[k], constant[k], own, begin, k, w, chosen, count, z, found, row)
        more += count
    return more


@kernel
def add_chosen_squares(y, d, width, r, w, least, rows, stride, chosen, z, found, part, squares):
    """As `add_squares`, of the rows alone whose share is more than ``least`` of their weight."""
    count = 0
    for i in range(rows):
        chosen[count] = i
        count += not r[i] <= least * w[i]
    if 5 * count > 4 * rows:
        add_squares(y, d, width, r, 0, rows, stride, part, squares)
        return
    pack(y, d, width, chosen, count, z)
    whole = -(-count // ROWS) * ROWS
    for t in range(whole):
        found[t] = r[chosen[t]] if t < count else 0.0
    add_squares(z, d, width, found, 0, whole, stride, part, squares)


@kernel
def gaussian_of_many(x, weights, log_weights, centre, scale, factor, constant, towards, cut, block, sums):
    """As `gaussian`, for many columns: factors (k, ·) and constants (k,) of `whiten`, sums (k, ≥ (d + 1) / 4, ·, 4).

    With ``cut`` a share that is nothing beside the largest of its row is not computed, or at least not added. Lines
    (k, ·) of each component ``towards`` each, as coefficients of `combine`, tell which; where components overlap they
    are left alone for a while.
    """
    d, n_components, stride, width = centre.size, constant.size, block + 8, sums.shape[2]
    y, w, z = np.zeros(width * block), np.empty(block), np.zeros(width * block)
    logits, part = np.zeros((n_components, stride)), np.zeros(4 * sums.shape[1] * stride)
    chosen, found, lines = np.zeros(block + 1, np.int64), np.zeros(stride), np.zeros((n_components + 3) * stride)
    flat, fours, pause = logits.reshape(logits.size), factor_fours(factor.shape[1]), 0
    least = np.exp(-CUT) if cut else 0.0
    log_likelihood = entropy = 0.0
    for begin in range(0, x.shape[0], block):
        count = min(block, x.shape[0] - begin)
        rows = -(-count // ROWS) * ROWS
        write_rows(x, begin, count, centre, scale, y, width)
        write_weights(weights, begin, count, y, d, width, w)
        if cut and towards.size and pause == 0:
            more = select_logits(
                y, d, width, factor, constant, towards, log_weights, begin, w, logits, rows, chosen, z, found, lines
            )
            pause = PAUSE if 2 * more > rows * (n_components - 1) else 0
        else:
            pause = max(pause - 1, 0)
            for k in range(n_components):
                for t in range(0, rows, ROWS):
                    whiten(y, t * width, factor[k], fours, constant[k], flat, k * stride + t)
            if log_weights.size:
                add_log_weights(log_weights, begin, count, w, logits)
        value, spread = softmax(logits, w[:rows], count == block and weights.size == 0)
        log_likelihood += value
        entropy += spread
        for k in range(n_components):
            squares = sums[k].reshape(sums[k].size)
            add_chosen_squares(y, d, width, logits[k], w, least, rows, stride, chosen, z, found, part, squares)
    return log_likelihood, entropy


@kernel
def drop_impossible(logits, n_components, w):
    """Take the weight from rows that belong to nobody."""
    for i in range(w.size):
        share = 0.0
        for k in range(n_components):
            share += logits[k, i]
        w[i] = 0.0 if share == 0.0 else w[i]


@kernel
def shared(x, weights, log_weights, centre, scale, coefficients, n_components, block, sums, squares):
    """As `gaussian`, linear coefficients (k / 4, m, 4): sums (k / 4, m, 4) of y, squares (≥ m / 4, m, 4) of Σ w yᵢ yⱼ.

    The squares are whole below the diagonal only. The quadratic term that all components share is left to the caller.
    """
    d, stride, features = centre.size, block + 8, sums.shape[1]
    padded, tall = 4 * sums.shape[0], 4 * squares.shape[0]
    y, w, part = np.zeros(features * block), np.empty(block), np.zeros(tall * stride)
    logits = np.zeros((padded, stride))
    flat, total, products = logits.reshape(logits.size), sums.reshape(sums.size), squares.reshape(squares.size)
    eta = coefficients.reshape(coefficients.size)
    log_likelihood = entropy = 0.0
    for begin in range(0, x.shape[0], block):
        count = min(block, x.shape[0] - begin)
        rows = -(-count // ROWS) * ROWS
        write_rows(x, begin, count, centre, scale, y, features)
        write_weights(weights, begin, count, y, d, features, w)
        for t in range(0, rows, ROWS):
            combine(y, t * features, features, eta, n_components, flat, t, stride)
        if log_weights.size:
            add_log_weights(log_weights, begin, count, w, logits)
        value, spread = softmax(logits[:n_components], w[:rows], count == block and weights.size == 0)
        log_likelihood += value
        entropy += spread
        add_all_sums(y, features, flat, n_components, rows, stride, total)
        if value == -np.inf:
            drop_impossible(logits, n_components, w[:rows])
        add_squares(y, d, features, w, 0, rows, stride, part, products)
    return log_likelihood, entropy
