"""Who owns each row, and how much of it: the (rows × components) weight matrix, in the cheapest form that says it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice import kernels
from suffice.arguments import has_complex
from suffice.engines.once import cached_property
from suffice.errors import DataError
from suffice.message_parts import Cell
from suffice.types import Array, Data

LEAST = np.finfo(float).tiny / np.finfo(float).eps  # of the sum of weights: parts of it have all their digits


@dataclass(frozen=True)
class OneHot:
    """Each row belongs to the component that ``codes`` names (−1: to none), with an optional weight per row.

    The (rows × components) matrix of zeros and ones that it stands for is never stored.

    Parameters
    ----------
    codes : array (n,)
        The component of each row, from 0; −1 for none.
    n_components : int
        How many components there are.
    weights : array (n,), optional
        One number of at least 0 per row.
    """

    codes: Array
    n_components: int
    weights: Array | None = None


@dataclass(frozen=True)
class Weights:
    """Checked weights that slice with the rows: none, one per row, one per row and component, or a one-hot."""

    length: int
    values: Array | None = None
    codes: Array | None = None
    n_components: int = 1
    offset: int = 0

    @classmethod
    def of(cls, weights: Data, length: int) -> Weights:
        """Accept None, an array of (n,) or (n, k), a :class:`OneHot`, or weights that were checked before."""
        if weights is None:
            return cls(length)
        if isinstance(weights, Weights):
            return weights
        if isinstance(weights, OneHot):
            given = np.asarray(weights.codes)
            if given.dtype.kind not in "iu" and given.size:
                msg = (
                    f"one-hot codes are whole numbers naming components; got {given.flat[0]!r:.40}. Number the classes."
                )
                raise DataError(msg)
            codes = np.ascontiguousarray(given, dtype=np.intp)
            if codes.shape != (length,):
                msg = f"one-hot codes have shape {codes.shape}, but there are {length} rows; give one code per row."
                raise DataError(msg)
            if length and (codes.min() < -1 or codes.max() >= weights.n_components):
                bad = int(np.argmax((codes < -1) | (codes >= weights.n_components)))
                last = weights.n_components - 1
                rule = f" names component {codes[bad]}, but components go from 0 to {last} (−1: none)."
                raise DataError(Cell(bad), rule, value=int(codes[bad]))
            values = None if weights.weights is None else _checked(weights.weights, length, (1,))
            return cls(length, values, codes, weights.n_components)
        values = _checked(weights, length, (1, 2))
        return cls(length, values, n_components=values.shape[1] if values.ndim == 2 else 1)

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.length

    def __getitem__(self, part: slice) -> Weights:
        """Return the weights of a slice of the rows."""
        start, stop, _ = part.indices(self.length)
        in_memory = isinstance(self.values, np.ndarray | None) and isinstance(self.codes, np.ndarray | None)
        if stop - start == self.length and in_memory:
            return self
        return replace(
            self,
            length=max(stop - start, 0),
            values=None if self.values is None else self.values[part],
            codes=None if self.codes is None else self.codes[part],
            offset=self.offset + start,
        )

    @property
    def arguments(self) -> dict[str, Any]:
        """What the kernels take."""
        return {"weights": self.values, "codes": self.codes, "n_components": self.n_components}

    def per_row(self) -> Array:
        """The largest weight that any component gives to each row: 0 means that the row counts for nobody."""
        rows = np.ones(self.length) if self.values is None else self.values
        rows = rows.max(axis=1) if rows.ndim == 2 else rows
        return rows if self.codes is None else np.where(self.codes >= 0, rows, 0.0)

    @cached_property
    def total(self) -> float:
        """Σ w: the number of rows that the weights stand for."""
        if self.values is None:
            return float(self.length if self.codes is None else np.count_nonzero(self.codes >= 0))
        if self.codes is None:
            return float(self.values.sum())
        return float(self.values[self.codes >= 0].sum())

    @property
    def solid(self) -> float:
        """Σ w min(w, 1), of one weight per row: as many as rows, where each counts at least once."""
        w = self.values
        if w is None:
            return float(self.length)
        return float(w.solid if hasattr(w, "solid") else solid(w))  # that of files is known by their slices

    @property
    def unit(self) -> float:
        """What a row weighs, or 1 where that is more: Σ w min(w, 1)/Σ w, as a power of two, which rounding leaves."""
        total = 0.0 if self.values is None else float(self.values.sum())
        share = self.solid / total if total > 0 else 1.0
        return float(np.exp2(np.round(np.log2(share)))) if share > 0 else 0.0

    def component_totals(self) -> Array:
        """Σ w of each component, (k,)."""
        return self._totals

    @cached_property
    def _totals(self) -> Array:
        if self.codes is not None:
            if self.values is None:
                return kernels.count_range(self.codes, 0, self.n_components - 1).astype(float)
            owned = self.codes >= 0
            return np.bincount(self.codes[owned], self.values[owned], self.n_components)
        if self.values is None:
            return np.array([float(self.length)])
        return np.atleast_1d(self.values.sum(axis=0))

    def for_each(self, n_components: int) -> Weights:
        """The weights for as many components: one per row is the same for all of them."""
        if self.n_components != 1 or n_components == 1 or self.codes is not None:
            return self
        rowwise = np.ones(self.length) if self.values is None else self.values
        return replace(
            self, values=np.broadcast_to(rowwise[:, None], (self.length, n_components)), n_components=n_components
        )

    def of_component(self, index: int) -> Weights:
        """The weights that one component gives to the rows."""
        if self.codes is not None:
            mine = (self.codes == index).astype(float)
            return replace(self, values=mine if self.values is None else mine * self.values, codes=None, n_components=1)
        if self.values is None or self.values.ndim == 1:
            return self
        return replace(self, values=self.values[:, index], n_components=1)

    def dense(self) -> Array:
        """The weights as an (n, k) matrix; for small samples and reference code only."""
        rows = np.ones(self.length) if self.values is None else self.values
        if self.codes is None:
            return rows[:, None] if rows.ndim == 1 else rows
        return np.asarray(rows[:, None] * (self.codes[:, None] == np.arange(self.n_components)))


def solid(w: Array) -> float:
    """Σ w min(w, 1)."""
    return float(np.sum(w * np.minimum(w, 1.0)))


def _checked(weights: Data, length: int, allowed: tuple[int, ...]) -> Array:
    if isinstance(weights, np.ndarray) and has_complex(weights):
        msg = "weights are numbers of at least 0, one per row; got complex numbers. Give their sizes, abs(weights)."
        raise DataError(msg)
    try:
        hidden = np.ma.isMaskedArray(weights)
        values = np.ascontiguousarray(np.ma.filled(weights.astype(float), np.nan) if hidden else weights, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        msg = f"weights must be numbers of at least 0, one per row; got {weights!r:.80}."
        raise DataError(msg) from error
    if values.ndim not in allowed or len(values) != length:
        msg = f"weights have shape {values.shape}, but there are {length} rows; give one weight per row."
        raise DataError(msg)
    total = values.sum()
    if not (np.isfinite(total) and values.min(initial=0.0) >= 0):  # two sweeps without temporaries; now look where
        valid = np.isfinite(values) & (values >= 0)
        if valid.all():
            msg = "the weights add up to more than float64 can hold; divide them by a constant."
            raise DataError(msg)
        place = tuple(np.argwhere(~valid)[0].tolist())
        bad = values[place]
        rule, remedy = "weights must be finite and at least 0; ", "Drop that row or mend it."
        raise DataError(rule, Cell(place[0]), f" has {bad:g}. {remedy}", value=bad)
    if length and total == 0:
        msg = "all weights are 0, so no row counts; give at least one row a positive weight."
        raise DataError(msg)
    if length and total < LEAST:
        msg = f"the weights add up to {total:g}, of which float64 keeps few digits; multiply them by a constant."
        raise DataError(msg)
    return values
