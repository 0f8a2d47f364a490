"""Files that appear as a whole or not at all: whoever looks, and after a power cut, there is the old or the new one."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any


def put(place: Path, aside: Path, write: Callable[[Any], Any]) -> None:
    """Have ``write`` fill the file ``aside``, in the same directory, and put it in place of what is there.

    What is aside goes again where it cannot be written or put in place.
    """
    try:
        with aside.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(place)
    except BaseException:
        with suppress(OSError):
            aside.unlink()
        raise
    _flush(place.parent)


def _flush(directory: Path) -> None:
    """Bring the new name to the disk, too; not every system lets a directory be opened."""
    with suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
