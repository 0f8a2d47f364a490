"""Naive Bayes against scikit-learn's, where the definitions agree, and where ours goes on."""

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import naive_bayes as theirs
from sklearn.datasets import load_digits, load_iris, load_wine

import suffice as sf

DIGITS, DIGIT = load_digits(return_X_y=True)
DIGITS = DIGITS.astype(int)
SHARES = np.random.default_rng(0).random(len(DIGIT))
OPTIONS = [{}, {"alpha": 0.3}, {"fit_prior": False}, {"class_prior": np.arange(1, 11) / 55}]


def agree(ours, other, X, attributes):
    for name in attributes:
        mine, yours = getattr(ours, name), getattr(other, name)
        for left, right in zip(mine, yours, strict=True):
            assert_allclose(left, right, rtol=1e-10, atol=1e-12, err_msg=name)
    for name in ("predict_joint_log_proba", "predict_log_proba", "predict_proba"):
        assert_allclose(getattr(ours, name)(X), getattr(other, name)(X), rtol=1e-10, atol=1e-10, err_msg=name)
    assert_array_equal(ours.predict(X), other.predict(X))
    assert ours.score(X, DIGIT[: len(X)]) == other.score(X, DIGIT[: len(X)])


@pytest.mark.parametrize("priors", [None, [0.2, 0.3, 0.5]])
@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_gaussian(load, priors):
    X, y = load(return_X_y=True)
    w = np.random.default_rng(1).random(len(y))
    pair = [
        kind(priors=priors, var_smoothing=0.0).fit(X, y, sample_weight=w) for kind in (sf.GaussianNB, theirs.GaussianNB)
    ]
    agree(*pair, X, ["theta_", "var_", "class_prior_", "class_count_"])


def test_smoothing_is_a_part_of_the_largest_variance_and_at_most_twice_the_columns_own():
    X, y = load_iris(return_X_y=True)
    smooth, plain = sf.GaussianNB(var_smoothing=0.1).fit(X, y), sf.GaussianNB(var_smoothing=0.0).fit(X, y)
    wanted = np.minimum(0.1 * X.var(axis=0).max(), 2 * X.var(axis=0))
    assert_allclose(smooth.epsilon_, wanted, rtol=1e-13)
    assert_allclose(smooth.var_, plain.var_ + wanted, rtol=1e-12)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", ["BernoulliNB", "MultinomialNB", "CategoricalNB"])
def test_counts(kind, options):
    count = "category_count_" if kind == "CategoricalNB" else "feature_count_"
    pair = [getattr(home, kind)(**options).fit(DIGITS, DIGIT, sample_weight=SHARES) for home in (sf, theirs)]
    agree(*pair, DIGITS, ["feature_log_prob_", "class_log_prior_", "class_count_", count])


def test_an_alpha_for_each_column():
    alpha = np.linspace(0.5, 2.0, DIGITS.shape[1])
    pair = [home.MultinomialNB(alpha=alpha).fit(DIGITS, DIGIT) for home in (sf, theirs)]
    agree(*pair, DIGITS, ["feature_log_prob_"])
    yes = sf.BernoulliNB(alpha=alpha).fit(DIGITS, DIGIT)  # scikit-learn's cannot
    counted = np.array([(DIGITS[digit == DIGIT] > 0).sum(axis=0) for digit in range(10)])
    assert_allclose(yes.feature_log_prob_, np.log((counted + alpha) / (np.bincount(DIGIT)[:, None] + 2 * alpha)))


@pytest.mark.parametrize("kind", ["BernoulliNB", "MultinomialNB"])
@pytest.mark.parametrize("form", [scipy.sparse.csr_matrix, scipy.sparse.csc_array])
def test_sparse_rows_are_rows(kind, form):
    X = form(DIGITS * 0.25)  # fractions are welcome
    sparse, dense = (getattr(sf, kind)().fit(rows, DIGIT, sample_weight=SHARES) for rows in (X, DIGITS * 0.25))
    assert_allclose(sparse.feature_log_prob_, dense.feature_log_prob_, rtol=1e-13)
    assert_allclose(sparse.predict_joint_log_proba(X), dense.predict_joint_log_proba(DIGITS * 0.25), rtol=1e-12)
    assert_array_equal(sparse.predict(X), dense.predict(DIGITS * 0.25))
    parts = getattr(sf, kind)()
    for rows in np.array_split(np.arange(len(DIGIT)), 3):
        parts.partial_fit(X.tocsr()[rows], DIGIT[rows], classes=range(10), sample_weight=SHARES[rows])
    assert_allclose(parts.feature_log_prob_, dense.feature_log_prob_, rtol=1e-12)


def test_a_column_that_is_always_yes_is_scored_alike_in_sparse_rows():
    X, y = np.array([[1, 0], [1, 1], [0, 1], [1, 1]]), [0, 0, 1, 1]
    dense, sparse = (sf.BernoulliNB(alpha=0.0).fit(rows, y) for rows in (X, scipy.sparse.csr_matrix(X)))
    assert_array_equal(sparse.predict_proba(scipy.sparse.csr_matrix(X)), dense.predict_proba(X))


