"""Names that every doctest may use without importing them."""

import numpy as np
import pytest

import suffice


@pytest.fixture(autouse=True)
def _names_for_doctests(doctest_namespace: dict[str, object]) -> None:
    doctest_namespace["np"] = np
    doctest_namespace["sf"] = suffice
