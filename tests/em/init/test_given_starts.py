"""Starts that the caller gives: they keep what the prototype fixes, ties and restricts."""

import numpy as np
import pytest

import suffice as sf

TRUTH = sf.Mixture([sf.Normal(4, 0.8), sf.Normal(8, 2)], weights=[0.3, 0.7])


LIVES = TRUTH.sample(600, random_state=3)


TWO = sf.Mixture(sf.Normal(), 2)


PLANE = np.random.default_rng(1).normal(size=(300, 2)) * [1, 3] + np.repeat([[0, 0], [9, 1]], 150, axis=0)


# ---- a start has parameters, the prototype has the rules -------------------------------------------------------------
def test_a_start_frees_nothing_that_the_prototype_fixes():
    start = sf.Mixture([sf.Normal(3, 2), sf.Normal(8, 2)], weights=[0.4, 0.6])
    fit = sf.fit(sf.Mixture(sf.Normal(std=1.0).fix("std"), 2), LIVES, start=start)
    np.testing.assert_array_equal(fit.params["std"], [1, 1])
    same = sf.fit(sf.Mixture(sf.Normal(std=1.0).fix("std"), 2), LIVES)
    assert fit.log_likelihood == pytest.approx(same.log_likelihood, abs=1e-5)
    kept = sf.fit(sf.Mixture(sf.Normal(), 2, weights=[0.5, 0.5]).fix("weights"), LIVES, start=start)
    np.testing.assert_array_equal(kept.params["weights"], [0.5, 0.5])


def test_a_start_unties_nothing():
    prototype = sf.Mixture(sf.Normal().tie("std"), 2)
    fit = sf.fit(prototype, LIVES, start=TRUTH)
    assert np.ptp(fit.params["std"]) == 0
    assert fit.log_likelihood == pytest.approx(sf.fit(prototype, LIVES).log_likelihood, abs=1e-5)


@pytest.mark.parametrize("name", ["EII", "VVI", "EEE", "VEV", "VVV"])
def test_a_start_is_brought_into_the_structure_of_the_prototype(name):
    covs = [[[1.0, 0.3], [0.3, 9.0]], [[2.0, -0.2], [-0.2, 8.0]]]
    start = sf.Mixture([sf.MultivariateNormal(m, c) for m, c in zip([[0, 0], [9, 1]], covs, strict=True)])
    fit = sf.fit(sf.Mixture(sf.MultivariateNormal(structure=name), 2), PLANE, start=start)
    assert fit.distribution.components.structure == name
    own = sf.fit(sf.Mixture(sf.MultivariateNormal(structure=name), 2), PLANE)
    assert fit.log_likelihood == pytest.approx(own.log_likelihood, abs=1e-4)


def test_a_start_of_another_family_is_refused():
    start = sf.Mixture([sf.Laplace(3, 1), sf.Laplace(8, 1)])
    with pytest.raises(sf.SufficeError, match="where the prototype has Normal"):
        sf.fit(TWO, LIVES, start=start)


def test_a_start_of_labels_is_matched_by_their_names():
    x = np.array([["a", "x"], ["a", "x"], ["b", "y"], ["b", "y"], ["a", "y"]] * 20)
    start = sf.Mixture(
        [
            sf.Categorical((("b", "a", "c"), ("y", "x")), [[0.1, 0.8, 0.1], [0.2, 0.8, 0.0]]),
            sf.Categorical((("b", "a", "c"), ("y", "x")), [[0.8, 0.1, 0.1], [0.7, 0.3, 0.0]]),
        ]
    )
    fit = sf.fit(sf.Mixture(sf.Categorical(), 2), x, start=start)
    assert fit.distribution.components.named == (("a", "b"), ("x", "y"))
    assert fit.distribution.components.probs[0, 0, 0] > fit.distribution.components.probs[1, 0, 0]
    none = sf.Mixture([sf.Categorical(("a", "c"), [0.5, 0.5]), sf.Categorical(("a", "c"), [0.4, 0.6])])
    with pytest.raises(sf.SufficeError, match="no probability to 'b'"):
        sf.fit(sf.Mixture(sf.Categorical(), 2), x[:, 0], start=none)


# ---- floors ----------------------------------------------------------------------------------------------------------
def test_a_learned_mixture_as_prototype_forgets_the_floors_of_its_rows():
    learned = sf.fit(TWO, LIVES, random_state=0).distribution
    small = sf.fit(learned, LIVES * 1e-10, random_state=0)
    assert not {"collapsed", "unidentified"} & set(dict(small.alerts))
    np.testing.assert_allclose(small.params["std"] * 1e10, learned.params["std"], rtol=1e-3)
    large = sf.fit(TWO, LIVES, start=learned).distribution
    assert sf.fit(large, LIVES * 1e-10, random_state=0).log_likelihood == pytest.approx(small.log_likelihood, rel=1e-6)


# ---- components that are equal
# ------------------------------------------------------------------------------------------
THREE = sf.Mixture([sf.Normal(0, 1), sf.Normal(10, 1), sf.Normal(20, 1)])


APART = THREE.sample(600, random_state=0)


@pytest.mark.parametrize("places", [(5, 20, 5), (0, 15, 15), (5, 5, 5.001)])
def test_components_that_begin_equal_are_reported_and_split(places):
    start = sf.Mixture([sf.Normal(m, 4) for m in places])
    fit = sf.fit(sf.Mixture(sf.Normal(), 3), APART, start=start, random_state=0)
    assert "symmetric" in dict(fit.alerts)
    assert fit.log_likelihood == pytest.approx(sf.fit(sf.Mixture(sf.Normal(), 3), APART).log_likelihood, abs=1e-5)
    none = sf.fit(sf.Mixture(sf.Normal(), 3), APART, start=THREE)
    assert "symmetric" not in dict(none.alerts)


def test_components_that_begin_equal_in_several_columns_are_split():
    x = np.stack([APART, APART[::-1] + APART], axis=1)
    start = sf.Mixture([sf.MultivariateNormal([m, m], 30 * np.eye(2)) for m in (3, 20, 3)])
    fit = sf.fit(sf.Mixture(sf.MultivariateNormal(), 3), x, start=start, random_state=0)
    assert "components 0, 2 of the start" in dict(fit.alerts)["symmetric"]
    assert "unidentified" not in dict(fit.alerts)