def test_least_alpha_is_said_and_kept_as_scikit_learn_does():
    for home in (sf, theirs):
        with pytest.warns(UserWarning, match="alpha too small"):
            home.BernoulliNB(alpha=0.0, force_alpha=False).fit([[1, 0], [0, 1]], [0, 1])
    with pytest.raises(ValueError, match="n_features"):
        sf.MultinomialNB(alpha=[1.0, 2.0]).fit(DIGITS, DIGIT)
    with pytest.raises(ValueError, match="greater than 0"):
        sf.MultinomialNB(alpha=np.full(64, -1.0)).fit(DIGITS, DIGIT)


def test_categories_that_were_never_seen():
    model = sf.CategoricalNB(min_categories=[4, 2]).fit([[0, 1], [1, 0], [2, 1]], [0, 1, 1])
    assert model.n_categories_.tolist() == [4, 2]
    assert_allclose(model.feature_log_prob_[0][0], np.log([2 / 5, 1 / 5, 1 / 5, 1 / 5]))
    for row in ([[9, 1]], [[9.0, 1.0]], [[2**40, 1]]):  # as the category 3, which was declared and no row had
        assert_allclose(model.predict_joint_log_proba(row), model.predict_joint_log_proba([[3, 1]]), rtol=1e-14)
        assert_array_equal(model.predict(row), model.predict([[3, 1]]))
        assert model.explain(row[0], 0, 1).terms == pytest.approx(model.explain([3, 1], 0, 1).terms, rel=1e-13)
    yes = sf.CategoricalNB(alpha=0.5).fit([[0], [1], [1], [0], [0]], [0, 1, 1, 1, 1])
    by_hand = np.array([0.5 / (1 + 0.5 * 2), 0.5 / (4 + 0.5 * 2)]) * [0.2, 0.8]
    assert_allclose(yes.predict_proba([[2]])[0], by_hand / by_hand.sum(), rtol=1e-14)
    assert yes.predict([[2]]) == by_hand.argmax()
    assert yes.explain([2], 0, 1).log_odds == pytest.approx(np.log(by_hand[0] / by_hand[1]), rel=1e-13)
    with pytest.raises(ValueError, match="min_categories"):
        sf.CategoricalNB(min_categories=[4]).fit([[0, 1], [1, 0]], [0, 1])
    with pytest.raises(ValueError, match="Negative"):
        sf.CategoricalNB().fit([[0, -1], [1, 0]], [0, 1])
    for row in ([-1, 0], [-1.0, np.nan]):
        for ask in (model.predict, model.predict_proba, lambda rows: model.explain(rows[0])):
            with pytest.raises(ValueError, match=r"Negative values in data passed to .*: row 0, column 0 has -1"):
                ask([row])


@pytest.mark.parametrize("kind", [float, np.int64, np.int8])
def test_without_smoothing_a_new_category_is_left_out_and_it_is_said(kind):
    model = sf.CategoricalNB(alpha=0.0).fit([[0, 1], [1, 0], [1, 1], [0, 0]], [0, 1, 1, 0])
    rows = np.array([[9, 1]]).astype(kind)
    for ask in (model.predict, model.predict_proba):
        with pytest.warns(sf.SufficeWarning, match="none of the levels"):
            assert_array_equal(ask(rows), ask([[np.nan, 1]]))


def test_a_column_of_nothing_says_nothing():
    X, y = np.array([[0, np.nan], [1, np.nan], [1, np.nan]]), [0, 1, 1]
    model, other = sf.CategoricalNB().fit(X, y), sf.CategoricalNB().fit(X[:, :1], y)
    assert_allclose(model.predict_proba([[0, 3], [1, np.nan]]), other.predict_proba([[0], [1]]), rtol=1e-14)


def test_new_categories_in_later_rows():
    X, y = np.array([[0, 0], [1, 1], [2, 0], [5, 3]]), [0, 1, 0, 1]
    parts = sf.CategoricalNB().partial_fit(X[:2], y[:2], classes=[0, 1]).partial_fit(X[2:], y[2:])
    whole = sf.CategoricalNB().fit(X, y)
    assert parts.n_categories_.tolist() == [6, 4]
    for left, right in zip(parts.feature_log_prob_, whole.feature_log_prob_, strict=True):
        assert_allclose(left, right, rtol=1e-14)


