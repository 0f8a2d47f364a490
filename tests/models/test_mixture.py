"""Mixtures: ridges, errors that name rows, floors, and components that are mixtures."""

import numpy as np
import pytest

import suffice as sf
from suffice.core.responsibilities import plus

TRUTH = sf.Mixture([sf.Normal(4, 0.8), sf.Normal(8, 2)], weights=[0.3, 0.7])


LIVES = TRUTH.sample(600, random_state=3)


TWO = sf.Mixture(sf.Normal(), 2)


PLANE = np.random.default_rng(1).normal(size=(300, 2)) * [1, 3] + np.repeat([[0, 0], [9, 1]], 150, axis=0)


def test_a_ridge_that_the_caller_gave_stays():
    ridged = sf.Mixture(sf.MultivariateNormal(), 2, floors=0.5)
    once = sf.fit(ridged, PLANE, random_state=0).distribution
    assert once.floors == 0.5
    assert sf.fit(once, PLANE, random_state=0).distribution.floors == 0.5


# ---- rows that cannot be ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [500, 9000])
@pytest.mark.parametrize("start", [None, "labels"])
@pytest.mark.parametrize(
    ("prototype", "bad"),
    [
        (sf.Normal(), np.inf),
        (sf.MultivariateNormal(), np.inf),
        (sf.Gamma(), -1.0),
        (sf.Mixture(sf.Normal(), 2), np.inf),
    ],
)
def test_errors_name_the_row_of_the_data(n, start, prototype, bad):
    x = np.random.default_rng(0).gamma(2.0, size=(n, 2))
    x[n - 37, 1] = bad
    with pytest.raises(sf.SufficeError, match=f"row {n - 37}, column 1"):
        sf.fit(sf.Mixture(prototype, 2), x, start=np.arange(n) % 2 if start else None)


def test_errors_name_the_row_of_a_component_and_a_column():
    x = np.random.default_rng(0).gamma(2.0, size=200)
    x[7] = -1
    with pytest.raises(sf.SufficeError, match="row 7 has -1"):
        sf.fit(sf.Mixture([sf.Gamma(), sf.Exponential()]), x)
    with pytest.raises(sf.SufficeError, match="row 7 has -1"):
        sf.fit(sf.Mixture(sf.Product({"a": sf.Normal(), "b": sf.Gamma()}), 2), {"a": x, "b": x})


# ---- rows that are no longer what they were --------------------------------------------------------------------------
def _changed(kind):
    x, w = LIVES.copy(), np.ones(len(LIVES))
    labels = np.where(x > 6, "old", "young")
    if kind == "weights":
        return sf.fit(TWO, x, weights=w), (w, 3, 2.0)
    if kind == "product":
        components = sf.Mixture(sf.Product({"age": sf.Normal(), "word": sf.Categorical()}), 2)
        return sf.fit(components, {"age": x, "word": labels}), (x, 3, 0.0)
    if kind == "stack":
        return sf.fit(sf.Mixture([sf.Normal(), sf.Laplace()]), x), (x, 3, 0.0)
    return sf.fit(TWO, x), (x, 3, 0.0)


@pytest.mark.parametrize("kind", ["numbers", "weights", "product", "stack"])
def test_standard_errors_of_rows_that_changed_are_refused(kind):
    fit, _ = _changed(kind)
    assert fit.standard_errors["weights"][0] > 0
    fit, (array, place, value) = _changed(kind)
    array[place] = value
    with pytest.raises(sf.SufficeError, match="changed after the fit"):
        fit.standard_errors  # noqa: B018 (computed when asked)
    assert "standard errors are left out" in fit.summary(errors=True)
    assert "ICL" not in str(fit)
    with pytest.raises(sf.SufficeError, match="ICL needs the rows"):
        fit.icl  # noqa: B018 (computed when asked)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: sf.Mixture(sf.Normal, 2), r"Normal\(\) instead of Normal"),
        (lambda: sf.Mixture(3), "got 3"),
        (lambda: sf.Mixture(sf.Normal(), 10**9), "from 1 to 1,000,000"),  # their weights alone fill the memory
        (lambda: sf.LatentClass(10**9).fit([["a", "b"]] * 5), "from 1 to 1,000,000"),
        (lambda: sf.Mixture("ab"), "got 'ab'"),
        (lambda: sf.Mixture([sf.Normal(), sf.Exponential()], floors=1e-3), "floors=0.001"),
        (lambda: sf.Mixture(sf.MultivariateNormal(), 2, floors=-1.0), "floors=-1.0"),
        (lambda: sf.Mixture(sf.Product({"weights": sf.Normal(), "b": sf.Normal()}), 2), "cannot be called 'weights'"),
        (lambda: sf.fit(TWO, LIVES, tol="a"), "tol is a number"),
        (lambda: sf.fit(TWO, LIVES, random_state="a"), "random_state is a seed"),
        (lambda: sf.fit(TWO, LIVES, random_state=-1), "random_state is a seed"),
        (lambda: TRUTH.permuted([0, 0]), "every number from 0 to 1 once"),
        (lambda: TRUTH.permuted([0, -1, 1]), "choose a part instead"),
        (lambda: TRUTH.permuted(sf.align(sf.Mixture([*TRUTH.parts, sf.Normal(20, 1)]), TRUTH)), "choose a part"),
    ],
)
def test_what_cannot_be_is_refused_in_words(make, told):
    with pytest.raises(sf.SufficeError, match=told):
        make()


def test_mixtures_as_components_may_be_equal():
    inner = [sf.Mixture([sf.Normal(0, 1), sf.Normal(5, 1)], weights=[w, 1 - w]) for w in (0.5, 0.5, 0.3)]
    mixture = sf.Mixture(inner)
    assert "components 0 and 1 are equal" in dict(mixture.alerts(mixture.suffstats(LIVES)))["unidentified"]


@pytest.mark.parametrize("kind", [np.float32, np.int64])
def test_scores_of_another_type_lose_no_digits_of_the_weights(kind):
    np.testing.assert_array_equal(plus(np.ones((2, 2), kind), np.log([0.3, 0.7])), 1 + np.log([[0.3, 0.7]] * 2))


@pytest.mark.parametrize("kind", [np.int64, np.float32])
def test_a_floor_of_any_type_holds(kind):
    covs = [
        sf.fit(sf.Mixture(sf.MultivariateNormal(), 2, floors=np.eye(2, dtype=one) * one(4)), PLANE, random_state=0)
        for one in (np.float64, kind)
    ]
    np.testing.assert_array_equal(covs[0].params["cov"], covs[1].params["cov"])
    assert np.linalg.eigvalsh(covs[1].params["cov"]).min() >= 4 * (1 - 1e-12)
