import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import suffice
from suffice.cli import cli

SOURCE = Path(suffice.__file__).parents[1]


def runner():
    """A runner that keeps errors apart from answers, as that of click 8.2 does by itself."""
    apart = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}
    return CliRunner(**apart)


@pytest.fixture(scope="session")
def penguins():
    return str(SOURCE / "suffice" / "data" / "penguins.csv")


@pytest.fixture
def run():
    """Run a command in this process; the result has exit_code, stdout and stderr."""

    def call(*words, code=0):
        result = runner().invoke(cli, [str(one) for one in words])
        assert result.exit_code == code, f"exit code {result.exit_code}\n{result.output}\n{result.exception!r}"
        assert "Traceback" not in result.output
        return result

    return call


@pytest.fixture(scope="session")
def environment():
    """What a process of its own needs to find the package."""
    kept = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "SUFFICE_DEBUG", "COLUMNS"}}
    return {**kept, "PYTHONPATH": str(SOURCE), "SUFFICE_THREADS": "1"}


@pytest.fixture(scope="session")
def process(environment):
    """Run `python -m suffice` in a process of its own."""

    def call(*words, **more):
        command = [sys.executable, "-m", "suffice", *map(str, words)]
        return subprocess.run(  # noqa: S603
            command, env=environment, capture_output=True, text=True, timeout=120, check=False, **more
        )

    return call


@pytest.fixture(scope="session")
def model(penguins, tmp_path_factory):
    """A mixture of three over all columns, in a file."""
    path = tmp_path_factory.mktemp("model") / "model.json"
    words = ["fit", penguins, "--components", "3", "--out", str(path), "--quiet"]
    result = runner().invoke(cli, words)
    assert result.exit_code == 0, result.output
    return str(path)


@pytest.fixture(scope="session")
def classifier(penguins, tmp_path_factory):
    """A classifier of the species, in a file."""
    path = tmp_path_factory.mktemp("classifier") / "classes.json"
    result = runner().invoke(cli, ["fit", penguins, "--target", "species", "--out", str(path)])
    assert result.exit_code == 0, result.output
    return str(path)
