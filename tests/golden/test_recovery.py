"""What was put in comes out: mixtures of one kind, of different kinds, of tables and of mixtures."""

import numpy as np
import pytest

import suffice as sf

PATTERNS = ("01000010", "11110000", "00001111")


def never_falls(fit):
    return (np.diff(fit.trace.objective) >= -1e-9 * (1 + abs(fit.trace.objective[-1]))).all()


@pytest.mark.parametrize("seed", range(5))
def test_three_patterns_from_noisy_strings(seed):
    rng = np.random.default_rng(seed)
    clean = np.array([list(pattern) for pattern in PATTERNS])[rng.integers(3, size=300)]
    noisy = np.where(rng.random(clean.shape) < 0.1, np.where(clean == "0", "1", "0"), clean)
    fit = sf.fit(sf.Mixture(sf.Categorical(), 3), noisy, random_state=seed)
    assert never_falls(fit)
    assert {"".join(one.mode) for one in fit.distribution.parts} == set(PATTERNS)
    found = sf.LatentClass(3, random_state=seed).fit(["".join(row) for row in noisy])
    assert {"".join(one.mode) for one in found.fit_.distribution.parts} == set(PATTERNS)


def test_a_table_of_numbers_counts_and_labels():
    rng = np.random.default_rng(0)
    first = rng.random(4000) < 0.35
    table = {
        "a": np.where(first, rng.normal(0, 1, 4000), rng.normal(3, 2, 4000)),
        "b": np.where(first, rng.poisson(2, 4000), rng.poisson(6, 4000)).astype(float),
        "c": np.where(rng.random(4000) < np.where(first, 0.2, 0.7), "yes", "no"),
    }
    table["a"][rng.random(4000) < 0.1] = np.nan
    prototype = sf.Product({"a": sf.Normal(), "b": sf.Poisson(), "c": sf.Categorical()})
    fit = sf.fit(sf.Mixture(prototype, 2), table, random_state=0)
    assert never_falls(fit)
    expected = {"weights": [0.35, 0.65], "a": {"mean": [0, 3], "std": [1, 2]}, "b": {"rate": [2, 6]}}
    errors = fit.standard_errors
    np.testing.assert_array_less(np.abs(fit.params["weights"] - expected["weights"]), 4 * errors["weights"])
    for column in ("a", "b"):
        for name, value in expected[column].items():
            np.testing.assert_array_less(np.abs(fit.params[column][name] - value), 4 * errors[column][name])
    np.testing.assert_allclose(np.asarray(fit.params["c"]["probs"])[:, 1], [0.2, 0.7], atol=0.06)


def test_a_normal_and_an_exponential():
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.normal(10, 1, 1200), rng.exponential(2.0, 800)])
    fit = sf.fit(sf.Mixture([sf.Normal(), sf.Exponential()]), x, random_state=0)
    assert never_falls(fit)
    normal, exponential = fit.distribution.parts
    assert (normal.mean, normal.std) == (pytest.approx(10, abs=0.15), pytest.approx(1, abs=0.12))
    assert exponential.rate == pytest.approx(0.5, abs=0.06)
    np.testing.assert_allclose(fit.distribution.weights, [0.6, 0.4], atol=0.04)


def test_a_mixture_of_mixtures():
    rng = np.random.default_rng(2)
    places, spreads, counts = [0, 3, 20, 26], [1, 0.5, 1, 2], [600, 300, 500, 500]
    x = np.concatenate([rng.normal(*one) for one in zip(places, spreads, counts, strict=True)])
    fit = sf.fit(sf.Mixture(sf.Mixture(sf.Normal(), 2), 2), x, random_state=0)
    flat = sf.fit(sf.Mixture(sf.Normal(), 4), x, random_state=0)
    assert never_falls(fit)
    assert fit.log_likelihood == pytest.approx(flat.log_likelihood, abs=0.01)
    means = sorted(one.mean for group in fit.distribution.parts for one in group.parts)
    np.testing.assert_allclose(means, places, atol=0.3)
    assert sorted(sorted(round(one.mean) for one in group.parts) for group in fit.distribution.parts) in (
        [[0, 3], [20, 26]],
        [[0, 20], [3, 26]],
        [[0, 26], [3, 20]],
    )


def test_two_gaussian_clusters():
    truth = sf.Mixture(
        sf.MultivariateNormal(
            [[10.0, 10.0], [0.0, 0.0]], [[[29.25, 13.5], [13.5, 20.25]], [[9.0, -3.3], [-3.3, 18.0]]]
        ),
        weights=[0.25, 0.75],
    )
    x = truth.sample(5000, random_state=0)
    fit = sf.fit(sf.Mixture(sf.MultivariateNormal(), 2), x, random_state=0)
    learned = fit.distribution.permuted(sf.align(truth, fit.distribution))
    np.testing.assert_allclose(learned.weights, truth.weights, atol=0.03)
    np.testing.assert_allclose(learned.components.mean, truth.components.mean, atol=0.6)
    np.testing.assert_allclose(learned.components.cov, truth.components.cov, atol=4.0)
    assert fit.log_likelihood >= truth.log_prob(x).sum()


@pytest.mark.parametrize("family", ["Poisson", "Gamma", "Laplace", "StudentT", "NegativeBinomial", "Weibull"])
def test_components_without_a_normal(family):
    parts = {
        "Poisson": [sf.Poisson(3.0), sf.Poisson(20.0)],
        "Gamma": [sf.Gamma(9.0, 3.0), sf.Gamma(50.0, 2.5)],
        "Laplace": [sf.Laplace(0.0, 1.0), sf.Laplace(10.0, 2.0)],
        "StudentT": [sf.StudentT(6.0, 0.0, 1.0), sf.StudentT(6.0, 15.0, 2.0)],
        "NegativeBinomial": [sf.NegativeBinomial(5.0, 0.6), sf.NegativeBinomial(30.0, 0.4)],
        "Weibull": [sf.Weibull(3.0, 1.0), sf.Weibull(5.0, 8.0)],
    }[family]
    truth = sf.Mixture(parts, weights=[0.4, 0.6])
    x = truth.sample(3000, random_state=0)
    fit = sf.fit(sf.Mixture(type(parts[0])(), 2), x, random_state=0)
    assert never_falls(fit)
    assert fit.log_likelihood >= truth.log_prob(x).sum() - 1e-6
    np.testing.assert_allclose(fit.distribution.weights, [0.4, 0.6], atol=0.03)
    means = [float(one.mean) for one in fit.distribution.parts]
    np.testing.assert_allclose(means, [float(one.mean) for one in parts], rtol=0.05, atol=0.15)
