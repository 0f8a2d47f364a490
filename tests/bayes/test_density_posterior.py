"""Any prior density by quadrature: against closed forms, over jumps, and refusing what is not a density.

Over 400 lines: one closed form after the other.
"""

import numpy as np
import pytest
from scipy import integrate, special, stats

import suffice as sf
from suffice.bayes.density_prior import data_posterior
from suffice.numerics.adaptive_quadrature import Nested, rule
from suffice.statistics.weights import Weights

DATA = np.array([1, 1, 0, 1, 0, 0, 0, 1, 1, 1], dtype=float)


def effective(p):
    """A prior that favours effective drugs."""
    return np.where(p > 0.5, 1.6, 0.4)


def split_beta(a, b):
    """∫ of p^(a−1)(1−p)^(b−1) × the prior ``effective``."""
    below = special.betainc(a, b, 0.5)
    return special.beta(a, b) * (0.4 * below + 1.6 * (1 - below))


def assert_same(post, closed, tolerance=1e-10):
    for name in ("mean", "std", "mode"):
        np.testing.assert_allclose(getattr(post, name), getattr(closed, name), rtol=tolerance, atol=1e-13, err_msg=name)
    for level in (0.5, 0.95):
        np.testing.assert_allclose(post.interval(level), closed.interval(level), rtol=tolerance)
    np.testing.assert_allclose(post.log_evidence, closed.log_evidence, rtol=tolerance, atol=1e-8)


@pytest.mark.parametrize(("a", "b"), [(2.0, 2.0), (5.5, 1.5), (1.0, 3.0), (30.0, 70.0)])
@pytest.mark.parametrize(
    "x", [DATA, np.zeros(8), np.ones(3), np.tile(DATA, 1000)], ids=["mixed", "zeros", "ones", "10⁴"]
)
def test_beta_density_equals_the_conjugate_prior(a, b, x):
    post = sf.posterior(sf.Bernoulli(), x, prior=stats.beta(a, b).pdf)
    closed = sf.posterior(sf.Bernoulli(), x, prior=sf.Beta(a, b))
    assert_same(post, closed)
    assert isinstance(post.predictive(), sf.Bernoulli)
    np.testing.assert_allclose(post.predictive().p, closed.predictive().p, rtol=1e-12)
    p = np.array([0.1, 0.4, 0.8])
    np.testing.assert_allclose(post.log_prob(p), closed.log_prob(p), rtol=1e-9, atol=1e-9)
    assert not [code for code, _ in post.alerts if code != "boundary"]


