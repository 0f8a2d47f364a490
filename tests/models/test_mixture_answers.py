"""What a mixture can be asked, against scipy and against its own draws; the matching of two fits; the gain of EM."""

import pickle

import numpy as np
import pytest
from scipy import integrate, stats

import suffice as sf

TWO = sf.Mixture([sf.Normal(4.0, 0.8), sf.Normal(8.0, 2.0)], weights=[0.3, 0.7])


def density(x):
    return 0.3 * stats.norm.pdf(x, 4, 0.8) + 0.7 * stats.norm.pdf(x, 8, 2)


def table(rates=(2.0, 5.0)):
    parts = [sf.Product({"a": sf.Normal(m, 1.0), "b": sf.Poisson(r)}) for m, r in zip((0.0, 3.0), rates, strict=True)]
    return sf.Mixture(parts, weights=[0.25, 0.75])


def test_moments_by_the_law_of_total_variance():
    mean = 0.3 * 4 + 0.7 * 8
    var = 0.3 * (0.64 + (4 - mean) ** 2) + 0.7 * (4 + (8 - mean) ** 2)
    assert TWO.mean == pytest.approx(mean, rel=1e-14)
    assert TWO.var == pytest.approx(var, rel=1e-14)
    assert TWO.std == pytest.approx(np.sqrt(var), rel=1e-14)
    both = table()
    assert both.mean == {"a": pytest.approx(2.25), "b": pytest.approx(4.25)}
    assert both.var["b"] == pytest.approx(4.25 + 0.25 * 0.75 * 9)


def test_covariance_of_a_gaussian_mixture():
    rng = np.random.default_rng(0)
    means, roots = rng.normal(size=(3, 2)) * 3, rng.normal(size=(3, 2, 2))
    covs = roots @ roots.swapaxes(1, 2) + np.eye(2)
    mixture = sf.Mixture(sf.MultivariateNormal(means, covs), weights=[0.2, 0.3, 0.5])
    draws = mixture.sample(400_000, random_state=1)
    np.testing.assert_allclose(mixture.cov, np.cov(draws.T), rtol=0.02, atol=0.05)
    np.testing.assert_allclose(np.diag(mixture.cov), mixture.var, rtol=1e-12)
    with pytest.raises(AttributeError, match="MultivariateNormal"):
        _ = TWO.cov


def test_probabilities_and_quantiles():
    x = np.linspace(0, 15, 31)
    np.testing.assert_allclose(TWO.cdf(x), 0.3 * stats.norm.cdf(x, 4, 0.8) + 0.7 * stats.norm.cdf(x, 8, 2), rtol=1e-13)
    q = np.array([1e-12, 1e-3, 0.2, 0.5, 0.9, 1 - 1e-9])
    np.testing.assert_allclose(TWO.cdf(TWO.quantile(q)), q, rtol=1e-11)
    assert TWO.quantile(0.0) == -np.inf
    assert TWO.quantile(1.0) == np.inf
    low, high = TWO.interval(0.9)
    assert TWO.cdf(high) - TWO.cdf(low) == pytest.approx(0.9)


def test_quantiles_of_counts_are_the_smallest_that_reach_the_level():
    counts = table().marginal("b")
    for q in (0.01, 0.25, 0.5, 0.99):
        at = counts.quantile(q)
        assert at == round(at)
        assert counts.cdf(at) >= q
        assert at == 0 or counts.cdf(at - 1) < q


def test_a_mixture_of_unlike_and_nested_components():
    mixture = sf.Mixture([sf.Exponential(1.0), sf.Mixture([sf.Normal(0, 1), sf.Normal(5, 1)])], weights=[0.4, 0.6])
    assert mixture.mean == pytest.approx(0.4 + 0.6 * 2.5)
    assert mixture.cdf(mixture.quantile(0.3)) == pytest.approx(0.3)
    draws = mixture.sample(200_000, random_state=0)
    assert mixture.entropy() == pytest.approx(-np.mean(mixture.log_prob(draws)), abs=0.02)


def test_entropy_and_divergence():
    expected = integrate.quad(lambda x: -density(x) * np.log(density(x)), -20, 40, points=[4, 8], limit=500)[0]
    assert TWO.entropy() == pytest.approx(expected, rel=1e-10)
    other = sf.Normal(6.0, 2.0)
    expected = integrate.quad(
        lambda x: density(x) * (np.log(density(x)) - stats.norm.logpdf(x, 6, 2)), -20, 40, points=[4, 8], limit=500
    )[0]
    assert TWO.kl(other) == pytest.approx(expected, rel=1e-10)
    assert TWO.kl(TWO) == 0
    with pytest.raises(sf.UnsupportedError, match="another distribution"):
        TWO.kl(3)


def test_components_that_are_narrow_and_far_apart():
    far = sf.Mixture([sf.Normal(0.0, 1e-3), sf.Normal(1e6, 1.0)])
    apart = np.log(2) + 0.5 * (sf.Normal(0, 1e-3).entropy() + sf.Normal(0, 1).entropy())
    assert far.entropy() == pytest.approx(apart, rel=1e-9)


def test_labels_are_added_up():
    mixture = sf.Mixture([sf.Categorical(("a", "b"), [0.2, 0.8]), sf.Categorical(("a", "b"), [0.7, 0.3])])
    assert mixture.entropy() == pytest.approx(stats.entropy([0.45, 0.55]), rel=1e-12)


