"""Mixtures whose components are of different families: every part keeps its layout, and every table can be shown."""

import numpy as np
import pytest

import suffice as sf

OTHERS = [sf.Exponential(), sf.Laplace(), sf.Uniform()]
DATA = {
    "a component collapses": [1.0, 1.0, 1.0, 2.0, 5.0],
    "smooth": np.random.default_rng(1).gamma(2.0, size=25),
}


def shapes(errors):
    """The shape of every number in nested answers."""
    return {key: shapes(value) for key, value in errors.items()} if isinstance(errors, dict) else np.shape(errors)


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("other", OTHERS, ids=lambda one: one.name)
def test_estimates_and_summary_of_unlike_components_can_be_shown(other, data):
    found = sf.fit(sf.Mixture([sf.Normal(), other]), DATA[data], random_state=0)
    assert all(part.batch == () for part in found.distribution.parts), "one column has numbers as parameters"
    assert shapes(found.standard_errors) == shapes(found.params)
    assert found.estimates()["parameter"].count("weight") == 2
    assert "std" in found.summary(errors=True)
    assert str(found) == found.summary()


@pytest.mark.parametrize("kind", [sf.Normal, sf.Laplace, sf.LogNormal, sf.Gamma, sf.Beta, sf.Weibull, sf.VonMises])
@pytest.mark.parametrize("batch", [(), (2,), (3, 2)], ids=["one column", "two columns", "stack"])
def test_a_value_held_above_a_floor_keeps_its_layout(kind, batch):
    value = kind.example(np.random.default_rng(0), batch)
    floor = value.stacked.peak_precision
    floor = 10.0 * np.asarray(value.stacked.std)[0] if floor is None else 0.1 * floor.min(axis=0)
    raised = value.apply_floor(floor)
    assert raised != value
    assert raised.batch == batch
