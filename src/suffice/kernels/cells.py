"""Loops of one EM pass over levels, and over columns of different kinds, for Numba.

A block of numbers and features lies column by column. Each column adds to the logits of one component after the other;
the shares that these become are then summed over the same columns, which are still near. Tables lie by vectors of
components: (k / 8, entries, 8) as one stretch, where a place is that of eight components' entries.
"""
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from suffice.kernels.jit import kernel, minus, softmax, wide
from suffice.kernels.lanes import LANES, add, fill, load, store

BLOCK = 240  # rows of a block
FEW = 3  # columns of levels, from which on components are looked up by vectors


# -- logits ------------------------------------------------------------------------------------------------------------


@kernel
def begin_logits(weights, constant, begin, w, logits):
    """Write the weights of the rows, and the constant of each component as its logits."""
    for i in range(w.size):
        w[i] = weights[begin + i, 0] if weights.size else 1.0
    for k in range(logits.shape[0]):
        logits[k] = constant[k]


@kernel
def end_logits(weights, log_weights, begin, w, logits):
    """Add each row's own log-weights to its logits; a row of no weight has logits of 0, whatever it holds."""
    if log_weights.size:
        for k in range(logits.shape[0]):
            for i in range(w.size):
                logits[k, i] += log_weights[begin + i, k]
    if weights.size:
        for k in range(logits.shape[0]):
            for i in range(w.size):
                logits[k, i] = logits[k, i] if w[i] != 0.0 else 0.0


# -- numbers and features ------------------------------------------------------------------------------------------


@kernel
def write_numbers(x, begin, w, column, there):
    """Write a column x (n,), 0 where a cell is missing or its row has no weight; which are there, and whether all."""
    wide()
    missing = 0
    for i in range(w.size):
        value = x[begin + i]
        known = (not np.isnan(value)) & (w[i] != 0.0)
        column[i] = value if known else 0.0
        there[i] = 1.0 if known else 0.0
        missing += 0 if known else 1
    return missing == 0


@kernel
def add_normal(column, there, whole, mean, scale, height, row):
    """Add height − (scale (x − mean))² to a component's logits where the cell is there."""
    wide()
    if whole:
        for i in range(column.size):
            z = minus(column[i], mean) * scale
            row[i] += height - z * z
    else:
        for i in range(column.size):
            z = minus(column[i], mean) * scale
            row[i] += height - z * z if there[i] != 0.0 else 0.0


@kernel
def sum_normal(column, there, whole, pivot, row):
    """Σ r, Σ r (x − pivot) and Σ r (x − pivot)² over the cells that are there."""
    wide()
    weight, first, second = 0.0, 0.0, 0.0
    if whole:
        for i in range(column.size):
            t = minus(column[i], pivot)
            weight += row[i]
            first += row[i] * t
            second += row[i] * t * t
    else:
        for i in range(column.size):
            t = minus(column[i], pivot) * there[i]
            weight += row[i] * there[i]
            first += row[i] * t
            second += row[i] * t * t
    return weight, first, second


@kernel
def write_feature(x, begin, w, column):
    """Write a feature of the rows, 0 where a row has no weight."""
    for i in range(w.size):
        column[i] = x[begin + i] if w[i] != 0.0 else 0.0


@kernel
def add_feature(column, slope, row):
    """Add a slope times a feature to a component's logits."""
    wide()
    for i in range(column.size):
        row[i] += slope * column[i]


@kernel
def sum_feature(column, row):
    """Σ r f of a feature."""
    wide()
    total = 0.0
    for i in range(column.size):
        total += row[i] * column[i]
    return total


# -- tables ------------------------------------------------------------------------------------------------------------


