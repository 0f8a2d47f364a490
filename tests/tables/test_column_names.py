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


# ---- selections and beliefs ------------------------------------------------------------------------------------------
BOTH = pd.DataFrame(COLUMNS)[["width", "1"]].assign(**{"1": 2.0 * COLUMNS["width"] + COLUMNS["1"]})


@pytest.mark.parametrize("kind", KINDS)
def test_a_selection_keeps_the_names_and_answers_by_them(kind):
    told = []
    rows = KINDS[kind]({name: BOTH[name].to_numpy() for name in BOTH})
    found = sf.select(sf.MultivariateNormal(), rows, n_components=[1, 2], random_state=0, callback=told.append)
    assert [fit.names for fit in found.fits] == [("width", "1")] * 2
    alone = sf.fit(sf.MultivariateNormal(), BOTH)
    one = next(fit for fit in found.fits if fit.distribution.n == 1)
    asked = {"width": 3.0}
    assert one.predict("1", given=asked).value == pytest.approx(alone.predict("1", given=asked).value)
    assert "  width " in found.best.summary()
    assert "column 0" not in found.best.summary()
    assert len(told) == 2


def test_what_a_selection_says_of_bad_columns_names_them():
    flat = BOTH.assign(flat=3.0)
    told = []
    found = sf.select(sf.MultivariateNormal(), flat, n_components=[1], random_state=0, callback=told.append)
    for alerts in (found.best.alerts, found.table[0]["alerts"], told[0]["alerts"]):
        assert any("column 'flat' is constant" in text for _, text in alerts)
    flat.loc[7, "1"] = np.inf
    with pytest.raises(sf.DataError, match="row 7, column '1'"):
        sf.select(sf.MultivariateNormal(), flat, n_components=[1], random_state=0)
    with pytest.raises(sf.DataError, match="row 7, column '1'"):
        sf.posterior(sf.Normal(), flat, prior="weak")


BELIEFS = {
    "joint": sf.MultivariateNormal(),
    "independent": sf.Normal(),
    "places": sf.Product([sf.Normal(), sf.Normal()]),
    "mixture": sf.Mixture(sf.MultivariateNormal(), 2),
}


@pytest.mark.parametrize("model", BELIEFS)
def test_a_belief_keeps_the_names_and_its_predictive_answers_by_them(model):
    named, bare = (sf.posterior(BELIEFS[model], x, prior="weak", random_state=0) for x in (BOTH, BOTH.to_numpy()))
    assert (named.column_names, bare.column_names) == (("width", "1"), None)
    page = named.summary()
    assert any(line.startswith("  width ") for line in page.splitlines())
    assert "column 0" not in page
    assert "column 0" in bare.summary() or model == "places"
    predictive = named.predictive()
    heights = bare.predictive().log_prob(BOTH.to_numpy())
    np.testing.assert_allclose(predictive.log_prob(BOTH), heights, rtol=1e-12)
    np.testing.assert_allclose(predictive.log_prob(BOTH[["1", "width"]]), heights, rtol=1e-12)
    asked = predictive.predict("1", given={"width": 3.0}).value
    assert asked == pytest.approx(bare.predictive().predict(1, given={0: 3.0}).value)
    again = sf.io.loads(sf.io.dumps(named))
    assert again.column_names == ("width", "1")
    assert again.summary() == page


def test_a_belief_about_a_mixture_finds_columns_by_name():
    post = sf.posterior(BELIEFS["mixture"], BOTH, prior="weak", random_state=0)
    turned = BOTH[["1", "width"]].assign(more=1.0)
    np.testing.assert_array_equal(post.predict_proba(turned), post.predict_proba(BOTH))
    np.testing.assert_array_equal(post.predict(pl.DataFrame(turned)), post.predict(BOTH.to_numpy()))
    with pytest.raises(sf.DataError, match=r"lack the column 'width' \(is it their 'Width'\?\)"):
        post.predict(turned.rename(columns={"width": "Width"}))


def test_of_one_column_the_belief_says_its_name_and_the_predictive_is_of_numbers():
    seen = pd.DataFrame({"cured": [1, 0, 1]})
    for prior in (sf.Beta(1, 1), lambda p: 0 * p + 1.0):
        post = sf.posterior(sf.Bernoulli(), seen, prior=prior)
        assert "  cured " in post.summary()
        assert post.predictive().p == pytest.approx(0.6)


def test_a_belief_about_a_covariance_is_shown_with_its_variances():
    post = sf.posterior(sf.MultivariateNormal(), BOTH, prior="weak")
    mean, std = post.mean["cov"], post.std["cov"]
    line = next(line for line in post.summary(width=120).splitlines() if line.startswith("  1 "))
    assert f"var {mean[1, 1]:.2f} ± {std[1, 1]:.2f}" in line
    assert "cov[width, 1]" in post.summary(width=120)


def test_an_error_names_the_missing_column_and_similar_ones():
    fit = sf.fit(sf.MultivariateNormal(), pd.DataFrame(COLUMNS))
    wrong = pd.DataFrame(COLUMNS).rename(columns={"width": "Width", "1": "other"})
    with pytest.warns(sf.SufficeWarning) as raised:
        found = fit.log_prob(wrong)
    (text,) = (str(one.message) for one in raised)
    assert "the data lack the columns 'width' (is it their 'Width'?), '1': their cells count as missing" in text
    np.testing.assert_allclose(found, fit.marginal("height [cm]").log_prob(wrong["height [cm]"]), rtol=1e-12)
    assert "Product" not in text
    assert "height" not in text
    many = {f"x{j}": RNG.normal(size=9) for j in range(20)}
    with pytest.raises(sf.DataError, match="'x11' and 7 more"):
        sf.fit(sf.Product({name: sf.Normal() for name in many}), {"y": many["x0"], "x19": many["x1"]})


def test_the_column_of_weights_is_none_of_the_names(tmp_path):
    BOTH.assign(w=2.0).to_csv(tmp_path / "rows.csv", index=False)
    files = sf.scan(tmp_path / "rows.csv")
    assert sf.fit(sf.MultivariateNormal(), files, weights="w").names == ("width", "1")
    assert sf.posterior(sf.MultivariateNormal(), files, weights="w", prior="weak").column_names == ("width", "1")
    best = sf.select(sf.Normal(), files, weights="w", n_components=1, random_state=0).best
    assert best.names == ("width", "1")
    assert sf.fit(sf.MultivariateNormal(), files).names == ("width", "1", "w")
