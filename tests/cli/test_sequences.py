"""Hidden Markov models on the command line: learned from files, decoded and forecast as by the library."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import suffice as sf

TRUTH = sf.HiddenMarkov([sf.Normal(0, 1), sf.Normal(5, 1)], transitions=[[0.9, 0.1], [0.2, 0.8]])


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    """Five patients in a file, a row for each day, in no order; some cells are empty."""
    rng = np.random.default_rng(0)
    lines = []
    for patient in "abcde":
        x, states = TRUTH.sample_with_states(40, rng)
        for day in range(40):
            pulse = "" if rng.random() < 0.05 else round(float(x[day]), 3)
            mood = ("calm", "upset")[states[day]] if rng.random() < 0.9 else "odd"
            lines.append([patient, day, pulse, mood])
    order = rng.permutation(len(lines))
    path = tmp_path_factory.mktemp("visits") / "visits.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["patient", "day", "pulse", "mood"], *(lines[i] for i in order)])
    return str(path)


@pytest.fixture(scope="module")
def sequences(visits):
    return sf.sequences(sf.scan(visits), by="patient", order="day")


@pytest.fixture
def fitted(run, visits, tmp_path):
    """A model of two states, in a file."""
    path = tmp_path / "m.json"
    run("fit", visits, "--sequence", "patient", "--order", "day", "--states", 2, "--out", path, "--quiet")
    return str(path)


def schema(visits):
    return sf.infer(sf.scan(visits), patient=None, day=None)


def test_a_fit_is_that_of_the_library(visits, sequences, fitted):
    direct = sf.fit(sf.HiddenMarkov(schema(visits), 2), sequences, random_state=0)
    assert sf.load(fitted).distribution == direct.distribution
    assert sf.load(fitted).log_likelihood == direct.log_likelihood


def test_the_number_of_states_is_that_of_select(run, visits, sequences, tmp_path):
    path = tmp_path / "best.json"
    words = ["--sequence", "patient", "--order", "day", "--states", "1:3", "--criterion", "icl"]
    found = json.loads(run("fit", visits, *words, "--out", path, "--json").stdout)
    direct = sf.select(
        sf.HiddenMarkov(schema(visits), 1), sequences, n_components=[1, 2, 3], criterion="icl", random_state=0
    )
    assert found["selection"]["criterion"] == "icl"
    assert [row["n_components"] for row in found["selection"]["table"]] == direct.table["n_components"]
    np.testing.assert_array_equal([row["icl"] for row in found["selection"]["table"]], direct.table["icl"])
    assert sf.load(path).distribution == direct.best.distribution
    assert direct.best.distribution.n == 2


def test_progress_counts_states(run, visits):
    told = run("fit", visits, "--sequence", "patient", "--order", "day", "--states", "1:2").stderr
    assert "candidate 1/2: 1 state ·" in told
    assert "candidate 2/2: 2 states ·" in told


def test_states_alone_make_one_sequence_of_a_file(run, tmp_path):
    path, out = tmp_path / "one.csv", tmp_path / "m.json"
    x = TRUTH.sample(80, 1)
    path.write_text("x\n" + "\n".join(map(repr, x.tolist())))
    run("fit", path, "--states", 2, "--out", out)
    direct = sf.fit(sf.HiddenMarkov(sf.Normal(), 2), x, random_state=0)
    assert sf.load(out).log_likelihood == pytest.approx(direct.log_likelihood, rel=1e-12)
    decoded = table(run("decode", out, path).stdout)
    np.testing.assert_array_equal([int(row["state"]) for row in decoded], direct.decode(x))


def test_structures_of_the_emissions(run, tmp_path):
    path, out = tmp_path / "two.csv", tmp_path / "m.json"
    model = sf.HiddenMarkov(
        [sf.MultivariateNormal([0, 0], np.eye(2)), sf.MultivariateNormal([4, 4], np.eye(2))],
        transitions=[[0.9, 0.1], [0.2, 0.8]],
    )
    rows = model.sample(120, 2)
    path.write_text("u,v\n" + "\n".join(f"{u!r},{v!r}" for u, v in rows.tolist()))
    words = ["--joint", "--structure", "VVV", "--structure", "EEE", "--states", 2, "--out", out, "--json"]
    found = json.loads(run("fit", path, *words).stdout)
    assert {row["structure"] for row in found["selection"]["table"]} == {"VVV", "EEE"}
    (block,) = sf.load(out).distribution.emissions.blocks.values()
    assert block.structure == found["selection"]["table"][0]["structure"]


def test_decode_tells_the_state_of_each_row_of_the_file(run, visits, sequences, fitted):
    found = table(run("decode", fitted, visits, "--sequence", "patient", "--order", "day", "--proba").stdout)
    model = sf.load(fitted)
    states, shares = model.decode(sequences), model.smooth(sequences)
    assert [int(row["row"]) for row in found] == list(range(200))
    np.testing.assert_array_equal([int(row["state"]) for row in found], states)
    np.testing.assert_allclose([[float(row[f"p({j})"]) for j in (0, 1)] for row in found], shares, atol=1e-12)
    np.testing.assert_allclose([float(row["probability"]) for row in found], shares[np.arange(200), states])
    moods = [row["mood"] for row in table(Path(visits).read_text())]
    assert {mood for mood, row in zip(moods, found, strict=True) if row["state"] == "0"} == {"calm", "odd"}


def test_decode_writes_parquet(run, visits, sequences, fitted, tmp_path):
    path = tmp_path / "states.parquet"
    done = run("decode", fitted, visits, "--sequence", "patient", "--order", "day", "--out", path)
    assert "200 rows written" in done.stderr
    np.testing.assert_array_equal(pq.read_table(path)["state"].to_pylist(), sf.load(fitted).decode(sequences))


def test_forecast_has_a_line_for_each_step_and_column(run, visits, sequences, fitted):
    words = ["--sequence", "patient", "--order", "day", "--steps", 3, "--level", "0.8", "--json"]
    found = json.loads(run("forecast", fitted, visits, *words).stdout)
    direct = sf.load(fitted).forecast(sequences, 3)
    for patient, ahead in direct.items():
        own = [row for row in found if row["patient"] == patient]
        pulse = [row for row in own if row["column"] == "pulse"]
        assert [row["step"] for row in pulse] == [1, 2, 3]
        np.testing.assert_allclose([row["mean"] for row in pulse], ahead.mean["pulse"])
        np.testing.assert_allclose([row["std"] for row in pulse], ahead.std["pulse"])
        ends = [[row["low 80 %"], row["high 80 %"]] for row in pulse]
        np.testing.assert_allclose(np.transpose(ends), ahead.interval(0.8)["pulse"])
        for level, p in ahead.probabilities["mood"].items():
            told = [row["probability"] for row in own if row["column"] == "mood" and row["level"] == level]
            np.testing.assert_allclose(told, p)
    assert len(found) == 5 * 3 * (1 + 3)


def test_forecast_of_a_single_sequence_that_has_a_name(run, tmp_path):
    rows, path = TRUTH.sample(60, 3), tmp_path / "x.csv"
    path.write_text("who,x\n" + "\n".join(f"z,{x!r}" for x in rows.tolist()))
    model = tmp_path / "m.json"
    run("fit", path, "--sequence", "who", "--states", 2, "--out", model)
    found = table(run("forecast", model, path, "--sequence", "who", "--steps", 2).stdout)
    direct = sf.load(model).forecast(rows, 2)
    assert [(row["who"], row["step"], row["column"]) for row in found] == [("z", "1", "x"), ("z", "2", "x")]
    np.testing.assert_allclose([float(row["mean"]) for row in found], direct.mean["x"])


def test_questions_are_of_a_row_of_which_nothing_else_is_known(run, fitted):
    row = sf.load(fitted).distribution.row_distribution
    found = json.loads(run("ask", fitted, "pulse", "--json").stdout)
    assert found["mean"] == pytest.approx(float(row.marginal("pulse").mean))
    found = json.loads(run("ask", fitted, "mood", "--given", "pulse=5", "--json").stdout)["probabilities"]
    assert found["upset"] == pytest.approx(float(np.exp(row.given(pulse=5).marginal("mood").log_prob(["upset"])[0])))


def test_steps_of_different_length_are_noted(run, fitted, tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("day,pulse,mood\n1,0.1,calm\n2,0.2,calm\n3,0.3,calm\n9,5.0,upset\n")
    assert "steps of different length" in run("decode", fitted, path, "--order", "day").stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--sequence", "patien"], "did you mean 'patient'"),
        (["--states", "2", "--components", "3"], "by --states"),
        (["--states", "0"], "--states is a number, a range or a list"),
        (["--order", "day", "--target", "mood"], "--target"),
        (["--order", "day", "--weights", "pulse"], "leave --weights out"),
        (["--sequence", "patient", "--starts", "2"], "give --states one number"),
    ],
)
def test_options_that_do_not_go_together_are_refused(run, visits, words, told):
    assert told in run("fit", visits, *words, code=2).stderr


def test_commands_name_each_other_where_a_model_is_of_the_other_kind(run, visits, penguins, fitted, model):
    assert "suffice decode" in run("predict", fitted, visits, code=1).stderr
    for command in ("decode", "forecast"):
        assert "--states" in run(command, model, penguins, code=1).stderr
    lacking = run("decode", fitted, penguins, code=1).stderr
    assert "'pulse', 'mood'" in lacking


def test_rows_of_one_time_are_refused(run, visits, fitted):
    assert "have the same 'day'" in run("decode", fitted, visits, "--order", "day", code=1).stderr


def test_a_report_of_sequences(run, visits, fitted, tmp_path):
    pytest.importorskip("jinja2")
    words, first, second = ["--sequence", "patient", "--order", "day"], tmp_path / "a.html", tmp_path / "b.html"
    run("fit", visits, *words, "--states", 2, "--report", first)
    run("report", fitted, visits, *words, "--out", second)
    for path in (first, second):
        assert "a hidden Markov model of 2 states over 2 columns" in path.read_text()
        assert "the longest of 5; column pulse" in path.read_text()


def test_score_is_of_sequences(run, visits, sequences, fitted):
    done = run("score", fitted, visits, "--sequence", "patient", "--order", "day")
    found, direct = table(done.stdout), sf.load(fitted).log_prob(sequences)
    assert [row["patient"] for row in found] == list(sequences.keys)
    assert {row["rows"] for row in found} == {"40"}
    np.testing.assert_allclose([float(row["log_prob"]) for row in found], direct, rtol=1e-12)
    assert f"log-likelihood {direct.sum():,.2f} of 200 rows in 5 sequences" in done.stderr


def test_impute_fills_holes_by_the_rows_of_the_sequence(run, visits, sequences, fitted):
    found = table(run("impute", fitted, visits, "--sequence", "patient", "--order", "day").stdout)
    before, direct = table(Path(visits).read_text()), sf.load(fitted).impute(sequences)
    assert [(row["patient"], row["day"]) for row in found] == [(row["patient"], row["day"]) for row in before]
    np.testing.assert_allclose([float(row["pulse"]) for row in found], direct["pulse"])
    assert any(row["pulse"] == "" for row in before)
    assert [row["mood"] for row in found] == list(direct["mood"])


def test_columns_of_sequences_are_for_models_of_them(run, penguins, model):
    for command in ("score", "impute"):
        assert "which has no states" in run(command, model, penguins, "--order", "year", code=1).stderr
