"""Mixtures of families whose statistics depend on parameters: few passes, all components in one formula."""

import numpy as np
import pytest
import scipy.special as ss
import scipy.stats as st

import suffice as sf
from suffice.statistics.weights import Weights

# Ozone in New York from May to September 1973, in parts per billion (Chambers et al. 1983): R's airquality.
OZONE = np.array([
    41, 36, 12, 18, 28, 23, 19, 8, 7, 16, 11, 14, 18, 14, 34, 6, 30, 11, 1, 11, 4, 32, 23, 45, 115, 37, 29, 71,
    39, 23, 21, 37, 20, 12, 13, 135, 49, 32, 64, 40, 77, 97, 97, 85, 10, 27, 7, 48, 35, 61, 79, 63, 16, 80, 108,
    20, 52, 82, 50, 64, 59, 39, 9, 16, 78, 35, 66, 122, 89, 110, 44, 28, 65, 22, 59, 23, 31, 44, 21, 9, 45, 168,
    73, 76, 118, 84, 85, 96, 78, 73, 91, 47, 32, 20, 23, 21, 24, 44, 21, 28, 9, 13, 46, 18, 13, 24, 16, 13, 23,
    36, 7, 14, 30, 14, 18, 20,
])  # fmt: skip


def test_components_that_run_to_poisson_end_soon_and_say_so():
    """Plain EM takes 965 passes to -535.43435; some sizes grow for ever."""
    fit = sf.fit(sf.Mixture(sf.NegativeBinomial(), 5), OZONE, random_state=0)
    assert fit.converged
    assert fit.trace.passes < 300
    assert fit.log_likelihood >= -535.43436
    assert (np.diff(fit.trace.objective) >= -1e-9 * 536).all()
    assert [code for code, _ in fit.alerts] == ["boundary"]


@pytest.mark.parametrize(
    "parts",
    [
        [sf.NegativeBinomial(4.0, 0.5), sf.NegativeBinomial(3.0, 0.2)],
        [
            sf.Product([sf.NegativeBinomial(3.0, 0.4), sf.Normal(0.0, 1.0)]),
            sf.Product([sf.NegativeBinomial(6.0, 0.4), sf.Normal(1.5, 1.0)]),
        ],
    ],
    ids=["counts", "beside exact statistics"],
)
def test_acceleration_in_parameters_saves_passes_and_ends_as_high(parts):
    truth = sf.Mixture(parts)
    x = truth.sample(200, random_state=1)
    plain, fast = (sf.fit(truth, x, start=truth, accelerate=way, max_iter=3000) for way in (False, True))
    assert fast.converged
    assert fast.trace.passes <= 0.6 * plain.trace.passes
    assert fast.log_likelihood >= plain.log_likelihood - 1e-6
    assert (np.diff(fast.trace.objective) >= -1e-9 * abs(fast.log_likelihood)).all()


@pytest.mark.parametrize("largest", [30.0, 5e4])  # looked up in a table, and not
def test_sums_of_all_components_are_those_of_the_formulas(largest):
    rng = np.random.default_rng(3)
    x = np.floor(rng.gamma(0.7, 1.0, (400, 2)) * largest / 8)
    x[rng.random(x.shape) < 0.1] = np.nan
    size, p = np.array([[0.4, 3.0], [25.0, 2e5]]), np.array([[0.1, 0.3], [0.7, 0.999]])
    weights = rng.random((400, 2))
    found = sf.NegativeBinomial(size, p).stacked.gather(x, Weights(400, weights, n_components=2))
    for k in range(2):
        for d in range(2):
            seen = ~np.isnan(x[:, d])
            counts, w, r = x[seen, d], weights[seen, k], size[k, d]
            slope = np.array([np.sum(r / (r + np.arange(c))) for c in counts])
            bend = np.array([np.sum(r * np.arange(c) / (r + np.arange(c)) ** 2) for c in counts])
            mean = r * (1 - p[k, d]) / p[k, d]
            expected = [w @ counts, w @ slope, w @ bend, w @ (counts - mean) ** 2]
            np.testing.assert_allclose(found.total[k, d], expected, rtol=1e-9)
            np.testing.assert_allclose(found.weight[k, d], w.sum(), rtol=1e-12)
            np.testing.assert_allclose(found.base[k, d], w @ st.nbinom(r, p[k, d]).logpmf(counts), rtol=1e-8)


def test_log_probabilities_of_several_components_agree_with_one_by_one():
    size, p = np.array([0.3, 12.0, 3e6]), np.array([0.2, 0.6, 0.99999])
    x = np.array([0.0, 1.0, 7.0, np.nan, 300.0])
    together = sf.NegativeBinomial(size[:, None], p[:, None]).log_prob(x)
    for k in range(3):
        np.testing.assert_allclose(together[:, k], sf.NegativeBinomial(size[k], p[k]).log_prob(x), rtol=1e-12)
    assert (together[3] == 0).all()


@pytest.mark.parametrize("a", [0.01, 9.999, 10.0, 1e3])
def test_differences_of_polygamma_functions(a):
    from suffice.numerics.special import digamma_rise, log_rising, trigamma_fall

    n = np.array([0.0, 1.0, 40.0])
    j = np.arange(40.0)
    sums = [np.array([f(j[: int(c)]).sum() for c in n]) for f in (lambda i: 1 / (a + i), lambda i: 1 / (a + i) ** 2)]
    np.testing.assert_allclose(digamma_rise(a, n), sums[0], rtol=1e-12)
    np.testing.assert_allclose(trigamma_fall(a, n), sums[1], rtol=1e-11, atol=1e-18)
    np.testing.assert_allclose(log_rising(a, n), ss.gammaln(a + n) - ss.gammaln(a), rtol=1e-11, atol=1e-12)
    both = np.array([[a], [123.0]])  # small and large ones together
    np.testing.assert_array_equal(digamma_rise(both, n)[0], digamma_rise(a, n))
