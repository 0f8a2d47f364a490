"""Improper prior densities of the user: the posterior where likelihood × prior is integrable, the reason where not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import suffice as sf

X = np.random.default_rng(0).normal(1.0, 2.0, 10)


def flat(mean, std):  # noqa: ARG001
    return np.ones(len(std))


def one_over_std(mean, std):  # noqa: ARG001
    return 1 / std


def haldane(p):
    return 1 / (p * (1 - p))


@pytest.mark.parametrize("x", [X, np.array([1.0, 2.0]), 1e6 + 1e-3 * X], ids=["ten", "two", "far"])
def test_one_over_std_gives_students_interval_of_a_mean(x):
    post = sf.posterior(sf.Normal(), x, prior=one_over_std)
    m, spread = len(x), x.std(ddof=1)
    np.testing.assert_allclose(
        (np.array(post.interval()["mean"]) - x.mean()) / spread,
        np.array(stats.t(m - 1).interval(0.95)) / np.sqrt(m),
        rtol=1e-6,
    )
    expected = spread * np.sqrt((m - 1) / stats.chi2(m - 1).ppf([0.975, 0.025]))
    np.testing.assert_allclose(post.interval()["std"], expected, rtol=1e-6)


def test_it_agrees_with_the_reference_prior_in_every_answer():
    post, known = (sf.posterior(sf.Normal(), X, prior=prior) for prior in (one_over_std, "reference"))
    for name in ("mean", "std"):
        assert post.mean[name] == pytest.approx(known.mean[name], rel=1e-9)
        assert post.std[name] == pytest.approx(known.std[name], rel=1e-8)
    assert post.cdf(mean=1.5) == pytest.approx(known.cdf(mean=1.5), rel=1e-9)
    above = [one.prob(lambda mean, std: mean > std) for one in (post, known)]
    assert above[0] == pytest.approx(above[1], abs=1e-7)
    x = np.array([-3.0, 0.5, 4.0])
    np.testing.assert_allclose(post.predictive().log_prob(x), known.predictive().log_prob(x), rtol=1e-8)


@pytest.mark.parametrize("rows", [[1, 0], [1, 0, 1, 1]])
def test_haldane_with_both_outcomes_is_a_beta(rows):
    post, beta = sf.posterior(sf.Bernoulli(), rows, prior=haldane), stats.beta(sum(rows), len(rows) - sum(rows))
    assert post.mean == pytest.approx(beta.mean(), rel=1e-12)
    assert post.std == pytest.approx(beta.std(), rel=1e-12)
    assert post.interval() == pytest.approx(beta.interval(0.95), rel=1e-10)
    np.testing.assert_allclose(np.exp(post.log_prob([0.2, 0.7])), beta.pdf([0.2, 0.7]), rtol=1e-12)
    assert post.predictive().p == pytest.approx(np.mean(rows), rel=1e-12)


def test_other_families_have_their_closed_forms():
    rate = sf.posterior(sf.Poisson(), [1, 2, 4], prior=lambda rate: 1 / rate)  # Gamma(7, 3)
    assert (rate.mean, rate.std) == pytest.approx((7 / 3, np.sqrt(7) / 3), rel=1e-12)
    none = sf.posterior(sf.Poisson(), [0, 0], prior=lambda rate: 1.0)  # noqa: ARG005 (Gamma(1, 2))
    assert none.interval() == pytest.approx(stats.expon(scale=0.5).interval(0.95), rel=1e-10)
    known = sf.posterior(sf.Normal(std=2).fix("std"), [1.0, 4.0], prior=lambda mean: np.ones(len(mean)))
    assert (known.mean, known.std) == pytest.approx((2.5, np.sqrt(2)), rel=1e-12)
    rising = sf.posterior(sf.Normal(std=1.0).fix("std"), [1.0, 2.0, 3.0], prior=lambda mean: np.exp(mean**2))
    assert (rising.mean, rising.std) == pytest.approx((6.0, 1.0), rel=1e-10)  # exponent −m²/2 + 6m


def test_the_evidence_is_undefined_and_says_so():
    post = sf.posterior(sf.Bernoulli(), [1, 0, 0], prior=haldane)
    assert np.isnan(post.log_evidence)
    assert "evidence is undefined" in dict(post.alerts)["improper"]
    assert "log evidence undefined" in str(post)


def test_an_improper_posterior_updated_later_is_the_posterior_of_all_rows():
    first = sf.posterior(sf.Bernoulli(), [1, 0], prior=haldane)
    then = sf.posterior(sf.Bernoulli(), [1, 1, 1], prior=first)
    assert then.mean == pytest.approx(4 / 5, rel=1e-12)
    assert np.isfinite(then.log_evidence)  # the first posterior is proper: a ratio of betas, B(4, 1)/B(1, 1)
    assert then.log_evidence == pytest.approx(np.log(1 / 4), rel=1e-10)


def test_moments_that_do_not_exist_are_not_given():
    """The mean under dμ dσ is Student with n − 2 degrees of freedom: no mean with one, no variance with two."""
    three = sf.posterior(sf.Normal(), [1.0, 2.0, 4.0], prior=flat)
    assert np.isnan(three.mean["mean"])
    assert three.mean["std"] == np.inf
    four = sf.posterior(sf.Normal(), [1.0, 2.0, 4.0, 5.0], prior=flat)
    assert four.mean["mean"] == pytest.approx(3.0, rel=1e-9)
    assert four.std["mean"] == np.inf
    low, high = four.interval()["mean"]
    reach = stats.t(2).ppf(0.975) * np.sqrt(10 / (2 * 4))  # scatter 10 about 3
    assert (low, high) == pytest.approx((3 - reach, 3 + reach), rel=1e-8)


@pytest.mark.parametrize(
    ("model", "rows", "prior", "where"),
    [
        (sf.Normal(), [2.0], one_over_std, "std goes to 0"),
        (sf.Normal(), [2.0, 2.0], one_over_std, "std goes to 0"),
        (sf.Normal(), [1.0, 2.0], flat, "std goes to inf"),  # the mean integrated out, dσ/σ is left
        (sf.Normal(), [], one_over_std, "goes to"),
        (sf.Bernoulli(), [1, 1, 1], haldane, "p goes to 1"),
        (sf.Bernoulli(), [0, 0], haldane, "p goes to 0"),
        (sf.Poisson(), [0, 0], lambda rate: 1 / rate, "rate goes to 0"),
        (sf.Normal(std=1).fix("std"), [], lambda mean: 1 / (1 + np.abs(mean)), "mean goes to -inf"),
    ],
)
def test_where_the_posterior_is_improper_it_says_where(model, rows, prior, where):
    with pytest.raises(sf.ParameterError, match=f"posterior is improper.*{where}"):
        sf.posterior(model, rows, prior=prior)


def test_a_prior_that_overflows_where_the_mass_is_is_refused():
    with pytest.raises(sf.ParameterError, match="overflows at mean = "):
        sf.posterior(sf.Normal(std=1.0).fix("std"), [51.0, 52.0, 53.0], prior=lambda mean: np.exp(mean**2))
