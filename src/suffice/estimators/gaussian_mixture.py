"""Mixtures of Gaussians, in the place of scikit-learn's."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from suffice.distributions.multivariate_normal import MultivariateNormal
from suffice.em.init.starts import SHORT, floors_of
from suffice.em.loop import InterruptedStart
from suffice.estimators.base import MixtureShell
from suffice.estimators.criteria import Criteria
from suffice.estimators.gaussians import (
    SHAPES,
    STRUCTURE_NAMES,
    GaussianAttributes,
    at_means,
    check_means,
    check_weights,
    covariances_of,
    show,
)
from suffice.estimators.validation import AT_LEAST_ZERO, one_of, rules_of
from suffice.models.mixture import Mixture
from suffice.numerics.low_rank import LowRank, diagonals, replace
from suffice.statistics.weights import Weights
from suffice.types import Array, Data, Prior, Rows, Seed

CARE = 0.001  # of tol: what is left to gain may be a thousand times what the last pass gained

DEGENERATE = {"collapsed", "singular", "empty"}  # alerts that are warned of, too


class GaussianMixture(Criteria, GaussianAttributes, MixtureShell):
    """Rows from several Gaussian clusters, learned by EM.

    Takes the arguments of ``sklearn.mixture.GaussianMixture`` and shows its attributes: to change over, change the
    import. Beyond it: ``sample_weight`` (weight 2 is the row twice), ``partial_fit``, ``prior``, fourteen structures of
    covariances, and missing cells, of which the others tell what they can.

    Parameters
    ----------
    n_components : int
        How many clusters.
    covariance_type : str
        "full", "tied", "diag", "spherical", or three letters for volume, shape and orientation, "EII" … "VVV" (equal,
        variable, or the identity), whose covariances are shown as matrices (k, d, d).
    tol : float
        A run has converged when a pass changes the mean log-likelihood per row by less than this. Extrapolated
        passes are cheap near the end, and go on until it changes by less than a thousandth of this.
    reg_covar : float
        Added to every variance; under a structure by its letters, added to the floor under the variances.
    max_iter, n_init : int
        Most passes of a run, and number of runs, of which the best stands.
    init_params : str
        "kmeans": the best of several short runs of EM on a sketch of the rows, from k-means and k-means++ in several
        units and at random, or k-means alone where ``max_iter`` is below the passes of such a run; "k-means++": one of
        them;
        "random": responsibilities at random; "random_from_data": rows at random as means.
    weights_init, means_init, precisions_init : array, optional
        Parameters to begin at. With all three the passes are those of plain EM, one by one what scikit-learn does;
        otherwise steps are extrapolated, and taken back where they would lower the likelihood.
    random_state : int, Generator or RandomState, optional
        None, a seed, a Generator, or a RandomState.
    warm_start : bool
        Whether ``fit`` goes on from the last fit; as a start, where options have changed what is learned.
    verbose, verbose_interval : int
        1 prints every so many passes, 2 with their lower bound.
    prior : distribution, dict or "weak", optional
        ``{"weights": Dirichlet(…), "components": NormalInverseWishart(…)}``, either of them, or ``"weak"``.

    Attributes
    ----------
    weights_, means_, covariances_, precisions_, precisions_cholesky_
        The parameters, in scikit-learn's shapes.
    converged_, n_iter_, lower_bound_, lower_bounds_
        How the best run went: its passes over the rows, and the mean log-likelihood per row that they saw; with a
        prior, the log posterior (log-likelihood + log density of the prior) over the number of rows.
    alerts_
        ``(code, text)`` pairs: what to know before trusting it, such as components that collapsed or rest on few rows.
    distribution_, statistics_, n_seen_
        The mixture as a value, the statistics of the last pass, and the weight of the rows behind them.

    References
    ----------
    Dempster, A. P., Laird, N. M. and Rubin, D. B. (1977). Maximum likelihood from incomplete data via the EM
    algorithm. Journal of the Royal Statistical Society B 39, 1-38.
    Celeux, G. and Govaert, G. (1995). Gaussian parsimonious clustering models. Pattern Recognition 28, 781-793.

    Examples
    --------
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> sf.GaussianMixture(n_components=2, random_state=0).fit(X).means_
    array([[ 1., 2.],
           [10., 2.]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **rules_of(MixtureShell),
        "covariance_type": [one_of(*SHAPES, *STRUCTURE_NAMES)],
        "reg_covar": [AT_LEAST_ZERO],
        "init_params": [one_of("kmeans", "k-means++", "random", "random_from_data")],
        "weights_init": ["array-like", None],
        "means_init": ["array-like", None],
        "precisions_init": ["array-like", None],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: str = "full",
        tol: float = 1e-3,
        reg_covar: float = 1e-6,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        weights_init: Data = None,
        means_init: Data = None,
        precisions_init: Data = None,
        random_state: Seed = None,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
        prior: Prior = None,
    ) -> None:
        """Keep the options."""
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.prior = prior

    @property
    def _given(self) -> tuple[bool, ...]:
        return tuple(one is not None for one in (self.weights_init, self.means_init, self.precisions_init))

    @property
    def _accelerated(self) -> bool:
        return not all(self._given)

    @property
    def _care(self) -> float:
        return CARE if self._accelerated else 1.0

    @property
    def _given_order(self) -> bool:
        return any(self._given)

    def _prototype(self, rows: Rows) -> Any:
        component = MultivariateNormal(structure=self.covariance_type)
        floors: Any = float(self.reg_covar)
        if self.covariance_type in STRUCTURE_NAMES:
            floors = self.reg_covar * np.eye(rows.shape[1])
        return Mixture(component, self.n_components, floors=floors).for_data(rows)

    _of_model = ("n_components", "covariance_type", "reg_covar", "prior")

    def _resume(self, model: Mixture, rows: Rows, weights: Weights) -> Any:
        found = super()._resume(model, rows, weights)
        if found is None or self._unchanged or self.covariance_type in SHAPES:
            return found
        floors = floors_of(replace(model, floors=None), rows, weights)
        if isinstance(floors, LowRank):
            return _above(found, LowRank(floors.diagonal + diagonals(model.floors)))
        return _above(found, floors + model.floors)

    def _begin(self, model: Mixture, rows: Array, weights: Weights, rng: np.random.Generator, prior: Prior) -> Any:
        k, d = self.n_components, rows.shape[1]
        own, near, apart = self._given
        mean = check_means(self.means_init, k, d) if near else None
        share = check_weights(self.weights_init, k) if own else None
        cov = covariances_of(self.precisions_init, self.covariance_type, k, d) if apart else None
        stopped = False
        try:
            found = model if all(self._given) else self._found(model, rows, weights, rng, mean, prior)
        except InterruptedStart as start:
            found, stopped = self._above_floors(start.best.ordered(), model), True
        components = found.components
        cov = components.matrices if cov is None else cov
        components = replace(components, mean=components.mean if mean is None else mean, cov=cov)
        first = replace(found, components=components, weights=found.weights if share is None else share)
        if stopped:
            raise InterruptedStart(first)
        return first

    def _found(
        self, model: Mixture, rows: Array, weights: Weights, rng: np.random.Generator, mean: Array | None, prior: Prior
    ) -> Any:
        """The start that the library finds, under its own floors: they tell clusters from chance."""
        start = self._start(rows, weights, rng, mean)
        found = replace(model, floors=None).initialize(rows, weights, rng, start, prior)[0]
        return self._above_floors(found if isinstance(start, np.ndarray) else found.ordered(), model)

    def _above_floors(self, found: Mixture, model: Mixture) -> Any:
        if self.covariance_type in SHAPES:
            return replace(found, floors=model.floors)
        return _above(found, found.floors + model.floors)

    def _start(self, rows: Array, weights: Weights, rng: np.random.Generator, mean: Array | None) -> Any:
        """Where to begin, in the words of `suffice.fit`."""
        from suffice.em.init.k_means import Centres

        if mean is not None:
            return Centres(mean).predict(at_means(rows, weights))
        few = self.init_params == "kmeans" and self.max_iter < SHORT
        if few or self.init_params == "random_from_data":
            places = at_means(rows, weights)
            return Centres.drawn(places, weights, self.n_components, rng, apart=few).predict(places)
        return {"kmeans": None}.get(self.init_params, self.init_params)

    def _check_learned(self) -> None:
        degenerate = [alert for alert in self.distribution_.alerts(self.statistics_) if alert.code in DEGENERATE]
        if not degenerate:
            return
        bare = self.converged_ and self.reg_covar == 0 and self.prior is None and self.covariance_type in SHAPES
        if bare and any(alert.code in {"collapsed", "singular"} for alert in degenerate):
            self.__dict__.pop("distribution_", None)
            msg = (
                "Fitting the mixture model failed because some components have ill-defined empirical covariance (for "
                "instance caused by singleton or collapsed samples). Try to decrease the number of components, "
                "increase reg_covar, or scale the input data. A prior, as prior='weak', keeps spreads above 0 as well."
            )
            raise ValueError(msg)
        others = f" And {len(degenerate) - 1} more such alerts, in alerts_." if degenerate[1:] else ""
        warnings.warn(f"{type(self).__name__}: {degenerate[0].text}{others}", ConvergenceWarning, stacklevel=6)

    _sklearn_class = ("sklearn.mixture", "GaussianMixture")

    def _n_parameters(self) -> int:
        """Number of free parameters, under the name that public code uses."""
        return int(self.distribution_.n_parameters)

    def _show(self) -> None:
        show(self, self.distribution_, self.covariance_type)

    def _rebuild(self, changed: frozenset[str]) -> Any:
        weights, mean, cov = self._set_parameters(changed)
        last = self.__dict__.get("distribution_")
        if last is None or np.shape(last.components.mean) != mean.shape:
            self._begin_by_hand(mean.shape[1])
            return Mixture(MultivariateNormal(mean, cov, structure=self.covariance_type), weights=weights)
        return replace(last, components=replace(last.components, mean=mean, cov=cov), weights=weights)


def _above(mixture: Mixture, floors: Array | LowRank) -> Any:
    """The mixture with components that are not below the floors: an M-step takes none that is worse than one below."""
    return replace(mixture, components=mixture.components.apply_floor(floors), floors=floors)
