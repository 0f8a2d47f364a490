"""Reading a file takes time and memory in proportion to its size: what is made of it is counted, the rest refused."""

import json

import numpy as np
import pytest

import suffice as sf
from suffice.errors import ModelFileError
from suffice.io import dumps, loads
from suffice.storage import read_budget

WORD = {"array": ["a"], "dtype": f"<U{read_budget.LETTERS}", "shape": [1]}


def document(**fields):
    return json.dumps({"suffice": "1", **fields})


def array(values):
    return {"array": list(values), "dtype": "float64", "shape": [len(values)]}


def nested(levels, copies=2):
    tree = {"kind": "Normal", "mean": 0.0, "std": 1.0}
    for _ in range(levels):
        tree = {"kind": "Mixture", "components": tree, "weights": array([1 / copies] * copies)}
    return json.dumps({"suffice": "1", **tree})


def colliding(n):
    """Pairs of whole numbers that share one hash: that of a tuple is no secret."""
    whole, first, second, third = 1 << 64, 11400714785074694791, 14029467366897019727, 2870177450012600261
    inverse, found, a = pow(second, -1, whole), [], 0
    while len(found) < n:
        a += 1
        mixed = (third + a * second) % whole
        turned = ((mixed << 31) | (mixed >> 33)) % whole
        b = (12345678901234567 - turned * first) * inverse % whole
        b -= whole if b >= whole >> 1 else 0
        if abs(b) < (1 << 61) - 1:
            found.append([a, b])
    return found


@pytest.fixture
def made(monkeypatch):
    """How much of each kind a reading has charged."""
    charged = {"letters": 0, "cells": 0, "numbers": 0}
    takes = read_budget.Budget.takes

    def counting(self, what, amount):
        allowed = takes(self, what, amount)
        charged[what] += amount if allowed else 0
        return allowed

    monkeypatch.setattr(read_budget.Budget, "takes", counting)
    return charged


@pytest.mark.parametrize("levels", [18, 24, 30])
def test_copies_of_copies_are_refused_before_they_are_made(levels, made):
    data = nested(levels)
    with pytest.raises(ModelFileError, match="copies"):
        loads(data)
    assert made["numbers"] <= read_budget.NUMBERS + len(data)


def test_a_few_copies_of_copies_are_read():
    model = loads(nested(4))
    assert np.isclose(model.log_prob(0.0), sf.Normal().log_prob(0.0))
    assert loads(dumps(model)) == model


def test_many_components_of_a_large_prototype_are_refused(made):
    mean, cov = np.zeros(60), np.eye(60)
    tree = json.loads(dumps(sf.MultivariateNormal(mean, cov)))
    tree.pop("suffice")
    with pytest.raises(ModelFileError, match="copies"):
        loads(document(kind="Mixture", components=tree, weights=array(np.full(2000, 1 / 2000))))
    assert made["numbers"] == 0


@pytest.mark.parametrize("n", [2, 20, 200])
def test_room_for_text_is_counted_for_the_whole_document(n, made):
    data = document(kind="Normal", mean=[WORD] * n, std=1.0)
    with pytest.raises(ModelFileError, match="more memory than a file of this size"):
        loads(data)
    assert made["letters"] <= read_budget.LETTERS + len(data)


def test_empty_arrays_are_counted_for_the_whole_document(made):
    hollow = {"array": [], "dtype": "float64", "shape": [0, read_budget.CELLS // 2]}
    with pytest.raises(ModelFileError, match="more memory than a file of this size"):
        loads(document(kind="Normal", mean=[hollow] * 20, std=1.0))
    assert made["cells"] <= 2 * read_budget.CELLS


@pytest.mark.parametrize("wrap", ["levels", "set", "dict", "array"])
def test_labels_that_share_a_hash_are_refused_after_a_hundred_comparisons(wrap):
    pairs = colliding(read_budget.SAME_HASH + 50)
    assert len({hash(tuple(pair)) for pair in pairs}) == 1
    inside = {
        "levels": [pairs],
        "set": {"set": pairs},
        "dict": {"dict": [[pair, 1.0] for pair in pairs]},
        "array": {"array": pairs, "dtype": "object", "shape": [len(pairs)]},
    }[wrap]
    with pytest.raises(ModelFileError, match="share a hash"):
        loads(document(kind="Categorical", levels=inside))


def test_labels_that_are_tuples_or_repeated_are_read():
    levels = [[(i, -i) for i in range(300)]]
    model = sf.Categorical(levels)
    assert loads(dumps(model)) == model
    assert not read_budget.share_a_hash([(1, 2)] * 1000)


def test_the_size_of_a_model_counts_what_is_repeated():
    once = sf.Mixture([sf.Normal(0.0, 1.0), sf.Exponential(1.0)])
    assert read_budget.size_of(sf.Stack((once,) * 5)) == 1 + 5 * read_budget.size_of(once)
