"""Components that collapse on repeated values: the column is named, and selections say what they passed over."""

import numpy as np
import pytest

import suffice as sf

RNG = np.random.default_rng(4)
GRID = RNG.choice([0.0, 0.5, 1.0], 240, p=[0.8, 0.12, 0.08])  # labels that somebody takes for numbers
TABLE = {"height": RNG.normal(170, 9, 240), "grid": GRID, "amount": RNG.lognormal(1.0, 0.5, 240)}
NUMBERS = sf.Product({("height", "grid"): sf.Normal(), "amount": sf.LogNormal()})


def test_the_alert_names_the_column_and_points_to_the_prior():
    fit = sf.fit(sf.Mixture(NUMBERS, 3), TABLE, random_state=0)
    texts = [text for code, text in fit.alerts if code == "collapsed"]
    assert texts
    for text in texts:
        assert "the floor under its spread in column 'grid':" in text
        assert "prior='weak'" in text
        assert "'height'" not in text


def test_columns_of_an_array_are_named_by_place():
    x = np.column_stack([TABLE["height"], GRID])
    fit = sf.fit(sf.Mixture(sf.Normal(), 3), x, random_state=0)
    (text, *_) = [text for code, text in fit.alerts if code == "collapsed"]
    assert "in column 1:" in text


def test_a_selection_says_that_better_candidates_collapsed_and_where():
    found = sf.select(NUMBERS, TABLE, n_components=range(1, 4), random_state=0)
    assert found.best.distribution.n == 1
    told = dict(found.best.alerts)["spurious"]
    assert told == dict(found.alerts)["spurious"]
    assert told.startswith("2 of 3 candidates have a better BIC and were passed over: they have components that ")
    assert "collapsed in column 'grid'" in told
    assert "prior='weak'" in told


@pytest.mark.parametrize("family", [sf.Categorical(), sf.Hurdle(sf.Normal())], ids=repr)
def test_nothing_is_reported_where_nothing_better_collapsed(family):
    table = {
        "height": TABLE["height"],
        "grid": GRID if isinstance(family, sf.Categorical) else GRID * RNG.lognormal(0, 0.5, 240),
    }
    found = sf.select(sf.Product({"height": sf.Normal(), "grid": family}), table, n_components=[1, 2], random_state=0)
    assert "spurious" not in dict(found.best.alerts)


def test_rows_are_ranked_by_their_strangest_cell():
    """One cell of a row contradicts the others; a row of many slightly unusual cells is less strange."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 400)
    x = rng.normal(6.0 * group[:, None], 1.0, (400, 12))
    x[7, 3] = 6.0 * (1 - group[7])
    x[11] = 6.0 * group[11] + 1.7
    found = sf.fit(sf.Mixture(sf.Normal(), 2), x, random_state=0).surprisal(x)
    assert found.strangest(1) == [(7, 3)]
    assert found.worst[7] > found.worst[11]
    np.testing.assert_allclose(found.worst, np.nanmax(found.matrix - found.usual, axis=1))


def test_rows_without_cells_come_last_and_impossible_ones_first():
    model = sf.Product({"a": sf.Uniform(0, 1), "b": sf.Normal(0, 1)})
    found = model.surprisal({"a": [0.5, np.nan, 2.0], "b": [9.0, np.nan, 0.0]})
    assert [row for row, _ in found.strangest(3)] == [2, 0, 1]
    assert np.isneginf(found.worst[1])
