"""Rows as callers give them, one or many, by name or position."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from suffice.core.data import cells, listed
from suffice.frames.table import Frame, is_frame


def is_mapping(X: Any) -> bool:
    """Whether data are columns by name; scipy has a sparse matrix that is a dictionary, too."""
    return isinstance(X, Mapping) and not hasattr(X, "tocsr")


def columns_of(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Columns by name, from a frame or a mapping; None where rows have no names.

    The names of a frame are those of the fit, in the same order, or scikit-learn's error says which are not. Of a
    mapping the columns that the model wants are taken.
    """
    if is_mapping(X):
        if reset:
            keep_names(estimator, X)
        return X
    if not is_frame(X):
        return None
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    return listed(X)


def keep_names(estimator: Any, X: Mapping[Any, Any]) -> None:
    """Keep the names of a mapping, as scikit-learn keeps those of a frame."""
    estimator.n_features_in_ = len(X)
    estimator.__dict__.pop("feature_names_in_", None)
    if all(isinstance(name, str) for name in X):
        estimator.feature_names_in_ = np.array(list(X), dtype=object)


def one_row(row: Any, names: list[Any], *, by_name: bool) -> tuple[Any, dict[Any, Any]]:
    """One row in the form that many have, and its cells by name or position.

    A row is a mapping, a row of a frame, a frame of one row, or an array (d,) or (1, d).
    """
    if is_mapping(row) or (hasattr(row, "to_frame") and hasattr(row, "items")):
        found = {name: np.ravel(np.asarray(value, dtype=object))[0] for name, value in row.items()}
    elif is_frame(row):
        table = listed(row)
        _refuse_many(len(table))
        found = {name: cells(table[name], "explain").tolist()[0] for name in table}
    else:
        array = row.toarray() if hasattr(row, "toarray") else np.asarray(row)
        array = array[None] if array.ndim == 1 else array
        _refuse_many(len(array))
        found = array[0].tolist()
        return array, dict(zip(names if len(names) == len(found) else range(len(found)), found, strict=True))
    if by_name:
        return {name: np.array([value], dtype=object) for name, value in found.items()}, found
    ordered = [found[name] for name in names] if names else list(found.values())
    return np.array([ordered], dtype=object if any(isinstance(one, str) for one in ordered) else float), found


def _refuse_many(count: int) -> None:
    if count != 1:
        msg = f"explain takes one row; got {count}. Choose one, as X[i] or frame.iloc[i]."
        raise ValueError(msg)


def by_name(X: Any) -> Mapping[Any, Any] | Frame:
    """Columns by name or position."""
    opened: Any = X if is_mapping(X) else listed(X)
    if isinstance(opened, (Mapping, Frame)):
        return opened
    rows = opened.toarray() if hasattr(opened, "toarray") else np.asarray(opened)
    return {column: rows[:, column] for column in range(rows.shape[1])}
