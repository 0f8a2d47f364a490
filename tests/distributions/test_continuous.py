"""What no law can say of the continuous families: boundaries, exact medians, closed forms, angles by mpmath.

Over 400 lines: all continuous families share its data and its judges.
"""

import mpmath as mp
import numpy as np
import pytest
from scipy import stats
from scipy.special import digamma

import suffice as sf
from suffice.core.iterative_family import weighted_median
from suffice.distributions.student_t import log_constant
from suffice.distributions.von_mises import concentration_of, resultant
from suffice.em.loop import run_em
from suffice.em.training import TrainingData


def codes(fit):
    return [code for code, _ in fit.alerts]


# ---- agreement with SciPy --------------------------------------------------------------------------------------------
PAIRS = [
    (sf.Gamma(2.5, 3.0), stats.gamma(2.5, scale=1 / 3)),
    (sf.Gamma(0.5, 0.2), stats.gamma(0.5, scale=5)),
    (sf.Exponential(3.0), stats.expon(scale=1 / 3)),
    (sf.LogNormal(0.3, 0.7), stats.lognorm(0.7, scale=np.exp(0.3))),
    (sf.Uniform(-1.0, 3.0), stats.uniform(-1, 4)),
    (sf.Laplace(1.0, 2.0), stats.laplace(1, 2)),
    (sf.StudentT(3.0, 1.0, 2.0), stats.t(3, 1, 2)),
    (sf.StudentT(200.5, 0.0, 1.0), stats.t(200.5)),
    (sf.Weibull(0.6, 0.5), stats.weibull_min(0.6, scale=0.5)),
    (sf.Weibull(4.0, 5.0), stats.weibull_min(4, scale=5)),
    (sf.Lomax(2.5, 3.0), stats.lomax(2.5, scale=3)),
]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=[repr(ours) for ours, _ in PAIRS])
def test_answers_agree_with_scipy_into_the_tails(ours, theirs):
    levels = np.array([1e-14, 1e-9, 1e-3, 0.3, 0.5, 0.7, 0.999, 1 - 1e-9])
    x = theirs.ppf(levels)
    np.testing.assert_allclose(ours.log_prob(x), theirs.logpdf(x), rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(ours.cdf(x), theirs.cdf(x), rtol=1e-10)
    np.testing.assert_allclose(ours.quantile(levels), x, rtol=1e-10)
    moments = [ours.mean, ours.var, ours.entropy()]
    np.testing.assert_allclose(moments, [theirs.mean(), theirs.var(), theirs.entropy()], rtol=1e-10)


@pytest.mark.parametrize(
    ("ours", "theirs", "held"),
    [
        (sf.Gamma(2.5, 3.0), stats.gamma, {"floc": 0}),
        (sf.LogNormal(0.3, 0.7), stats.lognorm, {"floc": 0}),
        (sf.Laplace(1.0, 2.0), stats.laplace, {}),
        (sf.StudentT(4.0, 1.0, 2.0), stats.t, {}),
        (sf.VonMises(1.0, 2.0), stats.vonmises, {"fscale": 1}),
        (sf.Weibull(1.7, 2.0), stats.weibull_min, {"floc": 0}),
    ],
    ids=lambda value: value.name if hasattr(value, "name") else "",
)
def test_fits_reach_the_likelihood_of_scipy(ours, theirs, held):
    x = ours.sample(400, random_state=2)
    ours_found = sf.fit(type(ours)(), x).log_likelihood
    assert ours_found >= theirs(*theirs.fit(x, **held)).logpdf(x).sum() - 1e-9 * len(x)


# ---- conjugate pair: Gamma and Exponential ---------------------------------------------------------------------------
def test_gamma_is_the_belief_about_a_rate():
    x = np.array([0.5, 2.0, 1.25, 0.75])
    post = sf.posterior(sf.Exponential(), x, prior=sf.Gamma(3.0, 2.0))
    assert (post.shape, post.rate) == (7.0, 6.5)
    assert post.mode == pytest.approx(6 / 6.5, rel=1e-12)
    assert post.mean == pytest.approx(7 / 6.5, rel=1e-12)
    assert post.predictive() == sf.Lomax(7.0, 6.5)
    evidence = 3 * np.log(2.0) - 7 * np.log(6.5) + np.log(720.0 / 2.0)  # r^a Γ(a+n) / Γ(a) (r+Σx)^(a+n)
    assert post.log_evidence == pytest.approx(evidence, rel=1e-12)
    assert sf.fit(sf.Exponential(), x, prior=sf.Gamma(3.0, 2.0)).params["rate"] == pytest.approx(6 / 6.5, rel=1e-12)
    weak = sf.fit(sf.Exponential(), x, prior="weak").params["rate"]
    assert weak == pytest.approx(1 / x.mean(), rel=1e-12)


def test_mode_of_a_gamma_below_shape_1_is_0():
    assert sf.Gamma(0.5, 2.0).mode == 0.0
    np.testing.assert_array_equal(sf.Gamma([0.5, 3.0], 2.0).mode, [0.0, 1.0])


def test_lomax_is_not_fitted():
    with pytest.raises(sf.UnsupportedError, match=r"sf\.Exponential\(\)"):
        sf.fit(sf.Lomax(), [1.0, 2.0])


@pytest.mark.parametrize(("shape", "mean", "var"), [(0.7, np.inf, np.inf), (1.5, 4.0, np.inf)])
def test_lomax_has_infinite_moments_below_its_shape(shape, mean, var):
    dist = sf.Lomax(shape, 2.0)
    assert (dist.mean, dist.var) == (mean, var)


# ---- boundaries ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "prototype",
    [sf.Gamma(), sf.LogNormal(), sf.Uniform(), sf.Laplace(), sf.StudentT(), sf.Weibull(), sf.VonMises()],
    ids=lambda prototype: prototype.name,
)
def test_equal_values_end_finite_with_an_alert(prototype):
    fit = sf.fit(prototype, [3.0, 3.0, 3.0])
    assert "collapsed" in codes(fit)
    assert np.isfinite(fit.log_likelihood)
    assert all(np.isfinite(value) for value in fit.params.values())
    assert fit.converged