def test_several_columns_are_simulated_with_an_error():
    means, covs = np.array([[0.0, 0.0], [30.0, 0.0]]), np.array([np.eye(2), np.eye(2)])
    apart = sf.Mixture(sf.MultivariateNormal(means, covs), weights=[0.5, 0.5])
    exact = np.log(2) + stats.multivariate_normal(np.zeros(2)).entropy()
    found = apart.entropy()
    assert 0 < found.error < 0.01
    assert abs(found - exact) < 4 * found.error
    copy = pickle.loads(pickle.dumps(found))  # noqa: S301 (our own bytes)
    assert (copy, copy.error) == (found, found.error)
    assert "±" in repr(found)


def test_marginals():
    both = table()
    assert both.marginal("b") == sf.Mixture([sf.Poisson(2.0), sf.Poisson(5.0)], weights=[0.25, 0.75])
    means, cov = np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]), np.diag([1.0, 2.0, 3.0])
    wide = sf.Mixture(sf.MultivariateNormal(means, np.array([cov, cov])), weights=[0.5, 0.5])
    part = wide.marginal(2, 0)
    np.testing.assert_array_equal(part.params["mean"], means[:, [2, 0]])
    x = np.random.default_rng(0).normal(size=(5, 1))
    expected = np.log(0.5 * stats.norm.pdf(x[:, 0], 1, np.sqrt(2)) + 0.5 * stats.norm.pdf(x[:, 0], 4, np.sqrt(2)))
    np.testing.assert_allclose(wide.marginal(1).log_prob(x), expected)
    with pytest.raises(sf.ParameterError, match="by place"):
        wide.marginal(7)


@pytest.mark.parametrize(
    "mixture",
    [
        TWO,
        table(),
        sf.Mixture([sf.Categorical(("a", "b", "c"), p) for p in ([0.1, 0.2, 0.7], [0.6, 0.3, 0.1], [0.2, 0.7, 0.1])]),
        sf.Mixture([sf.Exponential(1.0), sf.Normal(9.0, 1.0), sf.Mixture([sf.Normal(20, 1), sf.Normal(25, 1)])]),
        sf.Mixture([sf.StudentT(3.0, m, 1.0) for m in (0.0, 5.0, 9.0, 30.0)]),
    ],
)
def test_align_undoes_a_permutation(mixture):
    order = np.random.default_rng(1).permutation(mixture.n)
    shuffled = mixture.permuted(order)
    found = sf.align(mixture, shuffled)
    assert shuffled.permuted(found).parts == mixture.parts
    np.testing.assert_array_equal(order[found], np.arange(mixture.n))


def test_align_two_fits_and_unequal_sizes():
    x = TWO.sample(800, random_state=0)
    a = sf.fit(sf.Mixture(sf.Normal(), 2), x[:400], random_state=0)
    b = sf.fit(sf.Mixture(sf.Normal(), 2), x[400:], start=sf.Mixture([sf.Normal(8, 2), sf.Normal(4, 1)]))
    np.testing.assert_array_equal(sf.align(a, b), [1, 0])
    np.testing.assert_array_equal(sf.align(a, b, x), [1, 0])
    more = sf.Mixture([sf.Normal(50, 1), *TWO.parts])
    np.testing.assert_array_equal(sf.align(TWO, more), [1, 2])
    np.testing.assert_array_equal(sf.align(more, TWO), [-1, 0, 1])
    with pytest.raises(sf.ParameterError, match="two mixtures"):
        sf.align(TWO, sf.Normal())


@pytest.mark.parametrize("prototype", [sf.Normal(), sf.StudentT(df=4.0).fix("df"), sf.Laplace()])
def test_the_gain_has_two_parts(prototype):
    x = TWO.sample(500, random_state=2)
    w = np.random.default_rng(3).integers(0, 3, len(x)).astype(float)
    here = sf.fit(sf.Mixture(prototype, 2), x, weights=w, random_state=0, max_iter=2).distribution
    there = here.estimate(here.suffstats(x, w))
    gain = here.gain(x, there, w)
    rise = w @ there.log_prob(x) - w @ here.log_prob(x)
    assert gain.total == pytest.approx(rise, rel=1e-9, abs=1e-10)
    assert gain.expected + gain.divergence == pytest.approx(gain.total, rel=1e-12, abs=1e-11)
    assert gain.divergence >= 0
    assert gain.expected >= 0


def test_the_expected_part_is_what_statistics_say():
    x = TWO.sample(300, random_state=4)
    other = sf.Mixture([sf.Normal(3.0, 1.0), sf.Normal(9.0, 1.5)], weights=[0.4, 0.6])
    stats_here = TWO.suffstats(x)
    expected = other.log_likelihood(stats_here) - TWO.log_likelihood(stats_here)
    assert TWO.gain(x, other).expected == pytest.approx(expected, rel=1e-10)


def test_consistency_aligns_the_components():
    truth = sf.Mixture([sf.Normal(8.0, 2.0), sf.Normal(4.0, 0.8)], weights=[0.7, 0.3])  # not in canonical order
    found = sf.theory.consistency(truth, sizes=[150, 3000], epsilon=0.5, repeats=6, random_state=0)
    assert found["mean_error"][1] < found["mean_error"][0]
    assert found["exceeds"][1] == 0
