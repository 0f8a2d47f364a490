"""Questions on the command line have the answers of the library."""

import json

import numpy as np
import pytest

import suffice as sf


def test_a_number_given_a_label(run, model):
    found = json.loads(run("ask", model, "body_mass_g", "--given", "species=Gentoo", "--level", "0.8", "--json").stdout)
    one = sf.load(model).given(species="Gentoo").marginal("body_mass_g")
    assert found["mean"] == pytest.approx(float(one.mean))
    assert found["interval"] == pytest.approx([float(one.quantile(0.1)), float(one.quantile(0.9))])
    assert found["interval"][0] < found["median"] < found["interval"][1]
    assert found["given"] == {"species": "Gentoo"}


def test_a_label_given_a_number(run, model):
    found = json.loads(run("ask", model, "species", "--given", "body_mass_g=5600", "--json").stdout)["probabilities"]
    assert sum(found.values()) == pytest.approx(1)
    assert max(found, key=found.get) == "Gentoo"


def test_whole_numbers_as_levels(run, model):
    found = json.loads(run("ask", model, "year", "--given", "sex=male", "--json").stdout)["probabilities"]
    assert set(found) == {"2007", "2008", "2009"}
    assert json.loads(run("ask", model, "sex", "--given", "year=2008", "--json").stdout)


def test_who_made_a_row(run, model, classifier):
    component = json.loads(run("ask", model, "component", "--given", "species=Adelie", "--json").stdout)[
        "probabilities"
    ]
    assert max(component.values()) > 0.99
    found = json.loads(run("ask", classifier, "class", "--given", "flipper_length_mm=230", "--json").stdout)
    assert found["probabilities"]["Gentoo"] > 0.9


def test_the_page(run, model):
    page = run("ask", model, "island", "--given", "species=Adelie").stdout
    assert page.startswith("island given species = Adelie")
    assert "█" in page
    page = run("ask", model, "bill_length_mm").stdout
    assert "95 % between" in page


@pytest.mark.parametrize("row", [0, 3, 343])
def test_explain(run, classifier, penguins, row):
    found = json.loads(run("explain", classifier, penguins, "--row", row, "--json").stdout)
    frame = sf.scan(penguins).frame(row, row + 1)
    direct = sf.load(classifier).explain({n: np.asarray(frame[n])[0] for n in frame if n != "species"})
    assert found["label"] == direct.label
    assert found["log_odds"] == pytest.approx(direct.log_odds)
    assert found["prior"] + sum(found["terms"].values()) == pytest.approx(found["log_odds"])
    assert found["terms"] == pytest.approx(direct.terms)


def test_explain_a_component(run, model, penguins):
    found = json.loads(run("explain", model, penguins, "--row", 7, "--label", 0, "--against", 2, "--json").stdout)
    scores = sf.load(model).distribution.scores(sf.load(model).distribution.read(sf.scan(penguins).frame(7, 8)))[0]
    assert (found["label"], found["against"]) == (0, 2)
    np.testing.assert_allclose(found["log_odds"], scores[0] - scores[2])


def test_classes_that_do_not_exist(run, classifier, penguins):
    assert "did you mean 'Gentoo'" in run("explain", classifier, penguins, "--label", "Gento", code=2).stderr


def test_the_class_has_the_name_of_its_column(run, tmp_path):
    """Also where another column is called "class"."""
    rows, path = tmp_path / "rows.csv", tmp_path / "model.json"
    rows.write_text("class,survived\n" + "1st,yes\n1st,yes\n1st,no\n3rd,no\n" * 10)
    run("fit", rows, "--target", "survived", "--out", path, "--quiet")
    given = json.loads(run("ask", path, "survived", "--given", "class=1st", "--json").stdout)["probabilities"]
    assert 0.6 < given["yes"] < 0.7
    back = json.loads(run("ask", path, "class", "--given", "survived=yes", "--json").stdout)["probabilities"]
    assert back["1st"] > 0.9
