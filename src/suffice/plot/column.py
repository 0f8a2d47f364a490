"""One column as pictures and reports show it: its distribution under each component, and its cells."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from suffice.core.family import Family
from suffice.core.parameters import LABEL
from suffice.engines.once import cached_property
from suffice.errors import ParameterError, UnsupportedError
from suffice.models.mixture import Mixture
from suffice.plot.component_columns import families_of
from suffice.types import Array


@dataclass(frozen=True, eq=False)
class Column:
    """One column: what each component says of it, and its cells.

    ``kind`` is "number", "count", "label" or "vector" (which nothing here can draw). ``cells`` (n,) are numbers with
    NaN for a hole, or the places of labels among ``levels`` with −1 for one; None where there are no rows.
    """

    name: Any
    label: str
    kind: str
    family: str
    parts: tuple[Any, ...]
    weights: Array
    levels: tuple[Any, ...] = ()
    cells: Array | None = field(default=None, repr=False)
    row_weights: Array | None = field(default=None, repr=False)

    @property
    def values(self) -> Array:
        """The cells, where there are rows."""
        if self.cells is None:
            msg = f"column {self.label} was looked at without rows; give data."
            raise UnsupportedError(msg)
        return self.cells

    @property
    def seen(self) -> Array:
        """Which cells are there, (n,)."""
        return self.values >= 0 if self.kind == "label" else np.isfinite(self.values)

    @cached_property
    def whole(self) -> Any:
        """The distribution of the column over all components."""
        return self.parts[0] if len(self.parts) == 1 else Mixture(list(self.parts), weights=self.weights)

    @cached_property
    def probabilities(self) -> Array:
        """Probability of each level under each component, (k, levels)."""
        return np.array([_level_shares(part, self.levels) for part in self.parts])

    @cached_property
    def observed(self) -> Array:
        """Share of each level among the cells that are there."""
        held = None if self.row_weights is None else self.row_weights[self.seen]
        count = np.bincount(self.values[self.seen], held, len(self.levels))
        return np.asarray(count / max(count.sum(), 1e-300))

    def pooled(self, most: int) -> Column:
        """The column with its most common levels, and all others as one, where it has more than ``most``."""
        if self.kind != "label" or len(self.levels) <= most:
            return self
        share = self.weights @ self.probabilities
        share = np.maximum(share, self.observed) if self.cells is not None else share
        kept = np.sort(np.argsort(-share, kind="stable")[: most - 1])
        place = np.full(len(self.levels) + 1, len(kept))
        place[kept], place[-1] = np.arange(len(kept)), -1
        rest = np.delete(self.probabilities, kept, axis=1).sum(axis=1, keepdims=True)
        levels = (*(self.levels[i] for i in kept), f"{len(self.levels) - len(kept):,} others")
        found = replace(self, levels=levels, cells=None if self.cells is None else place[self.cells])
        vars(found)["probabilities"] = np.hstack([self.probabilities[:, kept], rest])
        return found

    def scores(self, cells: Array) -> Array:
        """Log p of cells under each component, (n, k); 0 for a hole."""
        out = np.zeros((len(cells), len(self.parts)))
        there = cells >= 0 if self.kind == "label" else np.isfinite(cells)
        with np.errstate(all="ignore"):
            if self.kind == "label":
                out[there] = np.log(self.probabilities.T)[cells[there]]
            else:
                for j, part in enumerate(self.parts):
                    out[there, j] = part.log_prob(cells[there])
        return out

    def place(self, part: Family) -> tuple[float, float]:
        """Where a component is and how wide: mean and standard deviation, or median and half of the middle 68 %."""
        with np.errstate(all="ignore"):
            try:
                centre, spread = float(part.mean), float(part.std)
            except (TypeError, NotImplementedError, ParameterError):
                centre = spread = float("nan")
            if not (np.isfinite(centre) and np.isfinite(spread)):
                low, centre, high = (float(part.quantile(q)) for q in (0.16, 0.5, 0.84))
                spread = (high - low) / 2
        return centre, spread


def kind_of(parts: list[Any]) -> str:
    """Whether a column holds numbers, counts, labels, or parts of a vector."""
    if any(part is None for part in parts):
        return "vector"
    families = [family for part in parts for family in families_of(part)]
    if all(family.support.labels for family in families):
        return "label"
    if any(family.support == LABEL for family in families):
        return "vector"
    return "count" if all(family.discrete for family in families) else "number"


def levels_of(parts: list[Any]) -> tuple[Any, ...]:
    """The levels that any component knows."""
    found: dict[Any, None] = {}
    for part in parts:
        for family in families_of(part):
            found.update(dict.fromkeys(family.by_label))
    return tuple(found)


def _level_shares(part: Any, levels: tuple[Any, ...]) -> Array:
    if part.is_mixture:
        return np.asarray(part.weights @ np.array([_level_shares(one, levels) for one in part.parts]))
    known = part.by_label
    return np.array([known.get(level, 0.0) for level in levels])
