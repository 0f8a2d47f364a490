"""Files without rows, or with one."""


# ---- words of the command line ---------------------------------------------------------------------------------------
def test_a_file_without_rows_is_refused_by_name(run, tmp_path):
    path = tmp_path / "bare.csv"
    path.write_text("a,b\n")
    for words in (["fit", path], ["inspect", path], ["fit", path, "--target", "a"]):
        assert f"{path} has no rows, only the names of columns" in run(*words, code=1).stderr.replace("\n", "")
    assert "the 2 files have no rows" in run("inspect", path, path.with_name("bare.csv"), code=1).stderr


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
