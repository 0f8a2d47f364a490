"""Beliefs of any shape: a prior density of one to three parameters, updated by adaptive quadrature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import special

from suffice.core import calculus
from suffice.core.adaptive import Nested, Panels
from suffice.core.distribution import Alert, Distribution
from suffice.core.em import climb
from suffice.core.errors import ParameterError, SufficeError, UnsupportedError
from suffice.core.likelihood import CELLS, Score, column_log_prob, score_of_rows, score_of_statistics
from suffice.core.parameters import Array, Domain

LogDensity = Callable[[Array], Array]  # points (N, p) → (N,)

MOST = 3  # parameters that a density may speak of
# Edges of the first panels, in units of the bulk: u = centre + scale·sinh(t).
EDGES = {
    1: (0.25, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 14, 20, 30, 45, 70, 100, 150, 220, 300),
    2: (0.5, 1, 2, 3, 4, 6, 10, 20, 45, 100, 300),
    3: (1.5, 3, 6, 20, 200),
}
ORDER = {1: 20, 2: 20, 3: 16}
FAR = 150.0  # log of the largest scale, and of 1 / the smallest: squares of ratios are still floats
# Of the interpolant; where it is smooth its integral is right to about the square.
TOLERANCES = {1: (1e-14,), 2: (1e-9, 1e-10), 3: (1e-5, 1e-6, 1e-6)}


# ---- coordinates ----------------------------------------------------------------------------------------------------
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
    height: float


def find_bulk(log_g: LogDensity, space: Space, starts: list[Array]) -> Bulk:
    """The highest point that ladders, given points and then a search find, with the spread around it."""
    best = _climb_to(log_g, space, _candidates(space, starts))
    height = float(log_g(best[None])[0])
    width = np.array([_width(log_g, best, j, space.axes[j]) for j in range(space.size)])
    if space.size > 1 and np.isfinite(height):
        width = _marginal_width(log_g, best, width)
    return Bulk(best, width, height)


def _candidates(space: Space, starts: list[Array]) -> Array:
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


def _climb_to(log_g: LogDensity, space: Space, candidates: Array) -> Array:
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
    """How far along one axis the density stays within e⁻² of its height."""
    steps = np.geomspace(1e-12, 1e8, 241) * max(1.0, abs(at[j]))
    height = float(log_g(at[None])[0])
    reached = []
    for side in (-1.0, 1.0):
        points = np.repeat(at[None], len(steps), axis=0)
        points[:, j] = np.clip(at[j] + side * steps, *axis.limits)
        low = ~(log_g(points) > height - 2.0)
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


# ---- the densities --------------------------------------------------------------------------------------------------
def of_function(prior: Callable[..., Any], names: tuple[str, ...]) -> LogDensity:
    """The log of a user's density, with every answer checked."""

    def log_density(theta: Array) -> Array:
        columns = [np.ascontiguousarray(theta[:, i]) for i in range(theta.shape[1])]
        with np.errstate(all="ignore"):
            values = _called(prior, columns, names)
        wrong = np.isnan(values) | (values < 0) | np.isposinf(values)
        if wrong.any():
            at = int(np.argmax(wrong))
            place = ", ".join(f"{name} = {theta[at, i]:.6g}" for i, name in enumerate(names))
            rule = "a density is a finite number of at least 0"
            msg = f"the prior is {values[at]:g} at {place}, but {rule}. Mend it there, for instance with np.where."
            raise ParameterError(msg)
        with np.errstate(divide="ignore"):
            return np.log(values)

    return log_density


