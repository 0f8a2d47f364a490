"""The rules by which a column gets its family: what its values are, and what follows from it."""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from suffice.core.distribution import Distribution
from suffice.core.parameters import LABEL
from suffice.display.values import percent
from suffice.distributions.bernoulli import Bernoulli
from suffice.distributions.categorical import Categorical
from suffice.distributions.levels import POOL
from suffice.distributions.multivariate_normal import MultivariateNormal
from suffice.distributions.normal import Normal
from suffice.schema.scores import LARGEST_COUNT, LARGEST_MEAN, Score, Scores
from suffice.tables.csv_types import NUMBER
from suffice.types import Array

FEW = 20  # text of more levels may be an identifier
LABELS = 32  # numbers of at most so many different values may be labels: hours, days of a month, scales
MANY = 500  # whole numbers of at least so many different values may be identifiers that repeat; 366 are days of a year
STRAY = 1 / FEW  # of the labels that are not numbers, where the others are: worth a word
REPEATS = 10.0  # pairs that chance would have made alike, and none is: identifiers
# What these three choose, and what other values would, is measured by benchmarks/families.py: see "Families" in
# benchmarks/RESULTS.md. The other numbers here have no experiment: they are judgements.
EVIDENCE = 3.0  # nats that a family must gain on the simplest: the rows are 20 times as probable
GAIN = {"Categorical": 0.01, "StudentT": 0.1}  # and nats a row: labels forget the order, StudentT takes many passes
OF_COUNTS = 0.02  # and what a family of amounts must gain on counts
DISPERSED = 200  # rows that tell variance/mean to 0.1 (one standard error): what shows counts that stay away from 0
SKEWED = 50.0  # mean of such counts; a Normal describes larger ones as well, within 1/(12 mean) nats a row
SHORT = 12  # values of a scale; more of them are labels only if each comes ten times
ABRUPT = 0.3  # weight of the values at both ends of a long scale of labels, by the average of all
FINEST = 6  # decimals
FIRST = 200  # rows
HANDFUL = 5  # rows of known group that can show a shape
RARE = 50  # levels of text, beyond which rare ones are pooled
LEAST = 10  # rows of a level that is not rare: the standard error of its probability is a third of it, or less
WRITTEN = {
    r"[-+−]?[\d.,\s]*\d\s*%": "numbers with a % sign? Strip it, and make numbers of them",
    r"[-+−]?[€$£¥]\s*[-+−]?[\d.,\s]*\d|[-+−]?[\d.,\s]*\d\s*[€$£¥]": "amounts of money? Make numbers of them",
    r"[-+−]?\d{1,3}([,\s]\d{3})+(\.\d+)?": "numbers with thousands separators? Make numbers of them",
    r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?": "dates? Make dates, then numbers or labels, of them",
    r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?": "times of day? Make numbers of them",
    r"[-+]?\d+ days?.*": "durations? Make numbers of them",
}
DATES = "dates or times: make numbers or labels of them"
ON_REQUEST = "left out on request"


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
    unpooled: tuple[Any, ...] | None = None  # the levels, where rare ones are pooled
    unreadable: bool = False  # cells that are not labels at all
    copy_of: tuple[Any, ...] = ()  # the earlier column that has the same value in every row

    @property
    def label(self) -> bool:
        """Whether the values are labels, yes and no among them, rather than amounts."""
        return self.family is not None and self.family.support.labels

    def given(self, family: Distribution | None) -> Finding:
        """The column under a family that the caller chose."""
        all_levels = self.levels if self.unpooled is None else self.unpooled
        levels = all_levels if family is not None and family.support == LABEL else None
        why = ON_REQUEST if family is None else "given"
        return replace(self, family=family, why=why, levels=levels, unpooled=None, real=False, copy_of=())

    def without_pool(self) -> Finding:
        """The column with all its levels, rare or not."""
        if self.unpooled is None:
            return self
        why = f"text, {len(self.unpooled)} levels"
        return replace(self, family=Categorical(), why=why, levels=self.unpooled, unpooled=None)

    def together(self) -> Finding:
        """The column as one of several that are described together, where it holds real numbers."""
        if not self.real:
            return self
        return replace(self, family=MultivariateNormal(), why=f"{self.why.partition(';')[0]}; together")


def holes(values: Array) -> Array:
    """Which cells are missing."""
    if values.dtype.kind in "fc":
        return np.isnan(values)
    if values.dtype.kind in "mM":
        return np.isnat(values)
    return np.array([cell is None for cell in values]) if values.dtype.kind == "O" else np.zeros(len(values), bool)


