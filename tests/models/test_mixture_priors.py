"""Priors of mixtures: one for each component, by name, or refused with what is accepted."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import stats

import suffice as sf
from suffice.errors import ParameterError, UnsupportedError

NORMALS, UNLIKE = sf.Mixture(sf.Normal(), 2), sf.Mixture([sf.Normal(), sf.Exponential()])


@pytest.fixture(scope="module")
def x():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(5, 1, 100), rng.exponential(1, 100)])


def never_falls(fit):
    height = fit.trace.objective
    return np.isfinite(height).all() and (np.diff(height) >= -1e-9 * (1 + np.abs(height[:-1]))).all()


@pytest.mark.parametrize("normal", [None, sf.NormalInverseGamma(4.0, 2.0, 3.0, 1.0)])
def test_components_of_different_kinds_have_a_prior_each(x, normal):
    gamma = sf.Gamma(3.0, 2.0)
    fit = sf.fit(UNLIKE, x, prior={"components": [normal, gamma]}, random_state=0)
    first, second = fit.distribution.parts
    believed = stats.gamma.logpdf(second.rate, 3.0, scale=0.5)
    if normal is not None:
        var = first.std**2
        believed += stats.invgamma.logpdf(var, 3.0, scale=1.0) + stats.norm.logpdf(first.mean, 4.0, np.sqrt(var / 2.0))
    assert fit.log_posterior == pytest.approx(fit.log_likelihood + believed, rel=1e-12)
    assert never_falls(fit)
    share = fit.distribution.predict_proba(x)[:, 1]
    assert second.rate == pytest.approx((share.sum() + 2.0) / ((share * np.abs(x)).sum() + 2.0), rel=1e-4)


def test_weak_is_each_components_own(x):
    fit = sf.fit(UNLIKE, x, prior="weak", random_state=0)
    part = 1 / 16  # of the variance: half of the spread, which two components divide by two
    alone = [one.weak_prior(one.suffstats(x), part) for one in (sf.Normal(), sf.Exponential())]
    same = sf.fit(UNLIKE, x, prior={"weights": sf.Dirichlet([1.5]), "components": alone}, random_state=0)
    assert fit.log_posterior == pytest.approx(same.log_posterior, rel=1e-12)
    assert fit.prior_name == "weak"


def test_a_wrong_number_of_priors_is_named(x):
    with pytest.raises(ParameterError, match="3 priors for 2 components"):
        sf.fit(UNLIKE, x, prior={"components": [None, None, None]})


@pytest.mark.parametrize(
    ("model", "prior", "told"),
    [
        (sf.Mixture(sf.Gamma(), 2), {"components": lambda shape, rate: shape / rate}, "Gamma has none; got a function"),
        (NORMALS, {"components": lambda mean, std: mean * std}, "Normal has NormalInverseGamma or NormalPrior"),
        (NORMALS, {"components": sf.Gamma(1.0, 1.0)}, "got Gamma(shape=1, rate=1)"),
        (NORMALS, {"weight": sf.Dirichlet([2.0])}, "got the key 'weight'"),
        (NORMALS, lambda weights, mean, std: weights * mean * std, "'weights': Dirichlet(…)"),
        (NORMALS, "strong", "priors by name are 'weak'"),
        (NORMALS, {"components": "strong"}, "priors by name are 'weak'"),
        (UNLIKE, {"components": [None, sf.Dirichlet([1.0])]}, "component 1: a component of a mixture"),
    ],
)
def test_what_is_no_prior_is_refused_with_what_is(x, model, prior, told):
    with pytest.raises(UnsupportedError, match=re.escape(told)):
        sf.fit(model, np.abs(x), prior=prior)


def test_weak_leaves_a_part_without_conjugate_prior_and_says_so(x):
    y = np.abs(x) + 0.01
    fit = sf.fit(sf.Mixture(sf.Weibull(), 2), y, prior="weak", random_state=0)
    only = sf.fit(sf.Mixture(sf.Weibull(), 2), y, prior={"weights": sf.Dirichlet([1.5])}, random_state=0)
    assert fit.log_posterior == pytest.approx(only.log_posterior, rel=1e-12)
    assert "Weibull" in dict(fit.alerts)["no prior"]
    table = np.column_stack([x, y])
    fit = sf.fit(sf.Mixture(sf.Product([sf.Normal(), sf.Weibull()]), 2), table, prior="weak", random_state=0)
    assert "column 1 (Weibull)" in dict(fit.alerts)["no prior"]
    assert isinstance(fit.prior["components"][0], sf.NormalInverseGamma)
    assert "no prior" not in dict(sf.fit(NORMALS, x, prior="weak").alerts)


def test_weak_reaches_mixtures_inside_mixtures_and_products(x):
    inner = sf.fit(sf.Mixture([NORMALS, sf.Normal()]), x, prior="weak", random_state=0)
    assert never_falls(inner)
    assert inner.prior["components"][0]["weights"] == sf.Dirichlet([1.5])
    table = np.column_stack([x, np.random.default_rng(1).poisson(3, 200)])
    both = sf.fit(sf.Product([NORMALS, sf.Poisson()]), table, prior="weak", random_state=0)
    alone = [sf.fit(NORMALS, x, prior="weak", random_state=0), sf.fit(sf.Poisson(), table[:, 1], prior="weak")]
    assert both.log_posterior == pytest.approx(sum(one.log_posterior for one in alone), rel=1e-6)


@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.5])
def test_a_prior_that_is_infinite_at_weight_0_keeps_the_objective_finite(alpha):
    x = np.random.default_rng(3).normal(size=12)
    fit = sf.fit(sf.Mixture(sf.Normal(), 5), x, prior={"weights": sf.Dirichlet([alpha])}, random_state=0, n_init=3)
    assert never_falls(fit)
    assert np.isfinite(fit.log_posterior)
    assert fit.distribution.weights.min() == pytest.approx(1e-10, rel=1e-6)
    assert "no maximum" in next(text for code, text in fit.alerts if code == "boundary" and "weight" in text)


def test_components_distinguished_by_their_priors_keep_their_places(x):
    uneven = {"weights": sf.Dirichlet([1.0, 400.0])}
    fit = sf.fit(NORMALS, x, prior=uneven, random_state=0)
    weights = fit.distribution.weights
    assert weights[1] > weights[0]
    expected = fit.log_likelihood + stats.dirichlet.logpdf(weights / weights.sum(), [1.0, 400.0])
    assert fit.log_posterior == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("prior", ["weak", sf.NormalInverseGamma(2.0, 3.0, 2.0, 5.0)])
def test_components_that_share_std_are_the_tied_gaussians_of_one_column(x, prior):
    tied = sf.Mixture(sf.Normal().tie("std"), 2)
    fit = sf.fit(tied, x, prior={"components": prior}, random_state=0)
    assert never_falls(fit)
    belief = fit.prior["components"]
    # the same model in the other family: degrees 2·shape and scale 2·scale, and one mode of mean and covariance
    whole = sf.NormalInverseWishart(
        np.atleast_1d(belief.mean).ravel(),
        float(np.ravel(belief.count)[0]),
        2 * float(np.ravel(belief.shape)[0]),
        2 * np.reshape(belief.scale, (1, 1)),
        mode_offset=belief.mode_offset,
    )
    wide = sf.fit(
        sf.Mixture(sf.MultivariateNormal(structure="tied"), 2), x[:, None], prior={"components": whole}, random_state=0
    )
    assert fit.distribution.components.std.ravel() == pytest.approx(
        np.sqrt(wide.distribution.components.cov.ravel()), rel=1e-4
    )
    assert fit.distribution.components.mean.ravel() == pytest.approx(
        wide.distribution.components.mean.ravel(), rel=1e-4
    )
    assert fit.log_posterior == pytest.approx(wide.log_posterior, rel=1e-8)


@pytest.mark.parametrize("far", [0, 1])
def test_components_of_one_kind_have_a_prior_each(x, far):
    places = [0.0, 6.0][:: 1 - 2 * far]
    priors = [sf.NormalInverseGamma(place, 5.0, 3.0, 2.0) for place in places]
    fit = sf.fit(NORMALS, x, prior={"components": priors}, random_state=0)
    assert never_falls(fit)
    assert fit.prior_name == ""
    believed = sum(
        prior.log_prob({"mean": one.mean, "std": one.std})
        for prior, one in zip(priors, fit.distribution.parts, strict=True)
    )
    assert fit.log_posterior == pytest.approx(fit.log_likelihood + believed, rel=1e-12)
    start = sf.Mixture([sf.Normal(place, 1.0) for place in places])
    assert fit.log_posterior >= sf.fit(NORMALS, x, prior={"components": priors}, start=start).log_posterior - 1e-6
    with pytest.raises(UnsupportedError, match="all of them or none; got NormalInverseGamma, None"):
        sf.fit(NORMALS, x, prior={"components": [priors[0], None]})
    with pytest.raises(ParameterError, match="1 priors for 2 components"):
        sf.fit(NORMALS, x, prior={"components": priors[:1]})


def test_classes_and_gaussians_have_a_prior_each():
    rng = np.random.default_rng(0)
    wide = np.concatenate([rng.normal(0, 1, (40, 2)), rng.normal(6, 1, (40, 2))])
    priors = [sf.NormalInverseWishart([place] * 2, 2.0, 4.0, np.eye(2)) for place in (0.0, 6.0)]
    fit = sf.fit(sf.Mixture(sf.MultivariateNormal(), 2), wide, prior={"components": priors}, random_state=0)
    assert never_falls(fit)
    assert fit.distribution.components.mean[:, 0] == pytest.approx([0.0, 6.0], abs=0.5)
    codes = np.repeat([["a", "b"], ["b", "a"]], 30, axis=0)
    beliefs = [sf.Dirichlet([9.0, 1.0]), sf.Dirichlet([1.0, 9.0])]
    fit = sf.fit(sf.Mixture(sf.Categorical(), 2), codes, prior={"components": beliefs}, random_state=0)
    assert never_falls(fit)
    assert np.isfinite(fit.log_posterior)


def test_beliefs_of_a_mixture_take_the_same_priors(x):
    priors = [sf.NormalInverseGamma(place, 5.0, 3.0, 2.0) for place in (6.0, 0.0)]
    start = sf.Mixture([sf.Normal(6.0, 1.0), sf.Normal(0.0, 1.0)])
    found = sf.posterior(NORMALS, x, prior={"components": priors}, start=start)
    turned = sf.posterior(
        NORMALS, x, prior={"components": priors[::-1]}, start=sf.Mixture([sf.Normal(0.0, 1.0), sf.Normal(6.0, 1.0)])
    )
    assert found.log_evidence == pytest.approx(turned.log_evidence, rel=1e-9)
    assert found.log_evidence > sf.posterior(NORMALS, x, prior={"components": priors[0]}).log_evidence
    with pytest.raises(UnsupportedError, match="Gamma has none"):
        sf.posterior(sf.Mixture([sf.Normal(), sf.Gamma()]), np.abs(x) + 0.1, prior="weak")
