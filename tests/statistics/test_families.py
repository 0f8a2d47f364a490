"""Statistics know the family that gathered them, and mix with no other."""

import copy
import pickle

import numpy as np
import pytest

import suffice as sf
from suffice.errors import DataError
from suffice.statistics.moments import Moments

X = np.array([0.5, 1.5, 2.5, 4.0])
NORMAL, LOG = sf.Normal().suffstats(X), sf.LogNormal().suffstats(X)
COUNTS = sf.Poisson().suffstats([0, 1, 3])
PAIR = sf.Product({"a": sf.Normal(), "b": sf.Poisson()})
OTHER = sf.Product({"a": sf.LogNormal(), "b": sf.Poisson()})
ROWS = {"a": X, "b": [1, 2, 0, 1]}


# id: (what is called, fragments of the message)
MIXED = {
    "added": (lambda: NORMAL + LOG, ["Moments of Normal", "Moments of LogNormal", "prototype"]),
    "removed": (lambda: NORMAL - LOG, ["Normal", "LogNormal"]),
    "summed": (lambda: sum([NORMAL, COUNTS]), ["Normal", "Poisson"]),
    "sums of two families": (
        lambda: COUNTS + sf.Exponential().suffstats(X),
        ["Sums of Poisson", "Sums of Exponential"],
    ),
    "estimated": (lambda: sf.LogNormal().estimate(NORMAL), ["LogNormal", "statistics of Normal", "suffstats"]),
    "estimated with a prior": (
        lambda: sf.Poisson().estimate(sf.Exponential().suffstats(X), sf.Gamma(1, 1)),
        ["Poisson", "Exponential"],
    ),
    "scored": (lambda: sf.Poisson(3).log_likelihood(NORMAL), ["Poisson", "Normal"]),
    "believed": (lambda: sf.Poisson().posterior(NORMAL, sf.Gamma(1, 1)), ["Poisson", "Normal"]),
    "errors": (lambda: sf.Poisson(3).standard_errors(NORMAL), ["Poisson", "Normal"]),
    "a matrix": (lambda: sf.MultivariateNormal().estimate(NORMAL), ["MultivariateNormal", "Normal"]),
    "labels": (lambda: sf.Categorical().estimate(NORMAL), ["Categorical", "Normal"]),
    "parts added": (lambda: PAIR.suffstats(ROWS) + OTHER.suffstats(ROWS), ["Normal", "LogNormal"]),
    "parts estimated": (lambda: OTHER.estimate(PAIR.suffstats(ROWS)), ["'a'", "LogNormal", "Normal"]),
    "parts scored": (
        lambda: sf.fit(OTHER, ROWS).distribution.log_likelihood(PAIR.suffstats(ROWS)),
        ["'a'", "LogNormal"],
    ),
    "a part too few": (
        lambda: sf.Product([sf.Normal()]).estimate(sf.Product([sf.Normal()] * 2).suffstats(np.ones((3, 2)))),
        ["1 parts", "have 2"],
    ),
    "a whole for a part": (lambda: PAIR.estimate(NORMAL), ["Product", "Normal"]),
    "a part for a whole": (lambda: sf.Normal().estimate(PAIR.suffstats(ROWS)), ["Normal", "Product"]),
    "components": (
        lambda: sf.Stack([sf.Normal(), sf.Laplace()]).estimate(sf.Stack([sf.Laplace(), sf.Normal()]).suffstats(X)),
        ["part 0", "Normal", "Laplace"],
    ),
    "rows for statistics": (lambda: sf.Normal().estimate(X), ["Normal", "ndarray", "sf.fit"]),
}


@pytest.mark.parametrize("case", MIXED, ids=lambda case: case.replace(" ", "_"))
def test_statistics_of_two_families_do_not_mix(case):
    call, fragments = MIXED[case]
    with pytest.raises(DataError) as caught:
        call()
    missing = [fragment for fragment in fragments if fragment not in str(caught.value)]
    assert not missing, f"{missing} not in: {caught.value}"


def test_variants_of_one_family_merge():
    class Mine(sf.Normal):
        """A user's variant."""

    whole = sf.Normal().suffstats(np.concatenate([X, X]))
    variants = [sf.Normal(1.0, 2.0), sf.Normal(std=3.0).fix("std"), sf.NormalPrior(0, 1), Mine()]
    for variant in variants:
        merged = NORMAL + variant.suffstats(X)
        assert merged.family == "Normal"
        np.testing.assert_allclose(merged.scatter, whole.scatter, rtol=1e-14)
    assert Mine().estimate(NORMAL).std == pytest.approx(X.std())


def test_statistics_without_an_owner_mix_with_any():
    nobody = Moments(NORMAL.weight, NORMAL.centre, NORMAL.shift, NORMAL.scatter)
    assert (NORMAL + nobody).weight == (nobody + LOG).weight == 8
    assert sf.Normal().estimate(nobody) == sf.Normal().estimate(NORMAL)


def test_owners_stay():
    assert (NORMAL * 0.5).family == (NORMAL - NORMAL).family == (NORMAL + NORMAL).family == "Normal"
    parts = (PAIR.suffstats(ROWS) * 2.0).parts
    assert [part.family for part in parts] == ["Normal", "Poisson"]
    assert [part.family for part in PAIR.stack(2).suffstats(ROWS, np.ones((4, 2))).parts] == ["Normal", "Poisson"]


def test_sum_begins_with_nothing():
    for stats in (NORMAL, COUNTS, PAIR.suffstats(ROWS), sf.Uniform().suffstats(X), sf.Laplace().suffstats(X)):
        assert sum([stats, stats]) == stats + stats
    with pytest.raises(TypeError):
        1 + NORMAL


def test_statistics_are_shown_in_a_line():
    assert repr(NORMAL) == "<Moments of Normal, weight 4.>"
    wide = repr(sf.Normal().suffstats(np.ones((3, 500))))
    assert wide.startswith("<Moments of Normal")
    assert "\n" not in wide
    assert len(wide) < 100


def test_statistics_compare_and_travel():
    for stats in (NORMAL, COUNTS, PAIR.suffstats(ROWS), sf.Categorical().suffstats(["a", "b"])):
        for other in (copy.deepcopy(stats), pickle.loads(pickle.dumps(stats)), stats * 1.0):  # noqa: S301 (our own)
            assert other == stats
            assert hash(other) == hash(stats)
        assert stats * 0.5 != stats


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda: sf.Normal().suffstats([1.0, 2.0], sf.OneHot([0.7, 1.9], 2)), sf.DataError, "codes are whole numbers"),
        (lambda: sf.Normal().suffstats([1.0, 2.0], sf.OneHot(["a", "b"], 2)), sf.DataError, "Number the classes"),
        (lambda: sf.Normal().stack(0), sf.ParameterError, "at least 1; got 0"),
        (lambda: sf.Normal().kl(3), sf.UnsupportedError, "another distribution"),
        (lambda: sf.StudentT().kl("Normal"), sf.UnsupportedError, "another distribution"),
        (lambda: sf.Normal().suffstats([1.0]) * -1, sf.DataError, "at least 0; got -1"),
        (lambda: sf.Normal().suffstats([1.0]) * float("nan"), sf.DataError, "got nan"),
    ],
)
def test_what_would_be_taken_for_something_else_is_refused(ask, error, words):
    with pytest.raises(error, match=words):
        ask()
