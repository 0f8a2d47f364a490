"""Loops that find the nearest centre of each row, for Numba.

Few columns: squared distances as they are. More: ½ ‖c‖² − x·c of rows and centres about a pilot; where the two best are
closer than rounding allows, the row's distances are compared one by one. So the answer is exact whatever the data. Both
go by tiles of 4 centres × 3 vectors of rows; centres lie as (k / 4, d, 4), rows column by column, ``stride`` apart.
"""
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from suffice.kernels.jit import kernel, minus, wide
from suffice.kernels.lanes import LANES, fill, load, multiply_add, store, strided, subtract

ROWS = 3 * LANES  # of a tile
BLOCK = 240
DIRECT = 4  # columns up to which distances are as cheap as products


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
def put(a, i, first, second, third):
    """Store three vectors, one after the other."""
    store(a, i, first)
    store(a, i + LANES, second)
    store(a, i + 2 * LANES, third)


@kernel
def measure(u, d, rows, stride, centres, q, scores):
    """Squared distances to the four centres from centres[q] on."""
    for t in range(0, rows, ROWS):
        a0 = a1 = a2 = b0 = b1 = b2 = c0 = c1 = c2 = d0 = d1 = d2 = fill(0.0)
        for j in range(d):
            p, s = t + j * stride, q + 4 * j
            u0, u1, u2 = load(u, p), load(u, p + LANES), load(u, p + 2 * LANES)
            e = fill(centres[s])
            z0, z1, z2 = subtract(u0, e), subtract(u1, e), subtract(u2, e)
            a0, a1, a2 = multiply_add(z0, z0, a0), multiply_add(z1, z1, a1), multiply_add(z2, z2, a2)
            e = fill(centres[s + 1])
            z0, z1, z2 = subtract(u0, e), subtract(u1, e), subtract(u2, e)
            b0, b1, b2 = multiply_add(z0, z0, b0), multiply_add(z1, z1, b1), multiply_add(z2, z2, b2)
            e = fill(centres[s + 2])
            z0, z1, z2 = subtract(u0, e), subtract(u1, e), subtract(u2, e)
            c0, c1, c2 = multiply_add(z0, z0, c0), multiply_add(z1, z1, c1), multiply_add(z2, z2, c2)
            e = fill(centres[s + 3])
            z0, z1, z2 = subtract(u0, e), subtract(u1, e), subtract(u2, e)
            d0, d1, d2 = multiply_add(z0, z0, d0), multiply_add(z1, z1, d1), multiply_add(z2, z2, d2)
        put(scores, t, a0, a1, a2)
        put(scores, stride + t, b0, b1, b2)
        put(scores, 2 * stride + t, c0, c1, c2)
        put(scores, 3 * stride + t, d0, d1, d2)


@kernel
def multiply(u, d, rows, stride, centres, q, half, scores):
    """½ ‖c‖² − x·c for the four centres from centres[q] on; half (4,)."""
    for t in range(0, rows, ROWS):
        a0 = a1 = a2 = b0 = b1 = b2 = c0 = c1 = c2 = d0 = d1 = d2 = fill(0.0)
        for j in range(d):
            p, s = t + j * stride, q + 4 * j
            u0, u1, u2 = load(u, p), load(u, p + LANES), load(u, p + 2 * LANES)
            e = fill(centres[s])
            a0, a1, a2 = multiply_add(e, u0, a0), multiply_add(e, u1, a1), multiply_add(e, u2, a2)
            e = fill(centres[s + 1])
            b0, b1, b2 = multiply_add(e, u0, b0), multiply_add(e, u1, b1), multiply_add(e, u2, b2)
            e = fill(centres[s + 2])
            c0, c1, c2 = multiply_add(e, u0, c0), multiply_add(e, u1, c1), multiply_add(e, u2, c2)
            e = fill(centres[s + 3])
            d0, d1, d2 = multiply_add(e, u0, d0), multiply_add(e, u1, d1), multiply_add(e, u2, d2)
        e = fill(half[0])
        put(scores, t, subtract(e, a0), subtract(e, a1), subtract(e, a2))
        e = fill(half[1])
        put(scores, stride + t, subtract(e, b0), subtract(e, b1), subtract(e, b2))
        e = fill(half[2])
        put(scores, 2 * stride + t, subtract(e, c0), subtract(e, c1), subtract(e, c2))
        e = fill(half[3])
        put(scores, 3 * stride + t, subtract(e, d0), subtract(e, d1), subtract(e, d2))


