"""Pictures of hidden Markov models show the decoded path and the forecast."""

import numpy as np
import pytest

import suffice as sf

pytest.importorskip("matplotlib").use("Agg")

MODEL = sf.HiddenMarkov([sf.Normal(0, 1), sf.Normal(5, 1)], transitions=[[0.9, 0.1], [0.2, 0.8]])
X = MODEL.sample(60, 0)


def test_the_band_has_a_stretch_for_each_run_of_the_path():
    holes = X.copy()
    holes[10] = np.nan
    upper, lower = sf.plot.states(MODEL, holes)
    path = MODEL.decode(holes)
    assert len(upper.patches) == 1 + np.count_nonzero(np.diff(path))
    np.testing.assert_array_equal(upper.lines[0].get_ydata(), holes)
    heights = lower.collections[0].get_paths()[0].vertices[:, 1]
    assert heights.max() == pytest.approx(MODEL.smooth(holes)[:, 0].max())


def test_the_fan_has_the_quantiles_of_the_forecast():
    ax = sf.plot.forecast(MODEL, X, steps=7, level=0.8)
    median = next(line for line in ax.lines if line.get_label() == "median")
    np.testing.assert_allclose(median.get_ydata(), MODEL.forecast(X, 7).quantile(0.5))
    low, high = MODEL.forecast(X, 7).interval(0.8)
    ends = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert ends.min() == pytest.approx(low.min())
    assert ends.max() == pytest.approx(high.max())


def test_the_matrix_has_a_cell_for_each_move():
    moves = np.array([[0.9, 0.097, 0.003], [0.0, 1.0, 0.0], [0.25, 0.75, 0.0]])
    ax = sf.plot.transitions(sf.HiddenMarkov([sf.Normal(m, 1) for m in (0, 5, 9)], transitions=moves))
    np.testing.assert_array_equal(ax.images[0].get_array(), moves)
    cells = {text.get_position()[::-1]: text.get_text() for text in ax.texts}
    assert [[cells[row, column] for column in range(3)] for row in range(3)] == [
        ["0.90", "0.10", "<0.01"],
        ["0", "1", "0"],
        ["0.25", "0.75", "0"],
    ]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["state 0", "state 1", "state 2"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("next row", "this row")


def test_the_matrix_of_states_that_are_seen_has_their_names():
    fit = sf.fit(sf.MarkovChain(), ["rain", "rain", "sun", "rain", "sun", "sun"])
    ax = sf.plot.transitions(fit)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["rain", "sun"]
    np.testing.assert_array_equal(ax.images[0].get_array(), fit.distribution.transitions)


@pytest.mark.parametrize("other", [sf.Normal(0, 1), sf.MarkovChain(2)])
def test_the_matrix_of_what_has_no_transitions_is_refused(other):
    with pytest.raises(sf.ParameterError, match="transitions draws"):
        sf.plot.transitions(other)


def test_other_models_are_refused():
    with pytest.raises(sf.ParameterError, match="HiddenMarkov"):
        sf.plot.states(sf.Normal(0, 1), X)
