"""Parameters as unbounded coordinates, and where in them a density has its bulk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from suffice.core.parameters import Domain
from suffice.numerics import derivatives
from suffice.numerics.lazy import special
from suffice.types import Array

LogDensity = Callable[[Array], Array]  # points (N, p) → (N,)
FAR = 150.0  # log of the largest scale, and of 1 / the smallest: squares of ratios are still floats


@dataclass(frozen=True)
class Axis:
    """One parameter as an unbounded coordinate: u = θ, log(θ − low), −log(high − θ) or logit, by its domain."""

    name: str
    domain: Domain

    @property
    def bounded(self) -> tuple[bool, bool]:
        """Whether the domain ends below and above."""
        return bool(np.isfinite(self.domain.low)), bool(np.isfinite(self.domain.high))

    @property
    def limits(self) -> tuple[float, float]:
        """The ends of u: beyond them floats cannot tell the parameter from its bound, or from infinity."""
        finest = [690.0 if bound == 0 else 36.0 for bound in (self.domain.low, self.domain.high)]
        return {
            (False, False): (-1e150, 1e150),
            (True, False): (-min(finest[0], FAR), FAR),
            (False, True): (-FAR, min(finest[1], FAR)),
            (True, True): (-finest[0], finest[1]),
        }[self.bounded]

    def value(self, u: Array) -> Array:
        """θ of the coordinate."""
        low, high = self.domain.low, self.domain.high
        if self.bounded == (True, True):
            span = high - low
            return np.asarray(np.where(u < 0, low + span * special.expit(u), high - span * special.expit(-u)))
        if self.bounded == (True, False):
            return low + np.exp(u)
        return high - np.exp(-u) if self.bounded == (False, True) else u

    def log_slope(self, u: Array) -> Array:
        """Log dθ/du."""
        if self.bounded == (True, True):
            span = np.log(self.domain.high - self.domain.low)
            return np.asarray(span + special.log_expit(u) + special.log_expit(-u))
        if self.bounded == (True, False):
            return u
        return -u if self.bounded == (False, True) else np.zeros(np.shape(u))

    def coordinate(self, theta: float) -> float:
        """U of a value, kept inside the limits."""
        low, high = self.domain.low, self.domain.high
        with np.errstate(all="ignore"):
            below = np.log(theta - low) if self.bounded[0] else 0.0
            above = np.log(high - theta) if self.bounded[1] else 0.0
        u = below - above if any(self.bounded) else theta
        return float(np.clip(u, *self.limits))

    def ladder(self, count: int) -> Array:
        """Coordinates at which to look for the bulk."""
        if self.bounded == (False, False):
            steps = np.geomspace(1e-9, 1e15, count // 2)
            return np.concatenate([-steps[::-1], steps])
        low, high = self.limits
        middle = np.linspace(max(low, -45.0), min(high, 45.0), count)
        return np.unique([low, *np.linspace(low, middle[0], 30), *middle, *np.linspace(middle[-1], high, 30), high])


@dataclass(frozen=True)
class Space:
    """The free parameters as coordinates."""

    axes: tuple[Axis, ...]

    @property
    def size(self) -> int:
        """Number of parameters."""
        return len(self.axes)

    def values(self, u: Array) -> Array:
        """Parameters (N, p) of coordinates (N, p)."""
        return np.stack([axis.value(u[:, i]) for i, axis in enumerate(self.axes)], axis=1)

    def log_slope(self, u: Array) -> Array:
        """Log |dθ/du|, (N,)."""
        return np.asarray(sum(axis.log_slope(u[:, i]) for i, axis in enumerate(self.axes)))

    def coordinates(self, theta: Array) -> Array:
        """Coordinates of one point."""
        return np.array([axis.coordinate(float(value)) for axis, value in zip(self.axes, theta, strict=True)])

    def lift(self, log_density: LogDensity) -> LogDensity:
        """A density of the parameters as a density of the coordinates."""
        return lambda u: log_density(self.values(u)) + self.log_slope(u)


@dataclass(frozen=True)
class Bulk:
    """Where a density of the coordinates is high, and on which length it falls."""

    centre: Array
    scale: Array
    log_peak: float


def find_bulk(log_g: LogDensity, space: Space, starts: list[Array]) -> Bulk:
    """The highest point that ladders, given points and then a search find, with the spread around it."""
    best = maximise_from(log_g, space, candidates(space, starts))
    log_peak = float(log_g(best[None])[0])
    width = np.array([_width(log_g, best, j, space.axes[j]) for j in range(space.size)])
    if space.size > 1 and np.isfinite(log_peak):
        width = _marginal_width(log_g, best, width)
    return Bulk(best, width, log_peak)


def candidates(space: Space, starts: list[Array]) -> Array:
    """Points at which to look for the bulk: the starts, and a ladder along every axis."""
    count = {1: 4000, 2: 80, 3: 26}[space.size]
    grid = np.stack(np.meshgrid(*(axis.ladder(count) for axis in space.axes), indexing="ij"), axis=-1)
    found = [grid.reshape(-1, space.size)]
    reach = np.concatenate([-np.geomspace(1e-9, 1e3, 60)[::-1], [0.0], np.geomspace(1e-9, 1e3, 60)])
    for start in starts:
        for j in range(space.size):
            near = np.repeat(start[None], len(reach), axis=0)
            near[:, j] = np.clip(start[j] + reach * max(1.0, abs(start[j])), *space.axes[j].limits)
            found.append(near)
    return np.concatenate(found)


def maximise_from(log_g: LogDensity, space: Space, candidates: Array) -> Array:
    """The best of the candidates, improved: by zooming in one dimension, else by a simplex search."""
    values = log_g(candidates)
    best: Array = candidates[int(np.argmax(values))]
    if not np.isfinite(values.max()):
        return best
    if space.size == 1:
        return _zoom(log_g, np.unique(candidates))
    from scipy.optimize import minimize

    for _ in range(2):
        width = np.array([_width(log_g, best, j, space.axes[j]) for j in range(space.size)])
        simplex = np.concatenate([best[None], best + np.diag(width)])
        limits = np.array([axis.limits for axis in space.axes])
        found = minimize(
            lambda u, limits=limits: -float(log_g(np.clip(u, limits[:, 0], limits[:, 1])[None])[0]),
            best,
            method="Nelder-Mead",
            options={"initial_simplex": simplex, "xatol": 1e-10 * width.min(), "fatol": 1e-12, "maxfev": 2000},
        )
        best = np.asarray(np.clip(found.x, limits[:, 0], limits[:, 1]))
    return np.asarray(best)


def _zoom(log_g: LogDensity, grid: Array) -> Array:
    """The highest point of a function of one coordinate, by ever finer grids around the best point."""
    for _ in range(11):
        at = int(np.argmax(log_g(grid[:, None])))
        best, left, right = grid[at], grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)]
        grid = np.unique(np.concatenate([np.linspace(left, best, 33), np.linspace(best, right, 33)]))
    return np.array([grid[int(np.argmax(log_g(grid[:, None])))]])


def _width(log_g: LogDensity, at: Array, j: int, axis: Axis) -> float:
    """How far along one axis the density stays within e⁻² of its peak."""
    steps = np.geomspace(1e-12, 1e8, 241) * max(1.0, abs(at[j]))
    log_peak = float(log_g(at[None])[0])
    reached = []
    for side in (-1.0, 1.0):
        points = np.repeat(at[None], len(steps), axis=0)
        points[:, j] = np.clip(at[j] + side * steps, *axis.limits)
        low = ~(log_g(points) > log_peak - 2.0)
        reached.append(steps[int(np.argmax(low))] if low.any() else steps[-1])
    span = axis.limits[1] - axis.limits[0]
    return float(min(max(reached) / 2, span / 8))


def _marginal_width(log_g: LogDensity, at: Array, width: Array) -> Array:
    """The spread of each coordinate when the others move along, where the curvature tells it."""
    step = 0.2 * width

    def g(v: Array) -> Array:
        return log_g(at + v * step)

    p = len(at)
    eye = np.eye(p)
    points = [eye[i] * a + eye[j] * b for i in range(p) for j in range(p) for a in (1, -1) for b in (1, -1)]
    values = g(np.array(points)).reshape(p, p, 4)
    with np.errstate(invalid="ignore"):  # −inf beyond a jump
        curvature = -(values[..., 0] - values[..., 1] - values[..., 2] + values[..., 3]) / 4
    if np.isfinite(curvature).all() and (np.linalg.eigvalsh(curvature) > 0).all():
        joint = np.sqrt(np.diag(np.linalg.inv(curvature))) * step
        return np.asarray(np.clip(joint, width / 2, 100 * width))
    return width


def polish(log_g: LogDensity, at: Array, scale: Array) -> Array:
    """Newton's steps towards a smooth maximum, kept where they do not lower it; jumps and kinks stay as found."""
    best, log_peak = at, float(log_g(at[None])[0])
    p = len(at)
    reach = 0.04 * scale / derivatives.STEP  # steps of a share of the spread: rounding then spoils nothing

    def g(points: Array) -> Array:
        return log_g(points.reshape(-1, p)).reshape(points.shape[:-1])

    for _ in range(6):
        with np.errstate(invalid="ignore"):  # −inf beyond a jump
            slope = np.array([_slope(g, best, j, reach[j]) for j in range(p)])
            bend = derivatives.hessian(g, best, reach)
        curved = np.isfinite(bend).all() and np.isfinite(slope).all()
        if not curved or not (np.linalg.eigvalsh(-bend * np.outer(scale, scale)) > 1e-4).all():
            break
        step = np.linalg.solve(-bend, slope)
        trial = best + step
        value = float(log_g(trial[None])[0])
        if (np.abs(step) > 0.5 * scale).any() or not value >= log_peak - 1e-14 * (1 + abs(log_peak)):
            break
        best, log_peak = trial, max(log_peak, value)
        if (np.abs(step) < 1e-13 * scale).all():
            break
    return best


def _slope(g: LogDensity, at: Array, j: int, reach: float) -> float:
    """The derivative along one axis."""
    along = np.eye(len(at))[j]
    return float(derivatives.first_derivative(lambda v: g(at + v * along), np.zeros(1), np.array([reach]))[0])
