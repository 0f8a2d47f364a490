"""Coordinates of Gaussian components, in which their standard errors are found."""

import numpy as np
import pytest

import suffice as sf
from suffice.core.value import replace_valid
from suffice.distributions.gaussian_chart import GaussianChart


@pytest.mark.parametrize("structure", ["EVV", "VVE", "EEV", "VEV"])
def test_variances_that_rounding_lost_have_a_chart(structure):
    """Components 10⁸ times as long as wide: some variance along their axes is 0 or below, to rounding."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        cov = np.stack([(axes * [1e-8, 2e-8, 1e8]) @ axes.T] * 2)
        prototype = sf.MultivariateNormal(np.eye(2, 3), np.stack([np.eye(3)] * 2), structure=structure)
        stack = replace_valid(prototype, cov=cov)  # as an M-step leaves it: no parameter is checked again
        with np.errstate(all="raise"):
            assert all(
                np.isfinite(one.root).all() and np.isfinite(one.slopes).all() for one in GaussianChart(stack).frames
            )
