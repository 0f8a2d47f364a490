"""The order of components: canonical where they are exchangeable, kept where they are not."""

import numpy as np
import pytest

import suffice as sf

TRUTH = sf.Mixture([sf.Normal(4, 0.8), sf.Normal(8, 2)], weights=[0.3, 0.7])


LIVES = TRUTH.sample(600, random_state=3)


TWO = sf.Mixture(sf.Normal(), 2)


# ---- the order of components
# --------------------------------------------------------------------------------------------
def test_components_that_a_prior_tells_apart_keep_their_places():
    prior = {"weights": sf.Dirichlet([800.0, 1.0])}
    fit = sf.fit(TWO, LIVES, prior=prior, random_state=0)
    believed = fit.log_likelihood + float(fit.distribution.log_prior(prior))
    assert fit.log_posterior == pytest.approx(believed, rel=1e-12)
    assert fit.params["weights"][0] > 0.5
    assert fit.trace.objective[-1] == pytest.approx(believed, rel=1e-9)
    places = {"components": sf.NormalInverseGamma([[9.0], [3.0]], 50.0, 3.0, 3.0)}
    fit = sf.fit(TWO, LIVES, prior=places, random_state=0)
    assert fit.log_posterior == pytest.approx(fit.trace.objective[-1], rel=1e-9)


def test_prototypes_that_fix_different_things_keep_their_places():
    fit = sf.fit(sf.Mixture([sf.Normal(8, 2).fix("mean", "std"), sf.Normal()]), LIVES)
    assert fit.distribution.parts[0] == sf.Normal(8.0, 2.0).fix("mean", "std")
    both = [sf.Normal(8, 2).fix("mean"), sf.Normal(4, 2).fix("mean")]
    np.testing.assert_array_equal(sf.fit(sf.Mixture(both), LIVES).params["mean"], [8, 4])


def test_fixed_weights_keep_their_places():
    fit = sf.fit(sf.Mixture(sf.Normal(), 2, weights=[0.9, 0.1]).fix("weights"), LIVES)
    np.testing.assert_array_equal(fit.params["weights"], [0.9, 0.1])
    even = sf.fit(sf.Mixture(sf.Normal(), 2).fix("weights"), LIVES)
    assert even.params["mean"][0] < even.params["mean"][1]


# ---- what is refused, and how ----------------------------------------------------------------------------------------
def test_labels_that_are_numbers_of_components_keep_them():
    first = np.where(LIVES < 5.5, 2, 0)
    fit = sf.fit(sf.Mixture(sf.Normal(), 3), LIVES, start=first, max_iter=1)
    assert fit.statistics.count[1] < 1e-6 * len(LIVES)
    assert fit.params["mean"][2] < fit.params["mean"][0]
    words = sf.fit(sf.Mixture(sf.Normal(), 3), LIVES, start=np.where(LIVES < 5.5, 7, 5), max_iter=1)
    assert words.params["mean"][1] < words.params["mean"][0]


def test_components_that_end_equal_are_reported_wherever_they_stand():
    components = [sf.Normal(5, 1), sf.Normal(0, 1), sf.Normal(5, 1), sf.Exponential(1)]
    stats = sf.Mixture(components).suffstats([0.1, 5.0, 4.0, 1.0] * 9)
    assert "components 0 and 2 are equal" in dict(sf.Mixture(components).alerts(stats))["unidentified"]


def test_components_of_which_only_some_have_a_mean_keep_their_places():
    """A product with labels has one mean less than one with numbers for them."""
    components = [sf.Product({"a": sf.Normal(), "b": kind}) for kind in (sf.Bernoulli(), sf.Categorical(levels=[0, 1]))]
    rng = np.random.default_rng(0)
    rows = {"a": rng.normal(size=60) + 4 * (np.arange(60) % 2), "b": rng.integers(0, 2, 60)}
    learned = sf.fit(sf.Mixture(components), rows, random_state=0).distribution
    kinds = [type(one.blocks["b"]) for one in learned.ordered().parts]
    assert kinds == [sf.Bernoulli, sf.Categorical]
