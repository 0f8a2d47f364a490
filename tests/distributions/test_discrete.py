"""What no law can say of the families over counts and labels: closed forms, labels of every kind, boundaries, tails.

Over 400 lines: all counts and labels share its data and its judges.
"""

import contextlib
import datetime as dt
import time

import mpmath
import numpy as np
import pytest
import scipy.stats as st
from scipy import special

import suffice as sf
from suffice import testing
from suffice.numerics.special import digamma_rise, log_rising, stirling_rest, trigamma_fall, whole_quantile

LEVELS = np.array([1e-7, 0.001, 0.01, 0.1, 0.25, 0.5, 0.77, 0.9, 0.999, 0.9999999])

NUMERIC = [
    *[(sf.Binomial(n, p), st.binom(n, p)) for n in (1, 7, 50, 1000) for p in (0.01, 0.3, 0.9)],
    *[(sf.Poisson(r), st.poisson(r)) for r in (0.01, 0.3, 3, 40, 500)],
    *[(sf.Geometric(p), st.geom(p)) for p in (0.01, 0.1, 0.5, 0.95)],
    *[(sf.NegativeBinomial(r, p), st.nbinom(r, p)) for r in (0.2, 1, 5.5, 80) for p in (0.05, 0.4, 0.9)],
    *[(sf.BetaBinomial(n, a, b), st.betabinom(n, a, b)) for n in (1, 7, 50) for a, b in ((0.6, 2), (3, 5), (50, 20))],
]


@pytest.mark.parametrize(("ours", "scipys"), NUMERIC, ids=lambda value: repr(value) if hasattr(value, "specs") else "")
def test_agrees_with_scipy_in_the_bulk_and_in_the_tails(ours, scipys):
    x = np.arange(-1.0, 300.0)
    np.testing.assert_allclose(ours.log_prob(x), scipys.logpmf(x), rtol=1e-10)
    np.testing.assert_allclose(ours.cdf(x), scipys.cdf(x), rtol=1e-10)
    np.testing.assert_allclose(ours.cdf(x + 0.5), scipys.cdf(x + 0.5), rtol=1e-10)
    np.testing.assert_array_equal(ours.quantile(LEVELS), scipys.ppf(LEVELS))
    np.testing.assert_allclose([ours.mean, ours.var], [scipys.mean(), scipys.var()], rtol=1e-12)


@pytest.mark.parametrize(
    "dist", [sf.Binomial(40, 0.3), sf.Poisson(12.5), sf.Geometric(0.2), sf.NegativeBinomial(2.5, 0.1)], ids=repr
)
def test_entropy_is_the_sum(dist):
    x = np.arange(0.0, 3000.0)
    log_p = dist.log_prob(x)
    log_p = log_p[np.isfinite(log_p)]
    expected = -np.sum(np.exp(log_p) * log_p)
    assert dist.entropy() == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("a", [0.3, 2.0, 9.99, 10.0, 1e3, 1e6, 1e10])
@pytest.mark.parametrize("n", [0, 1, 7, 100, 1e5])
def test_differences_of_gamma_functions_lose_no_digit(a, n):
    with mpmath.workdps(50):
        z, m = mpmath.mpf(a), mpmath.mpf(n)
        rising = mpmath.loggamma(z + m) - mpmath.loggamma(z)
        first = mpmath.digamma(z + m) - mpmath.digamma(z)
        second = mpmath.psi(1, z) - mpmath.psi(1, z + m)
        rest = mpmath.loggamma(z) - (z - 0.5) * mpmath.log(z) + z - mpmath.log(2 * mpmath.pi) / 2
    assert log_rising(a, n) == pytest.approx(float(rising), rel=3e-14)
    assert digamma_rise(a, n) == pytest.approx(float(first), rel=3e-14)
    assert trigamma_fall(a, n) == pytest.approx(float(second), rel=3e-14)
    assert stirling_rest(a) == pytest.approx(float(rest), rel=1e-12)


def test_whole_quantile_ends():
    cdf = sf.Poisson(2.0).cumulative
    assert whole_quantile(cdf, np.array([0.0, 1.0]), 0).tolist() == [0.0, np.inf]
    assert sf.Binomial(5, 0.5).quantile([0.0, 1.0]).tolist() == [0.0, 5.0]


@pytest.mark.parametrize("model", [sf.Geometric(1e-17), sf.NegativeBinomial(3, 1e-17), sf.Poisson(1e17)])
def test_quantiles_beyond_the_whole_numbers_that_float64_tells_apart(model):
    levels = np.array([0.01, 0.5, 0.99])
    x = model.quantile(levels)
    np.testing.assert_array_less(levels * (1 - 1e-12), model.cdf(x))
    np.testing.assert_array_less(model.cdf(x - 2 * np.spacing(x)), levels)


# ---- closed forms ----------------------------------------------------------------------------------------------------
def test_maximum_likelihood_in_closed_form():
    x = np.array([3, 5, 4, 0, 10])
    assert sf.fit(sf.Binomial(10), x).distribution.p == pytest.approx(x.sum() / (10 * len(x)), rel=1e-12)
    assert sf.fit(sf.Poisson(), x).distribution.rate == pytest.approx(x.mean(), rel=1e-12)
    assert sf.fit(sf.Geometric(), x + 1).distribution.p == pytest.approx(1 / (x + 1).mean(), rel=1e-12)
    fixed = sf.fit(sf.NegativeBinomial(size=2.5).fix("size"), x)
    assert fixed.distribution.p == pytest.approx(2.5 / (2.5 + x.mean()), rel=1e-12)
    assert fixed.statistics.exact
    rows = np.array([[2, 1, 1], [0, 5, 1]])
    np.testing.assert_allclose(sf.fit(sf.Multinomial(), rows).distribution.probs, [0.2, 0.6, 0.2], rtol=1e-12)


def test_strings_with_counts():
    data = ["01000010"] * 2 + ["11111111"] * 3 + ["00001111", "00000000"]
    learned = sf.fit(sf.Categorical(), data).distribution
    assert learned.levels == ("00000000", "00001111", "01000010", "11111111")
    np.testing.assert_allclose(learned.probs, np.array([1, 1, 2, 3]) / 7, rtol=1e-12)


