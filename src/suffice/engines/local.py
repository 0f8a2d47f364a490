"""Threads over row slices.

The slices depend on the data's shape only, and their results are added in one fixed order: an answer never depends on
the number of threads.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from suffice.engines import blas
from suffice.errors import ParameterError

SLICE_CELLS = 1 << 20  # 8 MB of float64, some 0.25 ms: more work than handing it out and adding its result
SLICE_ROWS = 256  # wide rows: a slice's statistics, perhaps d × d, must cost less to add than to gather
FEWEST = 2 * SLICE_ROWS  # fewer rows are one slice, however wide they are


class Addable(Protocol):
    """What ``reduce`` can add: statistics, arrays, numbers."""

    def __add__(self, other: Self, /) -> Self: ...


S = TypeVar("S", bound=Addable)
T = TypeVar("T")


def threads() -> int:
    """Number of threads to use: ``SUFFICE_THREADS``, or every CPU this process may run on."""
    asked = os.environ.get("SUFFICE_THREADS", "").strip()
    if asked:
        if asked.isdecimal() and int(asked) > 0:
            return int(asked)
        msg = f"SUFFICE_THREADS must be a whole number of at least 1, got {asked!r}; unset it to use every CPU"
        raise ParameterError(msg)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def partition(n: int, width: int, effort: int = 0) -> list[slice]:
    """Cut ``n`` rows of ``width`` cells into slices; the cuts depend on nothing else.

    There are 2, 4, 8, … slices of nearly one size, so that as many threads have as much to do.
    Rows that take the time of ``effort`` cells may be cut in two before there are so many cells: more slices than that
    would cost more than they save where threads are few.
    """
    fewest = max(SLICE_CELLS // max(width, 1), SLICE_ROWS)
    count = 1 << max(n // fewest, 1).bit_length() - 1
    if count == 1 and n >= max(2 * (SLICE_CELLS // max(effort, 1)), FEWEST):
        count = 2
    if count == 1:
        return [slice(0, n)]
    rows = max(-(-n // count), 1)
    return [slice(start, min(start + rows, n)) for start in range(0, max(n, 1), rows)]


def reduce(gather: Callable[[slice], S], n: int, width: int, effort: int = 0) -> S:
    """Sum of ``gather(rows)`` over the slices of ``n`` rows, added as a binary tree over the slices."""
    slices = partition(n, width, effort)
    if len(slices) == 1:
        return gather(slices[0])
    return total(lambda index: gather(slices[index]), len(slices))


def total(gather: Callable[[int], S], count: int) -> S:
    """Sum of gather(0) … gather(count − 1), added as a binary tree over them."""
    tree: _Tree[S] = _Tree(count)
    _each(lambda index: tree.add(index, gather(index)), count)
    return tree.total


def fill(compute: Callable[[slice], NDArray[Any]], n: int, width: int, effort: int = 0) -> NDArray[Any]:
    """Rows ``compute(rows)`` of every slice, written into one array of ``n`` rows."""
    slices = partition(n, width, effort)
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

    _each(write, len(slices))
    return whole[0]


def mapped(task: Callable[[int], T], count: int) -> list[T]:
    """task(0) … task(count − 1), in order."""
    found: list[Any] = [None] * count
    _each(lambda index: found.__setitem__(index, task(index)), count)
    return found


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
_helpers: list[threading.Thread] = []
_offers: SimpleQueue[_Job | None] = SimpleQueue()


def _each(task: Callable[[int], None], count: int) -> None:
    """Run task(0) … task(count − 1), begun in this order; of those that fail the first raises, and no more are begun.

    The calling thread works too: busy helpers may slow it down, but cannot block it.
    """
    if count == 1:
        task(0)
        return
    helpers = 0 if getattr(_local, "nested", False) else min(threads(), count) - 1
    with blas.one_thread():
        if helpers == 0:
            for index in range(count):
                task(index)
            return
        job, _local.nested = _Job(task, count), True
        try:
            _offer(job, helpers)
            job.run(Exception)
        finally:  # also when interrupted
            _local.nested = False
            job.close()
    if job.failures:
        raise job.failures[min(job.failures)]


class _Job:
    """Tasks that the caller and its helpers take in turns."""

    def __init__(self, task: Callable[[int], None], count: int) -> None:
        self.task = task
        self.turns, self.closed = iter(range(count)), False
        self.failures: dict[int, BaseException] = {}
        self.lock, self.helping = threading.Lock(), 0
        self.left = threading.Lock()  # by the last helper
        self.left.acquire()

    def run(self, caught: type[BaseException]) -> None:
        """Take turns until there are no more, or one fails."""
        while not self.failures:
            with self.lock:
                index = next(self.turns, None)
            if index is None:
                return
            try:
                self.task(index)
            except caught as failure:
                self.failures[index] = failure

    def help(self) -> None:
        """Take turns, unless the caller has closed."""
        with self.lock:
            if self.closed:
                return
            self.helping += 1
        try:
            blas.hold_here()
            self.run(BaseException)  # the caller raises it
        finally:  # also when out of memory: the caller waits
            with self.lock:
                self.helping -= 1
                if self.closed and self.helping == 0:
                    self.left.release()

    def close(self) -> None:
        """What has not begun never will; wait for what has."""
        with self.lock:
            self.closed, self.turns, busy = True, iter(()), self.helping > 0
        if busy:
            self.left.acquire()
        del self.task  # and the rows it knows: a helper may look at the offer much later


def _offer(job: _Job, helpers: int) -> None:
    """Ask so many helpers, or as many as there can be."""
    if len(_helpers) < helpers:
        with _lock:
            while len(_helpers) < helpers:
                helper = threading.Thread(target=_help, args=(_offers,), name=f"suffice_{len(_helpers)}", daemon=True)
                try:
                    helper.start()
                except RuntimeError:  # there are too many threads, or Python is about to end
                    break
                _helpers.append(helper)
    for _ in range(min(helpers, len(_helpers))):
        _offers.put(job)


def _help(offers: SimpleQueue[_Job | None]) -> None:
    _local.nested = True
    while (job := offers.get()) is not None:
        job.help()
        del job


def _dismiss() -> None:
    """At the end, let no helper be inside native loops when these are taken down."""
    for _ in _helpers:
        _offers.put(None)
    for helper in _helpers:
        helper.join()


def _after_fork() -> None:
    """Forget what a forked child cannot use: threads do not survive a fork, and locks could stay shut."""
    global _lock, _local, _offers
    _helpers.clear()
    _lock, _local, _offers = threading.Lock(), threading.local(), SimpleQueue()


atexit.register(_dismiss)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
