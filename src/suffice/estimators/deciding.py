"""Questions to p(x, y): which class a row has, with which probability and at which cost, and why."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Hashable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from suffice.arguments import check_count
from suffice.core.responsibilities import normalize
from suffice.display.summary import Summary
from suffice.display.text import page
from suffice.errors import DataError, UnsupportedError
from suffice.estimators.asking import Asking
from suffice.estimators.decision import decide
from suffice.estimators.rows import by_name, one_row
from suffice.estimators.targets import check_priors, in_order
from suffice.estimators.validation import row_weights
from suffice.models.class_explanation import Explanation, explain
from suffice.models.classifier import Classes
from suffice.models.dependence import Dependence, dependence
from suffice.models.summaries import of_classes
from suffice.schema.infer import infer
from suffice.tables.column_names import with_all_columns
from suffice.tables.streams import Source
from suffice.types import Array, Data, Seed

LINEAR = 40  # rows for each coefficient, at which log-odds are read
AFFINE = 1e-7  # of their size, by which log-odds may miss a plane and still be one


def plane_of(design: Array, scores: Array) -> tuple[Array, Array] | None:
    """The w (k − 1, d) and b (k − 1,) of scores (n, k) against the first; None where they are not a plane over rows."""
    odds = scores[:, 1:] - scores[:, :1]
    if not np.isfinite(odds).all():
        return None
    centre, scale = design.mean(axis=0), design.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    table = np.column_stack([(design - centre) / scale, np.ones(len(design))])
    plane, _, rank, _ = np.linalg.lstsq(table, odds, rcond=None)
    away = np.abs(table @ plane - odds).max(axis=0)
    if len(table) <= rank or (away > AFFINE * np.abs(odds).max(axis=0)).any():
        return None
    w = plane[:-1] / scale[:, None]
    return w.T, np.asarray(plane[-1] - centre @ w)


class Deciding(Asking):
    """The verbs of a classifier that has learned, as a base class of it."""

    classes_: Array  # of the classifier itself, as all of these
    feature_names_in_: Array
    _by_name: Any
    _named_rows: Any
    _of_frame: Any
    _as_rows: ClassVar[tuple[str, ...]]
    _display: Any
    _dtype: Any
    _draws_rows: ClassVar[bool] = True  # a class says all that it takes to draw its rows
    _in_precision: Any
    _targets: Any
    _validate: Any

    # ---- deciding ---------------------------------------------------------------------------------------------------
    def score(self, X: Data, y: Data, sample_weight: Data = None) -> float:
        """Return the share of rows whose class is predicted; rows of unknown class (None, NaN) are left out.

        Parameters
        ----------
        X
            Rows.
        y
            The class of each row.
        sample_weight
            One number of at least 0 per row.

        Returns
        -------
        float
            Accuracy, from 0 to 1.
        """
        labels = np.asarray(y)
        unknown = np.zeros(labels.shape, dtype=bool)
        if labels.ndim == 1 and labels.dtype.kind in "fO":
            unknown = np.array([one is None or one != one for one in labels.tolist()], dtype=bool)  # noqa: PLR0124 (NaN)
        if not unknown.any():
            return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))
        if unknown.all():
            msg = f"{type(self).__name__}.score: every class in y is unknown; give the class of some rows."
            raise DataError(msg)
        held = None if sample_weight is None else np.asarray(sample_weight)[~unknown]
        seen = np.array(labels[~unknown].tolist())
        return float(accuracy_score(seen, self.predict(X)[~unknown], sample_weight=held))

    def _read_for_answer(self, X: Data) -> tuple[Classes, Any]:
        """The learned classes, and rows that they are asked about."""
        check_is_fitted(self)
        model = self.distribution_
        return model, model.read(with_all_columns(model, self._validate(X, reset=False)))

    def _read_for_prediction(self, X: Data) -> tuple[Classes, Any]:
        """The same, in a form of which nothing but the most probable class is asked."""
        return self._read_for_answer(X)

    def _each_frame(self, X: Source, ask: Callable[..., Any]) -> Array:
        """What is asked of every partition of files, put together."""
        here = set(X.names)
        names = tuple(name for name in self.feature_names_in_ if name in here or not self._named_rows)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return X.mapped(lambda frame: ask(self._of_frame(frame, names)), names)

    def predict(self, X: Data, loss: Data = None, reject: float | None = None) -> Array:
        """The class of each row, (n,): the most probable, or with ``loss`` that of least expected loss.

        Parameters
        ----------
        X
            Rows.
        loss
            ``loss[i, j]`` costs deciding for class j when class i is true, in the order of ``classes_``; the rows and
            columns of a DataFrame are found by their labels. With more actions than classes the answer is the number
            of the action.
        reject
            The largest expected loss that is accepted. Other rows get −1, or None where −1 is a class or classes are
            no numbers.
        """
        if isinstance(X, Source):
            return self._each_frame(X, lambda rows: self.predict(rows, loss, reject))
        if loss is None and reject is None:
            model, rows = self._read_for_prediction(X)
            return np.asarray(self.classes_[model.most_probable(rows)])
        loss = None if loss is None else in_order(loss, self.classes_)
        actions = decide(self.predict_proba(X), loss, reject)
        if loss is not None and np.shape(loss)[1] != len(self.classes_):
            return np.asarray(actions)
        rejected = actions < 0
        labels = np.asarray(self.classes_[actions])
        if not rejected.any():
            return labels
        numbers = self.classes_.dtype.kind in "if" and -1 not in self.classes_
        labels = labels if numbers else labels.astype(object)
        labels[rejected] = -1 if numbers else None
        return labels

    def predict_proba(self, X: Data) -> Array:
        """p(y | x) of each class, (n, k)."""
        if isinstance(X, Source):
            return self._each_frame(X, self.predict_proba)
        model, rows = self._read_for_answer(X)
        return np.asarray(self._in_precision(model.predict_proba(rows), X))

    def predict_joint_log_proba(self, X: Data) -> Array:
        """Log p(x, y) of each class, (n, k)."""
        model, rows = self._read_for_answer(X)
        return np.asarray(self._in_precision(model.log_joint(rows), X))

    def _joint_log_likelihood(self, X: Data) -> Array:
        """The same, under the name that public code uses."""
        return self.predict_joint_log_proba(X)

    def predict_log_proba(self, X: Data) -> Array:
        """Log p(y | x) of each class, (n, k)."""
        model, rows = self._read_for_answer(X)
        joint = model.log_joint(rows)
        total = normalize(joint).total[:, None]
        found = np.where(np.isfinite(total), joint - np.where(np.isfinite(total), total, 0.0), model.log_weights)
        return np.asarray(self._in_precision(found, X))

    @property
    def class_prior_(self) -> Array:
        """p(y) of each class; setting it changes the decisions, not the classes, and ``fit`` alone learns it again."""
        if "class_prior_" in self.__dict__:  # set by hand, and not asked for yet
            return np.asarray(self.__dict__["class_prior_"])
        found = np.array(self.distribution_.weights)
        return found.astype(self._dtype) if "class_prior_" in self._as_rows else found

    @class_prior_.setter
    def class_prior_(self, priors: Data) -> None:
        if "distribution_" not in self.__dict__:
            self.__dict__["class_prior_"] = priors
            return
        self.distribution_ = self.distribution_.reweighted(check_priors(priors, self.classes_))
        self._display()

    def with_priors(self, priors: Data) -> Self:
        """The same classifier with other probabilities of the classes, as where it is used they are not as here.

        They stay as they are when rows are added or removed afterwards.
        """
        check_is_fitted(self)
        other = copy.copy(self)
        other.class_prior_ = priors
        return other

    # ---- generating -----------------------------------------------------------------------------------------------
    @available_if(lambda self: self._draws_rows)
    def sample(self, n_samples: int = 1, random_state: Seed = None) -> tuple[Any, Array]:
        """Draw rows with their classes from p(x, y).

        Parameters
        ----------
        n_samples : int
            How many.
        random_state : int or Generator, optional
            The seed; by default the classifier's own ``random_state``.

        Returns
        -------
        X : numpy.ndarray (n, d) or dict
            The rows; columns by name where the classes describe columns by name.
        y : numpy.ndarray (n,)
            The class of each.
        """
        check_is_fitted(self)
        check_count(n_samples)
        seed = getattr(self, "random_state", None) if random_state is None else random_state
        rows, codes = self.distribution_.sample_with_components(int(n_samples), seed)
        X = rows if isinstance(rows, dict) or np.ndim(rows) > 1 else np.asarray(rows)[:, None]
        return X, np.asarray(self.classes_[codes])

    def linear(self) -> tuple[Any, Any]:
        """The (w, b) of log-odds that are linear in the row: log p(y=1 | x) − log p(y=0 | x) = w·x + b.

        They are read off the log-odds of rows drawn from the classes, so that whatever is linear (one covariance for
        all classes, binary columns, counts) needs no formula of its own.

        Returns
        -------
        w : numpy.ndarray (d,), or (k − 1, d)
            Of ``classes_[1]`` against ``classes_[0]``; of more classes each of the others against ``classes_[0]``.
        b : float, or numpy.ndarray (k − 1,)

        Raises
        ------
        UnsupportedError
            Where the log-odds are not linear in the columns, or the columns are not numbers.
        """
        check_is_fitted(self)
        model, d = self.distribution_, int(getattr(self, "n_features_in_", 1))
        drawn, _ = model.sample_with_components(LINEAR * (d + 1), np.random.default_rng(0))
        columns = list(drawn.values()) if isinstance(drawn, dict) else [drawn]
        if any(np.asarray(column).dtype.kind not in "iufb" for column in columns):
            msg = f"{type(self).__name__}: a column holds labels, so that log-odds have no (w, b); see explain(row)."
            raise UnsupportedError(msg)
        rows = model.read(drawn)
        odds = model.log_joint(rows)
        plane = plane_of(np.column_stack([np.asarray(column, dtype=float) for column in columns]), odds)
        if plane is None:
            msg = (
                f"{type(self).__name__}: the log-odds are not linear in the columns, so that there is no (w, b). They "
                "are where classes share their spread, as under MultivariateNormal(structure='tied')."
            )
            raise UnsupportedError(msg)
        w, b = plane
        return (w[0], float(b[0])) if len(w) == 1 else (w, b)

    # ---- explaining -----------------------------------------------------------------------------------------------
    def with_class_column(self, name: Hashable = "class") -> Any:
        """p(x, y) as a distribution in which the class is one more column, called ``name``: ask it anything."""
        return self._joint.with_class_column(name)

    def explain(self, row: Data, label: Hashable = None, against: object = None) -> Explanation:
        """Why a row has its class: prior log-odds plus one term for each column, or block of columns.

        By default the most probable class is compared with the next; ``label`` and ``against`` choose others.
        """
        check_is_fitted(self)
        known = list(getattr(self, "feature_names_in_", ()))
        given, cells = one_row(row, known, by_name=self._by_name)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            _, rows = self._read_for_answer(given)

        def name(column: Hashable) -> Any:
            return known[column] if known and isinstance(column, int) else column

        def value(column: Hashable) -> Any:
            return cells.get(name(column), cells.get(column))

        return explain(self.distribution_, rows, label, against, name, value)

    def summarize(self) -> Summary:
        """A summary of the classes: each column under each class, and its information about the class."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return of_classes(self.distribution_, None if names is None else tuple(names), self)

    def summary(self, width: int | None = None) -> str:
        """The classes as a page of text: their shares, what each says of every column, and which columns tell most."""
        return page(self.summarize(), width)

    def dependence(self, X: Data, y: Data, sample_weight: Data = None) -> Dependence:
        """What independent columns ignore: the information of every pair of columns given the class.

        What is Categorical or Bernoulli by :func:`suffice.infer` is a label; see `suffice.models.dependence`.
        """
        check_is_fitted(self)
        columns = by_name(X)
        codes = self._targets(y).codes
        lengths = {len(columns[name]) for name in columns}
        if lengths != {len(codes)}:
            msg = f"dependence takes one class for each row; got {len(codes)} classes for {max(lengths)} rows."
            raise DataError(msg)
        weights = row_weights(sample_weight, codes).values
        return dependence(columns, codes, weights, self._label_columns(columns, codes, weights))

    def _label_columns(self, columns: object, codes: Array, weights: Array | None) -> set[Any]:
        return {one.name for one in infer(columns, weights=weights, within=codes).findings if one.label}

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: those of the classes, shared ones once, and of p(y)."""
        check_is_fitted(self)
        return int(self.distribution_.n_parameters)
