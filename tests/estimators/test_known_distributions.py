"""Classifiers of known distributions, rows drawn with their classes, and components that are given."""

import numpy as np
import pytest
from sklearn.base import clone

import suffice as sf

M0, M1, S = np.array([0.0, 1.0]), np.array([2.0, 0.0]), np.array([[1.0, 0.3], [0.3, 2.0]])


def known(priors=None):
    classes = {0: sf.MultivariateNormal(M0, S), 1: sf.MultivariateNormal(M1, S)}
    return sf.BayesClassifier.from_distributions(classes, priors)


def test_the_weights_of_two_gaussians_with_one_covariance():
    w, b = known([0.3, 0.7]).linear()
    np.testing.assert_allclose(w, np.linalg.solve(S, M1 - M0), rtol=1e-9)
    expected = 0.5 * (M0 @ np.linalg.solve(S, M0) - M1 @ np.linalg.solve(S, M1)) + np.log(7 / 3)
    np.testing.assert_allclose(b, expected, rtol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_probabilities_are_bayes_rule(seed):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet([2.0, 2.0, 2.0])
    classes = {name: sf.Gamma(*rng.uniform(0.5, 3, 2)) for name in ("c", "a", "b")}
    model = sf.BayesClassifier.from_distributions(classes, dict(zip(classes, shares, strict=True)))
    x = rng.uniform(0.1, 5, 7)
    joint = {name: np.log(p) + one.log_prob(x) for (name, one), p in zip(classes.items(), shares, strict=True)}
    total = np.logaddexp.reduce(list(joint.values()))
    expected = np.stack([np.exp(joint[name] - total) for name in "abc"], axis=1)
    assert model.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(model.predict_proba(x[:, None]), expected, rtol=1e-10)
    np.testing.assert_array_equal(model.predict(x[:, None]), np.array(list("abc"))[expected.argmax(axis=1)])
    told = model.explain([x[0]], label="b", against="a")
    np.testing.assert_allclose(told.log_odds, joint["b"][0] - joint["a"][0], rtol=1e-9)


def test_losses_decide_and_rows_come_with_their_classes():
    model = known()
    x = np.array([[1.0, 0.5]])
    assert model.predict(x, loss=[[0, 100], [1, 0]])[0] == 0
    assert model.predict(x, loss=[[0, 1], [100, 0]])[0] == 1
    rows, y = model.sample(4000, random_state=0)
    assert rows.shape == (4000, 2)
    np.testing.assert_allclose(rows[y == 1].mean(axis=0), M1, atol=0.15)
    np.testing.assert_allclose(np.mean(y), 0.5, atol=0.05)
    again, same = model.sample(4000, random_state=0)
    np.testing.assert_array_equal(again, rows)
    np.testing.assert_array_equal(same, y)


def test_products_are_linear_where_their_columns_are(tmp_path):
    def one(mean, p):
        return sf.Product({"u": sf.Normal(mean, 1), "v": sf.Bernoulli(p)})

    model = sf.BayesClassifier.from_distributions({"no": one(0, 0.2), "yes": one(1, 0.7)})
    w, b = model.linear()
    np.testing.assert_allclose(w, [1.0, np.log(0.7 * 0.8 / (0.2 * 0.3))], rtol=1e-9)
    np.testing.assert_allclose(b, -0.5 + np.log(0.3 / 0.8), rtol=1e-9)
    rows, y = model.sample(5, random_state=1)
    assert set(rows) == {"u", "v"}
    assert set(y) <= {"no", "yes"}
    assert "of known distributions" in model.summary()
    sf.save(model, tmp_path / "known.json")
    np.testing.assert_allclose(sf.load(tmp_path / "known.json").predict_proba(rows), model.predict_proba(rows))


def test_a_known_classifier_can_be_cloned_and_fitted():
    model = clone(known([0.3, 0.7])).set_params(priors=None)
    rows, y = known().sample(300, random_state=0)
    assert np.mean(model.fit(rows, y).predict(rows) == y) > 0.75


def test_fitted_classifiers_draw_rows_with_classes_too():
    rng = np.random.default_rng(0)
    X, y = np.concatenate([rng.normal(0, 1, (50, 2)), rng.normal(5, 1, (50, 2))]), np.repeat(["a", "b"], 50)
    for model in (sf.GaussianNB(), sf.LinearDiscriminantAnalysis(), sf.BayesClassifier(), sf.NaiveBayes()):
        rows, drawn = model.fit(X, y).sample(40, random_state=0)
        rows = np.column_stack(list(rows.values())) if isinstance(rows, dict) else rows
        np.testing.assert_array_equal(np.where(rows.mean(axis=1) > 2.5, "b", "a"), drawn)


def test_a_component_can_be_given():
    a, b = (sf.Product({"u": sf.Normal(m, 1), "v": sf.Bernoulli(p)}) for m, p in ((0, 0.2), (3, 0.7)))
    mixture = sf.Mixture([a, b])
    assert mixture.given(component=1) == b
    assert mixture.given(component=1, u=0.5).log_prob([1]) == pytest.approx(np.log(0.7))
    assert mixture.given({"component": 0}) == a
    assert sf.Mixture([sf.Normal(0, 1), sf.Normal(4, 2)]).given(component=1) == sf.Normal(4, 2)
    with pytest.raises(sf.ParameterError, match="from 0 to 1; got 2"):
        mixture.given(component=2)
    column = sf.Mixture([sf.Product({"component": sf.Normal(m, 1), "v": sf.Normal(m, 1)}) for m in (0, 3)])
    assert column.given(component=1.0).column_names == ("v",)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: sf.BayesClassifier.from_distributions({"a": sf.Normal(0, 1)}), "at least two classes"),
        (lambda: sf.BayesClassifier.from_distributions({"a": 1, "b": 2}), "class 'a' needs a distribution"),
        (lambda: sf.BayesClassifier.from_distributions({"a": sf.MultivariateNormal(), "b": sf.Normal()}), "class 'a'"),
        (lambda: known([0.3]), "2 classes, but 1 priors"),
        (lambda: known({0: 0.5, 2: 0.5}), "priors are of the classes"),
        (
            lambda: sf.BayesClassifier.from_distributions({0: sf.Normal(0, 1), 1: sf.Normal(0, 2)}).linear(),
            "not linear",
        ),
    ],
)
def test_mistakes_are_named(ask, words):
    with pytest.raises(sf.SufficeError, match=words):
        ask()
