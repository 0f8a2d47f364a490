"""The score is the gradient of log L, 0 at the maximum; sampling shows the bias and spread of estimates."""

import time

import numpy as np
import pytest
from tests import families

import suffice as sf
from suffice import theory
from suffice.theory.paths import parameter_at, with_parameter

RNG = np.random.default_rng(0)
X = RNG.normal(1.0, 2.0, 60)
# Bounds have no slope; numbers of trials, covariances and hurdles have tests of their own.
OTHERS = {"Uniform", "Binomial", "Multinomial", "MultivariateNormal", *families.HURDLES}
FAMILIES = [kind for name, kind in families.FAMILIES.items() if name not in OTHERS]


def scalars(value, path=()):
    if isinstance(value, dict):
        return [one for key, inner in value.items() for one in scalars(inner, (*path, key))]
    return [(*path, *place) for place in np.ndindex(np.shape(value))]


def at(value, path):
    for step in path:
        value = value[step]
    return float(value)


def check_against_differences(model, data, weights=None):
    """Every entry of the score is the slope of the curve that theory.likelihood draws."""
    found = theory.score(model, data, weights=weights)
    for path in scalars(model.params):
        here = parameter_at(model, path)
        h = 1e-5 * max(abs(here), 0.1)
        ends = [theory.likelihood(with_parameter(model, path, here + s * h), data, {path: [here + s * h]},
                                  weights=weights)[0] for s in (-1, 1)]  # fmt: skip
        slope = (ends[1] - ends[0]) / (2 * h)
        entry = 2.0 if "cov" in path and path[-1] != path[-2] else 1.0  # both entries of a symmetric matrix move
        np.testing.assert_allclose(entry * at(found, path), slope, rtol=1e-4, atol=1e-3, err_msg=str(path))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_the_score_is_the_slope_of_the_likelihood(family):
    rng = np.random.default_rng(5)
    model = family.example(rng)
    check_against_differences(model, model.sample(25, rng))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_the_score_is_0_at_the_maximum(family):
    rng = np.random.default_rng(6)
    truth = family.example(rng)
    x = truth.sample(60, rng)
    fit = sf.fit(sf.Categorical(truth.levels) if family is sf.Categorical else family(), x)
    here = theory.score(fit, x)
    there = theory.score(truth, x)
    for name, value in here.items():
        if name != "loc" or family is not sf.Laplace:  # a kink
            assert np.abs(value).max() < 1e-6 * (1 + np.abs(there[name]).max()) * 10


def test_scores_of_mixtures_products_and_vectors_are_slopes_too():
    rng = np.random.default_rng(1)
    w = rng.uniform(0.2, 2, len(X))
    mixture = sf.Mixture([sf.Normal(0, 1), sf.Normal(3, 2)], weights=[0.3, 0.7])
    check_against_differences(mixture, X, w)
    check_against_differences(sf.Mixture([sf.Normal(0, 1), sf.Exponential(0.5)]), np.abs(X))
    both = sf.Product({"a": sf.Normal(0, 1), "b": sf.Categorical(("x", "y", "z"), [0.2, 0.3, 0.5])})
    data = both.sample(40, rng)
    check_against_differences(both, data)
    other = sf.Product({"a": sf.Normal(2, 1), "b": sf.Categorical(("x", "y", "z"), [0.5, 0.3, 0.2])})
    check_against_differences(sf.Mixture([both, other]), data)
    check_against_differences(sf.MultivariateNormal([0.1, 0.2], [[1.0, 0.2], [0.2, 2.0]]), rng.normal(size=(30, 2)))


def test_known_scores():
    np.testing.assert_allclose(theory.score(sf.Bernoulli(0.3), [1, 0, 0, 1, 1])["p"], 3 / 0.3 - 2 / 0.7, rtol=1e-10)
    found = theory.score(sf.Normal(0.5, 2.0), X)
    np.testing.assert_allclose(found["mean"], (X - 0.5).sum() / 4, rtol=1e-9)
    np.testing.assert_allclose(found["std"], ((X - 0.5) ** 2).sum() / 8 - len(X) / 2, rtol=1e-9)
    assert theory.score(sf.Normal(0.5, 2.0).fix("std"), X)["std"] == 0.0


@pytest.mark.parametrize("structure", ["full", "diag", "spherical", "tied", "EEI", "VEV"])
def test_the_score_of_a_structure_is_0_at_its_maximum(structure):
    x = np.concatenate([RNG.normal(size=(40, 2)), RNG.normal(size=(40, 2)) + 5])
    fit = sf.fit(sf.Mixture(sf.MultivariateNormal(structure=structure), 2), x, random_state=0)
    away = sf.Mixture([sf.MultivariateNormal(m, 1.5 * c, structure=structure)
                       for m, c in zip(fit.params["mean"], fit.params["cov"], strict=True)])  # fmt: skip
    size = max(np.abs(value).max() for value in theory.score(away, x).values())
    assert max(np.abs(value).max() for value in theory.score(fit, x).values()) < 1e-3 * size


