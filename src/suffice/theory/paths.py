"""One parameter of any model by its path in ``params``: read it, and change it.

A path is what one would write behind ``.params``: ``"mean"`` or ``("mean",)`` of a family, ``("mean", 1)`` of its
second column or, in a mixture, of component 1, ``("age", "mean")`` of a column of a product, ``("age", "mean", 1)`` of
a column in component 1, ``(1, "mean")`` where the components are of different kinds, ``("weights", 0)`` of a weight.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np

from suffice.core.family import Family
from suffice.core.parameters import SIMPLEX, Domain
from suffice.core.value import check_name
from suffice.errors import ParameterError
from suffice.models.columns import names_of
from suffice.types import Array

Path = tuple[Any, ...]


def as_path(model: Any, key: Hashable, component: int | None = None) -> Path:
    """The path that a caller means by a name, a tuple, or a name and a component."""
    path: Path = key if isinstance(key, tuple) else (key,)
    if component is None:
        return path
    if not model.is_mixture:
        msg = f"component={component!r} chooses one of the components of a mixture; {model.name} has none."
        raise ParameterError(msg)
    check_component(model, component)
    if model.components.heterogeneous and path != ("weights",):
        return (component, *path)
    return (*path, component)


def check_component(mixture: Any, component: Any) -> None:
    """Refuse what is not the number of a component."""
    whole = isinstance(component, (int, np.integer)) and not isinstance(component, bool)
    if not whole or not 0 <= component < mixture.n:
        msg = f"component is a whole number from 0 to {mixture.n - 1}; got {component!r}."
        raise ParameterError(msg)


def display_name(path: Path) -> str:
    """How a message or an axis names a parameter: ``mean[0]``, ``age: mean[1]``."""
    names = [step for step in path if isinstance(step, str)]
    numbers = [str(step) for step in path if not isinstance(step, str)]
    return ": ".join(names) + (f"[{', '.join(numbers)}]" if numbers else "")


def parameter_at(model: Any, path: Path) -> Any:
    """The value at a path: a float, or an array where the path ends at a whole parameter."""
    value: Any = model.params
    try:
        for step in path:
            value = value[step]
    except (KeyError, IndexError, TypeError) as error:
        raise ParameterError(_unknown(model, path)) from error
    if isinstance(value, dict):
        raise ParameterError(_unknown(model, path))
    return float(value) if np.ndim(value) == 0 else np.asarray(value)


def _unknown(model: Family, path: Path) -> str:
    offer = ", ".join(map(repr, _offers(model)))
    return (
        f"{model.name} has no parameter at {path if len(path) > 1 else path[0]!r}; a parameter is named as behind "
        f".params, as one of {offer}."
    )


def _offers(model: Family, most: int = 6) -> list[Any]:
    """Some paths that the model has."""
    found: list[Path] = []

    def walk(value: Any, path: Path) -> None:
        if len(found) >= most:
            return
        if isinstance(value, dict):
            for key, inner in value.items():
                walk(inner, (*path, key))
        elif np.ndim(value):
            found.append((*path, *(0 for _ in range(np.ndim(value)))))
        else:
            found.append(path)

    walk(model.params, ())
    return [path[0] if len(path) == 1 else path for path in found]


def domain_at(model: Family, path: Path) -> Domain:
    """Where the number at a path may lie; entries of a simplex between 0 and 1."""
    family, name = family_at(model, path)
    domain: Domain = SIMPLEX if name == "weights" and family.is_mixture else family.specs()[name].domain
    return domain


def family_at(model: Any, path: Path) -> tuple[Any, str]:
    """The family, or the stack of a mixture's components, that has the parameter, and its name there."""
    parameter_at(model, path)
    if model.is_mixture:
        if path[0] == "weights":
            return model, "weights"
        return family_at_block(model.components, path)
    return family_at_block(model, path)


