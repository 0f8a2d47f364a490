"""Loops for sums, counts and extremes, for Numba; arguments as in `loops`."""
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from suffice.kernels.jit import kernel

U64 = np.uint64
HASH_STEP, FACTOR, SECOND_FACTOR = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)
FEW_LEVELS = 16  # that words of eight counters hold; more would have to be read more often
NAN_BITS = np.uint64(0x7FF8000000000000)


@kernel
def sums(x, weights, codes, total):
    """Σ w x (k, m) of rows with at most one weight each."""
    n_components, m = total.shape
    rows = max(1024, 16 * n_components)
    part = np.empty((n_components, m))
    for begin in range(0, x.shape[0], rows):
        part[:] = 0.0
        for i in range(begin, min(begin + rows, x.shape[0])):
            k = codes[i] if codes.size else 0
            if 0 <= k < n_components:
                v = weights[i, 0] if weights.size else 1.0
                for j in range(m):
                    part[k, j] += v * x[i, j]
        total += part


@kernel
def sparse_sums(values, places, ends, weights, codes, total):
    """Σ w x (k, width) of compressed rows with at most one weight each; returns the least x, or 0."""
    n_components, width, least = total.shape[0], U64(total.shape[1]), 0.0
    flat = total.reshape(total.size)
    for i in range(ends.size - 1):
        k = codes[i] if codes.size else 0
        if 0 <= k < n_components:
            v, row = weights[i, 0] if weights.size else 1.0, U64(k) * width
            for cell in range(U64(ends[i]), U64(ends[i + 1])):
                flat[row + U64(places[cell])] += v * values[cell]
                least = min(least, values[cell])
    return least


@kernel
def sparse_scores(values, places, ends, slopes, out):
    """X · slopes (n, k) of compressed rows, slopes (width, k): the components side by side."""
    n_components = slopes.shape[1]
    for i in range(ends.size - 1):
        for k in range(n_components):
            out[i, k] = 0.0
        for cell in range(ends[i], ends[i + 1]):
            value, place = values[cell], places[cell]
            for k in range(n_components):
                out[i, k] += value * slopes[place, k]


@kernel
def counts(levels, weights, codes, total):
    """Weight (d, n_levels, k) of every level, the components side by side."""
    d, n_levels, n_components = total.shape
    for i in range(levels.shape[0]):
        k = codes[i] if codes.size else 0
        if 0 <= k < n_components:
            for j in range(d):
                level = levels[i, j]
                if 0 <= level < n_levels:
                    if weights.size and codes.size == 0:
                        for h in range(n_components):
                            total[j, level, h] += weights[i, h]
                    else:
                        total[j, level, k] += weights[i, 0] if weights.size else 1.0


@kernel
def whole_counts(levels, codes, total):
    """The same of rows without weights: how often, (d, n_levels, k) whole numbers."""
    d, n_levels, n_components = total.shape
    if n_levels <= FEW_LEVELS:
        packed_counts(levels, codes, total)
        return
    for i in range(levels.shape[0]):
        k = codes[i]
        if 0 <= k < n_components:
            for j in range(d):
                level = levels[i, j]
                if 0 <= level < n_levels:
                    total[j, level, k] += 1


@kernel
def pack(levels, codes, packed):
    """Add rows to counters of eight bits each, (k, words, d): level 8 w + i of a column is byte i of its word w."""
    n_components, words, d = packed.shape
    for i in range(levels.shape[0]):
        k, row = codes[i], levels[i]
        if 0 <= k < n_components:
            for word in range(words):
                own, first = packed[k, word], np.int64(8 * word)
                for j in range(d):
                    step = U64(np.int64(row[j]) - first)  # what lies below wraps around to far above
                    one = U64(1) << ((step & U64(7)) << U64(3))
                    own[j] += one if step < U64(8) else U64(0)


