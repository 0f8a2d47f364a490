"""BayesianGaussianMixture beside scikit-learn's, pass by pass, and what is ours alone."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import sklearn.mixture
from scipy import special
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import estimator_checks as checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import suffice as sf
from suffice.statistics.weights import Weights

KINDS = ("full", "tied", "diag", "spherical")
PRIORS = ("dirichlet_process", "dirichlet_distribution")
SHOWN = (
    "weights_",
    "means_",
    "covariances_",
    "precisions_",
    "precisions_cholesky_",
    "mean_precision_",
    "degrees_of_freedom_",
    "weight_concentration_",
    "weight_concentration_prior_",
    "mean_precision_prior_",
    "mean_prior_",
    "degrees_of_freedom_prior_",
    "covariance_prior_",
)


def _clusters(n: int = 200) -> Any:
    rng = np.random.default_rng(0)
    first = rng.multivariate_normal([0, 0, 1], [[1, 0.5, 0], [0.5, 1, 0.2], [0, 0.2, 2]], n // 2)
    return np.concatenate([first, rng.multivariate_normal([6, 5, 0], np.eye(3), n - n // 2)])


X = _clusters()
SHARES = np.random.default_rng(1).dirichlet(np.ones(4), len(X))


class Ours(sf.BayesianGaussianMixture):
    """Plain passes from given responsibilities."""

    _accelerated = False
    _given_order = True

    def _first(self, rows: Any, weights: Any, rng: Any) -> Any:
        return rows, Weights.of(SHARES * weights.dense(), len(rows))


class Theirs(sklearn.mixture.BayesianGaussianMixture):
    """scikit-learn's from the same responsibilities."""

    def _initialize_parameters(self, X: Any, random_state: Any, xp: Any = None) -> None:
        self._initialize(X, SHARES)


def _options(**more: Any) -> dict[str, Any]:
    return {"n_components": 4, "tol": 0, "max_iter": 30, **more}


