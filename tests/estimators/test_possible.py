"""Classifiers where nothing is known: cells that no class can have made, columns that a class never saw."""

import warnings

import numpy as np
import pytest

import suffice as sf

R = np.random.default_rng(0)
Y = np.repeat([0, 1], 60)
OTHER = R.normal(size=120) + 2.0 * Y
OUTSIDE = [
    (sf.LogNormal(), R.lognormal(size=120), 0.0),
    (sf.Poisson(), R.poisson(3.0 + Y).astype(float), 1.5),
    (sf.Bernoulli(), (R.random(120) < 0.3 + 0.3 * Y).astype(float), 2.0),
]


@pytest.mark.parametrize(("family", "column", "outside"), OUTSIDE)
def test_a_cell_that_no_class_can_have_is_like_a_missing_one(family, column, outside):
    model = sf.NaiveBayes({0: family, 1: sf.Normal()}).fit(np.c_[column, OTHER], Y)
    holes = np.array([[1.0, 3.0], [np.nan, 3.0], [np.nan, -1.0]])
    asked = np.where(np.isnan(holes), outside, holes)
    for ask in (model.predict_proba, model.predict, model.predict_joint_log_proba, model.predict_log_proba):
        with pytest.warns(sf.SufficeWarning, match=r"row 1, column 0: .* under every class"):
            found = ask(asked)
        np.testing.assert_allclose(found, ask(holes), rtol=1e-12)
    assert np.isneginf(model.distribution_.log_prob(asked)[1])  # the density itself is 0 there


@pytest.mark.parametrize(("family", "column", "outside"), OUTSIDE)
def test_the_terms_of_an_explanation_sum_to_the_log_odds(family, column, outside):
    model = sf.NaiveBayes({0: family, 1: sf.Normal()}).fit(np.c_[column, OTHER], Y)
    with pytest.warns(sf.SufficeWarning, match="row 0, column 0"):
        why = model.explain([outside, 3.0])
    assert why.terms[0] == 0.0
    assert why.log_odds == pytest.approx(why.prior + sum(why.terms.values()), abs=1e-12)
    assert np.isfinite(why.log_odds)


def test_a_cell_that_some_class_can_have_rules_out_the_others():
    yes = np.where(Y == 0, 0.0, R.random(120) < 0.5)  # never yes in class 0
    families = {0: sf.Bernoulli(), 1: sf.LogNormal(), 2: sf.Normal()}
    X = np.c_[yes, R.lognormal(size=120), OTHER]
    model = sf.NaiveBayes(families, prior=None).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict_proba([[1.0, 1.0, -9.0]]).tolist() == [[0.0, 1.0]]
    with pytest.warns(sf.SufficeWarning, match="row 0, column 1"):
        assert model.predict_proba([[1.0, -1.0, -9.0]]).tolist() == [[0.0, 1.0]]


def test_columns_that_rule_out_each_a_class_leave_the_priors():
    X = np.c_[np.where(Y == 0, 0.0, np.arange(120) % 2), np.where(Y == 1, 0.0, np.arange(120) % 2)]
    model = sf.NaiveBayes({0: sf.Bernoulli(), 1: sf.Bernoulli()}, prior=None, priors=[0.3, 0.7]).fit(X, Y)
    with pytest.warns(sf.SufficeWarning, match="probability 0 under every component"):
        assert model.predict_proba([[0.0, 0.0], [1.0, 1.0]])[1].tolist() == [0.3, 0.7]
    assert model.predict([[1.0, 1.0]]) == [1]


@pytest.mark.parametrize("make", [sf.GaussianNB, lambda: sf.BayesClassifier(sf.Normal(), prior=None)])
def test_a_column_that_a_class_never_saw_is_that_of_all_rows(make):
    X = R.normal(size=(90, 2)) + 1000.0
    y = np.repeat([0, 1, 2], 30)
    X[:, 1] += 5.0 * y
    X[y == 1, 0] = np.nan
    with pytest.warns(sf.SufficeWarning, match="class 1 .* no cell of column 0"):
        model = make().fit(X, y)
    assert [code for code, _ in model.alerts_] == ["unseen"]
    stack = model.distribution_.components
    stack = next(iter(stack.blocks.values()), stack)
    np.testing.assert_allclose(stack.mean[1, 0], np.nanmean(X[:, 0]), rtol=1e-14)
    np.testing.assert_allclose(stack.std[1, 0], np.nanstd(X[:, 0]), rtol=1e-6)
    np.testing.assert_allclose(stack.mean[[0, 2], 0], [X[y == 0, 0].mean(), X[y == 2, 0].mean()], rtol=1e-14)
    assert (model.predict(np.c_[np.full(3, 1000.0), [1000.0, 1005.0, 1010.0]]) == [0, 1, 2]).all()


@pytest.mark.parametrize("prior", ["weak", None])
@pytest.mark.parametrize("family", [sf.LogNormal(), sf.Poisson(), sf.Exponential(), sf.Gamma(), sf.Laplace()])
def test_every_family_says_little_of_a_column_that_a_class_never_saw(family, prior):
    column = R.poisson(300.0, size=120) + 1.0
    X = {"a": np.where(Y == 1, np.nan, column), "b": OTHER}
    with pytest.warns(sf.SufficeWarning, match="class 1 .* no cell of column a"):
        model = sf.NaiveBayes({"a": family, "b": sf.Normal()}, prior=prior).fit(X, Y)
    why = model.explain({"a": 300.0, "b": 1.0}, 0, 1)
    assert abs(why.terms["a"]) < 0.5


def test_a_class_without_rows_has_the_parameters_of_all():
    X = R.normal(size=(40, 2)) + 1000.0
    y = np.repeat([0, 1], 20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a stream may still bring rows of the third
        model = sf.GaussianNB().partial_fit(X, y, classes=[0, 1, 2])
    np.testing.assert_allclose(model.theta_[2], X.mean(axis=0), rtol=1e-12)
    assert dict(model.alerts_)["empty"].startswith("class 2 has no rows")
    with pytest.warns(sf.SufficeWarning, match="class 1 has no rows"):
        sf.GaussianNB().fit(X, y, sample_weight=(y == 0).astype(float))
