"""Columns of files beside the rows, read in slices: weights, and the classes of rows."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from suffice.engines import local
from suffice.engines.once import cached_property
from suffice.errors import DataError
from suffice.statistics.weights import Weights, solid
from suffice.tables.frame import Frame
from suffice.tables.labels import Labels, read_labels
from suffice.tables.rows import cells
from suffice.tables.streams import Source, Stream, Streamed, few
from suffice.types import Array, Data


class Deferred:
    """One column of files, in the place of an array (n,): read when a slice of it is asked for."""

    ndim = 1

    def __init__(self, source: Source, name: Hashable) -> None:
        """Keep where it is."""
        self.source, self.name = source, name

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.source)

    @property
    def shape(self) -> tuple[int]:
        """Rows."""
        return (len(self),)


# ---- weights ---------------------------------------------------------------------------------------------------------
class Summed:
    """Weights that are read in slices, and what they sum to, for which they are read once."""

    def _sums(self, part: slice) -> Array:
        """Σ w and Σ w min(w, 1) of a slice."""
        w: Array = self[part]  # type: ignore[index]
        return np.array([w.sum(), solid(w)])

    @cached_property
    def _totals(self) -> Array:
        return local.reduce(self._sums, len(self), 1)  # type: ignore[arg-type]

    def sum(self) -> float:
        """Σ w."""
        return float(self._totals[0])

    @property
    def solid(self) -> float:
        """Σ w min(w, 1)."""
        return float(self._totals[1])


class Amounts(Summed, Deferred):
    """A column of numbers that is read when a slice of it is asked for."""

    def __getitem__(self, part: slice) -> Array:
        """Read a slice."""
        start, stop, _ = part.indices(len(self))
        found = self.source.frame(start, max(stop, start), (self.name,))[self.name]
        return np.ascontiguousarray(cells(found, f"weights: column {self.name!r}"), dtype=np.float64)

    def _sums(self, part: slice) -> Array:
        """Those of a slice in which every weight is one."""
        try:
            w = self[part]
        except (TypeError, ValueError) as error:
            msg = f"weights are numbers of at least 0, and column {self.name!r} is none: {error}"
            raise DataError(msg) from error
        valid = np.isfinite(w) & (w >= 0)
        if not valid.all():
            row = int(np.argmin(valid))
            place = self.source.place(row + part.start)
            msg = f"weights must be finite and at least 0; column {self.name!r} has {w[row]:g} in {place}."
            raise DataError(msg)
        return np.array([w.sum(), solid(w)])


def weights_of(data: Data, weights: Data, n: int) -> Weights:
    """Weights as `Weights.of` takes them, or the name of a column of the source."""
    source = data.stream.source if isinstance(data, Streamed) else data
    if not (isinstance(weights, str) and isinstance(source, Source)):
        return Weights.of(weights, n)
    if weights not in source.names:
        there = ", ".join(map(repr, source.names))
        msg = f"weights={weights!r} names no column of the files; they have {there}."
        raise DataError(msg)
    found: Any = Amounts(source, weights)
    if found.sum() == 0:
        msg = f"all weights in column {weights!r} are 0, so no row counts; give at least one row a positive weight."
        raise DataError(msg)
    small = few(source, len(source.names))
    return Weights.of(found[0:n], n) if small else Weights(n, found)


AT_ONCE = 1 << 18  # rows whose classes are read to take some of them


# ---- classes ---------------------------------------------------------------------------------------------------------
class Codes(Deferred):
    """The numbers of a column's labels among those that occur, −1 where a cell is missing; read in slices."""

    dtype = np.dtype(np.intp)

    def __init__(self, source: Source, name: Hashable) -> None:
        """Find the labels."""
        if name not in source.names:
            there = ", ".join(map(repr, source.names))
            msg = f"y={name!r} names no column of the files; they have {there}."
            raise DataError(msg)
        super().__init__(source, name)
        labels = Streamed(Stream(source, (name,), self._read))
        self.levels = labels.columns[0].seen if len(source) else ()
        fraction = next((one for one in self.levels if isinstance(one, float) and not one.is_integer()), None)
        if fraction is not None:
            msg = f"y={name!r} holds {fraction:g}, and classes are labels or whole numbers; name another column."
            raise DataError(msg)

    def _read(self, frame: Frame) -> Labels:
        return read_labels(frame, f"y: column {self.name!r}", 1)

    def __getitem__(self, part: slice) -> Array:
        """Read a slice."""
        start, stop, _ = part.indices(len(self))
        return self.of(self.source.frame(start, max(stop, start), (self.name,)))

    def of(self, frame: Frame) -> Array:
        """The classes of rows that were read."""
        column = self._read(Frame({self.name: frame.raw(self.name)}, len(frame))).columns[0]
        return np.asarray(column.among(column.places(self.levels)), dtype=np.intp)

    def at(self, kept: Array | None) -> Array:
        """The classes of some rows, by their places in rising order; None: of all. Never more than a slice is read."""
        n = len(self)
        if kept is None:
            return self[0:n]
        cuts = range(0, n, AT_ONCE)
        parts = [
            self[begin : begin + AT_ONCE][kept[(kept >= begin) & (kept < begin + AT_ONCE)] - begin] for begin in cuts
        ]
        return np.concatenate(parts) if parts else np.empty(0, np.intp)

    def unknown(self) -> int | None:
        """The first row whose class is missing."""
        n = len(self)
        return local.reduce(lambda part: _First.of(self[part] < 0, part.start), n, 1).row

    def share(self, weights: Weights, component: int) -> Weights:
        """The weights that one class gives to the rows."""
        owned: Any = _Owned(self, weights, component)
        return Weights(len(self), owned)


@dataclass(frozen=True)
class _First:
    row: int | None

    @classmethod
    def of(cls, found: Array, start: int) -> _First:
        return cls(int(np.argmax(found)) + start if found.any() else None)

    def __add__(self, other: Self) -> Self:
        return other if self.row is None else self


class _Owned(Summed):
    """The weights of the rows of one class, 0 elsewhere; read in slices."""

    ndim = 1

    def __init__(self, codes: Codes, weights: Weights, component: int) -> None:
        self.codes, self.weights, self.component = codes, weights, component
        self.name = (codes.name, component, getattr(weights.values, "name", None))

    def __getitem__(self, part: slice) -> Array:
        mine = (self.codes[part] == self.component).astype(float)
        held = self.weights[part].values
        return np.asarray(mine if held is None else mine * held)

    def __len__(self) -> int:
        return len(self.codes)
