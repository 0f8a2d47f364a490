"""Hashes of rows: both twins bit for bit, blind to what is equal and sharp on what is not."""

import numpy as np
import pytest

from suffice.kernels.native import primitives as native_primitives
from suffice.kernels.numpy import primitives as numpy_primitives

MASK = 2**64 - 1
TWINS = pytest.mark.parametrize("twin", [numpy_primitives, native_primitives], ids=["reference", "compiled"])


def _mix(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def _by_hand(row, seed):
    """In whole numbers of any size."""
    start = hashed = _mix(seed & MASK)
    for column, cell in enumerate(row, start=1):
        bits = int(np.float64(cell + 0.0).view(np.uint64)) if cell == cell else 0x7FF8000000000000  # noqa: PLR0124
        key = _mix((column * 0x9E3779B97F4A7C15 & MASK) ^ start)
        hashed += _mix(key ^ bits)
    return hashed & MASK


@TWINS
@pytest.mark.parametrize("seed", [0, 1, 2**63 + 5, -3])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (500, 7), (3, 0)])
def test_the_hash_is_its_definition(twin, shape, seed):
    x = np.random.default_rng(0).normal(size=shape)
    if x.size > 10:
        x[0, 0], x[1, 1], x[2, 2], x[3, 3] = np.nan, np.inf, -np.inf, -0.0
    ours = twin.row_hash(x, seed)
    assert ours.dtype == np.uint64
    assert ours.tolist() == [_by_hand(row, seed) for row in x.tolist()]


@TWINS
def test_equal_values_have_one_hash(twin):
    x = np.array([[0.0, 3.0, np.nan], [-0.0, 3.0, -np.nan]])
    x[1, 2:] = np.array([0xFFF8000000000123], np.uint64).view(float)
    hashes = [*twin.row_hash(x, 7), *twin.row_hash(x.astype(np.float32), 7), *twin.row_hash(np.asfortranarray(x), 7)]
    assert len(set(hashes)) == 1


@TWINS
def test_different_rows_columns_and_seeds_differ(twin):
    x = np.random.default_rng(1).integers(0, 100, (2000, 2)).astype(float)
    distinct = np.unique(x, axis=0)
    assert len(np.unique(twin.row_hash(distinct, 3))) == len(distinct)
    uneven = distinct[distinct[:, 0] != distinct[:, 1]]
    assert not (twin.row_hash(uneven, 3) == twin.row_hash(uneven[:, ::-1], 3)).any()
    assert not (twin.row_hash(distinct, 3) == twin.row_hash(distinct, 4)).any()


@TWINS
def test_the_bits_are_even(twin):
    """Whole numbers differ in few bits; each bit of their hashes is 1 half the time, within five standard errors."""
    hashes = twin.row_hash(np.arange(20_000, dtype=float)[:, None], 11)
    share = (hashes[:, None] >> np.arange(64, dtype=np.uint64) & np.uint64(1)).mean(axis=0)
    assert (np.abs(share - 0.5) < 5 * 0.5 / np.sqrt(20_000)).all()


def test_the_twins_hash_alike():
    x = np.random.default_rng(2).normal(size=(1000, 3))
    np.testing.assert_array_equal(native_primitives.row_hash(x, 5), numpy_primitives.row_hash(x, 5))
