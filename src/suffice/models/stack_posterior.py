"""Beliefs about components of different kinds: one posterior per component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.types import Alert, Array, Seed


@dataclass(frozen=True, eq=False)
class StackPosterior:
    """The posterior of each component of a stack, in their order; accepted wherever a prior is."""

    likelihood: Any
    components: tuple[Any, ...]

    def __iter__(self) -> Any:
        """Go through the posteriors of the components."""
        return iter(self.components)

    def __getitem__(self, index: int) -> Any:
        """Return the posterior of one component."""
        return self.components[index]

    @property
    def log_evidence(self) -> Array:
        """Log marginal likelihood of each component's rows, (k,)."""
        return np.array([one.log_evidence for one in self.components])

    @property
    def alerts(self) -> tuple[Alert, ...]:
        """The alerts of each component, with its number."""
        return tuple(alert.of_component(j) for j, one in enumerate(self.components) for alert in one.alerts)

    @property
    def mean(self) -> list[Any]:
        """The expected parameters of each component."""
        return [one.mean for one in self.components]

    @property
    def std(self) -> list[Any]:
        """The standard deviations of each component's parameters."""
        return [one.std for one in self.components]

    def interval(self, level: float = 0.95) -> list[Any]:
        """Central credible intervals of each component's parameters."""
        return [one.interval(level) for one in self.components]

    def sample(self, n: int = 1, random_state: Seed = None) -> list[Any]:
        """Draw parameters of each component."""
        rng = np.random.default_rng(random_state)
        return [one.sample(n, rng) for one in self.components]

    def predictive(self) -> Any:
        """The components' predictives, side by side."""
        return self.likelihood.rebuilt(one.predictive() for one in self.components)

    def expected_component(self) -> tuple[Any, Array]:
        """Components m and offsets (k, Σd) with E[log p(x | θ)] = log m(x) + offsets of its own cells."""
        found = [one.expected_component() for one in self.components]
        components = (
            one.likelihood.like(component) for one, (component, _) in zip(self.components, found, strict=True)
        )
        return self.likelihood.rebuilt(components), diagonal([offset for _, offset in found])

    def divergence(self) -> Array:
        """D(posterior‖prior) of each component, (k,): what was learned, in nats."""
        return np.concatenate([np.atleast_1d(one.divergence()) for one in self.components])

    def take_components(self, order: Array) -> StackPosterior:
        """The beliefs about some components, in this order."""
        return StackPosterior(self.likelihood.take_components(order), tuple(self.components[j] for j in order))


def diagonal(rows: list[Array]) -> Array:
    """Rows (1, d) of each component as a matrix (k, Σd) with each in its own columns, 0 elsewhere."""
    ends = np.cumsum([0, *(row.shape[1] for row in rows)])
    out = np.zeros((len(rows), ends[-1]))
    for j, row in enumerate(rows):
        out[j, ends[j] : ends[j + 1]] = row[0]
    return out
