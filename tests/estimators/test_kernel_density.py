"""KernelDensity beside scikit-learn's."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.neighbors import KernelDensity as Theirs

import suffice as sf

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("kernel", ["gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"])
@pytest.mark.parametrize("width", [0.05, 1.0, "scott", "silverman"])
@pytest.mark.parametrize("d", [1, 2])
def test_answers_are_those_of_scikit_learn(kernel, width, d):
    X, at, weights = RNG.normal(size=(300, d)), 3 * RNG.normal(size=(200, d)), RNG.uniform(0.5, 2, 300)
    ours, theirs = (kind(bandwidth=width, kernel=kernel).fit(X, None, weights) for kind in (sf.KernelDensity, Theirs))
    found, expected = ours.score_samples(at), theirs.score_samples(at)
    seen = np.isfinite(expected)
    assert (np.isfinite(found) == seen).all()
    assert found[seen] == pytest.approx(expected[seen], abs=1e-10, rel=1e-10)
    assert ours.bandwidth_ == theirs.bandwidth_
    assert (ours.sample(5, random_state=0) == theirs.sample(5, random_state=0)).all() if kernel == "gaussian" else True


def test_arguments_are_those_of_scikit_learn():
    assert sf.KernelDensity().get_params() == Theirs().get_params()
    assert clone(sf.KernelDensity(bandwidth="sj")).bandwidth == "sj"


@pytest.mark.parametrize("method", ["sj", "sj-dpi", "isj", "likelihood", "nrd0"])
def test_methods_have_the_scale_of_the_data(method):
    X = RNG.normal(scale=1e-3, size=(200, 1))
    model = sf.KernelDensity(bandwidth=method).fit(X)
    assert model.bandwidth_ == sf.bandwidth(X[:, 0], method)
    assert model.score_samples(X[:5]) == pytest.approx(sf.fit(sf.KDE(method), X).log_prob(X[:5]))


def test_several_columns_have_a_bandwidth_each():
    X = RNG.normal(size=(200, 2)) * [1.0, 100.0]
    model = sf.KernelDensity(bandwidth="nrd0").fit(X)
    assert 50 < model.bandwidth_[1] / model.bandwidth_[0] < 200
    assert model.score_samples(X[:5]) == pytest.approx(sf.fit(sf.KDE("nrd0"), X).log_prob(X[:5]))


def test_methods_are_refused_where_columns_do_not_stand_for_themselves():
    with pytest.raises(sf.ParameterError, match="haversine"):
        sf.KernelDensity(bandwidth="sj", metric="haversine").fit(RNG.normal(size=(20, 2)))
