"""Which twin runs: a job takes one, the environment decides for all, and without a library NumPy serves."""

import os
import subprocess
import sys

import numpy as np
import pytest

from suffice import kernels
from suffice.engines import local
from suffice.kernels import compiled, native, reference


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
print("suffice.kernels.compiled" in sys.modules, "threadpoolctl" in sys.modules)
"""


def test_small_work_loads_neither_the_native_twins_nor_threadpoolctl():
    assert _python(USE_ALL.format(n=1000)) == ("False False", "")


def test_large_work_is_native():
    assert _python(USE_ALL.format(n=1000), SUFFICE_KERNELS="compiled") == ("True False", "")
    code = "import sys, numpy as np\nfrom suffice import kernels\nkernels.moments(np.ones(({}, 1)))\n"
    code += "print('suffice.kernels.compiled' in sys.modules)"
    assert _python(code.format(kernels.LARGE))[0] == "True"
    assert _python(code.format(kernels.LARGE - 1))[0] == "False"


MOMENTS = """
import numpy as np
from suffice import kernels
for _ in range(2):
    print(*kernels.moments(np.arange({}.0)[:, None]))
"""


def test_without_a_library_numpy_serves_and_says_so_once(tmp_path):
    answer, said = _python(MOMENTS.format(kernels.LARGE), SUFFICE_NATIVE=str(tmp_path))
    assert said.count("no native kernels in") == 1
    assert answer == _python(MOMENTS.format(kernels.LARGE), SUFFICE_KERNELS="reference")[0]


def test_every_level_of_the_processor_answers_alike():
    code = "import numpy as np\nfrom suffice.kernels import compiled\nx = np.random.default_rng(0).random((999, 5))\n"
    code += "print(*(a.tobytes().hex() for a in compiled.scatter(x)))"
    found = [_python(code, SUFFICE_CPU=level)[0] for level in ("v2", "v3", "v4")]
    parts = [[np.frombuffer(bytes.fromhex(part)) for part in one.split()] for one in found]
    for others in parts[1:]:
        for part, other in zip(parts[0], others, strict=True):
            np.testing.assert_allclose(part, other, rtol=1e-13, atol=1e-15)


def test_a_level_that_nobody_knows_is_refused():
    code = (
        "from suffice.kernels import native\ntry:\n    native.library()\nexcept ValueError as error:\n    print(error)"
    )
    assert _python(code, SUFFICE_CPU="v9")[0].startswith("SUFFICE_CPU must be one of v2, v3, v4, got 'v9'")


def test_arrays_that_a_kernel_cannot_read_are_refused():
    sums = native.kernel("sums", "real n n f64 i64 n f64")
    with pytest.raises(TypeError, match="sums needs an array of f64 or f32, got int64"):
        sums(np.ones((4, 2), int), 4, 2, None, None, 1, np.zeros((1, 2)))
    with pytest.raises(ValueError, match="C-contiguous"):
        sums(np.ones((2, 4)).T, 4, 2, None, None, 1, np.zeros((1, 2)))


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
