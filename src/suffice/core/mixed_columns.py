"""One pass over blocks of columns of different kinds: what a block tells of its cells, and what it learns of them.

A block whose log-density is a sum over cells gives them as a `Part`: numbers under normals, features with slopes,
levels with tables. All such blocks share one loop over the rows. Any other block joins in with its log-density, and
gathers under the responsibilities that come out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple

import numpy as np

from suffice import kernels
from suffice.core import responsibilities
from suffice.core.responsibilities import EStep
from suffice.statistics.sums import Parts
from suffice.statistics.weights import Weights
from suffice.types import Array

NONE = np.empty((0, 0))
BLOCK = 1 << 18  # cells that are read at a time: more would leave the cache, less be lost in Python


class Learned(NamedTuple):
    """What the loop gathers of one block: Σ w r (k,), moments (k, a), totals (k, m), and a count (k, L) by column."""

    weight: Array
    moments: Any = ()
    total: Array = NONE
    counts: Sequence[Array] = ()


@dataclass(frozen=True)
class Part:
    """The cells of a block as `kernels.Cells` has them, and the statistics that follow from what is gathered.

    ``normals`` are x (n, a), mean and std (k, a); ``features`` are some matrices of n rows, m columns together, and
    slopes (k, m); ``levels`` are codes (n, c) and a table (k, L) for each column; ``offset`` (k,) is subtracted.
    """

    statistics: Callable[[Learned], Any]
    normals: tuple[Array, Array, Array] | None = None
    features: tuple[Sequence[Array], Array] | None = None
    levels: tuple[Array, Sequence[Array]] | None = None
    offset: Array | None = None


@dataclass(frozen=True)
class ClosedForm:
    """Cells and parameters of a block whose M-step is a formula of sums over cells, and the block with others.

    ``x`` (n, a) are numbers under normals of ``mean`` and ``std`` (k, a); ``levels`` (n, c) are codes, −1 if missing,
    with probabilities (k, L) for each column. ``rebuilt`` takes mean, std and probabilities.
    """

    rebuilt: Callable[[Array, Array, Sequence[Array]], Any]
    x: Array
    mean: Array
    std: Array
    levels: Array
    probs: Sequence[Array] = ()


def e_step(blocks: Sequence[Any], x: Sequence[Any], log_weights: Array, weights: Array | None) -> EStep | None:
    """One E-step over the rows of several blocks: an `EStep` with the statistics of each, as `Parts` has them.

    None where no block has `in_cells`, or a row is impossible: then the general way can say more.
    """
    n, width = len(x[0]), max(blocks[0].n_components, sum(prod(np.shape(part)[1:]) for part in x))
    step = max(BLOCK // width, 256)
    found: EStep | None = None
    for begin in range(0, max(n, 1), step):
        rows = slice(begin, begin + step)
        log_w = log_weights if log_weights.ndim == 1 else log_weights[rows]
        w = None if weights is None else weights[rows]
        more = _e_step(blocks, [part[rows] for part in x], log_w, w, begin)
        if more is None:
            return None
        found = more if found is None else found + more
    return found


def e_step_alone(block: Any, x: Any, log_weights: Array, weights: Array | None) -> EStep:
    """The E-step of one block by its cells, holes and all, or where these do not do the general one."""
    found = e_step([block], [x], log_weights, weights)
    if found is None:
        return responsibilities.e_step(block, x, log_weights, weights)
    return replace(found, statistics=found.statistics.parts[0])


def _e_step(blocks: Sequence[Any], x: Sequence[Any], log_weights: Array, w: Array | None, offset: int) -> EStep | None:
    n, k = len(x[0]), blocks[0].n_components
    parts = [block.in_cells(rows) for block, rows in zip(blocks, x, strict=True)]
    if not any(parts):
        return None
    scores = log_weights
    for block, rows, part in zip(blocks, x, parts, strict=True):
        if part is None:
            scores = scores + block.log_density(rows)
    shares = None if all(parts) else np.empty((n, k))
    found = kernels.columns_e_step(_joined([part for part in parts if part], n, k), scores, w, shares)
    if not np.isfinite(found.log_likelihood):
        return None
    learned, held = _Reader(found), Weights(n, shares, n_components=k, offset=offset)
    statistics = tuple(
        block.gather(rows, held) if part is None else part.statistics(learned.next(part))
        for block, rows, part in zip(blocks, x, parts, strict=True)
    )
    weight = np.concatenate([np.asarray(part.weight).reshape(k, -1) for part in statistics], axis=1)
    return EStep(found.log_likelihood, found.entropy, Parts(statistics, weight), found.weight)


def _joined(parts: Sequence[Part], n: int, k: int) -> kernels.Cells:
    """All cells of a kind side by side; they lie column by column."""
    normals = [part.normals for part in parts if part.normals]
    features = [part.features for part in parts if part.features]
    codes = [part.levels[0] for part in parts if part.levels]
    tables = [table for part in parts if part.levels for table in part.levels[1]]
    return kernels.Cells(
        _rows([x for x, _, _ in normals], n, np.float64),
        _components([mean for _, mean, _ in normals], k),
        _components([std for _, _, std in normals], k),
        _rows([column for columns, _ in features for column in columns], n, np.float64),
        _components([slopes for _, slopes in features], k),
        _rows(codes, n, np.int32),
        np.cumsum([0, *(table.shape[1] for table in tables)]),
        _components(tables, k),
        np.sum([part.offset for part in parts if part.offset is not None] or [np.zeros(k)], axis=0),
    )


def _rows(columns: list[Array], n: int, dtype: Any) -> Any:
    if len(columns) == 1 and columns[0].dtype == dtype:
        return columns[0]
    return np.concatenate([np.empty((0, n)), *(some.T for some in columns)], dtype=dtype, casting="unsafe").T


def _components(columns: list[Array], k: int) -> Array:
    return np.concatenate([np.empty((k, 0)), *columns], axis=1)


class _Reader:
    """Reads what was gathered of all cells, one block after the other."""

    def __init__(self, found: kernels.CellSums) -> None:
        self.found, self.numbers, self.features, self.entries = found, 0, 0, 0

    def next(self, part: Part) -> Learned:
        """What was gathered of the next block."""
        found, numbers, features, counts = self.found, self.numbers, self.features, []
        self.numbers += 0 if part.normals is None else part.normals[0].shape[1]
        self.features += 0 if part.features is None else part.features[1].shape[1]
        for table in [] if part.levels is None else part.levels[1]:
            counts.append(found.counts[:, self.entries : self.entries + table.shape[1]])
            self.entries += table.shape[1]
        moments = tuple(one[:, numbers : self.numbers] for one in found.moments)
        return Learned(found.weight, moments, found.total[:, features : self.features], counts)
