"""What prior="weak" promises: about one row of evidence, estimates that stay near maximum likelihood and proper."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from tests import families

import suffice as sf
from suffice.errors import ParameterError, UnsupportedError

LEVELS = list("abcd")
GIVEN = {
    "Bernoulli": sf.Bernoulli(0.3),
    "Binomial": sf.Binomial(5, 0.2),
    "Categorical": sf.Categorical(LEVELS, [0.4, 0.3, 0.2, 0.1]),
    "Multinomial": sf.Multinomial(6, [0.5, 0.3, 0.2]),
    "Poisson": sf.Poisson(3.0),
    "Geometric": sf.Geometric(0.3),
    "Exponential": sf.Exponential(0.5),
    "Normal": sf.Normal(3.0, 2.0),
    "Normal, known std": sf.Normal(3.0, 2.0).fix("std"),
    "MultivariateNormal": sf.MultivariateNormal([1.0, 2.0, -1.0], [[1, 0.5, 0], [0.5, 2, 0.3], [0, 0.3, 0.7]]),
}
FAMILIES = {name: families.FAMILIES[name].example(np.random.default_rng(0)) for name in families.CONJUGATE} | GIVEN


def shift(model, x, weights=None, **options):
    """The distance of the weak estimate from maximum likelihood, in standard errors, by its largest number."""
    plain, weak = (sf.fit(model, x, weights=weights, prior=prior, **options) for prior in (None, "weak"))
    worst = 0.0
    for name, found in plain.standard_errors.items():
        moved = np.abs(np.asarray(weak.params[name]) - plain.params[name])
        error = np.asarray(found, dtype=float)
        worst = max(worst, float(np.max(moved[error > 0] / error[error > 0], initial=0.0)))
    return worst


@pytest.mark.parametrize("name", sorted(FAMILIES))
@pytest.mark.parametrize("n", [100, 1000, 10_000])
def test_the_estimate_is_within_a_tenth_of_a_standard_error_of_maximum_likelihood(name, n):
    model = FAMILIES[name]
    for seed in range(3):
        x = model.sample(n, random_state=seed)
        assert shift(model, x) <= 0.1 * np.sqrt(1000 / n)


@pytest.mark.parametrize("name", families.FAMILIES)
def test_every_family_has_a_weak_prior_or_says_why_not(name):
    """The estimate of 300 rows of a typical value is within a tenth of a standard error of maximum likelihood."""
    for seed in range(3):
        model = families.FAMILIES[name].example(np.random.default_rng(seed))
        x = model.sample(300, random_state=seed)
        if name not in families.WEAK:  # no prior gives their mode
            with pytest.raises(UnsupportedError, match=f"{name} cannot choose a weak prior.*give prior= a density"):
                sf.fit(model, x, prior="weak")
        else:
            assert shift(model, x) <= 0.1
            assert sf.fit(model, x, prior="weak").prior is not None


def test_the_weak_prior_of_a_log_normal_is_that_of_the_normal_of_its_logarithms():
    x = sf.LogNormal(1.0, 0.5).sample(9, random_state=0)
    found, logs = sf.fit(sf.LogNormal(), x, prior="weak"), sf.fit(sf.Normal(), np.log(x), prior="weak")
    assert found.prior == logs.prior
    assert tuple(found.params.values()) == pytest.approx(tuple(logs.params.values()), rel=1e-12)
    assert found.log_posterior - found.log_likelihood == pytest.approx(logs.log_posterior - logs.log_likelihood)


@pytest.mark.parametrize(
    ("model", "name", "rows"),
    [
        (sf.Gamma(), "shape", [0.7, 1.1, 1.9, 3.2]),
        (sf.NegativeBinomial(), "size", [0, 3, 1, 9, 2, 4]),
        (sf.NegativeBinomial(), "size", [2, 3, 3, 4, 2, 3]),  # narrower than a Poisson
    ],
)
def test_the_estimate_is_the_mode_of_likelihood_and_prior(model, name, rows):
    fit = sf.fit(model, rows, prior="weak")
    assert fit.alerts == ()
    best = fit.params[name]

    def height(value):
        other = "rate" if name == "shape" else "p"
        rest = value / np.mean(rows) if name == "shape" else value / (value + np.mean(rows))
        scored = type(model)(**{name: value, other: rest}).log_prob(np.array(rows, dtype=float)).sum()
        return scored + fit.prior[name].log_prob(value)

    assert fit.log_posterior == pytest.approx(height(best), rel=1e-9)
    assert all(height(best * factor) < height(best) for factor in (0.5, 0.99, 1.01, 2.0))


@pytest.mark.parametrize("model", [sf.LogNormal(), sf.Gamma(), sf.NegativeBinomial()])
def test_a_prior_that_gives_a_mode_alone_says_so_of_a_posterior(model):
    with pytest.raises(UnsupportedError, match=r"gives the mode of its posterior alone: use sf\.fit"):
        sf.posterior(model, [1.0, 3.0, 2.0], prior="weak")


@pytest.mark.parametrize(
    ("model", "prior", "told"),
    [
        (sf.Gamma(2.0).fix("shape"), "weak", "unless shape and rate are learned"),
        (sf.NegativeBinomial(2.0).fix("size"), "weak", "unless size and p are learned"),
        (sf.Gamma(), {"rate": sf.Gamma(1, 1)}, r"Gamma takes prior=\{'shape'"),
        (sf.NegativeBinomial(), {"p": sf.Beta(1, 1)}, r"NegativeBinomial takes prior=\{'size'"),
    ],
)
def test_priors_that_a_shape_or_size_cannot_have_are_refused(model, prior, told):
    with pytest.raises(UnsupportedError, match=told):
        sf.fit(model, [1.0, 3.0, 2.0], prior=prior)


def test_components_of_amounts_and_counts_have_weak_priors():
    """Before, they were left without one, with an alert."""
    rng = np.random.default_rng(0)
    for family, x in ((sf.LogNormal(), rng.lognormal(0, 1, 60)), (sf.Gamma(), rng.gamma(2.0, size=60))):
        fit = sf.fit(sf.Mixture(family, 2), x, prior="weak", random_state=0)
        assert "no prior" not in dict(fit.alerts)
    fit = sf.fit(sf.Mixture(sf.NegativeBinomial(), 2), rng.poisson(3.0, 60), prior="weak", random_state=0)
    assert {"no prior", "boundary", "fell"}.isdisjoint(dict(fit.alerts))


def half_lives(seed):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(1000) < 0.3, rng.normal(4, 0.8, 1000), rng.normal(8, 2, 1000))


@pytest.mark.parametrize("seed", range(5))
def test_the_half_lives_of_two_kinds_are_within_a_tenth_of_a_standard_error(seed):
    assert shift(sf.Mixture(sf.Normal(), 2), half_lives(seed), random_state=0) < 0.1


@pytest.mark.parametrize("seed", range(3))
def test_components_in_two_columns_are_within_a_tenth_of_a_standard_error(seed):
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.normal(size=(600, 2)), rng.normal(size=(400, 2)) @ [[1.0, 0.8], [0.0, 0.5]] + [4.0, 0.0]])
    assert shift(sf.Mixture(sf.MultivariateNormal(), 2), x, random_state=0) < 0.12


def test_three_components_of_iris_keep_their_rows():
    x = load_iris().data
    plain, weak = (
        sf.fit(sf.Mixture(sf.MultivariateNormal(), 3), x, prior=prior, random_state=0) for prior in (None, "weak")
    )
    assert np.bincount(weak.predict(x)).tolist() == [50, 45, 55]
    assert plain.log_likelihood - weak.log_likelihood < 2


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_one_covariance_loses_nothing(load):
    x = load().data
    plain, weak = (sf.fit(sf.MultivariateNormal(), x, prior=prior) for prior in (None, "weak"))
    assert weak.log_likelihood == pytest.approx(plain.log_likelihood, abs=1e-6)


def test_correlated_classes_are_distinguished_as_well_as_without_a_prior():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c", "d"], 50)
    size = rng.normal(30, 7, 200)
    shape = {"a": [1.0, 0.8, 2.1], "b": [1.0, 0.7, 2.1], "c": [1.0, 0.8, 1.95], "d": [1.0, 0.7, 1.95]}
    x = size[:, None] * np.array([shape[one] for one in y]) + rng.normal(0, 0.6, (200, 3))
    plain, weak = (sf.NaiveBayes(joint=True, prior=prior).fit(x[::2], y[::2]) for prior in (None, "weak"))
    assert weak.score(x[1::2], y[1::2]) >= plain.score(x[1::2], y[1::2]) - 0.02


# ---- still a protection ---------------------------------------------------------------------------------------------
def test_repeated_rows_do_not_make_a_component_a_point():
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.normal(size=(100, 2)), np.tile([[3.0, 3.0]], (15, 1))])
    fit = sf.fit(sf.Mixture(sf.MultivariateNormal(), 2), x, prior="weak", random_state=0)
    least = np.linalg.eigvalsh(fit.distribution.components.cov).min()
    assert least > 1e-4
    assert "collapsed" not in dict(fit.alerts)


def test_a_class_of_one_row_has_a_spread():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(41, 3)), np.array(["a"] * 40 + ["b"])
    model = sf.BayesClassifier(sf.MultivariateNormal(), prior="weak").fit(x, y)
    inside = np.cov(x[:40].T, bias=True) * 40 / 41
    np.testing.assert_allclose(model.distribution_.components.cov[1], inside / 2, rtol=1e-9)


def test_fewer_rows_than_columns_make_a_proper_estimate():
    x = np.random.default_rng(3).normal(size=(4, 6))
    fit = sf.fit(sf.MultivariateNormal(), x, prior="weak")
    spread = np.sqrt(np.diag(fit.distribution.cov))
    assert np.linalg.eigvalsh(fit.distribution.cov / np.outer(spread, spread)).min() > 1e-3
    assert fit.alerts == ()


@pytest.mark.parametrize("k", [1, 2])
def test_an_affine_map_of_the_rows_maps_the_estimate(k):
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.normal(size=(150, 3)), rng.normal((7.0, 0.0, 0.0), 1.0, (100, 3))])
    turn, move = np.array([[2.0, 0.3, 0.0], [0.0, 0.01, 0.0], [5.0, 0.0, 300.0]]), np.array([1e3, 0.0, -5.0])
    model = sf.MultivariateNormal() if k == 1 else sf.Mixture(sf.MultivariateNormal(), 2)
    start = {} if k == 1 else {"start": np.repeat([0, 1], [150, 100]), "tol": 1e-12, "max_iter": 2000}
    plain, mapped = (sf.fit(model, rows, prior="weak", **start) for rows in (x, x @ turn.T + move))
    cov = plain.distribution.cov if k == 1 else plain.distribution.components.cov
    found = mapped.distribution.cov if k == 1 else mapped.distribution.components.cov
    np.testing.assert_allclose(found, turn @ cov @ turn.T, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_unit_of_a_column_changes_nothing_else(unit):
    x = half_lives(0)
    model, options = sf.Mixture(sf.Normal(), 2), {"prior": "weak", "random_state": 0, "tol": 1e-12}
    plain, other = (sf.fit(model, rows, **options) for rows in (x, unit * x))
    np.testing.assert_allclose(other.params["std"], unit * np.asarray(plain.params["std"]), rtol=1e-4)


# ---- beliefs --------------------------------------------------------------------------------------------------------
def test_superfluous_components_empty_themselves():
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.normal(centre, 1.0, (100, 2)) for centre in ([0, 0], [6, 0], [0, 6])])
    post = sf.posterior(sf.Mixture(sf.MultivariateNormal(), 6), x, prior="weak", random_state=0)
    assert sorted(post.count.round()[post.count > 1].tolist()) == pytest.approx([99, 100, 101], abs=1)
    assert np.diff(post.trace.objective).min() > -1e-9


def test_the_estimate_is_the_mode_of_the_belief():
    x = np.random.default_rng(6).normal(size=(30, 2))
    for model in (sf.Normal(), sf.MultivariateNormal()):
        post, fit = sf.posterior(model, x, prior="weak"), sf.fit(model, x, prior="weak")
        for name, value in fit.params.items():
            np.testing.assert_allclose(post.mode[name], value, rtol=1e-12)


@pytest.mark.parametrize("kind", ["gamma", "wishart"])
def test_a_mode_offset_moves_the_mode_and_nothing_else(kind):
    x = np.random.default_rng(7).normal(2.0, 3.0, (20, 1))
    if kind == "gamma":
        model, rows = sf.Normal(), x[:, 0]
        plain, offset = (sf.NormalInverseGamma(0.0, 1.0, 0.5, 2.0, mode_offset=one) for one in (None, 0.0))
    else:
        model, rows = sf.MultivariateNormal(), x
        plain, offset = (sf.NormalInverseWishart([0.0], 1.0, 1.0, [[4.0]], mode_offset=one) for one in (None, 0.0))
    one, other = (sf.posterior(model, rows, prior=prior) for prior in (plain, offset))
    assert other.log_evidence == pytest.approx(one.log_evidence, rel=1e-12)
    name = "std" if kind == "gamma" else "cov"
    ratio = np.ravel(other.mode[name])[0] / np.ravel(one.mode[name])[0]
    assert (ratio**2 if kind == "gamma" else ratio) == pytest.approx(24 / 21, rel=1e-12)
    assert np.ravel(other.mean[name]) == pytest.approx(np.ravel(one.mean[name]), rel=1e-12)


@pytest.mark.parametrize("wrong", ["much", -5.0, True])
def test_a_mode_offset_that_leaves_no_divisor_is_refused(wrong):
    with pytest.raises(ParameterError, match="mode_offset"):
        sf.NormalInverseGamma(0.0, 1.0, 1.0, 1.0, mode_offset=wrong)
