"""Weights, smoothing and floors of columns that hardly vary, and cells that are infinite."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn import naive_bayes

import suffice as sf


# ---- weights ---------------------------------------------------------------------------------------------------------
def _texts() -> dict[str, object]:
    rng = np.random.default_rng(5)
    return {
        "word": [f"w{j}" for j in rng.integers(25, size=300)],
        "calls": rng.poisson(4.0, 300),
        "many": rng.negative_binomial(2, 0.2, 300),
        "size": rng.lognormal(1.0, 0.8, 300),
        "id": rng.permutation(300) + 5,
    }


def test_weight_two_is_the_row_twice() -> None:
    table = {name: np.asarray(column)[:40] for name, column in _texts().items()}
    weights = np.where(np.arange(40) % 3 == 0, 2, 1)
    twice = {name: np.repeat(column, weights) for name, column in table.items()}
    weighted, repeated = sf.infer(table, weights=weights), sf.infer(twice)
    assert [(one.family, one.why) for one in weighted.findings] == [(one.family, one.why) for one in repeated.findings]


# ---- smoothing -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("smoothing", [1e-9, 1e-3])
def test_smoothing_is_added_to_what_the_rows_show(smoothing: float) -> None:
    X, y = [[1.0], [2], [3], [8]], [0, 0, 0, 1]
    fitted = sf.GaussianNB(var_smoothing=smoothing).fit(X, y)
    np.testing.assert_allclose(fitted.var_, naive_bayes.GaussianNB(var_smoothing=smoothing).fit(X, y).var_, rtol=1e-9)


def test_without_smoothing_the_floor_stays() -> None:
    fitted = sf.GaussianNB(var_smoothing=0.0).fit([[1.0], [2], [3], [8]], [0, 0, 0, 1])
    assert 0 < fitted.var_[1, 0] < 1e-8
    np.testing.assert_allclose(fitted.var_[0, 0], 2 / 3)


# ---- infinite cells --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize(
    "model", [sf.GaussianNB(), sf.BernoulliNB(), sf.MultinomialNB(), sf.BayesClassifier(sf.Normal())], ids=repr
)
def test_infinite_cells_are_refused_and_missing_ones_are_not(model: object, kind: type) -> None:
    X, y = np.array([[1, 2], [2, 1], [3, 4], [4, 5]], kind), [0, 1, 0, 1]
    bad = X.copy()
    bad[2, 1] = np.nan
    model.fit(bad, y).predict(bad)
    bad[1, 0] = np.inf
    tables = [bad, sparse.csr_matrix(bad)] if model.__sklearn_tags__().input_tags.sparse else [bad]
    for table in tables:
        with pytest.raises(ValueError, match="Input X contains infinity"):
            model.predict(table)
        with pytest.raises(ValueError, match=r"contains infinity|row 1.*inf|inf.*row 1"):
            model.fit(table, y)
    large = np.array([[3e38, 1], [1, 1], [3e38, 2], [2, 1]], np.float32)  # their sum is infinite, they are not
    sf.BernoulliNB().fit(large, y)
