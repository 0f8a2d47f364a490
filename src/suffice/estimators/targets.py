"""Classes as a caller names them, numbered."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from suffice.errors import DataError, SufficeWarning
from suffice.tables.frame import Frame
from suffice.tables.labels import is_missing, read_labels
from suffice.tables.rows import cells, listed
from suffice.types import Array, Data

MOST_NUMBERS = 100  # different numbers that classes may be, however few rows there are
ROWS_OF_A_NUMBER = 20  # for each of more different numbers, if they are classes


@dataclass(frozen=True, eq=False)
class Targets:
    """The class of each row as a number (−1: unknown), the classes, and which of them a row may have (None: see codes).

    What ``y`` may be: labels, where None and NaN are unknown, and so is the label that the caller calls ``unlabeled``;
    or a boolean matrix (n, k) of the classes that each row may have.
    """

    codes: Array
    classes: Array
    allowed: Array | None = None


def targets(owner: str, y: Data, classes: Array | None = None, unlabeled: int | None = None) -> Targets:
    """Number the classes in y, or with ``classes`` given, among those."""
    if y is None:
        msg = f"This {owner} estimator requires y to be passed, but the target y is None."
        raise ValueError(msg)
    opened = listed(y)
    table = isinstance(opened, Frame)
    given = cells(opened, owner) if table or isinstance(opened, np.ma.MaskedArray) else _as_array(opened)
    if given.ndim == 2 and given.dtype.kind == "b" and given.shape[1] > 1:
        return _matrix(owner, given, list(opened) if table and classes is None else classes)
    given = column_or_1d(given, warn=True)
    known = _known(given, unlabeled)
    labels = given if known is None else given[known]
    if labels.dtype.kind == "f":
        _refuse_infinite(labels)
        if (labels != np.floor(labels)).any():
            check_classification_targets(labels)
    elif labels.dtype.kind == "O":
        labels = _plain(labels)
        check_classification_targets(labels)
    if not len(labels) and classes is None:
        msg = f"{owner}: every class is unknown; give y of some rows, or classes= and a matrix of those allowed."
        raise ValueError(msg)
    column = read_labels(labels, owner, 1).columns[0] if len(labels) else None
    texts = labels.dtype.kind == "O" and all(isinstance(one, str) for one in (column.seen if column else (0,)))
    seen = np.array(column.seen if column else (), dtype=None if texts else labels.dtype)
    names = seen if classes is None else np.asarray(classes)
    if classes is not None and not np.isin(seen, names).all():
        msg = f"The target label(s) {seen[~np.isin(seen, names)]} in y do not exist in the initial classes {names}"
        raise ValueError(msg)
    numbers = column.among(column.places(tuple(names.tolist()))) if column else np.empty(0, np.intp)
    numbers = np.asarray(numbers, dtype=np.intp)
    if known is None:
        return Targets(numbers, names)
    codes = np.full(len(given), -1, dtype=np.intp)
    codes[known] = numbers
    return Targets(codes, names)


def is_numeric_target(classes: Array, rows: int) -> bool:
    """Whether the different labels of so many rows are numbers, and too many to be classes."""
    return classes.dtype.kind in "iuf" and len(classes) > max(MOST_NUMBERS, rows / ROWS_OF_A_NUMBER)


def warn_of_numeric_target(owner: str, classes: Array, rows: int, stacklevel: int) -> None:
    """Warn of a target that looks like a number and not like a class."""
    if is_numeric_target(classes, rows):
        text = (
            f"{owner}: y has {len(classes):,} different numbers in {rows:,} rows, so it looks like a number and not "
            "like a class. Each number becomes a class. To predict a number, fit a Mixture of all columns and ask for "
            "this one given the others; or cut it into a few ranges."
        )
        warnings.warn(text, SufficeWarning, stacklevel=stacklevel + 1)


def _as_array(y: Data) -> Array:
    """Labels as an array; NumPy makes text of None, NaN and numbers beside text."""
    array = np.asarray(y)
    listed_text = array.dtype.kind == "U" and array.ndim == 1 and not hasattr(y, "dtype")
    return np.asarray(y, dtype=object) if listed_text and not all(isinstance(one, str) for one in y) else array


def _known(y: Array, unlabeled: int | None) -> Array | None:
    """Which rows have a class; None: all."""
    known: Array | None
    if y.dtype.kind == "f":
        known = ~np.isnan(y)
    elif y.dtype.kind == "O":
        known = np.array([not is_missing(one) for one in y], dtype=bool)
    else:
        known = np.ones(len(y), bool) if unlabeled is not None else None
    if known is not None and unlabeled is not None:
        known = known & np.asarray(y != unlabeled, dtype=bool)
    return None if known is None or known.all() else known


def _plain(labels: Array) -> Array:
    """Objects of one kind as an array of that kind."""
    if len(labels) and all(isinstance(one, str) for one in labels):
        return labels
    kinds = {type(one) for one in labels}
    if any(issubclass(kind, str) for kind in kinds):
        other = next(one for one in labels if not isinstance(one, str))
        msg = f"y holds text and {type(other).__name__} {other!r:.40}; give labels of one kind, and None where unknown."
        raise TypeError(msg)
    numeric = all(issubclass(kind, (int, float, np.number, np.bool_)) for kind in kinds)
    return np.array(labels.tolist()) if numeric and len(labels) else labels


def _refuse_infinite(y: Array) -> None:
    if np.isinf(y).any():
        msg = f"Input y contains infinity or a value too large for {y.dtype!r}: row {int(np.argmax(np.isinf(y)))}."
        raise ValueError(msg)


def _matrix(owner: str, allowed: Array, classes: Data) -> Targets:
    """Classes that each row may have, named by the columns where those have names."""
    names = np.arange(allowed.shape[1]) if classes is None else np.asarray(classes)
    if len(names) != allowed.shape[1]:
        msg = f"{owner}: y allows {allowed.shape[1]} classes, but there are {len(names)}; give a column for each."
        raise DataError(msg)
    sure = allowed.sum(axis=1) == 1
    firm = allowed[sure].any(axis=0)
    patterns, group = np.unique(allowed.T, axis=0, return_inverse=True)
    for number in range(len(patterns)):
        same = np.flatnonzero((np.ravel(group) == number) & ~firm)
        if len(same) > 1:
            msg = (
                f"{owner}: the classes {', '.join(repr(names[one].item()) for one in same)} are allowed in the same "
                "rows, and in none alone, so nothing tells them apart; give some rows of each a class, or find groups "
                "with a Mixture."
            )
            raise DataError(msg)
    return Targets(np.where(sure, allowed.argmax(axis=1), -1).astype(np.intp), names, allowed)


def check_priors(given: object, labels: Array) -> Array:
    """p(y) of each class, (k,), as the caller gives it: in the order of the classes, or by their labels."""
    if isinstance(given, Mapping):
        known = labels.tolist()
        if set(given) != set(known):
            msg = f"priors name the classes {list(given)}, but the classes are {known}; give one for each of these."
            raise ValueError(msg)
        given = [given[label] for label in known]
    priors = np.asarray(given, dtype=float)
    if priors.shape != (len(labels),):
        msg = (
            f"Number of priors must match number of classes: there are {len(labels)} classes, and priors have shape "
            f"{priors.shape}."
        )
        raise ValueError(msg)
    if not (priors >= 0).all():
        msg = f"Priors must be non-negative; got {priors.tolist()}."
        raise ValueError(msg)
    if not np.isclose(priors.sum(), 1.0):
        msg = f"The sum of the priors should be 1; it is {priors.sum():g}."
        raise ValueError(msg)
    return np.asarray(priors / priors.sum())


def in_order(loss: Any, labels: Array) -> Any:
    """A table of losses whose rows and columns have labels, in the order of the classes; others as they are."""
    if not (hasattr(loss, "loc") and hasattr(loss, "columns")):
        return loss
    rows, columns, known = list(loss.index), list(loss.columns), labels.tolist()
    if rows == list(range(len(rows))) and columns == list(range(len(columns))):
        return loss  # nobody named them
    if sorted(map(str, rows)) != sorted(map(str, known)):
        msg = f"the rows of loss are named {rows}, but the classes are {known}; name a row after each class."
        raise DataError(msg)
    return loss.loc[known, known if sorted(map(str, columns)) == sorted(map(str, known)) else columns].to_numpy()
