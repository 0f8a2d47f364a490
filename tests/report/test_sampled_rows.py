"""A report on files of many rows shows some of them, with the classes of these."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import suffice as sf
from suffice.errors import DataError
from suffice.report.page import Page
from suffice.tables.subsample import subsample


def test_a_report_of_a_sample_of_the_rows_takes_the_classes_of_these_rows(monkeypatch, tmp_path):
    rng = np.random.default_rng(1)
    classes = rng.choice(["a", "b"], 500)
    size = rng.normal(size=500) * 0.1 + 5 * (classes == "a")
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"size": size}), path, row_group_size=100)
    model, files = sf.NaiveBayes().fit({"size": size}, classes), sf.scan(path)
    monkeypatch.setattr(subsample, "__defaults__", (120, 0))  # rows, seed
    page = Page(model, files, 0, classes)
    assert page.view.n == 120
    np.testing.assert_array_equal(np.array(["a", "b"])[page.true], np.where(page.data["size"] > 2.5, "a", "b"))
    with pytest.raises(DataError, match="target has 120 labels for 500 rows"):
        Page(model, files, 0, classes[:120])
