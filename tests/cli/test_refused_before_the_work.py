"""What cannot be done is said before the work, in the user's words, and never as a fault of suffice."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import suffice as sf
from suffice.em.convergence import ObjectiveFellError, describe_fall
from suffice.errors import DataError, SufficeWarning


@pytest.mark.parametrize(("name", "value"), [("SUFFICE_THREADS", "abc"), ("SUFFICE_KERNELS", "foo")])
def test_a_wrong_setting_is_the_users_to_mend(run, model, penguins, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    told = run("score", model, penguins, code=1).stderr
    assert name in told
    assert "fault in suffice" not in told


@pytest.mark.parametrize(("value", "strict"), [("", 0), ("0", 0), ("false", 0), ("off", 0), ("1", 1), ("yes", 1)])
def test_strictness_can_be_switched_off(monkeypatch, value, strict):
    monkeypatch.setenv("SUFFICE_STRICT", value)
    here = SimpleNamespace(objective=1.0, distribution=SimpleNamespace(name="Normal"))
    if strict:
        with pytest.raises(ObjectiveFellError):
            describe_fall(here, here, 3)
    else:
        assert "stopped after pass 3" in describe_fall(here, here, 3)


def test_places_that_cannot_be_written_are_refused_before_the_fit(run, penguins, tmp_path):
    for place in ("/proc/model.json", "/dev/full", tmp_path, tmp_path / "none" / "m.json"):
        told = run("fit", penguins, "--out", place, code=1)
        assert str(place) in told.stderr
        assert "Mixture" not in told.stdout


def test_a_report_without_its_extra_is_refused_before_the_fit(run, penguins, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    told = run("fit", penguins, "--report", tmp_path / "r.html", code=1)
    assert "pip install" in told.stderr
    assert "Mixture" not in told.stdout


def test_too_many_rows_are_refused(run, model):
    told = run("sample", model, "-n", "99999999999999999999", code=2).stderr
    assert "at most 100,000,000 rows" in told


def test_what_is_no_file_of_rows_is_not_offered_again(run, model):
    told = run("score", model, "/dev/null", code=1).stderr
    assert "not a file of rows" in told
    assert "did you mean" not in told


def test_a_file_that_is_named_twice_counts_once_and_is_named(penguins):
    with pytest.warns(SufficeWarning, match=r"penguins\.csv' is named 2 times; its rows count once"):
        assert len(sf.scan([penguins, penguins])) == 344


def test_other_encodings_are_read_or_advised(run, tmp_path):
    text, path = "size,kind\n1,café\n2,thé\n", tmp_path / "t.csv"
    for encoding in ("utf-16", "latin1"):
        path.write_bytes(text.encode(encoding))
        assert f"--encoding {encoding}" in run("inspect", path, code=1).stderr
        assert "café" in run("inspect", path, "--encoding", encoding).stdout
    assert sf.scan(path, encoding="latin1").frame()["kind"].words == ("café", "thé")
    with pytest.raises(sf.ParameterError, match="no encoding 'nope'"):
        sf.scan(path, encoding="nope")


def test_decimal_commas_are_numbers_where_they_are_asked_for(run, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("size;words\n1,5;a,b\n-2,25;c,1\n,5;1,2x\n3;\n1,5e3;d\n")
    rows = sf.scan(path, decimal=",").frame()
    np.testing.assert_array_equal(rows["size"], [1.5, -2.25, 0.5, 3.0, 1500.0])
    assert rows["words"].words[:3] == ("a,b", "c,1", "1,2x")
    assert "Normal" in run("inspect", path, "--decimal", ",").stdout


def test_a_target_of_many_numbers_is_refused_as_a_number(run, tmp_path):
    rng = np.random.default_rng(0)
    pd.DataFrame({"x": rng.normal(size=400), "time": rng.integers(0, 5000, 400)}).to_csv(tmp_path / "t.csv")
    told = run("fit", tmp_path / "t.csv", "--target", "time", code=1).stderr
    assert "looks like a number" in told
    assert "suffice ask MODEL time" in told


@pytest.mark.parametrize("mark", ["Z", ""])
def test_a_given_family_of_labels_like_an_identifier_is_noted(run, tmp_path, mark):
    rng = np.random.default_rng(0)
    towns = [f"{mark}{town}" for town in rng.integers(10_000, 11_000, 1500)]
    pd.DataFrame({"zip": towns, "size": rng.normal(size=1500)}).to_csv(tmp_path / "t.csv", index=False)
    told = run("fit", tmp_path / "t.csv", "--family", "zip=Categorical", "--components", 2, "--quiet").stderr
    assert f"column 'zip' has {len(set(towns))} levels, 2.0 rows for each: it is like an identifier" in told
    assert "--ignore zip" in told


def test_tol_is_that_of_the_fit(run, penguins, tmp_path):
    for tol, out in ((1e-3, "a.json"), (1e-9, "b.json")):
        run("fit", penguins, "--components", 6, "--tol", tol, "--out", tmp_path / out, "--quiet")
    assert sf.load(tmp_path / "a.json").n_iter < sf.load(tmp_path / "b.json").n_iter


def test_json_escapes_marks_that_cannot_be_seen(run, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\u202eb,c\n1,x\u2066\n2,y\n3,x\u2066\n")
    text = run("inspect", path, "--json").stdout
    assert "\u202e" not in text
    assert "\u2066" not in text
    assert json.loads(text)["columns"][0]["name"] == "a\u202eb"


def test_levels_are_asked_for_at_once_and_the_top_ones_printed(run, tmp_path):
    words = [f"w{i % 300}" for i in range(900)]
    data = {"word": words, "size": np.arange(900.0)}
    sf.save(sf.fit(sf.Product({"word": sf.Categorical(), "size": sf.Normal()}), data), tmp_path / "m.json")
    page = run("ask", tmp_path / "m.json", "word").stdout
    assert "… 280 more levels, 0.9333 together" in page
    found = json.loads(run("ask", tmp_path / "m.json", "word", "--json").stdout)["probabilities"]
    assert len(found) == 300
    assert sum(found.values()) == pytest.approx(1.0)


def test_a_path_is_no_table():
    with pytest.raises(DataError, match=r"sf\.scan\(path\)"):
        sf.infer("rows.csv")


def test_columns_that_are_left_out_are_named_unless_the_caller_left_them_out(run, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"id": range(1000, 1060), "x": rng.normal(size=60), "when": ["2026-01-01"] * 59 + ["2026-02-03"]}
    )
    place = tmp_path / "t.csv"
    table.to_csv(place, index=False)
    told = run("fit", place, "--components", "1").stderr
    assert "left out: 'id' (" in told
    assert "--family COLUMN=FAMILY" in told
    assert "left out: 'id'" not in run("fit", place, "--components", "1", "--ignore", "id").stderr
