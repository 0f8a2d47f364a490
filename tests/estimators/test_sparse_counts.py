"""Sparse counts in which one cell has several entries: they are summed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn import naive_bayes

import suffice as sf


# ---- sparse rows -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("binarize", [0.0, 1.5])
def test_entries_of_one_cell_are_summed(binarize: float) -> None:
    twice = sparse.csr_matrix(([1.0, 1.0, 2.0, 1.0, -1.0], [0, 0, 1, 1, 1], [0, 2, 3, 5]), shape=(3, 2))
    once, y = twice.toarray(), [0, 1, 1]
    fitted = sf.BernoulliNB(binarize=binarize).fit(twice, y)
    oracle = naive_bayes.BernoulliNB(binarize=binarize).fit(once, y)
    np.testing.assert_allclose(fitted.feature_count_, oracle.feature_count_)
    np.testing.assert_allclose(fitted.predict_proba(twice), oracle.predict_proba(once), rtol=1e-12)
    assert twice.nnz == 5  # the caller's own matrix is as it was


def test_entries_of_flags_are_summed() -> None:
    twice = sparse.csr_matrix(([0.5, 0.5, 1.0], [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    fitted = sf.BernoulliNB(binarize=None).fit(twice, [0, 1])
    np.testing.assert_allclose(fitted.feature_count_, [[1, 0], [0, 1]])