def family_at_block(model: Family, path: Path) -> tuple[Any, str]:
    """The same, of a stack whose ``params`` begin with the blocks."""
    if model.is_mixture:
        return family_at(model, path)
    if model.blocks:
        block, rest = _block(model, path)
        return family_at_block(model.blocks[block], rest)
    return model, path[0]


def _block(model: Family, path: Path) -> tuple[Any, Path]:
    """The key of the block, and the path in it; a column of a block of like columns adds its place."""
    key, rest = path[0], path[1:]
    if key in model.blocks:
        return key, rest
    for own in model.blocks:
        if key in names_of(own):
            block = model.blocks[own]
            at = 1 if block.lone else 2
            return own, (*rest[:at], names_of(own).index(key), *rest[at:])
    raise ParameterError(_unknown(model, path))


def with_parameter(model: Any, path: Path, value: object) -> Any:
    """The same model with another value at a path.

    Other entries of a simplex keep their proportions; a covariance stays symmetric; a parameter that components share
    (``tie``) changes for all of them.
    """
    if model.is_mixture:
        if path[0] == "weights":
            return replace(model, weights=_entry(np.asarray(model.weights), path[1:], value, SIMPLEX))
        return replace(model, components=_in_stack(model.components, path, value))
    if model.heterogeneous:
        parts = list(model.parts)
        parts[path[0]] = with_parameter(parts[path[0]], path[1:], value)
        return model.rebuilt(parts)
    if model.blocks:
        key, rest = _block(model, path)
        inside = {**model.blocks, key: with_parameter(model.blocks[key], rest, value)}
        return model.rebuilt(inside.values())
    return _of_family(model, path, value)


def _in_stack(stack: Family, path: Path, value: object) -> Any:
    """A change in the components of a mixture, whose ``params`` leave out the axis of a single column."""
    if stack.heterogeneous:
        return with_parameter(stack, path, value)
    if stack.blocks:
        key, rest = _block(stack, path)
        inside = {**stack.blocks, key: _in_stack(stack.blocks[key], rest, value)}
        return stack.rebuilt(inside.values())
    single = not stack.row_vector and stack.columns is None
    if single and len(path) > 1 and len(path) < 2 + 1 + stack.specs()[path[0]].domain.core:
        path = (*path[:2], 0, *path[2:])
    elif single and len(path) == 1:
        value = np.asarray(value, dtype=float)[:, None]
    return _of_family(stack, path, value)


def _of_family(model: Any, path: Path, value: Any) -> Any:
    name, index = path[0], path[1:]
    check_name(model, name)
    domain, whole = model.specs()[name].domain, np.asarray(getattr(model, name), dtype=float)
    if not index:
        return replace(model, **{name: value})
    if name in model.tied and not model.lone:
        changed = np.stack([_entry(one, index[1:], value, domain) for one in whole])
    else:
        changed = _entry(whole, index, value, domain)
    return replace(model, **{name: changed})


def _entry(whole: Array, index: Path, value: Any, domain: Domain) -> Array:
    """An array with one entry changed, or as a whole where there is no index."""
    if not index:
        return np.broadcast_to(np.asarray(value, dtype=float), whole.shape).copy()
    changed = whole.copy()
    if len(index) == whole.ndim and domain.core == 1 and domain.rule is not None:
        if not 0 <= float(value) <= 1:
            msg = f"a probability is a number from 0 to 1; got {value!r}."
            raise ParameterError(msg)
        cell = index[:-1]
        rest = whole[cell].sum() - whole[index]
        others = np.full(whole.shape[-1], 1.0) if rest <= 0 else whole[cell].copy()
        others[index[-1]] = 0.0
        changed[cell] = others / others.sum() * (1 - float(value)) if len(others) > 1 else others
        changed[index] = value
        return changed
    changed[index] = value
    if domain.core == 2 and len(index) == whole.ndim:
        changed[(*index[:-2], index[-1], index[-2])] = value
    return changed
