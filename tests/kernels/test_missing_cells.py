"""Passes over rows with holes: the compiled kernels compute what the reference defines, and that is the definition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from suffice.kernels.native import missing as native_missing
from suffice.kernels.numpy import missing as numpy_missing
from suffice.kernels.numpy.missing import inverse_of_lower

TWINS = [numpy_missing, native_missing]
CASES = [(1, 1, 1), (1, 3, 2), (40, 2, 1), (700, 5, 3), (3000, 3, 2), (300, 12, 4), (120, 40, 2)]
MISSING = 0.25


def _rows(n, d, seed=0, missing=MISSING):
    """Rows in which cells are missing, some of them all, by pattern; and starts, columns, sizes."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) * rng.uniform(0.1, 10, d) + 100 * rng.normal(size=d)
    x[rng.random(x.shape) < missing] = np.nan
    kinds, which = np.unique(~np.isnan(x), axis=0, return_inverse=True)
    which = which.ravel()
    starts = np.concatenate([[0], np.cumsum(np.bincount(which))])
    columns = np.argsort(~kinds, axis=1, kind="stable")
    return x[np.argsort(which, kind="stable")], (starts, columns, kinds.sum(axis=1))


def _components(x, k, *, shared=False, seed=0):
    """Means near the rows, and covariances of their size."""
    rng, d = np.random.default_rng(seed + 1), x.shape[1]
    middle, spread = np.nan_to_num(np.nanmean(x, axis=0)), np.nan_to_num(np.nanstd(x, axis=0)) + 0.1
    root = np.tril(rng.normal(size=(1 if shared else k, d, d)), -1) / np.sqrt(d) + np.eye(d)
    cov = root @ root.swapaxes(1, 2) * spread[:, None] * spread
    return middle + spread * rng.normal(size=(k, d)), cov


def _same(ours, theirs, tolerance=1e-12):
    for one, other in zip(ours, theirs, strict=True):
        assert np.shape(one) == np.shape(other)
        assert_allclose(one, other, rtol=0, atol=tolerance * np.abs(other).max(initial=1e-300))


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:Degrees of freedom")
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(("n", "d", "k"), CASES)
def test_twins_agree(n, d, k, shared):
    x, patterns = _rows(n, d)
    mean, cov = _components(x, k, shared=shared)
    rng = np.random.default_rng(2)
    logs, w = rng.normal(size=(n, k)), rng.uniform(0, 2, n) * (rng.random(n) < 0.8)
    logs[:, -1] = np.where(rng.random(n) < 0.3, -np.inf, logs[:, -1]) if k > 1 else 0.0
    weights, codes = rng.uniform(0, 2, (n, k)) * (rng.random((n, k)) < 0.7), rng.integers(-1, k, n)
    for arguments in ((logs[0],), (logs[0], w), (logs,), (logs, w)):
        _same(*(twin.missing_e_step(x, *patterns, mean, cov, *arguments) for twin in TWINS))
    for arguments in ((weights,), (w, codes), (None, codes)):
        _same(*(twin.holed_scatter(x, *patterns, mean, cov, *arguments) for twin in TWINS))
    _same(*([twin.holed_log_prob(x, *patterns, mean, cov)] for twin in TWINS))


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, lambda x: np.repeat(x, 2, axis=1)[:, ::2]])
def test_memory_does_not_matter(twin, layout):
    x, patterns = _rows(700, 5)
    n_components = _components(x, 3)
    logs = np.zeros(3)
    plain, other = (twin.missing_e_step(rows, *patterns, *n_components, logs) for rows in (x, layout(x)))
    _same(other, plain)
    single = twin.holed_log_prob(x.astype(np.float32), *patterns, *n_components)
    assert_array_equal(single, twin.holed_log_prob(x.astype(np.float32).astype(float), *patterns, *n_components))


