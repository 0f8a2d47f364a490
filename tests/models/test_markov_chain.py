"""Chains of states that are seen: counting, and what follows from it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import suffice as sf

TEXTS = [list("aabbbab"), list("bacca")]


def test_estimates_are_shares_of_counts():
    fit = sf.fit(sf.MarkovChain(), sf.sequences(TEXTS))
    moves = np.array([[1, 2, 1], [2, 2, 0], [1, 0, 1]])
    assert_allclose(fit.distribution.transitions, moves / moves.sum(axis=1, keepdims=True))
    assert_allclose(fit.distribution.initial, [0.5, 0.5, 0])
    assert fit.statistics.exact
    assert fit.n_parameters == 2 + 6
    expected = 2 * np.log(0.5) + sum(m * np.log(m / row.sum()) for row in moves for m in row if m)
    assert fit.log_likelihood == pytest.approx(expected, rel=1e-12)
    assert fit.distribution.log_prob(sf.sequences(TEXTS)).sum() == pytest.approx(expected, rel=1e-12)


def test_the_stationary_distribution_stays_as_it_is():
    chain = sf.MarkovChain(3, initial=[1, 0, 0], transitions=[[0.5, 0.5, 0], [0.2, 0.3, 0.5], [0.4, 0, 0.6]])
    assert_allclose(chain.stationary @ chain.transitions, chain.stationary, atol=1e-14)
    two = sf.MarkovChain(3, initial=[1, 0, 0], transitions=[[1, 0, 0], [0, 0, 1], [0, 1, 0]])
    assert_allclose(two.stationary, [1 / 3] * 3, atol=1e-12)


def test_a_dirichlet_adds_its_counts_and_the_posterior_is_one():
    prior = sf.Dirichlet([2.0, 2.0, 2.0])
    fit = sf.fit(sf.MarkovChain(list("abc")), sf.sequences(TEXTS), prior=prior)
    moves = np.array([[1, 2, 1], [2, 2, 0], [1, 0, 1]]) + 1
    assert_allclose(fit.distribution.transitions, moves / moves.sum(axis=1, keepdims=True))
    posterior = fit.distribution.posterior(fit.statistics, prior)
    assert_allclose(posterior.alpha, moves + 1)


def test_fits_merge_and_missing_states_break_sequences():
    parts = [sf.fit(sf.MarkovChain(list("abc")), one) for one in TEXTS]
    assert sf.merge(*parts).distribution == sf.fit(sf.MarkovChain(list("abc")), sf.sequences(TEXTS)).distribution
    broken = sf.fit(sf.MarkovChain(list("ab")), ["a", "b", None, "b", "b"])
    assert_allclose(broken.distribution.transitions, [[0, 1], [0, 1]])
    assert broken.missing == 1


def test_long_samples_have_the_transitions():
    chain = sf.MarkovChain(["x", "y"], initial=[1, 0], transitions=[[0.9, 0.1], [0.4, 0.6]])
    drawn = chain.sample(20000, 0)
    assert drawn[0] == "x"
    again = sf.fit(sf.MarkovChain(), drawn)
    assert_allclose(again.distribution.transitions, chain.transitions, atol=0.02)
    assert again.standard_errors["transitions"][0, 0] == pytest.approx(np.sqrt(0.09 / 16000), rel=0.1)


def test_files_keep_a_chain(tmp_path):
    fit = sf.fit(sf.MarkovChain(), sf.sequences(TEXTS))
    sf.save(fit, tmp_path / "chain.json")
    assert sf.load(tmp_path / "chain.json").distribution == fit.distribution


def test_labels_that_are_no_states_are_named():
    with pytest.raises(sf.DataError, match="row 1 of sequence 0 has a label that is none of the states"):
        sf.fit(sf.MarkovChain(list("ab")), list("axb"))
    with pytest.raises(sf.ParameterError, match="MarkovChain"):
        sf.fit(sf.MarkovChain(2), [0, 1, 0], prior=sf.Beta(1, 1))
