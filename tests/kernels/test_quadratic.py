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
    far = x + 1e6
    assert not step(twin, np.ones((1, 300)) @ products(far, np.zeros(2), np.ones(2)), 2, scale).sure  # digits lost
    assert not step(twin, sums * np.nan, 2, scale).sure
    assert not step(twin, -sums, 2, scale).sure


@pytest.mark.parametrize("leaps", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("d", "k", "passes"), [(1, 2, 3), (3, 3, 16), (5, 9, 12), (2, 1, 4), (4, 3, 1)])
def test_short_runs_are_those_of_the_definition(leaps, weighted, dtype, d, k, passes):
    rng = np.random.default_rng(d + k)
    centres = rng.normal(size=(k, d))
    x = (rng.normal(size=(60 * k, d)) + 2 * centres[rng.integers(0, k, 60 * k)]).astype(dtype)
    weights = rng.uniform(0.1, 3, len(x)) if weighted else None
    centre, scale = x.mean(axis=0).astype(float), np.full(d, 0.5)
    mean, cov = (centres - centre) * scale, np.tile(np.eye(d), (k, 1, 1))
    log_scale = float(np.log(scale).sum())
    form = np.tile(np.eye(d), (k, 1, 1))
    constant = np.full(k, -np.log(k) - 0.5 * d * np.log(2 * np.pi) + log_scale)
    start = np.full(k, 1 / k), mean, cov, numpy_quadratic.coefficients_of(mean, form, constant)
    held = np.zeros((d, d)), np.full(d, 1e-6), log_scale
    start = tuple(one[None] for one in start)
    given = x, weights, centre, scale, start, held, (passes, 1e-5, 1.0, leaps)
    ours, theirs = (twin.quadratic_runs(*given)[0] for twin in TWINS)
    assert (ours.end, ours.passes, len(ours.trace)) == (theirs.end, theirs.passes, len(theirs.trace))
    assert ours.end != "lost"
    assert (np.diff(ours.trace[:, 0]) >= -1e-9 * np.abs(ours.trace[1:, 0])).all()
    for one, other in zip(ours[1:6], theirs[1:6], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(ours.share.sum(), 1.0, rtol=1e-12)


@pytest.mark.parametrize("twin", TWINS)
def test_a_short_run_that_loses_a_component_says_so(twin):
    x = np.concatenate([np.zeros(5), np.ones(40)])[:, None] * 1.0
    start = np.array([0.5, 0.5]), np.array([[-0.5], [0.5]]), np.full((2, 1, 1), 0.01)
    coefficients = numpy_quadratic.coefficients_of(start[1], np.full((2, 1, 1), 100.0), np.full(2, 0.5 * np.log(100)))
    held = np.zeros((1, 1)), np.zeros(1), 0.0
    begun = tuple(one[None] for one in (*start, coefficients))
    (found,) = twin.quadratic_runs(x, None, np.full(1, 0.5), np.ones(1), begun, held, (9, 1e-7, 1.0, True))
    assert found.end == "lost"
