"""What no law can say of MultivariateNormal: its structures, its singular cases, and the formulas of its belief."""

import numpy as np
import pytest
from scipy import optimize, special, stats

import suffice as sf
from suffice.distributions.covariance_structures import STRUCTURES, Structure

A = np.array([[2.0, 1.0], [-2.0, 1.0]])
RNG = np.random.default_rng(5)
ROWS = RNG.normal(size=(60, 3)) @ RNG.normal(size=(3, 3)) + [1.0, -2.0, 3.0]
WEIGHTS = RNG.random((60, 2)) + 0.1
PRIOR = sf.NormalInverseWishart([0.5, 0.0, 1.0], 2.0, 5.5, np.diag([1.0, 2.0, 3.0]) + 0.3)


def log_wishart_gamma(a, d):
    return special.multigammaln(a, d)


def test_a_sample_is_az_plus_mu():
    drawn = sf.MultivariateNormal([1.0, 2.0], A @ A.T).sample(200_000, random_state=0)
    assert drawn.mean(axis=0) == pytest.approx([1, 2], abs=0.03)
    assert np.cov(drawn.T) == pytest.approx(A @ A.T, abs=0.08)


def test_density_entropy_and_kl_agree_with_scipy_and_the_formula():
    p = sf.fit(sf.MultivariateNormal(), ROWS).distribution
    q = sf.MultivariateNormal(p.mean + 0.3, 1.7 * p.cov + 0.1)
    peer = stats.multivariate_normal(p.mean, p.cov)
    far = p.mean + 40 * np.eye(3)
    np.testing.assert_allclose(p.log_prob(far), peer.logpdf(far), rtol=1e-12)
    assert p.entropy() == pytest.approx(peer.entropy(), rel=1e-12)
    precision, away = np.linalg.inv(q.cov), q.mean - p.mean
    want = np.trace(precision @ p.cov) + away @ precision @ away - 3
    want = 0.5 * (want + np.linalg.slogdet(q.cov)[1] - np.linalg.slogdet(p.cov)[1])
    assert p.kl(q) == pytest.approx(want, rel=1e-12)


def test_the_log_partition_has_the_mean_statistic_as_its_gradient():
    p = sf.MultivariateNormal([1.0, -2.0], A @ A.T)
    eta = p.natural()

    def partition(eta):
        precision = -2 * eta[2:].reshape(2, 2)
        cov = np.linalg.inv(precision)
        return sf.MultivariateNormal(cov @ eta[:2], 0.5 * (cov + cov.T)).log_partition()

    for direction in (
        [1, 0, 0, 0, 0, 0],
        [0, 1, 0, 0, 0, 0],
        [0, 0, 1, 0, 0, 0],
        [0, 0, 0, 1, 1, 0],
        [0, 0, 0, 0, 0, 1],
    ):
        step = 1e-5 * np.array(direction)
        slope = (partition(eta + step) - partition(eta - step)) / 2e-5
        assert slope == pytest.approx(p.mean_statistic() @ direction, rel=1e-7)
    x = np.array([[0.3, 4.0]])
    again = p.statistic(x) @ eta - p.log_partition() + p.log_base(x)
    np.testing.assert_allclose(again, p.log_prob(x), rtol=1e-12)


@pytest.mark.parametrize("name", list(STRUCTURES))
@pytest.mark.parametrize("prior", [None, PRIOR], ids=["ml", "map"])
def test_no_nearby_covariance_of_the_structure_is_better(name, prior):
    prototype = sf.MultivariateNormal(structure=name)
    gathered = prototype.suffstats(ROWS, WEIGHTS)
    best = prototype.estimate(gathered, prior)

    def objective(model):
        believed = 0.0 if prior is None else float(model.log_prior(prior))
        return float(model.log_likelihood(gathered).sum()) + believed

    rng, top = np.random.default_rng(0), objective(best)
    for _ in range(100):
        bend = np.eye(3) + 1e-3 * rng.normal(size=(1 if best.shared else 2, 3, 3))
        cov = bend @ best.cov @ np.swapaxes(bend, 1, 2)
        cov = best.form.m_step(cov, np.ones(2))
        for mean in (best.mean, best.mean + 1e-3 * rng.normal(size=(2, 3))):
            assert objective(sf.MultivariateNormal(mean, cov, structure=name)) <= top + 1e-9


