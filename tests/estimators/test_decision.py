"""The action of least expected loss."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import suffice as sf


def brute(proba, loss, reject):
    found = []
    for row in proba:
        risks = [sum(p * loss[i][j] for i, p in enumerate(row)) for j in range(len(loss[0]))]
        best = min(range(len(risks)), key=lambda j: risks[j])
        found.append(-1 if reject is not None and risks[best] > reject else best)
    return found


def test_a_thousand_random_losses():
    rng = np.random.default_rng(0)
    for _ in range(1000):
        classes, actions = rng.integers(1, 6, 2)
        proba = rng.dirichlet(np.ones(classes), 7)
        loss = rng.normal(size=(classes, actions))
        reject = None if rng.random() < 0.5 else rng.normal()
        assert_array_equal(sf.decide(proba, loss, reject), brute(proba, loss, reject))


def test_without_a_loss_the_most_probable_class_is_taken():
    proba = np.random.default_rng(1).dirichlet(np.ones(4), 50)
    assert_array_equal(sf.decide(proba), proba.argmax(axis=1))
    assert_array_equal(sf.decide(proba, reject=0.5) == -1, proba.max(axis=1) < 0.5)


def test_one_row_gives_one_number():
    assert sf.decide([0.2, 0.8]) == 1
    assert sf.decide([0.2, 0.8], [[0, 1, 0.1], [9, 0, 0.1]]) == 2  # an action beyond the classes


def test_of_equal_risks_the_first_is_taken():
    assert sf.decide([0.5, 0.5]) == 0


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        (([[0.5, 0.6]],), sf.DataError, "row 0 has .*0.6.*predict_proba"),
        (([[0.5, 0.5], [-0.5, 1.5]],), sf.DataError, "row 1"),
        (([[[0.5, 0.5]]],), sf.DataError, "shape"),
        ((["a", "b"],), sf.DataError, "probabilities"),
        (([[0.5, 0.5]], [[0, 1]]), sf.ParameterError, "2 classes; got shape .1, 2."),
        (([[0.5, 0.5]], [[0, 1], [np.inf, 0]]), sf.ParameterError, r"loss\[1, 0\] is inf"),
        (([[0.5, 0.5]], [["a", "b"], ["c", "d"]]), sf.ParameterError, "matrix of numbers"),
        (([[0.5, 0.5]], None, "no"), sf.ParameterError, "reject"),
    ],
)
def test_mistakes_are_named(arguments, kind, words):
    with pytest.raises(kind, match=words):
        sf.decide(*arguments)