def of_booleans(name: Hashable, missing: float, *, some: bool, every: bool) -> Finding:
    """The rule of yes and no."""
    if every or not some:
        return Finding(name, None, f"constant: {every} everywhere", missing)
    return Finding(name, Bernoulli(), "yes or no", missing)


def of_strange(name: Hashable, kinds: frozenset[str], missing: float, *, none: bool) -> Finding:
    """The rule of cells that cannot be put in order, or are not labels at all."""
    why = "no labels" if none else "labels of different kinds"
    return Finding(name, None, f"{why}: it holds {', '.join(sorted(kinds))}", missing, unreadable=none)


def of_labels(name: Hashable, levels: tuple[Any, ...], rows: int, missing: float, each: Array) -> Finding:
    """The rules of labels, by those that occur, how many rows have one, and how many have each."""
    text = all(isinstance(level, str) for level in levels)
    kind = "text" if text else "labels"
    if len(levels) == 1:
        return Finding(name, None, f"constant: {levels[0]!r:.30} everywhere", missing)
    stray = _stray(levels) or _hint(levels)
    if len(levels) > FEW and len(levels) > 0.5 * rows:
        why = f"like an identifier: {len(levels)} different values in {rows} rows"
        return Finding(name, None, why + stray, missing)
    few = each < LEAST
    if len(levels) > RARE and 2 * np.count_nonzero(few) > len(levels):
        part = float(each[few].sum() / rows)
        if part <= 0.5 and text:
            return _with_pool(name, levels, missing, few, part, stray)
        if len(levels) >= MANY:
            head = f"like an identifier: {len(levels)} different values in {rows} rows"
            why = f"{head}, {percent(part)} of the rows with rare ones (fewer than {LEAST} rows)"
            return Finding(name, None, why + stray, missing)
    rare = ""
    if len(levels) > RARE and not stray and rows < LEAST * len(levels):
        rare = f", {rows / len(levels):.1f} rows each, much like an identifier: leave it out or pool rare levels"
    return Finding(name, Categorical(), f"{kind}, {len(levels)} levels{rare}{stray}", missing, levels)


def _with_pool(name: Hashable, levels: tuple[Any, ...], missing: float, few: Array, part: float, stray: str) -> Finding:
    """Labels of which the rare ones are one level."""
    kept = tuple(level for level, rare in zip(levels, few.tolist(), strict=True) if not rare)
    pool = POOL
    while pool in levels:  # a level of that name is not the pool
        pool = f"({pool})"
    family = Categorical((*kept, pool), pool=pool)
    pooled = f"{np.count_nonzero(few)} with fewer than {LEAST} rows pooled as {pool!r} ({percent(part)} of the rows)"
    return Finding(
        name, family, f"text, {len(levels)} levels, {pooled}{stray}", missing, (*kept, pool), unpooled=levels
    )


def _stray(levels: tuple[Any, ...]) -> str:
    """What to tell of labels that are numbers but for a few."""
    words = [level for level in levels if not _numeric(level)]
    if not 0 < len(words) <= STRAY * len(levels):
        return ""
    more = f" and {len(words) - 1} more" if words[1:] else ""
    return f"; numbers but for {words[0]!r:.24}{more}, a missing cell?"


def _hint(levels: tuple[Any, ...]) -> str:
    """What to tell of text that stands for numbers, dates or times."""
    some = levels[:FIRST]
    for pattern, words in WRITTEN.items():
        if all(isinstance(level, str) and re.fullmatch(pattern, level.strip()) for level in some):
            return f"; {words}"
    return ""


def _numeric(level: object) -> bool:
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
        """Whether all values differ."""

    @property
    def different(self) -> float:
        """How many different values there are, or an estimate of it."""

    @property
    def ends(self) -> float:
        """The weight of the least or of the greatest value, whichever is less, by that of all values on average."""

    @property
    def few(self) -> tuple[float, ...] | None:
        """The different values, where there are at most `LABELS`."""

    @property
    def scores(self) -> Scores:
        """What families make of the values, within the groups."""


def of_numbers(name: Hashable, facts: Facts, missing: float) -> Finding:
    """The rules of numbers."""
    low, high, unit = facts.low, facts.high, facts.unit
    if low == high:
        return Finding(name, None, f"constant: {low:g} everywhere", missing)
    span = f"from {low:g} to {high:g}"
    if unit == 1 and facts.count**2 > 2 * REPEATS * (high - low + 1) and facts.alone:
        return Finding(name, None, f"like an identifier: {facts.count} whole numbers {span}, all different", missing)
    if unit == 1 and low == 0 and high == 1:
        return Finding(name, Bernoulli(), "0 or 1", missing)
    if not np.isfinite(high - low):
        return Finding(name, Normal(), f"real numbers {span}", missing, unit=unit, real=True)
    return _score(name, facts, missing, span)