@pytest.mark.parametrize(("name", "count"), [("full", 12), ("diag", 6), ("spherical", 2), ("identity", 0), ("tied", 6)])
def test_parameters_are_counted_by_structure(name, count):
    prototype = sf.MultivariateNormal(structure=name)
    assert prototype.estimate(prototype.suffstats(ROWS, WEIGHTS)).n_parameters == 6 + count


@pytest.mark.parametrize("name", ["full", "diag", "spherical"])
def test_standard_errors_are_those_of_the_observed_information(name):
    fit = sf.fit(sf.MultivariateNormal(structure=name), ROWS)
    p, n = fit.distribution, len(ROWS)
    columns = {"full": 6, "diag": 3, "spherical": 1}[name]
    basis = []
    for i in range(3):
        for j in range(i + 1):
            unit = np.zeros((3, 3))
            unit[i, j] = unit[j, i] = 1.0
            if name == "full" or i == j:
                basis.append(unit)
    basis = [sum(basis)] if name == "spherical" else basis
    assert len(basis) == columns
    precision = np.linalg.inv(p.cov)
    # at the maximum the observed information of Σ is n/2 tr(Σ⁻¹ Bᵢ Σ⁻¹ Bⱼ), where the structure reproduces the scatter
    information = [[0.5 * n * np.trace(precision @ a @ precision @ b) for b in basis] for a in basis]
    variance = np.diag(np.linalg.inv(information))
    want = np.sqrt(sum(v * b for v, b in zip(variance, basis, strict=True)))
    np.testing.assert_allclose(fit.standard_errors["cov"], want, rtol=1e-10)
    np.testing.assert_allclose(fit.standard_errors["mean"], np.sqrt(np.diag(p.cov) / n), rtol=1e-12)


def test_tied_is_the_pooled_scatter_and_equals_tying_full():
    codes = np.arange(60) % 2
    gathered = sf.MultivariateNormal().suffstats(ROWS, sf.OneHot(codes, 2))
    tied = sf.MultivariateNormal(structure="tied").estimate(gathered)
    pooled = sum((codes == j).sum() * np.cov(ROWS[codes == j].T, ddof=0) for j in range(2)) / 60
    np.testing.assert_allclose(tied.cov, np.stack([pooled, pooled]), rtol=1e-12)
    np.testing.assert_array_equal(sf.MultivariateNormal().tie("cov").estimate(gathered).cov, tied.cov)


def test_components_far_along_a_narrow_ridge_are_scored_one_by_one():
    """Whitened together, what cancels across the ridge would take the digits of the scores."""
    cov = np.eye(4)
    cov[0, 1] = cov[1, 0] = 1 - 1e-12
    mean = np.outer([-450.0, 0.0, 450.0], [1, 1, 0, 0])
    x = sf.MultivariateNormal(mean[2], cov).sample(40, random_state=0)
    each, shared = (sf.MultivariateNormal(mean, np.stack([cov] * 3), structure=name) for name in ("full", "tied"))
    np.testing.assert_array_equal(shared.log_prob(x)[:, 2], each.log_prob(x)[:, 2])


def test_a_tied_mean_maximises_the_joint_likelihood():
    prototype = sf.MultivariateNormal(structure="diag").tie("mean")
    gathered = prototype.suffstats(ROWS, WEIGHTS)
    found = prototype.estimate(gathered)

    def loss(theta):
        mean, spread = theta[:3], np.exp(theta[3:]).reshape(2, 3)
        model = sf.MultivariateNormal(mean, np.eye(3) * spread[:, :, None] ** 2, structure="diag")
        return -float(model.log_likelihood(gathered).sum())

    start = np.concatenate([ROWS.mean(axis=0), np.tile(np.log(ROWS.std(axis=0)), 2)])
    best = optimize.minimize(loss, start, tol=1e-12)
    assert -float(found.log_likelihood(gathered).sum()) == pytest.approx(best.fun, rel=1e-10)
    assert found.mean[0].tolist() == found.mean[1].tolist()
    assert found.n_parameters == 3 + 6


