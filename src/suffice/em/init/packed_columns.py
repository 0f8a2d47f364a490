"""Mixtures that run by nothing but sums over cells: numbers under normals, and levels with probabilities.

A `PackedColumns` is such a mixture between short runs, which are loops of a kernel: it has the parameters of the
components side by side, and is asked for the mixture itself only where a run goes on in another way.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice import kernels
from suffice.core.mixed_columns import ClosedForm
from suffice.core.value import replace_valid
from suffice.em.convergence import FLAT, Convergence
from suffice.em.loop import EMResult
from suffice.em.trace import Trace
from suffice.em.training import TrainingData
from suffice.engines.once import cached_property
from suffice.statistics.weights import Weights
from suffice.types import Array


@dataclass(frozen=True)
class ColumnRows:
    """Rows column by column, and what holds the components: x (a, n), its centre and floor (a,), and levels (c, n).

    Probabilities of the levels of column j lie from ``starts[j]`` to ``starts[j + 1]``.
    """

    mixture: Any
    rows: Any
    weights: Weights
    x: Array
    centre: Array
    floor: Array
    levels: Array
    starts: Array

    @classmethod
    def of(cls, mixture: Any, rows: Any, weights: Weights) -> ColumnRows | None:
        """Rows that were preprocessed; None where the M-step of a column is not a formula that the kernel knows."""
        stack, floors = mixture.components, mixture.floors
        plain = len(rows) > 0 and weights.codes is None and not mixture.hard and not isinstance(floors, float)
        if not plain or stack.heterogeneous or "weights" not in mixture.free:
            return None
        forms = _forms(stack, rows)
        if forms is None:
            return None
        blocks = stack.blocks
        each = [(floors or {}).get(key) for key in blocks] if blocks else [floors]
        least = [
            np.zeros(form.mean.shape[1]) if floor is None else np.broadcast_to(floor, form.mean.shape[1:])
            for form, floor in zip(forms, each, strict=True)
        ]
        x = np.concatenate([form.x for form in forms], axis=1, dtype=np.float64)
        levels = np.concatenate([form.levels for form in forms], axis=1, dtype=np.int32, casting="unsafe")
        sizes = [table.shape[1] for form in forms for table in form.probs]
        with np.errstate(all="ignore"):
            seen = np.isfinite(x)
            centre = np.where(seen, x, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
        return cls(
            mixture, rows, weights, np.ascontiguousarray(x.T), centre, np.concatenate(least),
            np.ascontiguousarray(levels.T), np.cumsum([0, *sizes]),
        )  # fmt: skip

    def pack(self, mixture: Any) -> PackedColumns:
        """The mixture as runs see it."""
        if isinstance(mixture, PackedColumns):
            return mixture
        forms = _forms(mixture.components, self.rows) or []
        tables = [np.empty((mixture.n, 0)), *(table for form in forms for table in form.probs)]
        mean, std = (np.concatenate(each, axis=1) for each in ([f.mean for f in forms], [f.std for f in forms]))
        return PackedColumns(self, mixture.weights, mean, std, np.concatenate(tables, axis=1))

    def run(self, first: PackedColumns, data: TrainingData, passes: int, tol: float, *, leaps: bool) -> EMResult | None:
        """A run as one loop of a kernel; None where a component loses its rows or its spread."""
        clock = time.perf_counter()
        start = first.weights, first.mean, first.std, first.probs
        cells = self.x, self.centre, self.floor, self.levels, self.starts
        found = kernels.columns_run(cells, self.weights.values, start, (passes, tol, data.unit, leaps))
        if found is None:
            return None
        parameters, trace, made, flat = found
        value, entropy = trace.T
        unknown = np.full(len(value), np.nan)
        seconds = np.full(len(value), (time.perf_counter() - clock) / len(value))
        end = FLAT if flat else Convergence(passes).out_of_passes()
        record = Trace(value, unknown, unknown, entropy, seconds, value, made)
        return EMResult(PackedColumns(self, *parameters), None, record, end.converged, end.reason, unit=data.unit)


@dataclass(frozen=True, eq=False)
class PackedColumns:
    """The parameters of a mixture: weights (k,), mean and std (k, a), and probabilities of levels (k, L)."""

    packed: ColumnRows
    weights: Array
    mean: Array
    std: Array
    probs: Array

    @cached_property
    def unpacked(self) -> Any:
        """The mixture itself."""
        packed, mixture = self.packed, self.packed.mixture
        numbers = levels = 0
        made = []
        for block in mixture.components.blocks.values() or [mixture.components]:
            form = block.closed_form(None)
            some = slice(numbers, numbers := numbers + form.mean.shape[1])
            tables = [
                self.probs[:, packed.starts[j] : packed.starts[j + 1]] for j in range(levels, levels + len(form.probs))
            ]
            levels += len(tables)
            made.append(form.rebuilt(self.mean[:, some], self.std[:, some], tables))
        components = mixture.components.rebuilt(made) if mixture.components.blocks else made[0]
        return replace_valid(mixture, components=components, weights=self.weights)

    @cached_property
    def statistics(self) -> Any:
        """What a pass over the rows gathers under these parameters."""
        return self.unpacked.tag_family(self.unpacked.gather_rows(self.packed.rows, self.packed.weights))

    def spurious_gain(self, stats: Any) -> float:
        """As of the mixture itself; levels alone gain nothing by chance."""
        del stats
        return float(self.unpacked.spurious_gain(self.statistics)) if self.mean.size else 0.0


def _forms(stack: Any, rows: Any) -> list[ClosedForm] | None:
    """The closed forms of all columns, where they have them."""
    pairs = zip(stack.blocks.values(), rows.parts, strict=True) if stack.blocks else [(stack, rows)]
    found = [block.closed_form(part) for block, part in pairs]
    return None if any(form is None for form in found) else found
