"""What the command line asks of the library beneath it: interrupted fits that can be saved, names with line breaks."""

import pytest

import suffice as sf


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_an_interrupted_fit_can_be_saved(tmp_path, number):
    def stop(seen):
        if seen.number == number:
            raise KeyboardInterrupt

    x = [1.0, 1.2, 0.8, 5.0, 5.3, 4.9, 3.0, 2.9]
    path = tmp_path / "m.json"
    try:
        fit = sf.fit(sf.Mixture(sf.Normal(), 2), x, random_state=0, tol=0.0, callback=stop)
    except KeyboardInterrupt:
        assert number == 1  # before the first pass there is nothing to keep
        return
    assert len(fit.trace.change) == len(fit.trace.log_likelihood)
    sf.save(fit, path)
    assert sf.load(path).distribution == fit.distribution


def test_names_of_columns_may_have_line_breaks(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text('"a\nb",c\n1.5,2\n2.5,3\n')
    assert sf.scan(path).names == ("a\nb", "c")


def test_checkpoints_hold_fits_of_labels(tmp_path):
    rows = {"kind": ["a", "b", "a", "c"] * 5, "size": [1.0, 5.0, 1.2, 4.8] * 5}
    model = sf.Mixture(sf.Product({"kind": sf.Categorical(), "size": sf.Normal()}), 2)
    kept = sf.fit(model, rows, random_state=0, checkpoint=tmp_path / "c.json")
    assert kept.distribution == sf.fit(model, rows, random_state=0).distribution


# ---- words of the command line ---------------------------------------------------------------------------------------
def test_a_file_without_rows_is_refused_by_name(run, tmp_path):
    path = tmp_path / "bare.csv"
    path.write_text("a,b\n")
    for words in (["fit", path], ["inspect", path], ["fit", path, "--target", "a"]):
        assert f"{path} has no rows, only the names of columns" in run(*words, code=1).stderr.replace("\n", "")
    assert "the 2 files have no rows" in run("inspect", path, path.with_name("bare.csv"), code=1).stderr


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


def test_one_row_is_no_rows(run, tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("a,b\n1.5,2.5\n2.5,\n3.5,1.0\n")
    found = tmp_path / "m.json"
    run("fit", path, "--components", "1", "--family", "a=Normal", "--family", "b=Normal", "--out", found)
    out = tmp_path / "filled.csv"
    assert "1 hole filled" in run("impute", found, path, "--out", out).stderr
    assert "1 row written" in run("sample", found, "-n", "1", "--out", out).stderr
    alone = tmp_path / "alone.csv"
    alone.write_text("a\n2\n")
    assert ": 1 row, 1 column\n" in run("inspect", alone, "--family", "a=Normal").stdout


@pytest.mark.parametrize("spelling", ["heldout", "held_out", "held-out"])
def test_held_out_likelihood_has_every_spelling(run, tmp_path, spelling):
    path = tmp_path / "rows.csv"
    path.write_text("a\n" + "".join(f"{i % 7}.{i}\n" for i in range(40)))
    assert "held-out log-likelihood" in run("fit", path, "--components", "1:2", "--criterion", spelling, "-q").stdout
    x = [1.0, 1.2, 0.8, 5.0, 5.3, 4.9, 3.0, 2.9, 4.4, 1.9]
    assert sf.select(sf.Normal(), x, n_components=[1], criterion=spelling, random_state=0).criterion == "held_out"
