"""Columns that depend strongly on each other within the classes are an alert of naive Bayes."""

import numpy as np
import pytest

import suffice as sf

rng = np.random.default_rng(0)
y = np.repeat(["a", "b"], 100)
x = rng.normal(size=200) + 2 * (y == "b")
TABLE = {
    "x": x,
    "twin": x + 0.1 * rng.normal(size=200),
    "alone": rng.normal(size=200) + (y == "b"),
    "kind": np.where(rng.random(200) < 0.5, "p", "q"),
}


def alerts(model):
    return [text for code, text in model.alerts_ if code == "dependent"]


def test_a_dependent_pair_is_named_and_an_independent_one_is_not():
    (told,) = alerts(sf.NaiveBayes().fit(TABLE, y))
    assert "'x' and 'twin'" in told
    assert "alone" not in told
    assert "kind" not in told
    assert "joint=True" in told


def test_labels_that_repeat_each_other_are_named():
    table = {"kind": TABLE["kind"], "sort": np.where(TABLE["kind"] == "p", "left", "right"), "alone": TABLE["alone"]}
    (told,) = alerts(sf.NaiveBayes().fit(table, y))
    assert "'kind' and 'sort' (0.6" in told  # log 2, less the bias of a table of two by two


def test_what_is_described_together_or_independent_raises_no_alert():
    assert alerts(sf.NaiveBayes(joint=True).fit(TABLE, y)) == []
    assert alerts(sf.NaiveBayes().fit({name: TABLE[name] for name in ("x", "alone", "kind")}, y)) == []
    assert alerts(sf.NaiveBayes(sf.Normal()).fit({"x": x, "twin": TABLE["twin"]}, y)) != []
    few = slice(98, 102)  # rows too few to say it
    assert alerts(sf.NaiveBayes(sf.Normal()).fit({"x": x[few], "twin": TABLE["twin"][few]}, y[few])) == []


def test_it_is_there_in_a_file_of_rows_in_the_summary_and_after_saving(tmp_path):
    pd = pytest.importorskip("pandas")
    path = tmp_path / "rows.csv"
    pd.DataFrame({**TABLE, "y": y}).to_csv(path, index=False)
    model = sf.NaiveBayes().fit(sf.scan(path), "y")
    (told,) = alerts(model)
    assert "'x' and 'twin'" in told
    assert "dependent" in model.summary()
    assert sf.io.loads(sf.io.dumps(model)).alerts_ == model.alerts_


def test_more_rows_keep_what_was_said():
    model = sf.NaiveBayes().partial_fit(TABLE, y, classes=["a", "b"])
    before = alerts(model)
    assert before
    assert alerts(model.partial_fit(TABLE, y)) == before
