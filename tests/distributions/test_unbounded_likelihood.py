"""Rows with holes whose likelihood has no maximum: a correlation that runs to ±1 is told, never a silent answer."""

import numpy as np
import pytest

import suffice as sf
from suffice.distributions.compact_covariance import RELATIVE_FLOOR
from suffice.distributions.covariance_algebra import flattest


def one_complete_row(seed):
    """Forty rows of two or three columns, each with a hole but for one."""
    rng = np.random.default_rng(seed)
    d = 2 + seed % 2
    x = rng.normal(size=(40, d))
    x[np.arange(39), rng.integers(d, size=39)] = np.nan
    return x


def codes(fit):
    return [code for code, _ in fit.alerts]


@pytest.mark.parametrize("accelerate", [True, False])
def test_a_correlation_that_runs_to_one_ends_on_the_floor_with_an_alert(accelerate):
    nan = np.nan
    x = [[1.1, nan], [2.8, nan], [2.7, nan], [1.5, nan], [2.7, 0.0], [nan, 10.0]]
    fit = sf.fit(sf.MultivariateNormal(), x, accelerate=accelerate)
    assert flattest(fit.distribution.cov[None])[0] == pytest.approx(2 * RELATIVE_FLOOR, rel=0.05)
    text = dict(fit.alerts)["singular"]
    assert "columns 0, 1" in text
    assert fit.log_likelihood == pytest.approx(1.988, abs=0.01)  # the same with and without acceleration


def test_one_complete_row_is_a_maximum_or_an_alert():
    singular = 0
    for seed in range(12):
        x = one_complete_row(seed)
        fit = sf.fit(sf.MultivariateNormal(), x)
        least = flattest(fit.distribution.cov[None])[0]
        again = fit.distribution.estimate(fit.distribution.suffstats(x))
        rises = flattest(again.cov[None])[0] < 0.999 * least
        assert ("singular" in codes(fit)) == (least < 1e-4)
        assert not (fit.converged and rises)
        singular += least < 1e-4
    assert 0 < singular < 12


def test_an_end_before_the_floor_is_reported_too():
    fit = sf.fit(sf.MultivariateNormal(), one_complete_row(2), accelerate=False, max_iter=600)
    assert not fit.converged
    assert "columns 0, 1" in dict(fit.alerts)["singular"]
    assert "still rises" in dict(fit.alerts)["singular"]


def test_columns_that_are_all_but_equal_have_a_maximum():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    x[:, 1] = x[:, 0] + 1e-4 * x[:, 1]  # the least eigenvalue of the correlation is about 5e-9
    x[rng.random(x.shape) < 0.2] = np.nan
    for accelerate in (True, False):
        fit = sf.fit(sf.MultivariateNormal(), x, accelerate=accelerate)
        assert fit.converged
        assert "singular" not in codes(fit)
        assert fit.log_likelihood == pytest.approx(sf.fit(sf.MultivariateNormal(), x).log_likelihood, abs=1e-6)


@pytest.mark.parametrize("family", [sf.Laplace, sf.Logistic])
def test_the_alert_of_a_collapsed_scale_names_value_and_column(family):
    rows = {"a": [2.0, 2.0, 2.0, 2.0], "b": [1.0, 2.0, 4.0, 7.0]}
    fit = sf.fit(sf.Product({name: family() for name in rows}), rows)
    (alert,) = [one for one in fit.alerts if one.code == "collapsed"]
    assert alert.value == 2.0
    assert alert.columns == ("a",)
    assert sf.fit(family(scale=1.0).fix("scale"), rows["a"]).alerts == ()
