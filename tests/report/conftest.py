"""Fits that several tests of reports look at."""

import csv
from pathlib import Path

import numpy as np
import pytest

import suffice as sf

NAMES = {
    "script": "<script>alert(1)</script>",
    "quotes": "\"quotes' & \n a line",
    "right": "\u202eright\u200f\u2066",
    "long": "x" * 10_000,
    "braces": "{{7*7}}",
    "math": "$x_$",
    "broken math": r"$\frac{",
    "empty": "",
}


@pytest.fixture(autouse=True, scope="session")
def _no_window():
    pytest.importorskip("matplotlib").use("Agg")
    pytest.importorskip("jinja2")


@pytest.fixture(scope="session")
def geyser():
    path = Path(__file__).parents[1] / "golden" / "faithful.csv"
    with path.open() as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([float(row[name]) for row in rows]) for name in ("eruptions", "waiting")}


@pytest.fixture(scope="session")
def chosen(geyser):
    table = np.column_stack(list(geyser.values()))
    return sf.select(sf.MultivariateNormal(), table, n_components=[1, 2, 3], random_state=0)


@pytest.fixture(scope="session")
def mixed():
    rng = np.random.default_rng(3)
    who = rng.integers(0, 2, 300)
    size = np.where(rng.random(300) < 0.1, np.nan, rng.normal(4 * who, 1))
    kind = np.where(rng.random(300) < 0.9, np.array(["a", "b"])[who], "c").astype(object)
    return {"size": size, "kind": kind, "visits": rng.poisson(2 + 6 * who), "noise": rng.normal(size=300)}


@pytest.fixture(scope="session")
def mixed_fit(mixed):
    return sf.fit(sf.Mixture(sf.infer(mixed), 2), mixed, random_state=0, n_init=3)


@pytest.fixture(scope="session")
def hostile():
    rng = np.random.default_rng(5)
    who = rng.integers(0, 2, 120)
    table = {name: rng.normal(3 * who, 1) for name in NAMES.values()}
    levels = np.array(["<img src=x onerror=alert(2)>", "{{7*7}}", "$x_$", "\x00", "\u202eabc"], dtype=object)
    table["level"] = levels[rng.integers(0, 5, 120)]
    return table, sf.fit(sf.Mixture(sf.infer(table), 2), table, random_state=0)
