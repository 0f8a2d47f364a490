"""Files as people have them: other signs and encodings, nested columns, damage, and changes while they are read."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import suffice as sf
from suffice.engines import local
from suffice.tables import csv, parquet, streams

N = 6000


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Cuts as of large files in small ones: many slices, partitions that end inside them, long row groups."""
    monkeypatch.setattr(local, "SLICE_CELLS", 1 << 12)
    monkeypatch.setattr(streams, "FEW", 1 << 10)
    monkeypatch.setattr(parquet, "CELLS", 1 << 11)
    monkeypatch.setattr(parquet, "SHORTEST", 100)
    monkeypatch.setattr(csv, "BLOCK", 1 << 14)


def table(seed=0):
    rng = np.random.default_rng(seed)
    size = np.where(rng.random(N) < 0.4, rng.normal(1.5, 1.0, N), rng.normal(0.0, 1.0, N))
    colour = rng.choice(["red", "blue", "green"], N)
    return pa.table({"size": size, "colour": colour, "w": rng.integers(0, 3, N), "v": np.arange(N) % 4})


def mixed():
    return sf.Product({"size": sf.Normal(), "colour": sf.Categorical()})


@pytest.fixture
def whole():
    return table()


def written(folder, whole, group):
    pq.write_table(whole, folder / "rows.parquet", row_group_size=group)
    return folder


def cells_of(path, **options):
    files = sf.scan(path, **options)
    frame = files.frame()
    return {name: np.asarray(frame[name]).tolist() for name in files.names}, [text for _, text in files.alerts]


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_what_stands_between_cells_is_seen_in_the_first_line(tmp_path, sign, ends, mark):
    lines = [["a", '"b, c;|"'], ["1", "x"], ["2", "y"]]
    (tmp_path / "rows.csv").write_bytes(mark + ends.join(sign.join(line) for line in lines).encode())
    assert cells_of(tmp_path / "rows.csv") == ({"a": [1, 2], "b, c;|": ["x", "y"]}, [])


def test_a_given_delimiter_is_taken_and_checked(tmp_path):
    (tmp_path / "rows.csv").write_text("a,x#b\n1#2\n")
    assert cells_of(tmp_path / "rows.csv", delimiter="#")[0] == {"a,x": [1], "b": [2]}
    for odd in ("##", "", 3):
        with pytest.raises(sf.ParameterError, match="one sign"):
            len(sf.scan(tmp_path / "rows.csv", delimiter=odd))


def test_numbers_with_a_comma_are_reported(tmp_path):
    (tmp_path / "rows.csv").write_text("a;b\n1,5;x\n-2,25;y\n;z\n")
    found, told = cells_of(tmp_path / "rows.csv")
    assert found["a"] == ["1,5", "-2,25", None]
    assert len(told) == 1
    assert "column 'a' is text, and its cells look like numbers with a comma" in told[0]


@pytest.mark.parametrize(
    "body",
    ["café,b\n1,2\n".encode("latin1"), "a,b\ncafé,2\n".encode("latin1"), "a,b\n1,2\n".encode("utf-16")],
)
def test_text_that_is_not_utf8_is_reported(tmp_path, body):
    (tmp_path / "rows.csv").write_bytes(body)
    with pytest.raises(sf.DataError, match=r"rows\.csv'.*not in UTF-8.*iconv"):
        len(sf.scan(tmp_path / "rows.csv"))


def test_a_name_without_end_is_refused(tmp_path):
    (tmp_path / "rows.csv").write_text("x" * 200_000 + ",b\n1,2\n")
    with pytest.raises(sf.DataError, match=r"rows\.csv"):
        len(sf.scan(tmp_path / "rows.csv"))


@pytest.mark.parametrize("body", ["a,b", "a,b\n", "a,b\r\n"])
def test_names_alone_are_a_table_without_rows(tmp_path, body):
    (tmp_path / "rows.csv").write_bytes(body.encode())
    files = sf.scan(tmp_path / "rows.csv")
    assert (files.names, len(files)) == (("a", "b"), 0)


@pytest.mark.parametrize("before", [1, 20_000])
def test_the_kind_of_a_column_does_not_depend_on_where_blocks_end(tmp_path, before):
    (tmp_path / "rows.csv").write_text("a,b\n" + "1,7\n0,7\n" * before + "true,true\n")
    found, _ = cells_of(tmp_path / "rows.csv")
    assert set(found["a"]) == {True, False}
    assert set(map(type, found["a"])) == {bool}
    assert set(found["b"]) == {"7", "true"}


