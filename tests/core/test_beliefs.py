"""What priors and beliefs do at their edges: order, improper densities, one-number distributions, plain answers."""

import numpy as np
import pytest
from scipy import stats

import suffice as sf

X = [1.0, 2.0, 4.0]

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


# ---- the arguments of a prior density -----------------------------------------------------------------------------
def test_a_prior_with_the_parameters_names_is_called_by_name():
    def swapped(std, mean):
        return stats.norm(0, 10).pdf(mean) * stats.gamma(2).pdf(std)

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
    assert "improper" in dict(fit.alerts)
    with pytest.raises(sf.ParameterError, match=r"diverges: it does not fall off as rate goes to inf"):
        sf.posterior(sf.Poisson(), [1, 2, 4], prior=lambda rate: 1.0)  # noqa: ARG005


@pytest.mark.parametrize("power", [1, 5])  # the second overflows at the smallest std
def test_the_mode_under_a_power_of_the_std(power):
    fit = sf.fit(sf.Normal(), X, prior=lambda mean, std: std**-power)  # noqa: ARG005
    np.testing.assert_allclose(fit.distribution.mean, np.mean(X), rtol=1e-8)
    np.testing.assert_allclose(fit.distribution.std, np.sqrt(3 * np.var(X) / (3 + power)), rtol=1e-8)
    np.testing.assert_allclose(fit.log_posterior, fit.log_likelihood - power * np.log(fit.distribution.std), rtol=1e-9)
    with pytest.raises(sf.ParameterError, match="integral of the prior diverges"):
        sf.posterior(sf.Normal(), X, prior=lambda mean, std: std**-power)  # noqa: ARG005


def test_a_prior_that_overflows_everywhere_far_out_is_improper_and_a_pole_inside_is_not():
    with pytest.raises(sf.ParameterError, match="does not fall off as mean goes to -inf"):
        sf.posterior(sf.Normal(std=1.0).fix("std"), X, prior=lambda mean: np.exp(mean**2))
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


def test_of_two_parameters_or_over_counts_it_is_refused():
    with pytest.raises(sf.UnsupportedError, match="cannot use Beta"):
        sf.posterior(sf.Normal(), X, prior=sf.Beta(1.0, 1.0))
    with pytest.raises(sf.UnsupportedError, match="cannot use Poisson"):
        sf.posterior(sf.Poisson(), [1, 2], prior=sf.Poisson(2.0))
