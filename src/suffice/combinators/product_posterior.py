"""Beliefs about independent parts: one posterior per part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.core.belief_portrait import Belief, assembled, believed
from suffice.core.distribution import Alert
from suffice.core.parameters import Array
from suffice.core.portrait import Portrait
from suffice.core.posterior import named_columns


@dataclass(frozen=True, eq=False)
class ProductPosterior(Belief):
    """The posterior of each part of a product, by column; accepted wherever a prior is."""

    likelihood: Any
    beliefs: dict[Any, Any]
    column_names: tuple[Any, ...] | None = None

    def __getitem__(self, column: Any) -> Any:
        """Return the posterior of one part."""
        return self.beliefs[column]

    def _ask(self, question: Any) -> dict[Any, Any]:
        answers = {key: question(belief) for key, belief in self.beliefs.items()}
        found: dict[Any, Any] = self.likelihood.by_key(answers)
        return found

    @property
    def log_evidence(self) -> Any:
        """Log marginal likelihood of the data: the sum over the parts."""
        return sum(belief.log_evidence for belief in self.beliefs.values())

    @property
    def alerts(self) -> tuple[Alert, ...]:
        """The alerts of each part, with its column."""
        return tuple(
            (c, f"column {key!r}: {text}")
            for key, belief in zip(self._told.blocks, self.beliefs.values(), strict=True)
            for c, text in belief.alerts
        )

    @property
    def mean(self) -> dict[Any, Any]:
        """The expected parameters of each part."""
        return self._ask(lambda belief: belief.mean)

    @property
    def mode(self) -> dict[Any, Any]:
        """The most probable parameters of each part."""
        return self._ask(lambda belief: belief.mode)

    @property
    def std(self) -> dict[Any, Any]:
        """The standard deviations of each part's parameters."""
        return self._ask(lambda belief: belief.std)

    def interval(self, level: float = 0.95) -> dict[Any, Any]:
        """Central credible intervals of each part's parameters."""
        return self._ask(lambda belief: belief.interval(level))

    def sample(self, n: int = 1, random_state: Any = None) -> dict[Any, Any]:
        """Draw parameters of each part."""
        rng = np.random.default_rng(random_state)
        return self._ask(lambda belief: belief.sample(n, rng))

    @property
    def _told(self) -> Any:
        """The likelihood with the names of the data's columns."""
        return self.likelihood if self.column_names is None else self.likelihood.with_column_names(self.column_names)

    def portrait(self) -> Portrait:
        """What there is to say about the beliefs, as values."""
        keys = self._told.blocks
        pairs = zip(keys, self.beliefs.values(), strict=True)
        parts = [believed(one, key if isinstance(key, tuple) else (key,)) for key, one in pairs]
        return assembled("Beliefs about independent columns", self, tuple(one for part in parts for one in part), "")

    def predictive(self) -> Any:
        """The distribution of a new row: the product of the parts' predictives."""
        found = self.likelihood.rebuilt(belief.predictive() for belief in self.beliefs.values())
        return named_columns(found, self.column_names)

    def expected_member(self) -> tuple[Any, Array]:
        """Members m and offsets (k, d) with E[log p(x | θ)] = log m(x) + offset of each cell."""
        members, offsets = zip(*(belief.expected_member() for belief in self.beliefs.values()), strict=True)
        return self.likelihood.rebuilt(members), np.concatenate(offsets, axis=1)

    def divergence(self) -> Array:
        """D(posterior‖prior) of each member, (k,): what was learned, in nats."""
        return np.asarray(sum(belief.divergence() for belief in self.beliefs.values()))

    def chosen(self, order: Array) -> ProductPosterior:
        """The beliefs about some members of a stack, in this order."""
        return ProductPosterior(self.likelihood.chosen(order), self._ask(lambda belief: belief.chosen(order)))

    def estimate(self) -> Any:
        """The product at the mode of the beliefs."""
        return self.likelihood.rebuilt(belief.estimate() for belief in self.beliefs.values())
