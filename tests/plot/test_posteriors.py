"""plot.posterior draws densities that are known in closed form, for numbers, vectors and candidates."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot as plt
from scipy import stats

import suffice as sf

X = np.random.default_rng(0).normal(3, 2, 12)


@pytest.fixture
def ax():
    figure, found = plt.subplots()
    yield found
    plt.close(figure)


def head(ax):
    return ax.get_title(loc="left").replace("\n", " ")


@pytest.mark.parametrize("name", ["mean", "std"])
def test_the_marginals_of_a_normal_are_exact_with_their_prior(ax, name):
    post = sf.posterior(sf.Normal(), X, prior=sf.NormalInverseGamma(0, 1, 2, 4))
    sf.plot.posterior(post, name, ax=ax)
    prior, curve = ax.lines[:2]
    for line, one in ((prior, sf.NormalInverseGamma(0, 1, 2, 4)), (curve, post.belief)):
        x = line.get_xdata()
        if name == "mean":
            exact = stats.t(2 * one.shape, one.mean, np.sqrt(one.scale / (one.shape * one.count))).pdf(x)
        else:
            exact = stats.invgamma(one.shape, scale=one.scale).pdf(np.maximum(x, 1e-9) ** 2) * 2 * x
        np.testing.assert_allclose(line.get_ydata(), exact, rtol=1e-9, atol=1e-12)


def test_each_probability_of_a_categorical_has_its_beta(ax):
    post = sf.posterior(sf.Categorical(list("abc")), list("aabac"), prior=sf.Dirichlet([1, 2, 1]))
    sf.plot.posterior(post, ax=ax)
    solid, dotted = ax.lines[::2], ax.lines[1::2]
    for line, (a, b) in zip(solid, ((4, 5), (3, 6), (2, 7)), strict=True):
        np.testing.assert_allclose(line.get_ydata(), stats.beta(a, b).pdf(line.get_xdata()), rtol=1e-9, atol=1e-12)
    for line, (a, b) in zip(dotted, ((1, 3), (2, 2), (1, 3)), strict=True):
        np.testing.assert_allclose(line.get_ydata(), stats.beta(a, b).pdf(line.get_xdata()), rtol=1e-9, atol=1e-12)
    assert ax.get_xlim() == (0.0, 1.0)
    names = [text.get_text().partition(":")[0] for text in ax.get_legend().get_texts()]
    assert names == ["probs[a]", "probs[b]", "probs[c]"]


def test_the_means_of_several_columns_are_students(ax):
    rows = np.random.default_rng(1).normal([0, 5], 1, (9, 2))
    post = sf.posterior(sf.MultivariateNormal(), rows, prior=sf.NormalInverseWishart([0, 0], 1, 4, np.eye(2)))
    sf.plot.posterior(post, ax=ax)
    belief = post.belief
    df = belief.df - 1
    for j, line in enumerate(ax.lines[::2]):
        exact = stats.t(df, belief.mean[j], np.sqrt(belief.scale[j, j] / (belief.count * df)))
        np.testing.assert_allclose(line.get_ydata(), exact.pdf(line.get_xdata()), rtol=1e-8, atol=1e-12)


def test_finitely_many_candidates_have_their_probabilities(ax):
    post = sf.posterior(sf.Bernoulli(), [1, 0, 1], prior=sf.Categorical([0.2, 0.5, 0.9], [0.3, 0.4, 0.3]))
    sf.plot.posterior(post, ax=ax)
    before, after = ax.lines[:2]
    np.testing.assert_allclose(before.get_ydata(), [0.3, 0.4, 0.3])
    joint = np.array([0.3, 0.4, 0.3]) * np.array([0.2**2 * 0.8, 0.5**3, 0.9**2 * 0.1])
    np.testing.assert_allclose(after.get_ydata(), joint / joint.sum(), rtol=1e-12)


def test_a_mixture_of_beliefs_is_drawn_with_its_prior(ax):
    post = sf.posterior(sf.Bernoulli(), [1, 0], prior=sf.Mixture([sf.Beta(2, 8), sf.Beta(8, 2)], weights=[0.3, 0.7]))
    sf.plot.posterior(post, ax=ax)
    prior, curve = ax.lines[:2]
    x = prior.get_xdata()
    np.testing.assert_allclose(
        prior.get_ydata(), 0.3 * stats.beta(2, 8).pdf(x) + 0.7 * stats.beta(8, 2).pdf(x), rtol=1e-9
    )
    np.testing.assert_allclose(
        curve.get_ydata(), 0.3 * stats.beta(3, 9).pdf(x) + 0.7 * stats.beta(9, 3).pdf(x), rtol=1e-9
    )


def test_an_improper_prior_has_a_shape_and_no_scale(ax):
    sf.plot.posterior(sf.posterior(sf.Bernoulli(), [1, 0, 1], prior=lambda p: 1 / (p * (1 - p))), ax=ax)
    prior = ax.lines[0]
    x, y = prior.get_data()
    shape = y * x * (1 - x)
    np.testing.assert_allclose(shape, shape[0], rtol=1e-6)
    assert prior.get_label() == "improper prior"
    assert y[len(y) // 2] < ax.get_ylim()[1]


def test_legends_and_titles_keep_out_of_narrow_panels():
    figure, panels = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
    for ax, a in zip(panels, (1, 4, 9), strict=True):
        sf.plot.posterior(sf.posterior(sf.Bernoulli(), [1] * 9 + [0] * a, prior=sf.Beta(a, a)), ax=ax)
    figure.canvas.draw()
    boxes = [ax._left_title.get_window_extent() for ax in panels]
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])
    plt.close(figure)


def test_what_one_picture_cannot_show_is_said(ax):
    with pytest.raises(sf.UnsupportedError, match="columns one by one"):
        sf.plot.posterior(sf.posterior(sf.Bernoulli(), [[1, 0], [0, 1]], prior=sf.Beta(1, 1)), ax=ax)
    both = sf.posterior(sf.Product({"a": sf.Poisson()}), {"a": [1, 2]}, prior={"a": sf.Gamma(1, 1)})
    with pytest.raises(sf.UnsupportedError, match=r"plot\.posterior\(post\['a'\]\)"):
        sf.plot.posterior(both, ax=ax)
