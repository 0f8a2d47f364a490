"""Laws of classifiers on partly labelled, weighted, removed, sparse and constant rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn import naive_bayes

import suffice as sf

N = 400
CLASSES = np.repeat([0, 1, 2], N)


def _table() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    return {
        "calls": rng.poisson(np.array([1.0, 8.0, 30.0])[CLASSES]),
        "size": rng.normal(np.array([20.0, 30.0, 60.0])[CLASSES], 2.0),
        "kind": np.array(["a", "b", "c"])[rng.integers(3, size=len(CLASSES))],
    }


def _families(schema: sf.Product) -> dict[str, str]:
    return {one.name: "none" if one.family is None else one.family.name for one in schema.findings}


# ---- rows of unknown class -------------------------------------------------------------------------------------------
def test_rows_of_unknown_class_do_not_change_the_families() -> None:
    known = np.random.default_rng(4).random(len(CLASSES)) < 0.3
    whole = sf.NaiveBayes().fit(_table(), CLASSES).prototype_
    partly = sf.NaiveBayes(max_iter=5, tol=1.0).fit(_table(), np.where(known, CLASSES, np.nan)).prototype_
    assert _families(partly) == _families(whole) == {"calls": "Poisson", "size": "Normal", "kind": "Categorical"}


def test_levels_and_constants_are_those_of_all_rows() -> None:
    table = {"kind": ["a"] * 6 + ["b"] * 6, "flag": [0] * 6 + [1] * 6, "even": [7] * 12}
    groups = np.repeat([0, 1, -1], [3, 3, 6])
    found = sf.infer(table, within=groups)
    assert found["kind"].levels == ("a", "b")
    assert _families(found) == {"kind": "Categorical", "flag": "Bernoulli", "even": "none"}


@pytest.mark.parametrize("known", [0, 2, 4])
def test_too_few_known_rows_are_judged_with_the_others_as_one_group(known: int) -> None:
    groups = np.where(np.arange(len(CLASSES)) < known, np.arange(len(CLASSES)), -1)
    assert _families(sf.infer(_table(), within=groups)) == _families(sf.infer(_table()))
    assert _families(sf.infer(_table()))["calls"] == "NegativeBinomial"


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


@pytest.mark.parametrize("factor", [1 / 300, 1e-12, 0.5])
def test_shares_are_judged_as_rows_are(factor: float) -> None:
    plain, shares = sf.infer(_texts()), sf.infer(_texts(), weights=np.full(300, factor))
    assert _families(shares) == _families(plain)
    assert _families(plain) == {
        "word": "Categorical",
        "calls": "Poisson",
        "many": "NegativeBinomial",
        "size": "LogNormal",
        "id": "none",
    }
    assert [one.why for one in shares.findings] == [one.why for one in plain.findings]


def test_weight_two_is_the_row_twice() -> None:
    table = {name: np.asarray(column)[:40] for name, column in _texts().items()}
    weights = np.where(np.arange(40) % 3 == 0, 2, 1)
    twice = {name: np.repeat(column, weights) for name, column in table.items()}
    weighted, repeated = sf.infer(table, weights=weights), sf.infer(twice)
    assert [(one.family, one.why) for one in weighted.findings] == [(one.family, one.why) for one in repeated.findings]


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
