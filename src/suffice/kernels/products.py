"""Loops that multiply matrices inside a block, for Numba: scatter matrices.

Products go by tiles of 4 × 3 vectors whose sums stay in registers; the sizes are padded with zeros to whole tiles.
"""
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from suffice.kernels.jit import kernel, minus
from suffice.kernels.lanes import LANES, add_totals, fill, load, multiply_add, store, strided, subtract

FAIR = 16  # the mean so far is a good pivot for blocks of up to this many times its weight
TILE = 64  # rows that wait in the nearest cache to be transposed


@kernel
def group(codes, order, starts, stops):
    """Order the rows by component, a counting sort: component k has order[starts[k] : stops[k]]."""
    stops[:] = 0
    for code in codes:
        if 0 <= code < stops.size:
            stops[code] += 1
    total = 0
    for k in range(stops.size):
        starts[k] = total
        total += stops[k]
        stops[k] = starts[k]
    for i in range(codes.size):
        if 0 <= codes[i] < stops.size:
            order[stops[codes[i]]] = i
            stops[codes[i]] += 1


@kernel
def turn(cells, start, count, pivot, r, begin):
    """Write count rows of the cells, from ``start`` on, less the pivot (d,), as columns from r[·, begin] on."""
    d, stride, flat = pivot.size, r.shape[1], r.reshape(r.size)
    whole = count - count % LANES
    for j in range(d):
        p, place = fill(pivot[j]), j * stride + begin
        for t in range(0, whole, LANES):
            store(flat, place + t, subtract(strided(cells, start + t * d + j, d), p))
        for t in range(whole, count):
            flat[place + t] = minus(cells[start + t * d + j], pivot[j])


@kernel
def centre_rows(x, rows, pivot, r):
    """Write x − pivot of the named rows, transposed, into r (d, ·); rows that lie apart are brought together first."""
    d, count = pivot.size, rows.size
    if count > 0 and rows[-1] - rows[0] == count - 1:
        turn(x.reshape(x.size), rows[0] * d, count, pivot, r, 0)
        return
    tile = np.empty((TILE, d))
    for begin in range(0, count, TILE):
        part = rows[begin : begin + TILE]
        for i in range(part.size):
            for j in range(d):
                tile[i, j] = x[part[i], j]
        turn(tile.reshape(tile.size), 0, part.size, pivot, r, begin)


@kernel
def weigh(r, rows, w, first):
    """Write Σ w r of each column into first (d,), then √w r into r."""
    root = np.empty(rows.size if w.size else 0)
    for i in range(root.size):
        root[i] = np.sqrt(w[rows[i]])
    for j in range(first.size):
        column, total = r[j, : rows.size], 0.0
        if w.size:
            for i in range(column.size):
                column[i] *= root[i]
                total += root[i] * column[i]
        else:
            for i in range(column.size):
                total += column[i]
        first[j] = total


