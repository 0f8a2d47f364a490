"""The report of a hidden Markov model: its states, their transitions, and a sequence with its decoded band."""

import re

import numpy as np
import pytest

import suffice as sf
from suffice.report import states

TRUTH = sf.HiddenMarkov([sf.Normal(0, 1), sf.Normal(5, 1)], transitions=[[0.9, 0.1], [0.2, 0.8]])


@pytest.fixture(scope="module")
def table():
    """Three sequences of different length in no order, of a number and a label, with holes."""
    rng = np.random.default_rng(0)
    columns = {"who": [], "day": [], "size": [], "kind": []}
    for who, length in (("a", 30), ("b", 50), ("c", 40)):
        x, path = TRUTH.sample_with_states(length, rng)
        columns["who"] += [who] * length
        columns["day"] += range(length)
        columns["size"] += np.where(rng.random(length) < 0.1, np.nan, x).tolist()
        columns["kind"] += [("calm", "upset", "odd")[state if rng.random() < 0.9 else 2] for state in path]
    order = rng.permutation(120)
    return {name: np.array(values)[order] for name, values in columns.items()}


@pytest.fixture(scope="module")
def sequences(table):
    return sf.sequences(table, by="who", order="day")


@pytest.fixture(scope="module")
def chosen(table, sequences):
    schema = sf.infer(table, who=None, day=None)
    return sf.select(sf.HiddenMarkov(schema, 1), sequences, n_components=[1, 2], random_state=0)


def words_of(page):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page))


def test_it_says_what_it_is(chosen, sequences):
    page = sf.report.render(chosen, sequences)
    text = words_of(page)
    assert "A report on a hidden Markov model of 2 states over 2 columns" in text
    assert "Hidden Markov model of 2 Product states by maximum likelihood, 120 rows × 2 columns" in text
    assert "States over time" in text
    assert "sequence 'b', the longest of 3; column size" in text.replace("&#39;", "'")
    assert ">States</h2>" in page
    assert ">Components</h2>" not in page
    assert page == sf.report.render(chosen, sequences)


def test_the_pictures_are_the_transitions_and_the_decoded_band(chosen, sequences):
    page = sf.report.render(chosen, sequences)
    section = page[page.index('<section id="time">') : page.index('<section id="fitted">')]
    assert section.count("<svg") == 2
    drawn = words_of(section)
    for p in chosen.best.distribution.transitions.ravel():
        assert f"{p:.2f}" in drawn
    assert "this row" in drawn
    assert "P(state)" in drawn


def test_rows_have_the_states_that_their_sequence_tells(chosen, sequences, table):
    view = states.view_of(chosen.best, sequences)
    np.testing.assert_array_equal(view.responsibilities, chosen.best.smooth(sequences))
    size = next(column for column in view.columns if column.name == "size")
    np.testing.assert_array_equal(size.cells, table["size"])  # in the order of the table
    some = view.at(np.array([5, 2]))
    np.testing.assert_array_equal(some.responsibilities, view.responsibilities[[5, 2]])


def test_arrays_labels_alone_and_one_state():
    x = TRUTH.sample(80, 1)
    fit = sf.fit(sf.HiddenMarkov(sf.Normal(), 2), x, random_state=0)
    assert "States over time" in sf.report.render(fit, x)
    assert "The series" not in sf.report.render(fit, None)  # the fit has the rows, not as they were given
    one = sf.fit(sf.HiddenMarkov(sf.Normal(), 1), x, random_state=0)
    assert f"mean {one.distribution.parts[0].mean:.5g} " in words_of(sf.report.render(one, x))
    weather = np.where(x > 2.5, "rain", "sun")
    labels = sf.fit(sf.HiddenMarkov(sf.Categorical(), 2), weather, random_state=0)
    page = sf.report.render(labels, weather)
    assert "States over time" in page
    assert "The series" not in page