ESTIMATORS = [
    sf.BayesianGaussianMixture(),
    sf.BayesianGaussianMixture(n_components=3, covariance_type="tied"),
    sf.BayesianGaussianMixture(
        n_components=2, covariance_type="diag", weight_concentration_prior_type="dirichlet_distribution"
    ),
    sf.BayesianGaussianMixture(n_components=2, covariance_type="spherical", init_params="random"),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize(
    "check",
    [
        checks.check_param_validation,
        checks.check_dataframe_column_names_consistency,
        checks.check_sample_weight_equivalence_on_dense_data,
    ],
    ids=lambda check: check.__name__,
)
def test_checks_beyond(check: Any) -> None:
    check("BayesianGaussianMixture", sf.BayesianGaussianMixture(n_components=2))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("reg_covar", [0.0, 1e-3])
@pytest.mark.parametrize("weights", PRIORS)
@pytest.mark.parametrize("kind", KINDS)
def test_passes_are_those_of_scikit_learn(kind: str, weights: str, reg_covar: float) -> None:
    options = _options(covariance_type=kind, weight_concentration_prior_type=weights, reg_covar=reg_covar)
    ours, theirs = Ours(**options).fit(X), Theirs(**options).fit(X)
    for name in SHOWN:
        mine, other = np.asarray(getattr(ours, name)), np.asarray(getattr(theirs, name))
        assert mine.shape == other.shape, name
        np.testing.assert_allclose(mine, other, rtol=1e-8, atol=1e-9 * np.abs(other).max(), err_msg=name)
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-9)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-7, atol=1e-12)
    assert (ours.predict(X) == theirs.predict(X)).all()
    assert ours.score(X) == pytest.approx(theirs.score(X), rel=1e-9)
    assert ours.n_iter_ == theirs.n_iter_ or ours.converged_  # we stop where nothing moves any more


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("weights", PRIORS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_rises_as_that_of_scikit_learn(kind: str, weights: str) -> None:
    """Which leaves constants out, and computes it after the last M-step."""
    options = _options(covariance_type=kind, weight_concentration_prior_type=weights, reg_covar=0.0)
    bounds = []
    for passes in (3, 12):
        ours, theirs = Ours(**{**options, "max_iter": passes}).fit(X), Theirs(**{**options, "max_iter": passes}).fit(X)
        bounds.append((ours.distribution_.log_likelihood(ours.statistics_), float(np.squeeze(theirs.lower_bound_))))
        assert (np.diff(ours.lower_bounds_) >= -1e-9 * np.abs(ours.lower_bound_)).all()
    (mine, other), (mine_later, other_later) = bounds
    assert mine_later - mine == pytest.approx(other_later - other, rel=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_given_priors_are_those_of_scikit_learn(kind: str) -> None:
    scale = {"full": np.diag([1.0, 2.0, 3.0]), "tied": np.eye(3), "diag": [1.0, 2.0, 3.0], "spherical": 1.5}[kind]
    options = _options(
        covariance_type=kind,
        covariance_prior=scale,
        mean_prior=[1.0, 2.0, 3.0],
        mean_precision_prior=0.3,
        degrees_of_freedom_prior=4.5,
        weight_concentration_prior=2.5,
    )
    with pytest.warns(ConvergenceWarning):
        ours, theirs = Ours(**options).fit(X), Theirs(**options).fit(X)
    for name in SHOWN:
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-8, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("init", ["kmeans", "k-means++", "random", "random_from_data"])
def test_superfluous_clusters_empty_themselves(init: str) -> None:
    model = sf.BayesianGaussianMixture(n_components=6, init_params=init, max_iter=1000, random_state=0).fit(X)
    assert model.converged_
    assert np.sort(model.weights_)[-2:].sum() > 0.95
    found = np.sort(model.means_[np.argsort(model.weights_)[-2:], 0])
    assert found == pytest.approx([0.0, 6.0], abs=0.4)


@pytest.mark.parametrize("weights", PRIORS)
def test_the_example_of_the_concentration_prior(weights: str) -> None:
    """scikit-learn's gallery: a small concentration keeps one or few clusters, a large one many."""
    rng = np.random.RandomState(2)
    covs, means = [[[0.7, 0], [0, 0.1]], [[0.5, 0], [0, 0.1]], [[0.5, 0], [0, 0.1]]], [[0, -0.7], [0, 0.0], [0, 0.7]]
    rows = np.vstack([rng.multivariate_normal(m, c, n) for m, c, n in zip(means, covs, (200, 500, 200), strict=True)])
    used = []
    for concentration in (0.001, 1000) if weights == "dirichlet_distribution" else (1, 100000):
        model = sf.BayesianGaussianMixture(
            weight_concentration_prior_type=weights,
            n_components=6,
            reg_covar=0,
            init_params="random",
            max_iter=1500,
            mean_precision_prior=0.8,
            random_state=2,
        )
        model.set_params(weight_concentration_prior=concentration).fit(rows)
        assert model.converged_
        used.append(np.exp(special.entr(model.weights_).sum()))
    assert used[1] > used[0] + 0.5


def test_the_example_of_the_ellipses() -> None:
    rng = np.random.RandomState(0)
    rows = np.r_[rng.randn(500, 2) @ [[0.0, -0.1], [1.7, 0.4]], 0.7 * rng.randn(500, 2) + np.array([-6, 3])]
    model = sf.BayesianGaussianMixture(n_components=5, covariance_type="full", random_state=0).fit(rows)
    owned = np.bincount(model.predict(rows), minlength=5)
    assert owned.max() >= 490
    assert (owned > 0).sum() <= 3
    for mean, cov in zip(model.means_, model.covariances_, strict=True):
        assert mean.shape == (2,)
        assert (np.linalg.eigvalsh(cov) > 0).all()


def test_weight_two_is_the_row_twice() -> None:
    times = np.arange(len(X)) % 3
    again = np.repeat(X, times, axis=0)
    options = {"n_components": 3, "random_state": 0, "tol": 1e-9, "max_iter": 2000}
    weighed = sf.BayesianGaussianMixture(**options).fit(X, sample_weight=times)
    repeated = sf.BayesianGaussianMixture(**options).fit(again)
    np.testing.assert_allclose(weighed.means_, repeated.means_, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(weighed.covariance_prior_, repeated.covariance_prior_, rtol=1e-12)
    assert weighed.lower_bound_ == pytest.approx(repeated.lower_bound_, rel=1e-9)


def test_one_cluster_has_the_exact_evidence() -> None:
    model = sf.BayesianGaussianMixture(reg_covar=0, weight_concentration_prior_type="dirichlet_distribution").fit(X)
    prior = sf.NormalInverseWishart(
        model.mean_prior_, model.mean_precision_prior_, model.degrees_of_freedom_prior_, model.covariance_prior_
    )
    exact = sf.posterior(sf.MultivariateNormal(), X, prior=prior)
    assert model.lower_bound_ == pytest.approx(exact.log_evidence, rel=1e-10)
    scored = model.distribution_.predictive.log_prob(X)
    np.testing.assert_allclose(scored, exact.predictive().log_prob(X), rtol=1e-9)
    assert (model.score_samples(X) < scored).all()


def test_rows_are_drawn_from_the_expected_mixture() -> None:
    model = sf.BayesianGaussianMixture(n_components=3, random_state=0).fit(X)
    rows, who = model.sample(20_000)
    np.testing.assert_allclose(np.bincount(who, minlength=3) / 20_000, model.weights_, atol=0.02)
    best = int(model.weights_.argmax())
    np.testing.assert_allclose(rows[who == best].mean(axis=0), model.means_[best], atol=0.1)
    np.testing.assert_allclose(np.cov(rows[who == best].T), model.covariances_[best], atol=0.25)


def test_a_warm_start_goes_on() -> None:
    model = sf.BayesianGaussianMixture(n_components=4, warm_start=True, max_iter=2, random_state=0, tol=1e-8)
    bounds = []
    for _ in range(3):
        with pytest.warns(ConvergenceWarning):
            bounds.append(model.fit(X).lower_bound_)
    assert bounds[0] < bounds[1] < bounds[2]


def test_partial_fit_comes_near() -> None:
    rng = np.random.default_rng(3)
    model = sf.BayesianGaussianMixture(n_components=2, random_state=0)
    for _ in range(12):
        model.partial_fit(rng.permutation(X)[:100])
    whole = sf.BayesianGaussianMixture(n_components=2, random_state=0).fit(X)
    np.testing.assert_allclose(np.sort(model.means_[:, 0]), np.sort(whole.means_[:, 0]), atol=0.4)
    assert model.n_seen_ == 1200


def test_a_singular_covariance_of_the_rows_is_no_obstacle() -> None:
    flat = np.c_[X[:, 0], X[:, 0], np.ones(len(X))]
    model = sf.BayesianGaussianMixture(n_components=2, random_state=0).fit(flat)
    assert np.isfinite(model.lower_bound_)
    assert np.isfinite(model.score_samples(flat)).all()


def test_far_from_the_origin_nothing_changes() -> None:
    for kind in KINDS:
        options = {"n_components": 2, "covariance_type": kind, "random_state": 0, "tol": 1e-9, "reg_covar": 0.0}
        options |= {"weight_concentration_prior_type": "dirichlet_distribution", "max_iter": 500}
        near, far = (sf.BayesianGaussianMixture(**options).fit(X + away) for away in (0.0, 2.0**27))
        order = [np.argsort(one.means_[:, 0]) for one in (near, far)]
        np.testing.assert_allclose(near.weights_[order[0]], far.weights_[order[1]], rtol=1e-4)
        np.testing.assert_allclose(far.means_[order[1]] - 2.0**27, near.means_[order[0]], atol=1e-4)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"degrees_of_freedom_prior": 1.5}, "should be greater than 2"),
        ({"mean_prior": [0.0, 1.0]}, "should have the shape of"),
        ({"covariance_prior": np.eye(2)}, "should have the shape of"),
        ({"covariance_prior": -np.eye(3)}, "symmetric, positive-definite"),
        ({"covariance_prior": [-1.0, 1.0, 1.0], "covariance_type": "diag"}, "positive"),
        ({"n_components": 1000}, "n_samples >= n_components"),
    ],
)
def test_priors_that_cannot_be_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        sf.BayesianGaussianMixture(**options).fit(X)