@pytest.mark.parametrize(("offset", "n"), [(0.0, 20), (1e3, 2000), (0.0, 0), (-1e6, 50)])
def test_normal_density_equals_the_conjugate_prior(offset, n):
    x = np.random.default_rng(3).normal(offset, 2.0, n)
    prototype = sf.Normal(std=2.0).fix("std")
    post = sf.posterior(prototype, x, prior=stats.norm(offset + 1, 3).pdf)
    closed = sf.posterior(prototype, x, prior=sf.NormalPrior(offset + 1, 3.0))
    assert_same(post, closed, 1e-9)
    mine, theirs = post.predictive(), closed.predictive()
    where = offset + np.linspace(-9, 9, 13)
    np.testing.assert_allclose(mine.log_prob(where), theirs.log_prob(where), rtol=1e-10)
    np.testing.assert_allclose(mine.cdf(where), theirs.cdf(where), rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(mine.quantile([0.01, 0.5, 0.9]), theirs.quantile([0.01, 0.5, 0.9]), rtol=1e-10)
    np.testing.assert_allclose([mine.mean, mine.var], [theirs.mean, theirs.var], rtol=1e-10)
    np.testing.assert_allclose(mine.entropy(), theirs.entropy(), rtol=1e-8)


@pytest.mark.parametrize("n", [0, 5, 200])
def test_two_parameters_equal_normal_inverse_gamma(n):
    mean, count, shape, scale = 0.5, 1.5, 3.0, 2.0

    def density(mu, sigma):
        about_std = stats.invgamma.pdf(sigma**2, shape, scale=scale) * 2 * sigma  # a density of the std
        return stats.norm.pdf(mu, mean, sigma / np.sqrt(count)) * about_std

    x = np.random.default_rng(n).normal(1.0, 2.0, n)
    post = sf.posterior(sf.Normal(), x, prior=density)
    closed = sf.posterior(sf.Normal(), x, prior=sf.NormalInverseGamma(mean, count, shape, scale))
    np.testing.assert_allclose(post.log_evidence, closed.log_evidence, rtol=1e-9, atol=1e-9)
    for name in ("mean", "std"):
        np.testing.assert_allclose(post.mean[name], closed.mean[name], rtol=1e-9)
        np.testing.assert_allclose(post.std[name], closed.std[name], rtol=1e-8)
        np.testing.assert_allclose(post.interval(0.9)[name], closed.interval(0.9)[name], rtol=1e-9)
    belief = closed.belief
    t = stats.t(
        2 * belief.shape, belief.mean, np.sqrt(belief.scale * (belief.count + 1) / (belief.shape * belief.count))
    )
    where = np.linspace(-8, 8, 9)
    np.testing.assert_allclose(post.predictive().log_prob(where), t.logpdf(where), rtol=1e-9)
    np.testing.assert_allclose(post.predictive().cdf(where), t.cdf(where), rtol=1e-8)
    # The mode of (mean, std): the density of the std is that of the variance × 2 std, so the exponent gains ½.
    np.testing.assert_allclose(post.mode["mean"], belief.mean, rtol=1e-9)
    np.testing.assert_allclose(post.mode["std"], np.sqrt(belief.scale / (belief.shape + 1)), rtol=1e-9)


def test_two_parameters_draw_and_show_their_marginals():
    def density(mu, sigma):
        return stats.norm.pdf(mu, 0, 2) * stats.gamma.pdf(sigma, 3)

    post = sf.posterior(sf.Normal(), [0.3, 1.9, 1.1, 2.5], prior=density)
    drawn = post.sample(4000, random_state=1)
    for name in ("mean", "std"):
        low, high = post.interval(0.8)[name]
        assert abs(np.mean((drawn[name] > low) & (drawn[name] < high)) - 0.8) < 0.025
        grid = np.linspace(low, high, 2001)
        np.testing.assert_allclose(np.trapezoid(post.marginal_density(name, grid), grid), 0.8, rtol=1e-6)


def test_gamma_density_equals_the_conjugate_prior_of_a_rate():
    x = np.random.default_rng(0).exponential(0.5, 30)
    post = sf.posterior(sf.Exponential(), x, prior=stats.gamma(2.5, scale=1 / 1.5).pdf)
    a, b = 2.5 + len(x), 1.5 + x.sum()
    np.testing.assert_allclose(post.mean, a / b, rtol=1e-12)
    np.testing.assert_allclose(post.std, np.sqrt(a) / b, rtol=1e-11)
    np.testing.assert_allclose(post.mode, (a - 1) / b, rtol=1e-10)
    np.testing.assert_allclose(post.interval(0.95), stats.gamma(a, scale=1 / b).interval(0.95), rtol=1e-11)
    evidence = special.gammaln(a) - a * np.log(b) - special.gammaln(2.5) + 2.5 * np.log(1.5)
    np.testing.assert_allclose(post.log_evidence, evidence, rtol=1e-12)
    where = np.array([0.0, 0.5, 4.0])
    np.testing.assert_allclose(post.predictive().log_prob(where), stats.lomax(a, scale=b).logpdf(where), rtol=1e-11)


def test_a_jump_in_the_prior_is_integrated_right():
    ones, zeros = DATA.sum(), len(DATA) - DATA.sum()
    post = sf.posterior(sf.Bernoulli(), DATA, prior=effective)
    total = split_beta(1 + ones, 1 + zeros)
    mean = split_beta(2 + ones, 1 + zeros) / total
    second = split_beta(3 + ones, 1 + zeros) / total
    np.testing.assert_allclose(post.log_evidence, np.log(total), rtol=1e-12)
    np.testing.assert_allclose(post.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(post.std, np.sqrt(second - mean**2), rtol=1e-10)
    np.testing.assert_allclose(post.predictive().p, mean, rtol=1e-12)
    np.testing.assert_allclose(post.mode, ones / (ones + zeros), rtol=1e-11)
    low, _ = post.interval(0.9)  # lies below the jump
    below = 0.4 * special.beta(1 + ones, 1 + zeros) * special.betainc(1 + ones, 1 + zeros, low) / total
    np.testing.assert_allclose(below, 0.05, rtol=1e-10)
    assert post.alerts == ()


@pytest.mark.parametrize("cut", np.random.default_rng(5).uniform(0.02, 0.98, 25).round(6))
def test_a_jump_anywhere(cut):
    post = sf.posterior(sf.Bernoulli(), [1, 0, 1], prior=lambda p: np.where(p > cut, 1.0, 0.0) / (1 - cut))
    above = special.beta(3, 2) * special.betaincc(3, 2, cut) / (1 - cut)
    np.testing.assert_allclose(post.log_evidence, np.log(above), rtol=1e-10, atol=1e-11)
    assert post.interval(0.95)[0] > cut


def test_the_mode_sits_at_a_jump_that_cuts_the_likelihood():
    post = sf.posterior(sf.Bernoulli(), [1, 0, 0, 0, 1, 0], prior=effective)
    np.testing.assert_allclose(post.mode, 0.5, rtol=1e-9)
    assert post.mode > 0.5


def test_posterior_after_posterior_is_the_posterior_of_all_data():
    whole = sf.posterior(sf.Bernoulli(), DATA, prior=effective)
    first = sf.posterior(sf.Bernoulli(), DATA[:4], prior=effective)
    both = sf.posterior(sf.Bernoulli(), DATA[4:], prior=first)
    for name in ("mean", "std", "mode"):
        np.testing.assert_allclose(getattr(both, name), getattr(whole, name), rtol=1e-11)
    np.testing.assert_allclose(both.interval(), whole.interval(), rtol=1e-11)
    np.testing.assert_allclose(first.log_evidence + both.log_evidence, whole.log_evidence, rtol=1e-12)
    assert both.alerts == ()


def test_the_predictive_is_the_ratio_of_evidences():
    x = np.random.default_rng(8).normal(size=6)
    prototype = sf.Normal(std=1.0).fix("std")
    before = sf.posterior(prototype, x, prior=stats.laplace.pdf)
    after = sf.posterior(prototype, [*x, 1.7], prior=stats.laplace.pdf)
    ratio = after.log_evidence - before.log_evidence
    np.testing.assert_allclose(before.predictive().log_prob(1.7), ratio, rtol=1e-10)


def test_the_predictive_is_a_distribution():
    predictive = sf.posterior(sf.Exponential(), [0.5, 1.5, 0.2], prior=stats.gamma(2).pdf).predictive()
    lomax = stats.lomax(5, scale=3.2)
    drawn = predictive.sample(20_000, random_state=0)
    assert drawn.shape == (20_000,)
    assert stats.kstest(drawn, lomax.cdf).pvalue > 0.001
    np.testing.assert_array_equal(drawn, predictive.sample(20_000, random_state=0))
    np.testing.assert_allclose([predictive.mean, predictive.var], [lomax.mean(), lomax.var()], rtol=1e-8)
    assert predictive.log_prob(-1.0) == -np.inf
    assert "Exponential" in repr(predictive)


def test_draws_follow_the_belief():
    post = sf.posterior(sf.Bernoulli(), DATA, prior=stats.beta(2, 3).pdf)
    drawn = post.sample(20_000, random_state=4)
    assert stats.kstest(drawn, stats.beta(2 + DATA.sum(), 3 + len(DATA) - DATA.sum()).cdf).pvalue > 0.001
    assert post.sample(0).shape == (0,)


def test_a_prior_that_does_not_integrate_to_one_is_normalised_with_an_alert():
    post = sf.posterior(sf.Bernoulli(), DATA, prior=lambda p: 3 * stats.beta.pdf(p, 2, 2))
    closed = sf.posterior(sf.Bernoulli(), DATA, prior=sf.Beta(2, 2))
    assert_same(post, closed)
    assert [code for code, _ in post.alerts] == ["normalised"]
    assert "integrates to 3," in post.alerts[0][1]


def test_a_constant_is_a_density_on_the_unit_interval():
    post = sf.posterior(sf.Bernoulli(), [1, 0, 1], prior=lambda p: 1.0)  # noqa: ARG005
    np.testing.assert_allclose(post.mean, 3 / 5, rtol=1e-12)
    assert post.alerts == ()


def test_without_data_the_posterior_is_the_prior():
    post = sf.posterior(sf.Bernoulli(), np.zeros(0), prior=stats.beta(3, 4).pdf)
    np.testing.assert_allclose(post.mean, 3 / 7, rtol=1e-12)
    np.testing.assert_allclose(post.log_evidence, 0.0, atol=1e-13)


def test_weights_are_repetitions():
    twice = sf.posterior(sf.Bernoulli(), [1, 1, 0], prior=effective)
    weighed = sf.posterior(sf.Bernoulli(), [1, 0], weights=[2, 1], prior=effective)
    np.testing.assert_allclose([weighed.mean, weighed.log_evidence], [twice.mean, twice.log_evidence], rtol=1e-13)


def test_fit_with_a_density_ends_at_the_mode():
    fit = sf.fit(sf.Bernoulli(), DATA, prior=stats.beta(2, 3).pdf)
    expected = (DATA.sum() + 1) / (len(DATA) + 3)
    np.testing.assert_allclose(fit.distribution.p, expected, rtol=1e-11)
    likelihood = stats.bernoulli(expected).logpmf(DATA).sum()
    np.testing.assert_allclose(fit.log_likelihood, likelihood, rtol=1e-12)
    np.testing.assert_allclose(fit.log_posterior, likelihood + stats.beta(2, 3).logpdf(expected), rtol=1e-11)
    scaled = sf.fit(sf.Bernoulli(), DATA, prior=lambda p: 5 * stats.beta.pdf(p, 2, 3))
    np.testing.assert_allclose(scaled.log_posterior, fit.log_posterior, rtol=1e-11)
    assert "normalised" in dict(scaled.alerts)


def test_the_mode_on_the_boundary_is_reported():
    post = sf.posterior(sf.Bernoulli(), np.zeros(5), prior=lambda p: np.ones(len(p)))
    assert post.mode == 0.0
    assert "boundary" in dict(post.alerts)
    assert sf.fit(sf.Bernoulli(), np.zeros(5), prior=lambda p: np.ones(len(p))).distribution.p == 0.0


def test_a_uniform_likelihood_jumps_where_the_data_end():
    x = np.array([0.4, 2.0, 1.3])
    post = sf.posterior(sf.Uniform(low=0).fix("low"), x, prior=stats.pareto(1.5).pdf)  # 1.5 θ^−2.5 above 1
    np.testing.assert_allclose(post.mode, 2.0, rtol=1e-9)
    np.testing.assert_allclose(post.log_evidence, np.log(1.5 * 2.0**-4.5 / 4.5), rtol=1e-10)
    np.testing.assert_allclose(post.mean, 2.0 * 4.5 / 3.5, rtol=1e-9)


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        (lambda p: p - 0.5, "at least 0"),
        (lambda p: np.where(p > 0.9, np.nan, 1.0), "the prior is nan at p = "),
        (lambda p: 1.6 if p > 0.5 else 0.4, "could not be called with arrays"),
        (np.mean, "shape"),
        (lambda p: np.ones((len(p), 2)), "shape"),
        (lambda p, q: p * q, "could not be called"),
        (lambda p: np.zeros(len(p)), "is 0 at every value"),
        (lambda p: (p == 2).astype(float), "is 0 at every value"),
    ],
    ids=["negative", "nan", "if", "scalar", "matrix", "arguments", "zero", "elsewhere"],
)
def test_what_is_not_a_density_is_refused(prior, words):
    with pytest.raises(sf.ParameterError) as caught:
        sf.posterior(sf.Bernoulli(), DATA, prior=prior)
    assert words in str(caught.value)


