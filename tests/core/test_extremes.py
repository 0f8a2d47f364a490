"""Numbers at the ends of float64, weights in any unit, and rows that only some members can have made."""

import numpy as np
import pytest

import suffice as sf
from suffice.core.errors import DataError
from suffice.distributions.covariance import orthogonal

pytestmark = pytest.mark.filterwarnings("error")

PAIR = np.concatenate([np.random.default_rng(0).normal(size=(30, 2)), np.random.default_rng(1).normal(6, 1, (30, 2))])
MEMBERS = {
    "full": sf.MultivariateNormal(),
    "tied": sf.MultivariateNormal(structure="tied"),
    "diag": sf.MultivariateNormal(structure="diag"),
    "VVE": sf.MultivariateNormal(structure="VVE"),
    "Normal": sf.Normal(),
    "StudentT": sf.StudentT(),
    "Laplace": sf.Laplace(),
    "Uniform": sf.Uniform(),
}


@pytest.mark.parametrize("value", [1e160, -1e200, 1e308])
@pytest.mark.parametrize("name", MEMBERS)
def test_numbers_without_a_square_are_named(name, value):
    x = PAIR.copy()
    x[17, 1] = value
    with pytest.raises(DataError, match=f"row 17, column 1 has {value:g}".replace("+", r"\+")):
        sf.fit(sf.Mixture(MEMBERS[name], 2), x, random_state=0)
    weights = np.ones(60)
    weights[17] = 0.0
    assert np.isfinite(sf.fit(sf.Mixture(MEMBERS[name], 2), x, weights=weights, random_state=0).log_likelihood)


def test_the_column_is_named():
    table = {"a": PAIR[:, 0], "b": np.repeat(["u", "v"], 30), "c": np.full(60, 1e300)}
    prototype = sf.Product({"a": sf.Normal(), "b": sf.Categorical(), "c": sf.Normal()})
    with pytest.raises(DataError, match=r"row 0, column c has 1e.300.*Divide"):
        sf.fit(sf.Mixture(prototype, 2), table, random_state=0)


@pytest.mark.parametrize("prototype", [sf.Normal(), sf.MultivariateNormal()])
def test_a_lone_normal_names_them_too(prototype):
    with pytest.raises(DataError, match=r"row 17, column 0 has .*e.160.*Divide"):
        sf.fit(prototype, np.where(np.arange(60) == 17, 1e160, PAIR[:, 0])[:, None])


@pytest.mark.parametrize("make", [sf.GaussianMixture, sf.BayesianGaussianMixture], ids=["GaussianMixture", "Bayesian"])
def test_estimators_name_what_they_cannot_learn_from(make):
    with pytest.raises(DataError, match=r"row 0, column 1 has 1e.300"):
        make(n_components=2).fit(np.column_stack([PAIR[:, 0], np.full(60, 1e300)]))
    with pytest.raises(DataError, match=f"{make.__name__} cannot be fitted: every cell is missing"):
        make(n_components=2).fit(np.full((10, 2), np.nan))


@pytest.mark.parametrize("unit", [1e-160, 1e-310])
@pytest.mark.parametrize("name", MEMBERS)
def test_columns_below_the_smallest_square_are_constant(name, unit):
    fit = sf.fit(sf.Mixture(MEMBERS[name], 2), PAIR * unit, random_state=0)
    assert np.isfinite(fit.log_likelihood)
    assert all(np.isfinite(np.asarray(value)).all() for value in fit.params.values())
    assert fit.alerts or name in {"StudentT", "Laplace", "Uniform"}  # these take no squares


@pytest.mark.parametrize("unit", [2.0**660, 2.0**-660])
@pytest.mark.parametrize("name", MEMBERS)
def test_weights_have_no_unit(name, unit):
    prototype = sf.Mixture(MEMBERS[name], 2)
    one, other = (sf.fit(prototype, PAIR, weights=np.full(60, weight), random_state=0) for weight in (1.0, unit))
    np.testing.assert_allclose(other.log_likelihood / unit, one.log_likelihood, rtol=1e-6)
    np.testing.assert_allclose(other.distribution.weights, one.distribution.weights, atol=1e-4)


@pytest.mark.parametrize("kind", ["dirichlet_process", "dirichlet_distribution"])
def test_beliefs_take_large_weights(kind):
    model = sf.BayesianGaussianMixture(n_components=3, weight_concentration_prior_type=kind, random_state=0)
    assert np.isfinite(model.fit(PAIR, sample_weight=np.full(60, 1e200)).lower_bound_)


def test_weights_that_keep_no_digits_are_refused():
    with pytest.raises(DataError, match=r"add up to 5.99.*multiply them"):
        sf.fit(sf.Mixture(sf.Normal(), 2), PAIR[:, 0], weights=np.full(60, 1e-320))


