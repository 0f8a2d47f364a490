"""The M-step of free covariances: both twins whiten alike, and neither answers where something holds a covariance."""

import numpy as np
import pytest

import suffice as sf
from suffice.kernels.native import covariances as native
from suffice.kernels.numpy import covariances as definition

TWINS = [native.whitened_covariances, definition.whitened_covariances]
RELATIVE = 1e-12


def scatters(k, d, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(k, 4 * d + 3, d)) * np.exp(rng.normal(size=(k, 1, d)))
    return rows.swapaxes(1, 2) @ rows, rng.uniform(0.5, 20.0, k)


@pytest.mark.parametrize("floor", [None, 1e-6])
@pytest.mark.parametrize(("k", "d"), [(1, 1), (3, 2), (2, 5), (4, 17), (2, 31)])
def test_twins_agree_and_whiten(k, d, floor):
    scatter, weight = scatters(k, d)
    floor = None if floor is None else floor * np.eye(d)
    found = [twin(scatter, weight, floor, np.zeros((k, d)), RELATIVE) for twin in TWINS]
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10 * np.abs(theirs).max())
    cov, whiten, log_det = found[0]
    np.testing.assert_array_equal(cov, scatter / weight[:, None, None])
    np.testing.assert_allclose(whiten @ cov @ whiten.swapaxes(1, 2), np.broadcast_to(np.eye(d), cov.shape), atol=1e-10)
    np.testing.assert_allclose(log_det, -0.5 * np.linalg.slogdet(cov)[1], rtol=1e-11, atol=1e-11)
    assert not np.triu(whiten, 1).any()


def test_any_layout_is_read():
    scatter, weight = scatters(3, 4)
    plain = TWINS[0](scatter, weight, None, np.zeros((3, 4)), RELATIVE)
    turned = np.asfortranarray(scatter)
    spaced = np.repeat(weight, 2)[::2]
    for ours, theirs in zip(TWINS[0](turned, spaced, None, np.zeros((3, 4)), RELATIVE), plain, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("twin", TWINS, ids=["native", "NumPy"])
@pytest.mark.parametrize("case", ["empty", "floor", "low floor", "least", "singular", "nan", "infinite", "negative"])
def test_what_is_held_has_no_answer(twin, case):
    scatter, weight = scatters(3, 2)
    floor, least = 1e-6 * np.eye(2), np.zeros((3, 2))
    weight[1] = 0.0 if case == "empty" else weight[1]
    floor = {"floor": 1e6 * np.eye(2), "low floor": np.zeros((2, 2))}.get(case, floor)
    least[2, 1] = 1e6 if case == "least" else 0.0
    scatter[0] = {
        "singular": np.ones((2, 2)),
        "nan": np.full((2, 2), np.nan),
        "infinite": np.diag([np.inf, 1.0]),
        "negative": np.diag([-1.0, 1.0]),
    }.get(case, scatter[0])
    assert twin(scatter, weight, floor, least, RELATIVE) is None


def test_a_fit_is_the_same_whether_columns_are_few_or_not(monkeypatch):
    """Beyond a number of columns LAPACK whitens; here it does so of three, too."""
    from suffice.distributions import gaussian_learning

    x = np.random.default_rng(0).normal(size=(300, 3)) + 3.0 * (np.arange(300) % 2)[:, None]
    start = np.arange(300) % 2
    few = sf.fit(sf.Mixture(sf.MultivariateNormal(), 2), x, start=start)
    monkeypatch.setattr(gaussian_learning, "FEW", 0)
    many = sf.fit(sf.Mixture(sf.MultivariateNormal(), 2), x, start=start)
    assert few.log_likelihood == pytest.approx(many.log_likelihood, rel=1e-12)
    np.testing.assert_allclose(few.params["cov"], many.params["cov"], rtol=1e-6)
