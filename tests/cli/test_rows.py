"""Commands that answer row by row say what the library says."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import suffice as sf


@pytest.fixture(scope="module")
def rows(penguins):
    return sf.scan(penguins).frame()


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_score(run, model, penguins, rows):
    found = table(run("score", model, penguins).stdout)
    np.testing.assert_allclose([float(row["log_prob"]) for row in found], sf.load(model).log_prob(rows), rtol=1e-12)
    assert [int(row["row"]) for row in found] == list(range(344))


def test_score_notes_the_whole_likelihood(run, model, penguins):
    assert f"log-likelihood {sf.load(model).log_likelihood:,.2f} of 344 rows" in run("score", model, penguins).stderr


def test_predict_components(run, model, penguins, rows):
    found = table(run("predict", model, penguins, "--proba").stdout)
    shares = np.array([[float(row[f"p({j})"]) for j in range(3)] for row in found])
    np.testing.assert_allclose(shares, sf.load(model).predict_proba(rows), atol=1e-12)
    np.testing.assert_array_equal([int(row["component"]) for row in found], shares.argmax(axis=1))


def test_predict_classes(run, classifier, penguins, rows):
    found = table(run("predict", classifier, penguins).stdout)
    others = {name: np.asarray(rows[name]) for name in rows if name != "species"}
    assert [row["species"] for row in found] == list(sf.load(classifier).predict(others))
    assert set(found[0]) == {"row", "species", "probability"}


@pytest.mark.parametrize("ending", ["csv", "parquet", "json"])
def test_files_by_their_ending(run, model, penguins, tmp_path, ending):
    path = tmp_path / f"scores.{ending}"
    done = run("score", model, penguins, "--out", path)
    assert done.stdout == ""
    assert "344 rows written" in done.stderr
    read = {
        "csv": lambda: [float(row["log_prob"]) for row in table(path.read_text())],
        "parquet": lambda: list(pq.read_table(path)["log_prob"].to_pylist()),
        "json": lambda: [row["log_prob"] for row in json.loads(path.read_text())],
    }
    direct = [row["log_prob"] for row in json.loads(run("score", model, penguins, "--json").stdout)]
    np.testing.assert_allclose(read[ending](), direct, rtol=1e-12)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_a_file_that_fails_leaves_nothing_behind(run, model, tmp_path):
    data, out = tmp_path / "bad.csv", tmp_path / "out.csv"
    data.write_text("kind,place\nAdelie,Dream\n")  # none of the columns of the model
    run("score", model, data, "--out", out, code=1)
    assert [one.name for one in tmp_path.iterdir()] == ["bad.csv"]


def test_sample(run, model):
    found = table(run("sample", model, "-n", 20, "--seed", 3).stdout)
    drawn = sf.load(model).sample(20, random_state=3)
    assert len(found) == 20
    assert [row["island"] for row in found] == list(drawn["island"])
    np.testing.assert_allclose([float(row["body_mass_g"]) for row in found], drawn["body_mass_g"], rtol=1e-12)
    assert run("sample", model, "-n", 20, "--seed", 3).stdout != run("sample", model, "-n", 20, "--seed", 4).stdout


def test_sample_given(run, model):
    found = table(run("sample", model, "-n", 50, "--given", "species=Gentoo").stdout)
    assert {row["species"] for row in found} == {"Gentoo"}
    assert {row["island"] for row in found} == {"Biscoe"}  # where all Gentoos live


def test_impute(run, model, penguins, tmp_path):
    path = tmp_path / "filled.csv"
    done = run("impute", model, penguins, "--out", path)
    assert "19 holes filled" in done.stderr
    before = table(Path(penguins).read_text())
    after = table(path.read_text())
    assert list(after[0]) == list(before[0])
    holes = 0
    for old, new in zip(before, after, strict=True):
        for name, value in old.items():
            holes += value == "NA"
            if value == "NA":
                assert new[name] not in ("", "NA")
            elif name in ("species", "island", "sex"):
                assert new[name] == value
            else:
                assert float(new[name]) == float(value)
    assert holes == 19
    assert after[3]["sex"] in ("male", "female")
    assert 30 < float(after[3]["bill_length_mm"]) < 45  # an Adelie


def test_draws_differ_by_seed_and_keep_what_is_seen(run, model, penguins):
    first, same, other = (run("impute", model, penguins, "--draw", "--seed", seed).stdout for seed in (1, 1, 2))
    assert first == same != other
    assert table(first)[0] == table(other)[0]  # a row without holes


def test_empty_cells_of_columns_that_the_model_does_not_have_stay(run, penguins, tmp_path):
    path = tmp_path / "m.json"
    run("fit", penguins, "--components", "1", "--ignore", "sex", "--out", path)
    done = run("impute", path, penguins)
    assert "11 left in columns that the model does not have" in done.stderr
    assert [row["sex"] for row in table(done.stdout)].count("") == 11


def test_text_with_its_own_marks(run, tmp_path):
    path = tmp_path / "rows.csv"
    sizes = [f"{1.5 + 0.25 * (number % 15):.2f}#a\n-#b\n" for number in range(40)]
    path.write_text("size#kind\n" + "".join(sizes))
    plain = run("inspect", path, "--delimiter", "#", "--json")
    assert plain.exit_code == 0, plain.output
    columns = {one["name"]: one for one in json.loads(plain.stdout)["columns"]}
    assert columns["size"]["family"] == "Categorical"
    marked = run("inspect", path, "--delimiter", "#", "--missing", "-", "--json")
    columns = {one["name"]: one for one in json.loads(marked.stdout)["columns"]}
    assert columns["size"]["missing"] == 0.5
    assert columns["size"]["family"] != "Categorical"