def test_prior_and_data_that_exclude_each_other():
    with pytest.raises(sf.ParameterError, match="exclude each other"):
        sf.posterior(sf.Uniform(low=0).fix("low"), [3.0], prior=lambda h: ((h > 0) & (h < 1)).astype(float))


def test_a_density_speaks_of_few_numbers_of_one_column():
    with pytest.raises(sf.UnsupportedError, match="one to 3 numbers"):
        sf.posterior(sf.Normal(), np.ones((4, 2)), prior=lambda m, s: m * s)
    with pytest.raises(sf.UnsupportedError, match="fixed"):
        sf.posterior(sf.Bernoulli(0.5).fix("p"), [1.0], prior=effective)


def test_asking_wrongly():
    post = sf.posterior(sf.Bernoulli(), DATA, prior=effective)
    with pytest.raises(sf.ParameterError, match="level"):
        post.interval(1.5)
    with pytest.raises(sf.ParameterError, match="whole number"):
        post.sample(-1)
    assert post.log_prob(1.5) == -np.inf
    both = sf.posterior(sf.Normal(), [1.0, 2.0], prior=lambda m, s: stats.norm.pdf(m) * stats.gamma.pdf(s, 3))
    with pytest.raises(sf.ParameterError, match="dictionary"):
        both.log_prob(1.0)
    with pytest.raises(sf.ParameterError, match="speaks of mean, std"):
        sf.posterior(sf.Bernoulli(), DATA, prior=both)