def test_given_owners_count_in_any_unit():
    owners = np.repeat([0, 1], 30)
    fit = sf.fit(sf.Mixture(sf.Normal(), 2), PAIR, weights=np.full(60, 1e-9), start=owners)
    assert "symmetric" not in dict(fit.alerts)
    even = sf.fit(sf.Mixture(sf.Normal(), 2), PAIR, weights=np.full(60, 1e-9), start=np.full((60, 2), 0.5))
    assert "symmetric" in dict(even.alerts)


def test_rows_of_nearly_nothing_turn_without_a_warning():
    rows, turns = orthogonal(np.array([[[1.0, 0.0], [1e-310, 0.0]]]))
    np.testing.assert_array_equal(turns[0], np.eye(2))
    np.testing.assert_array_equal(rows[0, 0], [1.0, 0.0])


# ---- labels of which there are none ----------------------------------------------------------------------------------
@pytest.mark.parametrize("k", [1, 3])
def test_labels_that_are_all_missing_are_no_data(k):
    with pytest.raises(DataError, match="every cell is missing"):
        sf.fit(sf.Mixture(sf.Categorical(), k), np.full((10, 2), np.nan), random_state=0)


def test_a_column_without_labels_is_shown():
    rows = np.array([["a", None], ["b", None], ["a", None]], dtype=object)
    fit = sf.fit(sf.Mixture(sf.Categorical(), 2), rows, random_state=0)
    assert "column 1 has no value at all" in " ".join(str(fit).split())


def test_members_without_rows_are_shown_without_a_warning():
    fit = sf.fit(sf.Mixture([sf.Normal(), sf.Laplace(), sf.Uniform()]), np.zeros((40, 2)), random_state=0)
    assert "have no rows" in " ".join(str(fit).split())


# ---- rows that only some members can have made -----------------------------------------------------------------------
def waits(n=300):
    rng = np.random.default_rng(5)
    return np.concatenate([rng.normal(0, 1, n), rng.exponential(5, n)])


@pytest.mark.parametrize("turned", [False, True])
def test_what_an_exponential_cannot_be_is_the_normals(turned):
    x, members = waits(), [sf.Normal(), sf.Exponential()]
    fit = sf.fit(sf.Mixture(members[::-1] if turned else members), x, random_state=0)
    normal, waiting = fit.distribution.parts[::-1] if turned else fit.distribution.parts
    assert fit.converged
    assert not fit.alerts
    place = 1 if turned else 0
    np.testing.assert_array_equal(fit.predict_proba(x)[x < 0, place], 1.0)
    r = fit.predict_proba(x)
    assert normal.mean == pytest.approx(np.average(x, weights=r[:, place]), abs=1e-3)  # a fixed point of EM
    assert 1 / waiting.rate == pytest.approx(np.average(x, weights=r[:, 1 - place]), abs=1e-3)
    truth = sf.Mixture([sf.Normal(0.0, 1.0), sf.Exponential(0.2)], weights=[0.5, 0.5])
    assert fit.log_likelihood > truth.log_prob(x).sum()


def test_products_share_such_rows_out_too():
    x = np.column_stack([waits(), np.random.default_rng(0).gamma(2.0, 1.0, 600)])
    members = [sf.Product([sf.Normal(), sf.Gamma()]), sf.Product([sf.Exponential(), sf.Gamma()])]
    fit = sf.fit(sf.Mixture(members), x, random_state=0)
    assert (fit.predict(x)[x[:, 0] < 0] == 0).all()
    assert np.isfinite(fit.log_likelihood)


def test_a_weak_prior_is_of_the_rows_that_a_member_can_have_made():
    x, members = waits(), sf.Mixture([sf.Normal(), sf.Exponential()])
    fit = sf.fit(members, x, prior="weak", random_state=0)
    again = sf.fit(members, x, prior="weak", start=sf.fit(members, x, random_state=0).distribution)
    assert fit.log_posterior == pytest.approx(again.log_posterior, abs=1e-4)
    expected = sf.fit(sf.Mixture([sf.Exponential(), sf.Gamma()]), x[x >= 0], prior="weak", random_state=0)
    assert fit.prior["components"][1] == expected.prior["components"][0]


def test_rows_that_nobody_can_have_made_are_named():
    with pytest.raises(DataError, match="member 0: Exponential takes a number of at least 0, but row 2 has -1"):
        sf.fit(sf.Mixture([sf.Exponential(), sf.Gamma()]), [1.0, 2.0, -1.0, 3.0], random_state=0)


def test_a_member_that_can_have_made_no_row_is_named():
    with pytest.raises(DataError, match="member 1: Poisson"):
        sf.fit(sf.Mixture([sf.Laplace(), sf.Poisson()]), PAIR[:, 0] + 0.5, random_state=0)
