"""Measure how easily the code can be read: names, sizes, cycles, `Any`, and Python calls of common work.

Run `python tools/house.py` (or `python tools/house.py --static` where suffice is not installed).
"""

from __future__ import annotations

import argparse
import ast
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "suffice"
KERNELS = ("kernels",)
LONGEST = 5  # files and functions that are listed


def modules() -> dict[str, ast.Module]:
    """Parse every module, by its dotted name."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text(encoding="utf-8"), str(path))
    return found


def lines(path: Path) -> int:
    """Count the lines of a file."""
    return len(path.read_text(encoding="utf-8").splitlines())


def packages() -> dict[str, tuple[int, int]]:
    """Count lines and files of each package; single modules count under their own name."""
    found: dict[str, tuple[int, int]] = {}
    for path in SOURCE.rglob("*.py"):
        name = path.relative_to(SOURCE).parts[0]
        total, files = found.get(name, (0, 0))
        found[name] = (total + lines(path), files + 1)
    return found


def functions(trees: dict[str, ast.Module]) -> list[tuple[int, str]]:
    """List functions by their number of lines, longest first."""
    found = [
        (node.end_lineno - node.lineno + 1, f"{name}.{node.name}")
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None
    ]
    return sorted(found, reverse=True)


def imported(name: str, node: ast.AST, known: set[str]) -> Iterator[str]:
    """Yield the modules of the project that a statement imports."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in known)
    elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
        for alias in node.names:
            inner = f"{node.module}.{alias.name}"
            if inner in known:
                yield inner
            elif node.module in known and node.module != name:
                yield node.module


def graph(trees: dict[str, ast.Module], *, inside: bool) -> dict[str, set[str]]:
    """Map each module to those it imports; with ``inside`` also by statements inside functions."""
    known = set(trees)
    found = {}
    for name, tree in trees.items():
        nodes = ast.walk(tree) if inside else iter(tree.body)
        found[name] = {one for node in nodes for one in imported(name, node, known)} - {name}
    return found


def cycles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Find groups of modules that import each other (strongly connected components, Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for following in edges[node]:
            if following not in index:
                visit(following)
                low[node] = min(low[node], low[following])
            elif following in stack:
                low[node] = min(low[node], index[following])
        if low[node] == index[node]:
            group = []
            while not group or group[-1] != node:
                group.append(stack.pop())
            if len(group) > 1:
                found.append(sorted(group))

    sys.setrecursionlimit(10_000)
    for node in edges:
        if node not in index:
            visit(node)
    return found


def any_share(trees: dict[str, ast.Module]) -> tuple[int, int]:
    """Count the arguments annotated by a bare ``Any``, and all arguments (but for self and cls)."""
    bare = total = 0
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                every = [one for one in every if one.arg not in {"self", "cls"} or one.annotation is not None]
                total += len(every)
                bare += sum(isinstance(one.annotation, ast.Name) and one.annotation.id == "Any" for one in every)
    return bare, total


def concrete_checks(trees: dict[str, ast.Module]) -> Counter[str]:
    """Count ``isinstance`` of a concrete family or model outside of the package that defines it."""
    homes = {
        (name, node.name)
        for name, tree in trees.items()
        if name.split(".")[1:2] and name.split(".")[1] in {"distributions", "models", "densities"}
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    }
    found: Counter[str] = Counter()
    for name, tree in trees.items():
        package = name.split(".")[1] if "." in name else name
        concrete = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[1:2] != [package]
            for alias in node.names
            if (node.module, alias.name) in homes
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
                asked = {one.id for one in ast.walk(node.args[1]) if isinstance(one, ast.Name)}
                found.update({name: 1} if asked & concrete else {})
    return found


class Calls:
    """Count the calls of Python functions while the block runs: all of them, and those in suffice's files."""

    def __init__(self) -> None:
        self.all = self.own = 0
        self.files: Counter[str] = Counter()

    def _count(self, frame: Any, event: str, _argument: Any) -> None:
        if event == "call":
            self.all += 1
            file = frame.f_code.co_filename
            if file.startswith(str(SOURCE)):
                self.own += 1
                self.files[file] += 1

    def __enter__(self) -> Self:
        sys.setprofile(self._count)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)