def test_exponential_of_zeros_ends_finite_with_an_alert():
    fit = sf.fit(sf.Exponential(), [0.0, 0.0])
    assert codes(fit) == ["collapsed"]
    assert np.isfinite(fit.log_likelihood)


def test_light_tails_send_df_to_its_bound_quickly_and_leave_the_normal():
    x = np.random.default_rng(1).random(300)
    fit = sf.fit(sf.StudentT(), x)
    assert codes(fit) == ["boundary"]
    assert fit.n_iter < 30
    assert fit.params["df"] >= 1e6
    np.testing.assert_allclose([fit.params["loc"], fit.params["scale"]], [x.mean(), x.std()], rtol=1e-7)
    errors = fit.standard_errors
    assert np.isnan(errors["df"])
    np.testing.assert_allclose(errors["loc"], x.std() / np.sqrt(300), rtol=1e-6)


def test_half_the_values_equal_does_not_break_student_t():
    x = np.concatenate([np.zeros(80), np.random.default_rng(3).normal(size=20)])
    fit = sf.fit(sf.StudentT(), x)
    assert "collapsed" in codes(fit)
    assert np.isfinite(fit.log_likelihood)
    assert fit.converged
    assert fit.n_iter < 100


def test_uniform_angles_carry_an_alert():
    fit = sf.fit(sf.VonMises(), [0.0, np.pi / 2, np.pi, -np.pi / 2])
    assert fit.params["concentration"] == pytest.approx(0.0, abs=1e-12)
    assert codes(fit)
    assert not codes(sf.fit(sf.VonMises(), sf.VonMises(1.0, 2.0).sample(200, 0)))