def _score(name: Hashable, facts: Facts, missing: float, span: str) -> Finding:
    """The family of the greatest evidence among those that the values allow."""
    scores, unit = facts.scores, facts.unit
    counted = unit == 1 and 0 <= facts.low <= 1
    away = unit == 1 and facts.low > 1 and scores.rows >= DISPERSED and scores.moments[2] <= SKEWED
    labels = facts.few is not None and facts.count >= 2 * facts.different
    if labels and facts.different > SHORT:
        labels = facts.count >= 10 * facts.different and facts.ends >= ABRUPT  # counts become rare, hours just end
        if labels and unit != 1:  # a measurement fills its scale, or has more values
            places = np.inf if unit is None else (facts.high - facts.low) / unit + 1
            labels = facts.different <= min(FEW, 0.5 * places)
    counts = (counted or away) and facts.high <= LARGEST_COUNT and scores.moments[2] <= LARGEST_MEAN
    found = scores.all(counts=counts, labels=labels)
    best = _best(found, scores.rows, counted=counted, small=counts and counted and scores.small)
    filled = unit == 1 and facts.different >= max(MANY, 0.5 * (facts.high - facts.low + 1))
    if filled and 0 <= facts.low <= max(1, 0.01 * facts.high) and scores.uniform() > best.evidence:
        why = f"like an identifier that repeats: {facts.different:.0f} whole numbers {span}, all about as often"
        return Finding(name, None, why, missing)
    tail = _compare(best, found, scores.rows)
    if best.family.support == LABEL:
        return _codes(name, facts, missing, span, tail)
    if best.family.discrete:
        head = f"counts {span}, variance/mean {scores.moments[0]:.2g}"
        return Finding(name, best.family, f"{head}{tail}", missing, unit=unit)
    if best.family.atoms:
        others = f"up to {facts.high:g}" if facts.low == 0 else span
        head = f"{percent(scores.zeros / scores.rows)} zeros, others {others}"
        return Finding(name, best.family, f"{head}{tail}", missing, unit=unit)
    kind = "whole numbers" if unit == 1 else "positive numbers" if facts.low > 0 else "real numbers"
    return Finding(name, best.family, f"{kind} {span}{tail}", missing, unit=unit, real=True)


def _best(found: list[Score], rows: float, *, counted: bool, small: bool) -> Score:
    """The greatest evidence; a candidate as simple as the first unless others gain enough on it.

    ``counted``: whole numbers from 0 or 1 on; from elsewhere on, a family of counts that takes many passes must gain
    more. ``small``: counts that are small, for which a family of amounts must gain more.
    """
    first = found[0]

    def handicap(one: Score) -> float:
        simple = one is first or one.family.n_parameters < first.family.n_parameters
        least = 0.0 if simple or one.family.support == LABEL else EVIDENCE
        slow = not one.family.exact and not (counted and one.family.discrete)
        share = GAIN.get(one.family.name, OF_COUNTS if (small and not one.family.discrete) or slow else 0.0)
        return max(least, share * rows)

    return max(found, key=lambda one: one.evidence - handicap(one))


def _compare(best: Score, found: list[Score], rows: float) -> str:
    """The runner-up, and by how much."""
    others = [one for one in found if one is not best]
    if not others:
        return ""
    other = max(others, key=lambda one: one.evidence)
    behind = (best.evidence - other.evidence) / rows
    if abs(behind) < 0.01:
        return f"; runner-up {other.family.name}, within 0.01 nats a row"
    if behind > 0:
        return f"; runner-up {other.family.name}, {behind:,.2f} nats a row worse"
    return f"; {other.family.name} is only {-behind:,.2f} nats a row better"


def _codes(name: Hashable, facts: Facts, missing: float, span: str, tail: str) -> Finding:
    values = facts.few or ()
    levels = tuple(int(level) for level in values) if facts.unit == 1 else tuple(values)
    kind = "whole numbers" if facts.unit == 1 else "numbers"
    return Finding(name, Categorical(), f"{len(levels)} {kind} {span}{tail}", missing, levels)


def multiples(numbers: Array, decimals: int) -> bool:
    """Whether numbers have no more decimals."""
    with np.errstate(all="ignore"):
        scaled = numbers * 10.0**decimals
        away = np.abs(scaled - np.round(scaled))
    slack = 0.0 if decimals == 0 else 1e-9 * np.maximum(np.abs(scaled), 1.0)
    return bool((away <= slack).all())
