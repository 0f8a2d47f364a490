"""Rows with what is known of their classes, in memory or in files."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice.errors import DataError
from suffice.message_parts import Cell
from suffice.models.compound import Table
from suffice.models.stack import RowsByComponent
from suffice.statistics.weights import Weights
from suffice.tables.deferred_columns import Codes
from suffice.tables.frame import Frame
from suffice.tables.sketch import take_rows
from suffice.tables.streams import Stream, Streamed
from suffice.types import Array, Data, Rows


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rows with what is known of their classes; slices like the rows.

    ``codes`` (n,) names the class of each row, −1 where it is unknown. ``allowed`` (n, k) says which classes a row may
    have; None: its code, or any.
    """

    rows: Any
    codes: Array
    allowed: Array | None = None
    complete: bool = True  # every class is known

    @classmethod
    def of(cls, rows: Data, codes: Array, allowed: Array | None = None) -> Labelled:
        """Rows and their classes, checked against each other."""
        if len(codes) != len(rows):
            msg = f"there are {len(rows)} rows, but {len(codes)} labels; give one label per row."
            raise DataError(msg)
        if allowed is not None and not allowed.any(axis=1).all():
            row = int(np.argmin(allowed.any(axis=1)))
            raise DataError(Cell(row), " may have no class at all; allow one at least, or all where nothing is known.")
        return cls(rows, codes, allowed, complete=bool((codes >= 0).all()))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.codes)

    def __getitem__(self, part: slice) -> Labelled:
        """Return a slice of the rows, as complete as the whole."""
        allowed = None if self.allowed is None else self.allowed[part]
        return replace(self, rows=self.rows[part], codes=self.codes[part], allowed=allowed)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the rows."""
        return tuple(np.shape(self.rows))

    def possible(self, k: int) -> Array:
        """Which of k classes each row may have, (n, k)."""
        if self.allowed is not None:
            return self.allowed
        return np.asarray((self.codes < 0)[:, None] | (self.codes[:, None] == np.arange(k)))


class LabelledFiles(Streamed):
    """Rows of files with a column that names their classes, every one of them; slices are `Labelled`."""

    complete = True

    def __init__(self, rows: Streamed, codes: Codes) -> None:
        """Read the classes beside the rows."""
        read, names = rows.stream.read, rows.stream.columns

        def labelled(frame: Frame) -> Labelled:
            features = Frame({name: frame.raw(name) for name in names}, len(frame))
            return Labelled(read(features), codes.of(frame))

        super().__init__(Stream(rows.stream.source, (*names, codes.name), labelled))
        self.rows, self.codes = rows, codes

    def through(self, change: Any) -> LabelledFiles:
        changed = copy(self)
        changed.stream = super().through(change).stream
        return changed


KNOWN = (Labelled, LabelledFiles)


def owned_by(rows: Any, weights: Weights, index: int) -> tuple[Any, Weights]:
    """The rows of one class and their weights; of files all rows, of which those of others weigh nothing."""
    if isinstance(rows, LabelledFiles):
        return seen_by(rows.rows, index), rows.codes.share(weights, index)
    w = weights.dense()[:, 0]
    mine = np.flatnonzero((rows.codes == index) & (w > 0))
    return take_rows(seen_by(rows.rows, index), mine), Weights(len(mine), w[mine])


def seen_by(rows: Rows, index: int) -> Any:
    """The rows as one component reads them."""
    if isinstance(rows, Streamed):
        return rows.parts[index] if issubclass(rows.kind, RowsByComponent) else rows
    if isinstance(rows, RowsByComponent):
        return rows.parts[index]
    if isinstance(rows, Table):
        return replace(rows, parts=tuple(seen_by(part, index) for part in rows.parts))
    return rows
