"""Naive Bayes of columns of categories."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from suffice.distributions.categorical import Categorical
from suffice.distributions.dirichlet import Dirichlet
from suffice.estimators import validation as checks
from suffice.estimators.discrete_nb import DiscreteShell, normalise
from suffice.estimators.validation import AT_LEAST_ZERO, interval, locating_text, rules_of
from suffice.statistics.weights import Weights
from suffice.tables.labels import Whole
from suffice.types import Array, Data

GLANCE = 4096  # rows that are looked at for the largest category


class CategoricalNB(DiscreteShell):
    """Naive Bayes of columns of categories 0, 1, …: scikit-learn's, and faster.

    Beyond it: missing cells (NaN), categories that were never seen, rows of unknown class, ``merge``, ``unlearn``,
    ``predict(X, loss=…)``, ``with_priors``, ``explain``. For categories with names use :class:`NaiveBayes`.

    A category beyond the L of its column has the probability alpha/(n + alpha·L) of one of them that no row had: that
    of a category which ``min_categories`` declares, in a fit that declares them all. With alpha = 0 such a cell is left
    out of the score, with a warning.

    Parameters
    ----------
    alpha : float or array
        The prior of the probabilities of a column is Dirichlet(1 + alpha): alpha rows of each category, beforehand.
    force_alpha : bool
        Whether an alpha below 1e-10 is kept.
    fit_prior, class_prior : bool, array
        Whether p(y) is learned, rather than uniform; or p(y) itself.
    min_categories : int or array, optional
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
    _sklearn_class = ("sklearn.naive_bayes", "CategoricalNB")
    _sklearn_attributes = (*DiscreteShell._sklearn_attributes[:4], "category_count_", "n_categories_")  # noqa: SLF001 (its own)

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Data = None,
        min_categories: Data = None,
    ) -> None:
        """Keep the options."""
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.min_categories = min_categories

    def _prototype(self, classes: Array) -> Any:
        del classes
        return Categorical()

    def _components_prior(self) -> Any:
        alpha = self._smoothing()
        return {"components": Dirichlet(np.array([1.0 + alpha]))} if alpha > 0 else None

    def _for_statistics(self, template: Any, stats: Any) -> Any:
        return self._with_categories(template, stats.components.levels).for_statistics(stats)

    def _for_rows(self, template: object, rows: Any) -> Any:
        return self._with_categories(template, tuple(column.seen for column in rows.columns))

    def _with_categories(self, template: Any, seen: tuple[tuple[Any, ...], ...]) -> Any:
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
        levels = tuple(tuple(range(count)) for count in np.maximum(lengths, least).tolist())
        return replace(template, components=Categorical(levels=levels))

    def _validate(self, X: Data, *, reset: bool) -> Any:
        rows = checks.validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        if rows.dtype.kind not in "iuf":
            with locating_text(X, type(self).__name__):
                rows = check_array(rows, dtype=np.float64, ensure_all_finite="allow-nan")
        if rows.dtype.kind == "f":
            rows = np.floor(rows) if np.isnan(rows.sum()) else rows.astype(np.int64)
        if reset and rows.size and rows.min() < 0:  # before the last fit is given up
            Whole(matrix=rows).refuse_negative()
        return rows

    def _read_labelled(self, template: Any, rows: Any, found: Any, sample_weight: Any) -> Any:
        if rows.dtype.kind == "i" and sample_weight is None:  # counted as they are, and then looked whether all were
            width = int(rows[:GLANCE].max(initial=0)) + 1
            data, weights = super()._read_labelled(template, Whole(matrix=rows, width=max(width, 1)), found, None)
            if data.complete and width <= GLANCE:
                return data, weights
        Whole(matrix=rows).refuse_negative()
        return super()._read_labelled(template, rows, found, sample_weight)

    def _gather(self, template: Any, data: Data, weights: Weights) -> Any:
        stats = super()._gather(template, data, weights)
        if not isinstance(data.rows, Whole):
            return stats
        count = stats.components.count
        if count.sum() < data.rows.matrix.size:  # the first rows did not show the largest
            data.rows.refuse_negative()
            rows = template.components.read(data.rows.matrix)
            return super()._gather(template, replace(data, rows=rows), weights)
        seen = count.any(axis=0)
        lengths = [int(np.flatnonzero(column)[-1]) + 1 if column.any() else 0 for column in seen]
        levels = tuple(tuple(range(length)) for length in lengths)
        return replace(stats, components=replace(stats.components, count=count[:, :, : max(lengths)], levels=levels))

    def _read_for_answer(self, X: Data) -> Any:
        model, rows = super()._read_for_answer(X)
        for column in rows.columns:  # labels in order: the first is the least
            if column.seen and column.seen[0] < 0:
                Whole(matrix=self._validate(X, reset=False)).refuse_negative()
        return model, rows

    def _read_for_prediction(self, X: Data) -> Any:
        check_is_fitted(self)
        rows = self._validate(X, reset=False)
        if rows.dtype.kind == "i":
            return self.distribution_, Whole(matrix=rows, width=int(self.n_categories_.max()))
        return self._read_for_answer(X)

    def _show(self) -> None:
        super()._show()
        components = self.distribution_.components
        sizes = [len(levels) for levels in components.named]
        self.n_categories_ = np.array(sizes)
        if "statistics_" in self.__dict__:
            kept = self.statistics_.components.on(components.named)
            self.category_count_ = [np.array(kept[:, column, :size]) for column, size in enumerate(sizes)]
        with np.errstate(divide="ignore"):
            logs = np.log(components.probs)
        self.feature_log_prob_ = [np.array(logs[:, column, :size]) for column, size in enumerate(sizes)]

    def _components(self) -> Any:
        tables = [normalise(one, f"feature_log_prob_[{column}]") for column, one in enumerate(self.feature_log_prob_)]
        self.n_categories_ = np.array([one.shape[1] for one in tables])
        last = self.__dict__.get("distribution_")
        wide = np.zeros((len(self.classes_), len(tables), int(self.n_categories_.max())))
        for column, one in enumerate(tables):
            wide[:, column, : one.shape[1]] = one
        levels = tuple(tuple(range(size)) for size in self.n_categories_.tolist())
        if last is not None and last.components.named == levels:
            return replace(last.components, probs=wide)
        return Categorical(levels=levels, probs=wide)

    def __sklearn_tags__(self) -> Any:
        """Tell that cells are categories, as whole numbers."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        return tags