def test_a_heavy_tail_is_followed():
    post = sf.posterior(sf.Normal(std=1.0).fix("std"), np.zeros(0), prior=stats.cauchy(3, 2).pdf)
    np.testing.assert_allclose(post.interval(0.99), stats.cauchy(3, 2).interval(0.99), rtol=1e-10)
    np.testing.assert_allclose(post.log_evidence, 0.0, atol=1e-12)


def test_a_narrow_likelihood_under_a_wide_prior_is_found():
    x = np.random.default_rng(1).normal(12345.678, 1e-3, 100)
    post = sf.posterior(sf.Normal(std=1e-3).fix("std"), x, prior=stats.cauchy(0, 1).pdf)
    np.testing.assert_allclose(post.mean, x.mean(), rtol=1e-12)
    np.testing.assert_allclose(post.std, 1e-4, rtol=1e-5)


@pytest.mark.parametrize("order", [12, 20])
def test_panels_integrate_polynomials_and_invert(order):
    nodes, weights, to_coefficients, _ = rule(order)
    for degree in range(2 * order - 2):
        np.testing.assert_allclose(weights @ nodes**degree, (1 + (-1) ** degree) / (degree + 1), atol=1e-14)
    np.testing.assert_allclose(to_coefficients @ nodes, np.eye(order)[1], atol=1e-13)
    nested = Nested(lambda t: -0.5 * np.square(t).sum(axis=1), [np.linspace(-9.0, 9.0, 5)], 0.0, order, (1e-13,))
    panels = nested.panels(np.zeros((1, 0)))
    np.testing.assert_allclose(panels.masses.sum(), np.sqrt(2 * np.pi), rtol=1e-12)
    levels = np.array([0.001, 0.3, 0.5, 0.99])
    found = panels.quantile(np.zeros(4, int), levels, 1)
    np.testing.assert_allclose(found, special.ndtri(levels), rtol=1e-11, atol=1e-12)


