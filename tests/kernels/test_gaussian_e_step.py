"""The fused pass of EM over Gaussian components: both twins, and what holds whatever the rows."""

import tracemalloc

import mpmath
import numpy as np
import pytest

from suffice.kernels.native import gaussian as native_gaussian
from suffice.kernels.numpy import gaussian as numpy_gaussian

TWINS = pytest.mark.parametrize("twin", [numpy_gaussian, native_gaussian])
SHAPES = [(1, 1), (2, 3), (3, 5), (5, 2), (10, 10), (16, 16), (20, 33), (31, 4), (32, 5), (33, 7), (50, 6), (70, 3)]


def _problem(d, k, n=700, seed=0, apart=2.0):
    """Rows of k overlapping components, and their parameters."""
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=(k, d)) * apart / np.sqrt(d)
    root = np.tril(rng.normal(size=(k, d, d)), -1) * 0.3 / np.sqrt(d) + np.eye(d) * rng.uniform(0.5, 2, (k, 1, d))
    component = rng.integers(k, size=n)
    x = mean[component] + np.einsum("nij,nj->ni", root[component], rng.normal(size=(n, d)))
    return x, (mean, *_whiten(root), np.log(rng.dirichlet(np.full(k, 3.0))))


def _whiten(root):
    inverse = np.tril(np.linalg.inv(root))
    return inverse, np.log(np.abs(np.diagonal(inverse, axis1=-2, axis2=-1))).sum(axis=-1)


def _tied(parameters):
    mean, whiten, log_det, log_weights = parameters
    return mean, whiten[0], float(log_det[0]), log_weights


def _row_log_weights(n, k, seed=1):
    """Log-weights of each row's own: a third of the components is forbidden, never the first."""
    rng = np.random.default_rng(seed)
    out = np.where(rng.random((n, k)) < 1 / 3, -np.inf, rng.normal(size=(n, k)))
    out[:, 0] = rng.normal(size=n)
    return out


def _weights(n, seed=2):
    rng = np.random.default_rng(seed)
    return rng.gamma(0.5, size=n) * (rng.random(n) < 0.8)


def _close(ours, theirs, tolerance=1e-12):
    """Equal but for some of the size: of a standard deviation for a mean, of the diagonal for a scatter."""
    rows = max(theirs[2].sum(), 1)
    assert ours[0] == pytest.approx(theirs[0], rel=tolerance)
    assert ours[1] == pytest.approx(theirs[1], rel=tolerance, abs=tolerance * rows)
    np.testing.assert_allclose(ours[2], theirs[2], rtol=tolerance, atol=tolerance * tolerance * rows)
    some = theirs[2] > 1e-6 * rows
    per = np.maximum(theirs[2][:, None], 1e-300) if len(theirs[5]) > 1 else rows
    std = np.sqrt(np.diagonal(theirs[5], axis1=1, axis2=2) / per)
    apart = (ours[3] - theirs[3]) + (ours[4] - theirs[4])
    assert (np.abs(apart) <= tolerance * (std + 1e-3 * np.abs(theirs[3])))[some].all()
    for ours_, theirs_ in zip(ours[5], theirs[5], strict=True):
        size = np.sqrt(np.diagonal(theirs_))
        np.testing.assert_allclose(ours_, theirs_, rtol=0, atol=tolerance * (size[:, None] * size).max())


@pytest.mark.parametrize("own", [False, True], ids=["log-weights", "own log-weights"])
@pytest.mark.parametrize("weighted", [False, True], ids=["even", "weighted"])
@pytest.mark.parametrize(("d", "k"), SHAPES)
def test_compiled_is_the_reference(d, k, weighted, own):
    x, parameters = _problem(d, k)
    weights = _weights(len(x)) if weighted else None
    if own:
        parameters = (*parameters[:3], _row_log_weights(len(x), k))
    ours = native_gaussian.gaussian_e_step(x, *parameters, weights)
    _close(ours, numpy_gaussian.gaussian_e_step(x, *parameters, weights))
    assert (ours[5] == ours[5].swapaxes(1, 2)).all()
    ours = native_gaussian.tied_gaussian_e_step(x, *_tied(parameters), weights)
    _close(ours, numpy_gaussian.tied_gaussian_e_step(x, *_tied(parameters), weights))
    assert (ours[5] == ours[5].swapaxes(1, 2)).all()


