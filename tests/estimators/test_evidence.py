"""What speaks for a class, and what naive Bayes ignores."""

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

import suffice as sf

mpl.use("Agg")


def dependent(rng, n, noise):
    """x₂ follows x₁ in class 1 and is independent of it in class 0; the marginals are the same."""
    y = rng.integers(0, 2, n)
    a, b, c = rng.normal(size=(3, n))
    return np.column_stack([a, np.where(y == 1, np.sqrt(1 - noise**2) * a + noise * b, b), c]), y


def test_where_naive_bayes_breaks():
    rng = np.random.default_rng(0)
    (X, y), (fresh, truth) = dependent(rng, 4000, 0.1), dependent(rng, 20_000, 0.1)
    naive, full = sf.GaussianNB().fit(X, y), sf.BayesClassifier(sf.MultivariateNormal()).fit(X, y)
    best = sf.BayesClassifier(
        {
            0: sf.MultivariateNormal(np.zeros(3), np.eye(3)).fix("mean", "cov"),
            1: sf.MultivariateNormal(
                np.zeros(3), np.array([[1, np.sqrt(0.99), 0], [np.sqrt(0.99), 1, 0], [0, 0, 1]])
            ).fix("mean", "cov"),
        }
    ).fit(X, y)
    errors = [np.mean(model.predict(fresh) != truth) for model in (naive, full, best)]
    assert abs(errors[0] - 0.5) < 0.03
    assert errors[1] < 1.05 * errors[2] < 0.1
    told = naive.dependence(X, y)
    assert told[0].columns == (0, 1)
    truth_nats = -0.5 * np.log(0.01) / 2  # half of the rows have it
    assert_allclose(told[0].information, truth_nats, rtol=0.05)
    assert_allclose(told[0].cost, 4000 * told[0].information)
    gain = _height(full, X, y) - _height(naive, X, y)
    assert_allclose(gain, sum(pair.cost for pair in told.pairs), rtol=0.01)
    assert told[1].information < 0.003
    assert "0 – 1" in str(told).splitlines()[1]


def _height(model, X, y):
    return model.predict_joint_log_proba(X)[np.arange(len(y)), y].sum()


def test_columns_that_are_equal_have_a_floor_and_an_alert():
    X, y = dependent(np.random.default_rng(1), 2000, 0.0)
    with pytest.warns(sf.SufficeWarning, match="class 1 .* follows from others"):
        full = sf.BayesClassifier(sf.MultivariateNormal()).fit(X, y)
    assert dict(full.alerts_)["singular"]
    assert np.mean(full.predict(X) == y) > 0.99
    assert np.isfinite(full.predict_joint_log_proba(X)).all()


def test_dependence_of_labels_and_of_numbers_with_labels():
    rng = np.random.default_rng(2)
    n = 20_000
    y = rng.integers(0, 2, n)
    a = rng.integers(0, 3, n)
    copied = np.where(rng.random(n) < 0.5, a, rng.integers(0, 3, n))
    colour = np.array(["red", "green", "blue"])
    columns = {"a": a, "copy": colour[copied], "x": rng.normal(2.0 * (a == 1)), "free": rng.normal(size=n)}
    told = sf.NaiveBayes({"a": sf.Categorical()}).fit(columns, y).dependence(columns, y)
    found = {pair.columns: pair for pair in told.pairs}
    joint = np.full((3, 3), 1 / 18) + np.eye(3) / 6
    assert_allclose(found["a", "copy"].information, (joint * np.log(9 * joint)).sum(), rtol=0.05)
    assert found["a", "copy"].kind == "table of labels"
    assert_allclose(found["a", "x"].information, 0.5 * np.log(1 + 4 * 2 / 9), rtol=0.05)  # as a Normal of that variance
    assert found["a", "x"].kind == "analysis of variance"
    assert max(pair.information for key, pair in found.items() if "free" in key) < 1e-3


def test_independent_columns_have_no_information_on_average():
    rng = np.random.default_rng(3)
    found = []
    for _ in range(200):
        X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
        X[:, 1] = rng.integers(0, 4, 60)
        model = sf.GaussianNB().fit(X, y)
        found.append(model.dependence(X, y)[0].information)
    assert np.mean(found) < 0.03  # without the correction it would be about 3 / 60
    assert np.median(found) < 0.01


def test_holes_say_nothing():
    X, y = load_iris(return_X_y=True)
    row = X[70].copy()
    row[2] = np.nan
    told = sf.GaussianNB().fit(X, y).explain(row)
    assert told.terms[2] == 0.0
    assert "missing" in str(told)


def test_names_of_a_frame_are_names_of_terms():
    iris = load_iris(as_frame=True)
    model = sf.GaussianNB().fit(iris.data, iris.target)
    frame, series = model.explain(iris.data.iloc[70:71]), model.explain(iris.data.iloc[70])
    assert frame == series
    assert list(frame.terms) == list(iris.data.columns)
    assert frame.values["petal width (cm)"] == 1.8
    text = str(frame).splitlines()
    assert text[0].startswith("2 against 1")
    assert text[2].startswith("petal width (cm)")  # weighs most
    assert text[-1].startswith("log-odds")


def test_the_picture_shows_every_term():
    X, y = load_iris(return_X_y=True)
    told = sf.GaussianNB().fit(X, y).explain(X[70])
    ax = sf.plot.evidence(told)
    widths = [bar.get_width() for bar in ax.patches]
    assert_allclose(sorted(widths), sorted([told.prior, *told.terms.values(), told.log_odds]))
    many = sf.BernoulliNB().fit(np.eye(40), np.arange(40) % 2).explain(np.ones(40))
    bars = sf.plot.evidence(many).patches
    assert len(bars) == 16
    assert_allclose(sum(bar.get_width() for bar in bars[:-1]), bars[-1].get_width(), atol=1e-9)
