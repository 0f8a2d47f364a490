"""Naive Bayes of Normal columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from suffice.distributions.normal import Normal
from suffice.errors import ParameterError
from suffice.estimators.bayes import BayesShell
from suffice.estimators.to_sklearn import ToScikitLearn
from suffice.estimators.validation import AT_LEAST_ZERO
from suffice.statistics.sums import pooled
from suffice.types import Array, Data, Prior

# What smoothing may add to a column, in its own variances. 10-fold accuracy at var_smoothing = 1e-9 and 0.1:
#                              digits       3 against 8  breast cancer  wine         1e-3 beside 1e3
#   the largest variance       .840  .922   .899  .958   .939  .884     .972  .697   .535  .533
#   the column's own           .786  .908   .854  .944   .937  .939     .972  .978   .883  .887
#   the lesser, own once       .840  .915   .899  .950   .939  .935     .972  .966   .882  .885
#   the lesser, own twice      .840  .920   .899  .952   .939  .926     .972  .961   .875  .875
#   the lesser, own four times .840  .923   .899  .955   .939  .912     .972  .955   .830  .830
CAP = 2.0


class GaussianNB(ToScikitLearn, BayesShell):
    """Naive Bayes whose columns are Normal within each class: scikit-learn's, and faster.

    Beyond it: missing cells (NaN) are left out, rows of unknown class (NaN or None in y) take part, ``merge`` and
    ``unlearn``, ``predict(X, loss=…)``, ``with_priors``, ``explain``. Smoothing adds what scikit-learn adds, a part of
    the largest variance, but at most twice a column's own: columns of any scale may stand side by side.

    Parameters
    ----------
    priors : array or dict, optional
        p(y) of each class; None learns them.
    var_smoothing : float
        This part of the largest variance of a column over all rows is added to all variances; to those of a column at
        most twice its own variance over all rows.
    prior : distribution, dict or "weak", optional
        What is believed of means and variances before the data: ``"weak"``, or a :class:`NormalInverseGamma`. None is
        maximum likelihood.

    Attributes
    ----------
    classes_, class_count_, class_prior_
        The labels, the weight of the rows of each, and p(y).
    theta_, var_, epsilon_
        The means and variances (k, d), and what was added to the variances, (d,).
    distribution_, statistics_, alerts_
        p(x, y) as a value, what it kept of the rows, and what to know before trusting it.

    Examples
    --------
    >>> X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    >>> sf.GaussianNB().fit(X, [1, 1, 1, 2, 2, 2]).predict([[-0.8, -1]])
    array([1])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "priors": ["array-like", None],
        "var_smoothing": [AT_LEAST_ZERO],
        "prior": "no_validation",
    }

    _sklearn_class = ("sklearn.naive_bayes", "GaussianNB")
    _sklearn_attributes = ("classes_", "class_count_", "class_prior_", "theta_", "var_")
    _settable = ("theta_", "var_")
    _as_rows = ("theta_", "var_", "epsilon_", "class_count_", "class_prior_")
    _warns = frozenset({"empty", "unseen"})  # a constant column is what var_smoothing is for

    def __init__(self, *, priors: Data = None, var_smoothing: float = 1e-9, prior: Prior = None) -> None:
        """Keep the options."""
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.prior = prior

    def _prototype(self, classes: Array) -> Any:
        del classes
        return Normal()

    def _refine(self, model: Any, stats: Any, seen: Sequence[Any] | None) -> Any:
        del seen
        spread = pooled(stats.components).var[0]
        self.epsilon_ = np.minimum(self.var_smoothing * spread.max(), CAP * spread)
        components = model.components
        if self.prior is None:
            return replace(model, components=components.blurred(self.epsilon_, stats.components))
        return replace(model, components=replace(components, std=np.sqrt(np.square(components.std) + self.epsilon_)))

    def _show(self) -> None:
        components = self.distribution_.components
        self.theta_, self.var_ = np.array(components.mean), np.square(components.std)

    def _rebuild(self, changed: frozenset[str]) -> Any:
        del changed
        mean, var = (np.array(getattr(self, name), dtype=np.float64) for name in self._settable)
        if not (var > 0).all():
            msg = f"var_ holds variances above 0; the smallest is {var.min():g}."
            raise ParameterError(msg)
        last = self.__dict__.get("distribution_")
        components = Normal(mean, np.sqrt(var)) if last is None else last.components
        if np.shape(components.mean) != mean.shape:
            components = Normal(mean, np.sqrt(var))
        return self._with_components(replace(components, mean=mean, std=np.sqrt(var)), mean.shape[1])

    def _sklearn_private(self) -> dict[str, Any]:
        return {"epsilon_": float(np.max(self.epsilon_))} if hasattr(self, "epsilon_") else {}
