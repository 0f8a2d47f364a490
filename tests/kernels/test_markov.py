"""Forward-backward, filter and best path: both twins agree with sums over all paths, also where numbers are extreme."""

from itertools import pairwise, product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from suffice.kernels.native import markov as native_markov
from suffice.kernels.numpy import markov as numpy_markov

HOMES = pytest.mark.parametrize("home", [numpy_markov, native_markov], ids=["numpy", "native"])
LENGTHS = [1, 2, 5, 8]


def _problem(k, seed, *, sparse=False, spread=3.0):
    """Scores of several sequences with a hole, an impossible state in a row, and perhaps forbidden transitions."""
    rng = np.random.default_rng(seed)
    ends = np.cumsum([0, *LENGTHS])
    scores = spread * rng.normal(size=(ends[-1], k))
    scores[4] = 0.0
    scores[6, : k - 1] = -np.inf if k > 1 else 0.0
    transitions, initial = rng.dirichlet(np.ones(k), k), rng.dirichlet(np.ones(k))
    if sparse:
        transitions = np.triu(transitions)
        transitions /= transitions.sum(axis=1, keepdims=True)
        initial = np.eye(k)[0]
    return scores, ends, initial, transitions


def _by_paths(scores, initial, transitions, after):
    """All that is asked of one sequence, as sums over every path of states."""
    n, k = scores.shape
    total, shares, moves, best, filters = 0.0, np.zeros((n, k)), np.zeros((k, k)), (-np.inf, None), np.zeros((n, k))
    with np.errstate(divide="ignore"):
        log_initial, log_moves = np.log(initial), np.log(transitions)
    for t in range(n):
        for path in product(range(k), repeat=t + 1):
            joint = log_initial[path[0]] + sum(log_moves[a, b] for a, b in pairwise(path))
            joint += sum(scores[s, state] for s, state in enumerate(path))
            filters[t, path[-1]] += np.exp(joint)
            if t < n - 1:
                continue
            best = max(best, (joint, path), key=lambda one: one[0])
            p = np.exp(joint) * after[path[-1]]
            total += p
            for s, state in enumerate(path):
                shares[s, state] += p
            for a, b in pairwise(path):
                moves[a, b] += p
    return np.log(total), shares / total, moves / total, best, filters / filters.sum(axis=1, keepdims=True)


@HOMES
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("follows", [False, True])
def test_all_answers_are_sums_over_paths(home, k, sparse, follows):
    scores, ends, initial, transitions = _problem(k, k, sparse=sparse)
    weights = np.array([1.0, 2.0, 0.5, 3.0])
    after = np.linspace(1.0, 0.2, k) if follows else None
    found = home.forward_backward(scores, ends, initial, transitions, weights, after)
    likelihood, states = home.filtered(scores, ends, initial, transitions)
    log_prob, path = home.best_path(scores, ends, initial, transitions)
    moves, first, emitted = np.zeros((k, k)), np.zeros(k), 0.0
    for index, weight in enumerate(weights):
        part = slice(ends[index], ends[index + 1])
        ahead = np.ones(k) if after is None else after
        total, shares, own, best, filters = _by_paths(scores[part], initial, transitions, ahead)
        assert_allclose(found.log_likelihood[index], total, rtol=1e-12)
        assert_allclose(found.responsibilities[part], weight * shares, rtol=0, atol=1e-12)
        assert_allclose(states[part], filters, rtol=0, atol=1e-12)
        assert_allclose(log_prob[index], best[0], rtol=1e-12)
        assert_array_equal(path[part], best[1])
        if after is None:
            assert_allclose(likelihood[index], total, rtol=1e-12)
            assert_array_equal(home.log_likelihoods(scores, ends, initial, transitions), likelihood)
        head = np.where(initial > 0, shares[0] / np.where(initial > 0, initial, 1.0), 0.0)
        there = initial > 0
        assert_allclose(
            (found.head[index] / found.head[index][there].sum())[there], (head / head.sum())[there], atol=1e-12
        )
        moves, first = moves + weight * own, first + weight * shares[0]
        emitted += weight * np.where(shares > 0, shares * np.where(shares > 0, scores[part], 0.0), 0.0).sum()
    assert_allclose(found.moves, moves, rtol=0, atol=1e-12)
    assert_allclose(found.first, first, rtol=0, atol=1e-12)
    assert_allclose(found.emitted, emitted, rtol=1e-12)


def _close(found, expected, atol=1e-10):
    assert_allclose(found.log_likelihood, expected.log_likelihood, rtol=1e-12)
    for name in ("responsibilities", "moves", "first"):
        assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, atol=atol, err_msg=name)
    assert_allclose(found.emitted, expected.emitted, rtol=1e-9)


@pytest.mark.parametrize("k", [1, 2, 4, 5, 8, 9, 13, 17, 33])
@pytest.mark.parametrize("spread", [1.0, 30.0, 2000.0])
@pytest.mark.parametrize("sparse", [False, True])
def test_twins_agree_on_long_sequences_however_far_apart_states_are(k, spread, sparse):
    rng = np.random.default_rng(k)
    _, _, initial, transitions = _problem(k, k, sparse=sparse)
    ends = np.array([0, 0, 300, 301, 820])
    scores = spread * rng.normal(size=(ends[-1], k)) - 1e4
    weights = np.array([1.0, 0.3, 2.0, 1.0])
    given = scores, ends, initial, transitions
    _close(native_markov.forward_backward(*given, weights), numpy_markov.forward_backward(*given, weights))
    for mine, theirs in zip(native_markov.filtered(*given), numpy_markov.filtered(*given), strict=True):
        assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)
    for mine, theirs in zip(native_markov.best_path(*given), numpy_markov.best_path(*given), strict=True):
        assert_allclose(mine, theirs, rtol=1e-12)


