"""Mixtures of conjugate priors: the posterior is the mixture of posteriors, weighed by prior weight × evidence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, special, stats

import suffice as sf

PRIOR = sf.Mixture([sf.Beta(2, 8), sf.Beta(8, 2)], weights=[0.3, 0.7])
ROWS = [1, 0, 1, 1, 0, 1]
S, M = sum(ROWS), len(ROWS)


def by_hand():
    """Weights, evidence and the two Betas, from the beta function alone."""
    joint = [
        w * np.exp(special.betaln(a + S, b + M - S) - special.betaln(a, b)) for w, a, b in ((0.3, 2, 8), (0.7, 8, 2))
    ]
    weights = np.array(joint) / sum(joint)
    return weights, np.log(sum(joint)), [stats.beta(2 + S, 8 + M - S), stats.beta(8 + S, 2 + M - S)]


def test_every_answer_about_a_probability_is_that_of_the_formula():
    post = sf.posterior(sf.Bernoulli(), ROWS, prior=PRIOR)
    weights, evidence, (one, other) = by_hand()
    np.testing.assert_allclose(post.weights, weights, rtol=1e-12)
    assert post.log_evidence == pytest.approx(evidence, rel=1e-12)
    mean = weights @ [one.mean(), other.mean()]
    second = weights @ [one.moment(2), other.moment(2)]
    assert post.mean == pytest.approx(mean, rel=1e-12)
    assert post.var == pytest.approx(second - mean**2, rel=1e-10)
    assert post.std == pytest.approx(np.sqrt(second - mean**2), rel=1e-10)
    low, high = post.interval(0.9)
    for end, q in ((low, 0.05), (high, 0.95)):
        assert weights @ [one.cdf(end), other.cdf(end)] == pytest.approx(q, rel=1e-10)
        assert post.cdf(end) == pytest.approx(q, rel=1e-10)
    assert post.prob(lambda p: p > 0.5) == pytest.approx(weights @ [one.sf(0.5), other.sf(0.5)], abs=1e-8)
    grid = np.array([0.1, 0.5, 0.9])
    np.testing.assert_allclose(np.exp(post.log_prob(grid)), weights @ [one.pdf(grid), other.pdf(grid)], rtol=1e-12)
    assert post.predictive().p == pytest.approx(mean, rel=1e-12)


def test_it_agrees_with_the_same_prior_as_a_function():
    post = sf.posterior(
        sf.Poisson(), [2, 9, 4], prior=sf.Mixture([sf.Gamma(2, 1), sf.Gamma(30, 3)], weights=[0.6, 0.4])
    )
    same = sf.posterior(
        sf.Poisson(),
        [2, 9, 4],
        prior=lambda r: 0.6 * stats.gamma.pdf(r, 2) + 0.4 * stats.gamma.pdf(r, 30, scale=1 / 3),
    )
    assert post.mean == pytest.approx(same.mean, rel=1e-9)
    assert post.std == pytest.approx(same.std, rel=1e-8)
    assert post.interval() == pytest.approx(same.interval(), rel=1e-8)
    assert post.mode == pytest.approx(same.mode, rel=1e-6)
    assert post.log_evidence == pytest.approx(same.log_evidence, rel=1e-9)
    counts = np.arange(8)
    np.testing.assert_allclose(post.predictive().log_prob(counts), same.predictive().log_prob(counts), rtol=1e-8)


def test_the_evidence_ratio_is_the_predictive():
    """P(x | data) = evidence with x / evidence without it, for two parameters too."""
    prior = sf.Mixture([sf.NormalInverseGamma(0, 1, 2, 2), sf.NormalInverseGamma(5, 2, 3, 1)], weights=[0.5, 0.5])
    rows = [1.0, 4.0, 3.5]
    before, after = (sf.posterior(sf.Normal(), x, prior=prior) for x in (rows, [*rows, 2.0]))
    assert before.predictive().log_prob(2.0) == pytest.approx(after.log_evidence - before.log_evidence, rel=1e-10)
    low, high = before.interval()["std"]
    assert before.cdf(std=low) == pytest.approx(0.025, rel=1e-9)
    assert before.cdf(std=high) == pytest.approx(0.975, rel=1e-9)
    assert before.prob(lambda mean, std: std > high) == pytest.approx(0.025, abs=1e-6)  # noqa: ARG005
    for name in ("mean", "std"):
        drawn = before.sample(40_000, 0)[name]
        assert drawn.mean() == pytest.approx(before.mean[name], abs=5 * before.std[name] / 200)


def test_in_two_steps_it_is_the_same_as_in_one():
    first = sf.posterior(sf.Bernoulli(), ROWS[:2], prior=PRIOR)
    then, once = sf.posterior(sf.Bernoulli(), ROWS[2:], prior=first), sf.posterior(sf.Bernoulli(), ROWS, prior=PRIOR)
    np.testing.assert_allclose(then.weights, once.weights, rtol=1e-12)
    assert then.log_evidence + first.log_evidence == pytest.approx(once.log_evidence, rel=1e-12)


def test_vectors_have_their_intervals_entry_by_entry():
    prior = sf.Mixture([sf.Dirichlet([1, 2, 3]), sf.Dirichlet([3, 2, 1])], weights=[0.5, 0.5])
    post = sf.posterior(sf.Categorical(list("abc")), list("aab"), prior=prior)
    # P(aab) = 2·1·1·2 / (6·7·8) … both ways: α_a(α_a + 1)α_b / (6·7·8)
    np.testing.assert_allclose(post.weights, [1 / 7, 6 / 7], rtol=1e-12)
    np.testing.assert_allclose(post.mean, (np.array([3, 3, 3]) + 6 * np.array([5, 3, 1])) / 63, rtol=1e-12)
    low, high = post.interval(0.8)
    np.testing.assert_allclose(post.cdf(low), 0.1, rtol=1e-9)
    np.testing.assert_allclose(post.cdf(high), 0.9, rtol=1e-9)
    np.testing.assert_allclose(np.exp(post.predictive().log_prob(list("abc"))), post.mean, rtol=1e-12)


def test_a_covariance_has_intervals_of_its_standard_deviations():
    parts = [sf.NormalInverseWishart([m, 0], 1, 6, np.eye(2)) for m in (0, 3)]
    rows = np.random.default_rng(0).normal(size=(7, 2))
    post = sf.posterior(sf.MultivariateNormal(), rows, prior=sf.Mixture(parts, weights=[0.5, 0.5]))
    drawn = post.sample(40_000, 1)
    low, high = post.interval(0.9)["std"]
    stds = np.sqrt(np.einsum("nii->ni", drawn["cov"]))
    np.testing.assert_allclose((stds < low).mean(axis=0), 0.05, atol=0.006)
    np.testing.assert_allclose((stds > high).mean(axis=0), 0.05, atol=0.006)


def test_the_mode_is_the_estimate_of_fit():
    post, fit = sf.posterior(sf.Bernoulli(), ROWS, prior=PRIOR), sf.fit(sf.Bernoulli(), ROWS, prior=PRIOR)
    assert fit.distribution.p == pytest.approx(post.mode, rel=1e-7)
    h = 1e-5
    assert post.log_prob(post.mode) >= max(post.log_prob(post.mode - h), post.log_prob(post.mode + h))


def test_a_mixture_of_other_priors_of_one_number_is_a_density():
    prior = sf.Mixture([sf.Gamma(2, 1), sf.LogNormal(1, 0.5)], weights=[0.3, 0.7])
    post = sf.posterior(sf.Poisson(), [7], prior=prior)

    def density(r):
        return 0.3 * stats.gamma.pdf(r, 2) + 0.7 * stats.lognorm.pdf(r, 0.5, scale=np.e)

    total = integrate.quad(lambda r: stats.poisson.pmf(7, r) * density(r), 0, 60, points=[3, 8])[0]
    assert post.log_evidence == pytest.approx(np.log(total), rel=1e-8)


def test_the_page_shows_the_weights_before_and_after():
    page = str(sf.posterior(sf.Bernoulli(), ROWS, prior=PRIOR))
    weights = by_hand()[0]
    assert f"0.3 → {weights[0]:.4g} Beta(a=6, b=10)" in page


def test_what_a_mixture_of_priors_cannot_be_is_said():
    with pytest.raises(sf.UnsupportedError, match="speaks of one column"):
        sf.posterior(sf.Bernoulli(), [[1, 0], [1, 1]], prior=PRIOR)
    with pytest.raises(sf.UnsupportedError, match="cannot use Mixture"):
        sf.posterior(sf.Bernoulli(), [1], prior=sf.Mixture([sf.Gamma(2, 1), sf.Gamma(1, 1)]))
    nig = sf.Mixture([sf.NormalInverseGamma(0, 1, 2, 2), sf.NormalInverseGamma(5, 2, 3, 1)])
    with pytest.raises(sf.UnsupportedError, match=r"components\[j\]\.mode"):
        _ = sf.posterior(sf.Normal(), [1.0, 2.0], prior=nig).mode
