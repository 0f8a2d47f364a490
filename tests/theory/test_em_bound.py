"""The bound of EM for any responsibilities, and the two parts of a gain, over random mixtures of several families."""

import numpy as np
import pytest

import suffice as sf
from suffice import theory

FAMILIES = [sf.Normal, sf.Poisson, sf.Exponential, sf.Gamma, sf.Bernoulli, sf.Laplace, sf.StudentT, sf.Weibull]


def random_mixture(family, k, rng):
    return sf.Mixture([family.example(rng) for _ in range(k)], weights=rng.dirichlet(np.ones(k)))


def random_problem(family, seed):
    rng = np.random.default_rng(seed)
    mixture = random_mixture(family, int(rng.integers(2, 5)), rng)
    return rng, mixture, mixture.sample(30, rng)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
@pytest.mark.parametrize("seed", range(5))
def test_the_bound_is_its_terms_and_lies_below_the_likelihood_by_the_gap(family, seed):
    rng, mixture, x = random_problem(family, seed)
    w, q = rng.uniform(0, 2, len(x)), rng.dirichlet(np.ones(mixture.n), len(x))
    found = theory.em_bound(mixture, x, q, weights=w)
    log_likelihood = w @ mixture.log_prob(x)
    joint = np.stack([mixture.log_prob(x, component=j) for j in range(mixture.n)], axis=1)
    possible = np.isfinite(joint).all()
    np.testing.assert_allclose(found.entropy, -(w[:, None] * q * np.log(q)).sum(), rtol=1e-12)
    np.testing.assert_allclose(found.log_likelihood, log_likelihood, rtol=1e-12)
    if possible:
        np.testing.assert_allclose(found.expected, (w[:, None] * q * joint).sum(), rtol=1e-12)
        np.testing.assert_allclose(found.value, found.expected + found.entropy, rtol=1e-14)
        np.testing.assert_allclose(found.gap, log_likelihood - found.value, rtol=1e-9, atol=1e-9)
        stats = mixture.suffstats(x, q * w[:, None])
        if mixture.components.exact:
            np.testing.assert_allclose(mixture.log_likelihood(stats), found.value, rtol=1e-9)
    assert found.gap > 0


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
@pytest.mark.parametrize("seed", range(5))
def test_the_posterior_is_the_best_of_all_responsibilities(family, seed):
    rng, mixture, x = random_problem(family, seed)
    posterior = mixture.predict_proba(x)
    best = theory.em_bound(mixture, x, posterior)
    np.testing.assert_allclose(best.value, mixture.log_prob(x).sum(), rtol=1e-10)
    assert 0 <= best.gap < 1e-9 * (1 + abs(best.value))
    assert theory.em_bound(mixture, x).value == pytest.approx(best.value, rel=1e-12)
    for _ in range(5):
        mixed = 0.9 * posterior + 0.1 * rng.dirichlet(np.ones(mixture.n), len(x))
        assert theory.em_bound(mixture, x, mixed).value < best.value


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
@pytest.mark.parametrize("seed", range(5))
def test_the_gain_is_its_two_parts_between_any_two_parameters(family, seed):
    rng, old, x = random_problem(family, seed)
    new = random_mixture(family, old.n, rng)
    w = rng.uniform(0, 2, len(x))
    gain = theory.em_gain(old, new, x, weights=w)
    difference = w @ new.log_prob(x) - w @ old.log_prob(x)
    if np.isfinite(difference) and np.isfinite(gain.expected):
        np.testing.assert_allclose(gain.total, difference, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(gain.expected + gain.divergence, gain.total, rtol=1e-9, atol=1e-9)
    assert gain.divergence >= 0


@pytest.mark.parametrize("family", [sf.Normal, sf.Poisson, sf.Gamma], ids=lambda family: family.__name__)
def test_a_step_of_em_gains_by_both_parts(family):
    _, mixture, x = random_problem(family, 11)
    for _ in range(4):
        following = mixture.em_step(x)
        gain = theory.em_gain(mixture, following, x)
        assert gain.expected >= -1e-10
        assert gain.divergence >= 0
        np.testing.assert_allclose(gain.total, following.log_prob(x).sum() - mixture.log_prob(x).sum(), atol=1e-9)
        mixture = following


def test_the_complete_data_likelihood_of_rows_and_their_components():
    mixture = sf.Mixture([sf.Normal(0, 1), sf.Normal(4, 2)], weights=[0.3, 0.7])
    x, z = np.array([0.5, 3.0, 5.0]), np.array([0, 1, -1])
    found = mixture.log_prob(x, component=z)
    expected = [np.log(0.3) + sf.Normal(0, 1).log_prob(0.5), np.log(0.7) + sf.Normal(4, 2).log_prob(3.0)]
    np.testing.assert_allclose(found[:2], expected, rtol=1e-12)
    np.testing.assert_allclose(found[2], mixture.log_prob(5.0), rtol=1e-12)
    assert mixture.log_prob(0.5, component=0) == pytest.approx(expected[0])
    total = np.logaddexp(mixture.log_prob(x, component=0), mixture.log_prob(x, component=1))
    np.testing.assert_allclose(total, mixture.log_prob(x), rtol=1e-12)
    fit = sf.fit(mixture, [0.0, 1.0, 4.0, 5.0], start=mixture, max_iter=1)
    np.testing.assert_allclose(fit.log_prob(x, component=z), fit.distribution.log_prob(x, component=z))
    hot = theory.em_bound(mixture, x[:2], sf.OneHot(z[:2], 2))
    np.testing.assert_allclose([hot.expected, hot.entropy], [found[:2].sum(), 0.0])


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda m: theory.em_bound(m, [1.0], [[0.5, 0.4]]), "row 0 adds up to 0.9"),
        (lambda m: theory.em_bound(m, [1.0], [[1.5, -0.5]]), "at least 0"),
        (lambda m: theory.em_bound(m, [1.0], [[1.0]]), "column for each of the 2"),
        (lambda m: theory.em_bound(m.parts[0], [1.0]), "takes a mixture"),
        (lambda m: theory.em_gain(m, sf.Mixture(sf.Normal(), 3), [1.0]), "as many"),
        (lambda m: m.log_prob([1.0, 2.0], component=[0, 2]), "from 0 to 1"),
        (lambda m: m.log_prob([1.0, 2.0], component=[0.5, 1.0]), "whole number"),
    ],
)
def test_mistakes_are_named(ask, words):
    with pytest.raises(sf.SufficeError, match=words):
        ask(sf.Mixture([sf.Normal(0, 1), sf.Normal(4, 1)]))
