"""A fit that is stopped keeps its best; one that is killed goes on to the same bytes."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import suffice as sf

OPTIONS = ("--components", "8", "--starts", "2", "--max-iter", "120")


@pytest.fixture(scope="module")
def overlapping(tmp_path_factory):
    """Rows that take EM many passes."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20_000, 5)) @ rng.normal(size=(5, 5))
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    np.savetxt(path, x, delimiter=",", header="a,b,c,d,e", comments="", fmt="%.5f")
    return path


def until(line, words, environment, number):
    """Start a command, and send it a signal once it has said something."""
    command = [sys.executable, "-m", "suffice", *map(str, words)]
    process = subprocess.Popen(  # noqa: S603
        command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    told = ""
    for said in process.stderr:
        told += said
        if line in said:
            os.killpg(process.pid, number)
            break
    out, err = process.communicate(timeout=120)
    return process.returncode, out, told + err


@pytest.mark.slow
def test_interrupted_the_best_so_far_is_saved(overlapping, environment, tmp_path):
    path = tmp_path / "m.json"
    words = ["fit", overlapping, *OPTIONS, "--out", path]
    code, out, err = until("pass 10 ·", words, environment, signal.SIGINT)
    assert code == 130, err
    assert "interrupted: the best so far is kept" in err
    assert "Traceback" not in err
    assert "NOT converged" in out
    fit = sf.load(path)
    assert any("interrupted" in text for _, text in fit.alerts)
    assert np.isfinite(fit.log_likelihood)


@pytest.mark.slow
def test_an_interrupted_selection_keeps_what_it_has(overlapping, environment, tmp_path):
    path = tmp_path / "m.json"
    words = ["fit", overlapping, "--components", "1:9", "--out", path]
    code, out, err = until("candidate 2/9", words, environment, signal.SIGINT)
    assert code == 130, err
    assert "Traceback" not in err
    assert "of 2 candidates" in out or "of 3 candidates" in out
    assert sf.load(path).distribution.n >= 1


@pytest.mark.slow
def test_interrupted_before_anything_was_learned(overlapping, environment, tmp_path):
    path = tmp_path / "m.json"
    script = (
        "import os, signal, sys, threading\n"
        "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        f"sys.argv[1:] = ['fit', {str(overlapping)!r}, '--out', {str(path)!r}]\n"
        "from suffice.cli import main\nmain()"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)  # noqa: S603
    assert done.returncode == 130, done.stderr
    assert "nothing was written" in done.stderr
    assert "Traceback" not in done.stderr
    assert not path.exists()


@pytest.mark.slow
def test_killed_and_resumed_gives_the_same_bytes(overlapping, environment, process, tmp_path):
    whole, path = tmp_path / "whole.json", tmp_path / "m.json"
    words = ["fit", overlapping, *OPTIONS]
    assert process(*words, "--out", whole).returncode == 0
    code, _, _ = until("pass 20 ·", [*words, "--out", path], environment, signal.SIGKILL)
    assert code == -signal.SIGKILL
    assert not path.exists()
    assert (tmp_path / "m.json.checkpoint").exists()
    refused = process(*words, "--out", path)
    assert refused.returncode == 1
    assert "--resume" in refused.stderr
    resumed = process(*words, "--out", path, "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert resumed.stderr.startswith("resumed · pass ")  # it went on, and did not begin again
    assert path.read_bytes() == whole.read_bytes()
    assert not (tmp_path / "m.json.checkpoint").exists()


@pytest.mark.slow
def test_a_killed_selection_gives_the_same_bytes(penguins, environment, process, tmp_path):
    whole, path = tmp_path / "whole.json", tmp_path / "m.json"
    words = ["fit", penguins, "--components", "1:4"]
    assert process(*words, "--out", whole).returncode == 0
    code, _, _ = until("candidate 2/4", [*words, "--out", path], environment, signal.SIGKILL)
    assert code == -signal.SIGKILL
    assert process(*words, "--out", path, "--resume").returncode == 0
    assert path.read_bytes() == whole.read_bytes()
