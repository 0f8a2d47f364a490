"""One table, four ways to keep it: every answer agrees to the bit."""

import datetime as dt
import decimal
import warnings
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import suffice as sf
from suffice.tables.arrow import of_arrow
from suffice.tables.frame import Frame, is_frame, names, opened
from suffice.tables.frame_output import like

RNG = np.random.default_rng(7)
N = 60


def holes(values, rows=(3, 17)):
    return [None if i in rows else value for i, value in enumerate(values)]


TABLE = {
    "real": holes(RNG.normal(3, 2, N).tolist()),
    "whole": holes(RNG.integers(170, 240, N).tolist(), (5,)),
    "count": RNG.poisson(2, N).tolist(),
    "yes": holes((RNG.random(N) < 0.3).tolist(), (0, 8)),
    "word": holes(RNG.choice(["a", "b", "c"], N).tolist()),
    "code": holes(RNG.choice([2007, 2008, 2009], N).tolist(), (1,)),
}
PROTOTYPE = sf.Product(
    {
        ("real", "whole"): sf.Normal(),
        "count": sf.Poisson(),
        "yes": sf.Bernoulli(),
        ("word", "code"): sf.Categorical(),
    }
)
NULLABLE = {"whole": "Int64", "yes": "boolean", "real": "Float64", "word": "string", "code": "Int32"}
KINDS = {
    "dict": lambda t: t,
    "pandas": pd.DataFrame,
    "pandas nullable": lambda t: pd.DataFrame(t).astype({k: v for k, v in NULLABLE.items() if k in t}),
    "pandas category": lambda t: pd.DataFrame(t).astype({k: "category" for k in ("word", "code") if k in t}),
    "pandas arrow": lambda t: pa.table(t).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas objects": lambda t: pd.DataFrame({k: pd.Series(v, dtype=object) for k, v in t.items()}),
    "polars": pl.DataFrame,
    "polars enum": lambda t: pl.DataFrame(t).with_columns(pl.col("word").cast(pl.Enum(["a", "b", "c", "d"]))),
    "polars category": lambda t: pl.DataFrame(t).with_columns(pl.col("word").cast(pl.Categorical)),
    "pyarrow": pa.table,
    "pyarrow batch": pa.RecordBatch.from_pydict,
    "pyarrow dictionary": lambda t: pa.table(
        {k: pa.array(v).dictionary_encode() if k in ("word", "code") else v for k, v in t.items()}
    ),
    "pyarrow chunks": lambda t: pa.concat_tables([pa.table(t).slice(0, 20), pa.table(t).slice(20)]),
    "records": lambda t: [dict(zip(t, row, strict=True)) for row in zip(*t.values(), strict=True)],
}


@pytest.fixture(params=KINDS)
def frame(request):
    return KINDS[request.param](TABLE)


@cache
def of_lists(n, prior):
    """What is learned from the table itself, which every other kind must tell as well."""
    return sf.fit(sf.Mixture(PROTOTYPE, n) if n > 1 else PROTOTYPE, TABLE, random_state=1, prior=prior)


@pytest.mark.parametrize("prior", [None, "weak"])
def test_a_product_is_the_same_to_the_bit(frame, prior):
    ours, theirs = sf.fit(PROTOTYPE, frame, prior=prior), of_lists(1, prior)
    assert ours.distribution == theirs.distribution
    assert repr(ours.distribution) == repr(theirs.distribution)
    assert ours.log_likelihood == theirs.log_likelihood
    assert ours.missing == theirs.missing == 8
    np.testing.assert_array_equal(ours.log_prob(frame), theirs.log_prob(TABLE))


def test_a_mixture_is_the_same_to_the_bit(frame):
    ours, theirs = sf.fit(sf.Mixture(PROTOTYPE, 2), frame, random_state=1, prior="weak"), of_lists(2, "weak")
    assert ours.distribution == theirs.distribution
    np.testing.assert_array_equal(ours.predict_proba(frame), theirs.predict_proba(TABLE))


