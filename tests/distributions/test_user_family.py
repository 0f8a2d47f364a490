"""A user's own exponential family: from three functions to everything, and clear words where they do not fit."""

import time
from dataclasses import replace

import numpy as np
import pytest
from scipy import special, stats

import suffice as sf

RNG = np.random.default_rng(11)


def rayleigh():
    return sf.ExponentialFamily(
        lambda x: x**2, lambda x: x, lambda eta: -np.log(-2 * eta), support=(0, np.inf), start=-0.5
    )


def maxwell():
    return sf.ExponentialFamily(
        lambda x: x**2,
        lambda x: np.sqrt(2 / np.pi) * x**2,
        lambda eta: -1.5 * np.log(-2 * eta),
        support=(0, np.inf),
        start=-0.5,
    )


def positive_poisson():
    return sf.ExponentialFamily(
        lambda x: x,
        lambda x: special.rgamma(x + 1),
        lambda eta: np.log(np.expm1(np.exp(eta))),
        support=(1, np.inf, int),
        start=0.0,
    )


def logarithmic():
    return sf.ExponentialFamily(
        lambda x: x, lambda x: 1 / x, lambda eta: np.log(-np.log1p(-np.exp(eta))), support=(1, np.inf, int), start=-1.0
    )


def bell():
    return sf.ExponentialFamily(
        lambda x: [x, x**2],
        lambda x: np.full(np.shape(x), 1 / np.sqrt(2 * np.pi)),
        lambda eta: -(eta[0] ** 2) / (4 * eta[1]) - 0.5 * np.log(-2 * eta[1]),
        support=(-np.inf, np.inf),
        start=[0.0, -0.5],
    )


def gamma():
    return sf.ExponentialFamily(
        lambda x: [np.log(x), x],
        lambda x: 1 / x,
        lambda eta: special.gammaln(eta[0]) - eta[0] * np.log(-eta[1]),
        support=(0, np.inf),
        start=[1.0, -1.0],
    )


def die():
    return sf.ExponentialFamily(
        lambda x: x,
        np.ones_like,
        lambda eta: special.logsumexp(np.multiply.outer(eta, np.arange(1.0, 7.0)), axis=-1),
        support=range(1, 7),
        start=0.0,
    )


PEERS = {
    "rayleigh": (rayleigh, lambda eta: stats.rayleigh(scale=np.sqrt(-0.5 / eta)), -0.06),
    "maxwell": (maxwell, lambda eta: stats.maxwell(scale=np.sqrt(-0.5 / eta)), -3.0),
    "logarithmic": (logarithmic, lambda eta: stats.logser(np.exp(eta)), -0.4),
    "bell": (bell, lambda eta: stats.norm(-0.5 * eta[0] / eta[1], np.sqrt(-0.5 / eta[1])), [3.0, -0.2]),
    "gamma": (gamma, lambda eta: stats.gamma(eta[0], scale=-1 / eta[1]), [0.7, -0.01]),
}


