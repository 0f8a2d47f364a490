"""Nearest neighbours: against brute force, weights as repetition, and what an improper density refuses."""

from math import gamma, pi

import numpy as np
import pytest

import suffice as sf


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("k", [1, 4, 25])
def test_density_is_that_of_brute_force(d, k):
    rng = np.random.default_rng(0)
    rows, at = rng.normal(size=(60, d)), rng.normal(size=(40, d))
    found = sf.fit(sf.KNN(k), rows).log_prob(at)
    radius = np.sort(np.linalg.norm(at[:, None] - rows, axis=2), axis=1)[:, k - 1]
    volume = pi ** (d / 2) / gamma(d / 2 + 1) * radius**d
    assert np.exp(found) == pytest.approx(k / (60 * volume), rel=1e-12)


def test_weight_is_repetition():
    rng = np.random.default_rng(1)
    rows, weights = rng.normal(size=(50, 2)), rng.integers(0, 5, 50)
    at = rng.normal(size=(30, 2))
    weighted, repeated = sf.fit(sf.KNN(6), rows, weights=weights), sf.fit(sf.KNN(6), np.repeat(rows, weights, axis=0))
    assert weighted.log_prob(at).tolist() == repeated.log_prob(at).tolist()


def test_small_weights_need_more_rows():
    rows = np.arange(10.0)
    found = sf.fit(sf.KNN(2), rows, weights=np.full(10, 0.5)).log_prob(-1.0)
    assert np.exp(found) == pytest.approx(2 / (5 * 2 * 4.0))  # the fourth row completes a weight of 2


def test_missing_cells_are_left_out():
    rows = np.random.default_rng(2).normal(size=(50, 2))
    model = sf.fit(sf.KNN(5), rows).distribution
    assert model.log_prob([[0.3, np.nan]])[0] == pytest.approx(sf.fit(sf.KNN(5), rows[:, 0]).log_prob(0.3))


def test_it_says_that_it_does_not_integrate_to_one():
    fit = sf.fit(sf.KNN(3), np.arange(9.0))
    assert [alert.code for alert in fit.alerts] == ["not normalised"]
    for ask in (fit.sample, fit.distribution.entropy, lambda: fit.distribution.mean, lambda: fit.distribution.cdf(1.0)):
        with pytest.raises(sf.UnsupportedError, match="does not integrate to 1"):
            ask()


def test_more_neighbours_than_rows_are_refused():
    with pytest.raises(sf.DataError, match="5 neighbours are more than rows of weight 3"):
        sf.fit(sf.KNN(5), [1.0, 2.0, 3.0])
