"""What families with ``loc`` and ``scale`` have in common where they are fitted by passes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self, cast

import numpy as np

from suffice.core.iterative_family import IterativeFamily
from suffice.distributions.floors import rounding_floor
from suffice.statistics.sums import Statistics
from suffice.tables.column_names import in_columns
from suffice.types import Alert, Array


class LocationScale(IterativeFamily, register=False):
    """A density of (x − loc) / scale, which collapses where values are equal."""

    loc: Any
    scale: Any

    def at_rounding_floor(self, stats: Statistics) -> Array:
        """Where the scale of cells that were seen, (k, d), is the least that float64 resolves around loc."""
        stack = self.stacked
        return (np.asarray(stack.scale) <= rounding_floor(np.asarray(stack.loc))) & (stats.weight > 0)

    def collapse_alerts(self, stats: Statistics) -> tuple[Alert, ...]:
        """An alert where the scale was learned, and every value is the same."""
        flat = self.at_rounding_floor(stats)
        if "scale" in self.fixed or not flat.any():
            return ()
        value = float(np.asarray(self.stacked.loc)[flat][0])
        text = (
            "every value",
            in_columns(flat),
            (
                f" equals {value:g}, or differs from it by less than is resolved, so the scale is 0 and no density "
                "exists; it was set to the smallest that is resolved there. Add data, multiply very small ones, or fix "
                "scale."
            ),
        )
        return (Alert("collapsed", text, value=value),)

    @property
    def peak_precision(self) -> Array:
        return np.asarray(np.square(1 / self.scale))

    def widen(self, by: Array) -> Self:
        wider: Self = replace(cast("Any", self), scale=self.scale * np.sqrt(by))
        return wider
