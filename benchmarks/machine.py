"""What this machine can do: multiplications in dgemm and bytes read by a dot product, on one thread and on two.

Run ``python benchmarks/machine.py``. The other benchmarks print their results as shares of these.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from threadpoolctl import ThreadpoolController, threadpool_limits


def best(task: Callable[[], object], repeat: int = 7) -> float:
    """Shortest of several times in seconds: what the machine can do when nobody disturbs it."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return min(times)


def dgemm(threads: int, size: int = 2000) -> float:
    """GFLOP/s of a product of two square matrices of float64."""
    a = np.random.default_rng(0).random((size, size))
    with threadpool_limits(threads, "blas"):
        a @ a
        return 2e-9 * size**3 / best(lambda: a @ a)


class Reader:
    """Reads a float64 array of ten million cells as x·x, a piece per thread (``np.dot``: ``@`` keeps the GIL here)."""

    def __init__(self, threads: int) -> None:
        self.pieces = np.array_split(np.random.default_rng(0).random(10_000_000), threads)
        self.gigabytes = 8e-9 * sum(map(len, self.pieces))
        self.pool = ThreadPoolExecutor(threads)
        self.blas = ThreadpoolController()

    def __call__(self) -> None:
        """Read it once."""
        with self.blas.limit(limits=1, user_api="blas"):
            list(self.pool.map(lambda piece: np.dot(piece, piece), self.pieces))


def bandwidth(threads: int) -> float:
    """GB/s read by x·x."""
    read = Reader(threads)
    return read.gigabytes / best(read, repeat=21)


def main() -> None:
    """Print one line per number of threads."""
    for threads in (1, 2):
        print(f"{threads} thread(s): dgemm {dgemm(threads):6.1f} GFLOP/s, x·x reads {bandwidth(threads):5.1f} GB/s")


if __name__ == "__main__":
    main()
