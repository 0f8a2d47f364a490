"""Alerts of mixtures: components that collapse, lie far out, or rest on hardly any rows."""

from pathlib import Path

import numpy as np
import pytest

import suffice as sf

FAITHFUL = Path(__file__).parents[1] / "golden" / "faithful.csv"


PLANE = np.random.default_rng(1).normal(size=(300, 2)) * [1, 3] + np.repeat([[0, 0], [9, 1]], 150, axis=0)


# ---- components that are equal
# ------------------------------------------------------------------------------------------
THREE = sf.Mixture([sf.Normal(0, 1), sf.Normal(10, 1), sf.Normal(20, 1)])


APART = THREE.sample(600, random_state=0)


# ---- alerts ----------------------------------------------------------------------------------------------------------
def test_alerts_count_rows_and_not_the_sum_of_shares():
    whole, shares = (sf.fit(THREE, APART, weights=np.full(600, w), random_state=0) for w in (1.0, 1 / 600))
    assert not whole.alerts
    assert not shares.alerts
    np.testing.assert_allclose(shares.statistics.rows, whole.statistics.rows, rtol=1e-6)
    few = sf.fit(sf.Mixture(sf.MultivariateNormal(), 5), PLANE[:8], weights=np.full(8, 1 / 8), random_state=0)
    assert {"few rows", "collapsed"} & set(dict(few.alerts))


def test_rows_of_a_component_are_those_of_repeated_and_of_added_rows():
    w = np.arange(600) % 3 + 0.0
    once, again = THREE.suffstats(APART, w), THREE.suffstats(np.repeat(APART, w.astype(int)))
    np.testing.assert_allclose(once.rows, again.rows, rtol=1e-12)
    both = THREE.suffstats(APART[:100], w[:100]) + THREE.suffstats(APART[100:], w[100:])
    np.testing.assert_allclose(both.rows, once.rows, rtol=1e-12)


def test_many_alerts_are_merged_into_few():
    x = np.random.default_rng(0).normal(size=(310, 2))
    fit = sf.fit(sf.Mixture(sf.MultivariateNormal(), 100), x, max_iter=3, random_state=0)
    assert len(fit.alerts) < 16
    assert any("more components likewise" in text for _, text in fit.alerts)
    lost = sf.Mixture([sf.Normal(m, 1) for m in (0, 900, 1800, 2700)])
    assert dict(lost.alerts(lost.suffstats(APART)))["empty"].startswith("components 1, 2 and 3 have no rows: their")
    lost = sf.Mixture([sf.Normal(m, 1) for m in range(0, 9000, 900)])
    assert dict(lost.alerts(lost.suffstats(APART)))["empty"].startswith("components 1, 2, 3 and 6 more have no rows")


@pytest.mark.parametrize("name", ["full", "diag", "tied"])
def test_a_component_with_a_weight_near_the_end_of_float64_has_none(name):
    lost = [sf.MultivariateNormal(m, np.eye(2)) for m in ([0, 0], [26.73, 26.73])]
    mixture = sf.Mixture(sf.Mixture(lost).components, weights=[0.5, 0.5])
    mixture = sf.Mixture(sf.MultivariateNormal(mixture.components.mean, mixture.components.cov, name))
    x = np.zeros((50, 2))
    assert 0 < np.exp(mixture.log_prob(x[0]) - 26.73**2) < 1e-290
    stats = mixture.suffstats(x)
    assert stats.count[1] == 0
    assert np.isfinite(stats.components.scatter).all()
    assert mixture.estimate(stats).components.mean[1] == pytest.approx([26.73, 26.73])


@pytest.mark.parametrize("far", [[[100.0, 100.0]], [[3.0, 95.0], [5.5, 40.0], [100.0, 100.0]]], ids=["one", "three"])
def test_far_rows_do_not_make_more_components_worse_than_fewer(far):
    """A row that nobody else is near gets a component of its own, with an alert.

    Rather than spoil one of the others.
    """
    x = np.vstack([np.loadtxt(FAITHFUL, delimiter=",", skiprows=1), far])
    fits = [sf.fit(sf.Mixture(sf.MultivariateNormal(), k), x, random_state=0) for k in (1, 2, 3, 4)]
    heights = [one.log_likelihood for one in fits]
    assert heights == sorted(heights)
    assert all("collapsed" in {code for code, _ in one.alerts} for one in fits[1:])
    bulk = fits[2].distribution.predict(x[:272])
    assert len(np.unique(bulk)) == 2  # the two sorts of eruptions


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_a_spike_does_not_pay_for_its_likelihood(unit):
    """Three nearly equal rows among three hundred: a component on them is higher, by no more than it owes to them."""
    rng = np.random.default_rng(0)
    x = np.vstack([rng.normal(size=(150, 2)), rng.normal(size=(150, 2)) + 4, 2 + 1e-9 * rng.normal(size=(3, 2))])
    spike = np.repeat([0, 1, 2], [150, 150, 3])
    model, weights = sf.Mixture(sf.MultivariateNormal(), 3), np.full(len(x), unit)
    high = sf.fit(model, x, weights=weights, start=spike)
    found = sf.fit(model, x, weights=weights, random_state=0)
    assert high.log_likelihood > found.log_likelihood
    assert not found.alerts
    assert high.log_likelihood - high.distribution.spurious_gain(high.statistics) < found.log_likelihood
