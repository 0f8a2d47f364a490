"""A fit of many passes kept in a file while it runs, so that what was killed goes on where it was, to the bit."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.core.distribution import Distribution
from suffice.em.acceleration import Accelerator
from suffice.em.alerts import are_alerts
from suffice.em.checkpoint_encoding import decoded, encoded, functions_of
from suffice.em.loop import EMResult
from suffice.em.trace import Pass
from suffice.em.training import Iterate
from suffice.errors import DataError, ParameterError, SufficeError, UnsupportedError
from suffice.storage import atomic

if TYPE_CHECKING:
    from suffice.core.family import Family

FORMAT, VERSION = "suffice checkpoint", 3
UNUSABLE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    StopIteration,
    TypeError,
    ValueError,
)
SHARE = 10.0  # times what writing takes that passes without it: no more than a tenth of the fit


class Checkpoint:
    """The file of one fit: what it is a fit of, and where it stands.

    The file is written aside, flushed to the disk and put in place of the one before it as a whole, with a digest: a
    byte that changed since then is a refusal, and never another result. A fit that ends removes it; one that is
    interrupted or killed leaves it behind.
    """

    def __init__(self, path: Any, prototype: Family, asked: dict[str, Any], *, resume: bool) -> None:
        """Look what is there: a fit that goes on, or none."""
        self.path = Path(path)
        self.functions = functions_of(prototype)
        self.asked = {name: described(value, self.functions) for name, value in asked.items()}
        self.written, self.cost = -np.inf, 0.0
        self.state: Any = None
        self.callback_errors: list[BaseException] = []
        try:
            there = self.path.exists()
        except OSError as error:
            raise self._unreadable(error) from error
        if there:
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

    def _unreadable(self, error: OSError) -> DataError:
        return DataError(f"checkpoint={str(self.path)!r} cannot be read: {error.strerror or error}. Give another path.")

    def _found(self) -> Any:
        """The state in the file, if it is one of this fit."""
        try:
            held = json.loads(self.path.read_bytes())
            version = {FORMAT: held["version"]}[held["format"]]  # of another format: none, as where a key is missing
        except OSError as error:
            raise self._unreadable(error) from error
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            msg = f"{str(self.path)!r} is not a checkpoint of suffice ({error!s:.60}); give another path, or delete it."
            raise DataError(msg) from error
        if version != VERSION:
            msg = f"{str(self.path)!r} is a checkpoint of version {version!r:.20}, and this is {VERSION}; fit anew."
            raise DataError(msg)
        try:
            kept, state = held["asked"], held["state"]
            if held["digest"] != digest(kept, state):
                msg = "its bytes are not those that were written"
                raise ValueError(msg)
            there = {name: (str(mark), str(words)) for name, (mark, words) in kept.items()}
        except UNUSABLE as error:
            raise self._damaged(error) from error
        other = [
            f"{name} (there {there.get(name, ('', 'nothing'))[1]}, here {words})"
            for name, (mark, words) in self.asked.items()
            if there.get(name, ("",))[0] != mark
        ]
        if other:
            msg = (
                f"{str(self.path)!r} is the checkpoint of another fit: it differs in {'; '.join(other)}. Give the same "
                "arguments and data as then, or delete the file to begin anew."
            )
            raise ParameterError(msg)
        try:
            return _checked(decoded(state, self.functions))
        except UNUSABLE as error:
            raise self._damaged(error) from error

    def _damaged(self, error: BaseException) -> DataError:
        why = f"{type(error).__name__}: {error!s:.60}"
        return DataError(f"the state in {str(self.path)!r} cannot be read ({why}); delete the file to begin anew.")

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Refuse a state from which a fit cannot go on; what a callback raised is the caller's own."""
        try:
            yield
        except SufficeError:
            raise
        except UNUSABLE as error:
            if self.state is None or any(error is one for one in self.callback_errors):
                raise
            raise self._damaged(error) from error

    def watch(self, callback: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
        """The callback, whose errors are remembered as its own."""
        if callback is None:
            return None

        def call(seen: Pass) -> None:
            try:
                callback(seen)
            except BaseException as error:
                self.callback_errors.append(error)
                raise

        return call

    def save(self, state: dict[Any, Any]) -> None:
        """Write the state, unless it was written a moment ago."""
        now = time.perf_counter()
        if now - self.written < SHARE * self.cost:
            return
        text = encoded(state, self.functions)
        held = {
            "format": FORMAT,
            "version": VERSION,
            "digest": digest(self.asked, text),
            "asked": self.asked,
            "state": text,
        }
        aside = self.path.with_name(f"{self.path.name}.{os.getpid()}.tmp")
        try:
            atomic.put(self.path, aside, lambda file: file.write(json.dumps(held).encode()))
        except OSError as error:
            msg = f"checkpoint={str(self.path)!r} cannot be written: {error.strerror or error}. Choose another path."
            raise DataError(msg) from error
        self.written = time.perf_counter()
        self.cost = self.written - now

    def remove(self) -> None:
        """The fit has ended; what runs that were killed while they wrote had written aside goes, too."""
        self.path.unlink(missing_ok=True)
        from glob import escape

        for aside in self.path.parent.glob(f"{escape(self.path.name)}.*.tmp"):
            if aside.name[len(self.path.name) + 1 : -4].isdecimal():
                aside.unlink(missing_ok=True)


def described(value: object, functions: tuple[Any, ...]) -> list[str]:
    """What an argument is, as its digest and as a message shows it."""
    if isinstance(value, np.random.Generator):
        value = value.bit_generator.state
    shown = repr(value) if isinstance(value, (int, float, str, Distribution, type(None))) else type(value).__name__
    try:
        text = json.dumps(encoded(value, functions), sort_keys=True)
    except UnsupportedError:  # a prior that is a function, or a posterior: by its words, as far as they tell
        text = repr(value).partition(" at 0x")[0]
    return [hashlib.blake2b(text.encode(), digest_size=16).hexdigest(), f"{shown:.80}"]


def digest(asked: dict[Any, Any], state: dict[Any, Any]) -> str:
    """What a file holds, in a few letters."""
    text = json.dumps([asked, state], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _checked(state: dict[Any, Any]) -> Any:
    """A state with all that a fit asks of it, as far as kinds tell."""
    loop, runs = state["loop"], state["runs"]
    are_runs = all(type(one) is EMResult and are_alerts(one.alerts) for one in runs)
    seen, moves, passes = loop["seen"], loop["moves"], loop["passes"]
    counted = type(passes) is int and 0 < len(seen) <= passes and all(type(one) is Pass for one in seen)
    numbers = type(moves) is list and all(type(one) is float for one in moves)
    stands = type(loop["iterate"]) is Iterate and type(loop["speed"]) in (Accelerator, type(None))
    if not (are_runs and counted and numbers and stands and are_alerts(state["notes"]) and type(state["rng"]) is dict):
        msg = "it is not what a fit keeps"
        raise TypeError(msg)
    return state