@pytest.mark.parametrize("kind", [sf.GaussianNB, sf.BernoulliNB, sf.CategoricalNB])
def test_a_missing_cell_is_one_that_was_not_looked_at(kind):
    X, y = load_iris(return_X_y=True)
    X = np.round(X)
    holes = X.copy()
    holes[:, 2] = np.nan
    without = np.delete(X, 2, axis=1)
    plain = {"var_smoothing": 0.0} if kind is sf.GaussianNB else {}  # smoothing is by the largest variance of all
    left, right = (
        kind(**plain).fit(X, y).predict_joint_log_proba(holes),
        kind(**plain).fit(without, y).predict_joint_log_proba(without),
    )
    assert_allclose(left, right, rtol=1e-11)
    some = X.copy()
    some[::7, 0] = np.nan
    seen = ~np.isnan(some[:, 0])
    one = kind().fit(some, y).predict_joint_log_proba(holes[:1])
    other = kind().fit(X[:, 1:], y).predict_joint_log_proba(holes[:1, 1:])
    first = kind(**({"class_prior": [1 / 3] * 3} if kind is not sf.GaussianNB else {"priors": [1 / 3] * 3}))
    alone = first.fit(X[seen, :1], y[seen]).predict_joint_log_proba(X[:1, :1]) - np.log(1 / 3)
    assert_allclose(one, other + alone, rtol=1e-6)  # var_smoothing is of the rows that are there


def test_two_classes_of_d_binary_columns_have_2d_plus_1_parameters():
    X = np.random.default_rng(0).integers(0, 2, (50, 7))
    y = np.arange(50) % 2
    assert sf.BernoulliNB().fit(X, y).n_parameters == 15
    assert sf.NaiveBayes().fit(X, y).n_parameters == 15
    assert sf.BernoulliNB(fit_prior=False).fit(X, y).n_parameters == 14


def test_columns_of_any_scale_side_by_side():
    X, y = load_iris(return_X_y=True)
    scale = np.array([1e-8, 1e8, 1e-8, 1e8])
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    for prototype in (sf.Normal(), sf.MultivariateNormal(), sf.MultivariateNormal(structure="tied")):
        scaled = sf.BayesClassifier(prototype).fit(X * scale, y).predict_proba(X * scale)
        plain = sf.BayesClassifier(prototype).fit(standard, y).predict_proba(standard)
        assert_allclose(scaled, plain, atol=1e-6)
    assert_allclose(
        sf.GaussianNB(var_smoothing=0.0).fit(X * scale, y).predict_proba(X * scale),
        sf.GaussianNB(var_smoothing=0.0).fit(X, y).predict_proba(X),
        atol=1e-9,
    )
    assert sf.GaussianNB().fit(X * scale, y).score(X * scale, y) > 0.93  # where smoothing is at its most


def test_mixed_columns_in_one_table():
    rng = np.random.default_rng(0)
    y = np.array(["no", "yes"])[rng.integers(0, 2, 400)]
    yes = y == "yes"
    X = {
        "size": rng.normal(3.0 * yes, 1.0),
        "colour": np.where(rng.random(400) < 0.2 + 0.6 * yes, "red", "blue"),
        "visits": rng.poisson(1 + 4 * yes).astype(float),
        "component": rng.random(400) < 0.3 + 0.4 * yes,
    }
    model = sf.NaiveBayes({"visits": sf.Poisson()}).fit(X, y)
    assert [block.name for block in model.prototype_.blocks.values()] == [
        "Normal",
        "Categorical",
        "Poisson",
        "Bernoulli",
    ]
    assert np.mean(model.predict(X) == y) > 0.95
    blocks = {"size": sf.Normal(), "colour": sf.Categorical(), "visits": sf.Poisson(), "component": sf.Bernoulli()}
    same = sf.BayesClassifier(sf.Product(blocks), prior="weak").fit(X, y)
    assert_allclose(model.predict_log_proba(X), same.predict_log_proba(X), rtol=1e-12)
    with pytest.raises(sf.ParameterError, match="'speed'"):
        sf.NaiveBayes({"speed": sf.Normal()}).fit(X, y)


@pytest.mark.parametrize("frame", [False, True])
def test_one_family_is_that_of_every_column(frame):
    """Of an array and of a table; a product without names goes by position, and a joint family takes all columns."""
    X, y = load_iris(return_X_y=True)
    data = dict(zip("abcd", X.T, strict=True)) if frame else X
    ours = sf.NaiveBayes(sf.Normal(), prior=None).fit(data, y)
    assert_allclose(ours.predict_proba(data), sf.GaussianNB(var_smoothing=0).fit(X, y).predict_proba(X), rtol=1e-9)
    placed = sf.NaiveBayes(sf.Product([sf.Normal()] * 4), prior=None).fit(data, y)
    assert_allclose(placed.predict_log_proba(data), ours.predict_log_proba(data), rtol=1e-9)
    joint = sf.NaiveBayes(sf.MultivariateNormal(), prior=None).fit(data, y)
    known = sf.QuadraticDiscriminantAnalysis(priors=[1 / 3] * 3).fit(X, y)
    assert np.mean(joint.predict(data) == known.predict(X)) > 0.98
    several = sf.NaiveBayes(sf.Mixture(sf.Normal(), 2), random_state=0).fit(data, y)
    assert several.distribution_.columns == 4
    assert np.mean(several.predict(data) == y) > 0.9
    with pytest.raises(sf.DataError, match="2 columns, but 4"):
        sf.NaiveBayes(sf.Product([sf.Normal()] * 2)).fit(data, y)
