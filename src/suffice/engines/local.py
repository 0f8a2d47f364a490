"""Threads over row slices.

The slices depend on the data's shape only and their results are added in one fixed order, so an answer never depends on
the number of threads.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

SLICE_CELLS = 1 << 18  # 2 MB of float64: far more work than starting a task, and still at home in a core's cache
SLICE_ROWS = 256  # wide rows: a slice's statistics (d × d) must cost less to add than to gather


class Addable(Protocol):
    """What ``reduce`` can add: statistics, arrays, numbers."""

    def __add__(self, other: Self, /) -> Self: ...


S = TypeVar("S", bound=Addable)
R = TypeVar("R")


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
    """Cut ``n`` rows of ``width`` cells into slices; the cuts depend on nothing else."""
    rows = max(SLICE_CELLS // max(width, 1), SLICE_ROWS)
    return [slice(start, min(start + rows, n)) for start in range(0, max(n, 1), rows)]


def reduce(gather: Callable[[slice], S], n: int, width: int) -> S:
    """Sum of ``gather(rows)`` over the slices of ``n`` rows, added as a binary tree in the order of the rows."""
    tree: list[tuple[int, S]] = []  # (height, sum) of complete subtrees, tallest first: a binary counter
    for part in _in_order(gather, partition(n, width)):
        height, total = 0, part
        while tree and tree[-1][0] == height:
            total = tree.pop()[1] + total
            height += 1
        tree.append((height, total))
    total = tree.pop()[1]
    while tree:
        total = tree.pop()[1] + total
    return total


def fill(compute: Callable[[slice], NDArray[Any]], n: int, width: int) -> NDArray[Any]:
    """Rows ``compute(rows)`` of every slice, written into one array with ``n`` rows."""
    slices = partition(n, width)
    if len(slices) == 1:
        return compute(slices[0])
    lock = threading.Lock()
    whole: list[NDArray[Any]] = []

    def write(rows: slice) -> None:
        part = compute(rows)
        with lock:
            if not whole:
                whole.append(np.empty((n, *part.shape[1:]), part.dtype))
        whole[0][rows] = part

    deque(_in_order(write, slices), maxlen=0)
    return whole[0]


def _in_order(task: Callable[[slice], R], slices: list[slice]) -> Iterator[R]:
    """Yield ``task(rows)`` in the order of the slices, so that the first failing slice is the one that raises."""
    count = threads()
    if len(slices) == 1 or count == 1 or _inside_worker():
        yield from map(task, slices)
        return
    with _one_blas_thread():
        pool, ahead = _pool(count), iter(slices)
        running: deque[Future[R]] = deque()
        try:
            # A short queue: results wait to be added in order, and they may be large.
            for rows in ahead:
                running.append(pool.submit(task, rows))
                if len(running) > 4 * count:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            for future in running:
                future.cancel()
            wait(running)


# -- the shared pool ---------------------------------------------------------------------------------------------------

_local = threading.local()
_lock = threading.Lock()
_pools: dict[int, ThreadPoolExecutor] = {}


def _pool(count: int) -> ThreadPoolExecutor:
    with _lock:
        if count not in _pools:
            _pools[count] = ThreadPoolExecutor(count, "suffice", initializer=_enter_worker)
        return _pools[count]


def _enter_worker() -> None:
    _local.worker = True


def _inside_worker() -> bool:
    """Whether this is a thread of the pool: waiting there for the pool itself could wait forever."""
    return getattr(_local, "worker", False)


# -- BLAS --------------------------------------------------------------------------------------------------------------

_blas: dict[bool, ThreadpoolController] = {}
_blas_users = 0
_blas_limit: Any = None


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread: its own would compete with ours, and change the last bits.

    The limit belongs to the process, so concurrent callers share it and the last one to leave lifts it.
    """
    global _blas_users, _blas_limit  # noqa: PLW0603
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


def _after_fork() -> None:
    """Forget what a forked child cannot use: threads do not survive a fork, and locks may be held in it forever."""
    global _lock, _local, _blas_users
    _pools.clear()
    _lock, _local, _blas_users = threading.Lock(), threading.local(), 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
