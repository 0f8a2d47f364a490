"""What a distribution draws it can score, and a fit can read, however extreme the parameters are."""

from itertools import product

import numpy as np
import pytest
from tests import families

import suffice as sf
from suffice.core.parameters import Domain

PREDICTIVE = {kind.__name__: kind for kind in (sf.BetaBinomial, sf.BetaGeometric, sf.Lomax)}
FAMILIES = {
    name: kind
    for name, kind in sorted({**families.FAMILIES, **PREDICTIVE}.items())
    if not any(spec.domain.core for spec in kind.specs().values())
}
VECTORS = [
    *(sf.Dirichlet([size] * 3) for size in (1e-10, 1e-3, 0.01, 1.0, 1e10)),
    sf.Dirichlet([1e-3, 1.0, 1e5]),
    *(sf.DirichletMultinomial(5, [size] * 3) for size in (1e-10, 1e-3, 1.0, 1e10)),
    *(sf.MultivariateNormal(np.zeros(2), np.eye(2) * size) for size in (1e-200, 1.0, 1e200)),
    *(sf.Multinomial(trials, [1e-12, 1 - 1e-12]) for trials in (1, 10**6)),
]


def extremes(domain):
    """Numbers of a domain next to its bounds, and in the middle."""
    if domain.integer:
        return [1.0, 10**6]
    if domain.high == 1.0:
        return [1e-12, 0.5, 1 - 1e-12]
    return [1e-10, 1e-3, 0.01, 1.0, 300.0, 1e10] if domain.low == 0.0 else [-1e10, 0.0, 300.0]


def values(kind):
    names = list(kind.specs())
    for combination in product(*(extremes(spec.domain) for spec in kind.specs().values())):
        try:
            yield kind(**dict(zip(names, combination, strict=True)))
        except sf.SufficeError:  # bounds in the wrong order
            continue


def representable(value):
    """Whether float64 has numbers where the distribution is: exp(1e10) is none."""
    return not (isinstance(value, sf.LogNormal) and abs(value.mu) > 700)


@pytest.mark.parametrize("name", FAMILIES)
def test_what_is_drawn_has_a_density(name):
    for value in filter(representable, values(FAMILIES[name])):
        rows = value.sample(60, random_state=0)
        assert np.isfinite(rows).all(), value
        assert (value.log_prob(rows) > -np.inf).all(), value


@pytest.mark.parametrize("value", VECTORS, ids=repr)
def test_vectors_that_are_drawn_have_a_density(value):
    rows = value.sample(60, random_state=0)
    assert np.isfinite(rows).all()
    assert (value.log_prob(rows) > -np.inf).all()


@pytest.mark.parametrize(
    "value", [sf.Beta(0.1, 0.01), sf.Gamma(0.001, 1.0), sf.Weibull(0.001, 1.0), sf.LogNormal(0.0, 300.0)], ids=repr
)
def test_a_family_can_be_fitted_to_what_it_draws(value):
    rows = value.sample(50, random_state=0)
    assert value.suffstats(rows).weight.sum() == 50
    mixture = sf.Mixture([value, value])
    assert (mixture.log_prob(mixture.sample(50, random_state=0)) > -np.inf).all()


@pytest.mark.parametrize("closed", [(False, False), (True, True), (True, False)])
def test_the_nearest_number_inside_a_domain(closed):
    domain = Domain("a number", low=0.0, high=1.0, closed=closed)
    moved = domain.nearest_inside(np.array([-1.0, 0.0, 0.5, 1.0, np.inf]))
    assert domain.contains(moved).all()
    assert moved[2] == 0.5
    assert moved[1] == (0.0 if closed[0] else 5e-324)
    assert moved[3] == (1.0 if closed[1] else 1 - 2.0**-53)
