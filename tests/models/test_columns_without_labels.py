"""Columns without a label, and components without rows, are shown without a warning."""

import numpy as np
import pytest

import suffice as sf
from suffice.errors import DataError


# ---- labels of which there are none ----------------------------------------------------------------------------------
@pytest.mark.parametrize("k", [1, 3])
def test_labels_that_are_all_missing_are_no_data(k):
    with pytest.raises(DataError, match="every cell is missing"):
        sf.fit(sf.Mixture(sf.Categorical(), k), np.full((10, 2), np.nan), random_state=0)


def test_a_column_without_labels_is_shown():
    rows = np.array([["a", None], ["b", None], ["a", None]], dtype=object)
    fit = sf.fit(sf.Mixture(sf.Categorical(), 2), rows, random_state=0)
    assert "column 1 has no value at all" in " ".join(str(fit).split())


def test_components_without_rows_are_shown_without_a_warning():
    fit = sf.fit(sf.Mixture([sf.Normal(), sf.Laplace(), sf.Uniform()]), np.zeros((40, 2)), random_state=0)
    assert "have no rows" in " ".join(str(fit).split())
