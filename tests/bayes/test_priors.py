"""What priors and beliefs do at their edges: order, improper densities, one-number distributions, plain answers."""

import mpmath
import numpy as np
import pytest
from scipy import special, stats

import suffice as sf
from suffice.em import loop
from suffice.em.training import TrainingData

X = [1.0, 2.0, 4.0]

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


# ---- the arguments of a prior density -----------------------------------------------------------------------------
def test_a_prior_with_the_parameters_names_is_called_by_name():
    def swapped(std, mean):
        return stats.norm.pdf(mean, 0, 10) * stats.gamma.pdf(std, 2)

    def straight(mean, std):
        return swapped(std, mean)

    left, right = (sf.posterior(sf.Normal(), X, prior=prior) for prior in (swapped, straight))
    assert left.mean == right.mean
    assert left.log_evidence == right.log_evidence
    assert sf.fit(sf.Normal(), X, prior=swapped).params == sf.fit(sf.Normal(), X, prior=straight).params


def test_a_prior_with_a_parameter_name_in_the_wrong_place_is_refused():
    with pytest.raises(sf.ParameterError, match=r"takes \(sigma, mean\).*by position as \(mean, std\)"):
        sf.posterior(sf.Normal(), X, prior=lambda sigma, mean: sigma * mean)


# ---- improper densities ---------------------------------------------------------------------------------------------
def test_the_mode_under_a_flat_prior_is_maximum_likelihood():
    fit = sf.fit(sf.Poisson(), [1, 2, 4], prior=lambda rate: 1.0)  # noqa: ARG005
    np.testing.assert_allclose(fit.distribution.rate, 7 / 3, rtol=1e-9)
    np.testing.assert_allclose(fit.log_posterior, fit.log_likelihood, rtol=1e-15)
    assert "mode of likelihood × prior" in dict(fit.alerts)["improper"]


@pytest.mark.parametrize("power", [1, 5])  # the second overflows at the smallest std
def test_the_mode_under_a_power_of_the_std(power):
    fit = sf.fit(sf.Normal(), X, prior=lambda mean, std: std**-power)  # noqa: ARG005
    np.testing.assert_allclose(fit.distribution.mean, np.mean(X), rtol=1e-8)
    np.testing.assert_allclose(fit.distribution.std, np.sqrt(3 * np.var(X) / (3 + power)), rtol=1e-8)
    np.testing.assert_allclose(fit.log_posterior, fit.log_likelihood - power * np.log(fit.distribution.std), rtol=1e-9)


def test_a_prior_with_a_pole_inside_is_not_called_improper():
    with pytest.raises(sf.ParameterError, match=r"prior is inf at p = .*np\.where"):
        sf.posterior(sf.Bernoulli(), [1, 0], prior=lambda p: np.where(np.abs(p - 0.3) < 0.01, np.inf, 1.0))


def test_without_a_maximum_there_is_no_mode():
    with pytest.raises(sf.ParameterError, match="has no maximum: it rises without end as std goes to 0"):
        sf.fit(sf.Normal(), [1.0], prior=lambda mean, std: 1 / std)  # noqa: ARG005


def test_a_log_density_is_recognised():
    with pytest.raises(sf.ParameterError, match=r"logarithm of a density, return np\.exp"):
        sf.posterior(sf.Normal(std=1.0).fix("std"), X, prior=lambda mean: -0.5 * mean**2)


