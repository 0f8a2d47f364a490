"""Gaussian classes, each with its own covariance: boundaries are quadratic."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from suffice.distributions.covariance_algebra import eigen
from suffice.distributions.floors import HALF_LOG_TAU
from suffice.distributions.multivariate_normal import MultivariateNormal
from suffice.errors import ParameterError
from suffice.estimators.attributes import SHOWN
from suffice.estimators.discriminant import Discriminant
from suffice.estimators.targets import check_priors
from suffice.estimators.to_sklearn import ToScikitLearn
from suffice.estimators.validation import SHARE, one_of, rules_of
from suffice.numerics.low_rank import LowRank
from suffice.types import Array, Data, Prior

AXES = ("scalings_", "rotations_")


class Axes:
    """An attribute of classes of many columns that takes d × d numbers, and long: made once it is asked for.

    What an estimator has set is found before this.
    """

    def __init__(self, name: str) -> None:
        """Take the name of the attribute."""
        self.name = name

    def __get__(self, estimator: Any, owner: object = None) -> Any:
        """Return the attribute of a fitted estimator."""
        if estimator is None:
            return self
        held = estimator.__dict__
        if "distribution_" not in held or held.get(SHOWN) is None:
            msg = f"{type(estimator).__name__!r} object has no attribute {self.name!r}"
            raise AttributeError(msg)
        estimator._show_axes()  # noqa: SLF001 (a part of it)
        return held[self.name]


class Form(NamedTuple):
    """A score xᵀ A x + w · x + b of a row x."""

    A: Array
    w: Array
    b: float

    def __call__(self, x: Array) -> Array:
        """The score of rows (n, d), (n,)."""
        rows = np.asarray(x, dtype=float)
        return np.asarray(np.einsum("ni,ij,nj->n", rows, self.A, rows, optimize=True) + rows @ self.w + self.b)


class QuadraticDiscriminantAnalysis(ToScikitLearn, Discriminant):
    r"""Gaussian classes with a covariance each: scikit-learn's, and faster.

    The score of a class is :math:`\log\pi - \frac12\log|\Sigma| - \frac12(x-\mu)^T\Sigma^{-1}(x-\mu)`, and Σ is the
    scatter divided by the number of rows. Beyond scikit-learn: ``sample_weight``, missing cells, ``partial_fit``,
    ``merge`` and ``unlearn``, rows of unknown class (NaN or None in y), ``form``, ``predict(X, loss=…)``,
    ``with_priors``.

    Differences on purpose: a singular covariance is raised to a floor (``tol``), with a warning, where scikit-learn
    refuses to fit; what is singular does not depend on the units of the columns. That of a class with fewer rows than
    columns is drawn towards its diagonal as far as "oas" finds it, with a warning. Both
    solvers are one computation and take ``shrinkage`` and ``reg_param``.

    Parameters
    ----------
    solver : str
        "svd" or "eigen": the same here.
    shrinkage : float or "auto", optional
        How far each covariance is drawn to a multiple of the identity: a number from 0 to 1, "auto" (Ledoit–Wolf) or
        "oas", both in units of each column's spread. "auto" needs all rows at once.
    priors : array or dict, optional
        p(y) of each class; None learns them.
    reg_param : float
        Σ becomes (1 − reg_param) Σ + reg_param I.
    store_covariance : bool
        Whether ``covariance_`` is shown.
    tol : float
        Directions with less than tol² of the variance within classes, all columns in units of their own, are raised to
        that.
    covariance_estimator : estimator, optional
        Something with ``fit`` and ``covariance_``, asked for the covariance of each class; needs all rows at once.
    prior : distribution, dict or "weak", optional
        What is believed before the data: ``"weak"``, or a :class:`NormalInverseWishart`. None is maximum likelihood.

    Attributes
    ----------
    classes_, class_count_, priors_, means_
        Labels, weights of the rows, p(y), and class means (k, d).
    covariance_, rotations_, scalings_
        Lists with the covariance of each class, its axes in columns, and the variances along them, largest first.
    distribution_, statistics_, alerts_
        p(x, y) as a value, what it kept of the rows, and what to know before trusting it.

    References
    ----------
    Ledoit, O. and Wolf, M. (2004). A well-conditioned estimator for large-dimensional covariance matrices. Journal of
    Multivariate Analysis 88, 365-411.
    Chen, Y., Wiesel, A., Eldar, Y. C. and Hero, A. O. (2010). Shrinkage algorithms for MMSE covariance estimation.
    IEEE Transactions on Signal Processing 58, 5016-5029.

    Examples
    --------
    >>> X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    >>> sf.QuadraticDiscriminantAnalysis().fit(X, [1, 1, 1, 2, 2, 2]).predict([[-0.8, -1]])
    array([1])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **rules_of(Discriminant),
        "solver": [one_of("svd", "eigen")],
        "reg_param": [SHARE],
    }

    def __init__(
        self,
        *,
        solver: str = "svd",
        shrinkage: Data = None,
        priors: Data = None,
        reg_param: float = 0.0,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: object = None,
        prior: Prior = None,
    ) -> None:
        """Keep the options."""
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.reg_param = reg_param
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator
        self.prior = prior

    def _prototype(self, classes: Array) -> Any:
        del classes
        return MultivariateNormal()

    def _regularised(self, cov: Array | LowRank) -> Any:
        if not self.reg_param:
            return cov
        if isinstance(cov, LowRank):
            less = cov.scaled(1 - self.reg_param)
            return LowRank(less.diagonal + self.reg_param, less.factors)
        return (1 - self.reg_param) * cov + self.reg_param * np.eye(cov.shape[-1])

    def _show(self) -> None:
        stack = self.distribution_.components
        self.priors_, self.means_ = self.class_prior_, np.array(stack.mean)
        if not isinstance(stack.matrices, LowRank):
            self.scalings_, self.rotations_ = self._axes()

    def _axes(self) -> tuple[list[Array], list[Array]]:
        """The variances along the axes of each class, largest first, and the axes in columns."""
        values, axes = eigen(np.asarray(self.__dict__["distribution_"].components.cov))
        return list(values[:, ::-1].copy()), list(axes[:, :, ::-1].copy())

    def _show_axes(self) -> None:
        held, found = self.__dict__, dict(zip(AXES, self._axes(), strict=True))
        held.update({key: [np.asarray(one, dtype=self._dtype) for one in own] for key, own in found.items()})
        held[SHOWN].update({key: [np.array(one) for one in held[key]] for key in found})

    scalings_: Any = Axes("scalings_")
    rotations_: Any = Axes("rotations_")

    @property
    def _shows_covariance(self) -> bool:
        return bool(self.store_covariance)

    @property
    def covariance_(self) -> list[Array]:
        """The covariance (d, d) of each class, where ``store_covariance`` asks for it."""
        return list(self._covariances())

    _settable = ("means_", "priors_", "scalings_", "rotations_")
    _as_rows = ("means_", "scalings_", "rotations_")
    _sklearn_class = ("sklearn.discriminant_analysis", "QuadraticDiscriminantAnalysis")
    _sklearn_attributes = (*_settable, "classes_", "covariance_")

    def _rebuild(self, changed: frozenset[str]) -> Any:
        mean = np.array(self.means_, dtype=np.float64)
        values, axes = (np.array(one, dtype=np.float64) for one in (self.scalings_, self.rotations_))
        stack = MultivariateNormal(mean, np.einsum("kij,kj,klj->kil", axes, values, axes, optimize=True))
        weights = check_priors(self.priors_, self.classes_) if "priors_" in changed else None
        return self._with_components(stack, mean.shape[1], weights)

    def _check_rows(self, count: Array) -> None:
        if (count == 1).any():
            msg = (
                f"y has only 1 sample in class {self.classes_[np.argmax(count == 1)]}, covariance is ill defined. Give "
                "more rows of it, leave it out, or give shrinkage=, reg_param= or prior=."
            )
            raise ValueError(msg)

    def _check_classes(self) -> None:
        if len(self.classes_) < 2:
            msg = "The number of classes has to be greater than one. Got 1 class."
            raise ValueError(msg)

    # ---- asking ---------------------------------------------------------------------------------------------------
    def decision_function(self, X: Data) -> Array:
        """The log-odds of the second class, (n,), or the score of each class, (n, k): log p(x, y) + ½ d log 2π."""
        joint = self.predict_joint_log_proba(X)
        if len(self.classes_) == 2:
            return np.asarray(joint[:, 1] - joint[:, 0])
        return np.asarray(joint + self.n_features_in_ * HALF_LOG_TAU)

    def form(self, label: Hashable, against: int | None = None) -> Form:
        """The score of a class as (A, w, b) with xᵀ A x + w · x + b; ``against`` another, their log-odds."""
        check_is_fitted(self)
        one = self._form(label)
        if against is None:
            return one
        other = self._form(against)
        return Form(one.A - other.A, one.w - other.w, one.b - other.b)

    def _form(self, label: Hashable) -> Form:
        labels = self.classes_.tolist()
        if label not in labels:
            msg = f"form: {label!r} is not a class; there are {', '.join(map(repr, labels))}."
            raise ParameterError(msg)
        index, d, model = labels.index(label), self.n_features_in_, self.distribution_
        natural = model.components.natural()[index]
        offset = float(model.log_weights[index] - model.components.log_partition()[index])
        return Form(natural[d:].reshape(d, d), natural[:d], offset)
