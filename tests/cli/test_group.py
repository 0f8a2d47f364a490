"""Help, exit codes, and errors that a user can read."""

import json
import subprocess
import sys

import pytest

from suffice import __version__
from suffice.cli import COMMANDS


def test_help_loads_click_and_nothing_heavy(environment):
    script = (
        "import sys; from click.testing import CliRunner; from suffice.cli import cli\n"
        "assert CliRunner().invoke(cli, ['--help']).exit_code == 0\n"
        "assert CliRunner().invoke(cli, ['fit', '--help']).exit_code == 0\n"
        "print(sorted({'numpy', 'scipy', 'pyarrow', 'rich', 'sklearn'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_a_traceback_option(run, command):
    page = run(command, "--help").stdout
    assert "--traceback" in page
    assert page.startswith(f"Usage: cli {command}") or f" {command} " in page.splitlines()[0]


def test_help_states_the_exit_codes(run):
    page = run("--help").stdout
    assert "130 interrupted" in page
    assert all(f"  {command} " in page for command in COMMANDS)


def test_version(run):
    assert run("--version").stdout == f"suffice {__version__}\n"


def test_a_command_that_does_not_exist(run):
    assert "did you mean 'inspect'" in run("insepct", code=2).stderr


@pytest.mark.parametrize(("shell", "sign"), [("bash", "complete "), ("zsh", "compdef"), ("fish", "complete ")])
def test_completion_scripts(run, shell, sign):
    text = run("completion", shell).stdout
    assert "_SUFFICE_COMPLETE" in text
    assert sign in text


def test_completion_says_how_to_use_it_line_by_line(run):
    told = [line.strip() for line in run("completion", "--help").stdout.splitlines()]
    assert 'eval "$(suffice completion bash)"      in ~/.bashrc' in told
    assert "suffice completion fish > ~/.config/fish/completions/suffice.fish" in told


def test_completion_completes(environment):
    asked = {**environment, "_SUFFICE_COMPLETE": "bash_complete", "COMP_WORDS": "suffice ins", "COMP_CWORD": "1"}
    script = "from suffice.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", script], env=asked, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.stdout.strip() == "plain,inspect"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["inspect", "nowhere.csv"], 1, "nowhere.csv"),
        (["inspect", "{penguins}", "--ignore", "specis"], 2, "did you mean 'species'?"),
        (["inspect", "{penguins}", "--ignore", "zzzzzzzz"], 2, "it has species, island"),
        (["inspect", "{penguins}", "--family", "year=Poison"], 2, "did you mean Poisson?"),
        (["inspect", "{penguins}", "--family", "year"], 2, "COLUMN=FAMILY"),
        (["inspect", "{penguins}", "--family", "year=__import__('os')"], 2, "is not a family"),
        (["inspect", "{penguins}", "--family", "year=Normal(mean=__import__('os'))"], 2, "is not a family"),
        (["fit", "{penguins}", "--target", "spieces"], 2, "did you mean 'species'?"),
        (["fit", "{penguins}", "--components", "9:1"], 2, "such as 3, 1:9 or 2,4,6"),
        (["fit", "{penguins}", "--components", "0"], 2, "such as 3, 1:9 or 2,4,6"),
        (["fit", "{penguins}", "--structure", "VVV"], 2, "add --joint"),
        (["fit", "{penguins}", "--starts", "3"], 2, "for a single fit"),
        (["fit", "{penguins}", "--resume"], 2, "needs --out"),
        (["fit", "{penguins}", "--out", "no/such/folder/m.json"], 1, "its folder does not exist"),
        (["fit", "{penguins}", "--components", "2", "--family", "sex=Normal"], 1, "sex"),
        (["show", "{penguins}"], 1, "penguins.csv"),
        (["show", "nowhere.json"], 1, "nowhere.json"),
        (["score", "{model}", "nowhere.csv"], 1, "nowhere.csv"),
        (["ask", "{model}", "bil_length_mm"], 2, "did you mean 'bill_length_mm'?"),
        (["ask", "{model}", "sex", "--given", "species=Adeli"], 2, "did you mean 'Adelie'?"),
        (["ask", "{model}", "sex", "--given", "body_mass_g=heavy"], 2, "holds numbers"),
        (["ask", "{model}", "sex", "--given", "sex"], 2, "COLUMN=VALUE"),
        (["ask", "{model}", "sex", "--given", "sex=male"], 2, "ask for another one"),
        (["explain", "{model}", "{penguins}", "--row", "999"], 1, "344 rows"),
        (["sample", "{model}", "--out", "rows.xls"], 2, ".csv, .parquet and .json"),
        (["completion", "tcsh"], 2, "tcsh"),
    ],
)
def test_mistakes_are_reported_without_a_traceback(run, penguins, model, words, code, told):
    result = run(*(word.format(penguins=penguins, model=model) for word in words), code=code)
    assert told in result.stderr
    assert result.stdout == ""


def test_a_developer_sees_where(process, penguins):
    hidden, seen = (
        process("fit", penguins, "--out", "no/m.json"),
        process("fit", penguins, "--out", "no/m.json", "--traceback"),
    )
    assert (hidden.returncode, seen.returncode) == (1, 1)
    assert "Traceback" not in hidden.stderr
    assert "Traceback" in seen.stderr


@pytest.mark.parametrize(
    ("name", "text"), [("empty.csv", b""), ("ragged.csv", b"a,b\n1,2\n3\n"), ("bytes.csv", b"a,b\n\xff\xfe,1\n")]
)
def test_files_that_cannot_be_read(run, tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(text)
    assert name in run("inspect", path, code=1).stderr


def test_json_is_one_document_and_nothing_else(run, penguins):
    found = json.loads(run("inspect", penguins, "--json").stdout)
    assert found["rows"] == 344
    assert {one["name"]: one["family"] for one in found["columns"]}["sex"] == "Categorical"
