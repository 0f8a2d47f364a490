"""The compiled kernels compute what the reference defines, whatever the memory, the weights and the holes."""

import numpy as np
import pytest

from suffice.kernels.native import primitives as native_primitives
from suffice.kernels.numpy import primitives as numpy_primitives

SEED = 20
MEMBERS = 4
SHAPES = [(0, 3), (1, 1), (1, 3), (63, 2), (700, 1), (5000, 3), (1500, 20), (900, 50), (300, 120)]
LAYOUTS = {
    "plain": lambda x: x,
    "float32": lambda x: x.astype(np.float32),
    "column-major": np.asfortranarray,
    "reversed": lambda x: np.ascontiguousarray(x[::-1])[::-1],
    "every other column": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "read-only": lambda x: _frozen(x.copy()),
    "swapped bytes": lambda x: x.astype(">f8"),
}
CASES = [(shape, "plain") for shape in SHAPES] + [
    (shape, layout) for shape in [(700, 1), (1500, 20)] for layout in LAYOUTS if layout != "plain"
]
SHARES = ["none", "row", "component", "codes", "weighted codes"]


def _frozen(x):
    x.flags.writeable = False
    return x


def _rows(n, d, seed=SEED):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * rng.uniform(0.1, 10, d) + rng.normal(size=d) * 100


def _share(kind, n, seed=SEED):
    """Arguments that say whose each row is; some rows weigh nothing, some codes name nobody."""
    rng = np.random.default_rng(seed + 1)
    weights = rng.uniform(0, 2, (n, MEMBERS)) * (rng.random((n, MEMBERS)) < 0.9)
    codes = {"codes": rng.integers(-1, MEMBERS + 1, n), "n_components": MEMBERS}
    return {
        "none": {},
        "row": {"weights": weights[:, 1]},
        "component": {"weights": weights},
        "codes": codes,
        "weighted codes": {"weights": np.ascontiguousarray(weights[:, 2]), **codes},
    }[kind]


def _holes(x, seed=SEED):
    rng = np.random.default_rng(seed + 2)
    return np.where(rng.random(x.shape) < 0.2, np.nan, x)


def _close(ours, theirs):
    """Equal to 1e-13 of the largest entry."""
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    scale = np.abs(theirs, where=np.isfinite(theirs), out=np.zeros(theirs.shape)).max(initial=0)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13 * scale)


def _same_moments(ours, theirs):
    """Equal weights and scatter, and means that differ by less than 1e-13 standard deviations."""
    weight, centre, shift, scatter = theirs
    _close(ours[0], weight)
    _close(ours[3], scatter)
    if scatter.ndim > centre.ndim:
        weight, scatter = weight[:, None], np.diagonal(scatter, axis1=1, axis2=2)
    apart = (ours[1] - centre) + (ours[2] - shift)
    assert (np.abs(apart) <= 1e-13 * np.sqrt(scatter / np.maximum(weight, 1)) + 1e-15 * np.abs(centre)).all()


@pytest.mark.parametrize("holes", [False, True], ids=["complete", "holes"])
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize(("shape", "layout"), CASES)
def test_moments(shape, layout, share, holes):
    x = _rows(*shape)
    x = LAYOUTS[layout](_holes(x) if holes else x)
    arguments = _share(share, len(x))
    _same_moments(native_primitives.moments(x, **arguments), numpy_primitives.moments(x, **arguments))


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize(("shape", "layout"), CASES)
def test_scatter(shape, layout, share):
    x = LAYOUTS[layout](_rows(*shape))
    arguments = _share(share, len(x))
    ours = native_primitives.scatter(x, **arguments)
    _same_moments(ours, numpy_primitives.scatter(x, **arguments))
    assert (ours[3] == ours[3].swapaxes(1, 2)).all()


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize(("shape", "layout"), CASES)
def test_shared_scatter(shape, layout, share):
    x = LAYOUTS[layout](_rows(*shape))
    arguments = _share(share, len(x))
    ours, whole = native_primitives.shared_scatter(x, **arguments), numpy_primitives.scatter(x, **arguments)
    _same_moments((*ours[:3], whole[3]), whole)
    _close(ours[3], whole[3].sum(axis=0, keepdims=True))
    _close(ours[3], numpy_primitives.shared_scatter(x, **arguments)[3])


