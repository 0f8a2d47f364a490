"""Experiments that show estimates and likelihoods coming to the truth as the sample grows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from suffice.core import calculus
from suffice.core.distribution import Alert, Distribution
from suffice.core.em import climb
from suffice.core.errors import ParameterError, UnsupportedError
from suffice.core.likelihood import refuse_blocks
from suffice.core.parameters import Array
from suffice.core.weights import OneHot, Weights

GRID = 9  # values of each parameter on the default grid of the uniform law


def as_distribution(model: Any, who: str) -> Any:
    """The distribution of a fit, or the distribution itself."""
    found = getattr(model, "distribution", model)
    if not isinstance(found, Distribution):
        msg = f"{who} takes a distribution or a fit; got {type(model).__name__}."
        raise ParameterError(msg)
    return found


@dataclass(frozen=True, eq=False, repr=False)
class Consistency:
    """What growing samples did to the estimate, one row for each size.

    Columns: ``size``, ``exceeds`` = P(‖θ̂ − θ₀‖ > ε), ``mean_error`` and ``rms_error`` of ‖θ̂ − θ₀‖, ``uniform`` =
    P(sup over the grid of |L_m(θ) − L(θ)| > ε), ``mean_gap``, the mean of that supremum.
    """

    distribution: Any
    epsilon: float
    repeats: int
    rows: list[dict[str, float]]
    expected: Array = field(repr=False)  # L(θ) on the grid
    best: float  # L(θ₀)
    alerts: tuple[Alert, ...] = ()

    @property
    def truth_is_best(self) -> bool:
        """Whether no point of the grid has a higher expected log-likelihood than the truth."""
        return not (self.expected > self.best + 1e-9 * (1 + abs(self.best))).any()

    def __getitem__(self, column: str) -> Array:
        """Return one column."""
        return np.array([row[column] for row in self.rows])

    def __repr__(self) -> str:
        """Show the table."""
        head = {
            "size": "rows",
            "exceeds": f"P(‖θ̂−θ₀‖>{self.epsilon:g})",
            "mean_error": "mean ‖θ̂−θ₀‖",
            "rms_error": "rms ‖θ̂−θ₀‖",
            "uniform": f"P(sup|L_m−L|>{self.epsilon:g})",
            "mean_gap": "mean sup|L_m−L|",
        }
        cells = [[f"{row[name]:,.0f}" if name == "size" else f"{row[name]:.4f}" for name in head] for row in self.rows]
        widths = [max(len(title), *(len(row[i]) for row in cells)) for i, title in enumerate(head.values())]
        table = [
            "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
            for row in [list(head.values()), *cells]
        ]
        best = "θ₀ maximises L(θ) on the grid" if self.truth_is_best else "θ₀ does NOT maximise L(θ) on the grid"
        best = best if len(self.expected) else "no grid for vector parameters: give grid=[…] to see the uniform law"
        notes = [f"! {code}: {text}" for code, text in self.alerts]
        return "\n".join([f"{self.distribution!r}, {self.repeats} repeats", *table, best, *notes])


def consistency(
    distribution: Any,
    sizes: Iterable[int] = (10, 100, 1000),
    epsilon: float = 0.1,
    repeats: int = 200,
    random_state: Any = None,
    grid: Sequence[Any] | None = None,
) -> Consistency:
    """Draw samples of growing sizes, fit each, and report how often the estimate is still off by more than ε.

    Parameters
    ----------
    distribution
        The truth θ₀. Its free parameters are learned again from every sample. Of a mixture, EM begins at the truth,
        and members are brought into its order before they are compared.
    sizes, repeats
        Rows per sample, and samples per size.
    epsilon
        The distance ‖θ̂ − θ₀‖ (Euclidean, over all free parameters) that counts as off; also for the uniform law.
    random_state
        Seed or Generator.
    grid
        Distributions of the same family over which the uniform law takes its supremum. By default a compact box
        around the truth, where the parameters are numbers.

    Examples
    --------
    >>> table = sf.theory.consistency(sf.Bernoulli(0.3), sizes=[10, 1000], random_state=0)
    >>> bool(table["exceeds"][0] > 0.3), float(table["exceeds"][1])
    (True, 0.0)
    """
    truth = as_distribution(distribution, "consistency")
    if not truth.lone:
        msg = "consistency takes a single distribution; pick a member of a stack with .each."
        raise UnsupportedError(msg)
    refuse_blocks(truth, "consistency")
    if not truth.free:
        msg = f"every parameter of {truth!r} is fixed, so there is nothing to estimate."
        raise ParameterError(msg)
    counts = [_whole("sizes", size) for size in sizes]
    _whole("repeats", repeats)
    if not epsilon > 0:
        msg = f"epsilon is a distance above 0; got {epsilon!r}."
        raise ParameterError(msg)
    rng = np.random.default_rng(random_state)
    points = list(grid) if grid is not None else _box(truth)
    best = -float(truth.entropy())
    expected = np.array([best - float(truth.kl(point)) for point in points])
    rows = []
    for size in counts:
        sample = truth.sample(size * repeats, rng)
        errors = _errors(truth, sample, size, repeats)
        gaps = _gaps(points, expected, sample, size, repeats)
        rows.append(
            {
                "size": float(size),
                "exceeds": float((errors > epsilon).mean()),
                "mean_error": float(errors.mean()),
                "rms_error": float(np.sqrt(np.square(errors).mean())),
                "uniform": float((gaps > epsilon).mean()) if points else float("nan"),
                "mean_gap": float(gaps.mean()) if points else float("nan"),
            }
        )
    alerts = _unidentified(truth, points, expected, best)
    return Consistency(truth, float(epsilon), repeats, rows, expected, best, alerts)


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        msg = f"{name}: whole numbers of at least 1 are needed; got {value!r}."
        raise ParameterError(msg)
    return int(value)


def _errors(truth: Any, sample: Any, size: int, repeats: int) -> Array:
    """‖θ̂ − θ₀‖ of every repeat; with exact statistics all repeats are one stack, fitted in one pass."""
    if truth.exact and repeats > 1:
        codes = np.repeat(np.arange(repeats), size)
        learned = truth.estimate(truth.suffstats(sample, OneHot(codes, repeats)))
        moved = [_moved(getattr(learned, name), getattr(truth, name), repeats) for name in truth.free]
        return np.asarray(np.sqrt(np.sum([np.square(part).sum(axis=1) for part in moved], axis=0)))
    out, rows = np.empty(repeats), truth.read(sample)
    for index in range(repeats):
        part = rows[index * size : (index + 1) * size]
        if truth.exact:
            learned = truth.estimate(truth.suffstats(part))
        else:
            whole = Weights.of(None, size)
            start = truth.first_guess(part, whole, np.random.default_rng(index))
            learned = climb(start, part, whole, None, 500, 1e-10).distribution.matched(truth)
        moved = [_flat(learned.params[name]) - _flat(truth.params[name]) for name in truth.free]
        out[index] = float(np.sqrt(sum(np.square(part).sum() for part in moved)))
    return out


def _flat(value: Any) -> Array:
    """A parameter, or those of a block, as one vector."""
    if isinstance(value, dict):
        return np.concatenate([_flat(part) for part in value.values()])
    return np.ravel(np.asarray(value, dtype=float))


def _moved(learned: Any, true: Any, repeats: int) -> Array:
    return np.asarray(np.reshape(learned, (repeats, -1)) - np.reshape(true, (1, -1)))


def _gaps(points: list[Any], expected: Array, sample: Any, size: int, repeats: int) -> Array:
    """Sup over the grid of |L_m(θ) − L(θ)| for every repeat."""
    worst = np.zeros(repeats)
    for point, limit in zip(points, expected, strict=True):
        mean = np.asarray(point.log_prob(sample)).reshape(repeats, size).mean(axis=1)
        with np.errstate(invalid="ignore"):
            worst = np.maximum(worst, np.where(mean == limit, 0.0, np.abs(mean - limit)))  # both may be −inf
    return worst


def _box(truth: Any) -> list[Any]:
    """A compact grid around the truth, parameter by parameter and along the diagonal; empty for vectors."""
    if truth.row_vector or truth.batch or any(truth.specs()[name].domain.core for name in truth.free):
        return []
    lines = {}
    for name in truth.free:
        value, domain = float(getattr(truth, name)), truth.specs()[name].domain
        reach = float(truth.scale_of(name)) if np.isinf(domain.low) and np.isinf(domain.high) else abs(value) or 1.0
        low = value - reach if np.isinf(domain.low) else 0.5 * (value + domain.low)
        high = value + reach if np.isinf(domain.high) else 0.5 * (value + domain.high)
        lines[name] = np.linspace(low, high, GRID)
    points: list[Any] = []
    for name, line in lines.items():
        points.extend(_tried(truth, {name: value}) for value in line)
    for i in range(GRID if len(lines) > 1 else 0):  # and together, the first the same way and the other way
        for first in (i, GRID - 1 - i):
            there = {name: line[i if j else first] for j, (name, line) in enumerate(lines.items())}
            points += [_tried(truth, there)]
    return [point for point in points if point is not None]


def _tried(truth: Any, values: dict[str, float]) -> Any:
    """The truth with other parameters, or None where they do not go together."""
    try:
        return replace(truth, **values)
    except ParameterError:
        return None


def _unidentified(truth: Any, points: list[Any], expected: Array, best: float) -> tuple[Alert, ...]:
    """Name parameters that the data cannot tell apart."""
    for point, value in zip(points, expected, strict=True):
        away = any(not np.allclose(getattr(point, name), getattr(truth, name), rtol=1e-9) for name in truth.free)
        if away and abs(value - best) <= 1e-13 * (1 + abs(best)):
            text = f"{point!r} is the same distribution as {truth!r}: no sample can tell their parameters apart."
            return (("not identified", text),)
    flat = _flat_direction(truth)
    if flat is not None:
        names = ", ".join(name for name, share in zip(truth.free, flat, strict=True) if abs(share) > 1e-3)
        text = f"{names} can move together without changing the distribution: the information is singular."
        return (("not identified", text),)
    return ()


def _flat_direction(truth: Any) -> Array | None:
    """A direction of the free parameters along which the likelihood does not change, from scores of a sample."""
    if truth.row_vector or truth.batch or any(truth.specs()[name].domain.core for name in truth.free):
        return None
    sample = truth.sample(200, np.random.default_rng(0))
    scores = []
    for name in truth.free:
        value = float(getattr(truth, name))
        scale = np.asarray(calculus.smooth_scale(truth, name), dtype=float)
        if not (np.isfinite(scale) and scale > 0):
            return None  # on a bound

        def along(v: Array, name: str = name) -> Array:
            return np.asarray(replace(truth, **{name: float(v)}).log_prob(sample))

        with np.errstate(all="ignore"):
            scores.append(calculus.first_derivative(along, np.asarray(value), scale) * scale)
    matrix = np.array(scores)
    if not np.isfinite(matrix).all() or len(matrix) < 2:
        flat_alone = np.isfinite(matrix).all() and float(np.abs(matrix).max()) < 1e-8
        return np.ones(1) if flat_alone else None
    sizes, directions = np.linalg.eigh(matrix @ matrix.T)
    return directions[:, 0] if sizes[0] < 1e-16 * sizes[-1] * matrix.shape[1] else None
