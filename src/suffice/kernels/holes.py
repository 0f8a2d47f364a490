"""Loops over rows of which cells are missing, under Gaussian components, for Numba.

Rows come by pattern, which cells they have, and column by column: the cells (d, n) of a pattern's rows lie side by
side. A pattern has its factors computed once. Its rows are scored some at a time, and their weights, means and scatter
about the mean kept over the seen columns alone; what follows of the others is added when the pattern is done. Of
scatter only what lies on and below the diagonal is kept.
"""
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from suffice.kernels.jit import kernel, minus, softmax, wide

BLOCK = 256  # rows
HALF_LOG_TAU = 0.9189385332046727  # ½ log 2π


# -- factors of a pattern ----------------------------------------------------------------------------------------------


@kernel
def cholesky(units, spread, columns, size, lower):
    """Write the factor of correlations, the columns in this order; gives −Σ log of the first and Σ log of the others.

    That is of standard deviations, each given what is before it. NaN tells of a matrix that is not positive definite.
    """
    log_det = entropy = 0.0
    for i in range(columns.size):
        own, row = units[columns[i]], lower[i]
        for j in range(i + 1):
            above, total = lower[j], own[columns[j]]
            for t in range(j):
                total -= row[t] * above[t]
            row[j] = total / above[j] if j < i else np.sqrt(total) if total > 0 else np.nan
        logs = np.log(row[i] * spread[columns[i]])
        log_det -= logs if i < size else 0.0
        entropy += 0.0 if i < size else logs
    return log_det, entropy


@kernel
def regress(lower, size, whiten, slope):
    """Write the inverse of the first ``size`` rows of a factor, and the others times it."""
    for i in range(lower.shape[0]):
        row, out = lower[i], whiten[i] if i < size else slope[i - size]
        out[:size] = 0.0
        for t in range(min(i, size)):
            factor, known = row[t], whiten[t]
            for j in range(t + 1):
                out[j] += factor * known[j]
        if i < size:
            out[:i] /= -row[i]
            out[i] = 1.0 / row[i]


@kernel
def square(lower, size, rest):
    """Write the covariance of what is not among the first ``size``, given these."""
    for i in range(size, lower.shape[0]):
        row, out = lower[i], rest[i - size]
        for j in range(size, i + 1):
            total, other = 0.0, lower[j]
            for t in range(size, j + 1):
                total += row[t] * other[t]
            out[j - size] = total


@kernel
def factorise(units, spread, columns, size, lower, whiten, slope, rest):
    """Write whiten (o, o), slope (m, o) and rest (m, m) of a pattern; gives log |whiten|, and of the rest its Σ log.

    ``units`` are the correlations and ``spread`` the standard deviations of a component.
    """
    logs = cholesky(units, spread, columns, size, lower)
    regress(lower, size, whiten, slope)
    square(lower, size, rest)
    for i in range(columns.size):
        out, own = (whiten[i], 1.0) if i < size else (slope[i - size], spread[columns[i]])
        for j in range(min(i + 1, size)):
            out[j] *= own / spread[columns[j]]
        for j in range(size, i + 1):
            rest[i - size, j - size] *= own * spread[columns[j]]
    return logs


# -- rows of a pattern -------------------------------------------------------------------------------------------------


@kernel
def write_away(x, begin, count, columns, size, mean, y):
    """Write how far the seen cells of rows are from a mean."""
    for c in range(size):
        cells, out, middle = x[columns[c]], y[c], mean[columns[c]]
        for i in range(count):
            out[i] = minus(cells[begin + i], middle)


@kernel
def write_some(x, begin, chosen, count, columns, size, mean, y):
    """The same of the chosen rows alone."""
    for c in range(size):
        cells, out, middle = x[columns[c]], y[c], mean[columns[c]]
        for i in range(count):
            out[i] = minus(cells[begin + chosen[i]], middle)


@kernel
def score(y, count, size, whiten, constant, z, out):
    """Write constant − ½ ‖W y‖² of each row."""
    wide()
    out[:count] = constant
    for r in range(size):
        row, fours = whiten[r], (r + 1) // 4 * 4
        z[:count] = 0.0
        for c in range(0, fours, 4):
            w0, w1, w2, w3 = row[c], row[c + 1], row[c + 2], row[c + 3]
            y0, y1, y2, y3 = y[c], y[c + 1], y[c + 2], y[c + 3]
            for i in range(count):
                z[i] += w0 * y0[i] + w1 * y1[i] + w2 * y2[i] + w3 * y3[i]
        for c in range(fours, r + 1):
            w0, y0 = row[c], y[c]
            for i in range(count):
                z[i] += w0 * y0[i]
        for i in range(count):
            out[i] -= 0.5 * z[i] * z[i]


