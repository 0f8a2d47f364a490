"""Rows that are removed from a classifier: what only they had goes with them."""

from __future__ import annotations

import numpy as np
import pytest

import suffice as sf


# ---- removed rows ----------------------------------------------------------------------------------------------------
def test_levels_of_removed_rows_go_with_them() -> None:
    X, y = np.array([[0, 2], [1, 0], [1, 1], [4, 1], [3, 5]]), np.array([0, 1, 1, 0, 1])
    left = sf.CategoricalNB().fit(X, y).unlearn(X[3:], y[3:])
    never = sf.CategoricalNB().fit(X[:3], y[:3])
    assert left.n_categories_.tolist() == never.n_categories_.tolist() == [2, 3]
    for mine, theirs in zip(left.feature_log_prob_, never.feature_log_prob_, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9)
    np.testing.assert_allclose(left.predict_proba(X), never.predict_proba(X), rtol=1e-9)


def test_declared_levels_outlive_their_rows() -> None:
    X, y = np.array([[0], [1], [1], [4]]), [0, 1, 1, 0]
    left = sf.CategoricalNB(min_categories=6).fit(X, y).unlearn([[4]], [0])
    assert left.n_categories_.tolist() == [6]
    declared = sf.NaiveBayes({"c": sf.Categorical(levels=("a", "b", "z"))})
    declared.fit({"c": ["a", "b", "a", "z"]}, y).unlearn({"c": ["z"]}, [0])
    np.testing.assert_allclose(
        declared.predict_proba({"c": ["z"]}),
        sf.NaiveBayes(declared.prototype_).fit({"c": ["a", "b", "a"]}, y[:3]).predict_proba({"c": ["z"]}),
        rtol=1e-9,
    )


@pytest.mark.parametrize("weight", [None, 0.1])
def test_removed_text_was_never_seen(weight: float | None) -> None:
    rng = np.random.default_rng(6)
    words, sizes, y = rng.choice(list("abc"), 60), rng.normal(size=60), np.arange(60) % 3 % 2
    words[40:] = rng.choice(list("cxyA"), 20)
    rows = [{"word": words[part], "size": sizes[part]} for part in (slice(None), slice(40), slice(40, None))]
    w = [None if weight is None else np.full(n, weight) for n in (60, 40, 20)]
    left = sf.NaiveBayes().fit(rows[0], y, w[0]).unlearn(rows[2], y[40:], w[2])
    never = sf.NaiveBayes(left.prototype_).fit(rows[1], y[:40], w[1])
    np.testing.assert_allclose(left.predict_proba(rows[0]), never.predict_proba(rows[0]), rtol=1e-9)
    back = left.partial_fit(rows[2], y[40:], sample_weight=w[2])
    whole = sf.NaiveBayes(left.prototype_).fit(rows[0], y, w[0])
    np.testing.assert_allclose(back.predict_proba(rows[0]), whole.predict_proba(rows[0]), rtol=1e-9)


def test_a_column_may_lose_all_its_rows() -> None:
    table, y = {"word": [None, None, "a", "b"], "size": [1.0, 2.5, 3.0, 4.5]}, [0, 1, 0, 1]
    left = sf.NaiveBayes().fit(table, y).unlearn({"word": ["a", "b"], "size": [3.0, 4.5]}, [0, 1])
    assert np.isfinite(left.predict_proba({"word": [None, None], "size": [1.0, 2.5]})).all()
