"""Weights have no unit: any factor leads to the same fit, and weights without digits are refused."""

import numpy as np
import pytest
from tests.families import LOCATION, prototype

import suffice as sf
from suffice.distributions.covariance_algebra import orthogonal
from suffice.errors import DataError

PAIR = np.concatenate([np.random.default_rng(0).normal(size=(30, 2)), np.random.default_rng(1).normal(6, 1, (30, 2))])


GAUSSIANS = {name: sf.MultivariateNormal(structure=name) for name in ("full", "tied", "diag", "VVE")}
COMPONENTS = GAUSSIANS | {name: prototype(name) for name in sorted(LOCATION - {"MultivariateNormal"})}


@pytest.mark.parametrize("unit", [2.0**660, 2.0**-660])
@pytest.mark.parametrize("name", COMPONENTS)
def test_weights_have_no_unit(name, unit):
    prototype = sf.Mixture(COMPONENTS[name], 2)
    one, other = (sf.fit(prototype, PAIR, weights=np.full(60, weight), random_state=0) for weight in (1.0, unit))
    np.testing.assert_allclose(other.log_likelihood / unit, one.log_likelihood, rtol=1e-6)
    np.testing.assert_allclose(other.distribution.weights, one.distribution.weights, atol=1e-4)


@pytest.mark.parametrize("kind", ["dirichlet_process", "dirichlet_distribution"])
def test_beliefs_take_large_weights(kind):
    model = sf.BayesianGaussianMixture(n_components=3, weight_concentration_prior_type=kind, random_state=0)
    assert np.isfinite(model.fit(PAIR, sample_weight=np.full(60, 1e200)).lower_bound_)


def test_weights_that_keep_no_digits_are_refused():
    with pytest.raises(DataError, match=r"add up to 5.99.*multiply them"):
        sf.fit(sf.Mixture(sf.Normal(), 2), PAIR[:, 0], weights=np.full(60, 1e-320))


def test_given_owners_count_in_any_unit():
    owners = np.repeat([0, 1], 30)
    fit = sf.fit(sf.Mixture(sf.Normal(), 2), PAIR, weights=np.full(60, 1e-9), start=owners)
    assert "symmetric" not in dict(fit.alerts)
    even = sf.fit(sf.Mixture(sf.Normal(), 2), PAIR, weights=np.full(60, 1e-9), start=np.full((60, 2), 0.5))
    assert "symmetric" in dict(even.alerts)


def test_rows_of_nearly_nothing_turn_without_a_warning():
    rows, turns = orthogonal(np.array([[[1.0, 0.0], [1e-310, 0.0]]]))
    np.testing.assert_array_equal(turns[0], np.eye(2))
    np.testing.assert_array_equal(rows[0, 0], [1.0, 0.0])
