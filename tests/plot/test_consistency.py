"""plot.consistency draws the columns of the table, and a slope to compare them with."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot as plt

import suffice as sf

SIZES = [10, 40, 160, 640]


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def table():
    return sf.theory.consistency(sf.Normal(0, 1), sizes=SIZES, repeats=200, epsilon=0.2, random_state=0)


def test_both_panels_show_the_table(table):
    left, right = sf.plot.consistency(table)
    for ax, columns in ((left, ("exceeds", "uniform")), (right, ("mean_error", "mean_gap"))):
        for line, column in zip(ax.lines, columns, strict=False):
            np.testing.assert_allclose(line.get_xdata(), SIZES)
            np.testing.assert_allclose(line.get_ydata(), table[column])
    assert "P(‖θ̂ − θ₀‖ > 0.2)" in left.get_legend_handles_labels()[1]
    assert "200 samples" in left.get_title(loc="left")
    assert "θ₀ maximises" in right.get_title(loc="left")


def test_bands_are_standard_errors_of_a_proportion(table):
    left, _ = sf.plot.consistency(table)
    y = table["exceeds"]
    heights = left.collections[0].get_paths()[0].vertices[:, 1]
    np.testing.assert_allclose(heights.max(), (y + np.sqrt(y * (1 - y) / 200)).max(), rtol=1e-12)


def test_the_grey_line_falls_with_the_root_of_the_rows(table):
    _, right = sf.plot.consistency(table)
    grey = right.lines[-1]
    np.testing.assert_allclose(grey.get_ydata()[0] / grey.get_ydata()[-1], np.sqrt(SIZES[-1] / SIZES[0]))
    assert (grey.get_ydata() > table["mean_error"]).all()
    assert right.get_yscale() == "log"


def test_without_a_grid_the_supremum_is_left_out_and_axes_can_be_given():
    bare = sf.theory.consistency(sf.Normal(0, 1), sizes=[10, 40], repeats=20, random_state=0, grid=[])
    pair = plt.subplots(1, 2)[1]
    left, right = sf.plot.consistency(bare, pair)
    assert (left, right) == tuple(pair)
    assert len(left.lines) == 1
    assert "no supremum" in right.get_title(loc="left")


def test_other_tables_are_refused():
    with pytest.raises(sf.ParameterError, match=r"sf\.theory\.consistency"):
        sf.plot.consistency({"size": [1]})
