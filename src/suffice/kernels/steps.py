"""Loops of the M-step of Gaussian components that are known by sums of products, for Numba."""
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from suffice.kernels.jit import kernel


@kernel
def factorise(a, lower):
    """The lower triangle L with L Lᵀ = a; whether there is one."""
    d = a.shape[0]
    for i in range(d):
        for j in range(i + 1):
            left = a[i, j]
            for h in range(j):
                left -= lower[i, h] * lower[j, h]
            if i == j:
                if not left > 0.0:
                    return False
                lower[i, i] = np.sqrt(left)
            else:
                lower[i, j] = left / lower[j, j]
    return True


@kernel
def invert(lower, inverse):
    """The inverse of a lower triangle."""
    d = lower.shape[0]
    for j in range(d):
        inverse[j, j] = 1.0 / lower[j, j]
        for i in range(j + 1, d):
            left = 0.0
            for h in range(j, i):
                left -= lower[i, h] * inverse[h, j]
            inverse[i, j] = left / lower[i, i]


@kernel
def unpack(sums, ridge, mean, cov, lost):
    """Mean and covariance of one component; whether no more digits are lost than may be."""
    d, weight, kept = mean.size, sums[0], True
    for i in range(d):
        row = (i + 1) * (i + 2) // 2
        mean[i] = sums[row] / weight
        for j in range(i + 1):
            cov[i, j] = sums[row + j + 1] / weight - mean[i] * mean[j]
            cov[j, i] = cov[i, j]
        kept = kept and sums[row + i + 1] / weight <= lost * cov[i, i]
        cov[i, i] += ridge[i]
    return kept


@kernel
def coefficients_of(sums, constant, mean, lower, inverse, out):
    """Write the coefficients of one component, given the root of its covariance; returns how much terms cancel."""
    d, growth = mean.size, 0.0
    invert(lower, inverse)
    for i in range(d):
        constant -= np.log(lower[i, i])
    for i in range(d):
        row, slope = (i + 1) * (i + 2) // 2, 0.0
        wide = np.sqrt(sums[row + i + 1] / sums[0])
        for j in range(d):
            cell = 0.0
            for h in range(max(i, j), d):
                cell += inverse[h, i] * inverse[h, j]
            slope += cell * mean[j]
            if j < i:
                out[row + j + 1] = -cell
            elif j == i:
                out[row + i + 1] = -0.5 * cell
            growth += wide * abs(cell) * np.sqrt(sums[(j + 1) * (j + 2) // 2 + j + 1] / sums[0])
        out[row] = slope
        constant -= 0.5 * slope * mean[i]
    out[0] = constant
    return growth


@kernel
def gaussian_components(sums, floor, ridge, constant, lost, sure, seen, mean, cov, out):
    """Fill mean (k, d), cov (k, d, d) and coefficients (k, m); whether that is all there is to say."""
    k, d = mean.shape
    lower, inverse, above = np.zeros((d, d)), np.zeros((d, d)), np.empty((d, d))
    total = 0.0
    for c in range(k):
        total += sums[c, 0]
    for c in range(k):
        if not sums[c, 0] > seen * total or not unpack(sums[c], ridge, mean[c], cov[c], lost):
            return False
        for i in range(d):
            for j in range(d):
                above[i, j] = cov[c, i, j] - floor[i, j]
        if not factorise(above, lower) or not factorise(cov[c], lower):
            return False
        for i in range(d):
            if not lower[i, i] * lower[i, i] > sure * cov[c, i, i]:
                return False
        own = constant + np.log(sums[c, 0] / total)
        if not coefficients_of(sums[c], own, mean[c], lower, inverse, out[c]) <= lost:
            return False
    return True
