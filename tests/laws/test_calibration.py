"""Simulation-based calibration of every conjugate pair.

A thousand parameters are drawn from the prior, a data set from each, and a posterior from each data set. Then the rank
of the true parameter among posterior draws is uniform, and 95 % credible intervals hold it 95 % of the time. One stack
of a thousand components does all of it in a few passes.
"""

import numpy as np
import pytest
from scipy import stats as st
from tests.families import FAMILIES, known

import suffice as sf

REPEATS, ROWS, DRAWS, BINS = 1000, 8, 79, 16
PRIOR_COV = np.array([[2.0, 0.4], [0.4, 1.0]])

# By name of likelihood and prior: the two of them. Pairs that are not here are made of typical values.
GIVEN = {
    "Bernoulli-Beta": (sf.Bernoulli(), sf.Beta(2.0, 3.0)),
    "Binomial-Beta": (sf.Binomial(6), sf.Beta(1.5, 1.0)),
    "Geometric-Beta": (sf.Geometric(), sf.Beta(3.0, 2.0)),
    "Categorical-Dirichlet": (sf.Categorical(["a", "b", "c"]), sf.Dirichlet([1.0, 2.0, 0.7])),
    "Multinomial-Dirichlet": (sf.Multinomial(5), sf.Dirichlet([1.0, 2.0, 0.7])),
    "Poisson-Gamma": (sf.Poisson(), sf.Gamma(2.0, 0.5)),
    "Exponential-Gamma": (sf.Exponential(), sf.Gamma(3.0, 2.0)),
    "Normal-NormalPrior": (sf.Normal(std=1.5).fix("std"), sf.NormalPrior(0.5, 2.0)),
    "Normal-Normal": (sf.Normal(std=0.5).fix("std"), sf.Normal(0.0, 1.0)),
    "Normal-NormalInverseGamma": (sf.Normal(), sf.NormalInverseGamma(1.0, 0.5, 3.0, 2.0)),
    "MultivariateNormal-NormalInverseWishart": (
        sf.MultivariateNormal(),
        sf.NormalInverseWishart([1.0, -1.0], 0.8, 6.0, PRIOR_COV),
    ),
}


def typical(kind, prior):
    """A conjugate pair with typical values of all that is not learned."""
    rng = np.random.default_rng(0)
    return kind(**known(kind.example(rng))), prior.example(rng)


PAIRS = {
    f"{name}-{prior.__name__}": GIVEN.get(f"{name}-{prior.__name__}") or typical(kind, prior)
    for name, kind in FAMILIES.items()
    for prior in kind.conjugates
}


def in_layout(name, values):
    """Draws of a parameter, one for each component: vectors keep their axis, numbers get one for their column."""
    values = np.asarray(values)
    return values if name == "cov" or (name == "mean" and values.ndim == 2) else values[:, None]


def simulate(prototype, prior, seed):
    """True parameters by name (k, …) and the posterior of each component's own rows."""
    rng = np.random.default_rng(seed)
    drawn = prior.sample(REPEATS, rng)
    drawn = drawn if isinstance(drawn, dict) else {prototype.belief_about: drawn}
    truth = {name: in_layout(name, values) for name, values in drawn.items()}
    known = {
        name: getattr(prototype, name) for name in ("trials", "levels", *prototype.fixed) if hasattr(prototype, name)
    }
    components = type(prototype)(**{**known, **truth})
    rows = components.sample(ROWS, rng)  # (rows, components, …)
    codes = np.tile(np.arange(REPEATS), ROWS)
    stats = prototype.suffstats(rows.reshape(ROWS * REPEATS, *rows.shape[2:]), sf.OneHot(codes, REPEATS))
    return truth, prototype.posterior(stats, prior)


def by_name(prototype, answer):
    return answer if isinstance(answer, dict) else {prototype.belief_about: answer}


def with_std(values):
    """A covariance is judged by its standard deviations."""
    if "cov" not in values:
        return values
    return {**values, "std": np.sqrt(np.diagonal(values["cov"], axis1=-2, axis2=-1))}


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS)
def test_posterior_is_calibrated(pair):
    prototype, prior = PAIRS[pair]
    truth, posterior = simulate(prototype, prior, seed=20)
    truth = with_std(truth)
    draws = with_std(by_name(prototype, posterior.sample(DRAWS, random_state=21)))
    intervals = by_name(prototype, posterior.interval(0.95))
    assert intervals
    for name, (low, high) in intervals.items():
        true = truth[name].reshape(np.shape(low))
        cover = ((true >= low) & (true <= high)).reshape(REPEATS, -1).mean(axis=0)
        assert np.all((cover > 0.93) & (cover < 0.97)), f"95 % intervals of {name} hold {cover}"
        rank = (draws[name].reshape(DRAWS, *true.shape) < true).sum(axis=0).reshape(REPEATS, -1)
        for column in rank.T:
            seen = np.bincount(column * BINS // (DRAWS + 1), minlength=BINS)
            assert st.chisquare(seen).pvalue > 0.001, f"ranks of {name}: {seen}"


@pytest.mark.slow
def test_a_wrong_posterior_would_be_noticed():
    """The same judgement, of a posterior that saw every row twice: its intervals are too short."""
    prototype, prior = PAIRS["Poisson-Gamma"]
    rng = np.random.default_rng(20)
    rate = prior.sample(REPEATS, rng)[:, None]
    rows = sf.Poisson(rate).sample(ROWS, rng)
    stats = prototype.suffstats(rows.reshape(-1, 1), sf.OneHot(np.tile(np.arange(REPEATS), ROWS), REPEATS))
    low, high = prototype.posterior(stats + stats, prior).interval(0.95)
    assert ((rate >= low) & (rate <= high)).mean() < 0.93


def test_every_pair_that_is_given_values_is_one_of_the_registry():
    assert GIVEN.keys() <= PAIRS.keys()
