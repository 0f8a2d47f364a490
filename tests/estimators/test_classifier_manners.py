"""What classifiers say and forgive: columns left out, priors that were set, cells that nobody saw, bad cells."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import suffice as sf

N = 60
Y = np.arange(N) % 2
RNG = np.random.default_rng(0)
USED = pd.DataFrame({"a": RNG.normal(size=N) + Y, "b": RNG.choice(list("xy"), N), "k": RNG.poisson(3.0, N)})
WHOLE = USED.assign(id=range(N), planet="Earth")[["id", "a", "b", "planet", "k"]]
KINDS = {
    "pandas": lambda x: x,
    "polars": pl.from_pandas,
    "arrow": lambda x: pa.Table.from_pandas(x, preserve_index=False),
}


# ---- columns that were left out --------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", KINDS)
def test_tables_may_lack_what_was_left_out(kind: str) -> None:
    model = sf.NaiveBayes().fit(WHOLE, Y)
    expected = model.predict_proba(WHOLE)
    for some in (USED, WHOLE.drop(columns="id"), WHOLE.drop(columns="planet")):
        np.testing.assert_array_equal(model.predict_proba(KINDS[kind](some)), expected)
    once = sf.NaiveBayes({"k": sf.Poisson()}).fit(WHOLE, Y).partial_fit(KINDS[kind](USED), Y)
    np.testing.assert_array_equal(once.class_count_, [N, N])
    dropped = sf.NaiveBayes({"b": None}).fit(USED, Y)
    np.testing.assert_array_equal(dropped.predict(KINDS[kind](USED[["a", "k"]])), dropped.predict(USED))


@pytest.mark.parametrize("kind", KINDS)
def test_tables_may_lack_swap_and_bring_columns(kind: str) -> None:
    model = sf.NaiveBayes().fit(WHOLE, Y)
    expected = model.predict_proba(WHOLE)
    np.testing.assert_array_equal(model.predict_proba(KINDS[kind](USED[["b", "a", "k"]])), expected)
    with pytest.warns(sf.SufficeWarning, match="lack the column 'b'"):
        without = model.predict_proba(KINDS[kind](USED[["a", "k"]]))
    blank = USED.assign(b=np.array([None] * len(USED), object))
    np.testing.assert_allclose(without, model.predict_proba(KINDS["pandas"](blank)), rtol=1e-12)
    np.testing.assert_array_equal(model.predict_proba(KINDS[kind](USED.assign(z=1))), expected)


def test_files_may_lack_what_was_left_out(tmp_path) -> None:
    USED.to_parquet(tmp_path / "used.parquet")
    model = sf.NaiveBayes().fit(WHOLE, Y)
    np.testing.assert_array_equal(model.predict(sf.scan(tmp_path / "used.parquet")), model.predict(WHOLE))


# ---- rows without names ----------------------------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("families", [None, sf.Product({"a": sf.Normal(), "b": sf.Categorical(), "k": sf.Poisson()})])
def test_an_array_is_read_by_position_after_a_table(families) -> None:
    model = sf.NaiveBayes(families).fit(USED, Y)
    array = USED.to_numpy()
    np.testing.assert_array_equal(model.predict_proba(array), model.predict_proba(USED))
    named, placed = model.explain(USED.iloc[0]), model.explain(array[0])
    assert placed.terms == named.terms
    assert placed.lines() == named.lines()
    with pytest.raises(ValueError, match="2 features, but NaiveBayes is expecting 3"):
        model.predict(array[:, :2])


# ---- priors that were set afterwards ---------------------------------------------------------------------------------
CLASSIFIERS = [
    sf.GaussianNB(),
    sf.GaussianNB(priors=[0.5, 0.5]),
    sf.BernoulliNB(fit_prior=False),
    sf.CategoricalNB(),
    sf.MultinomialNB(),
    sf.LinearDiscriminantAnalysis(),
    sf.QuadraticDiscriminantAnalysis(priors=[0.3, 0.7]),
    sf.NaiveBayes(),
    sf.BayesClassifier(sf.MultivariateNormal()),
]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
def test_priors_that_were_set_stay_when_rows_come_and_go(model, tmp_path) -> None:
    rows = np.random.default_rng(1).poisson(3.0 + Y[:, None], (N, 3)).astype(float)
    fresh = model.fit(rows, Y).class_prior_
    there = model.with_priors([0.1, 0.9])
    sf.save(there, tmp_path / "model.json")
    for one in (there, sf.load(tmp_path / "model.json")):
        one.partial_fit(rows, Y)
        np.testing.assert_array_equal(one.class_prior_, [0.1, 0.9])
        one.unlearn(rows[:10], Y[:10])
        np.testing.assert_array_equal(one.class_prior_, [0.1, 0.9])
        one.merge(model)
        np.testing.assert_array_equal(one.class_prior_, [0.1, 0.9])
        np.testing.assert_array_equal(one.fit(rows, Y).class_prior_, fresh)  # learned, or given, again


# ---- cells that nobody saw -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("families", [None, {"k": sf.NegativeBinomial()}, {"k": sf.Poisson()}], ids=repr)
def test_an_explanation_marks_labels_that_nobody_had(families) -> None:
    model = sf.NaiveBayes(families).fit(USED, Y)
    told = model.explain({"a": 1.0, "b": "elsewhere", "k": 2})
    assert told.notes == {"b": "unseen"}
    assert "elsewhere (unseen)" in str(told)
    assert "elsewhere (unseen)" in told._repr_html_()
    ticks = [tick.get_text() for tick in sf.plot.evidence(told).get_yticklabels()]
    assert "b = elsewhere (unseen)" in ticks
    assert model.explain({"a": 1.0, "b": None, "k": 2}).notes == {}
    assert model.explain({"a": 1.0, "b": "x", "k": 2}).notes == {}


def test_an_explanation_marks_what_no_class_can_have() -> None:
    model = sf.NaiveBayes({"k": sf.Poisson()}).fit(USED, Y)
    with pytest.warns(sf.SufficeWarning, match="probability 0 under every class"):
        told = model.explain({"a": 1.0, "b": "x", "k": -2})
    assert told.notes == {"k": "impossible"}
    assert told.terms["k"] == 0
    assert "-2 (impossible)" in str(told)


def test_an_explanation_by_position_marks_labels_too() -> None:
    model = sf.CategoricalNB().fit([[0, 1], [1, 0], [1, 1], [0, 0]], [0, 1, 1, 0])
    assert model.explain([7, 1]).notes == {0: "unseen"}


# ---- bad cells -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "model",
    [sf.GaussianNB(), sf.LinearDiscriminantAnalysis(), sf.MultinomialNB(), sf.BernoulliNB(), sf.CategoricalNB()],
)
@pytest.mark.parametrize("kind", KINDS)
def test_text_among_numbers_is_named(model, kind: str) -> None:
    table = pd.DataFrame({"a": [1.0, 2.0], "b": ["3", "no"]})
    with pytest.raises(
        sf.DataError, match=rf"{type(model).__name__} takes numbers, but row 1, column 'b' holds 'no'.*Naive"
    ):
        model.fit(KINDS[kind](table), [0, 1])
    with pytest.raises(sf.DataError, match="row 1, column 1 holds 'no'"):
        model.fit(table.to_numpy(), [0, 1])


def test_a_density_says_what_takes_text() -> None:
    with pytest.raises(sf.DataError, match=r"Density takes numbers, but row 0, column 'b' holds .*sf.infer"):
        sf.Density().fit(USED)
    assert np.isfinite(sf.Density(sf.infer(USED)).fit(USED).score(USED))


def test_cells_that_break_a_rule_are_named() -> None:
    with pytest.raises(ValueError, match=r"Negative values .* row 1, column 0 has -3"):
        sf.MultinomialNB().fit([[0, 1], [-3, 1]], [0, 1])
    with pytest.raises(sf.DataError, match=r"Bernoulli takes 0 or 1 .* row 1, column 1 has 3"):
        sf.BernoulliNB(binarize=None).fit([[0, 1], [0, 3]], [0, 1])
    with pytest.raises(sf.DataError, match="60 rows, but 5 labels"):
        sf.NaiveBayes().fit(USED, Y[:5])


def test_rows_of_unknown_class_are_left_out_of_the_score() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 2))
    truth = np.where(rows[:, 0] > 0.3, "a", "b").astype(object)
    some = truth.copy()
    some[[3, 7, 8]] = [None, np.nan, None]
    known = np.array([isinstance(one, str) for one in some])
    model = sf.NaiveBayes().fit(rows, truth)
    expected = np.mean(model.predict(rows)[known] == truth[known])
    assert model.score(rows, some) == pytest.approx(expected, rel=1e-15)
    heavy = np.where(np.arange(40) < 10, 5.0, 1.0)
    weighed = np.average(model.predict(rows)[known] == truth[known], weights=heavy[known])
    assert model.score(rows, some, heavy) == pytest.approx(weighed, rel=1e-12)
    with pytest.raises(sf.DataError, match="every class in y is unknown"):
        model.score(rows, [None] * 40)
