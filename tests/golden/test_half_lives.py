"""A thousand half-lives of two kinds of particles: are estimates as close to the truth as their standard errors say?"""

import numpy as np
import pytest

import suffice as sf

TRUTH = {"weights": [0.3, 0.7], "mean": [4.0, 8.0], "std": [0.8, 2.0]}
FIVE = [0, 2, 3, 4, 5]  # the second weight follows from the first


def half_lives(seed, n=1000):
    rng = np.random.default_rng(seed)
    first = rng.random(n) < TRUTH["weights"][0]
    return np.where(first, rng.normal(4.0, 0.8, n), rng.normal(8.0, 2.0, n))


def flat(values):
    return np.concatenate([np.asarray(values[name], dtype=float) for name in TRUTH])[FIVE]


@pytest.mark.slow
def test_five_hundred_samples():
    truth, away, covered = flat(TRUTH), [], []
    for seed in range(500):
        fit = sf.fit(sf.Mixture(sf.Normal(), 2), half_lives(seed), random_state=0, start="k-means++")
        away.append(np.abs(flat(fit.params) - truth) / flat(fit.standard_errors))
        ends = fit.interval()
        low, high = flat({name: ends[name][0] for name in TRUTH}), flat({name: ends[name][1] for name in TRUTH})
        covered.append((low <= truth) & (truth <= high))
    away, covered = np.array(away), np.mean(covered, axis=0)
    assert (away <= 3).all(axis=1).mean() >= 0.95
    assert away.max() <= 4.5
    assert ((covered >= 0.89) & (covered <= 0.98)).all(), covered


def test_default_starts_find_the_same():
    for seed in range(5):
        quick = sf.fit(sf.Mixture(sf.Normal(), 2), half_lives(seed), random_state=0, start="k-means++")
        usual = sf.fit(sf.Mixture(sf.Normal(), 2), half_lives(seed), random_state=0)
        np.testing.assert_allclose(flat(usual.params), flat(quick.params), atol=1e-3)