@pytest.mark.parametrize(
    ("prototype", "x", "prior", "after", "mode"),
    [
        (sf.Binomial(6), [2, 5, 1], sf.Beta(2, 3), {"a": 10, "b": 13}, 9 / 21),
        (sf.Geometric(), [2, 5, 1], sf.Beta(2, 3), {"a": 5, "b": 8}, 4 / 11),
        (sf.Poisson(), [2, 5, 1], sf.Gamma(2, 3), {"shape": 10, "rate": 6}, 9 / 6),
    ],
)
def test_conjugate_pairs_in_closed_form(prototype, x, prior, after, mode):
    post = sf.posterior(prototype, x, prior=prior)
    assert {name: getattr(post, name) for name in after} == pytest.approx(after, rel=1e-12)
    assert post.mode == pytest.approx(mode, rel=1e-12)
    assert sf.fit(prototype, x, prior=prior).params == pytest.approx({prototype.belief_about: mode}, rel=1e-12)


def test_evidence_in_closed_form():
    x = np.array([2, 5, 1])
    binomial = sf.posterior(sf.Binomial(6), x, prior=sf.Beta(2, 3)).log_evidence
    ways = np.log(special.comb(6, x)).sum()
    assert binomial == pytest.approx(special.betaln(10, 13) - special.betaln(2, 3) + ways, rel=1e-12)
    geometric = sf.posterior(sf.Geometric(), x, prior=sf.Beta(2, 3)).log_evidence
    assert geometric == pytest.approx(special.betaln(5, 8) - special.betaln(2, 3), rel=1e-12)
    poisson = sf.posterior(sf.Poisson(), x, prior=sf.Gamma(2, 3)).log_evidence
    expected = special.gammaln(10) - 10 * np.log(6) - special.gammaln(2) + 2 * np.log(3) - special.gammaln(x + 1).sum()
    assert poisson == pytest.approx(expected, rel=1e-12)
    labels = sf.posterior(sf.Categorical(), ["a", "b", "a", "c"], prior=sf.Dirichlet([1, 2, 3])).log_evidence
    before, after = np.array([1, 2, 3]), np.array([3, 3, 4])
    expected = special.gammaln(6) - special.gammaln(10) + (special.gammaln(after) - special.gammaln(before)).sum()
    assert labels == pytest.approx(expected, rel=1e-12)


def test_predictives():
    assert sf.posterior(sf.Binomial(6), [2], prior=sf.Beta(2, 3)).predictive() == sf.BetaBinomial(6, 4, 7)
    assert sf.posterior(sf.Geometric(), [2], prior=sf.Beta(2, 3)).predictive() == sf.BetaGeometric(3, 4)
    assert sf.posterior(sf.Poisson(), [2], prior=sf.Gamma(2, 3)).predictive() == sf.NegativeBinomial(4, 0.8)
    labels = sf.posterior(sf.Categorical(), ["a", "b", "a"], prior=sf.Dirichlet([1, 1])).predictive()
    assert labels == sf.Categorical(("a", "b"), [0.6, 0.4], unseen=1 / (3 + 2))
    counts = sf.posterior(sf.Multinomial(), [[2, 1]], prior=sf.Dirichlet([1, 1])).predictive()
    assert counts == sf.DirichletMultinomial(3, [3, 2])


@pytest.mark.parametrize(
    ("prototype", "x", "name", "error"),
    [
        (sf.Binomial(10), [3, 5, 4], "p", np.sqrt(0.4 * 0.6 / 30)),
        (sf.Poisson(), [3, 5, 4], "rate", np.sqrt(4 / 3)),
        (sf.Geometric(), [3, 5, 4], "p", 0.25 * np.sqrt(0.75 / 3)),
        (sf.Multinomial(), [[1, 2], [1, 0]], "probs", [np.sqrt(0.25 / 4)] * 2),
        (sf.Categorical(), ["a", "b", "a", "a"], "probs", [np.sqrt(0.1875 / 4)] * 2),
        (sf.NegativeBinomial(size=2).fix("size"), [3, 5, 4], "p", np.sqrt(1 / 9 * (2 / 3) / (3 * 2))),
    ],
)
def test_standard_errors_in_closed_form(prototype, x, name, error):
    np.testing.assert_allclose(sf.fit(prototype, x).standard_errors[name], error, rtol=1e-9)


@pytest.mark.parametrize(
    ("dist", "mode"),
    [
        (sf.Binomial(5, 0.5), 3),
        (sf.Binomial(5, 1.0), 5),
        (sf.Poisson(3.7), 3),
        (sf.Geometric(0.3), 1),
        (sf.NegativeBinomial(3.0, 0.45), 2),
        (sf.NegativeBinomial(0.5, 0.4), 0),
        (sf.BetaGeometric(2.0, 3.0), 1),
    ],
)
def test_the_mode_is_most_probable(dist, mode):
    assert dist.mode == mode
    assert dist.log_prob(np.arange(0.0, 60.0)).max() == pytest.approx(dist.log_prob(mode), rel=1e-12)


def test_weak_priors_keep_estimates_inside():
    assert sf.fit(sf.Binomial(3), [0, 0], prior="weak").distribution.p == pytest.approx(1 / 14, rel=1e-12)
    assert sf.fit(sf.Geometric(), [1, 1], prior="weak").distribution.p == pytest.approx(5 / 6, rel=1e-12)
    assert sf.fit(sf.Poisson(), [0, 0], prior="weak").distribution.rate == pytest.approx(1 / 8, rel=1e-12)
    fit = sf.fit(sf.Categorical(["a", "b"]), ["a"], prior="weak")
    np.testing.assert_allclose(fit.distribution.probs, [3 / 4, 1 / 4], rtol=1e-12)
    assert fit.log_posterior == pytest.approx(np.log(3 / 4) + sf.Beta(1.5, 1.5).log_prob(3 / 4), rel=1e-12)
    fit = sf.fit(sf.Multinomial(), [[3, 0]], prior="weak")
    np.testing.assert_allclose(fit.distribution.probs, [7 / 8, 1 / 8], rtol=1e-12)


