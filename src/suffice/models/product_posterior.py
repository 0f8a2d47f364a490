"""Beliefs about independent parts: one posterior per part."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.bayes.posterior import named_columns
from suffice.display.posterior_summary import Belief, assembled, believed
from suffice.display.summary import Summary
from suffice.message_parts import Columns
from suffice.models.columns import names_of
from suffice.types import Alert, Array, Seed


@dataclass(frozen=True, eq=False)
class ProductPosterior(Belief):
    """The posterior of each part of a product, by column; accepted wherever a prior is."""

    likelihood: Any
    beliefs: dict[Any, Any]
    column_names: tuple[Any, ...] | None = None

    def __getitem__(self, column: Hashable) -> Any:
        """Return the posterior of one part."""
        return self.beliefs[column]

    def _ask(self, question: Callable[..., Any]) -> dict[Any, Any]:
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
            alert.of_columns(Columns.named(*names_of(key)))
            for key, belief in zip(self._named_likelihood.blocks, self.beliefs.values(), strict=True)
            for alert in belief.alerts
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

    def sample(self, n: int = 1, random_state: Seed = None) -> dict[Any, Any]:
        """Draw parameters of each part."""
        rng = np.random.default_rng(random_state)
        return self._ask(lambda belief: belief.sample(n, rng))

    @property
    def _named_likelihood(self) -> Any:
        """The likelihood with the names of the data's columns."""
        return self.likelihood if self.column_names is None else self.likelihood.with_column_names(self.column_names)

    def summarize(self) -> Summary:
        """What there is to say about the beliefs, as values."""
        keys = self._named_likelihood.blocks
        pairs = zip(keys, self.beliefs.values(), strict=True)
        parts = [believed(one, key if isinstance(key, tuple) else (key,)) for key, one in pairs]
        return assembled("Beliefs about independent columns", self, tuple(one for part in parts for one in part), "")

    def predictive(self) -> Any:
        """The distribution of a new row: the product of the parts' predictives."""
        found = self.likelihood.rebuilt(belief.predictive() for belief in self.beliefs.values())
        return named_columns(found, self.column_names)

    def expected_component(self) -> tuple[Any, Array]:
        """Components m and offsets (k, d) with E[log p(x | θ)] = log m(x) + offset of each cell."""
        components, offsets = zip(*(belief.expected_component() for belief in self.beliefs.values()), strict=True)
        return self.likelihood.rebuilt(components), np.concatenate(offsets, axis=1)

    def divergence(self) -> Array:
        """D(posterior‖prior) of each component, (k,): what was learned, in nats."""
        return np.asarray(sum(belief.divergence() for belief in self.beliefs.values()))

    def take_components(self, order: Array) -> ProductPosterior:
        """The beliefs about some components of a stack, in this order."""
        return ProductPosterior(
            self.likelihood.take_components(order), self._ask(lambda belief: belief.take_components(order))
        )

    def estimate(self) -> Any:
        """The product at the mode of the beliefs."""
        return self.likelihood.rebuilt(belief.estimate() for belief in self.beliefs.values())
