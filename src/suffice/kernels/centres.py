"""Loops that find the nearest centre of each row, for Numba.

Few columns: squared distances as they are. More: ½ ‖c‖² − x·c of rows and centres about a pilot; where the two best are
closer than rounding allows, the row's distances are compared one by one. So the answer is exact whatever the data. Both
go by tiles of 4 centres × 3 vectors of rows; centres lie as (k / 4, d, 4), rows column by column, ``stride`` apart.
Rows of two columns and up to eight centres, the usual picture, stay in registers from the first to the last.

Over 400 lines: Numba's cache notices changes of one file, so all that is compiled into a round stands together.
"""
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from suffice.kernels.jit import kernel, minus, wide
from suffice.kernels.lanes import (
    LANES,
    add_totals,
    add_where_equal,
    count_equal,
    evens,
    fill,
    load,
    multiply_add,
    odds,
    store,
    strided,
    subtract,
    where_less,
)

ROWS = 3 * LANES  # of a tile
BLOCK = 240  # rows; twice as many where there are few columns
DIRECT = 4  # columns up to which distances are as cheap as products, and the pilot is the origin
FEW = 16  # centres up to which a sweep for each is cheaper than one row after the other


@kernel
def write_rows(x, begin, count, pilot, u, stride):
    """Write x − pilot of ``count`` rows, column by column; zeros up to a tile."""
    d = pilot.size
    cells = x.reshape(x.size)
    whole = count - count % LANES
    if d == 2:
        first, second = fill(pilot[0]), fill(pilot[1])
        for i in range(0, whole, LANES):
            a, b = load(cells, 2 * (begin + i)), load(cells, 2 * (begin + i) + LANES)
            store(u, i, subtract(evens(a, b), first))
            store(u, stride + i, subtract(odds(a, b), second))
    for j in range(d):
        place, start, c = j * stride, begin * d + j, fill(pilot[j])
        for i in range(0, whole if d != 2 else 0, LANES):
            store(u, place + i, subtract(strided(cells, start + i * d, d), c))
        for i in range(whole, count):
            u[place + i] = minus(x[begin + i, j], pilot[j])
        for i in range(count, -(-count // ROWS) * ROWS):
            u[place + i] = 0.0


@kernel
def put(a, i, vectors):
    """Store three vectors, one after the other."""
    store(a, i, vectors[0])
    store(a, i + LANES, vectors[1])
    store(a, i + 2 * LANES, vectors[2])


@kernel
def compete(score, code, best, second, index):
    """Let a centre compete: the best scores and whose they are, and the second best; the first of equals wins."""
    loser = where_less(score, best, best, score)
    index = where_less(score, best, code, index)
    best = where_less(score, best, score, best)
    return best, where_less(loser, second, loser, second), index


@kernel
def compete_thrice(scores, code, best, second, index):
    """The same for three vectors of rows."""
    b0, s0, i0 = compete(scores[0], code, best[0], second[0], index[0])
    b1, s1, i1 = compete(scores[1], code, best[1], second[1], index[1])
    b2, s2, i2 = compete(scores[2], code, best[2], second[2], index[2])
    return (b0, b1, b2), (s0, s1, s2), (i0, i1, i2)


@kernel
def measure(u, p, stride, d, centres, q):
    """Squared distances of three vectors of rows, from u[p] on, to four centres, from centres[q] on."""
    a0 = a1 = a2 = b0 = b1 = b2 = c0 = c1 = c2 = d0 = d1 = d2 = fill(0.0)
    for _ in range(d):
        u0, u1, u2 = load(u, p), load(u, p + LANES), load(u, p + 2 * LANES)
        e = fill(centres[q])
        z0, z1, z2 = subtract(u0, e), subtract(u1, e), subtract(u2, e)
        a0, a1, a2 = multiply_add(z0, z0, a0), multiply_add(z1, z1, a1), multiply_add(z2, z2, a2)
        e = fill(centres[q + 1])
        z0, z1, z2 = subtract(u0, e), subtract(u1, e), subtract(u2, e)
        b0, b1, b2 = multiply_add(z0, z0, b0), multiply_add(z1, z1, b1), multiply_add(z2, z2, b2)
        e = fill(centres[q + 2])
        z0, z1, z2 = subtract(u0, e), subtract(u1, e), subtract(u2, e)
        c0, c1, c2 = multiply_add(z0, z0, c0), multiply_add(z1, z1, c1), multiply_add(z2, z2, c2)
        e = fill(centres[q + 3])
        z0, z1, z2 = subtract(u0, e), subtract(u1, e), subtract(u2, e)
        d0, d1, d2 = multiply_add(z0, z0, d0), multiply_add(z1, z1, d1), multiply_add(z2, z2, d2)
        p += stride
        q += 4
    return (a0, a1, a2), (b0, b1, b2), (c0, c1, c2), (d0, d1, d2)


@kernel
def multiply(u, p, stride, d, centres, q, half, k):
    """½ ‖c‖² − x·c for the same; the centres are −c."""
    a0 = a1 = a2 = fill(half[k])
    b0 = b1 = b2 = fill(half[k + 1])
    c0 = c1 = c2 = fill(half[k + 2])
    d0 = d1 = d2 = fill(half[k + 3])
    for _ in range(d):
        u0, u1, u2 = load(u, p), load(u, p + LANES), load(u, p + 2 * LANES)
        e = fill(centres[q])
        a0, a1, a2 = multiply_add(e, u0, a0), multiply_add(e, u1, a1), multiply_add(e, u2, a2)
        e = fill(centres[q + 1])
        b0, b1, b2 = multiply_add(e, u0, b0), multiply_add(e, u1, b1), multiply_add(e, u2, b2)
        e = fill(centres[q + 2])
        c0, c1, c2 = multiply_add(e, u0, c0), multiply_add(e, u1, c1), multiply_add(e, u2, c2)
        e = fill(centres[q + 3])
        d0, d1, d2 = multiply_add(e, u0, d0), multiply_add(e, u1, d1), multiply_add(e, u2, d2)
        p += stride
        q += 4
    return (a0, a1, a2), (b0, b1, b2), (c0, c1, c2), (d0, d1, d2)


@kernel
def lead(scores, code, best, index):
    """As `compete_thrice`, without the second best."""
    i0 = where_less(scores[0], best[0], code, index[0])
    i1 = where_less(scores[1], best[1], code, index[1])
    i2 = where_less(scores[2], best[2], code, index[2])
    b0 = where_less(scores[0], best[0], scores[0], best[0])
    b1 = where_less(scores[1], best[1], scores[1], best[1])
    b2 = where_less(scores[2], best[2], scores[2], best[2])
    return (b0, b1, b2), (i0, i1, i2)


@kernel
def search_directly(u, d, rows, stride, centres, count, best, index):
    """Squared distance of each row to the nearest of so many centres, and whose it is."""
    far, nobody = fill(np.inf), fill(0.0)
    for t in range(0, rows, ROWS):
        least, code = (far, far, far), (nobody, nobody, nobody)
        for k in range(0, count, 4):
            four = measure(u, t, stride, d, centres, k * d)
            least, code = lead(four[0], fill(float(k)), least, code)
            least, code = lead(four[1], fill(float(k + 1)), least, code)
            least, code = lead(four[2], fill(float(k + 2)), least, code)
            least, code = lead(four[3], fill(float(k + 3)), least, code)
        put(best, t, least)
        put(index, t, code)


@kernel
def search(u, d, rows, stride, centres, half, best, second, index):
    """Best and second best score of each row, and whose the best is."""
    far, nobody = fill(np.inf), fill(0.0)
    for t in range(0, rows, ROWS):
        least, loser, code = (far, far, far), (far, far, far), (nobody, nobody, nobody)
        for k in range(0, half.size, 4):
            four = multiply(u, t, stride, d, centres, k * d, half, k)
            least, loser, code = compete_thrice(four[0], fill(float(k)), least, loser, code)
            least, loser, code = compete_thrice(four[1], fill(float(k + 1)), least, loser, code)
            least, loser, code = compete_thrice(four[2], fill(float(k + 2)), least, loser, code)
            least, loser, code = compete_thrice(four[3], fill(float(k + 3)), least, loser, code)
        put(best, t, least)
        put(second, t, loser)
        put(index, t, code)


@kernel
def compare(row, centres):
    """The nearest centre of one row, by its distances."""
    least, code = np.inf, 0
    for k in range(centres.shape[0]):
        distance = 0.0
        for j in range(row.size):
            r = minus(row[j], centres[k, j])
            distance += r * r
        if distance < least:
            least, code = distance, k
    return code


@kernel
def settle(block, u, stride, centres, farthest, best, second, index):
    """Compare, where the best score may be first by rounding alone; ``farthest`` is the largest ‖c‖² of a centre."""
    wide()
    count, d = block.shape[0], block.shape[1]
    error, room = 4 * (d + 8) * 2.0**-52, np.full(count, farthest)
    for j in range(d):
        column = u[j * stride : j * stride + count]
        for n in range(count):
            room[n] += column[n] * column[n]
    for n in range(count):
        if not second[n] - best[n] > error * room[n]:
            index[n] = compare(block[n], centres)


@kernel
def leave(block, index, centres, w, apart):
    """Write x − c into apart (≥ b, ≥ d), 0 where a row has no weight."""
    for n in range(block.shape[0]):
        row, centre, out = block[n], centres[index[n]], apart[n]
        if w.size == 0 or w[n] > 0:
            for j in range(row.size):
                out[j] = minus(row[j], centre[j])
        else:
            out[:] = 0.0


@kernel
def gather(apart, index, w, weight, total):
    """Add w to the weight and w (x − c) to the total of each row's centre, in padded rows; Σ w ‖x − c‖²."""
    inertia, stride, flat = 0.0, apart.shape[1], apart.reshape(apart.size)
    for n in range(index.size):
        v = w[n] if w.size else 1.0
        weight[index[n]] += v
        for j in range(0, stride, LANES):
            place = index[n] * stride + j
            store(total, place, multiply_add(fill(v), load(flat, n * stride + j), load(total, place)))
    if w.size == 0:
        for t in range(index.size * stride):
            inertia += flat[t] * flat[t]
    else:
        for n in range(index.size):
            row, square = apart[n], 0.0
            for j in range(stride):
                square += row[j] * row[j]
            inertia += w[n] * square
    return inertia


@kernel
def gather_narrow(block, index, best, w, centres, weight, total, stride):
    """The same for few columns, whose distances are known."""
    inertia = 0.0
    for n in range(index.size):
        k, v = index[n], w[n] if w.size else 1.0
        if v > 0:
            inertia += v * best[n]
            weight[k] += v
            for j in range(block.shape[1]):
                total[k * stride + j] += v * minus(block[n, j], centres[k, j])
    return inertia


@kernel
def gather_by_fours(u, stride, code, count, middle, sums):
    """Add to sums (k / 4, d + 1, 4) the rows of each centre and Σ (x − middle): a sweep for each four of few centres.

    All rows count, and fill whole vectors.
    """
    d = middle.size
    for k in range(0, sums.size // (d + 1), 4):
        k0, k1, k2, k3 = fill(float(k)), fill(k + 1.0), fill(k + 2.0), fill(k + 3.0)
        place = k * (d + 1)
        for j in range(0, d, 2):
            second = min(j + 1, d - 1)
            left, right = fill(middle[j]), fill(middle[second])
            n0 = n1 = n2 = n3 = 0
            a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = fill(0.0)
            for i in range(0, count, LANES):
                index = load(code, i)
                a, b = subtract(load(u, j * stride + i), left), subtract(load(u, second * stride + i), right)
                n0, n1 = n0 + count_equal(index, k0), n1 + count_equal(index, k1)
                n2, n3 = n2 + count_equal(index, k2), n3 + count_equal(index, k3)
                a0, a1 = add_where_equal(index, k0, a, a0), add_where_equal(index, k1, a, a1)
                a2, a3 = add_where_equal(index, k2, a, a2), add_where_equal(index, k3, a, a3)
                b0, b1 = add_where_equal(index, k0, b, b0), add_where_equal(index, k1, b, b1)
                b2, b3 = add_where_equal(index, k2, b, b2), add_where_equal(index, k3, b, b3)
            if j == 0:
                sums[place] += n0
                sums[place + 1] += n1
                sums[place + 2] += n2
                sums[place + 3] += n3
            add_totals(sums, place + 4 * (j + 1), a0, a1, a2, a3)
            if j < second:
                add_totals(sums, place + 4 * (j + 2), b0, b1, b2, b3)


@kernel
def square(a, b, table, place):
    """Squared distances of a vector of rows of two columns to the centre at this place of `eight_of`."""
    first, second = subtract(a, fill(table[place])), subtract(b, fill(table[place + 8]))
    return multiply_add(second, second, multiply_add(first, first, fill(0.0)))


@kernel
def lesser(a, b):
    """The lesser of each two."""
    return where_less(a, b, a, b)


@kernel
def eight_of(centres):
    """Up to eight centres of two columns, the first coordinates and then the second; the padding is far off."""
    table = np.full(16, np.inf)
    for k in range(centres.shape[0]):
        table[k], table[8 + k] = centres[k, 0], centres[k, 1]
    return table


@kernel
def gather_eight(cells, begin, count, table, middle, sums):
    """As `gather_by_fours`, of rows of two columns and up to eight centres, without a search before; Σ ‖x − c‖².

    A row that is as near to two centres counts for both: then the counts in the sums, (2, 3, 4), are too many.
    """
    one, total, left, right = fill(1.0), fill(0.0), fill(middle[0]), fill(middle[1])
    n0 = n1 = n2 = n3 = n4 = n5 = n6 = n7 = 0
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = fill(0.0)
    b0 = b1 = b2 = b3 = b4 = b5 = b6 = b7 = fill(0.0)
    for i in range(0, count, LANES):
        a, b = load(cells, 2 * (begin + i)), load(cells, 2 * (begin + i) + LANES)
        a, b = evens(a, b), odds(a, b)
        s0, s1, s2, s3 = square(a, b, table, 0), square(a, b, table, 1), square(a, b, table, 2), square(a, b, table, 3)
        s4, s5, s6, s7 = square(a, b, table, 4), square(a, b, table, 5), square(a, b, table, 6), square(a, b, table, 7)
        least = lesser(lesser(lesser(s0, s1), lesser(s2, s3)), lesser(lesser(s4, s5), lesser(s6, s7)))
        total = multiply_add(one, least, total)
        a, b = subtract(a, left), subtract(b, right)
        n0, n1, n2 = n0 + count_equal(s0, least), n1 + count_equal(s1, least), n2 + count_equal(s2, least)
        n3, n4, n5 = n3 + count_equal(s3, least), n4 + count_equal(s4, least), n5 + count_equal(s5, least)
        n6, n7 = n6 + count_equal(s6, least), n7 + count_equal(s7, least)
        a0, b0 = add_where_equal(s0, least, a, a0), add_where_equal(s0, least, b, b0)
        a1, b1 = add_where_equal(s1, least, a, a1), add_where_equal(s1, least, b, b1)
        a2, b2 = add_where_equal(s2, least, a, a2), add_where_equal(s2, least, b, b2)
        a3, b3 = add_where_equal(s3, least, a, a3), add_where_equal(s3, least, b, b3)
        a4, b4 = add_where_equal(s4, least, a, a4), add_where_equal(s4, least, b, b4)
        a5, b5 = add_where_equal(s5, least, a, a5), add_where_equal(s5, least, b, b5)
        a6, b6 = add_where_equal(s6, least, a, a6), add_where_equal(s6, least, b, b6)
        a7, b7 = add_where_equal(s7, least, a, a7), add_where_equal(s7, least, b, b7)
    sums[0], sums[1], sums[2], sums[3] = n0, n1, n2, n3
    sums[12], sums[13], sums[14], sums[15] = n4, n5, n6, n7
    add_totals(sums, 4, a0, a1, a2, a3)
    add_totals(sums, 8, b0, b1, b2, b3)
    add_totals(sums, 16, a4, a5, a6, a7)
    add_totals(sums, 20, b4, b5, b6, b7)
    add_totals(sums, 24, total, fill(0.0), fill(0.0), fill(0.0))
    return sums[24]


@kernel
def gather_directly(x, begin, count, table, middle, own, sums):
    """Add to the sums what `gather_eight` finds; Σ ‖x − c‖², or −1 and nothing added where it cannot tell."""
    own[:] = 0.0
    value = gather_eight(x.reshape(x.size), begin, count, table, middle, own)
    if not value < np.inf or own[:4].sum() + own[12:16].sum() != count:
        return -1.0
    sums += own[: sums.size]
    return value


@kernel
def settle_fours(sums, middle, centres, weight, total, stride):
    """Add what `gather_by_fours` found to the weight and Σ (x − c) of the centres."""
    d = middle.size
    for k in range(weight.size):
        place = k // 4 * 4 * (d + 1) + k % 4
        weight[k] += sums[place]
        for j in range(d):
            total[k * stride + j] += sums[place + 4 * (j + 1)] - sums[place] * minus(centres[k, j], middle[j])


@kernel
def lay_out(centres, direct):
    """A pilot (d,), the centres about it as `measure` or `multiply` takes them, and ½ ‖c‖²; the padding is far off."""
    k, d = centres.shape
    padded, pilot = -(-k // 4) * 4, np.zeros(d)
    if not direct:
        for i in range(k):
            pilot += centres[i]
        pilot /= k
    table, half = np.full(padded * d, np.inf if direct else 0.0), np.full(padded, np.inf)
    for i in range(k):
        square = 0.0
        for j in range(d):
            c = minus(centres[i, j], pilot[j])
            square += c * c
            table[i // 4 * 4 * d + 4 * j + i % 4] = c if direct else -c
        half[i] = 0.5 * square
    return pilot, table, half


@kernel
def nearest(x, weights, centres, weight, total, codes):
    """Inertia, weight (k,) and Σ w (x − c), padded to vectors; codes (n,) or none."""
    wide()
    d, inertia = x.shape[1], 0.0
    pilot, table, half = lay_out(centres, d <= DIRECT)
    farthest = 2 * half[: weight.size].max()
    size = 2 * BLOCK if d <= DIRECT else BLOCK
    stride = size + 8
    padded = total.size // weight.size
    u, apart, code = np.zeros(d * stride), np.zeros((size, padded)), np.empty(size)
    index = np.empty(size, np.int64)
    best, second = np.empty(size), np.empty(size)
    sums, middle = np.zeros(-(-weight.size // 4) * 4 * (d + 1)), centres[0]
    narrow = d == 2 and weight.size <= 8 and weights.size == 0 and codes.size == 0
    eight, own = eight_of(centres) if narrow else half, np.zeros(28)
    for begin in range(0, x.shape[0], size):
        block, w = x[begin : begin + size], weights[begin : begin + size, 0]
        count = block.shape[0]
        whole = count == size
        value = gather_directly(x, begin, size, eight, middle, own, sums) if narrow and whole else -1.0
        if value >= 0:
            inertia += value
            continue
        write_rows(x, begin, count, pilot, u, stride)
        rows = -(-count // ROWS) * ROWS
        if d <= DIRECT:
            search_directly(u, d, rows, stride, table, half.size, best, code)
        else:
            search(u, d, rows, stride, table, half, best, second, code)
        whole = whole and d <= DIRECT and weight.size <= FEW and w.size == 0 and best.sum() < np.inf
        if codes.size or not whole:
            for n in range(count):
                index[n] = int(code[n])
        if whole:
            inertia += best.sum()
            gather_by_fours(u, stride, code, count, middle, sums)
        elif d <= DIRECT:
            inertia += gather_narrow(block, index[:count], best, w, centres, weight, total, padded)
        else:
            settle(block, u, stride, centres, farthest, best, second, index)
            leave(block, index, centres, w, apart)
            inertia += gather(apart, index[:count], w, weight, total)
        if codes.size:
            for n in range(count):
                codes[begin + n] = index[n]
    settle_fours(sums, middle, centres, weight, total, padded)
    return inertia
