"""Linear algebra of covariances. Arrays lead with the components: (k, d, d)."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np

from suffice import kernels
from suffice.core.parameters import surely_above
from suffice.distributions import compact_covariance
from suffice.distributions.compact_covariance import MARGIN, RELATIVE_FLOOR
from suffice.numerics.low_rank import LowRank, diagonals
from suffice.types import Array

UNSEEN = 1e-20  # the share of all rows that a component without rows counts for: too little to move the others
RESOLVED = 1e-13  # of the pooled variance: the least variance where a structure needs one
FLAT = 1e-100  # a variance where no column has any
FEW = 32  # columns: of more, LAPACK takes less time for a root
WHOLE = 32  # columns of a triangle that is inverted as a whole
GRADED = 1e4  # spreads of columns that differ by more have units of their own
SWEEPS = 12  # of rotations; they converge in half as many
ROUND = 1e-8  # relative: what is told from a multiple of the identity


def floored(cov: Array, least: Array) -> Array:
    """Covariances (k, d, d) that can be inverted.

    Variances are at least ``least``² (k, d), and the eigenvalues of the correlation matrix at least
    d·10⁻¹²; covariances that obey both are returned as they are.
    """
    d = cov.shape[-1]
    variances = np.einsum("kii->ki", cov)
    low = variances < least**2
    spread = np.sqrt(np.where(low, least**2, variances))
    outer = spread[:, :, None] * spread[:, None, :]
    correlation = cov / outer
    if not low.any() and surely_above(correlation, RELATIVE_FLOOR):
        return cov
    correlation = np.where(low[:, :, None] | low[:, None, :], 0.0, correlation)
    correlation[:, np.arange(d), np.arange(d)] = 1.0
    values, vectors = np.linalg.eigh(correlation)
    bad = values[:, 0] < RELATIVE_FLOOR * d
    if not (bad.any() or low.any()):
        return cov
    raised = (vectors * np.maximum(values, RELATIVE_FLOOR * d)[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    repaired = np.where(bad[:, None, None], 0.5 * (raised + np.swapaxes(raised, 1, 2)), correlation) * outer
    return np.where((bad | low.any(axis=1))[:, None, None], repaired, cov)


def flattest(cov: Array) -> Array:
    """The least eigenvalue of the correlation matrix of each covariance (k, d, d), (k,)."""
    spread = np.sqrt(np.einsum("kii->ki", cov))
    return np.asarray(np.linalg.eigvalsh(cov / (spread[:, :, None] * spread[:, None, :]))[:, 0])


def deficiency(cov: Array | LowRank, least: Array, limit: float = 4 * RELATIVE_FLOOR) -> tuple[int, list[int]]:
    """The rank that the floor left of one covariance (d, d), and the columns that depend on each other.

    Eigenvalues of the correlation matrix below d times the ``limit`` count as none.
    """
    if isinstance(cov, LowRank):
        found = compact_covariance.deficiency(cov, least, limit)
        if found is not None:
            return found
        cov = cov.dense()
    d = len(cov)
    spread = np.sqrt(np.diag(cov))
    flat = spread <= least * (1 + 1e-6)
    correlation = cov / np.outer(spread, spread)
    if not flat.any() and surely_above(correlation, limit):
        return d, []
    values, vectors = np.linalg.eigh(correlation)
    null = (values < limit * d) & (d > 1)
    involved = flat | (np.abs(vectors[:, null]) > 1e-3).any(axis=1)
    return d - int(null.sum()) - int(flat.sum()), np.flatnonzero(involved).tolist()


def whitening(cov: Array) -> tuple[Array, Array]:
    """W (k, d, d) with W Σ Wᵀ = I, and log|W| (k,)."""
    if len(cov) > 1 and cov.strides[0] == 0:  # one covariance for all
        whiten, log_det = whitening(cov[:1])
        return np.repeat(whiten, len(cov), axis=0), np.repeat(log_det, len(cov))
    spread = np.sqrt(np.einsum("kii->ki", cov))
    factor = np.linalg.cholesky(cov / (spread[:, :, None] * spread[:, None, :]))
    inverse = inverse_of_lower(factor) / spread[:, None, :]
    return np.ascontiguousarray(inverse), -(np.log(spread) + np.log(np.einsum("kii->ki", factor))).sum(axis=1)


def whitening_of_m_step(cov: Array) -> tuple[Array, Array]:
    """As `whitening`; of few columns to the bit what an M-step finds that whitens."""
    k, d, _ = cov.shape
    if k > 1 and cov.strides[0] == 0:  # one covariance for all
        whiten, log_det = whitening_of_m_step(cov[:1])
        return np.repeat(whiten, k, axis=0), np.repeat(log_det, k)
    if d >= FEW:
        return whitening(cov)
    found = kernels.whitened_covariances(cov, np.ones(k), None, np.zeros((k, d)), RELATIVE_FLOOR)
    return whitening(cov) if found is None else found[1:]


def diagonal_whitening(cov: Array) -> tuple[Array, Array]:
    """The same of diagonal matrices."""
    spread = np.sqrt(np.einsum("kii->ki", cov))
    return (1 / spread)[:, :, None] * np.eye(cov.shape[-1]), -np.log(spread).sum(axis=1)


def traces(whiten: Array, scatter: Array) -> Array:
    """The trace of W S Wᵀ of each component, (k,)."""
    return np.asarray(np.einsum("kij,kij->k", whiten @ scatter, whiten))


def inverse_of_lower(lower: Array) -> Array:
    """The inverse of lower triangles (k, d, d), by halves: matrix products where d is large."""
    d = lower.shape[-1]
    if d <= WHOLE:
        return np.tril(np.linalg.solve(lower, np.broadcast_to(np.eye(d), lower.shape)))
    half, out = d // 2, np.zeros(lower.shape)
    out[:, :half, :half] = above = inverse_of_lower(lower[:, :half, :half])
    out[:, half:, half:] = below = inverse_of_lower(lower[:, half:, half:])
    out[:, half:, :half] = -below @ (lower[:, half:, :half] @ above)
    return out


def root(cov: Array) -> Array:
    """A (k, d, d) with A Aᵀ = Σ, by Cholesky."""
    spread = np.sqrt(np.einsum("kii->ki", cov))
    return np.asarray(spread[:, :, None] * np.linalg.cholesky(cov / (spread[:, :, None] * spread[:, None, :])))


def objectives(cov: Array | LowRank, scatter: Array | LowRank, weight: Array) -> Array:
    """−½ (weight log|Σ| + tr Σ⁻¹ scatter) of each component, (k,)."""
    if isinstance(cov, LowRank) and not cov.factors:
        v = cov.diagonal
        return np.asarray(-0.5 * (weight * np.log(v).sum(axis=1) + (diagonals(scatter) / v).sum(axis=1)))
    cov, scatter = np.asarray(cov), np.asarray(scatter)
    whiten, log_det = whitening(cov)
    return np.asarray(weight * log_det - 0.5 * traces(whiten, scatter))


def objective(cov: Array | LowRank, scatter: Array | LowRank, weight: Array) -> float:
    """−½ Σ (weight log|Σ| + tr Σ⁻¹ scatter)."""
    return float(objectives(cov, scatter, weight).sum())


def with_unseen(
    scatter: Array | LowRank, weight: Array, seen: Array, begin: Array | LowRank | None
) -> tuple[Any, Array]:
    """Components without rows get a trace of those that ``begin`` describes, or else of the pooled ones."""
    total, d = float(weight.sum()), scatter.shape[-1]
    if isinstance(scatter, LowRank) and not scatter.factors:
        s = scatter.diagonal
        usual = (s[seen].sum(axis=0) / total if total else np.ones(d)) if begin is None else diagonals(begin)
        part = UNSEEN * total if total else 1.0
        return LowRank(np.where(seen[:, None], s, part * usual)), np.where(seen, weight, part)
    scatter, begin = np.asarray(scatter), None if begin is None else np.asarray(begin)
    pooled = scatter[seen].sum(axis=0) / total if total else np.eye(d)
    usual = np.broadcast_to(pooled, scatter.shape) if begin is None else begin
    part = UNSEEN * total if total else 1.0
    return np.where(seen[:, None, None], scatter, part * usual), np.where(seen, weight, part)


def resolved(scatter: Any, weight: Array) -> Any:
    """The least covariance that is told from none beside the pooled variances; beside the least, where one is 0."""
    pooled = np.abs(diagonals(scatter)).sum(axis=0) / weight.sum()
    some = pooled[pooled > 0]
    least = RESOLVED * np.maximum(pooled, max(some.min(), 1e-280) if some.size else FLAT)
    return LowRank(least) if isinstance(scatter, LowRank) else np.diag(least)


def invertible_floor(cov: Array, floor: Array) -> Array:
    """The floor of each covariance (k, d, d): ``floor`` (d, d), and what float64 resolves beside its variances.

    A covariance with an outlier in it may be 10¹⁷ times as large in one direction as the floor in another. No matrix
    of floats can hold both, so that its floor is higher: d·10⁻¹² of each variance. The floor itself is returned, as
    (1, d, d), where that is enough for all.
    """
    d = len(floor)
    lacking = MARGIN * RELATIVE_FLOOR * d * np.einsum("kii->ki", cov) - np.diag(floor)
    if not (lacking > 0).any():
        return floor[None]
    return np.asarray(floor + np.maximum(lacking, 0.0)[:, :, None] * np.eye(d))


def clipped(cov: Array, floor: Array) -> Array:
    """The most likely covariances with Σ ⪰ floor where ``cov`` is the most likely without: eigenvalues at least 1.

    ``floor`` is one of all, (d, d), or one of each, (k, d, d).
    """
    if floor.ndim == 2 or len(floor) == 1:
        lower, inverse = _root_of(np.asarray(floor, dtype=float).tobytes(), floor.shape[-1])
    else:
        lower = root(floor)
        inverse = np.linalg.inv(lower)
    scaled = symmetric(inverse @ cov @ np.swapaxes(inverse, -1, -2))
    if surely_above(scaled - np.eye(floor.shape[-1]), 0.0):
        return cov
    values, vectors = eigen(scaled)
    low = values[:, 0] < 1
    if not low.any():
        return cov
    mended = symmetric(lower @ built(vectors, np.maximum(values, 1.0)) @ np.swapaxes(lower, -1, -2))
    return np.where(low[:, None, None], mended, cov)


@lru_cache(8)
def _root_of(floor: bytes, d: int) -> tuple[Array, Array]:
    """The root of a matrix (d, d), and its inverse: a fit asks for those of its floor in every pass."""
    lower = np.linalg.cholesky(np.frombuffer(floor).reshape(d, d))
    inverse = np.linalg.inv(lower)
    lower.flags.writeable = inverse.flags.writeable = False
    return lower, inverse


def eigen(matrix: Array) -> tuple[Array, Array]:
    """Eigenvalues (k, d), rising, and eigenvectors (k, d, d) of scatter matrices.

    Where the units of the columns differ, each eigenvalue has the digits that the correlations have: by Jacobi's
    rotations of a factor whose rows have those units. The usual way has none left of a column that is 10⁻⁸ of another.
    """
    spread = np.sqrt(np.maximum(np.einsum("kii->ki", matrix), 0.0))
    graded = (spread.min(axis=1) * GRADED < spread.max(axis=1)) & (spread.min(axis=1) > 0)
    if not graded.any():
        values, vectors = np.linalg.eigh(matrix)
        return values, vectors
    values, vectors = np.linalg.eigh(np.where(graded[:, None, None], np.eye(matrix.shape[-1]), matrix))
    values[graded], vectors[graded] = _graded(matrix[graded], spread[graded])
    return values, vectors


def _graded(matrix: Array, spread: Array) -> tuple[Array, Array]:
    order = np.argsort(-spread, axis=1)
    values, vectors = np.linalg.eigh(matrix / (spread[:, :, None] * spread[:, None, :]))
    factor = spread[:, :, None] * vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    rows, turns = orthogonal(np.take_along_axis(factor, order[:, :, None], axis=1))
    axes = np.empty_like(turns)
    np.put_along_axis(axes, np.broadcast_to(order[:, None, :], axes.shape), turns, axis=2)
    squares = np.einsum("kij,kij->ki", rows, rows)
    rising = np.argsort(squares, axis=1)
    axes = np.take_along_axis(axes, rising[:, :, None], axis=1)
    return np.take_along_axis(squares, rising, axis=1), np.ascontiguousarray(np.swapaxes(axes, 1, 2))


def orthogonal(rows: Array) -> tuple[Array, Array]:
    """Rows (k, d, d) turned until they are orthogonal, and the turns T (k, d, d) with T · before = after.

    Jacobi's rotations of pairs, as many pairs at once as have no row in common.
    """
    d = rows.shape[1]
    both = np.concatenate([rows, np.broadcast_to(np.eye(d), rows.shape)], axis=2)
    for _ in range(SWEEPS):
        worst = 0.0
        for i, j in _pairs(d):
            a, b = both[:, i], both[:, j]
            aa, bb, ab = (np.einsum("kmd,kmd->km", u[..., :d], v[..., :d]) for u, v in ((a, a), (b, b), (a, b)))
            size = np.sqrt(aa) * np.sqrt(bb)
            turn = np.abs(ab) > 1e-15 * size
            worst = max(worst, float(np.max(np.abs(ab) / np.where(size > 0, size, 1.0))))
            with np.errstate(over="ignore"):  # then the turn is less than any number
                slant = (bb - aa) / np.where(turn, 2 * ab, 1.0)
            tangent = np.where(turn, np.copysign(1.0, slant) / (np.abs(slant) + np.hypot(1.0, slant)), 0.0)[..., None]
            cosine = 1 / np.sqrt(1 + tangent**2)
            both[:, i], both[:, j] = cosine * (a - tangent * b), cosine * (tangent * a + b)
        if worst <= 1e-15 * d:
            break
    return both[..., :d], both[..., d:]


@cache
def _pairs(d: int) -> tuple[tuple[Array, Array], ...]:
    """All pairs of d rows in rounds, each row once in a round: as chess players meet."""
    table, rounds = list(range(d + d % 2)), []
    for _ in range(len(table) - 1):
        half = len(table) // 2
        pairs = np.array([sorted(pair) for pair in zip(table[:half], table[half:][::-1], strict=True) if max(pair) < d])
        if len(pairs):
            rounds.append((pairs[:, 0], pairs[:, 1]))
        table = [table[0], table[-1], *table[1:-1]]
    return tuple(rounds)


def built(vectors: Array, values: Array) -> Array:
    """D diag(v) Dᵀ."""
    return symmetric((vectors * values[:, None, :]) @ np.swapaxes(vectors, -1, -2))


def positive(scatter: Array) -> Array:
    """The scatter without negative eigenvalues, which a step beyond the data may have left in it."""
    spread = np.sqrt(np.maximum(np.einsum("kii->ki", scatter), 0.0))
    spread = np.where(spread > 0, spread, 1.0)
    outer = spread[:, :, None] * spread[:, None, :]
    values, vectors = np.linalg.eigh(scatter / outer)
    return scatter if values.min() >= 0 else built(vectors, np.maximum(values, 0.0)) * outer


def symmetric(matrix: Array) -> Array:
    """The symmetric part."""
    return np.asarray(0.5 * (matrix + np.swapaxes(matrix, -1, -2)))


def doubtful(v: Array) -> tuple[Array, Array]:
    """Eigenvalues (k, d) and how far rounding of the largest blurs each, relative to it."""
    top = v[:, -1:]
    v = np.maximum(v, 1e-16 * top)
    return v, 1e-14 * v.shape[1] * top / v


def is_round(cov: Array) -> bool:
    """Whether the covariances are multiples of the identity, which have no axes to begin at."""
    d = cov.shape[-1]
    each = np.einsum("kii->k", cov)[:, None, None] / d
    return bool((np.abs(cov - each * np.eye(d)) <= ROUND * each).all())


def given_some(cov: Array, known: list[int], rest: list[int]) -> tuple[Array, Array, Array]:
    """What some columns of known values tell of the rest, for covariances (k, d, d).

    Slopes (k, r, s) of the rest on the known ones, a root (k, r, r) of the covariance that is left, and W (k, s, s)
    with W Σ Wᵀ = I for the known ones. From one root of both, so that what is left is never negative.
    """
    order, s = [*known, *rest], len(known)
    lower = root(cov[:, order][:, :, order])
    whiten = inverse_of_lower(lower[:, :s, :s])
    return lower[:, s:, :s] @ whiten, lower[:, s:, s:], whiten
