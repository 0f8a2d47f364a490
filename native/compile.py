"""Build the native kernels beside their wrappers, as an editable installation has them: ``python native/compile.py``.

The compiler is ``$CXX``, or a C++ compiler of the system, or the one that ziglang from PyPI brings.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE, LIBRARIES = ROOT / "build" / "native", ROOT / "src" / "suffice" / "kernels" / "lib"
COMPILERS = ("c++", "g++", "clang++")  # that know vector types: MSVC does not


def find_compiler() -> str | None:
    """The command of a C++ compiler, as ``CXX`` has it."""
    if os.environ.get("CXX"):
        return os.environ["CXX"]
    found = next(filter(None, map(shutil.which, COMPILERS)), None)
    zig = importlib.util.find_spec("ziglang")
    if found is None and zig is not None and zig.origin:
        found = f"{Path(zig.origin).parent / 'zig'} c++"
    return found


def build_in_place() -> None:
    """Configure and compile; raises what went wrong."""
    compiler, cmake = find_compiler(), shutil.which("cmake")
    if compiler is None or cmake is None:
        raise FileNotFoundError(f"suffice: there is no {'C++ compiler' if compiler is None else 'cmake'}")
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    configure = [cmake, "-S", str(ROOT / "native"), "-B", str(PLACE), "-DCMAKE_BUILD_TYPE=Release", *generator]
    try:
        _run(configure, compiler)
    except subprocess.CalledProcessError:  # the tools may be others than those of the last time
        shutil.rmtree(PLACE)
        _run(configure, compiler)
    _run([cmake, "--build", str(PLACE), "--parallel", str(os.cpu_count() or 1)], compiler)


def _run(command: list[str], compiler: str) -> None:
    done = subprocess.run(  # noqa: S603 (our commands)
        command,
        env={**os.environ, "CXX": compiler},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.stderr.write(done.stdout)
        done.check_returncode()


def main() -> None:
    """Build, or say why not: the package works without."""
    try:
        build_in_place()
    except FileNotFoundError as error:
        there = "those that are there stay" if any(LIBRARIES.glob("*.so")) else "NumPy computes instead, slower"
        sys.stderr.write(f"{error}, so the native kernels are not built; {there}\n")


if __name__ == "__main__":
    main()
