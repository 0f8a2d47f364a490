"""What to believe of a product: a prior for each of its parts, and their posteriors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from suffice.errors import ParameterError, UnsupportedError, naming
from suffice.models.columns import beside
from suffice.models.product_posterior import ProductPosterior
from suffice.statistics.sums import Parts
from suffice.statistics.weights import Weights
from suffice.types import Array, Prior, Rows


class ProductPriors:
    """Priors of a product, as a base class of it."""

    blocks: Any  # of the product itself, as all of these
    named: Any
    for_data: Any
    check_family: Any
    _columns_of: Any

    def priors(self, prior: Prior) -> dict[Any, Any]:
        """The prior of each part."""
        if prior is None:
            return {}
        if isinstance(prior, str):
            return dict.fromkeys(self.blocks, prior)
        if isinstance(prior, ProductPosterior):
            return prior.beliefs
        if isinstance(prior, (list, tuple)) and not self.named and len(prior) == len(self.blocks):
            return dict(enumerate(prior))
        if not isinstance(prior, Mapping):
            msg = f"a product's prior is {{column: prior}}; got {prior!r:.60}."
            raise UnsupportedError(msg)
        given, found = dict(prior), {}
        for key in self.blocks:
            if key in given:
                found[key] = given.pop(key)
            elif isinstance(key, tuple) and not given.keys().isdisjoint(key):
                found[key] = beside(key, [given.pop(name, None) for name in key])
        if given:
            there = ", ".join(map(repr, self.blocks))
            msg = f"the prior speaks of {next(iter(given))!r}, but the product has {there}. Name them alike."
            raise ParameterError(msg)
        return found

    def posterior(self, stats: Parts, prior: Prior) -> ProductPosterior:
        """What to believe of each part's parameters; independent parts have independent beliefs."""
        self.check_family(stats)
        priors = self.priors(prior)
        silent = [key for key in self.blocks if priors.get(key) is None]
        if silent:
            msg = f"the prior says nothing of column {silent[0]!r}; give each part one, or 'weak'."
            raise UnsupportedError(msg)
        paired = zip(self.blocks.items(), stats.parts, strict=True)
        beliefs = {key: block.posterior(part, priors[key]) for (key, block), part in paired}
        return ProductPosterior(self, beliefs)

    def weak_prior(self, stats: Any, part: float = 1.0) -> dict[Any, Any]:
        paired = zip(self.blocks.items(), stats.parts, strict=True)
        return {key: block.weak_prior(own, part) for (key, block), own in paired}

    def log_prior(self, prior: dict[Any, Any]) -> Array:
        priors = self.priors(prior)
        given = {key: belief for key, belief in priors.items() if belief is not None}
        return np.asarray(sum(np.sum(self.blocks[key].log_prior(belief)) for key, belief in given.items()))

    def default_prior(self, rows: Rows, weights: Weights, part: float = 1.0) -> Any:
        found = {key: block.default_prior(own, weights, part) for (key, block), own in self._each_row_part(rows)}
        return None if all(one is None for one in found.values()) else found

    def resolve_prior(self, prior: Prior, rows: Rows, weights: Weights) -> Any:
        """As each part does; a name is a prior of each part that has one."""
        named = any(isinstance(one, str) for one in self.priors(prior).values())
        return self._resolved("resolve_block_prior" if named else "resolve_prior", prior, rows, weights)

    def resolve_block_prior(self, prior: Prior, rows: Rows, weights: Weights, part: float = 1.0) -> Any:
        return self._resolved("resolve_block_prior", prior, rows, weights, part)

    def _resolved(self, how: str, prior: Prior, rows: Rows, weights: Weights, *part: float) -> Any:
        beliefs, resolved = self.priors(prior), {}
        for (key, block), own in self._each_row_part(rows):
            with naming(self._columns_of(key), UnsupportedError):
                resolved[key] = getattr(block, how)(beliefs.get(key), own, weights, *part)
        same = all(resolved[key] is beliefs.get(key) for key in resolved)
        return prior if same else resolved

    def _each_row_part(self, rows: Any) -> Iterator[tuple[tuple[Any, Any], Any]]:
        return zip(self.for_data(rows).blocks.items(), rows.parts, strict=True)

    def blocks_without_prior(self, prior: dict[Any, Any]) -> tuple[str, ...]:
        beliefs = self.priors(prior)
        found = {key: block.blocks_without_prior(beliefs.get(key)) for key, block in self.blocks.items()}
        return tuple(f"column {key!r} ({name})" for key, names in found.items() for name in names)
