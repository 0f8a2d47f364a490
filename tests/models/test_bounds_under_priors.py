"""A prior keeps probabilities off 0: small ones are shown as they are, and no alert says that they are 0."""

import numpy as np
import pandas as pd

import suffice as sf

LEVELS = 4000


def table():
    """Two groups that use different halves of many levels, and a number that tells them apart."""
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=1500)
    level = rng.integers(LEVELS // 2, size=1500) + LEVELS // 2 * group
    return pd.DataFrame({"code": [f"Z{one}" for one in level], "x": rng.normal(8.0 * group, 1.0)})


MODEL = sf.Mixture(sf.Product({"code": sf.Categorical(levels=[f"Z{j}" for j in range(LEVELS)]), "x": sf.Normal()}), 2)


def codes(fit):
    return [code for code, _ in fit.alerts]


def snapped(fit, prior):
    return fit.distribution.on_boundary_if_near(fit.statistics, prior=prior).components.blocks["code"].probs


def test_many_levels_under_a_prior_are_all_possible():
    fit = sf.fit(MODEL, table(), prior="weak", random_state=0)
    probs = fit.distribution.components.blocks["code"].probs
    assert 0 < probs.min() < 1e-6  # less than a thousandth of a row
    assert "boundary" not in codes(fit)
    np.testing.assert_array_equal(snapped(fit, fit.prior), probs)


def test_without_a_prior_or_with_one_of_other_columns_the_alert_comes():
    fit = sf.fit(MODEL, table(), random_state=0)
    assert "boundary" in codes(fit)
    other = sf.fit(MODEL, table(), prior={"components": {"x": "weak"}}, random_state=0)
    assert "boundary" in codes(other)


def test_the_prior_reaches_a_mixture_inside_a_product():
    data = table()
    group = np.where(data.pop("x") > 4, "right", "left")
    names = ["code", *"abcdefgh"]
    data = data.assign(**dict.fromkeys(names[1:], group))
    inside = sf.Product({tuple(names): sf.Mixture(sf.Categorical(), 2)})
    assert "boundary" in codes(sf.fit(inside, data, random_state=0))
    assert "boundary" not in codes(sf.fit(inside, data, prior="weak", random_state=0))
