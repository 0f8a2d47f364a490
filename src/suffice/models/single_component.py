"""Models whose value is always one component: their own stack of one."""

from __future__ import annotations

from typing import Self


class SingleComponent:
    """A model without an axis of components; several side by side are a ``Stack``."""

    @property
    def stacked(self) -> Self:
        return self

    @property
    def unstacked(self) -> tuple[Self, ...]:
        return (self,)

    def squeezed(self, axes: int) -> Self:
        del axes
        return self