def test_no_passes_show_the_start() -> None:
    with_none = sf.BayesianGaussianMixture(n_components=2, max_iter=0, random_state=0).fit(X)
    assert with_none.n_iter_ == 0
    assert with_none.means_.shape == (2, 3)


def test_clones_pickles_and_prints(capsys: Any) -> None:
    model = sf.BayesianGaussianMixture(n_components=2, random_state=0, verbose=2, verbose_interval=1).fit(X)
    out = capsys.readouterr().out
    assert out.startswith("Initialization 0\n  Iteration 1")
    assert f"{model.lower_bound_:.5f}" in out
    again = pickle.loads(pickle.dumps(model))  # noqa: S301 (made here)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert clone(model).get_params() == model.get_params()


def test_a_warm_start_honours_changed_options() -> None:
    X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0.0, 0.0], [6.0, 0.0]], 30, axis=0)
    options = {"n_components": 2, "random_state": 0, "tol": 1e-9, "max_iter": 500}
    model = sf.BayesianGaussianMixture(**options, warm_start=True).fit(X)
    model.set_params(mean_precision_prior=40.0).fit(X)
    alone = sf.BayesianGaussianMixture(**options, mean_precision_prior=40.0).fit(X)
    assert model.mean_precision_prior_ == 40.0
    np.testing.assert_allclose(model.lower_bound_, alone.lower_bound_, rtol=1e-6)
    model.set_params(covariance_type="diag").fit(X)
    assert model.covariances_.shape == (2, 2)
    assert model.set_params(n_components=3).fit(X).means_.shape == (3, 2)


def test_a_bound_is_no_likelihood_to_make_a_criterion_of() -> None:
    assert not hasattr(sf.BayesianGaussianMixture(), "bic")
    assert not hasattr(sf.BayesianGaussianMixture(), "aic")
