"""Columns that a model does not use, of any type, stand in nobody's way."""

import datetime as dt
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import suffice as sf

N = 24
OTHERS = {
    "lists of one length": pa.array([[1, 2]] * N),
    "lists of several lengths": pa.array([[1] * (i % 3) for i in range(N)]),
    "lists with holes": pa.array([None if i % 4 == 0 else ["a"] * (i % 3) for i in range(N)]),
    "lists of lists": pa.array([[[1, 2]]] * N),
    "structs": pa.array([{"a": 1, "b": [2, 3]}] * N),
    "maps": pa.array([[("a", 1)]] * N, pa.map_(pa.string(), pa.int64())),
    "bytes": pa.array([b"\xff"] * N),
    "durations": pa.array([dt.timedelta(days=i, seconds=5) for i in range(N)]),
    "times": pa.array([dt.time(i % 24) for i in range(N)]),
    "whole numbers with holes": pa.array([None if i % 5 == 0 else i for i in range(N)], pa.int32()),
}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    size = np.where(np.arange(N) % 6 == 0, np.nan, rng.normal(size=N))
    return {"size": pa.array(size, from_pandas=True), "kind": pa.array(rng.choice(["a", "b"], N))}


@pytest.fixture(scope="module")
def saved(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.json"
    data = pa.table(rows)
    sf.save(sf.fit(sf.Mixture(sf.infer(data), 2), data, prior="weak", random_state=0, max_iter=5), path)
    return path


@pytest.mark.parametrize("name", OTHERS)
def test_every_command_answers_as_without_the_column(run, saved, rows, tmp_path, name):
    with_it, without = tmp_path / "with.parquet", tmp_path / "without.parquet"
    pq.write_table(pa.table({**rows, "other": OTHERS[name]}), with_it)
    pq.write_table(pa.table(rows), without)
    for command in ("score", "predict", "explain"):
        found = [run(command, saved, file, "--json").stdout for file in (with_it, without)]
        assert found[0] == found[1], command
    filled = tmp_path / "filled.parquet"
    run("impute", saved, with_it, "--out", filled)
    found = pq.read_table(filled)
    assert found["other"].equals(pa.chunked_array([OTHERS[name]]))  # cell by cell, and its type
    assert found["size"].null_count == 0


def test_nested_cells_and_durations_are_text_in_csv(run, saved, rows, tmp_path):
    file, filled = tmp_path / "d.parquet", tmp_path / "filled.csv"
    pq.write_table(pa.table({**rows, "span": OTHERS["durations"], "tags": OTHERS["structs"]}), file)
    run("impute", saved, file, "--out", filled)
    line = filled.read_text().splitlines()[3]
    assert "2 days 00:00:05" in line
    assert json.dumps({"a": 1, "b": [2, 3]}).replace('"', '""') in line