@pytest.mark.parametrize("k", [2, 3, 8, 10])
@pytest.mark.parametrize("sparse", [False, True])
def test_twins_agree_on_sequences_of_any_lengths_side_by_side(k, sparse):
    """More sequences than a vector has lanes, one that cannot be among them, and one too long for a lane."""
    rng = np.random.default_rng(k)
    _, _, initial, transitions = _problem(k, k, sparse=sparse)
    lengths = [*rng.integers(0, 70, 21).tolist(), 20_000 // k, 16, 32, 1]
    ends = np.cumsum([0, *lengths])
    scores = 3.0 * rng.normal(size=(ends[-1], k))
    scores[ends[-2] - 3] = -np.inf
    weights, after = rng.uniform(0.5, 2.0, len(lengths)), rng.uniform(0.1, 1.0, k)
    given = scores, ends, initial, transitions
    for follows in (None, after):
        _close(
            native_markov.forward_backward(*given, weights, follows),
            numpy_markov.forward_backward(*given, weights, follows),
        )
    for mine, theirs in zip(native_markov.filtered(*given), numpy_markov.filtered(*given), strict=True):
        assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)
    assert_allclose(native_markov.log_likelihoods(*given), numpy_markov.log_likelihoods(*given), rtol=1e-12)


@pytest.mark.parametrize("k", [2, 8])
def test_a_sequence_has_the_same_answer_whatever_stands_beside_it(k):
    rng = np.random.default_rng(k)
    _, _, initial, transitions = _problem(k, k)
    ends = np.cumsum([0, *rng.integers(1, 90, 19).tolist()])
    scores = 3.0 * rng.normal(size=(ends[-1], k))
    whole = native_markov.forward_backward(scores, ends, initial, transitions)
    likelihood, states = native_markov.filtered(scores, ends, initial, transitions)
    for index, (begin, end) in enumerate(pairwise(ends)):
        given = scores[begin:end], np.array([0, end - begin]), initial, transitions
        alone = native_markov.forward_backward(*given)
        assert_array_equal(whole.log_likelihood[index], alone.log_likelihood[0])
        assert_array_equal(whole.responsibilities[begin:end], alone.responsibilities)
        assert_array_equal(whole.head[index], alone.head[0])
        assert_array_equal(likelihood[index], native_markov.log_likelihoods(*given)[0])
        assert_array_equal(states[begin:end], native_markov.filtered(*given)[1])


def test_a_state_that_one_row_all_but_rules_out_may_explain_the_rest():
    """A left-right chain: the first state fades to e⁻¹⁰⁰⁰ in one row, and alone fits the thousand rows after it."""
    transitions, initial = np.array([[0.9, 0.1], [0.0, 1.0]]), np.array([0.5, 0.5])
    scores = np.tile([0.0, -50.0], (1000, 1))
    scores[3] = [-1000.0, 0.0]
    given = scores, np.array([0, 1000]), initial, transitions
    found = native_markov.forward_backward(*given)
    _close(found, numpy_markov.forward_backward(*given))
    assert found.responsibilities[0, 0] == pytest.approx(1.0)
    _, states = native_markov.filtered(*given)
    assert_allclose(states, numpy_markov.filtered(*given)[1], rtol=1e-9, atol=1e-12)
    assert states[-1, 0] == pytest.approx(numpy_markov.filtered(*given)[1][-1, 0])


@HOMES
def test_a_sequence_that_cannot_be_belongs_to_nobody(home):
    scores = np.zeros((6, 2))
    scores[4, 1] = -np.inf  # after a state that is never left
    given = scores, np.array([0, 3, 6]), np.array([0.0, 1.0]), np.array([[0.5, 0.5], [0.0, 1.0]])
    found = home.forward_backward(*given)
    assert_array_equal(found.log_likelihood, [0.0, -np.inf])
    assert_array_equal(found.responsibilities[3:], 0.0)
    assert_allclose(found.moves, [[0.0, 0.0], [0.0, 2.0]])
    assert_array_equal(home.filtered(*given)[1], [[0, 1], [0, 1], [0, 1], [0, 1], [0, 0], [0, 0]])
    log_prob, path = home.best_path(*given)
    assert_array_equal(log_prob, [0.0, -np.inf])
    assert_array_equal(path, [1, 1, 1, -1, -1, -1])


@HOMES
def test_a_sequence_in_two_parts_is_the_whole(home):
    scores, _, initial, transitions = _problem(3, 11)
    n, cut = len(scores), 7
    whole = home.forward_backward(scores, np.array([0, n]), initial, transitions)
    _, states = home.filtered(scores, np.array([0, n]), initial, transitions)
    begun = states[cut - 1] @ transitions
    tail = home.forward_backward(scores[cut:], np.array([0, n - cut]), begun, transitions)
    after = transitions @ tail.head[0]
    head = home.forward_backward(scores[:cut], np.array([0, cut]), initial, transitions, after=after)
    both = np.concatenate([head.responsibilities, tail.responsibilities])
    assert_allclose(both, whole.responsibilities, atol=1e-12)
    between = states[cut - 1][:, None] * transitions * tail.head[0]
    assert_allclose(head.moves + tail.moves + between / between.sum(), whole.moves, atol=1e-12)
