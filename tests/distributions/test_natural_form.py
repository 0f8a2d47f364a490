"""Natural parameters of every exponential family: there and back, and Cov u = ∂²A/∂η²."""

import numpy as np
import pytest
from tests.families import EXPONENTIAL, FAMILIES

import suffice as sf

every = pytest.mark.parametrize("family", [FAMILIES[name] for name in sorted(EXPONENTIAL | {"Categorical"})])


@every
@pytest.mark.parametrize("seed", range(3))
def test_the_natural_parameter_leads_back(family, seed):
    dist = family.example(np.random.default_rng(seed))
    back = dist.from_natural(dist.natural())
    for name, value in dist.params.items():
        np.testing.assert_allclose(back.params[name], value, rtol=1e-9, atol=1e-12)


@every
@pytest.mark.parametrize("batch", [(2,), (3, 2)], ids=["columns", "stack"])
def test_the_natural_parameter_of_columns_and_stacks_leads_back(family, batch):
    if family is sf.MultivariateNormal:
        batch = batch[:1]
    dist = family.example(np.random.default_rng(0), batch)
    back = dist.from_natural(dist.natural())
    for name, value in dist.params.items():
        np.testing.assert_allclose(back.params[name], value, rtol=1e-9, atol=1e-12)
    cov = np.asarray(dist.covariance_statistic())
    m = np.asarray(dist.natural()).shape[len(batch) :]
    assert cov.shape == (*batch, *m, *m)


@every
@pytest.mark.parametrize("seed", range(3))
def test_the_covariance_of_the_statistic_is_the_slope_of_its_mean(family, seed):
    dist = family.example(np.random.default_rng(seed))
    eta, cov = np.asarray(dist.natural(), dtype=float), np.atleast_2d(dist.covariance_statistic())
    m = eta.size
    for i in range(m):
        h = 1e-5 * max(abs(eta.flat[i]), 0.1)
        ends = []
        for side in (-1, 1):
            moved = np.array(eta, dtype=float).ravel()
            moved[i] += side * h
            ends.append(np.ravel(dist.from_natural(moved.reshape(eta.shape)).mean_statistic()))
        slope = (ends[1] - ends[0]) / (2 * h)
        scale = np.sqrt(np.diag(cov) * cov[i, i]) + 1e-12
        assert (np.abs(slope - cov[i]) < 1e-5 * scale + 1e-6 * np.abs(cov).max() ** 0.5).all(), (slope, cov[i])


@every
def test_the_covariance_of_the_statistic_is_that_of_draws(family):
    dist = family.example(np.random.default_rng(4))
    x = dist.sample(20_000, random_state=0)
    u = np.asarray(dist.stacked.statistic(dist.stacked.read(x)), dtype=float).reshape(len(x), -1)
    cov = np.atleast_2d(dist.covariance_statistic())
    spread = np.sqrt(np.diag(cov))
    assert (np.abs(np.cov(u.T).reshape(cov.shape) - cov) < 0.15 * np.outer(spread, spread) + 1e-12).all()


def test_a_users_family_leads_back_too():
    poisson = sf.ExponentialFamily(
        lambda x: x, lambda x: 1 / np.vectorize(lambda k: float(np.prod(np.arange(1, k + 1))))(x), np.exp,
        support=(0, 40, int), start=0.5,
    )  # fmt: skip
    assert poisson.from_natural(0.7).eta == 0.7
    np.testing.assert_allclose(poisson.from_natural(0.7).covariance_statistic(), np.exp(0.7), rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_minimal_form_is_the_textbooks(seed):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(4) * 2)
    form = sf.Categorical(list("abcd"), p).minimal_form()
    np.testing.assert_allclose(form.natural(), np.log(p[:-1] / p[-1]))
    np.testing.assert_allclose(form.log_partition(), np.log1p(np.exp(form.natural()).sum()))
    np.testing.assert_allclose(form.log_partition(), -np.log(p[-1]))
    x = list("abcdba")
    written = form.statistic(x) @ form.natural() - form.log_partition()
    np.testing.assert_allclose(written, form.distribution.log_prob(x))
    np.testing.assert_allclose(form.from_natural(form.natural()).probs, p)
    eta, h = form.natural(), 1e-5
    for i, unit in enumerate(np.eye(3)):
        slope = (form.log_partition(eta + h * unit) - form.log_partition(eta - h * unit)) / (2 * h)
        np.testing.assert_allclose(slope, form.mean_statistic()[i], rtol=1e-7)
    assert np.linalg.eigvalsh(form.covariance_statistic())[0] > 0
    np.testing.assert_allclose(np.linalg.eigvalsh(form.distribution.covariance_statistic())[0], 0.0, atol=1e-12)


def test_the_minimal_form_of_counts_has_their_trials():
    p = np.array([0.2, 0.3, 0.5])
    form = sf.Multinomial(5, p).minimal_form()
    x = np.array([[1.0, 2.0, 2.0], [5.0, 0.0, 0.0]])
    base = form.distribution.log_base(x)
    written = form.statistic(x) @ form.natural() - form.log_partition() + base
    np.testing.assert_allclose(written, form.distribution.log_prob(x))
    np.testing.assert_allclose(form.covariance_statistic(), 5 * (np.diag(p) - np.outer(p, p))[:-1, :-1])
    with pytest.raises(sf.ParameterError, match="put a level that is possible last"):
        sf.Categorical(["a", "b"], [1.0, 0.0]).minimal_form().natural()
