"""Numbers at the limits of float64: columns whose squares overflow are named, tiny ones are constant."""

import numpy as np
import pytest
from tests.families import LOCATION, prototype

import suffice as sf
from suffice.errors import DataError

PAIR = np.concatenate([np.random.default_rng(0).normal(size=(30, 2)), np.random.default_rng(1).normal(6, 1, (30, 2))])


GAUSSIANS = {name: sf.MultivariateNormal(structure=name) for name in ("full", "tied", "diag", "VVE")}
COMPONENTS = GAUSSIANS | {name: prototype(name) for name in sorted(LOCATION - {"MultivariateNormal"})}


@pytest.mark.parametrize("value", [1e160, -1e200, 1e308])
@pytest.mark.parametrize("name", COMPONENTS)
def test_numbers_without_a_square_are_named(name, value):
    x = PAIR.copy()
    x[17, 1] = value
    with pytest.raises(DataError, match=f"row 17, column 1 has {value:g}".replace("+", r"\+")):
        sf.fit(sf.Mixture(COMPONENTS[name], 2), x, random_state=0)
    weights = np.ones(60)
    weights[17] = 0.0
    assert np.isfinite(sf.fit(sf.Mixture(COMPONENTS[name], 2), x, weights=weights, random_state=0).log_likelihood)


def test_the_column_is_named():
    table = {"a": PAIR[:, 0], "b": np.repeat(["u", "v"], 30), "c": np.full(60, 1e300)}
    prototype = sf.Product({"a": sf.Normal(), "b": sf.Categorical(), "c": sf.Normal()})
    with pytest.raises(DataError, match=r"row 0, column c has 1e.300.*Divide"):
        sf.fit(sf.Mixture(prototype, 2), table, random_state=0)


@pytest.mark.parametrize("prototype", [sf.Normal(), sf.MultivariateNormal()])
def test_a_lone_normal_names_them_too(prototype):
    with pytest.raises(DataError, match=r"row 17, column 0 has .*e.160.*Divide"):
        sf.fit(prototype, np.where(np.arange(60) == 17, 1e160, PAIR[:, 0])[:, None])


@pytest.mark.parametrize("make", [sf.GaussianMixture, sf.BayesianGaussianMixture], ids=["GaussianMixture", "Bayesian"])
def test_estimators_name_what_they_cannot_learn_from(make):
    with pytest.raises(DataError, match=r"row 0, column 1 has 1e.300"):
        make(n_components=2).fit(np.column_stack([PAIR[:, 0], np.full(60, 1e300)]))
    with pytest.raises(DataError, match=f"{make.__name__} cannot be fitted: every cell is missing"):
        make(n_components=2).fit(np.full((10, 2), np.nan))


@pytest.mark.parametrize("unit", [1e-160, 1e-310])
@pytest.mark.parametrize("name", COMPONENTS)
def test_columns_below_the_smallest_square_are_constant(name, unit):
    fit = sf.fit(sf.Mixture(COMPONENTS[name], 2), PAIR * unit, random_state=0)
    assert np.isfinite(fit.log_likelihood)
    assert all(np.isfinite(np.asarray(value)).all() for value in fit.params.values())
    assert fit.alerts or name not in {*GAUSSIANS, "Normal"}  # the others take no squares