# ---- any distribution of a number -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("likelihood", "data", "prior", "density"),
    [
        (sf.Poisson(), [1, 2, 4], sf.LogNormal(1.0, 1.0), stats.lognorm(1.0, scale=np.e).pdf),
        (sf.Poisson(), [1, 2, 4], sf.Uniform(0.5, 10.0), stats.uniform(0.5, 9.5).pdf),
        (sf.Poisson(), [1, 2, 4], sf.Normal(1.0, 2.0), stats.truncnorm(-0.5, np.inf, 1.0, 2.0).pdf),
        (sf.Normal(std=1.0).fix("std"), X, sf.StudentT(3.0, 0.0, 2.0), stats.t(3, scale=2).pdf),
        (sf.Weibull(shape=2.0).fix("shape"), X, sf.Gamma(2.0, 1.0), stats.gamma(2).pdf),
    ],
    ids=["LogNormal", "Uniform", "half Normal", "StudentT", "Weibull"],
)
def test_any_distribution_of_a_number_is_a_prior_of_one_parameter(likelihood, data, prior, density):
    mine, theirs = (sf.posterior(likelihood, data, prior=one) for one in (prior, density))
    np.testing.assert_allclose(mine.log_evidence, theirs.log_evidence, rtol=1e-8)
    np.testing.assert_allclose(mine.mean, theirs.mean, rtol=1e-8)
    fits = [sf.fit(likelihood, data, prior=one) for one in (prior, density)]
    np.testing.assert_allclose(fits[0].log_posterior, fits[1].log_posterior, rtol=1e-8)
    np.testing.assert_allclose(fits[0].params[mine.names[0]], mine.mode, rtol=1e-6)


def test_what_a_prior_says_beyond_the_domain_is_cut_off_with_an_alert():
    fit = sf.fit(sf.Bernoulli(), [0, 1], prior=sf.Normal(0.5, 0.5))
    assert "has 0.682689 of its probability where p may lie" in dict(fit.alerts)["normalised"]
    with pytest.raises(sf.UnsupportedError, match="Bernoulli cannot use Gamma"):
        sf.fit(sf.Bernoulli(), [0, 1], prior=sf.Gamma(1.0, 1.0))


def test_of_two_parameters_or_over_counts_it_is_refused():
    with pytest.raises(sf.UnsupportedError, match="cannot use Beta"):
        sf.posterior(sf.Normal(), X, prior=sf.Beta(1.0, 1.0))
    with pytest.raises(sf.UnsupportedError, match="cannot use Poisson"):
        sf.posterior(sf.Poisson(), [1, 2], prior=sf.Poisson(2.0))


def test_a_refusal_names_the_priors_that_would_do():
    with pytest.raises(
        sf.UnsupportedError, match="takes NormalInverseGamma or NormalPrior, a mixture of these, or any density"
    ):
        sf.posterior(sf.Normal(), X, prior=sf.Beta(1.0, 1.0))


# ---- on the boundary ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("likelihood", "data", "prior", "advice"),
    [
        (sf.Bernoulli(), [0, 0], sf.Beta(0.5, 0.5), "a Beta whose a and b exceed 1"),
        (sf.Bernoulli(), [1, 1], sf.Beta(0.5, 0.5), "a Beta whose a and b exceed 1"),
        (sf.Poisson(), [0, 0], sf.Gamma(0.5, 1.0), "a Gamma whose shape exceeds 1"),
        (sf.Categorical(["a", "b"]), ["a"], sf.Dirichlet([0.5, 0.5]), "a Dirichlet whose every alpha exceeds 1"),
    ],
)
def test_a_pole_of_the_prior_is_an_infinite_log_posterior_with_the_right_advice(likelihood, data, prior, advice):
    fit = sf.fit(likelihood, data, prior=prior)
    assert np.isposinf(fit.log_posterior)
    text = dict(fit.alerts)["boundary"]
    assert advice in text
    assert "A prior" not in text
    assert "A prior" in dict(sf.fit(likelihood, data).alerts)["boundary"]


def test_a_flat_prior_is_finite_on_the_boundary():
    assert sf.fit(sf.Bernoulli(), [0, 0], prior=sf.Beta(1.0, 1.0)).log_posterior == 0.0
    assert sf.fit(sf.Bernoulli(), [0, 0], prior=sf.Beta(1.0, 2.0)).log_posterior == np.log(2.0)