@pytest.mark.parametrize("n", [0, 1, 2, 23, 24, 25, 191, 192, 193, 1000])
@pytest.mark.parametrize("d", [2, 40])
def test_any_number_of_rows(n, d):
    x, parameters = _problem(d, 3)
    x = np.vstack([x, x])[:n]
    for name, arguments in (("gaussian_e_step", parameters), ("tied_gaussian_e_step", _tied(parameters))):
        ours = getattr(native_gaussian, name)(x, *arguments)
        theirs = getattr(numpy_gaussian, name)(x, *arguments)
        if n < 3:
            np.testing.assert_allclose(ours[2], theirs[2], rtol=1e-12)
            assert ours[0] == pytest.approx(theirs[0], rel=1e-12)
        else:
            _close(ours, theirs)


@pytest.mark.parametrize("layout", ["float32", "column-major", "every other column", "read-only", "integers"])
def test_any_memory(layout):
    x, parameters = _problem(5, 4)
    if layout == "float32":
        x = x.astype(np.float32)
    elif layout == "column-major":
        x = np.asfortranarray(x)
    elif layout == "every other column":
        x = np.repeat(x, 2, axis=1)[:, ::2]
    elif layout == "integers":
        x = np.round(3 * x).astype(np.int64)
    else:
        x.flags.writeable = False
    plain = np.ascontiguousarray(x, np.float64)
    for name, arguments in (("gaussian_e_step", parameters), ("tied_gaussian_e_step", _tied(parameters))):
        _close(getattr(native_gaussian, name)(x, *arguments), getattr(numpy_gaussian, name)(plain, *arguments))


def _exactly(x, mean, whiten, log_det, log_weights):
    """Log-likelihood, entropy, weights, means and scatter with fifty digits."""
    with mpmath.workdps(50):
        k, d = mean.shape
        rows = [[mpmath.mpf(v) for v in row] for row in x.tolist()]
        likelihood, entropy, shares = mpmath.mpf(0), mpmath.mpf(0), []
        for row in rows:
            logits = []
            for j in range(k):
                z = [
                    sum(
                        mpmath.mpf(float(whiten[j, a, b])) * (row[b] - mpmath.mpf(float(mean[j, b])))
                        for b in range(a + 1)
                    )
                    for a in range(d)
                ]
                constant = mpmath.mpf(float(log_weights[j])) + mpmath.mpf(float(log_det[j]))
                logits.append(constant - d * mpmath.log(2 * mpmath.pi) / 2 - sum(v * v for v in z) / 2)
            log_sum = mpmath.log(sum(mpmath.exp(v) for v in logits))
            shares.append([mpmath.exp(v - log_sum) for v in logits])
            likelihood += log_sum
            entropy -= sum(r * (v - log_sum) for r, v in zip(shares[-1], logits, strict=True))
        weight = [sum(r[j] for r in shares) for j in range(k)]
        means = [
            [sum(r[j] * row[a] for r, row in zip(shares, rows, strict=True)) / weight[j] for a in range(d)]
            for j in range(k)
        ]
        scatter = [
            [
                [
                    sum(
                        r[j] * (row[a] - means[j][a]) * (row[b] - means[j][b])
                        for r, row in zip(shares, rows, strict=True)
                    )
                    for b in range(d)
                ]
                for a in range(d)
            ]
            for j in range(k)
        ]
    return likelihood, entropy, weight, means, scatter


