"""Columns of any kind as numbers, for models that are linear in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.errors import DataError, naming
from suffice.estimators.rows import by_name, is_mapping
from suffice.message_parts import Cell, Columns
from suffice.tables.frame import Frame
from suffice.tables.labels import is_missing, read_labels
from suffice.tables.rows import cells, listed, numbers
from suffice.types import Array, Data


@dataclass(frozen=True, eq=False)
class Design:
    """Rows as a matrix of float64 (n, p), the names of its columns, and which rows of the data have every cell.

    A column of labels is one column for each level but the first: 1 where a row has it.
    """

    matrix: Array
    names: tuple[str, ...]
    complete: Array

    @classmethod
    def of(cls, X: Data, owner: str) -> Design:
        """The columns of an array, a frame or a dictionary, in their order."""
        given = listed(X)
        whole = isinstance(given, Frame) or is_mapping(given) or hasattr(given, "toarray")
        if not whole and np.ndim(given) != 2:
            msg = f"{owner} takes rows × columns; got {np.ndim(given)} axes. One column is x[:, None]."
            raise DataError(msg)
        columns: Any = {name: given[name] for name in given} if isinstance(given, Frame) else by_name(given)
        if not columns:
            msg = f"{owner} needs at least one column; the data have none."
            raise DataError(msg)
        parts: list[Array] = []
        names: list[str] = []
        for name, values in columns.items():
            with naming(Columns.named(name)):
                part, levels = _as_numbers(values, owner)
            parts.append(part)
            names += [str(name)] if levels is None else [f"{name}={level}" for level in levels]
        matrix = np.concatenate(parts, axis=1)
        return cls(matrix, tuple(names), ~np.isnan(matrix).any(axis=1))

    def refuse_holes(self, owner: str) -> None:
        """Name the first missing cell."""
        if not self.complete.all():
            row, holes = int(np.argmin(self.complete)), int((~self.complete).sum())
            column = self.names[int(np.argmax(np.isnan(self.matrix[row])))]
            lacking = f"{holes} of {len(self.complete)} lack a cell."
            remedy = "Impute them, or leave such rows out with missing='drop'."
            raise DataError(
                f"{owner}: ",
                Cell(row, column, repr(column)),
                f" is missing, and logistic regression and the linear SVM take complete rows; {lacking} {remedy}",
            )


def _as_numbers(values: Array, owner: str) -> tuple[Array, tuple[Any, ...] | None]:
    """A column as numbers (n, 1), or labels as (n, levels − 1) and the levels."""
    array = cells(values, owner)
    if array.ndim != 1:
        msg = f"{owner} takes one value in a cell; got an array of shape {array.shape}. Make columns of it."
        raise DataError(msg)
    seen = array[[not is_missing(one) for one in array]] if array.dtype.kind == "O" else array
    if array.dtype.kind not in "US" and not any(isinstance(one, str) for one in seen[:1]):
        column = np.asarray(numbers(array, owner), dtype=np.float64)
        if np.isinf(column).any():
            row = int(np.argmax(np.isinf(column)))
            text = f" is {column[row]}; linear models take finite numbers. Drop it or set it to NaN."
            raise DataError(f"{owner}: ", Cell(row), text, value=column[row])
        return column[:, None], None
    labels = read_labels(array, owner, 1).columns[0]
    levels = labels.seen
    codes = labels.among(labels.places(levels))
    marks = np.where(codes[:, None] < 0, np.nan, codes[:, None] == np.arange(1, len(levels)))
    return marks, levels[1:]