@kernel
def place_levels(levels, begin, count, n_levels, factors, offsets, jointly, steps, places):
    """Where the entry of each group of ``jointly`` columns begins in the table; a missing level counts as n_levels.

    A level adds its factor times itself and its offset; both, and steps, are padded to whole groups in each row.
    """
    wide()
    d, width = levels.shape[1], jointly * (places.size // BLOCK)
    cells, missing = levels.reshape(levels.size)[begin * d : (begin + count) * d], np.int32(n_levels)
    for n in range(1 if width == d else count):  # rows without padding are one stretch
        size = cells.size if width == d else d
        mine, out = cells[n * d : n * d + size], steps[n * width : n * width + size]
        a, b = factors[:size], offsets[:size]
        for t in range(size):
            level = np.int32(mine[t]) if 0 <= mine[t] < n_levels else missing
            out[t] = level * a[t] + b[t]
    whole = places[: count * width // jointly]
    if jointly == 1:
        for i in range(whole.size):
            whole[i] = steps[i]
    elif jointly == 2:
        for i in range(whole.size):
            whole[i] = steps[2 * i] + steps[2 * i + 1]
    elif jointly == 3:
        for i in range(whole.size):
            whole[i] = steps[3 * i] + steps[3 * i + 1] + steps[3 * i + 2]
    else:
        for i in range(whole.size):
            whole[i] = (steps[4 * i] + steps[4 * i + 1]) + (steps[4 * i + 2] + steps[4 * i + 3])


@kernel
def look_up(entries, begin, places, groups, count, rows, logits):
    """Add the entries of rows to the logits of one vector of components, whose table begins at ``begin``."""
    for n in range(count):
        first, second = fill(0.0), fill(0.0)
        for g in range(n * groups, n * groups + groups - 1, 2):
            first = add(first, load(entries, begin + places[g]))
            second = add(second, load(entries, begin + places[g + 1]))
        if groups % 2:
            first = add(first, load(entries, begin + places[n * groups + groups - 1]))
        store(rows, n * LANES, add(first, second))
    for k in range(min(LANES, logits.shape[0])):
        row = logits[k]
        for n in range(count):
            row[n] += rows[n * LANES + k]


@kernel
def count_up(shares, places, groups, count, rows, begin, sums):
    """Add the shares of one vector of components to the entries of their rows."""
    for k in range(min(LANES, shares.shape[0])):
        row = shares[k]
        for n in range(count):
            rows[n * LANES + k] = row[n]
    for n in range(count):
        r = load(rows, n * LANES)
        for g in range(n * groups, n * groups + groups):
            place = begin + places[g]
            store(sums, place, add(load(sums, place), r))


@kernel
def tables(levels, weights, log_weights, constant, entries, n_levels, factors, offsets, jointly, n_components, sums):
    """Latent classes. Entries and sums lie, as one stretch, by vectors of components, groups of columns.

    And their levels.

    Each vector of components has its own table of the groups; see `place_levels` for the places in them.
    """
    padded, groups = -(-n_components // LANES) * LANES, factors.size // (BLOCK * jointly)
    size = entries.size // (padded // LANES)
    steps, places = np.zeros(factors.size, np.int32), np.empty(BLOCK * groups, np.int32)
    rows, w, logits, value, entropy = (
        np.zeros(BLOCK * LANES),
        np.empty(BLOCK),
        np.empty((n_components, BLOCK)),
        0.0,
        0.0,
    )
    for begin in range(0, levels.shape[0], BLOCK):
        count = min(BLOCK, levels.shape[0] - begin)
        place_levels(levels, begin, count, n_levels, factors, offsets, jointly, steps, places)
        begin_logits(weights, constant, begin, w[:count], logits)
        for k in range(0, padded, LANES):
            look_up(entries, k // LANES * size, places, groups, count, rows, logits[k:])
        end_logits(weights, log_weights, begin, w[:count], logits)
        more, spread = softmax(logits, w[:count], weights.size == 0)
        for k in range(0, padded, LANES):
            count_up(logits[k:], places, groups, count, rows, k // LANES * size, sums)
        value += more
        entropy += spread
    return value, entropy


# -- columns of different kinds ----------------------------------------------------------------------------------------


@kernel
def place_mixed(levels, begin, starts, count, places):
    """Where the entry of each cell begins in tables one after the other; that of a missing level is at the end."""
    columns = levels.shape[0]
    for j in range(columns):
        column, start, size = levels[j], starts[j], starts[j + 1] - starts[j]
        for i in range(count):
            level = column[begin + i]
            place = start + level if 0 <= level < size else starts[columns]
            places[i * columns + j] = LANES * place


@kernel
def look_up_few(tables, size, places, columns, count, logits):
    """As `look_up` for all components, where so few columns are not worth vectors."""
    for k in range(logits.shape[0]):
        row, own = logits[k], tables[k // LANES * size + k % LANES :]
        for i in range(count):
            for j in range(i * columns, (i + 1) * columns):
                row[i] += own[places[j]]


@kernel
def count_up_few(shares, places, columns, count, size, sums):
    """As `count_up` for all components."""
    for k in range(shares.shape[0]):
        row, own = shares[k], sums[k // LANES * size + k % LANES :]
        for i in range(count):
            for j in range(i * columns, (i + 1) * columns):
                own[places[j]] += row[i]


@kernel
def e_step(  # noqa: C901, PLR0912 (loops)
    x,
    mean,
    scale,
    height,
    pivot,
    features,
    eta,
    levels,
    starts,
    tables,
    constant,
    log_weights,
    weights,
    count,
    sums,
    total,
    counts,
    shares,
):
    """One pass: x (a, n), features (m, n) and levels (c, n) column by column; sums (3, k, a) as `sum_normal`."""
    n, n_components = x.shape[1], constant.size
    numbers, there, whole = np.empty((len(x), BLOCK)), np.empty((len(x), BLOCK)), np.empty(len(x), np.bool_)
    cells, places, rows = (
        np.empty((len(features), BLOCK)),
        np.empty(BLOCK * len(levels), np.int32),
        np.zeros(BLOCK * LANES),
    )
    w, logits, value, entropy, size = (
        np.empty(BLOCK),
        np.empty((n_components, BLOCK)),
        0.0,
        0.0,
        LANES * (starts[-1] + 1),
    )
    for begin in range(0, n, BLOCK):
        b = min(BLOCK, n - begin)
        begin_logits(weights, constant, begin, w[:b], logits)
        for j in range(len(x)):
            whole[j] = write_numbers(x[j], begin, w[:b], numbers[j], there[j])
            for k in range(n_components):
                add_normal(numbers[j, :b], there[j], whole[j], mean[k, j], scale[k, j], height[k, j], logits[k])
        for j in range(len(features)):
            write_feature(features[j], begin, w[:b], cells[j])
            for k in range(n_components):
                add_feature(cells[j, :b], eta[k, j], logits[k])
        place_mixed(levels, begin, starts, b, places)
        if len(levels) < FEW:
            look_up_few(tables, size, places, len(levels), b, logits)
        else:
            for k in range(0, n_components, LANES):
                look_up(tables, k // LANES * size, places, len(levels), b, rows, logits[k:])
        end_logits(weights, log_weights, begin, w[:b], logits)
        more, spread = softmax(logits, w[:b], weights.size == 0)
        value += more
        entropy += spread
        for k in range(n_components):
            row = logits[k, :b]
            for i in range(b):
                count[k] += row[i]
            for j in range(len(x)):
                weight, first, second = sum_normal(numbers[j, :b], there[j], whole[j], pivot[k, j], row)
                sums[0, k, j] += weight
                sums[1, k, j] += first
                sums[2, k, j] += second
            for j in range(len(features)):
                total[k, j] += sum_feature(cells[j, :b], row)
        if len(levels) < FEW:
            count_up_few(logits, places, len(levels), b, size, counts)
        else:
            for k in range(0, n_components, LANES):
                count_up(logits[k:], places, len(levels), b, rows, k // LANES * size, counts)
        if shares.size:
            for k in range(n_components):
                for i in range(b):
                    shares[begin + i, k] = logits[k, i]
    return value, entropy
