"""Labels are compared by what they mean: "1" of one file is 1 of another."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import suffice as sf
from suffice.tables.label_matching import places_among

RNG = np.random.default_rng(0)
WHO = RNG.integers(0, 2, 40)
CODES = np.where(RNG.random(40) < 0.85, WHO * 2 + 1, 2)
HOLES = np.arange(40) % 7 == 3
SIZE = RNG.normal(size=40) + 3 * WHO
KINDS = {
    "text": lambda: pa.array([None if hole else str(code) for code, hole in zip(CODES, HOLES, strict=True)]),
    "categories": lambda: KINDS["text"]().dictionary_encode(),
    "whole numbers": lambda: pa.array(CODES, mask=HOLES),
    "real numbers": lambda: pa.array(CODES.astype(float), mask=HOLES),
}


def files(folder):
    """The same rows in files of several kinds."""
    for name, codes in KINDS.items():
        rows = pa.table({"code": codes(), "size": SIZE})
        path = folder / f"{name}.parquet"
        pq.write_table(rows, path)
        yield path
    rows.to_pandas().to_csv(folder / "rows.csv", index=False)
    yield folder / "rows.csv"


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return list(files(tmp_path_factory.mktemp("rows")))


def learned(path):
    proto = sf.Mixture(sf.Product({"code": sf.Categorical(), "size": sf.Normal()}), 2)
    return sf.fit(proto, sf.scan(path), start=(np.median(SIZE) < SIZE).astype(int), prior="weak")


def test_every_kind_of_file_gives_the_same_answers_to_models_of_every_other(paths):
    fits = [learned(path) for path in paths]
    for (fit, _), path in itertools.product(zip(fits, paths, strict=True), paths):
        rows = sf.scan(path).table()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_allclose(fit.log_prob(rows), fits[0].log_prob(sf.scan(paths[0]).table()), rtol=1e-9)
            filled = fit.impute(rows)
            drawn = fit.impute(rows, draw=True, random_state=0)
        for table in (filled, drawn):
            assert table["code"].null_count == 0
            kept = [one for one, hole in zip(table["code"].to_pylist(), HOLES, strict=True) if not hole]
            assert [float(one) for one in kept] == CODES[~HOLES].tolist()
            assert len({type(one) for one in table["code"].to_pylist()}) == 1  # cells stay of one kind
        assert [float(one) for one in filled["code"].to_pylist()] == [
            float(one) for one in fits[0].impute(sf.scan(paths[0]).table())["code"].to_pylist()
        ]


def test_commands_answer_alike(run, paths, tmp_path):
    model = tmp_path / "m.json"
    sf.save(learned(paths[0]), model)
    scores = [run("score", model, path, "--json").stdout for path in paths]
    for path, score in zip(paths, scores, strict=True):
        assert score == scores[0], path
        run("impute", model, path, "--out", tmp_path / "filled.csv")
        assert pd.read_csv(tmp_path / "filled.csv")["code"].notna().all()


def test_a_classifier_takes_labels_of_another_kind():
    data = pd.DataFrame({"code": CODES, "size": SIZE})
    model = sf.NaiveBayes({"code": sf.Categorical()}).fit(data, WHO)
    words = data.assign(code=data["code"].astype(str))
    np.testing.assert_array_equal(model.predict_proba(words), model.predict_proba(data))


def test_what_means_something_else_is_not_the_same():
    assert places_among(["01", "1e5", "one", ""], (1, 100000)).tolist() == [-1, 1, -1, -1]
    assert places_among([1, 1.5, True], ("01", "1.50", "True")).tolist() == [-1, 1, 2]
    assert places_among(["1"], (1, "x")).tolist() == [-1]  # levels of several kinds are meant as they are
    assert places_among(["1", 2], ("1", "2")).tolist() == [0, 1]


def test_a_label_that_no_number_can_be_makes_text_of_the_column():
    data = {"code": np.array([None, "x", "x", "x", "1"], dtype=object), "size": [0.0, 0.1, -0.1, 0.0, 9.0]}
    fit = sf.fit(sf.Product({"code": sf.Categorical(), "size": sf.Normal()}), data)
    filled = fit.impute(pd.DataFrame({"code": [np.nan, 1.0], "size": [0.0, 9.0]}))
    assert filled["code"].tolist() == ["x", "1"]
