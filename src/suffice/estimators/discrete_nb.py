"""Naive Bayes of counts: yes and no, categories, words. Smoothing is a stated prior, one Dirichlet for each column."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import logsumexp

from suffice.distributions.beta import Beta
from suffice.distributions.dirichlet import Dirichlet
from suffice.distributions.tokens import Above, Flags, Tokens
from suffice.errors import ParameterError
from suffice.estimators import validation as checks
from suffice.estimators.bayes import BayesShell
from suffice.estimators.to_sklearn import ToScikitLearn
from suffice.estimators.validation import AT_LEAST_ZERO, interval, locating_text, refuse_infinite, rules_of
from suffice.types import Array, Data

LEAST_ALPHA = 1e-10
SURE = 1e-5  # what probabilities that a caller sets may miss of a sum of 1


class DiscreteShell(ToScikitLearn, BayesShell):
    """What naive Bayes over counts shares: the options of scikit-learn's classes, and what they stand for."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [AT_LEAST_ZERO, "array-like"],
        "fit_prior": ["boolean"],
        "class_prior": ["array-like", None],
        "force_alpha": ["boolean"],
    }

    alpha: Any
    force_alpha: bool
    fit_prior: bool
    class_prior: Any

    def _class_priors(self) -> Any:
        if self.class_prior is not None:
            given = np.asarray(self.class_prior, dtype=float)
            return given / given.sum() if given.ndim == 1 and given.sum() > 0 else given
        return None if self.fit_prior else np.full(len(self.classes_), 1.0 / len(self.classes_))

    def _smoothing(self) -> Array:
        """Alpha as a number or (d,), checked as scikit-learn checks it."""
        alpha = np.asarray(self.alpha, dtype=float)
        if alpha.ndim and alpha.shape != (self.n_features_in_,):
            msg = (
                "When alpha is an array, it should contain `n_features`. Got "
                f"{alpha.shape[0]} elements instead of {self.n_features_in_}."
            )
            raise ValueError(msg)
        if (alpha < 0).any():
            msg = "All values in alpha must be greater than 0."
            raise ValueError(msg)
        if (alpha < LEAST_ALPHA).any() and not self.force_alpha:
            text = (
                "alpha too small will result in numeric errors, setting alpha = "
                f"{LEAST_ALPHA:.1e}. Use `force_alpha=True` to keep alpha unchanged."
            )
            warnings.warn(text, stacklevel=5)
            alpha = np.maximum(alpha, LEAST_ALPHA)
        return np.asarray(alpha)

    _sklearn_attributes: ClassVar[tuple[str, ...]] = (
        *("classes_", "class_count_", "class_log_prior_", "feature_log_prob_"),
        "feature_count_",
    )
    _settable = ("feature_log_prob_", "class_log_prior_")

    def _show(self) -> None:
        self.class_log_prior_ = np.array(self.distribution_.log_weights)

    def _rebuild(self, changed: frozenset[str]) -> Any:
        weights = None
        if "class_log_prior_" in changed:
            logs = np.array(self.class_log_prior_, dtype=np.float64)
            weights = np.exp(logs - logsumexp(logs))
        last = self.__dict__.get("distribution_")
        components = last.components if last is not None and "feature_log_prob_" not in changed else self._components()
        tables = self.feature_log_prob_
        columns = len(tables) if isinstance(tables, list) else np.shape(tables)[1]
        return self._with_components(components, columns, weights)

    def _components(self) -> Any:
        """The distribution of the rows of each class that ``feature_log_prob_`` describes."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        """Tell, as scikit-learn does, that clouds of real numbers are not what this classifier is for."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


