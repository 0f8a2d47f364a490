"""Mixtures of data that no model should be fitted to: always finite, never silent, never an exception, and quick."""

import os
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from tests import families

import suffice as sf
from suffice.core import parameters
from suffice.core.parameters import LABEL
from suffice.core.variance_floor import Floored
from suffice.distributions.covariance_structures import STRUCTURES
from suffice.models.spurious_components import diagnose
from suffice.statistics.weights import Weights

IRIS = load_iris().data
RNG = np.random.default_rng(0)

ROWS = {
    "duplicates": np.repeat(IRIS[[0, 60, 120]], 50, axis=0),
    "constant column": np.c_[IRIS, np.ones(150)],
    "fewer rows than components": IRIS[:2],
    "far outlier": np.r_[IRIS, [[1e6] * 4]],
    "offset": IRIS + 1e8,
    "scales": IRIS * [1e-8, 1e8, 1.0, 1.0],
    "one row": IRIS[:1],
    "all equal": np.ones((50, 4)),
    "zeros": np.zeros((50, 4)),
    "collinear": np.c_[IRIS[:, :3], IRIS[:, 0] + IRIS[:, 1]],
}
HARMLESS = {"offset", "scales"}
LETTERS = ["identity", *sorted(set(STRUCTURES) - {"full", "diag", "spherical", "tied", "identity"})]