def calls(work: Callable[[], Any]) -> Calls:
    """Count the calls of some work, after one run that loads what it needs."""
    work()
    with Calls() as counted:
        work()
    return counted


def measured() -> Iterator[tuple[str, str]]:
    """Yield what can only be seen by running the library."""
    import numpy as np

    import suffice as sf
    from suffice.core.distribution import Distribution

    yield "public names of Distribution", str(sum(not name.startswith("_") for name in dir(Distribution)))
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(centre, 1.0, (60, 2)) for centre in (0.0, 3.0, 6.0)])
    labels = np.repeat([0, 1, 2], 60)
    prototype = sf.Mixture(sf.MultivariateNormal(), 3)

    def passes(count: int) -> Callable[[], Any]:
        return lambda: sf.fit(prototype, x, start=labels, max_iter=count, tol=0.0, accelerate=False)

    few, many = calls(passes(5)), calls(passes(15))
    own, total = (many.own - few.own) / 10, (many.all - few.all) / 10
    files = sum(count >= few.files[file] + 10 for file, count in many.files.items())
    yield "calls per EM iteration", f"{own:.0f} in {files} files ({total:.0f} with NumPy's)"
    one = calls(lambda: sf.fit(sf.Normal(), x[:, 0]))
    yield "calls of sf.fit(sf.Normal(), x)", f"{one.own} in {len(one.files)} files ({one.all} with NumPy's)"
    table = {"a": labels.astype(float), "b": x[:, 0]}
    joint = sf.fit(sf.Mixture(sf.Product({"a": sf.Poisson(), "b": sf.Normal()}), 2), table, random_state=0)
    asked = calls(lambda: joint.given(a=1).marginal("b"))
    yield "calls of fit.given(a=1).marginal('b')", f"{asked.own} in {len(asked.files)} files ({asked.all} with NumPy's)"


def static() -> Iterator[tuple[str, str]]:
    """Yield what the source says."""
    trees = modules()
    sizes = packages()
    total = sum(count for count, _ in sizes.values())
    kernels = sum(sizes[name][0] for name in KERNELS if name in sizes)
    core = sizes.get("core", (0, 0))
    yield "lines of src", f"{total} ({total - kernels} without kernels); core {core[0]} in {core[1]} files"
    long = sorted(((lines(path), path) for path in SOURCE.rglob("*.py")), reverse=True)
    over = sum(count > 400 for count, _ in long)
    names = ", ".join(f"{path.relative_to(SOURCE)} {count}" for count, path in long[:LONGEST])
    yield "files over 400 lines", f"{over}; longest {names}"
    yield (
        "longest functions",
        ", ".join(f"{name.removeprefix('suffice.')} {n}" for n, name in functions(trees)[:LONGEST]),
    )
    top, deep = cycles(graph(trees, inside=False)), cycles(graph(trees, inside=True))
    yield (
        "import cycles",
        f"{len(top)}; with imports inside functions {len(deep)}" + (f": {deep[0][:4]} …" if deep else ""),
    )
    bare, arguments = any_share(trees)
    yield "arguments that are bare Any", f"{bare} of {arguments} ({bare / arguments:.0%})"
    checks = concrete_checks(trees)
    yield "isinstance of a concrete family elsewhere", f"{checks.total()} in {len(checks)} modules"
    yield "lines by package", ", ".join(f"{name.removesuffix('.py')} {n}" for name, (n, _) in sorted(sizes.items()))


def main() -> None:
    """Print the measures, one a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--static", action="store_true", help="only what the source says, without running the library")
    only_static = parser.parse_args().static
    try:
        import suffice  # noqa: F401
    except ImportError:
        python = ROOT / ".venv" / "bin" / "python"
        if not only_static and python.exists() and Path(sys.executable).resolve() != python:
            os.execv(python, [str(python), __file__])  # noqa: S606 (the project's own environment)
        only_static = True
    for title, value in (*([] if only_static else measured()), *static()):
        print(f"{title}: {value}")


if __name__ == "__main__":
    main()
