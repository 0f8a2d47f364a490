"""Mixtures of Gaussians whose parameters are only believed, in the place of scikit-learn's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from suffice.bayes.posterior import Posterior
from suffice.distributions.covariance_algebra import floored
from suffice.distributions.dirichlet import Dirichlet
from suffice.distributions.floors import rounding_floor
from suffice.distributions.multivariate_normal import MultivariateNormal
from suffice.distributions.structured_wishart import KEPT, StructuredWishart
from suffice.em.alerts import refuse_large
from suffice.em.init.k_means import Centres
from suffice.estimators.base import MixtureShell
from suffice.estimators.gaussians import (
    GAUSSIAN,
    PROGRESS,
    SHAPES,
    GaussianAttributes,
    at_means,
    check_weights,
    matrices_of,
    show,
)
from suffice.estimators.validation import ABOVE_ZERO, AT_LEAST_ZERO, one_of, rules_of
from suffice.models.mixture import Mixture
from suffice.models.variational import VariationalMixture, largest_first, posterior_of, tag_assignments
from suffice.models.weight_posterior import DirichletShares, StickBreaking, shares_of
from suffice.statistics.weights import OneHot, Weights
from suffice.tables.row_draws import RowDraws
from suffice.tables.scales import scale_of
from suffice.tables.sketch import subsample_rows
from suffice.types import Array, Data, Prior, Rows, Seed

SHARES: dict[str, Callable[[Any], Any]] = {
    "dirichlet_process": StickBreaking,
    "dirichlet_distribution": lambda one: DirichletShares(Dirichlet(np.array([float(one)]))),
}
BELIEFS = ("mean_precision_", "degrees_of_freedom_", "weight_concentration_")
PRIOR = (
    *("weight_concentration_prior_", "mean_precision_prior_", "mean_prior_", "degrees_of_freedom_prior_"),
    "covariance_prior_",
)
KMEANS_PASSES, KMEANS_REST = 300, 1e-4
RANDOM_ROWS = 20000


class BayesianGaussianMixture(GaussianAttributes, MixtureShell):
    """Rows from Gaussian clusters, how many of them the data decide, by variational Bayes.

    Takes the arguments of ``sklearn.mixture.BayesianGaussianMixture`` and shows its attributes: to change over, change
    the import. From the same start each pass is scikit-learn's; steps are extrapolated, and taken back where they would
    lower the bound. Beyond it: ``sample_weight`` (weight 2 is the row twice), missing cells and ``partial_fit``.

    Parameters
    ----------
    n_components : int
        How many clusters at most: superfluous ones get weights near 0.
    covariance_type : str
        "full", "tied", "diag" or "spherical".
    tol : float
        The run ends when a pass changes the bound by less than this, in nats.
    reg_covar : float
        Added to every variance.
    max_iter, n_init : int
        Most passes of a run, and number of runs, of which the best stands.
    init_params : str
        "kmeans": rows belong to their nearest centre; "k-means++" and "random_from_data": each cluster begins with one
        row; "random": responsibilities at random, of a sketch of the rows.
    weight_concentration_prior_type : str
        "dirichlet_process" (by stick-breaking) or "dirichlet_distribution".
    weight_concentration_prior : float, optional
        The concentration: small ones give few clusters nearly all weight. 1/n_components by default.
    mean_precision_prior, mean_prior : float, array
        How many rows the belief about a mean is worth, 1, and that mean, the mean of the rows.
    degrees_of_freedom_prior, covariance_prior : float, array
        How many rows the belief about a covariance is worth, d, and their scatter, the covariance of the rows.
    random_state : int, Generator or RandomState, optional
        None, a seed, a Generator, or a RandomState.
    warm_start : bool
        Whether ``fit`` goes on from the last fit, under its prior; changed options of the prior make another.
    verbose, verbose_interval : int
        1 prints every so many passes, 2 with their bound.

    Attributes
    ----------
    weights_, means_, covariances_, precisions_, precisions_cholesky_
        The expected parameters, in scikit-learn's shapes.
    weight_concentration_, mean_precision_, degrees_of_freedom_
        The beliefs about weights, means and covariances, beside ``means_`` and ``covariances_``.
    weight_concentration_prior_, mean_precision_prior_, mean_prior_, degrees_of_freedom_prior_, covariance_prior_
        The prior.
    converged_, n_iter_, lower_bound_, lower_bounds_
        How the best run went: its passes over the rows, and the bound of the log evidence that they saw, with the
        constants that scikit-learn leaves out.
    alerts_
        ``(code, text)`` pairs: what to know before trusting it.
    distribution_, statistics_, n_seen_
        The belief as a value, whose ``predictive`` is the distribution of a new row, the statistics of the last pass,
        and the weight of the rows behind them.

    References
    ----------
    Attias, H. (2000). A variational Bayesian framework for graphical models. Advances in Neural Information
    Processing Systems 12, 209-215.
    Blei, D. M. and Jordan, M. I. (2006). Variational inference for Dirichlet process mixtures. Bayesian Analysis 1,
    121-143.

    Examples
    --------
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [4, 2], [12, 4], [10, 7]])
    >>> sf.BayesianGaussianMixture(n_components=2, random_state=42).fit(X).predict([[0, 0], [9, 3]])
    array([0, 1])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **rules_of(MixtureShell, "prior"),
        "covariance_type": [one_of(*SHAPES)],
        "reg_covar": [AT_LEAST_ZERO],
        "init_params": [one_of("kmeans", "k-means++", "random", "random_from_data")],
        "weight_concentration_prior_type": [one_of(*SHARES)],
        "weight_concentration_prior": [None, ABOVE_ZERO],
        "mean_precision_prior": [None, ABOVE_ZERO],
        "mean_prior": [None, "array-like"],
        "degrees_of_freedom_prior": [None, ABOVE_ZERO],
        "covariance_prior": [None, "array-like", ABOVE_ZERO],
    }

    def __init__(
        self,
        *,
        n_components: int = 1,
        covariance_type: str = "full",
        tol: float = 1e-3,
        reg_covar: float = 1e-6,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        weight_concentration_prior_type: str = "dirichlet_process",
        weight_concentration_prior: float | None = None,
        mean_precision_prior: float | None = None,
        mean_prior: Data = None,
        degrees_of_freedom_prior: float | None = None,
        covariance_prior: Data = None,
        random_state: Seed = None,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
    ) -> None:
        """Keep the options."""
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weight_concentration_prior_type = weight_concentration_prior_type
        self.weight_concentration_prior = weight_concentration_prior
        self.mean_precision_prior = mean_precision_prior
        self.mean_prior = mean_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.covariance_prior = covariance_prior
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval

    def _per(self, weights: Weights) -> float:
        del weights
        return 1.0

    @property
    def _source(self) -> Mixture:
        found: Mixture = self.distribution_.at_expected
        return found

    def _prototype(self, rows: Rows) -> Mixture:
        return Mixture(MultivariateNormal(structure=self.covariance_type), self.n_components).for_data(rows)

    _of_model = (
        *("n_components", "covariance_type", "reg_covar", "weight_concentration_prior_type"),
        *("weight_concentration_prior", "mean_precision_prior", "mean_prior", "degrees_of_freedom_prior"),
        "covariance_prior",
    )

    def _resume(self, model: Any, rows: Any, weights: Weights) -> Any:
        """The last belief, or under a changed prior that of the rows as it shares them out."""
        last = self.distribution_
        alike = last.n == model.n and last.components.structure == self.covariance_type
        if not alike or last.columns != model.columns:
            return None
        return (
            last
            if self._unchanged
            else posterior_of(last, last.suffstats(rows, weights), self._components_prior(rows, weights))
        )

    # ---- the prior ------------------------------------------------------------------------------------------------
    def _components_prior(self, rows: Array, weights: Weights) -> dict[str, Any]:
        """The prior of the weights and of the components."""
        (_, d), k = rows.shape, self.n_components
        shape, every = SHAPES[self.covariance_type], MultivariateNormal().first_statistics(rows, weights)
        total = float(every.weight[0])
        degrees = d if self.degrees_of_freedom_prior is None else self.degrees_of_freedom_prior
        if not degrees > d - 1:
            msg = f"The parameter 'degrees_of_freedom_prior' should be greater than {d - 1}, but got {degrees:.3f}."
            raise ValueError(msg)
        mean = every.mean[0] if self.mean_prior is None else np.array(self.mean_prior, dtype=np.float64)
        if mean.shape != (d,):
            msg = f"The parameter 'means' should have the shape of ({d},), but got {mean.shape}"
            raise ValueError(msg)
        if self.covariance_prior is None:
            scale = KEPT[self.covariance_type](every.scatter / max(total - 1.0, 0.5 * total))
        else:
            scale = matrices_of(self.covariance_prior, self.covariance_type, (), d, "covariance_prior")
        least = np.maximum(rounding_floor(mean), np.sqrt(self.reg_covar))[None]
        count = 1.0 if self.mean_precision_prior is None else float(self.mean_precision_prior)
        alpha = 1.0 / k if self.weight_concentration_prior is None else self.weight_concentration_prior
        self.weight_concentration_prior_, self.mean_precision_prior_ = alpha, count
        self.mean_prior_, self.degrees_of_freedom_prior_ = mean, degrees
        self.covariance_prior_ = (
            shape.display_name(scale)[0] if self.covariance_type != "tied" else shape.display_name(scale)
        )
        belief = StructuredWishart(
            mean, count, float(degrees), floored(scale, least)[0], self.covariance_type, float(self.reg_covar)
        )
        shares: Any = SHARES[self.weight_concentration_prior_type](alpha)
        return {"weights": shares.of(k), "components": belief}

    # ---- where to begin -------------------------------------------------------------------------------------------
    def _begin(
        self, model: Mixture, rows: Array, weights: Weights, rng: np.random.Generator, prior: Prior
    ) -> VariationalMixture:
        del prior
        refuse_large(model, rows, weights)
        stats = tag_assignments(model, *self._first(rows, weights, rng))
        believed = self._components_prior(rows, weights)
        return posterior_of(model, stats if self._given_order else largest_first(stats), believed)

    def _first(self, rows: Array, weights: Weights, rng: np.random.Generator) -> tuple[Array, Weights]:
        """Rows, and to whom they first belong."""
        k = self.n_components
        if self.init_params == "random":
            small, held = subsample_rows(rows, weights, RANDOM_ROWS, int(rng.integers(1 << 62)))
            shares = RowDraws.of(small, scale_of(small, held)).uniform(k, rng)
            return small, Weights.of(shares / shares.sum(axis=1, keepdims=True) * held.dense(), len(small))
        places = at_means(rows, weights)
        centres = Centres.drawn(places, weights, k, rng, apart=self.init_params != "random_from_data")
        if self.init_params != "kmeans":
            return centres.places, Weights.of(OneHot(np.arange(k), k), k)
        rest = KMEANS_REST * Centres.spread(places, weights)
        found = Centres(centres.places, rest).run_em(places, weights, KMEANS_PASSES).raise_if_interrupted().distribution
        return rows, Weights.of(OneHot(found.predict(places), k, weights.values), len(rows))

    # ---- what is shown --------------------------------------------------------------------------------------------
    def _show(self) -> None:
        show(self, self.distribution_, self.covariance_type)
        belief, shares = self.distribution_.beliefs.belief, self.distribution_.shares
        self.mean_precision_, degrees = np.array(belief.count), np.array(belief.df)
        self.degrees_of_freedom_ = float(degrees[0]) if self.covariance_type == "tied" else degrees
        self.weight_concentration_ = shares.concentrations

    _sklearn_class = ("sklearn.mixture", "BayesianGaussianMixture")
    _sklearn_attributes = (*GAUSSIAN, *PROGRESS, *BELIEFS, *PRIOR)
    _settable = (*GAUSSIAN, *BELIEFS)
    _as_rows = (*GAUSSIAN, "mean_prior_", "covariance_prior_")

    def _rebuild(self, changed: frozenset[str]) -> VariationalMixture:
        """The belief with these expected parameters, worth as many rows as before."""
        held = self.__dict__
        lacking = [name for name in BELIEFS if name not in held]
        if lacking:
            msg = f"{type(self).__name__} is not fitted, and for beliefs set by hand it lacks {', '.join(lacking)}."
            raise AttributeError(msg)
        shares = shares_of(held["weight_concentration_"])
        if "weights_" in changed and "weight_concentration_" not in changed:
            shares = shares.moved(check_weights(held["weights_"], len(shares.mean)))
        held["weights_"] = shares.mean
        _, mean, cov = self._set_parameters(changed)
        degrees = np.array(np.broadcast_to(held["degrees_of_freedom_"], len(mean)), dtype=np.float64)
        count = np.array(held["mean_precision_"], dtype=np.float64)
        scale = cov * degrees[:, None, None]
        belief = StructuredWishart(mean, count, degrees, scale, self.covariance_type, float(self.reg_covar))
        last = held.get("distribution_")
        if last is None or np.shape(last.components.mean) != mean.shape:
            self._begin_by_hand(mean.shape[1])
            prior, components = {"weights": shares, "components": belief}, MultivariateNormal(mean, cov)
            components = replace(components, structure=self.covariance_type)
        else:
            prior, components = last.prior, last.beliefs.likelihood
        posterior = Posterior(components, belief, np.zeros(len(mean)), prior=prior["components"])
        return VariationalMixture.of(posterior, shares, prior)

    def score_samples(self, X: Data) -> Array:
        """What each row adds to the bound, (n,), as scikit-learn scores it.

        That is less than its log density, which ``distribution_.predictive.log_prob(X)`` gives.
        """
        mixture, rows = self._read_for_answer(X)
        return self._in_precision(mixture.row_bounds(rows), X)
