"""BLAS held to one thread while ours work: its own would compete with them, and change the last bits."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import suffice.engines.forks  # noqa: F401 (handlers run in reverse: a fork waits for imports last, our lock held)

NARROW = 32  # columns: no BLAS shares work on smaller matrices among threads

_lock = threading.RLock()
_found: dict[bool, list[Any]] = {}
_users = 0
_before: list[tuple[Any, int]] = []  # libraries that had more than one thread, and how many


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold BLAS to one thread.

    The limit belongs to the process, so concurrent callers share it and the last one to leave lifts it.
    """
    global _users, _before  # noqa: PLW0603 (as the limit itself)
    with _lock:
        if _users == 0:
            _before = [(library, count) for library in _libraries() if (count := library.num_threads or 1) > 1]
            _set((library, 1) for library, _ in _before)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _set(_before)
                for library, _ in _before:
                    _free(library)


def one_thread_for(columns: int) -> AbstractContextManager[None]:
    """Hold BLAS to one thread for work on so many columns; where these are few, it takes no more anyway."""
    return nullcontext() if columns < NARROW else one_thread()


def hold_here() -> None:
    """Hold a helper of someone inside `one_thread`, for good: some libraries count the threads of each of ours."""
    with _lock:
        _set((library, 1) for library, _ in _before if library.num_threads > 1)


def _set(counts: Iterable[tuple[Any, int]]) -> None:
    for library, count in counts:
        library.set_num_threads(count)
        if library.num_threads != count:
            _free(library)
            library.set_num_threads(count)


def _free(library: object) -> None:
    """Let any thread ask again: for OpenBLAS, threadpoolctl serves only the first that did, for as long as it lives."""
    clear = getattr(library, "clear_controlling_thread", None)
    if clear:
        clear(force=True)


def _libraries() -> list[Any]:
    from threadpoolctl import ThreadpoolController

    scipy_too = "scipy.linalg" in sys.modules  # it brings a BLAS of its own, after NumPy's
    if scipy_too not in _found:
        _found[scipy_too] = ThreadpoolController().select(user_api="blas").lib_controllers
    return _found[scipy_too]


def _before_fork() -> None:
    """Wait until none of our threads is inside BLAS to set its threads: the child would find its lock shut for ever."""
    _lock.acquire()


def _after_fork_in_parent() -> None:
    _lock.release()


def _after_fork_in_child() -> None:
    """The lock is held by a thread that is not there, and so is BLAS."""
    global _lock, _users
    _lock, _users = threading.RLock(), 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