def _called(prior: Callable[..., Any], columns: list[Array], names: tuple[str, ...]) -> Array:
    signature = f"({', '.join(names)})"
    remedy = "It gets arrays and returns an array of that length: write np.where for if, np.exp for math.exp."
    try:
        values = np.asarray(prior(*columns), dtype=float)
    except SufficeError:
        raise
    except Exception as error:
        msg = f"the prior could not be called with arrays of {signature}: {error}. {remedy}"
        raise ParameterError(msg) from error
    count = len(columns[0])
    if values.shape == (count,):
        return values
    if values.ndim == 0:  # a constant is the one density that may forget the shape of its argument
        halves = [np.asarray(prior(*(c[:1] for c in columns))), np.asarray(prior(*(c[-1:] for c in columns)))]
        if all(half.ndim == 0 and half == values for half in halves):
            return np.full(count, float(values))
    msg = f"the prior returned an array of shape {values.shape} for {count} values of {signature}. {remedy}"
    raise ParameterError(msg)


def of_candidates(model: Any, score: Score) -> LogDensity:
    """The log-likelihood as a function of the free parameters."""

    def log_likelihood(theta: Array) -> Array:
        try:
            stack = at_points(model, theta)
        except ParameterError as error:
            msg = f"the prior is positive where the parameters do not go together. {error} Let it be 0 there: np.where."
            raise ParameterError(msg) from error
        return score(stack)

    return log_likelihood


def at_points(model: Any, theta: Array) -> Any:
    """The likelihood as a stack, one member for each row of parameters."""
    return replace(model.stack(len(theta)), **{name: theta[:, i, None] for i, name in enumerate(model.free)})


# ---- integration ----------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Integral:
    """A density of the coordinates, integrated axis by axis in the given order."""

    space: Space
    bulk: Bulk
    rule: Nested
    panels: Panels
    order: tuple[int, ...]

    @property
    def log_total(self) -> float:
        """The log of the integral."""
        total = float(self.panels.masses.sum())
        return self.rule.peak + float(np.log(total)) if total > 0 else -np.inf

    @property
    def error(self) -> float:
        """What the panels leave in doubt, relative to the integral."""
        total = float(self.panels.masses.sum())
        return self.panels.error / total if total > 0 else np.inf

    def points(self, t: Array) -> Array:
        """Parameters (N, p), in their own order, of nodes in the order of integration."""
        u = np.empty_like(t)
        for i, j in enumerate(self.order[: t.shape[1]]):
            u[:, j] = _unfold(t[:, i], self.bulk, j, self.space.axes[j])
        return self.space.values(u)

    def marginal(self, t: Array) -> Array:
        """Values of the first axis."""
        j = self.order[0]
        return self.space.axes[j].value(_unfold(t, self.bulk, j, self.space.axes[j]))


def _unfold(t: Array, bulk: Bulk, j: int, axis: Axis) -> Array:
    return np.asarray(np.clip(bulk.centre[j] + bulk.scale[j] * np.sinh(t), *axis.limits))


def integrate(
    log_g: LogDensity, space: Space, bulk: Bulk, others: tuple[Bulk, ...] = (), first: int = 0, loose: float = 1.0
) -> Integral:
    """Integrate a density of the coordinates with axis ``first`` outermost."""
    order = (first, *(j for j in range(space.size) if j != first))
    edges = []
    for j in order:
        low, high = (float(np.arcsinh((u - bulk.centre[j]) / bulk.scale[j])) for u in space.axes[j].limits)
        inner = [side * t for t in EDGES[space.size] for side in (-1.0, 1.0)]
        extra = [
            float(np.arcsinh((one.centre[j] + k * one.scale[j] - bulk.centre[j]) / bulk.scale[j]))
            for one in others
            for k in ((-8, -2, -0.5, 0, 0.5, 2, 8) if space.size == 1 else (0,))
        ]
        ends = np.unique([low, *(t for t in (0.0, *inner, *extra) if low < t < high), high])
        edges.append(ends[np.concatenate([[True], np.diff(ends) > 1e-9])])

    def log_f(t: Array) -> Array:
        u = np.empty_like(t)
        for i, j in enumerate(order):
            u[:, j] = _unfold(t[:, i], bulk, j, space.axes[j])
        stretch = np.log(np.cosh(t)).sum(axis=1) + np.log(bulk.scale).sum()
        return np.asarray(log_g(u) + stretch)

    # What rounding leaves of the digits of the log density, and of the parameters far from the origin.
    noise = np.finfo(float).eps * max(8 * abs(bulk.height), 4 * float(np.abs(bulk.centre / bulk.scale).max()))
    tolerances = tuple(loose * max(tolerance, noise) for tolerance in TOLERANCES[space.size])
    peak = bulk.height + float(np.log(bulk.scale).sum())
    nested = Nested(log_f, edges, peak, ORDER[space.size], tolerances)
    return Integral(space, bulk, nested, nested.panels(np.zeros((1, 0))), order)


