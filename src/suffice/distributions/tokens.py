"""Counts that classifiers of texts take: dense or sparse, whole or in parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from suffice import kernels
from suffice.core.exponential_family import ExponentialFamily
from suffice.core.parameters import Domain
from suffice.core.responsibilities import EStep
from suffice.distributions.bernoulli import Bernoulli
from suffice.distributions.multinomial import Multinomial
from suffice.statistics.sums import Sums
from suffice.statistics.weights import Weights
from suffice.tables.sketch import blank, points
from suffice.tables.sparse import Sparse
from suffice.types import Array, Data, Rows

AMOUNTS = Domain("a vector of numbers of at least 0", low=0.0, closed=(True, False), core=1)
ROWS = 1024  # that are written out where zeros matter


@dataclass(frozen=True, eq=False)
class Above:
    """Rows of yes and no: whether numbers exceed a threshold. NaN is missing."""

    matrix: Array
    threshold: float

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.matrix)

    def __getitem__(self, part: Any) -> Above:
        """Return some of the rows."""
        return Above(self.matrix[part], self.threshold)

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return self.matrix.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.matrix.ndim

    @property
    def flags(self) -> Array:
        """The answers as 1 and 0, NaN where they are missing."""
        return np.where(np.isnan(self.matrix), np.nan, self.matrix > self.threshold)


@dataclass(frozen=True, eq=False, repr=False)
class SparseSums(ExponentialFamily, register=False):
    """A family whose statistic is the row itself and whose h is 1, so that cells of 0 need not be looked at."""

    def read(self, x: Data) -> Any:
        if isinstance(x, Sparse):
            return x
        return Sparse.of(x, event=bool(self.support.core)) if hasattr(x, "tocsr") else super().read(x)

    def gather(self, x: Any, w: Weights) -> Any:
        if not isinstance(x, Sparse):
            return super().gather(x, w)
        total = w.component_totals()[:, None]
        weight = np.repeat(total, x.shape[1], axis=1)
        return Sums(weight, np.zeros(weight.shape), x.sums(w).reshape(len(total), *x.shape[1:]))

    def gather_width(self, rows: Rows) -> int:
        """Long slices: each has sums of all words, which cost more to add than many cells to gather."""
        return -(-rows.cells // 4) if isinstance(rows, Sparse) else super().gather_width(rows)

    def score_width(self, rows: Data) -> int:
        return rows.cells + self.n_components if isinstance(rows, Sparse) else super().score_width(rows)

    def log_density(self, x: Any) -> Array:
        if not isinstance(x, Sparse):
            return super().log_density(x)
        eta, partition = np.asarray(self.natural()), np.asarray(self.log_partition())
        if not np.isfinite(partition).all():  # a column that is always yes: every cell counts
            parts = [x[begin : begin + ROWS].matrix.toarray() for begin in range(0, len(x), ROWS)]
            return np.concatenate([super(SparseSums, self).log_density(part) for part in parts])
        return np.asarray(x.scores(eta.reshape(len(eta), -1)) - partition.sum(axis=1))

    def best(self, x: Rows, log_weights: Array) -> Array:
        eta, partition = np.asarray(self.natural()), np.asarray(self.log_partition())
        if not isinstance(x, Sparse) or not np.isfinite(partition).all():
            return super().best(x, log_weights)
        return x.best(eta.reshape(len(eta), -1), log_weights - partition.sum(axis=1))

    def e_step(self, x: Any, log_weights: Array, weights: Array | None = None) -> EStep:
        if isinstance(x, Sparse):
            return super(ExponentialFamily, self).e_step(x, log_weights, weights)
        return super().e_step(x, log_weights, weights)


@dataclass(frozen=True, eq=False, repr=False)
class Tokens(SparseSums, Multinomial, register=False):
    r"""A text as what is in it, in its order: :math:`p(x) = \prod_j p_j^{x_j}`; the counts may be fractions.

    The probability of the counts themselves, as Multinomial has it, is as many times larger as there are orders, which
    no class changes.
    """

    support = AMOUNTS

    def log_base(self, x: Array) -> Array:
        return np.zeros(np.shape(x)[:-1])

    def log_cell(self, x: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(x > 0, x * np.log(self.probs), 0.0).sum(axis=-1))

    def log_prob_by_column(self, x: Array) -> list[tuple[Any, Array]]:
        rows = x.matrix.toarray() if isinstance(x, Sparse) else x[:, 0]
        rows = np.where(np.isnan(rows).any(axis=1, keepdims=True), 0.0, rows)
        with np.errstate(invalid="ignore"):
            cells = np.where(rows[:, None] > 0, rows[:, None] * self.natural()[:, 0], 0.0)
        return [((column,), cells[:, :, column]) for column in range(rows.shape[1])]

    def for_data(self, rows: Rows) -> Self:
        return self._wide(rows.shape[-1]).widened(1)

    @property
    def _statistics_family(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False, repr=False)
class Flags(SparseSums, Bernoulli, register=False):
    """Yes or no in each column, where most are no, or yes is what exceeds a threshold."""

    @property
    def name(self) -> str:
        """What the columns are to a reader of messages."""
        return "Bernoulli"

    def closed_form(self, x: Data) -> None:
        """None: the kernel reads every cell."""

    def read(self, x: Data) -> Any:
        return x if isinstance(x, Above) else super().read(x)

    def gather(self, x: Data, w: Weights) -> Any:
        if not isinstance(x, Above):
            return super().gather(x, w)
        total, seen = kernels.above_sums(x.matrix, x.threshold, **w.arguments)
        return Sums(seen, np.zeros(seen.shape), total)

    def gather_width(self, rows: Any) -> int:
        return int(rows.shape[1]) if isinstance(rows, Above) else super().gather_width(rows)

    def log_density(self, x: Data) -> Array:
        return super().log_density(x.flags if isinstance(x, Above) else x)

    def best(self, x: Any, log_weights: Array) -> Array:
        eta, partition = np.asarray(self.natural()), np.asarray(self.log_partition())
        if not isinstance(x, Above) or not (np.isfinite(eta).all() and np.isfinite(partition).all()):
            return super().best(x, log_weights)
        return kernels.above_best(x.matrix, x.threshold, eta, partition, log_weights)

    def e_step(self, x: Any, log_weights: Array, weights: Array | None = None) -> EStep:
        return super().e_step(x.flags if isinstance(x, Above) else x, log_weights, weights)

    def log_prob_by_column(self, x: Above) -> list[tuple[Any, Array]]:
        plain = x.flags if isinstance(x, Above) else x.matrix.toarray() if isinstance(x, Sparse) else x
        return super().log_prob_by_column(plain)


@points.register
def _(rows: Above, weights: Array) -> Any:
    return points(rows.flags, weights)


@points.register
def _(rows: Sparse, weights: Array) -> Any:
    """How much a row holds: whole rows of a matrix that is mostly 0 would be far too many numbers."""
    return points(np.asarray(rows.matrix.sum(axis=1), dtype=float).reshape(-1, 1), weights)


@blank.register
def _(rows: Above) -> Any:
    return blank(rows.matrix)


@blank.register
def _(rows: Sparse) -> Any:
    return np.zeros(len(rows), dtype=bool)