def test_concentration_is_0_when_the_angles_point_away_from_a_fixed_loc():
    fit = sf.fit(sf.VonMises(loc=0.0).fix("loc"), [3.0, -3.0, 3.1, 2.9])
    assert fit.params["concentration"] == 0.0


# ---- Uniform ---------------------------------------------------------------------------------------------------------
def test_uniform_learns_the_free_bound_alone():
    fit = sf.fit(sf.Uniform(low=0).fix("low"), [1.0, 4.0, 2.0])
    assert fit.params == {"low": 0.0, "high": 4.0}
    assert fit.n_parameters == 1
    assert np.isnan(fit.standard_errors["high"])
    assert fit.standard_errors["low"] == 0.0


def test_a_bound_that_is_left_out_stands_beside_the_other():
    assert sf.Uniform(low=5) == sf.Uniform(5.0, 6.0)
    assert sf.Uniform(high=-5) == sf.Uniform(-6.0, -5.0)


@pytest.mark.parametrize(("low", "high"), [(1.0, 1.0), (2.0, 1.0), ([0.0, 3.0], [1.0, 2.0])])
def test_bounds_out_of_order_are_refused(low, high):
    with pytest.raises(sf.ParameterError, match="low must lie below high"):
        sf.Uniform(low, high)


def test_data_outside_a_fixed_bound_are_refused():
    with pytest.raises(sf.DataError, match=r"low fixed at 0, but the data reach -1"):
        sf.fit(sf.Uniform(low=0).fix("low"), [-1.0, 2.0])


def test_kl_of_uniforms():
    inner, outer = sf.Uniform(0.0, 1.0), sf.Uniform(-1.0, 3.0)
    assert inner.kl(outer) == pytest.approx(np.log(4.0), rel=1e-15)
    assert outer.kl(inner) == np.inf


# ---- Laplace ---------------------------------------------------------------------------------------------------------
def sorted_median(x, weights):
    """By repetition: integer weights only."""
    return float(np.median(np.repeat(x, weights)))


@pytest.mark.parametrize("n", [2, 3, 4, 11, 300])
@pytest.mark.parametrize("kind", ["heavy", "tied", "far"])
def test_laplace_finds_the_exact_weighted_median_from_a_bad_start(n, kind):
    rng = np.random.default_rng(n)
    x = {"heavy": rng.standard_cauchy(n), "tied": rng.integers(0, 4, n).astype(float), "far": 1e8 + rng.normal(size=n)}
    rows, weights = x[kind], rng.integers(1, 4, n)
    path = run_em(sf.Laplace(-3.0, 0.2), TrainingData(rows[:, None], weights), max_iter=60)
    middle = sorted_median(rows, weights)
    assert path.converged
    assert path.distribution.loc == middle
    assert path.distribution.scale == pytest.approx(np.average(np.abs(rows - middle), weights=weights), rel=1e-12)
    assert (np.diff(path.trace.log_likelihood) >= -1e-9).all()


def test_laplace_needs_few_passes_for_many_rows():
    x = np.random.default_rng(0).laplace(5.0, 2.0, 200_000)
    path = run_em(sf.Laplace(0.0, 1.0), TrainingData(x[:, None]), max_iter=60)
    assert path.distribution.loc == np.median(x)
    assert len(path.trace.change) <= 30


def test_weighted_median_is_the_midpoint_where_it_is_not_unique():
    assert weighted_median(np.array([4.0, 1.0]), np.ones(2)) == 2.5
    assert weighted_median(np.array([1.0, 2.0, 4.0]), np.array([0.1, 0.2, 0.3])) == 3.0
    assert weighted_median(np.array([1.0, 2.0, 4.0]), np.array([0.1, 0.3, 0.1])) == 2.0


def test_laplace_standard_errors():
    x = sf.Laplace(1.0, 2.0).sample(400, 0)
    fit = sf.fit(sf.Laplace(), x)
    np.testing.assert_allclose(list(fit.standard_errors.values()), fit.params["scale"] / 20, rtol=1e-12)