def finite(value):
    if isinstance(value, dict):
        return all(map(finite, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(finite, value))
    value = np.asarray(value)
    return value.dtype.kind not in "fiu" or bool(np.isfinite(value).all())


def fitted(prototype, x, k=3, **options):
    """Fit strictly: no warning of NumPy, no fall of the likelihood; finite."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        fit = sf.fit(sf.Mixture(prototype, k), x, random_state=0, **options)
    assert finite(fit.params)
    assert np.isfinite(fit.log_likelihood)
    assert (np.diff(fit.trace.objective) >= -1e-6 * (1 + np.abs(fit.trace.objective[1:]))).all()
    np.testing.assert_allclose(fit.distribution.weights.sum(), 1.0)
    return fit


@pytest.fixture(autouse=True)
def _strict(monkeypatch):
    monkeypatch.setenv("SUFFICE_STRICT", "1")


# Every other pair, as on a chessboard: every kind of rows meets every letter in every place. SUFFICE_ALL_PAIRS=1: all.
PAIRS = [
    (name, kind)
    for place, name in enumerate(LETTERS)
    for number, kind in enumerate(ROWS)
    if os.environ.get("SUFFICE_ALL_PAIRS") == "1" or (place + number) % 2 == 0
]


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("place", range(3), ids=["volume", "shape", "orientation"])
def test_every_kind_of_rows_meets_every_letter(kind, place):
    assert {name[place] for name, other in PAIRS if other == kind and name.isupper()} == set("EVI" if place else "EV")


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_gaussians_of_every_structure_survive(name, kind):
    fit = fitted(sf.MultivariateNormal(structure=name), ROWS[kind])
    plane = kind == "collinear" and (STRUCTURES[name].letters[2] == "I")  # no trouble for independent columns
    assert bool(fit.alerts) == (kind not in HARMLESS and not plane)
    cov = fit.distribution.components.cov
    assert STRUCTURES[name].holds(cov)
    spread = np.sqrt(np.einsum("kii->ki", cov))
    np.linalg.cholesky(cov / (spread[:, :, None] * spread[:, None, :]))


@pytest.mark.parametrize("name", LETTERS)
def test_an_offset_changes_nothing(name):
    model, start = sf.MultivariateNormal(structure=name), load_iris().target
    plain, moved = (fitted(model, ROWS["offset"] - by, start=start) for by in (1e8, 0.0))
    assert moved.log_likelihood == pytest.approx(plain.log_likelihood, rel=1e-8)


@pytest.mark.parametrize("name", ["EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVV", "VVV"])
def test_units_change_nothing_where_the_structure_has_none(name):
    plain, scaled = (fitted(sf.MultivariateNormal(structure=name), x) for x in (IRIS, ROWS["scales"]))
    assert scaled.log_likelihood == pytest.approx(plain.log_likelihood, rel=1e-6)


# ---- the other families ----------------------------------------------------------------------------------------------
COUNTS = RNG.poisson(3.0, 150).astype(float)
POSITIVE = RNG.gamma(2.0, 1.5, 150)
SOME = np.where(np.arange(150) % 3 == 1, 0.0, POSITIVE)
SHARES = RNG.beta(2.0, 3.0, 150)
REAL = RNG.normal(0.0, 1.0, 150)
BITS = (RNG.random(150) < 0.4).astype(float)
WORDS = RNG.integers(0, 3, 150).astype(str)
MANY = RNG.dirichlet([2.0, 3.0, 4.0], 150)
VOTES = RNG.multinomial(6, [0.2, 0.3, 0.5], 150).astype(float)


def column(x, **more):
    """Degenerate forms of one column, by name."""
    return {
        "duplicates": np.repeat(x[:3], 50),
        "fewer rows than components": x[:2],
        "one row": x[:1],
        "all equal": np.repeat(x[:1], 50),
        "constant column": np.c_[x, np.repeat(x[:1], len(x))],
        **more,
    }


def vector(x, **more):
    """Degenerate forms of rows that are vectors."""
    kinds = {"duplicates": np.repeat(x[:3], 50, axis=0), "one row": x[:1], "all equal": np.repeat(x[:1], 50, axis=0)}
    return {**kinds, "fewer rows than components": x[:2], **more}


def with_scales(x, far, **more):
    return column(x, **{"far outlier": np.r_[x, far], "scales": np.c_[x * 1e-8, x * 1e8], **more})


ZEROS = {"zeros": np.zeros(50)}
BY_SUPPORT = {
    parameters.BINARY: column(BITS, zeros=np.zeros((50, 3)), ones=np.ones((50, 3))),
    parameters.COUNT: column(COUNTS, **{"far outlier": np.r_[COUNTS, 1e6], **ZEROS}),
    parameters.NATURAL: column(COUNTS + 1, **{"far outlier": np.r_[COUNTS + 1, 1e6], "ones": np.ones(50)}),
    parameters.OPEN_UNIT: column(SHARES, **{"far outlier": np.r_[SHARES, 1 - 1e-12], "edge": np.r_[SHARES, 1e-300]}),
    parameters.POSITIVE: with_scales(POSITIVE, 1e6),
    parameters.NONNEGATIVE: with_scales(POSITIVE, 1e6, **ZEROS),
    parameters.REAL: with_scales(REAL, 1e6, offset=REAL + 1e8, **ZEROS),
    parameters.OPEN_SIMPLEX: vector(MANY, **{"far outlier": np.r_[MANY, [[1 - 2e-12, 1e-12, 1e-12]]]}),
    parameters.COUNT_VECTOR: vector(
        VOTES, **{"far outlier": np.r_[VOTES, [[1e6, 0, 0]]], "empty rows": np.r_[VOTES, np.zeros((5, 3))]}
    ),
}


def degenerate_rows(kind):
    """Degenerate forms of rows that a family can have made."""
    if kind.support is LABEL:
        return column(WORDS, rare=np.array([*WORDS, "rare"]))
    if kind.atoms:
        return with_scales(SOME, 1e6)
    return column(REAL) if families.is_angle(kind) else BY_SUPPORT[kind.support]


FAMILIES = {
    name: (families.prototype(name) if kind.support is not LABEL else kind(), degenerate_rows(kind))
    for name, kind in families.FAMILIES.items()
    if name != "MultivariateNormal"  # whose structures are above
}
FAMILIES |= {
    "Binomial": (sf.Binomial(10), column(np.minimum(COUNTS, 10.0), full=np.full(50, 10.0), **ZEROS)),
    "Multinomial": (sf.Multinomial(), FAMILIES["Multinomial"][1]),
}
TELLING = {"duplicates", "fewer rows than components", "one row", "all equal", "zeros", "ones", "full"}
LOUD = {"StudentT", "Uniform"}  # tails like a Normal's, bounds that a component learns: reasons of their own
QUIET = families.SCALE - LOUD
CASES = [(name, kind) for name, (_, kinds) in FAMILIES.items() for kind in kinds]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_every_family_survives(name, kind):
    prototype, kinds = FAMILIES[name]
    fit = fitted(prototype, kinds[kind], max_iter=300)
    if kind in TELLING:
        assert fit.alerts
    if kind in HARMLESS and name in QUIET:
        wide = type(prototype).peak_precision is Floored.peak_precision  # components of one size may come out equal
        assert not set(dict(fit.alerts)) - ({"unidentified"} if wide else set())


TABLE = {"a": REAL, "b": COUNTS, "c": WORDS}
PRODUCT = sf.Product({"a": sf.Normal(), "b": sf.Poisson(), "c": sf.Categorical()})


@pytest.mark.parametrize("chosen", [[0] * 50, [0], [0, 1], [0, 1, 2] * 50], ids=["equal", "one", "two", "repeated"])
@pytest.mark.parametrize("prototype", [PRODUCT, sf.Mixture(PRODUCT, 2)], ids=["columns", "mixtures"])
def test_unlike_columns_survive(prototype, chosen):
    assert fitted(prototype, {name: values[chosen] for name, values in TABLE.items()}, max_iter=100).alerts


# ---- what lies on the floor, and what is an accident -----------------------------------------------------------------
@pytest.mark.parametrize("name", sorted(set(LETTERS) - {"identity"}))
def test_components_on_the_floor_are_known(name):
    """Two components of many rows, one at a point: it lies on the floor unless it must have the volume of the other."""
    rng = np.random.default_rng(1)
    x = np.r_[rng.normal(0, 1, (60, 2)) @ [[1.0, 0.3], [0.0, 0.5]], np.tile([[50.0, 50.0]], (40, 1))]
    start = (np.arange(100) >= 60).astype(int)
    fit = fitted(sf.MultivariateNormal(structure=name), x, 2, start=start)
    mixture = fit.distribution
    held = mixture.components.on_floor(mixture.floors)
    wide = mixture.components.log_prob(x)[:60].argmax(axis=1) == 0
    assert held[1] == (name[0] == "V")
    assert not held[0]
    assert wide.all()
    roomy = mixture.components.on_floor(1e-6 * mixture.floors)
    assert not roomy.any()


def stats_of(mixture, rows):
    return mixture.suffstats(mixture.read(rows), Weights(len(rows)))


def flat_member(n, thickness, rng):
    """A cloud of 200 rows, and n rows that lie near a line."""
    along = rng.normal(0, 1, n)
    return np.r_[rng.normal(0, 1, (200, 2)), np.c_[8 + along, 8 + along + rng.normal(0, thickness, n)]]


@pytest.mark.parametrize(("n", "thickness"), [(10, 1e-3), (200, 1e-3), (10, 0.5), (5, 1e-2)])
def test_a_thin_component_that_lies_apart_is_a_cluster_however_few_its_rows(n, thickness):
    x = flat_member(n, thickness, np.random.default_rng(2))
    fit = fitted(sf.MultivariateNormal(), x, 2, start=(np.arange(len(x)) >= 200).astype(int))
    stats = stats_of(fit.distribution, x)
    assert not diagnose(fit.distribution, stats).spurious.any()
    assert not fit.distribution.is_spurious(stats)
    assert not fit.alerts


@pytest.mark.parametrize("prototype", [sf.Normal(), sf.MultivariateNormal(), sf.MultivariateNormal(structure="diag")])
def test_a_tight_cluster_of_many_rows_is_sound(prototype):
    rng = np.random.default_rng(3)
    x = np.r_[rng.normal(0, 1, (300, 2)), rng.normal(3, 2e-3, (100, 2))]
    fit = fitted(prototype, x, 2)
    assert not fit.alerts
    assert fit.distribution.components.separation(stats_of(fit.distribution, x).components).log_volume.min() < -20


def test_fewer_rows_than_columns_are_no_cluster():
    x = np.r_[np.random.default_rng(4).normal(0, 1, (100, 3)), [[9.0, 9.0, 9.0], [9.5, 9.1, 9.0]]]
    own = (np.arange(102) >= 100).astype(int)
    fit = fitted(sf.MultivariateNormal(), x, 2, start=own)
    assert {"few rows", "collapsed"} & set(dict(fit.alerts))
    assert fit.distribution.is_spurious(stats_of(fit.distribution, x))


@pytest.mark.parametrize("structure", ["EII", "EEI", "EEE", "tied"])
def test_components_that_share_a_covariance_need_no_rows_for_their_own(structure):
    x = np.r_[np.random.default_rng(4).normal(0, 1, (100, 3)), [[9.0, 9.0, 9.0], [9.5, 9.1, 9.0]]]
    fit = fitted(sf.MultivariateNormal(structure=structure), x, 2, start=(np.arange(102) >= 100).astype(int))
    assert not fit.alerts
    assert not fit.distribution.is_spurious(stats_of(fit.distribution, x))
