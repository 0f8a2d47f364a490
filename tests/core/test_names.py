"""A fit knows the names of its columns, and says them instead of places."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import suffice as sf

RNG = np.random.default_rng(5)
COLUMNS = {"width": RNG.normal(2.0, 1.0, 60), "height [cm]": RNG.normal(-1.0, 2.0, 60), "1": RNG.normal(0.0, 1.0, 60)}
KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
MODELS = {
    "joint": sf.MultivariateNormal(),
    "independent": sf.Normal(),
    "mixture": sf.Mixture(sf.MultivariateNormal(), 2),
    "product": sf.Product({("1", "width"): sf.Normal(), "height [cm]": sf.Laplace()}),
    "places": sf.Product([sf.Normal(), sf.Laplace(), sf.Normal()]),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", MODELS)
def test_names_come_from_the_frame_or_the_product(model, kind):
    names = ("1", "width", "height [cm]") if model == "product" else tuple(COLUMNS)
    fit = sf.fit(MODELS[model], KINDS[kind](COLUMNS), random_state=0, max_iter=3)
    assert fit.names == names


def test_data_without_names_have_none():
    array = np.column_stack(list(COLUMNS.values()))
    assert sf.fit(sf.MultivariateNormal(), array).names is None
    assert sf.fit(sf.Normal(), COLUMNS["width"]).names is None
    assert sf.fit(MODELS["product"], [dict(zip(COLUMNS, row, strict=True)) for row in array]).names is not None


@pytest.mark.parametrize("model", ["joint", "mixture"])
def test_alerts_summaries_and_errors_say_the_name(model):
    flat = pd.DataFrame({**COLUMNS, "flat": 3.0})
    fit = sf.fit(MODELS[model], flat, random_state=0)
    told = " ".join(text for _, text in fit.alerts)
    assert "column 'flat' is constant" in told
    assert "column 3" not in told
    page = fit.summary(errors=True)
    assert "mean[flat]" in page
    assert "cov[flat, flat]" in page
    assert any(line.startswith("  flat ") for line in fit.summary().splitlines())
    flat.loc[7, "height [cm]"] = np.inf
    with pytest.raises(sf.DataError, match=r"row 7, column 'height \[cm\]'"):
        sf.fit(MODELS[model], flat, random_state=0)


def test_of_one_column_the_summary_says_whose_numbers_they_are():
    for model in (sf.Normal(), sf.MultivariateNormal(), sf.Mixture(sf.Laplace(), 2)):
        assert "width" in sf.fit(model, pd.DataFrame(COLUMNS)[["width"]], random_state=0).summary()


def test_inside_a_block_of_a_product_places_are_those_of_the_block():
    block = sf.Product({"width": sf.Normal(), ("1", "flat"): sf.MultivariateNormal()})
    fit = sf.fit(block, {**COLUMNS, "flat": np.zeros(60)})
    assert any("column 'flat' is constant" in text for _, text in fit.alerts)


def test_a_single_column_of_any_name_is_asked_by_it():
    rows = pd.DataFrame({"weights": COLUMNS["width"]})
    for model in (
        sf.Normal(),
        sf.MultivariateNormal(),
        sf.Mixture(sf.Normal(), 2),
        sf.Mixture(sf.MultivariateNormal(), 2),
    ):
        fit = sf.fit(model, rows, random_state=0)
        drawn = fit.sample(4, random_state=1)
        assert list(drawn) == ["weights"]
        np.testing.assert_array_equal(drawn["weights"], np.ravel(fit.distribution.sample(4, random_state=1)))
        other = rows.assign(more=1.0)[["more", "weights"]]
        np.testing.assert_allclose(fit.log_prob(other), fit.log_prob(rows), rtol=1e-14)
        assert fit.marginal("weights").mean == pytest.approx(float(np.ravel(fit.distribution.mean)[0]), rel=1e-12)
        holed = other.assign(weights=other["weights"].where(other.index != 3))
        assert fit.impute(holed)["weights"][3] == pytest.approx(fit.marginal("weights").mean, rel=1e-12)