@pytest.mark.parametrize("name", PEERS)
def test_answers_are_scipys(name):
    make, peer, eta = PEERS[name]
    mine, theirs = replace(make(), eta=np.array(eta)), peer(np.array(eta))
    levels = np.array([1e-6, 0.01, 0.3, 0.5, 0.9, 0.999])
    x = theirs.ppf(levels)
    density = theirs.logpmf if mine.discrete else theirs.logpdf
    np.testing.assert_allclose(mine.log_prob(x), density(x), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(mine.cdf(x), theirs.cdf(x), rtol=1e-10)
    np.testing.assert_allclose(mine.quantile(levels), x, rtol=1e-10)
    assert mine.mean == pytest.approx(theirs.mean(), rel=1e-10)
    assert mine.var == pytest.approx(theirs.var(), rel=1e-9)
    if not mine.discrete:
        assert mine.entropy() == pytest.approx(theirs.entropy(), rel=1e-10)


@pytest.mark.parametrize("name", PEERS)
def test_derivatives_of_a_are_moments_of_u(name):
    make, peer, eta = PEERS[name]
    mine, theirs = replace(make(), eta=np.array(eta)), peer(np.array(eta))
    powers = {"rayleigh": (2,), "maxwell": (2,), "logarithmic": (1,), "bell": (1, 2)}.get(name)
    if powers is None:
        shape, rate = eta[0], -eta[1]
        first = [special.digamma(shape) - np.log(rate), shape / rate]
        second = [[special.polygamma(1, shape), 1 / rate], [1 / rate, shape / rate**2]]
    else:
        first = [theirs.moment(p) for p in powers]
        second = [[theirs.moment(p + q) - theirs.moment(p) * theirs.moment(q) for q in powers] for p in powers]
    np.testing.assert_allclose(np.ravel(mine.mean_statistic()), first, rtol=1e-10)
    np.testing.assert_allclose(np.reshape(mine.covariance_statistic(), np.shape(second)), second, rtol=1e-8)


def test_derivatives_near_an_end_far_from_zero():
    """A is smooth on the length to its end, 1/5, not on that of η, nor on 4, where its differences exist as well."""
    waits = sf.ExponentialFamily(
        lambda x: x, lambda x: np.exp(-100 * x), lambda eta: -np.log(100 - eta), support=(0, np.inf), start=90.0
    )
    found = sf.fit(waits, [4.0, 6.0]).distribution
    assert 100 - found.eta == pytest.approx(1 / 5, rel=1e-10)
    assert found.covariance_statistic() == pytest.approx(25.0, rel=1e-9)


@pytest.mark.parametrize("make", [rayleigh, maxwell, positive_poisson, logarithmic, bell, gamma, die])
def test_the_fit_reproduces_the_mean_statistic(make):
    family = make()
    x = 1.0 + RNG.poisson(1.5, 300) if family.discrete else RNG.gamma(3.0, 2.0, 300)
    fit = sf.fit(family, np.minimum(x, 6.0) if make is die else x, weights=RNG.random(300))
    observed, expected = fit.statistics.mean[0, 0], fit.distribution.mean_statistic()
    np.testing.assert_allclose(expected, observed, rtol=1e-10)
    assert fit.alerts == ()
    assert fit.log_likelihood == pytest.approx(float(fit.distribution.log_likelihood(fit.statistics)), rel=1e-12)


def test_the_bell_and_the_gamma_are_the_librarys_own():
    x = RNG.gamma(3.0, 2.0, (200, 2))
    mine, theirs = sf.fit(bell(), x), sf.fit(sf.Normal(), x)
    assert mine.log_likelihood == pytest.approx(theirs.log_likelihood, rel=1e-12)
    np.testing.assert_allclose(np.sqrt(-0.5 / mine.distribution.eta[:, 1]), theirs.distribution.std, rtol=1e-10)
    assert (mine.n_parameters, mine.distribution.columns) == (4, 2)
    mine, theirs = sf.fit(gamma(), x[:, 0]), sf.fit(sf.Gamma(), x[:, 0])
    assert mine.distribution.eta == pytest.approx([theirs.params["shape"], -theirs.params["rate"]], rel=1e-9)
    assert mine.standard_errors["eta"] == pytest.approx(list(theirs.standard_errors.values()), rel=1e-6)


def test_stacks_weights_and_holes():
    x, w = RNG.rayleigh(2.0, (80, 2)), RNG.random((80, 3))
    x[3, 0] = x[5, 1] = np.nan
    family = rayleigh()
    together = family.estimate(family.suffstats(x, w))
    for j in range(3):
        for column in range(2):
            seen = ~np.isnan(x[:, column])
            want = -np.sum(w[seen, j]) / np.sum(w[seen, j] * x[seen, column] ** 2)
            assert together.eta[j, column] == pytest.approx(want, rel=1e-10)
    tied = family.tie("eta").estimate(family.suffstats(x, w))
    seen = ~np.isnan(x[:, 0])
    want = -w[seen].sum() / (w[seen].sum(axis=1) @ x[seen, 0] ** 2)
    assert tied.eta[:, 0] == pytest.approx([want] * 3, rel=1e-10)


def test_standard_errors_are_closed_form_for_rayleigh():
    fit = sf.fit(rayleigh(), RNG.rayleigh(2.0, 400))
    assert fit.standard_errors["eta"] == pytest.approx(abs(fit.distribution.eta) / 20, rel=1e-8)


def test_a_thousand_rows_are_drawn_at_once():
    family, began = replace(rayleigh(), eta=-0.125), time.perf_counter()
    drawn = family.sample(1000, random_state=3)
    assert time.perf_counter() - began < 1.0
    assert stats.kstest(drawn, stats.rayleigh(scale=2).cdf).pvalue > 0.001
    np.testing.assert_array_equal(drawn, family.sample(1000, random_state=3))
    loaded = replace(die(), eta=0.4).sample(20_000, random_state=3)
    want = np.exp(0.4 * np.arange(1, 7)) / np.exp(0.4 * np.arange(1, 7)).sum()
    np.testing.assert_allclose(np.bincount(loaded.astype(int), minlength=7)[1:] / 20_000, want, atol=0.012)


def test_the_support_is_what_was_declared():
    assert rayleigh().log_prob([-1.0, 0.0]).tolist() == [-np.inf, -np.inf]  # h(0) = 0
    assert die().log_prob([0.0, 7.0, 2.5]).tolist() == [-np.inf] * 3
    assert die().log_prob([1.0, 6.0]) == pytest.approx(np.log([1 / 6, 1 / 6]))
    with pytest.raises(sf.DataError, match="row 1 has 0"):
        sf.fit(positive_poisson(), [1, 0, 2])
    whole = sf.ExponentialFamily(
        lambda x: -(x**2),
        np.ones_like,
        np.vectorize(lambda eta: np.log(np.exp(-eta * np.arange(-60.0, 61.0) ** 2).sum())),
        support="integers",
        start=0.5,
    )
    assert whole.mean == pytest.approx(0.0, abs=1e-14)
    assert whole.cdf(-1.0) == pytest.approx((1 - np.exp(whole.log_prob(0.0))) / 2, rel=1e-12)


def test_a_mean_that_no_eta_reproduces_is_reported():
    fit = sf.fit(positive_poisson(), [1, 1, 1])
    assert [code for code, _ in fit.alerts] == ["boundary"]
    assert fit.log_likelihood == pytest.approx(0.0, abs=1e-6)


def test_a_partition_that_is_right_only_at_the_start_is_reported():
    wrong = sf.ExponentialFamily(
        lambda x: x**2, lambda x: x, lambda eta: -2 * np.log(-2 * eta), support=(0, np.inf), start=-0.5
    )
    codes = [code for code, _ in sf.fit(wrong, RNG.rayleigh(3.0, 50)).alerts]
    assert codes == ["not normalised"]


def square(x):
    return x**2


def same(x):
    return x


def partition(eta):
    return -np.log(-2 * eta)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"A": lambda eta: -np.log(-eta)}, "adds up to 0.5 over the support"),
        ({"u": lambda x: float(x) ** 2}, "u must take an array .* raised TypeError"),
        ({"u": lambda _: 3.0}, r"u of an array of shape \(3,\) has shape \(\)"),
        ({"u": 3}, "u is a function of arrays"),
        ({"start": None}, "needs start="),
        ({"start": 0.5}, "A is nan at start=0.5"),
        ({"start": [-0.5]}, r"\(3, 1\) is needed for start=\[-0.5\]"),
        ({"support": 3}, "support is .* got 3"),
        ({"support": (2, 1)}, "low < high"),
        ({"support": range(0, 10, 2)}, "step 1"),
    ],
)
def test_functions_that_do_not_fit_are_refused(change, message):
    with pytest.raises(sf.ParameterError, match=message):
        sf.ExponentialFamily(
            **({"u": square, "h": same, "A": partition, "support": (0, np.inf), "start": -0.5} | change)
        )