def test_dimensions_nest():
    def normal(t):
        return -0.5 * np.square(t).sum(axis=1)

    def above_the_diagonal(t):
        return np.where(t[:, 0] > t[:, 1], normal(t), -np.inf)

    edges = np.linspace(-8.0, 8.0, 5)
    flat = Nested(above_the_diagonal, [edges] * 2, 0.0, 20, (1e-11, 1e-13))
    np.testing.assert_allclose(flat.panels(np.zeros((1, 0))).masses.sum(), np.pi, rtol=1e-10)
    deep = Nested(normal, [np.array([-8.0, -3.0, 0.0, 3.0, 8.0])] * 3, 0.0, 20, (1e-7, 1e-8, 1e-8))
    panels = deep.panels(np.zeros((1, 0)))
    np.testing.assert_allclose(panels.masses.sum(), (2 * np.pi) ** 1.5, rtol=1e-9)
    points, shares = deep.all_nodes(panels)
    np.testing.assert_allclose(shares @ np.square(points), np.ones(3), rtol=1e-8)
    np.testing.assert_allclose(shares @ (points[:, 0] * points[:, 2]), 0.0, atol=1e-12)


# ---- families without finite statistics -----------------------------------------------------------------------------
def test_passes_over_rows_give_the_same_posterior_as_statistics():
    x = np.random.default_rng(2).gamma(2.0, 1.0, 25)[:, None]
    weights = Weights.of(np.arange(25) % 3, 25)

    def density(shape, rate):
        return stats.gamma.pdf(shape, 2) * stats.gamma.pdf(rate, 2)

    exact = sf.posterior(sf.Gamma(), x, weights=weights, prior=density)
    learned = sf.fit(sf.Gamma(), x, weights=weights).distribution
    passes = data_posterior(sf.Gamma(), x, weights, density, lambda: learned)
    np.testing.assert_allclose(passes.log_evidence, exact.log_evidence, rtol=1e-10)
    np.testing.assert_allclose(list(passes.mean.values()), list(exact.mean.values()), rtol=1e-9)


