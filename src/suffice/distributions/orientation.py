"""Two shared matrices that no formula gives: axes common to all components, and one matrix up to a factor for each.

Both are found by Newton steps on the manifold, each step solved by conjugate gradients and halved until it helps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from suffice.distributions.compact_covariance import RELATIVE_FLOOR
from suffice.distributions.covariance_algebra import built, clipped, eigen, invertible_floor, objective, symmetric
from suffice.distributions.spectra import TINY, Spectrum, lifted
from suffice.types import Array

STEPS, INNER = 50, 40
LOST = 1e-3  # of the least covariance
ENOUGH = 1e-13  # relative gain of a step, beneath which there is nothing left to win
SHORTEST = 1e-8  # part of a step that is tried
ANGLES = np.linspace(-0.25, 0.25, 17)[:-1] * np.pi  # a quarter turn exchanges a pair of axes
MOST_STARTS, REFINED, MOST_PROBES, WIDEST_PROBE = 8, 3, 10, 12
MIX = 0.6180339887498949  # weights of components that no chance makes equal


def conjugate_gradients(product: Callable[[Array], Array], target: Array, scale: Array, inner: int) -> Array:
    """X with product(X) ≈ target, preconditioned by ``scale``; stops where the product is not positive."""
    x, residual = np.zeros_like(target), target
    ready = residual / scale
    direction, size = ready, float((residual * ready).sum())
    enough = 1e-16 * size
    for turn in range(inner if size > 0 else 0):
        moved = product(direction)
        curvature = float((direction * moved).sum())
        if curvature <= 1e-14 * float((direction * scale * direction).sum()):
            return x if turn else ready
        x = x + size / curvature * direction
        residual = residual - size / curvature * moved
        ready = residual / scale
        following = float((residual * ready).sum())
        if following <= enough:
            break
        direction, size = ready + following / size * direction, following
    return x


def turned(axes: Array, skew: Array) -> Array:
    """The axes rotated by a skew matrix, by Cayley's formula; orthogonal to rounding."""
    half = 0.5 * skew
    one = np.eye(len(skew))
    new, upper = np.linalg.qr(axes @ np.linalg.solve(one - half, one + half))
    return np.asarray(new * np.sign(np.diag(upper)))


@dataclass(frozen=True)
class Table:
    """What common axes are judged by: scatter (k, d, d), weight (k,), the rule of the variances along the axes.

    ``least`` (d, d) is what is told from none: of a component's scatter along an axis there is at least that.
    """

    scatter: Array
    weight: Array
    rule: Spectrum
    least: Array

    def along(self, axes: Array) -> Array:
        """Scatter along each axis, (k, d)."""
        return self.seen(np.einsum("kia,ia->ka", self.scatter @ axes, axes), axes)

    def seen(self, s: Array, axes: Array) -> Array:
        """Scatter (k, d) along the axes as far as it has a logarithm, which rounding may have taken from it."""
        least = self.weight[:, None] * np.einsum("ia,ij,ja->a", axes, self.least, axes)
        return np.asarray(np.maximum(s, np.maximum(least, 1e-300)))

    def objective(self, axes: Array) -> float:
        """What the best variances leave to be minimised."""
        return self.rule.profile(self.along(axes), self.weight)[0]


@dataclass(frozen=True)
class AxisCurve:
    """The second derivative of a rule's profile at some axes D, as D turns to D exp(X) with X skew.

    inner (k, d, d) = Dᵀ S D, s its diagonals, pull (k,) the derivatives by log s, mixed = Σ inner diag(pull/s).
    """

    inner: Array
    s: Array
    pull: Array
    mixed: Array
    rule: Spectrum

    def product(self, skew: Array) -> Array:
        """The second derivative times a skew matrix."""
        moved = self.inner @ skew
        first = 2 * np.einsum("kii->ki", moved) / self.s  # the change of log s
        bent = self.rule.bend(first, self.pull) - self.pull[:, None] * first
        change = np.einsum("kij,kj->ij", moved, self.pull[:, None] / self.s)
        change = 2 * change + 2 * np.einsum("kij,kj->ij", self.inner, bent / self.s)
        change -= self.mixed.T @ skew + skew @ self.mixed.T
        return np.asarray(change - change.T)


