"""Statistics as values: removal in any unit of weight, and merging of many levels."""

import time

import numpy as np
import pytest

import suffice as sf


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize(
    ("prototype", "x"),
    [
        (sf.Normal(), np.array([1.0, 2.0, 4.0, 9.0])),
        (sf.Poisson(), np.array([1.0, 2.0, 4.0, 9.0])),
        (sf.Categorical(["a", "b"]), np.array(["a", "b", "b", "a"])),
        (sf.MultivariateNormal([0.0, 0.0], np.eye(2)), np.array([[1.0, 2.0], [3.0, 1.0], [4.0, 5.0], [0.0, 2.0]])),
    ],
    ids=["moments", "sums", "counts", "scatter"],
)
def test_rows_are_removed_whatever_the_unit_of_the_weights(prototype, x, unit):
    weights = unit * np.array([1.0, 2.0, 3.0, 4.0])
    whole, part = prototype.suffstats(x, weights), prototype.suffstats(x[:2], weights[:2])
    rest = prototype.suffstats(x[2:], weights[2:])
    np.testing.assert_allclose((whole - part).weight, rest.weight, rtol=1e-12)
    assert ((whole - whole).weight == 0).all()
    with pytest.raises(sf.DataError, match="cannot remove more rows"):
        part - whole


def test_many_levels_merge_in_a_moment():
    many = 20_000
    left, right = (sf.Categorical().suffstats(np.arange(many) + start) for start in (0, many // 2))
    begin = time.perf_counter()
    merged = left + right
    assert time.perf_counter() - begin < 2.0  # looking each level up in a list takes many times as long
    assert len(merged.levels[0]) == 3 * many // 2
    assert merged.weight.sum() == 2 * many
