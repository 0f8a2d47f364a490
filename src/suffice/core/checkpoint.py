"""A fit of many passes kept in a file while it runs, so that what was killed goes on where it was, to the bit."""

from __future__ import annotations

import hashlib
import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from suffice.core.distribution import Distribution
from suffice.core.encoding import decoded, encoded, functions_of
from suffice.core.errors import DataError, ParameterError, UnsupportedError

FORMAT, VERSION = "suffice checkpoint", 1
SHARE = 10.0  # times what writing takes that passes without it: no more than a tenth of the fit


class Checkpoint:
    """The file of one fit: what it is a fit of, and where it stands.

    The file is written aside, flushed to the disk and put in place of the one before it as a whole. A fit that ends
    removes it; one that is interrupted or killed leaves it behind.
    """

    def __init__(self, path: Any, prototype: Any, asked: dict[str, Any], *, resume: bool) -> None:
        """Look what is there: a fit that goes on, or none."""
        self.path = Path(path)
        self.functions = functions_of(prototype)
        self.asked = {name: described(value, self.functions) for name, value in asked.items()}
        self.written, self.cost = -np.inf, 0.0
        self.state: Any = None
        if self.path.exists():
            if not resume:
                msg = (
                    f"checkpoint={str(path)!r} holds a fit that has not ended. Go on with it by resume=True, or delete "
                    "the file to begin anew."
                )
                raise ParameterError(msg)
            self.state = self._found()
        elif not self.path.parent.is_dir():
            msg = f"checkpoint={str(path)!r}: there is no directory {str(self.path.parent)!r}; make it first."
            raise ParameterError(msg)

    def _found(self) -> Any:
        """The state in the file, if it is one of this fit."""
        try:
            held = json.loads(self.path.read_bytes())
            if held["format"] != FORMAT:
                raise KeyError(held["format"])  # noqa: TRY301 (no checkpoint, as when a key is missing)
            version, kept = held["version"], held["asked"]
        except (KeyError, TypeError, ValueError) as error:
            msg = f"{str(self.path)!r} is no checkpoint of suffice ({error}); give another path, or delete it."
            raise DataError(msg) from error
        if version != VERSION:
            msg = f"{str(self.path)!r} is a checkpoint of version {version}, and this is {VERSION}; fit anew."
            raise DataError(msg)
        other = [
            f"{name} (there {_shown(kept.get(name))}, here {_shown(mine)})"
            for name, mine in self.asked.items()
            if kept.get(name) != mine
        ]
        if other:
            msg = (
                f"{str(self.path)!r} is the checkpoint of another fit: it differs in {'; '.join(other)}. Give the same "
                "arguments and data as then, or delete the file to begin anew."
            )
            raise ParameterError(msg)
        try:
            return decoded(held["state"], self.functions)
        except (AttributeError, IndexError, KeyError, StopIteration, TypeError, ValueError) as error:
            msg = f"the state in {str(self.path)!r} cannot be read ({error!r:.60}); delete the file to begin anew."
            raise DataError(msg) from error

    def save(self, state: Any) -> None:
        """Write the state, unless it was written a moment ago."""
        now = time.perf_counter()
        if now - self.written < SHARE * self.cost:
            return
        held = {
            "format": FORMAT,
            "version": VERSION,
            "asked": self.asked,
            "state": encoded(state, self.functions),
        }
        aside = self.path.with_name(f"{self.path.name}.{os.getpid()}.tmp")
        try:
            with aside.open("w") as file:
                json.dump(held, file)
                file.flush()
                os.fsync(file.fileno())
            aside.replace(self.path)
            _flush(self.path.parent)
        except OSError as error:
            with suppress(OSError):
                aside.unlink()
            msg = f"checkpoint={str(self.path)!r} cannot be written: {error.strerror or error}. Choose another path."
            raise DataError(msg) from error
        self.written = time.perf_counter()
        self.cost = self.written - now

    def remove(self) -> None:
        """The fit has ended."""
        self.path.unlink(missing_ok=True)


def _flush(folder: Path) -> None:
    """Bring the new name to the disk, too; not every system lets a directory be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def described(value: Any, functions: tuple[Any, ...]) -> list[str]:
    """What an argument is, as its digest and as a message shows it."""
    if isinstance(value, np.random.Generator):
        value = value.bit_generator.state
    shown = repr(value) if isinstance(value, (int, float, str, Distribution, type(None))) else type(value).__name__
    try:
        text = json.dumps(encoded(value, functions), sort_keys=True)
    except UnsupportedError:  # a prior that is a function, or a posterior: by its words, as far as they tell
        text = repr(value).partition(" at 0x")[0]
    return [hashlib.blake2b(text.encode(), digest_size=16).hexdigest(), f"{shown:.80}"]


def _shown(described: Any) -> str:
    return described[1] if isinstance(described, list) and described else "nothing"
