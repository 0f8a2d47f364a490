"""Fits in processes that have just begun: many at once, without a home, in a package that cannot be written to."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import suffice as sf

ROWS = "np.random.default_rng({seed}).normal(size=(600, 3)) + 4.0 * (np.arange(600) % 3)[:, None]"
FIT = f"""
import numpy as np
import suffice as sf
rows = {ROWS.format(seed=0)}
fit = sf.fit(sf.Mixture(sf.MultivariateNormal(), 3), rows, random_state=0)
print(fit.log_likelihood.hex(), sf.fit(sf.Gamma(), np.exp(rows[:, 0])).log_likelihood.hex())
"""


def environment(**changes):
    """That of this process, with another place for byte code, and without a home where that is None."""
    settings = {name: value for name, value in os.environ.items() if name not in {"SUFFICE_KERNELS", "PYTHONPATH"}}
    settings |= {"PYTHONPATH": str(Path(sf.__file__).parent.parent), **changes}
    return {name: value for name, value in settings.items() if value is not None}


def answers():
    """What `FIT` prints."""
    rows = np.random.default_rng(0).normal(size=(600, 3)) + 4.0 * (np.arange(600) % 3)[:, None]
    mixture = sf.fit(sf.Mixture(sf.MultivariateNormal(), 3), rows, random_state=0)
    return [mixture.log_likelihood.hex(), sf.fit(sf.Gamma(), np.exp(rows[:, 0])).log_likelihood.hex()]


def python(code, where, settings):
    """A process that runs some code in a directory."""
    return subprocess.Popen(  # noqa: S603 (this interpreter, our code)
        [sys.executable, "-c", code],
        cwd=where,
        env=settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_eight_processes_that_begin_at_once_answer_alike(tmp_path):
    settings = environment(PYTHONPYCACHEPREFIX=str(tmp_path / "bytecode"), PYTHONDONTWRITEBYTECODE=None)
    begun = [python(FIT, tmp_path, settings) for _ in range(8)]
    found = [one.communicate(timeout=300) for one in begun]
    assert [error for _, error in found] == [""] * 8
    assert [answer.split() for answer, _ in found] == [answers()] * 8


@pytest.mark.slow
def test_a_package_that_cannot_be_written_to_needs_no_home(tmp_path):
    home = tmp_path / "site-packages"
    shutil.copytree(Path(sf.__file__).parent, home / "suffice", ignore=shutil.ignore_patterns("__pycache__"))
    before = sorted(str(path) for path in home.rglob("*"))
    for path in (home, *home.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        settings = environment(HOME=None, USERPROFILE=None, PYTHONPATH=str(home), PYTHONDONTWRITEBYTECODE="1")
        answer, error = python(FIT, "/", settings).communicate(timeout=300)
        assert error == ""
        assert answer.split() == answers()
        assert sorted(str(path) for path in home.rglob("*")) == before  # for whom permissions do not hold, too
    finally:
        for path in (home, *home.rglob("*")):
            path.chmod(0o755)


def test_eight_threads_that_fit_at_once_answer_as_one_after_the_other():
    data = [
        np.random.default_rng(seed).normal(size=(900, 3)) + 3.0 * (np.arange(900) % 2)[:, None] for seed in range(8)
    ]

    def fit(rows):
        found = sf.fit(sf.Mixture(sf.MultivariateNormal(), 2), rows, random_state=0)
        return found.log_likelihood, found.distribution, sf.fit(sf.Normal(), rows[:, 0]).log_likelihood

    alone = list(map(fit, data))
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(fit, data)) == alone


def test_the_first_fit_of_a_family_loads_nothing_heavier_than_numpy():
    code = (
        "import sys, suffice as sf\n"
        "heavy = ('scipy', 'sklearn', 'narwhals', 'pyarrow', 'pandas', 'matplotlib', 'rich', 'msgspec')\n"
        "before = 'numpy' in sys.modules\n"
        "sf.fit(sf.Normal(), [1.0, 2.0, 4.0])\n"
        "print(before, [name for name in heavy if name in sys.modules])\n"
    )
    answer, error = python(code, "/", environment()).communicate(timeout=120)
    assert (answer.strip(), error) == ("False []", "")
