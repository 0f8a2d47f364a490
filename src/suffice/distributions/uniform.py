"""Anything between two bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from suffice import kernels
from suffice.core.family import Family
from suffice.core.parameters import REAL, parameter
from suffice.display.values import ColumnSummary, between
from suffice.distributions.floors import rounding_floor
from suffice.errors import DataError, ParameterError
from suffice.statistics.sums import Extremes
from suffice.statistics.weights import Weights
from suffice.tables.column_names import in_columns
from suffice.types import Alert, Array

FARTHEST = 1e307  # of a bound that is moved: its distance to another one is finite


@dataclass(frozen=True, eq=False, repr=False)
class Uniform(Family):
    r"""Every value from ``low`` to ``high`` alike: :math:`p(x) = 1/(b-a)`.

    Not an exponential family: its statistics are the smallest and the largest value, so rows can be added but not
    removed, and there are no standard errors. ``Uniform(low=0).fix("low")`` learns the upper bound alone.

    >>> sf.fit(sf.Uniform(low=0).fix("low"), [1.0, 3.0]).distribution
    Uniform(low=0, high=3).fix('low')
    """

    low: Any = parameter(REAL, typical=(-3.0, -0.5))
    high: Any = parameter(REAL, typical=(0.5, 3.0))

    _in_place = True

    def __post_init__(self) -> None:
        """Give a bound that was left out the place one beside the other, and check their order."""
        if self.low is None:
            object.__setattr__(self, "low", 0.0 if self.high is None else np.subtract(self.high, 1.0))
        if self.high is None:
            object.__setattr__(self, "high", np.add(self.low, 1.0))
        super().__post_init__()
        low, high = np.asarray(self.low), np.asarray(self.high)
        wrong = low >= high
        if wrong.any():
            msg = f"Uniform: low must lie below high; got low = {low[wrong][0]:g} and high = {high[wrong][0]:g}."
            raise ParameterError(msg)

    def gather(self, x: Array, w: Weights) -> Extremes:
        stats = Extremes(*kernels.extremes(x, **w.arguments))
        if not np.isfinite(np.where(stats.weight > 0, stats.high - stats.low, 0.0)).all():
            self.check_support(x, w)  # names the infinite cell
        return stats

    def maximise(self, stats: Extremes) -> Self:
        empty = stats.weight == 0
        low, high = np.where(empty, np.inf, stats.low), np.where(empty, -np.inf, stats.high)
        self._refuse_outside(low, high)
        if "low" in self.tied:
            low = np.broadcast_to(low.min(axis=0), low.shape)
        if "high" in self.tied:
            high = np.broadcast_to(high.max(axis=0), high.shape)
        low = np.where(empty | ("low" in self.fixed), self.low, low)
        high = np.where(empty | ("high" in self.fixed), self.high, high)
        least = rounding_floor(high, 1e-300)
        floor = np.where(high - low < least, least, 0.0)
        low, high = low - floor * ("low" not in self.fixed), high + floor * ("high" not in self.fixed)
        return self.choose(empty, replace(self, low=low, high=high))

    def _refuse_outside(self, low: Array, high: Array) -> None:
        for name, value, wrong in (("low", low, low < self.low), ("high", high, high > self.high)):
            if name in self.fixed and wrong.any():
                bound = np.broadcast_to(getattr(self, name), wrong.shape)[wrong][0]
                msg = (
                    f"Uniform has {name} fixed at {bound:g}, but the data reach {value[wrong][0]:g}. "
                    f"Free {name}, move it, or drop the value."
                )
                raise DataError(msg)

    @property
    def learns_bounds(self) -> bool:
        return bool(self.free)

    def with_wider_bounds(self, factor: float) -> Self:
        by = np.subtract(self.high, self.low) * (factor - 1) / 2
        low = self.low if "low" in self.fixed else np.maximum(self.low - by, -FARTHEST)
        high = self.high if "high" in self.fixed else np.minimum(self.high + by, FARTHEST)
        return replace(self, low=low, high=high)

    def log_cell(self, x: Array) -> Array:
        return np.where((x >= self.low) & (x <= self.high), -np.log(np.subtract(self.high, self.low)), -np.inf)

    def likelihood_cells(self, stats: Extremes) -> Array:
        covered = (stats.low >= self.low) & (stats.high <= self.high)
        cells = np.where(covered, -stats.weight * np.log(np.subtract(self.high, self.low)), -np.inf)
        return np.where(stats.weight == 0, 0.0, cells)

    def error_cells(self, stats: Extremes) -> dict[str, Array]:
        """None: the likelihood has no derivative at its maximum."""
        return {name: np.full(stats.weight.shape, np.nan) for name in self.free}

    def alerts(self, stats: Extremes) -> tuple[Alert, ...]:
        flat = (stats.weight > 0) & (stats.low == stats.high)
        stack = self.stacked
        flat = flat & (np.subtract(stack.high, stack.low) <= 4 * rounding_floor(np.asarray(stack.high), 1e-300))
        if not flat.any():
            return super().alerts(stats)
        value = float(stats.low[flat][0])
        text = (
            "every value",
            in_columns(flat),
            (
                f" equals {value:g}, so the bounds meet and no density exists; they were held apart by the least that "
                "float64 resolves there. Add data, or fix a bound."
            ),
        )
        return (*super().alerts(stats), Alert("collapsed", text, value=value))

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        return rng.uniform(self.low, self.high, (n, *self.batch))

    def cumulative(self, x: Array) -> Array:
        return np.asarray(np.clip((x - self.low) / np.subtract(self.high, self.low), 0.0, 1.0))

    def inverse(self, q: Array) -> Array:
        return np.asarray(self.low + q * np.subtract(self.high, self.low))

    def column_summaries(self) -> list[list[ColumnSummary]]:
        columns = zip(np.asarray(self.stacked.low).T, np.asarray(self.stacked.high).T, strict=True)
        return [[between(low, high) for low, high in zip(*ends, strict=True)] for ends in columns]

    @property
    def mean(self) -> Any:
        """The middle of the bounds."""
        return self.low + (self.high - self.low) / 2

    @property
    def var(self) -> Any:
        """The variance, width²/12."""
        return np.square(self.high - self.low) / 12

    def kl(self, other: Family) -> Any:
        """D(self‖other): the log ratio of the widths; infinite where ``other`` leaves out a part."""
        if type(other) is not type(self) or self.batch != other.batch:
            return super().kl(other)
        covered = np.logical_and(np.less_equal(other.low, self.low), np.greater_equal(other.high, self.high))
        cells = np.where(covered, np.log((other.high - other.low) / (self.high - self.low)), np.inf)
        total = cells.sum(axis=-1) if cells.ndim else cells
        return float(total) if np.ndim(total) == 0 else total

    def entropy_cell(self) -> Any:
        return np.log(self.high - self.low)
