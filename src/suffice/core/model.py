"""What the loop and a fit ask of a model: where to begin, how far it moved, what to tell of it, how sure it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from suffice.core.component import Component
from suffice.core.learner import Learner
from suffice.core.likelihood import log_likelihood_of_rows
from suffice.errors import ParameterError, UnsupportedError
from suffice.numerics import derivatives
from suffice.statistics.weights import Weights
from suffice.tables.column_names import in_columns
from suffice.tables.sketch import starting_rows
from suffice.types import Alert, Array

LOST = 1e-10  # relative: the part of a log-likelihood that may be lost to rounding before it is summed over the rows


@dataclass(frozen=True, eq=False, repr=False)
class Model(Component):
    """The part of the contract that the EM loop asks for; a family's answers are these."""

    tolerance: ClassVar[float | None] = None  # relative change of log L that counts as flat; None: only rounding does

    @property
    def is_latent(self) -> bool:
        """Whether each row has a hidden cause: statistics do not hold which."""
        return any(block.is_latent for block in self.blocks.values())

    @property
    def hard_assignment(self) -> bool:
        """Whether rows go as a whole to hidden components, so that what the loop never falls is not the likelihood."""
        blocks = self.blocks
        return bool(blocks) and any(block.hard_assignment for block in blocks.values())

    @property
    def is_monotone(self) -> bool:
        """Whether every M-step maximises, so that a fall of the objective is a mistake."""
        return True

    def initialize(self, rows: Any, weights: Any, rng: Any, start: Any, prior: Any) -> tuple[Any, tuple[Any, ...]]:
        """Where the loop begins, and what to tell about it."""
        del prior
        if start is None:
            return self.start(*starting_rows(rows, weights), rng), ()
        if type(start) is not type(self):
            msg = f"start= of {self.name} is a {self.name} with its parameters; got {start!r:.60}."
            raise ParameterError(msg)
        return self.with_parameters_of([start.for_data(rows)], np.ones(1)), ()

    def measured_log_likelihood(self, stats: Any, rows: Any = None, weights: Weights | None = None) -> float:
        """Σ w log p(x) of the rows under the parameters that gathered the statistics.

        It is summed over the rows where rounding takes digits of the statistics: the scatter of nearly dependent
        columns has lost their difference, which the estimate follows. The error of Σ log p is of first order in that
        rounding from the statistics, and of second order from the rows, since the estimate is a maximum.
        """
        found = self.log_likelihood(stats)
        found = found if isinstance(found, float) else float(np.sum(found))
        if weights is None or self.is_latent or not math.isfinite(found):
            return found
        lost = self.rounding(stats) > LOST * max(1.0, abs(found))
        return log_likelihood_of_rows(self, rows, weights) if lost else found

    def distance(self, other: Any) -> float:
        """The largest relative move of a parameter; a location is measured against the spread."""
        if self.blocks:
            pairs = [(block, other.blocks.get(key)) for key, block in self.blocks.items()]
            return float(max(np.inf if type(a) is not type(b) else a.distance(b) for a, b in pairs))
        worst = 0.0
        for name, old in self.params.items():
            new = np.asarray(getattr(other, name))
            domain = self.specs()[name].domain
            unbounded = np.isinf(domain.low) and np.isinf(domain.high)
            scale = np.asarray(self.scale_of(name) if unbounded else np.abs(old))
            with np.errstate(all="ignore"):
                ratio = np.abs(new - old) / np.where(scale > 0, scale, 1.0)
            worst = max(worst, float(np.fmax.reduce(ratio, axis=None, initial=0.0)))  # NaN: it did not move
        return worst

    def scale_of(self, name: str) -> Any:
        """The length by which moves of an unbounded parameter are judged."""
        del name
        return self.std

    def in_order(self, stats: Any, prior: Any = None) -> tuple[Any, Any]:
        """The same distribution and statistics with hidden components in canonical order, where none is told apart."""
        del prior
        return self, stats

    def is_spurious(self, stats: Any) -> bool:
        """Whether some component is degenerate, or no more than chance explains."""
        del stats
        return False

    def spurious_gain(self, stats: Any, *, chance: bool = True) -> float:
        """How much of the log-likelihood degenerate components, or ``chance``, can have brought."""
        del stats, chance
        return 0.0

    def rounding(self, stats: Any) -> float:
        """How much of Σ w log p is rounding, where the family computes it as a difference of large numbers."""
        del stats
        return 0.0

    def unbiased(self, stats: Any, ddof: float) -> Self:
        """The estimate with a variance of divisor Σ w − ddof."""
        del stats, ddof
        msg = (
            f"ddof applies to variances: Normal, LogNormal and MultivariateNormal. {self.name} has none; leave it out."
        )
        raise UnsupportedError(msg)

    def alerts(self, stats: Any) -> tuple[Alert, ...]:
        """What a reader of this estimate must know before trusting it."""
        del stats
        found, specs = [], self.specs()
        for name in self.free:
            domain = specs[name].domain
            if not any(domain.closed):
                continue
            value = np.asarray(getattr(self, name))
            bounds = domain.on_boundary(value)
            if bounds.any():
                at = float(value.flat[int(np.argmax(bounds))])
                text = (
                    f"{name} = {at:g}",
                    "" if domain.core or not value.ndim else in_columns(bounds),
                    (
                        " lies on the boundary of its domain: rows that it excludes get probability 0, so the true "
                        "risk may be infinite and standard errors mean nothing."
                    ),
                )
                found.append(Alert("boundary", text, value=at, prior_advice="A prior keeps it inside."))
        return tuple(found)

    def alerts_under(self, stats: Any, prior: Any) -> tuple[Alert, ...]:
        """What a reader of an estimate under a ``prior`` must know before trusting it."""
        del prior
        return tuple(self.alerts(stats))


