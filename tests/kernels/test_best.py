"""The compiled loops choose the component that the reference chooses, and count what it counts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from suffice.kernels.native import decisions as native_decisions
from suffice.kernels.native import primitives as native_primitives
from suffice.kernels.numpy import decisions as numpy_decisions
from suffice.kernels.numpy import primitives as numpy_primitives

SHAPES = [(0, 3), (1, 1), (15, 4), (16, 4), (700, 1), (1500, 20)]
KINDS = [1, 2, 4, 5, 9]


def _rows(n, d, holes):
    rng = np.random.default_rng(n + d)
    x = rng.normal(size=(n, d))
    return np.where(rng.random((n, d)) < 0.2, np.nan, x) if holes else x


def _start(k):
    start = np.log(np.random.default_rng(k).dirichlet(np.ones(k)))
    if k > 2:
        start[1] = -np.inf
    return start


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("k", KINDS)
@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_normals(shape, k, holes, kind):
    rng = np.random.default_rng(1)
    x = _rows(*shape, holes).astype(kind)
    mean, std = rng.normal(size=(k, shape[1])), rng.uniform(0.5, 2, (k, shape[1]))
    found = native_decisions.normal_best(x, mean, std, _start(k))
    assert_array_equal(found, numpy_decisions.normal_best(x, mean, std, _start(k)))


@pytest.mark.parametrize("n", [0, 1, 7, 3000])
@pytest.mark.parametrize("k", [1, 2, 3, 10, 300])
def test_shares(n, k):
    scores = 50 * np.random.default_rng(n + k).normal(size=(n, k))
    odd = [np.full(k, -np.inf), np.full(k, -1e300), np.full(k, 1e5), np.full(k, np.nan), np.full(k, np.inf)]
    for place, value in ((0, -np.inf), (k - 1, np.nan), (k - 1, np.inf), (k // 2, -800.0)):
        odd.append(np.where(np.arange(k) == place, value, 0.0))
    scores[: len(odd)] = np.array(odd)[:n]
    with np.errstate(invalid="ignore"):
        theirs = numpy_decisions.shares(scores)
    for one, other in zip(native_decisions.shares(scores), theirs, strict=True):
        assert_allclose(one, other, rtol=1e-13, atol=1e-14)
    assert_array_equal(native_decisions.chosen(scores), numpy_decisions.chosen(scores))


def test_a_row_that_nobody_can_have_made_is_nobodys():
    x = np.array([[np.inf], [0.0], [np.nan]])
    mean, std = np.zeros((2, 1)), np.ones((2, 1))
    for home in (numpy_decisions, native_decisions):
        assert_array_equal(home.normal_best(x, mean, std, np.array([-2.0, -1.0])), [-1, 1, 1])
        assert_array_equal(home.normal_best(x, mean, std, np.full(2, -np.inf)), [-1, -1, -1])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("k", KINDS)
@pytest.mark.parametrize("kind", [np.int64, np.int32, np.int8])
def test_tables(shape, k, kind):
    rng = np.random.default_rng(2)
    levels = rng.integers(-1, 6, shape).astype(kind)
    tables = np.log(rng.dirichlet(np.ones(5), (k, shape[1])))
    tables[:, shape[1] // 2, 3:] = np.nan  # a column with fewer levels
    tables[0, 0, 0] = -np.inf
    ours, unknown = native_decisions.table_best(levels, tables, _start(k))
    theirs, counted = numpy_decisions.table_best(levels, tables, _start(k))
    assert_array_equal(ours, theirs)
    lengths = np.where(np.arange(shape[1]) == shape[1] // 2, 3, 5)
    assert unknown == counted == np.sum((levels < 0) | (levels >= lengths))
    price = rng.normal(size=(k, shape[1]))
    ours, theirs = (home.table_best(levels, tables, _start(k), price) for home in (native_decisions, numpy_decisions))
    assert_array_equal(ours[0], theirs[0])
    many = np.log(rng.dirichlet(np.ones(300), (k, shape[1])))  # too many levels for tables of pairs
    ours, theirs = (home.table_best(levels, many, _start(k), price) for home in (native_decisions, numpy_decisions))
    assert_array_equal(ours[0], theirs[0])


@pytest.mark.parametrize("k", KINDS)
@pytest.mark.parametrize("n", [0, 1, 17, 500])
def test_compressed_rows(n, k):
    rng = np.random.default_rng(3)
    dense = rng.poisson(0.3, (n + 4, 30)).astype(float)
    ends = np.concatenate([[0], np.cumsum(np.count_nonzero(dense, axis=1))])
    values, places = dense[dense > 0], np.nonzero(dense)[1].astype(np.int32)
    part = ends[2 : n + 3]  # a slice of the rows shares the cells
    slopes, start = np.log(rng.dirichlet(np.ones(30), k)), _start(k)
    scores = dense[2 : n + 2] @ slopes.T
    for home in (numpy_primitives, native_primitives):
        assert_allclose(home.sparse_scores(values, places, part, slopes), scores, atol=1e-12)
    for home in (numpy_decisions, native_decisions):
        assert_array_equal(
            home.sparse_best(values, places, part, slopes, start), numpy_decisions.chosen(scores + start)
        )
    codes, weights = rng.integers(-1, k + 1, n), rng.uniform(0, 2, n)
    hot = (codes[:, None] == np.arange(k)).astype(float)
    for home in (numpy_primitives, native_primitives):
        total, least = home.sparse_sums(values, places, part, 30, weights, codes, k)
        assert_allclose(total, (hot * weights[:, None]).T @ dense[2 : n + 2], atol=1e-12)
        assert least == 0
        _, least = home.sparse_sums(-values, places, part, 30, None, np.zeros(n, np.intp), k)
        assert least == -dense[2 : n + 2].max(initial=0.0)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("k", KINDS)
@pytest.mark.parametrize("holes", [False, True])
def test_thresholds(shape, k, holes):
    rng = np.random.default_rng(4)
    x = _rows(*shape, holes)
    slopes, offset = rng.normal(size=(k, shape[1])), rng.normal(size=(k, shape[1]))
    ours, theirs = (home.above_best(x, 0.3, slopes, offset, _start(k)) for home in (native_decisions, numpy_decisions))
    assert_array_equal(ours, theirs)
    codes, weights = rng.integers(-1, k + 1, len(x)), rng.uniform(0, 2, len(x))
    for given in ((None, codes, k), (weights, codes, k), (weights, None, 1), (None, None, 1)):
        for mine, yours in zip(
            native_decisions.above_sums(x, 0.3, *given), numpy_decisions.above_sums(x, 0.3, *given), strict=True
        ):
            assert_allclose(mine, yours, atol=1e-11)


def test_counts_of_whole_numbers_with_and_without_weights():
    rng = np.random.default_rng(5)
    levels, codes = rng.integers(-2, 8, (900, 3)), rng.integers(-1, 4, 900)
    for weights, width in ((None, 6), (None, 300), (np.ones(900), 6)):
        ours, theirs = (home.counts(levels, width, weights, codes, 3) for home in (native_primitives, numpy_primitives))
        assert_array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype == np.float64
