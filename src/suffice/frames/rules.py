"""The rules by which a column gets its family: what its values are, and what follows from it."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice.core.errors import DataError
from suffice.core.labels import in_order, read_labels
from suffice.core.parameters import Array
from suffice.distributions.bernoulli import Bernoulli
from suffice.distributions.categorical import Categorical
from suffice.distributions.gamma import Gamma
from suffice.distributions.lognormal import LogNormal
from suffice.distributions.multivariate_normal import MultivariateNormal
from suffice.distributions.negative_binomial import NegativeBinomial
from suffice.distributions.normal import Normal
from suffice.distributions.poisson import Poisson

FEW = 20  # whole numbers of at most so many different values are labels
OVERDISPERSED = 1.2  # variance/mean above which counts are not Poisson, where chance does not explain it
REPEATS = 10.0  # pairs that chance would have made alike, and none is: identifiers
EVIDENCE = 3.0  # nats that LogNormal or Gamma must gain on Normal: the rows are 20 times as probable
FINEST = 6  # decimals
FIRST = 200  # rows
HANDFUL = 5  # rows of known group that can show a shape


@dataclass(frozen=True)
class Finding:
    """What was found of one column."""

    name: Any
    family: Any
    why: str
    missing: float
    levels: tuple[Any, ...] | None = None
    unit: float | None = None
    real: bool = False
    unreadable: bool = False  # cells that are no labels at all

    @property
    def label(self) -> bool:
        """Whether the values are labels, yes and no among them, rather than amounts."""
        return isinstance(self.family, (Bernoulli, Categorical))

    def given(self, family: Any) -> Finding:
        """The column under a family that the caller chose."""
        levels = self.levels if isinstance(family, Categorical) else None
        return replace(
            self, family=family, why="left out on request" if family is None else "given", levels=levels, real=False
        )

    def together(self) -> Finding:
        """The column as one of several that are described together, where it holds real numbers."""
        if not self.real:
            return self
        return replace(self, family=MultivariateNormal(), why=f"{self.why.partition(';')[0]}; together")


def judged(name: Any, column: Array, weights: Array, groups: Array | None = None) -> Finding:
    """Apply the rules to one column, whose rows count by their weights; with groups, shapes are judged within them.

    A negative group is unknown. Weights that sum to less than the rows are shares, and are scaled to sum to the rows.
    """
    counted = weights > 0
    total = float(weights.sum())
    values = column[counted] if not counted.all() else column
    weights = weights[counted]
    within = np.zeros(len(weights), np.intp) if groups is None else groups[counted]
    if values.ndim > 1:
        return Finding(name, None, f"vectors of {values.shape[1]}: name a family for them", 0.0)
    labels = values.dtype.kind in "OUS"
    masked = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else _holes(values)
    missing = float(weights[masked].sum() / total) if total > 0 else 0.0
    seen, held = np.asarray(values)[~masked], weights[~masked]
    held = held * max(1.0, len(held) / held.sum()) if len(held) else held
    if len(seen) == 0:
        return Finding(name, None, "no value at all" if total > 0 else "no rows", missing)
    if values.dtype.kind in "mM":
        return Finding(name, None, "dates or times: make numbers or labels of them", missing)
    if labels:
        return _labels(name, seen, held, missing)
    if values.dtype.kind == "b":
        return _booleans(name, seen, missing)
    return _numbers(name, seen, held, missing, within[~masked])


def _holes(values: Array) -> Array:
    if values.dtype.kind in "fc":
        return np.isnan(values)
    if values.dtype.kind in "mM":
        return np.isnat(values)
    return np.array([cell is None for cell in values]) if values.dtype.kind == "O" else np.zeros(len(values), bool)


def _booleans(name: Any, seen: Array, missing: float) -> Finding:
    if seen.all() or not seen.any():
        return Finding(name, None, f"constant: {bool(seen[0])} everywhere", missing)
    return Finding(name, Bernoulli(), "yes or no", missing)


def _labels(name: Any, seen: Array, held: Array, missing: float) -> Finding:
    if any(isinstance(cell, (dt.date, dt.time, dt.timedelta)) for cell in seen[:100]):
        return Finding(name, None, "dates or times: make numbers or labels of them", missing)
    try:
        column = read_labels(seen, "infer", 1).columns[0]
    except DataError as error:
        kinds = ", ".join(in_order({type(cell).__name__ for cell in seen}))
        none = isinstance(error.__cause__, TypeError)
        why = "no labels" if none else "labels of different kinds"
        return Finding(name, None, f"{why}: it holds {kinds}", missing, unreadable=none)
    levels = column.seen
    text = all(isinstance(level, str) for level in levels)
    kind = "text" if text else "labels"
    if len(levels) == 1:
        return Finding(name, None, f"constant: {levels[0]!r:.30} everywhere", missing)
    if len(levels) > FEW and len(levels) > 0.5 * held.sum():
        return Finding(
            name, None, f"like an identifier: {len(levels)} different values in {held.sum():.6g} rows", missing
        )
    return Finding(name, Categorical(), f"{kind}, {len(levels)} levels", missing, levels)


def _numbers(  # noqa: PLR0911 (one for each rule)
    name: Any, seen: Array, held: Array, missing: float, within: Array
) -> Finding:
    low, high = float(seen.min()), float(seen.max())
    if low == high:
        return Finding(name, None, f"constant: {low:g} everywhere", missing)
    span = f"from {low:g} to {high:g}"
    unit = _unit(seen)
    different = np.unique(seen) if unit == 1 else seen
    alone = len(different) == len(seen) >= held.sum() * (1 - 1e-12)  # a weight of 2 is the row twice
    if unit == 1 and alone and len(seen) ** 2 > 2 * REPEATS * (high - low + 1):
        return Finding(name, None, f"like an identifier: {len(seen)} whole numbers {span}, all different", missing)
    if unit == 1 and low == 0 and high == 1:
        return Finding(name, Bernoulli(), "0 or 1", missing)
    if unit == 1 and 0 <= low <= 1:
        return _counts(name, *_known(seen, held, within), missing, span)
    if unit == 1 and len(different) <= FEW:
        levels = tuple(int(level) for level in different)
        return Finding(name, Categorical(), f"whole numbers, {len(levels)} levels", missing, levels)
    if low > 0 and np.isfinite(high):
        return _positive(name, *_known(seen, held, within), missing, span, unit)
    return Finding(name, Normal(), f"real numbers {span}", missing, unit=unit, real=True)


def _counts(name: Any, seen: Array, held: Array, within: Array, missing: float, span: str) -> Finding:
    """Poisson, where the variance within the groups is that of one, up to what chance allows."""
    total = held.sum()
    spread = 0.0
    for rows in _groups(within):
        x, w = seen[rows], held[rows]
        mean = float(w @ x / w.sum())
        spread += float(w @ (x - mean) ** 2 / mean) if mean > 0 else 0.0
    ratio = spread / total
    limit = max(OVERDISPERSED, 1 + 3 * np.sqrt(2 / total))
    family = NegativeBinomial() if ratio > limit else Poisson()
    return Finding(name, family, f"counts {span}, variance/mean {ratio:.2g}", missing, unit=1.0)


def _positive(
    name: Any, seen: Array, held: Array, within: Array, missing: float, span: str, unit: float | None
) -> Finding:
    """The family of the greatest likelihood; Normal, where another gains too little on it to tell."""
    rows, scores = np.asarray(seen, dtype=float), {}
    groups = [one for one in _groups(within) if len(np.unique(rows[one][:FIRST])) > 2]  # two values fit any family
    for family in (Normal(), LogNormal(), Gamma()):
        scores[family.name] = (sum(_likelihood(family, rows[one], held[one]) for one in groups), family)
    base, plain = scores.pop("Normal")
    other, (top, family) = max(scores.items(), key=lambda pair: pair[1][0])
    gain = top - base
    if gain > EVIDENCE:
        told, best = f"{other} gains {gain:.3g} nats on Normal", family
    else:
        told, best = ("Normal is likeliest" if gain <= 0 else f"{other} gains no more than {gain:.2g} nats"), plain
    return Finding(name, best, f"positive numbers {span}; {told}", missing, unit=unit, real=True)


def _likelihood(family: Any, rows: Array, held: Array) -> float:
    stats = family.suffstats(rows, held)
    return float(family.estimate(stats).log_likelihood(stats))


def _known(seen: Array, held: Array, within: Array) -> tuple[Array, Array, Array]:
    """The rows whose group is known; where they are too few to show a shape, all rows as one group."""
    known = within >= 0
    if known.all():
        return seen, held, within
    if np.count_nonzero(known) < HANDFUL:
        return seen, held, np.zeros(len(seen), np.intp)
    return seen[known], held[known], within[known]


def _groups(within: Array) -> list[Any]:
    """The rows of each group; all of them where there is one."""
    found = np.unique(within)
    return [slice(None)] if len(found) < 2 else [np.flatnonzero(within == one) for one in found]


def _unit(seen: Array) -> float | None:
    """The power of ten that all numbers are multiples of, at most 1; None where they are finer, or infinite."""
    if seen.dtype.kind in "iu":
        return 1.0
    numbers = seen.astype(np.float64)
    for decimals in range(FINEST + 1):
        if _multiples(numbers[:FIRST], decimals) and _multiples(
            numbers, decimals
        ):  # a few rows tell it of most columns
            return float(10.0**-decimals)
    return None


def _multiples(numbers: Array, decimals: int) -> bool:
    with np.errstate(all="ignore"):
        scaled = numbers * 10.0**decimals
        away = np.abs(scaled - np.round(scaled))
    slack = 0.0 if decimals == 0 else 1e-9 * np.maximum(np.abs(scaled), 1.0)
    return bool((away <= slack).all())
