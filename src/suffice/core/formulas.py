"""What a family writes: its formulas for a stack of components, and what a user's questions become by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from suffice.arguments import check_count, generator
from suffice.core.value import Value
from suffice.errors import DataError, ParameterError
from suffice.message_parts import Cell
from suffice.numerics import quadrature
from suffice.numerics.low_rank import replace
from suffice.tables.rows import numbers
from suffice.types import Array

if TYPE_CHECKING:
    from suffice.statistics.sums import Statistics
    from suffice.statistics.weights import Weights


@dataclass(frozen=True, eq=False, repr=False)
class Formulas(Value):
    """Formulas of a family, elementwise in parameters (k, d, …).

    A family gives ``gather`` (statistics of a block), ``maximise`` (statistics to parameters), ``log_cell`` or
    ``log_density``, ``draw``, and where they exist ``cumulative``, ``inverse``, ``mean``, ``var`` and ``entropy_cell``;
    what it has no formula for is integrated or summed.
    """

    discrete: ClassVar[bool] = False
    atoms: ClassVar[tuple[float, ...]] = ()  # values of a continuous family that have a probability

    @property
    def exact(self) -> bool:
        """Whether one pass of statistics is enough to estimate."""
        return True

    def log_density(self, x: Any) -> Array:
        """Log density of a block for every component, (n, k); from ``log_cell``, one component at a time."""
        out = np.empty((len(x), self.n_components))
        axes = tuple(range(2, x.ndim))
        missing = np.isnan(x).any(axis=axes) if axes else np.isnan(x)
        inside = self.support.contains(x)
        for index, component in enumerate(self.unstacked):
            with np.errstate(all="ignore"):
                cells = component.log_cell(x)
            out[:, index] = np.where(missing, 0.0, np.where(inside, cells, -np.inf)).sum(axis=1)
        return out

    def log_cell(self, x: Array) -> Array:
        """Log density of each cell under parameters (d,): an elementwise formula that may ignore the support."""
        raise self._cannot("score cells")

    def gather(self, x: Any, w: Weights) -> Statistics:
        """Statistics of one block of rows for a stack."""
        raise self._cannot("gather statistics")

    def maximise(self, stats: Any) -> Self:
        """The maximum-likelihood stack of the statistics."""
        raise self._cannot("be estimated")

    def likelihood_cells(self, stats: Any) -> Array:
        """The log-likelihood of each component and column, (k, d)."""
        raise self._cannot("give a likelihood from statistics")

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Rows of a stack, (n, k, d); by default through the inverse of the cumulative distribution."""
        return self.inverse(rng.random((n, *self.batch)))

    def cumulative(self, x: Array) -> Array:
        """P(X ≤ x), elementwise under broadcasting."""
        return quadrature.cumulative(self, x)

    def inverse(self, q: Array) -> Array:
        """Quantiles, elementwise under broadcasting."""
        return quadrature.inverse(self, q)

    @property
    def quick_quantiles(self) -> bool:
        """Whether quantiles have a formula, so that a page may ask for many."""
        return type(self).inverse is not Formulas.inverse

    def entropy_cell(self) -> Any:
        """Entropy of each column; by default by quadrature or summation, to about 1e-10."""
        return quadrature.cellwise(self, lambda cell: -quadrature.expectation(cell, cell.log_prob))

    # ---- helpers of formulas --------------------------------------------------------------------------------------
    def check_support(self, x: Array, w: Weights) -> tuple[Array, Array | None]:
        """A block's cells and which of them were seen (None: all).

        A cell outside the support is an error that names it, unless its row counts for nobody: then it is left out.
        """
        axes = tuple(range(2, x.ndim))
        inside = self.support.contains(x)
        if inside.all():
            return x, None
        missing = np.isnan(x).any(axis=axes) if axes else np.isnan(x)
        wrong = ~inside & ~missing
        if wrong.any():
            counted = wrong & (w.per_row() > 0)[:, None]
            if counted.any():
                row, column = np.argwhere(counted)[0].tolist()
                raise self._bad_value(x[row, column], Cell(row + w.offset, column, implied=x.shape[1] == 1))
        return x, inside

    def _bad_value(self, value: Any, cell: Cell) -> DataError:
        shown = f"{value:g}" if np.ndim(value) == 0 else np.array2string(value, precision=4, threshold=6)
        remedy = "Correct or drop it, mark it missing with NaN, or choose a distribution that allows it."
        return DataError(f"{self.name} takes {self.support.words}, but ", cell, f" has {shown}. {remedy}", value=value)

    def choose(self, keep: Array, other: Self) -> Self:
        """The stack itself where ``keep`` (k, d) holds, else ``other``."""
        if not keep.any():
            return other
        chosen: dict[str, Any] = {}
        for name, mine in self._values().items():
            theirs = np.asarray(getattr(other, name))
            kept = np.broadcast_to(keep.all(axis=0), keep.shape) if name in self.tied else keep  # shared: all or none
            mask = kept.reshape(keep.shape + (1,) * (theirs.ndim - keep.ndim))
            chosen[name] = np.where(mask, mine, theirs)
        return replace(other, **chosen)

    # ---- a user's questions ---------------------------------------------------------------------------------------
    def sample(self, n: int = 1, random_state: Any = None) -> Any:
        self.require_ready("draw rows")
        check_count(n)
        with np.errstate(over="ignore", under="ignore"):  # what is too large or small is moved inside below
            rows = self.stacked.draw(int(n), generator(random_state))
        lone: Any = (slice(None), *(0,) * self.lacking)
        drawn = np.asarray(rows[lone])
        return self.support.nearest_inside(drawn) if drawn.dtype.kind == "f" else drawn

    def cdf(self, x: Any) -> Any:
        return self._elementwise(self.cumulative, x)

    def quantile(self, q: Any) -> Any:
        try:
            levels = _plain(q, "quantile")
        except DataError as error:
            msg = f"quantile takes probabilities from 0 to 1; got {q!r:.60}."
            raise ParameterError(msg) from error
        if not ((levels >= 0) & (levels <= 1)).all():
            msg = f"quantile takes probabilities from 0 to 1; got {q!r:.60}."
            raise ParameterError(msg)
        return self._elementwise(self.inverse, levels)

    def _elementwise(self, formula: Any, x: Any) -> Any:
        self.require_ready("be asked")
        values = _plain(x, self.name)
        if not self.lone:
            values = values[..., None, None] if values.ndim < 2 else values[:, None, :]
        with np.errstate(all="ignore"):
            out = formula(values)
        return float(out) if np.ndim(out) == 0 else out

    @property
    def var(self) -> Any:
        return quadrature.moment(self, 2)

    def entropy(self) -> Any:
        self.require_ready("have an entropy")
        cells = np.asarray(self.entropy_cell())
        total = cells.sum(axis=-1) if cells.ndim else cells
        return float(total) if np.ndim(total) == 0 else total

    def kl(self, other: Any) -> Any:
        self.require_ready("be compared")
        return quadrature.relative_entropy(self, other)


def _plain(x: Any, owner: str) -> Array:
    """Numbers as floats; what is an array of them, or one, needs no look."""
    if (type(x) is np.ndarray and x.dtype == np.float64) or type(x) is float:
        return np.asarray(x)
    return np.asarray(numbers(x, owner), dtype=float)
