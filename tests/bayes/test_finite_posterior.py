"""A prior over finitely many distributions: P(x) = Σ_θ P(θ) · P(x | θ)."""

from __future__ import annotations

import re

import numpy as np
import pytest

import suffice as sf
from suffice.errors import ParameterError, UnsupportedError

S = [1, 0, 1, 1]
PRIOR = sf.Categorical([0.2, 0.5, 0.9], [0.3, 0.4, 0.3])
THETA, P = np.array([0.2, 0.5, 0.9]), np.array([0.3, 0.4, 0.3])
JOINT = P * THETA**3 * (1 - THETA)


def test_bayes_rule_over_three_values():
    post = sf.posterior(sf.Bernoulli(), S, prior=PRIOR)
    after = JOINT / JOINT.sum()
    np.testing.assert_allclose(post.weights, after, rtol=1e-12)
    assert post.log_evidence == pytest.approx(np.log(JOINT.sum()), rel=1e-12)
    assert post.mean == pytest.approx(after @ THETA, rel=1e-12)
    assert post.std == pytest.approx(np.sqrt(after @ (THETA - post.mean) ** 2), rel=1e-12)
    assert post.mode == THETA[after.argmax()]
    assert post.estimate() == sf.Bernoulli(post.mode)
    assert post.cdf(0.5) == pytest.approx(after[:2].sum(), rel=1e-12)
    assert post.cdf([0.1, 0.2, 1.0]) == pytest.approx([0.0, after[0], 1.0], rel=1e-12)
    assert post.prob(lambda p: p > 0.5) == pytest.approx(after[2], rel=1e-12)
    assert post.interval(0.9) == (0.5, 0.9)
    assert post.predictive() == sf.Bernoulli(post.mean)
    assert post.log_prob(0.5) == pytest.approx(np.log(after[1]), rel=1e-12)
    assert post.log_prob(0.4) == -np.inf
    drawn = post.sample(20_000, random_state=0)
    assert [(drawn == value).mean() for value in THETA] == pytest.approx(after, abs=0.02)
    assert "Bernoulli(p=0.9)" in str(post)


def test_one_row_after_the_other_is_all_at_once_and_nothing_changes_nothing():
    whole = sf.posterior(sf.Bernoulli(), S, prior=PRIOR)
    first = sf.posterior(sf.Bernoulli(), S[:2], prior=PRIOR)
    second = sf.posterior(sf.Bernoulli(), S[2:], prior=first)
    np.testing.assert_allclose(second.weights, whole.weights, rtol=1e-12)
    assert first.log_evidence + second.log_evidence == pytest.approx(whole.log_evidence, rel=1e-12)
    nothing = sf.posterior(sf.Bernoulli(), [], prior=PRIOR)
    np.testing.assert_allclose(nothing.weights, P, rtol=1e-12)
    assert nothing.predictive().p == pytest.approx(P @ THETA, rel=1e-12)


def test_the_predictive_is_the_ratio_of_evidences():
    model, x = sf.Poisson(), np.array([2, 5, 3])
    prior = sf.Categorical([1.0, 3.0, 6.0], [0.2, 0.5, 0.3])
    before, after = (sf.posterior(model, rows, prior=prior).log_evidence for rows in (x[:2], x))
    predictive = sf.posterior(model, x[:2], prior=prior).predictive()
    assert predictive.log_prob(3) == pytest.approx(after - before, rel=1e-10)


def test_a_weight_is_a_repetition():
    post = sf.posterior(sf.Bernoulli(), [1, 0], weights=[3, 1], prior=PRIOR)
    np.testing.assert_allclose(post.weights, sf.posterior(sf.Bernoulli(), S, prior=PRIOR).weights, rtol=1e-12)


def test_several_parameters_by_distributions_with_weights():
    x = np.random.default_rng(0).normal(1.0, 2.0, 30)
    prior = {sf.Normal(0, 2): 1, sf.Normal(1, 2): 1, sf.Normal(1, 4): 2}
    post = sf.posterior(sf.Normal(), x, prior=prior)
    log = np.log([0.25, 0.25, 0.5]) + [one.log_prob(x).sum() for one in prior]
    np.testing.assert_allclose(post.weights, np.exp(log - np.logaddexp.reduce(log)), rtol=1e-10)
    assert post.mode == {"mean": post.estimate().mean, "std": post.estimate().std}
    assert post.prob(lambda mean, std: (mean > 0) & (std < 3)) == pytest.approx(post.weights[1], rel=1e-12)
    assert post.cdf(std=3.0) == pytest.approx(post.weights[:2].sum(), rel=1e-12)
    rows = np.random.default_rng(1).normal(size=(20, 2))
    wide = {sf.MultivariateNormal([0, 0], np.eye(2)): 1, sf.MultivariateNormal([3, 3], np.eye(2)): 1}
    found = sf.posterior(sf.MultivariateNormal(), rows, prior=wide)
    assert found.weights[0] > 0.99
    assert found.mean["mean"].shape == (2,)


def test_a_family_without_finite_statistics():
    x = np.random.default_rng(2).standard_t(3, 40)
    post = sf.posterior(sf.StudentT(), x, prior={sf.StudentT(3, 0, 1): 1, sf.StudentT(3, 5, 1): 1})
    assert post.weights[0] > 0.99


@pytest.mark.parametrize(
    ("model", "rows", "prior", "error", "told"),
    [
        (sf.Normal(), [1.0], PRIOR, UnsupportedError, "has mean, std to learn"),
        (sf.Bernoulli(), S, sf.Categorical([0.5, 1.2], [0.5, 0.5]), ParameterError, "p the value 1.2"),
        (sf.Bernoulli(), S, sf.Categorical(["a", "b"], [0.5, 0.5]), ParameterError, "numbers as its levels; got 'a'"),
        (sf.Bernoulli(), S, sf.Categorical([0.0], [1.0]), ParameterError, "exclude each other"),
        (sf.Bernoulli(), S, sf.Categorical(), ParameterError, "Categorical(values, probabilities)"),
        (sf.Normal(), [1.0], {sf.Poisson(3.0): 1.0}, ParameterError, "each candidate is one Normal"),
        (sf.Normal(), [1.0], {sf.Normal(0, 1): -1.0}, ParameterError, "at least 0, not all 0"),
        (sf.Normal(), [1.0], {sf.Normal(0, 1): "much"}, ParameterError, "at least 0, not all 0"),
    ],
)
def test_what_is_no_such_prior_is_refused(model, rows, prior, error, told):
    with pytest.raises(error, match=re.escape(told)):
        sf.posterior(model, rows, prior=prior)
