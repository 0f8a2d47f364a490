"""Fits of parts of the rows, merged: the fit of all rows where statistics are exact, one M-step where they are not."""

import warnings

import numpy as np
import pandas as pd
import pytest
from tests.families import FAMILIES, ITERATIVE, known, prototype

import suffice as sf
from suffice.io import dumps, loads

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(size=(60, 2)), RNG.normal(size=(60, 2)) * 0.5 + 5.0])
X = X[RNG.permutation(len(X))]
Y = np.array(["low", "high"])[(X[:, 0] > 2.5).astype(int)]
FRAME = pd.DataFrame(
    {"size": X[:, 0], "kind": np.array(["a", "b", "c"])[RNG.integers(0, 3, 120)], "visits": RNG.poisson(2, 120)}
)
FRAME.loc[::7, "size"] = np.nan


@pytest.mark.parametrize("name", sorted(set(FAMILIES) - ITERATIVE))
def test_exact_fits_merge_to_the_fit_of_all_rows(name):
    truth = FAMILIES[name].example(np.random.default_rng(1))
    rows = truth.sample(150, random_state=2)
    model = FAMILIES[name](**known(truth))
    parts = [sf.fit(model, part) for part in (rows[:20], rows[20:90], rows[90:])]
    merged, whole = sf.merge(*parts), sf.fit(model, rows)
    assert merged.distribution.distance(whole.distribution) < 1e-6
    assert merged.log_likelihood == pytest.approx(whole.log_likelihood, rel=1e-9)
    assert (merged.n, merged.converged, merged.alerts) == (whole.n, True, whole.alerts)
    assert np.allclose(merged.distribution.log_prob(rows), whole.distribution.log_prob(rows), rtol=1e-6)


@pytest.mark.parametrize("name", sorted(ITERATIVE))
def test_families_of_several_passes_say_why_they_do_not_merge(name):
    rows = FAMILIES[name].example(np.random.default_rng(1)).sample(50, random_state=2)
    a, b = (sf.fit(prototype(name), part) for part in (rows[:25], rows[25:]))
    with pytest.raises(sf.UnsupportedError, match=f"{name} takes several passes"):
        sf.merge(a, b)


def test_tables_with_holes_merge_by_column():
    prototype = sf.infer(FRAME)
    a, b, whole = (sf.fit(prototype, part, prior="weak") for part in (FRAME[:50], FRAME[50:], FRAME))
    merged = sf.merge(a, b)
    assert merged.distribution.distance(whole.distribution) < 1e-9
    assert (merged.missing, merged.n, repr(merged.prior)) == (whole.missing, whole.n, repr(whole.prior))
    assert merged.log_posterior == pytest.approx(whole.log_posterior)
    assert sf.merge(loads(dumps(a)), loads(dumps(b))) == merged
    assert merged.bic == pytest.approx(whole.bic)


def test_levels_of_both_are_in_order():
    a, b = sf.fit(sf.Categorical(), ["b", "d", "d"]), sf.fit(sf.Categorical(), ["c", "a", "b"])
    merged = sf.merge(a, b).distribution
    assert merged == sf.fit(sf.Categorical(), ["b", "d", "d", "c", "a", "b"]).distribution
    wide = [sf.fit(sf.Categorical(), part) for part in ([["b", "x"], ["d", "y"]], [["a", "x"], ["c", "z"]])]
    whole = sf.fit(sf.Categorical(), [["b", "x"], ["d", "y"], ["a", "x"], ["c", "z"]])
    assert sf.merge(*wide).distribution == whole.distribution


def test_a_prior_counts_once():
    prior = sf.Beta(3.0, 5.0)
    a, b = sf.fit(sf.Bernoulli(), [1, 0, 1], prior=prior), sf.fit(sf.Bernoulli(), [1, 1], prior=prior)
    whole = sf.fit(sf.Bernoulli(), [1, 0, 1, 1, 1], prior=prior)
    assert sf.merge(a, b).distribution == whole.distribution
    assert sf.merge(a, b).log_posterior == pytest.approx(whole.log_posterior)
    with pytest.raises(sf.ParameterError, match="under the same prior"):
        sf.merge(a, sf.fit(sf.Bernoulli(), [1, 1]))


