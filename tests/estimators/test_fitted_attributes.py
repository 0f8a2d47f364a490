"""Fitted attributes that a caller sets, changes or edits in place are heeded, as scikit-learn heeds its own."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import discriminant_analysis, mixture, naive_bayes
from sklearn.base import clone
from sklearn.datasets import load_iris

import suffice as sf

X, Y = load_iris(return_X_y=True)
COUNTS = X.round().astype(int)
GAUSSIAN = ("weights_", "means_", "precisions_cholesky_", "covariances_")
BELIEF = ("weight_concentration_", "mean_precision_", "degrees_of_freedom_")
TABLES = ("feature_log_prob_", "class_log_prior_")
KINDS = ("full", "tied", "diag", "spherical")
PAIRS = [
    *((sf.GaussianMixture(3, covariance_type=kind, random_state=0), GAUSSIAN, X) for kind in KINDS),
    *(
        (sf.BayesianGaussianMixture(n_components=3, covariance_type=kind, random_state=0), GAUSSIAN + BELIEF, X)
        for kind in KINDS
    ),
    (sf.GaussianNB(), ("theta_", "var_", "class_prior_"), X),
    (sf.MultinomialNB(), TABLES, COUNTS),
    (sf.BernoulliNB(binarize=2.0), TABLES, COUNTS),
    (sf.CategoricalNB(), TABLES, COUNTS),
    (sf.LinearDiscriminantAnalysis(), ("coef_", "intercept_"), X),
    (sf.QuadraticDiscriminantAnalysis(), ("means_", "priors_", "rotations_", "scalings_"), X),
]
IDS = [repr(model).replace("\n", "") for model, _, _ in PAIRS]


def peer_of(model, rows):
    """scikit-learn's class with the same options, fitted."""
    home = next(one for one in (mixture, naive_bayes, discriminant_analysis) if hasattr(one, type(model).__name__))
    kind = getattr(home, type(model).__name__)
    options = {name: value for name, value in model.get_params().items() if name in kind().get_params()}
    return kind(**options).fit(rows, Y)


def changes(names, rng):
    """What to do to each attribute: other numbers that obey the same rules."""
    shift = rng.normal(size=4)

    def stretch(value):
        return [one * 1.5 for one in value] if isinstance(value, list) else np.asarray(value) * 1.5

    def swap(value):
        several = isinstance(value, (list, tuple))
        return type(value)(one[::-1] for one in value) if several else np.array(value)[::-1]

    every = {
        **dict.fromkeys(("weights_", "class_prior_", "priors_"), lambda value: np.array([0.7, 0.1, 0.2]) + 0 * value),
        **dict.fromkeys(("means_", "theta_"), lambda value: value + shift),
        **dict.fromkeys(("precisions_cholesky_", "var_", "scalings_", "coef_", "intercept_"), stretch),
        **dict.fromkeys(("feature_log_prob_", "mean_precision_"), swap),
        "class_log_prior_": lambda value: np.log([0.7, 0.1, 0.2]) + 0 * value,
    }
    return {name: every[name] for name in names if name in every}


def same_answers(ours, peer, rows):
    verbs = ("predict_proba", "predict_joint_log_proba", "decision_function", "score_samples")
    for verb in verbs:
        if hasattr(ours, verb) and hasattr(peer, verb):
            assert_allclose(getattr(ours, verb)(rows), getattr(peer, verb)(rows), rtol=1e-7, atol=1e-9, err_msg=verb)
    assert_array_equal(ours.predict(rows), peer.predict(rows))


