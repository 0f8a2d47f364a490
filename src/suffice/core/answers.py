"""What any distribution can be asked: rows, probabilities, quantiles, moments, entropy; by formula or numerically."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from suffice.core import quadrature
from suffice.core.data import numbers
from suffice.core.errors import DataError, ParameterError, UnsupportedError
from suffice.core.parameters import Array, check_count, check_level, generator
from suffice.core.value import Value


@dataclass(frozen=True, eq=False, repr=False)
class Answers(Value):
    """Questions to a distribution. A family overrides what it has a formula for; the rest is integrated or summed."""

    def sample(self, n: int = 1, random_state: Any = None) -> Array:
        """Draw rows: (n,), (n, d), or (n, k, d) from a stack; the same seed gives the same rows."""
        self.require_ready("draw rows")
        check_count(n)
        with np.errstate(over="ignore", under="ignore"):  # what is too large or small is moved inside below
            rows = self.stacked.draw(int(n), generator(random_state))
        lone: Any = (slice(None), *(0,) * self.lacking)
        drawn = np.asarray(rows[lone])
        return self.support.nearest_inside(drawn) if drawn.dtype.kind == "f" else drawn

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Rows of a stack, (n, k, d); by default through the inverse of the cumulative distribution."""
        return self.inverse(rng.random((n, *self.batch)))

    def cdf(self, x: Any) -> Any:
        """P(X ≤ x), column by column."""
        return self._elementwise(self.cumulative, x)

    def quantile(self, q: Any) -> Any:
        """The smallest x with P(X ≤ x) ≥ q, column by column."""
        try:
            levels = np.asarray(numbers(q, "quantile"), dtype=float)
        except DataError as error:
            msg = f"quantile takes probabilities from 0 to 1; got {q!r:.60}."
            raise ParameterError(msg) from error
        if not ((levels >= 0) & (levels <= 1)).all():
            msg = f"quantile takes probabilities from 0 to 1; got {q!r:.60}."
            raise ParameterError(msg)
        return self._elementwise(self.inverse, levels)

    def _elementwise(self, formula: Any, x: Any) -> Any:
        self.require_ready("be asked")
        values = numbers(x, self.name).astype(float)
        if not self.lone:
            values = values[..., None, None] if values.ndim < 2 else values[:, None, :]
        with np.errstate(all="ignore"):
            out = formula(values)
        return float(out) if np.ndim(out) == 0 else out

    # ---- the exponential form, which exponential families override ------------------------------------------------
    def _not_exponential(self, what: str) -> UnsupportedError:
        return UnsupportedError(
            f"{self.name} has no {what}: it is not an exponential family, because its log density cannot be written "
            "as η·u(x) − A(η) + log h(x)" + (" with all its parameters free." if self.free else ".")
        )

    def statistic(self, x: Array) -> Array:
        """u(x) of an exponential family; others have none."""
        raise self._not_exponential("statistic u(x)")

    def log_base(self, x: Array) -> Array:
        """Log h(x) of an exponential family; others have none."""
        raise self._not_exponential("base measure h(x)")

    def natural(self) -> Array:
        """The natural parameter η of an exponential family; others have none."""
        raise self._not_exponential("natural parameter η")

    def log_partition(self) -> Array:
        """A(η) of an exponential family; others have none."""
        raise self._not_exponential("log-partition A(η)")

    def mean_statistic(self) -> Array:
        """E u(X) of an exponential family; others have none."""
        raise self._not_exponential("mean statistic E u(X)")

    def covariance_statistic(self) -> Array:
        """Cov u(X) of an exponential family; others have none."""
        raise self._not_exponential("covariance of a statistic, Cov u(X)")

    def from_mean(self, mean: Array) -> Self:
        """The distribution with a given mean statistic, of an exponential family; others have none."""
        raise self._not_exponential("mean statistic to be found from")

    def from_natural(self, eta: Array) -> Self:
        """The distribution with a given natural parameter, of an exponential family; others have none."""
        raise self._not_exponential("natural parameter to be found from")

    def cumulative(self, x: Array) -> Array:
        """P(X ≤ x), elementwise under broadcasting."""
        return quadrature.cumulative(self, x)

    def inverse(self, q: Array) -> Array:
        """Quantiles, elementwise under broadcasting."""
        return quadrature.inverse(self, q)

    @property
    def var(self) -> Any:
        """Variance of each column."""
        return quadrature.moment(self, 2)

    @property
    def std(self) -> Any:
        """Standard deviation of each column."""
        return np.sqrt(self.var)

    def entropy(self) -> Any:
        """−E log p in nats: of the row, or (k,) for a stack."""
        self.require_ready("have an entropy")
        cells = np.asarray(self.entropy_cell())
        total = cells.sum(axis=-1) if cells.ndim else cells
        return float(total) if np.ndim(total) == 0 else total

    def entropy_cell(self) -> Any:
        """Entropy of each column; by default by quadrature or summation, to about 1e-10."""
        return quadrature.cellwise(self, lambda cell: -quadrature.expectation(cell, cell.log_prob))

    def kl(self, other: Any) -> Any:
        """D(self‖other) in nats: how much worse ``other`` describes rows that this one makes."""
        self.require_ready("be compared")
        return quadrature.relative_entropy(self, other)

    def expected(self: Any) -> Any:
        """The mean, as a belief about a parameter."""
        return self.mean

    def spread(self) -> Any:
        """The standard deviation, as a belief about a parameter."""
        return self.std

    def point(self) -> Any:
        """A parameter at which this belief has a finite density."""
        return self.expected()

    def scale_of(self, name: str) -> Any:
        """The length by which moves of an unbounded parameter are judged."""
        del name
        return self.std

    def interval(self, level: float = 0.95) -> Any:
        """The central interval that holds ``level`` of the probability, column by column."""
        check_level(level)
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)