# ---- who made which row is hidden -----------------------------------------------------------------------------------
def test_mixtures_are_aligned_added_and_take_one_step():
    prototype = sf.Mixture(sf.MultivariateNormal(), 2)
    a, b, whole = (sf.fit(prototype, part, random_state=0) for part in (X[:70], X[70:], X))
    merged = sf.merge(a, b)
    assert [code for code, _ in merged.alerts] == ["merged"]
    assert not merged.converged
    assert np.allclose(merged.distribution.components.mean, whole.distribution.components.mean, atol=1e-2)
    assert np.allclose(merged.distribution.components.cov, whole.distribution.components.cov, atol=2e-2)
    assert merged.log_likelihood <= float(np.sum(merged.distribution.log_prob(X))) + 1e-9
    assert merged.n == whole.n
    assert np.sum(merged.statistics.count) == pytest.approx(120)
    turned = sf.fit(prototype, X[70:], start=b.distribution.permuted([1, 0]), tol=1e-12)
    assert turned.distribution.components.mean[0, 0] > turned.distribution.components.mean[1, 0]
    assert sf.merge(a, turned).distribution.distance(merged.distribution) < 1e-4
    further = sf.fit(prototype, X, start=merged.distribution)
    assert further.log_likelihood == pytest.approx(whole.log_likelihood, rel=1e-8)


def test_hidden_components_inside_a_product_and_inside_components_are_aligned():
    prototype = sf.Product({"a": sf.Mixture(sf.Normal(), 2), "b": sf.Normal()})
    parts = [{"a": X[part, 0], "b": X[part, 1]} for part in (slice(70), slice(70, None))]
    merged = sf.merge(*(sf.fit(prototype, part, random_state=0) for part in parts))
    assert merged.distribution.blocks["b"].mean == pytest.approx(X[:, 1].mean())
    assert np.ptp(merged.distribution.blocks["a"].components.mean) > 4
    deep = sf.Mixture([sf.Mixture([sf.Normal(m - 0.5, 1.0), sf.Normal(m + 0.5, 1.0)]) for m in (0.0, 5.0)])
    other = sf.Mixture([sf.Mixture([sf.Normal(m + 0.5, 1.0), sf.Normal(m - 0.5, 1.0)]) for m in (5.0, 0.0)])
    pair = [sf.fit(one, X[part, 0], start=one) for one, part in ((deep, slice(70)), (other, slice(70, None)))]
    whole, found = sf.fit(deep, X[:, 0], start=deep), sf.merge(*pair)
    assert np.sum(found.statistics.count) == pytest.approx(120)
    assert np.sum(found.log_prob(X[:, 0])) > whole.log_likelihood - 10


@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        (lambda: sf.fit(sf.Normal(), X), lambda: sf.fit(sf.Normal(), X[:, 0]), "here are 2 columns, there 1"),
        (lambda: sf.fit(sf.Normal(), X[:, 0]), lambda: sf.fit(sf.Uniform(), X[:, 0]), "a Normal, there a Uniform"),
        (
            lambda: sf.fit(sf.MultivariateNormal(), X),
            lambda: sf.fit(sf.MultivariateNormal(structure="diag"), X),
            "structure of MultivariateNormal differs: here 'full', there 'diag'",
        ),
        (
            lambda: sf.fit(sf.Normal(std=1.0).fix("std"), X[:, 0]),
            lambda: sf.fit(sf.Normal(std=2.0).fix("std"), X[:, 0]),
            "std of Normal differs: here 1.0, there 2.0",
        ),
        (
            lambda: sf.fit(sf.Normal(std=1.0).fix("std"), X[:, 0]),
            lambda: sf.fit(sf.Normal(), X[:, 0]),
            "fixed and tied",
        ),
        (
            lambda: sf.fit(sf.Product({"a": sf.Normal()}), {"a": X[:, 0]}),
            lambda: sf.fit(sf.Product({"b": sf.Normal()}), {"b": X[:, 0]}),
            r"here are the columns \['a'\], there \['b'\]",
        ),
        (
            lambda: sf.fit(sf.Mixture(sf.Normal(), 2), X, random_state=0),
            lambda: sf.fit(sf.Mixture(sf.Normal(), 3), X, random_state=0),
            "here are 2 components, there 3",
        ),
        (lambda: sf.fit(sf.Normal(), X, ddof=1), lambda: sf.fit(sf.Normal(), X), "ddof=1"),
        (
            lambda: sf.fit(sf.Mixture(sf.Normal(), 2), X, prior="weak", random_state=0),
            lambda: sf.fit(sf.Mixture(sf.Normal(), 2), X, prior="weak", random_state=0),
            "chosen from the rows of each fit",
        ),
        (lambda: sf.fit(sf.Normal(), X), sf.Normal, "merge takes fits"),
        (sf.Normal, sf.Normal, "merge takes fits"),
        (lambda: sf.GaussianNB().fit(X, Y), lambda: sf.fit(sf.Normal(), X), "merge takes fits"),
        (lambda: sf.KMeans(2).fit(X), lambda: sf.KMeans(2).fit(X), "KMeans keeps no statistics"),
    ],
)
def test_what_does_not_merge_says_why(a, b, reason):
    with pytest.raises(sf.SufficeError, match=reason):
        sf.merge(a(), b())
    with pytest.raises(sf.ArgumentError, match="two fits or more"):
        sf.merge(a())