def refuse_improper(log_g: LogDensity, space: Space, bulk: Bulk) -> float:
    """Refuse a prior that does not fall off at the ends of an axis, where it must for its integral to be finite.

    Returns the log of what lies beyond the ends, where floats cannot follow.
    """
    beyond = -np.inf
    for j, axis in enumerate(space.axes):
        for side in (0, 1):
            end, bound = axis.limits[side], (axis.domain.low, axis.domain.high)[side]
            straight = axis.bounded == (False, False)
            back = end * np.exp(-8.0) if straight else end - (8.0 if side else -8.0)
            points = np.repeat(bulk.centre[None], 2, axis=0)
            points[:, j] = end, back
            outer, inner = log_g(points) + (np.log(np.abs([end, back])) if straight else 0.0)
            if outer > -np.inf and outer - inner > -0.02:
                where = f"as {axis.name} goes to {bound:g}"
                msg = (
                    f"the integral of the prior diverges: it does not fall off {where}. "
                    "Give a proper density: bound it, or multiply it by one that falls off."
                )
                raise ParameterError(msg)
            if outer > -np.inf:
                beyond = max(beyond, float(outer - np.log((inner - outer) / 8)))
    return beyond


# ---- the posterior --------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False, repr=False)
class DensityPosterior:
    """What is believed of one to three parameters after the data, from a prior density of any shape.

    Where prior and likelihood are smooth the answers are right to about 1e-10; where they jump, to 1e-10 for one
    parameter, 1e-8 for two and 1e-6 for three.

    It has the face of :class:`suffice.Posterior`, and is itself a density: it is accepted wherever a prior is.
    Answers about one parameter are numbers or arrays; about several, dictionaries by parameter name.
    """

    likelihood: Any
    prior: Any
    log_likelihood: LogDensity = field(repr=False)
    space: Space = field(repr=False)
    starts: tuple[Array, ...] = field(repr=False, default=())

    def __post_init__(self) -> None:
        """Look at the prior, so that a wrong one is refused at once."""
        _ = self._beyond
        if not np.isfinite(self.bulk.height):
            names = ", ".join(self.names)
            msg = (
                f"prior and data exclude each other: no value of ({names}) was found that has a positive prior density "
                "and a positive likelihood. Widen the prior."
            )
            raise ParameterError(msg)

    # ---- the parts of Bayes' rule ---------------------------------------------------------------------------------
    @property
    def names(self) -> tuple[str, ...]:
        """The parameters that the belief speaks of."""
        return tuple(axis.name for axis in self.space.axes)

    @cached_property
    def _log_prior(self) -> LogDensity:
        if isinstance(self.prior, DensityPosterior):
            return self.prior.log_density
        if callable(self.prior):
            return of_function(self.prior, self.names)
        belief = getattr(self.prior, "belief", self.prior)
        return lambda theta: np.asarray(belief.log_prob(theta[:, 0]))

    @cached_property
    def _prior_bulk(self) -> Bulk:
        if isinstance(self.prior, DensityPosterior):
            return self.prior.bulk
        bulk = find_bulk(self.space.lift(self._log_prior), self.space, list(self.starts))
        if not np.isfinite(bulk.height):
            msg = (
                f"the prior is 0 at every value of ({', '.join(self.names)}) that was tried. "
                "Check its range, and that it returns a density and not its logarithm."
            )
            raise ParameterError(msg)
        return bulk

    @cached_property
    def _beyond(self) -> float:
        return refuse_improper(self.space.lift(self._log_prior), self.space, self._prior_bulk)

    @cached_property
    def _log_prior_total(self) -> float:
        """The log of the prior's integral: 0 for a density."""
        if not callable(self.prior) or isinstance(self.prior, DensityPosterior):
            return 0.0
        return integrate(self.space.lift(self._log_prior), self.space, self._prior_bulk).log_total

    def _log_joint(self, theta: Array) -> Array:
        """Log prior (as given) + log-likelihood."""
        prior = self._log_prior(theta)
        possible = prior > -np.inf
        out = np.full(len(theta), -np.inf)
        if possible.any():
            out[possible] = prior[possible] + self.log_likelihood(theta[possible])
        return out

    @cached_property
    def bulk(self) -> Bulk:
        """Where the belief is, in coordinates."""
        starts = [*self.starts, self._prior_bulk.centre]
        return find_bulk(self.space.lift(self._log_joint), self.space, starts)

    @cached_property
    def _integral(self) -> Integral:
        return self._marginal(0)

    def _marginal(self, axis: int, loose: float = 1.0) -> Integral:
        done = self.__dict__.setdefault("_marginals", {})
        if (axis, loose) not in done:
            lifted = self.space.lift(self._log_joint)
            done[axis, loose] = integrate(lifted, self.space, self.bulk, (self._prior_bulk,), axis, loose)
        found: Integral = done[axis, loose]
        return found

    @cached_property
    def _nodes(self) -> tuple[Array, Array]:
        """Parameters (N, p) and their shares: the belief as a fine mixture of points."""
        t, shares = self._integral.rule.all_nodes(self._integral.panels)
        return self._integral.points(t), shares

    # ---- answers ----------------------------------------------------------------------------------------------------
    def _answer(self, values: Any) -> Any:
        return values[0] if self.space.size == 1 else dict(zip(self.names, values, strict=True))

    @property
    def log_evidence(self) -> float:
        """Log ∫ likelihood × prior, the prior normalised."""
        return self._integral.log_total - self._log_prior_total

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        theta, shares = self._nodes
        mean = shares @ theta
        return mean, np.sqrt(shares @ np.square(theta - mean))

    @property
    def mean(self) -> Any:
        """The expected parameter."""
        return self._answer(self._moments[0].tolist())

    @property
    def std(self) -> Any:
        """The standard deviation of the parameter."""
        return self._answer(self._moments[1].tolist())

    @property
    def mode(self) -> Any:
        """The most probable parameter: the MAP estimate."""
        return self._answer(self._peak[0].tolist())

    @cached_property
    def _peak(self) -> tuple[Array, str | None]:
        """The mode, and the parameter (if any) whose bound it touches."""

        def log_g(u: Array) -> Array:
            return self._log_joint(self.space.values(u))

        starts = [self.bulk.centre, *self.starts]
        best = _climb_to(log_g, self.space, _candidates(self.space, starts))
        height, central = log_g(np.stack([best, self.bulk.centre]))
        if central >= height - 1e-12 * (1 + abs(height)):  # flat: any point is a mode, the middle one is told
            best = self.bulk.centre
        best = _polish(log_g, best, self.bulk.scale)
        theta, height = self.space.values(best[None])[0], float(log_g(best[None])[0])
        touched = None
        for j, axis in enumerate(self.space.axes):
            for side, bound in enumerate((axis.domain.low, axis.domain.high)):
                if not np.isfinite(bound):
                    continue
                near = abs(best[j]) > 30.0 and (best[j] > 0) == bool(side)
                trial = np.where(np.arange(self.space.size) == j, bound, theta)
                value = self._at_bound(trial) if axis.domain.closed[side] else -np.inf
                if value > height + 1e-9 or (near and value >= height - 1e-9):
                    theta, touched = trial, axis.name
                elif near:
                    touched = axis.name
        return theta, touched

    def _at_bound(self, theta: Array) -> float:
        """Log prior + log-likelihood on a bound, where a density may well be infinite or undefined."""
        if callable(self.prior) and not isinstance(self.prior, DensityPosterior):
            with np.errstate(all="ignore"):
                prior = float(np.log(_called(self.prior, [theta[i : i + 1] for i in range(len(theta))], self.names))[0])
        else:
            prior = float(self._log_prior(theta[None])[0])
        value = prior + float(self.log_likelihood(theta[None])[0])
        return -np.inf if np.isnan(value) else value

    def interval(self, level: float = 0.95) -> Any:
        """The central credible interval (low, high) of each parameter by itself."""
        if not 0 < level < 1:
            msg = f"interval needs a level strictly between 0 and 1; got {level!r}."
            raise ParameterError(msg)
        ends = np.array([(1 - level) / 2, (1 + level) / 2])
        found = []
        for j in range(self.space.size):
            whole = self._marginal(j)
            low, high = whole.marginal(whole.panels.quantile(np.zeros(2, int), ends, 1)).tolist()
            found.append((low, high))
        return self._answer(found)

    def marginal_density(self, name: str, values: Any) -> Array:
        """The density of one parameter by itself, the others integrated out."""
        whole, axis = self._marginal(self.names.index(name)), self.space.axes[self.names.index(name)]
        u = np.array([axis.coordinate(float(value)) for value in np.ravel(values)])
        centre, scale = self.bulk.centre[whole.order[0]], self.bulk.scale[whole.order[0]]
        t = np.arcsinh((u - centre) / scale)
        stretch = np.exp(axis.log_slope(u)) * scale * np.cosh(t)
        density = whole.rule.inner(t[:, None]) / float(whole.panels.masses.sum()) / stretch
        return np.asarray(density.reshape(np.shape(values)))

    def sample(self, n: int = 1, random_state: Any = None) -> Any:
        """Draw parameters: (n,), or a dictionary of (n,) arrays."""
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
            msg = f"sample needs a whole number of draws of at least 0; got {n!r}."
            raise ParameterError(msg)
        rng = np.random.default_rng(random_state)
        levels = rng.random((self.space.size, n))
        whole = self._integral if self.space.size == 1 else self._marginal(0, 1e3)
        t = whole.panels.quantile(np.zeros(n, int), levels[0], 1)[:, None]
        for j in range(1, self.space.size):  # each further parameter given those drawn before
            drawn = []
            for i in range(0, n, 256):
                panels = whole.rule.panels(t[i : i + 256])
                count = len(t[i : i + 256])
                drawn.append(panels.quantile(np.arange(count), levels[j, i : i + 256], count))
            t = np.column_stack([t, np.concatenate(drawn)]) if drawn else np.zeros((0, j + 1))
        return self._answer(list(whole.points(t).T))

    def log_density(self, theta: Array) -> Array:
        """Log density of the belief at parameters (N, p); −inf outside their domains."""
        inside = np.all([axis.domain.contains(theta[:, i]) for i, axis in enumerate(self.space.axes)], axis=0)
        out = np.full(len(theta), -np.inf)
        if inside.any():
            out[inside] = self._log_joint(theta[inside]) - self._integral.log_total
        return out

    def log_prob(self, parameter: Any) -> Any:
        """Log density of the belief at a parameter, or at a dictionary of them."""
        values = [parameter[name] for name in self.names] if isinstance(parameter, dict) else [parameter]
        if len(values) != self.space.size:
            msg = f"this belief speaks of {', '.join(self.names)}: give log_prob a dictionary of them."
            raise ParameterError(msg)
        arrays = np.broadcast_arrays(*(np.asarray(value, dtype=float) for value in values))
        out = self.log_density(np.stack([array.ravel() for array in arrays], axis=1)).reshape(arrays[0].shape)
        return float(out) if out.ndim == 0 else out

    def __call__(self, *parameters: Any) -> Any:
        """The density itself, the parameters by position: this belief as a prior."""
        return np.exp(self.log_prob(dict(zip(self.names, parameters, strict=True))))

    def prior_density(self, values: Any) -> Array:
        """The (normalised) prior of a belief about one parameter."""
        points = np.reshape(np.asarray(values, dtype=float), (-1, 1))
        return np.asarray(np.exp(self._log_prior(points) - self._log_prior_total).reshape(np.shape(values)))

    def log_prior(self, learned: Any) -> float:
        """Log density of the (normalised) prior at the parameters of a likelihood."""
        theta = np.array([float(getattr(learned, name)) for name in self.names])
        value = self._at_bound(theta) - float(self.log_likelihood(theta[None])[0])
        return value - self._log_prior_total

    def predictive(self) -> Any:
        """The distribution of a new row, the parameters averaged over the belief."""
        theta, shares = self._nodes
        order = np.argsort(shares)
        order = order[np.cumsum(shares[order]) > 1e-15]
        theta, shares = theta[order], shares[order]
        stack = at_points(self.likelihood, theta)
        if self.likelihood.support.integer and (self.likelihood.support.low, self.likelihood.support.high) == (0, 1):
            # Over 0 and 1 an average of members is a member.
            mean = np.reshape(shares @ np.asarray(stack.mean)[:, 0], (1, 1))
            return self.likelihood.like(replace(self.likelihood.stacked, fixed=frozenset()).from_mean(mean))
        return Averaged(stack, shares)

    def estimate(self) -> Any:
        """The likelihood at the mode of the belief."""
        return replace(self.likelihood, **dict(zip(self.names, self._peak[0].tolist(), strict=True)))

    @cached_property
    def alerts(self) -> tuple[Alert, ...]:
        """What to know before trusting the answers."""
        found: list[Alert] = []
        total = float(np.exp(self._log_prior_total))
        if abs(total - 1) > 1e-6:
            found.append(("normalised", f"the prior integrates to {total:.6g}, not to 1; it was divided by that."))
        if self._peak[1]:
            found.append(("boundary", f"the most probable {self._peak[1]} lies on the boundary of its domain."))
        doubt = max(self._integral.error, float(np.exp(self._beyond - self._log_prior_total)))
        if doubt > max(1e-7, 10 * TOLERANCES[self.space.size][0]):
            found.append(("inexact", f"the quadrature leaves a relative error of about {doubt:.1g}."))
        return tuple(found)

    def __repr__(self) -> str:
        """Show what is believed, and the evidence."""
        mean = ", ".join(f"{name} {m:.4g} ± {s:.2g}" for name, m, s in zip(self.names, *self._moments, strict=True))
        return f"Posterior({mean} of {self.likelihood.name}, log_evidence={self.log_evidence:.6g})"


