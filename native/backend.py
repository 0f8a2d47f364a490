"""The build backend: scikit-build-core, with ziglang as the compiler where the system has none.

A wheel whose kernels cannot be compiled has none (pyproject.toml says so), and the package works with NumPy alone. An
editable installation builds the kernels in the source tree.
"""

import os
import shutil
import subprocess
import sys
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
    """A wheel that points to the source tree, where the kernels are compiled."""
    try:
        build_in_place()
    except (OSError, subprocess.CalledProcessError) as error:
        sys.stderr.write(f"{error}\n")
    return core.build_editable(folder, settings, metadata)


def _compiler() -> list[str]:
    return ["ziglang"] if find_compiler() is None else []
