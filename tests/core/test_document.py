"""Every public name explains itself."""

import inspect

import pytest

import suffice as sf
from suffice.distributions import load


@pytest.mark.parametrize("name", [name for name in dir(sf) if not name.startswith("_")])
def test_every_public_name_has_a_docstring_of_its_own(name):
    value = getattr(sf, name)
    assert len(inspect.getdoc(value) or "") > 20
    if inspect.isclass(value):
        assert value.__doc__ is not inspect.getmro(value)[1].__doc__


@pytest.mark.parametrize("family", load().values(), ids=load())
def test_parameters_are_documented_from_their_domains(family):
    text = family.__doc__
    assert text.count("    Parameters\n") == 1
    for name, spec in family.specs().items():
        assert f"    {name}\n        {spec.domain.words}" in text


@pytest.mark.parametrize("module", ["theory", "plot", "testing"])
def test_modules_show_their_public_names_only(module):
    found = getattr(sf, module)
    assert dir(found) == sorted(found.__all__)
    for name in found.__all__:
        assert (getattr(found, name).__doc__ or "").strip()


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="suffice has no 'Gaussian'"):
        _ = sf.Gaussian
