"""Gaussian classes that share one covariance: boundaries are planes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import logsumexp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from suffice.distributions.multivariate_normal import MultivariateNormal
from suffice.engines import local
from suffice.estimators.attributes import BY_HAND
from suffice.estimators.discriminant import Discriminant
from suffice.estimators.to_sklearn import ToScikitLearn
from suffice.estimators.validation import AT_LEAST_ONE, one_of, rules_of
from suffice.models.classifier import Classes
from suffice.statistics.sums import share
from suffice.types import Array, Data, Prior

FAR = 200.0  # nats between log p(y) of classes that are set by hand, from where on their centre is moved


class LinearDiscriminantAnalysis(ToScikitLearn, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Discriminant):
    r"""Gaussian classes with one covariance: scikit-learn's, and faster.

    The log-odds of two classes are w · x + b with :math:`w = \Sigma^{-1}(\mu_1 - \mu_0)` and
    :math:`b = \frac12(\mu_0^T\Sigma^{-1}\mu_0 - \mu_1^T\Sigma^{-1}\mu_1) + \log(\pi_1/\pi_0)`. Beyond scikit-learn:
    ``sample_weight``, missing cells, ``partial_fit``, ``merge`` and ``unlearn``, rows of unknown class (NaN or None in
    y), ``predict(X, loss=…)``, ``with_priors``, and ``explain`` with one term for each column.

    Differences on purpose: Σ is the scatter around the class means divided by the number of rows, also with ``priors``
    given, by which scikit-learn's lsqr and eigen weigh the covariances of the classes. All solvers are one computation,
    and all take ``shrinkage`` and have ``transform``; with shrinkage its axes are those of the class means under Σ.
    A singular Σ is raised to a floor, with a warning, where svd drops directions, even those that tell classes apart;
    with fewer rows than columns Σ is drawn towards its diagonal as far as "oas" finds it, and a warning says so.

    Parameters
    ----------
    solver : str
        "svd", "lsqr" or "eigen": tells only the origin of ``coef_``, ``intercept_`` and ``transform``, the mean of the
        classes for svd and 0 for the others, as in scikit-learn.
    shrinkage : float or "auto", optional
        How far the covariance of each class is drawn to a multiple of the identity: a number from 0 to 1, "auto"
        (Ledoit–Wolf) or "oas", both in units of each column's spread. "auto" needs all rows at once.
    priors : array or dict, optional
        p(y) of each class; None learns them.
    n_components : int, optional
        Number of axes of ``transform``, at most min(classes − 1, columns), which None means.
    store_covariance : bool
        Whether ``covariance_`` is shown with svd; with the other solvers it always is.
    tol : float
        Directions with less than tol² of the variance within classes, all columns in units of their own, are raised to
        that. Axes along which the class means have less than ``tol`` of the largest spread are left out (svd).
    covariance_estimator : estimator, optional
        Something with ``fit`` and ``covariance_``, asked for the covariance of each class; needs all rows at once.
    prior : distribution, dict or "weak", optional
        What is believed before the data: ``"weak"``, or a :class:`NormalInverseWishart`. None is maximum likelihood.

    Attributes
    ----------
    classes_, class_count_, priors_, means_, covariance_, xbar_
        Labels, weights of the rows, p(y), class means (k, d), Σ (d, d), and the mean of the class means under p(y).
    coef_, intercept_
        w and b of the second class against the first, (1, d) and (1,), or scores of each class, (k, d) and (k,).
    scalings_, explained_variance_ratio_
        The axes of ``transform``, in columns, and the share of the spread of the class means along each.
    distribution_, statistics_, alerts_
        p(x, y) as a value, what it kept of the rows, and what to know before trusting it.

    References
    ----------
    Fisher, R. A. (1936). The use of multiple measurements in taxonomic problems. Annals of Eugenics 7, 179-188.
    Ledoit, O. and Wolf, M. (2004). A well-conditioned estimator for large-dimensional covariance matrices. Journal of
    Multivariate Analysis 88, 365-411.
    Chen, Y., Wiesel, A., Eldar, Y. C. and Hero, A. O. (2010). Shrinkage algorithms for MMSE covariance estimation.
    IEEE Transactions on Signal Processing 58, 5016-5029.

    Examples
    --------
    >>> X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    >>> sf.LinearDiscriminantAnalysis().fit(X, [1, 1, 1, 2, 2, 2]).predict([[-0.8, -1]])
    array([1])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **rules_of(Discriminant),
        "solver": [one_of("svd", "lsqr", "eigen")],
        "n_components": [AT_LEAST_ONE, None],
    }

    def __init__(
        self,
        solver: str = "svd",
        shrinkage: Data = None,
        priors: Data = None,
        n_components: int | None = None,
        store_covariance: bool = False,  # noqa: FBT001, FBT002 (as in scikit-learn)
        tol: float = 1e-4,
        covariance_estimator: object = None,
        *,
        prior: Prior = None,
    ) -> None:
        """Keep the options."""
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_components = n_components
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator
        self.prior = prior

    def _prototype(self, classes: Array) -> Any:
        del classes
        return MultivariateNormal(structure="tied")

    def _check_rows(self, count: Array) -> None:
        if count.sum() <= len(self.classes_):
            msg = (
                "The number of samples must be more than the number of classes. Without more, rows show no spread "
                "about the means of their classes; give more rows, shrinkage= or prior=."
            )
            raise ValueError(msg)

    def _template(self) -> Classes:
        most = min(len(self.classes_) - 1, self.n_features_in_)
        if self.n_components is not None and self.n_components > most:
            msg = (
                "n_components cannot be larger than min(n_features, n_classes - 1); "
                f"got {self.n_components} for {self.n_features_in_} features and {len(self.classes_)} classes."
            )
            raise ValueError(msg)
        self._n_features_out = most if self.n_components is None else self.n_components
        return super()._template()

    def _show(self) -> None:
        stack = self.distribution_.components
        self.priors_, self.means_ = self.class_prior_, np.array(stack.mean)
        self.xbar_ = self.priors_ @ self.means_
        slopes, offsets = self._scores()
        coef, intercept = slopes, offsets - slopes @ self._origin
        two = len(self.classes_) == 2
        self.coef_ = coef[1:] - coef[:1] if two else coef
        self.intercept_ = intercept[1:] - intercept[:1] if two else intercept
        self._show_axes(stack)

    @property
    def _shows_covariance(self) -> bool:
        return bool(self.store_covariance) or self.solver != "svd"

    @property
    def covariance_(self) -> Array:
        """Σ (d, d), as far as scikit-learn shows it: see ``store_covariance``."""
        found: Array = self._covariances()[0]
        return found

    _sklearn_class = ("sklearn.discriminant_analysis", "LinearDiscriminantAnalysis")
    _settable = _together = ("coef_", "intercept_")
    _as_rows = (*_settable, "priors_", "means_", "xbar_", "scalings_", "explained_variance_ratio_")
    _sklearn_attributes = (*_as_rows, "classes_", "covariance_")

    def _sklearn_private(self) -> dict[str, Any]:
        return {"_max_components": self._n_features_out, "_n_features_out": self._n_features_out}

    def _rebuild(self, changed: frozenset[str]) -> Any:
        """Classes whose log-odds are these planes: the covariance stays, and means and probabilities follow.

        A score of a class is s · x + b. With one Σ and means Σ s + c, any c, the slopes of the log-odds are right, and
        p(y) is what makes their offsets right; c is the mean of the class means as far as that leaves no class
        without probability.
        """
        del changed
        slopes, offsets = np.array(self.coef_, dtype=np.float64), np.array(self.intercept_, dtype=np.float64)
        if len(self.classes_) == 2:
            slopes, offsets = np.vstack([-0.5 * slopes, 0.5 * slopes]), np.append(-0.5 * offsets, 0.5 * offsets)
        shape = (len(self.classes_), slopes.shape[-1])
        if slopes.shape != shape or offsets.shape != shape[:1]:
            msg = (
                f"coef_ has the shape {np.shape(self.coef_)} and intercept_ {np.shape(self.intercept_)}; for "
                f"{shape[0]} classes they have one row and one number for two classes, else for each."
            )
            raise ValueError(msg)
        last = self.__dict__.get("distribution_")
        cov = np.eye(shape[1]) if last is None else np.asarray(last.components.cov[0])
        centre = np.zeros(shape[1]) if last is None else np.asarray(last.components.mean).mean(axis=0)
        slopes, offsets = slopes - slopes.mean(axis=0), offsets - offsets.mean()
        away = slopes @ cov
        half = 0.5 * np.einsum("ki,ki->k", slopes, away)
        logs = offsets + slopes @ centre + half
        if np.ptp(logs) > FAR:
            centre = centre + np.linalg.lstsq(slopes, half.mean() - half - offsets - slopes @ centre, rcond=None)[0]
            logs = offsets + slopes @ centre + half
        weights = np.exp(logs - logsumexp(logs))
        self._n_features_out = min(shape[0] - 1, shape[1])
        stack = MultivariateNormal(centre + away, np.broadcast_to(cov, (shape[0], *cov.shape)), structure="tied")
        return self._with_components(stack, shape[1], weights)

    @property
    def _origin(self) -> Array:
        return np.asarray(self.xbar_ if self.solver == "svd" else np.zeros_like(self.xbar_), dtype=np.float64)

    def _scores(self) -> tuple[Array, Array]:
        """Slopes (k, d) about the origin and offsets (k,) of log p(x, y), up to what is the same for all classes."""
        model = self.distribution_
        slopes, offsets = model.components.linear_form(self._origin)
        return slopes, offsets + model.log_weights

    def _show_axes(self, stack: Any) -> None:
        """The axes along which the class means differ most, in units in which Σ is the identity."""
        away, roots = np.sqrt(self.priors_)[:, None] * (self.means_ - self.xbar_), stack.roots
        whole = self.solver == "eigen"
        between = away @ stack.whitening[0][0].T if roots is None else roots(0, away)
        _, sizes, axes = np.linalg.svd(between, full_matrices=whole)
        kept = len(axes) if whole else int(np.sum(sizes > self.tol * sizes[0]))
        self.scalings_ = stack.whitening[0][0].T @ axes[:kept].T if roots is None else roots.back(0, axes[:kept]).T
        self.explained_variance_ratio_ = share(sizes**2, np.sum(sizes**2))[: self._n_features_out]

    # ---- asking ---------------------------------------------------------------------------------------------------
    def decision_function(self, X: Data) -> Array:
        """The log-odds of the second class, (n,), or a score of each class, (n, k): log p(x, y) up to a term of x."""
        check_is_fitted(self)
        slopes, offsets = self._scores()
        two = len(self.classes_) == 2
        slopes, offsets = (slopes[1:] - slopes[:1], offsets[1:] - offsets[:1]) if two else (slopes, offsets)
        if not {"coef_", "intercept_"}.isdisjoint(self.__dict__.get(BY_HAND, ())):
            slopes = np.asarray(self.coef_, dtype=np.float64)
            offsets = np.asarray(self.intercept_, dtype=np.float64) + slopes @ self._origin
        rows = self._validate(X, reset=False)
        scores = self._project(rows, slopes.T) + offsets
        holes = np.flatnonzero(np.isnan(scores[:, 0]))
        if len(holes):  # by the cells that they have
            joint = self.distribution_.log_joint(rows[holes])
            scores[holes] = joint[:, 1:] - joint[:, :1] if two else joint
        return np.asarray(self._in_precision(scores[:, 0] if two else scores, X))

    def transform(self, X: Data) -> Array:
        """Rows along the axes that tell the classes apart, (n, at most n_components); missing cells as expected."""
        check_is_fitted(self)
        rows = np.asarray(self._validate(X, reset=False))
        whole = self._complete(self.distribution_, rows)
        axes = self.scalings_[:, : self._n_features_out]
        return np.asarray(self._in_precision(self._project(whole, axes), X))

    def _project(self, rows: Array, axes: Array) -> Array:
        """(rows − origin) · axes."""
        return np.asarray(local.fill(lambda part: (rows[part] - self._origin) @ axes, len(rows), rows.shape[1]))
