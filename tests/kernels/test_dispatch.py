"""Which twin runs: small work never loads Numba, a job takes one twin, and the environment decides for all."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from suffice import kernels
from suffice.engines import local
from suffice.kernels import compiled, jit, lanes, reference


def _python(code, **environment):
    """Standard output and error of a fresh process."""
    settings = {k: v for k, v in os.environ.items() if k not in {"SUFFICE_KERNELS", "SUFFICE_THREADS"}}
    done = subprocess.run(  # noqa: S603 (this interpreter, our code)
        [sys.executable, "-c", code], env={**settings, **environment}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip(), done.stderr


USE_ALL = """
import sys, numpy as np
from suffice import kernels
x, codes = np.random.default_rng(0).random(({n}, 4)), np.arange({n}) % 3
for arguments in ({{}}, {{"weights": x[:, 0]}}, {{"weights": x}}, {{"codes": codes, "n_components": 3}}):
    kernels.moments(x, **arguments), kernels.scatter(x, **arguments), kernels.sums(x, **arguments)
    kernels.extremes(x, **arguments), kernels.counts(codes[:, None], 3, **arguments)
kernels.count_range(codes, *kernels.integer_range(codes))
kernels.normal_log_prob(x, x[:3], 1 + x[:3])
kernels.gaussian_log_prob(x, x[:1], np.eye(4)[None], np.zeros(1))
kernels.normal_e_step(x, x[:3], 1 + x[:3], np.zeros(3)), kernels.nearest(x, x[:3])
kernels.linear_e_step(x, x[:3], np.zeros(3), None, np.zeros(3))
kernels.table_e_step(codes[:, None], np.zeros((2, 1, 3)), np.zeros(2))
print("numba" in sys.modules, "threadpoolctl" in sys.modules)
"""


def test_small_work_loads_neither_numba_nor_threadpoolctl():
    assert _python(USE_ALL.format(n=1000)) == ("False False", "")
    code = "import sys\nfrom suffice.engines import local\nlocal.reduce(lambda rows: 1, 1000, 4)\n"
    assert _python(code + "print('numba' in sys.modules, 'threadpoolctl' in sys.modules)")[0] == "False False"


def test_large_work_is_compiled():
    assert _python(USE_ALL.format(n=1000), SUFFICE_KERNELS="compiled")[0] == "True False"
    code = "import sys, numpy as np\nfrom suffice import kernels\nkernels.moments(np.ones(({}, 1)))\n"
    assert _python(code.format(kernels.LARGE) + "print('numba' in sys.modules)")[0] == "True"
    assert _python(code.format(kernels.LARGE - 1) + "print('numba' in sys.modules)")[0] == "False"


def test_kernels_work_where_nothing_can_be_cached(monkeypatch, capsys):
    njit = jit.numba.njit

    def refuse(function, *, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return njit(function, **options)

    monkeypatch.setattr(jit.numba, "njit", refuse)

    def twice(x):
        return 2 * x

    assert jit.kernel(twice)(21) == 42
    assert "compiling" not in capsys.readouterr().err  # a function of somebody else


def test_loops_call_nothing_compiled_in_another_file():
    """Numba's cache knows a function by its own file: a change elsewhere would go unnoticed, also after an upgrade."""
    files = [path for path in Path(jit.__file__).parent.glob("*.py") if "@kernel" in path.read_text()]
    assert len(files) > 1
    for path in files:
        imports = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
        ours = {name.name for node in imports if node.module.startswith("suffice") for name in node.names}
        assert {name for name in ours if name not in dir(lanes)} <= {"exp", "kernel", "log", "minus", "softmax", "wide"}


@pytest.fixture
def chosen(monkeypatch):
    """Names of the twins whose moments were called."""
    names = []
    for name, twin in {"reference": reference, "compiled": compiled}.items():
        monkeypatch.setattr(twin, "moments", lambda *_, name=name: names.append(name))
    monkeypatch.delenv("SUFFICE_KERNELS", raising=False)
    return names


def test_the_whole_job_decides(chosen):
    x = np.ones((100, 3))
    kernels.moments(x)
    kernels.moments(x, work=kernels.LARGE)
    with kernels.job(kernels.LARGE):
        kernels.moments(x)
        kernels.moments(x, work=300)
        with kernels.job(300):
            kernels.moments(x)
    kernels.moments(x)
    kernels.moments(x, np.ones((100, 4)), work=kernels.LARGE // 4)
    assert chosen == ["reference", "compiled", "compiled", "reference", "compiled", "reference", "compiled"]


def test_the_engine_tells_the_size_of_the_job(chosen, monkeypatch):
    x, n = np.ones((10, 1)), kernels.LARGE + 5  # the last slice has five rows
    for count in ("1", "2"):
        monkeypatch.setenv("SUFFICE_THREADS", count)
        local.reduce(lambda _: len(x) if kernels.moments(x) is None else 0, n, 1)
    assert chosen == ["compiled"] * 2 * len(local.partition(n, 1))
    chosen.clear()
    local.reduce(lambda _: len(x) if kernels.moments(x) is None else 0, kernels.LARGE // 2, 1)
    assert chosen == ["reference"] * len(local.partition(kernels.LARGE // 2, 1))


def test_the_environment_decides_for_all(chosen, monkeypatch):
    x = np.ones((100, 3))
    monkeypatch.setenv("SUFFICE_KERNELS", "compiled")
    kernels.moments(x)
    monkeypatch.setenv("SUFFICE_KERNELS", "reference")
    kernels.moments(x, work=10**9)
    assert chosen == ["compiled", "reference"]
    monkeypatch.setenv("SUFFICE_KERNELS", "fast")
    with pytest.raises(ValueError, match=r"SUFFICE_KERNELS.*'fast'"):
        kernels.moments(x)
