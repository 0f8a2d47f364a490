"""Rows as callers give them, one or many, by name or position."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from suffice.errors import DataError, UnsupportedError
from suffice.estimators.asking import Asking
from suffice.estimators.validation import validate_data
from suffice.tables.frame import Frame, is_frame
from suffice.tables.frame import names as names_of
from suffice.tables.rows import cells, listed
from suffice.tables.streams import Source
from suffice.types import Data


def is_mapping(X: Data) -> bool:
    """Whether data are columns by name; scipy has a sparse matrix that is a dictionary, too."""
    return isinstance(X, Mapping) and not hasattr(X, "tocsr")


def columns_of(estimator: Asking, X: Data, *, reset: bool) -> Any:
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


def with_target(owner: str, X: Data, y: Data, sample_weight: Data) -> tuple[Any, Any, Any]:
    """Rows, classes and weights of a table, where ``y`` names the column of the classes."""
    if not isinstance(y, str):
        return X, y, sample_weight
    if not (is_mapping(X) or is_frame(X)):
        msg = f"{owner}: y is the name {y!r:.60}, but the rows have no columns by name; give a table, or the classes."
        raise DataError(msg)
    known = list(X) if is_mapping(X) else names_of(X)
    wanted = [y, *([sample_weight] if isinstance(sample_weight, str) else [])]
    for name in wanted:
        if name not in known:
            msg = f"{owner}: there is no column {name!r:.60}; there are {', '.join(map(repr, known))[:200]}."
            raise DataError(msg)
    opened: Any = X if is_mapping(X) else listed(X)
    rest = [name for name in known if name not in wanted]
    weights = cells(opened[sample_weight], owner) if wanted[1:] else sample_weight
    if is_mapping(X):
        return {name: X[name] for name in rest}, cells(opened[y], owner), weights
    return X.select(rest) if hasattr(X, "select") else X[rest], cells(opened[y], owner), weights


def refuse_files(owner: str, verb: str, X: Data, instead: str) -> None:
    """Say what to do with files where rows in memory are wanted."""
    if isinstance(X, Source):
        msg = f"{owner}.{verb} takes rows in memory, and got files, {X!r:.80}. {instead}"
        raise UnsupportedError(msg)


def as_table(owner: str, X: Data, columns: int | None, *, letters: bool = False) -> Any:
    """Rows (n, d) from a list of cells, or a column of a table: one column of as many rows.

    With ``letters``, strings of one length of at least 2 are rows of as many columns, one symbol each. ``columns`` are
    those of the fit, None before it. Arrays of numbers stay as they are: scikit-learn refuses those of one dimension.
    """
    if hasattr(X, "to_frame") and np.ndim(X) == 1:
        return X.to_frame()
    if not isinstance(X, (list, tuple)) and not (isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.kind in "UO"):
        return X
    given = list(X)
    if not given or not all(one is None or isinstance(one, (str, int, float, np.generic)) for one in given):
        return X
    texts = all(isinstance(one, str) for one in given)
    lengths = {len(one) for one in given} if texts else set()
    if letters and texts and (columns or 2) > 1 and max(lengths) > 1:
        if len(lengths) == 1:
            return np.array([list(one) for one in given], dtype=object)
        if columns is not None:
            row, text = next((row, one) for row, one in enumerate(given) if len(one) != columns)
            msg = f"{owner} was fitted to strings of {columns} symbols; row {row} has {len(text)}, {text!r:.40}."
            raise DataError(msg)
    if columns not in (None, 1):
        return X
    kind = None if not texts and all(isinstance(one, (int, float, np.number)) for one in given) else object
    return np.array(given, dtype=kind)[:, None]


def one_row(row: Data, names: list[Any], *, by_name: bool) -> tuple[Any, dict[Any, Any]]:
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


def by_name(X: Data) -> Mapping[Any, Any] | Frame:
    """Columns by name or position."""
    opened: Any = X if is_mapping(X) else listed(X)
    if isinstance(opened, (Mapping, Frame)):
        return opened
    rows = opened.toarray() if hasattr(opened, "toarray") else np.asarray(opened)
    return {column: rows[:, column] for column in range(rows.shape[1])}
