"""One EM pass of normals, linear families and tables, and the nearest centre: the twins agree, and both are right."""

import tracemalloc

import mpmath
import numpy as np
import pytest
from scipy.special import logsumexp

from suffice import kernels
from suffice.kernels.native import linear as native_linear
from suffice.kernels.native import primitives as native_primitives
from suffice.kernels.numpy import linear as numpy_linear
from suffice.kernels.numpy import primitives as numpy_primitives

TWINS = pytest.mark.parametrize("twin", [numpy_linear, native_linear], ids=["reference", "compiled"])
SHAPES = [(0, 2, 3), (1, 1, 1), (7, 3, 2), (241, 5, 9), (700, 1, 4), (1500, 10, 10), (900, 40, 33), (600, 17, 1)]
KINDS = ["plain", "weights", "row log-weights", "float32", "column-major"]


def _arguments(n, k, kind, seed=0):
    """Log-weights, (k,) or (n, k) with forbidden components, and weights, some of them 0."""
    rng = np.random.default_rng(seed)
    log_weights, weights = np.log(rng.dirichlet(np.ones(k))), None
    if kind == "row log-weights":
        log_weights = np.where(rng.random((n, k)) < 0.4, -np.inf, rng.normal(size=(n, k)))
        log_weights[np.arange(n), rng.integers(0, k, n)] = 0.0
    if kind in {"weights", "row log-weights"}:
        weights = rng.uniform(0, 2, n) * (rng.random(n) < 0.8)
    return log_weights, weights


def _rows(n, d, kind, seed=1):
    x = np.random.default_rng(seed).normal(size=(n, d)) * 2 + 5
    return {"float32": x.astype(np.float32), "column-major": np.asfortranarray(x)}.get(kind, x)


def _normals(k, d, seed=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(k, d)) + 5, rng.uniform(0.5, 2, (k, d))


def _close(ours, theirs, tolerance=1e-12):
    """Equal to the tolerance, beside the largest entry or 1."""
    for a, b in ((np.asarray(a), np.asarray(b)) for a, b in zip(ours, theirs, strict=True)):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(np.abs(b).max(initial=0), 1))


def _mean_form(expected):
    """The centre may be anywhere: centre + shift is what is meant."""
    value, entropy, weight, centre, shift, scatter = expected
    return value, entropy, weight, centre + shift, scatter


