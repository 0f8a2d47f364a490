"""What a hidden Markov model keeps of sequences: of each state as a mixture does, and the moves between states."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from suffice.core.responsibilities import Joint
from suffice.em.linear_statistics import from_raw, raw
from suffice.statistics.sums import picked
from suffice.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class Chains(Joint):
    """Statistics of sequences whose states are not seen, given the parameters that gathered them.

    ``first`` (k,) is the expected number of sequences that begin in each state, ``moves`` (k, k) that of the moves
    between states. ``named`` says that some states were known. ``count`` and ``components`` are of the rows of
    each state; ``entropy`` is that of the paths.
    """

    first: Array = field(default_factory=lambda: np.zeros(0))
    moves: Array = field(default_factory=lambda: np.zeros((0, 0)))
    named: bool = False

    def __add__(self, other: Any) -> Self:
        both: Any = super().__add__(other)
        first, moves = self.first + other.first, self.moves + other.moves
        return replace(both, first=first, moves=moves, named=self.named or other.named)  # type: ignore[no-any-return]

    def __mul__(self, factor: float) -> Self:
        found: Any = super().__mul__(factor)
        return replace(found, first=self.first * factor, moves=self.moves * factor)  # type: ignore[no-any-return]

    def permuted(self, order: Array) -> Self:
        """The same with the states in another order."""
        return replace(
            self,
            count=self.count[order],
            components=picked(self.components, order),
            first=self.first[order],
            moves=self.moves[np.ix_(order, order)],
        )


@raw.register
def _(stats: Chains, about: Any) -> Array:
    return np.concatenate([stats.count, stats.first, stats.moves.ravel(), raw(stats.components, about)])


@from_raw.register
def _(stats: Chains, vector: Array, about: Any) -> Any:
    k = len(stats.count)
    count, first, moves, rest = np.split(vector, [k, 2 * k, 2 * k + k * k])
    if (vector[: 2 * k + k * k] < 0).any():
        return None
    components = from_raw(stats.components, rest, about)
    if components is None:
        return None
    return replace(stats, count=count, first=first, moves=moves.reshape(k, k), components=components)