def test_laplace_components_that_share_loc_weigh_rows_by_their_scale():
    rng = np.random.default_rng(4)
    x, w = rng.laplace(size=61), rng.integers(0, 3, (61, 2)).astype(float)
    prototype = sf.Laplace().tie("loc")
    path = run_em(prototype.start(x, w), TrainingData(x[:, None], w), max_iter=60)
    loc, scale = path.distribution.loc[:, 0], path.distribution.scale[:, 0]
    assert loc[0] == loc[1] == weighted_median(np.tile(x, 2), (w / scale).T.ravel())
    np.testing.assert_allclose(scale, [np.average(np.abs(x - loc[0]), weights=w[:, j]) for j in (0, 1)], rtol=1e-12)


def test_rows_cannot_be_removed_from_cuts():
    stats_ = sf.Laplace().suffstats([1.0, 2.0])
    with pytest.raises(sf.UnsupportedError, match="gathered given parameters"):
        stats_ - stats_


# ---- iterative families: the gradient is 0, whatever is fixed or tied ------------------------------------------------
PROTOTYPES = [
    sf.Weibull(),
    sf.Weibull().tie("shape"),
    sf.Weibull().tie("scale"),
    sf.Weibull(scale=2.0).fix("scale").tie("shape"),
    sf.Weibull(shape=1.5).fix("shape"),
    sf.StudentT(),
    sf.StudentT().tie("df"),
    sf.StudentT().tie("loc"),
    sf.StudentT().tie("scale"),
    sf.StudentT().tie("df", "loc", "scale"),
    sf.StudentT(df=4.0).fix("df").tie("loc"),
    sf.StudentT().fix("loc", "scale"),
]


@pytest.mark.parametrize("prototype", PROTOTYPES, ids=repr)
def test_gradient_vanishes_over_a_stack(prototype):
    rng = np.random.default_rng(0)
    x = np.abs(rng.standard_t(4, (300, 2))) * [1.0, 10.0] + 0.05
    x *= 1 if prototype.name == "Weibull" else rng.choice([-1.0, 1.0], x.shape)
    w = rng.random((300, 3)) * [1.0, 2.0, 0.5]
    path = run_em(prototype.start(x, w), TrainingData(x, w), max_iter=60)
    stack = path.distribution
    assert path.converged
    assert (np.diff(path.trace.log_likelihood) >= -1e-9).all()
    for name in stack.tied:
        assert (np.ptp(getattr(stack, name), axis=0) == 0).all()
    h = 1e-5
    for name in stack.free:
        value = np.asarray(getattr(stack, name))
        size = np.abs(value) if name != "loc" else np.broadcast_to(np.min(stack.scale, axis=0), value.shape)
        up, down = (
            type(stack)(**{**stack.params, name: value + side * h * size}).suffstats(x, w).base for side in (1, -1)
        )
        slope, weight = (up - down) / (2 * h), np.broadcast_to(w.sum(axis=0)[:, None], value.shape)
        if name in stack.tied:
            slope, weight = slope.sum(axis=0), weight.sum(axis=0)
        assert np.abs(slope / weight).max() < 1e-8


@pytest.mark.parametrize("prototype", [sf.Weibull(), sf.StudentT()], ids=repr)
def test_exact_gradient_at_the_optimum(prototype):
    truth = type(prototype).example(np.random.default_rng(8))
    x = truth.sample(500, 1)
    fit = sf.fit(prototype, x)
    gradient, _ = fit.distribution.stacked._derivatives(fit.statistics)
    assert np.abs(gradient).max() / 500 < 1e-10
    assert fit.n_iter < 20


