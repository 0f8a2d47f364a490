"""Both twins against exact rational arithmetic, far from the origin and in the cases that defeat short cuts."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from suffice import kernels
from suffice.kernels.native import primitives as native_primitives
from suffice.kernels.numpy import primitives as numpy_primitives

N = 3000
TWINS = pytest.mark.parametrize("twin", [numpy_primitives, native_primitives])


def _exact(x, weights):
    """Weight, mean and Σ w (x − mean)² of one column, without rounding."""
    return _sums(tuple(x.tolist()), tuple(weights.tolist()))


@cache  # rational arithmetic is slow, and both twins are held to the same numbers
def _sums(x, weights):
    cells = [(Fraction(w), Fraction(v)) for v, w in zip(x, weights, strict=True) if v == v]  # noqa: PLR0124
    weight = sum(w for w, _ in cells)
    mean = sum(w * v for w, v in cells) / weight
    return weight, mean, sum(w * (v - mean) ** 2 for w, v in cells)


def _check(moments, component, column, x, weights, tolerance=1e-13):
    weight, mean, scatter = _exact(x, weights)
    ours = [float(part[component, column]) for part in moments]
    assert abs(Fraction(ours[0]) - weight) <= tolerance * weight
    assert abs(Fraction(ours[3]) - scatter) <= tolerance * scatter
    std = float(scatter / weight) ** 0.5
    assert abs(float(Fraction(ours[1]) + Fraction(ours[2]) - mean)) <= tolerance * std


def _data(name):
    rng = np.random.default_rng(5)
    x = rng.normal(size=N)
    return {
        "near": x,
        "far": x + 1e8,
        "very far": np.round(x * 64) / 64 + 2.0**46,
        "sorted": np.sort(x) * 1e6,
        "one far away": np.where(np.arange(N) == 0, 1e7, x),
        "two places": np.where(np.arange(N) < N // 2, x, x + 1e9),
        "holes": np.where(rng.random(N) < 0.4, np.nan, x + 1e8),
        "first missing": np.where(np.arange(N) < N // 2, np.nan, x + 1e8),
    }[name]


DATA = ["near", "far", "very far", "sorted", "one far away", "two places", "holes", "first missing"]


@TWINS
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("width", [1, 20])
def test_moments_without_weights(twin, data, width):
    x = np.random.default_rng(0).normal(size=(N, width))
    x[:, -1] = _data(data)
    _check(twin.moments(x), 0, -1, x[:, -1], np.ones(N))


@TWINS
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("width", [1, 20])
def test_moments_with_weights(twin, data, width):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(N, width))
    x[:, -1] = _data(data)
    weights = rng.gamma(0.3, size=(N, 2)) + 1e-3
    for component, moments in enumerate(
        [twin.moments(x, weights), twin.moments(x, np.ascontiguousarray(weights[:, 0]))]
    ):
        _check(moments, 1 - component, -1, x[:, -1], weights[:, 1 - component])


@TWINS
@pytest.mark.parametrize("data", DATA)
def test_moments_of_coded_rows(twin, data):
    rng = np.random.default_rng(2)
    x, weights, codes = _data(data)[:, None], rng.gamma(0.3, size=N) + 1e-3, rng.integers(-1, 3, N)
    moments = twin.moments(x, weights, codes, 3)
    for component in range(3):
        _check(moments, component, 0, x[codes == component, 0], weights[codes == component])


@TWINS
@pytest.mark.parametrize("data", DATA[:6])
@pytest.mark.parametrize("weighted", [False, True])
def test_scatter_matrix(twin, data, weighted):
    rng = np.random.default_rng(3)
    first, second = _data(data), rng.normal(size=N) + 1e8
    x, weights = np.column_stack([first, second]), rng.gamma(0.3, size=N) + 1e-3
    weight, centre, shift, scatter = twin.scatter(x, weights if weighted else None)
    weights = weights if weighted else np.ones(N)
    for column in (0, 1):
        moments = (weight[:, None].repeat(2, 1), centre, shift, np.diagonal(scatter, axis1=1, axis2=2))
        _check(moments, 0, column, x[:, column], weights)
    w, a, b = ([Fraction(v) for v in part.tolist()] for part in (weights, first, second))
    mean_a, mean_b = (sum(u * v for u, v in zip(w, part, strict=True)) / sum(w) for part in (a, b))
    product = sum(u * (v - mean_a) * (z - mean_b) for u, v, z in zip(w, a, b, strict=True))
    scale = np.sqrt(scatter[0, 0, 0] * scatter[0, 1, 1])
    assert abs(float(Fraction(scatter[0, 0, 1]) - product)) <= 1e-13 * scale


@TWINS
def test_a_heavy_neighbour_of_no_weight_costs_no_digit(twin):
    """The first row is 1e200 and weighs next to nothing: a pivot there would leave nothing of the others."""
    x = np.random.default_rng(4).normal(size=(N, 1)) + 3
    x[0] = 1e200
    weights = np.ones((N, 2))
    weights[0] = [0.0, 1e-300]
    for part in (weights, weights[:, 0].copy()):
        _check(twin.moments(x, part), 0, 0, x[1:, 0], np.ones(N - 1))
    _check(twin.moments(x, weights[:, 0].copy(), np.zeros(N, int), 1), 0, 0, x[1:, 0], np.ones(N - 1))


@TWINS
@pytest.mark.parametrize("width", [1, 3, 40])
def test_constant_columns_have_no_scatter_at_all(twin, width):
    x = np.full((5000, width), 0.1)
    rng = np.random.default_rng(6)
    codes = rng.integers(0, 3, len(x))
    x[:, 0] += codes  # constant within each component
    for arguments in (
        {"codes": codes, "n_components": 3},
        {"codes": codes, "n_components": 3, "weights": rng.random(len(x))},
    ):
        assert (twin.moments(x, **arguments)[3] == 0).all()
        assert (twin.scatter(x, **arguments)[3] == 0).all()
    x[:, 0] = 0.1
    for weights in (None, rng.random(len(x)), rng.random((len(x), 2))):
        _, centre, shift, scatter = twin.moments(x, weights)
        assert (scatter == 0).all()
        assert (centre + shift == 0.1).all()


@TWINS
def test_missing_cells_are_absent(twin):
    rng = np.random.default_rng(7)
    x = np.where(rng.random((N, 2)) < 0.3, np.nan, rng.normal(size=(N, 2)))
    weights = rng.random(N)
    both = twin.moments(x, weights)
    low_high = twin.extremes(x, weights)
    for column in range(2):
        seen = ~np.isnan(x[:, column])
        alone = twin.moments(x[seen, column : column + 1], weights[seen])
        np.testing.assert_allclose(both[0][:, column], alone[0][:, 0], rtol=1e-13)
        np.testing.assert_allclose(both[3][:, column], alone[3][:, 0], rtol=1e-12)
        assert low_high[1][0, column] == x[seen, column].min()
        assert low_high[2][0, column] == x[seen, column].max()


@pytest.mark.parametrize("cut", [0, 1, 700, N])
@pytest.mark.parametrize("name", ["moments", "scatter"])
def test_merging_two_parts_is_the_whole(name, cut):
    x = np.random.default_rng(8).normal(size=(N, 3)) + 1e8
    kernel = getattr(numpy_primitives, name)
    merged, whole = kernels.merge(kernel(x[:cut]), kernel(x[cut:])), kernel(x)
    np.testing.assert_allclose(merged[0], whole[0], rtol=1e-15)
    np.testing.assert_allclose((merged[1] - whole[1]) + (merged[2] - whole[2]), 0, atol=1e-14)
    np.testing.assert_allclose(merged[3], whole[3], rtol=0, atol=1e-13 * N)


@TWINS
def test_densities_are_scipys(twin):
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(9)
    x, mean = rng.normal(size=(500, 5)) + 1e6, rng.normal(size=(2, 5)) + 1e6
    root = np.tril(rng.normal(size=(2, 5, 5))) + 3 * np.eye(5)
    whiten = np.linalg.inv(root)
    log_det = np.log(np.abs(np.diagonal(whiten, axis1=1, axis2=2))).sum(axis=1)
    ours = twin.gaussian_log_prob(x, mean, whiten, log_det)
    for component in range(2):
        cov = root[component] @ root[component].T
        expected = stats.multivariate_normal(mean[component], cov).logpdf(x)
        np.testing.assert_allclose(ours[:, component], expected, rtol=1e-9)
    std = rng.uniform(0.5, 2, (2, 5))
    expected = stats.norm.logpdf(x[:, None], mean, std).sum(axis=-1)
    np.testing.assert_allclose(twin.normal_log_prob(x, mean, std), expected, rtol=1e-12)
    x[0] = np.nan
    assert (twin.normal_log_prob(x, mean, std)[0] == 0).all()
