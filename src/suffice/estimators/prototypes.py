"""What a prototype is made of, as far as it decides how rows are checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from suffice.core.parameters import LABEL


def families_of(prototype: Any) -> Iterator[Any]:
    """The families that a prototype, or a collection of some, is made of."""
    if isinstance(prototype, Mapping):
        inner = tuple(prototype.values())
    elif isinstance(prototype, (list, tuple)):
        inner = tuple(prototype)
    elif prototype.is_mixture:
        inner = (prototype.components,)
    else:
        inner = tuple(prototype.blocks.values())
    if not inner:
        yield prototype
    for one in inner:
        yield from families_of(one)


def takes_labels(prototype: object) -> bool:
    """Whether some column holds labels rather than numbers."""
    return any(part.support == LABEL for part in families_of(prototype))


def by_name(prototype: object) -> bool:
    """Whether columns go by name."""
    if isinstance(prototype, Mapping):
        prototype = tuple(prototype.values())
    several = prototype if isinstance(prototype, (list, tuple)) else (prototype,)
    return any(getattr(one, "named", False) is True for one in several)