def test_a_tied_mean_rests_as_soon_in_whatever_units_the_columns_are(monkeypatch):
    solve, turns = sf.MultivariateNormal.solve, []
    monkeypatch.setattr(sf.MultivariateNormal, "solve", lambda *given: turns.append(given) or solve(*given))
    prototype, factor = sf.MultivariateNormal().tie("mean"), np.array([1.0, 2.0**40, 2.0**-40])
    plain = prototype.estimate(prototype.suffstats(ROWS, WEIGHTS))
    needed = len(turns)
    scaled = prototype.estimate(prototype.suffstats(ROWS * factor, WEIGHTS))
    assert len(turns) < 2 * needed + 5
    np.testing.assert_allclose(scaled.mean / factor, plain.mean, rtol=1e-10)


def test_fixed_parameters_stay():
    fixed_mean = sf.fit(sf.MultivariateNormal(mean=[0.0, 0.0, 0.0]).fix("mean"), ROWS)
    np.testing.assert_allclose(fixed_mean.distribution.cov, ROWS.T @ ROWS / 60, rtol=1e-12)
    assert fixed_mean.standard_errors["mean"].tolist() == [0, 0, 0]
    fixed_cov = sf.fit(sf.MultivariateNormal(cov=np.diag([1.0, 2.0, 3.0])).fix("cov"), ROWS)
    np.testing.assert_array_equal(fixed_cov.distribution.cov, np.diag([1.0, 2.0, 3.0]))
    assert (fixed_mean.n_parameters, fixed_cov.n_parameters) == (6, 3)


def test_ddof_gives_numpys_covariance():
    unbiased = sf.fit(sf.MultivariateNormal(), ROWS, ddof=1).distribution
    np.testing.assert_allclose(unbiased.cov, np.cov(ROWS.T), rtol=1e-12)


def test_an_offset_changes_no_covariance():
    near = sf.fit(sf.MultivariateNormal(), ROWS).distribution.cov
    far = sf.fit(sf.MultivariateNormal(), ROWS + 1e8).distribution.cov
    np.testing.assert_allclose(far, near, rtol=1e-6)


@pytest.mark.parametrize(
    ("rows", "rank", "columns"),
    [
        (ROWS[:1], 0, "columns 0, 1, 2"),
        (ROWS[:3], 2, "columns 0, 1, 2"),
        (ROWS[:, [0, 0]], 1, "columns 0, 1"),
        (np.c_[ROWS, 3 * ROWS[:, 1] + 7], 3, "columns 1, 3"),
        (np.c_[ROWS[:, :2], np.full(60, 4.0)], 2, "column 2"),
        (np.zeros((5, 2)), 0, "columns 0, 1"),
    ],
    ids=["one row", "n = d", "x2 = x1", "a line", "constant column", "all zero"],
)
def test_a_singular_covariance_is_floored_reported_and_usable(rows, rank, columns):
    fit = sf.fit(sf.MultivariateNormal(), rows)
    (code, text), *more = fit.alerts
    assert (code, more) == ("singular", [])
    assert f"rank {rank} of {rows.shape[1]}: {columns} " in text
    assert np.isfinite(fit.log_prob(rows)).all()
    assert np.isfinite(fit.sample(5, random_state=0)).all()
    assert fit.distribution == sf.fit(fit.distribution, rows).distribution
    weak = sf.fit(sf.MultivariateNormal(), rows, prior="weak")  # mends dependence, but knows no scale of a constant
    assert bool(weak.alerts) == (np.ptp(rows, axis=0) == 0).any()


def test_scales_far_apart_are_not_singular():
    scale = np.array([1e-9, 1.0, 1e9])
    fit = sf.fit(sf.MultivariateNormal(), ROWS * scale)
    plain = sf.fit(sf.MultivariateNormal(), ROWS)
    assert fit.alerts == ()
    np.testing.assert_allclose(fit.distribution.cov, plain.distribution.cov * np.outer(scale, scale), rtol=1e-10)
    assert fit.log_likelihood == pytest.approx(plain.log_likelihood - 60 * np.log(scale).sum(), rel=1e-10)