def test_what_is_inferred_is_the_same(frame):
    ours, theirs = sf.infer(frame), sf.infer(TABLE)
    said = [" ".join(line.replace(", in their order, 1 more declared", "").split()) for line in str(ours).splitlines()]
    assert said == [" ".join(line.split()) for line in str(theirs).splitlines()]  # a polars Enum declares its levels
    ours, theirs = sf.fit(ours, frame), sf.fit(theirs, TABLE)
    np.testing.assert_allclose(ours.log_prob(frame), theirs.log_prob(TABLE), rtol=1e-13)
    if "declared" not in str(sf.infer(frame)):
        assert sf.infer(frame) == sf.infer(TABLE)
        assert ours.distribution == theirs.distribution


def test_beliefs_and_other_questions_are_the_same(frame):
    ours, theirs = (sf.posterior(PROTOTYPE, one, prior="weak") for one in (frame, TABLE))
    assert ours.log_evidence == theirs.log_evidence
    assert ours.predictive() == theirs.predictive()


@pytest.mark.parametrize("kind", ["pandas", "pandas nullable", "polars", "pyarrow"])
def test_families_without_names_take_the_columns_in_order(kind):
    table = {name: TABLE[name] for name in ("real", "whole")}
    frame = KINDS[kind](table)
    array = np.array([[np.nan if v is None else v for v in column] for column in table.values()], dtype=float).T
    assert sf.fit(sf.Normal(), frame).distribution == sf.fit(sf.Normal(), array).distribution
    full = array[~np.isnan(array).any(axis=1)]
    whole = KINDS[kind]({"real": full[:, 0].tolist(), "whole": full[:, 1].tolist()})
    assert sf.fit(sf.MultivariateNormal(), whole).distribution == sf.fit(sf.MultivariateNormal(), full).distribution
    by_position = sf.Product([sf.Normal(), sf.Normal()])
    assert sf.fit(by_position, frame).distribution == sf.fit(by_position, array).distribution
    assert sf.fit(sf.Normal(), frame["real"]).distribution == sf.fit(sf.Normal(), TABLE["real"]).distribution
    labels = KINDS[kind]({name: TABLE[name] for name in ("word", "code")})
    found = sf.fit(sf.Categorical(), labels).distribution
    assert found.levels == (("a", "b", "c"), (2007, 2008, 2009))
    assert all(isinstance(level, int) for level in found.levels[1])


DAYS = [dt.date(2024, 1, 1), None, dt.date(2024, 5, 1)]
MOMENTS = [dt.datetime(2024, 1, 1, 12), None, dt.datetime(2024, 5, 1)]  # noqa: DTZ001
AMOUNTS = [decimal.Decimal("1.1"), None, decimal.Decimal("2.30")]
COLUMNS = {
    "dates": (DAYS, np.array(["2024-01-01", "NaT", "2024-05-01"], "M8[us]")),
    "moments": (MOMENTS, np.array(["2024-01-01T12", "NaT", "2024-05-01"], "M8[us]")),
    "amounts": (AMOUNTS, np.array([1.1, np.nan, 2.3])),
    "durations": ([dt.timedelta(1), None, dt.timedelta(2)], np.array([86400, "NaT", 172800], "m8[s]").astype("m8[us]")),
    "vectors": ([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])),
    "nothing": ([None, None, None], np.full(3, np.nan)),
    "large": ([2**60, None, 2**60 + 1], np.ma.array([2**60, 0, 2**60 + 1], mask=[0, 1, 0])),
    "flags": ([True, None, False], np.ma.array([True, False, False], mask=[0, 1, 0])),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("kind", ["pandas", "pandas arrow", "polars", "pyarrow"])
def test_columns_of_every_kind(name, kind):
    values, expected = COLUMNS[name]
    frame = pd.DataFrame({"x": pd.Series(values, dtype=object)}) if kind == "pandas" else KINDS[kind]({"x": values})
    found = opened(frame)["x"]
    np.testing.assert_array_equal(np.ma.getmaskarray(found), np.ma.getmaskarray(expected))
    np.testing.assert_array_equal(np.ma.filled(found, 0), np.ma.filled(expected, 0))
    assert np.asarray(found).dtype.kind == expected.dtype.kind or name == "large"


def test_single_precision_stays_and_not_a_number_is_missing():
    for frame in (
        pl.DataFrame({"x": pl.Series([1.5, np.nan, None], dtype=pl.Float32)}),
        pd.DataFrame({"x": [1.5, None, None]}).astype("float32"),
    ):
        assert opened(frame)["x"].dtype == np.float32
        assert sf.fit(sf.Product({"x": sf.Normal().fix("std")}), frame).missing == 2


