"""The components of a mixture: checked, each by itself, and their parameters and rows put together."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.core.distribution import Distribution
from suffice.core.family import Family
from suffice.errors import ParameterError
from suffice.models.compound import Compound
from suffice.models.stack import Stack, stacked_or_side_by_side
from suffice.tables.rows import is_several
from suffice.types import Array, Data

MOST = 1_000_000  # components


def checked_components(given: Data) -> tuple[Any, ...]:
    """The components of a list, checked."""
    if isinstance(given, type) and issubclass(given, Distribution):
        msg = f"Mixture: give an instance as the prototype: {given.__name__}() instead of {given.__name__}."
        raise ParameterError(msg)
    if not is_several(given):
        msg = f"Mixture: components are a distribution, such as Normal(), or a list of them; got {given!r:.60}."
        raise ParameterError(msg)
    components = tuple(given)
    if not components:
        msg = "Mixture needs at least one component, as in Mixture(Normal(), 2) or Mixture([Normal(), Exponential()])."
        raise ParameterError(msg)
    for index, one in enumerate(components):
        if not isinstance(one, Distribution) or not one.lone:
            msg = f"Mixture: component {index} must be a single distribution, such as Normal(); got {one!r:.60}."
            raise ParameterError(msg)
    return components


def copies(prototype: Any, n: object) -> tuple[Any, int]:
    """N copies side by side, or the prototype itself where it waits to see the columns; and n, checked."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or not 1 <= n <= MOST:
        msg = f"Mixture: n is the number of components, a whole number from 1 to {MOST:,}; got {n!r:.60}."
        raise ParameterError(msg)
    return (stacked_or_side_by_side(prototype, int(n)) if prototype.ready else prototype), int(n)


def ridge(components: Family, floors: float) -> float:
    """A number that is added to variances, checked: only covariances take it."""
    takes = hasattr(components, "structure")
    if not (takes and 0 <= floors < np.inf):
        msg = (
            f"Mixture: floors={floors!r} is a number of at least 0 that is added to the variances of "
            f"MultivariateNormal, and the components are {components!r:.60}; leave it out."
        )
        raise ParameterError(msg)
    return float(floors)


def alone(component: Family) -> Any:
    """A component with numbers, not arrays, where it describes a single column."""
    if isinstance(component, Compound):
        return component.rebuilt(map(alone, component.blocks.values()))
    one = not component.row_vector and component.batch == (1,)
    return component.reshaped(lambda value: value[0]) if one else component


def by_component(stack: Any) -> dict[Any, Any]:
    """Parameters with the components first, and without the axis of a single column."""
    if isinstance(stack, Stack):
        return dict(stack.params)
    if stack.blocks:
        found: dict[Any, Any] = stack.by_key({key: by_component(block) for key, block in stack.blocks.items()})
        return found
    one = not stack.row_vector and stack.columns is None
    return {name: np.asarray(value)[:, 0] if one else value for name, value in stack.params.items()}


def with_weights(weights: Data, components: Any, parameters: dict[Any, Any]) -> dict[Any, Any]:
    """Answers of the components beside that of the weights, by column where the components have columns with names."""
    answers = {"weights": weights, **parameters}
    found: dict[Any, Any] = components.by_key(answers) if components.blocks else answers
    return found


def joined(drawn: list[Any], order: Array) -> Any:
    """Rows that components drew, in this order."""
    if isinstance(drawn[0], dict):
        return {name: joined([part[name] for part in drawn], order) for name in drawn[0]}
    return np.concatenate(drawn)[order]
