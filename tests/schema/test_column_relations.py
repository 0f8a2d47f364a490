"""Columns that are copies of others, and categories that have an order."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import suffice as sf

RNG = np.random.default_rng(2)
GRADES = ["low", "mid", "high"]
GRADE = np.array(GRADES)[RNG.choice(3, 120, p=[0.2, 0.3, 0.5])]
ORDERED = {
    "pandas": pd.DataFrame({"grade": pd.Categorical(GRADE, GRADES, ordered=True)}),
    "polars": pl.DataFrame({"grade": pl.Series(GRADE, dtype=pl.Enum(GRADES))}),
    "pyarrow": pa.table(
        {"grade": pa.DictionaryArray.from_arrays([GRADES.index(g) for g in GRADE], GRADES, ordered=True)}
    ),
}


@pytest.mark.parametrize("library", ORDERED)
def test_ordered_categories_keep_their_order(library):
    table = ORDERED[library]
    found = sf.infer(table)["grade"]
    assert found.levels == ("low", "mid", "high")
    assert found.why == "text, 3 levels, in their order"
    fit = sf.fit(sf.infer(table), table)
    assert [*fit.distribution.blocks["grade"].by_label] == GRADES
    drawn = fit.sample(20, random_state=0)
    assert type(drawn) is type(table)
    if library == "pandas":
        assert drawn["grade"].dtype == table["grade"].dtype
    if library == "polars":
        assert drawn["grade"].dtype == pl.Enum(GRADES)


def test_declared_levels_that_never_occur_are_reported_and_not_learned():
    table = pd.DataFrame({"grade": pd.Categorical(GRADE, [*GRADES, "top"], ordered=True)})
    found = sf.infer(table)["grade"]
    assert found.levels == ("low", "mid", "high")
    assert found.why == "text, 3 levels, in their order, 1 more declared"
    assert not sf.fit(sf.infer(table), table).alerts


def test_categories_without_an_order_are_sorted():
    assert sf.infer(pd.DataFrame({"grade": pd.Categorical(GRADE, GRADES)}))["grade"].levels == ("high", "low", "mid")


def test_the_same_fit_with_and_without_an_order():
    plain = pd.DataFrame({"grade": GRADE, "x": RNG.normal(size=120)})
    ordered = plain.assign(grade=pd.Categorical(GRADE, GRADES, ordered=True))
    one, two = (sf.fit(sf.infer(d), d).log_likelihood for d in (plain, ordered))
    assert one == pytest.approx(two, rel=1e-12)


COPIED = pd.DataFrame({
    "age": RNG.integers(20, 70, 200).astype(float),
    "town": RNG.choice(["a", "b", "c"], 200),
    "income": RNG.normal(size=200),
})  # fmt: skip
COPIED = COPIED.assign(years=COPIED["age"], place=COPIED["town"], other=COPIED["income"].to_numpy()[::-1])


def test_copies_of_columns_are_reported():
    schema = sf.infer(COPIED)
    assert schema["years"].why.startswith("a copy of 'age', which counts twice: leave one out; ")
    assert schema["place"].why.startswith("a copy of 'town', which counts twice: leave one out; ")
    assert not schema["other"].why.startswith("a copy")  # the same values in another order
    assert not any(schema[name].why.startswith("a copy") for name in ("age", "town", "income"))


def test_copies_with_the_same_holes_and_in_other_types_are_copies():
    some = pd.DataFrame({"a": [1, 2, 3, None] * 10, "b": pd.array([1, 2, 3, None] * 10, dtype="Int64")})
    assert sf.infer(some)["b"].why.startswith("a copy of 'a'")
    some.loc[0, "b"] = pd.NA
    assert not sf.infer(some)["b"].why.startswith("a copy of 'a'")


def test_copies_in_files_are_reported(tmp_path):
    COPIED.to_csv(tmp_path / "t.csv", index=False)
    schema = sf.infer(sf.scan(tmp_path / "t.csv"))
    assert [name for name in COPIED if schema[name].why.startswith("a copy of ")] == ["years", "place"]
