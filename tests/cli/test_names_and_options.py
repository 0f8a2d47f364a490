"""Names with line breaks, spellings of options, and advice in the words of the command line."""

import pytest

import suffice as sf


def test_names_of_columns_may_have_line_breaks(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text('"a\nb",c\n1.5,2\n2.5,3\n')
    assert sf.scan(path).names == ("a\nb", "c")


def test_notes_and_errors_advise_in_options(run, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("size,kind\n" + "".join(f"{i}.5,{i % 2}\n" for i in range(400)) + "very heavy,1\n")
    seen = run("inspect", path).stderr.replace("\n", " ")
    assert "--missing 'very heavy'." in seen
    assert "scan(" not in seen
    assert "note:" not in run("inspect", path, "--missing", "very heavy").stderr
    flat = tmp_path / "flat.csv"
    flat.write_text("a\n1\n1\n1\n")
    refused = run("inspect", flat, code=1).stderr.replace("\n", " ")
    assert "--family COLUMN=Normal" in refused
    assert "infer(df" not in refused


@pytest.mark.parametrize("spelling", ["heldout", "held_out", "held-out"])
def test_held_out_likelihood_has_every_spelling(run, tmp_path, spelling):
    path = tmp_path / "rows.csv"
    path.write_text("a\n" + "".join(f"{i % 7}.{i}\n" for i in range(40)))
    assert "held-out log-likelihood" in run("fit", path, "--components", "1:2", "--criterion", spelling, "-q").stdout
    x = [1.0, 1.2, 0.8, 5.0, 5.3, 4.9, 3.0, 2.9, 4.4, 1.9]
    assert sf.select(sf.Normal(), x, n_components=[1], criterion=spelling, random_state=0).criterion == "held_out"