# ---- boundaries ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("prototype", "x"),
    [
        (sf.Poisson(), [0, 0, 0]),
        (sf.Binomial(4), [0, 0]),
        (sf.Binomial(4), [4, 4]),
        (sf.Geometric(), [1, 1]),
        (sf.NegativeBinomial(), [0, 0]),
        (sf.Multinomial(), [[2, 0]]),
        (sf.Categorical(["a", "b"]), ["a"]),
    ],
)
def test_an_estimate_on_the_boundary_carries_an_alert(prototype, x):
    fit = sf.fit(prototype, x)
    assert [code for code, _ in fit.alerts] == ["boundary"]
    assert np.isfinite(fit.log_likelihood)


def test_more_successes_than_trials():
    message = r"trials = 4 takes whole numbers from 0 to 4, but row 1 has 5\. .*raise trials"
    with pytest.raises(sf.DataError, match=message):
        sf.fit(sf.Binomial(4), [2, 5])
    with pytest.raises(sf.DataError, match="row 1, column 1 has 9"):
        sf.fit(sf.Binomial([4, 8]), [[2, 8], [4, 9]])
    assert sf.fit(sf.Binomial(4), [2, 5], weights=[1, 0]).distribution.p == 0.5
    assert sf.Binomial(4, 0.5).log_prob(5) == -np.inf
    with pytest.raises(sf.ParameterError, match="needs its number of trials"):
        sf.Binomial()


def test_components_may_differ_in_trials():
    stack = sf.Binomial([[3], [6]], [[0.2], [0.5]])
    x, codes = np.array([1, 3, 6, 2]), np.array([0, 0, 1, 1])
    stats = stack.suffstats(x, sf.OneHot(codes, 2))
    np.testing.assert_allclose(stack.estimate(stats).p[:, 0], [4 / 6, 8 / 12], rtol=1e-12)
    np.testing.assert_allclose(stack.tie("p").estimate(stats).p[:, 0], [12 / 18] * 2, rtol=1e-12)
    expected = [sf.Binomial(3, 0.2).log_prob(x[:2]).sum(), sf.Binomial(6, 0.5).log_prob(x[2:]).sum()]
    np.testing.assert_allclose(stack.log_likelihood(stats), expected, rtol=1e-12)


# ---- NegativeBinomial ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("size", "p"), [(2, 0.3), (0.2, 0.1), (50, 0.5), (5, 0.9), (0.05, 0.01)])
def test_negative_binomial_ends_at_the_maximum(size, p):
    x = np.random.default_rng(0).negative_binomial(size, p, 1500).astype(float)
    fit = sf.fit(sf.NegativeBinomial(), x)
    r, q = fit.distribution.size, fit.distribution.p
    slope_size = r * (np.mean(special.digamma(x + r)) - special.digamma(r) + np.log(q))
    slope_p = q * (r / q - x.mean() / (1 - q))
    assert abs(slope_size) < 1e-10
    assert abs(slope_p) < 1e-10
    assert fit.converged
    assert fit.n_iter < 20
    rises = np.diff(fit.trace.log_likelihood)
    assert (rises >= -1e-12 * abs(fit.log_likelihood)).all()
    assert fit.log_likelihood == pytest.approx(st.nbinom.logpmf(x, r, q).sum(), rel=1e-12)


def test_a_size_that_hardly_matters_is_found_in_few_passes():
    # variance/mean 1.0004: the start has twice the size, and the likelihood is flat all the way
    times = [5, 2, 1, 1, 1, 0, 1, 2, 1, 2, 4, 8, 3, 6, 4, 11, 130]
    x = np.repeat(np.arange(17.0), times)
    assert 1 < x.var() / x.mean() < 1.0005
    fit = sf.fit(sf.NegativeBinomial(), x)
    assert fit.distribution.size > 1000
    assert fit.converged
    assert fit.n_iter < 100  # most of them to see that what moves is rounding; some 400 where steps down were timid


def test_counts_that_are_looked_up_are_scored_as_one_by_one():
    rng = np.random.default_rng(0)
    x = rng.negative_binomial(2, 0.3, (200, 3)).astype(float)
    x[5, 1] = np.nan
    for size in (0.3, 40.0, 1e6):  # each has its own formula
        dist = sf.NegativeBinomial(np.array([size, 2.0, size]), np.array([0.2, 0.3, 0.999]))
        few = [dist.log_prob(x[i : i + 2]) for i in range(0, 200, 2)]
        np.testing.assert_array_equal(dist.log_prob(x), np.concatenate(few))
        parts = [dist.suffstats(x[i : i + 2]) for i in range(0, 200, 2)]
        whole, total = dist.suffstats(x), parts[0]
        for one in parts[1:]:
            total = total + one
        np.testing.assert_allclose(whole.total, total.total, rtol=1e-12)
        np.testing.assert_allclose(whole.base, total.base, rtol=1e-12)


def test_negative_binomial_converges_from_anywhere():
    x = np.random.default_rng(1).negative_binomial(3, 0.4, 400)
    best = sf.fit(sf.NegativeBinomial(), x).distribution
    for size in (1e-4, 0.1, 40.0, 1e5):
        current, last = sf.NegativeBinomial(size, 0.5), -np.inf
        for _ in range(40):
            stats = current.suffstats(x)
            value = current.log_likelihood(stats)
            assert value >= last - 1e-9
            current, last = current.estimate(stats), value
        assert current.size == pytest.approx(best.size, rel=1e-9)


def test_negative_binomial_standard_errors_are_those_of_the_observed_information():
    x = np.random.default_rng(2).negative_binomial(2, 0.3, 800).astype(float)
    fit = sf.fit(sf.NegativeBinomial(), x)
    r, p, n = fit.distribution.size, fit.distribution.p, len(x)
    curve = n * special.polygamma(1, r) - special.polygamma(1, x + r).sum()
    information = [[curve, -n / p], [-n / p, n * r / p**2 + x.sum() / (1 - p) ** 2]]
    expected = np.sqrt(np.diag(np.linalg.inv(information)))
    np.testing.assert_allclose([fit.standard_errors["size"], fit.standard_errors["p"]], expected, rtol=1e-9)