@pytest.mark.parametrize("box", [(0, 10, 0, 10), (2, 4, 0.5, 2), (-100, 100, 0.01, 100)])
def test_a_box_leaks_no_warning_and_holds_its_answers(box):
    def prior(mean, std):
        return ((mean > box[0]) & (mean < box[1]) & (std > box[2]) & (std < box[3])).astype(float)

    x = np.random.default_rng(0).normal(3, 1, 30)
    post = sf.posterior(sf.Normal(), x, prior=prior)
    for name, (low, high) in post.interval().items():
        bounds = dict(zip(("mean", "std"), (box[:2], box[2:]), strict=True))[name]
        assert bounds[0] <= low < post.mean[name] < high <= bounds[1]
    np.testing.assert_allclose(sf.fit(sf.Normal(), x, prior=prior).params["mean"], x.mean(), rtol=1e-7)


# ---- names, floats, one line ----------------------------------------------------------------------------------------
def test_weak_is_shown_as_what_it_stands_for():
    fit = sf.fit(sf.Bernoulli(), [0, 1], prior="weak")
    assert (fit.prior_name, repr(fit.prior)) == ("weak", "Beta(a=1.5, b=1.5)")
    normal = sf.fit(sf.Normal(), X, prior="weak")
    assert isinstance(normal.prior.scale, float)
    again = sf.fit(sf.Normal(), X, prior=normal.prior)
    assert (again.params, again.log_posterior, again.prior_name) == (normal.params, normal.log_posterior, "")


PAIRS = [
    (sf.Bernoulli(), [1, 0, 1], sf.Beta(1.0, 1.0)),
    (sf.Poisson(), [1, 2], sf.Gamma(2.0, 1.0)),
    (sf.Exponential(), [1.0, 2.0], sf.Gamma(2.0, 1.0)),
    (sf.Geometric(), [1, 2], sf.Beta(1.0, 1.0)),
    (sf.Normal(), X, sf.NormalInverseGamma(0.0, 1.0, 2.0, 3.0)),
    (sf.Normal(std=1.0).fix("std"), X, sf.NormalPrior(0.0, 1.0)),
    (sf.Poisson(), [1, 2], sf.LogNormal(0.0, 1.0)),
    (sf.Normal(), X, lambda mean, std: np.exp(-0.5 * mean**2 - std)),
]


@pytest.mark.parametrize(("likelihood", "data", "prior"), PAIRS)
def test_answers_about_one_column_are_plain_floats(likelihood, data, prior):
    post = sf.posterior(likelihood, data, prior=prior)

    def kinds(answer):
        if isinstance(answer, dict):
            return set().union(*map(kinds, answer.values()))
        return set().union(*map(kinds, answer)) if isinstance(answer, tuple) else {type(answer)}

    for answer in (post.mean, post.mode, post.std, post.interval(), post.log_evidence):
        assert kinds(answer) == {float}
    assert "\n" not in repr(post)


def test_a_posterior_is_shown_on_one_line():
    post = sf.posterior(sf.Bernoulli(), [1, 0, 1], prior=sf.Beta(1.0, 1.0))
    assert repr(post) == "Posterior(Beta(a=3, b=2) about p of Bernoulli, mean 0.6, log_evidence -2.48491)"
    post = sf.posterior(sf.Normal(), X, prior=sf.NormalInverseGamma(0.0, 1.0, 2.0, 3.0))
    assert "about mean and std of Normal, expected mean 1.75 and std 1.63431, log_evidence -7.0451)" in repr(post)


def test_the_weak_prior_of_rows_without_spread_carries_an_alert():
    assert "collapsed" in dict(sf.posterior(sf.Normal(), [3.0], prior="weak").alerts)
    assert "collapsed" in dict(sf.posterior(sf.Normal(), [3.0, 3.0], prior="weak").alerts)
    assert not sf.posterior(sf.Normal(), X, prior="weak").alerts
    assert not sf.posterior(sf.Normal(), [3.0], prior=sf.NormalInverseGamma(0.0, 1.0, 1.0, 1.0)).alerts


