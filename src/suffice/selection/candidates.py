"""The mixtures that `select` compares."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice.core.distribution import Distribution
from suffice.errors import ParameterError
from suffice.models.mixture import Mixture
from suffice.tables.rows import is_several

FOURTEEN = ("EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV")


ALWAYS = 100  # components that may be asked for, however few rows there are


@dataclass(frozen=True)
class Candidate:
    """A mixture without its parameters, and its names in the table."""

    mixture: Any
    family: str
    structure: str
    line: int = 0  # the number of its prototype: such candidates differ in size and structure only

    @property
    def n(self) -> int:
        """Number of components."""
        return int(self.mixture.n)

    def like(self, other: Candidate) -> bool:
        """Whether the structures differ in one letter only: in volume, shape or orientation."""
        letters = zip(self.structure, other.structure, strict=False)
        return len(self.structure) == len(other.structure) == 3 and sum(a != b for a, b in letters) == 1


def candidates(
    component: Distribution | None, n_components: object, structures: object, families: object, rows: int | None = None
) -> list[list[Candidate]]:
    """Candidates in groups of one family and one number of components, which share their starts.

    ``rows`` is the number of rows, where it is known before they are read.
    """
    asked = [*([] if component is None else [component]), *_families(families)]
    prototypes = [one for place, one in enumerate(asked) if one not in asked[:place]]
    if not prototypes:
        msg = "select needs a prototype, as in select(MultivariateNormal(), x, n_components=range(1, 10))."
        raise ParameterError(msg)
    names = _structures(structures)
    groups = []
    for line, prototype in enumerate(prototypes):
        if not isinstance(prototype, Distribution) or not prototype.lone:
            msg = f"select compares prototypes such as Normal(), or mixtures; got {prototype!r:.60}."
            raise ParameterError(msg)
        for mixture in _sizes(prototype, n_components, rows):
            own = [(name, _with_structure_named(mixture, name)) for name in names] if names else [("", mixture)]
            groups.append([Candidate(one, _family(one), name, line) for name, one in own])
    return groups


def _families(given: object) -> tuple[Any, ...]:
    if given is None or isinstance(given, Distribution):
        return () if given is None else (given,)
    if not isinstance(given, Iterable) or isinstance(given, str):
        msg = f"families is a prototype or a list of them, such as [Laplace(), StudentT()]; got {given!r:.60}."
        raise ParameterError(msg)
    return tuple(given)


def _structures(given: object) -> tuple[str, ...]:
    if given is None:
        return ()
    names: tuple[Any, ...] = ()
    if isinstance(given, str):
        names = FOURTEEN if given == "all" else (given,)
    elif isinstance(given, Iterable):
        names = tuple(dict.fromkeys(given))
    if not names or not all(isinstance(name, str) for name in names):
        msg = f"structures is a list of names such as ['EEE', 'VVV'], or 'all'; got {given!r:.60}."
        raise ParameterError(msg)
    return names


def _sizes(prototype: Any, n_components: object, rows: int | None) -> list[Any]:
    """Mixtures of the prototype of every size; one that knows its components keeps them."""
    mixture = prototype.is_mixture
    if mixture and (n_components is None or _has_different_families(prototype)):
        return [prototype]
    if n_components is None:
        msg = "select needs n_components, such as range(1, 9): the numbers of components to compare."
        raise ParameterError(msg)
    sizes = _whole(n_components, rows)
    if not mixture:
        return [Mixture(prototype, size) for size in sizes]
    component = prototype.parts[0]
    return [replace(prototype, components=component, n=size, weights=None) for size in sizes]


def _whole(n_components: Any, rows: int | None) -> list[int]:
    """Numbers of components, each once."""
    sizes = list(n_components) if is_several(n_components) else [n_components]
    if not sizes:
        msg = "n_components is empty; give at least one number of components."
        raise ParameterError(msg)
    for size in sizes:
        if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
            msg = f"n_components is a whole number of at least 1, or several, such as range(1, 9); got {size!r:.60}."
            raise ParameterError(msg)
    if rows is not None and max(sizes) > max(rows, ALWAYS):
        msg = (
            f"n_components has {max(sizes)}, but there are {rows} rows, and a component without a row has nothing to "
            f"learn from. Give at most {rows}."
        )
        raise ParameterError(msg)
    return list(dict.fromkeys(map(int, sizes)))


def _has_different_families(mixture: Any) -> bool:
    return len({type(one) for one in mixture.parts}) > 1


def _with_structure_named(mixture: Mixture, name: str) -> Mixture:
    """The mixture with another covariance structure in its components, or in the blocks of them that have one."""
    component, found = _with_structure(mixture.parts[0], name)
    if not found:
        msg = f"structures are those of MultivariateNormal, which {mixture.parts[0]!r:.60} has none of; leave them out."
        raise ParameterError(msg)
    return replace(mixture, components=component, n=mixture.n)


def _with_structure(component: Any, name: str) -> tuple[Any, bool]:
    if hasattr(component, "structure"):
        free = {key: None for key in ("mean", "cov") if key not in component.fixed}
        return replace(component, structure=name, **free), True
    if not component.blocks:
        return component, False
    parts = [_with_structure(block, name) for block in component.blocks.values()]
    return component.rebuilt(part for part, _ in parts), any(found for _, found in parts)


def _family(mixture: Mixture) -> str:
    names = dict.fromkeys(_name(one) for one in mixture.parts)
    return " + ".join(names)


def _name(component: Any) -> str:
    if component.is_mixture:
        return f"Mixture({_family(component)})"
    if component.blocks:
        return f"{component.name}({', '.join(dict.fromkeys(_name(block) for block in component.blocks.values()))})"
    return str(component.name)
