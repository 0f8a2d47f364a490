"""The shape of a Gamma from its statistics, to the last digits, and components together as alone."""

import numpy as np
import pytest
from scipy import special

import suffice as sf
from suffice.distributions.gamma import _shape


@pytest.mark.parametrize("shape", [1e-3, 0.1, 1.0, 2.0, 30.0, 99.0, 101.0, 1e4, 1e7])
def test_the_shape_solves_its_equation(shape):
    series = 1 / (2 * shape) + 1 / (12 * shape**2) - 1 / (120 * shape**4) + 1 / (252 * shape**6)
    gap = series if shape > 50 else np.log(shape) - special.digamma(shape)
    assert _shape(np.array([gap]))[0] == pytest.approx(shape, rel=1e-12)


def test_the_estimate_is_that_of_newton_in_both_parameters():
    x = np.random.default_rng(0).gamma(3.0, 2.0, 300)
    quick = sf.fit(sf.Gamma(), x)
    tied = sf.fit(sf.Mixture(sf.Gamma().tie("shape", "rate"), 1), x, max_iter=5)  # takes the general way
    assert quick.log_likelihood == pytest.approx(tied.log_likelihood, rel=1e-12)
    assert quick.distribution.shape == pytest.approx(float(np.ravel(tied.distribution.components.shape)[0]), rel=1e-7)
