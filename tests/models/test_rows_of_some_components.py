"""Rows that only some components can have generated, and rows that none can."""

import numpy as np
import pytest

import suffice as sf
from suffice.errors import DataError

PAIR = np.concatenate([np.random.default_rng(0).normal(size=(30, 2)), np.random.default_rng(1).normal(6, 1, (30, 2))])


# ---- rows that only some components can have made
# -----------------------------------------------------------------------
def waits(n=300):
    rng = np.random.default_rng(5)
    return np.concatenate([rng.normal(0, 1, n), rng.exponential(5, n)])


@pytest.mark.parametrize("turned", [False, True])
def test_what_an_exponential_cannot_be_is_the_normals(turned):
    x, components = waits(), [sf.Normal(), sf.Exponential()]
    fit = sf.fit(sf.Mixture(components[::-1] if turned else components), x, random_state=0)
    normal, waiting = fit.distribution.parts[::-1] if turned else fit.distribution.parts
    assert fit.converged
    assert not fit.alerts
    place = 1 if turned else 0
    np.testing.assert_array_equal(fit.predict_proba(x)[x < 0, place], 1.0)
    r = fit.predict_proba(x)
    assert normal.mean == pytest.approx(np.average(x, weights=r[:, place]), abs=1e-3)  # a fixed point of EM
    assert 1 / waiting.rate == pytest.approx(np.average(x, weights=r[:, 1 - place]), abs=1e-3)
    truth = sf.Mixture([sf.Normal(0.0, 1.0), sf.Exponential(0.2)], weights=[0.5, 0.5])
    assert fit.log_likelihood > truth.log_prob(x).sum()


def test_products_share_such_rows_out_too():
    x = np.column_stack([waits(), np.random.default_rng(0).gamma(2.0, 1.0, 600)])
    components = [sf.Product([sf.Normal(), sf.Gamma()]), sf.Product([sf.Exponential(), sf.Gamma()])]
    fit = sf.fit(sf.Mixture(components), x, random_state=0)
    assert (fit.predict(x)[x[:, 0] < 0] == 0).all()
    assert np.isfinite(fit.log_likelihood)


def test_a_weak_prior_is_of_the_rows_that_a_component_can_have_made():
    x, components = waits(), sf.Mixture([sf.Normal(), sf.Exponential()])
    fit = sf.fit(components, x, prior="weak", random_state=0)
    again = sf.fit(components, x, prior="weak", start=sf.fit(components, x, random_state=0).distribution)
    assert fit.log_posterior == pytest.approx(again.log_posterior, abs=1e-4)
    expected = sf.fit(sf.Mixture([sf.Exponential(), sf.Gamma()]), x[x >= 0], prior="weak", random_state=0)
    assert fit.prior["components"][1] == expected.prior["components"][0]


def test_rows_that_nobody_can_have_made_are_named():
    with pytest.raises(DataError, match="component 0: Exponential takes a number of at least 0, but row 2 has -1"):
        sf.fit(sf.Mixture([sf.Exponential(), sf.Gamma()]), [1.0, 2.0, -1.0, 3.0], random_state=0)


def test_a_component_that_can_have_made_no_row_is_named():
    with pytest.raises(DataError, match="component 1: Poisson"):
        sf.fit(sf.Mixture([sf.Laplace(), sf.Poisson()]), PAIR[:, 0] + 0.5, random_state=0)