def test_what_has_no_score_says_so():
    with pytest.raises(sf.UnsupportedError, match="jumps"):
        theory.score(sf.Uniform(0, 1), [0.5])
    assert np.isnan(theory.score(sf.Bernoulli(1.0), [1, 1])["p"])
    with pytest.raises(sf.DataError, match="one weight for each row"):
        theory.score(sf.Normal(), [1.0], weights=[[1.0, 2.0]])


# ---- sampling --------------------------------------------------------------------------------------------------------
def near(found, expected, repeats_error):
    assert abs(found - expected) < 4.5 * repeats_error


def test_a_frequency_is_unbiased():
    found = theory.sampling(sf.Bernoulli(0.3), 12, 4000, random_state=0)
    near(found.mean["p"], 0.3, np.sqrt(0.21 / 12 / 4000))
    near(found.bias["p"], 0.0, found.error["p"])
    np.testing.assert_allclose(found.std["p"], np.sqrt(0.21 / 12), rtol=0.05)
    assert found.draws["p"].shape == (4000,)


def test_the_variance_is_too_small_by_one_part_in_m():
    found = theory.sampling(sf.Normal(1.0, 2.0), 5, 8000, random_state=0, statistic="var")
    near(found.mean, 4 / 5 * 4, found.error)
    assert found.bias < -0.6
    same = theory.sampling(sf.Normal(1.0, 2.0), 5, 500, random_state=0, statistic=lambda one: one.std**2)
    np.testing.assert_allclose(same.draws, found.draws[:500], rtol=1e-12)


def test_the_maximum_is_too_small_by_one_part_in_n_plus_1():
    found = theory.sampling(sf.Uniform(0.0, 2.0).fix("low"), 9, 6000, random_state=0)
    near(found.mean["high"], 2 * 9 / 10, found.error["high"])


def test_the_covariance_is_too_small_too():
    cov = np.array([[2.0, 0.8], [0.8, 1.0]])
    found = theory.sampling(sf.MultivariateNormal([0.0, 1.0], cov), 6, 3000, random_state=0)
    assert (np.abs(found.mean["cov"] - 5 / 6 * cov) < 4.5 * found.error["cov"]).all()
    pooled = theory.sampling(sf.MultivariateNormal([0.0, 1.0], cov, structure="tied"), 6, 50, random_state=0)
    np.testing.assert_allclose(pooled.draws["cov"], found.draws["cov"][:50], rtol=1e-9)


def test_sampling_is_the_same_as_fits_one_by_one():
    for truth in (sf.Gamma(2.0, 1.0), sf.Normal(0.0, 1.0).tie("std"), sf.Laplace(0.0, 1.0)):
        found = theory.sampling(truth, 20, 70 if truth.exact else 5, random_state=3)
        x = truth.sample(20 * found.repeats, np.random.default_rng(3)).reshape(found.repeats, 20)
        for i in (0, found.repeats - 1):
            for name, value in sf.fit(truth, x[i]).params.items():
                np.testing.assert_allclose(found.draws[name][i], value, rtol=1e-6)


def test_products_and_mixtures_are_sampled_in_the_layout_of_their_parameters():
    both = sf.Product({"a": sf.Normal(0, 1), "b": sf.Poisson(2)})
    found = theory.sampling(both, 10, 500, random_state=0)
    near(found.mean["b"]["rate"], 2.0, found.error["b"]["rate"])
    assert "b: rate" in repr(found)
    mixture = theory.sampling(sf.Mixture([sf.Normal(0, 1), sf.Normal(6, 1)]), 60, 5, random_state=0)
    np.testing.assert_allclose(mixture.mean["mean"], [0, 6], atol=0.5)
    assert mixture.draws["weights"].shape == (5, 2)


def test_thousands_of_samples_take_a_moment():
    begin = time.process_time()
    theory.sampling(sf.Normal(0, 1), 20, 5000, random_state=0)
    assert time.process_time() - begin < 1


def test_mistakes_are_named():
    with pytest.raises(sf.ParameterError, match="size"):
        theory.sampling(sf.Normal(), 0)
    with pytest.raises(sf.ParameterError, match="'varr'"):
        theory.sampling(sf.Normal(), 5, statistic="varr")
    with pytest.raises(sf.ParameterError, match="fixed"):
        theory.sampling(sf.Poisson(1.0).fix("rate"), 5)