@pytest.mark.parametrize("name", ["Weibull", "StudentT"])
def test_gathered_derivatives_are_those_of_the_likelihood(name):
    kind = getattr(sf, name)
    stack = kind.example(np.random.default_rng(3)).stacked
    x = kind.example(np.random.default_rng(4)).sample(50, 0)
    gradient, hessian = stack._derivatives(stack.suffstats(x))
    units = {n: 1.0 if n == "loc" else None for n in stack.params}

    def at(step):
        moved = {
            n: (v + s * stack.scale) if units[n] else v * np.exp(s)
            for (n, v), s in zip(stack.params.items(), step, strict=True)
        }
        return kind(**moved)

    def likelihood(step):
        return float(at(step).log_prob(x).sum())

    h, p = 1e-4, len(stack.params)
    axes = np.eye(p) * h
    numeric = [(likelihood(a) - likelihood(-a)) / (2 * h) for a in axes]
    np.testing.assert_allclose(gradient[0, 0], numeric, rtol=1e-6, atol=1e-5)
    bends = [
        [(likelihood(a + b) - likelihood(a - b) - likelihood(b - a) + likelihood(-a - b)) / (4 * h * h) for a in axes]
        for b in axes
    ]
    np.testing.assert_allclose(hessian[0, 0], bends, rtol=1e-4, atol=1e-3)


def test_offset_does_not_change_student_t():
    x = sf.StudentT(4.0, 0.0, 1.0).sample(1000, 5)
    here, there = sf.fit(sf.StudentT(), x).params, sf.fit(sf.StudentT(), x + 1e8).params
    assert there["scale"] == pytest.approx(here["scale"], rel=1e-7)
    assert there["df"] == pytest.approx(here["df"], rel=1e-6)


def test_constant_of_student_t_does_not_cancel():
    mp.mp.dps = 30
    for df in (0.3, 5.0, 29.0, 31.0, 400.0, 1e8):
        exact = [mp.diff(lambda v: mp.loggamma((v + 1) / 2) - mp.loggamma(v / 2) - mp.log(v * mp.pi) / 2, df, order)
                 for order in (0, 1)]  # fmt: skip
        value, first, _ = log_constant(df)
        assert float(value) == pytest.approx(float(exact[0]), rel=1e-13)
        if df <= 400:
            assert float(first) == pytest.approx(float(exact[1]), rel=1e-9)


def test_undefined_moments_of_student_t():
    assert np.isnan(sf.StudentT(0.9).mean)
    assert sf.StudentT(1.5).var == np.inf
    assert np.isnan(sf.StudentT(1.0).var)


def test_gamma_with_a_fixed_or_shared_parameter_is_a_maximum():
    rng = np.random.default_rng(6)
    x, w = rng.gamma(3.0, size=200), rng.random((200, 2))
    fixed = sf.fit(sf.Gamma(rate=1.5).fix("rate"), x).params
    assert digamma(fixed["shape"]) - np.log(1.5) == pytest.approx(np.log(x).mean(), rel=1e-12)
    shared = sf.Gamma().tie("shape")
    both = shared.estimate(shared.suffstats(x, w))
    assert both.shape[0, 0] == both.shape[1, 0]
    means = w.T @ x / w.sum(axis=0)
    np.testing.assert_allclose(both.shape[:, 0] / both.rate[:, 0], means, rtol=1e-12)
    gap = (w.sum(axis=0) * np.log(means)).sum() - (w * np.log(x)[:, None]).sum()
    assert np.log(both.shape[0, 0]) - digamma(both.shape[0, 0]) == pytest.approx(gap / w.sum(), rel=1e-10)


