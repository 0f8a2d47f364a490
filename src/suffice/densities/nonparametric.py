"""What histograms, kernel densities and nearest neighbours share: they keep rows, and one column is a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from suffice.arguments import check_count, generator
from suffice.core.family import Family
from suffice.core.parameters import Domain, parameter
from suffice.densities.rows import WeightedRows
from suffice.errors import DataError, ParameterError, UnsupportedError
from suffice.message_parts import Cell
from suffice.queries.conditional import ConditionalColumn
from suffice.statistics.weights import Weights
from suffice.tables.rows import numbers
from suffice.types import Alert, Array, Data, Seed

ROWS = Domain("rows of finite numbers", core=2)
MASS = Domain("a weight of at least 0 for each row", low=0.0, closed=(True, False), core=1)


def kept(domain: Domain) -> Any:
    """Declare what an estimate keeps of the rows: no parameter that is learned, fixed or tied."""
    return parameter(domain, typical=(-1.0, 1.0), learned=False, estimated=True)


@dataclass(frozen=True, eq=False, repr=False)
class Nonparametric(Family):
    """A density that is made of weighted rows rather than of a few parameters.

    ``sample``, ``mean``, ``cdf`` and the like are of numbers where there is one column, else of vectors.
    """

    row_vector: ClassVar[bool] = True
    _main: ClassVar[str] = ""  # the field that a prototype lacks

    # ---- one and many ----------------------------------------------------------------------------------------------
    @property
    def ready(self) -> bool:
        found = self.__dict__.get(self._main)
        return found is not None and np.size(found) > 0

    def require_ready(self, what: str) -> None:
        """Refuse to do ``what`` before rows were seen."""
        if not self.ready:
            msg = f"{self.name} cannot {what} before it has seen rows: fit it to data."
            raise ParameterError(msg)

    @property
    def columns(self) -> int | None:
        return None

    @property
    def row_axes(self) -> int:
        return int(self.columns not in (None, 1))

    def stack(self, k: int) -> Any:
        if self.__dict__.get(self._main) is None:
            msg = (
                f"{self.name}() does not know its number of columns yet, so it cannot be stacked: take the prototype "
                "for your rows first, as in prototype.for_data(rows).stack(k)."
            )
            raise ParameterError(msg)
        return super().stack(k)

    def for_statistics(self, stats: Any) -> Self:
        model: Self = self.for_data(stats.rows)
        return super(Nonparametric, model).for_statistics(stats)

    def with_parameters_of(self, components: Any, proportions: Array) -> Any:
        del proportions
        for one in components:
            if type(one) is not type(self):
                msg = f"start= has {one!r:.60} where the prototype has {self.name}; give a fit of the same family."
                raise ParameterError(msg)
        return self.like(self.stacked.side_by_side([part for one in components for part in one.unstacked]))

    def side_by_side(self, components: list[Any]) -> Self:
        """A stack of single components, each with its own rows."""
        raise NotImplementedError

    # ---- learning --------------------------------------------------------------------------------------------------
    def gather(self, x: Array, w: Weights) -> Any:
        infinite = np.isinf(x) & (w.per_row() > 0)[:, None]
        if infinite.any():
            row, column = np.argwhere(infinite)[0].tolist()
            raise self._bad_value(x[row, column], Cell(row + w.offset, column, implied=x.shape[1] == 1))
        return WeightedRows.of(x, w, self.n_components)

    def estimate(self, stats: Any, prior: Any = None) -> Self:
        self.check_family(stats)
        if prior is not None:
            msg = f"{self.name} has no parameters that a prior could be about; leave it out."
            raise UnsupportedError(msg)
        model = self.for_statistics(stats)
        return model.like(model.stacked.maximise(stats))

    def likelihood_cells(self, stats: Any) -> Array:
        total = np.zeros((self.n_components, 1))
        for index, component in enumerate(self.unstacked):
            seen = stats.mass[index] > 0
            if seen.any():
                total[index] = stats.mass[index, seen] @ component.stacked.log_density(stats.rows[seen])
        return total

    def standard_errors(self, stats: Any) -> dict[str, Any]:
        del stats
        return {}

    def weak_prior(self, stats: Any, part: float = 1.0) -> Any:
        """None: there are no parameters to believe in."""
        del stats, part

    @property
    def is_monotone(self) -> bool:
        """No: a bandwidth or a number of bins is not chosen by the likelihood."""
        return False

    def alerts(self, stats: Any) -> tuple[Alert, ...]:
        lost = float(np.sum(stats.incomplete))
        if not lost:
            return ()
        text = f"rows of weight {lost:g} have missing cells and were left out: {self.name} learns from whole rows."
        return (Alert("incomplete rows", text, value=lost),)

    # ---- asking ----------------------------------------------------------------------------------------------------
    def _squeezed_answer(self, found: Array) -> Any:
        """An answer (k, d) without the axes that one component and one column do not need."""
        found = found[..., 0] if self.columns == 1 else found
        found = found[0] if self.lone else found
        return float(found) if np.ndim(found) == 0 else found

    def sample(self, n: int = 1, random_state: Seed = None) -> Any:
        self.require_ready("draw rows")
        check_count(n)
        rows = self.stacked.draw(int(n), generator(random_state))
        rows = rows[..., 0] if self.columns == 1 else rows
        return rows[:, 0] if self.lone else rows

    def _of_one_column(self, what: str) -> None:
        self.require_ready("be asked")
        if self.columns != 1 or not self.lone:
            msg = f"{self.name}: {what} is of one column; ask .marginal(column), or one of .unstacked."
            raise UnsupportedError(msg)

    def cdf(self, x: Data) -> Any:
        self._of_one_column("the cumulative distribution")
        found = self.cumulative(np.asarray(numbers(x, self.name), dtype=float))
        return float(found) if np.ndim(found) == 0 else found

    def quantile(self, q: Data) -> Any:
        self._of_one_column("a quantile")
        try:
            levels = np.asarray(numbers(q, "quantile"), dtype=float)
        except DataError as error:
            msg = f"quantile takes probabilities from 0 to 1; got {q!r:.60}."
            raise ParameterError(msg) from error
        if not ((levels >= 0) & (levels <= 1)).all():
            msg = f"quantile takes probabilities from 0 to 1; got {q!r:.60}."
            raise ParameterError(msg)
        found = self.inverse(levels)
        return float(found) if np.ndim(found) == 0 else found

    def conditional_column(self, x: Any, label: Any) -> list[ConditionalColumn]:
        """The column itself, as there are no others."""
        del label
        return [ConditionalColumn.of(len(x), one) for one in self.unstacked]

    @property
    def marginals(self) -> Any:
        return None

    def __hash__(self) -> int:
        """Hash of the family and its weights."""
        return hash((type(self), np.asarray(self.__dict__.get(self._main)).tobytes()))

    def __repr__(self) -> str:
        """Show the options, and how much was learned."""
        options = ", ".join(
            f"{name}={value!r}" for name, value in self._options().items() if value is not None and value is not False
        )
        return f"{self.name}({options})"

    def _options(self) -> dict[str, Any]:
        """What a repr shows."""
        return {}
