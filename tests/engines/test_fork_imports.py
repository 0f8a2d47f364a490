"""Processes that are forked while another thread loads a part of suffice: they can load it too."""

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")

PREPARED = """
import os, pathlib, signal, sys, tempfile, threading, time
import suffice
from suffice.engines.forks import importing, wait_for_imports

folder = pathlib.Path(tempfile.mkdtemp())
(folder / "slow_part.py").write_text("import time\\ntime.sleep(1.0)\\nVALUE = 3\\n")
suffice.__path__.append(str(folder))

def load():
    from suffice.slow_part import VALUE
    return VALUE

thread = threading.Thread(target=load)
thread.start()
while "suffice.slow_part" not in sys.modules:
    time.sleep(0.001)
"""


def run(script):
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "ignore", "-c", PREPARED + textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


def test_a_child_can_import_what_a_thread_was_importing():
    run(
        """
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            os._exit(load())
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
        """
    )


def test_what_a_fork_waits_for_is_known_from_the_first():
    """A handler that is registered while a fork waits would run after the fork only, and release what is not held."""
    script = "import sys, suffice; assert {'suffice.engines.blas', 'suffice.engines.forks'} <= sys.modules.keys()"
    subprocess.run([sys.executable, "-c", script], check=True)  # noqa: S603


def test_the_wait_has_a_limit_and_leaves_out_what_this_thread_imports():
    run(
        """
        assert importing() == ["suffice.slow_part"]
        begun = time.monotonic()
        wait_for_imports(limit=0.05)
        assert time.monotonic() - begun < 0.6
        assert importing()
        thread.join()
        assert importing() == []
        (folder / "asks.py").write_text("from suffice.engines.forks import importing\\nSEEN = importing()\\n")
        from suffice.asks import SEEN
        assert SEEN == []
        """
    )
