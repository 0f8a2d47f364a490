"""Parameters in the place of statistics that depend on parameters, for one accelerated step."""

from __future__ import annotations

from dataclasses import dataclass

from suffice.types import Array


@dataclass(frozen=True, eq=False)
class Estimated:
    """In place of statistics: the parameters (k, d) that were estimated from them, in the order of ``names``.

    It lives for one proposal, and is neither added nor saved.
    """

    names: tuple[str, ...]
    values: tuple[Array, ...]
    bounds: tuple[tuple[float, float], ...]
    weight: Array
    family: str = ""
    exact: bool = False
