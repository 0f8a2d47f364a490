"""The engine: every row once, one order of adding, errors and interrupts that arrive, and no deadlock."""

import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from suffice import kernels
from suffice.em.loop import EMResult
from suffice.em.trace import Trace
from suffice.engines import blas, local

WIDTH = 16
ROWS = local.SLICE_CELLS // WIDTH
N = 8 * ROWS + 5  # eight slices, the last a short one


class Moments:
    def __init__(self, parts):
        self.parts = parts

    def __add__(self, other):
        return Moments(kernels.merge(self.parts, other.parts))


@pytest.fixture(params=["1", "2", "5"])
def threads(request, monkeypatch):
    monkeypatch.setenv("SUFFICE_THREADS", request.param)
    return int(request.param)


def test_threads_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("SUFFICE_THREADS", "3")
    assert local.threads() == 3
    monkeypatch.delenv("SUFFICE_THREADS")
    assert local.threads() == len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    for wrong in ("0", "-1", "two", "1.5"):
        monkeypatch.setenv("SUFFICE_THREADS", wrong)
        with pytest.raises(ValueError, match=f"SUFFICE_THREADS.*{wrong}"):
            local.threads()


@pytest.mark.parametrize("width", [0, 1, 3, 1000, 10**6])
@pytest.mark.parametrize("n", [0, 1, 255, 257, 10**6])
def test_slices_cover_the_rows_once_in_order(n, width):
    slices = local.partition(n, width)
    assert slices[0].start == 0
    assert slices[-1].stop == n
    assert all(a.stop == b.start for a, b in pairwise(slices))
    assert all(part.stop > part.start for part in slices) or (n == 0 and len(slices) == 1)


def test_the_cuts_ignore_the_number_of_threads(monkeypatch):
    monkeypatch.setenv("SUFFICE_THREADS", "1")
    alone = local.partition(N, WIDTH)
    monkeypatch.setenv("SUFFICE_THREADS", "7")
    assert local.partition(N, WIDTH) == alone
    assert len(alone) == 8


