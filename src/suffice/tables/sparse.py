"""Rows of numbers that are mostly 0, of which only the others are kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice import kernels
from suffice.errors import DataError
from suffice.message_parts import Cell
from suffice.statistics.weights import Weights
from suffice.types import Array


@dataclass(frozen=True, eq=False)
class Sparse:
    """The cells of compressed rows; a slice shares them, and has its own ``ends`` (n + 1,).

    ``event`` says that a row is one cell, a vector.
    """

    values: Array
    places: Array
    ends: Array
    width: int
    event: bool = False

    @classmethod
    def of(cls, matrix: Any, *, event: bool = False) -> Sparse:
        """From a matrix of scipy.sparse."""
        rows = matrix.tocsr()
        values = rows.data.astype(np.float64, copy=False)
        return cls(values, rows.indices, rows.indptr, rows.shape[1], event)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.ends) - 1

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return (len(self), 1, self.width) if self.event else (len(self), self.width)

    @property
    def cells(self) -> int:
        """How many cells a row keeps, on average."""
        return int(self.ends[-1] - self.ends[0]) // max(len(self), 1) + 1

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def matrix(self) -> Any:
        """The rows as scipy has them."""
        from scipy.sparse import csr_array

        here = slice(self.ends[0], self.ends[-1])
        parts = self.values[here], self.places[here], self.ends - self.ends[0]
        return csr_array(parts, shape=(len(self), self.width))

    def __getitem__(self, part: object) -> Sparse:
        """Return some of the rows."""
        if not isinstance(part, slice):
            return Sparse.of(self.matrix[part], event=self.event)
        start, stop, _ = part.indices(len(self))
        return replace(self, ends=self.ends[start : max(stop, start) + 1])

    def squares(self) -> Array:
        """Σ x² of each row, (n,)."""
        here = slice(self.ends[0], self.ends[-1])
        row = np.repeat(np.arange(len(self)), np.diff(self.ends))
        return np.bincount(row, self.values[here] ** 2, len(self))

    def sums(self, w: Weights) -> Array:
        """Σ w x of each component, (k, width)."""
        if w.codes is None and w.values is not None and w.values.ndim > 1:
            return np.asarray((self.matrix.T @ w.values).T)
        total, least = kernels.sparse_sums(self.values, self.places, self.ends, self.width, **w.arguments)
        if least < 0 or not np.isfinite(total).all():
            here = self.values[self.ends[0] : self.ends[-1]]
            cell = int(np.argmax(~((here >= 0) & (here < np.inf)))) + int(self.ends[0])
            row = int(np.searchsorted(self.ends, cell, side="right")) - 1 + w.offset
            value = self.values[cell]
            raise DataError(
                "Negative values in data passed, or values that are not finite: ",
                Cell(row, int(self.places[cell])),
                f" has {value:g}. Sparse rows hold finite numbers of at least 0.",
                value=value,
            )
        return total

    def best(self, slopes: Array, log_weights: Array) -> Array:
        """The component of the highest X · slopes + log_weights of each row, (n,)."""
        return kernels.sparse_best(self.values, self.places, self.ends, slopes, log_weights)

    def scores(self, slopes: Array) -> Array:
        """X · slopes of each component, (n, k), slopes (k, width)."""
        return kernels.sparse_scores(self.values, self.places, self.ends, slopes)
