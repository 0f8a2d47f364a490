"""Major earthquakes 1900-2006, by hidden Markov models of Poisson counts: values of Zucchini and MacDonald (2009)."""

import numpy as np
import pytest

import suffice as sf

TABLE = """
13 14 8 10 16 26 32 27 18 32 36 24 22 23 22 18 25 21 21 14 8 11 14 23 18 17 19 20 22 19 13 26 13 14 22 24
21 22 26 21 23 24 27 41 31 27 35 26 28 36 39 21 17 22 17 19 15 34 10 15 22 18 15 20 15 22 19 16 30 27 29 23
20 16 21 21 25 16 18 15 18 14 10 15 8 15 6 11 8 7 18 16 13 12 13 20 15 16 12 18 15 16 13 15 16 11 11
"""  # 1.1 of the book
COUNTS = np.array(TABLE.split(), dtype=float)


@pytest.mark.parametrize(("states", "expected"), [(1, 391.918928), (2, 342.318267), (3, 329.460276)])
def test_stationary_models_have_the_published_likelihoods(states, expected):
    fit = sf.fit(sf.HiddenMarkov(sf.Poisson(), states, initial="stationary"), COUNTS, random_state=0)
    assert -fit.log_likelihood == pytest.approx(expected, abs=2e-6)
    assert fit.n_parameters == states**2
    np.testing.assert_allclose(fit.distribution.initial, fit.distribution.stationary)


@pytest.mark.parametrize(("states", "expected"), [(2, 341.878701), (3, 328.527483)])
@pytest.mark.parametrize("seed", range(3))
def test_free_models_have_the_published_likelihoods_from_any_seed(states, expected, seed):
    fit = sf.fit(sf.HiddenMarkov(sf.Poisson(), states), COUNTS, random_state=seed)
    assert -fit.log_likelihood == pytest.approx(expected, abs=2e-6)
    assert fit.n_parameters == states**2 + states - 1
    assert fit.n == 107
    assert fit.bic == pytest.approx(2 * expected + fit.n_parameters * np.log(107), abs=1e-4)


def test_a_given_model_has_the_published_likelihood_and_best_path():
    emissions = [sf.Poisson(rate) for rate in (10.0, 20.0, 25.0)]
    model = sf.HiddenMarkov(emissions, initial=np.full(3, 1 / 3), transitions=0.7 * np.eye(3) + 0.1)
    assert model.log_prob(COUNTS) == pytest.approx(-347.0352944755, abs=1e-9)
    assert model.best_path_log_prob(COUNTS) == pytest.approx(-361.2881570452, abs=1e-9)
