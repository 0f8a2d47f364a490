"""Columns of many levels, of a unit, with weights or holes, in pictures and reports."""

import re

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import suffice as sf
from suffice.plot.curves import bins
from suffice.plot.model_view import ModelView

RNG = np.random.default_rng(0)
N = 600
WHO = RNG.integers(0, 2, N)
MANY = {
    "zip": np.array([f"z{i}" for i in RNG.integers(0, 400, N)], dtype=object),
    "temp": (36.6 + 0.4 * RNG.normal(size=N) + 2 * WHO).round(1),
    "kind": RNG.choice(["a", "b", "c"], N),
}


@pytest.fixture(scope="module")
def fit():
    return sf.fit(sf.Mixture(sf.infer(MANY, zip=sf.Categorical()), 2), MANY, prior="weak", random_state=0, max_iter=10)


def test_pooled_levels_have_the_probabilities_of_all(fit):
    column = ModelView.of(fit, MANY).chosen("zip")[0]
    pooled = column.pooled(8)
    assert len(pooled.levels) == 8
    assert pooled.levels[-1] == f"{len(column.levels) - 7:,} others"
    np.testing.assert_allclose(pooled.probabilities.sum(axis=1), column.probabilities.sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(pooled.observed.sum(), 1.0, rtol=1e-12)
    for i, level in enumerate(pooled.levels[:-1]):
        np.testing.assert_array_equal(pooled.cells == i, column.cells == column.levels.index(level))


def test_a_report_of_many_levels_stays_small_and_says_what_is_like_an_identifier(fit):
    text = sf.report.render(fit, MANY)
    assert len(text) < 600_000
    assert "like an identifier" in text
    figures = re.findall(r'<svg.*?aria-label="([^"]*)".*?</svg>', text, re.DOTALL)
    assert any("pairs" in name for name in figures)


@pytest.mark.parametrize("unit", [1.0, 0.5, 0.1, 0.01])
@pytest.mark.parametrize("spread", [0.4, 3.0, 40.0])
def test_bars_are_as_high_as_the_density_whatever_the_unit(unit, spread):
    cells = np.round(np.random.default_rng(1).normal(36.6, spread, 5000) / unit) * unit
    edges = bins(cells)
    shares, _ = np.histogram(cells, edges)
    assert shares.sum() == len(cells)
    if unit <= spread:
        heights = shares / len(cells) / np.diff(edges)
        middles = (edges[1:] + edges[:-1]) / 2
        density = np.exp(-0.5 * ((middles - 36.6) / spread) ** 2) / (spread * np.sqrt(2 * np.pi))
        bulk = density > 0.3 * density.max()
        assert np.abs(heights / density - 1)[bulk].max() < 0.6  # a comb has bars of 0 and of three times the density


def test_pictures_say_what_they_leave_out():
    mpl.use("Agg")
    data = {f"x{j}": RNG.normal(size=60) + 3 * (np.arange(60) % 2) for j in range(14)}
    data |= {f"k{j}": RNG.choice(list("abcdefgh"), 60) for j in range(8)}
    fit = sf.fit(sf.Mixture(sf.infer(data), 2), data, prior="weak", random_state=0, max_iter=5)
    drawn = sf.plot.fitted(fit)[0].figure
    assert drawn.get_supxlabel() == "left out: 10 columns that tell less"
    told = sf.plot.profile(fit)[0].figure.get_supxlabel()
    assert re.match(r"left out: 3 columns that tell less and \d+ rarer levels", told)


def test_one_component_has_standard_errors_by_column():
    data = {"b": RNG.normal(5, 1, 50), "a": RNG.poisson(3, 50), "c": RNG.normal(0, 2, 50)}
    fit = sf.fit(sf.Mixture(sf.infer(data), 1), data, random_state=0)
    text = sf.report.render(fit, data)
    table = re.search(r'aria-label="Table of parameters".*?</table>', text, re.DOTALL)[0]
    names = re.findall(r"<td[^>]*>([abc]: [a-z]+)", table) or re.findall(r">\s*([abc]: [a-z]+)\s*<", table)
    assert names == ["b: mean", "b: std", "a: rate", "c: mean", "c: std"]
    assert "None" not in table
    assert table.count("…") == 5


def test_weights_do_not_multiply_missing_cells():
    data = pd.DataFrame({"a": [1.0, None, 3.0, 4.0], "b": ["x", "y", None, "x"], "c": [True, False, True, None]})
    data = pd.concat([data] * 5, ignore_index=True)
    for proto in (sf.infer(data), sf.Mixture(sf.infer(data), 2)):
        for weights in (None, np.full(20, 100.0), np.linspace(0.1, 3, 20)):
            assert sf.fit(proto, data, weights=weights, prior="weak", random_state=0, max_iter=3).missing == 15
    some = np.r_[np.zeros(4), np.ones(16)]
    assert sf.fit(sf.infer(data), data, weights=some).missing == 12  # rows of weight 0 are none


def test_alerts_name_the_column_rather_than_the_block():
    data = {"a": ["x", "y"], "b": ["x", "x"], "c": ["u", "v"]}
    levels = [["x", "y"], ["x", "y"], ["u", "v"]]
    ((code, text),) = sf.fit(sf.Product({("a", "b", "c"): sf.Categorical(levels)}), data).alerts
    assert code == "boundary"
    assert text.startswith("level 'y' in column 'b' got probability 0")


def test_rows_are_ranked_by_what_exceeds_the_expectation_of_their_cells():
    rng = np.random.default_rng(2)
    cov = 0.6 * np.ones((4, 4)) + 0.4 * np.eye(4)
    model = sf.MultivariateNormal(np.zeros(4), cov)
    rows = model.sample(400, random_state=1)
    rows[rng.random(rows.shape) < 0.4] = np.nan
    rows = rows[~np.isnan(rows).all(axis=1)]
    found = model.surprisal(rows)
    count = (~np.isnan(rows)).sum(axis=1)
    assert np.corrcoef(found.rows, count)[0, 1] > 0.5
    assert abs(np.corrcoef(found.excess, count)[0, 1]) < 0.15
    for row in range(20):  # it is the entropy of the cells that are there
        there = np.flatnonzero(~np.isnan(rows[row])).tolist()
        assert found.expected[row] == pytest.approx(model.marginal(*there).entropy(), abs=0.25)
    strange = np.full((1, 4), np.nan)
    strange[0, 0] = 5.0
    order = model.surprisal(np.vstack([rows, strange])).strangest(1)
    assert order[0][0] == len(rows)


def test_what_is_printed_of_strange_rows_has_no_hidden_marks():
    data = {"a\u202eb": ["x", "y\u2066", "x", "x"], "n": [1.0, 2.0, 3.0, 4.0]}
    fit = sf.fit(sf.Product({"a\u202eb": sf.Categorical(), "n": sf.Normal()}), data)
    text = str(fit.surprisal(data))
    assert "\u202e" not in text
    assert "\u2066" not in text
    assert "\\u202e" in text
