"""The data of a fit: rows and weights that were read, checked and preprocessed once, for as many passes as it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from suffice.statistics.weights import Weights
from suffice.tables.streams import read
from suffice.types import Data, Prior

if TYPE_CHECKING:
    from suffice.core.family import Family


@dataclass(frozen=True)
class Iterate:
    """Parameters, the statistics gathered under them, and how good they are.

    Differences of the objective are judged beside its ``size``: beside 1 where it is nearly 0, or beside the weight of
    a row where that is less, so that weights in any unit lead to the same end.
    """

    distribution: Any
    statistics: Any
    objective: float
    unit: float = 1.0
    log_likelihood: float = float("nan")

    @property
    def size(self) -> float:
        """What differences of the objective are large or small beside."""
        return self.unit + abs(self.objective)


class TrainingData:
    """Rows with their weights, and the prior that parameters are estimated under.

    ``log_prior`` is the log density of the prior at a model, which the objective adds to the log-likelihood.
    """

    def __init__(
        self, rows: Data, weights: Data = None, prior: Prior = None, log_prior: Callable[[Any], float] | None = None
    ) -> None:
        self.rows, self.prior, self.log_prior = rows, prior, log_prior
        self.weights = Weights.of(weights, len(rows))
        self.unit = self.weights.unit
        self._stepped: tuple[Any, Any] = (None, None)

    @classmethod
    def read(cls, model: Family, data: object, weights: Data = None, prior: Prior = None) -> TrainingData:
        """Data as a model reads them."""
        return cls(read(model, data), weights, prior)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def e_step(self, model: Any) -> Iterate:
        """Pass over the rows: the statistics under these parameters."""
        stats = model.gather_rows(self.rows, self.weights)
        value = model.measured_log_likelihood(stats, self.rows, self.weights)
        objective = value if self.log_prior is None else value + self.log_prior(model)
        return Iterate(model, stats, objective, self.unit, value)

    def m_step(self, current: Iterate) -> Any:
        """The parameters that are best for the statistics; asked twice in a row, they are found once."""
        if self._stepped[0] is not current:
            self._stepped = (current, current.distribution.estimate(current.statistics, self.prior))
        return self._stepped[1]
