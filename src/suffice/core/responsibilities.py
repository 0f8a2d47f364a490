"""Responsibilities: P(component given row), and the E-step that any stack inherits.

``e_step`` scores rows under every component, turns the scores into responsibilities, and gathers each component's
statistics under them: an E-step. The statistics that a model with a hidden component keeps are `Joint`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from suffice import kernels
from suffice.errors import UnsupportedError
from suffice.statistics.sums import Additive, checked_factor, refuse_negative, same_kind
from suffice.statistics.weights import Weights
from suffice.types import Array

BLOCK_CELLS = 1 << 17  # rows × components that are scored at a time: 1 MB
TINY = float(np.finfo(float).tiny)
ROOT_OF_TINY = 1e-150  # the sum of weights below which their squares may be 0


class Responsibilities(NamedTuple):
    """Rows shared out among components.

    Log Σ exp of the scores (n,), responsibilities (n, k), and their entropy (n,).
    """

    total: Array
    parts: Array
    entropy: Array


def normalize(scores: Array) -> Responsibilities:
    """Normalise scores (n, k) = log π + log p(x | component); a row that no component can have made belongs to none."""
    return Responsibilities(*kernels.shares(scores))


def plus(scores: Any, log_weights: Array) -> Array:
    """Scores (n, k) with log-weights (k,) or (n, k), written over the scores where these are nobody else's."""
    found = np.asarray(scores)
    ours = found.flags.owndata and found.flags.writeable and found.dtype == np.float64  # else digits would be lost
    out: Array = np.add(found, log_weights, out=found if ours else None)
    return out


@dataclass(frozen=True)
class EStep:
    """An E-step: the log-likelihood, the entropy of the responsibilities, and the components' statistics under them.

    ``count`` (k,) is the weight of the rows that each component got, with those whose cells are all missing.
    """

    log_likelihood: float
    entropy: float
    statistics: Any
    count: Array = field(repr=False)

    def __iter__(self) -> Iterator[Any]:
        """Unpack as (log_likelihood, entropy, statistics)."""
        return iter((self.log_likelihood, self.entropy, self.statistics))

    def __add__(self, other: EStep) -> EStep:
        return EStep(
            self.log_likelihood + other.log_likelihood,
            self.entropy + other.entropy,
            self.statistics + other.statistics,
            self.count + other.count,
        )


def e_step(stack: Any, x: Any, log_weights: Array, weights: Array | None, *, hard: bool = False) -> EStep:
    """The E-step of any stack, some rows at a time: from ``log_density`` and ``gather`` alone.

    ``hard`` gives each row to its best component as a whole; the log-likelihood is then that of rows and components
    together.
    """
    step = max(BLOCK_CELLS // stack.n_components, 256)

    def block(begin: int) -> EStep:
        part = slice(begin, begin + step)
        rows, w = x[part], None if weights is None else weights[part]
        scores = stack.log_density(rows) + (log_weights if log_weights.ndim == 1 else log_weights[part])
        return _assign(stack, rows, scores, w, begin) if hard else _share(stack, rows, scores, w, begin)

    return reduce(add, map(block, range(0, max(len(x), 1), step)))  # even no rows make one block


def _share(stack: Any, rows: Any, scores: Array, w: Array | None, offset: int) -> EStep:
    total, parts, entropy = normalize(scores)
    if w is not None:
        parts *= w[:, None]
        with np.errstate(invalid="ignore"):
            total, entropy = np.where(w > 0, w * total, 0.0), w * entropy
    held = Weights(len(rows), parts, n_components=stack.n_components, offset=offset)
    return EStep(float(total.sum()), float(entropy.sum()), stack.gather(rows, held), parts.sum(axis=0))


def _assign(stack: Any, rows: Any, scores: Array, w: Array | None, offset: int) -> EStep:
    best = scores.argmax(axis=1)
    top = scores[np.arange(len(best)), best]
    codes = np.where(np.isfinite(top), best, -1)
    held = Weights(len(rows), w, codes.astype(np.intp), stack.n_components, offset)
    with np.errstate(invalid="ignore"):
        top = top if w is None else np.where(w > 0, w * top, 0.0)
    return EStep(float(top.sum()), 0.0, stack.gather(rows, held), held.component_totals())


@dataclass(frozen=True, eq=False, repr=False)
class Joint(Additive):
    """What a mixture keeps of rows.

    The weight and the statistics of each component, given the parameters that gathered.

    Where it is known who made each row, and the components' statistics are exact, so are these: no parameters were
    used. Else ``log_likelihood`` is Σ w log p(x) under those parameters and ``entropy`` that of the responsibilities,
    both (1,). ``solid``, Σ w min(w, 1) in (1,), tells how many rows there are where weights are shares.
    """

    count: Array
    components: Any
    log_likelihood: Array
    entropy: Array
    exact: bool = False
    solid: Array = field(default_factory=lambda: np.zeros(1))

    @property
    def rows(self) -> Array:
        """How many rows each component rests on, (k,): Σ w.

        Where weights are less than 1, as (Σ w)²/Σ w² counts them.
        """
        return np.asarray(self.count / self.row)

    @property
    def row(self) -> float:
        """The weight of one row: 1, or where weights are shares what they are on average."""
        total, solid = float(self.count.sum()), float(self.solid[0])
        if solid > 0:
            return min(solid / total, 1.0)
        return TINY if 0 < total < ROOT_OF_TINY else 1.0  # squares of such weights are 0: nothing is known of rows

    @property
    def weight(self) -> Array:
        """Σ w of the cells (1, d) or rows (1,) that were seen, whoever made them."""
        return np.asarray(np.sum(self.components.weight, axis=0, keepdims=True))

    def __add__(self, other: Joint) -> Joint:
        same_kind(self, other)
        return replace(
            self,
            count=self.count + other.count,
            components=self.components + other.components,
            log_likelihood=self.log_likelihood + other.log_likelihood,
            entropy=self.entropy + other.entropy,
            exact=self.exact and other.exact,
            solid=self.solid + other.solid,
        )

    def __mul__(self, factor: float) -> Joint:
        factor = checked_factor(factor)
        return replace(
            self,
            count=self.count * factor,
            components=self.components * factor,
            log_likelihood=self.log_likelihood * factor,
            entropy=self.entropy * factor,
            solid=self.solid * factor * min(factor, 1.0),
        )

    def __sub__(self, other: Joint) -> Joint:
        same_kind(self, other)
        if not (self.exact and other.exact):
            msg = (
                "rows cannot be removed from the statistics of a mixture: who made the other rows was decided with "
                "them. Fit again without the rows."
            )
            raise UnsupportedError(msg)
        return replace(
            self,
            count=refuse_negative(self.count, other.count),
            components=self.components - other.components,
            log_likelihood=self.log_likelihood - other.log_likelihood,
            entropy=self.entropy - other.entropy,
            solid=np.maximum(self.solid - other.solid, 0.0),
        )