def test_negative_binomial_on_counts_that_vary_too_little():
    x = np.random.default_rng(3).binomial(10, 0.5, 1000)
    fit = sf.fit(sf.NegativeBinomial(), x)
    assert fit.alerts[0][0] == "boundary"
    assert "Poisson" in fit.alerts[0][1]
    assert fit.n_iter <= 3
    assert np.isfinite(fit.distribution.size)
    assert fit.distribution.mean == pytest.approx(x.mean(), rel=1e-9)
    assert fit.log_likelihood == pytest.approx(sf.fit(sf.Poisson(), x).log_likelihood, rel=1e-5)


@pytest.mark.parametrize("tied", [("size",), ("p",), ("size", "p")])
def test_negative_binomial_components_share_what_is_tied(tied):
    rng = np.random.default_rng(4)
    x, codes = rng.negative_binomial(3, 0.3, 300), rng.integers(0, 3, 300)
    current, last = sf.NegativeBinomial().tie(*tied).stack(3), -np.inf
    for _ in range(200):
        stats = current.suffstats(x, sf.OneHot(codes, 3))
        value = current.log_likelihood(stats).sum()
        assert value >= last - 1e-9
        current, last = current.estimate(stats), value
    for name in tied:
        assert len(set(np.ravel(getattr(current, name)))) == 1
    shift = 1e-4  # no shared move raises it any further
    for name in tied:
        for sign in (-1, 1):
            moved = sf.NegativeBinomial(**{**current.params, name: current.params[name] * (1 + sign * shift)})
            scores = moved.log_prob(x)[np.arange(300), codes].sum()
            assert scores < last + 1e-9


# ---- predictives -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("a", "b"), [(0.6, 3.0), (6.0, 1e3), (1e7, 3e7)])
@pytest.mark.parametrize("x", [1, 2, 17, 1e4, 1e9])
def test_beta_geometric_far_out(a, b, x):
    with mpmath.workdps(60):
        big_a, big_b, trials = mpmath.mpf(a), mpmath.mpf(b), mpmath.mpf(x)
        ratio = mpmath.beta(big_a + 1, big_b + trials - 1) / mpmath.beta(big_a, big_b)
        beyond = mpmath.beta(big_a, big_b + trials) / mpmath.beta(big_a, big_b)
        log_p, cdf = float(mpmath.log(ratio)), float(1 - beyond)
    assert sf.BetaGeometric(a, b).log_prob(x) == pytest.approx(log_p, rel=1e-12)
    assert sf.BetaGeometric(a, b).cdf(x) == pytest.approx(cdf, rel=1e-11)


def test_beta_geometric_moments_entropy_and_distance():
    p, q = sf.BetaGeometric(6.0, 3.0), sf.BetaGeometric(4.0, 2.0)
    x = np.arange(1.0, 2e5)
    chance, log_p = np.exp(p.log_prob(x)), p.log_prob(x)
    assert p.mean == pytest.approx((chance * x).sum(), rel=1e-10)
    assert p.var == pytest.approx((chance * (x - p.mean) ** 2).sum(), rel=1e-8)
    assert p.entropy() == pytest.approx(-(chance * log_p).sum(), rel=1e-10)
    assert p.kl(q) == pytest.approx((chance * (log_p - q.log_prob(x))).sum(), rel=1e-9)
    assert sf.BetaGeometric(1.0, 2.0).mean == np.inf
    assert sf.BetaGeometric(2.0, 2.0).var == np.inf
    assert p.quantile(p.cdf([1, 2, 30])).tolist() == [1, 2, 30]


def test_dirichlet_multinomial_agrees_with_scipy():
    alpha = np.array([0.7, 2.0, 5.0])
    ours, theirs = sf.DirichletMultinomial(7, alpha), st.dirichlet_multinomial(alpha, 7)
    x = ours.sample(200, random_state=0)
    np.testing.assert_allclose(ours.log_prob(x), theirs.logpmf(x), rtol=1e-10)
    np.testing.assert_allclose(ours.mean, theirs.mean(), rtol=1e-12)
    np.testing.assert_allclose(ours.var, np.diag(theirs.cov()), rtol=1e-12)
    draws = ours.sample(40_000, random_state=1)
    assert (draws.sum(axis=1) == 7).all()
    np.testing.assert_allclose(draws.var(axis=0), ours.var, rtol=0.05)


@pytest.mark.parametrize(
    ("predictive", "x"),
    [
        (sf.BetaBinomial(4, 1, 1), [1, 2]),
        (sf.BetaGeometric(1, 1), [1, 2]),
        (sf.DirichletMultinomial(alpha=[1, 1]), [[1, 2]]),
    ],
)
def test_predictives_are_not_fitted(predictive, x):
    with pytest.raises(sf.UnsupportedError, match=r"is not fitted itself: fit sf\.\w+\(.*predictive\(\)"):
        sf.fit(predictive, x)


@pytest.mark.parametrize(
    "dist", [sf.BetaBinomial(9, 2.0, 3.0), sf.BetaGeometric(8.0, 3.0), sf.NegativeBinomial(3.0, 0.4)], ids=repr
)
def test_draws_have_the_moments(dist):
    draws = dist.sample(60_000, random_state=0)
    assert draws.mean() == pytest.approx(dist.mean, abs=5 * dist.std / np.sqrt(60_000))
    assert draws.var() == pytest.approx(dist.var, rel=0.1)


# ---- Dirichlet and Multinomial ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("alpha", [[0.7, 2.0, 5.0], [0.05, 0.1, 0.03], [400.0, 900.0], list(range(1, 31))])
def test_dirichlet_ends_at_the_maximum(alpha):
    x = sf.Dirichlet(alpha).sample(500, random_state=1)
    a = sf.fit(sf.Dirichlet(), x).distribution.alpha
    slope = a * (np.log(x).mean(axis=0) - special.digamma(a) + special.digamma(a.sum()))
    assert np.abs(slope).max() < 1e-10


