"""Intervals of the commands: one default, which the output states; and answers far from the data."""

import json

import pytest


def test_ask_and_predict_have_one_level(run, model, penguins):
    asked = json.loads(run("ask", model, "body_mass_g", "--json").stdout)
    assert asked["level"] == 0.95
    assert "95 % between" in run("ask", model, "body_mass_g").stdout
    rows = run("predict", model, penguins, "--column", "body_mass_g", "--json").stdout
    first = json.loads(rows)["rows"][0] if rows.startswith("{") else json.loads(rows)[0]
    assert set(first) == {"row", "body_mass_g", "low 95 %", "high 95 %"}
    assert first["low 95 %"] < first["body_mass_g"] < first["high 95 %"]
    narrow = run("predict", model, penguins, "--column", "body_mass_g", "--level", "0.5").stdout.splitlines()
    assert narrow[0] == "row,body_mass_g,low 50 %,high 50 %"
    assert first["low 95 %"] < float(narrow[1].split(",")[2])


def test_a_column_of_labels_is_predicted_with_its_probability(run, model, penguins):
    lines = run("predict", model, penguins, "--column", "species", "--proba").stdout.splitlines()
    assert lines[0].startswith("row,species,probability,p(Adelie)")
    row = lines[1].split(",")
    assert row[1] == "Adelie"
    assert float(row[2]) == pytest.approx(max(map(float, row[3:])))


def test_a_given_value_far_from_the_data_is_reported_on_standard_error(run, model):
    found = run("ask", model, "bill_length_mm", "--given", "body_mass_g=90000")
    told = " ".join(found.stderr.split())
    assert "body_mass_g = 90000 is far from what the model expects" in told
    assert "far from" not in found.stdout
    told = " ".join(run("ask", model, "component", "--given", "body_mass_g=90000").stderr.split())
    assert "body_mass_g = 90000 is far" in told
    assert run("ask", model, "bill_length_mm", "--given", "body_mass_g=4000").stderr == ""