def maximise_axes(table: Table, axes: Array) -> tuple[float, Array]:
    """The nearest minimum of the rule's profile over common axes, and the axes."""
    scatter, rule = table.scatter, table.rule
    total = float(table.weight.sum()) * len(axes)
    value = table.objective(axes)
    for _ in range(STEPS):
        inner = axes.T @ scatter @ axes
        s = table.seen(np.einsum("kii->ki", inner), axes)
        pull = rule.profile(s, table.weight)[1]
        factor = pull[:, None] / s
        mixed = np.einsum("kij,kj->ij", inner, factor)
        slope = 2 * (mixed - mixed.T)
        ratio = s[:, :, None] / s[:, None, :]
        scale = 2 * np.einsum("k,kij->ij", pull, ratio + np.swapaxes(ratio, 1, 2) - 2)
        scale = np.maximum(scale, 1e-6 * total)
        step = conjugate_gradients(AxisCurve(inner, s, pull, mixed, rule).product, -slope, scale, INNER)
        gain = -0.5 * float((slope * step).sum())
        if not gain > ENOUGH * total:  # NaN where slopes are beyond the range of numbers
            break
        size = min(1.0, 0.5 / float(np.abs(step).max()))
        while True:
            moved = turned(axes, size * step)
            tried = table.objective(moved)
            if tried <= value - 1e-4 * size * gain or size < SHORTEST:
                break
            size /= 2
        if tried >= value:
            break
        gained, axes, value = value - tried, moved, tried
        if gained <= ENOUGH * total:
            break
    return value, axes


def pair_turn(table: Table, axes: Array, value: float) -> tuple[float, Array]:
    """The best turn of one pair of axes by one of several angles; the axes themselves where none is better."""
    best = value, axes
    for i, j in zip(*np.triu_indices(len(axes), 1), strict=True):
        for angle in ANGLES:
            c, t = np.cos(angle), np.sin(angle)
            new = axes.copy()
            new[:, i], new[:, j] = c * axes[:, i] + t * axes[:, j], c * axes[:, j] - t * axes[:, i]
            found = table.objective(new)
            if found < best[0] - 1e-9 * abs(float(table.weight.sum())):
                best = found, new
    return best


def generic_mix(cov: Array) -> Array:
    """A mixture of matrices (k, d, d) that commutes with each, but for chance, only if all commute."""
    scale = np.einsum("kii->k", cov)
    mix = (1 + MIX * np.arange(1, len(cov) + 1) % 1) / np.where(scale > 0, scale, 1.0)
    return np.asarray(np.tensordot(mix, cov, 1))


def generic_axes(cov: Array) -> Array:
    """Eigenvectors of such a mixture: those of all, where they have common ones."""
    return np.asarray(eigen(generic_mix(cov)[None])[1][0])


def common_axes(table: Table, begin: Array | None) -> Array:
    """Axes (d, d) on which the components' best variances by the rule are most likely.

    There may be several maxima. With ``begin`` (d, d) the run stays in its basin; without, it sets out from the most
    likely axes of components and of their sums, and each summit is probed by turning pairs of axes.
    """
    scatter, weight = table.scatter, table.weight
    if begin is not None:
        return maximise_axes(table, begin)[1]
    if len(scatter) == 1:
        return np.asarray(eigen(scatter)[1][0])
    traces = np.einsum("kii->k", scatter)
    pooled = [scatter.sum(axis=0), np.einsum("kij,k->ij", scatter, weight / np.where(traces > 0, traces, 1.0))]
    heaviest = np.argsort(-weight, kind="stable")[:MOST_STARTS]
    starts = [np.eye(scatter.shape[1]), *eigen(np.stack([*pooled, *scatter[heaviest]]))[1]]
    starts.sort(key=table.objective)
    best = min((maximise_axes(table, axes) for axes in starts[:REFINED]), key=lambda found: found[0])
    for _ in range(MOST_PROBES if len(best[1]) <= WIDEST_PROBE else 0):
        probe = pair_turn(table, best[1], best[0])
        if probe[1] is best[1]:
            break
        best = maximise_axes(table, probe[1])
    return best[1]