def test_dirichlet_agrees_with_scipy_and_with_beta():
    alpha = np.array([0.7, 2.0, 5.0])
    ours, theirs = sf.Dirichlet(alpha), st.dirichlet(alpha)
    x = ours.sample(50, random_state=0)
    np.testing.assert_allclose(ours.log_prob(x), [theirs.logpdf(row) for row in x], rtol=1e-10)
    assert ours.entropy() == pytest.approx(theirs.entropy(), rel=1e-12)
    np.testing.assert_allclose(ours.var, theirs.var(), rtol=1e-12)
    beta, pair = sf.Beta(3, 2), sf.Dirichlet([3, 2, 0])
    assert pair.entropy() == pytest.approx(beta.entropy(), rel=1e-12)
    np.testing.assert_allclose(np.array(pair.interval())[:, 0], beta.interval(), rtol=1e-12)
    np.testing.assert_allclose(pair.mode, [beta.mode, 1 - beta.mode, 0], rtol=1e-12)
    y = sf.Beta(2.0, 3.0).sample(200, random_state=0)
    as_beta, as_shares = sf.fit(sf.Beta(), y), sf.fit(sf.Dirichlet(), np.stack([y, 1 - y], axis=1))
    np.testing.assert_allclose(as_shares.distribution.alpha, [as_beta.params["a"], as_beta.params["b"]], rtol=1e-9)
    errors = [as_beta.standard_errors["a"], as_beta.standard_errors["b"]]
    np.testing.assert_allclose(as_shares.standard_errors["alpha"], errors, rtol=1e-6)


@pytest.mark.parametrize(
    ("alpha", "mode"),
    [
        ([2, 3, 1], [1 / 3, 2 / 3, 0]),
        ([1, 1], [0.5, 0.5]),
        ([0.5, 3], [0, 1]),
        ([0.2, 0.7], [0, 1]),
        ([4, 1, 0], [1, 0, 0]),
    ],
)
def test_dirichlet_mode(alpha, mode):
    np.testing.assert_allclose(sf.Dirichlet(alpha).mode, mode, rtol=1e-12)


def test_dirichlet_on_rows_all_alike_collapses_with_an_alert():
    fit = sf.fit(sf.Dirichlet(), [[0.2, 0.3, 0.5]] * 5)
    assert fit.alerts[0][0] == "collapsed"
    np.testing.assert_allclose(fit.distribution.mean, [0.2, 0.3, 0.5], rtol=1e-6)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: sf.Dirichlet([0.0, 0.0]), "numbers above 0"),
        (lambda: sf.Dirichlet([1.0, -1.0]), "numbers above 0"),
        (lambda: sf.fit(sf.Dirichlet([1.0, 1.0]), [[0.2, 0.3, 0.5]]), "2 entries where 3 are needed"),
        (lambda: sf.Dirichlet([1.0, 2.0]).kl(sf.Dirichlet([1.0, 2.0, 3.0])), "2 entries where 3 are needed"),
        (lambda: sf.Dirichlet([1.0, 2.0]).interval(1.5), "strictly between 0 and 1"),
        (lambda: sf.fit(sf.Dirichlet(), [[0.0, 1.0]]), "positive shares"),
        (lambda: sf.fit(sf.Multinomial(), [[1, -2]]), "whole numbers of at least 0"),
        (lambda: sf.fit(sf.Multinomial(levels=["a", "b"]), [[1, 2, 3]]), "counts 2 outcomes, but .* have 3"),
        (lambda: sf.Multinomial(probs=[0.5, 0.5], levels="abc"), "names 3 levels but has 2"),
        (lambda: sf.Multinomial(probs=[0.5, 0.5]).sample(3), "needs its number of trials to draw rows"),
        (lambda: sf.DirichletMultinomial(alpha=[1.0, 1.0]).sample(3), "needs its number of trials to draw rows"),
        (lambda: sf.Multinomial(2, [0.5, 0.5]).kl(sf.Poisson(1.0)), "kl compares"),
        (lambda: sf.posterior(sf.Multinomial(), [[1, 2]], prior=sf.Dirichlet([1, 1, 1])), "3 entries, .* 2 outcomes"),
        (sf.BetaBinomial, "needs its number of trials"),
    ],
)
def test_refusals(build, message):
    with pytest.raises(sf.SufficeError, match=message):
        build()


def test_multinomial_rows_may_have_different_totals():
    fit = sf.fit(sf.Multinomial(levels=["x", "y"]), [[1, 3], [2, 0]])
    np.testing.assert_allclose(fit.distribution.probs, [0.5, 0.5], rtol=1e-12)
    assert fit.distribution.trials is None
    assert "probs[y]" in str(fit)
    assert sf.fit(sf.Multinomial(), [[1, 3], [2, 2]]).distribution.trials == 4
    ours, theirs = sf.Multinomial(7, [0.2, 0.3, 0.5]), st.multinomial(7, [0.2, 0.3, 0.5])
    x = ours.sample(20, random_state=0)
    np.testing.assert_allclose(ours.log_prob(x), theirs.logpmf(x), rtol=1e-10)
    assert ours.entropy() == pytest.approx(theirs.entropy(), rel=1e-10)
    assert ours.kl(sf.Multinomial(6, [0.2, 0.3, 0.5])) == np.inf
    other = sf.Multinomial(7, [0.3, 0.3, 0.4])
    expected = 7 * special.rel_entr([0.2, 0.3, 0.5], [0.3, 0.3, 0.4]).sum()
    assert ours.kl(other) == pytest.approx(expected, rel=1e-12)


# ---- labels ----------------------------------------------------------------------------------------------------------
DAYS = np.array(["2020-01-02", "2021-03-04", "2020-01-02"], "datetime64[D]")


