"""Numbers of components that the rows cannot support are refused before anything is made for them."""

import numpy as np
import pytest

import suffice as sf
from suffice.errors import ParameterError

X = np.random.default_rng(0).normal(size=40)


@pytest.mark.parametrize("data", [X, X.tolist(), X[:, None]], ids=["array", "list", "matrix"])
@pytest.mark.parametrize("size", [10**9, 10**400, 101])
def test_more_components_than_rows_are_refused_with_both_numbers(data, size):
    with pytest.raises(ParameterError, match=r"40 rows.*at most 40"):
        sf.select(sf.Normal(), data, n_components=[1, size])


def test_a_few_more_components_than_rows_are_tried():
    found = sf.select(sf.Normal(), X[:4], n_components=[1, 5], random_state=0)
    assert len(found.table) == 2
