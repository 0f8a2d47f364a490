"""Components cut in two, and two made one: other ways to share out the rows, from which a run may end higher.

Shares are responsibilities (rows, k); places are points (rows, d) that stand for the rows, with the weights they hold.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from suffice.types import Array

LEAN = 0.9  # how much more of a row on its side a half gets, relative to its whole
CHOICES = 2  # pairs that are made one, and components that are cut
LIGHT = 0.25  # of an equal part of the rows: a component with less is not cut
WIDE = 64  # columns from which a principal axis is sought by steps: the matrix of all would take longer than the runs
STEPS = 16  # of Lanczos; an axis that they do not find is hardly longer than others


def moves(shares: Array, places: Array, held: Array, log_density: Array) -> Iterator[Array]:
    """The shares with two components made one and another begun, the most promising first.

    Made one are those that share most of their rows, but first of all one that has hardly any, and its next. The other
    is half of a component whose rows lie along their principal axis as if in two heaps, or spread most; or it gets the
    rows of the least log density, ``log_density`` (n,), which no component describes.
    """
    lines = [along(share * held, places) for share in shares.T]
    wide = np.argsort([-spread for _, spread in lines], kind="stable").tolist()
    heaped = np.argsort(_peakedness(shares, held, lines), kind="stable").tolist()
    for first, second in _pairs(shares, held):
        merged = shares.copy()
        merged[:, first] += merged[:, second]
        cuts = [next((one for one in order if one not in (first, second)), None) for order in (heaped, wide)]
        for cut in dict.fromkeys([cuts[0], None, cuts[1]]):
            found = merged.copy()
            if cut is None:
                found[:, second] = 0.0
                lost = _lost(held, log_density, shares.shape[1])
                found[lost] *= 1 - LEAN
                found[lost, second] = LEAN
            else:
                found[:, [cut, second]] = halves(shares[:, cut], places, held, LEAN)
            yield found


def _lost(held: Array, log_density: Array, k: int) -> Array:
    """The rows of least log density, as many as an equal part of them all."""
    order = np.argsort(log_density, kind="stable")
    return order[: int(np.searchsorted(np.cumsum(held[order]), held.sum() / k)) + 1]


def _pairs(shares: Array, held: Array) -> list[tuple[int, int]]:
    """Components that may be one."""
    k = shares.shape[1]
    together = shares.T @ (held[:, None] * shares)
    own = np.sqrt(np.maximum(np.diag(together), 1e-300))
    alike = together / (own[:, None] * own)
    np.fill_diagonal(alike, -1.0)
    weight = held @ shares
    lightest = int(np.argmin(weight))
    found = [(int(np.argmax(alike[lightest])), lightest)] if weight[lightest] < LIGHT * weight.sum() / k else []
    best = np.argsort(-np.triu(alike, 1), axis=None, kind="stable")[:CHOICES]
    found += [pair for place in best if (pair := divmod(int(place), k))[::-1] not in found]
    return [pair for pair in dict.fromkeys(found) if alike[pair] >= 0]


def _peakedness(shares: Array, held: Array, lines: list[tuple[Array, float]]) -> Array:
    """The kurtosis (k,) of each component's rows along their principal axis: small where they lie in two heaps."""
    found, least = np.full(shares.shape[1], np.inf), LIGHT * float(held.sum()) / shares.shape[1]
    for j, (place, spread) in enumerate(lines):
        mine = shares[:, j] * held
        if mine.sum() > least and spread > 0:
            found[j] = (float(mine @ place**4) / spread) * (float(mine.sum()) / spread)
    return found


def widest(shares: Array, places: Array, held: Array) -> Array:
    """Components by falling weight × variance along their principal axis."""
    spreads = [along(share * held, places)[1] for share in shares.T]
    return np.argsort(-np.array(spreads), kind="stable")


def along(mine: Array, places: Array) -> tuple[Array, float]:
    """Places (n,) of rows on the principal axis of the weights, and weight × variance along it."""
    total = max(float(mine.sum()), 1e-300)
    centred = places - (mine @ places) / total
    axis, spread = _principal(mine, centred)
    return centred @ axis, spread


def _principal(mine: Array, centred: Array) -> tuple[Array, float]:
    """The principal axis (d,) of centred places (n, d), and weight × variance along it."""
    if centred.shape[1] > WIDE:
        basis = _likely_axes(mine, centred)
        axis, spread = _principal(mine, centred @ basis.T)
        return axis @ basis, spread
    if not centred.size:  # columns without a single level
        return np.zeros(centred.shape[1]), 0.0
    values, vectors = np.linalg.eigh((centred * mine[:, None]).T @ centred)
    return vectors[:, -1], float(values[-1])


def _likely_axes(mine: Array, centred: Array) -> Array:
    """Orthogonal axes (≤ STEPS, d) that all but hold the principal one: Lanczos' steps from the heaviest place."""
    basis = np.zeros((STEPS, centred.shape[1]))
    mine = np.ldexp(mine, -int(np.frexp(mine.max())[1]))  # in a unit whose squares are numbers
    step = centred[np.argmax(mine * np.einsum("nd,nd->n", centred, centred))]
    for i in range(STEPS):
        size = np.linalg.norm(step)
        for _ in range(2):  # once would leave what rounding does
            step = step - (basis[:i] @ step) @ basis[:i]
        left = np.linalg.norm(step)
        if not left > 1e-10 * size:
            return basis[: max(i, 1)]
        basis[i] = step / left
        step = (mine * (centred @ basis[i])) @ centred
    return basis


def halved(shares: Array, places: Array, held: Array, j: int, lean: float, *, core: bool = False) -> Array:
    """The shares (rows, k + 1) with component j in two."""
    both = halves(shares[:, j], places, held, lean, core=core)
    return np.concatenate([shares[:, :j], both, shares[:, j + 1 :]], axis=1)


def halves(share: Array, places: Array, held: Array, lean: float, *, core: bool = False) -> Array:
    """The share (rows,) of a component cut across its principal axis, or into a core and a rim along it, (rows, 2)."""
    mine = share * held
    place, spread = along(mine, places)
    side = place**2 * mine.sum() < spread / 2 if core else place > 0
    part = np.where(side, 1 + lean, 1 - lean) / 2
    return np.stack([share * part, share * (1 - part)], axis=1)