@pytest.mark.parametrize(
    ("data", "levels", "kind"),
    [
        (["b", "a", "b"], ("a", "b"), "U"),
        (np.array(["b", "a", "b"]), ("a", "b"), "U"),
        ([7, -3, 7], (-3, 7), "i"),
        (np.array([7, 3, 7], np.uint8), (3, 7), "i"),
        (np.array([10**12, -5, 10**12]), (-5, 10**12), "i"),
        (np.array([2**63 + 9, 2**63 + 5, 2**63 + 9], np.uint64), (2**63 + 5, 2**63 + 9), "u"),
        ([True, False, True], (False, True), "b"),
        ([2.5, 1.5, 2.5], (1.5, 2.5), "f"),
        (DAYS, (DAYS[0], DAYS[1]), "M"),
        (
            [dt.date(2020, 1, 2), dt.date(2019, 1, 2), dt.date(2020, 1, 2)],
            (dt.date(2019, 1, 2), dt.date(2020, 1, 2)),
            "O",
        ),
        (["x", 1, "x"], (1, "x"), "O"),
        ([("a", 1)], None, ""),
    ],
)
def test_labels_of_every_kind(data, levels, kind):
    if levels is None:  # one row of two columns
        assert sf.fit(sf.Categorical(), data).distribution.levels == (("a",), (1,))
        return
    learned = sf.fit(sf.Categorical(), data).distribution
    assert learned.levels == levels
    counts = [sum(bool(label == level) for label in data) for level in levels]
    np.testing.assert_allclose(learned.probs, np.array(counts) / len(data), rtol=1e-12)
    assert sum(learned.log_prob(data)) == pytest.approx(special.xlogy(counts, learned.probs).sum(), rel=1e-12)
    draws = learned.sample(50, random_state=0)
    assert draws.dtype.kind == kind
    assert set(draws.tolist()) == set(np.array(levels, dtype=draws.dtype).tolist())
    assert learned.mode == levels[int(np.argmax(counts))]


@pytest.mark.parametrize(
    "data",
    [
        ["a", None, "b", "a"],
        ["a", float("nan"), "b", "a"],
        np.array(["a", None, "b", "a"], dtype=object),
        np.array([1.0, np.nan, 2.0, 1.0]),
        np.array(["2020-01-01", "NaT", "2021-01-01", "2020-01-01"], "datetime64[s]"),
    ],
)
def test_missing_labels_are_left_out(data):
    fit = sf.fit(sf.Categorical(), data)
    np.testing.assert_allclose(fit.distribution.probs, [2 / 3, 1 / 3], rtol=1e-12)
    assert fit.missing == 1
    assert fit.distribution.log_prob(data)[1] == 0.0


def test_pandas_labels():
    pd = pytest.importorskip("pandas")
    for data in (pd.Series(["u", None, "v"], dtype="string"), pd.Series(["u", None, "v"], dtype="category")):
        fit = sf.fit(sf.Categorical(), data)
        assert fit.distribution.levels == ("u", "v")
        assert fit.missing == 1


def test_a_date_is_one_label_whoever_wrote_it():
    dist = sf.Categorical([dt.date(2020, 1, 2), dt.date(2021, 3, 4)], [0.25, 0.75])
    np.testing.assert_allclose(np.exp(dist.log_prob(DAYS)), [0.25, 0.75, 0.25], rtol=1e-12)
    np.testing.assert_allclose(np.exp(dist.log_prob(DAYS.astype("datetime64[ns]"))), [0.25, 0.75, 0.25], rtol=1e-12)


def test_declared_levels_stay_and_others_are_refused_with_their_row():
    fit = sf.fit(sf.Categorical(levels=["a", "b", "c"]), ["b", "a"])
    np.testing.assert_allclose(fit.distribution.probs, [0.5, 0.5, 0.0], rtol=1e-12)
    assert fit.n_parameters == 2
    assert "level 'c' got probability 0" in fit.alerts[0][1]
    with pytest.raises(sf.DataError, match=r"levels \('a', 'b'\), but row 2 has 'z'\. Declare it in levels=…"):
        sf.fit(sf.Categorical(levels=["a", "b"]), ["b", "a", "z"])
    with pytest.raises(sf.DataError, match="row 1, column 1 has 9"):
        sf.fit(sf.Categorical(levels=[["a"], [7, 8]]), [["a", 7], ["a", 9]], weights=[1, 2])
    ignored = sf.fit(sf.Categorical(levels=["a", "b"]), ["b", "z"], weights=[1, 0])
    np.testing.assert_allclose(ignored.distribution.probs, [0, 1], rtol=1e-12)


def test_an_unseen_label_is_left_out_of_the_score():
    with pytest.warns(sf.SufficeWarning, match="row 1 has 'z'"):
        scores = sf.Categorical(["a", "b"], [0.25, 0.75]).log_prob(["a", "z", None])
    assert scores.tolist() == [np.log(0.25), 0.0, 0.0]


def test_columns_of_different_widths_are_padded_and_padding_is_never_counted():
    data = [["a", 1], ["b", 2], ["a", 3], [None, 1]]
    fit = sf.fit(sf.Categorical(), data)
    dist = fit.distribution
    assert dist.levels == (("a", "b"), (1, 2, 3))
    np.testing.assert_allclose(dist.probs, [[2 / 3, 1 / 3, 0], [0.5, 0.25, 0.25]], rtol=1e-12)
    assert fit.n_parameters == 3
    assert not fit.alerts
    assert set(dist.sample(200, random_state=0)[:, 0]) == {"a", "b"}
    post = sf.posterior(sf.Categorical(), data, prior=sf.Dirichlet([1.0]))
    np.testing.assert_allclose(post.alpha, [[3, 2, 0], [3, 2, 2]], rtol=1e-12)
    np.testing.assert_allclose(post.predictive().probs, [[0.6, 0.4, 0], [3 / 7, 2 / 7, 2 / 7]], rtol=1e-12)
    low, high = post.interval()
    assert low[0, 2] == high[0, 2] == 0
    alone = [sf.posterior(sf.Categorical(), [row[j] for row in data], prior=sf.Dirichlet([1.0])) for j in (0, 1)]
    assert post.log_evidence == pytest.approx(sum(one.log_evidence for one in alone), rel=1e-12)
    weak = sf.fit(sf.Categorical(), data, prior="weak")
    expected = [[2.5 / 4, 1.5 / 4, 0], [7 / 15, 4 / 15, 4 / 15]]
    np.testing.assert_allclose(weak.distribution.probs, expected, rtol=1e-12)