def test_components_that_share_the_only_parameter_pool_their_rows():
    prototype = sf.Exponential().tie("rate")
    stack = prototype.estimate(prototype.suffstats([1.0, 2.0, 6.0], [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    np.testing.assert_allclose(stack.rate[:, 0], [1 / 3, 1 / 3], rtol=1e-15)


def test_unbiased_log_normal():
    x = np.exp([1.0, 2.0, 4.0])
    assert sf.fit(sf.LogNormal(), x, ddof=1).params["sigma"] == pytest.approx(np.std([1, 2, 4], ddof=1), rel=1e-12)


# ---- VonMises --------------------------------------------------------------------------------------------------------
def exact_cdf(kappa, points):
    """P(X ≤ t) about loc = 0 by the Fourier series, at more digits than it cancels."""
    mp.mp.dps = 40 + int(kappa)
    kappa = mp.mpf(kappa)
    bessel = [mp.besseli(j, kappa) / mp.besseli(0, kappa) for j in range(1, 80 + int(2.6 * kappa))]
    for t in map(mp.mpf, points):
        series = mp.fsum(ratio * mp.sin(j * t) / j for j, ratio in enumerate(bessel, 1))
        yield float((t + mp.pi) / (2 * mp.pi) + series / mp.pi)


@pytest.mark.parametrize("kappa", [0.0, 0.01, 0.5, 2.0, 8.0, 40.0, 120.0])
def test_cdf_of_angles_is_exact_into_the_tail(kappa):
    points = [-3.1, -2.0, -0.7, -0.05, 0.0, 0.3, 2.5]
    np.testing.assert_allclose(sf.VonMises(0.0, kappa).cdf(points), list(exact_cdf(kappa, points)), rtol=1e-10)


def test_cdf_of_concentrated_angles_is_nearly_the_normal_one():
    kappa = 1e8
    dist = sf.VonMises(0.3, kappa)
    for z in (-6.0, -1.0, 0.5):
        assert dist.cdf(0.3 + z / np.sqrt(kappa)) == pytest.approx(stats.norm.cdf(z), rel=1e-6)


@pytest.mark.parametrize("kappa", [0.3, 4.0, 900.0])
def test_quantiles_of_angles_invert_the_cdf(kappa):
    dist = sf.VonMises(1.0, kappa)
    levels = np.array([1e-5, 0.01, 0.3, 0.5, 0.8, 0.999])
    np.testing.assert_allclose(dist.cdf(dist.quantile(levels)), levels, rtol=1e-9)
    assert dist.quantile(0.0) == 1.0 - np.pi
    assert dist.quantile(1.0) == 1.0 + np.pi


@pytest.mark.parametrize("kappa", [0.0, 1e-6, 0.3, 1.5, 3.0, 10.0, 1e3, 1e4, 1e5])
def test_concentration_solves_the_bessel_ratio(kappa):
    assert float(concentration_of(resultant(kappa)[0])) == pytest.approx(kappa, rel=1e-9, abs=1e-15)


def test_slope_of_the_bessel_ratio():
    mp.mp.dps = 40
    for kappa in (0.2, 5.0, 9e3, 2e4, 1e6):
        k = mp.mpf(kappa)
        ratio = mp.besseli(1, k) / mp.besseli(0, k)
        assert float(resultant(kappa)[1]) == pytest.approx(float(1 - ratio**2 - ratio / k), rel=1e-6)


def test_angles_may_be_any_turn_and_loc_is_reported_in_one():
    x = sf.VonMises(3.1, 5.0).sample(200, 1)
    here, there = sf.fit(sf.VonMises(), x), sf.fit(sf.VonMises(), x + 4 * np.pi)
    assert there.params["loc"] == pytest.approx(here.params["loc"], abs=1e-13)
    assert there.params["concentration"] == pytest.approx(here.params["concentration"], rel=1e-12)
    assert sf.fit(sf.VonMises(), [np.pi, np.pi - 0.1, np.pi + 0.1]).params["loc"] in (-np.pi, pytest.approx(np.pi))
    assert -np.pi <= here.params["loc"] < np.pi


def test_angles_with_a_shared_loc_have_a_gradient_of_0():
    rng = np.random.default_rng(2)
    x, w = np.r_[rng.vonmises(1.0, 6.0, 80), rng.vonmises(0.5, 0.8, 80)], np.repeat(np.eye(2), 80, axis=0)
    prototype = sf.VonMises().tie("loc")
    stack = prototype.estimate(prototype.suffstats(x, w))
    assert stack.loc[0, 0] == stack.loc[1, 0]
    kappa, loc = stack.concentration[:, 0], stack.loc[0, 0]
    assert (kappa * (np.sin(x - loc) @ w)).sum() / 160 == pytest.approx(0.0, abs=1e-10)
    np.testing.assert_allclose(np.cos(x - loc) @ w / 80, resultant(kappa)[0], rtol=1e-12)


# ---- divergences without cancellation --------------------------------------------------------------------------------
def exact_gamma(a, b, c, d):
    return (a - c) * mp.digamma(a) - mp.loggamma(a) + mp.loggamma(c) + c * mp.log(b / d) + a * (d - b) / b


def exact_beta(a, b, c, d):
    ours, theirs = mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b), mp.loggamma(c) + mp.loggamma(d)
    rest = (a - c) * mp.digamma(a) + (b - d) * mp.digamma(b) + (c - a + d - b) * mp.digamma(a + b)
    return theirs - mp.loggamma(c + d) - ours + rest


def exact_angles(m, k, n, j):
    length = mp.besseli(1, k) / mp.besseli(0, k)
    return mp.log(mp.besseli(0, j) / mp.besseli(0, k)) + length * (k - j * mp.cos(m - n))


def exact_normal(m, s, n, t):
    return ((m - n) ** 2 + s**2) / (2 * t**2) - mp.mpf("0.5") + mp.log(t / s)


def exact_binary(p, q):
    return p * mp.log(p / q) + (1 - p) * mp.log((1 - p) / (1 - q))


DIVERGENCES = [
    *[(sf.Normal, exact_normal, q) for q in [(3, 2, 3 + 1e-9, 2), (3, 2, 3, 2 + 1e-9), (1e8, 1, 1e8 + 0.5, 1)]],
    *[(sf.LogNormal, exact_normal, q) for q in [(300, 0.5, 300 + 1e-7, 0.5), (0, 1, 1, 2)]],
    *[(sf.Gamma, exact_gamma, q) for q in [(2, 3, 2.5, 1), (2, 3, 2 + 1e-9, 3), (1e10, 1, 1.000001e10, 1.000001)]],
    *[(sf.Gamma, exact_gamma, q) for q in [(0.01, 3, 0.02, 3), (0.01, 3, 5, 3), (5, 3, 0.01, 3)]],
    *[(sf.Beta, exact_beta, q) for q in [(2, 3, 2 + 1e-9, 3), (1e9, 2e9, 1e9 + 1, 2e9 + 2), (5, 0.3, 0.01, 3)]],
    *[(sf.VonMises, exact_angles, q) for q in [(0, 2, 1, 3), (0, 2, 1e-9, 2), (0, 2, 0, 2 + 1e-9), (0, 2, 0, 50)]],
    (sf.Exponential, lambda a, b: mp.log(a / b) + b / a - 1, (3, 3 + 1e-8)),
    (sf.Poisson, lambda a, b: a * mp.log(a / b) + b - a, (1e9, 1e9 + 1)),
    (sf.Bernoulli, exact_binary, (0.3, 0.3 + 1e-9)),
    (lambda p: sf.Binomial(7, p), lambda p, q: 7 * exact_binary(p, q), (0.3, 0.3 + 1e-9)),
    (sf.Geometric, lambda p, q: exact_binary(p, q) / p, (0.3, 0.3 + 1e-9)),
    (lambda p: sf.NegativeBinomial(3, p), lambda p, q: 3 * exact_binary(p, q) / p, (0.3, 0.3 + 1e-9)),
]


@pytest.mark.parametrize(("kind", "exact", "values"), DIVERGENCES)
def test_divergences_of_near_neighbours_lose_no_digit(kind, exact, values):
    half = len(values) // 2
    with mp.workdps(60):
        expected = float(exact(*map(mp.mpf, values)))
    found = kind(*values[:half]).kl(kind(*values[half:]))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_risk_and_consistency_far_from_the_origin():
    assert sf.theory.risk(sf.Normal(1e8 + 0.5, 1), sf.Normal(1e8, 1)).divergence == 0.125
    table = sf.theory.consistency(sf.Normal(1e8, 1.0), sizes=[100], repeats=20, random_state=0)
    assert table.truth_is_best
    assert table.alerts == ()
    near = sf.theory.consistency(sf.Normal(0.0, 1.0), sizes=[100], repeats=20, random_state=0)
    np.testing.assert_allclose(table["mean_gap"], near["mean_gap"], rtol=1e-5)


@pytest.mark.parametrize(
    ("prototype", "x"),
    [
        (sf.Weibull(2.0, 3.0), [1.0, 2.0, 4.0]),
        (sf.Laplace(2.0, 3.0), [1.0, 2.0, 4.0]),
        (sf.StudentT(4.0, 2.0, 3.0), [1.0, 2.0, 4.0, 8.0]),
        (sf.NegativeBinomial(2.0, 0.3), [1.0, 0.0, 9.0]),
    ],
    ids=repr,
)
def test_components_and_columns_without_rows_keep_their_parameters(prototype, x):
    weights = np.stack([np.ones(len(x)), np.zeros(len(x))], axis=1)
    stack = prototype.stack(2)
    learned = stack.estimate(stack.suffstats(x, weights))
    alone = prototype.estimate(prototype.suffstats(x))
    for name in prototype.params:
        np.testing.assert_array_equal(getattr(learned, name)[1], getattr(prototype, name))
        np.testing.assert_allclose(getattr(learned, name)[0], getattr(alone, name), rtol=1e-12)
    unseen = prototype.estimate(prototype.suffstats(np.full(3, np.nan)))
    assert unseen == prototype


def test_tiny_values_are_not_called_equal_without_need():
    fit = sf.fit(sf.Uniform(), [1e-160, 2e-160])
    assert (fit.distribution.low, fit.distribution.high, fit.alerts) == (1e-160, 2e-160, ())
    (code, text), *_ = sf.fit(sf.Normal(), [1e-160, 2e-160]).alerts
    assert code == "collapsed"
    assert "multiply very small ones" in text


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("prototype", [sf.Gamma(), sf.Laplace(), sf.Weibull(), sf.Exponential(), sf.LogNormal()])
@pytest.mark.parametrize("unit", [1e300, 1e-300])
def test_extreme_units_warn_of_nothing(prototype, unit):
    x = np.array([1.0, 2.0, 3.0, 5.0])
    fit = sf.fit(prototype, unit * x)
    assert set(fit.standard_errors) == set(prototype.params)
    if unit > 1:
        np.testing.assert_allclose(
            fit.distribution.quantile(0.5) / unit, sf.fit(prototype, x).distribution.quantile(0.5), rtol=1e-2
        )


@pytest.mark.filterwarnings("error")
def test_a_variance_that_overflows_is_infinite():
    assert sf.Normal(0, 1e160).var == sf.Laplace(0, 1e160).var == np.inf
    assert sf.Normal(0, 1e160).kl(sf.Normal()) == np.inf


@pytest.mark.parametrize("n", [5, 40])
def test_standard_errors_of_a_normal_with_a_known_parameter(n):
    x = sf.Normal(1.0, 2.0).sample(n, random_state=0)
    known_mean, known_std = sf.fit(sf.Normal(0.5).fix("mean"), x), sf.fit(sf.Normal(std=3.0).fix("std"), x)
    spread = np.sqrt(np.mean((x - 0.5) ** 2))
    assert known_mean.standard_errors["std"] == pytest.approx(spread / np.sqrt(2 * n), rel=4e-16)  # sums differ by CPU
    assert known_std.standard_errors["mean"] == 3.0 / np.sqrt(n)
    both = sf.Normal().tie("mean", "std").stack(2)
    stats_of = both.suffstats(x, np.stack([np.ones(n), np.full(n, 2.0)], axis=1))
    errors = both.estimate(stats_of).standard_errors(stats_of)
    np.testing.assert_allclose(errors["mean"], np.std(x) / np.sqrt(3 * n))
    np.testing.assert_allclose(errors["std"], np.std(x) / np.sqrt(6 * n))
