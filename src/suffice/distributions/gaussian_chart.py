r"""What rows tell of means and covariances: coordinates of every structure, with closed derivatives.

Around the estimate, Σ = A T Aᵀ with A Aᵀ the estimate and T = 1 there, and the mean is μ + A m. Where nothing restricts
a covariance, T = 1 + S with S symmetric. Else T = V^{-½} e^K V e^δ e^{-K} V^{-½} in the frame of the axes: δ are
logarithms of variances, and K turns the axes. A structure only says which of these components share: its coordinates z
are linear in them, u_k = L_k z.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.distributions.gaussian_missing import Patterns
from suffice.engines.once import cached_property
from suffice.errors import UnsupportedError
from suffice.types import Array
from suffice.uncertainty.information import Chart, Knowledge, Score

MOST = 1 << 27  # numbers that the slopes, or the information, may take: a gigabyte


@dataclass(frozen=True)
class LocalFrame:
    """Local coordinates of one component: m (d), then those of T, with ∂T/∂u (q, d, d) and the frame A."""

    mean: Array
    root: Array  # A
    slopes: Array  # (q, d, d)
    turns: Array  # (angles, d, d): ∂K/∂θ, the last of the coordinates; none where T is linear
    spectrum: Array | None = None  # V, where T is not linear

    @property
    def d(self) -> int:
        """Columns."""
        return len(self.mean)

    def score(self, y: Array, whole: Array) -> Array:
        """Derivatives (n, d + q) of rows whose whitened residues are y = AᵀΣ⁻¹(x − μ) and whose AᵀΣ⁻¹A is ``whole``."""
        q, d = len(self.slopes), self.d
        flat = self.slopes.reshape(q, d * d)
        squares = (y[:, :, None] * y[:, None, :]).reshape(len(y), d * d)
        return np.concatenate([y, 0.5 * (squares - whole.ravel()) @ flat.T], axis=1)

    def curvature(self, weight: Array, first: Array, second: Array, whole: Array) -> Array:
        """−∂² of Σ w log p, (d + q, d + q), from Σ w, Σ w y, Σ w yyᵀ and AᵀΣ⁻¹A of groups of rows, (g, …).

        It is linear in the products of what groups have, so that these are added before any slope is looked at.
        """
        d, q, g = self.d, len(self.slopes), len(weight)
        out = np.zeros((d + q, d + q))
        seen = np.tensordot(weight, whole, axes=1)
        out[:d, :d] = seen
        flat, cells = self.slopes.reshape(q, d * d), whole.reshape(g, d * d)
        out[d:, :d] = flat @ (first.T @ cells).reshape(d * d, d)  # Σ firstᵀ T G m
        out[:d, d:] = out[d:, :d].T
        middle = (second - 0.5 * weight[:, None, None] * whole).reshape(g, d * d)
        pairs = (middle.T @ cells).reshape(d, d, d, d).transpose(1, 2, 0, 3)  # Σ M[i, k] G[l, j], as (k, l), (i, j)
        outer = flat @ pairs.reshape(d * d, d * d) @ flat.T
        out[d:, d:] = 0.5 * (outer + outer.T)
        if self.spectrum is not None:
            out[d:, d:] += 0.5 * self._bend(seen - second.sum(axis=0))
        return out

    def _bend(self, slope: Array) -> Array:
        """tr(slope · ∂²T/∂u∂u′), (q, q), where T = V^{-½} e^K V e^δ e^{-K} V^{-½}."""
        v, d, q = np.asarray(self.spectrum), self.d, len(self.slopes)
        inside = slope / np.sqrt(v[:, None] * v)
        out = np.zeros((q, q))
        out[:d, :d] = np.diag(np.diag(slope))
        if len(self.turns):
            pulled = inside @ self.turns - self.turns @ inside  # [Z, K]
            turned = self.turns * v - v[:, None] * self.turns  # [K, V]
            both = np.einsum("aij,bji->ab", pulled, turned)
            out[d:, d:] = 0.5 * (both + both.T)
            out[d:, :d] = np.einsum("aii->ai", pulled) * v  # tr(Z [K, V E_aa])
            out[:d, d:] = out[d:, :d].T
        return out

    def covariance(self, u: Array) -> Array:
        """∂Σ (…, d, d) along directions (…, q) of T's coordinates."""
        return np.asarray(self.root @ np.tensordot(u, self.slopes, axes=1) @ self.root.T)


def _symmetric(d: int) -> Array:
    """A basis of the symmetric matrices, (d(d+1)/2, d, d)."""
    rows, columns = np.triu_indices(d)
    basis = np.zeros((len(rows), d, d))
    basis[np.arange(len(rows)), rows, columns] = basis[np.arange(len(rows)), columns, rows] = 1.0
    return basis