@pytest.mark.parametrize(("model", "names", "rows"), PAIRS, ids=IDS)
def test_parameters_set_by_hand_need_no_fit(model, names, rows, tmp_path):
    peer, ours = peer_of(model, rows), clone(model)
    for name in ("classes_", *names):
        if hasattr(peer, name):
            setattr(ours, name, copy.deepcopy(getattr(peer, name)))
    same_answers(ours, peer, rows)
    assert ours.n_features_in_ == 4
    sf.save(ours, tmp_path / "model.json")
    kept = sf.load(tmp_path / "model.json")
    assert_allclose(kept.predict_proba(rows), ours.predict_proba(rows), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize(("model", "names", "rows"), PAIRS, ids=IDS)
def test_attributes_changed_after_a_fit_are_used_one_by_one(model, names, rows, tmp_path):
    peer = peer_of(model, rows)
    ours = clone(model).fit(rows, Y)
    if hasattr(ours, "weights_"):  # from the same place
        for name in names:
            setattr(ours, name, copy.deepcopy(getattr(peer, name)))
    for name, change in changes(names, np.random.default_rng(0)).items():
        before = ours.predict_proba(rows)
        for one in (ours, peer):
            setattr(one, name, change(getattr(one, name)))
        if name == "weights_" and isinstance(ours, sf.BayesianGaussianMixture):
            assert_allclose(ours.distribution_.weights, ours.weights_, atol=1e-9)
            assert np.bincount(ours.sample(4000)[1], minlength=3)[0] / 4000 == pytest.approx(0.7, abs=0.05)
            ours.weight_concentration_ = peer.weight_concentration_  # which theirs scores by
            continue
        same_answers(ours, peer, rows)
        assert np.abs(ours.predict_proba(rows) - before).max() > 1e-6, name
    sf.save(ours, tmp_path / "model.json")
    assert_allclose(sf.load(tmp_path / "model.json").predict_proba(rows), ours.predict_proba(rows), atol=1e-12)


@pytest.mark.parametrize(("model", "names", "rows"), PAIRS, ids=IDS)
def test_attributes_may_be_edited_in_place_and_copies_stay_apart(model, names, rows):
    ours = clone(model).fit(rows, Y)
    other, before = copy.deepcopy(ours), ours.predict_proba(rows)
    name = next(one for one in names if one in {"means_", "theta_", "coef_", "feature_log_prob_"})
    value = getattr(ours, name)
    part = value[0] if isinstance(value, list) else value
    part[:] = part[::-1].copy()
    assert np.abs(ours.predict_proba(rows) - before).max() > 1e-6
    assert_array_equal(other.predict_proba(rows), before)
    ours.fit(rows, Y)  # learns as if nothing had been set
    assert_allclose(np.sort(ours.predict_proba(rows)), np.sort(before), atol=0.3)


@pytest.mark.parametrize(("model", "names", "rows"), PAIRS, ids=IDS)
def test_asking_changes_no_attribute(model, names, rows):
    ours = clone(model).fit(rows, Y)
    kept = {name: getattr(ours, name) for name in names if name in vars(ours)}
    ours.predict(rows)
    ours.predict_proba(rows)
    assert all(getattr(ours, name) is value for name, value in kept.items())


def test_a_fit_forgets_what_was_set():
    fresh, used = sf.GaussianNB().fit(X, Y), sf.GaussianNB().fit(X[:, ::-1], Y)
    used.theta_ = used.theta_ + 100.0
    assert_array_equal(used.fit(X, Y).predict_proba(X), fresh.predict_proba(X))
    used.class_prior_ = [0.98, 0.01, 0.01]
    assert_array_equal(used.fit(X, Y).class_prior_, fresh.class_prior_)


def test_what_is_lacking_or_cannot_be_is_said():
    model = sf.GaussianMixture(2)
    model.weights_, model.means_ = np.array([0.5, 0.5]), np.zeros((2, 1))
    with pytest.raises(AttributeError, match="lacks covariances_ or precisions_cholesky_"):
        model.predict([[0.0]])
    model.covariances_ = np.ones((2, 1, 1))
    assert model.score_samples([[0.0]]) == pytest.approx(-0.5 * np.log(2 * np.pi))
    model.weights_ = [0.5, 0.6]
    with pytest.raises(ValueError, match="should be normalized"):
        model.predict([[0.0]])
    words = sf.MultinomialNB().fit(COUNTS, Y)
    words.feature_log_prob_ = words.feature_log_prob_ + 1.0
    with pytest.raises(sf.ParameterError, match=r"sum to 2\.7.*logsumexp"):
        words.predict(COUNTS)
    spread = sf.GaussianNB().fit(X, Y)
    spread.var_ = spread.var_ * 0
    with pytest.raises(sf.ParameterError, match="variances above 0"):
        spread.predict(X)
