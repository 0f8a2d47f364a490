"""Any distribution, as an estimator of a density."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from suffice.core.distribution import Distribution
from suffice.distributions.multivariate_normal import MultivariateNormal
from suffice.em.fit import fit, named_fit
from suffice.em.merge import added
from suffice.errors import DataError, UnsupportedError
from suffice.estimators.asking import Asking
from suffice.estimators.criteria import Criteria
from suffice.estimators.prototypes import by_name, takes_labels
from suffice.estimators.rows import columns_of, is_mapping
from suffice.estimators.validation import (
    ABOVE_ZERO,
    AT_LEAST_ONE,
    RANDOM_STATE,
    check_mergeable,
    checked,
    generator,
    locating_text,
    row_weights,
    validate_data,
)
from suffice.statistics.sums import Statistics
from suffice.types import Array, Data, Prior, Seed


class Density(Asking, Criteria, DensityMixin, BaseEstimator):
    """`suffice.fit` as a scikit-learn estimator: learn a distribution, score rows, draw new ones.

    Parameters
    ----------
    prototype : Distribution
        The distribution whose parameters are learned; None is ``MultivariateNormal()``.
    prior : distribution, dict or "weak", optional
        A conjugate prior, ``"weak"``, or a density of the free parameters; None is maximum likelihood.
    max_iter, tol, n_init, random_state : int, float, int, int or Generator or RandomState
        As in :func:`suffice.fit`.

    Attributes
    ----------
    fit_
        The `Fit`: ``print(density.fit_)`` shows parameters, standard errors and alerts; not after ``partial_fit``.
    distribution_, statistics_, n_iter_, converged_
        The learned value, what it kept of the rows, and how the passes went.

    Examples
    --------
    >>> sf.Density(sf.Normal()).fit([[1.0], [3.0]]).score_samples([[2.0]]).round(3)
    array([-0.919])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "prototype": [Distribution, None],
        "prior": "no_validation",
        "max_iter": [AT_LEAST_ONE],
        "tol": [ABOVE_ZERO, None],
        "n_init": [AT_LEAST_ONE],
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        prototype: Distribution | None = None,
        *,
        prior: Prior = None,
        max_iter: int = 1000,
        tol: float | None = None,
        n_init: int = 1,
        random_state: Seed = None,
    ) -> None:
        """Keep the options."""
        self.prototype = prototype
        self.prior = prior
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state

    @property
    def _given(self) -> Any:
        return _prototype(self)

    def _rows(self, X: Data, *, reset: bool = False) -> Any:
        """Rows as the distribution takes them."""
        prototype = self._given if reset else self.distribution_
        named = columns_of(self, X, reset=reset) if by_name(self._given) or is_mapping(X) else None
        if named is not None:
            X = named
        else:
            kinds = None if takes_labels(self._given) else [np.float64, np.float32]
            with locating_text(X, type(self).__name__, "give a prototype for every column, as sf.infer(X) makes one"):
                X = validate_data(self, X, reset=reset, dtype=kinds, ensure_all_finite="allow-nan")
        return prototype.read(X)

    @checked
    def fit(self, X: Data, y: Data = None, sample_weight: Data = None) -> Self:
        """Learn from rows (n, d); weight 2 is the row twice."""
        del y
        rows = self._rows(X, reset=True)
        options: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol, "n_init": self.n_init}
        rng = generator(self.random_state)
        weights = row_weights(sample_weight, rows)
        self.fit_ = fit(self._given, rows, weights=weights, prior=self.prior, random_state=rng, **options)
        self.fit_ = named_fit(self.fit_, getattr(self, "feature_names_in_", None))
        self.distribution_, self.statistics_ = self.fit_.distribution, self.fit_.statistics
        self.n_iter_, self.converged_ = self.fit_.n_iter, self.fit_.converged
        return self

    @available_if(lambda self: self._given.exact)
    @checked
    def partial_fit(self, X: Data, y: Data = None, sample_weight: Data = None) -> Self:
        """Add rows; any split of rows gives what ``fit`` of all would."""
        del y
        first = not hasattr(self, "statistics_")
        rows = self._rows(X, reset=first)
        stats = self._given.suffstats(rows, row_weights(sample_weight, rows))
        if not stats.exact:
            msg = (
                f"Density.partial_fit sees rows once, and where columns vary together what {self._given.name} expects "
                "of a missing cell takes several passes. Give all rows to fit, or complete ones here."
            )
            raise UnsupportedError(msg)
        self._adopt(stats if first else self.statistics_ + stats)
        return self

    def merge(self, other: Self) -> Self:
        """Add what another fit of the same prototype learned: as if its rows had been seen here."""
        check_is_fitted(self)
        check_mergeable(self, other)
        here, there = (repr((_prototype(one), one.prior)) for one in (self, other))
        if here != there:
            msg = f"merge adds fits of the same prototype and prior; here is {self!r:.100}, there {other!r:.100}."
            raise DataError(msg)
        stats = added(self.distribution_, other.distribution_, self.statistics_, other.statistics_)
        if not stats.exact:
            msg = "merge needs exact statistics here; of mixtures use sf.merge(a.fit_, b.fit_), or fit all rows again."
            raise UnsupportedError(msg)
        self._adopt(stats)
        return self

    def _adopt(self, stats: Statistics) -> None:
        """Estimate from exact statistics."""
        self.__dict__.pop("fit_", None)
        self.statistics_ = stats
        self.distribution_ = self._given.for_statistics(stats).estimate(stats, self.prior)
        self.n_iter_, self.converged_ = 1, True

    def score_samples(self, X: Data) -> Array:
        """Log density of each row, (n,)."""
        check_is_fitted(self)
        return np.asarray(self.distribution_.log_prob(self._rows(X)))

    def score(self, X: Data, y: Data = None) -> float:
        """Mean log density of the rows."""
        del y
        return float(np.mean(self.score_samples(X)))

    def sample(self, n_samples: int = 1) -> Any:
        """Draw rows: an array (n, d), or columns by name."""
        check_is_fitted(self)
        drawn = self.distribution_.sample(n_samples, generator(self.random_state))
        return drawn[:, None] if not isinstance(drawn, dict) and np.ndim(drawn) == 1 else drawn

    def __sklearn_tags__(self) -> Any:
        """Tell that missing cells are welcome, and whether labels are."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = takes_labels(self._given)
        return tags


def _prototype(estimator: Density) -> Any:
    return MultivariateNormal() if estimator.prototype is None else estimator.prototype
