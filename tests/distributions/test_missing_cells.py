"""Missing cells where columns vary together: the maximum of the likelihood of what was seen, in every structure."""

import pickle
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.covariance import EmpiricalCovariance
from sklearn.datasets import load_iris

import suffice as sf
from suffice import kernels
from suffice.core.responsibilities import e_step
from suffice.distributions import gaussian_missing
from suffice.distributions.covariance_structures import STRUCTURES
from suffice.distributions.gaussian_missing import Patterns, Preprocessed, Split, expected_rows
from suffice.distributions.gaussian_pass import PASSES
from suffice.engines import local
from suffice.testing.law import same_statistics

IRIS, SPECIES = load_iris(return_X_y=True)
MVN = sf.MultivariateNormal


def holed(x, seed, share=0.2):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(x.shape) < share, np.nan, x)


# ---- the likelihood of what was seen, by its definition --------------------------------------------------------------
def patterns(x):
    """Rows by which cells they have: the seen columns, and those cells of the rows."""
    kinds, which = np.unique(~np.isnan(x), axis=0, return_inverse=True)
    for index, kind in enumerate(kinds):
        seen = np.flatnonzero(kind)
        if len(seen):
            rows = np.flatnonzero(which.ravel() == index)
            yield rows, seen, x[np.ix_(rows, seen)]


def log_prob(x, mean, cov):
    """Log density (n,) of the seen cells."""
    out = np.zeros(len(x))
    for rows, seen, part in patterns(x):
        inner = cov[np.ix_(seen, seen)]
        away = part - mean[seen]
        squares = np.einsum("ni,ij,nj->n", away, np.linalg.inv(inner), away)
        out[rows] = -0.5 * (squares + np.linalg.slogdet(inner)[1] + len(seen) * np.log(2 * np.pi))
    return out


def slopes(x, mean, cov, w):
    """Derivatives of Σ w log p by the mean (d,) and by every entry of the covariance (d, d)."""
    by_mean, by_cov = np.zeros_like(mean), np.zeros_like(cov)
    for rows, seen, part in patterns(x):
        precision = np.linalg.inv(cov[np.ix_(seen, seen)])
        pulled, held = (part - mean[seen]) @ precision, w[rows]
        by_mean[seen] += held @ pulled
        by_cov[np.ix_(seen, seen)] += 0.5 * (pulled.T @ (held[:, None] * pulled) - held.sum() * precision)
    return by_mean, by_cov


# ---- covariances of a structure from free numbers, k of them at once -------------------------------------------------
def lower(theta, d):
    """Triangles with a positive diagonal (…, d, d)."""
    out = np.zeros((*theta.shape[:-1], d, d))
    out[..., *np.tril_indices(d)] = theta
    out[..., *np.diag_indices(d)] = np.exp(np.einsum("...ii->...i", out))
    return out


def turn(theta, d):
    """Rotations (…, d, d), by Cayley."""
    skew = np.zeros((*theta.shape[:-1], d, d))
    skew[..., *np.triu_indices(d, 1)] = theta
    skew = skew - np.swapaxes(skew, -1, -2)
    return np.linalg.solve(np.eye(d) + skew, np.eye(d) - skew)


