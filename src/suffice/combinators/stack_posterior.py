"""Beliefs about members of different kinds: one posterior per member."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.core.distribution import Alert
from suffice.core.parameters import Array


@dataclass(frozen=True, eq=False)
class StackPosterior:
    """The posterior of each member of a stack, in their order; accepted wherever a prior is."""

    likelihood: Any
    members: tuple[Any, ...]

    def __iter__(self) -> Any:
        """Go through the posteriors of the members."""
        return iter(self.members)

    def __getitem__(self, index: int) -> Any:
        """Return the posterior of one member."""
        return self.members[index]

    @property
    def log_evidence(self) -> Array:
        """Log marginal likelihood of each member's rows, (k,)."""
        return np.array([one.log_evidence for one in self.members])

    @property
    def alerts(self) -> tuple[Alert, ...]:
        """The alerts of each member, with its number."""
        return tuple((code, f"member {j}: {text}") for j, one in enumerate(self.members) for code, text in one.alerts)

    @property
    def mean(self) -> list[Any]:
        """The expected parameters of each member."""
        return [one.mean for one in self.members]

    @property
    def std(self) -> list[Any]:
        """The standard deviations of each member's parameters."""
        return [one.std for one in self.members]

    def interval(self, level: float = 0.95) -> list[Any]:
        """Central credible intervals of each member's parameters."""
        return [one.interval(level) for one in self.members]

    def sample(self, n: int = 1, random_state: Any = None) -> list[Any]:
        """Draw parameters of each member."""
        rng = np.random.default_rng(random_state)
        return [one.sample(n, rng) for one in self.members]

    def predictive(self) -> Any:
        """The members' predictives, side by side."""
        return self.likelihood.rebuilt(one.predictive() for one in self.members)

    def expected_member(self) -> tuple[Any, Array]:
        """Members m and offsets (k, Σd) with E[log p(x | θ)] = log m(x) + offsets of its own cells."""
        found = [one.expected_member() for one in self.members]
        members = (one.likelihood.like(member) for one, (member, _) in zip(self.members, found, strict=True))
        return self.likelihood.rebuilt(members), diagonal([offset for _, offset in found])

    def divergence(self) -> Array:
        """D(posterior‖prior) of each member, (k,): what was learned, in nats."""
        return np.concatenate([np.atleast_1d(one.divergence()) for one in self.members])

    def chosen(self, order: Array) -> StackPosterior:
        """The beliefs about some members, in this order."""
        return StackPosterior(self.likelihood.chosen(order), tuple(self.members[j] for j in order))


def diagonal(rows: list[Array]) -> Array:
    """Rows (1, d) of each member as a matrix (k, Σd) with each in its own columns, 0 elsewhere."""
    ends = np.cumsum([0, *(row.shape[1] for row in rows)])
    out = np.zeros((len(rows), ends[-1]))
    for j, row in enumerate(rows):
        out[j, ends[j] : ends[j + 1]] = row[0]
    return out
