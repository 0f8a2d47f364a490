"""Names that every doctest may use without importing them, and a loop that does not forgive a falling likelihood."""

import os

import numpy as np
import pytest

import suffice

os.environ.setdefault("SUFFICE_STRICT", "1")


@pytest.fixture(autouse=True)
def _names_for_doctests(doctest_namespace: dict[str, object]) -> None:
    doctest_namespace["np"] = np
    doctest_namespace["sf"] = suffice
