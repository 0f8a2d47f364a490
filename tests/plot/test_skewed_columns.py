"""Pictures of skewed columns, and the scales of the panels of one row of pairs."""

import numpy as np
import pytest

import suffice as sf

pytest.importorskip("matplotlib")
rng = np.random.default_rng(0)
N = 200
TABLE = {
    "money": np.exp(rng.normal(0.0, 2.5, N)),
    "size": rng.normal(size=N),
    "weight": 50 + 10 * rng.normal(size=N),
    "net": rng.standard_t(1.0, N),
}
MODEL = sf.Product({"money": sf.LogNormal(), "size": sf.Normal(), "weight": sf.Normal(), "net": sf.StudentT()})


@pytest.fixture(scope="module")
def fit():
    return sf.fit(MODEL, TABLE)


def bars(ax):
    """The heights of the histogram times their widths on the axis as it is drawn: shares of the rows."""
    (steps,) = [one for one in ax.patches if type(one).__name__ == "StepPatch"]
    values, edges, _ = steps.get_data()
    return values * np.diff(np.log(edges) if ax.get_xscale() == "log" else edges)


def test_a_skewed_column_is_not_drawn_as_one_bar(fit):
    for name in ("money", "net"):
        (ax,) = sf.plot.fitted(fit, columns=[name])
        shares = bars(ax)
        assert shares.sum() == pytest.approx(1.0)
        assert shares.max() < 0.4, name


def test_positive_numbers_have_a_logarithmic_axis_and_their_density_one_unit_of_mass(fit):
    (ax,) = sf.plot.fitted(fit, columns=["money"])
    assert ax.get_xscale() == "log"
    (curve,) = [line for line in ax.lines if line.get_label() == "fitted"]
    x, y = curve.get_data()
    assert np.trapezoid(y, np.log(x)) == pytest.approx(1.0, abs=0.02)


def test_rows_beyond_a_clipped_axis_are_counted(fit):
    (ax,) = sf.plot.fitted(fit, columns=["net"])
    assert [text.get_text() for text in ax.texts] == ["10 rows beyond"]


def test_other_columns_are_drawn_as_before(fit):
    (ax,) = sf.plot.fitted(fit, columns=["size"])
    assert ax.get_xscale() == "linear"
    assert not ax.texts


def test_panels_of_one_row_and_one_column_of_pairs_share_their_scales(fit):
    grid = sf.plot.pairs(fit, columns=["size", "weight", "money", "net"])
    for row in range(1, 4):
        beside = [grid[row, column] for column in range(row)]
        below = [grid[down, row] for down in range(row, 4)]
        ranges = {one.get_ylim() for one in beside} | {one.get_xlim() for one in below}
        assert len(ranges) == 1, row
        assert len({one.get_yscale() for one in beside} | {one.get_xscale() for one in below}) == 1
