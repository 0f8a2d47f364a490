"""Logistic regression by maximum conditional likelihood, without a penalty, whose ascent can be watched."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from suffice.errors import SufficeWarning
from suffice.estimators.validation import ABOVE_ZERO, AT_LEAST_ONE, AT_LEAST_ZERO, checked, one_of, row_weights
from suffice.numerics.lazy import special
from suffice.types import Alert, Array, Data

HALVINGS = 60  # of a step that does not rise
FLAT = 1e-10  # least eigenvalue of the information of standardised columns per row: below it a direction is flat


class LogisticClassifier(ClassifierMixin, BaseEstimator):
    r"""Logistic regression: log p(y=j | x) − log p(y=0 | x) = w_j·x + b_j by maximum conditional likelihood.

    There is no penalty, as a generative classifier has none; it has another name than
    scikit-learn's ``LogisticRegression``, which has one. Where classes can be told apart without an error there is no
    maximum: the fit stops, warns, and says what to do in ``alerts_``.

    Parameters
    ----------
    solver : {"newton", "gradient"}
        Newton's method (iteratively reweighted least squares), or gradient ascent on standardised columns. Both halve a
        step until log L rises.
    max_iter : int
        Most steps.
    tol : float
        The change of log L per row that ends the ascent.
    learning_rate : float
        The first length of a step of ``"gradient"``, for log L per row.

    Attributes
    ----------
    classes_ : numpy.ndarray (k,)
        The labels.
    coef_ : numpy.ndarray (1, d), or (k, d)
        Of two classes w; of more one row for each, against the first, whose row is 0.
    intercept_ : numpy.ndarray (1,), or (k,)
        The same for b.
    standard_errors_, intercept_standard_errors_ : numpy.ndarray
        From the observed information, in the same shapes; NaN where there is no maximum.
    log_likelihood_ : float
        Σ w log p(y | x), the conditional log-likelihood.
    trace_ : numpy.ndarray (steps + 1,)
        The conditional log-likelihood before the first and after each step; it never falls.
    path_ : numpy.ndarray (steps + 1, k − 1, d + 1)
        The coefficients along the way, the intercept last.
    n_iter_, converged_, alerts_
        How many steps, whether they came to rest, and what to know before trusting the fit.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> model = sf.LogisticClassifier().fit(X, y)
    >>> model.coef_.round(3), bool((np.diff(model.trace_) >= 0).all())
    (array([[0.908]]), True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "solver": [one_of("newton", "gradient")],
        "max_iter": [AT_LEAST_ONE],
        "tol": [AT_LEAST_ZERO],
        "learning_rate": [ABOVE_ZERO],
    }

    def __init__(
        self, *, solver: str = "newton", max_iter: int = 1000, tol: float = 1e-12, learning_rate: float = 1.0
    ) -> None:
        """Keep the options."""
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.learning_rate = learning_rate

    # ---- learning -------------------------------------------------------------------------------------------------
    @checked
    def fit(self, X: Data, y: Data, sample_weight: Data = None) -> Self:
        """Learn from rows (n, d) and their classes; weight 2 is the row twice.

        Parameters
        ----------
        X : array (n, d)
            Rows, without missing cells.
        y : array (n,)
            Their classes.
        sample_weight : array (n,), optional
            One number of at least 0 per row.

        Returns
        -------
        LogisticClassifier
        """
        rows, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        weights = row_weights(sample_weight, rows).dense()[:, 0]
        kept = weights > 0
        rows, labels, weights = rows[kept], np.asarray(labels)[kept], weights[kept]
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            msg = (
                f"{type(self).__name__} tells at least two classes apart, but y has one class, "
                f"{self.classes_[0]!r}. Give rows of another class."
            )
            raise ValueError(msg)
        self._ascend(rows, codes, weights)
        return self

    def _ascend(self, rows: Array, codes: Array, weights: Array) -> None:
        centre = np.average(rows, axis=0, weights=weights)
        scale = np.sqrt(np.average(np.square(rows - centre), axis=0, weights=weights))
        scale = np.where(scale > 1e-12 * (1 + np.abs(centre)), scale, 1.0)
        design = np.column_stack([(rows - centre) / scale, np.ones(len(rows))])
        problem = _Conditional(design, codes, weights, len(self.classes_))
        theta = np.zeros((len(self.classes_) - 1, design.shape[1]))
        path, trace, converged = [theta], [problem.log_likelihood(theta)], False
        rate, total = self.learning_rate, float(weights.sum())
        for _ in range(self.max_iter):
            slope = problem.slope(theta)
            step = problem.newton(theta, slope) if self.solver == "newton" else rate * slope / total
            found, rate = self._line_search(problem, theta, step, trace[-1], rate)
            if found is None:
                converged = True
                break
            theta, log_likelihood = found
            path.append(theta)
            trace.append(log_likelihood)
            if trace[-1] - trace[-2] <= self.tol * total:
                converged = True
                break
            if problem.separates(theta):
                break
        self._show(problem, np.array(path), np.array(trace), centre, scale, converged=converged)

    def _line_search(
        self, problem: _Conditional, theta: Array, step: Array, log_likelihood: float, rate: float
    ) -> tuple[Any, float]:
        """The first of ever shorter steps that rises, and the rate for the next; None where none does."""
        for halving in range(HALVINGS):
            trial = theta + step * 0.5**halving
            reached = problem.log_likelihood(trial)
            if reached > log_likelihood:
                return (trial, reached), rate * (1.5 if halving == 0 else 0.5**halving)
        return None, rate

    def _show(
        self, problem: _Conditional, path: Array, trace: Array, centre: Array, scale: Array, *, converged: bool
    ) -> None:
        back = np.diag(np.append(1 / scale, 1.0))  # from standardised columns to those of the rows
        back[:-1, -1] = -centre / scale
        self.path_, self.trace_ = path @ back, trace
        self.log_likelihood_, self.n_iter_, self.converged_ = float(trace[-1]), len(trace) - 1, converged
        information = problem.information(path[-1])
        known = np.linalg.eigvalsh(information)[0] > FLAT * problem.total
        self.alerts_ = self._alerts(problem, path[-1], known=bool(known))
        errors = np.full(path[-1].shape, np.nan)
        if known and not problem.separates(path[-1]):
            whole = np.kron(np.eye(len(path[-1])), back.T)
            errors = np.sqrt(np.diag(whole @ np.linalg.inv(information) @ whole.T)).reshape(errors.shape)
        theta = self.path_[-1]
        if len(self.classes_) > 2:
            theta, errors = (np.concatenate([np.zeros((1, one.shape[1])), one]) for one in (theta, errors))
        self.coef_, self.intercept_ = theta[:, :-1], theta[:, -1]
        self.standard_errors_, self.intercept_standard_errors_ = errors[:, :-1], errors[:, -1]
        for code, text in self.alerts_:
            kind = ConvergenceWarning if code == "not converged" else SufficeWarning
            warnings.warn(f"{type(self).__name__}: {text}", kind, stacklevel=5)

    def _alerts(self, problem: _Conditional, theta: Array, *, known: bool) -> tuple[Alert, ...]:
        remedy = (
            "Use a penalty, as scikit-learn's LogisticRegression(C=1.0) has, a generative classifier such as "
            "LinearDiscriminantAnalysis, or more rows."
        )
        if problem.separates(theta):
            text = (
                "a plane tells the classes of all rows apart, so the conditional likelihood has no maximum: it rises "
                f"to 1 as the coefficients grow without end. They are where the ascent stopped. {remedy}"
            )
            return (Alert("separable", text),)
        if not known:
            text = (
                "the likelihood is flat along some coefficients: columns depend on each other linearly, or they tell "
                f"some rows apart without an error. Those coefficients mean nothing by themselves. {remedy}"
            )
            return (Alert("not identified", text),)
        if not self.converged_:
            text = f"stopped after {self.n_iter_} steps, before log L was flat; raise max_iter, or use solver='newton'."
            return (Alert("not converged", text),)
        return ()

    # ---- asking ---------------------------------------------------------------------------------------------------
    def decision_function(self, X: Data) -> Array:
        """w·x + b: (n,) of two classes, else (n, k)."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=np.float64)
        found = rows @ self.coef_.T + self.intercept_
        return np.asarray(found[:, 0] if len(self.classes_) == 2 else found)

    def predict_log_proba(self, X: Data) -> Array:
        """Log p(y | x) of each class, (n, k)."""
        scores = self.decision_function(X)
        scores = np.column_stack([np.zeros(len(scores)), scores]) if scores.ndim == 1 else scores
        return np.asarray(special.log_softmax(scores, axis=1))

    def predict_proba(self, X: Data) -> Array:
        """p(y | x) of each class, (n, k)."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict(self, X: Data) -> Array:
        """The most probable class of each row, (n,)."""
        scores = self.decision_function(X)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[best])