HOSTILE = [
    "",
    " ",
    "a: b",
    "'",
    '"',
    "probs[0]",
    "mean",
    "log_prob",
    "columns",
    "é漢",
    "x\ny",
    "None",
    "__init__",
    "keys",
]


@pytest.mark.parametrize("kind", ["dict", "pandas", "polars", "pyarrow"])
def test_names_may_be_anything(kind):
    data = {name: RNG.normal(i, 1, 30).tolist() for i, name in enumerate(HOSTILE)}
    frame = KINDS[kind](data)
    schema = sf.infer(frame, dict.fromkeys(HOSTILE[:3], sf.Laplace()))
    fit = sf.fit(schema, frame)
    for name, values in data.items():
        assert "loc" in fit.params[name] or fit.params[name]["mean"] == pytest.approx(np.mean(values), rel=1e-12)
    drawn = fit.sample(2, random_state=0)  # of the kind that was fitted
    assert list(drawn if kind == "dict" else names(drawn)) == list(HOSTILE)
    assert str(fit)


def test_names_may_be_numbers():
    frame = pd.DataFrame({3: [1.0, 2.0, 4.0], 1: [0, 1, 5]})
    fit = sf.fit(sf.infer(frame, {3: sf.Normal()}), frame)
    assert fit.params[3]["mean"] == pytest.approx(7 / 3)
    assert fit.params[1]["rate"] == pytest.approx(2)


def test_columns_of_an_array_are_called_by_their_place():
    array = np.column_stack([np.ones(40), RNG.normal(size=40), RNG.poisson(1.0, 40), RNG.normal(5, 1, 40)])
    fit = sf.fit(sf.infer(array), array)
    assert fit.params[1]["mean"] == pytest.approx(array[:, 1].mean(), rel=1e-12)
    assert fit.params[3]["mean"] == pytest.approx(array[:, 3].mean(), rel=1e-12)
    assert fit.params[2]["rate"] == pytest.approx(array[:, 2].mean(), rel=1e-12)


# id: (what is called, fragments of the message)
REFUSED = {
    "two of a name (pandas)": (
        lambda: sf.fit(sf.Normal(), pd.DataFrame([[1.0, 2.0]], columns=["a", "a"])),
        ["two columns", "'a'", "Rename"],
    ),
    "two of a name (pyarrow)": (
        lambda: sf.infer(pa.table([pa.array([1.0]), pa.array([2.0])], names=["a", "a"])),
        ["two columns", "'a'", "Rename"],
    ),
    "names of several levels": (
        lambda: sf.infer(pd.DataFrame([[1.0]], columns=pd.MultiIndex.from_tuples([("a", "b")]))),
        ["several levels", "('a', 'b')"],
    ),
    "a lazy frame": (lambda: sf.fit(sf.Normal(), pl.LazyFrame({"a": [1.0]})), ["lazy", "collect"]),
    "no columns": (lambda: sf.fit(sf.Normal(), pd.DataFrame(index=range(3))), ["Normal", "at least one column"]),
    "no columns to infer": (lambda: sf.infer(pl.DataFrame()), ["infer", "no columns"]),
    "no rows": (lambda: sf.fit(sf.Normal(), pl.DataFrame({"a": [], "b": []})), ["Normal", "no rows"]),
    "no rows to infer": (lambda: sf.infer(pd.DataFrame({"a": []})), ["infer", "no rows", "Name families"]),
    "a column that is not there": (lambda: sf.fit(PROTOTYPE, pl.DataFrame({"real": [1.0]})), ["lack", "'whole'"]),
    "text for numbers": (lambda: sf.fit(sf.Normal(), pl.DataFrame({"a": ["x"]})), ["column 'a'", "Normal", "'x'"]),
    "vectors for numbers": (lambda: sf.fit(sf.Categorical(), pl.DataFrame({"a": [[1, 2]]})), ["'a'", "vectors"]),
    "a bad value of a block": (
        lambda: sf.fit(sf.Product({("a", "b"): sf.Poisson()}), pl.DataFrame({"a": [1, 2], "b": [3, -1]})),
        ["column 'b'", "row 1", "-1"],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case):
    call, fragments = REFUSED[case]
    with pytest.raises(sf.DataError) as caught:
        call()
    missing = [fragment for fragment in fragments if fragment not in str(caught.value)]
    assert not missing, f"{missing} not in: {caught.value}"


def test_no_rows_have_no_scores():
    fit = sf.fit(PROTOTYPE, TABLE)
    for kind in ("pandas", "polars", "pyarrow"):
        nothing = KINDS[kind](TABLE)[:0] if kind != "pyarrow" else pa.table(TABLE).slice(0, 0)
        assert fit.log_prob(nothing).shape == (0,)


def test_one_row_of_a_frame_is_one_row():
    fit = sf.fit(PROTOTYPE, TABLE)
    row = pd.DataFrame(TABLE).iloc[20]
    assert fit.log_prob(row) == fit.log_prob(TABLE)[20]


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "polars enum", "pandas category"])
def test_the_same_kind_comes_back(kind):
    frame = KINDS[kind](TABLE)
    arrays = opened(frame)
    back = like(frame, {name: arrays[name] for name in reversed(list(arrays))})
    assert type(back) is type(frame)
    assert list(opened(back)) == list(TABLE)
    assert sf.fit(PROTOTYPE, back).distribution == sf.fit(PROTOTYPE, frame).distribution
    if kind.startswith("polars"):
        assert back.schema == frame.schema
    drawn = sf.fit(PROTOTYPE, frame).sample(5, random_state=0)
    assert type(drawn) is type(frame)
    assert len(drawn) == 5
    assert is_frame(drawn)