def test_rows_that_take_long_are_cut_in_two_early():
    alone, double = [slice(0, ROWS)], [slice(0, ROWS // 2), slice(ROWS // 2, ROWS)]
    assert local.partition(ROWS, WIDTH) == local.partition(ROWS, WIDTH, WIDTH) == alone
    assert local.partition(ROWS, WIDTH, 2 * WIDTH) == local.partition(ROWS, WIDTH, 100 * WIDTH) == double
    assert local.partition(N, WIDTH, 100 * WIDTH) == local.partition(N, WIDTH)
    few = 2 * local.SLICE_ROWS
    assert [len(local.partition(n, 1, 1 << 30)) for n in (few - 1, few)] == [1, 2]


def test_rows_are_counted_once(threads):
    del threads
    assert local.reduce(lambda rows: rows.stop - rows.start, N, WIDTH) == N
    assert local.reduce(lambda rows: rows.stop - rows.start, 0, WIDTH) == 0


def test_results_are_added_as_one_tree(threads):
    """Sums that remember their brackets: neighbours first, then pairs of neighbours."""
    del threads

    class Brackets(str):
        __slots__ = ()

        def __add__(self, other):
            return Brackets("(" + str(self) + str(other) + ")")

    def gather(rows):
        time.sleep(0.002 * (rows.start // ROWS % 3))  # finish out of order
        return Brackets(rows.start // ROWS)

    assert local.reduce(gather, N, WIDTH) == "(((01)(23))((45)(67)))"
    assert local.reduce(gather, 5 * ROWS, WIDTH) == "((01)(23))"


@pytest.mark.parametrize("twin", ["reference", "compiled"])
def test_bits_do_not_depend_on_the_number_of_threads(monkeypatch, twin):
    monkeypatch.setenv("SUFFICE_KERNELS", twin)
    rng = np.random.default_rng(0)
    x, weights = rng.normal(size=(N, WIDTH)) + 1e6, rng.random(N)
    answers = set()
    for count in ("1", "2", "5"):
        monkeypatch.setenv("SUFFICE_THREADS", count)
        moments = local.reduce(lambda rows: Moments(kernels.moments(x[rows], weights[rows])), N, WIDTH)
        scatter = local.reduce(lambda rows: Moments(kernels.scatter(x[rows])), N, WIDTH)
        density = local.fill(lambda rows: kernels.normal_log_prob(x[rows], x[:3], abs(x[3:6])), N, WIDTH)
        answers.add(b"".join(part.tobytes() for part in (*moments.parts, *scatter.parts, density)))
    assert len(answers) == 1


def test_fill_writes_every_row_in_its_place(threads):
    del threads
    rows = np.arange(N)
    np.testing.assert_array_equal(local.fill(lambda part: rows[part, None] * [1, 2], N, WIDTH), rows[:, None] * [1, 2])
    assert local.fill(lambda part: rows[part], 0, WIDTH).shape == (0,)


def test_the_first_failing_slice_raises_and_nothing_more_is_begun(threads):
    begun = []

    def gather(rows):
        index = rows.start // ROWS
        begun.append(index)
        if index == 2:
            time.sleep(0.05)
            raise KeyError(index)
        if index == 3:
            raise ValueError(index)
        return 0

    with pytest.raises(KeyError if threads == 1 else (KeyError, ValueError)) as raised:
        local.reduce(gather, N, WIDTH)
    failed = [index for index in begun if index in {2, 3}]
    assert raised.value.args == (min(failed),)
    assert len(begun) <= 3 + threads
    assert begun == sorted(begun) or threads > 1


def test_the_slow_first_failure_wins_over_a_quick_later_one(monkeypatch):
    monkeypatch.setenv("SUFFICE_THREADS", "2")
    both = threading.Barrier(2, timeout=10)

    def gather(rows):
        both.wait()
        if rows.start == 0:
            time.sleep(0.05)
            raise KeyError("first")
        raise ValueError("second")

    with pytest.raises(KeyError, match="first"):
        local.reduce(gather, 2 * ROWS, WIDTH)


def test_a_call_inside_a_slice_runs_there(threads):
    """Pools that wait for themselves would hang here; the time limit is the join."""

    def inner(rows):
        return np.array([rows.stop - rows.start, threading.get_ident()])[:1]

    def outer(rows):
        return local.reduce(inner, N, WIDTH) * (rows.stop - rows.start)

    answer = []
    runner = threading.Thread(target=lambda: answer.append(local.reduce(outer, N, WIDTH)), daemon=True)
    runner.start()
    runner.join(timeout=60)
    assert [int(total[0]) for total in answer] == [N * N]
    del threads


def test_an_interrupt_ends_the_work(monkeypatch):
    monkeypatch.setenv("SUFFICE_THREADS", "2")
    begun = []

    def gather(rows):
        begun.append(rows.start // ROWS)
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        time.sleep(0.05)
        return 0

    with pytest.raises(KeyboardInterrupt):
        local.reduce(gather, 100 * ROWS, WIDTH)
    after = len(begun)
    assert after < 10
    time.sleep(0.12)
    assert len(begun) == after
    assert local.reduce(lambda rows: rows.stop - rows.start, N, WIDTH) == N


def test_what_ends_a_helper_reaches_the_caller(monkeypatch):
    monkeypatch.setenv("SUFFICE_THREADS", "2")
    caller, both = threading.get_ident(), threading.Barrier(2, timeout=10)

    def gather(_):
        both.wait()
        if threading.get_ident() != caller:
            raise SystemExit("helper")
        return 0

    with pytest.raises(SystemExit, match="helper"):
        local.reduce(gather, 2 * ROWS, WIDTH)
    assert local.reduce(lambda rows: rows.stop - rows.start, N, WIDTH) == N


def test_busy_helpers_do_not_block_a_caller(monkeypatch):
    """The one helper is held inside one caller's work while another's is done, and what that knew is forgotten."""
    monkeypatch.setenv("SUFFICE_THREADS", "2")
    monkeypatch.setattr(local, "_helpers", [])  # helpers of their own, so that there is one
    monkeypatch.setattr(local, "_offers", local.SimpleQueue())
    inside, go = threading.Barrier(3, timeout=10), threading.Event()

    def held(_):
        inside.wait()
        assert go.wait(timeout=30)
        return 1

    class Rows:
        count = 0

        def gather(self, _):
            self.count += 1
            return 1

    answer = []
    first = threading.Thread(target=lambda: answer.append(local.reduce(held, 2 * ROWS, WIDTH)), daemon=True)
    first.start()
    inside.wait()
    rows = Rows()
    assert local.reduce(rows.gather, N, WIDTH) == 8
    assert rows.count == 8
    gone = weakref.ref(rows)
    del rows
    gc.collect()
    assert gone() is None, "an offer that nobody took up keeps the rows"
    go.set()
    first.join(timeout=30)
    assert answer == [2]
    local._offers.put(None)


def test_threads_that_cannot_be_begun_are_done_without(monkeypatch):
    monkeypatch.setenv("SUFFICE_THREADS", "5")
    monkeypatch.setattr(local, "_helpers", [])

    def start(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    assert local.reduce(lambda rows: rows.stop - rows.start, N, WIDTH) == N


def test_the_number_of_threads_may_change_between_calls(monkeypatch):
    for count in ("2", "5", "1", "3"):
        monkeypatch.setenv("SUFFICE_THREADS", count)
        seen, most = set(), threading.Barrier(int(count), timeout=10)

        def gather(rows, seen=seen, most=most):
            if threading.get_ident() not in seen:
                seen.add(threading.get_ident())
                most.wait()  # each thread's first slice waits for the others
            return rows.stop - rows.start

        assert local.reduce(gather, N, WIDTH) == N
        assert len(seen) == int(count)


@pytest.mark.parametrize(
    ("before", "end"),
    [("", ""), ("", "raise SystemExit"), ("import atexit; atexit.register(lambda: print(work()))", "")],
    ids=["last line", "SystemExit", "work after the helpers' end"],
)
def test_python_ends_while_helpers_wait_or_work(before, end):
    """Also where a thread that nobody waits for is at work."""
    code = f"""{before}
import threading, time
from suffice.engines import local
def work(seconds=0.0):
    return local.reduce(lambda rows: time.sleep(seconds) or rows.stop - rows.start, {N}, {WIDTH})
work()
threading.Thread(target=work, args=(0.05,), daemon=True).start()
time.sleep(0.02)
{end}
"""
    settings, command = {**os.environ, "SUFFICE_THREADS": "2"}, [sys.executable, "-c", code]
    ended = subprocess.run(command, env=settings, timeout=60, capture_output=True, text=True, check=False)  # noqa: S603
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == (f"{N}\n" if before else "")


def _blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_blas_keeps_to_one_thread_inside_and_gets_its_own_back(threads):
    del threads
    before = _blas_threads()
    inside = []
    local.reduce(lambda _: inside.append(_blas_threads()) or 0, N, WIDTH)
    assert all(seen == {1} for seen in inside)
    assert len(inside) == 8
    assert _blas_threads() == before


def test_callers_on_several_threads_share_the_limit(monkeypatch):
    monkeypatch.setenv("SUFFICE_THREADS", "2")
    before = _blas_threads()

    def gather(rows):
        time.sleep(0.002)
        return rows.stop - rows.start

    with ThreadPoolExecutor(4) as pool:
        totals = list(pool.map(lambda n: local.reduce(gather, n * ROWS, WIDTH), [2, 9, 3, 5]))
    assert totals == [n * ROWS for n in [2, 9, 3, 5]]
    assert _blas_threads() == before


def test_blas_obeys_whichever_thread_asks(monkeypatch):
    """The first to ask may be another thread than the next, or than the last to leave."""
    monkeypatch.setenv("SUFFICE_THREADS", "2")
    before, inside = _blas_threads(), []
    if before == {1}:
        pytest.skip("BLAS has one thread anyway")
    entered, left, stay = threading.Event(), threading.Event(), threading.Event()

    def first():
        with blas.one_thread():
            entered.set()
            assert left.wait(timeout=10)
        stay.wait(timeout=30)  # alive: a thread that has ended would give way

    asker = threading.Thread(target=first, daemon=True)
    asker.start()
    assert entered.wait(timeout=10)
    with blas.one_thread():
        left.set()
        time.sleep(0.05)
    assert _blas_threads() == before
    with ThreadPoolExecutor(1) as pool:
        pool.submit(local.reduce, lambda _: inside.append(_blas_threads()) or 0, N, WIDTH).result()
    local.reduce(lambda _: inside.append(_blas_threads()) or 0, N, WIDTH)
    assert inside == [{1}] * 16
    assert _blas_threads() == before
    stay.set()


def test_helpers_are_held_where_each_thread_has_a_limit_of_its_own(monkeypatch):
    class Library:
        """As MKL, and OpenBLAS over OpenMP."""

        own = threading.local()

        @property
        def num_threads(self):
            return getattr(self.own, "count", 4)

        def set_num_threads(self, count):
            self.own.count = count

    library = Library()
    monkeypatch.setattr(blas, "_libraries", lambda: [library])
    monkeypatch.setenv("SUFFICE_THREADS", "2")
    both, seen = threading.Barrier(2, timeout=10), []

    def gather(_):
        both.wait()
        seen.append(library.num_threads)
        return 0

    local.reduce(gather, 2 * ROWS, WIDTH)
    assert seen == [1, 1]
    assert library.num_threads == 4


def test_a_helper_that_fails_before_its_first_turn_keeps_nobody_waiting(monkeypatch):
    monkeypatch.setenv("SUFFICE_THREADS", "2")
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    monkeypatch.setattr(local, "_helpers", [])
    monkeypatch.setattr(local, "_offers", local.SimpleQueue())
    failed = threading.Event()

    def fail():
        failed.set()
        raise MemoryError

    monkeypatch.setattr(blas, "hold_here", fail)

    def gather(rows):
        assert failed.wait(timeout=10)
        return rows.stop - rows.start

    found = []
    asker = threading.Thread(target=lambda: found.append(local.reduce(gather, 2 * ROWS, WIDTH)), daemon=True)
    asker.start()
    asker.join(timeout=10)
    assert found == [2 * ROWS]


class Slow:
    """A distribution of which nobody learns what chance brought it until they may."""

    def __init__(self):
        self.asked, self.may = threading.Event(), threading.Event()

    def spurious_gain(self, statistics):
        del statistics
        self.asked.set()
        return float(self.may.wait(timeout=30))


def _slow_em_run():
    passes = np.zeros(1)
    return EMResult(Slow(), None, Trace(passes, passes, passes, objective=passes), converged=True, reason="")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_a_value_that_a_thread_was_computing():
    busy, other = _slow_em_run(), _slow_em_run()
    other.distribution.may.set()
    thread = threading.Thread(target=lambda: busy.robust_objective, daemon=True)
    thread.start()
    assert busy.distribution.asked.wait(timeout=10)
    child = os.fork()
    if child == 0:
        os._exit(0 if other.robust_objective == -1.0 else 1)
    status = _awaited(child)
    busy.distribution.may.set()
    thread.join()
    assert status == (child, 0)
    assert busy.robust_objective is busy.robust_objective


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_works(monkeypatch):
    monkeypatch.setenv("SUFFICE_THREADS", "2")
    local.reduce(lambda rows: rows.stop - rows.start, N, WIDTH)  # the pool exists before the fork
    child = os.fork()
    if child == 0:
        os._exit(0 if local.reduce(lambda rows: rows.stop - rows.start, N, WIDTH) == N else 1)
    assert _awaited(child) == (child, 0)


def _awaited(child):
    """The child's end and how it came; it is killed where it takes too long."""
    deadline = time.monotonic() + 30
    while (status := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    if status == (0, 0):
        os.kill(child, 9)
        os.waitpid(child, 0)
    return status
