"""Classifiers whose statistics add: fits are merged, and rows removed."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from suffice.errors import UnsupportedError
from suffice.estimators.validation import check_mergeable
from suffice.types import Array, Data, Rows


class Adding:
    """The verbs of a classifier that keeps exact statistics, as a base class of it."""

    classes_: Array  # of the classifier itself, as all of these
    statistics_: Any
    _adopt: Any
    _gather: Any
    _read_labelled: Any
    _targets: Any
    _template: Any
    _validate: Any

    def merge(self, other: Any) -> Self:
        """Add what another fit of the same classes learned: as if its rows had been seen here."""
        check_is_fitted(self)
        check_mergeable(self, other)
        if not np.array_equal(self.classes_, other.classes_):
            msg = (
                f"merge adds fits of the same classes; here are {self.classes_.tolist()}, there "
                f"{other.classes_.tolist()}. Name all of them in the first partial_fit(classes=…) of both."
            )
            raise ValueError(msg)
        _refuse_inexact(self, "merge")
        _refuse_inexact(other, "merge")
        self._adopt(self._template(), other.statistics_, more=True)
        return self

    def unlearn(self, X: Data, y: Data, sample_weight: Data = None) -> Self:
        """Remove rows: as if they had never been seen."""
        check_is_fitted(self)
        _refuse_inexact(self, "unlearn")
        template = self._template()
        rows = self._validate(X, reset=False)
        data, weights = self._read_labelled(template, rows, self._targets(y), sample_weight)
        if not data.complete:
            msg = f"unlearn takes rows whose class is known; row {int(np.argmax(data.codes < 0))} has none."
            raise UnsupportedError(msg)
        gone = self._gather(template, data, weights)
        if not gone.exact:
            raise UnsupportedError(self._needs_cells("unlearn", data.rows))
        left = self.statistics_ - gone
        self._adopt(template, left, more=False)
        return self

    def _needs_cells(self, what: str, rows: Rows) -> str:
        where = ""
        if isinstance(rows, np.ndarray):
            missing = np.isnan(rows)
            row, column = np.argwhere(missing & ~missing.all(axis=1, keepdims=True))[0].tolist()
            where = f"; row {row}, column {column} is missing"
        return (
            f"{type(self).__name__}.{what} sees rows once, and where columns vary together what is expected of a "
            f"missing cell takes several passes{where}. Give all rows to fit, or complete ones here."
        )


def _refuse_inexact(estimator: Any, what: str) -> None:
    if not estimator.statistics_.exact:
        msg = (
            f"{what} needs exact statistics, and those of {type(estimator).__name__} here were gathered given "
            "parameters (rows of unknown class, missing cells under a covariance, or a family that takes several "
            "passes). Fit all rows again."
        )
        raise UnsupportedError(msg)
