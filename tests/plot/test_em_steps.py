"""plot.em_steps shows the parameters, responsibilities and log-likelihoods of EM, step by step."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from scipy import stats

import suffice as sf

RNG = np.random.default_rng(7)
ONE = np.concatenate([RNG.normal(4, 0.8, 90), RNG.normal(8, 2, 210)])
TWO = np.concatenate([RNG.normal(0, 1, (60, 2)), RNG.normal([6, 3], [1, 0.5], (80, 2))])
START = sf.Mixture([sf.Normal(3, 1), sf.Normal(6, 3)], weights=[0.5, 0.5])


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def em_by_hand(x, steps):
    """Weights, means and stds after so many steps from START, and the responsibilities under them, from formulas."""
    w, mean, std = np.array([0.5, 0.5]), np.array([3.0, 6.0]), np.array([1.0, 3.0])
    for _ in range(steps):
        joint = w * stats.norm.pdf(x[:, None], mean, std)
        q = joint / joint.sum(axis=1, keepdims=True)
        w, mean = q.mean(axis=0), (q * x[:, None]).sum(axis=0) / q.sum(axis=0)
        std = np.sqrt((q * (x[:, None] - mean) ** 2).sum(axis=0) / q.sum(axis=0))
    joint = w * stats.norm.pdf(x[:, None], mean, std)
    return w, mean, std, joint / joint.sum(axis=1, keepdims=True), np.log(joint.sum(axis=1)).sum()


def test_curves_colours_and_titles_are_those_of_em():
    panels = sf.plot.em_steps(START, ONE, steps=(0, 1, 4))
    for ax, steps in zip(panels, (0, 1, 4), strict=True):
        w, mean, std, q, height = em_by_hand(ONE, steps)
        total, first, second = ax.lines[:3]
        for j, line in enumerate((first, second)):
            x, y = line.get_data()
            np.testing.assert_allclose(y, w[j] * stats.norm.pdf(x, mean[j], std[j]), rtol=1e-7, atol=1e-12)
        np.testing.assert_allclose(total.get_ydata(), first.get_ydata() + second.get_ydata(), rtol=1e-12)
        points = ax.collections[-1]
        np.testing.assert_allclose(points.get_offsets()[:, 0], ONE)
        assert (points.get_offsets()[:, 1] < 0).all()  # below the densities
        blend = q @ np.array([to_rgb(first.get_color()), to_rgb(second.get_color())])
        np.testing.assert_allclose(points.get_facecolors()[:, :3], blend, atol=1e-6)
        words = f"{height:,.1f}".replace("-", "−")
        assert ax.get_title(loc="left") == ("start" if steps == 0 else f"step {steps}") + f": log L {words}"


def test_all_panels_have_the_same_axes_and_titles_do_not_collide():
    panels = sf.plot.em_steps(START, ONE)
    assert len(panels) == 6
    assert len({(ax.get_xlim(), ax.get_ylim()) for ax in panels}) == 1
    figure = panels[0].figure
    figure.canvas.draw()
    boxes = [ax._left_title.get_window_extent() for ax in panels]
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])
    assert not any(ax.get_window_extent().overlaps(box) for ax in panels for box in boxes)


def test_two_columns_have_the_ellipses_of_their_covariances():
    start = sf.Mixture([sf.MultivariateNormal([1, 1], np.eye(2)), sf.MultivariateNormal([4, 2], np.eye(2))])
    panels = sf.plot.em_steps(start, TWO, steps=(0, 3))
    model = start
    for _ in range(3):
        model = model.em_step(TWO)
    for j, part in enumerate(model.parts):
        outline = np.stack(panels[1].lines[3 * j].get_data(), axis=1) - part.mean
        away = np.einsum("ni,ij,nj->n", outline, np.linalg.inv(part.cov), outline)
        np.testing.assert_allclose(away, 1.0, rtol=1e-8)
    assert len(panels[1].collections[0].get_offsets()) == len(TWO)
    assert panels[0].get_xlim() == panels[1].get_xlim()


def test_a_fit_is_begun_anew_and_ends_in_its_own_order():
    fit = sf.fit(sf.Mixture(sf.Normal(), 2), ONE, random_state=0)
    panels = sf.plot.em_steps(fit, steps=(0, 200), random_state=3)
    heights = [float(ax.get_title(loc="left").split("log L ")[1].replace(",", "").replace("−", "-")) for ax in panels]
    assert heights[0] < heights[1] - 5
    assert heights[1] == pytest.approx(fit.log_likelihood, abs=0.06)
    peaks = [line.get_xdata()[line.get_ydata().argmax()] for line in panels[1].lines[1:3]]
    np.testing.assert_allclose(peaks, fit.params["mean"], atol=0.1)


def test_equal_components_are_moved_apart_and_rows_weigh():
    weights = np.where(np.arange(len(ONE)) < 90, 1.0, 3.0)
    fit = sf.fit(sf.Mixture(sf.Normal(), 2), ONE, weights=weights, random_state=0)
    panel = sf.plot.em_steps(fit, steps=(300,))[0]
    height = float(panel.get_title(loc="left").split("log L ")[1].replace(",", "").replace("−", "-"))
    assert height == pytest.approx(fit.log_likelihood, abs=0.06)
    first, second = sf.plot.em_steps(sf.Mixture([sf.Normal(0, 1), sf.Normal(0, 1)]), ONE, steps=(10,))[0].lines[1:3]
    assert np.abs(first.get_ydata() - second.get_ydata()).max() > 0.01


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: sf.plot.em_steps(START), "needs the rows"),
        (lambda: sf.plot.em_steps(START, ONE, steps=(2, 1)), "each greater than the one before"),
        (lambda: sf.plot.em_steps(START, ONE, steps=(-1, 1)), "whole numbers from 0 on"),
        (lambda: sf.plot.em_steps(sf.Normal(0, 1), ONE), "plot.em_steps draws a Mixture"),
        (
            lambda: sf.plot.em_steps(sf.fit(sf.Mixture(sf.Categorical(), 2), list("aabbcc"), random_state=0)),
            "plot.em_steps has no such picture",
        ),
    ],
)
def test_what_cannot_be_drawn_is_said(ask, words):
    with pytest.raises(sf.SufficeError, match=words):
        ask()
