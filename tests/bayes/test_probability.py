"""Statements about parameters: posterior.cdf and posterior.prob."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import stats

import suffice as sf
from suffice.errors import ParameterError, UnsupportedError

SURVIVED = [1] * 9 + [0] * 3
X = np.random.default_rng(0).normal(1.0, 2.0, 20)
NIG = sf.NormalInverseGamma(0.0, 1.0, 2.0, 2.0)


def test_the_probability_that_a_drug_is_effective_under_a_two_level_prior():
    post = sf.posterior(sf.Bernoulli(), SURVIVED, prior=lambda p: np.where(p > 0.5, 1.6, 0.4))
    belief = stats.beta(10, 4)  # under a flat prior
    below = 0.4 * belief.cdf(0.5) / (0.4 * belief.cdf(0.5) + 1.6 * belief.sf(0.5))
    assert round(below, 4) == 0.0119
    assert post.cdf(0.5) == pytest.approx(below, abs=1e-10)
    assert post.prob(lambda p: p > 0.5) == pytest.approx(1 - below, abs=1e-10)


CONJUGATE = {
    "Beta": (sf.Bernoulli(), SURVIVED, sf.Beta(2, 1), stats.beta(11, 4)),
    "Gamma": (sf.Poisson(), [2, 3, 1], sf.Gamma(2.0, 1.0), stats.gamma(8, scale=1 / 4)),
    "Normal": (sf.Normal(std=1).fix("std"), [1.0, 2.0], sf.NormalPrior(0, 1), stats.norm(1.0, 1 / np.sqrt(3))),
}


@pytest.mark.parametrize("name", CONJUGATE)
def test_one_parameter_has_the_cumulative_distribution_of_its_belief(name):
    model, rows, prior, expected = CONJUGATE[name]
    post = sf.posterior(model, rows, prior=prior)
    points = expected.ppf([0.001, 0.2, 0.5, 0.93])
    np.testing.assert_allclose(post.cdf(points), expected.cdf(points), rtol=1e-10)
    assert isinstance(post.cdf(points[1]), float)
    inside = post.prob(lambda theta: (theta > points[1]) & (theta < points[3]))
    assert inside == pytest.approx(0.73, abs=1e-10)
    assert inside.error < 1e-9
    assert post.prob(lambda theta: theta > -1e9) == pytest.approx(1.0, abs=1e-12)


def test_mean_and_spread_of_a_normal():
    post = sf.posterior(sf.Normal(), X, prior=NIG)
    belief = post.belief
    t = stats.t(2 * belief.shape, belief.mean, np.sqrt(belief.scale / belief.shape / belief.count))
    spread = stats.invgamma(belief.shape, scale=belief.scale)
    both = post.cdf(mean=1.0, std=2.0)
    assert both == pytest.approx({"mean": t.cdf(1.0), "std": spread.cdf(4.0)}, rel=1e-10)
    assert post.cdf({"mean": 1.0}) == pytest.approx(both["mean"], rel=1e-12)
    assert post.cdf(std=[-1.0, 0.0]).tolist() == [0.0, 0.0]
    assert post.prob(lambda mean, _: mean > 1.0) == pytest.approx(t.sf(1.0), abs=1e-8)
    assert post.prob(lambda _, std: std <= 2.0) == pytest.approx(spread.cdf(4.0), abs=1e-8)
    assert post.prob(lambda std, mean: std <= mean) == post.prob(lambda mean, std: std <= mean)  # by their names
    drawn = post.sample(400_000, random_state=0)
    share = (drawn["mean"] / drawn["std"] > 0.3).mean()
    assert post.prob(lambda mean, std: mean / std > 0.3) == pytest.approx(share, abs=0.003)


def test_a_density_of_two_parameters():
    def prior(mean, std):
        return np.exp(-0.05 * mean**2 - std / 3)

    post = sf.posterior(sf.Normal(), X, prior=prior)
    low, high = post.interval(0.9)["std"]
    assert post.cdf(std=[low, high]) == pytest.approx([0.05, 0.95], abs=1e-8)
    assert post.prob(lambda _, std: (std > low) & (std < high)) == pytest.approx(0.9, abs=1e-6)
    assert post.cdf(std=-1.0) == 0.0


def test_vectors_are_sampled_and_say_how_sure_they_are():
    shares = sf.posterior(sf.Categorical(), list("aabbbc"), prior=sf.Dirichlet([1.0]))
    assert shares.cdf(0.5) == pytest.approx(stats.beta([3, 4, 2], [6, 5, 7]).cdf(0.5), rel=1e-12)
    found = shares.prob(lambda probs: probs[:, 0] > probs[:, 1])
    expected = stats.beta(3, 4).sf(0.5)  # the share of the first of two
    assert 0 < found.error < 0.01
    assert abs(found - expected) < 4 * found.error
    assert "±" in repr(found)
    again = pickle.loads(pickle.dumps(found))  # noqa: S301 (our own)
    assert (again, again.error) == (found, found.error)
    rows = np.column_stack([X, X[::-1] ** 2])
    wide = sf.posterior(sf.MultivariateNormal(), rows, prior="weak")
    low, _ = wide.interval()["mean"]
    np.testing.assert_allclose(wide.cdf(mean=low), 0.025, rtol=1e-9)
    assert wide.prob(lambda mean, _: mean[:, 0] < mean[:, 1]) > 0.9
    with pytest.raises(UnsupportedError, match="prob"):
        wide.cdf(cov=1.0)
    columns = sf.posterior(sf.Normal(), rows, prior=NIG)
    np.testing.assert_allclose(columns.cdf(mean=columns.interval()["mean"][1]), 0.975, rtol=1e-9)


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda post: post.prob(lambda mean, _: mean), "True and False"),
        (lambda post: post.prob(lambda mean, std: mean > 0 and std > 1), "write & for and"),
        (lambda post: post.prob(0.5), "prob takes a function of"),
        (lambda post: post.cdf(1.0), "give cdf"),
        (lambda post: post.cdf(), "cdf needs a value"),
        (lambda post: post.cdf(sd=1.0), "does not speak of 'sd'"),
        (lambda post: post.cdf(1.0, mean=1.0), "not both"),
        (lambda post: post.cdf(mean="high"), "cdf takes numbers"),
    ],
)
@pytest.mark.parametrize("prior", [NIG, lambda mean, std: np.exp(-mean * mean - std)], ids=["conjugate", "density"])
def test_what_is_no_question_is_refused(ask, told, prior):
    with pytest.raises(ParameterError, match=told):
        ask(sf.posterior(sf.Normal(), X[:5], prior=prior))