@kernel
def add_products(r, count, squares):
    """Add r rᵀ over the first ``count`` rows to what lies on and below the diagonal, by tiles of 4 × 3 sums.

    r (≥ d + 2, ·) has zeros in the columns that complete the tiles; the rows that complete a vector are made so here.
    """
    size, stride, whole = squares.shape[0], r.shape[1], -(-count // LANES) * LANES
    for i in range(r.shape[0]):
        for t in range(count, whole):
            r[i, t] = 0.0
    flat, sums = r.reshape(r.size), np.empty(12)
    for i in range(0, size, 4):
        for j in range(0, i + 4, 3):
            a0 = a1 = a2 = b0 = b1 = b2 = c0 = c1 = c2 = d0 = d1 = d2 = fill(0.0)
            p, q = i * stride, j * stride
            for _ in range(0, whole, LANES):
                u0, u1, u2 = load(flat, q), load(flat, q + stride), load(flat, q + 2 * stride)
                e = load(flat, p)
                a0, a1, a2 = multiply_add(e, u0, a0), multiply_add(e, u1, a1), multiply_add(e, u2, a2)
                e = load(flat, p + stride)
                b0, b1, b2 = multiply_add(e, u0, b0), multiply_add(e, u1, b1), multiply_add(e, u2, b2)
                e = load(flat, p + 2 * stride)
                c0, c1, c2 = multiply_add(e, u0, c0), multiply_add(e, u1, c1), multiply_add(e, u2, c2)
                e = load(flat, p + 3 * stride)
                d0, d1, d2 = multiply_add(e, u0, d0), multiply_add(e, u1, d1), multiply_add(e, u2, d2)
                p += LANES
                q += LANES
            sums[:] = 0.0
            add_totals(sums, 0, a0, b0, c0, d0)
            add_totals(sums, 4, a1, b1, c1, d1)
            add_totals(sums, 8, a2, b2, c2, d2)
            for column in range(min(3, size - j)):
                for row in range(4):
                    squares[i + row, j + column] += sums[4 * column + row]


@kernel
def survey(rows, w):
    """The weight of the named rows, and the heaviest of them."""
    total, heaviest = float(rows.size), rows[0] if rows.size else 0
    if w.size:
        total, most = 0.0, 0.0
        for i in rows:
            total += w[i]
            if w[i] > most:
                most, heaviest = w[i], i
    return total, heaviest


@kernel
def merge(total, pivot, first, weight, centre, shift, squares):
    """Chan, Golub and LeVeque: rows whose products about the pivot (d,) are in the squares already join the mean."""
    apart, share = np.empty(pivot.size), total / (weight + total)
    for j in range(pivot.size):
        if weight == 0:
            centre[j] = pivot[j]
        apart[j] = minus(pivot[j], centre[j]) + minus(first[j] / total, shift[j])
        shift[j] += share * apart[j]
    for i in range(pivot.size):
        for j in range(i + 1):
            squares[i, j] += weight * share * apart[i] * apart[j] - first[i] * first[j] / total


@kernel
def scatter(x, weights, codes, weight, centre, shift, squares):
    """Weight (k,), centre and shift (k, d), squares (k, ≥ d, ≥ d) on and below the diagonal, of complete rows."""
    n_components, d = centre.shape
    rows = max(512, 64 * n_components) if codes.size else 512
    order, starts, stops = np.arange(rows), np.zeros(n_components, np.int64), np.empty(n_components, np.int64)
    r, first, pivot = np.zeros((squares.shape[1] + 2, rows + 8)), np.empty(d), np.empty(d)
    for begin in range(0, x.shape[0], rows):
        block, w = x[begin : begin + rows], weights[begin : begin + rows]
        stops[:] = block.shape[0]
        if codes.size:
            group(codes[begin : begin + rows], order, starts, stops)
        for k in range(n_components):
            mine, u = order[starts[k] : stops[k]], w[:, min(k, w.shape[1] - 1)]
            total, heaviest = survey(mine, u)
            if total == 0:
                continue
            settled = weight[k] * FAIR >= total
            for j in range(d):
                pivot[j] = centre[k, j] + shift[k, j] if settled else block[heaviest, j]
            if not settled:
                centre_rows(block, mine, pivot, r)
                weigh(r, mine, u, first)
                for j in range(d):
                    pivot[j] += first[j] / total
            centre_rows(block, mine, pivot, r)
            weigh(r, mine, u, first)
            add_products(r, mine.size, squares[k])
            merge(total, pivot, first, weight[k], centre[k], shift[k], squares[k])
            weight[k] += total


@kernel
def centre_owned(x, w, codes, pivot, first, r):
    """Write √w (x − pivot of the row's component), transposed, into r (d, ·).

    And Σ w (x − pivot) of each into first.
    """
    d, tile, none = pivot.shape[1], np.empty((TILE, pivot.shape[1])), np.zeros(pivot.shape[1])
    first[:] = 0.0
    for begin in range(0, x.shape[0], TILE):
        count = min(TILE, x.shape[0] - begin)
        for i in range(count):
            k = codes[begin + i]
            held = w[begin + i] if w.size else 1.0
            if k < 0 or k >= pivot.shape[0] or held == 0:
                tile[i] = 0.0
                continue
            for j in range(d):
                tile[i, j] = minus(x[begin + i, j], pivot[k, j])
                first[k, j] += held * tile[i, j]
            if held != 1:
                tile[i] *= np.sqrt(held)
        turn(tile.reshape(tile.size), 0, count, none, r, begin)


@kernel
def survey_owned(x, w, codes, total, pivot):
    """Write the weight of each component's rows into total (k,).

    And the first of them that counts into pivot (k, d).
    """
    total[:] = 0.0
    for i in range(codes.size):
        k, held = codes[i], w[i] if w.size else 1.0
        if 0 <= k < total.size and held > 0:
            if total[k] == 0:
                for j in range(pivot.shape[1]):
                    pivot[k, j] = x[i, j]
            total[k] += held


@kernel
def shared_scatter(x, weights, codes, weight, centre, shift, squares):
    """The same with one squares (≥ d, ≥ d) for all components: rows need not be grouped by their components."""
    n_components, d = centre.shape
    rows = max(512, 8 * n_components)
    r, total = np.zeros((squares.shape[0] + 2, rows + 8)), np.empty(n_components)
    pivot, first = np.zeros((n_components, d)), np.zeros((n_components, d))
    for begin in range(0, x.shape[0], rows):
        block, w, owner = x[begin : begin + rows], weights[begin : begin + rows, 0], codes[begin : begin + rows]
        survey_owned(block, w, owner, total, pivot)
        settled = weight * FAIR >= total
        if not settled.all():
            centre_owned(block, w, owner, pivot, first, r)
        for k in range(n_components):
            if settled[k]:
                pivot[k] = centre[k] + shift[k]
            else:
                pivot[k] += first[k] / total[k]
        centre_owned(block, w, owner, pivot, first, r)
        add_products(r, owner.size, squares)
        for k in range(n_components):
            if total[k] > 0:
                merge(total[k], pivot[k], first[k], weight[k], centre[k], shift[k], squares)
        weight += total
