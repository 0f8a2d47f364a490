"""Matrices of many columns that are kept as a diagonal and a low rank: the same answers, without d × d numbers."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import suffice as sf
from suffice.distributions.compact_covariance import Whitening
from suffice.io import compact as compact_files
from suffice.numerics.low_rank import LowRank

MVN = sf.MultivariateNormal
DIAGONAL = ["diag", "spherical", "identity", "EII", "VII", "EEI", "VEI", "EVI", "VVI"]


def compact(k=2, d=6, seed=0):
    rng = np.random.default_rng(seed)
    return LowRank(rng.uniform(0.2, 2, size=(k, d)), [rng.normal(size=(j + 1, d)) for j in range(k)])


# ---- matrices ------------------------------------------------------------------------------------------------------
def test_arithmetic_is_that_of_whole_matrices():
    a, b = compact(seed=0), compact(seed=1)
    whole, other = np.array(a), np.array(b)
    assert_allclose(whole[1], np.diag(a.diagonal[1]) + a.factors[1].T @ a.factors[1])
    assert_allclose(a + b, whole + other)
    assert_allclose(a + other, whole + other)
    assert_allclose(other + a, whole + other)
    assert_allclose(a - b, whole - other)
    assert_allclose(3.0 * a, 3.0 * whole)
    assert_allclose(-1.0 * a, -whole)
    assert_allclose(a / np.array([2.0, 5.0])[:, None, None], whole / np.array([2.0, 5.0])[:, None, None])
    assert_allclose(a.summed(), whole.sum(axis=0, keepdims=True))
    assert_allclose(a.squared_norm(), (whole**2).sum(axis=(1, 2)))
    assert_allclose(a.variances, np.einsum("kii->ki", whole))
    assert_allclose(a[1], whole[1])
    assert_allclose(a[[1, 0]], whole[[1, 0]])
    assert_allclose(a[:1].broadcast(3), np.repeat(whole[:1], 3, axis=0))
    unit = np.arange(1.0, 7.0)
    assert_allclose(a.in_units(unit), whole * unit[:, None] * unit)
    assert a == a[:]
    assert a == whole
    assert a != b
    assert not np.asarray(a).flags.writeable


def test_more_rows_than_half_the_columns_become_a_whole_matrix():
    few = LowRank(np.zeros((1, 6)), [np.ones((2, 6))])
    assert isinstance(few.with_rows([np.ones((1, 6))]), LowRank)
    assert isinstance(few.with_rows([np.ones((2, 6))]), np.ndarray)
    assert_allclose(few.with_rows([np.ones((2, 6))]), np.full((1, 6, 6), 4.0))


def test_whitened_rows_densities_and_traces_are_those_of_whole_matrices():
    cov, rng = compact(k=3, d=8), np.random.default_rng(2)
    roots, whole = Whitening(cov), np.array(cov)
    x, mean = rng.normal(size=(5, 8)), rng.normal(size=(3, 8))
    scatter = compact(k=3, d=8, seed=3)
    for j in range(3):
        assert_allclose(roots.back(j, roots(j, x)), np.linalg.solve(whole[j], x.T).T, rtol=1e-10)
        assert_allclose(roots(j, roots(j, whole[j]).T), np.eye(8), atol=1e-12)
        expected = stats.multivariate_normal(mean[j], whole[j]).logpdf(x)
        assert_allclose(roots.log_density(x, mean)[:, j], expected, rtol=1e-10)
        assert roots.traces(scatter)[j] == pytest.approx(np.trace(np.linalg.solve(whole[j], np.asarray(scatter[j]))))


# ---- uncorrelated columns ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("structure", DIAGONAL)
@pytest.mark.parametrize("d", [3, 80])
def test_uncorrelated_columns_keep_variances_and_show_matrices(structure, d):
    rng = np.random.default_rng(d)
    x = rng.normal(size=(60, d)) + np.repeat([[0.0], [2.0]], 30, axis=0)
    found = sf.fit(sf.Mixture(MVN(structure=structure), 2), x, random_state=0, max_iter=4).distribution.components
    assert isinstance(found.matrices, LowRank)
    assert not found.matrices.factors
    assert found.cov.shape == found.params["cov"].shape == (2, d, d)
    assert_array_equal(found.cov, found.var[:, :, None] * np.eye(d))
    cells = stats.norm(found.mean[:, None], np.sqrt(found.var)[:, None]).logpdf(x)
    assert_allclose(found.log_prob(x), cells.sum(axis=2).T, rtol=1e-9)
    again = MVN(found.mean, found.cov, structure)  # from matrices
    assert again == found
    assert hash(again) == hash(found)
    loose = MVN(found.mean, found.cov)  # the same numbers without a structure
    assert_allclose(loose.log_prob(x), found.log_prob(x), rtol=1e-9)
    drawn = found.unstacked[1].sample(4000, 0)
    assert_allclose(drawn.mean(axis=0), found.mean[1], atol=5 * np.sqrt(found.var[1].max() / 4000))


@pytest.mark.parametrize("structure", ["diag", "EII", "VEI", "EVI"])
def test_statistics_of_many_uncorrelated_columns_add_and_tell_the_likelihood(structure):
    rng = np.random.default_rng(0)
    x, w = 5.0 + rng.normal(size=(30, 70)), rng.dirichlet([1.0, 1.0], size=30)
    prototype = MVN(structure=structure)
    whole = prototype.suffstats(x, w)
    parts = prototype.suffstats(x[:11], w[:11]) + prototype.suffstats(x[11:], w[11:])
    assert isinstance(whole.kept, LowRank)
    for one in (parts, whole + prototype.suffstats(x[:5], w[:5]) - prototype.suffstats(x[:5], w[:5])):
        assert_allclose(one.mean, whole.mean, rtol=1e-12)
        assert_allclose(one.scatter, whole.scatter, rtol=1e-9, atol=1e-12)
    mean = (w.T @ x) / w.sum(axis=0)[:, None]
    squares = np.stack([w[:, j] @ (x - mean[j]) ** 2 for j in range(2)])
    assert_allclose(whole.variances, squares, rtol=1e-10)
    model = prototype.estimate(whole)
    assert_allclose(model.log_likelihood(whole), (w * model.log_prob(x)).sum(axis=0), rtol=1e-10)
    if structure == "diag":
        assert_allclose(model.var, squares / w.sum(axis=0)[:, None], rtol=1e-10)


def test_holes_in_many_uncorrelated_columns_are_left_out():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 70))
    x[rng.random(x.shape) < 0.1] = np.nan
    found = sf.fit(MVN(structure="diag"), x)
    assert_allclose(found.distribution.mean, np.nanmean(x, axis=0), atol=1e-5)
    assert_allclose(found.distribution.var, np.nanvar(x, axis=0), rtol=1e-4)
    assert found.log_likelihood == pytest.approx(np.nansum(stats.norm(*_moments(x)).logpdf(x)), rel=1e-6)


def _moments(x):
    return np.nanmean(x, axis=0), np.nanstd(x, axis=0)


def test_a_mixture_of_uncorrelated_columns_needs_memory_for_rows_and_not_for_matrices(monkeypatch):
    monkeypatch.setenv("SUFFICE_KERNELS", "reference")  # to load the compiled ones takes memory of its own
    n, d = 50, 2000
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, d)) + np.repeat([[0.0], [0.5]], 25, axis=0)

    def work(rows):
        found = sf.GaussianMixture(2, covariance_type="diag", random_state=0).fit(rows)
        found.predict(rows)
        found.score_samples(rows)
        found.sample(3)
        fit = sf.fit(sf.Mixture(MVN(structure="diag"), 2), rows, random_state=0)
        fit.distribution.log_prob(rows)
        return found, fit.alerts

    work(x[:, :70])  # what is imported and kept once
    tracemalloc.start()
    try:
        found, _ = work(x)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40 * n * d * 8  # one matrix of all pairs of columns has as many numbers
    assert found.covariances_.shape == found.precisions_.shape == (2, d)
    assert_allclose(found.precisions_cholesky_, 1 / np.sqrt(found.covariances_))


def test_a_file_of_matrices_comes_back_as_variances(tmp_path, monkeypatch):
    """As files were written before covariances of many columns were written by their parts."""
    rng = np.random.default_rng(0)
    model = sf.Mixture(
        [MVN(rng.normal(size=66), np.diag(rng.uniform(1, 2, 66)), "diag") for _ in range(2)], weights=[0.4, 0.6]
    )
    with monkeypatch.context() as before:
        before.setattr(compact_files, "MANY_COLUMNS", 66)
        sf.save(model, tmp_path / "model.json")
    assert '"shape":[2,66,66]' in (tmp_path / "model.json").read_text().replace(" ", "").replace("\n", "")
    found = sf.load(tmp_path / "model.json")
    assert found == model
    assert isinstance(found.parts[0].matrices, LowRank)
