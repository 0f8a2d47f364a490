"""Files: the same answers as rows in memory, whatever they are cut into, and errors that name file and row group."""

import gzip
import os
import subprocess
import sys
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import suffice as sf
from suffice.engines import local
from suffice.schema import column_facts, number_facts
from suffice.selection import search
from suffice.selection.search import SUBSAMPLE
from suffice.tables import csv, deferred_columns, parquet, streams

N = 6000


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Cuts as of large files in small ones: many slices, partitions that end inside them, long row groups."""
    monkeypatch.setattr(local, "SLICE_CELLS", 1 << 12)
    monkeypatch.setattr(streams, "FEW", 1 << 10)
    monkeypatch.setattr(parquet, "CELLS", 1 << 11)
    monkeypatch.setattr(parquet, "SHORTEST", 100)
    monkeypatch.setattr(csv, "GROUP", 500)
    monkeypatch.setattr(csv, "BLOCK", 1 << 14)


def table(n=N, seed=0):
    rng = np.random.default_rng(seed)
    kind = rng.random(n) < 0.4
    size = rng.normal(np.where(kind, 3.0, 0.0), 1.0)
    visits = rng.poisson(np.where(kind, 5, 2), n).astype(float)
    visits[rng.random(n) < 0.1] = np.nan
    colour = np.where(kind, rng.choice(["red", "blue"], n), rng.choice(["red", "green"], n)).astype(object)
    colour[rng.random(n) < 0.05] = None
    colour[-3:] = "late"
    columns = {
        "size": size,
        "visits": visits,
        "colour": colour,
        "smokes": rng.random(n) < 0.3,
        "w": rng.integers(0, 3, n),
    }
    return pa.Table.from_pandas(pd.DataFrame(columns), preserve_index=False)


def mixed():
    return sf.Product(
        {"size": sf.Normal(), "visits": sf.Poisson(), "colour": sf.Categorical(), "smokes": sf.Bernoulli()}
    )


@pytest.fixture(scope="module")
def whole():
    return table()


@cache
def in_memory(max_iter, *, weighted=False, prior=None):
    """What rows in memory teach a mixture of two."""
    rows = table()
    w = rows["w"].to_numpy().astype(float) if weighted else None
    return sf.fit(sf.Mixture(mixed(), 2), rows, weights=w, random_state=0, max_iter=max_iter, prior=prior)


def written(folder, whole, how):
    """The rows in files of different kinds and cuts."""
    if how == "csv":
        whole.to_pandas().to_csv(folder / "rows.csv", index=False)
    elif how == "csv.gz":
        whole.to_pandas().to_csv(folder / "rows.csv.gz", index=False)
    elif how == "several":
        cuts = [0, 1, 1700, 1700, 4500, N]
        for number, (low, high) in enumerate(pairwise(cuts)):
            pq.write_table(whole.slice(low, high - low), folder / f"{number}.parquet", row_group_size=640)
    else:
        pq.write_table(whole, folder / "rows.parquet", row_group_size=how)
    return folder


KINDS = (37, 640, N, "several", "csv", "csv.gz")


@pytest.mark.parametrize("how", KINDS)
def test_a_mixture_of_mixed_columns_is_that_of_rows_in_memory(tmp_path, whole, how):
    files = sf.scan(written(tmp_path, whole, how))
    assert len(files) == N
    assert isinstance(streams.read(mixed(), files), streams.Streamed)
    mine = sf.fit(sf.Mixture(mixed(), 2), files, random_state=0, max_iter=12)
    theirs = in_memory(12)
    assert mine == theirs  # distribution, statistics, alerts and the likelihood of every pass
    assert "late" in mine.distribution.components.blocks["colour"].levels[0]
    for name in ("size", "visits"):
        for parameter, errors in theirs.standard_errors[name].items():
            assert np.allclose(mine.standard_errors[name][parameter], errors, rtol=1e-10, equal_nan=True)


@pytest.mark.parametrize("how", [37, N, "several"])
@pytest.mark.parametrize("prior", [None, "weak"])
def test_weights_are_a_column(tmp_path, whole, how, prior):
    files = sf.scan(written(tmp_path, whole, how))
    mine = sf.fit(sf.Mixture(mixed(), 2), files, weights="w", random_state=0, max_iter=6, prior=prior)
    assert mine.distribution == in_memory(6, weighted=True, prior=prior).distribution
    assert mine.n == whole["w"].to_numpy().sum()


FAMILIES = [
    ("size", sf.Normal()), ("size", sf.StudentT()), ("size", sf.Laplace()), ("visits", sf.NegativeBinomial()),
    ("visits", sf.Poisson()), ("smokes", sf.Bernoulli()), ("colour", sf.Categorical()),
    ("size", sf.Mixture([sf.Normal(), sf.Laplace()])), (["size", "w"], sf.MultivariateNormal()),
    ("size", sf.Mixture(sf.Mixture(sf.Normal(), 2), 2)),
    (["size", "visits"], sf.Product([sf.StudentT(), sf.NegativeBinomial()])),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "proto"), FAMILIES, ids=lambda value: str(value)[:30])
def test_any_distribution_is_that_of_rows_in_memory(tmp_path, whole, columns, proto):
    files = sf.scan(written(tmp_path, whole, 640), columns=columns)
    names = [columns] if isinstance(columns, str) else columns
    rows = whole.select(names)
    mine = sf.fit(proto, files, random_state=0, max_iter=4)
    theirs = sf.fit(proto, rows, random_state=0, max_iter=4)
    assert mine.distribution == theirs.distribution
    assert np.allclose(mine.log_prob(files), theirs.log_prob(rows), rtol=1e-12)


def test_row_questions_go_by_partitions(tmp_path, whole):
    files = sf.scan(written(tmp_path, whole, "several"))
    fit = sf.fit(sf.Mixture(mixed(), 2), files, random_state=0, max_iter=5)
    assert np.allclose(fit.predict_proba(files), fit.predict_proba(whole), rtol=1e-12)
    assert (fit.predict(files) == fit.predict(whole)).all()
    frames = list(files.frames())
    assert len(frames) == len(files.partitions)
    assert sum(len(frame) for frame in frames) == N
    assert np.concatenate([frame["size"] for frame in frames]).tolist() == whole["size"].to_pylist()


@pytest.mark.slow
def test_the_number_of_threads_changes_no_bit(tmp_path, whole, monkeypatch):
    for how in (37, N, "csv"):
        folder = tmp_path / str(how)
        folder.mkdir()
        found = []
        for threads in ("1", "2", "4"):
            monkeypatch.setenv("SUFFICE_THREADS", threads)
            files = sf.scan(written(folder, whole, how))
            found.append(sf.fit(sf.Mixture(mixed(), 3), files, random_state=1, max_iter=8))
        assert found[0] == found[1] == found[2]


def test_partitions_follow_the_files_alone(tmp_path, whole):
    files = sf.scan(written(tmp_path, whole, 37))
    sizes = [part.rows for part in files.partitions]
    assert sum(sizes) == N
    assert max(sizes) <= parquet.CELLS // 5  # tiny row groups are read together
    assert min(sizes[:-1]) > parquet.CELLS // 5 - 37
    pq.write_table(whole, tmp_path / "rows.parquet", row_group_size=N)
    long = sf.scan(tmp_path / "rows.parquet").partitions
    assert max(part.rows for part in long) == parquet.CELLS // 5  # a long one in stretches
    assert {part.groups for part in long} == {(0,)}


def test_a_long_row_group_can_be_asked_in_any_order(tmp_path, whole):
    files = sf.scan(written(tmp_path, whole, N))
    values = whole["size"].to_numpy()
    for start, stop in ((5000, 5900), (10, 2000), (1990, 2010), (0, N), (N - 1, N), (7, 7)):
        assert files.frame(start, stop)["size"].tolist() == values[start:stop].tolist()


def test_only_the_columns_that_are_needed_are_read(tmp_path, whole, monkeypatch):
    files = sf.scan(written(tmp_path, whole, 640))
    asked = set()
    table_of = parquet.Reader.table

    def noted(self, part, columns):
        if part.number > 0:
            asked.update(columns)
        return table_of(self, part, columns)

    monkeypatch.setattr(parquet.Reader, "table", noted)
    sf.fit(sf.Product({"size": sf.Normal(), "smokes": sf.Bernoulli()}), files)
    assert asked == {"size", "smokes"}


# ---- infer, select, classifiers --------------------------------------------------------------------------------------
def every_kind(n=N):
    rng = np.random.default_rng(3)
    more = {
        "id": np.arange(n),
        "shuffled": rng.permutation(n),
        "zip": rng.integers(100, 110, n),
        "gamma": rng.gamma(2, 3, n),
        "price": rng.lognormal(size=n).round(2) + 0.01,
        "one": np.ones(n),
        "day": np.datetime64("2024-01-01") + rng.integers(0, 9, n),
        "key": [f"k{i}" for i in range(n)],
        "none": pa.nulls(n),
        "over": rng.negative_binomial(2, 0.3, n),
        "big": rng.integers(2, 10**9, n),
    }
    whole = table(n)
    for name, values in more.items():
        whole = whole.append_column(name, pa.array(values))
    return whole


@pytest.mark.parametrize("kept", [1 << 22, 500])
def test_infer_finds_what_it_finds_in_memory(tmp_path, monkeypatch, kept):
    monkeypatch.setattr(number_facts, "KEPT", kept)
    rows = every_kind()
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=700)
    files = sf.scan(tmp_path)
    groups = np.random.default_rng(0).integers(-1, 3, N)
    weights = rows["w"].to_numpy().astype(float)
    for options in ({}, {"within": groups}, {"weights": weights}, {"weights": weights / N}, {"joint": True}):
        mine, theirs = sf.infer(files, **options), sf.infer(rows, **options)
        for one, other in zip(mine.findings, theirs.findings, strict=True):
            assert one == replace(other, missing=pytest.approx(other.missing, abs=1e-12))
        assert mine.parts == theirs.parts


@cache
def hard_kinds(n=N):
    """Columns that turn out to be something else late, and types that are read in ways of their own."""
    rng = np.random.default_rng(8)
    late = {name: 1.0 + rng.poisson(3, n) for name in ("half", "below", "endless")}
    late["half"][-1], late["below"][-1], late["endless"][-1] = 0.5, -1.5, np.inf
    cents = rng.integers(1, 90, n) / 100
    dust = np.where(np.arange(n) < n // 2, cents, 0.1)
    dust[-1] = 5e-11  # a tenth, if next to nothing is nothing, but no multiple of a cent
    holes = rng.random(n) < 0.1
    long = rng.integers(2**60, 2**61, n)
    return pa.table({
        **late,
        "rising": np.sort(rng.integers(2, n // 5, n)),
        "cents": cents,
        "dust": dust,
        "byte": rng.integers(-128, 128, n).astype(np.int8),
        "wild": pa.array(rng.integers(0, 2**64, n, dtype=np.uint64)),
        "long": pa.array(long, mask=holes),
        "twice": np.where(np.arange(n) < n - 1, rng.permutation(n) * 3, 0),
        "apart": rng.choice([7, 70_000, 7_000_000], n),
        "float": pa.array(rng.normal(40, 4, n).astype(np.float32), mask=holes),
        "yes": pa.array(rng.random(n) < 0.3, mask=holes),
        "day": pa.array(np.datetime64("2024-01-01") + rng.integers(0, 9, n), mask=np.arange(n) < n // 2),
        "hour": pa.array(rng.integers(0, 86_400, n).astype(np.int32), pa.time32("s")),
        "never": pa.nulls(n, pa.timestamp("us")),
        "empty": pa.nulls(n, pa.string()),
        "grade": pa.array(rng.choice(["good", "bad"], n), mask=holes).dictionary_encode(),
        "year": pa.array(rng.integers(2000, 2005, n)).dictionary_encode(),
        "sum": pa.array(rng.integers(100, 9999, n)).cast(pa.decimal128(25, 2)),
        "bytes": pa.array(rng.choice([b"x", b"y"], n)),
        "lists": pa.array([[1], [2, 3]] * (n // 2)),
        "pair": pa.FixedSizeListArray.from_arrays(rng.normal(size=2 * n), 2),
    })  # fmt: skip


ASIDE = {
    "nothing": {},
    "groups": {"within": np.random.default_rng(0).integers(0, 3, N)},
    "weights": {"weights": np.random.default_rng(1).integers(0, 3, N)},
}


@cache
def hard_kinds_in_memory(aside):
    return sf.infer(hard_kinds(), **ASIDE[aside])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cells", "statistics"),
    [
        (1 << 19, True),
        (900, False),
        *([(1 << 19, False), (900, True)] if os.environ.get("SUFFICE_ALL_PAIRS") == "1" else []),
    ],
)
def test_infer_of_columns_that_change_late(tmp_path, monkeypatch, statistics, cells):
    """Many batches, chunks of one column and chunks of several row groups say what rows in memory do."""
    monkeypatch.setattr(parquet, "BATCH", 101)
    monkeypatch.setattr(parquet, "CELLS", cells)
    pq.write_table(hard_kinds(), tmp_path / "rows.parquet", row_group_size=700, write_statistics=statistics)
    for aside, options in ASIDE.items():
        theirs, found = hard_kinds_in_memory(aside), {}
        for threads in ("1", "4"):
            monkeypatch.setenv("SUFFICE_THREADS", threads)
            found[threads] = sf.infer(sf.scan(tmp_path), **options)
        assert found["1"].findings == found["4"].findings  # to the last bit
        for one, other in zip(found["1"].findings, theirs.findings, strict=True):
            assert one == replace(other, missing=pytest.approx(other.missing, abs=1e-12)), one.name
    plain = hard_kinds_in_memory("nothing")
    assert plain["half"].family.name in {"Normal", "LogNormal", "Gamma", "Categorical"}
    assert plain["rising"].why.startswith("like an identifier that repeats")
    assert plain["dust"].unit is None


def test_infer_reads_files_once(tmp_path, monkeypatch):
    """Also where counts turn out to be none, by a fraction in the last row."""
    monkeypatch.setattr(parquet, "BATCH", 101)
    pq.write_table(hard_kinds().select(["half", "cents", "byte"]), tmp_path / "rows.parquet")
    asked = []
    pieces = sf.tables.scan.Scan.pieces
    monkeypatch.setattr(sf.tables.scan.Scan, "pieces", lambda self, names: asked.append(names) or pieces(self, names))
    sf.infer(sf.scan(tmp_path))
    assert asked == [("half", "cents", "byte")]


def test_dates_are_not_read_where_the_footer_counts_their_holes(tmp_path, monkeypatch):
    pq.write_table(hard_kinds().select(["day", "byte", "never"]), tmp_path / "rows.parquet")
    asked = []
    frames = parquet.Chunk.frames
    monkeypatch.setattr(parquet.Chunk, "frames", lambda self, names: asked.append(names) or frames(self, names))
    found = sf.infer(sf.scan(tmp_path))
    assert {name for names in asked for name in names} == {"byte"}
    assert (found["day"].missing, found["day"].family) == (0.5, None)
    assert found["never"].why == "no value at all"


def test_progress_of_infer_reaches_the_end(tmp_path, whole):
    pq.write_table(whole, tmp_path / "rows.parquet", row_group_size=700)
    told = []
    sf.infer(sf.scan(tmp_path, progress=lambda row, rows: told.append((row, rows))))
    assert max(told) == (N, N)


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("batch", [1 << 16, 50])
def test_text_of_too_many_words_is_like_an_identifier(tmp_path, monkeypatch, statistics, batch):
    monkeypatch.setattr(column_facts, "LEVELS", 100)
    monkeypatch.setattr(parquet, "BATCH", batch)
    pq.write_table(every_kind(), tmp_path / "rows.parquet", row_group_size=700, write_statistics=statistics)
    assert sf.infer(sf.scan(tmp_path))["key"].why == f"like an identifier: more than 100 different values in {N} rows"


@pytest.mark.slow
def test_select_chooses_as_in_memory(tmp_path, whole):
    files = sf.scan(written(tmp_path, whole, 640), columns=["size", "visits"])
    options = {"n_components": [1, 2, 3], "random_state": 0}
    mine = sf.select(sf.Normal(), files, **options)
    theirs = sf.select(sf.Normal(), whole.select(["size", "visits"]), **options)
    assert np.allclose(mine.table["bic"], theirs.table["bic"], rtol=1e-10)
    with pytest.raises(sf.UnsupportedError, match="held out"):
        sf.select(sf.Normal(), files, criterion="held_out", **options)


def test_select_on_files_works_in_processes_too(tmp_path, whole, monkeypatch):
    monkeypatch.setattr(search, "WORTH", -1.0)  # seconds: any work is worth processes
    files = sf.scan(written(tmp_path, whole, 640), columns=["size", "visits"])
    options = {"n_components": [1, 2, 3], "random_state": 0}
    mine = sf.select(sf.Normal(), files, **options)
    theirs = sf.select(sf.Normal(), whole.select(["size", "visits"]), **options)
    assert np.allclose(mine.table["bic"], theirs.table["bic"], rtol=1e-10)


def test_select_on_files_knows_labels_that_its_subsample_lacks(tmp_path):
    rng = np.random.default_rng(0)
    n = 2 * SUBSAMPLE
    colour = [f"rare {i}" if i % 40 == 0 else "red" for i in range(n)]
    rows = pa.table({"size": rng.normal(np.arange(n) % 2 * 8, 1), "colour": colour})
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=n // 3)
    proto = sf.Product({"size": sf.Normal(), "colour": sf.Categorical()})
    options = {"n_components": [1, 2], "random_state": 0}
    mine, theirs = (sf.select(proto, data, **options) for data in (sf.scan(tmp_path), rows))
    assert mine.best.distribution.n == 2
    assert np.allclose(mine.table["bic"], theirs.table["bic"], rtol=1e-8)


@pytest.mark.parametrize("families", [{}, {"visits": sf.NegativeBinomial()}])
@pytest.mark.parametrize("weight", [None, "w"])
def test_a_classifier_learns_from_files(tmp_path, whole, families, weight):
    y = np.where(whole["size"].to_numpy() + np.random.default_rng(1).normal(size=N) > 1.5, "large", "small")
    pq.write_table(whole.append_column("y", pa.array(y)), tmp_path / "rows.parquet", row_group_size=640)
    X = whole.drop_columns(["w"]) if weight else whole
    w = whole["w"].to_numpy().astype(float) if weight else None
    mine = sf.NaiveBayes(families).fit(sf.scan(tmp_path), "y", weight)
    theirs = sf.NaiveBayes(families).fit(X, y, w)
    assert mine.classes_.tolist() == theirs.classes_.tolist()
    assert mine.distribution_.distance(theirs.distribution_) < 1e-10
    assert (mine.predict(sf.scan(tmp_path)) == theirs.predict(X)).all()
    assert np.allclose(mine.predict_proba(sf.scan(tmp_path)), theirs.predict_proba(X), rtol=1e-9)


def test_a_class_that_is_missing_in_a_file_is_named(tmp_path, whole):
    y = pa.array(["a"] * (N - 1) + [None])
    pq.write_table(whole.append_column("y", y), tmp_path / "rows.parquet", row_group_size=640)
    with pytest.raises(sf.DataError, match=r"column 'y' has no class in row 239 of file .*, row group 9"):
        sf.NaiveBayes().fit(sf.scan(tmp_path), "y")
    with pytest.raises(sf.DataError, match="names no column"):
        sf.NaiveBayes().fit(sf.scan(tmp_path), "z")


# ---- text ------------------------------------------------------------------------------------------------------------
def test_a_word_in_the_last_row_makes_text_of_a_column(tmp_path):
    n = 5000
    lines = [f"{i},{i / 7:.3f},{'yes' if i % 2 else 'no'},2024-01-02" for i in range(n)] + ["?,1.5,no,2024-01-03"]
    (tmp_path / "rows.csv").write_text("count,size,kind,day\n" + "\n".join(lines) + "\n")
    files = sf.scan(tmp_path / "rows.csv")
    ((code, told),) = files.alerts
    assert code == "text"
    assert "column 'count' is text because of this cell" in told
    assert f"row {n} of file" in told
    assert "'?'" in told
    assert files.frame(n - 1, n + 1)["size"].tolist() == [round((n - 1) / 7, 3), 1.5]
    mended = sf.scan(tmp_path / "rows.csv", missing=["?"])
    assert mended.alerts == ()
    assert sf.infer(mended)["count"].why.startswith("like an identifier")
    assert sf.infer(mended)["day"].family is None


def test_whole_numbers_that_end_in_fractions_are_numbers(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n" + "\n".join(f"{i},t" for i in range(3000)) + "\n")
    (tmp_path / "b.csv").write_text("y,x\nt,0.5\nt,\nt,NA\n")
    files = sf.scan([tmp_path / "a.csv", tmp_path / "b.csv"])
    x = files.frame()["x"]
    assert x[3000] == 0.5
    assert np.isnan(x[3001:]).all()
    assert files.place(3001).startswith("row 1 of file")


def test_codes_keep_their_leading_zeros(tmp_path):
    (tmp_path / "a.csv").write_text("zip,n,size\n10115,1,0\n01067,0,007.5\n,2,01\n10115,-3,1\n")
    rows = sf.scan(tmp_path / "a.csv").frame()
    assert np.asarray(rows["zip"]).tolist() == ["10115", "01067", None, "10115"]
    assert rows["n"].tolist() == [1, 0, 2, -3]
    assert rows["size"].tolist() == [0, 7.5, 1, 1]


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_the_first_line_tells_what_stands_between_cells(tmp_path, delimiter):
    (tmp_path / "a.csv").write_text("a,b\n1,x\n2,y\n".replace(",", delimiter))
    files = sf.scan(tmp_path / "a.csv")
    assert files.names == ("a", "b")
    assert np.asarray(files.frame()["b"]).tolist() == ["x", "y"]
    assert len(sf.scan(tmp_path / "a.csv", delimiter=",").names) == 1


@pytest.mark.parametrize("name", ["rows.tsv", "rows.csv.zst"])
def test_kinds_of_text(tmp_path, whole, name):
    path = tmp_path / name
    separator = "\t" if ".tsv" in name else ","
    written_text = whole.to_pandas().to_csv(index=False, sep=separator).encode()
    with pa.output_stream(str(path), compression="detect") as stream:
        stream.write(written_text)
    assert sf.fit(mixed(), sf.scan(path)).distribution == sf.fit(mixed(), whole).distribution


def test_the_spool_is_where_it_is_said_and_is_removed(tmp_path, whole):
    written(tmp_path, whole, "csv")
    spool = tmp_path / "spool"
    spool.mkdir()
    with sf.scan(tmp_path / "rows.csv", spool=spool) as files:
        assert len(files) == N
        assert len(list(spool.iterdir())) == 1
    assert list(spool.iterdir()) == []
    files = sf.scan(tmp_path / "rows.csv", spool=spool)
    fit = sf.fit(sf.Product({"size": sf.Normal()}), files)
    del files, fit
    assert list(spool.iterdir()) == []


def test_a_full_disk_says_where(tmp_path, whole, monkeypatch):
    written(tmp_path, whole, "csv")

    def full(*_args, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    with pytest.raises(sf.DataError, match=r"spool .* does not fit into .* TMPDIR"):
        len(sf.scan(tmp_path / "rows.csv"))


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "is empty"),
        (b"a,b\n1,2\n3\n", r"row 1 .*Expected 2 columns, got 1"),
        (b"a,b\n1,2\n\xff\xfe,3,4\n", r"row 1 is 'ÿþ,3,4'. Expected 2 columns, got 3"),  # nor is it UTF-8
        (b"a,a\n1,2\n", "two columns called 'a'"),
    ],
)
def test_text_that_is_no_table(tmp_path, body, told):
    (tmp_path / "bad.csv").write_bytes(body)
    with pytest.raises(sf.DataError, match=told) as error:
        len(sf.scan(tmp_path / "bad.csv"))
    assert "bad.csv" in str(error.value)


def test_a_truncated_file_is_named(tmp_path, whole):
    packed = gzip.compress(whole.to_pandas().to_csv(index=False).encode())
    (tmp_path / "cut.csv.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(sf.DataError, match=r"cut\.csv\.gz.*[Tt]runcated"):
        len(sf.scan(tmp_path / "cut.csv.gz"))
    pq.write_table(whole, tmp_path / "cut.parquet")
    body = (tmp_path / "cut.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(body[: len(body) // 2])
    with pytest.raises(sf.DataError, match=r"cut\.parquet.*cut off"):
        len(sf.scan(tmp_path / "cut.parquet"))


# ---- which files, and what is wrong with them ------------------------------------------------------------------------
@pytest.mark.parametrize("group", [37, 640, 3000])
def test_a_damaged_row_group_is_named(tmp_path, whole, group):
    path = tmp_path / "rows.parquet"
    pq.write_table(whole, path, row_group_size=group, compression="zstd")
    bad = 1
    column = pq.ParquetFile(path).metadata.row_group(bad).column(0)
    body = bytearray(path.read_bytes())
    begin = min(filter(None, (column.dictionary_page_offset, column.data_page_offset)))
    body[begin : begin + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    path.write_bytes(bytes(body))
    with pytest.raises(sf.DataError, match=rf"rows\.parquet', row group {bad} cannot be read"):
        sf.fit(mixed(), sf.scan(path))


def test_files_with_other_columns_are_named(tmp_path, whole):
    pq.write_table(whole, tmp_path / "a.parquet")
    pq.write_table(whole.drop_columns(["visits"]), tmp_path / "b.parquet")
    with pytest.raises(sf.DataError, match=r"b\.parquet' has no column 'visits'"):
        sf.fit(mixed(), sf.scan(tmp_path))
    assert len(sf.scan(tmp_path, columns=["size"])) == 2 * N
    pq.write_table(whole.append_column("more", whole["size"]), tmp_path / "b.parquet")
    with pytest.raises(sf.DataError, match=r"a\.parquet' has no column 'more'"):
        sf.fit(mixed(), sf.scan(tmp_path))
    changed = whole.set_column(0, "size", whole["size"].cast(pa.float32()))
    pq.write_table(changed, tmp_path / "b.parquet")
    with pytest.raises(sf.DataError, match=r"column 'size' is float in file .*b\.parquet' and double in .*a\.parquet"):
        sf.fit(mixed(), sf.scan(tmp_path))


def test_columns_in_another_order_and_text_kept_otherwise_are_the_same(tmp_path, whole):
    pq.write_table(whole.slice(0, 4000), tmp_path / "a.parquet")
    other = whole.slice(4000).select(["w", "smokes", "colour", "visits", "size"])
    other = other.set_column(2, "colour", other["colour"].dictionary_encode())
    pq.write_table(other, tmp_path / "b.parquet")
    assert sf.fit(mixed(), sf.scan(tmp_path)).distribution == sf.fit(mixed(), whole).distribution


def test_files_without_rows(tmp_path, whole):
    pq.write_table(whole.slice(0, 0), tmp_path / "0.parquet")
    pq.ParquetWriter(tmp_path / "1.parquet", whole.schema).close()  # no row group at all
    with pytest.raises(sf.DataError, match="no rows"):
        sf.fit(mixed(), sf.scan(tmp_path))
    pq.write_table(whole, tmp_path / "2.parquet")
    assert sf.fit(mixed(), sf.scan(tmp_path)).distribution == sf.fit(mixed(), whole).distribution
    (tmp_path / "3.parquet").write_bytes(b"")
    with pytest.raises(sf.DataError, match=r"3\.parquet'.*it is empty"):
        len(sf.scan(tmp_path))


def test_what_matches_nothing_says_what_is_there(tmp_path):
    with pytest.raises(sf.DataError, match="there is nothing"):
        sf.scan(tmp_path)
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(sf.DataError, match=r"no file matches .*\*\.parquet.*there is 'notes\.txt'"):
        sf.scan(tmp_path / "*.parquet")
    with pytest.raises(sf.DataError, match=r"holds no Parquet or CSV file; there is 'notes\.txt'"):
        sf.scan(tmp_path)
    with pytest.raises(sf.DataError, match="no kind that is known"):
        sf.scan(tmp_path / "notes.txt")
    for name in ("sales.csv", *"abcdef"):
        (tmp_path / name).write_text("x\n1\n")
    with pytest.raises(sf.DataError, match=r"did you mean '.*sales\.csv'\?"):
        sf.scan(tmp_path / "slaes.csv")
    with pytest.raises(sf.DataError, match=r"there is 'sales\.csv', 'a', "):
        sf.scan(tmp_path / "trips.parquet")
    with pytest.raises(sf.ParameterError, match="empty"):
        sf.scan([])


def test_a_bad_value_is_named_with_its_file(tmp_path, whole):
    values = np.abs(whole["size"].to_numpy()) + 0.1
    values[4321] = -7.0
    pq.write_table(pa.table({"size": values}), tmp_path / "rows.parquet", row_group_size=640)
    where = r"row 4321 has -7.*row 481 of file .*rows\.parquet', row group 6"
    with pytest.raises(sf.DataError, match=where):
        sf.fit(sf.Exponential(), sf.scan(tmp_path))
    with pytest.raises(sf.DataError, match=where):
        sf.fit(sf.Mixture(sf.Exponential(), 2), sf.scan(tmp_path), random_state=0)
    pq.write_table(pa.table({"size": values, "w": values}), tmp_path / "rows.parquet", row_group_size=640)
    with pytest.raises(sf.DataError, match="column 'w' has -7 in row 481 of file"):
        sf.fit(sf.Normal(), sf.scan(tmp_path), weights="w")
    with pytest.raises(sf.DataError, match="names no column"):
        sf.fit(sf.Normal(), sf.scan(tmp_path), weights="v")


def test_files_that_change_after_the_fit_are_seen(tmp_path, whole):
    files = sf.scan(written(tmp_path, whole, 640))
    fit = sf.fit(sf.Mixture(mixed(), 2), files, random_state=0, max_iter=3)
    os.utime(tmp_path / "rows.parquet", ns=(1, 1))
    with pytest.raises(sf.DataError, match="changed after the fit"):
        _ = fit.standard_errors


def test_passes_tell_how_fast_they_are(tmp_path, whole):
    seen, read = [], []
    files = sf.scan(written(tmp_path, whole, 640), progress=lambda done, total: read.append((done, total)))
    sf.fit(sf.Mixture(mixed(), 2), files, random_state=0, max_iter=3, callback=seen.append)
    assert [one.rows for one in seen] == [N] * len(seen)
    assert all(one.rows_per_second == N / one.seconds for one in seen)
    assert (N, N) in read


def test_a_checkpoint_of_files_goes_on(tmp_path, whole):
    folder = tmp_path / "data"
    folder.mkdir()
    written(folder, whole, 640)

    def stop(one):
        if one.number == 5:
            raise KeyboardInterrupt

    options = {"random_state": 0, "max_iter": 12, "checkpoint": tmp_path / "fit.json"}
    sf.fit(sf.Mixture(mixed(), 2), sf.scan(folder), callback=stop, **options)
    again = sf.fit(sf.Mixture(mixed(), 2), sf.scan(folder), resume=True, **options)
    assert again == in_memory(12)


# ---- memory ----------------------------------------------------------------------------------------------------------
PEAK = """
import sys
import suffice as sf
files = sf.scan(sys.argv[1])
proto = sf.Product({("a", "b", "c", "d"): sf.Normal(), "k": sf.Poisson(), "g": sf.Categorical()})
sf.fit(sf.Mixture(proto, 3), files, random_state=0, max_iter=2)
sf.infer(files)
import pathlib, resource
status = pathlib.Path("/proc/self/status")  # of this program alone: on Linux ru_maxrss begins at that of its parent
words = status.read_text().split() if status.exists() else ()
used = resource.getrusage(resource.RUSAGE_SELF)
print(words[words.index("VmHWM:") + 1] if words else used.ru_maxrss)
"""


def test_peak_memory_does_not_grow_with_the_file(tmp_path):
    """Five times the rows, 10 and 50 MB: in memory the larger would need hundreds of MB more."""
    rng = np.random.default_rng(0)
    n = 65_000
    part = pa.table({
        **{name: rng.normal(size=n) for name in "abcd"},
        "k": rng.poisson(3, n),
        "g": pa.array(rng.choice(["u", "v", "w"], n)),
    })  # fmt: skip
    peaks = []
    for times in (5, 25):
        path = tmp_path / f"{times}.parquet"
        with pq.ParquetWriter(path, part.schema) as writer:
            for _ in range(times):
                writer.write_table(part)
        assert path.stat().st_size > times * 2e6
        environment = {**os.environ, "SUFFICE_THREADS": "2"}
        done = subprocess.run(  # noqa: S603 (this test's own words)
            [sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, check=True, env=environment
        )
        peaks.append(int(done.stdout) / 1024)
    assert peaks[1] - peaks[0] < 100
    assert peaks[1] < 600


def test_a_file_without_rows_has_answers_for_none(tmp_path):
    pq.write_table(pa.table({"a": np.zeros(0), "b": np.zeros(0)}), tmp_path / "none.parquet")
    rows = sf.scan(tmp_path / "none.parquet")
    mixture = sf.Mixture(sf.Normal([[0.0, 0.0], [5.0, 5.0]], 1.0))
    assert mixture.predict(rows).shape == mixture.log_prob(rows).shape == (0,)
    assert mixture.predict_proba(rows).shape == (0, 2)


def test_classes_of_some_rows_are_read_slice_by_slice(tmp_path, monkeypatch):
    labels = np.random.default_rng(3).choice(["a", "b", "c"], 50)
    pd.DataFrame({"x": np.arange(50.0), "y": labels}).to_parquet(tmp_path / "rows.parquet")
    monkeypatch.setattr(deferred_columns, "AT_ONCE", 7)
    codes = deferred_columns.Codes(sf.scan(tmp_path / "rows.parquet"), "y")
    kept = np.array([0, 6, 7, 20, 48, 49])
    assert [codes.levels[code] for code in codes.at(kept)] == labels[kept].tolist()
    assert [codes.levels[code] for code in codes.at(None)] == labels.tolist()
