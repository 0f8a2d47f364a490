"""Loops for the moments and densities of columns, for Numba; `compiled` prepares the arguments and says what they do.

Work goes by blocks of rows that stay in cache; inner loops run along memory, so that they become vector instructions.
Squares are summed about a pivot that loses no digit: the mean so far where it rests on a fair weight beside the block's
(what cancels is then about what the distance between the two adds), else the mean of the block, taken about its
heaviest row in a pass of its own.

``weights`` is (n, 1) or (n, k), with no rows where every weight is 1; ``codes`` (n,), empty where there are none. The
last arguments are added to.
"""
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from suffice.kernels.jit import kernel, minus

PANEL = 32  # columns side by side in a block
TILE = 128  # rows transposed at a time: their cache lines are still near for the next column
GROWTH = 16  # blocks grow by this factor, so that only the first must find a mean of its own


# -- moments, row by row: one weight per row ---------------------------------------------------------------------------


@kernel
def survey(w, codes, count, total, heaviest):
    """Weight and heaviest row of each component in a block of ``count`` rows."""
    total[:] = 0.0
    heaviest[:] = 0
    if w.size == 0 and codes.size == 0:
        total[:] = count
        return
    most = np.zeros(total.size)
    for i in range(count):
        k = codes[i] if codes.size else 0
        if 0 <= k < total.size:
            v = w[i, 0] if w.size else 1.0
            total[k] += v
            if v > most[k]:
                most[k] = v
                heaviest[k] = i


@kernel
def heaviest_seen(column, w, codes, k):
    """The cell of largest weight among the seen cells of a component; 0 where there is none."""
    most, value = 0.0, 0.0
    for i in range(column.size):
        v = w[i] if w.size else 1.0
        if v > most and column[i] == column[i] and (codes.size == 0 or codes[i] == k):
            most, value = v, float(column[i])
    return value


@kernel
def add_rows(x, w, codes, pivot, first, second):
    """Σ w (x − pivot) and Σ w (x − pivot)², each (k, d)."""
    n_components, d = pivot.shape
    first[:] = 0.0
    second[:] = 0.0
    if w.size == 0 and codes.size == 0:
        for i in range(x.shape[0]):
            for j in range(d):
                r = minus(x[i, j], pivot[0, j])
                first[0, j] += r
                second[0, j] += r * r
        return
    for i in range(x.shape[0]):
        k = codes[i] if codes.size else 0
        if 0 <= k < n_components:
            v = w[i, 0] if w.size else 1.0
            for j in range(d):
                r = minus(x[i, j], pivot[k, j])
                first[k, j] += v * r
                second[k, j] += v * r * r


@kernel
def add_seen_rows(x, w, codes, pivot, weight, first, second):
    """The same sums over the cells that are not NaN, and the weight of these."""
    n_components, d = pivot.shape
    weight[:] = 0.0
    first[:] = 0.0
    second[:] = 0.0
    for i in range(x.shape[0]):
        k = codes[i] if codes.size else 0
        if 0 <= k < n_components:
            v = w[i, 0] if w.size else 1.0
            for j in range(d):
                seen = x[i, j] == x[i, j]
                r = minus(x[i, j], pivot[k, j]) if seen else 0.0
                weight[k, j] += v if seen else 0.0
                first[k, j] += v * r
                second[k, j] += v * r * r


@kernel
def merge(k, j, moments, weight, centre, shift, scatter):
    """Chan, Golub and LeVeque: the moments (weight, centre, shift, scatter) of more cells join those of [k, j]."""
    more, pivot, offset, inside = moments
    if more == 0:
        return
    if weight[k, j] == 0:
        centre[k, j] = pivot
    apart = minus(pivot, centre[k, j]) + minus(offset, shift[k, j])
    share = more / (weight[k, j] + more)
    scatter[k, j] += inside + weight[k, j] * share * apart * apart
    shift[k, j] += share * apart
    weight[k, j] += more