@dataclass(frozen=True, eq=False, repr=False)
class Uncertain(Learner):
    """Standard errors of the parameters, and the intervals that follow."""

    def seen_cells(self, stats: Any) -> Array:
        """Σ w of the cells that were seen: (k, d) by column, or (k,) rows where a row is one cell."""
        return np.asarray(stats.weight)

    def needs_rows(self, stats: Any) -> bool:
        """Whether standard errors need the rows that these statistics are of."""
        del stats
        return False

    def standard_errors(self, stats: Any) -> dict[str, Any]:
        self.check_family(stats)
        stack = self.stacked
        errors = stack.error_cells(stats) if stack.free else {}
        result = {}
        for name, value in stack.params.items():
            edge = stack.specs()[name].domain.on_boundary(np.asarray(value))
            cells = np.zeros(np.shape(value)) if name in stack.fixed else np.where(edge, np.nan, errors[name])
            cells = cells[(0,) * self.lacking]
            result[name] = float(cells) if np.ndim(cells) == 0 else cells
        return result

    def error_cells(self, stats: Any) -> dict[str, Array]:
        """Standard errors of a stack, by differentiating the likelihood twice."""
        return derivatives.standard_errors(self, stats)

    def errors_from(self, stats: Any, data: Any) -> dict[Any, Any]:
        """Standard errors from the statistics, and where those do not hold them, from the (rows, weights)."""
        del data
        return self.standard_errors(stats)

    def confidence_bounds(self, errors: dict[Any, Any], reach: float) -> dict[Any, Any]:
        """Estimate ± reach × standard error by parameter, inside its domain; of blocks, by block and parameter."""
        if self.blocks:
            return {key: block.confidence_bounds(errors[key], reach) for key, block in self.blocks.items()}
        found: dict[Any, Any] = {}
        for name, error in errors.items():
            value, domain = self.params[name], self.specs()[name].domain
            ends = domain.clip(np.stack([value - reach * error, value + reach * error]))
            found[name] = (float(ends[0]), float(ends[1])) if np.ndim(value) == 0 else (ends[0], ends[1])
        return found
