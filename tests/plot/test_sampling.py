"""plot.sampling draws the estimates of many samples, their mean and the truth."""

from __future__ import annotations

import pytest
from matplotlib import pyplot as plt

import suffice as sf


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def test_each_number_has_a_histogram_of_its_estimates_with_mean_and_truth():
    found = sf.theory.sampling(sf.Normal(1, 2), 5, 500, random_state=0)
    for ax, name, truth in zip(sf.plot.sampling(found), ("mean", "std"), (1, 2), strict=True):
        assert ax.get_xlabel() == name
        assert sum(bar.get_height() * bar.get_width() for bar in ax.patches) == pytest.approx(1)
        true, mean = ax.lines
        assert true.get_xdata()[0] == truth
        assert mean.get_xdata()[0] == pytest.approx(found.draws[name].mean())
        assert f"{found.bias[name]:+.3g}".replace("-", "−") in ax.get_title(loc="left")


def test_estimates_on_a_lattice_have_a_bar_each():
    found = sf.theory.sampling(sf.Bernoulli(0.3), 4, 400, random_state=0)
    (ax,) = sf.plot.sampling(found)
    for bar in ax.patches:
        value = bar.get_x() + bar.get_width() / 2
        assert value * 4 == pytest.approx(round(value * 4))
        assert bar.get_height() == pytest.approx((found.draws["p"] == round(value * 4) / 4).mean())


def test_vectors_have_a_panel_for_each_entry_and_axes_can_be_given():
    found = sf.theory.sampling(sf.Categorical(list("abc"), [0.2, 0.3, 0.5]), 20, 50, random_state=0)
    given = plt.subplots(1, 3)[1]
    panels = sf.plot.sampling(found, given)
    assert [ax.get_xlabel() for ax in panels] == ["probs[0]", "probs[1]", "probs[2]"]
    assert [ax.lines[0].get_xdata()[0] for ax in panels] == pytest.approx([0.2, 0.3, 0.5])
    with pytest.raises(sf.ParameterError, match="each of the 3 numbers"):
        sf.plot.sampling(found, given[:2])
    with pytest.raises(sf.ParameterError, match=r"sf\.theory\.sampling"):
        sf.plot.sampling(found.draws)
