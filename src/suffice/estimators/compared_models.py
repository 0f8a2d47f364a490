"""Generative and discriminative classifiers behind one interface: learn, score, and the boundary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from suffice.core.distribution import Distribution
from suffice.distributions.multivariate_normal import MultivariateNormal
from suffice.errors import ParameterError
from suffice.estimators.bayes_classifier import BayesClassifier
from suffice.estimators.comparison import Boundary
from suffice.estimators.deciding import plane_of
from suffice.numerics.lazy import special
from suffice.types import Array, Data

READ = 4096  # rows at which log-odds are read


@dataclass(frozen=True)
class Generative:
    """A classifier of the caller's; scores are log p(y | x), or margins where it has none."""

    estimator: Any
    words: str
    raw: bool  # takes rows as the caller gives them, not as numbers
    name: str = "generative"
    unbounded: bool = False

    def learn(self, rows: Data, labels: Array, codes: Array, weights: Array | None) -> Any:
        """A copy of the classifier, fitted."""
        del codes
        given = {} if weights is None else {"sample_weight": weights}
        return clone(self.estimator).fit(rows, labels, **given)

    def scores(self, model: Any, rows: Any, classes: Array) -> Array:
        """Log p(y | x), (n, k), in the order of ``classes``."""
        ask = getattr(model, "predict_log_proba", None)
        margins = _two_sided(model.decision_function(rows)) if ask is None else np.asarray(ask(rows))
        known = np.asarray(model.classes_).tolist()
        return margins[:, [known.index(one) for one in classes.tolist()]]

    @property
    def probable(self) -> bool:
        """Whether scores are log-probabilities."""
        return hasattr(self.estimator, "predict_log_proba")

    def boundary(self, model: object, rows: Data, design: Array, classes: Array) -> Boundary | None:
        """The w and b, where the log-odds of the rows are a plane over the columns; None where they are not.

        Of components that share one covariance these are w = Σ⁻¹(μ₁ − μ₀) and its b. They are read off the log-odds
        themselves, so that whatever else is linear (binary columns, counts) needs no formula of its own.
        """
        score = self.scores(model, rows, classes)
        plane = plane_of(design, score)
        return None if plane is None else Boundary(*plane)


@dataclass(frozen=True)
class Linear:
    """One of scikit-learn's linear classifiers on standardised columns; scores are linear in them."""

    estimator: Any
    words: str
    name: str
    probable: bool  # whether scores are log-probabilities
    unbounded: bool  # whether w has no bound where classes can be told apart without an error
    raw: bool = False

    def learn(self, rows: Array, labels: Array, codes: Array, weights: Array | None) -> Any:
        """A scaler and the classifier, fitted."""
        del labels
        model = make_pipeline(StandardScaler(), clone(self.estimator))
        steps = [name for name, _ in model.steps]
        return model.fit(
            rows, codes, **({} if weights is None else {f"{one}__sample_weight": weights for one in steps})
        )

    def scores(self, model: Any, rows: object, classes: Array) -> Array:
        """Log p(y | x), or margins where there is none, (n, k)."""
        del classes
        margins = _two_sided(model.decision_function(rows))
        return np.asarray(special.log_softmax(margins, axis=1)) if self.probable else margins

    def boundary(self, model: Any, rows: Array, design: Array, classes: Array) -> Boundary:
        """The w and b in the units of the columns."""
        del rows, design, classes
        scaler, linear = model[0], model[-1]
        w, b = linear.coef_ / scaler.scale_, np.asarray(linear.intercept_)
        b = b - w @ scaler.mean_
        return Boundary(w, b) if len(w) == 1 else Boundary(w[1:] - w[0], b[1:] - b[0])


def _two_sided(margins: Array) -> Array:
    """Margins (n, k), of two classes too."""
    margins = np.asarray(margins)
    return np.column_stack([np.zeros(len(margins)), margins]) if margins.ndim == 1 else margins


def generative_of(given: Data, seed: int, *, frame: bool) -> Generative:
    """The classifier that a caller means: a distribution, one for each class, or a classifier."""
    if given is None:
        given, frame = MultivariateNormal(structure="tied"), False
    if isinstance(given, (Distribution, Mapping)):
        given = BayesClassifier(given)
    if isinstance(given, type) or not (hasattr(given, "fit") and is_classifier(given)):
        msg = (
            "compare: generative is a classifier, as GaussianNB(), or the distribution of the rows of a class, as "
            f"Normal(); got {given!r:.80}."
        )
        raise ParameterError(msg)
    given = clone(given)
    options = given.get_params(deep=False)
    if "random_state" in options and options["random_state"] is None:
        given.set_params(random_state=seed)
    words = " ".join(repr(clone(given).set_params(random_state=None) if "random_state" in options else given).split())
    return Generative(given, words, raw=frame)


def discriminative(C: float) -> tuple[Linear, Linear]:
    """Logistic regression without a penalty, and a linear support vector machine."""
    logistic = LogisticRegression(C=np.inf, tol=1e-6, max_iter=1000)
    words = "maximum conditional likelihood (LogisticRegression, no penalty)"
    machine = LinearSVC(C=C, dual=False, max_iter=10_000)
    least = f"least squared hinge loss (LinearSVC, C = {C:g}, standardised columns)"
    return (
        Linear(logistic, words, "logistic", probable=True, unbounded=True),
        Linear(machine, least, "svm", probable=False, unbounded=False),
    )