def _skew(d: int) -> Array:
    rows, columns = np.triu_indices(d, 1)
    basis = np.zeros((len(rows), d, d))
    basis[np.arange(len(rows)), rows, columns] = 1.0
    basis[np.arange(len(rows)), columns, rows] = -1.0
    return basis


class GaussianChart(Chart):
    """The chart of a stack of multivariate normals."""

    def __init__(self, stack: Any) -> None:
        """Number the coordinates: means, then log-variances, then angles or symmetric entries."""
        self.stack = stack
        mean, cov = np.asarray(stack.mean), np.asarray(stack.cov)
        self.k, self.d = mean.shape
        form = stack.form
        self.free_cov = "cov" in stack.free
        self._check_width(form.letters)
        linear = form.letters in {"VVV", "EEE"} or not self.free_cov
        self.frames = (
            [self._linear(*one) for one in zip(mean, cov, strict=True)] if linear else self._composed(mean, cov)
        )
        self.size = 0
        self.maps: list[list[tuple[Array, Array, Array]]] = [[] for _ in range(self.k)]  # rows of u, columns of z, L
        if "mean" in stack.free:
            self._add_means()
        if self.free_cov and linear:
            entries = len(self.frames[0].slopes)
            self._add(np.arange(entries) + self.d, entries, shared=form.letters[0] == "E")
        elif self.free_cov:
            self._add_spectrum(form.letters)
            if form.letters[2] != "I" and self.d > 1:
                angles = len(self.frames[0].turns)
                self._add(np.arange(angles) + 2 * self.d, angles, shared=form.letters[2] == "E")

    def _check_width(self, letters: str) -> None:
        """Refuse what would take more memory than there is, before it is made."""
        d = self.d
        entries = d * (d + 1) // 2 if letters[2] != "I" and self.free_cov else d
        if max(entries * d**2, (self.stack.n_parameters + self.k) ** 2) > MOST:
            msg = (
                f"standard errors of the {self.stack.n_parameters:,} parameters of {d:,} columns need an information "
                "matrix that is too large. Ask for fewer columns, or use independent ones (Normal)."
            )
            raise UnsupportedError(msg)

    def _linear(self, mean: Array, cov: Array) -> LocalFrame:
        spread = np.sqrt(np.diag(cov))
        root = spread[:, None] * np.linalg.cholesky(cov / np.outer(spread, spread))
        slopes = _symmetric(self.d) if self.free_cov else np.zeros((0, self.d, self.d))
        return LocalFrame(mean, root, slopes, np.zeros((0, self.d, self.d)))

    def _composed(self, mean: Array, cov: Array) -> list[LocalFrame]:
        form, d = self.stack.form, self.d
        vectors, values = form.axes(cov)
        values = np.maximum(values, np.finfo(float).eps * values.max(axis=1, keepdims=True))  # rounding may leave none
        turns = _skew(d) if form.letters[2] != "I" else np.zeros((0, d, d))
        stretch = np.zeros((d, d, d))
        stretch[np.arange(d), np.arange(d), np.arange(d)] = 1.0
        frames = []
        for one, axes, v in zip(mean, vectors, values, strict=True):
            turned = (turns * v - v[:, None] * turns) / np.sqrt(v[:, None] * v)
            frames.append(LocalFrame(one, axes * np.sqrt(v), np.concatenate([stretch, turned]), turns, v))
        return frames

    def _take(self, count: int) -> Array:
        self.size += count
        return np.arange(self.size - count, self.size)

    def _add(self, rows: Array, count: int, *, shared: bool) -> None:
        columns = self._take(count) if shared else None
        for own in self.maps:
            own.append((rows, self._take(count) if columns is None else columns, np.eye(count)))

    def _add_means(self) -> None:
        if "mean" not in self.stack.tied:
            self._add(np.arange(self.d), self.d, shared=False)
            return
        columns, scale = self._take(self.d), np.sqrt(np.diag(self.stack.cov[0]))
        for own, frame in zip(self.maps, self.frames, strict=True):
            own.append((np.arange(self.d), columns, np.linalg.inv(frame.root) * scale))

    def _add_spectrum(self, letters: str) -> None:
        """Logarithms of the variances: a volume, and contrasts of a shape, each shared or not."""
        d, rows = self.d, np.arange(self.d) + self.d
        volume = self._take(1) if letters[0] == "E" else self._take(self.k)
        for index, own in enumerate(self.maps):
            own.append((rows, volume[:1] if letters[0] == "E" else volume[index : index + 1], np.ones((d, 1))))
        if letters[1] == "I" or d == 1:
            return
        contrasts = np.linalg.qr(np.column_stack([np.ones(d), np.eye(d)[:, 1:]]))[0][:, 1:]
        shape = self._take(d - 1) if letters[1] == "E" else None
        for own in self.maps:
            own.append((rows, self._take(d - 1) if shape is None else shape, contrasts))

    @cached_property
    def links(self) -> list[tuple[Array, Array]]:
        """Of each component the coordinates z that move it, and u = L z."""
        found = []
        for own, frame in zip(self.maps, self.frames, strict=True):
            columns = np.concatenate([part[1] for part in own]) if own else np.zeros(0, int)
            link, begin = np.zeros((self.d + len(frame.slopes), len(columns))), 0
            for rows, part, matrix in own:
                link[rows[:, None], begin + np.arange(len(part))] += matrix
                begin += len(part)
            found.append((columns, link))
        return found

    def patterns(self, rows: Array) -> list[tuple[Array, Array]]:
        """Groups of rows that have the same cells: their numbers, and the cells."""
        if not np.isnan(rows).any():
            return [(np.arange(len(rows)), np.arange(self.d))]
        return Patterns.of(rows).unstacked

    def _residues(self, index: int, x: Array, cells: Array) -> tuple[Array, Array]:
        """AᵀΣ⁻¹(x − μ) of rows with these cells, and AᵀΣ⁻¹A."""
        frame = self.frames[index]
        a = frame.root[cells]
        if len(cells) == self.d:
            return np.linalg.solve(a, (x - frame.mean).T).T, np.eye(self.d)
        half = np.linalg.solve(a @ a.T, a)
        return (x[:, cells] - frame.mean[cells]) @ half, a.T @ half

    def scores(self, rows: Any) -> list[Score]:
        found = []
        for index, (columns, link) in enumerate(self.links):
            out = np.zeros((len(rows), len(columns)))
            for where, cells in self.patterns(rows):
                y, whole = self._residues(index, rows[where], cells)
                out[where] = self.frames[index].score(y, whole) @ link
            found.append((columns, out))
        return found

    def curvature(self, rows: Any, weights: Array) -> Array:
        total = np.zeros((self.size, self.size))
        groups = self.patterns(rows)
        for index, (columns, link) in enumerate(self.links):
            found = [self._gathered(index, rows[where], weights[where, index], cells) for where, cells in groups]
            if found:
                bent = self.frames[index].curvature(*map(np.stack, zip(*found, strict=True)))
                total[np.ix_(columns, columns)] += link.T @ bent @ link
        return total

    def _gathered(self, index: int, x: Array, w: Array, cells: Array) -> tuple[Array, Array, Array, Array]:
        """What the curvature needs of rows with these cells."""
        y, whole = self._residues(index, x, cells)
        return w.sum(), w @ y, y.T @ (w[:, None] * y), whole

    def gradient(self, rows: Any, weights: Array) -> dict[Any, Any]:
        """In closed form; of a covariance the part along which its structure lets it move, G with d log L = Σ G dΣ."""
        d, total = self.d, np.zeros(self.size)
        for index, (columns, score) in enumerate(self.scores(rows)):
            w = weights[:, index]
            total[columns] += w[w > 0] @ score[w > 0]
        mean, cov = np.zeros((self.k, d)), np.zeros((self.k, d, d))
        for index, (frame, (columns, link)) in enumerate(zip(self.frames, self.links, strict=True)):
            if "mean" in self.stack.free:
                mean[index] = np.linalg.pinv((frame.root @ link[:d]).T) @ total[columns]
            if self.free_cov:
                moved = frame.covariance(link[d:].T).reshape(len(columns), d * d)
                slope = (np.linalg.pinv(moved) @ total[columns]).reshape(d, d)
                cov[index] = 0.5 * (slope + slope.T)
        return {"mean": mean, "cov": cov}

    def errors(self, known: Knowledge) -> dict[Any, Any]:
        d = self.d
        mean, cov = np.zeros((self.k, d)), np.zeros((self.k, d, d))
        for index, (frame, (columns, link)) in enumerate(zip(self.frames, self.links, strict=True)):
            if "mean" in self.stack.free:
                mean[index] = known.spread(frame.root @ link[:d], columns)
            if self.free_cov:
                moved = frame.covariance(link[d:].T).reshape(len(columns), d * d)
                cov[index] = known.spread(moved.T, columns).reshape(d, d)
        return {"mean": mean, "cov": cov}
