"""Improper reference priors: proper posteriors where the data suffice, and the reason where they do not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import suffice as sf
from suffice.errors import UnsupportedError

X = np.random.default_rng(0).normal(1.0, 2.0, 12)


def test_the_interval_of_a_mean_is_students():
    post = sf.posterior(sf.Normal(), X, prior="reference")
    expected = stats.t(11, X.mean(), X.std(ddof=1) / np.sqrt(12)).interval(0.95)
    assert post.interval()["mean"] == pytest.approx(expected, rel=1e-10)
    chi = stats.chi2(11)
    spread = np.sqrt(11 * X.var(ddof=1) / chi.ppf([0.975, 0.025]))
    assert post.interval()["std"] == pytest.approx(tuple(spread), rel=1e-10)
    assert post.cdf(mean=X.mean()) == pytest.approx(0.5, rel=1e-10)


def test_haldane_is_the_frequency():
    post = sf.posterior(sf.Bernoulli(), [1, 0, 1, 1], prior="reference")
    assert post.belief == sf.Beta(3, 1)
    assert post.mean == pytest.approx(0.75, rel=1e-12)


def test_other_families():
    assert sf.posterior(sf.Poisson(), [2, 0, 1], prior="reference").belief == sf.Gamma(3, 3)
    assert sf.posterior(sf.Exponential(), [2.0, 4.0], prior="reference").belief == sf.Gamma(2, 6)
    known = sf.posterior(sf.Normal(std=2).fix("std"), X, prior="reference")
    assert (known.mean, known.std) == pytest.approx((X.mean(), 2 / np.sqrt(12)), rel=1e-12)
    counts = sf.posterior(sf.Multinomial(), [[1, 2], [1, 3]], prior="reference")
    np.testing.assert_allclose(counts.belief.alpha, [2, 5])
    labels = sf.posterior(sf.Categorical(), list("aab"), prior="reference")
    assert labels.mean == pytest.approx([2 / 3, 1 / 3], rel=1e-12)
    rows = np.column_stack([X, X[::-1]])
    wide = sf.posterior(sf.MultivariateNormal(), rows, prior="reference")
    low, high = wide.interval()["mean"]
    t = stats.t(10, rows.mean(axis=0), np.sqrt(rows.var(axis=0) / 10))
    np.testing.assert_allclose([low, high], t.interval(0.95), rtol=1e-9)


def test_the_evidence_is_undefined_and_says_so():
    post = sf.posterior(sf.Normal(), X, prior="reference")
    assert np.isnan(post.log_evidence)
    assert "evidence is undefined" in dict(post.alerts)["improper"]
    assert "log evidence undefined" in str(post)


@pytest.mark.parametrize(
    ("model", "rows", "told"),
    [
        (sf.Bernoulli(), [1, 1, 1], "improper with these data"),
        (sf.Poisson(), [0, 0], "improper with these data"),
        (sf.Normal(), [2.0], "all values are equal"),
        (sf.Normal(), [2.0, 2.0], "all values are equal"),
        (sf.Categorical(list("abc")), list("ab"), "some level was never seen"),
        (sf.Multinomial(), [[3, 0]], "some outcome was never seen"),
        (sf.MultivariateNormal(), [[1.0, 2.0], [2.0, 1.0]], "improper with these data"),
        (sf.Normal().fix("mean"), X, "the mean is fixed"),
        (sf.Gamma(), [1.0, 2.0], "reference|weak"),
        (sf.Product([sf.Normal(), sf.Normal()]), np.column_stack([X, X]), "columns one by one"),
    ],
)
def test_where_the_posterior_is_improper_the_reason_is_reported(model, rows, told):
    with pytest.raises(UnsupportedError, match=told):
        sf.posterior(model, rows, prior="reference")


@pytest.mark.parametrize("n", [2, 3, 12])
def test_the_same_prior_as_a_function_says_the_same(n):
    named = sf.posterior(sf.Normal(), X[:n], prior="reference")
    written = sf.posterior(sf.Normal(), X[:n], prior=lambda mean, std: 1 / std + 0 * mean)
    for name in ("mean", "std"):
        assert named.mode[name] == pytest.approx(written.mode[name], rel=1e-6)
        assert named.mean[name] == pytest.approx(written.mean[name], rel=1e-4, nan_ok=True)
        assert named.interval()[name] == pytest.approx(written.interval()[name], rel=1e-6)
    assert named.mode["std"] == pytest.approx(np.sqrt(X[:n].var() * n / (n + 1)), rel=1e-12)
    assert np.isnan(named.mean["mean"]) == (n == 2)


def test_the_mode_stays_that_of_the_density_as_rows_come():
    first = sf.posterior(sf.Normal(), X[:4], prior="reference")
    whole = sf.posterior(sf.Normal(), X, prior="reference")
    assert sf.posterior(sf.Normal(), X[4:], prior=first).mode == pytest.approx(whole.mode, rel=1e-12)
