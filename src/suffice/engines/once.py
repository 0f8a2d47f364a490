"""Values that are computed once, without a lock.

Before Python 3.12 `functools.cached_property` has one lock for all values of a class: threads would wait for each
other's, and a child that is forked meanwhile for ever. To compute the same value twice does no harm.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING

__all__ = ["cached_property"]

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801 (as the one it stands for)
        """As of Python 3.12."""

        def __get__(self, instance: object, owner: type | None = None) -> object:
            """Compute the value and keep it where the next look finds it first."""
            if instance is None:
                return self
            found = instance.__dict__[self.attrname] = self.func(instance)
            return found
