"""The likelihood as a function of the parameter: on a grid, profiled, and cut at a level to make an interval."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from suffice.core.family import Family
from suffice.core.likelihood import Score, score_of_rows, score_of_statistics
from suffice.core.value import check_name
from suffice.em.loop import run_em
from suffice.em.result import Fit
from suffice.em.training import TrainingData
from suffice.engines import local
from suffice.errors import DataError, ParameterError, UnsupportedError
from suffice.statistics.weights import Weights
from suffice.theory.mean_profile import MeanProfile, is_mean_of_columns
from suffice.theory.mixture_profile import ROUNDS, MixtureProfile
from suffice.theory.models import as_distribution
from suffice.theory.paths import Path, as_path, display_name, parameter_at, with_parameter
from suffice.theory.simplex_profile import SimplexProfile, is_entry_of_simplex
from suffice.types import Array, Data, Rows

MIXING = "The weights of a mixture's components are named by their path: grid={('weights', 0): […]}."
BATCH = 1 << 14  # candidates of one family that are stacked at once


def _refuse_blocks(distribution: Family, what: str) -> None:
    """Say what to do with a distribution that is made of others."""
    if distribution.blocks:
        msg = (
            f"{distribution.name} is made of blocks, and {what} is that of one family: ask each of its blocks, as in "
            "distribution.blocks[…], with its own columns; log-likelihoods of independent blocks add up. A grid of "
            "theory.likelihood may name a block's parameter by its path, as in grid={('age', 'mean'): […]}."
        )
        raise UnsupportedError(msg)


def _read(distribution: Any, data: Any, weights: Data) -> tuple[Any, Any, Weights]:
    if not distribution.lone:
        msg = "the likelihood is that of a single distribution; pick one of a stack with .each."
        raise UnsupportedError(msg)
    rows = distribution.read(data)
    if not len(rows):
        msg = "a likelihood needs at least one row."
        raise DataError(msg)
    checked = Weights.of(weights, len(rows))
    if checked.n_components > 1:
        msg = f"weights= are those of the rows, one for each; got shape {np.shape(weights)}. {MIXING}"
        raise DataError(msg)
    return distribution.for_data(rows), rows, checked


def _score(model: Family, rows: Rows, weights: Weights) -> Score:
    stats = model.suffstats(rows, weights)  # also names a row that the family cannot take
    return score_of_statistics(stats) if model.exact else score_of_rows(rows, weights)


def likelihood(
    distribution: Family | Fit,
    data: Data,
    grid: Mapping[Any, Any] | None = None,
    *,
    weights: Data = None,
    component: int | None = None,
    **grids: Data,
) -> Array:
    """Log L on a grid of parameters: an array with one axis for each, in the order given.

    Parameters
    ----------
    distribution : Distribution or Fit
        Parameters that are not named keep its values.
    data : array, frame, columns by name, or files
        Rows.
    grid : dict, optional
        Values by parameter: by its name, or by its path behind ``.params``, such as ``("mean", 0)`` for component 0
        of a mixture, ``("weights", 0)`` for its weight (the others keep their proportions), ``("age", "mean")`` for a
        column of a product.
    weights : array (n,), optional
        One weight for each row; never those of components.
    component : int, optional
        The component of a mixture that names belong to: ``likelihood(mixture, x, component=0, mean=[…])``.
    **grids : array
        Values by the names of parameters. A vector parameter takes an array of vectors.

    Returns
    -------
    numpy.ndarray
        One axis for each parameter: a curve for one, a surface for two.

    Examples
    --------
    >>> sf.theory.likelihood(sf.Bernoulli(), [1, 0, 1], p=[0.25, 0.5]).round(4)
    array([-3.0603, -2.0794])
    >>> mixture = sf.Mixture([sf.Normal(0, 1), sf.Normal(4, 1)])
    >>> sf.theory.likelihood(mixture, [0.0, 5.0], {("mean", 1): [4.0, 5.0]}).round(3)
    array([-3.724, -3.224])
    """
    model, rows, checked = _read(as_distribution(distribution, "likelihood"), data, weights)
    if grid is not None and not isinstance(grid, Mapping):
        msg = f"likelihood: grid maps parameters to values, as in {{{grid!r:.40}: [1.0, 2.0]}}; got {grid!r:.40}."
        raise ParameterError(msg)
    named = {**(grid or {}), **grids}
    if not named:
        first = next(iter(model.params))
        msg = (
            f"name at least one parameter and its values, as in likelihood(…, {first}=[…]) or grid={{{first!r}: […]}}."
        )
        raise ParameterError(msg)
    lines: dict[Path, Array] = {}
    for key, values in named.items():
        path = as_path(model, key, component)
        line, core = np.asarray(values, dtype=float), _axes(model, path)
        if line.ndim != 1 + core or not len(line):
            grid_of = f"{model.name}: the grid of {display_name(path)}"
            one = (
                f" A value has {core} axes here: one entry is named by its path, as ({path[-1]!r}, 0)." if core else ""
            )
            msg = f"{grid_of} is a list of its values, at least one; got shape {line.shape}.{one}"
            raise ParameterError(msg)
        lines[path] = line
    shape = tuple(len(line) for line in lines.values())
    places = np.indices(shape).reshape(len(shape), -1)
    plain = not model.is_mixture and not model.blocks and all(len(path) == 1 for path in lines)
    out = (
        _scores_of_stack(model, rows, checked, lines, places)
        if plain
        else _one_by_one(model, rows, checked, lines, places)
    )
    return out.reshape(shape)


def _axes(model: Family, path: Path) -> int:
    """How many axes one value of a grid has."""
    if not model.is_mixture and not model.blocks:
        check_name(model, path[0])
        return int(model.specs()[path[0]].domain.core) if len(path) == 1 else np.ndim(parameter_at(model, path))
    if len(path) == 1 and not isinstance(path[0], tuple):
        _refuse_blocks(model, "a likelihood as a function of its parameters")
    return np.ndim(parameter_at(model, path))


def _scores_of_stack(model: Family, rows: Rows, weights: Weights, lines: dict[Path, Array], places: Array) -> Array:
    """Every candidate of a family at once, as a stack."""
    score, out = _score(model, rows, weights), np.empty(places.shape[1])
    for i in range(0, places.shape[1], BATCH):
        part = places[:, i : i + BATCH]
        stack = model.stack(part.shape[1])
        values = {name: _like(stack, name, line[part[j]]) for j, ((name,), line) in enumerate(lines.items())}
        out[i : i + part.shape[1]] = score(replace(stack, **values))
    return out


def _one_by_one(model: Family, rows: Rows, weights: Weights, lines: dict[Path, Array], places: Array) -> Array:
    """Any model: a pass over the rows for each candidate."""
    held = np.ones(len(rows)) if weights.values is None else np.asarray(weights.values)
    model.suffstats(rows, weights)  # names a row that the model cannot take
    counted, out = held > 0, np.empty(places.shape[1])
    for i, place in enumerate(places.T):
        candidate = model
        for j, (path, line) in enumerate(lines.items()):
            candidate = with_parameter(candidate, path, line[place[j]])
        with np.errstate(all="ignore"):
            out[i] = held[counted] @ _log_density(candidate.stacked, rows)[counted]
    return np.where(np.isnan(out), -np.inf, out)


def _log_density(stack: Family, rows: Rows) -> Array:
    """Log density of rows that were read, (n,), without looking at each for a warning again."""
    width = int(np.prod(np.shape(rows)[1:])) + 8
    return np.asarray(local.fill(lambda part: stack.log_density(rows[part]), len(rows), width)[:, 0])


def _like(stack: Family, name: str, values: Array) -> Array:
    """One value for each component, for all of its columns."""
    core = stack.specs()[name].domain.core
    columns = stack.batch[1:]
    lifted = values.reshape((len(values), *(1 for _ in columns), *values.shape[1:]))
    return np.broadcast_to(lifted, (len(values), *columns, *values.shape[values.ndim - core :]))


class _Profile:
    """Log L at a value of one parameter, the others at their best."""

    improved = False
    rounding = 9e-16  # relative accuracy of the ends of an interval

    def __init__(self, distribution: Family, data: Data, name: str, weights: Data) -> None:
        self.model, self.rows, self.weights = _read(distribution, data, weights)
        _refuse_blocks(self.model, "a profile")
        check_name(self.model, name)
        self.domain, self.name = self.model.specs()[name].domain, name
        if self.domain.core or self.model.row_vector or self.model.batch:
            msg = f"a profile is of one number of a distribution over one column; {self.model.name}.{name} is not one."
            raise UnsupportedError(msg)
        if name in self.model.fixed:
            msg = f"{name} is fixed, so it has no profile; give a prototype that leaves it free."
            raise ParameterError(msg)
        self.stats = self.model.suffstats(self.rows, self.weights)
        self.best, self.highest = self._learn(self.model)
        self.at, self.period = float(getattr(self.best, name)), self.model.specs()[name].period

    @property
    def scale(self) -> float:
        """A length on which the parameter moves."""
        return float(self.best.scale_of(self.name))

    def _learn(self, model: Family) -> tuple[Any, float]:
        if model.exact:  # holding a parameter may have made it so, with statistics of its own
            stats = self.stats if self.model.exact else model.suffstats(self.rows, self.weights)
            learned = model.estimate(stats) if model.free else model
            with np.errstate(all="ignore"):
                return learned, float(learned.log_likelihood(stats))
        start = model.start(self.rows, self.weights, np.random.default_rng(0)) if model.free else model
        if model.free:
            start = run_em(start, TrainingData.read(start, self.rows, self.weights), max_iter=1000).distribution
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
            log_likelihood = self._learn(held)[1]
        except DataError:  # the rows were fine before: this value excludes some of them
            return -np.inf
        return -np.inf if np.isnan(log_likelihood) else log_likelihood


def _curve(distribution: Family | Fit, data: Data, name: Hashable, weights: Data, component: int | None) -> Any:
    model = as_distribution(distribution, "a profile")
    path = as_path(model, name, component)
    if model.is_mixture:
        model, rows, checked = _read(model, data, weights)
        return MixtureProfile(model, rows, checked, path)
    if is_entry_of_simplex(model, path):
        model, rows, checked = _read(model, data, weights)
        return SimplexProfile(model, rows, checked, path)
    if is_mean_of_columns(model, path):
        model, rows, checked = _read(model, data, weights)
        return MeanProfile(model, rows, checked, path)
    if len(path) == 2 and model.blocks:
        key, own = path
        _refuse_blocks(model, f"the profile of {own!r} of {key!r}")
    return _Profile(model, data, path[0], weights)


def profile(
    distribution: Family | Fit,
    data: Data,
    name: Hashable,
    grid: Data,
    *,
    weights: Data = None,
    component: int | None = None,
) -> Array:
    """The profile of one parameter: at each value the highest log L that the other free parameters can reach.

    Parameters
    ----------
    distribution : Distribution or Fit
        A prototype. Of a mixture, the maximum next to its parameters is meant (that of :func:`suffice.fit` where its
        components are equal): EM runs with the parameter held, from there.
    data : array, frame, columns by name, or files
        Rows.
    name : str or tuple
        The parameter; one of several probabilities as ``("probs", 0)``, and one mean of a
        :class:`MultivariateNormal` as ``("mean", 0)``; of a mixture its path behind ``.params``, such
        as ``("mean", 0)`` or ``("weights", 0)``, or its name with ``component=``.
    grid : array
        Its values.
    weights : array (n,), optional
        One weight for each row.
    component : int, optional
        The component of a mixture.

    Returns
    -------
    numpy.ndarray
        The highest log L at each value.

    Examples
    --------
    >>> sf.theory.profile(sf.Normal(), [0.0, 2.0], "mean", [1.0, 2.0]).round(4)
    array([-2.8379, -3.531 ])
    """
    curve = _curve(distribution, data, name, weights, component)
    values = np.ravel(np.asarray(grid, dtype=float))
    return np.asarray(_repeat_until_best(curve, lambda: np.array([curve(float(value)) for value in values])))


def _repeat_until_best(curve: Any, ask: Callable[[], Any]) -> Any:
    """The answer that no longer finds a higher maximum on its way, as the profile of a mixture may."""
    for _ in range(ROUNDS):
        curve.improved = False
        found = ask()
        if not curve.improved:
            break
    return found


def likelihood_interval(
    distribution: Family | Fit,
    data: Data,
    name: Hashable,
    level: float = 0.95,
    *,
    weights: Data = None,
    component: int | None = None,
) -> tuple[float, float]:
    """The values of a parameter that the likelihood-ratio test keeps: 2(log L̂ − profile) ≤ the χ²₁ quantile.

    An end that is never reached is the end of the parameter's domain, of an angle half a turn away. Parameters are
    named as in :func:`profile`.

    Parameters
    ----------
    distribution : Distribution or Fit
        A prototype, or a mixture from which EM begins.
    data : array, frame, columns by name, or files
        Rows.
    name : str or tuple
        The parameter.
    level : float
        The confidence of the interval.
    weights : array (n,), optional
        A weight for each row.
    component : int, optional
        The component that ``name`` belongs to.

    Returns
    -------
    tuple of float
        The ends of the interval, (low, high).

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

    curve = _curve(distribution, data, name, weights, component)
    drop = float(gammaincinv(0.5, level))  # half of the quantile of χ² with 1 degree of freedom

    def ends() -> tuple[float, float]:
        floor = curve.highest - drop
        return _cross(curve, floor, -1.0), _cross(curve, floor, 1.0)

    found: tuple[float, float] = _repeat_until_best(curve, ends)
    return found


def _cross(curve: Any, floor: float, side: float) -> float:
    """Where the profile falls below ``floor`` on one side of its maximum."""
    from scipy.optimize import brentq

    at, domain = curve.at, curve.domain
    bound = domain.low if side < 0 else domain.high
    if curve.period is not None:  # half a turn away at most
        bound = at + side * curve.period / 2
    if at == bound:
        return float(at)

    def over(value: float) -> float:
        return max(float(curve(value)) - floor, -1e6)

    step = abs(at - bound) if np.isfinite(bound) else max(curve.scale, 1e-12 * abs(at))
    inside, outside = at, at
    for turn in range(1, 400):
        # Towards a bound each step takes half of what is left, else it grows.
        outside = bound - side * step * 0.5**turn if np.isfinite(bound) else at + side * step * 0.01 * 2.0**turn
        if outside in (inside, bound) or not np.isfinite(outside):
            return float(bound)
        if over(outside) < 0:
            return float(brentq(over, inside, outside, xtol=1e-300, rtol=curve.rounding, maxiter=500))
        inside = outside
    return float(bound)