def _polish(log_g: LogDensity, at: Array, scale: Array) -> Array:
    """Newton's steps towards a smooth maximum, kept where they do not lower it; jumps and kinks stay as found."""
    best, height = at, float(log_g(at[None])[0])
    p = len(at)
    reach = 0.04 * scale / calculus.STEP  # steps of a share of the spread: rounding then spoils nothing

    def g(points: Array) -> Array:
        return log_g(points.reshape(-1, p)).reshape(points.shape[:-1])

    for _ in range(6):
        with np.errstate(invalid="ignore"):  # −inf beyond a jump
            slope = np.array([_slope(g, best, j, reach[j]) for j in range(p)])
            bend = calculus.hessian(g, best, reach)
        curved = np.isfinite(bend).all() and np.isfinite(slope).all()
        if not curved or not (np.linalg.eigvalsh(-bend * np.outer(scale, scale)) > 1e-4).all():
            break
        step = np.linalg.solve(-bend, slope)
        trial = best + step
        value = float(log_g(trial[None])[0])
        if (np.abs(step) > 0.5 * scale).any() or not value >= height - 1e-14 * (1 + abs(height)):
            break
        best, height = trial, max(height, value)
        if (np.abs(step) < 1e-13 * scale).all():
            break
    return best


def _slope(g: LogDensity, at: Array, j: int, reach: float) -> float:
    """The derivative along one axis."""
    along = np.eye(len(at))[j]
    return float(calculus.first_derivative(lambda v: g(at + v * along), np.zeros(1), np.array([reach]))[0])


