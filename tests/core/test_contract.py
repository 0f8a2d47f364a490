"""The contract stays small: a page for users, and classes of a few names for algorithms."""

import inspect

import pytest

import suffice as sf
from suffice.core.family import Family
from suffice.distributions import load

CLASSES = [one for one in Family.__mro__ if one not in (Family, sf.Distribution, object)]


def public(names):
    return {name for name in names if not name.startswith("_")}


def test_users_meet_a_page_of_names():
    assert len(public(dir(sf.Distribution))) <= 45


@pytest.mark.parametrize("one", CLASSES, ids=lambda one: one.__name__)
def test_a_class_of_the_contract_adds_few_names(one):
    inherited = {name for base in one.__mro__[1:] for name in vars(base)}
    assert len(public(vars(one).keys() - inherited)) <= 15


@pytest.mark.parametrize("name", sorted(load()))
def test_every_verb_of_the_page_is_documented_on_a_family(name):
    family = load()[name]
    verbs = [verb for verb in public(dir(sf.Distribution)) if callable(getattr(family, verb))]
    assert [verb for verb in verbs if not inspect.getdoc(getattr(family, verb))] == []
