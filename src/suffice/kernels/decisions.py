"""Loops for the component of the highest score, for Numba; out (n,) is filled with it, −1 where there is none."""
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from suffice.kernels.jit import kernel, minus
from suffice.kernels.lanes import LANES, add, fill, load, store

U64 = np.uint64
ROWS = 16


@kernel
def incomplete_best(row, mean, scale, cell, start):
    """The same of one row with holes."""
    best, who = -np.inf, -1
    for k in range(mean.shape[0]):
        score = start[k]
        for j in range(row.size):
            if not np.isnan(row[j]):
                z = minus(row[j], mean[k, j]) * scale[k, j]
                score += cell[k, j] - 0.5 * z * z
        if score > best:
            best, who = score, k
    return who


@kernel
def normal_best(x, mean, scale, cell, start, out):
    """Log densities of products of normals: start (k,) + Σ cell − ½ ((x − mean) · scale)², all (k, d)."""
    n_components, d = mean.shape
    offset = start.copy()
    for k in range(n_components):
        for j in range(d):
            offset[k] += cell[k, j]
    for i in range(x.shape[0]):
        best, who, hole = -np.inf, -1, False
        for k in range(n_components):
            total = 0.0
            for j in range(d):
                z = minus(x[i, j], mean[k, j]) * scale[k, j]
                total += z * z
            score = offset[k] - 0.5 * total
            if score > best:
                best, who = score, k
            hole |= np.isnan(score)
        out[i] = incomplete_best(x[i], mean, scale, cell, start) if hole else who


@kernel
def pick(scores, out):
    """The first of the highest scores (rows, k) of each row, into out."""
    for r in range(out.size):
        best, who = -np.inf, -1
        for k in range(scores.shape[1]):
            if scores[r, k] > best:
                best, who = scores[r, k], k
        out[r] = who


@kernel
def table_best(levels, lengths, side, pairs, rest, start, out):  # noqa: C901 (loops)
    """Scores from tables of logs, a multiple of `LANES` components side by side; returns how many cells have no level.

    Two columns are looked up at once: ``pairs`` (p · side² · k,) has the sums of the first 2p, and ``rest`` the others,
    (side · k,) each. A level outside 0 … side − 2 has the last place; ``lengths`` (d,) say which have none. Places are
    unsigned, so that none counts from the end, and what lies below 0 is far above.
    """
    n_components, d, step, wide = start.size, lengths.size, U64(side), U64(start.size)
    twos, last = pairs.size // (side * side * n_components), U64(side - 1)
    count = d - twos
    unknown, places, scores, nothing = 0, np.empty(count, np.int64), np.empty(n_components), fill(0.0)
    real = n_components
    while real > 0 and start[real - 1] == -np.inf:  # those that fill up
        real -= 1
    for i in range(levels.shape[0]):
        for p in range(twos):
            a, b = U64(levels[i, 2 * p]), U64(levels[i, 2 * p + 1])
            unknown += int(a >= U64(lengths[2 * p])) + int(b >= U64(lengths[2 * p + 1]))
            places[p] = ((U64(p) * step + min(a, last)) * step + min(b, last)) * wide
        for p in range(twos, count):
            a = U64(levels[i, p + twos])
            unknown += int(a >= U64(lengths[p + twos]))
            places[p] = (U64(p - twos) * step + min(a, last)) * wide
        for k in range(0, n_components, LANES):
            total, other = load(start, k), nothing  # by turns: one need not wait for the other
            for p in range(0, twos - 1, 2):
                total = add(total, load(pairs, places[p] + k))
                other = add(other, load(pairs, places[p + 1] + k))
            if twos % 2:
                total = add(total, load(pairs, places[twos - 1] + k))
            for p in range(twos, count - 1, 2):
                total = add(total, load(rest, places[p] + k))
                other = add(other, load(rest, places[p + 1] + k))
            if (count - twos) % 2:
                total = add(total, load(rest, places[count - 1] + k))
            store(scores, k, add(total, other))
        best, who = -np.inf, -1
        for k in range(real):
            better = scores[k] > best  # chosen without a branch, which nobody could foresee
            who = k if better else who
            best = scores[k] if better else best
        out[i] = who
    return unknown


@kernel
def sparse_best(values, places, ends, slopes, start, out):
    """Scores X · slopes of compressed rows, slopes (width · k,), k a multiple of 4: the components side by side."""
    n_components, n = start.size, ends.size - 1
    scores = np.empty((ROWS, n_components))
    for begin in range(0, n, ROWS):
        rows = min(ROWS, n - begin)
        scores[:rows] = start
        for r in range(rows):
            row = scores[r]
            for i in range(ends[begin + r], ends[begin + r + 1]):
                value, place = values[U64(i)], U64(places[U64(i)]) * U64(n_components)
                for k in range(n_components):
                    row[k] += value * slopes[place + U64(k)]
        pick(scores, out[begin : begin + rows])


@kernel
def above_best(x, threshold, slopes, offset, start, out):
    """Scores start + Σ slopes · [x > threshold] − offset, slopes and offset (k, d), over the cells that are there."""
    n_components, d = slopes.shape
    base, flags = start.copy(), np.empty(d)
    for k in range(n_components):
        for j in range(d):
            base[k] -= offset[k, j]
    for i in range(x.shape[0]):
        holes = 0
        for j in range(d):
            flags[j] = 1.0 if x[i, j] > threshold else 0.0
            holes += np.isnan(x[i, j])
        best, who = -np.inf, -1
        for k in range(n_components):
            score = 0.0
            for j in range(d):
                score += flags[j] * slopes[k, j]
            score += base[k]
            if holes:
                for j in range(d):
                    score += offset[k, j] if np.isnan(x[i, j]) else 0.0
            if score > best:
                best, who = score, k
        out[i] = who


@kernel
def above_sums(x, threshold, weights, codes, total, seen):
    """Σ w of the cells above the threshold, and of those that are there, both (k, d), one weight per row."""
    n_components, d = total.shape
    for i in range(x.shape[0]):
        k = codes[i] if codes.size else 0
        if 0 <= k < n_components:
            v = weights[i, 0] if weights.size else 1.0
            for j in range(d):
                total[k, j] += v if x[i, j] > threshold else 0.0
                seen[k, j] += 0.0 if np.isnan(x[i, j]) else v
