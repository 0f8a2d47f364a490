"""One EM pass over columns of different kinds, in NumPy: the log-density of a component is a sum over cells.

A cell is a number under a normal, a feature that components have slopes for, or a level that components have a table
for. Any may be missing: a NaN, or a level that is none, adds nothing to the score, and nothing to its column's sums.
"""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple, TypeAlias

import numpy as np

from suffice.kernels.numpy.linear import each_block, seen, shares_of
from suffice.kernels.numpy.primitives import LOG_2PI, Array, Integers, Moments, Real, merge, moments


class Cells(NamedTuple):
    """Rows, and what components make of them.

    ``x`` (n, a) are numbers under normals of ``mean`` and ``std`` (k, a). ``features`` (n, m) are complete and have the
    slopes ``eta`` (k, m). ``levels`` (n, c) are looked up in ``tables`` (k, …) of logs, those of column j from
    ``starts[j]`` to ``starts[j + 1]``. ``offset`` (k,) is subtracted from every score.
    """

    x: Real
    mean: Array
    std: Array
    features: Real
    eta: Array
    levels: Integers
    starts: Integers
    tables: Array
    offset: Array

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.x.size + self.features.size + self.levels.size


class CellSums(NamedTuple):
    """What a pass gathers: Σ w r of each component (k,), and its sums over the cells of each kind.

    ``moments`` are weight, centre, shift and scatter (k, a), ``total`` is Σ w r f (k, m), ``counts`` lie as the tables.
    """

    log_likelihood: float
    entropy: float
    weight: Array
    moments: Moments
    total: Array
    counts: Array


def columns_e_step(
    cells: Cells, log_weights: Array, weights: Array | None = None, shares: Array | None = None
) -> CellSums:
    """Log-likelihood, entropy, weight and sums of one pass.

    W r of every row and component is written into ``shares``.
    """
    x, mean, std, features, eta, levels, starts, tables, offset = cells
    log_peak = -(0.5 * LOG_2PI + np.log(std))
    entries = np.concatenate([tables, np.zeros((len(mean), 1))], axis=1)  # −1, the last, is none

    def gather(rows: slice, log_w: Array, w: Array | None) -> CellSums:
        numbers, block, places = seen(x[rows], w), seen(features[rows], w), _places(levels[rows], starts)
        logits = block @ eta.T - offset + log_w
        for component in range(len(mean)):
            z = (numbers - mean[component]) / std[component]
            logits[:, component] += np.where(np.isnan(numbers), 0.0, log_peak[component] - 0.5 * z * z).sum(axis=1)
        for place in places.T:
            logits += entries[:, place].T
        value, entropy, r = shares_of(logits, w)
        if shares is not None:
            shares[rows] = r
        counts = np.zeros_like(tables)
        for place in places.T:
            there = place >= 0
            for component, own in enumerate(r.T):
                counts[component] += np.bincount(place[there], own[there], tables.shape[1])
        return CellSums(value, entropy, r.sum(axis=0), moments(numbers, r), r.T @ block, counts)

    width = x.shape[1] + features.shape[1] + levels.shape[1]
    parts = each_block(gather, (len(x), width), len(mean), log_weights, weights)
    with np.errstate(invalid="ignore", over="ignore"):
        together = reduce(merge, (part.moments for part in parts))
    value, entropy, weight, _, total, counts = (np.sum(each, axis=0) for each in zip(*parts, strict=True))
    return CellSums(float(value), float(entropy), weight, together, total, counts)


ColumnRun: TypeAlias = tuple[tuple[Array, ...], Array, int, bool]  # parameters, trace, passes, whether it is flat


def columns_run(
    cells: tuple[Array, ...],
    weights: Array | None,
    start: tuple[Array, ...],
    rule: tuple[int, float, float, bool],
) -> ColumnRun | None:
    """EM from shares (k,), mean and std (k, a), and probabilities (k, L); None where sums do not tell the components.

    The ``cells`` are numbers (a, n), their centre and floor (a,), levels (c, n), and where the probabilities of each
    column begin; the ``rule`` is as in `quadratic_runs`. The definition is the loop of EM over the mixture itself,
    which makes the runs that are None here: all of them without the library.
    """
    del cells, weights, start, rule
    return None


def _places(levels: Integers, starts: Integers) -> Integers:
    """Where each cell's entry is in the tables (n, c); −1 where it has none."""
    there = (levels >= 0) & (levels < np.diff(starts))
    return np.where(there, levels + starts[:-1], -1).astype(np.int64)