@kernel
def share(x, begin, count, columns, size, mean, whiten, log_det, log_weights, weights, y, z, w, logits):
    """Write the shares of the components in rows, times the rows' weights; gives log-likelihood and entropy."""
    for j in range(mean.shape[0]):
        m, out = min(j, whiten.shape[0] - 1), logits[j]
        write_away(x, begin, count, columns, size, mean[j], y)
        score(y, count, size, whiten[m], log_det[m] - HALF_LOG_TAU * size, z, out)
        for i in range(count):
            out[i] += log_weights[begin + i if log_weights.shape[0] > 1 else 0, j]
    if weights.size:
        for i in range(count):
            w[i] = weights[begin + i]
            if w[i] == 0.0:  # whatever it holds
                logits[:, i] = 0.0
    return softmax(logits, w[:count], 0)


@kernel
def choose(begin, count, given, codes, j, chosen, shares):
    """Write which rows have a weight for component j, and it.

    Gives how many. ``given`` is (n, k), or (n, 1) for all.
    """
    some = 0
    for i in range(count):
        own = given[begin + i, j if given.shape[1] > 1 else 0]
        if own != 0.0 and (codes.size == 0 or codes[begin + i] == j):
            chosen[some], shares[some] = i, own
            some += 1
    return some


@kernel
def centre(y, shares, count, size, total, heaviest, mean, apart):
    """Take their mean from rows, and write how far it is from another.

    Differences from one of the rows, the heaviest, are exact where the spread is small beside how far they are.
    """
    for c in range(size):
        cells, pivot, first = y[c], y[c, heaviest], 0.0
        for i in range(count):
            first += shares[i] * minus(cells[i], pivot)
        first = pivot + first / total
        for i in range(count):
            cells[i] = minus(cells[i], first)
        apart[c] = first - mean[c]


@kernel
def add_products(y, z, count, c, out):
    """Add Σ z yₑ for all e up to c."""
    wide()
    fours = (c + 1) // 4 * 4
    for e in range(0, fours, 4):
        y0, y1, y2, y3 = y[e], y[e + 1], y[e + 2], y[e + 3]
        s0 = s1 = s2 = s3 = 0.0
        for i in range(count):
            s0 += z[i] * y0[i]
            s1 += z[i] * y1[i]
            s2 += z[i] * y2[i]
            s3 += z[i] * y3[i]
        out[e] += s0
        out[e + 1] += s1
        out[e + 2] += s2
        out[e + 3] += s3
    for e in range(fours, c + 1):
        y0, s0 = y[e], 0.0
        for i in range(count):
            s0 += z[i] * y0[i]
        out[e] += s0


@kernel
def add_rows(y, shares, count, size, weight, mean, scatter, z, apart):
    """Add rows to the weight, mean (o,) and scatter (o, o) of a pattern and component.

    Gives the weight. It changes y.
    """
    total, heaviest = 0.0, 0
    for i in range(count):
        total += shares[i]
        heaviest = i if shares[i] > shares[heaviest] else heaviest
    if not total > 0:
        return weight
    part = total / (weight + total)
    centre(y, shares, count, size, total, heaviest, mean, apart)
    for c in range(size):
        own, cells = scatter[c], y[c]
        for i in range(count):
            z[i] = shares[i] * cells[i]
        add_products(y, z, count, c, own)
        for e in range(c + 1):
            own[e] += weight * part * apart[c] * apart[e]
    for c in range(size):
        mean[c] += part * apart[c]
    return weight + total


# -- what a pattern adds -----------------------------------------------------------------------------------------------


@kernel
def complete(size, slope, rest, weight, mean, scatter, across):
    """Write what is expected of the columns that were not seen after the others: mean (d,), scatter (d, d)."""
    for i in range(size):
        for j in range(i):
            scatter[j, i] = scatter[i, j]
    for i in range(mean.size - size):
        row, out = slope[i], across[i]
        mean[size + i] = 0.0
        out[:size] = 0.0
        for c in range(size):
            factor, own = row[c], scatter[c]
            mean[size + i] += factor * mean[c]
            for e in range(size):
                out[e] += factor * own[e]
    for i in range(mean.size - size):
        own, out = scatter[size + i], across[i]
        own[:size] = out[:size]
        for j in range(i + 1):
            other, total = slope[j], weight * rest[i, j]
            for c in range(size):
                total += out[c] * other[c]
            own[size + j] = total


