"""A hidden Markov model as a distribution: rows in the long run, its columns, how good it is, and as a component."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from suffice import kernels
from suffice.core.family import WITHIN
from suffice.errors import UnsupportedError
from suffice.statistics.weights import Weights
from suffice.types import Alert, Array


class MarkovContract:
    """What other distributions answer in closed form, and what the loop asks, as a base class of the model."""

    emissions: Any  # of the model itself, as all of these
    initial: Any
    transitions: Any
    floors: Any
    row_distribution: Any
    in_groups: Any
    log_density: Any

    # ---- a row of which nothing is known ------------------------------------------------------------------------
    @property
    def mean(self) -> Any:
        """The mean of a row in the long run."""
        return self.row_distribution.mean

    @property
    def var(self) -> Any:
        """The variance of a row in the long run."""
        return self.row_distribution.var

    @property
    def std(self) -> Any:
        """The standard deviation of a row in the long run."""
        return self.row_distribution.std

    def cdf(self, x: Any) -> Any:
        """P(X ≤ x) of a row in the long run, column by column."""
        return self.row_distribution.cdf(x)

    def quantile(self, q: Any) -> Any:
        """Quantiles of a row in the long run, column by column."""
        return self.row_distribution.quantile(q)

    def entropy(self) -> Any:
        """Refuse: a sequence has one for each length."""
        msg = "a HiddenMarkov has no entropy in closed form; −log_prob(x)/len(x) of a long sample comes near its rate."
        raise UnsupportedError(msg)

    def kl(self, other: Any) -> Any:
        """Refuse: there is no closed form."""
        del other
        msg = "hidden Markov models have no divergence in closed form; compare log_prob of a long sample under both."
        raise UnsupportedError(msg)

    @property
    def column_names(self) -> tuple[Any, ...] | None:
        known: tuple[Any, ...] | None = self.emissions.column_names
        return known

    @property
    def column_labels(self) -> tuple[Any, ...]:
        known: tuple[Any, ...] = self.emissions.column_labels
        return known

    @property
    def vector_labels(self) -> frozenset[Any]:
        known: frozenset[Any] = self.emissions.vector_labels
        return known

    @property
    def row_axes(self) -> int:
        return int(self.emissions.row_axes)

    @property
    def discrete(self) -> bool:
        """Whether rows are whole numbers or labels, one each."""
        return bool(self.row_distribution.discrete)

    def column_label(self, column: int) -> str:
        return str(self.emissions.column_label(column))

    def marginal_of(self, labels: tuple[Any, ...]) -> Any:
        """The same states with some of the columns: the others are integrated out."""
        return self._with_emissions(self.emissions.marginal_of(labels))

    def marginal_columns(self, columns: list[int]) -> Any:
        return self._with_emissions(self.emissions.marginal_columns(columns))

    def _with_emissions(self, emissions: Any) -> Any:
        return type(self)(emissions, None, self.initial, self.transitions)  # type: ignore[call-arg]

    def conditional(self, known: dict[Any, Any]) -> Any:
        """Of a row in the long run, given some of its columns."""
        return self.row_distribution.conditional(known)

    # ---- how good it is -----------------------------------------------------------------------------------------
    def measured_log_likelihood(self, stats: Any, rows: Any = None, weights: Any = None) -> float:
        return float(stats.log_likelihood[0])

    def log_likelihood(self, stats: Any) -> float:
        """The expected log-likelihood of rows and states, plus the entropy of the paths: a lower bound of log L."""
        emissions = self.emissions.for_statistics(stats.components)
        with np.errstate(divide="ignore", invalid="ignore"):
            made = emissions.likelihood_cells(stats.components).sum()
            first = np.where(stats.first > 0, stats.first * np.log(self.initial), 0.0).sum()
            moved = np.where(stats.moves > 0, stats.moves * np.log(self.transitions), 0.0).sum()
        return float(first + moved + made + stats.entropy[0])

    def likelihood_cells(self, stats: Any) -> Array:
        return np.array([[self.log_likelihood(stats)]])

    def certainty(self, rows: Any, weights: Weights) -> float:
        """Σ w log of the probability of the most probable path of each sequence."""
        best = np.concatenate([one for one, _ in self.in_groups(rows, kernels.best_path)])
        with np.errstate(invalid="ignore"):
            sure = best - self.log_density(rows)[:, 0]
        return float(weights.dense()[:, 0] @ np.nan_to_num(sure))

    def seen_cells(self, stats: Any) -> Array:
        return np.asarray(np.sum(self.emissions.seen_cells(stats.components), axis=0, keepdims=True))

    def rounding(self, stats: Any) -> float:
        return float(self.emissions.rounding(stats.components))

    def is_spurious(self, stats: Any) -> bool:
        return self.spurious_gain(stats) > 0

    def spurious_gain(self, stats: Any, *, chance: bool = True) -> float:
        """How much of log L states bring that collapsed onto a few rows; what chance can do is known of mixtures."""
        from suffice.models.spurious_components import spurious_gain

        del chance
        return spurious_gain(self.row_distribution, stats, chance=False)

    def standard_errors(self, stats: Any) -> dict[Any, Any]:
        """Refuse: the states are told by the rows, not by the statistics."""
        del stats
        msg = (
            "standard errors of a HiddenMarkov need the rows, which a fit keeps only while it is in memory: ask "
            "fit.standard_errors before the fit is saved or pickled, or fit again."
        )
        raise UnsupportedError(msg)

    def errors_from(self, stats: Any, data: Any) -> dict[Any, Any]:
        """Standard errors from the observed information of the rows; NaN where the rows do not tell."""
        from suffice.models.boundary import TRACE
        from suffice.models.hidden_markov_information import standard_errors

        if data is None:
            return self.standard_errors(stats)
        return standard_errors(self.without_traces(TRACE / max(float(np.sum(stats.count)), 1.0)), *data)

    def without_traces(self, least: float) -> Any:
        """The same with probabilities of next to nothing as 0: passes ended before they came there."""
        rows = {
            name: np.where(np.asarray(getattr(self, name)) < least, 0.0, getattr(self, name))
            for name in ("initial", "transitions")
        }
        return self._replaced(**{name: value / value.sum(axis=-1, keepdims=True) for name, value in rows.items()})

    def confidence_bounds(self, errors: dict[Any, Any], reach: float) -> dict[Any, Any]:
        """Estimate ± reach × standard error of each parameter, inside its domain."""
        from suffice.models.hidden_markov_information import bounds

        return bounds(self, errors, reach)

    def alerts(self, stats: Any) -> tuple[Alert, ...]:
        return self.alerts_under(stats, None)

    def alerts_under(self, stats: Any, prior: Any) -> tuple[Alert, ...]:
        from suffice.models.hidden_markov_summary import alerts

        return alerts(self, stats, prior)

    def summarize(self, names: Any = None, fit: Any = None) -> Any:
        """What there is to say about it, as a `Summary`: the states, and what each says of each column."""
        from suffice.models.hidden_markov_summary import summarize

        return summarize(self, names, fit)

    def numbers(self, names: Any = None, errors: Any = None, reach: float = WITHIN) -> tuple[Any, ...]:
        """Every number as a `Parameter`: initial probabilities, transitions, and those of each state."""
        from suffice.models.hidden_markov_summary import numbers

        return numbers(self, names, errors, reach)

    def _repr_html_(self) -> str:
        """Show it as a table in a notebook."""
        from suffice.display.html import of_summary

        return of_summary(self.summarize())

    # ---- as a component -----------------------------------------------------------------------------------------
    @property
    def is_latent(self) -> bool:
        return True

    @property
    def is_single_cluster(self) -> bool:
        return False

    @property
    def is_monotone(self) -> bool:
        return not isinstance(self.floors, float)

    @property
    def learns_bounds(self) -> bool:
        return bool(self.emissions.learns_bounds)

    def with_wider_bounds(self, factor: float) -> Any:
        return self._replaced(emissions=self.emissions.with_wider_bounds(factor))

    def off_boundary(self, share: float) -> Any:
        return self._replaced(emissions=self.emissions.off_boundary(share))

    def with_floors(self, floors: Any, *, measured: bool = True) -> Any:
        """The same above these floors."""
        return self._replaced(floors=floors, measured=measured)

    def _replaced(self, **found: Any) -> Any:
        return replace(self, **found)  # type: ignore[type-var]

    def floor(self) -> Any:
        return None

    def needs_rows(self, stats: Any) -> bool:
        del stats
        return True
