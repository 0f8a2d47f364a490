"""hmmlearn's estimators under its names: shapes and behaviour, and its numbers where it is installed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import suffice as sf
from suffice import hmm

RNG = np.random.default_rng(0)
STATES = (np.arange(300) // 20) % 3
LENGTHS = [100, 80, 120]
X = np.stack([RNG.normal(np.array([0, 3, 6])[STATES], 1), RNG.normal(np.array([0, -3, 1])[STATES], 0.7)], axis=1)
COUNTS = RNG.poisson(np.array([1, 5, 12])[STATES])[:, None]
LABELS = ((STATES + (RNG.random(300) < 0.2)) % 3)[:, None]
OUTCOMES = np.stack(
    [RNG.multinomial(8, p) for p in np.array([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2], [0.1, 0.8, 0.1]])[STATES]]
)
MATRIX = 0.01 * np.eye(2)  # a number would be added to every cell by hmmlearn
CASES = {
    "diag": ("GaussianHMM", X, {}),
    "full": ("GaussianHMM", X, {"covariance_type": "full", "covars_prior": MATRIX}),
    "tied": ("GaussianHMM", X, {"covariance_type": "tied", "covars_prior": MATRIX}),
    "sticky": ("GaussianHMM", X, {"transmat_prior": 5 * np.eye(3) + 1, "means_prior": 1.0, "means_weight": 2.0}),
    "start and transitions": ("GaussianHMM", X, {"params": "st"}),
    "poisson": ("PoissonHMM", COUNTS, {}),
    "labels": ("CategoricalHMM", LABELS, {}),
    "label prior": ("CategoricalHMM", LABELS, {"emissionprob_prior": 2.0}),
    "outcomes": ("MultinomialHMM", OUTCOMES, {}),
}
ATTRIBUTES = ("startprob_", "transmat_", "means_", "covars_", "lambdas_", "emissionprob_")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("implementation", ["log", "scaling"])
def test_fits_have_the_numbers_of_hmmlearn(case, implementation):
    peer = pytest.importorskip("hmmlearn.hmm")
    name, data, options = CASES[case]
    options = {"random_state": 3, "n_iter": 12, "tol": 1e-3, "implementation": implementation, **options}
    theirs, ours = (getattr(home, name)(3, **options).fit(data, LENGTHS) for home in (peer, hmm))
    assert_allclose(ours.monitor_.history, list(theirs.monitor_.history), rtol=1e-9)
    assert ours.monitor_.converged == theirs.monitor_.converged
    for attribute in ATTRIBUTES:
        if hasattr(theirs, attribute):
            assert_allclose(getattr(ours, attribute), getattr(theirs, attribute), atol=1e-7, err_msg=attribute)
    for algorithm in ("viterbi", "map"):
        told, expected = ours.decode(data, LENGTHS, algorithm), theirs.decode(data, LENGTHS, algorithm)
        assert told[0] == pytest.approx(expected[0], rel=1e-8)
        assert_array_equal(told[1], expected[1])
    assert_allclose(ours.predict_proba(data, LENGTHS), theirs.predict_proba(data, LENGTHS), atol=1e-7)
    assert ours.bic(data, LENGTHS) == pytest.approx(theirs.bic(data, LENGTHS), rel=1e-9)
    assert ours.aic(data, LENGTHS) == pytest.approx(theirs.aic(data, LENGTHS), rel=1e-9)
    assert_allclose(ours.get_stationary_distribution(), theirs.get_stationary_distribution(), atol=1e-7)


@pytest.mark.parametrize("kind", ["diag", "full", "spherical"])
def test_mixtures_of_gaussians_have_the_likelihood_of_hmmlearn(kind):
    peer = pytest.importorskip("hmmlearn.hmm")
    options = {"n_mix": 2, "covariance_type": kind, "init_params": "", "n_iter": 5, "tol": 0.0}
    start, both = hmm.GMMHMM(3, n_mix=2, covariance_type=kind, random_state=0, n_iter=1).fit(X, LENGTHS), []
    for home in (peer, hmm):
        model = home.GMMHMM(3, **options)
        for name in ("startprob_", "transmat_", "means_", "covars_", "weights_"):
            setattr(model, name, np.array(getattr(start, name)))
        both.append(model)
    theirs, ours = both
    theirs.n_features = 2
    assert ours.score(X, LENGTHS) == pytest.approx(theirs.score(X, LENGTHS), rel=1e-10)
    assert_allclose(ours.predict_proba(X, LENGTHS), theirs.predict_proba(X, LENGTHS), atol=1e-9)
    ours.fit(X, LENGTHS)
    assert (np.diff(ours.monitor_.history) >= -1e-9).all()
    assert ours.means_.shape == (3, 2, 2)
    assert ours.covars_.shape == start.covars_.shape


def test_attributes_that_are_set_are_where_a_fit_begins_and_zeros_stay():
    model = hmm.GaussianHMM(3, init_params="mc", n_iter=20, random_state=0)
    model.startprob_ = np.array([1.0, 0.0, 0.0])
    model.transmat_ = np.array([[0.9, 0.1, 0.0], [0.0, 0.9, 0.1], [0.1, 0.0, 0.9]])
    model.fit(X)
    assert_array_equal(model.startprob_, [1, 0, 0])
    assert (model.transmat_[[0, 1, 2], [2, 0, 1]] == 0).all()
    assert model.means_.shape == (3, 2)
    assert model.covars_.shape == (3, 2, 2)


def test_samples_go_on_from_a_state_and_parameters_can_be_set_by_hand():
    model = hmm.PoissonHMM(2)
    model.startprob_, model.transmat_ = np.array([0.5, 0.5]), np.array([[1.0, 0.0], [0.0, 1.0]])
    model.lambdas_ = np.array([[1.0], [50.0]])
    rows, states = model.sample(30, random_state=0, currstate=1)
    assert rows.shape == (30, 1)
    assert_array_equal(states, np.ones(30))
    assert rows.mean() > 30
    assert model.score(rows) == pytest.approx(np.log(0.5) + sf.Poisson(50.0).log_prob(rows).sum())


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="samples in lengths array"):
        hmm.GaussianHMM(2).fit(X, [10, 20])
    with pytest.raises(ValueError, match="implementation"):
        hmm.GaussianHMM(2, implementation="fast").fit(X)
    with pytest.raises(ValueError, match="covariance_type"):
        hmm.GaussianHMM(2, covariance_type="round").fit(X)
    with pytest.raises(ValueError, match="nonnegative"):
        hmm.CategoricalHMM(2).fit([[0.5], [1.0]])
    model = hmm.GaussianHMM(2, n_iter=1, random_state=0).fit(X)
    model.startprob_ = np.array([0.5, 0.4])
    with pytest.raises(ValueError, match="startprob_ must sum to 1"):
        model.score(X)


def test_options_are_kept_and_cloned():
    model = hmm.GaussianHMM(4, "full", n_iter=3)
    assert clone(model).get_params() == model.get_params()
    assert model.monitor_.n_iter == 3


NEIGHBOURS = "what a row's state is depends on the rows around it"
APART = {"check_methods_subset_invariance": NEIGHBOURS, "check_methods_sample_order_invariance": NEIGHBOURS}


@parametrize_with_checks([sf.HiddenMarkovModel(random_state=0)], expected_failed_checks=lambda _: APART)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_the_estimator_is_the_fit():
    data = sf.sequences(X, lengths=LENGTHS)
    model = sf.HiddenMarkovModel(sf.Normal(), 3, random_state=0).fit(X, lengths=LENGTHS)
    fit = sf.fit(sf.HiddenMarkov(sf.Normal(), 3), data, random_state=0)
    assert model.distribution_.distance(fit.distribution) < 1e-6
    assert_array_equal(model.predict(X, LENGTHS), fit.decode(data))
    assert_allclose(model.predict_proba(X, LENGTHS), fit.smooth(data), atol=1e-6)
    assert model.score(X, lengths=LENGTHS) == pytest.approx(fit.log_likelihood / len(X), rel=1e-9)
    assert len(model.forecast(X, 3)) == 3


def test_files_keep_the_estimator(tmp_path):
    model = sf.HiddenMarkovModel(sf.Normal(), 3, random_state=0).fit(X, lengths=LENGTHS)
    sf.save(model, tmp_path / "model.json")
    again = sf.load(tmp_path / "model.json")
    assert_array_equal(again.predict(X, LENGTHS), model.predict(X, LENGTHS))
    assert again.get_params() == model.get_params() | {"emission": again.emission}
    assert_array_equal(again.transitions_, model.transitions_)