# -- the twins agree ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "d", "k"), SHAPES)
def test_normals_agree(n, d, k, kind):
    arguments = _rows(n, d, kind), *_normals(k, d), *_arguments(n, k, kind)
    ours = native_linear.normal_e_step(*arguments)
    _close(_mean_form(ours), _mean_form(numpy_linear.normal_e_step(*arguments)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("based", [False, True])
@pytest.mark.parametrize(("n", "m", "k"), SHAPES)
def test_linear_families_agree(n, m, k, based, kind):
    rng = np.random.default_rng(3)
    base = rng.normal(size=n) if based else None
    log_weights, weights = _arguments(n, k, kind)
    arguments = _rows(n, m, kind), rng.normal(size=(k, m)), rng.normal(size=k), base, log_weights, weights
    _close(native_linear.linear_e_step(*arguments), numpy_linear.linear_e_step(*arguments))


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2"])
@pytest.mark.parametrize("kind", ["plain", "row log-weights"])
@pytest.mark.parametrize("n_levels", [1, 2, 5, 40])
@pytest.mark.parametrize(("n", "d", "k"), SHAPES)
def test_tables_agree(n, d, k, n_levels, kind, dtype):
    rng = np.random.default_rng(4)
    levels = rng.integers(-1 if dtype[0] == "i" else 0, n_levels + 1, (n, d)).astype(dtype)
    tables = np.log(rng.dirichlet(np.ones(n_levels), (k, d)))
    tables[rng.random(tables.shape) < 0.02] = -np.inf
    tables[0] = np.log(1 / n_levels)
    log_weights, weights = _arguments(n, k, kind)
    if log_weights.ndim > 1:
        log_weights[:, 0] = -1.0
    arguments = levels, tables, log_weights, weights
    _close(native_linear.table_e_step(*arguments), numpy_linear.table_e_step(*arguments))


@pytest.mark.parametrize("kind", ["plain", "weights", "float32", "column-major"])
@pytest.mark.parametrize(("n", "d", "k"), [*SHAPES, (3000, 2, 8), (2000, 16, 64), (500, 4, 5), (10, 6, 30)])
def test_nearest_agrees(n, d, k, kind):
    x, centres, (_, weights) = _rows(n, d, kind), _rows(k, d, "plain", seed=5), _arguments(n, k, kind)
    ours, theirs = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    _close(native_linear.nearest(x, centres, weights, ours), numpy_linear.nearest(x, centres, weights, theirs))
    np.testing.assert_array_equal(ours, theirs)


# -- both are right ----------------------------------------------------------------------------------------------------


def _by_definition(logits, weights):
    """Log-likelihood, entropy and weights times responsibilities (n, k)."""
    log_sum = logsumexp(logits, axis=1, keepdims=True)
    r = np.exp(logits - log_sum)
    w = np.ones(len(logits)) if weights is None else weights
    return w @ log_sum[:, 0], -w @ np.where(r > 0, r * (logits - log_sum), 0).sum(axis=1), w[:, None] * r


@TWINS
@pytest.mark.parametrize("kind", ["plain", "weights"])
def test_normals_by_definition(twin, kind):
    x, (mean, std), (log_weights, weights) = _rows(800, 3, kind), _normals(4, 3), _arguments(800, 4, kind)
    logits = log_weights - 0.5 * (((x[:, None] - mean) / std) ** 2 + np.log(2 * np.pi * std**2)).sum(axis=2)
    value, entropy, r = _by_definition(logits, weights)
    new = r.T @ x / r.sum(axis=0)[:, None]
    scatter = np.einsum("nk,nkd->kd", r, (x[:, None] - new) ** 2)
    ours = twin.normal_e_step(x, mean, std, log_weights, weights)
    _close(_mean_form(ours), (value, entropy, r.sum(axis=0), new, scatter))


@TWINS
@pytest.mark.parametrize("kind", ["plain", "weights"])
def test_tables_by_definition(twin, kind):
    rng = np.random.default_rng(6)
    levels, tables = rng.integers(-1, 3, (500, 4)), np.log(rng.dirichlet(np.ones(3), (2, 4)))
    log_weights, weights = _arguments(500, 2, kind)
    logits, one_hot = np.tile(log_weights, (500, 1)), levels[:, :, None] == np.arange(3)
    logits += np.einsum("ndl,kdl->nk", one_hot, tables)
    value, entropy, r = _by_definition(logits, weights)
    counts = np.einsum("nk,ndl->kdl", r, one_hot)
    _close(twin.table_e_step(levels, tables, log_weights, weights), (value, entropy, r.sum(axis=0), counts))


@TWINS
@pytest.mark.parametrize("kind", ["plain", "weights"])
def test_the_bound_is_tight(twin, kind):
    """Log L = expected complete log-likelihood, from the statistics alone, + entropy."""
    n, d, k = 2000, 4, 5
    (mean, std), (log_weights, weights) = _normals(k, d), _arguments(n, k, kind)
    value, entropy, weight, centre, shift, scatter = twin.normal_e_step(
        _rows(n, d, kind), mean, std, log_weights, weights
    )
    squares = scatter + weight[:, None] * (centre + shift - mean) ** 2
    cells = -0.5 * squares / std**2 - weight[:, None] * (np.log(std) + 0.5 * np.log(2 * np.pi))
    assert value == pytest.approx(cells.sum() + weight @ log_weights + entropy, rel=1e-12)
    rng = np.random.default_rng(7)
    x, eta, offset, base = rng.poisson(3, (n, d)).astype(float), rng.normal(size=(k, d)), rng.normal(size=k), np.ones(n)
    value, entropy, weight, total = twin.linear_e_step(x, eta, offset, base, log_weights, weights)
    complete = (eta * total).sum() + weight @ (log_weights - offset) + weight.sum()
    assert value == pytest.approx(complete + entropy, rel=1e-12)
    levels, tables = rng.integers(0, 3, (n, d)), np.log(rng.dirichlet(np.ones(3), (k, d)))
    value, entropy, weight, counts = twin.table_e_step(levels, tables, log_weights, weights)
    assert value == pytest.approx((tables * counts).sum() + weight @ log_weights + entropy, rel=1e-12)


@TWINS
@pytest.mark.parametrize("apart", [0.0, 3.0, 1e5, 1e7])
def test_nothing_is_lost_far_from_the_origin(twin, apart):
    """Rows at 1e8, components up to 1e7 standard deviations apart, against 50 digits."""
    rng = np.random.default_rng(8)
    n, mean, std = 200, np.array([[1e8], [1e8 + apart]]), np.array([[1.0], [0.7]])
    x = (mean[rng.integers(0, 2, n)] + rng.normal(size=(n, 1))).round(6)
    value, entropy, weight, centre, shift, scatter = twin.normal_e_step(x, mean, std, np.log([0.5, 0.5]))
    with mpmath.workdps(50):
        cells, shares, exact = [mpmath.mpf(float(v)) for v in x[:, 0]], [], mpmath.mpf(0)
        for cell in cells:
            density = [mpmath.npdf(cell, float(m), float(s)) / 2 for m, s in zip(mean[:, 0], std[:, 0], strict=True)]
            exact += mpmath.log(sum(density))
            shares.append([p / sum(density) for p in density])
        assert value == pytest.approx(float(exact), rel=1e-12)
        bound = -sum(r * mpmath.log(r) for row in shares for r in row if r > 0)
        assert entropy == pytest.approx(float(bound), rel=1e-9, abs=1e-12)
        for k in range(2):
            total = sum(row[k] for row in shares)
            new = sum(row[k] * cell for row, cell in zip(shares, cells, strict=True)) / total
            squares = sum(row[k] * (cell - new) ** 2 for row, cell in zip(shares, cells, strict=True))
            assert weight[k] == pytest.approx(float(total), rel=1e-12)
            assert abs(float(mpmath.mpf(centre[k, 0]) + mpmath.mpf(shift[k, 0]) - new)) < 1e-9
            assert scatter[k, 0] == pytest.approx(float(squares), rel=1e-9)


@TWINS
def test_a_broad_component_far_from_the_rows_keeps_the_variance(twin):
    x = np.random.default_rng(9).normal(size=(5000, 2)) + 1e8
    _, _, weight, centre, shift, scatter = twin.normal_e_step(x, np.zeros((1, 2)), np.full((1, 2), 1e9), np.zeros(1))
    np.testing.assert_allclose(scatter[0], ((x - x.mean(axis=0)) ** 2).sum(axis=0), rtol=1e-9)
    np.testing.assert_allclose((centre + shift)[0] - 1e8, (x - 1e8).mean(axis=0), atol=1e-7)
    assert weight[0] == pytest.approx(5000, rel=1e-14)


@TWINS
def test_one_row_far_away_costs_the_others_no_digit(twin):
    x = np.random.default_rng(10).normal(size=(3000, 1))
    x[0] = 1e9
    mean, std = np.array([[0.0], [1e9]]), np.ones((2, 1))
    _, _, weight, centre, shift, scatter = twin.normal_e_step(x, mean, std, np.log([0.5, 0.5]))
    np.testing.assert_allclose(weight, [2999, 1], rtol=1e-13)
    np.testing.assert_allclose(scatter[0, 0], ((x[1:] - x[1:].mean()) ** 2).sum(), rtol=1e-10)
    np.testing.assert_allclose((centre + shift)[:, 0], [x[1:].mean(), 1e9], rtol=1e-10)
    assert scatter[1, 0] < 1e-9


# -- what is impossible, missing, forbidden or not finite --------------------------------------------------------------


@TWINS
def test_a_forbidden_component_gets_nothing_at_all(twin):
    x, (mean, std) = _rows(500, 3, "plain"), _normals(3, 3)
    log_weights = np.array([0.0, -np.inf, -1.0])
    expected = twin.normal_e_step(x, mean, std, log_weights)
    assert expected[2][1] == 0
    assert (expected[5][1] == 0).all()
    two = twin.normal_e_step(x, mean[[0, 2]], std[[0, 2]], log_weights[[0, 2]])
    _close((*expected[:2], expected[2][[0, 2]]), two[:3])


@TWINS
def test_an_impossible_row_shows_and_adds_nothing(twin):
    rng = np.random.default_rng(11)
    levels, tables = rng.integers(0, 2, (300, 3)), np.log(rng.dirichlet(np.ones(3), (2, 3)))
    tables[:, 1, 2] = -np.inf
    possible = twin.table_e_step(levels, tables, np.log([0.3, 0.7]))
    value, *rest = twin.table_e_step(np.vstack([levels, [0, 2, 0]]), tables, np.log([0.3, 0.7]))
    assert value == -np.inf
    _close(rest, possible[1:])
    weights = np.append(np.ones(300), 0.0)
    _close(twin.table_e_step(np.vstack([levels, [0, 2, 0]]), tables, np.log([0.3, 0.7]), weights), possible)
    base = np.append(np.zeros(300), -np.inf)
    value, _, weight, _ = twin.linear_e_step(np.ones((301, 1)), np.ones((2, 1)), np.zeros(2), base, np.zeros(2))
    assert value == -np.inf
    assert weight.sum() == pytest.approx(300)


@TWINS
def test_missing_levels_are_left_out(twin):
    rng = np.random.default_rng(12)
    levels, tables = rng.integers(0, 4, (400, 3)), np.log(rng.dirichlet(np.ones(4), (3, 3)))
    levels[:, 1] = -1
    log_weights = np.log([0.2, 0.3, 0.5])
    value, entropy, weight, counts = twin.table_e_step(levels, tables, log_weights)
    without = twin.table_e_step(levels[:, [0, 2]], tables[:, [0, 2]], log_weights)
    assert (counts[:, 1] == 0).all()
    _close((value, entropy, weight, counts[:, [0, 2]]), without)


@TWINS
@pytest.mark.parametrize("cell", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, 450])
def test_cells_that_are_not_finite_show(twin, cell, row):
    x, (mean, std) = _rows(500, 3, "plain"), _normals(3, 3)
    x[row, 1] = cell
    assert not np.isfinite(twin.normal_e_step(x, mean, std, np.zeros(3))[0])
    assert not np.isfinite(twin.linear_e_step(x, mean, np.zeros(3), None, np.zeros(3))[0])
    assert not np.isfinite(twin.nearest(x, mean)[0])


@TWINS
@pytest.mark.parametrize("cell", [np.nan, np.inf, 1e300])
def test_a_row_of_no_weight_does_no_harm(twin, cell):
    x, (mean, std), weights = _rows(500, 3, "plain"), _normals(3, 3), np.ones(500)
    log_weights = np.zeros((500, 3))
    x[[0, 77]], weights[[0, 77]], log_weights[77] = cell, 0.0, -np.inf
    kept = weights > 0
    ours = twin.normal_e_step(x, mean, std, log_weights, weights)
    _close(_mean_form(ours), _mean_form(twin.normal_e_step(x[kept], mean, std, log_weights[kept])))
    ours = twin.linear_e_step(x, mean, np.zeros(3), None, log_weights, weights)
    _close(ours, twin.linear_e_step(x[kept], mean, np.zeros(3), None, log_weights[kept]))
    _close(twin.nearest(x, mean, weights), twin.nearest(x[kept], mean))


# -- the nearest centre ------------------------------------------------------------------------------------------------


@TWINS
@pytest.mark.parametrize("d", [1, 4, 6])
def test_the_first_of_equally_near_centres_wins(twin, d):
    """Whole numbers, with rows halfway between centres and centres that occur twice."""
    rng = np.random.default_rng(13)
    x, centres = rng.integers(-3, 4, (2000, d)).astype(float), 2.0 * rng.integers(-2, 3, (25, d))
    centres[20] = centres[3]
    codes = np.empty(2000, np.int32)
    inertia, weight, total = twin.nearest(x, centres, codes=codes)
    distances = ((x[:, None] - centres) ** 2).sum(axis=2)
    np.testing.assert_array_equal(codes, distances.argmin(axis=1))
    assert inertia == distances.min(axis=1).sum()
    np.testing.assert_array_equal(weight, np.bincount(codes, minlength=25))
    np.testing.assert_allclose(total, [(x[codes == k] - c).sum(axis=0) for k, c in enumerate(centres)], atol=1e-9)


@TWINS
def test_more_centres_than_distinct_rows(twin):
    x = np.repeat(np.eye(6), 50, axis=0)
    centres = np.vstack([np.eye(6), np.eye(6), np.full((1, 6), 9.0)])
    inertia, weight, total = twin.nearest(x, centres)
    assert inertia == 0
    np.testing.assert_array_equal(weight, [50] * 6 + [0] * 7)
    assert (total == 0).all()


@TWINS
@pytest.mark.parametrize("far", [0.0, 1e8])
def test_near_centres_are_distinguished_beside_one_far_away(twin, far):
    """Single precision about a pilot cannot tell them apart: the search must notice."""
    rng = np.random.default_rng(14)
    centres = rng.normal(size=(12, 7)) + 1e8
    centres[5] += 1e3 * far
    x = centres[rng.integers(0, 12, 3000)] + 0.1 * rng.normal(size=(3000, 7))
    codes = np.empty(3000, np.int32)
    inertia, _, _ = twin.nearest(x, centres, codes=codes)
    exact = ((x[:, None] - centres) ** 2).sum(axis=2)
    np.testing.assert_array_equal(codes, exact.argmin(axis=1))
    assert inertia == pytest.approx(exact.min(axis=1).sum(), rel=1e-12)


# -- the engine's view -------------------------------------------------------------------------------------------------


def test_passes_are_repeatable_and_hold_no_row_by_component_array(monkeypatch):
    n, d, k = 60_000, 4, 16
    rng = np.random.default_rng(15)
    x, (mean, std), codes = rng.normal(size=(n, d)), _normals(k, d), np.empty(n, np.int32)
    levels, tables = rng.integers(0, 3, (n, d), np.int8), np.log(rng.dirichlet(np.ones(3), (k, d)))
    calls = {
        "normal_e_step": lambda: kernels.normal_e_step(x, mean, std, np.zeros(k)),
        "linear_e_step": lambda: kernels.linear_e_step(x, mean, std[:, 0], None, np.zeros(k)),
        "table_e_step": lambda: kernels.table_e_step(levels, tables, np.zeros(k)),
        "nearest": lambda: kernels.nearest(x, mean, codes=codes),
    }
    for twin in ("reference", "compiled"):
        monkeypatch.setenv("SUFFICE_KERNELS", twin)
        for name, call in calls.items():
            first = call()
            tracemalloc.start()
            second = call()
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < n * k * 8 / 2, name
            assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True)), name