def test_intervals_of_variances_end_at_0_and_those_of_covariances_do_not():
    x = np.random.default_rng(1).normal(size=(3, 2))
    low, high = sf.fit(sf.MultivariateNormal(), x).interval(0.999)["cov"]
    assert (np.diag(low) == 0).all()
    assert low[0, 1] < 0
    assert (np.diag(high) > 0).all()


# ---- where learning ends --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("power", [0.3, 0.9, 3.0])
def test_few_passes_where_components_share_p(power):
    rng = np.random.default_rng(2)
    x = rng.negative_binomial(power * 4, 0.4, (300, 1)).astype(float)
    weights = rng.random((300, 2))
    prototype = sf.NegativeBinomial().tie("p")
    path = loop.run_em(prototype.start(x, weights, rng), TrainingData(x, weights), max_iter=50)
    assert path.converged
    assert len(path.trace.change) < 20
    assert np.diff(path.trace.log_likelihood).min() > -1e-9
    size, p = np.asarray(path.distribution.size)[:, 0], np.asarray(path.distribution.p)[:, 0]
    assert p[0] == p[1]
    slope = [
        (weights[:, j] * (special.digamma(x[:, 0] + size[j]) - special.digamma(size[j]) + np.log(p[j]))).sum()
        for j in range(2)
    ]
    share = (weights.sum(axis=0) * size / p - (weights * x).sum(axis=0) / (1 - p)).sum()
    np.testing.assert_allclose([*slope, share], 0.0, atol=1e-7)


def test_candidates_of_a_negative_binomial_are_scored_together():
    rng = np.random.default_rng(0)
    x = rng.negative_binomial(3, 0.3, 200).astype(float)
    size = np.array([0.3, 4.0, 60.0])
    found = sf.theory.likelihood(sf.NegativeBinomial(p=0.3), x, size=size)
    np.testing.assert_allclose(found, [stats.nbinom(r, 0.3).logpmf(x).sum() for r in size], rtol=1e-12)


@pytest.mark.parametrize("outlier", [[1e-300], [1e300], [1e-300, 1e300], [1e307] * 200])
def test_far_outliers_overflow_nothing_in_a_weibull(outlier):
    x = np.concatenate([np.random.default_rng(3).weibull(2.0, 50), outlier])
    fit = sf.fit(sf.Weibull(), x)
    assert np.isfinite(fit.log_likelihood)
    shape, scale = fit.distribution.shape, fit.distribution.scale
    np.testing.assert_allclose(np.mean(np.exp(shape * (np.log(x) - np.log(scale)))), 1.0, rtol=1e-8)


@pytest.mark.parametrize("df", [0.5, 3.0, 1e6])
@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e-80, 1.0, 1e100])
def test_tails_of_student_t_at_any_scale(df, scale):
    x = np.array([0.0, 1e-3, 1.0, 1e60, 1e75, 1e150, 1e300])
    with mpmath.workdps(60):
        nu, s = mpmath.mpf(df), mpmath.mpf(scale)
        constant = mpmath.loggamma((nu + 1) / 2) - mpmath.loggamma(nu / 2) - mpmath.log(nu * mpmath.pi) / 2
        exact = [constant - mpmath.log(s) - (nu + 1) / 2 * mpmath.log1p((mpmath.mpf(v) / s) ** 2 / nu) for v in x]
        exact = [float(value) for value in exact]
    np.testing.assert_allclose(sf.StudentT(df, 0.0, scale).log_prob(x), exact, rtol=1e-13)


def test_the_weak_prior_of_normals_keeps_variances_and_covariances():
    x = np.random.default_rng(3).normal(size=(10, 2)) @ [[1.0, 0.8], [0.0, 0.5]]
    plain, weak = sf.fit(sf.Normal(), x), sf.fit(sf.Normal(), x, prior="weak")
    np.testing.assert_allclose(weak.distribution.std, plain.distribution.std, rtol=1e-12)
    full, weak = sf.fit(sf.MultivariateNormal(), x), sf.fit(sf.MultivariateNormal(), x, prior="weak")
    np.testing.assert_allclose(weak.distribution.cov, full.distribution.cov, rtol=1e-12)
