"""Transition matrices: their stationary distribution, and the matrix that expected moves are most likely under."""

from __future__ import annotations

import numpy as np

from suffice.types import Array

ROUNDS = 200  # of the stationary M-step; it comes nearer by a factor of about sequences / rows in each
REST = 1e-13  # change of a probability that ends it
HALVINGS = 40


def stationary(transitions: Array) -> Array:
    """The distribution (k,) that a step leaves as it is: δ = δΓ.

    Where there are several, that which a chain from the uniform distribution comes to on average.

    >>> from suffice.models.transition_matrix import stationary
    >>> stationary(np.array([[0.9, 0.1], [0.3, 0.7]]))
    array([0.75, 0.25])
    """
    k = len(transitions)
    system = np.eye(k) - transitions + 1.0
    if np.linalg.cond(system) < 1e12:
        found = np.linalg.solve(system.T, np.ones(k))
    else:  # several classes that are never left; the lazy chain has no periods
        power = (np.eye(k) + transitions) / 2
        for _ in range(60):
            power = power @ power
            power /= power.sum(axis=1, keepdims=True)
        found = power.mean(axis=0)
    found = np.where(found > 1e-15, found, 0.0)
    return np.asarray(found / found.sum())


def proportions(counts: Array, otherwise: Array) -> Array:
    """Counts (…, k) as probabilities; where there are none, the others."""
    total = counts.sum(axis=-1, keepdims=True)
    return np.where(total > 0, counts / np.where(total > 0, total, 1.0), otherwise)


def within(values: Array, allowed: Array) -> Array:
    """Probabilities (…, k) of what is allowed; where that leaves nothing, equal ones."""
    kept = np.where(allowed > 0, values, 0.0)
    return proportions(kept, allowed / allowed.sum(axis=-1, keepdims=True))


def locked(value: Array) -> Array:
    """The same array, read-only."""
    value.flags.writeable = False
    return value


def with_stationary_start(moves: Array, first: Array, current: Array) -> Array:
    r"""Transitions that raise :math:`\sum m_{ij} \log \Gamma_{ij} + \sum n_i \log \delta_i(\Gamma)`, δ stationary.

    At a maximum :math:`m_{ij}/\Gamma_{ij} + \delta_i g_j` is the same for all j, with
    :math:`g = (I - \Gamma + 1\delta)^{-1} (n/\delta)`; so Γ is in proportion to
    :math:`m_{ij} + \Gamma_{ij} \delta_i (g_j - \min g)`, which is solved by repetition. A step that lowers the sum is
    shortened (MacDonald and Zucchini 2009, Hidden Markov Models for Time Series, 4.2).
    """

    def objective(matrix: Array) -> float:
        start = stationary(matrix)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(moves > 0, moves * np.log(matrix), 0.0).sum()
            return float(found + np.where(first > 0, first * np.log(start), 0.0).sum())

    def step(matrix: Array) -> Array:
        start = stationary(matrix)
        with np.errstate(divide="ignore", invalid="ignore"):
            pull = np.where(first > 0, first / start, 0.0)
        gain = np.linalg.solve(np.eye(len(matrix)) - matrix + start, pull)
        return proportions(moves + matrix * start[:, None] * (gain - gain.min()), matrix)

    best, most = current, objective(current)
    plain = proportions(moves, current)
    if objective(plain) > most:
        best, most = plain, objective(plain)
    for _ in range(ROUNDS):
        try:
            ahead = step(best)
        except np.linalg.LinAlgError:
            return best
        for _ in range(HALVINGS):
            reached = objective(ahead)
            if reached >= most or np.abs(ahead - best).max() < REST:
                break
            ahead = (ahead + best) / 2
        if not reached > most:
            return best
        moved, best, most = np.abs(ahead - best).max(), ahead, reached
        if moved < REST:
            return best
    return best


def draw_states(initial: Array, transitions: Array, n: int, rng: np.random.Generator) -> Array:
    """A path of n states of a chain."""
    states = np.empty(n, np.intp)
    steps, first = np.cumsum(transitions, axis=1), np.cumsum(initial)
    drawn = rng.random(n)
    for t in range(n):
        ends = first if t == 0 else steps[states[t - 1]]
        states[t] = np.searchsorted(ends, drawn[t] * ends[-1], side="right")
    return states
