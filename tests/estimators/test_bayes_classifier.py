"""What people meet first: beliefs about spreads, names instead of places, and errors that say what to do."""

import numpy as np
import pandas as pd
import pytest
from palmerpenguins import load_penguins
from sklearn.base import clone

import suffice as sf
from suffice.errors import DataError, SufficeError, SufficeWarning, UnsupportedError

PENGUINS = load_penguins()
X, Y = PENGUINS.drop(columns="species"), PENGUINS["species"]
NUMBERS = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]


@pytest.mark.parametrize("apart", [0.0, 10.0, 1e4])
@pytest.mark.parametrize("counts", [sf.Poisson(), sf.NegativeBinomial()], ids=["exact", "several passes"])
def test_a_weak_prior_knows_nothing_of_how_far_classes_are_apart(apart, counts):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=40), np.repeat(["a", "b"], 20)
    x[:20] *= 3.0
    table = {"x": x + apart * (y == "b"), "count": rng.poisson(5, 40)}
    model = sf.NaiveBayes({"x": sf.Normal(), "count": counts}).fit(table, y)
    found = [one.blocks["x"] for one in model.distribution_.components.unstacked]
    groups = [table["x"][y == label] for label in "ab"]
    inside = np.mean([np.var(group) for group in groups])
    for one, group in zip(found, groups, strict=True):
        assert float(np.ravel(one.mean)[0]) == pytest.approx(group.mean(), rel=1e-9)
        assert float(np.ravel(one.std)[0] ** 2) == pytest.approx((20 * np.var(group) + inside) / 21, rel=1e-9)


def test_rows_of_unknown_class_that_mislead_are_reported():
    hidden = Y.to_numpy(dtype=object).copy()
    hidden[np.random.default_rng(0).random(len(Y)) < 0.9] = None
    with pytest.warns(SufficeWarning, match="drew the classes away"):
        model = sf.NaiveBayes().fit(X, hidden)
    assert "unlabelled" in dict(model.alerts_)
    rows = X[NUMBERS].dropna()
    assert "unlabelled" not in dict(sf.LinearDiscriminantAnalysis().fit(rows, hidden[rows.index]).alerts_)


def test_priors_and_losses_by_name():
    model = sf.NaiveBayes().fit(X, Y)
    classes = model.classes_.tolist()
    named = model.with_priors({"Gentoo": 0.5, "Adelie": 0.2, "Chinstrap": 0.3})
    assert named.class_prior_.tolist() == pytest.approx([0.2, 0.3, 0.5])
    with pytest.raises(ValueError, match=r"'Emperor'.*give one for each"):
        model.with_priors({"Gentoo": 0.5, "Emperor": 0.5})
    loss = pd.DataFrame(np.random.default_rng(0).random((3, 3)), index=classes, columns=classes)
    turned = loss.iloc[::-1, ::-1]
    assert (model.predict(X, loss=turned) == model.predict(X, loss=loss.to_numpy())).all()
    with pytest.raises(DataError, match="name a row after each class"):
        model.predict(X, loss=loss.rename(index={"Gentoo": "Emperor"}))


@pytest.mark.parametrize(
    "model",
    [sf.LinearDiscriminantAnalysis(), sf.QuadraticDiscriminantAnalysis(), sf.BayesClassifier(sf.MultivariateNormal())],
)
def test_holes_under_a_covariance_take_several_passes(model):
    assert clone(model).fit(X[NUMBERS], Y).n_iter_ == 1  # row 3 has no cell at all, and counts for nothing
    holes, whole = X[NUMBERS].copy(), X[NUMBERS].dropna()
    holes.iloc[5, 1] = np.nan
    holes.iloc[7::7, 2] = np.nan
    assert model.fit(holes, Y).score(holes, Y) > 0.97
    assert model.n_iter_ > 1
    with pytest.raises(UnsupportedError, match=r"partial_fit sees rows once.*row 5, column 1 is missing"):
        clone(model).partial_fit(holes, Y, classes=np.unique(Y))
    with pytest.raises(UnsupportedError, match="missing cells under a covariance"):
        model.unlearn(whole[:3], Y[:3])
    known = clone(model).fit(whole, Y[whole.index])
    with pytest.raises(UnsupportedError, match=r"unlearn sees rows once.*row 5, column 1 is missing"):
        known.unlearn(holes[:7], Y[:7])
    with pytest.raises(UnsupportedError, match="Fit all rows again"):
        known.merge(model)


def test_errors_name_what_is_wrong():
    model = sf.NaiveBayes().fit(X, Y)
    with pytest.raises(DataError, match="10 classes for 344 rows"):
        model.dependence(X, Y[:10])
    with pytest.raises(TypeError, match="two fits of NaiveBayes; got GaussianNB"):
        model.merge(sf.GaussianNB().fit(X[NUMBERS].dropna(), Y[X[NUMBERS].dropna().index]))
    with pytest.raises(TypeError, match="got NoneType"):
        model.merge(None)
    with pytest.raises(TypeError, match=r"classifier.explain\(row\)"):
        sf.plot.evidence(model)
    for wrong in (sf.Gamma, "gamma"):
        with pytest.raises(SufficeError, match="body_mass_g"):
            sf.NaiveBayes({"body_mass_g": wrong}).fit(X, Y)


def test_labels_of_a_list_that_also_holds_nan_are_not_text():
    rows = np.arange(6.0)[:, None]
    model = sf.GaussianNB().fit(rows, ["a", "b", np.nan, "a", "b", "b"])
    assert model.classes_.tolist() == ["a", "b"]
    assert model.class_count_.sum() == pytest.approx(6.0)
    with pytest.raises(TypeError, match="text and int 1"):
        sf.GaussianNB().fit(rows, ["a", 1, None, "b", 1, 2])


def test_classes_that_nothing_tells_apart_are_refused():
    rows = np.random.default_rng(0).normal(size=(20, 2))
    allowed = np.ones((20, 3), bool)
    allowed[:5] = [False, False, True]
    with pytest.raises(DataError, match="classes 0, 1 are allowed in the same rows"):
        sf.GaussianNB().fit(rows, allowed)
    allowed[5] = [True, False, False]
    assert sf.GaussianNB().fit(rows, allowed).classes_.tolist() == [0, 1, 2]


def test_the_first_of_equal_risks_is_decided():
    for k in range(2, 40):
        assert sf.decide(np.full(k, 1 / k)) == 0
        assert sf.decide(np.full(k, 1 / k), loss=1.0 - np.eye(k)) == 0
    assert sf.decide([0.8, 0.1, 0.1], reject=1 - 0.8) == 0
    same = sf.GaussianNB().fit(np.zeros((10, 1)), np.arange(10))
    assert same.predict([[np.nan]]) == same.predict([[np.nan]], reject=1.0) == 0


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_class_whose_rows_weigh_nothing_has_no_say_in_the_likelihood():
    """Its log-probability is −inf, and none of its rows counts: nothing times infinity is nothing."""
    x, y = np.random.default_rng(0).normal(size=(90, 1)), np.repeat(["a", "b", "c"], 30)
    with pytest.warns(SufficeWarning, match="class 'c' has no rows"):
        model = sf.BayesClassifier(sf.StudentT()).fit(x, y, sample_weight=np.where(y == "c", 0.0, 1.0))
    evidence = float(model.statistics_.log_likelihood[0])
    kept = y != "c"
    alone = sf.BayesClassifier(sf.StudentT()).fit(x[kept], y[kept])
    assert evidence == pytest.approx(float(alone.statistics_.log_likelihood[0]), rel=1e-12)
