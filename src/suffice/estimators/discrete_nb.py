"""Naive Bayes of counts: yes and no, categories, words. Smoothing is a stated prior, one Dirichlet for each column."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from suffice.core.labels import Whole
from suffice.core.parameters import Array
from suffice.distributions.beta import Beta
from suffice.distributions.categorical import Categorical
from suffice.distributions.dirichlet import Dirichlet
from suffice.distributions.tokens import Above, Flags, Tokens
from suffice.estimators.bayes import BayesShell
from suffice.estimators.validation import AT_LEAST_ZERO, interval, refuse_infinite, rules_of, telling_text

LEAST_ALPHA = 1e-10
GLANCE = 4096  # rows that are looked at for the largest category


class DiscreteShell(BayesShell):
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

    def _show(self) -> None:
        self.class_log_prior_ = np.array(self.distribution_.log_weights)

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
    alpha
        The prior of each probability is Beta(1 + alpha, 1 + alpha): alpha rows of each kind, seen beforehand.
    force_alpha
        Whether an alpha below 1e-10 is kept.
    binarize
        Cells above this are yes; None: they are 0 or 1 already.
    fit_prior, class_prior
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

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Any = None,
    ) -> None:
        """Keep the options."""
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    def _prototype(self, classes: Any) -> Any:
        del classes
        return Flags()

    def _believed(self) -> Any:
        alpha = self._smoothing()
        return {"components": Beta(1.0 + alpha, 1.0 + alpha)} if alpha.any() else None

    def _validated(self, X: Any, *, reset: bool) -> Any:
        kinds = [np.float64, np.float32]
        with telling_text(X, type(self).__name__):
            rows = validate_data(self, X, reset=reset, dtype=kinds, accept_sparse="csr", ensure_all_finite=False)
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
        self.feature_count_ = np.array(self.statistics_.members.total)
        with np.errstate(divide="ignore"):
            self.feature_log_prob_ = np.log(self.distribution_.components.p)

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
    alpha
        The prior of the probabilities is Dirichlet(1 + alpha): alpha words of each kind, seen beforehand.
    force_alpha
        Whether an alpha below 1e-10 is kept.
    fit_prior, class_prior
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

    def __init__(
        self, *, alpha: Any = 1.0, force_alpha: bool = True, fit_prior: bool = True, class_prior: Any = None
    ) -> None:
        """Keep the options."""
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    def _prototype(self, classes: Any) -> Any:
        del classes
        return Tokens()

    def _believed(self) -> Any:
        alpha = self._smoothing()
        wide = np.broadcast_to(1.0 + alpha, self.n_features_in_)
        return {"components": Dirichlet(np.array(wide))} if alpha.any() else None

    def _validated(self, X: Any, *, reset: bool) -> Any:
        kinds = [np.float64, np.float32]
        with telling_text(X, type(self).__name__):
            rows = validate_data(self, X, reset=reset, dtype=kinds, accept_sparse="csr", ensure_all_finite=False)
        if not reset:  # the family looks at what it learns from
            refuse_infinite(rows, type(self).__name__)
        if not hasattr(rows, "tocsr") and rows.size and rows.min() < 0:
            row, column = np.argwhere(rows < 0)[0].tolist()
            msg = (
                f"Negative values in data passed to {type(self).__name__} (input X): row {row}, column {column} has "
                f"{rows[row, column]:g}, and counts are at least 0. Correct it, or use GaussianNB or NaiveBayes."
            )
            raise ValueError(msg)
        return rows

    def _show(self) -> None:
        super()._show()
        self.feature_count_ = np.array(self.statistics_.members.total[:, 0])
        with np.errstate(divide="ignore"):
            self.feature_log_prob_ = np.log(self.distribution_.components.probs[:, 0])

    def __sklearn_tags__(self) -> Any:
        """Tell that cells are counts, and that most may be absent."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags


class CategoricalNB(DiscreteShell):
    """Naive Bayes of columns of categories 0, 1, …: scikit-learn's, and faster.

    Beyond it: missing cells (NaN), categories that were never seen, rows of unknown class, ``merge``, ``unlearn``,
    ``predict(X, loss=…)``, ``with_priors``, ``explain``. For categories with names use :class:`NaiveBayes`.

    A category beyond the L of its column has the probability alpha/(n + alpha·L) of one of them that no row had: that
    of a category which ``min_categories`` declares, in a fit that declares them all. With alpha = 0 such a cell is left
    out of the score, with a warning.

    Parameters
    ----------
    alpha
        The prior of the probabilities of a column is Dirichlet(1 + alpha): alpha rows of each category, beforehand.
    force_alpha
        Whether an alpha below 1e-10 is kept.
    fit_prior, class_prior
        Whether p(y) is learned, rather than uniform; or p(y) itself.
    min_categories
        The least number of categories, of all columns or of each.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, class_prior_
        The labels, the weight of the rows of each, and p(y).
    category_count_, feature_log_prob_, n_categories_
        For each column the counts and the log probabilities, (k, categories), and the number of categories, (d,).
    distribution_, statistics_, alerts_
        p(x, y) as a value, what it kept of the rows, and what to know before trusting it.

    Examples
    --------
    >>> X = [[0, 1], [0, 2], [1, 0], [1, 1]]
    >>> sf.CategoricalNB().fit(X, ["a", "a", "b", "b"]).predict([[0, 2], [1, 7]])
    array(['a', 'b'], dtype='<U1')
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **rules_of(DiscreteShell),
        "alpha": [AT_LEAST_ZERO],
        "min_categories": [None, "array-like", interval(Integral, 1, None)],
    }

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        min_categories: Any = None,
    ) -> None:
        """Keep the options."""
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.min_categories = min_categories

    def _prototype(self, classes: Any) -> Any:
        del classes
        return Categorical()

    def _believed(self) -> Any:
        alpha = self._smoothing()
        return {"components": Dirichlet(np.array([1.0 + alpha]))} if alpha > 0 else None

    def _settled(self, template: Any, stats: Any) -> Any:
        return self._declared(template, stats.members.levels).for_statistics(stats)

    def _begun(self, template: Any, rows: Any) -> Any:
        return self._declared(template, tuple(column.seen for column in rows.columns))

    def _declared(self, template: Any, seen: tuple[tuple[Any, ...], ...]) -> Any:
        """Every whole number up to the largest is a category, seen or not."""
        lengths = [max((int(one) + 1 for one in levels), default=1) for levels in seen]  # all missing: one, unseen
        least = np.asarray(0 if self.min_categories is None else self.min_categories)
        if least.dtype.kind not in "iu":
            msg = f"'min_categories' should have integral type. Got {least.dtype} instead."
            raise ValueError(msg)
        if least.ndim and least.shape != (len(lengths),):
            msg = (
                f"'min_categories' should have shape ({len(lengths)},) when an array-like is provided. Got "
                f"{least.shape} instead."
            )
            raise ValueError(msg)
        self.n_categories_ = np.maximum(lengths, least)
        levels = tuple(tuple(range(count)) for count in self.n_categories_.tolist())
        return replace(template, components=Categorical(levels=levels))

    def _validated(self, X: Any, *, reset: bool) -> Any:
        rows = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        if rows.dtype.kind not in "iuf":
            with telling_text(X, type(self).__name__):
                rows = check_array(rows, dtype=np.float64, ensure_all_finite="allow-nan")
        if rows.dtype.kind == "f":
            return np.floor(rows) if np.isnan(rows.sum()) else rows.astype(np.int64)
        return rows

    def _labelled(self, template: Any, rows: Any, found: Any, sample_weight: Any) -> Any:
        if rows.dtype.kind == "i" and sample_weight is None:  # counted as they are, and then looked whether all were
            width = int(rows[:GLANCE].max(initial=0)) + 1
            data, weights = super()._labelled(template, Whole(matrix=rows, width=max(width, 1)), found, None)
            if data.complete and width <= GLANCE:
                return data, weights
        Whole(matrix=rows).refuse_negative()
        return super()._labelled(template, rows, found, sample_weight)

    def _gathered(self, template: Any, data: Any, weights: Any) -> Any:
        stats = super()._gathered(template, data, weights)
        if not isinstance(data.rows, Whole):
            return stats
        count = stats.members.count
        if count.sum() < data.rows.matrix.size:  # the first rows did not show the largest
            data.rows.refuse_negative()
            rows = template.components.read(data.rows.matrix)
            return super()._gathered(template, replace(data, rows=rows), weights)
        seen = count.any(axis=0)
        lengths = [int(np.flatnonzero(column)[-1]) + 1 if column.any() else 0 for column in seen]
        levels = tuple(tuple(range(length)) for length in lengths)
        return replace(stats, members=replace(stats.members, count=count[:, :, : max(lengths)], levels=levels))

    def _asked(self, X: Any) -> Any:
        model, rows = super()._asked(X)
        for column in rows.columns:  # labels in order: the first is the least
            if column.seen and column.seen[0] < 0:
                Whole(matrix=self._validated(X, reset=False)).refuse_negative()
        return model, rows

    def _asked_quickly(self, X: Any) -> Any:
        check_is_fitted(self)
        rows = self._validated(X, reset=False)
        if rows.dtype.kind == "i":
            return self.distribution_, Whole(matrix=rows, width=int(self.n_categories_.max()))
        return self._asked(X)

    def _show(self) -> None:
        super()._show()
        members, counts = self.distribution_.components, self.statistics_.members
        kept = counts.on(members.named)
        sizes = self.n_categories_.tolist()
        self.category_count_ = [np.array(kept[:, column, :size]) for column, size in enumerate(sizes)]
        with np.errstate(divide="ignore"):
            logs = np.log(members.probs)
        self.feature_log_prob_ = [np.array(logs[:, column, :size]) for column, size in enumerate(sizes)]

    def __sklearn_tags__(self) -> Any:
        """Tell that cells are categories, as whole numbers."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        return tags