@TWINS
@pytest.mark.parametrize("apart", [3.0, 1e3, 1e6])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_far_components_keep_their_digits(twin, apart, offset):
    """Two components ``apart`` standard deviations from each other, each with a neighbour, in units of 1e-3 and 1e3."""
    rng = np.random.default_rng(3)
    unit = np.array([1e-3, 1e3])
    place = np.array([[0.0, 0.0], [1.0, 0.5], [apart, -apart], [apart + 1.0, -apart]])
    root = np.array(
        [[[1.0, 0.0], [0.6, 0.8]], [[0.7, 0.0], [-0.3, 1.1]], [[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.0], [0.2, 0.6]]]
    )
    component = np.arange(120) % 4
    x = (place[component] + np.einsum("nij,nj->ni", root[component], rng.normal(size=(120, 2)))) * unit + offset * unit
    mean = place * unit + offset * unit
    whiten, log_det = _whiten(root * unit[:, None])
    log_weights = np.log([0.1, 0.2, 0.3, 0.4])
    likelihood, entropy, weight, means, scatter = _exactly(x, mean, whiten, log_det, log_weights)
    ours = twin.gaussian_e_step(x, mean, whiten, log_det, log_weights)
    assert ours[0] == pytest.approx(float(likelihood), rel=1e-10)
    assert ours[1] == pytest.approx(float(entropy), rel=1e-9)
    np.testing.assert_allclose(ours[2], [float(v) for v in weight], rtol=1e-9)
    for j in range(4):
        size = np.sqrt([float(scatter[j][a][a]) for a in range(2)])
        for a in range(2):
            with mpmath.workdps(50):
                off = mpmath.mpf(float(ours[3][j, a])) + mpmath.mpf(float(ours[4][j, a])) - means[j][a]
            assert abs(float(off)) <= 1e-10 * size[a]
            for b in range(2):
                assert abs(float(ours[5][j, a, b] - scatter[j][a][b])) <= 1e-9 * size[a] * size[b]


@pytest.mark.parametrize("case", ["far components", "far rows", "constant rows"])
def test_what_would_lose_digits_goes_by_the_definition(case, monkeypatch):
    """The fused loops are not asked, or their answer is not used; an ordinary problem uses it."""
    x, (mean, whiten, log_det, log_weights) = _problem(3, 3)
    if case == "far components":
        mean = mean + np.array([0.0, 0.0, 1e5])[:, None]
    elif case == "far rows":
        x = 1e5 + x
    else:
        x = np.ones_like(x)
    parameters = mean, whiten, log_det, log_weights
    _close(native_gaussian.gaussian_e_step(x, *parameters), numpy_gaussian.gaussian_e_step(x, *parameters))
    asked = []
    monkeypatch.setattr(native_gaussian, "centred_e_step", lambda *_: asked.append(1) or [None] * 5 + [np.zeros(1)])
    native_gaussian.gaussian_e_step(x, *parameters)
    native_gaussian.tied_gaussian_e_step(x, *_tied(parameters))
    assert len(asked) == 2
    x, parameters = _problem(3, 3)
    native_gaussian.gaussian_e_step(x, *parameters)
    native_gaussian.tied_gaussian_e_step(x, *_tied(parameters))
    assert len(asked) == 2


@TWINS
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("d", "k"), [(2, 3), (10, 10), (40, 4)])
def test_the_bound_is_tight(twin, d, k, weighted):
    """Log L = Σ_k [weight log-weight + expected log density] + entropy, from the statistics alone."""
    x, (mean, whiten, log_det, log_weights) = _problem(d, k, seed=4)
    weights = _weights(len(x)) if weighted else None
    likelihood, entropy, weight, centre, shift, scatter = twin.gaussian_e_step(
        x, mean, whiten, log_det, log_weights, weights
    )
    apart = np.einsum("kij,kj->ki", whiten, (centre - mean) + shift)
    distance = np.einsum("kij,kjl,kil->k", whiten, scatter, whiten) + weight * (apart**2).sum(axis=1)
    density = weight * (log_det - 0.5 * d * np.log(2 * np.pi)) - 0.5 * distance
    assert weight @ log_weights + density.sum() + entropy == pytest.approx(likelihood, rel=1e-12)