@kernel
def merge(columns, weight, mean, scatter, total, shift, squares):
    """Add a pattern to what a component has: weight, shift (d,), squares (d, d).

    Gives the weight. It changes the mean.
    """
    d, part = columns.size, weight / (total + weight)
    for i in range(d):
        mean[i] = minus(mean[i], shift[columns[i]])
    for i in range(d):
        a, own, factor = columns[i], scatter[i], total * part * mean[i]
        for j in range(i + 1):
            b = columns[j]
            squares[max(a, b), min(a, b)] += own[j] + factor * mean[j]
    for i in range(d):
        shift[columns[i]] += part * mean[i]
    return total + weight


# -- passes ------------------------------------------------------------------------------------------------------------


@kernel
def log_prob(x, starts, columns, sizes, mean, units, spread, out):
    """Write the log densities (n, k) of rows with holes; gives whether all covariances are positive definite."""
    d, own = x.shape[0], units.shape[0]
    whiten, slope, rest, lower = np.zeros((d, d)), np.zeros((d, d)), np.zeros((d, d)), np.zeros((d, d))
    y, z, found = np.zeros((d, BLOCK)), np.zeros(BLOCK), np.zeros(BLOCK)
    sound, constant = True, 0.0
    for p in range(sizes.size):
        size = sizes[p]
        for j in range(mean.shape[0]):
            if j < own:
                log_det, _ = factorise(units[j], spread[j], columns[p], size, lower, whiten, slope, rest)
                constant = log_det - HALF_LOG_TAU * size
                sound = sound and not np.isnan(log_det)
            for begin in range(starts[p], starts[p + 1], BLOCK):
                count = min(BLOCK, starts[p + 1] - begin)
                write_away(x, begin, count, columns[p], size, mean[j], y)
                score(y, count, size, whiten, constant, z, found)
                out[begin : begin + count, j] = found[:count]
    return sound


@kernel
def e_step(x, starts, columns, sizes, mean, units, spread, log_weights, weights, given, codes, sums, by_pattern):
    """One pass of EM, or the statistics under weights that are ``given``; log-likelihood, entropy and soundness.

    Adds to sums: weight (k,), shift (k, d), squares (k, d, d), and entropy (k,) of the cells that were not seen.
    """
    weight, shift, squares, hidden = sums
    d, k, own = x.shape[0], mean.shape[0], units.shape[0]
    whiten, slope, rest = np.zeros((own, d, d)), np.zeros((own, d, d)), np.zeros((own, d, d))
    lower, across, apart = np.zeros((d, d)), np.zeros((d, d)), np.zeros(d)
    log_det, entropies = np.zeros(own), np.zeros(own)
    means, scatter = np.zeros((k, d)), np.zeros((k, d, d))
    y, z, logits = np.zeros((d, BLOCK)), np.zeros(BLOCK), np.zeros((k, BLOCK))
    w, chosen = np.ones(BLOCK), np.zeros(BLOCK, np.int64)
    log_likelihood, entropy, sound = 0.0, 0.0, True
    for p in range(sizes.size):
        seen, size, held = columns[p], sizes[p], by_pattern[p]
        for j in range(own):
            log_det[j], entropies[j] = factorise(units[j], spread[j], seen, size, lower, whiten[j], slope[j], rest[j])
            sound = sound and not np.isnan(log_det[j] + entropies[j])
        means[:] = 0.0
        scatter[:, :size, :size] = 0.0
        for begin in range(starts[p], starts[p + 1], BLOCK):
            count = min(BLOCK, starts[p + 1] - begin)
            if not given.size:
                value, spread_out = share(
                    x, begin, count, seen, size, mean, whiten, log_det, log_weights, weights, y, z, w, logits
                )
                log_likelihood += value
                entropy += spread_out
            for j in range(k):
                some = count
                if given.size:
                    some = choose(begin, count, given, codes, j, chosen, logits[j])
                    write_some(x, begin, chosen, some, seen, size, mean[j], y)
                else:
                    write_away(x, begin, count, seen, size, mean[j], y)
                held[j] = add_rows(y, logits[j], some, size, held[j], means[j], scatter[j], z, apart)
        for j in range(k):
            m = min(j, own - 1)
            if held[j] > 0:
                complete(size, slope[m], rest[m], held[j], means[j], scatter[j], across)
                weight[j] = merge(seen, held[j], means[j], scatter[j], weight[j], shift[j], squares[j])
                hidden[j] += held[j] * (entropies[m] + (d - size) * (HALF_LOG_TAU + 0.5))
    return log_likelihood, entropy, sound
