"""The likelihood as a function of the parameter: on a grid, profiled, and cut at a height to make an interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from suffice.core.distribution import Distribution
from suffice.core.em import climb
from suffice.core.errors import DataError, ParameterError, UnsupportedError
from suffice.core.parameters import Array
from suffice.core.weights import Weights

CELLS = 1 << 22  # rows × candidates that are scored at once

Score = Callable[[Any], Array]  # a stack of candidates → the log-likelihood of each


def column_log_prob(stack: Any, x: Array) -> Array:
    """Log density of one column (n, 1) under every member at once, (n, k), where the family itself would loop."""
    own = type(stack).log_density is not Distribution.log_density and not getattr(stack, "own_base", False)
    if own or stack.support.core:
        return np.asarray(stack.log_density(x))
    column = x[:, 0]
    with np.errstate(all="ignore"):
        cells = np.broadcast_to(stack.log_cell(column[:, None, None])[..., 0], (len(x), stack.members))
    inside, missing = stack.support.contains(column), np.isnan(column)
    if inside.all():
        return np.asarray(cells)
    return np.where(missing[:, None], 0.0, np.where(inside[:, None], cells, -np.inf))


def score_of_statistics(stats: Any) -> Score:
    """The log-likelihood of many candidates at once, from exact statistics."""

    def score(stack: Any) -> Array:
        with np.errstate(all="ignore"):
            values = np.asarray(stack.log_likelihood(stats))
        return np.where(np.isnan(values), -np.inf, values)

    return score


def score_of_rows(rows: Any, weights: Weights) -> Score:
    """The log-likelihood of many candidates at once, by passes over the (distinct) rows."""
    count = np.ones(len(rows)) if weights.values is None else np.asarray(weights.values)
    cells = np.asarray(rows)
    single = cells.ndim == 2 and cells.shape[1] == 1 and cells.dtype.kind == "f"
    if single:
        flat = cells[:, 0]
        seen = ~np.isnan(flat)
        distinct, code = np.unique(flat[seen], return_inverse=True)
        cells, count = distinct[:, None], np.bincount(code, count[seen], len(distinct))
    cells, count = cells[count > 0], count[count > 0]

    def score(stack: Any) -> Array:
        step = max(CELLS // max(len(cells), 1), 1)
        found = []
        for i in range(0, stack.members, step):
            part = stack.reshaped(lambda value, i=i: value[i : i + step])
            with np.errstate(all="ignore"):
                scored = column_log_prob(part, cells) if single else np.asarray(part.log_prob(cells))
                found.append(count @ scored.reshape(len(cells), -1))
        values = np.concatenate(found)
        return np.where(np.isnan(values), -np.inf, values)

    return score


def refuse_blocks(distribution: Any, what: str) -> None:
    """Say what to do with a distribution that is made of others."""
    if distribution.blocks:
        msg = (
            f"{distribution.name} is made of blocks, and {what} is that of one family: ask each of its blocks, as in "
            "distribution.blocks[…], with its own columns; log-likelihoods of independent blocks add up."
        )
        raise UnsupportedError(msg)


def _read(distribution: Any, data: Any, weights: Any) -> tuple[Any, Any, Weights]:
    if not distribution.lone:
        msg = "the likelihood is that of a single distribution; pick a member of a stack with .each."
        raise UnsupportedError(msg)
    refuse_blocks(distribution, "a likelihood as a function of its parameters")
    rows = distribution.read(data)
    if not len(rows):
        msg = "a likelihood needs at least one row."
        raise DataError(msg)
    return distribution.shaped(rows), rows, Weights.of(weights, len(rows))


def _score(model: Any, rows: Any, weights: Weights) -> Score:
    stats = model.suffstats(rows, weights)  # also names a row that the family cannot take
    return score_of_statistics(stats) if model.exact else score_of_rows(rows, weights)


def likelihood(distribution: Any, data: Any, *, weights: Any = None, **grids: Any) -> Array:
    """Log L on a grid of parameters: an array with one axis for each, in the order given.

    Parameters that are not named keep the distribution's values. A vector parameter takes an array of vectors.

    Examples
    --------
    >>> sf.theory.likelihood(sf.Bernoulli(), [1, 0, 1], p=[0.25, 0.5]).round(4)
    array([-3.0603, -2.0794])
    """
    model, rows, checked = _read(distribution, data, weights)
    if not grids:
        msg = f"name at least one parameter and its values, as in likelihood(…, {next(iter(model.params))}=[…])."
        raise ParameterError(msg)
    lines: dict[str, Array] = {}
    for name, values in grids.items():
        model.check_name(name)
        line, core = np.asarray(values, dtype=float), model.specs()[name].domain.core
        if line.ndim != 1 + core or not len(line):
            msg = f"{model.name}: the grid of {name} is a list of its values, at least one; got shape {line.shape}."
            raise ParameterError(msg)
        lines[name] = line
    shape = tuple(len(line) for line in lines.values())
    places = np.indices(shape).reshape(len(shape), -1)
    score, out = _score(model, rows, checked), np.empty(places.shape[1])
    for i in range(0, places.shape[1], 1 << 14):
        part = places[:, i : i + (1 << 14)]
        stack = model.stack(part.shape[1])
        values = {name: _like(stack, name, line[part[j]]) for j, (name, line) in enumerate(lines.items())}
        out[i : i + part.shape[1]] = score(replace(stack, **values))
    return out.reshape(shape)


def _like(stack: Any, name: str, values: Array) -> Array:
    """One value for each member, for all of its columns."""
    core = stack.specs()[name].domain.core
    columns = stack.batch[1:]
    lifted = values.reshape((len(values), *(1 for _ in columns), *values.shape[1:]))
    return np.broadcast_to(lifted, (len(values), *columns, *values.shape[values.ndim - core :]))


class _Profile:
    """Log L at a value of one parameter, the others at their best."""

    def __init__(self, distribution: Any, data: Any, name: str, weights: Any) -> None:
        self.model, self.rows, self.weights = _read(distribution, data, weights)
        self.model.check_name(name)
        self.domain, self.name = self.model.specs()[name].domain, name
        if self.domain.core or self.model.row_vector or self.model.batch:
            msg = f"a profile is of one number of a distribution over one column; {self.model.name}.{name} is not one."
            raise UnsupportedError(msg)
        if name in self.model.fixed:
            msg = f"{name} is fixed, so it has no profile; give a prototype that leaves it free."
            raise ParameterError(msg)
        self.stats = self.model.suffstats(self.rows, self.weights)
        self.best, self.height = self._learn(self.model)

    def _learn(self, model: Any) -> tuple[Any, float]:
        if model.exact:  # holding a parameter may have made it so, with statistics of its own
            stats = self.stats if self.model.exact else model.suffstats(self.rows, self.weights)
            learned = model.estimate(stats) if model.free else model
            with np.errstate(all="ignore"):
                return learned, float(learned.log_likelihood(stats))
        start = model.start(self.rows, self.weights, np.random.default_rng(0)) if model.free else model
        if model.free:
            start = climb(start, self.rows, self.weights, None, 1000, None).distribution
        with np.errstate(all="ignore"):
            return start, float(start.log_likelihood(start.suffstats(self.rows, self.weights)))

    def __call__(self, value: float) -> float:
        """Log L at the value."""
        try:
            held = replace(self.model, **{self.name: value}).fix(self.name)
        except ParameterError:
            if bool(self.domain.contains(np.asarray(value))):
                return -np.inf  # it does not go together with the others
            raise
        try:
            height = self._learn(held)[1]
        except DataError:  # the rows were fine before: this value excludes some of them
            return -np.inf
        return -np.inf if np.isnan(height) else height


def profile(distribution: Any, data: Any, name: str, grid: Any, *, weights: Any = None) -> Array:
    """The profile of one parameter: at each value the highest log L that the other free parameters can reach.

    Examples
    --------
    >>> sf.theory.profile(sf.Normal(), [0.0, 2.0], "mean", [1.0, 2.0]).round(4)
    array([-2.8379, -3.531 ])
    """
    curve = _Profile(distribution, data, name, weights)
    return np.array([curve(float(value)) for value in np.ravel(np.asarray(grid, dtype=float))])


def likelihood_interval(
    distribution: Any, data: Any, name: str, level: float = 0.95, *, weights: Any = None
) -> tuple[float, float]:
    """The values of a parameter that the likelihood-ratio test keeps: 2(log L̂ − profile) ≤ the χ²₁ quantile.

    An end that is never reached is the end of the parameter's domain, of an angle half a turn away.

    Examples
    --------
    >>> low, high = sf.theory.likelihood_interval(sf.Bernoulli(), [0] * 10, "p")
    >>> low, round(high, 4)
    (0.0, 0.1748)
    """
    if not 0 < level < 1:
        msg = f"a likelihood interval needs a level strictly between 0 and 1; got {level!r}."
        raise ParameterError(msg)
    from scipy.special import gammaincinv

    curve = _Profile(distribution, data, name, weights)
    floor = curve.height - float(gammaincinv(0.5, level))  # half of the quantile of χ² with 1 degree of freedom
    return _cross(curve, floor, -1.0), _cross(curve, floor, 1.0)


def _cross(curve: _Profile, floor: float, side: float) -> float:
    """Where the profile falls below ``floor`` on one side of its maximum."""
    from scipy.optimize import brentq

    at, domain = float(getattr(curve.best, curve.name)), curve.domain
    bound = domain.low if side < 0 else domain.high
    if curve.name in curve.model.periods:  # half a turn away at most
        bound = at + side * curve.model.periods[curve.name] / 2
    if at == bound:
        return at

    def over(value: float) -> float:
        return max(curve(value) - floor, -1e6)

    step = abs(at - bound) if np.isfinite(bound) else max(float(curve.best.scale_of(curve.name)), 1e-12 * abs(at))
    inside, outside = at, at
    for turn in range(1, 400):
        # Towards a bound each step takes half of what is left, else it grows.
        outside = bound - side * step * 0.5**turn if np.isfinite(bound) else at + side * step * 0.01 * 2.0**turn
        if outside in (inside, bound) or not np.isfinite(outside):
            return float(bound)
        if over(outside) < 0:
            return float(brentq(over, inside, outside, xtol=1e-300, rtol=9e-16, maxiter=500))
        inside = outside
    return float(bound)