def proportional(scatter: Array, weight: Array, begin: Array) -> tuple[Array, Array]:
    """λ (k,) and C (d, d), |C| = 1, for which the covariances λ_k C are most likely.

    With λ at its best, d Σ w_k log tr(C⁻¹ S_k) + Σ w log|C| remains, which is convex along C = L exp(X) Lᵀ, X
    symmetric: the run from any ``begin`` (d, d) ends at the one maximum. All in units of the least covariance.
    """
    d, total = len(begin), float(weight.sum())

    def state(c: Array) -> tuple[float, Array, Array, Array]:
        try:
            lower = np.linalg.cholesky(c)
        except np.linalg.LinAlgError:  # a step too far
            return np.inf, c, scatter, weight
        inverse = np.linalg.inv(lower)
        inner = inverse @ scatter @ inverse.T
        traces = np.maximum(np.einsum("kii->k", inner), 1e-300)
        log_det = 2 * float(np.log(np.diag(lower)).sum())
        return d * float(weight @ np.log(traces)) + total * log_det, lower, inner / traces[:, None, None], traces

    c = begin
    value, lower, inner, traces = state(c)
    for _ in range(STEPS):
        pull = d * weight
        mean = np.einsum("k,kij->ij", pull, inner)
        slope = total * np.eye(d) - mean

        def product(x: Array, inner: Array = inner, mean: Array = mean, pull: Array = pull) -> Array:
            own = pull * np.einsum("kij,ij->k", inner, x)
            return np.asarray(0.5 * (mean @ x + x @ mean) - np.einsum("k,kij->ij", own, inner))

        step = conjugate_gradients(product, -slope, np.full((d, d), total), INNER)
        gain = -float((slope * step).sum())
        if gain <= ENOUGH * total * d:
            break
        values, vectors = np.linalg.eigh(step)
        size = min(1.0, 4.0 / float(np.abs(values).max()))
        while True:
            moved = lower @ ((vectors * np.exp(size * values)) @ vectors.T) @ lower.T
            tried = state(0.5 * (moved + moved.T))
            if tried[0] <= value - 1e-4 * size * gain or size < SHORTEST:
                break
            size /= 2
        if tried[0] >= value:
            break
        gained, c, (value, lower, inner, traces) = value - tried[0], 0.5 * (moved + moved.T), tried
        flat = np.linalg.eigvalsh(c)[0] * float((traces / (d * weight)).min()) < LOST
        if flat or gained <= ENOUGH * total * d:  # a component too flat for a maximum: the rest is the floor's
            break
    root = float(np.exp(2 * np.log(np.diag(lower)).sum() / d))
    return np.asarray(traces * root / (d * weight)), c / root


def proportional_above(scatter: Array, weight: Array, cov: Array) -> Array:
    """Covariances of at least the identity, from proportional ones: volumes and matrix take turns."""
    values, vectors = np.linalg.eigh(cov)
    large = np.argmax(values[:, -1])
    volume = np.exp(np.log(np.maximum(values, TINY)).mean(axis=1))
    shape = np.maximum(values[large], RELATIVE_FLOOR * values[large, -1]) / volume[large]
    cov = best = built(vectors[large][None], lifted(volume, shape, 1.0))
    d, value = len(shape), -np.inf
    for _ in range(100):
        before, value = value, objective(cov, scatter, weight)
        best = cov if value > before else best
        if value - before <= 1e-10 * weight.sum():
            break
        volume = np.exp(np.linalg.slogdet(cov)[1] / d)
        mean = symmetric(np.einsum("kij,k->ij", scatter, 1 / volume))[None] / weight.sum()
        matrix = clipped(mean, invertible_floor(mean, np.eye(d) / volume.min()))[0]
        inverse = np.linalg.inv(matrix)
        volume = np.einsum("kij,ji->k", scatter, inverse) / (d * weight)
        least = 1 / np.linalg.eigvalsh(0.5 * (inverse + inverse.T))[-1]
        flattest = max(least, RELATIVE_FLOOR * d * np.diag(matrix).min())  # rounding takes it
        cov = np.maximum(volume, 1 / flattest)[:, None, None] * matrix
    return best
