"""A short run of the search at random; `python -m tests.search --seconds N` goes further."""

import numpy as np
import pytest
from tests.search import __main__ as search
from tests.search.laws import ALWAYS, SOMETIMES, check, require
from tests.search.problems import VERBS, Problem, make

import suffice as sf
from suffice.em.convergence import ObjectiveFellError


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


def test_a_refusal_in_scikit_learns_words_is_no_finding(monkeypatch):
    monkeypatch.setenv("SUFFICE_STRICT", "1")
    lone = Problem(0, "classify", sf.QuadraticDiscriminantAnalysis(), np.eye(3), labels=np.array([0, 0, 1]))
    assert check(lone) is None  # one row of class 1
    monkeypatch.setattr("tests.search.laws.learn", lambda problem: np.zeros(2).reshape(problem.seed + 3))
    law, seen = check(lone)
    assert law == "no raw exception"
    assert "cannot reshape" in seen


@pytest.mark.parametrize("verb", VERBS)
def test_problems_of_every_sort_are_made(verb):
    made = [problem for problem in map(make, range(600)) if problem.verb == verb]
    assert len({type(problem.model).__name__ for problem in made}) >= {"classify": 7, "cluster": 3, "posterior": 5}.get(
        verb, 3
    )


def test_a_fall_of_em_is_a_finding(monkeypatch):
    def fallen(_):
        msg = "stopped after pass 3, which lowered the log-likelihood"
        raise ObjectiveFellError(msg)

    monkeypatch.setattr("tests.search.laws.learn", fallen)
    assert check(make(0)) == ("never_falls", "stopped after pass 3, which lowered the log-likelihood")
