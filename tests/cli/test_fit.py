"""`suffice fit` learns what the library learns, and says so in several ways."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import suffice as sf

MEASURES = ("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g")


def told_apart(path):
    """The rows without the species, and the species."""
    frame = sf.scan(path).frame()
    return {name: np.asarray(frame[name]) for name in frame if name != "species"}, np.asarray(frame["species"])


def test_a_mixture_is_that_of_the_library(model, penguins):
    rows = sf.scan(penguins)
    direct = sf.fit(sf.Mixture(sf.infer(rows), 3), rows, random_state=0)
    assert sf.load(model).distribution == direct.distribution
    assert sf.load(model).log_likelihood == direct.log_likelihood


def test_a_selection_is_that_of_the_library(run, penguins, tmp_path):
    path = tmp_path / "best.json"
    done = run(
        "fit", penguins, "--ignore", "species", "--components", "2:3", "--criterion", "aic", "--out", path, "--json"
    )
    found = json.loads(done.stdout)
    rows = sf.scan(penguins)
    direct = sf.select(sf.infer(rows, species=None), rows, n_components=[2, 3], criterion="aic", random_state=0)
    assert [row["n_components"] for row in found["selection"]["table"]] == direct.table["n_components"]
    np.testing.assert_array_equal([row["aic"] for row in found["selection"]["table"]], direct.table["aic"])
    assert sf.load(path).distribution == direct.best.distribution
    assert "species" not in {row["column"] for row in found["rows"]}
    shares = [one["value"] for one in found["parameters"] if one["label"] == "weight"]
    np.testing.assert_array_equal(shares, direct.best.params["weights"])
    assert {one["component"] for one in found["parameters"]} == set(range(direct.best.distribution.n))
    assert not found["interrupted"]


def test_families_ignored_columns_weights_and_prior(run, penguins, tmp_path):
    path = tmp_path / "m.json"
    options = ("--family", "body_mass_g=Gamma", "--ignore", "island", "--weights", "year", "--prior", "weak")
    run("fit", penguins, "--components", "2", *options, "--seed", 4, "--out", path)
    rows = sf.scan(penguins)
    schema = sf.infer(rows, island=None, body_mass_g=sf.Gamma(), weights="year")
    direct = sf.fit(sf.Mixture(schema, 2), rows, weights="year", prior="weak", random_state=4)
    found = sf.load(path)
    assert found.distribution == direct.distribution
    assert found.n == direct.n > 600_000  # the sum of the years


def test_correlated_measurements(run, penguins, tmp_path):
    path = tmp_path / "m.json"
    ignored = [word for name in ("species", "island", "sex", "year") for word in ("--ignore", name)]
    run("fit", penguins, "--joint", "--structure", "EEE", "--components", "3", *ignored, "--out", path)
    blocks = sf.load(path).distribution.components.blocks
    assert list(blocks) == [MEASURES]
    assert blocks[MEASURES].structure == "EEE"


def test_a_classifier_is_naive_bayes(run, penguins, classifier):
    rows, y = told_apart(penguins)
    direct = sf.NaiveBayes(random_state=0).fit(rows, y)
    found = sf.load(classifier)
    np.testing.assert_array_equal(found.predict_proba(rows), direct.predict_proba(rows))
    assert np.mean(found.predict(rows) == y) > 0.97
    page = run("show", classifier).stdout
    assert "Gentoo" in page
    assert "flipper_length_mm" in page


def test_a_classifier_with_weights_and_rows_of_unknown_class(run, penguins, tmp_path):
    lines = Path(penguins).read_text().splitlines()
    some = [line if number % 10 else line.replace("Adelie", "", 1) for number, line in enumerate(lines)]
    (tmp_path / "some.csv").write_text("\n".join(some) + "\n")
    for name in ("some.csv", penguins):
        run("fit", tmp_path / name, "--target", "species", "--weights", "year", "--out", tmp_path / "m.json")
        found = sf.load(tmp_path / "m.json")
        assert found.class_count_.sum() > 600_000
        assert "year" not in found.feature_names_in_
        assert list(found.classes_) == ["Adelie", "Chinstrap", "Gentoo"]
        rows, y = told_apart(penguins)
        rows.pop("year")
        assert np.mean(found.predict(rows) == y) > 0.97


def test_the_same_rows_give_the_same_bytes(run, penguins, model, tmp_path):
    again = tmp_path / "again.json"
    run("fit", penguins, "--components", "3", "--out", again)
    assert again.read_bytes() == Path(model).read_bytes()


def test_a_report(run, penguins, model, classifier, tmp_path):
    page = tmp_path / "report.html"
    assert "report written" in run("report", model, penguins, "--out", page).stderr
    assert "bill_length_mm" in page.read_text()
    run("report", classifier, penguins, "--target", "species", "--out", page)
    assert "Chinstrap" in page.read_text()


def test_merged_models_have_seen_both_halves(run, penguins, tmp_path):
    lines = Path(penguins).read_text().splitlines()
    for name, kept in (("odd", lines[1::2]), ("even", lines[2::2]), ("all", lines[1:])):
        (tmp_path / f"{name}.csv").write_text("\n".join([lines[0], *kept]) + "\n")
        families = [word for column in MEASURES for word in ("--family", f"{column}=Normal")]
        run(
            "fit",
            tmp_path / f"{name}.csv",
            "--target",
            "species",
            *families,
            "--prior",
            "none",
            "--out",
            tmp_path / f"{name}.json",
        )
    run("merge", tmp_path / "odd.json", tmp_path / "even.json", "--out", tmp_path / "both.json")
    both, whole = (sf.load(tmp_path / f"{name}.json") for name in ("both", "all"))
    rows, _ = told_apart(penguins)
    np.testing.assert_allclose(both.predict_proba(rows), whole.predict_proba(rows), atol=1e-12)


def test_merging_what_does_not_go_together_is_refused(run, model, classifier, tmp_path):
    out = tmp_path / "c.json"
    run("merge", model, classifier, "--out", out, code=1)
    assert not out.exists()


def test_several_files_and_patterns(run, penguins, tmp_path):
    lines = Path(penguins).read_text().splitlines()
    for number in range(3):
        part = lines[1 + number :: 3]
        (tmp_path / f"part{number}.csv").write_text("\n".join([lines[0], *part]) + "\n")
    found = json.loads(run("inspect", tmp_path / "part*.csv", "--json").stdout)
    listed = json.loads(run("inspect", *(tmp_path / f"part{i}.csv" for i in range(3)), "--json").stdout)
    assert found["rows"] == listed["rows"] == 344
    assert found["columns"] == listed["columns"]


@pytest.mark.parametrize("text", ["Normal", "Normal()", "StudentT(df=4.0)"])
def test_families_with_parameters(run, penguins, text):
    found = json.loads(run("inspect", penguins, "--family", f"body_mass_g={text}", "--json").stdout)
    families = {one["name"]: one["family"] for one in found["columns"]}
    assert families["body_mass_g"] == text.partition("(")[0]


def test_pooled_levels_are_noted(tmp_path, run):
    rng = np.random.default_rng(0)
    cities = np.r_[np.repeat([f"t{i}" for i in range(20)], 40), [f"h{i}" for i in range(120)]]
    data = tmp_path / "cities.csv"
    pd.DataFrame({"city": cities, "x": rng.normal(size=len(cities))}).to_csv(data, index=False)
    done = run("fit", data, "--components", "1")
    assert "120 with fewer than 10 rows pooled as '(other)'" in " ".join(done.stderr.split())
    assert "--family city=Categorical keeps every level" in " ".join(done.stderr.split())
    done = run("fit", data, "--components", "1", "--family", "city=Categorical")
    assert "pooled" not in done.stderr


def test_copies_of_columns_are_noted(tmp_path, run):
    x = np.random.default_rng(0).normal(size=60)
    data = tmp_path / "copies.csv"
    pd.DataFrame({"x": x, "z": x}).to_csv(data, index=False)
    done = run("fit", data, "--components", "1")
    assert "column 'z' is a copy of 'x', which counts twice: leave one out, by --ignore z" in " ".join(
        done.stderr.split()
    )