class BernoulliNB(DiscreteShell):
    """Naive Bayes of columns that are yes or no: scikit-learn's, and faster.

    Beyond it: missing cells, rows of unknown class, ``merge``, ``unlearn``, ``predict(X, loss=…)``, ``with_priors``,
    ``explain``. d columns and 2 classes have 2d + 1 parameters.

    Parameters
    ----------
    alpha : float or array
        The prior of each probability is Beta(1 + alpha, 1 + alpha): alpha rows of each kind, seen beforehand.
    force_alpha : bool
        Whether an alpha below 1e-10 is kept.
    binarize : float, optional
        Cells above this are yes; None: they are 0 or 1 already.
    fit_prior, class_prior : bool, array
        Whether p(y) is learned, rather than uniform; or p(y) itself.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, class_prior_
        The labels, the weight of the rows of each, and p(y).
    feature_count_, feature_log_prob_
        How often each column was yes, and the log probability of it, (k, d).
    distribution_, statistics_, alerts_
        p(x, y) as a value, what it kept of the rows, and what to know before trusting it.

    Examples
    --------
    >>> X = [[1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 1]]
    >>> sf.BernoulliNB().fit(X, ["a", "a", "b", "b"]).predict([[1, 1, 0]])
    array(['a'], dtype='<U1')
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **rules_of(DiscreteShell),
        "binarize": [None, interval(Real, 0.0, None)],
    }
    _sklearn_class = ("sklearn.naive_bayes", "BernoulliNB")

    def __init__(
        self,
        *,
        alpha: Data = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Data = None,
    ) -> None:
        """Keep the options."""
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    def _prototype(self, classes: Array) -> Any:
        del classes
        return Flags()

    def _components_prior(self) -> Any:
        alpha = self._smoothing()
        return {"components": Beta(1.0 + alpha, 1.0 + alpha)} if alpha.any() else None

    def _validate(self, X: Data, *, reset: bool) -> Any:
        kinds = [np.float64, np.float32]
        with locating_text(X, type(self).__name__):
            rows = checks.validate_data(self, X, reset=reset, dtype=kinds, accept_sparse="csr", ensure_all_finite=False)
        refuse_infinite(rows, type(self).__name__)
        if hasattr(rows, "tocsr"):
            rows = rows.copy()
            rows.sum_duplicates()  # a cell is the sum of its entries
        if self.binarize is None:
            return rows
        if hasattr(rows, "tocsr"):
            rows.data = np.where(np.isnan(rows.data), np.nan, rows.data > self.binarize)
            rows.eliminate_zeros()
            return rows
        return Above(np.asarray(rows), float(self.binarize))

    def _show(self) -> None:
        super()._show()
        if "statistics_" in self.__dict__:
            self.feature_count_ = np.array(self.statistics_.components.total)
        with np.errstate(divide="ignore"):
            self.feature_log_prob_ = np.log(self.distribution_.components.p)

    def _components(self) -> Any:
        probs = np.exp(np.array(self.feature_log_prob_, dtype=np.float64))
        if not (probs <= 1).all():
            largest = np.log(probs.max())
            msg = f"feature_log_prob_ holds logarithms of probabilities, at most 0; the largest is {largest:g}."
            raise ParameterError(msg)
        last = self.__dict__.get("distribution_")
        return Flags(probs) if last is None else replace(last.components, p=probs)

    def __sklearn_tags__(self) -> Any:
        """Tell that most cells may be absent."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class MultinomialNB(DiscreteShell):
    """Naive Bayes of counts, as of the words of texts, dense or sparse: scikit-learn's, and faster.

    Beyond it: rows of unknown class, ``merge``, ``unlearn``, ``predict(X, loss=…)``, ``with_priors``, ``explain``. A
    row with a missing cell (NaN) is left out.

    Parameters
    ----------
    alpha : float or array
        The prior of the probabilities is Dirichlet(1 + alpha): alpha words of each kind, seen beforehand.
    force_alpha : bool
        Whether an alpha below 1e-10 is kept.
    fit_prior, class_prior : bool, array
        Whether p(y) is learned, rather than uniform; or p(y) itself.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, class_prior_
        The labels, the weight of the rows of each, and p(y).
    feature_count_, feature_log_prob_
        How often each word was counted, and its log probability, (k, d).
    distribution_, statistics_, alerts_
        p(x, y) as a value, what it kept of the rows, and what to know before trusting it.

    Examples
    --------
    >>> X = [[2, 1, 0], [3, 0, 0], [0, 1, 4], [0, 0, 2]]
    >>> sf.MultinomialNB().fit(X, ["a", "a", "b", "b"]).predict([[1, 1, 0]])
    array(['a'], dtype='<U1')
    """

    _sklearn_class = ("sklearn.naive_bayes", "MultinomialNB")
    _draws_rows = False  # how many words a row has is not learned

    def __init__(
        self, *, alpha: Data = 1.0, force_alpha: bool = True, fit_prior: bool = True, class_prior: Data = None
    ) -> None:
        """Keep the options."""
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    def _prototype(self, classes: Array) -> Any:
        del classes
        return Tokens()

    def _components_prior(self) -> Any:
        alpha = self._smoothing()
        wide = np.broadcast_to(1.0 + alpha, self.n_features_in_)
        return {"components": Dirichlet(np.array(wide))} if alpha.any() else None

    def _validate(self, X: Data, *, reset: bool) -> Any:
        kinds = [np.float64, np.float32]
        with locating_text(X, type(self).__name__):
            rows = checks.validate_data(self, X, reset=reset, dtype=kinds, accept_sparse="csr", ensure_all_finite=False)
        if not reset:  # the family looks at what it learns from
            refuse_infinite(rows, type(self).__name__)
        sparse = hasattr(rows, "tocsr")
        cells = rows.data if sparse else rows
        if cells.size and cells.min() < 0:
            below = rows.tocoo() if sparse else None
            place = np.argmax(cells < 0)
            row, column = (
                np.unravel_index(place, cells.shape) if below is None else (below.row[place], below.col[place])
            )
            msg = (
                f"Negative values in data passed to {type(self).__name__} (input X): row {row}, column {column} has "
                f"{cells.flat[place]:g}, and counts are at least 0. Correct it, or use GaussianNB or NaiveBayes."
            )
            raise ValueError(msg)
        return rows

    def _show(self) -> None:
        super()._show()
        if "statistics_" in self.__dict__:
            self.feature_count_ = np.array(self.statistics_.components.total[:, 0])
        with np.errstate(divide="ignore"):
            self.feature_log_prob_ = np.log(self.distribution_.components.probs[:, 0])

    def _components(self) -> Any:
        probs = normalise(self.feature_log_prob_, "feature_log_prob_")[:, None]
        last = self.__dict__.get("distribution_")
        return Tokens(probs=probs) if last is None else replace(last.components, probs=probs)

    def __sklearn_tags__(self) -> Any:
        """Tell that cells are counts, and that most may be absent."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags


def normalise(log_probs: Array, name: str) -> Array:
    """Probabilities (k, levels) whose logarithms a caller set; refused where those of a class do not sum to 1."""
    probs = np.exp(np.array(log_probs, dtype=np.float64))
    total = probs.sum(axis=-1, keepdims=True)
    off = np.abs(total - 1.0)
    if not (off <= SURE).all():
        row = int(np.argmax(off.ravel()))
        msg = (
            f"{name}: the probabilities of class {row} sum to {total.ravel()[row]:g}, and not to 1. Subtract "
            "scipy.special.logsumexp of each row."
        )
        raise ParameterError(msg)
    return np.asarray(probs / total)
