"""Laws of every Bayes classifier: parts add, rows can be removed, priors can be changed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_wine

import suffice as sf

X, Y = load_wine(return_X_y=True)
X = np.round(X[:, :6], 1)
WHOLE = np.clip(X, 0, 9).astype(int)
NAMES = np.array(["ham", "spam", "eggs"])[Y]
WEIGHTS = np.random.default_rng(0).uniform(0.2, 3.0, len(Y))

CASES = [
    pytest.param(model, rows, id=f"{model!r}"[:60])
    for model, rows in [
        (sf.BayesClassifier(), X),
        (sf.BayesClassifier(sf.Normal().tie("std")), X),
        (sf.BayesClassifier(sf.MultivariateNormal()), X),
        (sf.BayesClassifier(sf.MultivariateNormal(structure="tied")), X),
        (sf.BayesClassifier(sf.MultivariateNormal(), prior="weak"), X),
        (sf.BayesClassifier(sf.Product([sf.Normal(), sf.Gamma(), sf.MultivariateNormal(np.zeros(4))])), X + 0.1),
        (sf.BayesClassifier(dict.fromkeys(np.unique(NAMES), sf.Normal()) | {"ham": sf.LogNormal()}), X + 0.1),
        (sf.BayesClassifier(sf.Poisson(), prior=sf.Gamma(1.0, 1.0)), WHOLE),
        (sf.NaiveBayes(sf.infer(X, within=Y)), X),  # the families are those of all rows
        (sf.NaiveBayes(sf.infer(X, within=Y, joint=True)), X),
        (sf.GaussianNB(), X),
        (sf.GaussianNB(priors=[0.2, 0.3, 0.5]), X),
        (sf.BernoulliNB(binarize=2.0), X),
        (sf.CategoricalNB(), WHOLE),
        (sf.MultinomialNB(), X),
        (sf.LinearDiscriminantAnalysis(), X),
        (sf.LinearDiscriminantAnalysis("eigen", shrinkage=0.3, priors=[0.2, 0.3, 0.5]), X),
        (sf.LinearDiscriminantAnalysis("lsqr", shrinkage="oas"), X),
        (sf.QuadraticDiscriminantAnalysis(), X),
        (sf.QuadraticDiscriminantAnalysis(shrinkage="oas", reg_param=0.1), X),
    ]
]


def scores(model, rows):
    return model.predict_joint_log_proba(rows)


@pytest.mark.parametrize(("model", "rows"), CASES)
def test_any_split_adds_up_to_the_whole(model, rows):
    whole = clone(model).fit(rows, NAMES, sample_weight=WEIGHTS)
    order = np.random.default_rng(1).permutation(len(rows))
    parts = clone(model)
    for some in np.split(order, [1, 30, 31, 100]):
        parts.partial_fit(rows[some], NAMES[some], classes=np.unique(NAMES), sample_weight=WEIGHTS[some])
    assert_allclose(scores(parts, rows), scores(whole, rows), rtol=1e-11, atol=1e-11)
    for mine, theirs in zip(_numbers(parts), _numbers(whole), strict=True):
        assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12 * np.abs(theirs).max(initial=0.0))


def _numbers(model):
    def walk(params):
        for value in params.values():
            if isinstance(value, dict):
                yield from walk(value)
            elif np.asarray(value).dtype.kind == "f":
                yield np.asarray(value)

    return list(walk(model.distribution_.params))


@pytest.mark.parametrize(("model", "rows"), CASES)
def test_fits_of_two_halves_merge_to_the_fit_of_the_whole(model, rows):
    whole = clone(model).fit(rows, NAMES, sample_weight=WEIGHTS)
    even, odd = (clone(model).fit(rows[i::2], NAMES[i::2], sample_weight=WEIGHTS[i::2]) for i in (0, 1))
    assert even.merge(odd) is even
    assert_allclose(scores(even, rows), scores(whole, rows), rtol=1e-11, atol=1e-11)
    assert_allclose(even.class_count_, whole.class_count_, rtol=1e-14)


@pytest.mark.parametrize(("model", "rows"), CASES)
def test_rows_removed_were_never_seen(model, rows):
    gone = np.arange(len(rows)) % 5 == 0
    model = clone(model).fit(rows, NAMES, sample_weight=WEIGHTS)
    never = clone(model).fit(rows[~gone], NAMES[~gone], sample_weight=WEIGHTS[~gone])
    model.unlearn(rows[gone], NAMES[gone], sample_weight=WEIGHTS[gone])
    assert_allclose(scores(model, rows), scores(never, rows), rtol=1e-9, atol=1e-9)
    with pytest.raises(sf.DataError, match="more rows than were ever added"):
        model.unlearn(rows, NAMES, sample_weight=10 * WEIGHTS)


@pytest.mark.parametrize(("model", "rows"), CASES)
def test_weight_two_is_the_row_twice_and_nothing_else_is_a_row(model, rows):
    counts = np.arange(len(rows)) % 3
    weighted = clone(model).fit(rows, NAMES, sample_weight=counts)
    repeated = clone(model).fit(np.repeat(rows, counts, axis=0), np.repeat(NAMES, counts))
    assert_allclose(scores(weighted, rows), scores(repeated, rows), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("model", "rows"), CASES)
def test_bayes_rule(model, rows):
    model = clone(model).fit(rows, NAMES)
    joint = scores(model, rows)
    proba = np.exp(joint - joint.max(axis=1, keepdims=True))
    proba /= proba.sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba(rows), proba, atol=1e-12)
    assert_allclose(model.predict_log_proba(rows), np.log(np.maximum(proba, 1e-300)), atol=1e-9, rtol=1e-9) if (
        proba > 1e-290
    ).all() else None
    assert_array_equal(model.predict(rows), model.classes_[joint.argmax(axis=1)])


@pytest.mark.parametrize(("model", "rows"), CASES)
def test_priors_can_be_changed_after_training(model, rows):
    model = clone(model).fit(rows, NAMES)
    before, old = scores(model, rows), model.class_prior_
    new = np.array([0.7, 0.2, 0.1])
    other = model.with_priors(new)
    assert_allclose(scores(other, rows), before - np.log(old) + np.log(new), rtol=1e-12, atol=1e-12)
    assert_allclose(scores(model, rows), before)
    model.class_prior_ = new
    assert_allclose(scores(model, rows), scores(other, rows))
    with pytest.raises(ValueError, match="sum of the priors"):
        model.with_priors([0.5, 0.2, 0.1])
    with pytest.raises(ValueError, match="Number of priors"):
        model.with_priors([0.5, 0.5])


@pytest.mark.parametrize(("model", "rows"), CASES)
def test_evidence_adds_up_to_the_log_odds(model, rows):
    model = clone(model).fit(rows, NAMES)
    joint = scores(model, rows)
    names = list(model.classes_)
    for index in (0, 60, 150):
        told = model.explain(rows[index])
        total = told.prior + sum(told.terms.values())
        first, second = names.index(told.label), names.index(told.against)
        assert told.label == model.predict(rows[index : index + 1])[0]
        assert abs(total - told.log_odds) < 1e-12 * max(1.0, np.abs(joint[index]).max())
        assert_allclose(told.log_odds, joint[index, first] - joint[index, second], rtol=1e-12, atol=1e-12)
        assert_allclose(told.probability, model.predict_proba(rows[index : index + 1])[0, first], atol=1e-12)
        pair = model.explain(rows[index], "eggs", "spam")
        assert_allclose(pair.log_odds, joint[index, names.index("eggs")] - joint[index, names.index("spam")])


def test_predict_takes_losses_and_rejects():
    model = sf.GaussianNB().fit(X, NAMES)
    loss = np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 1.0], [1.0, 3.0, 0.0]])
    proba = model.predict_proba(X)
    assert_array_equal(model.predict(X, loss=loss), model.classes_[(proba @ loss).argmin(axis=1)])
    doubtful = model.predict(X, reject=0.02)
    assert_array_equal([one is None for one in doubtful], proba.max(axis=1) < 0.98)
    numbers = sf.GaussianNB().fit(X, Y).predict(X, reject=0.02)
    assert_array_equal(numbers == -1, proba[:, [1, 2, 0]].max(axis=1) < 0.98)
    actions = model.predict(X, loss=np.hstack([loss, np.full((3, 1), -1.0)]))
    assert_array_equal(actions, np.full(len(X), 3))


@pytest.mark.parametrize(
    "prototype",
    [sf.StudentT(), sf.Mixture(sf.Normal(), 2), sf.Product([sf.Normal()] * 5 + [sf.Mixture(sf.Normal(), 2)])],
    ids=["StudentT", "Mixture", "Product"],
)
def test_families_that_take_several_passes_are_fitted_class_by_class(prototype):
    model = sf.BayesClassifier(prototype, random_state=0).fit(X, NAMES)
    for index, name in enumerate(model.classes_):
        alone = sf.fit(prototype, X[name == NAMES], random_state=0)
        scored = model.distribution_.components.log_prob(X)[:, index]
        assert_allclose(scored.sum(), alone.log_prob(X).sum(), rtol=2e-2)
        assert scored[name == NAMES].sum() >= alone.log_likelihood - 1.0
    assert not hasattr(model, "partial_fit")
    with pytest.raises(sf.UnsupportedError, match="exact statistics"):
        model.merge(model)


def test_mistakes_are_named():
    model = sf.GaussianNB().fit(X, NAMES)
    with pytest.raises(ValueError, match=r"\['tofu'\].*do not exist"):
        sf.GaussianNB().partial_fit(X, NAMES, classes=np.unique(NAMES)).partial_fit(X[:1], ["tofu"])
    with pytest.raises(ValueError, match="classes must be passed"):
        sf.GaussianNB().partial_fit(X, NAMES)
    with pytest.raises(ValueError, match="not the same as on last call"):
        sf.GaussianNB().partial_fit(X, NAMES, classes=np.unique(NAMES)).partial_fit(X, NAMES, classes=["ham"])
    with pytest.raises(ValueError, match="same classes"):
        model.merge(sf.GaussianNB().fit(X, Y))
    with pytest.raises(ValueError, match="says nothing of class 'eggs'"):
        sf.BayesClassifier({"ham": sf.Normal(), "spam": sf.Normal()}).fit(X, NAMES)
    with pytest.raises(sf.ParameterError, match="'tofu' is not a class"):
        model.explain(X[0], "tofu")
    with pytest.raises(ValueError, match="one row; got 2"):
        model.explain(X[:2])


def test_a_class_without_rows_is_never_predicted():
    model = sf.GaussianNB().partial_fit(X[Y < 2], Y[Y < 2], classes=[0, 1, 2])
    assert set(model.predict(X)) <= {0, 1}
    assert ("empty" in dict(model.alerts_)) is True
