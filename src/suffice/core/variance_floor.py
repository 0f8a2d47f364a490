"""The variance floor of components: none may shrink to a point, where its likelihood has no bound.

The size is `HIGHEST_RATIO` here, and for normal families `distributions.floors.FLOOR`. `em.init.starts.floors_of`
sets the floor once for a whole fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from suffice.core.formulas import Formulas
from suffice.core.mixed_columns import ClosedForm
from suffice.types import Alert, Array

HIGHEST_RATIO = 1e5  # of a component's precision to that of all rows, where its family has no floor of its own


@dataclass(frozen=True, eq=False, repr=False)
class Floored(Formulas):
    """A family whose components can become points says how narrow they are, by ``peak_precision``."""

    @property
    def peak_precision(self) -> Array | None:
        """How narrow each cell is, (k, d), as 1 / variance but for a factor; None: it cannot become a point."""
        return None

    def widen(self, by: Array) -> Self:
        """The stack with its peak precision divided by factors (k, d), and its centre where it was."""
        del by
        return self

    def floor(self) -> Any:
        """What components of a mixture are held above, where this is the estimate of all rows; None: nothing.

        It is fixed for a whole fit: no component may shrink to a point.
        """
        precision = self.stacked.peak_precision
        return None if precision is None else HIGHEST_RATIO * precision[0]

    def floor_of(self, stats: Any) -> Any:
        """The floor that follows from the statistics of all rows."""
        return self.estimate(stats).floor()

    def apply_floor(self, floor: Any) -> Self:
        """The best parameters that are not below the floor, given that these are the best of all."""
        precision = None if floor is None else self.stacked.peak_precision
        if precision is None or not (precision > floor).any():
            return self
        return self.like(self.stacked.widen(np.maximum(precision / floor, 1.0)))

    def closed_form(self, x: Any) -> ClosedForm | None:
        """Cells and parameters, where the M-step is a formula of sums over cells; without rows, the parameters."""
        del x
        return None

    def m_step(self, stats: Any, prior: Any, floor: Any) -> Any:
        """The M-step of components that are held above the floor.

        By default the best of all is raised; what that made worse than the components at hand is not taken.
        """
        best = self.estimate(stats, prior)
        raised = best.apply_floor(floor)
        if raised is best or isinstance(floor, float):
            return raised
        if stats.exact or self.blocks or self.stacked.peak_precision is None:
            return no_worse(self, raised, stats, prior)
        # Inexact statistics have the likelihood of their own parameters only: what lies on the floor stays there.
        stuck = (self.stacked.peak_precision >= floor * (1 - 1e-6)) & (best.stacked.peak_precision > floor)
        return self.like(self.stacked.choose(stuck, raised.stacked))

    def on_floor(self, floor: Any) -> Array:
        """Which components lie on the floor, (k,)."""
        precision = None if floor is None else self.stacked.peak_precision
        if precision is None:
            return np.zeros(self.n_components, bool)
        return np.asarray((precision >= floor * (1 - 1e-6)).any(axis=1))

    def floor_columns(self, floor: Any, index: int) -> tuple[Any, ...]:
        """The columns in which one component lies on the floor, by place or name; () where it has none of its own."""
        precision = None if floor is None else self.stacked.peak_precision
        if precision is None or self.row_vector:
            return ()
        return tuple(np.flatnonzero(precision[index] >= np.asarray(floor) * (1 - 1e-6)).tolist())

    def degenerate(self, floor: Any, stats: Any) -> Array:
        """Which components (k,) lie on the floor in some direction in which the rows together do not."""
        del stats
        return self.on_floor(floor)

    def singular_alerts(self, floor: Any, stats: Any) -> tuple[Alert, ...]:
        """Alerts about columns that are constant, or follow from others, in all rows together."""
        del floor, stats
        return ()


def no_worse(current: Any, other: Any, stats: Any, prior: Any) -> Any:
    """The ``other`` components, unless they explain the statistics worse than the current ones do."""

    def objective(components: Any) -> float:
        belief = 0.0 if prior is None else float(np.sum(components.log_prior(prior)))
        return float(np.sum(components.log_likelihood(stats))) + belief

    return other if objective(other) >= objective(current) else current
