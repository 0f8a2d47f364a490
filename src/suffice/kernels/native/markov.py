"""Native twins of `kernels.numpy.markov`: same names, same signatures, same answers but for the last bits."""

from __future__ import annotations

import numpy as np

from suffice.kernels.native import kernel
from suffice.kernels.native.primitives import _plain
from suffice.kernels.numpy import markov as numpy_markov
from suffice.kernels.numpy.markov import Array, Integers, Smoothed

_forward_backward = kernel("forward_backward", "f64 n i64 n f64 f64 f64 f64 f64 f64 f64 f64 f64 f64")
_filtered = kernel("filtered", "f64 n i64 n f64 f64 f64 f64")
_best_path = kernel("best_path", "f64 n i64 n f64 f64 f64 i64")
MANY = 1024  # states: what the library keeps of them fits the stack


def forward_backward(
    scores: Array,
    ends: Integers,
    initial: Array,
    transitions: Array,
    weights: Array | None = None,
    after: Array | None = None,
) -> Smoothed:
    """The forward-backward algorithm over sequences, whose rows count ``weights`` (m,)."""
    k, m = scores.shape[1], len(ends) - 1
    if k > MANY:
        return numpy_markov.forward_backward(scores, ends, initial, transitions, weights, after)
    likelihood, held, head, emitted = np.zeros(m), np.empty(scores.shape), np.ones((m, k)), np.zeros(1)
    first, moves = np.zeros(k), np.zeros((k, k))
    _forward_backward(
        _plain(scores), k, _plain(ends, np.int64), m, _plain(initial), _plain(transitions),
        None if weights is None else _plain(weights), None if after is None else _plain(after),
        likelihood, held, first, moves, emitted, head,
    )  # fmt: skip
    return Smoothed(likelihood, held, first, moves, float(emitted[0]), head)


def filtered(scores: Array, ends: Integers, initial: Array, transitions: Array) -> tuple[Array, Array]:
    """Log-likelihoods (m,), and the probability of each state given the rows of its sequence so far, (n, k)."""
    k, m = scores.shape[1], len(ends) - 1
    if k > MANY:
        return numpy_markov.filtered(scores, ends, initial, transitions)
    likelihood, states = np.zeros(m), np.empty(scores.shape)
    _filtered(_plain(scores), k, _plain(ends, np.int64), m, _plain(initial), _plain(transitions), likelihood, states)
    return likelihood, states


def log_likelihoods(scores: Array, ends: Integers, initial: Array, transitions: Array) -> Array:
    """The log-likelihood of each sequence, (m,)."""
    k, m = scores.shape[1], len(ends) - 1
    if k > MANY:
        return numpy_markov.log_likelihoods(scores, ends, initial, transitions)
    likelihood = np.zeros(m)
    _filtered(_plain(scores), k, _plain(ends, np.int64), m, _plain(initial), _plain(transitions), likelihood, None)
    return likelihood


def best_path(scores: Array, ends: Integers, initial: Array, transitions: Array) -> tuple[Array, Integers]:
    """The most probable path of states (n,), the first of equal ones, and its log joint probability (m,)."""
    k, m = scores.shape[1], len(ends) - 1
    if k > MANY:
        return numpy_markov.best_path(scores, ends, initial, transitions)
    log_prob, path = np.zeros(m), np.full(len(scores), -1, np.int64)
    _best_path(_plain(scores), k, _plain(ends, np.int64), m, _plain(initial), _plain(transitions), log_prob, path)
    return log_prob, path
