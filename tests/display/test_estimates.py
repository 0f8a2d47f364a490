"""The parameters of a fit as rows, and how numbers are written beside their errors."""

import numpy as np
import pandas as pd
import pytest

import suffice as sf
from suffice.display.values import measured, number

ROWS = {"x": [0.0, 1, 2, 3, 4] * 8 + [5, 6, 7, 8, 9.0] * 8, "c": ["a", "b"] * 20 + ["a", "b", "b", "b"] * 10}
COMPONENT = sf.Product({"x": sf.Normal(), "c": sf.Categorical()})


@pytest.fixture(scope="module")
def fit():
    return sf.fit(sf.Mixture(COMPONENT, 2), ROWS, random_state=0)


def test_every_number_of_a_mixture_has_a_row(fit):
    told = fit.estimates(0.9)
    assert len(told) == 10
    params, errors, ends = fit.params, fit.standard_errors, fit.interval(0.9)

    def row(*names):
        (one,) = (one for one in told if tuple(one.values())[:4] == names)
        return [one["estimate"], one["std_error"], one["low"], one["high"]]

    for j in range(2):
        for names, place in (
            ((j, None, "weight", None), lambda one, j=j: one["weights"][j]),
            ((j, "x", "mean", None), lambda one, j=j: one["x"]["mean"][j]),
            ((j, "x", "std", None), lambda one, j=j: one["x"]["std"][j]),
            ((j, "c", "probs", "b"), lambda one, j=j: one["c"]["probs"][j, 1]),
        ):
            low, high = (
                {
                    "weights": ends["weights"][i],
                    "x": {k: v[i] for k, v in ends["x"].items()},
                    "c": {"probs": ends["c"]["probs"][i]},
                }
                for i in range(2)
            )
            np.testing.assert_allclose(row(*names), [place(one) for one in (params, errors, low, high)], rtol=1e-12)


def test_rows_print_as_a_table_and_make_a_frame(fit):
    told = fit.estimates()
    head, first, second, *rest = repr(told).splitlines()
    assert head.split() == ["component", "column", "parameter", "level", "estimate", "std.", "error", "95", "%"]
    value, _, error = measured(fit.params["weights"][0], fit.standard_errors["weights"][0]).split()
    assert first.split()[:4] == ["0", "weight", value, error]
    assert second.split()[:3] == ["0", "x", "mean"]
    assert len(rest) == 8
    assert len(told[:3]) == 3
    frame = pd.DataFrame(told)
    assert list(frame["std_error"]) == told["std_error"]
    assert list(frame.columns) == ["component", "column", "parameter", "level", "estimate", "std_error", "low", "high"]


@pytest.mark.parametrize(
    ("prototype", "components"),
    [
        (sf.Product({"x": sf.Mixture(sf.Normal(std=1.0).fix("std"), 2), "c": sf.Categorical()}), {0, 1, None}),
        (sf.Mixture([COMPONENT, COMPONENT]), {0, 1}),
        (
            sf.Mixture(sf.Product({"x": sf.Mixture(sf.Normal(), 2), "c": sf.Categorical()}), 2),
            {0, 1, "0/0", "0/1", "1/0", "1/1"},
        ),
        (COMPONENT, {None}),
    ],
)
def test_any_nesting_has_as_many_rows_as_numbers(prototype, components):
    fit = sf.fit(prototype, ROWS, random_state=0)
    told = fit.estimates()

    def numbers(value):
        return sum(map(numbers, value.values())) if isinstance(value, dict) else np.size(value)

    assert len(told) == numbers(fit.params)
    assert set(told["component"]) == components
    assert {row["column"] for row in told if row["parameter"] in {"mean", "std"}} == {"x"}


def test_a_summary_lists_the_numbers_of_components():
    fresh = sf.fit(sf.Mixture(COMPONENT, 2), ROWS, random_state=0)
    assert np.isnan([one.error for one in fresh.summarize().parameters]).all()
    assert "standard_errors" not in fresh.__dict__  # a page does not take the time
    assert [(one.component, one.label) for one in fresh.summarize().parameters][:2] == [(0, "weight"), (0, "mean")]
    told = fresh.estimates()
    assert [one.error for one in fresh.summarize().parameters] == told["std_error"]


# ---- how numbers are written -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (3021.4, 3, "3021"),
        (999_999.0, 2, "999999"),
        (1_234_567.0, 4, "1.235e+06"),
        (-43210.6, 3, "−43211"),
        (0.00012345, 3, "0.000123"),
        (0.00001, 3, "1e−05"),
        (0.0, 3, "0"),
        (3.0, 4, "3"),
        (np.nan, 4, "–"),
        (-np.inf, 4, "−inf"),
    ],
)
def test_numbers_between_1e_minus_4_and_a_million_have_no_exponent(value, digits, text):
    assert number(value, digits) == text


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (2e-9, 4.9e-5, "0 ± 4.9e−05"),
        (1.2345e-5, 9.841e-6, "1.23e−05 ± 9.8e−06"),
        (3021.44, 401.2, "3021 ± 401"),
        (0.123456, 0.0217, "0.123 ± 0.022"),
        (1.00000123, 1e-6, "1.0000012 ± 1e−06"),
        (-0.01, 1.4, "0.0 ± 1.4"),
        (5.0, 0.0, "5"),
        (5.0, np.nan, "5"),
    ],
)
def test_an_estimate_has_as_many_digits_as_its_error_warrants(value, error, text):
    assert measured(value, error) == text


def test_grams_have_no_exponents():
    grams = np.random.default_rng(0).lognormal(8.3, 0.13, (300, 1))
    fit = sf.fit(sf.LogNormal(), grams)
    joint = sf.fit(
        sf.Product({"grams": sf.LogNormal(), "age": sf.Normal()}), {"grams": grams[:, 0], "age": grams[:, 0] / 7}
    )
    both = sf.fit(sf.Mixture(sf.LogNormal(), 2), grams[:, 0], random_state=0)
    for page in (
        fit,
        both,
        both.summary(errors=True),
        joint.predict("grams", given={"age": 4.0}),
        joint.surprisal({"grams": [1e4], "age": [500.0]}),
    ):
        assert "e+0" not in str(page)


def test_a_very_wide_covariance_lists_what_can_be_read_and_takes_no_memory_that_there_is_not():
    rows = np.random.default_rng(0).normal(size=(20, 3000))
    rows[:10] += 3
    diagonal = sf.fit(sf.Mixture(sf.MultivariateNormal(structure="diag"), 2), rows, random_state=0, n_init=1)
    listed = diagonal.estimates()  # errors by way of slopes of 3000 × 3000 × 3000 numbers
    assert "information matrix that is too large" in listed.note
    with pytest.raises(sf.UnsupportedError, match="fewer columns"):
        _ = diagonal.standard_errors
    alone = sf.fit(sf.MultivariateNormal(structure="diag"), rows[:, :400])
    found = alone.standard_errors["cov"]
    np.testing.assert_allclose(np.diag(found), np.diag(alone.params["cov"]) * np.sqrt(2 / 20), rtol=1e-12)
    assert np.count_nonzero(found) == 400
    full = sf.fit(sf.MultivariateNormal(), rows[:, :200])
    assert repr(full.estimates()).endswith("0 of 20,300 parameters are listed; fit.params has all.")
