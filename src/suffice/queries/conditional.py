"""Conditional distribution of one column given the others, row by row: a mixture of simple distributions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.engines.once import cached_property
from suffice.errors import SufficeWarning, UnsupportedError
from suffice.tables.labels import as_array, in_order
from suffice.types import Array

STEPS = 2200  # halvings that reach the last bit from anywhere


@dataclass(frozen=True, eq=False)
class ConditionalColumn:
    """The distributions of one cell in n rows.

    ``leaves`` are pairs: the share (n,) of each row that a distribution of one column has, and that distribution, with
    one value of each parameter for all rows, or with n of them, one for each row.
    """

    n: int
    leaves: tuple[tuple[Array, Any], ...]
    lost: tuple[int, ...] = ()  # rows that cannot be, so that nothing follows from their cells

    @classmethod
    def of(cls, n: int, one: object) -> ConditionalColumn:
        """What a single distribution says."""
        return cls(n, ((np.ones(n), one),))

    @classmethod
    def mixed(cls, shares: Array, each: list[ConditionalColumn], lost: Array) -> ConditionalColumn:
        """What components say that have ``shares`` (n, k) of the rows, of which some are ``lost``."""
        found = [(shares[:, j] * share, leaf) for j, component in enumerate(each) for share, leaf in component.leaves]
        others = {row for component in each for row in component.lost}
        return cls(len(shares), tuple(found), tuple(sorted({*lost.tolist(), *others})))

    def remark(self, column: Hashable, rows: Array | None = None) -> None:
        """Warn of rows from whose cells nothing follows; ``rows`` are their numbers."""
        if self.lost:
            row = self.lost[0] if rows is None else int(rows[list(self.lost)].min())
            text = (
                f"row {row} has probability 0, so that nothing follows from its cells: {column!r} is told as if none "
                "were known."
            )
            warnings.warn(text, SufficeWarning, stacklevel=4)

    # ---- labels -------------------------------------------------------------------------------------------------
    @cached_property
    def levels(self) -> tuple[Any, ...] | None:
        """The labels that the cell may have; None where it holds a number."""
        known: list[Any] = [getattr(leaf, "levels", None) for _, leaf in self.leaves]
        if any(levels is None for levels in known):
            if any(levels is not None for levels in known):
                msg = "one component describes this column by labels and another by numbers: there is no common answer."
                raise UnsupportedError(msg)
            return None
        first: tuple[Any, ...] = known[0]
        same = all(levels == first for levels in known)
        return first if same else in_order({one for levels in known for one in levels})

    @cached_property
    def probabilities(self) -> Array:
        """The probability of each level in each row, (n, L)."""
        levels = self.levels or ()
        place = {level: index for index, level in enumerate(levels)}
        total = np.zeros((self.n, len(levels)))
        for share, leaf in self.leaves:
            probs = np.zeros(len(levels))
            probs[[place[level] for level in leaf.levels]] = np.asarray(leaf.probs)[: len(leaf.levels)]
            total += share[:, None] * probs
        return total

    # ---- numbers ------------------------------------------------------------------------------------------------
    @property
    def discrete(self) -> bool:
        """Whether the cell is a whole number or a label."""
        return all(leaf.discrete for _, leaf in self.leaves)

    def _weighed(self, ask: Callable[[Any], Any]) -> Array:
        total: Any = np.zeros(self.n)
        with np.errstate(invalid="ignore"):
            for share, leaf in self.leaves:
                part = share * ask(leaf)
                total = total + (part if self.shared else np.where(share > 0, part, 0.0))
        return np.asarray(total)

    @cached_property
    def shared(self) -> bool:
        """Whether every distribution has a share of every row."""
        return all(bool(share.all()) for share, _ in self.leaves)

    @property
    def mean(self) -> Array:
        """The mean in each row, (n,)."""
        return self._weighed(lambda leaf: leaf.mean)

    @property
    def std(self) -> Array:
        """The standard deviation in each row, (n,)."""
        middle = self.mean
        return np.asarray(np.sqrt(self._weighed(lambda leaf: leaf.var + np.square(leaf.mean - middle))))

    def cdf(self, x: Array) -> Array:
        """P(X ≤ x) in each row, (n,), or for several x in each, (m, n)."""
        return self._weighed(lambda leaf: leaf.cumulative(x))

    def quantiles(self, *levels: float) -> Array:
        """The smallest x with P(X ≤ x) ≥ level in each row, for each level: (m, n)."""
        wanted = np.repeat(np.array(levels, dtype=float)[:, None], self.n, axis=1)
        ends = [np.where(share > 0, leaf.quantile(wanted), np.nan) for share, leaf in self.leaves]
        return np.asarray(between(self.cdf, wanted, ends, whole=self.discrete))

    # ---- one value ----------------------------------------------------------------------------------------------
    @property
    def typical(self) -> Array:
        """One value for each row: the most probable label, the median of whole numbers, else the mean."""
        levels = self.levels
        if levels is not None:
            return np.asarray(as_array(levels)[self.probabilities.argmax(axis=1)])
        return self.quantiles(0.5)[0] if self.discrete else self.mean

    @property
    def doubt(self) -> Array:
        """How sure that value is: the probability of the label, or the standard deviation of the number."""
        return self.std if self.levels is None else np.asarray(self.probabilities.max(axis=1))

    def draw(self, rng: np.random.Generator) -> Array:
        """One value for each row, drawn: a leaf by its share, and a value from it."""
        bounds = np.cumsum([share for share, _ in self.leaves], axis=0)
        who = (rng.random(self.n) * bounds[-1] >= bounds[:-1]).sum(axis=0)
        values = None
        for index, (_, leaf) in enumerate(self.leaves):
            rows = np.flatnonzero(who == index)
            if not len(rows):
                continue
            own = leaf.batch != ()
            drawn = np.asarray(
                leaf.reshaped(lambda value, rows=rows: value[rows]).sample(1, rng)[0]
                if own
                else leaf.sample(len(rows), rng)
            )
            if values is None:
                values = np.empty(self.n, dtype=drawn.dtype if drawn.dtype.kind in "biufmM" else object)
            values[rows] = drawn
        return np.empty(0) if values is None else values


def between(cdf: Callable[[Any], Any], level: Array, ends: list[Any], *, whole: bool) -> Any:
    """The smallest x with cdf(x) ≥ level, which lies between the quantiles of the components; NaN is none.

    Inverse quadratic interpolation where that is safe, else halving (Chandrupatla 1997); whole numbers by halving.
    """
    low, high = np.nanmin(ends, axis=0), np.nanmax(ends, axis=0)
    apart = low < high
    low, high = np.where(apart, np.maximum(low, -1e307), low), np.where(apart, np.minimum(high, 1e307), high)
    with np.errstate(all="ignore"):
        below = np.asarray(cdf(low)) - level
        high = np.where(below >= 0, low, high)  # from here on P(X ≤ high) ≥ q > P(X ≤ low)
        new, f_new = high, np.asarray(cdf(high)) - level if (low < high).any() else below
        old, f_old, third, f_third = low, below, low, below
        for step in range(STEPS):
            low, high = np.minimum(new, old), np.maximum(new, old)
            x = np.floor((low + high) / 2) if whole else low + (high - low) / 2
            if step % 3 and not whole:
                x = np.where(x > low, _interpolated((new, old, third), (f_new, f_old, f_third), x), x)
            inside = (x > low) & (x < high)
            if not inside.any():
                break
            f = np.asarray(cdf(np.where(inside, x, high))) - level
            other = (f >= 0) == (new < old)  # on the other side of the level than the end that moved last
            third = np.where(inside, np.where(other, old, new), third)
            f_third = np.where(inside, np.where(other, f_old, f_new), f_third)
            crossed = inside & other
            old, f_old = np.where(crossed, new, old), np.where(crossed, f_new, f_old)
            new, f_new = np.where(inside, x, new), np.where(inside, f, f_new)
        high = np.maximum(new, old)
    return float(high) if np.ndim(high) == 0 else high


def _interpolated(x: tuple[Array, Array, Array], f: tuple[Array, Array, Array], middle: Array) -> Array:
    """Where the inverse quadratic through three points is 0, at least two floats from the ends; the middle if unsure.

    Where the upper end has exactly the level, as rounding makes many floats have it, the next is near to that end.
    """
    (x1, x2, x3), (f1, f2, f3) = x, f
    width, float_step = x2 - x1, np.spacing(np.maximum(np.abs(x[0]), np.abs(x[1])))
    near = np.maximum(x1, x2) - np.sqrt(float_step) * np.sqrt(np.abs(width))
    along, rise = -width / (x3 - x2), (f1 - f2) / (f3 - f2)
    t = f1 / (f2 - f1) * f3 / (f2 - f3) + (x3 - x1) / width * f1 / (f3 - f1) * f2 / (f3 - f2)
    least = 2 * float_step / np.abs(width)
    sure = (rise**2 < along) & ((1 - rise) ** 2 < 1 - along) & (least < 0.5)
    found = np.where(sure, x1 + np.clip(t, least, 1 - least) * width, middle)
    return np.where(np.maximum(f1, f2) == 0, near, found)
