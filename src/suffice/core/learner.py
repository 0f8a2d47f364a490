"""From rows to statistics to parameters: how a distribution reads rows, sums them up and is estimated."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any, ClassVar, Self, cast

import numpy as np

from suffice.core.combinators import pair_with_prior
from suffice.core.distribution import REGISTRY
from suffice.core.formulas import Formulas
from suffice.engines import local
from suffice.errors import DataError
from suffice.statistics.sums import Additive
from suffice.statistics.weights import Weights
from suffice.tables.column_names import with_all_columns
from suffice.tables.rows import as_rows, check_columns, listed, numbers
from suffice.tables.streams import Source, read


@cache
def _most_general(kind: Any) -> str:
    """The name of a family's first ancestor that is registered."""
    return next((one.__name__ for one in reversed(kind.__mro__) if one in REGISTRY.values()), "")


@dataclass(frozen=True, eq=False, repr=False)
class Learner(Formulas):
    """Reads rows, gathers their statistics block by block, and estimates parameters from them."""

    _in_place: ClassVar[bool] = False  # statistics are gathered without temporaries as long as the rows

    # ---- rows --------------------------------------------------------------------------------------------------------
    def for_data(self, rows: Any) -> Self:
        """The prototype made to fit the rows: as many columns (and, for labels, the levels) as they have."""
        return self.widened(rows.shape[1])

    def for_statistics(self, stats: Any) -> Self:
        """The prototype with as many components and columns as the statistics have."""
        shape = stats.weight.shape
        if shape == (1,) * (len(shape) - len(self.batch)) + self.batch:
            return self
        model = self if self.row_vector else self.widened(shape[1])
        if model.lone and shape[0] > 1:
            return cast("Self", model.stack(shape[0]))
        return model

    def materialize(self, x: Any) -> Any:
        """Data in a form that can be read more than once."""
        return listed(x)

    def read(self, x: Any) -> Any:
        """Rows in the form that the formulas take: (n, d) numbers."""
        cells = x if type(x) is np.ndarray and x.dtype == np.float64 else numbers(x, self.name)
        return as_rows(cells, self.name, self.columns, self.support.core)

    def _read_checked(self, x: Any) -> Any:
        """Rows in the form that the formulas take, with as many columns as there are parameters for."""
        rows = self.read(x)
        self.check_columns(rows)
        return rows

    def check_columns(self, rows: Any) -> None:
        """Refuse rows with another number of columns than there are parameters for."""
        check_columns(self, rows)

    def is_single(self, x: Any) -> bool:
        """Whether ``x`` is one row rather than many."""
        depth = np.ndim(x) - self.support.core
        return depth == 0 or (depth == 1 and self.columns not in (None, 1) and len(x) == self.columns)

    def warn_about_rows(self, rows: Any, where: str = "") -> None:
        """Warn of rows whose score is not what a caller may think."""

    def preprocess(self, rows: Any) -> Any:
        """Rows prepared for many passes under this model."""
        return rows

    def log_prob(self, x: Any) -> Any:
        self.require_ready("score rows")
        if isinstance(x, Source):
            return x.mapped(self.log_prob)
        x = self.materialize(with_all_columns(self, x))
        rows = self._read_checked(x)
        self.warn_about_rows(rows)
        stack = self.stacked
        out = local.fill(lambda part: stack.log_density(rows[part]), len(rows), self.score_width(rows))
        out = out[:, 0] if self.lone else out
        return (float(out[0]) if self.lone else out[0]) if self.is_single(x) else out

    # ---- statistics --------------------------------------------------------------------------------------------------
    def _prepare(self, x: Any, weights: Any) -> tuple[Any, Weights, Self]:
        """Rows and weights in the form that formulas take, and this prototype with as many columns and components."""
        rows = read(self, x)
        checked = Weights.of(weights, len(rows))
        model = self.for_data(rows)
        return rows, checked, model.stack(checked.n_components) if model.lone and checked.n_components > 1 else model

    def suffstats(self, x: Any, weights: Any = None) -> Any:
        rows = read(self, x)
        if not self.exact:  # such statistics depend on the parameters, so every column needs its own
            self.check_columns(rows)
        rows, prepared, model = self._prepare(rows, weights)
        stack = model.stacked
        if prepared.n_components not in (1, stack.n_components):
            count = prepared.n_components
            msg = f"weights name {count} components, but the stack has {stack.n_components}; give each a column."
            raise DataError(msg)
        return self.tag_family(model.gather_rows(rows, prepared))

    def gather_rows(self, rows: Any, weights: Weights) -> Any:
        """Statistics of rows and weights that were read and checked before; threads share their slices."""
        stack = self.stacked
        k, n = stack.n_components, len(rows)
        if n < local.FEWEST and type(rows) is np.ndarray:
            return stack.gather(rows, weights.for_each(k))
        width, effort = stack.gather_width(rows), stack.gather_effort(rows)
        return local.reduce(lambda part: stack.gather(rows[part], weights[part].for_each(k)), n, width, effort)

    @property
    def _statistics_family(self) -> str:
        """The family whose statistics these are: the most general one that is registered, so that variants merge."""
        return _most_general(cast("Any", type(self))) or self.name

    def tag_family(self, stats: Any) -> Any:
        """The statistics, marked as this family's."""
        owner = self._statistics_family
        return stats.tagged(owner) if isinstance(stats, Additive) and stats.family != owner else stats

    def check_family(self, stats: Any) -> None:
        """Refuse what are not statistics, or those of another family."""
        if not isinstance(stats, Additive) and not hasattr(stats, "weight"):
            msg = (
                f"{self.name} is asked about statistics, as its suffstats(x) makes them; got {type(stats).__name__} "
                f"{stats!r:.60}. For rows use sf.fit({self.name}(…), x)."
            )
            raise DataError(msg)
        theirs = getattr(stats, "family", "")
        if theirs and theirs != self._statistics_family:
            msg = (
                f"{self.name} cannot use the statistics of {theirs}: they keep other things of the rows. "
                f"Gather them with {self.name}(…).suffstats(x)."
            )
            raise DataError(msg)

    def gather_width(self, rows: Any) -> int:
        """How many numbers a row takes while statistics are gathered: fewer of them, longer slices."""
        return prod(np.shape(rows)[1:]) if self._in_place else self.score_width(rows)

    def gather_effort(self, rows: Any) -> int:
        """How many cells could be read in the time that a row takes; 0 where its cells tell that, too."""
        del rows
        return 0

    def score_width(self, rows: Any) -> int:
        """How many numbers a row takes while it is scored."""
        return int(prod(np.shape(rows)[1:]) + self.n_components)

    # ---- parameters --------------------------------------------------------------------------------------------------
    def start(self, x: Any, weights: Any = None, rng: np.random.Generator | None = None) -> Self:
        del rng
        rows = read(self, x)
        return self.for_data(rows).estimate(self.first_statistics(rows, weights))

    def first_statistics(self, x: Any, weights: Any = None) -> Any:
        """Statistics of rows where nothing is known of the parameters yet."""
        return self.suffstats(x, weights)

    def estimate(self, stats: Any, prior: Any = None) -> Self:
        self.check_family(stats)
        if prior is not None:
            return cast("Self", self.posterior(stats, prior).estimate())
        model = self.for_statistics(stats)
        return model.like(model.stacked.maximise(stats)) if self.free else model

    def log_likelihood(self, stats: Any) -> Any:
        self.check_family(stats)
        total = self.for_statistics(stats).stacked.likelihood_cells(stats).sum(axis=-1)
        return float(total[0]) if len(total) == 1 and self.lone else total

    @property
    def n_parameters(self) -> int:
        count = 0
        for name in self.free:
            value, domain = np.asarray(getattr(self.stacked, name)), self.specs()[name].domain
            cells = value.size if domain.rule is None else value.size // value.shape[-1] * (value.shape[-1] - 1)
            count += cells // self.n_components if name in self.tied else cells
        return count

    def posterior(self, stats: Any, prior: Any) -> Any:
        self.check_family(stats)
        return pair_with_prior(self, stats, prior)
