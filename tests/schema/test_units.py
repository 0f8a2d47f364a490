"""The unit of a column of numbers: what infer finds of it reaches what is learned."""

import numpy as np
import pandas as pd
import pytest

import suffice as sf

RNG = np.random.default_rng(5)
TABLE = pd.DataFrame({
    "temperature": RNG.normal(36.6, 0.4, 90).round(1),
    "visits": RNG.poisson(3.0, 90),
    "exact": RNG.normal(size=90),
    "kind": RNG.choice(["a", "b"], 90),
    "one": 1.5,
})  # fmt: skip
UNITS = {"temperature": 0.1, "visits": 1.0}


def test_a_schema_and_what_is_learned_from_it_know_the_units(tmp_path):
    schema = sf.infer(TABLE)
    assert schema.units == UNITS
    assert {one.name: one.unit for one in schema.findings if one.unit and one.family} == UNITS
    fit = sf.fit(schema, TABLE)
    assert fit.distribution.units == UNITS
    mixture = sf.fit(sf.Mixture(schema, 2), TABLE, prior="weak", random_state=0)
    assert mixture.distribution.components.units == UNITS
    sf.save(fit, tmp_path / "fit.json")
    assert sf.load(tmp_path / "fit.json").distribution.units == UNITS


def test_units_change_neither_equality_nor_merging():
    schema = sf.infer(TABLE)
    plain = sf.Product(schema.parts)
    assert plain.units == {}
    one, other = sf.fit(schema, TABLE), sf.fit(plain, TABLE)
    assert one.distribution == other.distribution
    merged = sf.merge(one, other)
    assert merged.n == 2 * len(TABLE)
    assert merged.distribution.blocks["exact"].mean == pytest.approx(one.distribution.blocks["exact"].mean)