@kernel
def about(pivot, weight, first, second):
    """Moments from the sums about a pivot."""
    offset = first / weight if weight else 0.0
    inside = second - first * offset
    return weight, pivot, offset, 0.0 if inside < 0 else inside


@kernel
def place_pivots(x, w, codes, total, heaviest, weight, centre, shift, pivot, seen, first, second):
    """The mean so far where it rests on a fair weight beside the block's, else the mean of the block."""
    n_components, d = pivot.shape
    settled = True
    for k in range(n_components):
        for j in range(d):
            pivot[k, j] = centre[k, j] + shift[k, j]
            if weight[k, j] * GROWTH < total[k]:
                settled = False
                pivot[k, j] = x[heaviest[k], j]
                if np.isnan(pivot[k, j]):
                    pivot[k, j] = heaviest_seen(x[:, j], w[:, 0], codes, k)
    if not settled:
        add_seen_rows(x, w, codes, pivot, seen, first, second)
        for k in range(n_components):
            for j in range(d):
                if weight[k, j] * GROWTH < total[k] and seen[k, j] > 0:
                    pivot[k, j] += first[k, j] / seen[k, j]


@kernel
def moments_by_row(x, weights, codes, weight, centre, shift, scatter):
    """Moments (k, d) of rows with at most one weight each."""
    n_components, d = weight.shape
    rows = max(1024, 16 * n_components)  # merging costs as much as a few rows of each component
    total, heaviest, pivot = np.empty(n_components), np.empty(n_components, np.int64), np.empty((n_components, d))
    seen, first, second = np.empty((n_components, d)), np.empty((n_components, d)), np.empty((n_components, d))
    begin = 0
    while begin < x.shape[0]:
        end = begin + min(rows, max(GROWTH * begin, 4 * n_components, 16))
        block, w, c = x[begin:end], weights[begin:end], codes[begin:end]
        begin = end
        survey(w, c, block.shape[0], total, heaviest)
        place_pivots(block, w, c, total, heaviest, weight, centre, shift, pivot, seen, first, second)
        add_rows(block, w, c, pivot, first, second)
        complete = np.isfinite(second).all()
        if not complete:
            add_seen_rows(block, w, c, pivot, seen, first, second)
        for k in range(n_components):
            for j in range(d):
                found = total[k] if complete else seen[k, j]
                merge(k, j, about(pivot[k, j], found, first[k, j], second[k, j]), weight, centre, shift, scatter)


# -- moments, column by column: short rows, or a weight for each row and component
# ----------------------------------------


@kernel
def load(x, columns):
    """Transpose x (b, d) into columns (d, ≥ b)."""
    for begin in range(0, x.shape[0], TILE):
        tile = x[begin : begin + TILE]
        for j in range(tile.shape[1]):
            column = columns[j, begin : begin + tile.shape[0]]
            for i in range(column.size):
                column[i] = tile[i, j]


@kernel
def add_up(values):
    """Σ of a contiguous array, as vectors: the ``sum`` method adds one by one."""
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


@kernel
def add_column(column, w, pivot):
    """Σ w (x − pivot) and Σ w (x − pivot)²."""
    first = second = 0.0
    if w.size == 0:
        quarter = column.size // 4
        f1 = f2 = f3 = s1 = s2 = s3 = 0.0
        for i in range(quarter):  # four places at a time: memory is fetched ahead of each
            r = minus(column[i], pivot)
            first += r
            second += r * r
            r = minus(column[i + quarter], pivot)
            f1 += r
            s1 += r * r
            r = minus(column[i + 2 * quarter], pivot)
            f2 += r
            s2 += r * r
            r = minus(column[i + 3 * quarter], pivot)
            f3 += r
            s3 += r * r
        first, second = (first + f1) + (f2 + f3), (second + s1) + (s2 + s3)
        for i in range(4 * quarter, column.size):
            r = minus(column[i], pivot)
            first += r
            second += r * r
    else:
        for i in range(column.size):
            r = minus(column[i], pivot)
            first += w[i] * r
            second += w[i] * r * r
    return first, second