def test_a_row_with_holes_is_scored_by_the_marginal_of_what_it_has():
    p = sf.fit(sf.MultivariateNormal(), ROWS).distribution
    holes = ROWS[:5].copy()
    holes[0, 1] = holes[1, [0, 2]] = holes[2] = np.nan
    holes[3, 0], holes[4, :2] = np.inf, (np.nan, -np.inf)
    got = p.log_prob(holes)
    want = stats.multivariate_normal(p.mean[[0, 2]], p.cov[np.ix_([0, 2], [0, 2])]).logpdf(holes[0, [0, 2]])
    assert got[0] == pytest.approx(want, rel=1e-12)
    assert got[1] == pytest.approx(stats.norm(p.mean[1], p.std[1]).logpdf(holes[1, 1]), rel=1e-12)
    assert got[2:].tolist() == [0.0, -np.inf, -np.inf]


def test_an_empty_row_is_absent_and_an_infinite_cell_is_named():
    holes = np.vstack([ROWS, np.full(3, np.nan)])
    assert sf.fit(sf.MultivariateNormal(), holes).distribution == sf.fit(sf.MultivariateNormal(), ROWS).distribution
    holes[7, 2] = np.nan
    assert sf.fit(sf.MultivariateNormal(), holes, weights=np.arange(61) != 7).n == 60
    holes[7, 2] = -np.inf
    with pytest.raises(sf.DataError, match="row 7, column 2 has -inf"):
        sf.fit(sf.MultivariateNormal(), holes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"structure": "round"},
            "must be one of 'full', 'diag', 'spherical', 'identity', 'tied', 'EII', .*'VVV'; got 'round'",
        ),
        ({"mean": [0, 0], "cov": np.eye(3)}, "mean has 2 columns, but cov has shape"),
        ({"cov": [[1, 2], [2, 1]]}, "positive definite"),
        ({"cov": [[1, 0.5], [0.5, 1]], "structure": "diag"}, "does not have the structure 'diag'"),
        ({"cov": np.diag([1.0, 2.0]), "structure": "spherical"}, "does not have the structure 'spherical'"),
        ({"cov": 2 * np.eye(2), "structure": "identity"}, "does not have the structure 'identity'"),
    ],
)
def test_wrong_parameters_are_refused(arguments, message):
    with pytest.raises(sf.ParameterError, match=message):
        sf.MultivariateNormal(**arguments)


def test_a_prototype_without_columns_says_how_to_stack_it():
    with pytest.raises(sf.ParameterError, match=r"for_data\(rows\)\.stack\(k\)"):
        sf.MultivariateNormal().stack(2)
    assert sf.MultivariateNormal().for_data(ROWS).stack(2).mean.shape == (2, 3)


def test_a_structure_can_be_added_without_touching_the_family():
    known = np.eye(3) + 0.5

    class Scaled(Structure):
        """A known matrix times a factor for each component."""

        def maximise(self, scatter, weight, current, floor):
            return (np.einsum("kij,ji->k", scatter, np.linalg.inv(known)) / (3 * weight))[:, None, None] * known

        def count(self, k, d):
            return k

        def holds(self, cov):
            return np.allclose(cov / cov[:, :1, :1], known / known[0, 0])

    STRUCTURES["scaled"] = Scaled()
    try:
        prototype = sf.MultivariateNormal(np.zeros(3), known, structure="scaled")
        gathered = prototype.suffstats(ROWS, WEIGHTS)
        fitted = prototype.estimate(gathered)
        whitened = sf.MultivariateNormal(structure="spherical").suffstats(
            ROWS @ np.linalg.inv(np.linalg.cholesky(known)).T, WEIGHTS
        )
        factor = np.einsum("kii->k", whitened.scatter) / (3 * whitened.weight)
        np.testing.assert_allclose(fitted.cov, factor[:, None, None] * known, rtol=1e-12)
        assert fitted.n_parameters == 8
    finally:
        del STRUCTURES["scaled"]


