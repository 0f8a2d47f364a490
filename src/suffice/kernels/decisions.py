"""Loops for the member of the highest score, for Numba; out (n,) is filled with it, −1 where there is none."""
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from suffice.kernels.jit import kernel, minus

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
    members, d = mean.shape
    offset = start.copy()
    for k in range(members):
        for j in range(d):
            offset[k] += cell[k, j]
    for i in range(x.shape[0]):
        best, who, hole = -np.inf, -1, False
        for k in range(members):
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
def table_best(levels, lengths, tables, start, out):
    """Tables (d · (L + 1) · k,) of logs, k a multiple of 4; the last entry of a column is for cells that have none.

    Returns how many these are: their level is not among the first ``lengths`` (d,). Places are unsigned, so that none
    counts from the end, and what lies below 0 is far above. Rows take turns: one need not wait for its own last sum.
    """
    members, n = start.size, levels.shape[0]
    last = U64(tables.size // lengths.size - members)
    unknown, scores = 0, np.empty((ROWS, members))
    for begin in range(0, n, ROWS):
        rows = min(ROWS, n - begin)
        scores[:rows] = start
        for j in range(lengths.size):
            first, length = U64(j) * (last + U64(members)), U64(lengths[j])
            for r in range(rows):
                level = U64(levels[begin + r, j])
                known = level < length
                unknown += not known
                place, row = first + (level * U64(members) if known else last), scores[r]
                for k in range(members):
                    row[k] += tables[place + U64(k)]
        pick(scores, out[begin : begin + rows])
    return unknown


@kernel
def sparse_best(values, places, ends, slopes, start, out):
    """Scores X · slopes of compressed rows, slopes (width · k,), k a multiple of 4: the members side by side."""
    members, n = start.size, ends.size - 1
    scores = np.empty((ROWS, members))
    for begin in range(0, n, ROWS):
        rows = min(ROWS, n - begin)
        scores[:rows] = start
        for r in range(rows):
            row = scores[r]
            for i in range(ends[begin + r], ends[begin + r + 1]):
                value, place = values[U64(i)], U64(places[U64(i)]) * U64(members)
                for k in range(members):
                    row[k] += value * slopes[place + U64(k)]
        pick(scores, out[begin : begin + rows])


@kernel
def above_best(x, threshold, slopes, offset, start, out):
    """Scores start + Σ slopes · [x > threshold] − offset, slopes and offset (k, d), over the cells that are there."""
    members, d = slopes.shape
    base, flags = start.copy(), np.empty(d)
    for k in range(members):
        for j in range(d):
            base[k] -= offset[k, j]
    for i in range(x.shape[0]):
        holes = 0
        for j in range(d):
            flags[j] = 1.0 if x[i, j] > threshold else 0.0
            holes += np.isnan(x[i, j])
        best, who = -np.inf, -1
        for k in range(members):
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
    members, d = total.shape
    for i in range(x.shape[0]):
        k = codes[i] if codes.size else 0
        if 0 <= k < members:
            v = weights[i, 0] if weights.size else 1.0
            for j in range(d):
                total[k, j] += v if x[i, j] > threshold else 0.0
                seen[k, j] += 0.0 if np.isnan(x[i, j]) else v