@kernel
def choose(scores, stride, k, best, second, index):
    """Let the centres k … k + 3 compete with the best so far; the first of equals wins."""
    wide()
    count, s, t = best.size, 2 * stride, 3 * stride
    a, b, c, d = scores[:count], scores[stride : stride + count], scores[s : s + count], scores[t : t + count]
    for n in range(count):
        least, loser, code = best[n], second[n], index[n]
        loser, code, least = min(loser, max(a[n], least)), k if a[n] < least else code, min(least, a[n])
        loser, code, least = min(loser, max(b[n], least)), k + 1 if b[n] < least else code, min(least, b[n])
        loser, code, least = min(loser, max(c[n], least)), k + 2 if c[n] < least else code, min(least, c[n])
        loser, code, least = min(loser, max(d[n], least)), k + 3 if d[n] < least else code, min(least, d[n])
        best[n], second[n], index[n] = least, loser, code


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
    """Write x − c into apart (≥ b, d), 0 where a row has no weight."""
    for n in range(block.shape[0]):
        row, centre, out = block[n], centres[index[n]], apart[n]
        if w.size == 0 or w[n] > 0:
            for j in range(out.size):
                out[j] = minus(row[j], centre[j])
        else:
            out[:] = 0.0


@kernel
def gather(apart, index, w, weight, total):
    """Add w to the weight and w (x − c) to the total of each row's centre; Σ w ‖x − c‖²."""
    inertia = 0.0
    if w.size == 0:
        flat = apart[: index.size].reshape(index.size * apart.shape[1])
        for t in range(flat.size):
            inertia += flat[t] * flat[t]
    for n in range(index.size):
        k, v = np.uint64(index[n]), w[n] if w.size else 1.0
        row, mine = apart[n], total[k]
        weight[k] += v
        if w.size:
            for j in range(row.size):
                inertia += v * row[j] * row[j]
                mine[j] += v * row[j]
        else:
            for j in range(row.size):
                mine[j] += row[j]
    return inertia


@kernel
def gather_narrow(u, stride, index, best, w, centres, weight, total):
    """The same for few columns, whose distances are known."""
    inertia, d = 0.0, centres.shape[1]
    if w.size == 0:
        for n in range(index.size):
            inertia += best[n]
            weight[np.uint64(index[n])] += 1.0
    else:
        for n in range(index.size):
            inertia += w[n] * best[n] if w[n] > 0 else 0.0
            weight[np.uint64(index[n])] += w[n]
    for j in range(d):
        column = u[j * stride : j * stride + index.size]
        for n in range(index.size):
            k = np.uint64(index[n])
            r = minus(column[n], centres[k, j])
            if w.size == 0:
                total[k, j] += r
            elif w[n] > 0:
                total[k, j] += w[n] * r
    return inertia


@kernel
def nearest(x, weights, centres, pilot, table, half, farthest, weight, total, codes):
    """Inertia, weight (k,) and Σ w (x − c) (k, d); codes (n,) or none. Table and half are about the pilot, padded."""
    wide()
    d, stride, inertia = x.shape[1], BLOCK + 8, 0.0
    u, scores, apart = np.zeros(d * stride), np.empty(4 * stride), np.empty((BLOCK, d))
    best, second, index = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK, np.int64)
    for begin in range(0, x.shape[0], BLOCK):
        block, w = x[begin : begin + BLOCK], weights[begin : begin + BLOCK, 0]
        count = block.shape[0]
        rows = -(-count // ROWS) * ROWS
        write_rows(x, begin, count, pilot, u, stride)
        best[:] = np.inf
        second[:] = np.inf
        index[:] = 0
        for k in range(0, half.size, 4):
            if d <= DIRECT:
                measure(u, d, rows, stride, table, k * d, scores)
            else:
                multiply(u, d, rows, stride, table, k * d, half[k : k + 4], scores)
            choose(scores, stride, k, best[:count], second[:count], index[:count])
        if d <= DIRECT:
            inertia += gather_narrow(u, stride, index[:count], best, w, centres, weight, total)
        else:
            settle(block, u, stride, centres, farthest, best, second, index)
            leave(block, index, centres, w, apart)
            inertia += gather(apart, index[:count], w, weight, total)
        if codes.size:
            for n in range(count):
                codes[begin + n] = index[n]
    return inertia