# ---- believing -------------------------------------------------------------------------------------------------------
def test_the_update_is_the_textbooks():
    post = sf.posterior(sf.MultivariateNormal(), ROWS, prior=PRIOR)
    n, mean = len(ROWS), ROWS.mean(axis=0)
    away = mean - PRIOR.mean
    scale = PRIOR.scale + (ROWS - mean).T @ (ROWS - mean) + PRIOR.count * n / (PRIOR.count + n) * np.outer(away, away)
    np.testing.assert_allclose(post.scale, scale, rtol=1e-12)
    np.testing.assert_allclose(post.belief.mean, (PRIOR.count * PRIOR.mean + n * mean) / (PRIOR.count + n), rtol=1e-12)
    assert (post.count, post.df) == (62.0, 65.5)
    np.testing.assert_allclose(post.mode["cov"], scale / (65.5 + 3 + 2), rtol=1e-12)
    np.testing.assert_allclose(post.mean["cov"], scale / (65.5 - 3 - 1), rtol=1e-12)
    evidence = (
        log_wishart_gamma(65.5 / 2, 3)
        - log_wishart_gamma(5.5 / 2, 3)
        + 5.5 / 2 * np.linalg.slogdet(PRIOR.scale)[1]
        - 65.5 / 2 * np.linalg.slogdet(scale)[1]
        + 1.5 * np.log(2 / 62)
        - 90 * np.log(np.pi)
    )
    assert post.log_evidence == pytest.approx(evidence, rel=1e-12)


def test_map_is_the_joint_mode_and_beats_its_neighbours():
    fit = sf.fit(sf.MultivariateNormal(), ROWS, prior=PRIOR)
    post = sf.posterior(sf.MultivariateNormal(), ROWS, prior=PRIOR)
    np.testing.assert_allclose(fit.distribution.cov, post.mode["cov"], rtol=1e-12)
    assert fit.log_posterior - post.log_evidence == pytest.approx(post.log_prob(post.mode), rel=1e-10)
    top = post.log_prob(post.mode)
    rng = np.random.default_rng(0)
    for _ in range(50):
        bend = np.eye(3) + 1e-2 * rng.normal(size=(3, 3))
        moved = {"mean": post.mode["mean"] + 1e-2 * rng.normal(size=3), "cov": bend @ post.mode["cov"] @ bend.T}
        assert post.log_prob(moved) < top


def test_the_inverse_wishart_part_is_scipys():
    cov = np.cov(ROWS.T)
    at_mean = stats.multivariate_normal(PRIOR.mean, cov / PRIOR.count).logpdf([1.0, 1.0, 1.0])
    want = at_mean + stats.invwishart(PRIOR.df, PRIOR.scale).logpdf(cov)
    assert PRIOR.log_prob({"mean": [1.0, 1.0, 1.0], "cov": cov}) == pytest.approx(want, rel=1e-12)


def test_one_column_is_the_normal_inverse_gamma():
    x = ROWS[:12, 0]
    wide = sf.posterior(sf.MultivariateNormal(), x[:, None], prior=sf.NormalInverseWishart([0.3], 2.0, 3.0, [[4.0]]))
    flat = sf.posterior(sf.Normal(), x, prior=sf.NormalInverseGamma(0.3, 2.0, 1.5, 2.0))
    assert wide.log_evidence == pytest.approx(flat.log_evidence, rel=1e-12)
    for name in ("mean", "std"):
        np.testing.assert_allclose(np.ravel(wide.interval()[name]), flat.interval()[name], rtol=1e-12)
    np.testing.assert_allclose(wide.predictive().log_prob(x[:, None]), flat.predictive().log_prob(x), rtol=1e-12)


def test_evidence_in_one_column_by_brute_force():
    x, prior = np.array([[0.3], [1.1], [-0.4]]), sf.NormalInverseWishart([0.2], 1.5, 2.5, [[1.7]])

    log_var, steps = np.meshgrid(np.linspace(-9, 16, 251), np.linspace(-15, 15, 301), indexing="ij")
    var, mean = np.exp(log_var), 0.2 + np.exp(log_var / 2) * steps
    likelihood = stats.norm.logpdf(x[:, :, None], mean, np.sqrt(var)).sum(axis=0)
    believed = prior.log_prob({"mean": mean.reshape(-1, 1), "cov": var.reshape(-1, 1, 1)}).reshape(mean.shape)
    cell = 0.1 * var * 0.1 * np.sqrt(var)  # of the trapezoidal rule, which is exact for such bumps
    evidence = sf.posterior(sf.MultivariateNormal(), x, prior=prior).log_evidence
    assert np.log((np.exp(likelihood + believed) * cell).sum()) == pytest.approx(evidence, abs=1e-7)