@kernel
def packed_counts(levels, codes, total):
    """`whole_counts` of few levels: eight counters in a word, one word for each column, so that rows add as vectors.

    A counter holds 255, so the words are emptied after as many rows.
    """
    d, n_levels, n_components = total.shape
    words = -(-n_levels // 8)
    packed, counted = np.zeros((n_components, words, d), U64), np.zeros((n_components, 8 * words, d), U64)
    for begin in range(0, levels.shape[0], 255):
        pack(levels[begin : begin + 255], codes[begin : begin + 255], packed)
        for k in range(n_components):
            for level in range(8 * words):
                own, there, shift = packed[k, level // 8], counted[k, level], U64(8 * (level % 8))
                for j in range(d):
                    there[j] += (own[j] >> shift) & U64(255)
        packed[:] = U64(0)
    for k in range(n_components):
        for level in range(n_levels):
            for j in range(d):
                total[j, level, k] += np.int64(counted[k, level, j])


@kernel
def count_range(x, low, total):
    """How often low + i occurs in x (n,), in four tables (4, ·) by turns: equal neighbours need not wait."""
    size, whole = np.uint64(total.shape[1]), x.size - x.size % 4
    for begin in range(0, whole, 4):
        for turn in range(4):
            step = np.uint64(x[begin + turn] - low)  # what lies below wraps around to far above
            if step < size:
                total[turn, step] += 1
    for i in range(whole, x.size):
        step = np.uint64(x[i] - low)
        if step < size:
            total[0, step] += 1


@kernel
def integer_range(x):
    """Smallest and largest of x (n,), n > 0."""
    low = high = x[0]
    for i in range(x.size):
        low, high = min(low, x[i]), max(high, x[i])
    return low, high


@kernel
def extremes(x, weights, codes, weight, low, high):
    """Weight, smallest and largest (k, d) of the seen cells that have weight, one weight per row."""
    n_components, d = low.shape
    for i in range(x.shape[0]):
        k = codes[i] if codes.size else 0
        v = weights[i, 0] if weights.size else 1.0
        if 0 <= k < n_components and v > 0:
            for j in range(d):
                cell = float(x[i, j])
                weight[k, j] += v if not np.isnan(cell) else 0.0
                low[k, j] = min(low[k, j], cell)  # the first unless the second is less: NaN never is
                high[k, j] = max(high[k, j], cell)


@kernel
def extremes_unweighted(x, weight, low, high):
    """The same without weights, four rows at a time; False, and nothing done, where a cell may be NaN."""
    n, columns = x.shape
    least, most, total = low[0].copy(), high[0].copy(), np.zeros(columns)
    whole = n - n % 4
    for i in range(0, whole, 4):
        for j in range(columns):
            a, b, c, d = float(x[i, j]), float(x[i + 1, j]), float(x[i + 2, j]), float(x[i + 3, j])
            least[j] = min(least[j], min(min(a, b), min(c, d)))  # noqa: PLW3301 (as a tree)
            most[j] = max(most[j], max(max(a, b), max(c, d)))  # noqa: PLW3301
            total[j] += (a + b) + (c + d)
    for i in range(whole, n):
        for j in range(columns):
            least[j], most[j] = min(least[j], float(x[i, j])), max(most[j], float(x[i, j]))
            total[j] += x[i, j]
    for j in range(columns):
        if not np.isfinite(total[j]):
            return False
    for j in range(columns):
        weight[0, j] += n
        low[0, j], high[0, j] = least[j], most[j]
    return True


@kernel
def mix(z):
    """The finalizer of splitmix64."""
    z = (z ^ (z >> np.uint64(30))) * FACTOR
    z = (z ^ (z >> np.uint64(27))) * SECOND_FACTOR
    return z ^ (z >> np.uint64(31))


@kernel
def row_hash(x, seed, out):
    """A hash of the values of each row, the sum of those of its cells, into out (n,)."""
    start = mix(seed)
    keys = np.empty(x.shape[1], np.uint64)
    for j in range(x.shape[1]):
        keys[j] = mix((np.uint64(j + 1) * HASH_STEP) ^ start)
    for i in range(x.shape[0]):
        hashed = start
        for j in range(x.shape[1]):
            cell = np.float64(x[i, j])
            bits = np.uint64(0) if cell == 0 else cell.view(np.uint64)  # both zeros
            hashed += mix(keys[j] ^ (NAN_BITS if np.isnan(cell) else bits))
        out[i] = hashed
