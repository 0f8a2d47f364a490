"""Hard mixtures: rows go whole to their most probable component, and both likelihoods can be asked."""

import numpy as np
import pytest

import suffice as sf

TRUTH = sf.Mixture([sf.Normal(4, 0.8), sf.Normal(8, 2)], weights=[0.3, 0.7])


LIVES = TRUTH.sample(600, random_state=3)


# ---- the likelihood of a fit is that of its distribution -------------------------------------------------------------
def test_a_hard_mixture_offers_both_likelihoods_and_says_which_is_which():
    w = np.random.default_rng(3).uniform(0.5, 2, len(LIVES))
    fit = sf.fit(sf.Mixture(sf.Normal(), 2, hard=True), LIVES, weights=w, random_state=0)
    joint = np.stack([fit.distribution.log_prob(LIVES, component=j) for j in range(2)], axis=1)
    np.testing.assert_allclose(fit.classification_log_likelihood, w @ joint.max(axis=1), rtol=1e-10)
    np.testing.assert_allclose(fit.classification_log_likelihood, fit.trace.log_likelihood[-1], rtol=1e-10)
    np.testing.assert_allclose(fit.log_likelihood, w @ fit.distribution.log_prob(LIVES), rtol=1e-10)
    assert fit.classification_log_likelihood < fit.log_likelihood
    page = fit.summary(width=120)
    assert "log-likelihood −" in page
    assert "of rows and components together" in page
    soft = sf.fit(sf.Mixture(sf.Normal(), 2), LIVES, random_state=0)
    joint = np.stack([soft.distribution.log_prob(LIVES, component=j) for j in range(2)], axis=1)
    np.testing.assert_allclose(soft.classification_log_likelihood, joint.max(axis=1).sum(), rtol=1e-10)
    assert "together" not in soft.summary(width=120)
    with pytest.raises(sf.UnsupportedError, match="no hidden components"):
        sf.fit(sf.Normal(), LIVES).classification_log_likelihood  # noqa: B018 (it is asked for)


def test_the_likelihood_of_a_hard_mixture_is_that_of_its_rows():
    w = np.random.default_rng(0).gamma(2.0, size=len(LIVES))
    fit = sf.fit(sf.Mixture(sf.Normal(), 2, hard=True), LIVES, weights=w)
    assert fit.log_likelihood == pytest.approx(w @ fit.distribution.log_prob(LIVES), rel=1e-12)
    assert fit.bic == pytest.approx(5 * np.log(w.sum()) - 2 * fit.log_likelihood)
    assert fit.trace.objective[-1] < fit.log_likelihood - 1
    both = sf.Product({"a": sf.Mixture(sf.Normal(), 2, hard=True), "b": sf.Normal()})
    fit = sf.fit(both, {"a": LIVES, "b": LIVES})
    assert fit.log_likelihood == pytest.approx(fit.distribution.log_prob({"a": LIVES, "b": LIVES}).sum(), rel=1e-12)
