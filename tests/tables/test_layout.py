"""Rows that a fit draws or fills look like the table that was fitted; rows may lack columns."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import suffice as sf
from suffice.io import dumps, loads

N = 120
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "kind": pd.Categorical(RNG.choice(["a", "b", "c"], N)),
        "temp": RNG.normal(36.6, 0.4, N).round(1),
        "visits": RNG.poisson(2.0, N),
        "smokes": RNG.random(N) < 0.4,
        "weight": RNG.lognormal(-4.0, 1.0, N).round(2) + 0.01,
        "age": pd.array(RNG.integers(20, 60, N), dtype="Int16"),
        "word": pd.array(RNG.choice(["u", "v"], N), dtype="string"),
        "married": pd.array(RNG.choice(np.array([True, False, None], dtype=object), N), dtype="boolean"),
        "small": RNG.normal(size=N).astype(np.float32),
    }
)
FRAME.loc[[2, 7], "temp"] = np.nan
FRAME.loc[[3, 9], "age"] = pd.NA
KINDS = {
    "pandas": FRAME,
    "polars": pl.from_pandas(FRAME),
    "pyarrow": pa.Table.from_pandas(FRAME, preserve_index=False),
    "mapping": {name: FRAME[name].to_numpy() for name in ("visits", "smokes", "weight", "temp")},
}


def types(frame):
    if isinstance(frame, dict):
        return {name: np.asarray(values).dtype for name, values in frame.items()}
    schema = frame.dtypes.items() if isinstance(frame, pd.DataFrame) else zip(frame.schema, frame.schema, strict=False)
    return dict(schema) if isinstance(frame, pd.DataFrame) else frame.schema


@pytest.fixture(scope="module", params=KINDS)
def both(request):
    data = KINDS[request.param]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return data, sf.fit(sf.Mixture(sf.infer(data), 2), data, prior="weak", random_state=0, max_iter=5)


def test_a_sample_has_the_kind_order_and_types_of_the_data(both):
    data, fit = both
    drawn = fit.sample(50, random_state=0)
    assert type(drawn) is type(data)
    assert types(drawn) == types(data)
    assert list(types(drawn)) == list(types(data))


def test_a_sample_has_the_units_of_the_data_and_only_values_that_can_be(both):
    _, fit = both
    drawn = fit.sample(300, random_state=0)
    temp, weight = (np.asarray(drawn[name], dtype=float) for name in ("temp", "weight"))
    np.testing.assert_array_equal(temp, temp.round(1))
    np.testing.assert_allclose(weight, weight.round(2), atol=1e-12)
    assert np.isfinite(fit.log_prob(drawn)).all()  # a weight of 0 has probability 0
    plain = fit.distribution.sample(300, random_state=0)
    assert np.abs(np.asarray(plain["temp"]) - temp).max() <= 0.05 + 1e-9


def test_filled_cells_have_the_types_and_units_of_their_columns():
    fit = sf.fit(sf.Product(dict(sf.infer(FRAME).parts)), FRAME)
    for filled in (fit.impute(FRAME), fit.impute(FRAME, draw=True, random_state=0)):
        assert types(filled) == types(FRAME)
        assert filled.loc[2, "temp"] == round(filled.loc[2, "temp"], 1)
        assert filled["age"].notna().all()


def test_a_loaded_fit_draws_the_same_columns(both):
    _, fit = both
    drawn = loads(dumps(fit)).sample(20, random_state=0)
    assert list(drawn) == [name for name, *_ in fit.layout]
    original = fit.sample(20, random_state=0)
    for name, values in drawn.items():
        same = np.asarray(original[name], dtype=values.dtype)
        assert np.allclose(same, values, rtol=1e-6) if values.dtype.kind == "f" else (same == values).all()
    assert drawn["visits"].dtype.kind == "i"
    assert drawn["smokes"].dtype.kind == "b"


def test_columns_that_are_not_there_are_integrated_out_with_a_warning(both):
    data, fit = both
    some = {name: data[name] for name in ("visits", "temp")}
    want = fit.marginal("visits", "temp").log_prob(some)
    for ask, answer in (
        (fit.log_prob, want),
        (lambda x: -fit.surprisal(x).rows, want),
        (fit.predict_proba, None),
        (fit.predict, None),
    ):
        with pytest.warns(sf.SufficeWarning, match=r"lack the columns .*'weight'") as told:
            found = ask(some)
        assert told[0].filename == __file__
        if answer is not None:
            np.testing.assert_allclose(found, answer, rtol=1e-12)
    with pytest.warns(sf.SufficeWarning, match="lack the column"):
        filled = fit.impute(some)
    assert set(filled) == {"visits", "temp"}  # what is not there is not made up


def test_a_row_of_few_cells_is_scored():
    fit = sf.fit(sf.Product({"a": sf.Normal(), "b": sf.Categorical()}), {"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"]})
    with pytest.warns(sf.SufficeWarning, match="lack the column 'b'"):
        assert fit.log_prob({"a": 2.0}) == pytest.approx(fit.marginal("a").log_prob(2.0))
    with pytest.warns(sf.SufficeWarning, match="lack the column 'b'"):
        assert fit.log_prob([{"a": 2.0}, {"a": 1.0}]).shape == (2,)
    with pytest.raises(sf.DataError, match="lack the columns"):
        fit.log_prob({"c": [1.0]})


def test_a_classifier_takes_columns_in_any_order_and_without_some():
    classes = np.where(FRAME["temp"] > 36.6, "hot", "cold")
    model = sf.NaiveBayes().fit(FRAME, classes)
    turned = FRAME[FRAME.columns[::-1]].assign(more=1)
    np.testing.assert_array_equal(model.predict_proba(turned), model.predict_proba(FRAME))
    some = FRAME[["visits", "temp"]]
    with pytest.warns(sf.SufficeWarning, match="lack the columns"):
        found = model.predict_proba(some)
    hidden = FRAME.assign(**{name: np.nan for name in FRAME if name not in some})
    np.testing.assert_allclose(found, model.predict_proba(hidden), rtol=1e-12)
    with pytest.warns(sf.SufficeWarning, match="lack the columns"):
        assert model.explain({"temp": 38.0}).label == "hot"