def composed(letters):
    """Covariances λ D A Dᵀ whose volume, shape and orientation are equal, variable, or the identity."""

    def build(theta, k, d):
        used = 0

        def take(letter, count):
            nonlocal used
            if letter == "I":
                return np.zeros((*theta.shape[:-1], k, count))
            rows = 1 if letter == "E" else k
            part = theta[..., used : used + rows * count].reshape(*theta.shape[:-1], rows, count)
            used += rows * count
            return np.broadcast_to(part, (*theta.shape[:-1], k, count))

        volume, shape = take(letters[0], 1), take(letters[1], d - 1)
        axes = turn(take(letters[2], d * (d - 1) // 2), d)
        logs = np.concatenate([shape, -shape.sum(axis=-1, keepdims=True)], axis=-1) + volume
        return (axes * np.exp(logs)[..., None, :]) @ np.swapaxes(axes, -1, -2)

    def size(k, d):
        counts = {"I": 0, "E": 1, "V": k}
        return counts[letters[0]] + counts[letters[1]] * (d - 1) + counts[letters[2]] * d * (d - 1) // 2

    return build, size


def triangles(*, shared):
    def build(theta, k, d):
        roots = lower(theta.reshape(*theta.shape[:-1], 1 if shared else k, -1), d)
        return np.broadcast_to(roots @ np.swapaxes(roots, -1, -2), (*theta.shape[:-1], k, d, d))

    return build, lambda k, d: (1 if shared else k) * d * (d + 1) // 2


COMPOSED = ("EII", "VII", "EEI", "VEI", "EVI", "VVI", "VEE", "EEV", "VEV", "EVV", "EVE", "VVE")
FORMS = {
    **dict.fromkeys(["full", "VVV"], triangles(shared=False)),
    **dict.fromkeys(["tied", "EEE"], triangles(shared=True)),
    **{name: composed(name) for name in COMPOSED},
    "diag": composed("VVI"),
    "spherical": composed("VII"),
}


def maximum(x, w, name, begin):
    """The largest Σ w log p near ``begin`` (means, theta of the covariances), by BFGS.

    W is (n, k), components apart.
    """
    build, size = FORMS[name]
    k, d = w.shape[1], x.shape[1]
    owned = [w[:, j] > 0 for j in range(k)]
    parts = [(list(patterns(x[rows])), w[rows, j]) for j, rows in enumerate(owned)]
    moves = 1e-6 * np.eye(size(k, d))

    def minus(theta):
        means, rest = theta[: k * d].reshape(k, d), theta[k * d :]
        covs = build(rest, k, d)
        value, by_means, by_covs = 0.0, np.zeros((k, d)), np.zeros((k, d, d))
        for j, (kinds, held) in enumerate(parts):
            for rows, seen, part in kinds:
                inner, away = covs[j][np.ix_(seen, seen)], part - means[j, seen]
                precision = np.linalg.inv(inner)
                pulled, share = away @ precision, held[rows]
                total = share.sum()
                told = np.linalg.slogdet(inner)[1] + len(seen) * np.log(2 * np.pi)
                value -= 0.5 * (share @ (away * pulled).sum(axis=1) + total * told)
                by_means[j, seen] += share @ pulled
                by_covs[j][np.ix_(seen, seen)] += 0.5 * (pulled.T @ (share[:, None] * pulled) - total * precision)
        bent = build(rest + moves, k, d) - build(rest - moves, k, d)
        return -value, -np.concatenate([by_means.ravel(), np.einsum("kij,mkij->m", by_covs, bent) / 2e-6])

    start = np.concatenate([np.ravel(begin), np.zeros(size(k, d))])
    found = minimize(minus, start, jac=True, method="BFGS", options={"gtol": 1e-5, "maxiter": 5000})
    return -found.fun


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["full", "tied", "diag", "spherical", "EII", "VEI", "EVI", "EEE", "VVV"])
def test_one_component_is_the_maximum_of_what_was_seen(name, seed):
    x = holed(IRIS, seed)
    fit = sf.fit(MVN(structure=name), x)
    assert fit.converged
    assert not fit.statistics.exact
    assert fit.alerts == ()
    assert fit.missing == np.isnan(x).sum()
    best = maximum(x, np.ones((150, 1)), name, np.nanmean(x, axis=0))
    assert fit.log_likelihood == pytest.approx(best, abs=1e-6)
    assert fit.log_likelihood == pytest.approx(
        log_prob(x, fit.distribution.mean, fit.distribution.cov).sum(), rel=1e-12
    )
    assert fit.log_likelihood == pytest.approx(fit.log_prob(x).sum(), rel=1e-12)
    assert (np.diff(fit.trace.log_likelihood) >= -1e-12 * abs(fit.log_likelihood)).all()


@pytest.mark.parametrize("name", [name for name in FORMS if name not in {"diag", "spherical", "full", "tied"}])
def test_classes_that_share_are_the_maximum_of_what_was_seen(name):
    x = holed(IRIS, 7)
    model = sf.BayesClassifier(MVN(structure=name), tol=1e-13).fit(x, SPECIES)
    components = model.distribution_.components
    one_hot = np.asarray(SPECIES[:, None] == np.arange(3), float)
    found = np.sum(one_hot * components.log_prob(x))
    best = maximum(x, one_hot, name, [np.nanmean(x[c == SPECIES], axis=0) for c in range(3)])
    assert found == pytest.approx(best, abs=1e-6)


# ---- passes ----------------------------------------------------------------------------------------------------------
def three(structure="full", offset=0.0):
    rng = np.random.default_rng(5)
    root = rng.normal(size=(3, 4, 4))
    cov = root @ np.swapaxes(root, 1, 2) + 0.3 * np.eye(4)
    if structure == "tied":
        cov = np.broadcast_to(cov[0], cov.shape)
    if structure == "diag":
        cov = cov * np.eye(4)
    return sf.Mixture(MVN(rng.normal(0, 4, (3, 4)) + offset, cov, structure), weights=[0.5, 0.3, 0.2])


@pytest.mark.parametrize("structure", ["full", "tied", "diag"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_the_pass_of_a_mixture_is_that_of_its_definition(structure, weighted, offset):
    truth = three(structure, offset)
    x = holed(truth.sample(400, 0), 1)
    x[3] = np.nan
    w = np.random.default_rng(2).uniform(0, 2, 400) if weighted else None
    fused, plain = (
        e(x, truth.log_weights, w) for e in (truth.components.e_step, lambda *a: e_step(truth.components, *a))
    )
    assert fused.log_likelihood == pytest.approx(plain.log_likelihood, rel=1e-12)
    assert fused.entropy == pytest.approx(plain.entropy, rel=1e-10)
    assert_allclose(fused.count, plain.count, rtol=1e-12)
    assert_allclose(fused.statistics.entropy, plain.statistics.entropy, rtol=1e-11)
    same_statistics(fused.statistics, plain.statistics.kept_as(fused.statistics), 1e-9, "a fused pass")
    stats = truth.suffstats(x, w)
    held = np.ones(400) if w is None else w
    assert truth.measured_log_likelihood(stats) == pytest.approx(held @ truth.log_prob(x), rel=1e-12)
    assert truth.log_likelihood(stats) == pytest.approx(
        truth.measured_log_likelihood(stats), rel=1e-9 if offset else 1e-11
    )


def test_expected_statistics_are_those_of_many_completions():
    truth = MVN([1.0, -2.0, 0.5], [[2.0, 0.8, -0.4], [0.8, 1.0, 0.2], [-0.4, 0.2, 1.5]])
    x = np.array([[0.5, np.nan, 2.0], [np.nan, -1.0, np.nan], [1.0, -3.0, 0.0]])
    stats = truth.suffstats(x)
    mean, cov, rng = np.asarray(truth.mean), np.asarray(truth.cov), np.random.default_rng(0)
    draws = np.empty((200_000, 3, 3))
    for i, row in enumerate(x):
        m, o = np.flatnonzero(np.isnan(row)), np.flatnonzero(~np.isnan(row))
        slope = cov[np.ix_(m, o)] @ np.linalg.inv(cov[np.ix_(o, o)])
        rest = cov[np.ix_(m, m)] - slope @ cov[np.ix_(o, m)]
        draws[:, i, :] = row
        if len(m):
            draws[:, i, m] = rng.multivariate_normal(mean[m] + slope @ (row[o] - mean[o]), rest, len(draws))
    assert_allclose(stats.mean[0], draws.mean(axis=(0, 1)), atol=5e-3)
    flat = draws.reshape(-1, 3)
    assert_allclose(stats.about(np.zeros((1, 3)))[0], 3 * flat.T @ flat / len(flat), atol=0.05)
    assert_array_equal(stats.cells[0], [2, 2, 2])
    assert_array_equal(stats.pairs[0], [[2, 1, 2], [1, 2, 1], [2, 1, 2]])


@pytest.mark.parametrize("name", STRUCTURES)
def test_em_never_falls_and_its_bound_is_tight(name, monkeypatch):
    monkeypatch.setenv("SUFFICE_STRICT", "1")
    x = holed(IRIS, 3)
    for accelerate in (True, False):
        options = {"start": "random", "accelerate": accelerate, "max_iter": 40}
        fit = sf.fit(sf.Mixture(MVN(structure=name), 3), x, random_state=3, **options)  # no component collapses
        size = 1 + np.abs(fit.trace.log_likelihood)
        assert (np.diff(fit.trace.log_likelihood) >= -1e-10 * size[1:]).all()
        assert_allclose(fit.trace.bound, fit.trace.log_likelihood, rtol=1e-11)
        assert fit.log_likelihood == pytest.approx(fit.log_prob(x).sum(), rel=1e-11)


@pytest.mark.parametrize("structure", ["full", "tied", "diag"])
def test_without_holes_statistics_are_those_of_the_kernels_to_the_bit(structure):
    truth = three(structure)
    x = truth.sample(500, 0)
    stats = truth.components.unstacked[0].suffstats(x)
    assert stats.exact
    assert stats.entropy is None
    for got, kernel in zip((stats.weight, stats.centre, stats.shift, stats.scatter), kernels.scatter(x), strict=True):
        assert_array_equal(got, kernel)
    fused = PASSES[truth.components.scatter_kind](truth.components, x, truth.log_weights, None)
    found = truth.suffstats(x)
    assert found.log_likelihood[0] == fused.log_likelihood
    assert_array_equal(found.components.scatter, fused.statistics.scatter)
    fit = sf.fit(MVN(), x)
    assert_allclose(fit.distribution.cov, np.cov(x.T, bias=True), rtol=1e-12)
    assert fit.n_iter == 1


def test_rows_of_weight_zero_are_none_whatever_they_lack():
    x, w = np.vstack([IRIS, holed(IRIS, 1)]), np.repeat([1.0, 0.0], 150)
    for model in (MVN(), sf.Mixture(MVN(), 2)):
        some, all_rows = sf.fit(model, IRIS, random_state=0), sf.fit(model, x, weights=w, random_state=0)
        assert all_rows.log_likelihood == pytest.approx(some.log_likelihood, rel=1e-9)
    assert all_rows.missing == 0
    assert sf.fit(MVN(), x, weights=w).statistics.exact


# ---- recovery, weights, splits ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("structure", ["full", "tied"])
def test_three_components_are_recovered(structure):
    truth = three(structure).ordered()
    x = holed(truth.sample(20_000, 1), 2)
    fit = sf.fit(sf.Mixture(MVN(structure=structure), 3), x, random_state=0)
    found = fit.distribution.ordered()
    assert_allclose(found.weights, truth.weights, atol=0.02)
    assert_allclose(found.components.mean, truth.components.mean, atol=0.2)
    assert_allclose(found.components.cov, truth.components.cov, rtol=0.1, atol=0.25)
    away = (found.components.mean - truth.components.mean) / fit.distribution.ordered().components.std
    assert np.abs(away).max() < 0.1
    assert fit.log_likelihood >= truth.log_prob(x).sum()


def test_blocks_of_a_product_are_joint_where_they_say_so():
    truth = three()
    x = holed(truth.sample(1500, 1), 2)
    table = {name: x[:, i] for i, name in enumerate("abcd")}
    table["e"] = np.random.default_rng(0).poisson(3, 1500)
    product = sf.Product({("a", "b", "c", "d"): MVN(), "e": sf.Poisson()})
    lone = sf.fit(product, table)
    assert_allclose(lone.params["a", "b", "c", "d"]["cov"], sf.fit(MVN(), x).distribution.cov, rtol=1e-8)
    joint = sf.fit(sf.infer(table, joint=True), table)
    assert joint.missing == np.isnan(x).sum()
    assert not joint.statistics.exact
    fit = sf.fit(sf.Mixture(product, 3), table, random_state=0)
    assert_allclose(fit.log_prob(table).sum(), fit.log_likelihood, rtol=1e-11)
    plain = sf.fit(sf.Mixture(MVN(), 3), x, random_state=0)
    blocks = fit.distribution.ordered().components.blocks["a", "b", "c", "d"]
    assert_allclose(blocks.mean, plain.distribution.ordered().components.mean, atol=0.1)


@pytest.mark.parametrize(
    "model", [MVN(), MVN(structure="VEV"), sf.Mixture(MVN(), 2), sf.Mixture(MVN(structure="diag"), 2)]
)
def test_weight_two_is_the_row_twice(model):
    x, w = holed(IRIS, 4), np.random.default_rng(0).integers(0, 3, 150)
    weighted = sf.fit(model, x, weights=w, random_state=0)
    repeated = sf.fit(model, np.repeat(x, w, axis=0), random_state=0)
    assert weighted.n == repeated.n
    assert weighted.missing == np.isnan(x[w > 0]).sum()  # cells that are there, however much their rows weigh
    assert repeated.missing == (np.isnan(x) * w[:, None]).sum()
    assert weighted.log_likelihood == pytest.approx(repeated.log_likelihood, rel=1e-9)


@pytest.mark.parametrize("structure", ["full", "tied", "diag", "VEV"])
def test_any_split_adds_up_to_the_whole(structure):
    one = MVN([5.8, 3.0, 3.7, 1.2], np.diag([0.7, 0.2, 3.1, 0.6]) if structure == "diag" else np.cov(IRIS.T), structure)
    x, w = holed(IRIS, 5), np.random.default_rng(1).uniform(0, 2, 150)
    x[:40] = IRIS[:40]  # a part without holes is exact by itself
    x[7] = np.nan
    whole = one.suffstats(x, w)
    parts = [one.suffstats(x[a:b], w[a:b]) for a, b in ((0, 40), (40, 41), (41, 100), (100, 150))]
    assert parts[0].exact
    assert not parts[2].exact
    added = sum(parts)
    assert not added.exact
    same_statistics(added, whole, 1e-10, "parts")
    assert_allclose(added.entropy, whole.entropy, rtol=1e-12)
    assert_allclose(added.seen, whole.seen, rtol=1e-12)
    assert one.log_likelihood(whole) == pytest.approx(w @ one.log_prob(x), rel=1e-12)
    half = whole * 0.5
    assert one.log_likelihood(half) == pytest.approx(0.5 * one.log_likelihood(whole), rel=1e-13)
    with pytest.raises(sf.UnsupportedError, match="cells were missing"):
        _ = whole - parts[0]


def test_answers_do_not_depend_on_threads(monkeypatch):
    truth = three()
    x = holed(truth.sample(300_000, 1), 2)
    found = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("SUFFICE_THREADS", threads)
        found.append(truth.suffstats(x))
    assert found[0] == found[1] == found[2]
    monkeypatch.undo()
    cut = truth.suffstats(x[:1000]) + truth.suffstats(x[1000:])
    assert_allclose(cut.components.scatter, found[0].components.scatter, rtol=1e-9)


def test_far_from_the_origin_nothing_changes():
    x = holed(np.round(IRIS, 1), 6)
    near, far = sf.fit(MVN(), x), sf.fit(MVN(), x + 2.0**20)
    assert far.log_likelihood == pytest.approx(near.log_likelihood, rel=1e-8)
    assert_allclose(far.distribution.mean - 2.0**20, near.distribution.mean, rtol=1e-7)
    scale = np.array([1e-7, 1.0, 1e6, 1e3])
    scaled = sf.fit(MVN(), x * scale)
    assert_allclose(scaled.distribution.cov, near.distribution.cov * np.outer(scale, scale), rtol=1e-6)


# ---- what was never seen ---------------------------------------------------------------------------------------------
def test_a_column_without_any_value_keeps_the_prototype_and_is_named():
    x = holed(IRIS, 8)
    x[:, 2] = np.nan
    rest = [0, 1, 3]
    for structure in ("full", "diag", "EVV"):
        fit, without = (
            sf.fit(MVN(structure=structure), x),
            sf.fit(MVN(structure="full" if structure == "EVV" else structure), x[:, rest]),
        )
        assert [code for code, _ in fit.alerts] == ["unseen", "blank"]
        assert "column 2 has no value" in fit.alerts[0][1]
        assert (fit.distribution.mean[2], fit.distribution.cov[2, 2]) == pytest.approx((0.0, 1.0))
        assert_allclose(fit.distribution.cov[2, rest], 0.0, atol=1e-12)
        assert_allclose(fit.distribution.cov[np.ix_(rest, rest)], without.distribution.cov, rtol=1e-6)
        assert fit.log_likelihood == pytest.approx(without.log_likelihood, rel=1e-10)
        assert np.isnan(fit.standard_errors["mean"][2])
        assert_allclose(fit.standard_errors["mean"][rest], without.standard_errors["mean"], rtol=1e-4)
    mixed = sf.fit(
        sf.Mixture(sf.Product({("a", "b", "c", "d"): MVN()}), 2), dict(zip("abcd", x.T, strict=True)), random_state=0
    )
    assert ("unseen", "column c has no value at all; its parameters are those of the prototype.") in mixed.alerts


def test_a_row_without_any_cell_counts_for_nothing():
    x = holed(IRIS, 9)
    more = np.vstack([x, np.full((5, 4), np.nan)])
    for model in (MVN(), sf.Mixture(MVN(), 2), sf.Mixture(MVN(structure="diag"), 2)):
        one, two = sf.fit(model, x, random_state=0), sf.fit(model, more, random_state=0)
        assert two.missing == one.missing + 20
        assert two.log_likelihood == pytest.approx(one.log_likelihood, rel=1e-9)
        assert_allclose(two.log_prob(more)[150:], 0.0, atol=1e-15)
    page = " ".join(str(sf.fit(MVN(), more)).split())
    assert f"{np.isnan(more).sum()} cells missing" in page
    with pytest.raises(sf.DataError, match="every cell is missing"):
        sf.fit(MVN(), np.full((4, 2), np.nan))


def test_columns_that_no_row_has_together_are_named():
    x = np.array([[1.0, np.nan], [2.0, np.nan], [np.nan, 4.0], [np.nan, 7.0], [4.0, np.nan]])
    fit = sf.fit(MVN(), x)
    assert_allclose(fit.distribution.cov, np.diag([14 / 9, 9 / 4]), rtol=1e-12)
    assert [code for code, _ in fit.alerts] == ["unidentified"]
    assert "columns 0 and 1 are never seen in one row" in fit.alerts[0][1]
    assert np.isnan(fit.standard_errors["cov"][0, 1])
    assert sf.fit(MVN(structure="diag"), x).alerts == ()


def test_a_label_column_without_any_value_is_named():
    product = sf.Product({"a": sf.Normal(), "b": sf.Categorical()})
    table = {"a": [1.0, 2.0, 4.0, 9.0, 10.0, 11.0], "b": [None] * 6}
    told = ("unseen", "column b has no value at all; its parameters are those of the prototype.")
    assert sf.fit(product, table).alerts == (told,)
    assert told in sf.fit(product, table, prior="weak").alerts
    assert told in sf.fit(sf.Mixture(product, 2), table, random_state=0).alerts
    assert told in sf.BayesClassifier(product).fit(table, [0, 0, 0, 1, 1, 1]).alerts_
    assert sf.fit(product, table).sample(2, random_state=0)["b"].tolist() == [None, None]


# ---- priors, standard errors, fixed and tied -------------------------------------------------------------------------
def test_a_prior_is_weighed_against_what_was_seen():
    x = holed(IRIS, 10)
    prior = sf.NormalInverseWishart(np.zeros(4), 5.0, 12.0, 3 * np.eye(4))
    fit = sf.fit(MVN(), x, prior=prior)
    assert (np.diff(fit.trace.objective) >= -1e-9).all()

    def height(theta):
        cov = np.linalg.multi_dot([lower(theta[4:], 4), lower(theta[4:], 4).T])
        value = log_prob(x, theta[:4], cov).sum() + float(np.sum(MVN(theta[:4], cov).log_prior(prior)))
        return -value

    best = fit.distribution
    triangle = np.linalg.cholesky(best.cov)
    triangle[np.diag_indices(4)] = np.log(np.diag(triangle))
    there = np.concatenate([best.mean, triangle[np.tril_indices(4)]])
    found = minimize(height, there + 0.05, method="BFGS", options={"gtol": 1e-6})
    assert fit.log_posterior == pytest.approx(-found.fun, abs=1e-6)
    weak = sf.fit(MVN(), x, prior="weak")
    assert weak.converged
    assert (np.diff(weak.trace.objective) >= -1e-9).all()
    assert_allclose(weak.prior.mean, np.nanmean(x, axis=0), rtol=1e-12)
    mixed = sf.fit(sf.Mixture(MVN(), 2), x, prior="weak", random_state=0)
    assert (np.diff(mixed.trace.objective) >= -1e-9).all()


def test_a_posterior_is_refused_with_a_reason_and_a_variational_bound_never_falls():
    x = holed(IRIS, 11)
    with pytest.raises(sf.UnsupportedError, match=r"no closed posterior.*sf.fit"):
        sf.posterior(MVN(), x, prior="weak")
    near = sf.posterior(sf.Mixture(MVN(), 2), x, prior="weak", random_state=0)
    assert (np.diff(near.trace.objective) >= -1e-9 * np.abs(near.trace.objective[1:])).all()
    assert_allclose(near.trace.bound, near.trace.objective, rtol=1e-11)


@pytest.mark.parametrize("structure", ["full", "VVE", "diag", "spherical"])
def test_standard_errors_are_those_of_the_observed_information(structure):
    x, w = holed(IRIS, 12), np.random.default_rng(0).uniform(0.5, 2, 150)
    fit = sf.fit(MVN(structure=structure), x, weights=w)
    mean, cov = np.asarray(fit.distribution.mean), np.asarray(fit.distribution.cov)
    if structure == "spherical":
        spread, count = (lambda z: np.eye(4) * cov[0, 0] * np.exp(z[0])), 1
    elif structure == "diag":
        spread, count = (lambda z: cov * np.diag(np.exp(z))), 4
    else:
        rows, columns = np.tril_indices(4)
        count = 10

        def spread(z):
            moved = cov.copy()
            moved[rows, columns] += z
            moved[columns, rows] = moved[rows, columns]
            return moved

    def value(z):
        return float(w @ log_prob(x, mean + z[:4], spread(z[4:])))

    std, p = np.sqrt(np.diag(cov)), 4 + count
    unit = 2e-4 * np.concatenate([std, std[rows] * std[columns] if count == 10 else np.ones(count)])
    hessian, e = np.empty((p, p)), np.diag(unit)
    for i in range(p):
        for j in range(p):
            four = (value(e[i] + e[j]), value(e[i] - e[j]), value(-e[i] + e[j]), value(-e[i] - e[j]))
            hessian[i, j] = (four[0] - four[1] - four[2] + four[3]) / (4 * unit[i] * unit[j])
    known = np.sqrt(np.diag(np.linalg.inv(-hessian)))
    assert_allclose(fit.standard_errors["mean"], known[:4], rtol=1e-3)
    got = fit.standard_errors["cov"]
    if count == 10:
        assert_allclose(got[rows, columns], known[4:], rtol=2e-3)
    else:
        assert_allclose(np.diag(got), np.diag(cov) * known[4:], rtol=1e-3)
    assert (fit.standard_errors["mean"] > std / np.sqrt(w.sum())).all()  # holes cost something


def test_standard_errors_need_the_rows_as_they_were():
    x = holed(IRIS, 14)
    fit = sf.fit(MVN(), x)
    away = pickle.loads(pickle.dumps(fit))  # noqa: S301 (our own bytes)
    assert np.isnan(away.standard_errors["mean"]).all()
    assert "std. error" in away.summary(errors=True)
    assert "±" in str(sf.fit(MVN(), x))
    assert "±" not in str(away)
    x[0, 0] = 99.0
    with pytest.raises(sf.DataError, match="changed after the fit"):
        _ = fit.standard_errors


def test_fixed_and_tied_parameters_stay():
    x = holed(IRIS, 13)
    mean, cov = IRIS.mean(axis=0), np.cov(IRIS.T)
    fixed = sf.fit(MVN(mean, np.eye(4)).fix("mean"), x)
    assert_array_equal(fixed.distribution.mean, mean)
    assert fixed.log_likelihood <= sf.fit(MVN(), x).log_likelihood
    by_mean, by_cov = slopes(x, mean, np.asarray(fixed.distribution.cov), np.ones(150))
    assert np.abs(by_cov).max() < 1e-4
    assert np.abs(by_mean).max() > 1e-2
    known = sf.fit(MVN(mean, cov).fix("cov"), x)
    assert_array_equal(known.distribution.cov, cov)
    assert np.abs(slopes(x, known.distribution.mean, cov, np.ones(150))[0]).max() < 1e-6
    tied = sf.fit(sf.Mixture(MVN().tie("mean"), 2), x, random_state=0, start="random", max_iter=20)
    assert_array_equal(*tied.distribution.components.mean)
    assert (np.diff(tied.trace.log_likelihood) > -1e-9).all()
    with pytest.raises(sf.UnsupportedError, match="ddof=1 corrects"):
        sf.fit(MVN(), x, ddof=1)


# ---- classifiers -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(2))
def test_discriminants_are_the_maximum_of_what_was_seen(seed):
    x = holed(IRIS, 20 + seed)
    one_hot = np.asarray(SPECIES[:, None] == np.arange(3), float)
    begin = [np.nanmean(x[c == SPECIES], axis=0) for c in range(3)]
    linear = sf.LinearDiscriminantAnalysis(tol=0.0).fit(x, SPECIES)
    found = np.sum(one_hot * linear.distribution_.components.log_prob(x))
    assert found == pytest.approx(maximum(x, one_hot, "tied", begin), abs=1e-6)
    quadratic = sf.QuadraticDiscriminantAnalysis(tol=0.0, store_covariance=True).fit(x, SPECIES)
    for c in range(3):
        alone = sf.fit(MVN(), x[c == SPECIES])
        assert_allclose(quadratic.means_[c], alone.distribution.mean, rtol=1e-4)
        assert_allclose(quadratic.covariance_[c], alone.distribution.cov, rtol=1e-3, atol=1e-5)
    for model in (linear, quadratic):
        assert model.score(x, SPECIES) > 0.93
        assert model.score(IRIS, SPECIES) > 0.96
        joint = model.distribution_.log_joint(x)
        assert_allclose(model.predict_proba(x), np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None]), atol=1e-12)
        assert_array_equal(model.decision_function(x).argmax(axis=1), model.predict(x))
        assert model.converged_


def test_a_linear_discriminant_moves_rows_to_where_they_are_expected():
    model = sf.LinearDiscriminantAnalysis().fit(IRIS, SPECIES)
    row = IRIS[:1].copy()
    row[0, 1] = np.nan
    shares, stack = model.predict_proba(row), model.distribution_.components
    cov, rest = stack.cov[0], [0, 2, 3]
    slope = cov[1, rest] @ np.linalg.inv(cov[np.ix_(rest, rest)])
    guess = sum(shares[0, c] * (stack.mean[c, 1] + slope @ (row[0, rest] - stack.mean[c, rest])) for c in range(3))
    filled = row.copy()
    filled[0, 1] = guess
    assert_allclose(model.transform(row), model.transform(filled), rtol=1e-12)
    assert_allclose(expected_rows(row, shares, stack.mean, stack.cov), filled, rtol=1e-12)
    assert_allclose(model.transform(np.full((1, 4), np.nan)), model.transform(model.xbar_[None]), atol=1e-12)


def test_rows_of_unknown_class_may_have_holes():
    x, hidden = holed(IRIS, 22), SPECIES.astype(float)
    hidden[::3] = np.nan
    for kind in (sf.LinearDiscriminantAnalysis, sf.QuadraticDiscriminantAnalysis):
        assert kind().fit(x, hidden).score(x, SPECIES) > 0.93


@pytest.mark.parametrize("kind", [sf.LinearDiscriminantAnalysis, sf.QuadraticDiscriminantAnalysis])
@pytest.mark.parametrize("shrinkage", [0.1, "oas", "auto"])
def test_covariances_are_shrunk_about_as_far_with_holes_as_without(kind, shrinkage):
    few, kind = holed(IRIS, 23, 0.01), partial(kind, store_covariance=True)
    whole, near = (kind(shrinkage=shrinkage).fit(x, SPECIES) for x in (IRIS, few))
    model = kind(shrinkage=shrinkage).fit(holed(IRIS, 23), SPECIES)
    assert model.score(holed(IRIS, 23), SPECIES) > 0.93
    assert_allclose(near.covariance_, whole.covariance_, atol=0.03)
    plain = kind().fit(few, SPECIES)
    shrunk = np.abs(np.array(near.covariance_) - plain.covariance_).max()
    assert shrunk > 3 * np.abs(np.array(near.covariance_) - whole.covariance_).max() or shrinkage != 0.1


def test_options_that_need_complete_rows_say_so():
    x = holed(IRIS, 23)
    with pytest.raises(sf.UnsupportedError, match=r"complete rows.*use shrinkage"):
        sf.QuadraticDiscriminantAnalysis(covariance_estimator=EmpiricalCovariance()).fit(x, SPECIES)
    with pytest.raises(sf.UnsupportedError, match="takes several passes"):
        sf.Density().partial_fit(x)


def test_a_class_that_never_saw_a_column_has_that_of_all_rows():
    x = IRIS.copy()
    x[SPECIES == 0, 2] = np.nan
    with pytest.warns(sf.SufficeWarning, match="class 0 .*no cell of column 2"):
        model = sf.QuadraticDiscriminantAnalysis(store_covariance=True).fit(x, SPECIES)
    assert model.means_[0, 2] == pytest.approx(np.nanmean(x[:, 2]), rel=1e-6)
    assert_allclose(model.covariance_[0][2, [0, 1, 3]], 0.0, atol=1e-9)
    empty = IRIS.copy()
    empty[:, 1] = np.nan
    with pytest.warns(sf.SufficeWarning, match="column 1 has no value at all"):
        model = sf.LinearDiscriminantAnalysis().fit(empty, SPECIES)
    assert model.score(empty, SPECIES) > 0.95


# ---- estimators and selection ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_a_bayesian_mixture_takes_holes(kind):
    x = holed(IRIS, 24)
    model = sf.BayesianGaussianMixture(n_components=4, covariance_type=kind, random_state=0, max_iter=500, tol=1e-6)
    model.fit(x)
    assert (np.diff(model.lower_bounds_) > -1e-8).all()
    assert model.predict(x).shape == (150,)
    assert np.isfinite(model.score(x))


def test_selection_with_holes():
    faithful = np.loadtxt(Path(__file__).parents[1] / "golden" / "faithful.csv", delimiter=",", skiprows=1)[:, -2:]
    x = holed(faithful, 1, 0.15)
    found = sf.select(MVN(), x, n_components=range(1, 4), structures=["EEE", "EII"], random_state=0)
    whole = sf.select(MVN(), faithful, n_components=range(1, 4), structures=["EEE", "EII"], random_state=0)
    assert found.best.distribution.n == whole.best.distribution.n
    assert found.best.distribution.components.structure == whole.best.distribution.components.structure == "EEE"
    assert found.best.log_likelihood == pytest.approx(found.best.log_prob(x).sum(), rel=1e-10)
    assert_allclose(
        found.best.distribution.ordered().components.mean, whole.best.distribution.ordered().components.mean, rtol=0.05
    )


@pytest.mark.parametrize("columns", [3, 8, 9, 16, 20, 40, 64, 70])
def test_rows_are_grouped_by_what_they_have(columns):
    x = holed(np.random.default_rng(0).normal(size=(500, columns)), 1, 0.02)
    found = Patterns.of(x)
    assert sorted(found.order.tolist()) == list(range(500))
    for rows, cells in found.unstacked:
        seen = ~np.isnan(x[rows])
        assert (seen == seen[0]).all()
        assert cells.tolist() == np.flatnonzero(seen[0]).tolist()
    assert len(found.unstacked) == len(np.unique(~np.isnan(x), axis=0))
    assert np.concatenate([rows for rows, _ in found.unstacked]).tolist() == found.order.tolist()
    assert Patterns.of(x[:0]).unstacked == []


@pytest.mark.parametrize("seed", range(6))
def test_a_column_that_is_there_twice_ends_in_rest(seed):
    """What is singular but for its floor loses digits where it is inverted, and that is no wrong M-step."""
    fit = sf.fit(MVN(), holed(IRIS[:, [0, 1, 0]], seed))
    assert fit.converged
    assert {code for code, _ in fit.alerts} - {"blank"} == {"singular"}
    assert fit.distribution.mean[0] == pytest.approx(fit.distribution.mean[2], abs=1e-4)


def test_a_page_does_not_wait_for_standard_errors():
    """Printing computes those of few columns, not those of many; asked for, they are there."""
    rng = np.random.default_rng(0)
    small = sf.fit(MVN(), holed(IRIS, 0))
    assert "± 0." in str(small)
    wide = sf.fit(MVN(), holed(rng.normal(size=(2000, 30)), 0, 0.01), max_iter=1)
    assert "mean" in str(wide)
    assert "standard_errors" not in wide.__dict__


@pytest.mark.parametrize("name", ["full", "VEV"])
def test_the_information_of_patterns_together_is_that_of_rows_alone(name):
    """It is added over patterns of holes before it is computed."""
    from suffice.distributions.gaussian_chart import GaussianChart

    x = holed(IRIS, 3)[:40]
    x = x[~np.isnan(x).all(axis=1)]
    w = np.random.default_rng(0).random((len(x), 1))
    chart = GaussianChart(sf.fit(MVN(structure=name), holed(IRIS, 1)).distribution.stacked)
    alone = sum(chart.curvature(x[i : i + 1], w[i : i + 1]) for i in range(len(x)))
    assert_allclose(chart.curvature(x, w), alone, rtol=1e-10, atol=1e-10 * np.abs(alone).max())


# ---- rows for many passes --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("structure", ["full", "tied", "diag"])
@pytest.mark.parametrize("threads", ["1", "2"])
def test_preprocessed_rows_have_the_statistics_of_rows(structure, threads, monkeypatch):
    monkeypatch.setenv("SUFFICE_THREADS", threads)
    monkeypatch.setattr(local, "SLICE_CELLS", 1 << 11)
    truth = three(structure)
    x = holed(truth.sample(3000, 1), 2)
    x[::50] = np.nan
    w = np.random.default_rng(0).uniform(0, 2, len(x)) * (np.arange(len(x)) % 7 > 0)
    staged = truth.preprocess(x)
    assert isinstance(staged, Preprocessed)
    for weights in (None, w, w):
        assert truth.suffstats(staged, weights) == truth.suffstats(x, weights)
        one = truth.components.unstacked[0]
        assert one.suffstats(staged, weights) == one.suffstats(x, weights)
    assert_array_equal(truth.log_prob(staged), truth.log_prob(x))


def test_rows_are_sorted_once_in_a_fit(monkeypatch):
    x, found = holed(IRIS, 1), []
    sort = Split.of.__func__
    monkeypatch.setattr(Split, "of", classmethod(lambda cls, rows: found.append(len(rows)) or sort(cls, rows)))
    fit = sf.fit(sf.Mixture(MVN(), 2), x, random_state=0, start=np.arange(150) % 2)
    assert fit.n_iter > 5
    assert len(found) <= 4  # of the run, of the start, and of what is told of the end


def test_what_is_known_of_preprocessed_rows_is_theirs_alone(monkeypatch):
    x = holed(IRIS, 1)
    staged = Preprocessed.of(x)
    part = staged[10:50][5:20]
    assert part.split.cells.shape == Split.of(x[15:30]).cells.shape
    assert_array_equal(part.split.some, Split.of(x[15:30]).some)
    assert part.split is staged[15:30].split
    assert (staged + 1).split is None
    assert type(staged[np.arange(3)]) is np.ndarray
    assert type(Preprocessed.of(IRIS)) is np.ndarray  # nothing to sort
    monkeypatch.setattr(gaussian_missing, "KEPT", 0)
    again = Preprocessed.of(x)
    assert again.split is not again.split
    x[:] = IRIS  # another fit sorts again
    assert len(Preprocessed.of(x).shape) == 2
    assert sf.fit(MVN(), x).statistics.exact


def test_zero_weights_and_infinite_cells_of_preprocessed_rows():
    x = holed(IRIS, 2)
    x[5, 0], x[6] = np.inf, np.nan
    x[6, 1] = -np.inf
    w = np.ones(150)
    one = MVN(IRIS.mean(axis=0), np.cov(IRIS.T))
    with pytest.raises(sf.DataError, match=r"row 5, column 0 has inf"):
        one.suffstats(Preprocessed.of(x), w)
    w[[5, 6]] = 0.0
    kept = np.delete(x, [5, 6], axis=0)
    same_statistics(one.suffstats(Preprocessed.of(x), w), one.suffstats(kept), 1e-12, "rows of no weight")


@pytest.mark.parametrize("accelerate", [True, False])
def test_a_singular_covariance_on_its_floor_does_not_lower_the_likelihood(accelerate):
    """That floor is a part of variances that still move, so that a step to it alone may be a step down."""
    rows = [[-0.6, 1.0, -0.13], [-0.14, 4.0, -0.75], [4.3, np.nan, np.nan]]
    fit = sf.fit(MVN(), rows, accelerate=accelerate)
    assert fit.converged
    assert (np.diff(fit.trace.log_likelihood) >= 0).all()
    assert [alert.code for alert in fit.alerts] == ["singular"]
