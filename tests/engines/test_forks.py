"""Processes that are forked while other threads fit: they find no lock of BLAS shut."""

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")


def run(script):
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    return done.stdout


def test_a_fork_waits_until_no_thread_is_setting_the_threads_of_blas():
    """The library is a stand-in that is slow inside its setter; a child looks whether it was forked meanwhile."""
    run(
        """
        import os, threading, time
        from suffice.engines import blas

        class Library:
            num_threads, inside, calls = 2, False, 0

            def set_num_threads(self, count):
                Library.inside = True
                time.sleep(0.002)
                Library.inside, self.num_threads = False, count
                Library.calls += 1

        library, stop = Library(), threading.Event()
        blas._libraries = lambda: [library]

        def busy():
            while not stop.is_set():
                with blas.one_thread():
                    blas.hold_here()

        thread = threading.Thread(target=busy, daemon=True)
        thread.start()
        while Library.calls < 3:
            time.sleep(0.001)
        caught = 0
        for _ in range(25):
            child = os.fork()
            if child == 0:
                os._exit(int(Library.inside))
            caught += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        stop.set()
        thread.join()
        assert caught == 0, f"{caught} of 25 children were forked inside the library"
        """
    )


@pytest.mark.slow
def test_children_of_a_fitting_process_can_fit():
    answers = run(
        """
        import os, signal, threading
        import numpy as np
        import suffice as sf

        rows = np.random.default_rng(0).normal(size=(400, 3))
        stop, begun = threading.Event(), threading.Event()

        def fit():
            return sf.fit(sf.Mixture(sf.MultivariateNormal(), 2), rows, random_state=0, max_iter=3).log_likelihood

        def busy():
            while not stop.is_set():
                fit()
                begun.set()

        expected = fit()
        thread = threading.Thread(target=busy, daemon=True)
        thread.start()
        begun.wait()
        for _ in range(4):
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                os._exit(0 if fit() == expected else 3)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        stop.set()
        thread.join()  # a thread that still computes when the interpreter ends aborts the process
        """
    )
    assert answers.split() == ["0"] * 4
