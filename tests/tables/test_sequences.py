"""Reading sequences: lists, lengths, keys and orders; what is wrong is named."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

import suffice as sf

MODEL = sf.HiddenMarkov([sf.Normal(0, 1), sf.Normal(5, 1)], transitions=[[0.9, 0.1], [0.2, 0.8]])
X = np.array([0.1, 5.2, 4.9, 0.3, -0.2, 5.5])
TABLE = {"who": ["b", "a", "b", "a", "b", "a"], "t": [2, 1, 1, 3, 3, 2], "x": X}


def test_all_ways_of_giving_sequences_agree():
    parts = [X[:2], X[2:]]
    found = [
        sf.sequences(parts),
        sf.sequences([part.tolist() for part in parts]),
        sf.sequences(X, lengths=[2, 4]),
        sf.sequences({"k": [7, 7, 3, 3, 3, 3], "x": X}, by="k"),
        sf.sequences([pd.Series(part) for part in parts]),
    ]
    expected = [MODEL.log_prob(part) for part in parts]
    for one in found:
        assert_array_equal(one.lengths, [2, 4])
        np.testing.assert_allclose(MODEL.log_prob(one), expected, rtol=1e-13)


@pytest.mark.parametrize("library", [dict, pd.DataFrame, pl.DataFrame])
def test_rows_are_sorted_within_their_sequence_and_answers_come_back_in_the_order_of_the_table(library):
    data = sf.sequences(library(TABLE), by="who", order="t")
    assert data.keys == ("b", "a")
    assert data.names == ("x",)
    assert_array_equal(np.asarray(data.rows["x"]), [4.9, 0.1, -0.2, 5.2, 5.5, 0.3])
    assert_array_equal(MODEL.decode(data)[[2, 0, 4]], MODEL.decode([4.9, 0.1, -0.2]))
    assert_array_equal(MODEL.decode(data)[[1, 5, 3]], MODEL.decode([5.2, 5.5, 0.3]))


def test_slices_and_choices_keep_sequences_whole():
    data = MODEL.read(sf.sequences([[1.0], [2.0, 3.0], [4.0, 5.0, 6.0]]))
    assert_array_equal(data[1:].rows[:, 0], [2, 3, 4, 5, 6])
    assert_array_equal(data[[2, 0]].rows[:, 0], [4, 5, 6, 1])
    assert_array_equal(data[[2, 0]].ends, [0, 3, 4])
    assert_array_equal(np.concatenate([data[part].rows for part in data.groups(2)])[:, 0], [1, 2, 3, 4, 5, 6])
    assert data.place(3) == (2, 0)


def test_steps_of_different_length_are_told_of():
    table = {"t": [1, 2, 3, 7, 8], "x": X[:5]}
    fit = sf.fit(sf.HiddenMarkov(sf.Normal(), 1), sf.sequences(table, order="t"))
    (alert,) = [one for one in fit.alerts if one.code == "irregular"]
    assert "row 3" in alert.text
    assert "'t'" in alert.text
    even = sf.fit(sf.HiddenMarkov(sf.Normal(), 1), sf.sequences({**table, "t": [1, 2, 3, 4, 5]}, order="t"))
    assert not [one for one in even.alerts if one.code == "irregular"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sf.sequences([[1.0], []]), "sequence 1 has no rows"),
        (lambda: sf.sequences(X, lengths=[2, 3]), "add up to 5, but there are 6 rows"),
        (lambda: sf.sequences(X, lengths=[6, 0]), "sequence 1 has no rows"),
        (lambda: sf.sequences(TABLE, by="whom"), "Did you mean 'who'"),
        (lambda: sf.sequences({**TABLE, "who": ["a", None, "a", "a", "a", "a"]}, by="who"), "row 1 is missing"),
        (
            lambda: sf.sequences({**TABLE, "t": [1, 1, 1, 2, 3, 4]}, by="who", order="t"),
            "row 2 and row 0 of sequence 'b'",
        ),
        (lambda: sf.sequences({**TABLE, "t": list("abcdef")}, by="who", order="t"), "numbers or times"),
        (lambda: sf.sequences([{"x": [1.0]}, {"y": [1.0]}]), "sequence 1 has other columns"),
        (lambda: sf.sequences([np.ones((2, 2)), np.ones((2, 3))]), "sequence 1 has rows of shape"),
        (lambda: sf.sequences([X, X], states=[0] * 5), "states= has 5 entries"),
        (lambda: sf.sequences([X], states=[0, 1, 0, "x", 0, 0]), "row 3 has the state 'x'"),
        (lambda: sf.sequences(X), "list of sequences"),
    ],
)
def test_what_is_wrong_is_named(make, message):
    with pytest.raises(sf.SufficeError, match=message):
        make()