def test_a_pass_is_what_its_parts_are():
    """Densities, softmax and weighted moments, one after the other, by other kernels."""
    x, (mean, std), log_weights = _rows(3000, 5, "plain"), _normals(4, 5), np.log(np.full(4, 0.25))
    for twin, parts in ((numpy_linear, numpy_primitives), (native_linear, native_primitives)):
        value, entropy, r = _by_definition(parts.normal_log_prob(x, mean, std) + log_weights, None)
        weight, centre, shift, scatter = parts.moments(x, r)
        ours = twin.normal_e_step(x, mean, std, log_weights)
        _close(_mean_form(ours), (value, entropy, weight[:, 0], centre + shift, scatter))


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("kind", ["spread", "lattice", "far", "one tie", "float32", "hole"])
def test_few_centres_in_the_plane_have_their_rows(k, kind):
    """What is gathered without codes is what the codes say, where rows are as near to two centres too."""
    rng = np.random.default_rng(k)
    x = rng.normal(size=(2000, 2)) + (1e8 if kind == "far" else 0.0)
    if kind == "lattice":
        x = rng.integers(-3, 4, size=(2000, 2)).astype(float)
    centres = x[:k].copy() if kind != "lattice" else rng.integers(-3, 4, size=(k, 2)).astype(float)
    if kind == "one tie" and k > 1:
        x[1234] = (centres[0] + centres[1]) / 2
        centres[1] = 2 * x[1234] - centres[0]
    x = x.astype(np.float32) if kind == "float32" else x
    if kind == "hole":
        x[777, 1] = np.nan
        assert not np.isfinite(native_linear.nearest(x, centres)[0])
        return
    codes = np.zeros(len(x), np.int32)
    known = native_linear.nearest(x, centres, codes=codes)
    found = native_linear.nearest(x, centres)
    _close(found, known)
    np.testing.assert_array_equal(found[1], np.bincount(codes, minlength=k))
    _close(found, numpy_linear.nearest(x, centres))
