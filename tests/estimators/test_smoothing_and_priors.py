"""What GaussianNB adds to variances, and what LDA, QDA and GaussianNB believe before the data."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import naive_bayes
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_score

import suffice as sf

FOLDS = StratifiedKFold(10, shuffle=True, random_state=0)


def accuracy(model, data, folds=FOLDS):
    return cross_val_score(model, *data, cv=folds).mean()


def beside(small, large):
    """A column that tells the classes apart, and one of another scale that does not."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    return np.column_stack([small * (y + 0.5 * rng.normal(size=600)), large * rng.normal(size=600)]), y


def test_images_with_nearly_constant_pixels_are_classified_as_well_as_by_scikit_learn():
    digits = load_digits(return_X_y=True)
    pair = tuple(part[np.isin(digits[1], (3, 8))] for part in digits)
    assert accuracy(sf.GaussianNB(), digits, 10) > 0.81  # scikit-learn: .811
    assert accuracy(sf.GaussianNB(var_smoothing=0.1), digits, 10) > 0.89  # .894
    assert accuracy(sf.GaussianNB(), pair, 10) > 0.89  # .896


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine, load_iris])
def test_ordinary_tables_lose_nothing(load):
    data = load(return_X_y=True)
    for part in (1e-9, 1e-3, 0.1):
        ours, theirs = (accuracy(kind(var_smoothing=part), data) for kind in (sf.GaussianNB, naive_bayes.GaussianNB))
        assert ours > theirs - 0.005


@pytest.mark.parametrize("scales", [(1.0, 1.0), (1e-3, 1e3), (1e-6, 1e6)], ids=str)
def test_a_column_is_not_swamped_by_one_of_larger_scale(scales):
    data = beside(*scales)
    for part in (1e-9, 0.1):
        assert accuracy(sf.GaussianNB(var_smoothing=part), data) > 0.86  # scikit-learn: .53 where scales differ
    model = sf.GaussianNB(var_smoothing=0.1).fit(*data)
    assert (model.epsilon_ <= 2 * data[0].var(axis=0) * (1 + 1e-12)).all()
    assert (model.epsilon_ <= 0.1 * data[0].var(axis=0).max() * (1 + 1e-12)).all()


KINDS = [sf.GaussianNB, sf.LinearDiscriminantAnalysis, sf.QuadraticDiscriminantAnalysis]


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_prior_nothing_changes_and_with_one_the_estimate_is_the_mode(kind):
    X, y = load_iris(return_X_y=True)
    plain = kind().fit(X, y)
    assert_allclose(kind(prior=None).fit(X, y).predict_proba(X), plain.predict_proba(X), rtol=0)
    weak = kind(prior="weak").fit(X, y)
    assert np.abs(weak.predict_proba(X) - plain.predict_proba(X)).max() > 0
    assert weak.score(X, y) > plain.score(X, y) - 0.03
    if kind is sf.GaussianNB:
        strong = sf.NormalInverseGamma(X.mean(), 1e9, 1e9, 1e9)
    else:
        strong = sf.NormalInverseWishart(X.mean(axis=0), 1e9, 1e9, 1e9 * np.eye(4))
    model = kind(prior=strong).fit(X, y)
    means = model.theta_ if kind is sf.GaussianNB else model.means_
    assert_allclose(means, np.broadcast_to(X.mean() if kind is sf.GaussianNB else X.mean(axis=0), (3, 4)), rtol=1e-5)
    assert model.get_params()["prior"] is strong


@pytest.mark.parametrize("kind", KINDS)
def test_a_prior_goes_with_files_streams_and_merges(kind, tmp_path):
    X, y = load_iris(return_X_y=True)
    prior = sf.NormalInverseGamma(3.0, 2.0, 3.0, 2.0)
    if kind is not sf.GaussianNB:
        prior = sf.NormalInverseWishart(np.full(4, 3.0), 2.0, 8.0, np.eye(4))
    whole = kind(prior=prior).fit(X, y)
    parts = kind(prior=prior).partial_fit(X[::2], y[::2], classes=[0, 1, 2]).partial_fit(X[1::2], y[1::2])
    assert_allclose(parts.predict_proba(X), whole.predict_proba(X), atol=1e-9)
    sf.save(whole, tmp_path / "model.json")
    assert_allclose(sf.load(tmp_path / "model.json").predict_proba(X), whole.predict_proba(X), rtol=1e-12)


def test_a_prior_beside_a_shrinkage_is_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="a prior, or shrinkage"):
        sf.LinearDiscriminantAnalysis(shrinkage=0.1, prior="weak").fit(X, y)
    with pytest.raises(ValueError, match="a prior, or shrinkage"):
        sf.QuadraticDiscriminantAnalysis(reg_param=0.1, prior="weak").fit(X, y)


# ---- a word where one is due -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [*KINDS, sf.NaiveBayes, sf.BernoulliNB, sf.MultinomialNB])
def test_rows_without_a_class_are_counted_in_one_warning(kind):
    X, y = load_iris(return_X_y=True)
    some = np.where(np.arange(150) % 30 == 3, np.nan, y)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        kind().fit(X, some)
    wanted = (
        f"{kind.__name__}: 5 of 150 rows have no class (NaN or None in y); EM shares them out among the classes. "
        "Leave them out if that is not meant."
    )
    assert [str(one.message) for one in told if "have no class" in str(one.message)] == [wanted]
    assert all(one.filename == __file__ for one in told if "have no class" in str(one.message))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kind().fit(X, y)
        if "unlabeled" in kind().get_params():
            kind(unlabeled=-1).fit(X, np.where(np.isnan(some), -1, y))


def test_a_mixture_that_collapsed_is_refused_or_warned_of():
    from sklearn.exceptions import ConvergenceWarning

    rows = np.concatenate([np.ones((5, 3)), np.zeros((5, 3))])
    for kind in ("full", "tied", "diag", "spherical"):
        with pytest.raises(ValueError, match="some components have ill-defined empirical covariance"):
            sf.GaussianMixture(2, covariance_type=kind, reg_covar=0, random_state=0).fit(rows)
        with pytest.warns(ConvergenceWarning, match="more such alerts, in alerts_") as told:
            model = sf.GaussianMixture(2, covariance_type=kind, random_state=0).fit(rows)
        assert len(told) == 1
        assert told[0].filename == __file__
        assert "collapsed" in dict(model.alerts_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sf.GaussianMixture(3, reg_covar=0, random_state=0).fit(load_iris().data)


def test_a_stream_after_a_failed_fit_is_held_to_its_classes():
    model = sf.GaussianNB(priors=[0.5, 0.5]).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="Number of priors must match"):
        model.fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    with pytest.raises(ValueError, match="is not the same as on last call to partial_fit"):
        model.partial_fit([[0.0]], [0], classes=[0, 1])
    with pytest.raises(AttributeError, match="not fitted yet"):
        model.predict([[0.0]])


def test_covariances_are_shown_when_they_are_asked_for():
    X, y = load_iris(return_X_y=True)
    for kind in KINDS[1:]:
        assert not hasattr(kind().fit(X, y), "covariance_")
        assert np.shape(kind(store_covariance=True).fit(X, y).covariance_)[-2:] == (4, 4)
    assert sf.LinearDiscriminantAnalysis("lsqr").fit(X, y).covariance_.shape == (4, 4)
