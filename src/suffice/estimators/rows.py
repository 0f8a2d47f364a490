"""Rows as callers give them, one or many, by name or position."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def is_mapping(X: Any) -> bool:
    """Whether data are columns by name; scipy has a sparse matrix that is a dictionary, too."""
    return isinstance(X, Mapping) and not hasattr(X, "tocsr")


def one_row(row: Any, names: list[Any], *, by_name: bool) -> tuple[Any, dict[Any, Any]]:
    """One row in the form that many have, and its cells by name or position.

    A row is a mapping, a row of a frame, a frame of one row, or an array (d,) or (1, d).
    """
    if is_mapping(row) or (hasattr(row, "to_frame") and hasattr(row, "items")):
        cells = {name: np.ravel(np.asarray(value, dtype=object))[0] for name, value in row.items()}
    elif hasattr(row, "columns"):
        _refuse_many(len(row))
        cells = {name: np.asarray(row[name], dtype=object)[0] for name in row.columns}
    else:
        array = row.toarray() if hasattr(row, "toarray") else np.asarray(row)
        array = array[None] if array.ndim == 1 else array
        _refuse_many(len(array))
        return array, dict(enumerate(array[0].tolist()))
    if by_name:
        return {name: np.array([value], dtype=object) for name, value in cells.items()}, cells
    ordered = [cells[name] for name in names] if names else list(cells.values())
    return np.array([ordered], dtype=object if any(isinstance(one, str) for one in ordered) else float), cells


def _refuse_many(count: int) -> None:
    if count != 1:
        msg = f"explain takes one row; got {count}. Choose one, as X[i] or frame.iloc[i]."
        raise ValueError(msg)


def by_name(X: Any) -> dict[Any, Any]:
    """Columns by name or position."""
    if is_mapping(X):
        return dict(X)
    if hasattr(X, "columns"):
        return {name: np.asarray(X[name]) for name in X.columns}
    rows = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    return {column: rows[:, column] for column in range(rows.shape[1])}
