"""Logistic regression by maximum conditional likelihood: its maximum, its ascent, and data that have none."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

import suffice as sf


def problem(seed, k=2, n=150, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.uniform(0.1, 10, d) + rng.normal(0, 5, d)
    scores = (X - X.mean(axis=0)) / X.std(axis=0) @ rng.normal(size=(d, k)) + rng.gumbel(size=(n, k))
    return X, np.array(["c", "a", "b", "d"])[scores.argmax(axis=1)], rng.uniform(0.2, 2, n)


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_the_maximum_is_scikit_learns_without_a_penalty(k, seed):
    X, y, w = problem(seed, k)
    model = sf.LogisticClassifier().fit(X, y, w)
    peer = LogisticRegression(C=np.inf, tol=1e-9, max_iter=5000, solver="newton-cg").fit(X, y, w)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-4)
    coef = peer.coef_ if k == 2 else peer.coef_ - peer.coef_[0]
    np.testing.assert_allclose(model.coef_, coef, rtol=2e-3, atol=1e-4)
    chosen = model.predict_log_proba(X)[np.arange(len(X)), np.searchsorted(model.classes_, y)]
    np.testing.assert_allclose(model.log_likelihood_, w @ chosen, rtol=1e-10)
    assert model.converged_
    assert model.alerts_ == ()


@pytest.mark.parametrize("solver", ["newton", "gradient"])
@pytest.mark.parametrize("seed", range(3))
def test_the_ascent_never_falls_and_ends_where_the_slope_is_0(solver, seed):
    X, y, w = problem(seed, 3)
    model = sf.LogisticClassifier(solver=solver, max_iter=20_000).fit(X, y, w)
    assert (np.diff(model.trace_) > 0).all()
    assert len(model.trace_) == len(model.path_) == model.n_iter_ + 1
    np.testing.assert_allclose(model.trace_[0], -w.sum() * np.log(3))
    np.testing.assert_allclose(model.path_[-1][:, :-1], model.coef_[1:])
    hot = y[:, None] == model.classes_
    slope = ((hot - model.predict_proba(X)) * w[:, None]).T @ X / X.std(axis=0)
    assert np.abs(slope).max() < (1e-3 if solver == "gradient" else 1e-5) * w.sum()


def test_every_point_of_the_path_has_the_log_likelihood_of_the_trace():
    X, y, _ = problem(4)
    model = sf.LogisticClassifier().fit(X, y)
    sign = np.where(y == model.classes_[1], 1.0, -1.0)
    for (theta,), height in zip(model.path_, model.trace_, strict=True):
        np.testing.assert_allclose(-np.logaddexp(0, -sign * (X @ theta[:-1] + theta[-1])).sum(), height, rtol=1e-9)


def test_standard_errors_are_those_of_the_information():
    X, y, w = problem(7)
    model = sf.LogisticClassifier().fit(X, y, w)
    design = np.column_stack([X, np.ones(len(X))])
    p = model.predict_proba(X)[:, 1]
    errors = np.sqrt(np.diag(np.linalg.inv(design.T @ ((w * p * (1 - p))[:, None] * design))))
    np.testing.assert_allclose(model.standard_errors_[0], errors[:-1], rtol=1e-6)
    np.testing.assert_allclose(model.intercept_standard_errors_[0], errors[-1], rtol=1e-6)
    sign = np.where(y == model.classes_[1], 1.0, -1.0)
    best = minimize(lambda t: w @ np.logaddexp(0, -sign * (design @ t)), np.zeros(4), method="BFGS")
    assert model.log_likelihood_ >= -best.fun - 1e-6


def test_weights_are_repetitions_and_units_do_not_matter():
    X, y, _ = problem(2)
    times = np.random.default_rng(0).integers(0, 3, len(X))
    weighed = sf.LogisticClassifier().fit(X, y, times)
    repeated = sf.LogisticClassifier().fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighed.coef_, repeated.coef_, rtol=1e-6)
    scaled = sf.LogisticClassifier().fit(1e6 * X + 1e8, y)
    np.testing.assert_allclose(1e6 * scaled.coef_, sf.LogisticClassifier().fit(X, y).coef_, rtol=1e-4)


@pytest.mark.parametrize("solver", ["newton", "gradient"])
def test_separable_data_are_reported_with_a_remedy(solver):
    with pytest.warns(sf.SufficeWarning, match="no maximum.*penalty"):
        model = sf.LogisticClassifier(solver=solver).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    assert dict(model.alerts_)["separable"]
    assert np.isnan(model.standard_errors_).all()
    np.testing.assert_array_equal(model.predict([[0.0], [3.0]]), [0, 1])


def test_columns_that_depend_on_each_other_are_reported():
    X, y, _ = problem(1)
    doubled = np.column_stack([X, X[:, 0]])
    with pytest.warns(sf.SufficeWarning, match="flat along some coefficients"):
        model = sf.LogisticClassifier().fit(doubled, y)
    np.testing.assert_allclose(
        model.predict_proba(doubled), sf.LogisticClassifier().fit(X, y).predict_proba(X), atol=1e-6
    )


def test_it_is_the_twin_of_the_generative_model():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (4000, 2)), rng.normal(1, 1, (4000, 2))])
    y = np.repeat([0, 1], 4000)
    w, b = sf.LinearDiscriminantAnalysis().fit(X, y).linear()
    model = sf.LogisticClassifier().fit(X, y)
    assert (np.abs(model.coef_[0] - w) < 4 * model.standard_errors_[0]).all()
    assert abs(model.intercept_[0] - b) < 4 * model.intercept_standard_errors_[0]


def test_it_is_saved_with_its_path(tmp_path):
    X, y, _ = problem(3, 3)
    model = sf.LogisticClassifier().fit(X, y)
    sf.save(model, tmp_path / "logistic.json")
    again = sf.load(tmp_path / "logistic.json")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.path_, model.path_)


def test_a_short_run_is_reported():
    X, y, _ = problem(0)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model = sf.LogisticClassifier(solver="gradient", max_iter=2).fit(X, y)
    assert "raise max_iter" in str(heard[0].message)
    assert not model.converged_
    with pytest.raises(ValueError, match="one class"):
        sf.LogisticClassifier().fit(X, np.zeros(len(X)))
