"""M-steps of the kernel for covariances of a structure: what the structure's own M-step finds, or as likely."""

import numpy as np
import pytest

from suffice.distributions.covariance_algebra import objective
from suffice.distributions.covariance_structures import STRUCTURES
from suffice.kernels.native.quadratic import quadratic_step
from suffice.kernels.numpy.quadratic import triangle
from suffice.selection.candidates import FOURTEEN

COMMON_AXES = {"EVE", "VVE"}  # of which there may be several maxima


def problem(d, k, seed):
    rng = np.random.default_rng(seed)
    who = rng.integers(k, size=60 * k)
    roots = rng.normal(size=(k, d, d))
    x = np.einsum("nij,nj->ni", roots[who], rng.normal(size=(len(who), d))) + 3 * rng.normal(size=(k, d))[who]
    shares = np.eye(k)[who] * 0.8 + 0.2 / k
    rows, columns, _ = triangle(d + 1)
    y = np.hstack([np.ones((len(x), 1)), x])
    weight = shares.sum(axis=0)
    mean = shares.T @ x / weight[:, None]
    away = x[:, None] - mean
    return shares.T @ (y[:, rows] * y[:, columns]), weight, np.einsum("nk,nki,nkj->kij", shares, away, away)


def step(sums, d, name, before=None):
    found = quadratic_step(sums, np.zeros((d, d)), np.zeros(d), 0.0, name, before)
    assert found.sure
    return found.cov


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("d", "k"), [(1, 3), (2, 3), (4, 5), (6, 9)])
@pytest.mark.parametrize("name", FOURTEEN)
def test_the_step_is_that_of_the_structure(name, d, k, seed):
    sums, weight, scatter = problem(d, k, seed)
    form = STRUCTURES[name]
    theirs = np.broadcast_to(np.asarray(form.m_step(scatter, weight)), (k, d, d))
    ours = step(sums, d, name)
    assert form.holds(ours)
    if name not in COMMON_AXES:
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    else:  # from where they are neither goes on to anything better but for the rest of a slow rise
        onward = np.asarray(form.m_step(scatter, weight, ours))
        assert objective(onward, scatter, weight) - objective(ours, scatter, weight) < 0.1
        assert objective(ours, scatter, weight) >= objective(theirs, scatter, weight) - 0.01 * weight.sum()


@pytest.mark.parametrize("name", FOURTEEN)
def test_a_step_never_lowers_the_objective(name):
    before = None
    for seed in range(6):  # the statistics change under it, as they do in EM
        sums, weight, scatter = problem(4, 5, seed % 2)
        found = step(sums, 4, name, before)
        if before is not None:
            least = objective(before, scatter, weight)
            assert objective(found, scatter, weight) >= least - 1e-9 * abs(least)
        before = found


@pytest.mark.parametrize("name", FOURTEEN)
def test_what_lies_below_the_floor_is_not_told(name):
    sums, _, _ = problem(3, 3, 0)
    assert not quadratic_step(sums, 1e3 * np.eye(3), np.zeros(3), 0.0, name).sure
    assert not quadratic_step(np.nan * sums, np.zeros((3, 3)), np.zeros(3), 0.0, name).sure