def test_a_location_under_student_t_against_a_plain_integral():
    x = np.array([0.2, -1.0, 3.5, 0.9, 12.0])
    prototype = sf.StudentT(df=3.0, scale=1.5).fix("df", "scale")
    post = sf.posterior(prototype, x, prior=stats.norm(0, 4).pdf)

    def joint(loc):
        return np.exp(stats.t.logpdf(x, 3, loc, 1.5).sum()) * stats.norm.pdf(loc, 0, 4)

    total = integrate.quad(joint, -40, 40, points=[0, 2], epsabs=0, epsrel=1e-12, limit=500)[0]
    mean = integrate.quad(lambda v: v * joint(v), -40, 40, points=[0, 2], epsabs=0, epsrel=1e-12, limit=500)[0] / total
    np.testing.assert_allclose(post.log_evidence, np.log(total), rtol=1e-10)
    np.testing.assert_allclose(post.mean, mean, rtol=1e-9)
    assert isinstance(post.estimate(), sf.StudentT)
    np.testing.assert_allclose(sf.fit(prototype, x, prior=stats.norm(0, 4).pdf).distribution.loc, post.mode, rtol=1e-12)
    near = post.mode + np.array([-1e-3, 0, 1e-3])
    assert np.argmax(post.log_prob(near)) == 1


def test_a_distribution_is_a_density_of_one_parameter():
    x = [0.2, -1.0, 3.5, 0.9]
    prototype = sf.StudentT(df=3.0, scale=1.5).fix("df", "scale")
    named = sf.posterior(prototype, x, prior=sf.Normal(0.0, 4.0))
    function = sf.posterior(prototype, x, prior=stats.norm(0, 4).pdf)
    np.testing.assert_allclose([named.mean, named.log_evidence], [function.mean, function.log_evidence], rtol=1e-10)
    with pytest.raises(sf.UnsupportedError, match="any density of"):
        sf.posterior(sf.StudentT(df=3.0).fix("df"), x, prior=sf.Normal(0.0, 4.0))


@pytest.mark.slow
def test_three_parameters_against_a_plain_sum():
    x = np.random.default_rng(0).standard_t(4, 30)

    def density(df, loc, scale):
        return stats.gamma.pdf(df, 2, scale=5) * stats.norm.pdf(loc, 0, 5) * stats.gamma.pdf(scale, 2)

    post = sf.posterior(sf.StudentT(), x, prior=density)
    # The trapezoidal rule in (log df, loc, log scale) converges fast, for the integrand dies at all ends.
    df, loc, scale = np.meshgrid(
        np.linspace(-7, 6, 131), np.linspace(-2, 2.5, 91), np.linspace(-2, 1.6, 91), indexing="ij", sparse=True
    )
    nu, sigma = np.exp(df), np.exp(scale)
    log_likelihood = len(x) * stats.t.logpdf(0.0, nu, 0.0, sigma)
    for value in x:
        log_likelihood = log_likelihood - (nu + 1) / 2 * np.log1p(((value - loc) / sigma) ** 2 / nu)
    there = stats.t.logpdf(x, nu[65, 0, 0], loc[0, 45, 0], sigma[0, 0, 45]).sum()
    np.testing.assert_allclose(log_likelihood[65, 45, 45], there, rtol=1e-12)
    joint = np.exp(log_likelihood + df + scale + 60) * density(nu, loc, sigma)
    cell = 0.1 * 0.05 * 0.04
    np.testing.assert_allclose(post.log_evidence, np.log(joint.sum() * cell) - 60, rtol=1e-7)
    np.testing.assert_allclose(post.mean["loc"], (joint * loc).sum() / joint.sum(), rtol=1e-4)