def test_what_comes_back_keeps_the_index_and_new_columns_follow():
    frame = pd.DataFrame({"a": [1, 2]}, index=["p", "q"])
    back = like(frame, {"new": np.array([0.5, 1.5]), "a": np.array([3.0, 4.0])})
    assert list(back.columns) == ["a", "new"]
    assert list(back.index) == ["p", "q"]
    assert back["a"].tolist() == [3, 4]
    assert back["a"].dtype == frame["a"].dtype
    assert like(frame, {"a": np.array([3.5, 4.0])})["a"].tolist() == [3.5, 4.0]
    assert like({"a": [1]}, {"a": [1.0]}) == {"a": np.array([1.0])}


def test_arrays_and_lists_are_no_frames():
    for x in ([1.0], np.ones(3), {"a": [1]}, None, 3.0, "text"):
        assert opened(x) is x
        assert not is_frame(x)
    assert isinstance(opened(pl.DataFrame({"a": [1]})), Frame)


def test_nothing_is_warned_of_on_the_way():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in KINDS.values():
            sf.fit(PROTOTYPE, kind(TABLE))


def test_arrays_of_files_are_those_of_frames():
    """Numbers that come from files go a shorter way to the same array."""
    holes = [True, False, True, False]
    columns = {
        "float": pa.array([1.5, None, float("nan"), 2.0]),
        "single": pa.array(np.array([1.5, 2, 3, 4], np.float32), mask=np.array(holes)),
        "whole": pa.array([1, 2, 3, 4]),
        "short": pa.array(np.array([1, -128, 3, 127], np.int8), mask=np.array(holes)),
        "long": pa.array([2**60, None, 3, 4]),
        "edge": pa.array([2**53, None, -(2**53), 4]),
        "past": pa.array([2**53 + 1, None, 3, 4]),
        "unsigned": pa.array(np.array([2**64 - 1, 1, 2, 3], np.uint64)),
        "yes": pa.array([True, None, False, True]),
        "no": pa.array([True, False, False, True]),
        "none": pa.nulls(4, pa.int32()),
        "empty": pa.nulls(4, pa.float32()),
        "day": pa.array(np.array(["2024-01-01", "NaT", "2024-01-03", "2024-01-04"], "M8[D]")),
        "price": pa.array([None, 150, 2, 3]).cast(pa.decimal128(25, 2)),
    }
    whole = pa.table(columns)
    pieces = pa.concat_tables([whole.slice(0, 1), whole.slice(1)])
    theirs = opened(whole)
    for given in (whole, whole.to_batches()[0], pieces):
        mine = of_arrow(given)
        assert list(mine) == list(columns)
        for name in columns:
            one, other = mine[name], theirs[name]
            assert type(one) is type(other), name
            assert one.dtype == other.dtype, name
            assert np.array_equal(np.ma.getmaskarray(one), np.ma.getmaskarray(other)), name
            np.testing.assert_array_equal(np.ma.filled(one, 0), np.ma.filled(other, 0), name)
