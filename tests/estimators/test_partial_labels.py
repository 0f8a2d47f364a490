"""Rows whose class is unknown, or known in part."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris

import suffice as sf
from suffice.io import dumps, loads

X, Y = load_iris(return_X_y=True)


def two_clouds(rng, n, apart):
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 2)) + apart * np.outer(y, [1.0, 0.0]), y


def errors(seed, apart, structure):
    rng = np.random.default_rng(seed)
    few = rng.normal(size=(10, 2)) + apart * np.outer(np.repeat([0, 1], 5), [1.0, 0.0])
    many, hidden = two_clouds(rng, 5000, apart)
    fresh, truth = two_clouds(rng, 40_000, apart)
    rows, known = np.vstack([few, many]), np.repeat([0, 1], 5)
    prototype = sf.MultivariateNormal(structure=structure)
    half = sf.BayesClassifier(prototype, unlabeled=-1).fit(rows, np.concatenate([known, np.full(5000, -1)]))
    full = sf.BayesClassifier(prototype).fit(rows, np.concatenate([known, hidden]))
    return [np.mean(model.predict(fresh) != truth) for model in (half, full)]


@pytest.mark.parametrize("structure", ["tied", "identity"])
def test_ten_labels_and_five_thousand_rows_without_are_nearly_as_good_as_all_labels(structure):
    ratios = [half / full for half, full in (errors(seed, 3.0, structure) for seed in range(20))]
    assert sum(ratio <= 1.1 for ratio in ratios) >= 18


@pytest.mark.parametrize(
    "prototype", [sf.Normal(), sf.MultivariateNormal(), sf.Product([sf.Normal()] * 4), sf.StudentT()]
)
def test_ways_to_say_unknown_agree(prototype):
    hidden = np.random.default_rng(0).random(150) < 0.6
    hidden[[0, 1, 50, 51, 100, 101]] = False
    ways = [np.where(hidden, np.nan, Y), np.where(hidden, None, Y), np.where(hidden, -1, Y)]
    allowed = hidden[:, None] | (Y[:, None] == np.arange(3))
    models = [sf.BayesClassifier(prototype, unlabeled=-1).fit(X, y) for y in (*ways, allowed)]
    first = models[0].predict_proba(X)
    for model in models[1:]:
        assert_allclose(model.predict_proba(X), first, atol=1e-12)
    assert np.mean(models[0].predict(X) == Y) > 0.9


def test_minus_one_is_a_class_unless_it_is_said_to_be_none():
    model = sf.BayesClassifier().fit(X[:100], np.where(Y[:100] == 0, -1, 1))
    assert model.classes_.tolist() == [-1, 1]


def test_passes_never_fall_and_end_at_a_maximum():
    y = np.where(np.arange(150) % 3 == 0, Y, -1)
    model = sf.BayesClassifier(sf.MultivariateNormal(structure="tied"), unlabeled=-1).fit(X, y)
    joint = model.predict_joint_log_proba(X)

    def likelihood(scores):
        top = scores.max(axis=1)
        whole = top + np.log(np.exp(scores - top[:, None]).sum(axis=1))
        return np.where(y < 0, whole, scores[np.arange(150), np.maximum(y, 0)]).sum()

    best = likelihood(joint)
    known = sf.BayesClassifier(sf.MultivariateNormal(structure="tied")).fit(X[y >= 0], y[y >= 0])
    assert best > likelihood(known.predict_joint_log_proba(X)) + 1
    assert model.converged_
    again = model.distribution_.estimate(model.statistics_)
    assert_allclose(again.components.mean, model.distribution_.components.mean, rtol=1e-4)


def test_classes_that_a_row_may_not_have_are_never_its_own():
    allowed = np.ones((150, 3), bool)
    other = np.random.default_rng(0).integers(1, 3, 150)
    allowed[np.arange(150), (Y + other) % 3] = False  # each row says one class that it is not
    model = sf.BayesClassifier(sf.MultivariateNormal()).fit(X, allowed)
    assert np.mean(model.predict(X) == Y) > 0.9
    allowed[3] = False
    with pytest.raises(sf.DataError, match="row 3 may have no class"):
        sf.BayesClassifier().fit(X, allowed)


def test_all_known_is_the_plain_fit():
    allowed = Y[:, None] == np.arange(3)
    one, other = sf.BayesClassifier().fit(X, allowed), sf.BayesClassifier().fit(X, Y)
    assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    assert one.statistics_.exact


@pytest.mark.parametrize(
    "model", [sf.GaussianNB(), sf.BernoulliNB(binarize=3.0), sf.CategoricalNB(), sf.NaiveBayes(), sf.MultinomialNB()]
)
def test_the_classics_take_unknown_classes_too(model):
    y = np.where(np.arange(150) % 4 == 0, Y, np.nan)
    found = model.fit(X, y).predict(X)
    plain = model.fit(X[::4], Y[::4]).predict(X)
    assert set(found) <= {0, 1, 2}
    assert np.mean(found == Y) > np.mean(plain == Y) - 0.3


def test_what_is_not_known_is_refused():
    with pytest.raises(ValueError, match="every class is unknown"):
        sf.BayesClassifier().fit(X, np.full(150, np.nan))
    with pytest.raises(sf.UnsupportedError, match="row 1 has none"):
        sf.GaussianNB().partial_fit(X[:2], [0.0, np.nan], classes=[0, 1])
    model = sf.GaussianNB().fit(X, np.where(np.arange(150) % 4 == 0, Y, np.nan))
    with pytest.raises(sf.UnsupportedError, match="exact statistics"):
        model.unlearn(X[:1], Y[:1])


@pytest.mark.parametrize("kind", [sf.MultinomialNB, sf.BernoulliNB])
def test_sparse_rows_of_unknown_class(kind):
    counts = np.random.default_rng(0).poisson(1.0 + 3.0 * np.eye(3)[Y][:, [0, 1, 2, 0, 1]])
    y = np.where(np.arange(150) % 5 == 0, Y, np.nan)
    dense, sparse = kind().fit(counts, y), kind().fit(scipy.sparse.csr_matrix(counts), y)
    assert_allclose(sparse.feature_log_prob_, dense.feature_log_prob_, rtol=1e-6)
    assert np.mean(dense.predict(counts) == Y) > (0.9 if kind is sf.MultinomialNB else 0.5)


@pytest.mark.parametrize("last", [3, 5])
def test_categories_that_only_rows_of_unknown_class_have_are_counted(last):
    """The fit is compared with one of the known rows alone, which must leave nothing behind."""
    x, y = np.array([[0], [1], [2], [1], [last]]), np.array([0, 1, 0, 1, None], dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.SufficeWarning)
        found = sf.CategoricalNB().fit(x, y)
    assert found.n_categories_.tolist() == [last + 1]
    assert found.feature_log_prob_[0].shape == found.category_count_[0].shape == (2, last + 1)
    assert np.exp(found.feature_log_prob_[0]).sum(axis=1) == pytest.approx([1.0, 1.0])
    assert dumps(loads(dumps(found))) == dumps(found)
