"""What independent columns ignore: how much each pair of columns tells of each other within the classes."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from suffice.display.names import display_name
from suffice.display.table import table_lines
from suffice.numerics.lazy import special
from suffice.tables.frame import of_objects
from suffice.tables.labels import read_labels
from suffice.tables.rows import cells
from suffice.types import Alert, Array

NEAREST = 1e-10  # 1 − ρ² of columns that are equal: information is infinite, and told as −½ log of this
SHOWN = 10
STRONG = 0.25  # nats per row, a correlation of 0.63: 40 % of a Normal column's variance is known from the other
SURE = 10.0  # nats in all rows: 1e4 to 1 against independent columns
NAMED = 3  # pairs that an alert names


@dataclass(frozen=True)
class Pair:
    """Two columns, and the information (nats per row) that they have of each other within the classes.

    ``cost`` is that times the number of rows: the log-likelihood that a model of independent columns gives away.
    ``kind`` says how it was measured.
    """

    columns: tuple[Any, Any]
    information: float
    cost: float
    kind: str


@dataclass(frozen=True)
class Dependence:
    """Pairs of columns by falling information, as :func:`dependence` finds them; print it for a table."""

    pairs: tuple[Pair, ...]
    rows: float

    def __getitem__(self, index: int) -> Pair:
        """Return one pair."""
        return self.pairs[index]

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.pairs)

    def __str__(self) -> str:
        """Show the pairs that matter most."""
        head = ("columns", "nats per row", "log-likelihood", "measured as")
        rows = [
            (" – ".join(map(str, one.columns)), f"{one.information:.4f}", f"{one.cost:.1f}", one.kind)
            for one in self.pairs[:SHOWN]
        ]
        more = [f"and {len(self.pairs) - SHOWN} more pairs"] if len(self.pairs) > SHOWN else []
        return "\n".join([*table_lines([head, *rows], (1, 2)), *more])


def ignored(found: Dependence, together: Callable[[Any, Any], bool]) -> tuple[Alert, ...]:
    """An alert of the pairs that depend strongly on each other, but for those which are described ``together``."""
    apart = (one for one in found.pairs if not together(*one.columns))
    strong = [one for one in apart if one.information >= STRONG and one.cost >= SURE]
    if not strong:
        return ()
    names = "; ".join(
        f"{display_name(one.columns[0])!r} and {display_name(one.columns[1])!r} ({one.information:.2f} nats a row)"
        for one in strong[:NAMED]
    )
    more = f"; and {len(strong) - NAMED} more pairs" if len(strong) > NAMED else ""
    text = (
        f"columns that tell much of each other within the classes are taken as independent, which makes probabilities "
        f"too sure: {names}{more}. Leave one of each pair out, or describe numbers together: NaiveBayes(joint=True)."
    )
    return (Alert("dependent", text),)


def dependence(columns: Any, codes: Array, weights: Array | None = None, labels: Collection[Any] = ()) -> Dependence:
    """Conditional mutual information of every pair of columns given the class.

    Columns by name; numbers are amounts, unless ``labels`` names the column. Within each class, over the
    rows that have both cells, and averaged over the classes by their weight:

    - two columns of numbers: −½ log(1 − ρ²), as if both were Normal;
    - two columns of labels: the mutual information of their table;
    - numbers beside labels: ½ log(total / within-label sum of squares), as in an analysis of variance.

    From each the bias of independent columns is taken, so that it is 0 on average where there is nothing:
    1/2n, (r − 1)(s − 1)/2n, (r − 1)/2n.
    """
    w = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=float)
    known = {name: _Column.of(columns[name], label=name in labels) for name in columns}
    components = [np.flatnonzero((codes == code) & (w > 0)) for code in np.unique(codes[codes >= 0])]
    total = float(sum(w[rows].sum() for rows in components))
    found = []
    for (left, one), (right, other) in combinations(known.items(), 2):
        bits = sum(_information(one, other, rows, w[rows]) for rows in components) / max(total, 1e-300)
        bits = max(bits, 0.0)
        kind = {0: "correlation", 1: "analysis of variance", 2: "table of labels"}[one.label + other.label]
        found.append(Pair((left, right), bits, bits * total, kind))
    return Dependence(tuple(sorted(found, key=lambda one: -one.information)), total)


@dataclass(frozen=True)
class _Column:
    """Numbers, or the codes of labels; NaN and −1 are missing."""

    values: Array
    label: bool

    @classmethod
    def of(cls, values: Array, *, label: bool) -> _Column:
        array = cells(values, "dependence")
        if array.dtype.kind == "O" and not label:
            array = of_objects(array)
        if array.dtype.kind in "iuf" and not label:
            return cls(array.astype(float), label=False)
        column = read_labels(array, "dependence", 1).columns[0]
        return cls(np.asarray(column.codes, dtype=np.int64) - column.low, label=True)

    def seen(self, rows: Array) -> Array:
        return np.asarray(self.values[rows] >= 0 if self.label else ~np.isnan(self.values[rows]))


def _information(one: _Column, other: _Column, rows: Array, w: Array) -> float:
    """The information of the rows of one class times their weight."""
    kept = one.seen(rows) & other.seen(rows)
    rows, inside = rows[kept], w[kept]
    weight = inside.sum()
    if len(rows) < 2 or not weight > 0:
        return 0.0
    a, b = one.values[rows], other.values[rows]
    if one.label and other.label:
        found = _of_table(a, b, inside, weight)
    elif one.label or other.label:
        found = _of_groups(*((a, b) if one.label else (b, a)), inside, weight)
    else:
        found = _of_numbers(a, b, inside, weight)
    return float(found * w.sum())  # what the holes hide is taken to be alike


def _of_numbers(a: Array, b: Array, w: Array, weight: float) -> float:
    a, b = (x - (w @ x) / weight for x in (a, b))
    left, right, both = w @ (a * a), w @ (b * b), w @ (a * b)
    if not (left > 0 and right > 0):
        return 0.0
    apart = max(float(1.0 - both * both / (left * right)), NEAREST)
    return float(-0.5 * np.log(apart) - 0.5 / weight)


def _of_groups(labels: Array, x: Array, w: Array, weight: float) -> float:
    away = x - (w @ x) / weight
    size, sums = (np.bincount(labels, part) for part in (w, w * away))
    total = w @ (away * away)
    within = total - np.sum(np.divide(sums * sums, size, out=np.zeros_like(sums), where=size > 0))
    if not total > 0:
        return 0.0
    share = max(float(within / total), NEAREST)
    return float(-0.5 * np.log(share) - 0.5 * (np.count_nonzero(size) - 1) / weight)


def _of_table(a: Array, b: Array, w: Array, weight: float) -> float:
    table = np.zeros((int(a.max()) + 1, int(b.max()) + 1))
    np.add.at(table, (a, b), w)
    shares = table / weight
    expected = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0)
    levels = np.count_nonzero(table.sum(axis=1)) - 1, np.count_nonzero(table.sum(axis=0)) - 1
    return float(special.rel_entr(shares, expected).sum() - 0.5 * levels[0] * levels[1] / weight)
