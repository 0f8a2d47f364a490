"""Every public name explains itself: what it takes, what it gives, and where a method comes from."""

import inspect
import re

import pytest
from tests.families import FAMILIES

import suffice as sf

PUBLIC = [name for name in sf.__all__ if not name.startswith("_") and not inspect.ismodule(getattr(sf, name))]
CALLED = [name for name in PUBLIC if not name.endswith(("Error", "Warning"))]
# Methods of the literature.
METHODS = (
    "BayesianGaussianMixture Gamma GaussianMixture InverseGaussian KMeans LatentClass LinearDiscriminantAnalysis "
    "Logistic Mixture MultivariateNormal QuadraticDiscriminantAnalysis StickBreaking StudentT compare fit infer merge "
    "posterior select"
)


def section(value, title):
    """The text of one section of a numpydoc docstring; None where there is none."""
    found = re.search(
        rf"^{title}\n-{{{len(title)}}}\n(.*?)(?=^\w[\w ]*\n---|\Z)", inspect.getdoc(value), re.DOTALL | re.MULTILINE
    )
    return found and found[1]


def entries(value, title):
    """The names that a section lists, each with its description."""
    text, found = section(value, title) or "", {}
    for names, words in re.findall(r"^(\S[^\n]*)\n((?:[ ]+[^\n]*\n?|\n)*)", text, re.MULTILINE):
        for name in names.partition(" : ")[0].split(","):
            found[name.strip().lstrip("*")] = words.strip()
    return found


def shown_by(module):
    """The functions of a module."""
    return [
        one
        for one in (getattr(getattr(sf, module), name) for name in getattr(sf, module).__all__)
        if inspect.isfunction(one)
    ]


SHOWN = [*shown_by("theory"), *shown_by("plot")]


def name_of(value):
    return value.__name__


def arguments(value):
    made = inspect.isclass(value) and value.__init__ is not object.__init__
    signature = inspect.signature(value.__init__ if made else value)
    return [name for name in signature.parameters if name != "self" and not name.startswith("_")]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_a_docstring_of_its_own(name):
    value = getattr(sf, name)
    assert len(inspect.getdoc(value) or "") > 20
    if inspect.isclass(value):
        assert value.__doc__ is not inspect.getmro(value)[1].__doc__


@pytest.mark.parametrize("name", CALLED)
def test_every_argument_is_listed_with_words(name):
    """What a caller makes lists its Parameters; what a function gives back may list them as Attributes."""
    value = getattr(sf, name)
    listed = entries(value, "Parameters") | entries(value, "Attributes")
    assert [one for one in arguments(value) if not listed.get(one)] == []
    assert [one for one in entries(value, "Parameters") if one not in arguments(value)] == []


@pytest.mark.parametrize("value", [*map(sf.__getattribute__, CALLED), *SHOWN], ids=name_of)
def test_every_listed_parameter_has_a_type(value):
    heads = re.findall(r"^(\S[^\n]*)$", section(value, "Parameters") or "", re.MULTILINE)
    assert [head for head in heads if " : " not in head] == []


@pytest.mark.parametrize("value", SHOWN, ids=name_of)
def test_functions_of_modules_list_their_arguments_and_what_they_return(value):
    assert set(arguments(value)) <= set(entries(value, "Parameters"))
    assert section(value, "Returns")


@pytest.mark.parametrize("name", [name for name in CALLED if not inspect.isclass(getattr(sf, name))])
def test_every_function_says_what_it_returns(name):
    value = getattr(sf, name)
    returns = inspect.signature(value).return_annotation
    assert (returns in (None, "None")) or section(value, "Returns")


@pytest.mark.parametrize("name", METHODS.split())
def test_methods_of_the_literature_have_references(name):
    assert re.search(r"\((19|20)\d\d\)\. ", section(getattr(sf, name), "References"))


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_parameters_are_documented_from_their_domains(family):
    assert family.__doc__.count("    Parameters\n") == 1
    listed = entries(family, "Parameters")
    for name, spec in family.specs().items():
        assert listed[name].lower().startswith(spec.domain.words.lower())


@pytest.mark.parametrize("module", ["theory", "plot", "testing"])
def test_modules_show_their_public_names_only(module):
    found = getattr(sf, module)
    assert dir(found) == sorted(found.__all__)
    for name in found.__all__:
        assert (getattr(found, name).__doc__ or "").strip()


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="suffice has no 'Gaussian'"):
        _ = sf.Gaussian
