"""One kernel density: a kernel around each of some weighted points, bounds that mirror it, and what it is asked."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from scipy.linalg import solve_triangular

from suffice.densities.gauss_transform import REACH
from suffice.densities.kernels import Compact, Kernel
from suffice.densities.line import Line, line
from suffice.densities.space import log_sums
from suffice.engines.once import cached_property
from suffice.types import Array

Bounds = tuple[tuple[float, float], ...]  # of each column: infinite where there is none
IMAGES = 64  # reflections between two bounds: more of them, and the density is even to rounding
NOTHING = 1e-40  # of the largest weight: rows that are so far from what is given are left out
HALVINGS = 200  # of a bracket around a quantile
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)
PANELS = 1 << 16  # into which the range of a density is cut at most where it is integrated


@dataclass(frozen=True)
class Smooth:
    """A kernel K(root⁻¹ (x − xᵢ)) around points (m, d), by weights (m,); ``root`` is lower triangular."""

    kernel: Kernel
    rows: Array
    weights: Array
    root: Array
    bounds: Bounds

    @property
    def reach(self) -> float:
        """How many bandwidths away a point still matters."""
        return self.kernel.radius if isinstance(self.kernel, Compact) else REACH

    @cached_property
    def total(self) -> float:
        """Σ w."""
        return float(self.weights.sum())

    @cached_property
    def widths(self) -> Array:
        """The bandwidth of each column by itself, (d,)."""
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", self.root, self.root)))

    @cached_property
    def mirrored(self) -> tuple[Array, Array]:
        """The points with their images behind bounds, and their weights."""
        rows, weights = self.rows, self.weights
        for column, (low, high) in enumerate(self.bounds):
            away = self.reach * float(self.widths[column])
            parts, x = [rows], rows[:, column]
            owners = [np.arange(len(rows))]
            for image in _images(x, low, high, away):
                near = np.flatnonzero((image > low - away) & (image < high + away))
                copy = rows[near].copy()
                copy[:, column] = image[near]
                parts.append(copy)
                owners.append(near)
            rows, weights = np.concatenate(parts), weights[np.concatenate(owners)]
        return rows, weights

    def inside(self, x: Array) -> Array:
        """Which rows lie between the bounds; missing cells do."""
        ends = np.array(self.bounds)
        return np.asarray(~((x < ends[:, 0]) | (x > ends[:, 1])).any(axis=1))

    def marginal(self, columns: list[int]) -> Smooth:
        """The density of some columns."""
        part = self.root[columns]
        root = np.linalg.cholesky(part @ part.T)
        return Smooth(self.kernel, self.rows[:, columns], self.weights, root, tuple(self.bounds[j] for j in columns))

    def conditional(self, known: Array, values: Array) -> Smooth:
        """The density of the columns that are not ``known``, given the values of those that are."""
        rest = np.flatnonzero(~known)
        cov = self.root @ self.root.T
        slopes = np.linalg.solve(cov[np.ix_(known, known)], cov[np.ix_(known, rest)])
        rows, weights = self.mirrored
        away = values - rows[:, known]
        root = np.linalg.cholesky(cov[np.ix_(known, known)])
        own = self.kernel.log(solve_triangular(root, away.T, lower=True)).sum(axis=0)
        share = weights * np.exp(own - own.max())
        left = np.linalg.cholesky(cov[np.ix_(rest, rest)] - cov[np.ix_(rest, known)] @ slopes)
        kept = share > NOTHING * share.max()
        bounds = tuple(self.bounds[j] for j in rest)
        moved = rows[np.ix_(kept, rest)] + away[kept] @ slopes
        found = Smooth(self.kernel, moved, share[kept], left, bounds)
        within = found.inside(moved)  # images come back with the bounds of the columns that are left
        return Smooth(self.kernel, moved[within], share[kept][within], left, bounds)

    # ---- density ---------------------------------------------------------------------------------------------------
    def log_prob(self, x: Array) -> Array:
        """Log density of rows (n, d), in which NaN is integrated out."""
        missing = np.isnan(x)
        if not missing.any():
            return self._log_prob_whole(x)
        out = np.zeros(len(x))
        patterns, index = np.unique(missing, axis=0, return_inverse=True)
        index = index.reshape(-1)
        for number, pattern in enumerate(patterns):
            if pattern.all():
                continue
            where = np.flatnonzero(index == number)
            columns = np.flatnonzero(~pattern).tolist()
            part = self if not pattern.any() else self.marginal(columns)
            out[where] = part._log_prob_whole(x[where][:, columns])  # noqa: SLF001 (another of this class)
        return out

    def _log_prob_whole(self, x: Array) -> Array:
        out = np.full(len(x), -np.inf)
        inside = np.flatnonzero(self.inside(x) & np.isfinite(x).all(axis=1))
        if not len(inside) or not self.total:
            return out
        if x.shape[1] == 1:
            found = self.line.log_sums(x[inside, 0])
        else:
            rows, weights = self._whitened
            z = solve_triangular(self.root, x[inside].T, lower=True).T
            found = log_sums(self.kernel, rows, weights, z)
        out[inside] = found - log(self.total) - float(np.log(np.diagonal(self.root)).sum())
        return out

    @cached_property
    def line(self) -> Line:
        """The points of a single column, with their images."""
        rows, weights = self.mirrored
        return line(self.kernel, rows[:, 0], weights, float(self.root[0, 0]))

    @cached_property
    def _whitened(self) -> tuple[Array, Array]:
        rows, weights = self.mirrored
        return np.ascontiguousarray(solve_triangular(self.root, rows.T, lower=True).T), weights

    # ---- one column ------------------------------------------------------------------------------------------------
    def cumulative(self, x: Array) -> Array:
        """P(X ≤ x) of a single column."""
        (low, high), flat = self.bounds[0], np.ravel(x)
        finite = np.clip(flat, *self.ends)
        below = self.line.cumulated(np.append(finite, self.ends[0]))
        share = (below[:-1] - (below[-1] if np.isfinite(low) else 0.0)) / self.total
        found = np.where(flat >= min(self.ends[1], high), 1.0, np.clip(share, 0.0, 1.0))
        return np.where(np.isnan(flat), np.nan, np.where(flat < self.ends[0], 0.0, found)).reshape(np.shape(x))

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Beyond which a single column has no density that matters."""
        (low, high), away = self.bounds[0], 4 * self.reach * float(self.widths[0])
        return max(float(self.rows.min()) - away, low), min(float(self.rows.max()) + away, high)

    def inverse(self, q: Array) -> Array:
        """Quantiles of a single column: Newton's steps inside a bracket that each step narrows."""
        flat = np.ravel(q).astype(float)
        knots = np.unique(np.concatenate([self.rows[:, 0], self.ends]))
        heights = np.maximum.accumulate(self.cumulative(knots))
        at = np.clip(np.searchsorted(heights, flat), 1, len(knots) - 1)
        low, high = knots[at - 1], knots[at]
        x = low + (high - low) / 2
        active = np.arange(len(flat))
        for _ in range(HALVINGS):
            t = x[active]
            excess = self.cumulative(t) - flat[active]
            high[active] = np.where(excess >= 0, t, high[active])
            low[active] = np.where(excess < 0, t, low[active])
            with np.errstate(all="ignore"):
                step = t - excess * np.exp(-self.log_prob(t[:, None]))
            middle = low[active] + (high[active] - low[active]) / 2
            inside = (step > low[active]) & (step < high[active])
            x[active] = np.where(inside, step, middle)
            scale = np.maximum(np.abs(x[active]), float(self.widths[0]))
            active = active[np.abs(x[active] - t) > 1e-14 * scale]
            if not len(active):
                break
        out = np.where(flat <= 0, self._edge(0), np.where(flat >= 1, self._edge(1), x))
        return np.asarray(out).reshape(np.shape(q))

    def _edge(self, side: int) -> float:
        """The end of the support."""
        bound = self.bounds[0][side]
        if np.isfinite(bound) or not isinstance(self.kernel, Compact):
            return bound
        end = self.rows.max() if side else self.rows.min()
        return float(end) + (1 if side else -1) * self.reach * float(self.widths[0])

    @cached_property
    def panels(self) -> tuple[Array, Array]:
        """Nodes and weights of a rule that integrates what is smooth where the density is, of a single column."""
        h, x = float(self.widths[0]), np.sort(self.mirrored[0][:, 0])
        step = max(h / 2, (x[-1] - x[0] + 2 * self.reach * h) / PANELS)
        around = np.arange(-round(self.reach * h / step) - 1, round(self.reach * h / step) + 2)
        cells = np.unique(np.unique(np.floor(x / step))[:, None] + around)
        kinks = np.concatenate([x - h, x, x + h]) if isinstance(self.kernel, Compact) and len(x) < PANELS else x[:0]
        edges = np.concatenate([cells * step, (cells + 1) * step, kinks])
        edges = np.unique(np.clip(edges, *self.ends))
        half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
        filled = np.isin(np.floor(middle / step), cells)
        half, middle = half[filled], middle[filled]
        return (middle[:, None] + half[:, None] * NODES).ravel(), (half[:, None] * WEIGHTS).ravel()

    def expectation(self, values: Array, log_density: Array) -> float:
        """E of a function of a single column, from its values at the nodes of ``panels`` and the log density there."""
        weights = self.panels[1] * np.exp(log_density)
        return float(np.sum(np.where(weights > 0, weights * values, 0.0)))

    # ---- moments and draws -------------------------------------------------------------------------------------------
    @property
    def bounded(self) -> bool:
        """Whether some column has a bound."""
        return bool(np.isfinite(np.array(self.bounds)).any())

    @cached_property
    def moments(self) -> tuple[Array, Array]:
        """Mean and variance of each column, (d,)."""
        share = self.weights / self.total
        mean = self.rows[0] + share @ (self.rows - self.rows[0])
        var = share @ np.square(self.rows - mean) + self.kernel.variance * np.square(self.widths)
        for column, ends in enumerate(self.bounds):
            if np.isfinite(ends).any():
                alone = self.marginal([column])
                nodes = alone.panels[0]
                density = alone.log_prob(nodes[:, None])
                mean[column] = mean[column] + alone.expectation(nodes - mean[column], density)
                var[column] = alone.expectation(np.square(nodes - mean[column]), density)
        return mean, var

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Rows (n, d): points by weight, and noise of the kernel, folded back behind bounds."""
        chosen = rng.choice(len(self.rows), n, p=self.weights / self.total)
        x = self.rows[chosen] + self.kernel.draw((n, self.rows.shape[1]), rng) @ self.root.T
        for column, (low, high) in enumerate(self.bounds):
            x[:, column] = _folded(x[:, column], low, high)
        return np.asarray(x)


def _images(x: Array, low: float, high: float, away: float) -> list[Array]:
    """Mirror images of values behind one bound, or between two of them as often as the kernel reaches."""
    if not np.isfinite(low) and not np.isfinite(high):
        return []
    if not (np.isfinite(low) and np.isfinite(high)):
        return [2 * (low if np.isfinite(low) else high) - x]
    period = 2 * (high - low)
    turns = min(int(np.ceil(away / period)) + 1, IMAGES)
    shifts = [turn * period for turn in range(-turns, turns + 1)]
    return [2 * low - x + shift for shift in shifts] + [x + shift for shift in shifts if shift]


def _folded(x: Array, low: float, high: float) -> Array:
    """Values beyond bounds mirrored back between them."""
    if np.isfinite(low) and np.isfinite(high):
        length = high - low
        return np.asarray(high - np.abs(length - np.mod(x - low, 2 * length)))
    if np.isfinite(low):
        return np.asarray(low + np.abs(x - low))
    return np.asarray(high - np.abs(high - x)) if np.isfinite(high) else x