def test_shared_scatter_of_far_components_keeps_its_digits():
    rows, codes = _rows(4000, 3), np.arange(4000) % 3
    far = np.array([0.0, 1e6, -1e9])[codes, None]
    moved = native_primitives.shared_scatter(rows + far, codes=codes, n_components=3)[3]
    exact = native_primitives.scatter((rows + far) - far, codes=codes, n_components=3)[3].sum(axis=0, keepdims=True)
    np.testing.assert_allclose(moved, exact, rtol=0, atol=1e-6 * exact.max())


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize(("shape", "layout"), CASES)
def test_sums(shape, layout, share):
    x = LAYOUTS[layout](_rows(*shape))
    arguments = _share(share, len(x))
    _close(native_primitives.sums(x, **arguments), numpy_primitives.sums(x, **arguments))


@pytest.mark.parametrize("holes", [False, True], ids=["complete", "holes"])
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize(("shape", "layout"), CASES)
def test_extremes(shape, layout, share, holes):
    x = _rows(*shape)
    x = LAYOUTS[layout](_holes(x) if holes else x)
    arguments = _share(share, len(x))
    ours, theirs = native_primitives.extremes(x, **arguments), numpy_primitives.extremes(x, **arguments)
    _close(ours[0], theirs[0])
    np.testing.assert_array_equal(ours[1:], theirs[1:])


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int8])
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_counts(shape, share, dtype):
    levels = np.random.default_rng(SEED).integers(-1, 7, shape).astype(dtype)
    arguments = _share(share, len(levels))
    _close(native_primitives.counts(levels, 6, **arguments), numpy_primitives.counts(levels, 6, **arguments))


@pytest.mark.parametrize("levels", [1, 7, 8, 9, 16, 17])
@pytest.mark.parametrize("n", [1, 255, 256, 3000])
def test_counts_of_many_rows_of_one_level(n, levels):
    """Counters of few bits must be emptied in time, and levels outside counted nowhere."""
    rows = np.full((n, 3), levels - 1)
    rows[:, 1] = np.random.default_rng(n).integers(-70, 70, n)
    codes = np.zeros(n, np.intp)
    expected = numpy_primitives.counts(rows, levels, codes=codes, n_components=2)
    assert expected[0, 0, -1] == n
    np.testing.assert_array_equal(native_primitives.counts(rows, levels, codes=codes, n_components=2), expected)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "i4", "i8", "u8"])
@pytest.mark.parametrize("n", [0, 1, 5, 1000])
def test_ranges(n, dtype):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    x = np.random.default_rng(n).integers(max(low, -50), min(high, 90), n).astype(dtype)
    assert (
        native_primitives.integer_range(x)
        == numpy_primitives.integer_range(x)
        == ((x.min(), x.max()) if n else (0, -1))
    )
    for start, stop in [(0, 20), (max(low, -30), 100), (3, 3)]:
        expected = [(x == value).sum() for value in range(start, stop + 1)]
        assert native_primitives.count_range(x, start, stop).tolist() == expected
        assert numpy_primitives.count_range(x, start, stop).tolist() == expected


@pytest.mark.parametrize("holes", [False, True], ids=["complete", "holes"])
@pytest.mark.parametrize(("shape", "layout"), CASES)
def test_normal_log_prob(shape, layout, holes):
    x = _rows(*shape)
    x = LAYOUTS[layout](_holes(x) if holes else x)
    mean, std = _rows(MEMBERS, shape[1], seed=1), np.exp(_rows(MEMBERS, shape[1], seed=2) / 100)
    _close(native_primitives.normal_log_prob(x, mean, std), numpy_primitives.normal_log_prob(x, mean, std))


@pytest.mark.parametrize(("shape", "layout"), CASES)
def test_gaussian_log_prob(shape, layout):
    x = LAYOUTS[layout](_rows(*shape))
    rng = np.random.default_rng(3)
    mean, whiten = rng.normal(size=(3, shape[1])), np.tril(rng.normal(size=(3, shape[1], shape[1])))
    log_det = rng.normal(size=3)
    _close(
        native_primitives.gaussian_log_prob(x, mean, whiten, log_det),
        numpy_primitives.gaussian_log_prob(x, mean, whiten, log_det),
    )


@pytest.mark.parametrize("twin", [numpy_primitives, native_primitives])
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_cells_show_in_the_result(twin, share, value):
    x = _rows(2000, 3)
    x[[700, 701, 702, 703, 704, 705], 1] = value  # several rows: of some component whatever the shares
    weight, _, shift, scatter = twin.moments(x, **_share(share, len(x)))
    assert not np.isfinite(scatter[:, 1]).all()
    assert np.isfinite(scatter[:, [0, 2]]).all()
    assert np.isfinite(weight).all()
    assert not np.isfinite(twin.scatter(x, **_share(share, len(x)))[3]).all()
    assert np.isfinite(shift[:, [0, 2]]).all()