RAGGED = sf.Categorical((("a", "b"), ("x", "y", "z")), [[0.4, 0.6, 0.0], [0.2, 0.3, 0.5]])
SAYS_NOTHING_OF_PADDING = {  # their own priors know nothing of padding
    "Bayes' rule",
    "posterior after posterior = posterior of all",
    "MAP is the mode",
    "beliefs describe their own draws",
}


@pytest.mark.parametrize("components", [1, 2])
def test_a_padded_block_keeps_the_laws(components):
    probs = [RAGGED.probs, [[0.7, 0.3, 0.0], [0.5, 0.4, 0.1]]][:components]
    subject = RAGGED if components == 1 else sf.Categorical(RAGGED.levels, probs)
    kept = set()
    for entry in testing.laws():
        if entry.name not in SAYS_NOTHING_OF_PADDING:
            with contextlib.suppress(testing.DoesNotApply):
                entry.function(subject, np.random.default_rng(0))
                kept.add(entry.name)
    assert {
        "any split merges to the whole",
        "k together = k alone",
        "missing = absent",
        "the estimate maximises",
        "statistics carry the likelihood",
        "predictive = ratio of evidences",
    } <= kept


def test_statistics_of_different_levels_merge_to_the_sorted_union():
    parts = [["b", "a"], ["c", "b", "A"], []]
    merged = sf.Categorical().suffstats(parts[0])
    for part in parts[1:]:
        merged = merged + sf.Categorical().suffstats(part)
    whole = sf.fit(sf.Categorical(), [label for part in parts for label in part])
    assert sf.Categorical().estimate(merged) == whole.distribution
    grown = sf.fit(sf.Categorical(), ["b", "a"]).distribution.estimate(merged)
    assert grown.levels == ("a", "b", "A", "c")
    np.testing.assert_allclose(grown.probs, [0.2, 0.4, 0.2, 0.2], rtol=1e-12)


def test_weights_and_components():
    x = np.array([3, 5, 5, 9])
    fit = sf.fit(sf.Categorical(), x, weights=[1, 2, 0, 1])
    np.testing.assert_allclose(fit.distribution.probs, [0.25, 0.5, 0.25], rtol=1e-12)
    stats = sf.Categorical().suffstats(x, sf.OneHot(np.array([0, 0, 1, 1]), 2))
    np.testing.assert_allclose(sf.Categorical().estimate(stats).probs[:, 0], [[0.5, 0.5, 0], [0, 0.5, 0.5]], rtol=1e-12)
    tied = sf.Categorical().tie("probs").estimate(stats)
    np.testing.assert_allclose(tied.probs[:, 0], [[0.25, 0.5, 0.25]] * 2, rtol=1e-12)
    assert tied.n_parameters == 2
    assert sf.Categorical((3, 5, 9), [0.2, 0.3, 0.5]).fix("probs").estimate(stats).probs[0, 0, 0] == 0.2


def test_distance_matches_levels_by_name():
    p, q = sf.Categorical(["a", "b"], [0.25, 0.75]), sf.Categorical(["b", "a"], [0.5, 0.5])
    assert p.kl(q) == pytest.approx(0.25 * np.log(0.5) + 0.75 * np.log(1.5), rel=1e-12)
    assert p.kl(sf.Categorical(["a", "c"])) == np.inf
    assert p.entropy() == pytest.approx(special.entr([0.25, 0.75]).sum(), rel=1e-12)


def test_whole_numbers_far_apart_or_appearing_late():
    x = np.concatenate([np.zeros(70_000, np.int64), [5, 5, 9]])
    assert sf.fit(sf.Categorical(), x).distribution.levels == (0, 5, 9)
    late = np.concatenate([np.full(300_000, 3), np.full(300_000, 7), [-2]])  # slices of different ranges
    learned = sf.fit(sf.Categorical(), late).distribution
    assert learned.levels == (-2, 3, 7)
    np.testing.assert_allclose(learned.probs, np.array([1, 300_000, 300_000]) / 600_001, rtol=1e-12)
    apart = np.concatenate([np.zeros(300_000, np.int64), np.full(300_000, 70_000)])  # each narrow, together wide
    assert sf.fit(sf.Categorical(), apart).distribution.levels == (0, 70_000)
    wide = np.concatenate([np.zeros(300_000, np.int64), [10**9]])
    learned = sf.fit(sf.Categorical(), wide).distribution
    assert learned.levels == (0, 10**9)
    assert learned.probs[1] == pytest.approx(1 / 300_001, rel=1e-12)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: sf.Categorical(["a", "a"]), "different labels"),
        (lambda: sf.Categorical(["a", None]), "none of them missing"),
        (lambda: sf.Categorical("ab"), "levels is a list of labels"),
        (lambda: sf.Categorical(["a", "b"], [0.2, 0.9]), "sum to 1"),
        (lambda: sf.Categorical(["a", "b"], [0.0, 0.0]), "sum to 1"),
        (lambda: sf.Categorical(["a", "b"], [0.2, 0.3, 0.5]), "3 probabilities for 2 levels"),
        (lambda: sf.Categorical([["a"], ["b"]], [[1.0], [1.0], [1.0]]), "levels of 2 columns, but probs has 3"),
        (lambda: sf.Categorical().sample(2), "before it has values for probs"),
        (lambda: sf.fit(sf.Categorical(), [None, None]), "every cell is missing"),
        (lambda: sf.fit(sf.Categorical(), [["a"], ["b", "c"]]), "different lengths"),
        (lambda: sf.fit(sf.Categorical(), np.array([{}, {}], dtype=object)), "row 0 holds dict"),
        (lambda: sf.fit(sf.Categorical(), np.empty((3, 0))), "at least one column"),
        (lambda: sf.Categorical(["a", "b"]).mean, "labels have no mean"),
        (lambda: sf.Categorical(["a", "b"]).var, "labels have no variance"),
        (lambda: sf.Categorical(["a", "b"]).cdf("a"), "labels have no order"),
        (lambda: sf.Categorical(["a", "b"]).quantile(0.5), "labels have no order"),
        (lambda: sf.Categorical(["a", "b"]).kl(sf.Poisson(1.0)), "kl compares"),
        (lambda: sf.posterior(sf.Categorical(), ["a", "b"], prior=sf.Dirichlet([1, 1, 1])), "2 levels, .* 3 entries"),
        (lambda: sf.Categorical([["a"], ["b"]]).read(sf.Categorical().read(["a"])), "describes 2 columns"),
    ],
)
def test_refusals_of_labels(build, message):
    with pytest.raises(sf.SufficeError, match=message):
        build()


