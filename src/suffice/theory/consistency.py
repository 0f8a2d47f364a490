"""Experiments that show estimates and likelihoods coming to the truth as the sample grows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from suffice.core.family import Family
from suffice.display.table import table_lines
from suffice.em.result import Fit
from suffice.errors import ParameterError
from suffice.theory.grid import box
from suffice.theory.identifiability import not_identified
from suffice.theory.models import as_distribution, check_single, check_whole
from suffice.theory.repeats import by_sample, flat, free_parameters, joined, learned
from suffice.types import Alert, Array, Data, Seed

ULPS = 8 * float(np.finfo(float).eps)  # relative: distances that differ from ε by less are equal to it
DRAWS = 40_000  # rows that stand for a truth whose expectations have no quadrature


@dataclass(frozen=True, eq=False, repr=False)
class Consistency:
    """What growing samples did to the estimate, one row for each size.

    Columns: ``size``, ``exceeds`` = P(‖θ̂ − θ₀‖ > ε), ``mean_error`` and ``rms_error`` of ‖θ̂ − θ₀‖, ``uniform`` =
    P(sup over the grid of |L_m(θ) − L(θ)| > ε), ``mean_gap``, the mean of that supremum.

    Attributes
    ----------
    distribution : Distribution
        The truth θ₀.
    epsilon : float
        The distance that counts as off.
    repeats : int
        Samples of each size.
    rows : list of dict
        The table; ``table["exceeds"]`` is one of its columns.
    expected : array
        L(θ) at the points of the grid.
    best : float
        L(θ₀).
    alerts : tuple of (code, text)
        Parameters that no sample can tell apart.
    """

    distribution: Any
    epsilon: float
    repeats: int
    rows: list[dict[str, float]]
    expected: Array = field(repr=False)  # L(θ) on the grid
    best: float  # L(θ₀)
    alerts: tuple[Alert, ...] = ()
    noise: Any = 0.0  # standard error of L(θ₀) − L(θ), where draws stand for the truth

    @property
    def truth_is_best(self) -> bool:
        """Whether no point of the grid has a higher expected log-likelihood than the truth."""
        return not (self.expected > self.best + 1e-9 * (1 + abs(self.best)) + 4 * np.asarray(self.noise)).any()

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
        table = table_lines([list(head.values()), *cells], range(len(head)))
        best = "θ₀ maximises L(θ) on the grid" if self.truth_is_best else "θ₀ does NOT maximise L(θ) on the grid"
        best = best if len(self.expected) else "the grid is empty: give grid=[…] to see the uniform law"
        notes = [f"! {code}: {text}" for code, text in self.alerts]
        return "\n".join([f"{self.distribution!r}, {self.repeats} repeats", *table, best, *notes])


def consistency(
    distribution: Family | Fit,
    sizes: Iterable[int] = (10, 100, 1000),
    epsilon: float = 0.1,
    repeats: int = 200,
    random_state: Seed = None,
    grid: Sequence[Any] | None = None,
) -> Consistency:
    """Draw samples of growing sizes, fit each, and report how often the estimate is still off by more than ε.

    Parameters
    ----------
    distribution : Distribution
        The truth θ₀. Its free parameters are learned again from every sample. Of a mixture, EM begins at the truth,
        and components are brought into its order before they are compared.
    sizes, repeats : sequence of int, int
        Rows per sample, and samples per size.
    epsilon : float
        The distance ‖θ̂ − θ₀‖ (Euclidean, over all free parameters) that counts as off; also for the uniform law.
    random_state : int, Generator or RandomState, optional
        Seed or Generator.
    grid : sequence of distributions, optional
        Distributions of the same family over which the uniform law takes its supremum. By default a compact box
        around the truth: one parameter, component, block or weight at a time. Where expectations under a mixture have
        no quadrature (rows of several columns), L is an average of 40 000 draws.

    Returns
    -------
    Consistency
        A table with one row for each size. Its ``alerts`` name parameters that no sample can tell apart. Distances
        that equal ε up to rounding do not exceed it.

    Examples
    --------
    >>> table = sf.theory.consistency(sf.Bernoulli(0.3), sizes=[10, 1000], repeats=1000, random_state=0)
    >>> table["exceeds"].round(1)  # P(|k/10 - 0.3| > 0.1) = 0.300 for 10 rows
    array([0.3, 0. ])
    """
    truth = as_distribution(distribution, "consistency")
    check_single(truth, "consistency")
    counts = [check_whole("sizes", size) for size in sizes]
    check_whole("repeats", repeats)
    if not epsilon > 0:
        msg = f"epsilon is a distance above 0; got {epsilon!r}."
        raise ParameterError(msg)
    rng = np.random.default_rng(random_state)
    points = list(grid) if grid is not None else box(truth)
    best, expected, noise = _expected(truth, points)
    kept = ~np.isnan(expected)
    points, expected = [point for point, there in zip(points, kept, strict=True) if there], expected[kept]
    rows = []
    for size in counts:
        sample = truth.sample(size * repeats, rng)
        errors, rounding = _errors(truth, sample, size, repeats)
        gaps = _gaps(points, expected, sample, size, repeats)
        slack = ULPS * (1 + abs(best))
        rows.append(
            {
                "size": float(size),
                "exceeds": float((errors > epsilon + rounding).mean()),
                "mean_error": float(errors.mean()),
                "rms_error": float(np.sqrt(np.square(errors).mean())),
                "uniform": float((gaps > epsilon + slack).mean()) if points else float("nan"),
                "mean_gap": float(gaps.mean()) if points else float("nan"),
            }
        )
    alerts = not_identified(truth, points, expected, best)
    return Consistency(truth, float(epsilon), repeats, rows, expected, best, alerts, noise[kept])


def _expected(truth: Family, points: list[Any]) -> tuple[float, Array, Array]:
    """L(θ₀) and L(θ) at the points, and the standard errors of their differences: 0 but where draws are averaged."""
    least = truth.entropy()
    if not hasattr(least, "error"):
        return (
            -float(least),
            np.array([-float(least) - float(truth.kl(point)) for point in points]),
            np.zeros(len(points)),
        )
    rows = truth.sample(DRAWS, np.random.default_rng(0))
    own = np.asarray(truth.log_prob(rows))
    with np.errstate(invalid="ignore"):
        excess = [own - np.asarray(point.log_prob(rows)) for point in points]
    best = float(own.mean())
    expected = np.array([best - float(one.mean()) for one in excess])
    return best, expected, np.array([float(one.std()) / np.sqrt(DRAWS) for one in excess])


def _errors(truth: Family, sample: Data, size: int, repeats: int) -> tuple[Array, Array]:
    """‖θ̂ − θ₀‖ of every repeat, and what rounding can make of it."""
    true = free_parameters(truth, truth.params)
    names = list(true)
    parts = [
        by_sample({name: model.params[name] for name in names}, true, count)
        for model, count in learned(truth, sample, size, repeats)
    ]
    found, centre = flat(joined(parts), 1), flat(true)
    away = np.sqrt(np.square(found - centre).sum(axis=1))
    return away, ULPS * np.sqrt(np.square(found).sum(axis=1) + np.square(centre).sum())


def _gaps(points: list[Any], expected: Array, sample: Data, size: int, repeats: int) -> Array:
    """Sup over the grid of |L_m(θ) − L(θ)| for every repeat."""
    worst = np.zeros(repeats)
    for point, limit in zip(points, expected, strict=True):
        mean = np.asarray(point.log_prob(sample)).reshape(repeats, size).mean(axis=1)
        with np.errstate(invalid="ignore"):
            worst = np.maximum(worst, np.where(mean == limit, 0.0, np.abs(mean - limit)))  # both may be −inf
    return worst
