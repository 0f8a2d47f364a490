"""Loops that find the nearest centre of each row, for Numba.

Few columns: squared distances as they are. More: ½ ‖c‖² − x·c, a product by tiles of 4 × 4, of rows and centres about
a pilot and in units that make the farthest centre 1, in single precision; where the two best are closer than rounding
allows, the row's distances are compared one by one. So the answer is exact whatever the data. Where that happens often
(a far centre makes the others small) the search goes on in double precision.
"""
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from suffice.kernels.jit import kernel, minus, wide

ROWS = 256
TILE = 64
DIRECT = 4  # columns up to which distances are as cheap as products
OFTEN = 8  # one row in so many compared one by one is too many


@kernel
def load(x, pilot, unit, columns):
    """Write (x − pilot) · unit, transposed, into columns (d, ≥ b)."""
    for begin in range(0, x.shape[0], TILE):
        tile = x[begin : begin + TILE]
        for j in range(tile.shape[1]):
            column, p = columns[j, begin : begin + tile.shape[0]], pilot[j]
            for i in range(column.size):
                column[i] = minus(tile[i, j], p) * unit


@kernel
def distance(row, centre):
    """‖row − centre‖²."""
    total = 0.0
    for j in range(row.size):
        r = minus(row[j], centre[j])
        total += r * r
    return total


@kernel
def measure(columns, centres, k, count, scores):
    """Squared distances of a block to the centres k … k + 3."""
    wide()
    a, b, c, d = scores[0, :count], scores[1, :count], scores[2, :count], scores[3, :count]
    for n in range(count):
        a[n] = b[n] = c[n] = d[n] = 0.0
    for j in range(columns.shape[0]):
        p, e, f, g, h = columns[j, :count], centres[k, j], centres[k + 1, j], centres[k + 2, j], centres[k + 3, j]
        for n in range(count):
            r, s, t, u = minus(p[n], e), minus(p[n], f), minus(p[n], g), minus(p[n], h)
            a[n] += r * r
            b[n] += s * s
            c[n] += t * t
            d[n] += u * u


@kernel
def multiply(columns, centres, half, k, count, scores):
    """½ ‖c‖² − x·c of a block and the centres k … k + 3; columns and centres are padded to whole tiles."""
    wide()
    a, b, c, d = scores[0, :count], scores[1, :count], scores[2, :count], scores[3, :count]
    for n in range(count):
        a[n] = half[k]
        b[n] = half[k + 1]
        c[n] = half[k + 2]
        d[n] = half[k + 3]
    for j in range(0, columns.shape[0], 4):
        p, q, s, t = columns[j, :count], columns[j + 1, :count], columns[j + 2, :count], columns[j + 3, :count]
        a0, a1, a2, a3 = centres[k, j], centres[k, j + 1], centres[k, j + 2], centres[k, j + 3]
        b0, b1, b2, b3 = centres[k + 1, j], centres[k + 1, j + 1], centres[k + 1, j + 2], centres[k + 1, j + 3]
        c0, c1, c2, c3 = centres[k + 2, j], centres[k + 2, j + 1], centres[k + 2, j + 2], centres[k + 2, j + 3]
        d0, d1, d2, d3 = centres[k + 3, j], centres[k + 3, j + 1], centres[k + 3, j + 2], centres[k + 3, j + 3]
        for n in range(count):
            a[n] -= (a0 * p[n] + a1 * q[n]) + (a2 * s[n] + a3 * t[n])
            b[n] -= (b0 * p[n] + b1 * q[n]) + (b2 * s[n] + b3 * t[n])
            c[n] -= (c0 * p[n] + c1 * q[n]) + (c2 * s[n] + c3 * t[n])
            d[n] -= (d0 * p[n] + d1 * q[n]) + (d2 * s[n] + d3 * t[n])


@kernel
def choose(scores, k, best, second, index):
    """Let the centres k … k + 3 compete with the best so far; the first of equals wins."""
    wide()
    count = best.size
    a, b, c, d = scores[0, :count], scores[1, :count], scores[2, :count], scores[3, :count]
    i, j, g, h = np.int32(k), np.int32(k + 1), np.int32(k + 2), np.int32(k + 3)
    for n in range(count):
        least, loser, code = best[n], second[n], index[n]
        loser, code, least = min(loser, max(a[n], least)), i if a[n] < least else code, min(least, a[n])
        loser, code, least = min(loser, max(b[n], least)), j if b[n] < least else code, min(least, b[n])
        loser, code, least = min(loser, max(c[n], least)), g if c[n] < least else code, min(least, c[n])
        loser, code, least = min(loser, max(d[n], least)), h if d[n] < least else code, min(least, d[n])
        best[n], second[n], index[n] = least, loser, code


@kernel
def compare(row, centres):
    """The nearest centre of one row, by its distances."""
    least, code = np.inf, 0
    for k in range(centres.shape[0]):
        found = distance(row, centres[k])
        if found < least:
            least, code = found, k
    return code


@kernel
def search(block, centres, table, half, pilot, unit, error, columns, scores, best, second, index):
    """Write the nearest centre of every row of a block into the index; how many rows had to be compared."""
    wide()
    d, count, compared = block.shape[1], block.shape[0], 0
    load(block, pilot, unit, columns)
    best[:] = np.inf
    second[:] = np.inf
    index[:] = 0
    for k in range(0, table.shape[0], 4):
        if d <= DIRECT:
            measure(columns[:d], table, k, count, scores)
        else:
            multiply(columns, table, half, k, count, scores)
        choose(scores, k, best[:count], second[:count], index[:count])
    if d > DIRECT:
        norm = scores[0, :count]
        norm[:] = 1
        for j in range(d):
            column = columns[j, :count]
            for n in range(count):
                norm[n] += column[n] * column[n]
        for n in range(count):
            if not second[n] - best[n] > error * norm[n]:
                index[n] = compare(block[n], centres)
                compared += 1
    return compared


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
        k, v = np.uint32(index[n]), w[n] if w.size else 1.0
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
def nearest(x, weights, centres, table, half, pilot, unit, error, weight, total, codes):
    """Inertia, weight (k,), Σ w (x − c) (k, d); codes (n,) or none; stops, saying where, if it compares often."""
    wide()
    d = centres.shape[1]
    rows, padded, kind = ROWS, table.shape[1], half.dtype
    columns, scores = np.zeros((padded, rows), kind), np.empty((4, rows), kind)
    best, second, index = np.empty(rows, kind), np.empty(rows, kind), np.empty(rows, np.int32)
    apart, inertia = np.empty((rows, d)), 0.0
    for begin in range(0, x.shape[0], rows):
        block = x[begin : begin + rows]
        compared = search(block, centres, table, half, pilot, unit, error, columns, scores, best, second, index)
        w = weights[begin : begin + rows, 0]
        leave(block, index, centres, w, apart)
        inertia += gather(apart, index[: block.shape[0]], w, weight, total)
        if codes.size:
            codes[begin : begin + rows] = index[: block.shape[0]]
        if compared * OFTEN > rows:
            return inertia, begin + block.shape[0]
    return inertia, x.shape[0]