@dataclass(frozen=True, eq=False, repr=False)
class Averaged(Distribution, register=False):
    """A family averaged over a belief: a fine mixture of its members at the nodes of a quadrature."""

    nodes: Any = None  # a stack of one column
    shares: Any = None  # (k,), they sum to 1

    def __post_init__(self) -> None:
        """Take the support from the nodes."""
        super().__post_init__()
        object.__setattr__(self, "support", self.nodes.support)
        object.__setattr__(self, "discrete", self.nodes.discrete)

    @property
    def name(self) -> str:
        """What is averaged."""
        return f"averaged {self.nodes.name}"

    def log_density(self, x: Any) -> Array:
        """Log Σ share · p(x), (n, 1)."""
        step = max(CELLS // len(self.shares), 1)
        with np.errstate(divide="ignore"):
            parts = [
                special.logsumexp(column_log_prob(self.nodes, x[i : i + step]) + np.log(self.shares), axis=1)
                for i in range(0, len(x), step)
            ]
        return np.concatenate(parts)[:, None] if parts else np.zeros((0, 1))

    def cumulative(self, x: Array) -> Array:
        """Σ share · P(X ≤ x)."""
        flat = np.ravel(x)
        step = max(CELLS // (8 * len(self.shares)), 1)
        blocks = [flat[i : i + step, None, None] for i in range(0, len(flat), step)]
        parts = [self.nodes.cumulative(block)[..., 0] @ self.shares for block in blocks]
        return np.concatenate(parts).reshape(np.shape(x)) if parts else np.zeros(np.shape(x))

    def inverse(self, q: Array) -> Array:
        """Quantiles, between those of the nodes."""
        level = np.ravel(q)
        likely = self.shares > 1e-15
        ends = np.array([self._ends(one, likely) for one in level]).reshape(-1, 2)
        low, high = ends[:, 0], ends[:, 1]
        for _ in range(100):
            middle = 0.5 * (low + high)
            middle = np.floor(middle) if self.discrete else middle
            short = self.cumulative(middle) < level - (1e-15 if self.discrete else 0.0)
            low, high = np.where(short, middle, low), np.where(short, high, middle)
            if (high - low <= (1 if self.discrete else 1e-15 * np.abs(high))).all():
                break
        out = high if self.discrete else 0.5 * (low + high)
        out = np.where(level <= 0, self.support.low, np.where(level >= 1, self.support.high, out))
        return out.reshape(np.shape(q))

    def _ends(self, level: float, likely: Array) -> tuple[float, float]:
        with np.errstate(all="ignore"):
            points = self.nodes.inverse(np.array(float(np.clip(level, 1e-300, 1 - 1e-16))))[likely, 0]
        points = points[np.isfinite(points)]
        return float(points.min()) - (1.0 if self.discrete else 0.0), float(points.max())

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Draw a node for each row, then the row."""
        which = rng.choice(len(self.shares), n, p=self.shares / self.shares.sum())
        drawn = self.nodes.reshaped(lambda value: value[which]).draw(1, rng) if n else np.zeros((1, 0, 1))
        return np.asarray(drawn[0][:, :, None])

    @property
    def mean(self) -> float:
        """The expected row."""
        return float(self.shares @ np.asarray(self.nodes.mean)[:, 0])

    @property
    def var(self) -> float:
        """The variance: of the members, and between their means."""
        means = np.asarray(self.nodes.mean)[:, 0]
        return float(self.shares @ (np.asarray(self.nodes.var)[:, 0] + np.square(means - self.mean)))

    def __repr__(self) -> str:
        """Show the family and how fine the average is."""
        return f"Averaged({self.nodes.name}, {len(self.shares)} nodes)"


# ---- the two doors --------------------------------------------------------------------------------------------------
def density_posterior(likelihood: Any, stats: Any, prior: Any) -> Any:
    """The posterior of a likelihood with exact statistics under any prior density.

    ``prior`` takes the free parameters by position, as arrays, and returns an array of densities.
    """
    model = likelihood.for_statistics(stats)
    space = _space(model, prior)
    seen = bool(np.asarray(stats.weight).any())
    starts = _starts(space, lambda: model.estimate(stats)) if seen else []
    score = of_candidates(model, score_of_statistics(stats)) if seen else _flat
    return DensityPosterior(model, prior, score, space, tuple(starts))


def data_posterior(prototype: Any, rows: Any, weights: Any, prior: Any) -> Any:
    """The posterior of a likelihood without finite statistics, by passes over the rows."""
    if isinstance(prior, str):
        prior = prototype.weak_prior(prototype.suffstats(rows, weights))
    space = _space(prototype, prior)
    starts: list[Array] = []
    seen = bool(len(rows)) and bool(np.asarray(prototype.suffstats(rows, weights).weight).any())  # or names a bad row
    if seen:
        rng = np.random.default_rng(0)
        starts = _starts(
            space, lambda: climb(prototype.start(rows, weights, rng), rows, weights, None, 200, 1e-9).distribution
        )
    score = of_candidates(prototype, score_of_rows(rows, weights)) if seen else _flat
    return DensityPosterior(prototype, prior, score, space, tuple(starts))


def _flat(theta: Array) -> Array:
    """The log-likelihood of no rows."""
    return np.zeros(len(theta))


def _starts(space: Space, learn: Callable[[], Any]) -> list[Array]:
    """The maximum-likelihood estimate as a place to look, where there is one."""
    try:
        learned = learn()
    except SufficeError:
        return []
    theta = np.array([float(np.asarray(getattr(learned, axis.name)).ravel()[0]) for axis in space.axes])
    return [space.coordinates(theta)]


def _space(model: Any, prior: Any) -> Space:
    """The free parameters as axes, or the reason why a density cannot speak of them."""
    names = model.free
    if not names:
        msg = f"every parameter of {model!r} is fixed, so a prior has nothing to speak of."
        raise UnsupportedError(msg)
    wide = not model.lone or model.row_vector or model.batch not in ((), (1,))
    vectors = [name for name in names if model.specs()[name].domain.core]
    if wide or vectors or len(names) > MOST:
        size = f"this one has {len(names)} in {model.batch or (1,)} columns"
        what = f"its {vectors[0]} is a vector" if vectors else size
        msg = (
            f"a prior density speaks of one to {MOST} numbers of a distribution over one column; {model.name}: {what}. "
            "Fix parameters with .fix(…), take the columns one by one, or use a conjugate prior."
        )
        raise UnsupportedError(msg)
    if not callable(prior) and not (hasattr(getattr(prior, "belief", prior), "log_prob") and len(names) == 1):
        msg = (
            f"{model.name} cannot use {prior!r:.60} as a prior. It takes any density of ({', '.join(names)}) as a "
            "function, "
            "and for one parameter a distribution of it."
        )
        raise UnsupportedError(msg)
    if isinstance(prior, DensityPosterior) and prior.names != names:
        msg = f"the prior speaks of {', '.join(prior.names)}, but {model.name} has {', '.join(names)} to learn."
        raise ParameterError(msg)
    return Space(tuple(Axis(name, model.specs()[name].domain) for name in names))
