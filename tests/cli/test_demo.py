"""The demo, from end to end."""

import re

import pytest

import suffice as sf


@pytest.mark.slow
def test_the_demo_finds_the_species(process, tmp_path):
    done = process("demo", "--dir", tmp_path / "demo")
    assert done.returncode == 0, done.stderr
    page = done.stdout
    share = float(re.search(r"([\d.]+)% of the penguins are in a group whose majority is their species", page)[1])
    index = float(re.search(r"Adjusted Rand index of the three groups against the species, unseen: ([\d.]+)", page)[1])
    assert share >= 97
    assert index >= 0.90
    assert sf.load(tmp_path / "demo" / "model.json").distribution.n in (5, 6)  # species × sex
    assert {"penguins.csv", "model.json", "report.html", "filled.csv"} <= {
        one.name for one in (tmp_path / "demo").iterdir()
    }
    assert "$ suffice fit" in page
    assert "# in Python: " in page