def test_predictive_is_the_ratio_of_evidences_and_scipys_t():
    before = sf.posterior(sf.MultivariateNormal(), ROWS[:20], prior=PRIOR)
    after = sf.posterior(sf.MultivariateNormal(), ROWS[20:21], prior=before)
    whole = sf.posterior(sf.MultivariateNormal(), ROWS[:21], prior=PRIOR)
    t = before.predictive()
    assert t.log_prob(ROWS[20]) == pytest.approx(after.log_evidence, rel=1e-11)
    assert before.log_evidence + after.log_evidence == pytest.approx(whole.log_evidence, rel=1e-12)
    np.testing.assert_allclose(after.scale, whole.scale, rtol=1e-12)
    peer = stats.multivariate_t(t.loc, t.scale, t.df)
    np.testing.assert_allclose(t.log_prob(ROWS), peer.logpdf(ROWS), rtol=1e-11)
    assert t.entropy() == pytest.approx(peer.entropy(), rel=1e-10)
    np.testing.assert_allclose(t.cov, t.scale * t.df / (t.df - 2), rtol=1e-12)
    assert t.cdf(t.quantile(0.3)) == pytest.approx([0.3, 0.3, 0.3], rel=1e-10)
    assert t.sample(100_000, random_state=0).std(axis=0) == pytest.approx(t.std, rel=0.02)
    with pytest.raises(sf.UnsupportedError, match="predictive"):
        sf.fit(t, ROWS)


def test_draws_of_the_belief_have_its_moments():
    post = sf.posterior(sf.MultivariateNormal(), ROWS[:10], prior=PRIOR)
    drawn = post.sample(40_000, random_state=0)
    assert drawn["mean"].mean(axis=0) == pytest.approx(post.mean["mean"], abs=0.02)
    assert drawn["mean"].std(axis=0) == pytest.approx(post.std["mean"], rel=0.03)
    np.testing.assert_allclose(drawn["cov"].mean(axis=0), post.mean["cov"], rtol=0.05, atol=0.03)
    np.testing.assert_allclose(drawn["cov"].std(axis=0), post.std["cov"], rtol=0.08)
    low, high = post.interval(0.9)["std"]
    spread = np.sqrt(np.einsum("nii->ni", drawn["cov"]))
    assert ((spread > low) & (spread < high)).mean(axis=0) == pytest.approx([0.9] * 3, abs=0.01)


def test_what_a_belief_cannot_do_is_said():
    for prototype in (sf.MultivariateNormal(structure="diag"), sf.MultivariateNormal().tie("cov")):
        with pytest.raises(sf.UnsupportedError, match="no closed posterior"):
            sf.posterior(prototype, ROWS, prior=PRIOR)
    with pytest.raises(sf.UnsupportedError, match="with the mean fixed"):
        sf.fit(sf.MultivariateNormal(mean=[0, 0, 0]).fix("mean"), ROWS, prior=PRIOR)
    with pytest.raises(sf.DataError, match="speaks of 3 columns, but the data have 2"):
        sf.posterior(sf.MultivariateNormal(), ROWS[:, :2], prior=PRIOR)
    with pytest.raises(sf.ParameterError, match="df must exceed"):
        sf.NormalInverseWishart([0, 0, 0], 1.0, 2.0, np.eye(3))


@pytest.mark.parametrize("away", [0.0, 1e6])
@pytest.mark.parametrize("apart", [1.0, 1e5])
def test_components_that_share_a_covariance_score_as_components_that_do_not(away, apart):
    """Rows whitened once for all say what rows whitened for each component say: far off, far apart, and with holes."""
    rng = np.random.default_rng(0)
    factor = np.tril(rng.normal(size=(5, 5))) + 2 * np.eye(5)
    mean, cov = away + apart * rng.normal(size=(3, 5)), np.broadcast_to(factor @ factor.T, (3, 5, 5))
    x = mean[rng.integers(0, 3, 400)] + rng.normal(size=(400, 5)) @ factor.T
    x[rng.random(x.shape) < 0.05] = np.nan
    x[7] = np.nan
    x[8, 2] = np.inf
    tied = sf.MultivariateNormal(mean, cov, structure="tied").log_prob(x)
    own = np.stack([sf.MultivariateNormal(m, c).log_prob(x) for m, c in zip(mean, cov, strict=True)], axis=1)
    np.testing.assert_allclose(tied, own, rtol=1e-10)
    assert (tied[8] == -np.inf).all()
    assert (tied[7] == 0).all()