class _Conditional:
    """Σ w log p(y | x) of coefficients (k − 1, d + 1), its slope and its information."""

    def __init__(self, design: Array, codes: Array, weights: Array, k: int) -> None:
        self.design, self.codes, self.weights, self.k = design, codes, weights, k
        self.total = float(weights.sum())
        self.hot = np.asarray(codes[:, None] == np.arange(1, k), dtype=float)

    def scores(self, theta: Array) -> Array:
        return np.column_stack([np.zeros(len(self.design)), self.design @ theta.T])

    def log_likelihood(self, theta: Array) -> float:
        logs = special.log_softmax(self.scores(theta), axis=1)
        return float(self.weights @ logs[np.arange(len(logs)), self.codes])

    def probabilities(self, theta: Array) -> Array:
        return np.asarray(special.softmax(self.scores(theta), axis=1)[:, 1:])

    def slope(self, theta: Array) -> Array:
        return np.asarray((self.weights[:, None] * (self.hot - self.probabilities(theta))).T @ self.design)

    def information(self, theta: Array) -> Array:
        """−∂² log L, (p, p), class by class."""
        probabilities, p = self.probabilities(theta), theta.shape[1]
        out = np.empty((self.k - 1, p, self.k - 1, p))
        for i in range(self.k - 1):
            for j in range(self.k - 1):
                held = self.weights * probabilities[:, i] * ((i == j) - probabilities[:, j])
                out[i, :, j] = self.design.T @ (held[:, None] * self.design)
        return out.reshape((self.k - 1) * p, (self.k - 1) * p)

    def newton(self, theta: Array, slope: Array) -> Array:
        """The step of Newton; along flat directions none."""
        values, vectors = np.linalg.eigh(self.information(theta))
        good = values > FLAT * self.total
        along = vectors[:, good].T @ slope.ravel()
        return np.asarray((vectors[:, good] @ (along / values[good])).reshape(theta.shape))

    def separates(self, theta: Array) -> bool:
        """Whether every row has the highest score at its own class: then longer coefficients are always better."""
        scores = self.scores(theta)
        own = scores[np.arange(len(scores)), self.codes].copy()
        scores[np.arange(len(scores)), self.codes] = -np.inf
        return bool((own > scores.max(axis=1)).all())
