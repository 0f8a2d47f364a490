"""What the layers above define and those below make: products, mixtures and posteriors.

The root of the package says where they are (`provide`), so that no layer imports from one above it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from suffice.types import Array

_LOADERS: dict[str, Callable[[], Any]] = {}


def provide(**loaders: Callable[[], Any]) -> None:
    """Say how each name is loaded on first use."""
    _LOADERS.update(loaders)


def make_product(parts: Mapping[Any, Any]) -> Any:
    """A product of distributions by the names of their columns."""
    return _LOADERS["Product"]()(parts)


def make_mixture(components: Sequence[Any], weights: Array) -> Any:
    """A mixture of distributions with these weights."""
    return _LOADERS["Mixture"]()(components, weights=weights)


def pair_with_prior(likelihood: Any, stats: Any, prior: Any) -> Any:
    """The conjugate posterior of a likelihood after the statistics."""
    return _LOADERS["conjugate_posterior"]()(likelihood, stats, prior)


def approximate_posterior(model: Any, rows: Any, weights: Any, prior: Any, options: dict[str, Any]) -> Any:
    """The variational posterior of a mixture: beliefs about its parameters that come near the true one."""
    return _LOADERS["variational_posterior"]()(model, rows, weights, prior, options)
