"""Threads over row slices.

The slices depend on the data's shape only, and their results are added in one fixed order: an answer never depends on
the number of threads.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from suffice import kernels

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

SLICE_CELLS = 1 << 20  # 8 MB of float64: far more work than handing it out and adding its result
SLICE_ROWS = 256  # wide rows: a slice's statistics, perhaps d × d, must cost less to add than to gather


class Addable(Protocol):
    """What ``reduce`` can add: statistics, arrays, numbers."""

    def __add__(self, other: Self, /) -> Self: ...


S = TypeVar("S", bound=Addable)


def threads() -> int:
    """Number of threads to use: ``SUFFICE_THREADS``, or every CPU this process may run on."""
    asked = os.environ.get("SUFFICE_THREADS", "").strip()
    if asked:
        if asked.isdecimal() and int(asked) > 0:
            return int(asked)
        msg = f"SUFFICE_THREADS must be a whole number of at least 1, got {asked!r}; unset it to use every CPU"
        raise ValueError(msg)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def partition(n: int, width: int) -> list[slice]:
    """Cut ``n`` rows of ``width`` cells into slices; the cuts depend on nothing else.

    There are 2, 4, 8, … slices of nearly one size, so that as many threads have as much to do.
    """
    fewest = max(SLICE_CELLS // max(width, 1), SLICE_ROWS)
    count = 1 << max(n // fewest, 1).bit_length() - 1
    rows = max(-(-n // count), 1)
    return [slice(start, min(start + rows, n)) for start in range(0, max(n, 1), rows)]


def reduce(gather: Callable[[slice], S], n: int, width: int) -> S:
    """Sum of ``gather(rows)`` over the slices of ``n`` rows, added as a binary tree over the slices."""
    slices = partition(n, width)
    return total(lambda index: gather(slices[index]), len(slices), n * width)


def total(gather: Callable[[int], S], count: int, work: int) -> S:
    """Sum of gather(0) … gather(count − 1), added as a binary tree over them; ``work`` is the number of all cells."""
    tree: _Tree[S] = _Tree(count)
    _each(lambda index: tree.add(index, gather(index)), count, work)
    return tree.total


def fill(compute: Callable[[slice], NDArray[Any]], n: int, width: int) -> NDArray[Any]:
    """Rows ``compute(rows)`` of every slice, written into one array of ``n`` rows."""
    slices = partition(n, width)
    lock = threading.Lock()
    whole: list[NDArray[Any]] = []

    def write(index: int) -> None:
        part = compute(slices[index])
        if len(slices) == 1:
            whole.append(part)
            return
        with lock:
            if not whole:
                whole.append(np.empty((n, *part.shape[1:]), part.dtype))
        whole[0][slices[index]] = part

    _each(write, len(slices), n * width)
    return whole[0]


class _Tree(Generic[S]):
    """Adds leaves that arrive in any order along one binary tree; few sums wait at a time."""

    total: S

    def __init__(self, leaves: int) -> None:
        self.leaves = leaves
        self.waiting: dict[tuple[int, int], S] = {}
        self.lock = threading.Lock()

    def add(self, index: int, value: S) -> None:
        """Climb from leaf ``index``, adding, for as long as the neighbour is there already."""
        width = self.leaves  # of the level: nodes 2i and 2i + 1 meet in node i of the next, a last odd one moves up
        while width > 1:
            neighbour = index ^ 1
            if neighbour < width:
                with self.lock:
                    other = self.waiting.pop((width, neighbour), None)
                    if other is None:
                        self.waiting[width, index] = value
                        return
                value = other + value if neighbour < index else value + other
            index, width = index // 2, (width + 1) // 2
        self.total = value


# -- threads -----------------------------------------------------------------------------------------------------------

_local = threading.local()
_lock = threading.Lock()
_pools: dict[int, ThreadPoolExecutor] = {}


def _each(task: Callable[[int], None], count: int, work: int) -> None:
    """Run task(0) … task(count − 1), begun in this order; of those that fail the first raises, and no more are begun.

    The calling thread works too: a busy pool may slow it down, but cannot block it.
    """
    if count == 1:
        with kernels.job(work):
            task(0)
        return
    nested = getattr(_local, "nested", False)
    helpers = 0 if nested else min(threads(), count) - 1
    turns, failures = iter(range(count)), dict[int, Exception]()
    taking_turns = threading.Lock()

    def run() -> None:
        _local.nested = nested or helpers > 0
        try:
            with kernels.job(work):
                while not failures:
                    with taking_turns:
                        index = next(turns, None)
                    if index is None:
                        return
                    try:
                        task(index)
                    except Exception as failure:  # noqa: BLE001 (the caller raises it)
                        failures[index] = failure
        finally:
            _local.nested = nested

    with _one_blas_thread():
        others = [_pool(helpers).submit(run) for _ in range(helpers)]
        try:
            run()
        finally:  # also when interrupted: what has not begun never will
            turns = iter(())
            for other in others:
                other.cancel()
            wait(others)
    if failures:
        raise failures[min(failures)]


def _pool(size: int) -> ThreadPoolExecutor:
    with _lock:
        if size not in _pools:
            _pools[size] = ThreadPoolExecutor(size, "suffice")
        return _pools[size]


def _after_fork() -> None:
    """Forget what a forked child cannot use: threads do not survive a fork, and locks could stay shut."""
    global _lock, _local, _blas_users
    _pools.clear()
    _lock, _local, _blas_users = threading.Lock(), threading.local(), 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


# -- BLAS --------------------------------------------------------------------------------------------------------------

_blas: dict[bool, ThreadpoolController] = {}
_blas_users = 0
_blas_limit: Any = None


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread: its own would compete with ours, and change the last bits.

    The limit belongs to the process, so concurrent callers share it and the last one to leave lifts it.
    """
    global _blas_users, _blas_limit  # noqa: PLW0603 (as the limit itself)
    with _lock:
        if _blas_users == 0:
            _blas_limit = _controller().limit(limits=1, user_api="blas")
        _blas_users += 1
    try:
        yield
    finally:
        with _lock:
            _blas_users -= 1
            if _blas_users == 0:
                _blas_limit.restore_original_limits()


def _controller() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController

    scipy_too = "scipy.linalg" in sys.modules  # it brings a BLAS of its own, after NumPy's
    if scipy_too not in _blas:
        _blas[scipy_too] = ThreadpoolController()
    return _blas[scipy_too]