@TWINS
def test_pooled_scatter_is_the_sum_of_the_components(twin):
    x, (mean, whiten, log_det, log_weights) = _problem(6, 5)
    weights = _weights(len(x))
    alike = np.broadcast_to(whiten[0], whiten.shape), np.full(5, log_det[0])
    full = twin.gaussian_e_step(x, mean, *alike, log_weights, weights)
    tied = twin.tied_gaussian_e_step(x, mean, whiten[0], float(log_det[0]), log_weights, weights)
    _close(tied, (*full[:5], full[5].sum(axis=0, keepdims=True)))


@TWINS
@pytest.mark.parametrize("d", [3, 40])
@pytest.mark.parametrize("name", ["gaussian_e_step", "tied_gaussian_e_step"])
def test_weights_are_repetitions_and_no_weight_is_no_row(twin, name, d):
    x, parameters = _problem(d, 3)
    parameters = parameters if name == "gaussian_e_step" else _tied(parameters)
    times = np.random.default_rng(5).integers(0, 3, len(x))
    expected = getattr(twin, name)(np.repeat(x, times, axis=0), *parameters)
    x[times == 0] = np.nan
    _close(getattr(twin, name)(x, *parameters, times.astype(float)), expected)
    own = np.where((times == 0)[:, None], -np.inf, np.broadcast_to(parameters[3], (len(x), 3)))
    _close(getattr(twin, name)(x, *parameters[:3], own, times.astype(float)), expected)


@TWINS
@pytest.mark.parametrize("d", [3, 40])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_cells_that_are_not_finite_show_in_the_log_likelihood(twin, value, d):
    for row in (0, 350, 699):
        x, parameters = _problem(d, 3)
        x[row, d - 1] = value
        assert not np.isfinite(twin.gaussian_e_step(x, *parameters)[0])
        assert not np.isfinite(twin.tied_gaussian_e_step(x, *_tied(parameters))[0])


@TWINS
@pytest.mark.parametrize("d", [3, 40])
@pytest.mark.parametrize("name", ["gaussian_e_step", "tied_gaussian_e_step"])
def test_forbidden_components_and_impossible_rows(twin, name, d):
    x, parameters = _problem(d, 4)
    mean, whiten, log_det, log_weights = parameters if name == "gaussian_e_step" else _tied(parameters)
    forbidden = log_weights.copy()
    forbidden[2] = -np.inf
    result = getattr(twin, name)(x, mean, whiten, log_det, forbidden)
    assert result[2][2] == 0
    assert (result[3][2] == 0).all()
    assert (result[4][2] == 0).all()
    assert np.isfinite(result[0])
    own = np.broadcast_to(log_weights, (len(x), 4)).copy()
    own[[3, 400]] = -np.inf
    rest = np.delete(np.arange(len(x)), [3, 400])
    result = getattr(twin, name)(x, mean, whiten, log_det, own)
    expected = getattr(twin, name)(x[rest], mean, whiten, log_det, log_weights)
    assert result[0] == -np.inf
    _close((expected[0], *result[1:]), expected)
    assert getattr(twin, name)(x, mean, whiten, log_det, np.full(4, -np.inf))[0] == -np.inf


