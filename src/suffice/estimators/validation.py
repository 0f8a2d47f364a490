"""What the shells take from scikit-learn to check options and rows: its private names are here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import _fit_context
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, assert_all_finite, check_is_fitted
from sklearn.utils.validation import validate_data as _validate_data

from suffice.engines import local
from suffice.errors import DataError
from suffice.statistics.weights import Weights
from suffice.tables.frame import Frame, is_frame
from suffice.tables.rows import cells, listed
from suffice.types import Data, Rows, Seed

ABOVE_ZERO = Interval(Real, 0.0, None, closed="neither")
AT_LEAST_ZERO = Interval(Real, 0.0, None, closed="left")
AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")
SHARE = Interval(Real, 0, 1, closed="both")
COUNT = Interval(Integral, 0, None, closed="left")
RANDOM_STATE: list[Any] = ["random_state", np.random.Generator]


def validate_data(estimator: object, X: Data, **rules: Any) -> Any:
    """Rows as scikit-learn checks them, of frames whose columns have names of their own."""
    if _is_valid(estimator, X, **rules):
        return X
    is_frame(X)  # or an error that says why it cannot be read
    try:
        return _validate_data(estimator, X, **rules)
    except OverflowError as error:
        msg = (
            f"{type(estimator).__name__} needs numbers that float64 can hold, and some of the data are larger "
            f"({error}). Divide them by a constant, or take logarithms."
        )
        raise DataError(msg) from error


def _is_valid(
    estimator: Any, X: Data, *, reset: bool = True, order: str | None = None, ensure_all_finite: Any = True, **_: Any
) -> bool:
    """Whether rows are an array that scikit-learn would return as it is; to ask it takes as long as a small answer."""
    if reset or type(X) is not np.ndarray or X.dtype != np.float64 or X.ndim != 2 or not len(X):
        return False
    fitted = vars(estimator)
    if "feature_names_in_" in fitted or X.shape[1] != fitted.get("n_features_in_"):
        return False
    if order == "C" and not X.flags.c_contiguous:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return ensure_all_finite is False or bool(np.isfinite(X.sum()))


checked = _fit_context(prefer_skip_nested_validation=True)


def rules_of(shell: type[Any], *without: str) -> dict[str, Any]:
    """The rules of a shell's options, for one that has them and more; ``without`` some."""
    return {name: rule for name, rule in shell._parameter_constraints.items() if name not in without}  # noqa: SLF001


def check_options(estimator: Any) -> None:
    """Refuse options that break their rules."""
    estimator._validate_params()  # noqa: SLF001


def options_of(*names: str) -> Any:
    """A rule for an option that is one of some names."""
    return StrOptions(set(names))


def interval(kind: object, low: float, high: float | None) -> Any:
    """A rule for an option that is a number from ``low`` on, up to ``high``."""
    return Interval(kind, low, high, closed="left")


def one_of(*names: str) -> Any:
    """A rule for an option that is one of some names."""
    return _Names(names)


class _Names(StrOptions):
    """Names in an order, which messages keep."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(set(names))
        self.options = names


def fits() -> Any:
    """A rule for an option that is an estimator."""
    return HasMethods("fit")


def generator(random_state: Seed) -> np.random.Generator:
    """A generator from what scikit-learn takes: None, a seed, or a RandomState; this and a Generator itself move on."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max, size=4))


def chosen_rows(X: Data, rows: Rows) -> Any:
    """Some rows of an array or of a frame, by number, as the same kind."""
    return _safe_indexing(X, rows)


def refuse_infinite(rows: Data, name: str) -> None:
    """Refuse infinite cells of a matrix, dense or sparse; NaN is a hole.

    One sum in all threads tells it of most data; cells are looked at where it is not finite.
    """
    values = rows.data if hasattr(rows, "tocsr") else rows
    with np.errstate(over="ignore", invalid="ignore"):
        total = local.reduce(lambda part: float(values[part].sum()), len(values), values[:1].size)
    if not np.isfinite(total):  # a cell that is not finite, or only a large sum
        assert_all_finite(values, allow_nan=True, estimator_name=name, input_name="X")


@contextmanager
def locating_text(X: Data, owner: str, instead: str = "use NaiveBayes") -> Iterator[None]:
    """Say where text was found by an estimator that takes numbers."""
    try:
        yield
    except ValueError as error:
        where = _first_text(X, owner)
        if where is None:  # something else is wrong
            raise
        msg = f"{owner} takes numbers, but {where}. Leave it out, make numbers of it, or {instead}."
        raise DataError(msg) from error


def _first_text(X: Data, owner: str) -> str | None:
    """The first cell of a table that is text and no number, in words."""
    try:
        if issparse(X) or np.ndim(X) != 2:
            return None
    except ValueError:  # rows of different lengths
        return None
    opened = listed(X)
    named = isinstance(opened, Frame)
    columns = {name: opened[name] for name in opened} if named else dict(enumerate(np.asarray(X, dtype=object).T))
    found = (
        f"row {row}, column {name!r} holds {cell!r:.40}"
        for name, values in columns.items()
        for row, cell in enumerate(cells(values, owner).tolist())
        if isinstance(cell, str) and not _is_number(cell)
    )
    return next(found, None)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def check_mergeable(mine: object, other: object) -> None:
    """Refuse to add a fit of another kind of estimator, or of other columns."""
    if type(other) is not type(mine):
        msg = f"merge adds two fits of {type(mine).__name__}; got {type(other).__name__}."
        raise TypeError(msg)
    check_is_fitted(other)
    here, there = (
        list(getattr(one, "feature_names_in_", range(getattr(one, "n_features_in_", 0)))) for one in (mine, other)
    )
    if here != there:
        msg = f"merge adds fits of the same columns; here are {here!r:.100}, there {there!r:.100}."
        raise DataError(msg)


def row_weights(sample_weight: Data, rows: Rows) -> Weights:
    """One weight per row; None counts each row once, and a number all rows alike."""
    n = len(rows)
    if sample_weight is None:
        return Weights.of(None, n)
    values = _check_sample_weight(sample_weight, np.empty((n, 1)), dtype=np.float64, ensure_non_negative=True)
    if not values.any():
        msg = "every sample weight is zero, so no row counts; give at least one row a positive weight."
        raise ValueError(msg)
    return Weights.of(values, n)
