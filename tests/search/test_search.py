"""A short run of the search at random; `python -m tests.search --seconds N` goes further."""

import pytest
from tests.search import __main__ as search
from tests.search.laws import ALWAYS, SOMETIMES, check, require
from tests.search.problems import make


@pytest.mark.parametrize("seed", range(40))
def test_random_problems_keep_the_laws(seed, monkeypatch):
    monkeypatch.setenv("SUFFICE_STRICT", "1")
    problem = make(seed)
    broken = check(problem)
    assert broken is None, f"{broken}\n{problem!r}\npython -m tests.search --case {seed}"


def test_a_seed_is_a_problem():
    assert repr(make(3)) == repr(make(3))
    assert len({repr(make(seed)) for seed in range(20)}) > 10


def test_every_law_has_its_turn():
    turns = {SOMETIMES[(seed + step) % len(SOMETIMES)] for seed in range(16) for step in range(2)}
    assert turns == set(SOMETIMES)
    assert turns.isdisjoint(ALWAYS)


def test_a_broken_law_is_printed_with_its_case(monkeypatch, capsys):
    monkeypatch.setenv("SUFFICE_STRICT", "1")
    monkeypatch.setattr("tests.search.laws.ALWAYS", [lambda problem, found: require(found is problem, "they differ")])
    assert search.main(["--case", "1"]) == 1
    printed = capsys.readouterr().out
    assert "they differ" in printed
    assert "python -m tests.search --case 1" in printed
