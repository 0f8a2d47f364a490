"""Errors carry the row, the column and the value as fields, and the place of the row in a file."""

import pickle

import numpy as np
import pandas as pd
import pytest

import suffice as sf

TABLE = pd.DataFrame({"a": [1.0, 2.0, 3.0], "row 7": [1.0, np.inf, 2.0]})


def caught(call):
    with pytest.raises(sf.SufficeError) as found:
        call()
    return found.value


MODELS = {
    "independent": sf.Normal(),
    "joint": sf.MultivariateNormal(),
    "by name": sf.Product({("a", "row 7"): sf.Normal()}),
    "by place": sf.Product([sf.Normal(), sf.Normal()]),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_row_column_and_value(model):
    error = caught(lambda: sf.fit(model, TABLE))
    assert (error.row, error.column, error.value) == (1, "row 7", np.inf)
    assert "'row 7'" in str(error)
    assert "column 1" not in str(error)


def test_without_names_the_column_is_a_place():
    error = caught(lambda: sf.fit(sf.Poisson(), [[1, 2], [3, -4]]))
    assert (error.row, error.column, error.value) == (1, 1, -4)
    assert "row 1, column 1 has -4" in str(error)


def test_a_wide_part_by_position_names_the_column_of_the_table():
    error = caught(lambda: sf.fit(sf.Product([sf.Laplace(), sf.MultivariateNormal()]), [[1.0, 1, 1], [2, 2, np.inf]]))
    assert (error.row, error.column) == (1, 2)


def test_the_place_in_a_file(tmp_path):
    TABLE.to_csv(tmp_path / "rows.csv", index=False)
    error = caught(lambda: sf.fit(sf.Normal(), sf.scan(tmp_path / "rows.csv")))
    assert (error.row, error.column) == (1, "row 7")
    assert "rows.csv" in error.place
    assert str(error).endswith(f"(That is {error.place}.)")


def test_weights_and_labels_name_the_row():
    assert caught(lambda: sf.fit(sf.Normal(), [1.0, 2.0], weights=[1.0, -1.0])).row == 1
    assert caught(lambda: sf.fit(sf.Categorical(), [["a"], ["b"], [{"c"}]])).row == 2


def test_errors_survive_pickling():
    error = caught(lambda: sf.fit(sf.Poisson(), [[1, 2], [3, -4]]))
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 (its own)
    assert (type(again), str(again), again.row, again.value) == (type(error), str(error), error.row, error.value)
