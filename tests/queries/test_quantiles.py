"""Quantiles of mixtures: the smallest number that has the level, found in few steps."""

from __future__ import annotations

import numpy as np
import pytest

import suffice as sf
from suffice.queries.conditional import ConditionalColumn, between

LEVELS = np.array([1e-6, 0.025, 0.3, 0.5, 0.9, 0.975])


def ends_of(mixture, levels):
    return [np.asarray(one.quantile(levels), dtype=float) for one in mixture.parts]


@pytest.mark.parametrize(
    "parts",
    [
        [sf.Normal(0.0, 1.0), sf.Normal(50.0, 0.01)],
        [sf.Exponential(1e-3), sf.Exponential(1e3)],
        [sf.Normal(-1e6, 1.0), sf.StudentT(2.0, 0.0, 1.0), sf.Uniform(2.0, 3.0)],
    ],
)
def test_a_quantile_is_the_smallest_number_that_has_its_level(parts):
    mixture = sf.Mixture(parts)
    found = mixture.quantile(LEVELS)
    assert (mixture.cdf(found) >= LEVELS).all()
    assert (mixture.cdf(found - 1e-9 * (1 + np.abs(found))) < LEVELS).all()


def test_where_nothing_lies_between_components_the_quantile_is_the_end_of_the_lower_one():
    mixture = sf.Mixture([sf.Uniform(0.0, 1.0), sf.Uniform(2.0, 3.0)], weights=[0.5, 0.5])
    assert mixture.quantile(0.5) == 1.0


def test_quantiles_of_whole_numbers_are_those_of_their_table():
    mixture = sf.Mixture([sf.Poisson(3.0), sf.Poisson(40.0)], weights=[0.3, 0.7])
    table = mixture.cdf(np.arange(200.0))
    np.testing.assert_array_equal(mixture.quantile(LEVELS), np.searchsorted(table, LEVELS))


def test_smooth_distributions_take_far_fewer_steps_than_halving():
    mixture, asked = sf.Mixture([sf.Normal(0.0, 1.0), sf.Normal(3.0, 2.0)]), []

    def cdf(x):
        asked.append(x)
        return mixture.cdf(x)

    levels = np.array([0.025, 0.975])
    between(cdf, levels, ends_of(mixture, levels), whole=False)
    assert len(asked) < 35


def test_several_levels_at_once_are_those_one_by_one():
    shares = np.array([[0.2, 0.8], [0.9, 0.1], [1.0, 0.0]])
    each = [ConditionalColumn.of(3, one) for one in (sf.Normal(0.0, 1.0), sf.Normal(5.0, 3.0))]
    told = ConditionalColumn.mixed(shares, each, np.zeros(0, int))
    both = told.quantiles(0.1, 0.8)
    assert both.shape == (2, 3)
    np.testing.assert_allclose(both, [told.quantiles(0.1)[0], told.quantiles(0.8)[0]], rtol=1e-12)
    np.testing.assert_allclose(both[:, 2], sf.Normal(0.0, 1.0).quantile([0.1, 0.8]), rtol=1e-12)


def test_levels_of_a_column_are_known_without_asking_about_rows():
    whole = sf.Product({"kind": sf.Categorical(["a", "b"], [0.5, 0.5]), "size": sf.Normal()})
    other = sf.Product({"kind": sf.Categorical(["b", "c"], [0.5, 0.5]), "size": sf.Normal()})
    assert whole.column_levels("kind") == ("a", "b")
    assert whole.column_levels("size") is None
    assert sf.Mixture([whole, whole]).column_levels("kind") == ("a", "b")
    assert sf.Mixture([whole, other]).column_levels("kind") == ("a", "b", "c")