# ---- estimators -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "model",
    [
        sf.GaussianNB(),
        sf.NaiveBayes({0: sf.Normal(), 1: sf.Normal()}),
        sf.QuadraticDiscriminantAnalysis(),
        sf.LinearDiscriminantAnalysis(),
        sf.BayesClassifier(sf.MultivariateNormal(), prior="weak"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_classifiers_merge_to_the_fit_of_all_rows_and_stay_as_they_are(model):
    from sklearn.base import clone

    a, b, whole = (clone(model).fit(X[part], Y[part]) for part in (slice(70), slice(70, None), slice(None)))
    before = dumps(a)
    merged = sf.merge(a, b)
    assert dumps(a) == before
    assert np.allclose(merged.predict_proba(X), whole.predict_proba(X), atol=1e-9)
    assert np.array_equal(merged.class_count_, whole.class_count_)


def test_densities_merge():
    a, b, whole = (sf.Density(sf.Normal()).fit(part) for part in (X[:70], X[70:], X))
    merged = sf.merge(a, b)
    assert np.allclose(merged.score_samples(X), whole.score_samples(X))
    assert hasattr(a, "fit_")
    assert not hasattr(merged, "fit_")
    with pytest.raises(sf.DataError, match="same prototype"):
        sf.merge(a, sf.Density(sf.Laplace()).fit(X))
    mixture = sf.Density(sf.Mixture(sf.Normal(), 2), random_state=0).fit(X)
    with pytest.raises(sf.UnsupportedError, match=r"sf\.merge\(a\.fit_"):
        sf.merge(mixture, mixture)


@pytest.mark.parametrize(
    "make",
    [
        lambda: sf.GaussianMixture(2, random_state=0),
        lambda: sf.GaussianMixture(2, covariance_type="tied", random_state=0),
        lambda: sf.BayesianGaussianMixture(n_components=2, random_state=0),
        lambda: sf.MixtureModel(sf.Normal(), 2, random_state=0),
    ],
    ids=["full", "tied", "bayesian", "model"],
)
def test_mixture_estimators_merge_near_the_fit_of_all_rows(make):
    a, b, whole = (make().fit(part) for part in (X[:70], X[70:], X))
    with pytest.warns(sf.SufficeWarning, match="aligned, added, and took one M-step"):
        merged = sf.merge(a, b)
    order = np.argsort(merged.distribution_.components.mean[:, 0])
    there = np.argsort(whole.distribution_.components.mean[:, 0])
    means = merged.distribution_.components.mean[order]
    assert np.allclose(means, whole.distribution_.components.mean[there], atol=0.05)
    assert merged.n_seen_ == 120
    assert not merged.converged_
    assert a.n_seen_ == 70
    more = merged.partial_fit(X)
    assert more.n_seen_ == 240


def test_estimators_of_other_columns_or_options_do_not_merge():
    frames = [pd.DataFrame(X, columns=list(names)) for names in ("ab", "xy")]
    left, right = (sf.GaussianMixture(2, random_state=0).fit(frame) for frame in frames)
    with pytest.raises(sf.DataError, match="same columns"):
        sf.merge(left, right)
    diagonal = sf.GaussianMixture(2, covariance_type="diag", random_state=0).fit(frames[0])
    with pytest.raises(sf.DataError, match="covariance_type"):
        sf.merge(left, diagonal)
    classes = [sf.GaussianNB().fit(frame, Y) for frame in frames]
    with pytest.raises(sf.DataError, match="same columns"):
        sf.merge(*classes)
    weak = sf.MixtureModel(sf.Normal(), 2, prior="weak", random_state=0).fit(X)
    with pytest.raises(sf.UnsupportedError, match="chosen from the rows"):
        sf.merge(weak, weak)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nothing = sf.GaussianMixture(2, max_iter=0, random_state=0).fit(X)
    with pytest.raises(sf.UnsupportedError, match="seen no rows"):
        sf.merge(nothing, nothing)


def test_what_is_shared_out_and_what_is_given_as_a_whole_are_not_merged():
    x = np.random.default_rng(0).normal(size=80)
    soft, hard = (sf.fit(sf.Mixture(sf.Normal(), 2, hard=hard), x, random_state=0) for hard in (False, True))
    with pytest.raises(sf.SufficeError, match="hard=True"):
        sf.merge(soft, hard)