@pytest.mark.parametrize("name", ["gaussian_e_step", "tied_gaussian_e_step"])
def test_the_answer_is_the_same_each_time(name):
    x, parameters = _problem(7, 6)
    parameters = parameters if name == "gaussian_e_step" else _tied(parameters)
    first, second = (getattr(native_gaussian, name)(x, *parameters) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


@TWINS
@pytest.mark.parametrize("name", ["gaussian_e_step", "tied_gaussian_e_step"])
def test_nothing_as_long_as_the_rows_is_made(twin, name):
    x, parameters = _problem(2, 32, n=200_000)
    parameters = parameters if name == "gaussian_e_step" else _tied(parameters)
    getattr(twin, name)(x[:1000], *parameters)
    tracemalloc.start()
    getattr(twin, name)(x, *parameters)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * len(x)  # one column; the shares would be 32


@TWINS
def test_a_share_that_has_faded_is_none(twin):
    """Of exp(−745) a sum would be subnormal, and a mean of it NaN."""
    x, apart = np.array([[0.0], [1e-3], [2e-3]]), np.sqrt(2 * 740.0)
    mean = np.array([[0.0], [apart]])
    found = twin.gaussian_e_step(x, mean, np.ones((2, 1, 1)), np.zeros(2), np.log([0.5, 0.5]))
    assert found[2].tolist() == [3.0, 0.0]
    assert all(np.isfinite(part).all() for part in found)


@pytest.mark.parametrize("own", [False, True], ids=["log-weights", "own log-weights"])
@pytest.mark.parametrize("weighted", [False, True], ids=["even", "weighted"])
@pytest.mark.parametrize("apart", [2.0, 8.0, 15.0, 30.0, 60.0])
@pytest.mark.parametrize(("d", "k"), [(32, 3), (50, 7), (70, 4)])
def test_what_is_cut_is_nothing(d, k, apart, weighted, own):
    """Components that overlap, that touch, and that lie far apart, where most shares are not even computed.

    The rows are more than a block at any of the widths.
    """
    x, (mean, *rest, log_weights) = _problem(d, k, n=1700, apart=apart)
    w = _weights(len(x)) if weighted else None
    log_weights = _row_log_weights(len(x), k) if own else log_weights
    arguments = (x, mean, *rest, log_weights, w)
    _close(native_gaussian.gaussian_e_step(*arguments), numpy_gaussian.gaussian_e_step(*arguments), 1e-11)


@pytest.mark.parametrize(("away", "low", "high"), [(2.3, 1e-9, 1e-6), (2.5, 0, 1e-15), (4.0, 0, 1e-20)])
def test_a_component_of_next_to_nobody(away, low, high):
    """What is cut is not nothing beside shares of next to nothing: then all is computed. Beyond that is nobody."""
    x, (mean, whiten, log_det, log_weights) = _problem(40, 3, n=400, apart=10.0)
    mean = mean.copy()
    mean[2] += away
    ours = native_gaussian.gaussian_e_step(x, mean, whiten, log_det, log_weights)
    theirs = numpy_gaussian.gaussian_e_step(x, mean, whiten, log_det, log_weights)
    assert low < theirs[2][2] < high
    np.testing.assert_allclose(ours[2], theirs[2], rtol=1e-9, atol=1e-17)
    if low:
        np.testing.assert_allclose((ours[3] + ours[4])[2], (theirs[3] + theirs[4])[2], rtol=1e-9)
    _close([part[:2] if np.ndim(part) else part for part in ours], [p[:2] if np.ndim(p) else p for p in theirs], 1e-10)


def test_lines_between_means_that_are_nearly_equal_rule_nobody_out():
    x = np.random.default_rng(0).normal(size=(480, 40))
    x[::3, 0] = 25.0
    mean = np.zeros((2, 40))
    mean[1, 0] = 2.7e-162  # its square is subnormal
    arguments = (x, mean, np.stack([np.eye(40)] * 2), np.zeros(2), np.log([0.5, 0.5]))
    _close(native_gaussian.gaussian_e_step(*arguments), numpy_gaussian.gaussian_e_step(*arguments))


def test_what_is_remembered_of_components_is_not_taken_for_others():
    """Coefficients are kept while the same arrays come again; arrays that may change are looked at each time."""
    x, (mean, whiten, log_det, log_weights) = _problem(3, 2)
    for array in (mean, whiten, log_det, log_weights):
        array.flags.writeable = False
    first = native_gaussian.gaussian_e_step(x, mean, whiten, log_det, log_weights)
    other = native_gaussian.gaussian_e_step(x, mean + 1.0, whiten, log_det, log_weights)
    again = native_gaussian.gaussian_e_step(x, mean, whiten, log_det, log_weights)
    moving = mean.copy()
    before = native_gaussian.gaussian_e_step(x, moving, whiten, log_det, log_weights)
    moving += 1.0
    after = native_gaussian.gaussian_e_step(x, moving, whiten, log_det, log_weights)
    assert first[0] == again[0] == before[0]
    assert other[0] == after[0] != first[0]
