"""Classifiers that learn from rows of unknown class: families, levels and constants are those of all rows."""

from __future__ import annotations

import numpy as np
import pytest

import suffice as sf

N = 400


CLASSES = np.repeat([0, 1, 2], N)


def _table() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    return {
        "calls": rng.poisson(np.array([1.0, 8.0, 30.0])[CLASSES]),
        "size": rng.normal(np.array([20.0, 30.0, 60.0])[CLASSES], 2.0),
        "kind": np.array(["a", "b", "c"])[rng.integers(3, size=len(CLASSES))],
    }


def _families(schema: sf.Product) -> dict[str, str]:
    return {one.name: "none" if one.family is None else one.family.name for one in schema.findings}


# ---- rows of unknown class -------------------------------------------------------------------------------------------
def test_rows_of_unknown_class_do_not_change_the_families() -> None:
    known = np.random.default_rng(4).random(len(CLASSES)) < 0.3
    whole = sf.NaiveBayes().fit(_table(), CLASSES).prototype_
    partly = sf.NaiveBayes(max_iter=5, tol=1.0).fit(_table(), np.where(known, CLASSES, np.nan)).prototype_
    assert _families(partly) == _families(whole) == {"calls": "Poisson", "size": "Normal", "kind": "Categorical"}


def test_levels_and_constants_are_those_of_all_rows() -> None:
    table = {"kind": ["a"] * 6 + ["b"] * 6, "flag": [0] * 6 + [1] * 6, "even": [7] * 12}
    groups = np.repeat([0, 1, -1], [3, 3, 6])
    found = sf.infer(table, within=groups)
    assert found["kind"].levels == ("a", "b")
    assert _families(found) == {"kind": "Categorical", "flag": "Bernoulli", "even": "none"}


@pytest.mark.parametrize("known", [0, 2, 4])
def test_too_few_known_rows_are_judged_with_the_others_as_one_group(known: int) -> None:
    groups = np.where(np.arange(len(CLASSES)) < known, np.arange(len(CLASSES)), -1)
    assert _families(sf.infer(_table(), within=groups)) == _families(sf.infer(_table()))
    assert _families(sf.infer(_table()))["calls"] == "NegativeBinomial"


# ---- weights ---------------------------------------------------------------------------------------------------------
def _texts() -> dict[str, object]:
    rng = np.random.default_rng(5)
    return {
        "word": [f"w{j}" for j in rng.integers(25, size=300)],
        "calls": rng.poisson(4.0, 300),
        "many": rng.negative_binomial(2, 0.2, 300),
        "size": rng.lognormal(1.0, 0.8, 300),
        "id": rng.permutation(300) + 5,
    }


@pytest.mark.parametrize("factor", [1 / 300, 1e-12, 0.5])
def test_shares_are_judged_as_rows_are(factor: float) -> None:
    plain, shares = sf.infer(_texts()), sf.infer(_texts(), weights=np.full(300, factor))
    assert _families(shares) == _families(plain)
    assert _families(plain) == {
        "word": "Categorical",
        "calls": "Poisson",
        "many": "NegativeBinomial",
        "size": "LogNormal",
        "id": "none",
    }
    assert [one.why for one in shares.findings] == [one.why for one in plain.findings]
