"""NIST's nine univariate sets: certified mean and standard deviation (divisor n − 1), to the digits float64 allows.

NumAcc1–4 follow from a formula. The other five are read from the folder that SUFFICE_NIST names, one value per line,
with ``certified.csv`` beside them.
"""

import csv
import os
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np
import pytest

import suffice as sf

# name: (values, certified mean, certified sd, digits of the sd that float64 can reach)
GENERATED = {
    "NumAcc1": (np.array([10000001.0, 10000003.0, 10000002.0]), 10000002.0, 1.0, 15.0),
    "NumAcc2": (np.array([1.2] + 500 * [1.1, 1.3]), 1.2, 0.1, 15.0),
    "NumAcc3": (np.array([1000000.2] + 500 * [1000000.1, 1000000.3]), 1000000.2, 0.1, 9.5),
    "NumAcc4": (np.array([10000000.2] + 500 * [10000000.1, 10000000.3]), 10000000.2, 0.1, 8.3),
}
READ = ("PiDigits", "Lottery", "Lew", "Mavro", "Michelso")


def the_set(name):
    """Values, certified mean, certified sd, best digits of the sd."""
    if name in GENERATED:
        return GENERATED[name]
    folder = os.environ.get("SUFFICE_NIST")
    if not folder:
        pytest.skip("SUFFICE_NIST does not name the folder of NIST's data sets")
    with (Path(folder) / "certified.csv").open(encoding="utf-8") as lines:
        row = next(row for row in csv.DictReader(lines) if row["set"] == name)
    values = np.loadtxt(next(path for path in sorted(Path(folder).iterdir()) if path.stem == name))
    assert len(values) == int(row["n"])
    return values, float(row["mean"]), float(row["sd"]), float(row["best_digits_sd"])


def correct_digits(got, certified):
    """−log10 of the relative error, at most 15."""
    return 15.0 if got == certified else min(15.0, -np.log10(abs(got - certified) / abs(certified)))


def one_array(x):
    return sf.fit(sf.Normal(), x, ddof=1).distribution


def seven_chunks(x):
    chunks = np.array_split(x, 7)
    stats = reduce(add, [sf.Normal().suffstats(chunk) for chunk in chunks])
    return sf.Normal().estimate(stats).unbiased(stats, 1)


def weights_of_one(x):
    return sf.fit(sf.Normal(), x, weights=np.ones(len(x)), ddof=1).distribution


def in_a_product(x):
    table = np.column_stack([x, np.arange(len(x)) % 2])
    product = sf.fit(sf.Product({0: sf.Normal(), 1: sf.Bernoulli()}), table, ddof=1).distribution
    return product.blocks[0]


PATHS = (one_array, seven_chunks, weights_of_one, in_a_product)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.__name__)
@pytest.mark.parametrize("name", [*GENERATED, *READ])
def test_certified_digits(name, path):
    values, mean, sd, best = the_set(name)
    fitted = path(values)
    assert correct_digits(fitted.mean, mean) >= 14.9
    assert correct_digits(fitted.std, sd) >= best - 1
