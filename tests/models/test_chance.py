"""Components that chance explains: how much they can gain, that they are told, and that thin clusters are none."""

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import suffice as sf
from suffice.em.restarts import robust_objective_of
from suffice.models.chance import chance_gain, log_choices
from suffice.models.spurious_components import diagnose
from suffice.statistics.separation import of_roots
from suffice.statistics.weights import Weights

FULL = {d: np.stack([np.ones(d), np.arange(1.0, d + 1)], axis=1) for d in (1, 2, 3, 5, 10)}


def gain_of(x, whole):
    """The statistic of the likelihood-ratio test that rows are from the normal of all rows."""
    mean, cov = whole
    away, m = x.mean(axis=0) - mean, len(x)
    inner = np.cov(x.T, ddof=0).reshape(cov.shape)
    inverse = np.linalg.inv(cov)
    d = len(cov)
    return m / 2 * (np.trace(inverse @ inner) + away @ inverse @ away - d - np.linalg.slogdet(inverse @ inner)[1])


def thin_clusters(seed, n, d, k):
    """Separated clusters, each a mean and a random matrix times normals: such a matrix has a thin direction."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % k
    means, roots = rng.normal(0, 6, (k, d)), rng.normal(size=(k, d, d))
    return np.array([means[c] + roots[c] @ rng.normal(size=d) for c in labels]), labels


def doubts_of(fit, x):
    return diagnose(fit.distribution, fit.distribution.suffstats(fit.distribution.read(x), Weights(len(x))))


# ---- the bound -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("m", "d"), [(4, 1), (6, 2), (12, 3)])
def test_given_rows_pass_the_bound_as_rarely_as_it_says(m, d):
    """With one way to choose the rows P(G ≥ t) ≤ exp(K − st), so that the bound for C ways is passed in 1/C at most."""
    rng = np.random.default_rng(m)
    seen = np.array([gain_of(rng.normal(size=(m, d)), (np.zeros(d), np.eye(d))) for _ in range(4000)])
    for total in (m + 1, m + 2):
        ways = float(log_choices(np.array([float(m)]), total)[0])
        bound = float(chance_gain(np.array([float(m)]), total, FULL[d])[0]) + ways
        assert np.mean(seen >= bound) <= np.exp(-ways)
        assert np.quantile(seen, 1 - np.exp(-ways) / 10) < 3 * bound  # and it is not far above what happens


def test_the_bound_has_the_limits_of_its_derivation():
    few = chance_gain(np.array([2.0, 2.01, 2.1, 3.0, 20.0]), 200.0, FULL[2])
    assert np.isinf(few[0])
    assert (np.diff(few) < 0).all()
    ways = float(log_choices(np.array([5e5]), 1e6)[0])
    many = float(chance_gain(np.array([5e5]), 1e6, FULL[2])[0])
    assert many == pytest.approx(2.5 * (1 + np.log(2 * ways / 5)), rel=0.1)  # as a test of five parameters
    one = chance_gain(np.array([30.0]), 90.0, np.ones((4, 2)))
    assert 4 * chance_gain(np.array([30.0]), 90.0, np.ones((1, 2))) > one  # one choice of rows serves all columns


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_best_rows_of_noise_stay_below_the_bound(d):
    """All neighbours of each row, and all rows nearest to planes through d of them, on noise."""
    rng = np.random.default_rng(d)
    for _ in range(3):
        x = rng.normal(size=(100, d))
        whole = x.mean(axis=0), np.cov(x.T, ddof=0).reshape(d, d)
        for m in (d + 2, 2 * d + 3, 5 * d):
            bound = float(chance_gain(np.array([float(m)]), 100.0, FULL[d])[0])
            ways = float(log_choices(np.array([float(m)]), 100.0)[0])
            best = -np.inf
            for _ in range(60):
                chosen = rng.choice(100, d, replace=False)
                normal = np.linalg.svd(x[chosen] - x[chosen].mean(axis=0))[2][-1]
                near = np.argsort(np.abs((x - x[chosen].mean(axis=0)) @ normal))[:m]
                ball = np.argsort(np.square(x - x[chosen[0]]).sum(axis=1))[:m]
                best = max(best, gain_of(x[near], whole), gain_of(x[ball], whole))
            assert best - ways < bound


# ---- what is protected -----------------------------------------------------------------------------------------------
def test_rows_of_noise_near_a_plane_are_no_cluster():
    """EM from the rows nearest to a plane ends in a component that chance explains, wherever BIC would take it."""
    rng, seen = np.random.default_rng(0), 0
    x = rng.normal(size=(60, 4))
    one = sf.fit(sf.MultivariateNormal(), x)
    for _ in range(25):
        chosen = rng.choice(60, 4, replace=False)
        normal = np.linalg.svd(x[chosen] - x[chosen].mean(axis=0))[2][-1]
        near = np.argsort(np.abs((x - x[chosen].mean(axis=0)) @ normal))[:7]
        fit = sf.fit(
            sf.Mixture(sf.MultivariateNormal(), 2), x, start=np.isin(np.arange(60), near).astype(int), tol=1e-6
        )
        if fit.bic < one.bic:
            seen += 1
            assert fit.distribution.is_spurious(fit.statistics)
            assert {"spurious", "collapsed", "few rows"} & set(dict(fit.alerts))
    assert seen


@pytest.mark.parametrize("repeated", [2, 4])
def test_repeated_rows_and_far_rows_are_never_reported_as_success(repeated):
    rng = np.random.default_rng(repeated)
    noise = rng.normal(size=(80, 2))
    for x in (
        np.r_[noise, np.tile(noise[:1], (repeated, 1))],
        np.r_[noise, 50 + 1e-12 * rng.normal(size=(repeated, 2))],
    ):
        spike = (np.arange(len(x)) >= 80).astype(int)
        fit = sf.fit(sf.Mixture(sf.MultivariateNormal(), 2), x, start=spike)
        assert "collapsed" in dict(fit.alerts)
        assert fit.distribution.is_spurious(fit.statistics)
    found = sf.select(sf.MultivariateNormal(), np.r_[noise, np.tile(noise[:1], (repeated, 1))], n_components=[1, 2])
    assert not found.table[0]["spurious"]


# ---- what is not bitten ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("n", "d", "k"), [(150, 10, 3), (60, 5, 3), (90, 10, 3), (120, 4, 4), (300, 10, 6)])
def test_thin_clusters_are_found_and_not_doubted(n, d, k):
    for seed in (102, 105):
        x, labels = thin_clusters(seed, n, d, k)
        true = sf.fit(sf.Mixture(sf.MultivariateNormal(), k), x, start=labels)
        assert not doubts_of(true, x).spurious.any()
        fit = sf.fit(sf.Mixture(sf.MultivariateNormal(), k), x, random_state=0)
        assert fit.log_likelihood >= true.log_likelihood - 1e-6 * abs(true.log_likelihood)
        assert not fit.alerts


def test_the_number_of_thin_clusters_is_found():
    x, _ = thin_clusters(105, 150, 10, 3)
    found = sf.select(sf.MultivariateNormal(), x, n_components=[2, 3], random_state=0)
    assert found.best.distribution.n == 3


@pytest.mark.parametrize("n", [30, 90, 600])
def test_thin_stripes_are_no_chance(n):
    rng = np.random.default_rng(n)
    labels = np.arange(n) % 3
    x = np.c_[rng.uniform(0, 10, n), labels + 1e-3 * rng.normal(size=n)]
    fit = sf.fit(sf.Mixture(sf.MultivariateNormal(), 3), x, start=labels)
    assert not doubts_of(fit, x).spurious.any()
    assert not doubts_of(fit, x).discount.any()


# ---- more starts -----------------------------------------------------------------------------------------------------
def data_sets():
    rng = np.random.default_rng(0)
    yield thin_clusters(105, 60, 5, 3)[0], 3
    yield rng.normal(size=(30, 3)), 3
    yield np.r_[rng.normal(size=(40, 2)), np.tile([[0.3, 0.1]], (4, 1)), [[30.0, 30.0]]], 3
    yield np.round(rng.normal(size=(60, 2)), 1), 3


@pytest.mark.parametrize("case", range(4))
def test_more_starts_never_end_lower(case):
    x, k = list(data_sets())[case]
    fits = [sf.fit(sf.Mixture(sf.MultivariateNormal(), k), x, random_state=1, n_init=m) for m in (1, 2, 3)]
    for fewer, more in pairwise(fits):
        starts = [one.log_likelihood[-1] for one in more.starts[: len(fewer.starts)]]
        assert starts == [one.log_likelihood[-1] for one in fewer.starts]
        assert robust_objective_of(more) >= robust_objective_of(fewer)
    for fit in fits:
        highest = max(one.log_likelihood[-1] for one in fit.starts)
        lower = fit.log_likelihood < highest - 1e-6 * (1 + abs(highest))
        assert lower == any("ended higher" in text for _, text in fit.alerts)


@pytest.mark.parametrize("case", range(4))
def test_more_starts_of_the_estimator_never_end_lower(case):
    """Its lower bound, as in scikit-learn, but for what degenerate components bring."""
    x, k = list(data_sets())[case]
    merits = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for m in (1, 2, 3):
            model = sf.GaussianMixture(k, random_state=1, n_init=m).fit(x)
            gain = model.distribution_.spurious_gain(model.statistics_, chance=False)
            merits.append(model.lower_bound_ * len(x) - gain)
    assert all(b >= a - 1e-6 * (1 + abs(a)) for a, b in pairwise(merits))


def test_a_discarded_higher_end_is_reported_with_both_values():
    rng = np.random.default_rng(0)
    x = np.vstack([rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 5, 2 + 1e-9 * rng.normal(size=(3, 2))])
    fit = sf.fit(sf.Mixture(sf.MultivariateNormal(), 2), x, random_state=0, n_init=8, start="random")
    ends = [one.log_likelihood[-1] for one in fit.starts]
    told = [text for code, text in fit.alerts if code == "spurious" and "ended higher" in text]
    assert bool(told) == (max(ends) > fit.log_likelihood + 1e-3)
    if told:
        assert f"{max(ends):.6g}" in told[0]
        assert f"{fit.log_likelihood:.6g}" in told[0]


# ---- what all rows have in common ------------------------------------------------------------------------------------
@pytest.mark.parametrize("k", [1, 3])
def test_a_relation_between_columns_is_singular_and_no_collapse(k):
    rng = np.random.default_rng(5)
    z = np.r_[rng.normal(size=(80, 3)), rng.normal(size=(80, 3)) + 6]
    x = np.c_[z, (z[:, 0] + z[:, 1]) / 2]
    fit = sf.fit(sf.Mixture(sf.MultivariateNormal(), k), x, random_state=0)
    assert "collapsed" not in dict(fit.alerts)
    assert "columns 0, 1, 3" in dict(fit.alerts)["singular"]
    assert not fit.distribution.is_spurious(fit.statistics)


def test_select_does_not_discard_covariances_for_a_relation_between_columns():
    rng = np.random.default_rng(6)
    z = np.r_[rng.normal(size=(120, 2)), rng.normal(size=(120, 2)) @ [[2, 1], [0, 0.5]] + 6]
    x = np.c_[z, z.sum(axis=1)][rng.permutation(240)]
    found = sf.select(
        sf.MultivariateNormal(), x[:180], n_components=[1, 2, 3], structures=["full", "diag"], random_state=0
    )
    scores = [float(np.mean(one.distribution.log_prob(x[180:]))) for one in found.fits]
    assert found.table[0]["structure"] == "full"
    assert scores[0] > max(scores) - 0.5
    named = sf.fit(sf.Mixture(sf.MultivariateNormal(), 1), pd.DataFrame(x, columns=["a", "b", "c"]), random_state=0)
    assert "'a', 'b', 'c'" in dict(named.alerts)["singular"]


def test_components_of_variances_far_apart_can_be_distinguished():
    """Their covariances are singular to rounding, whatever the units."""
    found = of_roots(np.zeros((2, 2)), np.array([np.eye(2), [[1.0, 0.0], [0.3, 1e100]]]), np.ones((1, 2)))
    assert found.divergence[0, 1] > 100
    assert np.isfinite(found.divergence).all()
