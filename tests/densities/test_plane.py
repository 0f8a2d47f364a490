"""Sums of Gaussians in the plane: fast Gauss transform, tree and direct sums agree to their stated tolerance."""

import numpy as np
import pytest

from suffice.densities import plane, space
from suffice.densities.kernels import KERNELS


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(3000, 2)) * [8.0, 3.0], rng.uniform(-30, 30, (200, 2))])
    targets = np.concatenate([rows[:800], rng.uniform(-60, 60, (700, 2))])
    return rows, rng.uniform(0.5, 2.0, len(rows)), targets


def direct(rows, weights, targets):
    squares = ((targets[:, None] - rows) ** 2).sum(axis=2)
    nearest = squares.min(axis=1)
    return np.log(np.exp(-0.5 * (squares - nearest[:, None])) @ weights) - 0.5 * nearest - np.log(2 * np.pi)


def test_transform_tree_and_direct_sums_agree(points):
    rows, weights, targets = points
    expected = direct(rows, weights, targets)
    fast, good = plane.sums(rows, weights, targets)
    assert 0.4 < good.mean() < 1.0
    assert np.abs(np.log(fast[good]) - expected[good]).max() < 1e-8
    assert np.abs(space.by_tree(rows, weights, targets) - expected).max() < 2e-8
    assert len(rows) * len(targets) > space.MANY
    both = space.log_sums(KERNELS["gaussian"], rows, weights, targets)
    assert np.abs(both - expected).max() < 2e-8


def test_points_far_apart_are_left_to_the_tree(points):
    rows, weights, targets = points
    apart = np.concatenate([rows, [[1e6, 1e6]]])
    more = np.append(weights, 1.0)
    assert plane.sums(apart, more, targets) is None
    found = space.log_sums(KERNELS["gaussian"], apart, more, targets)
    assert np.abs(found - direct(apart, more, targets)).max() < 2e-8
