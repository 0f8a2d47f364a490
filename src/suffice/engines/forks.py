"""Forks wait until no other thread imports a part of suffice, or of what suffice loads when it first needs it.

A module that is being imported has a lock, which the importing thread holds. A child has no such thread: its own import
of the module would wait for ever. Importing threads do not wait for each other here, so no new deadlock can arise.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any

PACKAGES = frozenset({"suffice", "numpy", "scipy", "sklearn", "threadpoolctl", "narwhals"})
LIMIT = 30.0  # seconds: a fork waits no longer
PAUSE = 0.001


def importing() -> list[str]:
    """The modules of these packages that other threads are importing now."""
    bootstrap: Any = sys.modules.get("_frozen_importlib")
    locks: dict[str, Any] = getattr(bootstrap, "_module_locks", {})  # by name, as weak references
    held = [(name, reference()) for name, reference in list(locks.items()) if name.partition(".")[0] in PACKAGES]
    own = threading.get_ident()
    return [name for name, lock in held if lock is not None and getattr(lock, "owner", own) != own]


def wait_for_imports(limit: float = LIMIT) -> None:
    """Wait until no other thread imports, or until the limit is over."""
    end = time.monotonic() + limit
    while importing() and time.monotonic() < end:
        time.sleep(PAUSE)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=wait_for_imports)
