"""Labels as an exponential family: the statistic of a label is a row of indicators, one per level."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self, cast

import numpy as np

from suffice.core.family import Family
from suffice.distributions.minimal_form import MinimalForm
from suffice.numerics.lazy import special
from suffice.types import Array, Data


@dataclass(frozen=True, eq=False, repr=False)
class Indicators(Family, register=False):
    """The four facts of a family over levels: u, h, η and A, and E u."""

    def statistic(self, x: Data) -> Array:
        """1[x = j] for every level j, (n, L), or (n, d, L) of several columns; all 0 where the cell is missing."""
        rows = self.read(x)
        out = np.zeros((len(rows), len(rows.columns), np.shape(self.params["probs"])[-1]))
        for column, (cells, levels) in enumerate(zip(rows.columns, cast("Any", self.stacked).named, strict=True)):
            place = cells.among(cells.places(levels))
            seen = place >= 0
            out[np.flatnonzero(seen), column, place[seen]] = 1.0
        return out if self.batch else out[:, 0]

    def log_base(self, x: Data) -> Array:
        """Log h = 0."""
        rows = self.read(x)
        return np.zeros((len(rows), len(rows.columns)) if self.batch else len(rows))

    def natural(self) -> Array:
        """Log probs; −inf for a level that cannot be."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.params["probs"]))

    def from_natural(self, eta: Array) -> Self:
        """Probs ∝ e^η, which has an entry for each level."""
        probs = special.softmax(np.asarray(eta, dtype=float), axis=-1)
        return cast("Self", replace(cast("Any", self), probs=probs))

    def covariance_statistic(self) -> Array:
        """Cov 1[x = j] = diag p − ppᵀ."""
        p = np.asarray(self.params["probs"])
        return np.asarray(p[..., None] * np.eye(p.shape[-1]) - p[..., :, None] * p[..., None, :])

    def minimal_form(self) -> MinimalForm:
        """The form with one entry less: η_j = log p_j/p_L and A = log(1 + Σ e^η)."""
        return MinimalForm(self)

    def log_partition(self) -> Array:
        """A = log Σ probs = 0."""
        return np.zeros(self.batch)

    def mean_statistic(self) -> Array:
        """E 1[x = j] = probs."""
        return np.asarray(self.params["probs"])


def uniform(count: int, width: int) -> Array:
    """Equal probabilities of the first ``count`` of ``width`` levels."""
    return np.where(np.arange(width) < count, 1 / max(count, 1), 0.0)


def short(levels: tuple[Any, ...]) -> str:
    """The first levels, as a message shows them."""
    shown = ", ".join(map(repr, levels[:6]))
    return f"({shown}{f', … {len(levels) - 6} more' if len(levels) > 6 else ''})"
