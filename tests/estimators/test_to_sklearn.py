"""to_sklearn: scikit-learn's own fitted class, with the same answers."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import cluster, discriminant_analysis, mixture, naive_bayes
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.utils.validation import check_is_fitted

import suffice as sf

X, Y = load_iris(return_X_y=True)
LABELS = np.array(["setosa", "versicolor", "virginica"])[Y]
VERBS = [
    *("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "decision_function", "transform"),
    *("score_samples", "_estimate_log_prob", "_joint_log_likelihood"),
]
MODELS = [
    sf.GaussianNB(),
    sf.GaussianNB(prior="weak"),
    sf.BernoulliNB(binarize=2.0),
    sf.MultinomialNB(),
    sf.CategoricalNB(),
    sf.LinearDiscriminantAnalysis(),
    sf.LinearDiscriminantAnalysis("eigen", shrinkage="auto", n_components=1, store_covariance=True),
    sf.QuadraticDiscriminantAnalysis(store_covariance=True),
    *(sf.GaussianMixture(3, covariance_type=kind, random_state=0) for kind in ("full", "tied", "diag", "spherical")),
    sf.GaussianMixture(3, covariance_type="VEV", random_state=0),
    *(sf.BayesianGaussianMixture(n_components=3, covariance_type=kind, random_state=0) for kind in ("full", "tied")),
    sf.BayesianGaussianMixture(
        n_components=3, weight_concentration_prior_type="dirichlet_distribution", random_state=0
    ),
    sf.KMeans(3, random_state=np.random.default_rng(0)),
]
HOMES = (naive_bayes, discriminant_analysis, mixture, cluster)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("model", MODELS, ids=lambda one: re.sub(r"\s*at 0x\w+|\s+", "", repr(one)))
def test_scikit_learns_class_gives_the_same_answers(model, kind):
    rows = X.astype(kind)
    ours = clone(model).fit(rows, LABELS)
    twin = ours.to_sklearn()
    theirs = next(getattr(home, type(ours).__name__) for home in HOMES if hasattr(home, type(ours).__name__))
    assert type(twin) is theirs
    check_is_fitted(twin)
    close = {"rtol": 1e-8, "atol": 1e-10} if kind is np.float64 else {"rtol": 1e-3, "atol": 2e-4}
    asked = [verb for verb in VERBS if hasattr(twin, verb) and hasattr(ours, verb)]
    if isinstance(ours, (sf.BernoulliNB, sf.CategoricalNB)):  # theirs takes cells that are prepared
        asked.remove("_joint_log_likelihood")
    assert len(asked) >= 2
    for verb in asked:
        answer, wanted = getattr(ours, verb)(rows), getattr(twin, verb)(rows)
        if verb == "predict_log_proba":  # theirs ends at the smallest number of the precision
            answer, wanted = np.maximum(answer, -80.0), np.maximum(wanted, -80.0)
        if answer.dtype.kind == "f":
            assert_allclose(answer, wanted, **close, err_msg=verb)
        else:
            assert_array_equal(answer, wanted, err_msg=verb)
    score = (rows, LABELS) if hasattr(twin, "classes_") else (rows,)
    assert_allclose(ours.score(*score), twin.score(*score), rtol=close["rtol"])


def test_names_of_columns_and_later_changes_stay_apart():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    ours = sf.GaussianNB().fit(table, Y)
    twin = ours.to_sklearn()
    assert_array_equal(twin.feature_names_in_, table.columns)
    twin.theta_[:] = 0.0
    assert ours.theta_.min() > 0
    before = ours.predict_proba(table)
    ours.theta_ = ours.theta_ + 1.0
    assert_allclose(ours.to_sklearn().predict_proba(table), ours.predict_proba(table), atol=1e-12)
    assert np.abs(ours.predict_proba(table) - before).max() > 0.1


def test_numbers_of_parameters_have_the_name_that_public_code_uses():
    for kind in ("full", "tied", "diag", "spherical"):
        ours = sf.GaussianMixture(3, covariance_type=kind, random_state=0).fit(X)
        assert ours._n_parameters() == ours.to_sklearn()._n_parameters()
