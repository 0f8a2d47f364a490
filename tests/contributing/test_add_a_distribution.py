"""CONTRIBUTING, "Add a distribution", followed literally: the file and the line, and nothing else."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import suffice as sf

ROOT = Path(__file__).parents[2]
CHAPTER = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("\n## Add a distribution\n")[1].split("\n## ")[0]
FILE, LINE = re.findall(r"```python\n(.*?)```", CHAPTER, re.DOTALL)
SCRIPT = r"""
import doctest, numpy as np, suffice as sf
from suffice.distributions import load, rayleigh
assert "Rayleigh" in dir(sf) and "Rayleigh" in load()
assert "scale : float or array, default 1\n        A number above 0." in sf.Rayleigh.__doc__
value = sf.fit(sf.Rayleigh(), [1.0, 7.0])
assert sf.io.loads(sf.io.dumps(value)).distribution == value.distribution
print(doctest.testmod(rayleigh, extraglobs={"sf": sf}))
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """The package as it is, but for the new file and the new line: everything else is a link."""
    place = tmp_path_factory.mktemp("house")
    source, target = Path(sf.__file__).parent, place / "suffice"
    new = target / "distributions"
    new.mkdir(parents=True)
    own = {"distributions", "__init__.py", "__pycache__"}
    links = [one for one in source.iterdir() if one.name != "distributions"]
    links += [one for one in (source / "distributions").iterdir() if one.name not in own]
    for one in links:
        (target / one.relative_to(source)).symlink_to(one)
    (new / "rayleigh.py").write_text(FILE, encoding="utf-8")
    table = (source / "distributions" / "__init__.py").read_text(encoding="utf-8")
    (new / "__init__.py").write_text(table.replace("FILES = {\n", "FILES = {\n" + LINE, 1), encoding="utf-8")
    return place


def run(house, *command):
    path = os.pathsep.join([str(house), str(ROOT)])
    found = subprocess.run(  # noqa: S603 (our own interpreter)
        [sys.executable, *command], cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


def test_the_family_is_known_everywhere(house):
    assert run(house, "-c", SCRIPT).strip() == "TestResults(failed=0, attempted=1)"


@pytest.mark.slow
def test_the_laws_find_it_in_the_registry_and_hold(house):
    chosen = ("tests/laws/test_laws.py", "tests/laws/test_degenerate.py", "tests/distributions/test_natural_form.py")
    told = run(house, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen, "-k", "Rayleigh")
    assert int(re.search(r"(\d+) passed", told)[1]) >= 100


def test_it_writes_the_required_list_and_some_of_the_recommended():
    tree = ast.parse(FILE)
    family = next(one for one in tree.body if isinstance(one, ast.ClassDef))
    own = {one.name for one in family.body if isinstance(one, ast.FunctionDef)}
    own |= {one.targets[0].id for one in family.body if isinstance(one, ast.Assign)}
    lists = {kind: CHAPTER.split(f"**{kind}**")[1].split("\n\n")[0] for kind in ("Required", "Recommended")}
    names = {kind: re.findall(r"`(\w+)(?:\([\w, ]*\))?`", text.split("\n", 1)[1]) for kind, text in lists.items()}
    required = set(re.findall(r"^- `(\w+)", lists["Required"], re.MULTILINE))
    assert len(required) >= 6
    assert required <= own
    assert own <= {*names["Required"], *names["Recommended"]}
