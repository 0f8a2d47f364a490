"""Steps of EM by sums of products: twins, what they mean, and where they say that they cannot tell."""

import numpy as np
import pytest
from scipy import stats

from suffice.kernels.native import quadratic as native_quadratic
from suffice.kernels.numpy import quadratic as numpy_quadratic
from suffice.kernels.numpy.quadratic import triangle

TWINS = [numpy_quadratic, native_quadratic]
SIZES = [(40, 1, 1), (300, 2, 3), (700, 5, 4), (500, 10, 7), (331, 31, 2)]


def products(x, centre, scale):
    y = np.hstack([np.ones((len(x), 1)), (x - centre) * scale])
    rows, columns, _ = triangle(y.shape[1])
    return y[:, rows] * y[:, columns]


def problem(n, d, k, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) * np.logspace(-2, 2, d) + 7.0
    centre, scale = x.mean(axis=0), np.exp2(-np.round(np.log2(x.std(axis=0))))
    shares = rng.dirichlet(np.ones(k), size=n)
    return x, centre, scale, shares, shares.T @ products(x, centre, scale)


def step(twin, sums, d, scale, floor=0.0, ridge=0.0):
    return twin.quadratic_step(sums, np.eye(d) * floor, np.full(d, ridge), float(np.log(scale).sum()))


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize(("n", "d", "k"), SIZES)
def test_the_components_are_those_of_the_weighted_rows(twin, n, d, k):
    x, centre, scale, shares, sums = problem(n, d, k)
    found = step(twin, sums, d, scale, ridge=0.01)
    assert found.sure
    np.testing.assert_allclose(found.weight, shares.sum(axis=0))
    for j in range(k):
        np.testing.assert_allclose(found.mean[j] / scale + centre, np.average(x, axis=0, weights=shares[:, j]))
        cov = np.cov(((x - centre) * scale).T, aweights=shares[:, j], ddof=0).reshape(d, d) + 0.01 * np.eye(d)
        np.testing.assert_allclose(found.cov[j], cov, atol=1e-12)
        true = stats.multivariate_normal(centre + found.mean[j] / scale, cov / np.outer(scale, scale)).logpdf(x)
        scores = products(x, centre, scale) @ found.coefficients[j]
        np.testing.assert_allclose(scores, true + np.log(shares[:, j].sum() / n), rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "d", "k"), SIZES)
def test_a_pass_of_both_twins_is_its_definition(n, d, k, weighted):
    x, centre, scale, _, sums = problem(n, d, k, seed=1)
    w = np.random.default_rng(2).uniform(0.5, 3, n) if weighted else None
    coefficients = step(numpy_quadratic, sums, d, scale).coefficients
    table = products(x, centre, scale)
    scores = table @ coefficients.T
    top = scores.max(axis=1, keepdims=True)
    shares = np.exp(scores - top)
    each = np.ones(n) if w is None else w
    height = each @ (top[:, 0] + np.log(shares.sum(axis=1)))
    shares /= shares.sum(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        entropy = -each @ np.nansum(shares * np.log(shares), axis=1)
    for twin in TWINS:
        value, spread, found = twin.quadratic_e_step(x, w, centre, scale, coefficients)
        assert value == pytest.approx(height, rel=1e-12)
        assert spread == pytest.approx(entropy, rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(found, (each[:, None] * shares).T @ table, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("twin", TWINS)
def test_what_sums_do_not_tell_is_said(twin):
    _, _, scale, _, sums = problem(300, 2, 3)
    assert step(twin, sums, 2, scale).sure
    assert not step(twin, sums, 2, scale, floor=1e3).sure  # below its floor
    empty = sums * np.array([1, 1, 0.0])[:, None]
    assert not step(twin, empty, 2, scale).sure  # a component without rows
    x = np.random.default_rng(0).normal(size=(300, 2))
    flat = np.column_stack([x[:, 0], x[:, 0]])
    assert not step(twin, np.ones((1, 300)) @ products(flat, np.zeros(2), np.ones(2)), 2, scale).sure  # singular
    far = x + 1e4
    assert not step(twin, np.ones((1, 300)) @ products(far, np.zeros(2), np.ones(2)), 2, scale).sure  # digits lost
    assert not step(twin, sums * np.nan, 2, scale).sure
    assert not step(twin, -sums, 2, scale).sure
