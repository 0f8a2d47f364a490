"""Which twin runs: the native one, unless the environment says otherwise or there is no library."""

import os
import subprocess
import sys
from importlib import import_module
from inspect import signature

import numpy as np
import pytest

from suffice import kernels
from suffice.kernels import native
from suffice.kernels.native import primitives as native_primitives
from suffice.kernels.numpy import primitives as numpy_primitives


def _python(code, **environment):
    """Standard output and error of a fresh process."""
    settings = {k: v for k, v in os.environ.items() if k not in {"SUFFICE_KERNELS", "SUFFICE_THREADS"}}
    done = subprocess.run(  # noqa: S603 (this interpreter, our code)
        [sys.executable, "-c", code], env={**settings, **environment}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip(), done.stderr


MOMENTS = """
import numpy as np
from suffice import kernels
for _ in range(2):
    print(*kernels.moments(np.arange({}.0)[:, None]))
"""


def test_without_a_library_numpy_serves_and_says_so_once(tmp_path):
    answer, said = _python(MOMENTS.format(1000), SUFFICE_NATIVE=str(tmp_path))
    assert said.count("no native kernels in") == 1
    assert answer == _python(MOMENTS.format(1000), SUFFICE_KERNELS="reference")[0]


def test_every_level_of_the_processor_answers_alike():
    code = "import numpy as np\nfrom suffice.kernels.native import primitives\n"
    code += "x = np.random.default_rng(0).random((999, 5))\n"
    code += "print(*(a.tobytes().hex() for a in primitives.scatter(x)))"
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
    for name, twin in {"reference": numpy_primitives, "compiled": native_primitives}.items():
        monkeypatch.setattr(twin, "moments", lambda *_, name=name: names.append(name))
    monkeypatch.delenv("SUFFICE_KERNELS", raising=False)
    return names


def test_the_library_serves_work_of_any_size(chosen):
    for n in (0, 1, 100):
        kernels.moments(np.ones((n, 3)))
    assert chosen == ["compiled"] * 3


def test_every_kernel_has_both_twins():
    """The name, the module and the signature are the same."""
    for name in kernels.__all__:
        definition = getattr(getattr(kernels, name), "__wrapped__", None)
        if definition is not None:
            twin = getattr(import_module(definition.__module__.replace(".numpy.", ".native.")), name)
            assert list(signature(twin).parameters) == list(signature(definition).parameters), name


def test_the_environment_decides_for_all(chosen, monkeypatch):
    x = np.ones((100, 3))
    monkeypatch.setenv("SUFFICE_KERNELS", "compiled")
    kernels.moments(x)
    monkeypatch.setenv("SUFFICE_KERNELS", "reference")
    kernels.moments(x)
    assert chosen == ["compiled", "reference"]
    monkeypatch.setenv("SUFFICE_KERNELS", "fast")
    with pytest.raises(ValueError, match=r"SUFFICE_KERNELS.*'fast'"):
        kernels.moments(x)