@pytest.mark.parametrize("changed", ["a,b\nx,\n2,\n", "a,b\n1,3\n2,\n"])
def test_text_that_changes_between_its_passes_is_reported(tmp_path, monkeypatch, changed):
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,\n2,\n")
    look = csv.Text.look

    def and_change(self):
        look(self)
        path.write_text(changed)

    monkeypatch.setattr(csv.Text, "look", and_change)
    with pytest.raises(sf.DataError, match="has changed while it was read"):
        len(sf.scan(path))


@pytest.mark.parametrize("group", [37, N])
@pytest.mark.parametrize("how", ["replaced", "rewritten", "shortened", "gone"])
def test_a_file_that_changes_between_passes_is_reported(tmp_path, whole, monkeypatch, group, how):
    path = written(tmp_path, whole, group) / "rows.parquet"
    monkeypatch.setattr(parquet, "KEPT", 1 << 10)  # as of a file larger than what is kept

    def change(one):
        if one.number != 2:
            return
        if how == "replaced":
            pq.write_table(table(seed=1), tmp_path / "new", row_group_size=group)
            (tmp_path / "new").replace(path)
        elif how == "rewritten":
            pq.write_table(table(seed=1), path, row_group_size=group)
        elif how == "shortened":
            os.truncate(path, 2000)
        else:
            path.unlink()

    with pytest.raises(sf.DataError, match=r"rows\.parquet' (has changed since it was opened|is no longer there)"):
        sf.fit(sf.Mixture(mixed(), 2), sf.scan(path), random_state=0, callback=change)


def test_a_file_that_changed_while_it_was_kept_has_no_standard_errors(tmp_path, whole):
    path = written(tmp_path, whole, 640) / "rows.parquet"
    fit = sf.fit(
        *(sf.Mixture(mixed(), 2), sf.scan(path)),
        random_state=0,
        max_iter=3,
        callback=lambda _: os.utime(path, ns=(1, 1)),
    )
    with pytest.raises(sf.DataError, match="changed after the fit"):
        _ = fit.standard_errors


def test_page_checksums_are_verified(tmp_path, whole):
    path = tmp_path / "rows.parquet"
    options = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    pq.write_table(whole, path, row_group_size=640, **options)
    column = pq.ParquetFile(path).metadata.row_group(2).column(0)
    body = bytearray(path.read_bytes())
    body[column.data_page_offset + column.total_compressed_size // 2] ^= 1
    path.write_bytes(bytes(body))
    with pytest.raises(sf.DataError, match=r"rows\.parquet', row group 2 cannot be read"):
        sf.fit(mixed(), sf.scan(path))


def test_nested_columns_are_left_out(tmp_path):
    rng = np.random.default_rng(0)
    nested = {
        "pair": pa.array([{"x": 1, "y": "a"}] * N),
        "ragged": pa.array([[1] * (1 + i % 3) for i in range(N)]),
        "map": pa.array([[("a", 1)]] * N, pa.map_(pa.string(), pa.int64())),
    }
    whole = pa.table({"size": rng.normal(size=N), **nested})
    pq.write_table(whole, tmp_path / "rows.parquet", row_group_size=640)
    schema = sf.infer(sf.scan(tmp_path))
    assert list(schema.blocks) == ["size"]
    assert schema.left_out["pair"] == sf.infer(whole).left_out["pair"] == "no labels: it holds dict"
    assert set(schema.left_out) == set(nested)


@pytest.mark.parametrize("weights", [None, "v", "array"])
def test_a_checkpoint_of_files_with_other_weights_is_refused(tmp_path, whole, weights):
    path = written(tmp_path, whole, 640) / "rows.parquet"

    def stop(one):
        if one.number == 3:
            raise KeyboardInterrupt

    options = {"random_state": 0, "checkpoint": tmp_path / "fit.json"}
    sf.fit(sf.Mixture(mixed(), 2), sf.scan(path), weights="w", callback=stop, **options)
    other = np.arange(N) % 3 if weights == "array" else weights
    with pytest.raises(sf.ParameterError, match="differs in data"):
        sf.fit(sf.Mixture(mixed(), 2), sf.scan(path), weights=other, resume=True, **options)


def test_a_folder_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    def closed(*_args, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.is_dir", closed)
    with pytest.raises(sf.DataError, match=r"rows\.csv' cannot be read: Permission denied"):
        sf.scan(tmp_path / "rows.csv")
