"""What a product answers about some of its columns: it asks the blocks that have them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from suffice.core.queryable import all_but_one
from suffice.engines.once import cached_property
from suffice.errors import DataError
from suffice.models.columns import key_of
from suffice.queries.conditional import ConditionalColumn
from suffice.tables.frame import Frame
from suffice.types import Array


class ProductQueries:
    """Questions to a product about some columns, as a base class of it."""

    blocks: Any  # of the product itself, as all of these
    named: Any
    column_names: Any
    with_parts: Any
    _of_parts: Any
    _widths: Any

    @cached_property
    def cells(self) -> dict[Any, tuple[Any, Any]]:
        """The block of each column, by label, and its label there; None where its cells are vectors of all of them."""
        found: dict[Any, tuple[Any, Any]] = {}
        for key, block in self.blocks.items():
            inner = block.column_labels
            if self.named and not isinstance(key, tuple):
                one = len(inner) == 1 and not block.support.core
                found[key] = (key, inner[0] if one else None)
                continue
            labels = key if self.named else range(len(found), len(found) + len(inner))
            found.update({label: (key, own) for label, own in zip(labels, inner, strict=True)})
        return found

    @cached_property
    def column_labels(self) -> tuple[Any, ...]:
        return tuple(self.cells)

    @cached_property
    def vector_labels(self) -> frozenset[Any]:
        vectors = {key: block.vector_labels for key, block in self.blocks.items()}
        return frozenset(label for label, (key, own) in self.cells.items() if own is None or own in vectors[key])

    def with_column_names(self, names: tuple[Any, ...]) -> Any:
        """The same product, its columns by name."""
        if self.named:
            return self
        widths = zip(self.blocks.values(), self._widths(len(names)), strict=True)
        counts = [len(block.column_labels) if block.ready or not width else width for block, width in widths]
        if sum(counts) != len(names):
            msg = f"Product describes {sum(counts)} columns, but {len(names)} are named; give a part for each."
            raise DataError(msg)
        cuts = np.cumsum([0, *counts])
        keys = [key_of(names[a:b]) for a, b in pairwise(cuts.tolist())]
        blocks = self.blocks.values()
        keys = [
            (key,) if block.row_vector and not isinstance(key, tuple) else key
            for key, block in zip(keys, blocks, strict=True)
        ]
        return self.with_parts(tuple(zip(keys, blocks, strict=True)))

    def arranged(self, columns: dict[Any, Any]) -> Any:
        if self.named or all(np.ndim(values) == 1 for values in columns.values()):
            return Frame(columns, len(next(iter(columns.values()))))
        return np.concatenate([np.reshape(values, (len(values), -1)) for values in columns.values()], axis=1)

    def _kept(self, labels: Sequence[Hashable]) -> Iterator[tuple[Any, Any, list[Any], bool]]:
        """The blocks that have some of the columns: key, block, its own labels of those, and whether that is all."""
        for key, block in self.blocks.items():
            mine = {label: own for label, (home, own) in self.cells.items() if home == key}
            kept = [label for label in mine if label in labels]
            if kept:
                yield key, block, kept, len(kept) == len(mine)

    def marginal_of(self, labels: tuple[Any, ...]) -> Any:
        parts = []
        for key, block, kept, whole in self._kept(labels):
            own = tuple(self.cells[label][1] for label in kept)
            part = block if whole else block.marginal_column(own[0]) if len(own) == 1 else block.marginal_of(own)
            parts.append((key if whole else key_of(kept), part))
        return self.with_parts(tuple(parts) if self.named else tuple(part for _, part in parts))

    def marginal_column(self, label: Hashable) -> Any:
        key, own = self.cells[label]
        return self.blocks[key] if own is None else self.blocks[key].marginal_column(own)

    def column_levels(self, label: Hashable) -> tuple[Any, ...] | None:
        key, own = self.cells[label]
        found: tuple[Any, ...] | None = None if own is None else self.blocks[key].column_levels(own)
        return found

    def conditional(self, known: dict[Any, Any]) -> Any:
        """Blocks without a known column stay, those of known columns alone go, the others are conditioned."""
        rest = [label for label in self.cells if label not in known]
        parts = []
        for key, block, left, whole in self._kept(rest):
            if whole:
                parts.append((key, block))
                continue
            known_here = {
                own: known[label] for label, (home, own) in self.cells.items() if home == key and label in known
            }
            parts.append((key_of(left), block.conditional(known_here)))
        return self.with_parts(tuple(parts) if self.named else tuple(part for _, part in parts))

    def conditional_column(self, x: Any, label: Hashable) -> list[ConditionalColumn]:
        key, own = self.cells[label]
        part = x.parts[list(self.blocks).index(key)]
        found: list[ConditionalColumn] = self.blocks[key].stacked.conditional_column(part, own)
        return found

    def leave_one_out_log_prob(self, x: Any) -> Iterator[tuple[Any, Array]]:
        blocks = [block.stacked for block in self.blocks.values()]
        densities = [block.log_density(part) for block, part in zip(blocks, x.parts, strict=True)]
        whole = zip(self.blocks, blocks, x.parts, all_but_one(densities), strict=True)
        for key, block, part, others in whole:
            mine = {own: label for label, (home, own) in self.cells.items() if home == key}
            if None in mine:
                yield mine[None], others
                continue
            for own, density in block.leave_one_out_log_prob(part):
                yield mine[own], others + density

    def information(self, left: tuple[Any, ...], right: tuple[Any, ...]) -> float:
        """Blocks are independent: only columns of one block tell something of each other."""
        total = 0.0
        for key, block in self.blocks.items():
            mine = [
                tuple(self.cells[label][1] for label in side if self.cells[label][0] == key) for side in (left, right)
            ]
            if all(mine):
                total += block.information(*mine)
        return total

    # ---- of a single column ---------------------------------------------------------------------------------------
    @property
    def sole(self) -> Any:
        """The distribution of the only column; None where there are several, or a vector."""
        ((label, (_, own)), *others) = self.cells.items()
        return None if others or own is None else self.marginal_column(label)

    @property
    def discrete(self) -> bool:
        """Whether there is one column, of whole numbers or labels."""
        return self.sole is not None and bool(self.sole.discrete)

    def cdf(self, x: float) -> Any:
        """P(X ≤ x) of a product of one column."""
        if self.sole is None:
            raise self._of_parts("cdf")
        return self.sole.cdf(x)

    def quantile(self, q: float) -> Any:
        """The quantile of a product of one column."""
        if self.sole is None:
            raise self._of_parts("quantile")
        return self.sole.quantile(q)
