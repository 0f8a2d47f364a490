"""An E-step over columns of different kinds is one loop: it says what the general way says, holes and all."""

from functools import cache

import numpy as np
import pytest

import suffice as sf
from suffice.core import responsibilities

N = 700


def _frame(*, holes):
    rng = np.random.default_rng(0)
    who = rng.integers(0, 3, N)
    frame = {
        "length": rng.normal(2.0 * who, 1.0),
        "width": rng.normal(-who, 0.5),
        "visits": rng.poisson(1 + 3 * who).astype(float),
        "wait": rng.exponential(1 + who),
        "share": rng.beta(1 + who, 2),
        "income": rng.lognormal(who, 0.4),
        "smokes": (rng.random(N) < 0.2 + 0.3 * who).astype(float),
        "kind": np.array(list("abcd"), object)[(who + (rng.random(N) < 0.3)) % 4],
        "town": np.array(list("xyz"), object)[rng.integers(0, 3, N)],
        "heavy": rng.standard_t(3, N) + who,
        "pair": rng.normal(size=N) + who,
    }
    if holes:
        for column in frame.values():
            column[rng.random(N) < 0.1] = None if column.dtype == object else np.nan
    return frame


FAMILIES = {
    "length": sf.Normal(),
    "visits": sf.Poisson(),
    "wait": sf.Exponential(),
    "share": sf.Beta(),
    "income": sf.LogNormal(),
    "smokes": sf.Bernoulli(),
    "kind": sf.Categorical(),
    "town": sf.Categorical(),
    "heavy": sf.StudentT(),
    ("width", "pair"): sf.MultivariateNormal(),
}
CHOICES = {
    "cells only": ["length", "visits", "kind"],
    "numbers": ["length", "wait", "share", "income"],
    "labels": ["kind", "town", "smokes"],
    "others too": ["length", "heavy", "kind"],
    "a block of two": ["visits", ("width", "pair"), "town"],
    "all": list(FAMILIES),
}


@cache
def _components(choice, holes):
    product = sf.Product({key: FAMILIES[key] for key in CHOICES[choice]})
    return sf.fit(sf.Mixture(product, 3), _frame(holes=holes), random_state=0, max_iter=1).distribution.components


def _numbers(stats):
    """Every number that statistics hold, means as they are meant."""
    if hasattr(stats, "parts"):
        return np.concatenate([_numbers(part) for part in stats.parts])
    if hasattr(stats, "shift"):
        return np.concatenate([np.ravel(a) for a in (stats.weight, stats.mean, stats.scatter)])
    if hasattr(stats, "count"):
        return stats.count.ravel()
    return np.concatenate([np.ravel(a) for a in (stats.weight, stats.base, stats.total)])


@pytest.mark.parametrize("twin", ["reference", "compiled"])
@pytest.mark.parametrize("holes", [False, True], ids=["whole", "holes"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weights"])
@pytest.mark.parametrize("choice", CHOICES)
def test_one_loop_says_what_the_general_way_says(choice, weighted, holes, twin, monkeypatch):
    monkeypatch.setenv("SUFFICE_KERNELS", twin)
    rng, stack = np.random.default_rng(1), _components(choice, holes)
    rows = stack.preprocess(stack.read(_frame(holes=holes)))
    weights = rng.uniform(0, 2, N) * (rng.random(N) < 0.9) if weighted else None
    log_weights = rng.normal(size=(N, 3)) if weighted else np.log([0.2, 0.5, 0.3])
    ours, theirs = stack.e_step(rows, log_weights, weights), responsibilities.e_step(stack, rows, log_weights, weights)
    np.testing.assert_allclose(ours.log_likelihood, theirs.log_likelihood, rtol=1e-12)
    np.testing.assert_allclose(ours.entropy, theirs.entropy, rtol=1e-10)
    np.testing.assert_allclose(ours.count, theirs.count, rtol=1e-11)
    ours, theirs = _numbers(ours.statistics), _numbers(theirs.statistics)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("family", [sf.Normal(), sf.LogNormal(), sf.Poisson(), sf.Exponential(), sf.Gamma()], ids=repr)
def test_a_family_alone_reads_holes_in_the_same_loop(family, monkeypatch):
    """And the general way is not asked."""
    rng = np.random.default_rng(2)
    x = rng.poisson(3, (N, 2)) + 1.0
    x[rng.random((N, 2)) < 0.1] = np.nan
    stack = sf.fit(sf.Mixture(family, 2), x, random_state=0, max_iter=2).distribution.components
    theirs = responsibilities.e_step(stack, stack.read(x), np.log([0.4, 0.6]), None)
    monkeypatch.setattr(responsibilities, "e_step", None)
    ours = stack.e_step(stack.read(x), np.log([0.4, 0.6]))
    np.testing.assert_allclose(ours.log_likelihood, theirs.log_likelihood, rtol=1e-12)
    np.testing.assert_allclose(_numbers(ours.statistics), _numbers(theirs.statistics), rtol=1e-9, atol=1e-9)


def test_a_cell_that_cannot_be_is_named_with_its_column():
    frame = _frame(holes=True)
    frame["visits"][5] = -1.0
    product = sf.Product({key: FAMILIES[key] for key in ("length", "visits", "kind")})
    with pytest.raises(sf.DataError, match=r"visits.*row 5 has -1"):
        sf.fit(sf.Mixture(product, 2), frame, random_state=0)


def test_an_unknown_label_is_named_with_its_column():
    frame = _frame(holes=True)
    product = sf.Product({"length": sf.Normal(), "kind": sf.Categorical(levels=["a", "b", "c"])})
    with pytest.raises(sf.DataError, match=r"kind.*has 'd'"):
        sf.fit(sf.Mixture(product, 2), frame, random_state=0)
