"""Rows with their classes, and orders of them in which every stretch has the shares of the classes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.errors import DataError, ParameterError
from suffice.estimators.design import Design
from suffice.estimators.targets import targets
from suffice.estimators.validation import chosen_rows, row_weights
from suffice.types import Array, Data

STEPS = 8  # sizes of a learning curve


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows as numbers and as the caller gave them, their classes and weights."""

    matrix: Array
    names: tuple[str, ...]
    given: Any
    codes: Array
    classes: Array
    weights: Array | None

    @classmethod
    def of(cls, X: Data, y: Data, sample_weight: Data, *, raw: bool, drop: bool) -> Rows:
        """The rows that count, checked; ``raw`` keeps them as they were given, ``drop`` leaves out those with holes."""
        found = targets("compare", y)
        design = Design.of(X, "compare")
        n = len(design.matrix)
        if len(found.codes) != n:
            msg = f"compare: there are {n} rows, but {len(found.codes)} labels; give one label per row."
            raise DataError(msg)
        if found.codes.min(initial=0) < 0:
            msg = (
                f"compare: row {int(np.argmax(found.codes < 0))} has no class, and discriminative models learn from "
                "rows whose class is known. Leave such rows out; BayesClassifier takes them."
            )
            raise DataError(msg)
        if not drop:
            design.refuse_holes("compare")
        weights = row_weights(sample_weight, found.codes).values
        kept = np.flatnonzero(design.complete & (True if weights is None else weights > 0))
        given = chosen_rows(X, kept) if raw else None
        weights = None if weights is None else weights[kept]
        data = cls(design.matrix[kept], design.names, given, found.codes[kept], found.classes, weights)
        seen = np.bincount(data.codes, minlength=len(data.classes))
        if len(data.classes) < 2 or not seen.all():
            msg = f"compare tells classes apart, and needs two at least; y has {np.flatnonzero(seen).size}. Check y."
            raise DataError(msg)
        return data

    @property
    def counts(self) -> Array:
        """The number of rows of each class."""
        return np.bincount(self.codes)

    @property
    def least(self) -> int:
        """The number of first rows of any order that has two rows of each class for sure."""
        return int(np.ceil(2 * len(self.codes) / self.counts.min())) + len(self.classes)

    def order(self, rng: np.random.Generator) -> Array:
        """The rows in an order whose every stretch has about the shares of the classes."""
        place = np.empty(len(self.codes))
        for code, count in enumerate(self.counts):
            place[rng.permutation(np.flatnonzero(self.codes == code))] = (np.arange(count) + rng.random()) / count
        return np.argsort(place, kind="stable")

    def rows(self, some: Array, *, raw: bool) -> Any:
        """Some rows as numbers, or ``raw`` as they were given."""
        return chosen_rows(self.given, some) if raw else self.matrix[some]

    def weigh(self, some: Array) -> Array:
        """The weight of some rows."""
        return np.ones(len(some)) if self.weights is None else self.weights[some]


def sizes_of(asked: Iterable[int] | None, data: Rows, most: int) -> Array:
    """Growing numbers of training rows, each enough for two rows of every class."""
    least = data.least
    if least > most:
        rarest = int(np.argmin(data.counts))
        name, count = data.classes.tolist()[rarest], data.counts[rarest]
        msg = (
            f"compare: class {name!r} has {count} of {len(data.codes)} rows; to learn "
            f"from two rows of each class takes {least} rows, and {most} are not held out. Give more rows, drop the "
            "class, or hold out fewer with test_size."
        )
        raise DataError(msg)
    if asked is None:
        begin = max(least, 2 * (data.matrix.shape[1] + 1))
        begin = begin if begin <= most // 2 else least
        return np.unique(np.geomspace(begin, most, STEPS).round().astype(int))
    steps = np.unique(np.asarray(list(asked)))
    if not len(steps) or steps.dtype.kind not in "iu" or steps[0] < least or steps[-1] > most:
        msg = (
            f"compare: sizes are whole numbers from {least} (two rows of each class) to {most} (the rows that are not "
            f"held out); got {steps.tolist()!s:.80}."
        )
        raise ParameterError(msg)
    return steps