@pytest.mark.parametrize("twin", TWINS)
def test_scores_are_those_of_the_marginals(twin):
    x, patterns = _rows(200, 4)
    mean, cov = _components(x, 2)
    found = twin.holed_log_prob(x, *patterns, mean, cov)
    for row, scores in zip(x, found, strict=True):
        seen = np.flatnonzero(~np.isnan(row))
        for j in range(2):
            own = cov[j][np.ix_(seen, seen)]
            expected = multivariate_normal(mean[j, seen], own).logpdf(row[seen]) if len(seen) else 0.0
            assert scores[j] == pytest.approx(expected, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("twin", TWINS)
def test_statistics_are_those_of_completed_rows(twin):
    """Row by row: the scatter of what is expected, and the covariance of what was not seen."""
    x, patterns = _rows(150, 4)
    mean, cov = _components(x, 2)
    w = np.random.default_rng(3).uniform(0, 2, (150, 2))
    weight, shift, scatter, entropy, by_pattern = twin.holed_scatter(x, *patterns, mean, cov, w)
    assert_allclose(by_pattern.sum(axis=0), weight, rtol=1e-12)
    for j in range(2):
        filled, rest, hidden = x - mean[j], np.zeros((4, 4)), 0.0
        for row, share in zip(filled, w[:, j], strict=True):
            o, m = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
            slope = cov[j][np.ix_(m, o)] @ np.linalg.inv(cov[j][np.ix_(o, o)])
            left = cov[j][np.ix_(m, m)] - slope @ cov[j][np.ix_(o, m)]
            row[m] = slope @ row[o]
            rest[np.ix_(m, m)] += share * left
            hidden += share * 0.5 * np.linalg.slogdet(2 * np.pi * np.e * left)[1] if len(m) else 0.0
        middle = w[:, j] @ filled / w[:, j].sum()
        squares = (filled - middle).T @ (w[:, j, None] * (filled - middle)) + rest
        assert weight[j] == pytest.approx(w[:, j].sum(), rel=1e-12)
        assert_allclose(shift[j], middle, rtol=0, atol=1e-10 * np.sqrt(np.diag(cov[j])).max())
        assert_allclose(scatter[j], squares, rtol=0, atol=1e-10 * np.abs(squares).max())
        assert_array_equal(scatter[j], scatter[j].T)
        assert entropy[j] == pytest.approx(hidden, rel=1e-10)


@pytest.mark.parametrize("twin", TWINS)
def test_far_from_the_mean_no_digit_is_lost(twin):
    x = np.round(64 * np.random.default_rng(0).normal(size=(4000, 3))) / 64
    x[:, 2] = np.nan
    patterns, cov = (np.array([0, 4000]), np.arange(3)[None], np.array([2])), 0.5 * np.eye(3)[None] + 0.5
    near, far = (
        twin.holed_scatter(x, *patterns, np.full((1, 3), move), cov, np.ones((4000, 1))) for move in (0.0, 2.0**20)
    )
    assert_allclose(far[1][:, :2] + 2.0**20, near[1][:, :2], atol=1e-9)
    assert_allclose(far[2], near[2], rtol=0, atol=1e-10 * near[2].max())


@pytest.mark.parametrize("twin", TWINS)
def test_rows_of_no_weight_count_for_nothing(twin):
    x, patterns = _rows(500, 3, missing=0.1)
    mean, cov = _components(x, 2)
    w = np.ones(500)
    w[::5] = 0.0
    expected = twin.missing_e_step(x, *patterns, mean, cov, np.zeros(2), w)
    x[::5] = np.where(np.isnan(x[::5]), np.nan, 1e200)
    _same(twin.missing_e_step(x, *patterns, mean, cov, np.zeros(2), w), expected)


@pytest.mark.parametrize("twin", TWINS)
def test_a_row_of_nobody_shows_in_the_log_likelihood_alone(twin):
    x, patterns = _rows(100, 3)
    mean, cov = _components(x, 2)
    logs = np.zeros((100, 2))
    logs[40] = -np.inf
    found = twin.missing_e_step(x, *patterns, mean, cov, logs)
    assert found[0] == -np.inf
    assert found[2].sum() == pytest.approx(99)
    assert all(np.isfinite(one).all() for one in found[1:])


@pytest.mark.parametrize("twin", TWINS)
def test_no_rows_have_no_statistics(twin):
    patterns = np.zeros(1, int), np.zeros((0, 3), int), np.zeros(0, int)
    found = twin.missing_e_step(np.empty((0, 3)), *patterns, np.zeros((2, 3)), np.stack([np.eye(3)] * 2), np.zeros(2))
    assert [np.shape(one) for one in found] == [(), (), (2,), (2, 3), (2, 3, 3), (2,), (0, 2)]
    assert all(np.sum(np.abs(one)) == 0 for one in found)


@pytest.mark.parametrize("twin", TWINS)
def test_a_matrix_that_is_no_covariance_is_refused(twin):
    x, patterns = _rows(30, 2)
    wrong = np.array([[[1.0, 2.0], [2.0, 1.0]]])
    for call in (twin.holed_log_prob, lambda *a: twin.missing_e_step(*a, np.zeros(1))):
        with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
            call(x, *patterns, np.zeros((1, 2)), wrong)


def test_many_small_triangles_are_inverted():
    lower = np.tril(np.random.default_rng(0).normal(size=(6, 2, 7, 7))) + 3 * np.eye(7)
    assert_allclose(inverse_of_lower(lower) @ lower, np.broadcast_to(np.eye(7), lower.shape), atol=1e-12)
