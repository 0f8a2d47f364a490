"""A distribution with parameters answers only about rows with as many columns as it has parameters for."""

import re

import numpy as np
import pytest
from tests import families

import suffice as sf
from suffice.errors import DataError

ROWS = 6
VERBS = ("log_prob", "suffstats", "predict", "predict_proba", "surprisal", "impute")
FAMILIES = {name: kind for name, kind in families.FAMILIES.items() if name not in families.VECTORS}


def values(kind, columns):
    """Two typical values of a family over some columns, and rows of three columns that it could have made."""
    rng = np.random.default_rng(3)
    batch = () if columns == 1 else (columns,)
    return kind.example(rng, batch), kind.example(rng, batch), kind.example(rng, (3,)).sample(ROWS, rng)


def models(one, other, columns):
    names = "a" if columns == 1 else tuple("abc"[:columns])
    yield "alone", one
    yield "mixture", sf.Mixture([one, other])
    yield "mixture of unlike components", sf.Mixture([one, sf.Mixture([one, other])])
    yield "product", sf.Product([one])
    yield "product with names", sf.Product({names: one})
    yield "mixture in a product", sf.Product([sf.Mixture([one, other])])
    yield "mixture of products", sf.Mixture([sf.Product([one]), sf.Product([other])])


def asked(model, verbs=VERBS):
    """The verbs that a model has and that need parameters for each column."""
    exact = model.exact  # statistics without parameters: such a value is a prototype for any number of columns
    return [verb for verb in verbs if hasattr(model, verb) and not (verb == "suffstats" and exact)]


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("name", FAMILIES)
def test_rows_of_another_width_are_refused_with_both_numbers(name, columns):
    one, other, rows = values(FAMILIES[name], columns)
    for label, model in models(one, other, columns):
        mixed = isinstance(model, sf.Mixture)
        for verb in asked(model, VERBS if mixed else [verb for verb in VERBS if not verb.startswith("predict")]):
            for width in {1, 2, 3} - {columns}:
                with pytest.raises(DataError) as refusal:
                    getattr(model, verb)(rows[:, :width])
                numbers = {int(number) for number in re.findall(r"\b\d+\b", str(refusal.value))}
                assert {columns, width} <= numbers, (label, verb, str(refusal.value))


@pytest.mark.parametrize("name", FAMILIES)
def test_rows_without_columns_are_refused(name):
    one, other, rows = values(FAMILIES[name], 1)
    for _, model in models(one, other, 1):
        for verb in ("log_prob", "suffstats"):
            with pytest.raises(DataError, match="column"):
                getattr(model, verb)(rows[:, :0])
    with pytest.raises(DataError, match="column"):
        sf.fit(one, rows[:, :0])


@pytest.mark.parametrize("name", FAMILIES)
def test_rows_of_the_same_width_are_answered(name):
    one, other, rows = values(FAMILIES[name], 1)
    for _, model in models(one, other, 1):
        assert np.shape(model.log_prob(rows[:, :1])) == (ROWS,)
        assert len(model.suffstats(rows[:, :1]).weight) >= 1
    if one.exact:  # a value whose statistics need no parameters is a prototype for any number of columns
        assert one.suffstats(rows[:, [0, 0, 0]]).weight.shape == (1, 3)


@pytest.mark.parametrize("verb", ["log_prob", "suffstats"])
@pytest.mark.parametrize("width", [0, 2, 4])
@pytest.mark.parametrize(
    "model",
    [sf.Dirichlet([1.0, 2.0, 3.0]), sf.Multinomial(4, [0.2, 0.3, 0.5]), sf.MultivariateNormal(np.zeros(3), np.eye(3))],
    ids=lambda model: model.name,
)
def test_vectors_of_another_length_are_refused(model, width, verb):
    rows = np.full((ROWS, width), 4.0 / max(width, 1))
    for one in (model, sf.Mixture([model, model]), sf.Product([model]), sf.Mixture([sf.Product([model])])):
        with pytest.raises(sf.SufficeError, match=rf"{width}|column"):
            getattr(one, verb)(rows)


@pytest.mark.parametrize("prototype", [sf.Normal(), sf.Poisson(), sf.Mixture(sf.Normal(), 2)], ids=repr)
def test_a_fit_takes_rows_with_the_columns_of_its_data(prototype):
    rows = np.random.default_rng(0).poisson(3.0, 40).astype(float)
    found = sf.fit(prototype, rows, random_state=0)
    for verb in ("log_prob", "suffstats", "predict", "predict_proba"):
        if verb.startswith("predict") and not isinstance(prototype, sf.Mixture):
            continue
        with pytest.raises(DataError, match=r"1 column.*have 3.*same columns"):
            getattr(found, verb)(np.ones((2, 3)))
    assert found.suffstats(rows).weight.sum() == pytest.approx(len(rows), rel=1e-12)


def test_a_mixture_in_a_product_takes_no_more_columns_than_it_has_parameters_for():
    model = sf.Product([sf.Mixture([sf.Normal(0.0, 1.0), sf.Normal(4.0, 1.0)]), sf.Normal(0.0, 1.0)])
    assert np.shape(model.log_prob(np.ones((2, 2)))) == (2,)
    with pytest.raises(DataError, match=r"column 0.*1 column.*have 2"):
        model.log_prob(np.ones((2, 3)))


def test_statistics_of_a_mixture_are_not_gathered_from_more_columns():
    mixture = sf.Mixture([sf.Normal(0.0, 1.0), sf.Normal(4.0, 1.0)])
    with pytest.raises(DataError, match=r"1 column.*have 3"):
        mixture.suffstats(np.ones((5, 3)))
    assert sf.fit(mixture, np.random.default_rng(0).normal(size=(30, 3)), random_state=0).distribution.columns == 3
