"""Rows of single precision give attributes and answers of single precision, computed in double precision."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import cluster, discriminant_analysis, mixture, naive_bayes
from sklearn.base import clone
from sklearn.datasets import load_iris

import suffice as sf

X, Y = load_iris(return_X_y=True)
VERBS = [
    *("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "decision_function", "transform"),
    "score_samples",
]
MODELS = [
    sf.GaussianNB(),
    sf.MultinomialNB(),
    sf.BernoulliNB(),
    sf.CategoricalNB(),
    sf.LinearDiscriminantAnalysis(),
    sf.QuadraticDiscriminantAnalysis(store_covariance=True),
    *(sf.GaussianMixture(2, covariance_type=kind, random_state=0) for kind in ("full", "tied", "diag", "spherical")),
    sf.BayesianGaussianMixture(n_components=2, random_state=0),
    sf.KMeans(2, random_state=0),
]
BOUNDS = {"lower_bound_", "lower_bounds_"}  # float64 always


def kind_of(value):
    value = value[0] if isinstance(value, (list, tuple)) and len(value) else value
    return np.asarray(value).dtype if np.ndim(value) else None


def kinds(model, rows):
    """The type of every array that a fitted estimator shows or answers with."""
    names = [*(name for name in vars(model) if name.endswith("_")), "class_prior_", "covariance_"]
    shown = {name: kind_of(getattr(model, name)) for name in names if hasattr(model, name)}
    return shown | {verb: kind_of(getattr(model, verb)(rows)) for verb in VERBS if hasattr(model, verb)}


@pytest.mark.parametrize("model", MODELS, ids=lambda one: repr(one).replace("\n", ""))
def test_what_is_single_in_scikit_learn_is_single_here(model):
    homes = (naive_bayes, discriminant_analysis, mixture, cluster)
    theirs = next(getattr(home, type(model).__name__) for home in homes if hasattr(home, type(model).__name__))
    options = {name: value for name, value in model.get_params().items() if name in theirs().get_params()}
    for kind in (np.float32, np.float64):
        rows = X.astype(kind)
        ours, peer = kinds(clone(model).fit(rows, Y), rows), kinds(theirs(**options).fit(rows, Y), rows)
        differ = {name: (ours.get(name), found) for name, found in peer.items() if ours.get(name) != found}
        if kind is np.float32:  # more may be single than in scikit-learn
            differ = {name: pair for name, pair in differ.items() if pair[1] == np.float32 and name not in BOUNDS}
        assert not differ


@pytest.mark.parametrize("model", MODELS[:-1], ids=lambda one: repr(one).replace("\n", ""))
def test_digits_are_lost_at_the_end_only(model):
    rows = X.astype(np.float32)
    single, double = clone(model).fit(rows, Y), clone(model).fit(rows.astype(np.float64), Y)
    assert_allclose(single.predict_proba(rows), double.predict_proba(rows.astype(np.float64)), atol=1e-6)


def test_files_keep_the_precision(tmp_path):
    model = sf.GaussianMixture(2, random_state=0).fit(X.astype(np.float32))
    sf.save(model, tmp_path / "model.json")
    again = sf.load(tmp_path / "model.json")
    assert again.means_.dtype == again.predict_proba(X.astype(np.float32)).dtype == np.float32
    assert again.predict_proba(X).dtype == np.float64


def test_bounds_are_numbers_of_numpy():
    assert isinstance(sf.GaussianMixture(2, random_state=0).fit(X).lower_bound_, np.float64)
