"""Taking turns: tasks are timed round by round in one process, so that what disturbs one disturbs all."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Sequence
from statistics import median
from types import ModuleType
from typing import Any

import numpy as np

Task = Callable[[], float]  # does its work and tells how many seconds of it count

ROW = 0.2  # seconds of passes in a row
REST = 0.3  # OpenMP's threads wait awake for 0.2 s after their work

ABSENT: dict[str, str] = {}  # peers that could not be imported, and why


def peer(name: str) -> ModuleType | None:
    """A peer's module; None where it is not there, which `absent` then tells."""
    if name in ABSENT:
        return None
    try:
        return importlib.import_module(name)
    except ImportError as error:
        ABSENT[name] = str(error)
        return None


def absent() -> None:
    """Say which peers were skipped."""
    for name, reason in ABSENT.items():
        print(f"{name} is skipped: {reason}")


def timed(action: Callable[[], Any]) -> Task:
    """All of the action counts."""

    def task() -> float:
        begin = time.perf_counter()
        action()
        return time.perf_counter() - begin

    return task


def repeated(action: Callable[[], Any]) -> Task:
    """What one pass costs in a row of passes, as a fit makes them: the first of a short one is not counted."""

    def task() -> float:
        begin = time.perf_counter()
        action()
        first = time.perf_counter() - begin
        count = min(int(ROW / first), 20)
        if count < 2:
            return first
        begin = time.perf_counter()
        for _ in range(count):
            action()
        return (time.perf_counter() - begin) / count

    return task


def per_pass(fit: Callable[[int], Any], few: int, many: int) -> Task:
    """What one more pass costs: a fit of many passes less one of few, after one of few that wakes the machine."""
    short, long = timed(lambda: fit(few)), timed(lambda: fit(many))

    def task() -> float:
        short()
        return (long() - short()) / (many - few)

    return task


def take_turns(tasks: Sequence[Task], rounds: int) -> list[float]:
    """Median seconds of each task; each begins after a rest, in which threads that a peer keeps awake fall asleep."""
    seen = [[_rested(task) for task in tasks] for _ in range(rounds)]
    return [median(column) for column in zip(*seen, strict=True)]


def _rested(task: Task) -> float:
    time.sleep(REST)
    return task()


def agree(ours: Sequence[Any], theirs: Sequence[Any], tolerance: float) -> bool:
    """Whether two answers, arrays in one order, are the same; each array is judged beside its largest entry."""
    for a, b in zip(ours, theirs, strict=True):
        size = float(np.abs(np.asarray(b)).max())
        if np.shape(a) != np.shape(b) or not np.allclose(a, b, rtol=tolerance, atol=tolerance * size):
            return False
    return True


def duration(seconds: float) -> str:
    """Seconds in a unit that suits them."""
    return f"{1e3 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