@kernel
def add_seen_column(column, w, pivot):
    """The weight of the cells that are not NaN, and the same sums over them."""
    weight = first = second = 0.0
    for i in range(column.size):
        seen = column[i] == column[i]
        v = (w[i] if w.size else 1.0) if seen else 0.0
        r = minus(column[i], pivot) if seen else 0.0
        weight += v
        first += v * r
        second += v * r * r
    return weight, first, second


@kernel
def column_moments(column, w, total, settled, mean):
    """Moments of a column, of weight ``total`` if nothing is missing, about the mean so far if that is settled."""
    pivot = mean
    if not settled:
        start = heaviest_seen(column, w, np.empty(0, np.int64), 0)
        found, first, _ = add_seen_column(column, w, start)
        pivot = start + (first / found if found else 0.0)
    first, second = add_column(column, w, pivot)
    if not np.isfinite(second):
        total, first, second = add_seen_column(column, w, pivot)
    return about(pivot, total, first, second)


@kernel
def moments_by_column(x, weights, weight, centre, shift, scatter):
    """Moments (k, d) of rows with any weights."""
    n_components, d = weight.shape
    rows = max(256, 32768 // max(n_components, min(d, PANEL)))
    cells, columns = np.empty((min(d, PANEL), rows), x.dtype), x.reshape(1, x.size)
    shares, w = np.empty((n_components, rows)), weights.reshape(1, weights.size)
    begin = 0
    while begin < x.shape[0]:
        end = min(begin + min(rows, max(GROWTH * begin, 16)), x.shape[0])
        row, share = begin, begin  # a single column lies right as it is, so do a single component's weights
        if n_components > 1:
            load(weights[begin:end], shares)
            w, share = shares, 0
        for panel in range(0, d, PANEL):
            if d > 1:
                load(x[begin:end, panel : panel + PANEL], cells)
                columns, row = cells, 0
            for k in range(n_components):
                u = w[k, share : share + end - begin]
                total = add_up(u) if u.size else float(end - begin)
                if total > 0:
                    for j in range(panel, min(panel + PANEL, d)):
                        column = columns[j - panel, row : row + end - begin]
                        settled, mean = weight[k, j] * GROWTH >= total, centre[k, j] + shift[k, j]
                        more = column_moments(column, u, total, settled, mean)
                        merge(k, j, more, weight, centre, shift, scatter)
        begin = end


# -- densities ---------------------------------------------------------------------------------------------------------


@kernel
def normal_log_prob(x, mean, std, out):
    """Log-density (n, k) under products of normals; a NaN cell contributes 0."""
    n_components, d = mean.shape
    rows = min(1024, max(64, 32768 // max(d, 1)))
    columns, value, constant = np.empty((d, rows)), np.empty(rows), -0.5 * np.log(2 * np.pi) - np.log(std)
    for begin in range(0, x.shape[0], rows):
        block = x[begin : begin + rows]
        b, total = block.shape[0], 0.0
        load(block, columns)
        for j in range(d):
            total += add_up(columns[j, :b])
        complete = np.isfinite(total)
        for k in range(n_components):
            value[:] = constant[k].sum() if complete else 0.0
            for j in range(d):
                column, m, precision, c = columns[j, :b], mean[k, j], 1 / std[k, j], constant[k, j]
                if complete:
                    for i in range(b):
                        z = minus(column[i], m) * precision
                        value[i] -= 0.5 * z * z
                else:
                    for i in range(b):
                        z = minus(column[i], m) * precision
                        value[i] += c - 0.5 * z * z if column[i] == column[i] else 0.0
            for i in range(b):
                out[begin + i, k] = value[i]