def test_a_posterior_over_other_levels_is_no_prior():
    first = sf.posterior(sf.Categorical(), ["a", "b"], prior=sf.Dirichlet([1, 1]))
    with pytest.raises(sf.DataError, match=r"speaks of the levels \('a', 'b'\), the data of \('a', 'c'\)"):
        sf.posterior(sf.Categorical(), ["a", "c"], prior=first)
    again = sf.posterior(sf.Categorical(), ["b", "a", "a"], prior=first)
    np.testing.assert_allclose(again.alpha, [4, 3], rtol=1e-12)


@pytest.mark.parametrize(
    ("dist", "entropy"),
    [
        *[(sf.Poisson(rate), np.log(2 * np.pi * np.e * rate) / 2 - 1 / (12 * rate)) for rate in (1e6, 1e8, 1e9, 1e12)],
        (sf.Binomial(1e9, 0.5), np.log(np.pi * np.e * 5e8) / 2),
        *[(sf.Multinomial(trials=n, probs=[0.5, 0.5]), np.log(np.pi * np.e * n / 2) / 2) for n in (10**13, 10**15)],
        (sf.Multinomial(trials=10**15, probs=[1.0, 0.0]), 0.0),
        (sf.NegativeBinomial(1e9, 0.001), np.log(2 * np.pi * np.e * 1e9 * 0.999e6) / 2 - 3.327e-10),
        (sf.NegativeBinomial(1.0, 1e-9), 1 - np.log(1e-9) - 5e-10),
        (sf.Geometric(1e-9), 1 - np.log(1e-9) - 5e-10),
        (sf.Poisson(0.0), 0.0),
    ],
    ids=repr,
)
def test_entropies_of_large_counts(dist, entropy):
    np.testing.assert_allclose(dist.entropy(), entropy, rtol=1e-9 if isinstance(dist, sf.Binomial) else 1e-12, atol=0)


def test_a_wide_support_is_summed_by_panels():
    dist = sf.NegativeBinomial(0.01, 1e-7)
    begin = time.perf_counter()
    entropy = dist.entropy()
    assert time.perf_counter() - begin < 3.0
    x = np.concatenate([np.arange(1 << 20), np.arange(1 << 20, 1 << 29, 64) + 31.5]) // 1
    log_prob = dist.log_prob(x)
    scores = np.exp(log_prob) * np.where(x < 1 << 20, 1.0, 64.0)
    np.testing.assert_allclose(scores.sum(), 1.0, rtol=1e-8)
    np.testing.assert_allclose(entropy, -(scores * log_prob).sum(), rtol=1e-7)


def test_divergences_of_large_counts_across_families():
    rate = 1e9
    both = sf.Poisson(rate).kl(sf.NegativeBinomial(rate, 0.5))  # variances rate and 2·rate about the same mean
    np.testing.assert_allclose(both, np.log(2) / 2 - 0.25, rtol=1e-8)


def test_probabilities_that_do_not_sum_to_1_are_reported():
    with pytest.raises(sf.UnsupportedError, match="add up to"):
        sf.BetaGeometric(0.1, 3.0).kl(sf.Geometric(0.5))


def test_multinomial_rows_without_trials_say_nothing_and_are_reported():
    fit = sf.fit(sf.Multinomial(), [[0, 0, 0], [0, 0, 0]])
    assert [code for code, _ in fit.alerts] == ["unidentified"]
    np.testing.assert_allclose(fit.distribution.probs, 1 / 3)


def test_labels_show_what_an_exponential_family_shows():
    model = sf.Categorical(["a", "b", "c"], [0.5, 0.3, 0.2])
    x = ["b", "a", None, "c", "b"]
    u = model.statistic(x)
    np.testing.assert_array_equal(u, [[0, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 1], [0, 1, 0]])
    scores = u @ model.natural() - model.log_partition() + model.log_base(x)
    np.testing.assert_allclose(scores, model.log_prob(x), rtol=1e-15)
    np.testing.assert_allclose(model.mean_statistic(), [0.5, 0.3, 0.2], rtol=1e-15)
    block = sf.fit(sf.Categorical(), [["a", 1], ["b", 2], ["a", 2]]).distribution
    wide = block.statistic([["b", 2]])
    assert wide.shape == (1, 2, 2)
    np.testing.assert_allclose((wide * block.natural()).sum(), block.log_prob([["b", 2]])[0], rtol=1e-15)


@pytest.mark.parametrize(
    "huge", [sf.Poisson(3e19), sf.NegativeBinomial(1e20, 0.4), sf.NegativeBinomial(3.0, 1e-20), sf.Binomial(2**66, 0.3)]
)
def test_counts_that_no_whole_number_of_64_bits_holds_are_drawn(huge):
    rows = huge.sample(4000, random_state=0)
    spread = float(np.sqrt(huge.var))
    assert abs(rows.mean() - huge.mean) < 5 * spread / np.sqrt(4000)
    assert rows.std() == pytest.approx(spread, rel=0.1)
    assert (rows == np.rint(rows)).all()


def test_small_and_huge_rates_are_drawn_side_by_side():
    rows = sf.Poisson([2.0, 3e19]).sample(4000, random_state=0)
    np.testing.assert_allclose(rows.mean(axis=0), [2.0, 3e19], rtol=0.05)
