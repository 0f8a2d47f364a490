"""Targets that look like numbers and not like classes."""

import warnings

import numpy as np
import pytest

import suffice as sf

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3000, 2))


@pytest.mark.parametrize("y", [np.arange(3000), np.arange(3000.0), RNG.integers(0, 400, 3000)], ids=["i", "f", "again"])
@pytest.mark.parametrize("model", [sf.NaiveBayes(), sf.GaussianNB()], ids=["NaiveBayes", "GaussianNB"])
def test_a_target_of_many_different_numbers_is_warned_of(model, y):
    text = rf"{type(model).__name__}: y has {len(np.unique(y)):,} different numbers in 3,000 rows.*looks like a number"
    with pytest.warns(sf.SufficeWarning, match=text) as told:
        model.fit(X, y)
    assert told[0].filename == __file__


@pytest.mark.filterwarnings("ignore:NaiveBayes")
def test_rows_of_unknown_class_do_not_count():
    y = np.where(np.arange(3000) < 240, np.arange(3000) % 120, np.nan)  # 120 of 3000 rows could be classes
    with pytest.warns(sf.SufficeWarning, match="120 different numbers in 240 rows"):
        sf.NaiveBayes(sf.Normal(), max_iter=1).fit(X[:, :1], y)


@pytest.mark.parametrize(
    "y",
    [np.arange(3000) % 100, np.arange(3000) % 150, np.array([f"w{i % 300}" for i in range(3000)])],
    ids=["100", "20 rows each", "text"],
)
def test_classes_are_not_warned_of(y):
    with warnings.catch_warnings():
        warnings.simplefilter("error", sf.SufficeWarning)
        sf.NaiveBayes().fit(X, y)
