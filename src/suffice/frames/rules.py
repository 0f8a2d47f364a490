"""The rules by which a column gets its family: what its values are, and what follows from it."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from suffice.core.errors import DataError
from suffice.core.labels import read_labels
from suffice.core.parameters import Array
from suffice.distributions.bernoulli import Bernoulli
from suffice.distributions.categorical import Categorical
from suffice.distributions.gamma import Gamma
from suffice.distributions.lognormal import LogNormal
from suffice.distributions.multivariate_normal import MultivariateNormal
from suffice.distributions.negative_binomial import NegativeBinomial
from suffice.distributions.normal import Normal
from suffice.distributions.poisson import Poisson
from suffice.engines.once import cached_property
from suffice.frames.table import Coded
from suffice.frames.text import NUMBER

FEW = 20  # whole numbers of at most so many different values are labels
STRAY = 1 / FEW  # of the labels that are no numbers, where the others are: worth a word
OVERDISPERSED = 1.2  # variance/mean above which counts are not Poisson, where chance does not explain it
UNDERDISPERSED = 0.5  # below which whole numbers are no counts but codes and grades, such as 1, 2, 3
REPEATS = 10.0  # pairs that chance would have made alike, and none is: identifiers
EVIDENCE = 3.0  # nats that LogNormal or Gamma must gain on Normal: the rows are 20 times as probable
FINEST = 6  # decimals
FIRST = 200  # rows
HANDFUL = 5  # rows of known group that can show a shape
DATES = "dates or times: make numbers or labels of them"
POSITIVE: tuple[Any, ...] = (Normal(), LogNormal(), Gamma())


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
        return self.family is not None and bool(self.family.labelled)

    def given(self, family: Any) -> Finding:
        """The column under a family that the caller chose."""
        levels = self.levels if family is not None and family.worded else None
        return replace(
            self, family=family, why="left out on request" if family is None else "given", levels=levels, real=False
        )

    def together(self) -> Finding:
        """The column as one of several that are described together, where it holds real numbers."""
        if not self.real:
            return self
        return replace(self, family=MultivariateNormal(), why=f"{self.why.partition(';')[0]}; together")


def judged(name: Any, column: Any, weights: Array, groups: Array | None = None) -> Finding:
    """Apply the rules to one column, whose rows count by their weights; with groups, shapes are judged within them.

    A negative group is unknown. Weights that sum to less than the rows are shares, and are scaled to sum to the rows.
    """
    column = np.asarray(column) if isinstance(column, Coded) else column
    counted = weights > 0
    total = float(weights.sum())
    values = column[counted] if not counted.all() else column
    weights = weights[counted]
    within = np.zeros(len(weights), np.intp) if groups is None else groups[counted]
    if values.ndim > 1:
        return Finding(name, None, f"vectors of {values.shape[1]}: name a family for them", 0.0)
    labels = values.dtype.kind in "OUS"
    masked = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else holes(values)
    missing = float(weights[masked].sum() / total) if total > 0 else 0.0
    seen, held = np.asarray(values)[~masked], weights[~masked]
    held = held * max(1.0, len(held) / held.sum()) if len(held) else held
    if len(seen) == 0:
        return Finding(name, None, "no value at all" if total > 0 else "no rows", missing)
    if values.dtype.kind in "mM":
        return Finding(name, None, DATES, missing)
    if labels:
        return _labels(name, seen, held, missing)
    if values.dtype.kind == "b":
        return of_booleans(name, missing, some=bool(seen.any()), every=bool(seen.all()))
    return of_numbers(name, _Cells(seen, held, within[~masked]), missing)


def holes(values: Array) -> Array:
    """Which cells are missing."""
    if values.dtype.kind in "fc":
        return np.isnan(values)
    if values.dtype.kind in "mM":
        return np.isnat(values)
    return np.array([cell is None for cell in values]) if values.dtype.kind == "O" else np.zeros(len(values), bool)


def of_booleans(name: Any, missing: float, *, some: bool, every: bool) -> Finding:
    """The rule of yes and no."""
    if every or not some:
        return Finding(name, None, f"constant: {every} everywhere", missing)
    return Finding(name, Bernoulli(), "yes or no", missing)


def _labels(name: Any, seen: Array, held: Array, missing: float) -> Finding:
    if any(isinstance(cell, (dt.date, dt.time, dt.timedelta)) for cell in seen[:100]):
        return Finding(name, None, DATES, missing)
    try:
        column = read_labels(seen, "infer", 1).columns[0]
    except DataError as error:
        kinds = frozenset(type(cell).__name__ for cell in seen)
        return of_strange(name, kinds, missing, none=isinstance(error.__cause__, TypeError))
    return of_labels(name, column.seen, float(held.sum()), missing)


def of_strange(name: Any, kinds: frozenset[str], missing: float, *, none: bool) -> Finding:
    """The rule of cells that cannot be put in order, or are no labels at all."""
    why = "no labels" if none else "labels of different kinds"
    return Finding(name, None, f"{why}: it holds {', '.join(sorted(kinds))}", missing, unreadable=none)


def of_labels(name: Any, levels: tuple[Any, ...], total: float, missing: float) -> Finding:
    """The rules of labels, by those that occur and the weight of the rows that have one."""
    text = all(isinstance(level, str) for level in levels)
    kind = "text" if text else "labels"
    if len(levels) == 1:
        return Finding(name, None, f"constant: {levels[0]!r:.30} everywhere", missing)
    stray = _stray(levels)
    if len(levels) > FEW and len(levels) > 0.5 * total:
        why = f"like an identifier: {len(levels)} different values in {total:.6g} rows"
        return Finding(name, None, why + stray, missing)
    return Finding(name, Categorical(), f"{kind}, {len(levels)} levels{stray}", missing, levels)


def _stray(levels: tuple[Any, ...]) -> str:
    """What to tell of labels that are numbers but for a few."""
    words = [level for level in levels if not _numeric(level)]
    if not 0 < len(words) <= STRAY * len(levels):
        return ""
    more = f" and {len(words) - 1} more" if words[1:] else ""
    return f"; numbers but for {words[0]!r:.24}{more}, a missing cell?"


def _numeric(level: Any) -> bool:
    if isinstance(level, str):
        return re.match(NUMBER, level) is not None
    return isinstance(level, (int, float, np.number)) and not isinstance(level, bool)


class Facts(Protocol):
    """What the rules of numbers ask of a column."""

    @property
    def low(self) -> float:
        """The least value."""

    @property
    def high(self) -> float:
        """The greatest."""

    @property
    def count(self) -> int:
        """How many rows have a value."""

    @property
    def unit(self) -> float | None:
        """The power of ten that all values are multiples of."""

    @property
    def alone(self) -> bool:
        """Whether all values differ, and none counts twice."""

    @property
    def few(self) -> tuple[Any, ...] | None:
        """The different values, where there are at most `FEW`."""

    @property
    def dispersion(self) -> float:
        """Variance/mean, within the groups."""

    @property
    def total(self) -> float:
        """The weight of the rows that show it."""

    @property
    def scores(self) -> dict[str, float]:
        """The log-likelihood of each family of positive numbers, within the groups."""


class _Cells:
    """The facts of cells in memory, each looked up where a rule asks for it."""

    def __init__(self, seen: Array, held: Array, within: Array) -> None:
        self.seen, self.held, self.within = seen, held, within
        self.low, self.high, self.count, self.unit = float(seen.min()), float(seen.max()), len(seen), unit_of(seen)

    @cached_property
    def different(self) -> Array:
        return np.unique(self.seen)

    @property
    def alone(self) -> bool:
        return bool(
            len(self.different) == self.count >= self.held.sum() * (1 - 1e-12)
        )  # a weight of 2 is the row twice

    @property
    def few(self) -> tuple[Any, ...] | None:
        return tuple(self.different.tolist()) if len(self.different) <= FEW else None

    @cached_property
    def known(self) -> tuple[Array, Array, Array]:
        return _known(self.seen, self.held, self.within)

    @property
    def total(self) -> float:
        return float(self.known[1].sum())

    @property
    def dispersion(self) -> float:
        seen, held, within = self.known
        spread = 0.0
        for rows in _groups(within):
            x, w = seen[rows], held[rows]
            mean = float(w @ x / w.sum())
            spread += float(w @ (x - mean) ** 2 / mean) if mean > 0 else 0.0
        return float(spread / held.sum())

    @property
    def scores(self) -> dict[str, float]:
        seen, held, within = self.known
        rows = np.asarray(seen, dtype=float)
        groups = [one for one in _groups(within) if len(np.unique(rows[one][:FIRST])) > 2]  # two values fit any family
        return {one.name: sum(_likelihood(one, rows[g], held[g]) for g in groups) for one in POSITIVE}


def of_numbers(name: Any, facts: Facts, missing: float) -> Finding:  # noqa: PLR0911 (one for each rule)
    """The rules of numbers."""
    low, high, unit = facts.low, facts.high, facts.unit
    if low == high:
        return Finding(name, None, f"constant: {low:g} everywhere", missing)
    span = f"from {low:g} to {high:g}"
    if unit == 1 and facts.count**2 > 2 * REPEATS * (high - low + 1) and facts.alone:
        return Finding(name, None, f"like an identifier: {facts.count} whole numbers {span}, all different", missing)
    if unit == 1 and low == 0 and high == 1:
        return Finding(name, Bernoulli(), "0 or 1", missing)
    if unit == 1 and 0 <= low <= 1:
        return _counts(name, facts, missing, span)
    if unit == 1 and facts.few is not None:
        return _codes(name, facts.few, missing)
    if low > 0 and np.isfinite(high):
        return _positive(name, facts, missing, span, unit)
    return Finding(name, Normal(), f"real numbers {span}", missing, unit=unit, real=True)


def _codes(name: Any, values: tuple[Any, ...], missing: float) -> Finding:
    levels = tuple(int(level) for level in values)
    return Finding(name, Categorical(), f"whole numbers, {len(levels)} levels", missing, levels)


def _counts(name: Any, facts: Facts, missing: float, span: str) -> Finding:
    """Poisson, where the variance within the groups is that of one, up to what chance allows; labels far below it."""
    ratio, chance = facts.dispersion, 3 * np.sqrt(2 / facts.total)
    if facts.few is not None and ratio < min(UNDERDISPERSED, 1 - chance):
        return _codes(name, facts.few, missing)
    family = NegativeBinomial() if ratio > max(OVERDISPERSED, 1 + chance) else Poisson()
    return Finding(name, family, f"counts {span}, variance/mean {ratio:.2g}", missing, unit=1.0)


def _positive(name: Any, facts: Facts, missing: float, span: str, unit: float | None) -> Finding:
    """The family of the greatest likelihood; Normal, where another gains too little on it to tell."""
    scores = dict(facts.scores)
    base = scores.pop("Normal")
    other, top = max(scores.items(), key=lambda pair: pair[1])
    gain = top - base
    families = {one.name: one for one in POSITIVE}
    if gain > EVIDENCE:
        told, best = f"{other} gains {_nats(gain)} nats on Normal", families[other]
    else:
        told = "Normal is likeliest" if gain <= 0 else f"{other} gains no more than {gain:.2g} nats"
        best = families["Normal"]
    return Finding(name, best, f"positive numbers {span}; {told}", missing, unit=unit, real=True)


def _nats(gain: float) -> str:
    """A gain in few letters; of a large one the decimals say nothing."""
    return f"{gain:.3g}" if gain < 100 else f"{gain:,.0f}"


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


def unit_of(seen: Array) -> float | None:
    """The power of ten that all numbers are multiples of, at most 1; None where they are finer, or infinite."""
    if seen.dtype.kind in "iu":
        return 1.0
    numbers = seen.astype(np.float64)
    for decimals in range(FINEST + 1):
        if multiples(numbers[:FIRST], decimals) and multiples(numbers, decimals):  # a few rows tell it of most columns
            return float(10.0**-decimals)
    return None


def multiples(numbers: Array, decimals: int) -> bool:
    """Whether numbers have no more decimals."""
    with np.errstate(all="ignore"):
        scaled = numbers * 10.0**decimals
        away = np.abs(scaled - np.round(scaled))
    slack = 0.0 if decimals == 0 else 1e-9 * np.maximum(np.abs(scaled), 1.0)
    return bool((away <= slack).all())
