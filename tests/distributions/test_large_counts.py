"""Counts of a negative binomial up to 10²⁰: likelihoods keep their digits, EM never falls, alerts say what was held."""

import mpmath
import numpy as np
import pytest

import suffice as sf


def exact_log_prob(x, size, p):
    with mpmath.workdps(60):
        x, size, p = (mpmath.mpf(float(one)) for one in (x, size, p))
        terms = mpmath.loggamma(x + size) - mpmath.loggamma(size) - mpmath.loggamma(x + 1)
        return float(terms + size * mpmath.log(p) + x * mpmath.log(1 - p))


@pytest.mark.parametrize("mean", [1e9, 1e14, 2e15, 1e18])
@pytest.mark.parametrize("ratio", [1e-6, 1.0, 4.5e4])
def test_log_probabilities_of_large_counts_have_their_digits(mean, ratio):
    model = sf.NegativeBinomial(mean * ratio, ratio / (ratio + 1))
    spread = np.sqrt(mean * (1 + 1 / ratio))
    for x in np.floor(mean + spread * np.array([-2.0, -0.3, 0.7, 3.1])):
        assert float(model.log_prob(x)) == pytest.approx(exact_log_prob(x, model.size, model.p), abs=1e-9)


def counts(seed, mean, spread, n=50):
    """Whole numbers about a mean, ``spread`` times as wide as a Poisson."""
    rng = np.random.default_rng(seed)
    return np.floor(mean + spread * np.sqrt(mean) * rng.normal(size=n))


@pytest.mark.parametrize("mean", [1e12, 1e14, 2e15, 1e17, 1e20])
@pytest.mark.parametrize("spread", [0.5, 1.0, 1.1, 3.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_em_converges_to_the_maximum(monkeypatch, mean, spread, seed):
    """Where the family is as wide as its rows, or held next to a Poisson where these are no wider."""
    monkeypatch.setenv("SUFFICE_STRICT", "1")  # a fall is an error
    x = counts(seed, mean, spread)
    fit = sf.fit(sf.NegativeBinomial(), x)
    assert fit.converged
    assert fit.distribution.mean == pytest.approx(x.mean(), abs=1e-3 * np.sqrt(mean))
    held = dict(fit.alerts).get("boundary")
    ratio = fit.distribution.size / x.mean()
    if held is None:
        assert fit.distribution.var == pytest.approx(x.var(), rel=1e-4)
    else:
        assert x.var() <= x.mean() * (1 + 1.01 / ratio)
        assert f"size was held at {ratio:.2g} times the mean" in held
    for other in (0.9, 1.1):
        size = fit.distribution.size * other
        if held is None or other < 1:
            beside = sf.NegativeBinomial(size, size / (size + x.mean()))
            assert float(beside.log_prob(x).sum()) <= fit.log_likelihood + 1e-7


def test_the_alert_does_not_say_that_the_variance_is_no_larger_where_it_is():
    x = counts(3, 2e15, 1.3)
    assert x.var() > 1.2 * x.mean()
    assert sf.fit(sf.NegativeBinomial(), x).alerts == ()


def test_em_never_falls_for_mixtures_of_large_counts(monkeypatch):
    monkeypatch.setenv("SUFFICE_STRICT", "1")
    x = np.concatenate([counts(0, 2e15, 1.0), counts(1, 2.1e15, 2.0)])
    fit = sf.fit(sf.Mixture(sf.NegativeBinomial(), 2), x, random_state=0)
    assert fit.converged
    assert np.sort(fit.distribution.weights) == pytest.approx([0.5, 0.5], abs=1e-6)
