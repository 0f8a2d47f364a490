"""Loops for the member of the highest score, for Numba; out (n,) is filled with it, −1 where there is none."""
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from suffice.kernels.jit import kernel, minus


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
def table_best(levels, tables, start, out):
    """Tables (d, L, k), the members side by side; returns how many cells have no entry (NaN, or outside)."""
    d, n_levels, members = tables.shape
    unknown, scores = 0, np.empty(members)
    for i in range(levels.shape[0]):
        scores[:] = start
        for j in range(d):
            level = levels[i, j]
            if 0 <= level < n_levels and not np.isnan(tables[j, level, 0]):
                for k in range(members):
                    scores[k] += tables[j, level, k]
            else:
                unknown += 1
        best, who = -np.inf, -1
        for k in range(members):
            if scores[k] > best:
                best, who = scores[k], k
        out[i] = who
    return unknown


@kernel
def sparse_best(values, places, ends, slopes, start, out):
    """Scores X · slopes of compressed rows, slopes (width, k): the members side by side."""
    members = slopes.shape[1]
    scores = np.empty(members)
    for i in range(ends.size - 1):
        scores[:] = start
        for cell in range(ends[i], ends[i + 1]):
            value, place = values[cell], places[cell]
            for k in range(members):
                scores[k] += value * slopes[place, k]
        best, who = -np.inf, -1
        for k in range(members):
            if scores[k] > best:
                best, who = scores[k], k
        out[i] = who


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