def test_equal_functions_make_equal_families():
    one = sf.ExponentialFamily(square, same, partition, support=(0, np.inf), start=-0.5)
    two = sf.ExponentialFamily(square, same, partition, support=(0, np.inf), start=-0.5)
    assert one == two
    assert hash(one) == hash(two)
    assert repr(one) == "ExponentialFamily(square, same, partition, support=(0, inf), eta=-0.5)"


def test_the_option_start_does_not_hide_the_verb_start():
    """Components of a mixture, and stacks, begin by it."""
    waits = sf.ExponentialFamily(
        lambda x: x, lambda _: 1.0 + 0 * _, lambda eta: -np.log(-eta), support=(0, np.inf), start=-1.0
    )
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.exponential(1.0, 600), rng.exponential(30.0, 600)])
    ours, known = (sf.fit(sf.Mixture(one, 2), x, random_state=0) for one in (waits, sf.Exponential()))
    assert ours.log_likelihood == pytest.approx(known.log_likelihood, abs=1e-5)
    assert sorted(-one.eta for one in ours.distribution.parts) == pytest.approx(
        sorted(one.rate for one in known.distribution.parts), rel=1e-4
    )
    assert waits.start(x).eta == pytest.approx(-1 / x.mean(), rel=1e-9)
    assert waits.start(x).start(x / 2).eta == pytest.approx(-2 / x.mean(), rel=1e-9)  # also of what was made of it
    normal = sf.ExponentialFamily(
        lambda x: [x, x**2],
        lambda x: np.full(np.shape(x), 1 / np.sqrt(2 * np.pi)),
        lambda eta: -(eta[0] ** 2) / (4 * eta[1]) - np.log(-2 * eta[1]) / 2,
        start=[0.0, -0.5],
    )
    groups = x[:300] % 1, 20 + x[300:600] % 1
    two = sf.fit(sf.Mixture(normal, 2), np.concatenate(groups), random_state=0)
    assert sorted(-one.eta[0] / (2 * one.eta[1]) for one in two.distribution.parts) == pytest.approx(
        [group.mean() for group in groups], abs=1e-6
    )
