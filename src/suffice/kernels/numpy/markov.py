"""Hidden Markov chains by NumPy: what is known of the states of sequences, from the scores of their rows.

Scores (n, k) are log p(row | state) of the rows of all sequences, one after the other; ``ends`` (m + 1,) are the places
where sequences begin, and the number of rows. −inf is a state that a row rules out; a row without a value has 0 for
all. A sequence that no path of states can have made has log-likelihood −inf, and no responsibilities.

Everything here is in log space. The native twins compute in scaled linear space, and in log space where that loses
something (Rabiner 1989, A tutorial on hidden Markov models, Proceedings of the IEEE 77, 257-286).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class Smoothed(NamedTuple):
    """What all rows of a sequence tell of its states.

    Log-likelihoods of the sequences (m,), responsibilities w P(state | sequence) of the rows (n, k), expected states
    of first rows (k,), expected moves between states (k, k), Σ responsibility × score, and P(sequence | first state)
    up to a factor, (m, k).
    """

    log_likelihood: Array
    responsibilities: Array
    first: Array
    moves: Array
    emitted: float
    head: Array


def forward_backward(
    scores: Array,
    ends: Integers,
    initial: Array,
    transitions: Array,
    weights: Array | None = None,
    after: Array | None = None,
) -> Smoothed:
    """The forward-backward algorithm over sequences, whose rows count ``weights`` (m,).

    ``after`` (k,) is the likelihood of what follows each sequence given its last state, up to a factor; by default
    nothing follows.
    """
    k, log_moves, log_after = (
        scores.shape[1],
        _log(transitions),
        _log(np.ones(len(initial)) if after is None else after),
    )
    likelihood, held, head = np.zeros(len(ends) - 1), np.zeros(scores.shape), np.ones((len(ends) - 1, k))
    first, moves, emitted = np.zeros(k), np.zeros((k, k)), 0.0
    for index, part in _parts(ends):
        own, weight = scores[part], 1.0 if weights is None else float(weights[index])
        ahead, sums = _forward(own, _log(initial), log_moves)
        rest = _log_sum(ahead[-1] + log_after)
        likelihood[index] = sums.sum() + rest
        if np.isneginf(likelihood[index]):
            continue
        behind, follows = np.empty(own.shape), np.empty(own.shape)  # beside what was expected of the rows so far
        behind[-1] = log_after - rest
        for t in range(len(own) - 1, -1, -1):
            follows[t] = own[t] + behind[t] - sums[t]
            if t:
                behind[t - 1] = _log_sum(log_moves + follows[t], axis=1)
        with np.errstate(under="ignore"):
            shares = weight * np.exp(ahead + behind)
            moves += weight * np.exp(ahead[:-1, :, None] + log_moves + follows[1:, None, :]).sum(axis=0)
            head[index] = np.exp(follows[0] - follows[0].max())
        held[part] = shares
        first += shares[0]
        emitted += float((shares * np.where(shares > 0, own, 0.0)).sum())
    return Smoothed(likelihood, held, first, moves, emitted, head)


def filtered(scores: Array, ends: Integers, initial: Array, transitions: Array) -> tuple[Array, Array]:
    """Log-likelihoods (m,), and the probability of each state given the rows of its sequence so far, (n, k).

    From the first row on that cannot be, there are none.
    """
    likelihood, states = np.zeros(len(ends) - 1), np.zeros(scores.shape)
    for index, part in _parts(ends):
        ahead, sums = _forward(scores[part], _log(initial), _log(transitions))
        likelihood[index] = sums.sum()
        with np.errstate(under="ignore"):
            states[part] = np.exp(ahead)
    return likelihood, states


def log_likelihoods(scores: Array, ends: Integers, initial: Array, transitions: Array) -> Array:
    """The log-likelihood of each sequence, (m,): what `filtered` finds beside the states."""
    return filtered(scores, ends, initial, transitions)[0]


def best_path(scores: Array, ends: Integers, initial: Array, transitions: Array) -> tuple[Array, Integers]:
    """The most probable path of states (n,), the first of equal ones, and its log joint probability with the rows (m,).

    A sequence that cannot be has −1 for states (Viterbi 1967; Forney 1973, The Viterbi algorithm, Proceedings of the
    IEEE 61, 268-278).
    """
    log_prob, path = np.zeros(len(ends) - 1), np.full(len(scores), -1, np.int64)
    log_moves = _log(transitions)
    for index, part in _parts(ends):
        own = scores[part]
        came, best = np.zeros(own.shape, np.int64), _log(initial) + own[0]
        for t in range(1, len(own)):
            reached = best[:, None] + log_moves
            came[t] = reached.argmax(axis=0)
            best = reached.max(axis=0) + own[t]
        log_prob[index] = best.max()
        if np.isneginf(log_prob[index]):
            continue
        state = int(best.argmax())
        for t in range(len(own) - 1, -1, -1):
            path[part.start + t] = state
            state = int(came[t, state])
    return log_prob, path


def _parts(ends: Integers) -> Iterator[tuple[int, slice]]:
    """The sequences that have rows."""
    for index, (begin, end) in enumerate(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)):
        if end > begin:
            yield index, slice(begin, end)


def _forward(scores: Array, log_initial: Array, log_moves: Array) -> tuple[Array, Array]:
    """Log P(state | rows so far) of one sequence, (n, k), and log p(row | rows before it), (n,)."""
    ahead, sums = np.full(scores.shape, -np.inf), np.zeros(len(scores))
    for t, row in enumerate(scores):
        ahead[t] = row + (log_initial if t == 0 else _log_sum(ahead[t - 1][:, None] + log_moves, axis=0))
        sums[t] = _log_sum(ahead[t])
        if np.isneginf(sums[t]):
            break
        ahead[t] -= sums[t]
    return ahead, sums


def _log(probabilities: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(probabilities))


def _log_sum(values: Array, axis: int = -1) -> Array:
    """Log Σ exp along an axis; of nothing but −inf it is −inf."""
    top = values.max(axis=axis, keepdims=True)
    away = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore", under="ignore"):
        found = np.log(np.exp(values - away).sum(axis=axis))
    return np.asarray(found + away.squeeze(axis))
