"""One EM pass over columns of different kinds, with holes: the twins agree, and both are right."""

import numpy as np
import pytest
from scipy.special import logsumexp

from suffice.kernels.native import mixed_columns as native_mixed_columns
from suffice.kernels.numpy import mixed_columns as numpy_mixed_columns
from suffice.kernels.numpy.mixed_columns import Cells

TWINS = pytest.mark.parametrize("twin", [numpy_mixed_columns, native_mixed_columns], ids=["reference", "compiled"])
SHAPES = [(0, 2, 1, 1, 3), (1, 1, 0, 0, 1), (241, 3, 2, 2, 5), (600, 0, 3, 1, 9), (700, 0, 0, 4, 17), (500, 4, 0, 0, 2)]
KINDS = ["plain", "holes", "weights", "row log-weights"]


def _cells(n, a, m, c, k, kind="plain", seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, a)) * 2 + 5
    if kind != "plain":
        x[rng.random((n, a)) < 0.2] = np.nan
    sizes = rng.integers(0, 6, c)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    levels = rng.integers(-1, 6, (n, c)).astype(np.int8)
    normals = x, rng.normal(size=(k, a)) + 5, rng.uniform(0.5, 2, (k, a))
    features = rng.normal(size=(n, m)), rng.normal(size=(k, m))
    return Cells(*normals, *features, levels, starts, rng.normal(size=(k, starts[-1])), rng.normal(size=k))


def _arguments(n, k, kind):
    rng = np.random.default_rng(1)
    log_weights = np.log(rng.dirichlet(np.ones(k))) if kind != "row log-weights" else rng.normal(size=(n, k))
    if kind == "row log-weights" and k > 1:
        log_weights[:, 0] = -np.inf
    weights = rng.uniform(0, 2, n) * (rng.random(n) < 0.8) if kind in {"weights", "row log-weights"} else None
    return log_weights, weights


def _forms(found):
    """The centre may be anywhere: centre + shift is what is meant."""
    weight, centre, shift, scatter = found.moments
    rest = found.total, found.counts
    return found.log_likelihood, found.entropy, found.weight, weight, centre + shift, scatter, *rest


def _by_definition(cells, log_weights, weights):
    """The same, cell by cell."""
    x, mean, std, features, eta, levels, starts, tables, offset = cells
    there, n, k = ~np.isnan(x), len(x), len(offset)
    logits = np.tile(log_weights - offset, (n, 1)) if log_weights.ndim == 1 else log_weights - offset
    for component in range(k):
        densities = -0.5 * ((x - mean[component]) / std[component]) ** 2 - np.log(std[component] * np.sqrt(2 * np.pi))
        logits[:, component] += np.where(there, densities, 0).sum(axis=1) + features @ eta[component]
    one_hot = np.zeros((n, tables.shape[1]))
    for column, size in enumerate(np.diff(starts)):
        for row in range(n):
            if 0 <= levels[row, column] < size:
                one_hot[row, starts[column] + levels[row, column]] = 1
    logits += one_hot @ tables.T
    w = np.ones(n) if weights is None else weights
    top = logsumexp(logits, axis=1, keepdims=True)
    r = np.exp(logits - top)
    entropy = -w @ np.where(r > 0, r * np.where(r > 0, logits - top, 0), 0).sum(axis=1)
    r *= w[:, None]
    weight, filled = r.T @ there, np.where(there, x, 0)
    centre = r.T @ filled / np.where(weight > 0, weight, 1)
    scatter = np.array([own @ np.where(there, (x - c) ** 2, 0) for own, c in zip(r.T, centre, strict=True)])
    sums = weight, centre, scatter.reshape(weight.shape), r.T @ features, r.T @ one_hot
    return (w @ top[:, 0], entropy, r.sum(axis=0), *sums), r


def _close(ours, theirs):
    for a, b in ((np.asarray(a), np.asarray(b)) for a, b in zip(ours, theirs, strict=True)):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-11 * max(np.abs(b).max(initial=0), 1))


@TWINS
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_pass_by_definition(twin, shape, kind):
    n, *_, k = shape
    if kind == "row log-weights" and k == 1:
        pytest.skip("one component cannot be forbidden")
    cells, (log_weights, weights) = _cells(*shape, kind), _arguments(n, k, kind)
    shares = np.full((n, k), np.nan)
    expected, r = _by_definition(cells, log_weights, weights)
    _close(_forms(twin.columns_e_step(cells, log_weights, weights, shares)), expected)
    np.testing.assert_allclose(shares, r, rtol=0, atol=1e-12)


@TWINS
def test_a_column_may_have_no_levels(twin):
    cells = _cells(50, 1, 0, 1, 2)._replace(starts=np.zeros(2, np.int64), tables=np.empty((2, 0)))
    without = cells._replace(levels=np.empty((50, 0), np.int8), starts=np.zeros(1, np.int64))
    _close(_forms(twin.columns_e_step(cells, np.zeros(2))), _forms(twin.columns_e_step(without, np.zeros(2))))


@TWINS
def test_a_row_of_no_weight_may_hold_anything(twin):
    cells, (log_weights, _) = _cells(300, 2, 1, 2, 3), _arguments(300, 3, "plain")
    weights = np.ones(300)
    weights[:2] = 0
    expected = twin.columns_e_step(cells, log_weights, weights)
    cells.x[0], cells.x[1], cells.features[:2] = np.inf, 1e300, np.nan
    _close(_forms(twin.columns_e_step(cells, log_weights, weights)), _forms(expected))


@TWINS
def test_a_row_that_nobody_can_have_shows_in_the_likelihood(twin):
    cells, (log_weights, _) = _cells(300, 2, 1, 2, 3), _arguments(300, 3, "plain")
    cells.x[7, 1] = np.inf
    assert not np.isfinite(twin.columns_e_step(cells, log_weights).log_likelihood)


@TWINS
@pytest.mark.parametrize("away", [0.0, 1e8])
@pytest.mark.parametrize("first", [0.0, 1e5])
def test_moments_keep_their_digits_whatever_the_components_begin_with(twin, away, first):
    """Far from zero, and of components that are a hundred thousand standard deviations from the rows."""
    cells = _cells(500, 1, 0, 0, 1, "holes")
    values = cells.x[~np.isnan(cells.x)] + away
    cells = cells._replace(x=cells.x + away, mean=np.array([[values.mean() + first]]), std=np.ones((1, 1)))
    weight, centre, shift, scatter = twin.columns_e_step(cells, np.zeros(1)).moments
    assert weight[0, 0] == len(values)
    np.testing.assert_allclose(centre + shift, values.mean(), rtol=1e-14)
    np.testing.assert_allclose(scatter, ((values - values.mean()) ** 2).sum(), rtol=1e-9)
