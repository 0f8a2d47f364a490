"""The columns of a component: where each of them is, what is said of it, and which cells of the rows are its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from suffice.models.mixture import Mixture
from suffice.tables.labels import Labels
from suffice.types import Array


def homes(part: Any) -> list[tuple[Any, Any, int]]:
    """The columns of a component in their order: name, key of its block, place in the block."""
    if part.is_mixture:
        return homes(part.parts[0])
    if not part.blocks:
        return [(i, None, i) for i in range(1 if part.support.core else part.columns or 1)]
    found: list[tuple[Any, Any, int]] = []
    for key, block in part.blocks.items():
        width = 1 if block.support.core else block.columns or 1
        if not part.named:
            found += [(len(found) + i, key, i) for i in range(width)]
            continue
        names = list(key) if isinstance(key, tuple) else [key]
        if len(names) == 1 and width > 1:
            names = [f"{key}[{i}]" for i in range(width)]
        found += [(name, key, i) for i, name in enumerate(names)]
    return found


def single(part: Any, column: int) -> Any:
    """One column of a component as a distribution of its own; None where its cells are parts of a vector."""
    if part.is_mixture:
        inner = [single(one, column) for one in part.parts]
        return None if any(one is None for one in inner) else Mixture(inner, weights=part.weights)
    if part.blocks:
        _, key, place = homes(part)[column]
        return single(part.blocks[key], place)
    return None if part.support.core else part.marginal_column(column)


def cells_of(reader: Any, rows: Any, column: int) -> Any:
    """One column of rows, as the distribution that has read them keeps it: numbers (n,), or labels of one column."""
    if reader.is_mixture:
        return cells_of(reader.components, rows, column)
    if reader.heterogeneous:
        return cells_of(reader.parts[0], reader.views(rows)[0], column)
    if reader.blocks:
        _, key, place = homes(reader.unstacked[0])[column]
        return cells_of(reader.blocks[key], rows.parts[list(reader.blocks).index(key)], place)
    if isinstance(rows, Labels):
        return rows.column(column)
    return np.asarray(np.reshape(rows, (len(rows), -1))[:, column], dtype=float)


def without(reader: Any, rows: Any, column: int) -> Any:
    """The same rows with one column missing."""
    if reader.is_mixture:
        return without(reader.components, rows, column)
    if reader.heterogeneous:
        views = zip(reader.parts, reader.views(rows), strict=True)
        blanked = tuple(without(one, view, column) for one, view in views)
        return replace(rows, parts=blanked) if rows is not reader.views(rows)[0] else blanked[0]
    if reader.blocks:
        _, key, place = homes(reader.unstacked[0])[column]
        which = list(reader.blocks).index(key)
        part = without(reader.blocks[key], rows.parts[which], place)
        return replace(rows, parts=(*rows.parts[:which], part, *rows.parts[which + 1 :]))
    if isinstance(rows, Labels):
        old = rows.columns[column]
        hole = replace(old, codes=np.full(len(old.codes), old.low - 1, dtype=np.int64))
        return Labels((*rows.columns[:column], hole, *rows.columns[column + 1 :]))
    holed = np.array(rows, dtype=float)
    holed.reshape(len(holed), -1)[:, column] = np.nan
    return holed


def families_of(part: Any) -> Iterator[Any]:
    """The components that are no mixtures themselves."""
    if part.is_mixture:
        for one in part.parts:
            yield from families_of(one)
    else:
        yield part


def joint_covariance(part: Any, first: tuple[Any, Any, int], second: tuple[Any, Any, int]) -> Array | None:
    """The covariance (2, 2) of two columns of one Gaussian block; None where they are not in one."""
    if first[1] != second[1]:
        return None
    block = part.blocks[first[1]] if part.blocks else part
    if not (block.is_gaussian and block.row_vector):
        return None
    return np.asarray(block.cov)[np.ix_([first[2], second[2]], [first[2], second[2]])]
