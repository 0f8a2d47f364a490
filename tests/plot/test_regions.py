"""plot.regions draws where classifiers decide what: boundaries, colours, and rows that are decided wrongly."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

import suffice as sf

RNG = np.random.default_rng(0)
Z, Y = RNG.normal(size=200), np.arange(200) % 2
# Two columns that depend on each other: what a naive model cannot see.
X = np.column_stack([Z + RNG.normal(0, 0.25, 200), Z + RNG.normal(0, 0.25, 200) + np.where(Y, 0.7, -0.7)])


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def boundary(ax):
    """The points of the lines between regions, (N, 2)."""
    lines = [one for one in ax.collections if len(np.atleast_2d(one.get_edgecolor())) and not one.get_facecolor().size]
    return np.concatenate([path.vertices for one in lines for path in one.get_paths()])


def test_a_linear_boundary_is_where_its_plane_is_zero():
    lda = sf.LinearDiscriminantAnalysis().fit(X, Y)
    (ax,) = sf.plot.regions(lda, X, Y)
    points = boundary(ax)
    away = (points @ lda.coef_[0] + lda.intercept_[0]) / np.linalg.norm(lda.coef_[0])
    assert len(points) > 20
    np.testing.assert_allclose(away, 0, atol=1e-6)


def test_a_curved_boundary_is_where_two_classes_are_equally_probable():
    naive = sf.GaussianNB().fit(X, Y)
    (ax,) = sf.plot.regions(naive, X, Y)
    points = boundary(ax)
    np.testing.assert_allclose(naive.predict_proba(points)[:, 0], 0.5, atol=1e-3)
    slopes = np.polyfit(points[:, 0], points[:, 1], 2)
    assert abs(slopes[0]) > 0.01  # it bends


def test_regions_have_the_colour_of_what_is_decided():
    model = sf.QuadraticDiscriminantAnalysis().fit(X, Y)
    (ax,) = sf.plot.regions(model, X, Y)
    filled = [
        one
        for one in ax.collections
        if one.get_facecolor().size and len(one.get_paths()) and not len(one.get_offsets()) > 1
    ]
    shades = {tuple(np.round(to_rgb(line.get_color()), 6)): int(line.get_label()) for line in ax.lines[:2]}
    for point in X[::10]:
        inside = [one for one in filled if any(path.contains_point(point) for path in one.get_paths())]
        labels = {shades[tuple(np.round(one.get_facecolor()[0][:3], 6))] for one in inside}
        assert labels == {int(model.predict(point[None])[0])}


def test_several_classifiers_share_their_axes_and_say_how_many_rows_are_right():
    models = {"naive": sf.GaussianNB(), "full": sf.QuadraticDiscriminantAnalysis(), "machine": SVC()}
    panels = sf.plot.regions(models, X, Y)
    assert len({(ax.get_xlim(), ax.get_ylim()) for ax in panels}) == 1
    for ax, (name, model) in zip(panels, models.items(), strict=True):
        assert not hasattr(model, "classes_")  # a copy was fitted
        right = (model.fit(X, Y).predict(X) == Y).mean()
        assert ax.get_title(loc="left") == f"{name}\n{right:.1%} of 200 rows right"
        dark = sum(
            (one.get_edgecolors()[:, :3].max(axis=1) < 0.1).sum()
            for one in ax.collections
            if len(one.get_offsets()) > 1
        )
        assert dark == round(200 * (1 - right))
    assert float(panels[0].get_title(loc="left").split("\n")[1].split("%")[0]) < 80
    assert float(panels[1].get_title(loc="left").split("\n")[1].split("%")[0]) > 95


def test_a_fitted_classifier_is_drawn_as_it_is():
    known = sf.BayesClassifier.from_distributions(
        {"sick": sf.MultivariateNormal([0, 0], np.eye(2)), "well": sf.MultivariateNormal([1, 0], np.eye(2))}
    )
    (ax,) = sf.plot.regions(known, X)
    np.testing.assert_allclose(boundary(ax)[:, 0], 0.5, atol=1e-6)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_give_the_same_boundary_and_name_the_axes(frame):
    table = frame({"age": X[:, 0], "dose": X[:, 1]})
    named, plain = sf.plot.regions([sf.GaussianNB()], table, Y)[0], sf.plot.regions([sf.GaussianNB()], X, Y)[0]
    assert (named.get_xlabel(), named.get_ylabel()) == ("age", "dose")
    np.testing.assert_allclose(boundary(named), boundary(plain), rtol=1e-10)


def test_three_classes_have_three_regions_and_axes_can_be_given():
    labels = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    _, axes = plt.subplots(1, 2)
    panels = sf.plot.regions([LogisticRegression(), sf.GaussianNB()], X, labels, axes=axes)
    assert panels == tuple(axes)
    model = sf.GaussianNB().fit(X, labels)
    best = np.sort(model.predict_proba(boundary(panels[1])), axis=1)
    np.testing.assert_allclose(best[:, -1], best[:, -2], atol=0.02)  # within a cell of the grid, where three meet
    assert [text.get_text() for text in panels[0].get_legend().get_texts()][:3] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (
            lambda: sf.plot.regions(sf.GaussianNB(), RNG.normal(size=(9, 3)), np.arange(9) % 2),
            "two columns; X has shape",
        ),
        (lambda: sf.plot.regions(sf.GaussianNB(), X), "not fitted, and there is no y"),
        (lambda: sf.plot.regions(sf.KMeans(2), X, Y), "draws classifiers"),
        (lambda: sf.plot.regions(sf.GaussianNB, X, Y), "draws classifiers"),
        (lambda: sf.plot.regions([], X, Y), "at least one"),
        (lambda: sf.plot.regions(sf.GaussianNB(), X, Y[:9]), "a class for each of the 200 rows"),
        (lambda: sf.plot.regions(sf.GaussianNB(), [["a", "b"]], [0]), "cannot be read as numbers"),
    ],
)
def test_what_cannot_be_drawn_is_said(ask, words):
    with pytest.raises(sf.SufficeError, match=words):
        ask()
