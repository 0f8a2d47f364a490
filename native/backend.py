"""The build backend: scikit-build-core, with ziglang as the compiler where the system has none.

A wheel whose kernels cannot be compiled has none (pyproject.toml says so), and the package works with NumPy alone. An
editable installation builds the kernels in the source tree.
"""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from compile import build_in_place, find_compiler
from scikit_build_core import build as core
from scikit_build_core.build import build_sdist, get_requires_for_build_sdist

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
]

SOURCE = Path(__file__).parents[1] / "src"


def get_requires_for_build_wheel(settings: Any = None) -> list[str]:
    """What scikit-build-core needs, and a compiler."""
    return [*core.get_requires_for_build_wheel(settings), *_compiler()]


def get_requires_for_build_editable(settings: Any = None) -> list[str]:
    """The same, and the tools that scikit-build-core would ask for if it built the kernels."""
    tools = [tool for tool in ("cmake", "ninja") if shutil.which(tool) is None]
    return [*core.get_requires_for_build_editable(settings), *tools, *_compiler()]


def build_wheel(folder: str, settings: Any = None, metadata: str | None = None) -> str:
    """A wheel with compiled kernels, if they compile."""
    if (compiler := find_compiler()) is not None:
        os.environ["CXX"] = compiler
    return core.build_wheel(folder, settings, metadata)


def build_editable(folder: str, settings: Any = None, metadata: str | None = None) -> str:
    """A wheel that points to the source tree, where the kernels are compiled.

    It holds a path and no import hook, as scikit-build-core would add: PYTHONPATH comes first, as usual.
    """
    try:
        build_in_place()
    except (OSError, subprocess.CalledProcessError) as error:
        sys.stderr.write(f"{error}\n")
    with tempfile.TemporaryDirectory() as place:
        wheel = core.build_editable(place, settings, metadata)
        with zipfile.ZipFile(Path(place, wheel)) as built:
            files = {name: built.read(name) for name in built.namelist() if ".dist-info/" in name}
    record = next(name for name in files if name.endswith(".dist-info/RECORD"))
    files["suffice.pth"] = f"{SOURCE}\n".encode()
    del files[record]
    lines = [f"{name},sha256={_digest(text)},{len(text)}\n" for name, text in files.items()]
    files[record] = "".join([*lines, f"{record},,\n"]).encode()
    with zipfile.ZipFile(Path(folder, wheel), "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return wheel


def _digest(text: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()


def _compiler() -> list[str]:
    return ["ziglang"] if find_compiler() is None else []
