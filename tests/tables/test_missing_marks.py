"""Which words of a text file mean a missing cell: the usual ones, or exactly those that are named."""

import json

import pytest
from click.testing import CliRunner

import suffice as sf
from suffice.cli import cli
from suffice.errors import ParameterError


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "garages.csv"
    lines = ["None,1.5", "NA,2.5", "attached,NA", "nan,3.5", ",4.5"]
    file.write_text("garage,size\n" + "\n".join(lines) + "\n")
    return file


def read(path, **options):
    table = sf.scan(path, **options).table()
    return table["garage"].to_pylist(), table["size"].to_pylist()


def test_the_usual_words_are_missing_by_default(path):
    garage, size = read(path)
    assert garage == [None, None, "attached", None, None]
    assert size == [1.5, 2.5, None, 3.5, 4.5]


def test_named_words_and_no_others_are_missing(path):
    garage, size = read(path, missing=["NA"])
    assert garage == ["None", None, "attached", "nan", None]
    assert size[2] is None
    assert read(path, missing="NA")[0] == garage


def test_no_word_at_all_may_be_missing(path):
    garage, size = read(path, missing=())
    assert garage == ["None", "NA", "attached", "nan", None]
    assert size == ["1.5", "2.5", "NA", "3.5", "4.5"]  # "NA" makes text of the column


def test_what_is_no_word_is_refused(path):
    with pytest.raises(ParameterError, match=r"missing names words of text.*got 999"):
        sf.scan(path, missing=[999])


def test_the_advice_keeps_the_marks_that_the_file_has(tmp_path):
    path = tmp_path / "sizes.csv"
    path.write_text("size\n" + "".join(f"{i}.5\n" for i in range(300)) + "NA\n?\n")
    ((_, told),) = sf.scan(path).alerts
    assert "scan(…, missing=['NA', '?'])" in told
    assert sf.scan(path, missing=["NA", "?"]).alerts == ()
    shown = CliRunner().invoke(cli, ["inspect", str(path)]).stderr.replace("\n", " ")
    assert "--missing NA --missing '?'" in shown


def test_the_command_line_names_what_is_missing(path):
    def labels(*words):
        found = CliRunner().invoke(cli, ["inspect", str(path), "--json", *words])
        columns = {one["name"]: one for one in json.loads(found.stdout)["columns"]}
        return columns["garage"]["missing"]

    assert labels() == pytest.approx(0.8)
    assert labels("--missing", "NA") == pytest.approx(0.4)
    assert labels("--missing", "") == pytest.approx(0.2)
    told = " ".join(CliRunner().invoke(cli, ["fit", "--help"]).stdout.split())
    assert "default: NA, N/A, n/a, NaN, nan, null, NULL, None, #N/A and <NA>" in told
