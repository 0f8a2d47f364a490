"""GaussianMixture beside scikit-learn's."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture as Theirs

import suffice as sf
from suffice.em.init.short_runs import ShortRuns
from suffice.estimators.gaussians import STRUCTURE_NAMES

IRIS = load_iris().data
SHARED = ["full", "tied", "diag", "spherical"]
FITTED = ["weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"]
MATRIX = 2.0 * np.eye(4) + 0.3
PRECISIONS = {
    "full": np.array([MATRIX, 2 * MATRIX, 3 * MATRIX]),
    "tied": MATRIX,
    "diag": np.arange(1.0, 13.0).reshape(3, 4),
    "spherical": np.array([1.0, 2.0, 3.0]),
}


def given(kind):
    return {
        "covariance_type": kind,
        "weights_init": [0.2, 0.3, 0.5],
        "means_init": IRIS[[0, 60, 120]],
        "precisions_init": PRECISIONS[kind],
    }


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("max_iter", [1, 2, 3, 5, 12])
@pytest.mark.parametrize("kind", SHARED)
def test_the_same_start_gives_the_same_passes(kind, max_iter):
    options = {**given(kind), "max_iter": max_iter, "tol": 0.0}
    ours, theirs = sf.GaussianMixture(3, **options).fit(IRIS), Theirs(3, **options).fit(IRIS)
    for name in [*FITTED, "lower_bound_"]:
        assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9, atol=1e-12, err_msg=name)
    if hasattr(theirs, "lower_bounds_"):  # scikit-learn has it since 1.7
        assert_allclose(ours.lower_bounds_, theirs.lower_bounds_, rtol=1e-10)
    assert ours.n_iter_ == theirs.n_iter_
    assert ours.converged_ == theirs.converged_
    assert_array_equal(ours.predict(IRIS), theirs.predict(IRIS))
    assert_allclose(ours.predict_proba(IRIS), theirs.predict_proba(IRIS), atol=1e-9)
    assert_allclose(ours.score_samples(IRIS), theirs.score_samples(IRIS), rtol=1e-9)
    for name in ("score", "bic", "aic"):
        assert_allclose(getattr(ours, name)(IRIS), getattr(theirs, name)(IRIS), rtol=1e-9)


@pytest.mark.parametrize("kind", SHARED)
def test_the_same_tolerance_ends_after_as_many_passes(kind):
    for tol in (1e-2, 1e-4, 1e-6):
        options = {**given(kind), "max_iter": 500, "tol": tol}
        ours, theirs = sf.GaussianMixture(3, **options).fit(IRIS), Theirs(3, **options).fit(IRIS)
        assert (ours.n_iter_, ours.converged_) == (theirs.n_iter_, True)


@pytest.mark.parametrize("kind", SHARED)
def test_one_start_is_as_good_as_their_best_of_five(kind):
    theirs = Theirs(3, covariance_type=kind, n_init=5, random_state=0).fit(IRIS)
    for seed in range(3):
        ours = sf.GaussianMixture(3, covariance_type=kind, random_state=seed).fit(IRIS)
        assert ours.score(IRIS) >= theirs.score(IRIS) - 1e-4
        for name in [*FITTED, "lower_bound_", "n_iter_", "converged_", "n_features_in_"]:
            assert np.shape(getattr(ours, name)) == np.shape(getattr(theirs, name))
        assert len(ours.lower_bounds_) == ours.n_iter_
        assert type(ours.n_iter_) is int
        assert type(ours.converged_) is bool


def test_the_constructor_takes_what_theirs_takes():
    ours, theirs = sf.GaussianMixture().get_params(), Theirs().get_params()
    assert {name: ours[name] for name in theirs} == theirs
    assert set(ours) - set(theirs) == {"prior"}


@pytest.mark.parametrize("how", ["kmeans", "k-means++", "random", "random_from_data"])
def test_every_start_finds_separate_clusters(how):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(80, 2)) + place for place in ([0, 0], [30, 0], [0, 30])])
    for seed in range(3):
        model = sf.GaussianMixture(3, init_params=how, random_state=seed, n_init=5, max_iter=500).fit(X)
        assert_allclose(model.weights_, 1 / 3, atol=1e-6)


@pytest.mark.parametrize("kind", STRUCTURE_NAMES)
def test_structures_are_those_of_the_library(kind):
    model = sf.GaussianMixture(2, covariance_type=kind, random_state=0, tol=1e-9, max_iter=1000).fit(IRIS)
    fit = sf.fit(sf.Mixture(sf.MultivariateNormal(structure=kind), 2), IRIS, random_state=0)
    assert_allclose(model.score(IRIS) * 150, fit.log_likelihood, rtol=1e-5)
    assert_allclose(model.bic(IRIS), fit.bic, rtol=1e-5)
    assert model.covariances_.shape == (2, 4, 4)
    assert_allclose(model.precisions_ @ model.covariances_, np.broadcast_to(np.eye(4), (2, 4, 4)), atol=1e-8)


@pytest.mark.parametrize("kind", [*SHARED, "VEV"])
def test_a_weight_is_a_repetition(kind):
    weights = np.random.default_rng(1).integers(0, 4, len(IRIS))
    options = {"covariance_type": kind, "random_state": 3}
    weighted = sf.GaussianMixture(3, **options).fit(IRIS, sample_weight=weights)
    repeated = sf.GaussianMixture(3, **options).fit(np.repeat(IRIS, weights, axis=0)[::-1])
    for name in [*FITTED, "lower_bound_"]:
        assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-7, atol=1e-9, err_msg=name)


# ---- going on ------------------------------------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_warm_start_goes_on():
    whole = sf.GaussianMixture(3, **given("full"), max_iter=6, tol=0.0).fit(IRIS)
    steps = sf.GaussianMixture(3, **given("full"), max_iter=2, tol=0.0, warm_start=True)
    for _ in range(3):
        steps.fit(IRIS)
    assert_allclose(steps.means_, whole.means_, rtol=1e-12)
    once = sf.GaussianMixture(3, **given("full"), max_iter=1, tol=1e-6, warm_start=True)
    scores = []
    while not getattr(once, "converged_", False):
        scores.append(once.fit(IRIS).score(IRIS))
    assert (np.diff(scores) > -1e-7).all()
    assert 3 < len(scores) < 300


@pytest.mark.parametrize("kind", ["EEE", "VVI", "EVE", "VVV"])
def test_structures_by_letters_keep_above_the_ridge(kind):
    model = sf.GaussianMixture(3, covariance_type=kind, reg_covar=0.5, random_state=0).fit(IRIS)
    assert min(np.linalg.eigvalsh(one).min() for one in model.covariances_) >= 0.5 * (1 - 1e-9)


@pytest.mark.parametrize("kind", ["tied", "diag", "spherical", "EEE", "VVI"])
def test_a_warm_start_honours_changed_options(kind):
    model = sf.GaussianMixture(3, random_state=0, tol=1e-9, max_iter=1000, warm_start=True).fit(IRIS)
    model.set_params(covariance_type=kind).fit(IRIS)
    start = {"weights_init": model.weights_, "means_init": model.means_, "precisions_init": model.precisions_}
    alone = sf.GaussianMixture(3, covariance_type=kind, tol=1e-9, max_iter=1000, **start).fit(IRIS)
    assert model.distribution_.components.structure == kind
    assert_allclose(model.lower_bound_, alone.lower_bound_, rtol=1e-6)
    before = model.lower_bound_
    model.set_params(reg_covar=0.5).fit(IRIS)
    assert model.lower_bound_ < before - 1e-3
    least = min(np.linalg.eigvalsh(one).min() for one in model.distribution_.components.cov)
    assert least >= 0.5
    model.set_params(n_components=2).fit(IRIS)
    assert len(model.means_) == 2
    model.fit(IRIS[:, :2])
    assert model.means_.shape == (2, 2)


def test_online_steps_are_what_is_stated():
    first, second = IRIS[::2], IRIS[1::2]
    model = sf.GaussianMixture(3, **given("full")).partial_fit(first)
    before, statistics = model.distribution_, model.statistics_
    model.partial_fit(second)
    step = 0.5**0.6
    expected = before.estimate(statistics * (1 - step) + before.suffstats(second) * step)
    assert_allclose(model.means_, expected.components.mean, rtol=1e-12)
    assert_allclose(model.weights_, expected.weights, rtol=1e-12)
    assert (model.n_seen_, model.n_iter_) == (150.0, 2)


def test_many_online_steps_come_near_a_fit():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(2000, 2)), rng.normal(size=(1000, 2)) + 6])[rng.permutation(3000)]
    model = sf.GaussianMixture(2, random_state=0)
    for part in np.array_split(X, 15):
        model.partial_fit(part)
    fit = sf.GaussianMixture(2, random_state=0).fit(X)
    order = np.argsort(model.means_[:, 0])
    assert_allclose(model.means_[order], fit.means_, atol=0.15)
    assert_allclose(model.weights_[order], fit.weights_, atol=0.05)
    assert model.score(X) > fit.score(X) - 0.01


def test_online_steps_go_on_from_a_fit():
    model = sf.GaussianMixture(3, random_state=0).fit(IRIS)
    means = model.means_.copy()
    model.partial_fit(IRIS)
    assert_allclose(model.means_, means, atol=0.02)
    assert model.n_seen_ == 300.0


# ---- holes ---------------------------------------------------------------------------------------------------------
def holed():
    X = IRIS.copy()
    X[np.random.default_rng(2).random(X.shape) < 0.2] = np.nan
    return X


def test_holes_of_independent_columns_are_left_out():
    X = holed()
    model = sf.GaussianMixture(3, covariance_type="diag", random_state=0, tol=1e-9, max_iter=2000, reg_covar=0.0).fit(X)
    fit = sf.fit(sf.Mixture(sf.Normal(), 3), X, random_state=0)
    assert_allclose(model.score(X) * 150, fit.log_likelihood, rtol=1e-6)
    assert_allclose(model.score_samples(X), fit.log_prob(X), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("kind", ["spherical", "EII", "VII", "EEI", "VEI", "EVI", "VVI"])
def test_em_with_missing_cells_never_falls_under_every_diagonal_structure(kind):
    X = holed()
    model = sf.GaussianMixture(3, covariance_type=kind, random_state=0, tol=1e-8, max_iter=3000, reg_covar=0.0).fit(X)
    assert model.converged_
    assert (np.diff(model.lower_bounds_) > -1e-9).all()
    bound = model.distribution_.log_likelihood(model.distribution_.suffstats(X))
    assert_allclose(bound, model.score(X) * 150, rtol=1e-10)
    least = sf.GaussianMixture(1, covariance_type=kind).fit(X).score(X)
    assert model.score(X) > least + 0.5


@pytest.mark.parametrize("init", ["kmeans", "k-means++", "random", "random_from_data"])
def test_holes_in_full_covariances(init):
    X = holed()
    model = sf.GaussianMixture(3, init_params=init, n_init=4, random_state=0, tol=1e-9, max_iter=2000, reg_covar=0.0)
    model.fit(X)
    assert (np.diff(model.lower_bounds_) > -1e-9).all()
    assert_allclose(model.score(X), model.lower_bound_, rtol=1e-8)
    assert adjusted_rand_score(load_iris().target, model.predict(X)) > (0.7 if init == "kmeans" else 0.4)


def test_means_and_precisions_to_begin_at_may_be_given_with_holes():
    X = holed()
    begin = sf.GaussianMixture(3, random_state=0, tol=1e-9, max_iter=2000).fit(X)
    given = {"means_init": begin.means_, "weights_init": begin.weights_, "precisions_init": begin.precisions_}
    model = sf.GaussianMixture(3, **given, tol=1e-9, max_iter=2000).fit(X)
    assert_allclose(model.score(X), begin.score(X), rtol=1e-6)
    assert_allclose(model.means_, begin.means_, rtol=1e-3)
    near = sf.GaussianMixture(3, means_init=begin.means_, tol=1e-9, max_iter=2000).fit(X)
    assert near.score(X) > begin.score(X) - 0.02


# ---- as an estimator -----------------------------------------------------------------------------------------------
def test_a_prior_is_respected():
    prior = {"weights": sf.Dirichlet([1e6])}
    assert_allclose(sf.GaussianMixture(3, prior=prior, random_state=0).fit(IRIS).weights_, 1 / 3, atol=1e-4)
    free = sf.GaussianMixture(3, random_state=0).fit(IRIS)
    weak = sf.GaussianMixture(3, prior="weak", random_state=0).fit(IRIS)
    assert weak.score(IRIS) < free.score(IRIS)
    assert np.linalg.eigvalsh(weak.covariances_).min() > np.linalg.eigvalsh(free.covariances_).min()


def test_em_that_does_not_converge_warns():
    with pytest.warns(ConvergenceWarning, match="did not converge.*max_iter"):
        sf.GaussianMixture(3, **given("full"), max_iter=1).fit(IRIS)
    model = sf.GaussianMixture(3, **given("full"), max_iter=0).fit(IRIS)
    assert (model.n_iter_, model.lower_bound_, model.lower_bounds_) == (0, -np.inf, [])
    assert_allclose(model.means_, IRIS[[0, 60, 120]])


def test_samples_come_with_their_components():
    model = sf.GaussianMixture(3, random_state=0).fit(IRIS)
    X, y = model.sample(3000)
    assert (np.diff(y) >= 0).all()
    assert_allclose(np.bincount(y) / 3000, model.weights_, atol=0.03)
    for j in range(3):
        assert_allclose(X[y == j].mean(axis=0), model.means_[j], atol=0.1)
    assert_array_equal(model.sample(5)[0], model.sample(5)[0])
    with pytest.raises(ValueError, match="n_samples"):
        model.sample(0)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_keep_their_names(frame):
    names = ["a", "b", "c", "d"]
    data = frame(IRIS, names) if frame is pl.DataFrame else frame(IRIS, columns=names)
    model = sf.GaussianMixture(3, random_state=0).fit(data)
    assert model.feature_names_in_.tolist() == names
    assert_array_equal(model.means_, sf.GaussianMixture(3, random_state=0).fit(IRIS).means_)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(data[names[::-1]])


def test_copies_are_equal():
    model = sf.GaussianMixture(3, covariance_type="tied", random_state=0, prior=sf.Dirichlet([2.0])).fit(IRIS)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301 (our own bytes)
    assert_array_equal(again.predict_proba(IRIS), model.predict_proba(IRIS))
    assert_array_equal(again.partial_fit(IRIS).means_, model.partial_fit(IRIS).means_)
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        clone(model).predict(IRIS)


def test_single_precision_is_as_good():
    model = sf.GaussianMixture(3, random_state=0).fit(IRIS.astype(np.float32))
    assert_allclose(model.score(IRIS), sf.GaussianMixture(3, random_state=0).fit(IRIS).score(IRIS), atol=1e-4)


def test_verbose_runs_print(capsys):
    sf.GaussianMixture(3, **given("full"), verbose=2, verbose_interval=1).fit(IRIS)
    told = capsys.readouterr().out
    assert "Initialization 0" in told
    assert "  Iteration 2\t lower bound" in told
    assert "converged" in told


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weights_init": [0.5, 0.6]}, "normalized"),
        ({"weights_init": [1.5, -0.5]}, r"range \[0, 1\]"),
        ({"weights_init": [1.0]}, r"'weights' should have the shape of \(2,\)"),
        ({"means_init": [[0.0, 1.0]]}, r"'means' should have the shape of \(2, 4\)"),
        ({"precisions_init": np.eye(4)}, "'full precision' should have the shape"),
        ({"precisions_init": [-np.eye(4), np.eye(4)]}, "symmetric, positive-definite"),
        ({"covariance_type": "diag", "precisions_init": -np.ones((2, 4))}, "'diag precision' should be positive"),
        ({"covariance_type": "round"}, "'covariance_type' parameter of GaussianMixture must be"),
    ],
)
def test_bad_starts_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        sf.GaussianMixture(2, **options).fit(IRIS)


# ---- the end of a run ----------------------------------------------------------------------------------------------
def slow(n=4000):
    rng = np.random.default_rng(3)
    return np.concatenate([rng.normal(size=(n, 2)), rng.normal(size=(n // 2, 2)) * [2.0, 0.7] + [1.5, 0.5]])


def test_extrapolated_passes_go_on_until_hardly_anything_is_left_to_gain():
    X = slow()
    top = sf.fit(sf.Mixture(sf.MultivariateNormal(), 2), X, random_state=0).log_likelihood / len(X)
    found = sf.GaussianMixture(2, random_state=0).fit(X)
    assert found.converged_
    assert found.score(X) > top - 1e-4
    assert abs(np.diff(found.lower_bounds_)[-1]) < 1e-6


def test_a_run_whose_passes_run_out_has_converged_where_the_last_gained_less_than_tol():
    X = slow()
    options = {"init_params": "k-means++", "random_state": 0}  # the start does not depend on max_iter
    gains = np.abs(np.diff(sf.GaussianMixture(2, tol=1e-12, max_iter=30, **options).fit(X).lower_bounds_))
    enough = int(np.argmax(gains < 1e-3)) + 2
    assert sf.GaussianMixture(2, max_iter=enough, **options).fit(X).converged_
    with pytest.warns(ConvergenceWarning):
        assert not sf.GaussianMixture(2, tol=gains[enough - 2] / 2, max_iter=enough, **options).fit(X).converged_


def test_few_passes_are_few_from_k_means_on():
    X = slow()
    brief = sf.GaussianMixture(2, random_state=0, max_iter=2, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        brief.fit(X)
    assert brief.n_iter_ == 2
    assert brief.lower_bound_ < sf.GaussianMixture(2, random_state=0, tol=1e-9).fit(X).lower_bound_ - 1e-4


def test_the_lower_bound_has_changed_by_less_than_tol_only_after_two_passes():
    assert sf.GaussianMixture(1).fit(IRIS).n_iter_ == Theirs(1).fit(IRIS).n_iter_ == 2


@pytest.mark.parametrize("seed", range(4))
def test_of_several_runs_the_one_with_the_highest_lower_bound_is_kept(seed):
    X = np.random.default_rng(seed).normal(size=(30, 2))  # noise: chance explains every component
    bounds = []
    for m in (1, 4):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = sf.GaussianMixture(2, n_init=m, max_iter=3, random_state=seed).fit(X)
        assert "collapsed" not in dict(model.alerts_)
        bounds.append(model.lower_bound_)
    assert bounds[1] >= bounds[0]


def test_alerts_say_what_not_to_trust():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(100, 2)), np.full((6, 2), 3.0)])
    model = sf.GaussianMixture(2, covariance_type="diag", random_state=0)
    assert not hasattr(model, "alerts_")
    assert [code for code, _ in model.fit(X).alerts_] == ["collapsed"]
    assert "component 1 (6 rows)" in model.alerts_[0][1]
    assert sf.io.loads(sf.io.dumps(model)).alerts_ == model.alerts_
    flat = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"]).assign(c=1.0)
    told = dict(model.fit(flat).alerts_)
    assert "column 'c' is constant" in told["constant"]
    assert sf.GaussianMixture(3, random_state=0).fit(IRIS).alerts_ == ()


@pytest.mark.parametrize("kind", [sf.GaussianMixture, sf.BayesianGaussianMixture])
def test_alerts_say_that_it_did_not_converge(kind):
    model = kind(n_components=3, max_iter=2, init_params="random", random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(IRIS)
    assert dict(model.alerts_)["not converged"].startswith("it stopped after 2 passes, before")
    assert "not converged" not in dict(model.set_params(max_iter=500).fit(IRIS).alerts_)


def test_under_a_prior_the_bound_is_the_log_posterior_per_row():
    prior = {
        "weights": sf.Dirichlet(np.array([3.0])),
        "components": sf.NormalInverseWishart(np.zeros(4), 1, 6, np.eye(4)),
    }
    model = sf.GaussianMixture(2, prior=prior, random_state=0, tol=1e-9, max_iter=500).fit(IRIS)
    believed = float(model.distribution_.log_prior(prior))
    assert abs(believed) > 1.0
    assert_allclose(model.lower_bound_, model.score(IRIS) + believed / len(IRIS), rtol=1e-8)
    first, second = (sf.GaussianMixture(2, prior=prior, random_state=0).fit(part) for part in (IRIS[::2], IRIS[1::2]))
    with pytest.warns(sf.SufficeWarning):
        first.merge(second)
    height = float(np.sum(first.distribution_.log_likelihood(first.statistics_)))
    believed = float(first.distribution_.log_prior(prior))
    assert_allclose(first.lower_bound_, (height + believed) / len(IRIS), rtol=1e-12)
    before = float(first.distribution_.log_prior(prior)) / len(IRIS) + first.score(IRIS)
    assert_allclose(first.partial_fit(IRIS).lower_bound_, before, rtol=1e-10)


@pytest.mark.parametrize("kind", ["full", "VVE"])
def test_an_interrupted_start_is_shown_as_far_as_it_came(kind, monkeypatch):
    calls, run = [], ShortRuns.run_em

    def stopped(self, *given, **options):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return run(self, *given, **options)

    monkeypatch.setattr(ShortRuns, "run_em", stopped)
    X = load_iris().data
    with pytest.warns(ConvergenceWarning, match="interrupted before the first pass"):
        model = sf.GaussianMixture(3, covariance_type=kind, random_state=0).fit(X)
    assert not model.converged_
    assert model.n_iter_ == 1
    assert model.score(X) > sf.GaussianMixture(1, covariance_type=kind).fit(X).score(X)
