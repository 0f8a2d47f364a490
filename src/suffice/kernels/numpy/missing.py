"""Gaussian components over rows of which cells are missing, in NumPy: these functions define what their twins compute.

Rows (n, d) come by pattern, that is by which cells they have: those of pattern p are starts[p] … starts[p + 1], it has
sizes[p] seen cells, and columns[p] names them first and the others after them. Given its seen cells x_o, the others of
a row are Normal about μ_m + B(x_o − μ_o) with the covariance C. One Cholesky factor of Σ with the seen columns first
holds B, C and the density of what was seen; C comes from a factor, not as a difference, and so is never less than
nothing. What is expected of a component is the scatter of its rows, completed so, and C once for every one of them.

Means are (k, d), covariances (k, d, d), or (1, d, d) where components share one. No cell is infinite.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from suffice.kernels.numpy import primitives as numpy_primitives
from suffice.kernels.numpy.gaussian import softmax
from suffice.kernels.numpy.primitives import LOG_2PI, Array, Integers, Real

TOGETHER = 1 << 18  # numbers of a stack of matrices: 2 MB
MANY = 64  # rows of a pattern that are worth a call of their own

# Weight (k,), shift (k, d) of the mean from the component's own, scatter (k, d, d), entropy (k,) of the cells that were
# not seen, and the weight (g, k) of each pattern.
HoledMoments: TypeAlias = tuple[Array, Array, Array, Array, Array]
HoledExpected: TypeAlias = tuple[float, float, Array, Array, Array, Array, Array]


class Told:
    """What the seen cells of patterns tell under covariances, (g, k or 1, …).

    Matrices (d, d) are over all columns, 0 where there is nothing.
    """

    def __init__(self, cov: Array, columns: Integers, sizes: Integers) -> None:
        """Factorise the correlations, with the seen columns of each pattern first."""
        spread = np.sqrt(np.einsum("kii->ki", cov))
        units = cov / (spread[:, :, None] * spread[:, None, :])
        self.lower = np.linalg.cholesky(units[:, columns[:, :, None], columns[:, None, :]].swapaxes(0, 1))
        self.unit = spread[:, columns].swapaxes(0, 1)  # (g, k, d)
        self.seen = (np.arange(cov.shape[-1]) < sizes[:, None])[:, None]  # (g, 1, d)
        self.inverse = np.where(self.seen[..., None, :], inverse_of_lower(self.lower), 0.0)
        self.logs = np.log(self.unit) + np.log(np.einsum("gkii->gki", self.lower))
        self.back = np.argsort(columns, axis=1)[:, None]

    def _turned(self, matrices: Array) -> Array:
        """With the columns in their own order."""
        rows = np.take_along_axis(matrices, self.back[..., None], 2)
        return np.take_along_axis(rows, self.back[..., None, :], 3)

    @property
    def whiten(self) -> Array:
        """W with ‖W y‖² the squared distance of what was seen."""
        return self._turned(np.where(self.seen[..., None], self.inverse / self.unit[..., None, :], 0.0))

    @property
    def log_density(self) -> Array:
        """The log density at the mean, (g, k)."""
        return np.asarray(np.where(self.seen, -self.logs - 0.5 * LOG_2PI, 0.0).sum(axis=-1))

    @property
    def fill(self) -> Array:
        """1 for a seen cell, and B for the others."""
        slope = np.where(self.seen[..., None, :], self.lower, 0.0) @ (
            np.where(self.seen[..., None], self.inverse, 0.0) / self.unit[..., None, :]
        )
        return self._turned(np.where(self.seen[..., None], np.eye(len(slope[0, 0])), slope * self.unit[..., None]))

    @property
    def rest(self) -> Array:
        """The covariance C of the cells that were not seen."""
        root = np.where(self.seen[..., None] | self.seen[..., None, :], 0.0, self.lower * self.unit[..., None])
        return self._turned(root @ root.swapaxes(-1, -2))

    @property
    def entropy(self) -> Array:
        """The entropy of the cells that were not seen, (g, k)."""
        return np.asarray(np.where(self.seen, 0.0, self.logs + 0.5 * (LOG_2PI + 1.0)).sum(axis=-1))


def inverse_of_lower(lower: Array) -> Array:
    """The inverses of many small lower triangles (…, d, d), row by row of all of them."""
    out = np.zeros(lower.shape)
    for i in range(lower.shape[-1]):
        pivot = lower[..., i, i, None]
        out[..., i, :i] = np.einsum("...t,...tj->...j", lower[..., i, :i], out[..., :i, :i]) / -pivot
        out[..., i, i] = 1 / pivot[..., 0]
    return out


def parts(starts: Integers, numbers: int) -> Iterator[tuple[slice, slice, Integers]]:
    """Some patterns at a time whose matrices of ``numbers`` fit together: which, their rows, and where these start."""
    most = max(TOGETHER // max(numbers, 1), 1)
    for begin in range(0, len(starts) - 1, most):
        cuts = starts[begin : begin + most + 1]
        yield slice(begin, begin + len(cuts) - 1), slice(int(cuts[0]), int(cuts[-1])), cuts - cuts[0]


def applied(matrices: Array, rows: Array, starts: Integers) -> Array:
    """Rows (n, d), each multiplied by the matrix (g, d, d) of its pattern."""
    out, d = np.empty(rows.shape), rows.shape[1]
    if len(rows) >= MANY * len(matrices):
        for index, matrix in enumerate(matrices):
            own = slice(starts[index], starts[index + 1])
            out[own] = rows[own] @ matrix.T
        return out
    which = np.repeat(np.arange(len(matrices)), np.diff(starts))
    step = max(TOGETHER // max(d * d, 1), 1)
    for begin in range(0, len(rows), step):
        some = slice(begin, begin + step)
        out[some] = (matrices[which[some]] @ rows[some, :, None])[:, :, 0]
    return out


def away(x: Real, mean: Array) -> Array:
    """How far seen cells are from a mean (d,); 0 for the others."""
    cells: Array = x - mean
    cells[np.isnan(cells)] = 0.0
    return cells


def holed_log_prob(x: Real, starts: Integers, columns: Integers, sizes: Integers, mean: Array, cov: Array) -> Array:
    """Log density (n, k) of the cells that rows have; 0 for a row that has none."""
    out = np.empty((len(x), len(mean)))
    for some, rows, cuts in parts(starts, cov.size):
        out[rows] = _log_prob(x[rows], cuts, Told(cov, columns[some], sizes[some]), mean)
    return out


def holed_scatter(
    x: Real,
    starts: Integers,
    columns: Integers,
    sizes: Integers,
    mean: Array,
    cov: Array,
    weights: Array | None = None,
    codes: Integers | None = None,
) -> HoledMoments:
    """What is expected of rows that belong to components: by weights (n, k), or to those that codes name, by (n,)."""
    found, w = _nothing(mean), np.ones(len(x)) if weights is None else weights
    for some, rows, cuts in parts(starts, cov.size):
        known, own = Told(cov, columns[some], sizes[some]), None if codes is None else codes[rows]
        found = _added(found, _scatter(x[rows], cuts, known, mean, w[rows], own))
    return found


def missing_e_step(
    x: Real,
    starts: Integers,
    columns: Integers,
    sizes: Integers,
    mean: Array,
    cov: Array,
    log_weights: Array,
    weights: Array | None = None,
) -> HoledExpected:
    """One pass of EM: log-likelihood and entropy of the shares of components in rows.

    And `holed_scatter` under them.
    """
    likelihood, entropy, found = 0.0, 0.0, _nothing(mean)
    with np.errstate(invalid="ignore", over="ignore"):
        for some, rows, cuts in parts(starts, cov.size):
            known, w = Told(cov, columns[some], sizes[some]), np.ones(1) if weights is None else weights[rows]
            scores = _log_prob(x[rows], cuts, known, mean) + (
                log_weights if log_weights.ndim == 1 else log_weights[rows]
            )
            scores[np.broadcast_to(w == 0, len(scores))] = 0.0
            shares, log_sum, spread = softmax(scores)
            likelihood, entropy = likelihood + float((w * log_sum).sum()), entropy + float((w * spread).sum())
            found = _added(found, _scatter(x[rows], cuts, known, mean, w[:, None] * shares))
    return likelihood, entropy, *found


# -- some patterns -----------------------------------------------------------------------------------------------------


def _log_prob(x: Real, starts: Integers, known: Told, mean: Array) -> Array:
    out, whiten, constant = np.empty((len(x), len(mean))), known.whiten, known.log_density
    for j, own in enumerate(mean):
        m = min(j, whiten.shape[1] - 1)
        z = applied(whiten[:, m], away(x, own), starts)
        out[:, j] = np.repeat(constant[:, m], np.diff(starts)) - 0.5 * np.einsum("nd,nd->n", z, z)
    return out


def _scatter(
    x: Real, starts: Integers, known: Told, mean: Array, weights: Array, codes: Integers | None = None
) -> HoledMoments:
    fill, rest, found = known.fill, known.rest, []
    by_pattern = np.empty((len(starts) - 1, len(mean)))
    for j, own in enumerate(mean):
        m = min(j, fill.shape[1] - 1)
        held = weights[:, j] if weights.ndim > 1 else weights
        held = held if codes is None else np.where(codes == j, held, 0.0)
        by_pattern[:, j] = np.add.reduceat(held, starts[:-1])
        weight, centre, shift, scatter = numpy_primitives.scatter(applied(fill[:, m], away(x, own), starts), held)
        found.append((weight, centre + shift, scatter + np.tensordot(by_pattern[:, j], rest[:, m], 1)))
    weight, shift, scatter = (np.concatenate(one) for one in zip(*found, strict=True))
    return weight, shift, scatter, (by_pattern * known.entropy).sum(axis=0), by_pattern


def _nothing(mean: Array) -> HoledMoments:
    k, d = mean.shape
    return np.zeros(k), np.zeros((k, d)), np.zeros((k, d, d)), np.zeros(k), np.zeros((0, k))


def _added(a: HoledMoments, b: HoledMoments) -> HoledMoments:
    centre = np.zeros(a[1].shape)
    weight, _, shift, scatter = numpy_primitives.merge((a[0], centre, a[1], a[2]), (b[0], centre, b[1], b[2]))
    return weight, shift, scatter, a[3] + b[3], np.concatenate([a[4], b[4]])
