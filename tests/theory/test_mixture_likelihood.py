"""Mixtures under given responsibilities, and their likelihood as a function of one or two parameters."""

import numpy as np
import pytest

import suffice as sf

TRUTH = sf.Mixture([sf.Normal(4.0, 0.8), sf.Normal(8.0, 2.0)], weights=[0.3, 0.7])


def rows_of(family, rng, n=60):
    return np.asarray(family.example(rng).sample(n, rng))


FAMILIES = [sf.Normal, sf.Poisson, sf.Exponential, sf.Gamma, sf.Bernoulli, sf.Geometric, sf.Beta, sf.LogNormal]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
@pytest.mark.parametrize("seed", range(3))
def test_statistics_of_given_responsibilities_are_the_weighted_ones_of_each_component(family, seed):
    rng = np.random.default_rng(seed)
    x, k = rows_of(family, rng), int(rng.integers(2, 5))
    q = rng.dirichlet(np.ones(k), len(x)) * rng.uniform(0.2, 3, len(x))[:, None]
    mixture = sf.Mixture(family(), k)
    learned = mixture.estimate(mixture.suffstats(x, q))
    np.testing.assert_allclose(learned.weights, q.sum(axis=0) / q.sum(), rtol=1e-12)
    for j, part in enumerate(learned.parts):
        alone = sf.fit(family(), x, weights=q[:, j]).distribution
        for name, value in alone.params.items():
            np.testing.assert_allclose(part.params[name], value, rtol=1e-7)


def test_the_step_for_given_responsibilities_is_a_maximum_of_their_bound():
    rng = np.random.default_rng(0)
    x, q = TRUTH.sample(80, rng), rng.dirichlet([1.0, 1.0], 80)
    stats = TRUTH.suffstats(x, q)
    best = TRUTH.estimate(stats)
    for _ in range(20):
        parts = [
            sf.Normal(m + 0.1 * rng.normal(), s * np.exp(0.1 * rng.normal()))
            for m, s in zip(best.params["mean"], best.params["std"], strict=True)
        ]
        other = sf.Mixture(parts, weights=rng.dirichlet(50 * best.weights))
        assert other.log_likelihood(stats) < best.log_likelihood(stats)


def test_given_responsibilities_add_up_over_parts_of_the_rows():
    rng = np.random.default_rng(1)
    x, q = TRUTH.sample(50, rng), rng.dirichlet([1.0, 2.0], 50)
    whole = TRUTH.suffstats(x, q)
    both = TRUTH.suffstats(x[:20], q[:20]) + TRUTH.suffstats(x[20:], q[20:])
    np.testing.assert_allclose(TRUTH.log_likelihood(both), TRUTH.log_likelihood(whole), rtol=1e-12)
    np.testing.assert_allclose(both.log_likelihood, TRUTH.log_prob(x).sum(), rtol=1e-12)


def test_one_hot_codes_are_responsibilities_too():
    codes = np.array([0, 1, 1, 0, 1])
    x = np.array([1.0, 5.0, 6.0, 2.0, 9.0])
    one = TRUTH.estimate(TRUTH.suffstats(x, sf.OneHot(codes, 2)))
    other = TRUTH.estimate(TRUTH.suffstats(x, np.eye(2)[codes]))
    np.testing.assert_allclose(one.params["mean"], [1.5, 20 / 3])
    np.testing.assert_allclose(other.params["mean"], one.params["mean"])
    np.testing.assert_allclose(one.weights, [0.4, 0.6])


def test_responsibilities_of_other_components_are_refused():
    with pytest.raises(sf.DataError, match="column for each of the 2 components; got 3"):
        TRUTH.suffstats([1.0, 2.0], np.ones((2, 3)))


def test_products_and_components_of_different_kinds_take_responsibilities():
    rng = np.random.default_rng(2)
    a, b, q = rng.normal(size=40), rng.choice(list("xyz"), 40), rng.dirichlet([1.0, 1.0], 40)
    mixture = sf.Mixture(sf.Product({"a": sf.Normal(), "b": sf.Categorical()}), 2)
    learned = mixture.estimate(mixture.suffstats({"a": a, "b": b}, q))
    np.testing.assert_allclose(learned.params["a"]["mean"], q.T @ a / q.sum(axis=0))
    np.testing.assert_allclose(learned.params["b"]["probs"][:, 0], q.T @ (b == "x") / q.sum(axis=0))
    mixture = sf.Mixture([sf.Normal(), sf.Exponential()])
    learned = mixture.estimate(mixture.suffstats(np.abs(a), q))
    np.testing.assert_allclose(learned.parts[1].rate, q[:, 1].sum() / (q[:, 1] @ np.abs(a)))


# ---- the likelihood as a function ------------------------------------------------------------------------------------
def test_the_likelihood_over_one_parameter_of_a_component():
    x = TRUTH.sample(100, random_state=0)
    grid = np.array([3.0, 4.0, 5.5])
    expected = [sf.Mixture([sf.Normal(m, 0.8), sf.Normal(8, 2)], weights=[0.3, 0.7]).log_prob(x).sum() for m in grid]
    np.testing.assert_allclose(sf.theory.likelihood(TRUTH, x, {("mean", 0): grid}), expected, rtol=1e-12)
    np.testing.assert_allclose(sf.theory.likelihood(TRUTH, x, component=0, mean=grid), expected, rtol=1e-12)


def test_the_surface_over_a_mean_and_a_mixing_weight_with_weights_of_rows():
    x, w = TRUTH.sample(60, random_state=0), np.random.default_rng(0).uniform(0, 3, 60)
    surface = sf.theory.likelihood(TRUTH, x, {("mean", 1): [7.0, 8.0], ("weights", 0): [0.2, 0.5, 0.9]}, weights=w)
    assert surface.shape == (2, 3)
    for i, mean in enumerate([7.0, 8.0]):
        for j, share in enumerate([0.2, 0.5, 0.9]):
            other = sf.Mixture([sf.Normal(4, 0.8), sf.Normal(mean, 2)], weights=[share, 1 - share])
            np.testing.assert_allclose(surface[i, j], w @ other.log_prob(x), rtol=1e-12)


def test_other_weights_keep_their_proportions():
    three = sf.Mixture(sf.Normal([[0.0], [3.0], [6.0]], 1.0), weights=[0.2, 0.3, 0.5])
    x = three.sample(50, random_state=0)
    found = sf.theory.likelihood(three, x, {("weights", 1): [0.6]})
    np.testing.assert_allclose(found, [sf.Mixture(three.components, weights=[0.8 / 7, 0.6, 2 / 7]).log_prob(x).sum()])


def test_parameters_of_products_are_named_by_their_path():
    both = sf.Product({"a": sf.Normal(0, 1), "b": sf.Poisson(2)})
    data = both.sample(30, random_state=0)
    found = sf.theory.likelihood(both, data, {("a", "mean"): [0.5], ("b", "rate"): [1.0, 3.0]})
    for rate, height in zip((1.0, 3.0), found[0], strict=True):
        other = sf.Product({"a": sf.Normal(0.5, 1), "b": sf.Poisson(rate)})
        np.testing.assert_allclose(height, other.log_prob(data).sum(), rtol=1e-12)
    mixture = sf.Mixture([both, sf.Product({"a": sf.Normal(3, 1), "b": sf.Poisson(7)})])
    found = sf.theory.likelihood(mixture, data, {("a", "mean", 1): [2.0]})
    other = sf.Mixture([both, sf.Product({"a": sf.Normal(2, 1), "b": sf.Poisson(7)})])
    np.testing.assert_allclose(found, [other.log_prob(data).sum()], rtol=1e-12)


def test_the_profile_and_the_interval_of_a_mixture():
    x = TRUTH.sample(400, random_state=3)
    fit = sf.fit(sf.Mixture(sf.Normal(), 2), x, random_state=0)
    best = fit.params["mean"][0]
    heights = sf.theory.profile(fit, x, ("mean", 0), [best - 0.3, best, best + 0.3])
    np.testing.assert_allclose(heights[1], fit.log_likelihood, rtol=1e-8)
    curve = sf.theory.likelihood(fit, x, {("mean", 0): [best - 0.3, best + 0.3]})
    assert (heights[[0, 2]] > curve + 1e-6).all()
    assert (heights[[0, 2]] < fit.log_likelihood).all()
    low, high = sf.theory.likelihood_interval(fit, x, ("weights", 0))
    drop = fit.log_likelihood - sf.theory.profile(fit, x, ("weights", 0), [low, high])
    np.testing.assert_allclose(drop, 1.920729410347062, rtol=1e-3)
    wald = fit.interval(0.95)["weights"]
    assert abs(low - wald[0][0]) < 0.05
    assert abs(high - wald[1][0]) < 0.05


def test_a_held_weight_is_the_constrained_maximum():
    x = TRUTH.sample(200, random_state=1)
    held = sf.theory.profile(TRUTH, x, ("weights", 0), [0.4])[0]
    fixed = sf.fit(sf.Mixture([sf.Normal(4, 0.8), sf.Normal(8, 2)], weights=[0.4, 0.6]).fix("weights"), x, start=TRUTH)
    np.testing.assert_allclose(held, fixed.log_likelihood, rtol=1e-8)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda x: sf.theory.likelihood(TRUTH, x, {"men": [1.0]}), r"no parameter at 'men'.*\('mean', 0\)"),
        (lambda x: sf.theory.likelihood(TRUTH, x, component=2, mean=[1.0]), "from 0 to 1; got 2"),
        (lambda x: sf.theory.likelihood(sf.Normal(), x, component=0, mean=[1.0]), "Normal has none"),
        (lambda x: sf.theory.likelihood(TRUTH, x, {("weights", 0): [1.5]}), "from 0 to 1; got"),
        (
            lambda x: sf.theory.likelihood(TRUTH, x, ("mean", 0)),
            r"grid maps parameters .* \{\('mean', 0\): ",
        ),
        (lambda x: sf.theory.likelihood(TRUTH, x), "name at least one parameter"),
        (lambda x: sf.theory.profile(TRUTH, x, "mean", [1.0]), "one number"),
        (lambda x: sf.theory.likelihood(TRUTH, x, mean=[[1.0, 2.0]], weights=np.ones((3, 2))), "those of the rows"),
    ],
)
def test_mistakes_are_named(ask, words):
    with pytest.raises(sf.SufficeError, match=words):
        ask(np.array([4.0, 5.0, 8.0]))


@pytest.mark.parametrize(
    "model", [sf.Uniform(), sf.Laplace(), sf.Weibull(), sf.StudentT(), TRUTH, sf.Product([sf.Normal()])]
)
@pytest.mark.parametrize("ask", ["natural", "log_partition", "mean_statistic", "covariance_statistic"])
def test_models_that_are_no_exponential_families_say_so(model, ask):
    with pytest.raises(sf.UnsupportedError, match="not an exponential family"):
        getattr(model, ask)()


# ---- pictures --------------------------------------------------------------------------------------------------------
def test_the_curve_of_a_mixture_marks_its_estimate(monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.setattr("suffice.plot.likelihoods.MIXTURE_POINTS", 5)
    x = TRUTH.sample(40, random_state=2)
    fit = sf.fit(sf.Mixture(sf.Normal().fix("std"), 2), x, random_state=0)
    ax = sf.plot.likelihood(fit, x, ("weights", 0))
    curve = ax.lines[0].get_xydata()
    top = curve[np.nanargmax(curve[:, 1])]
    np.testing.assert_allclose(top, [fit.params["weights"][0], 0.0], atol=1e-4)
    assert ax.get_xlabel() == "weights[0]"
    with pytest.raises(sf.ParameterError, match="say which"):
        sf.plot.likelihood(fit, x, "mean")


def test_the_surface_has_its_maximum_at_the_estimate():
    pytest.importorskip("matplotlib").use("Agg")
    x = np.array([1.0, 2.0, 4.0, 3.0])
    ax = sf.plot.surface(sf.Normal(), x)
    mark = ax.lines[0].get_xydata()[0]
    np.testing.assert_allclose(mark, [x.mean(), x.std()])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("mean", "std")
    with pytest.raises(sf.ParameterError, match="name the two"):
        sf.plot.surface(sf.StudentT(), x)
    with pytest.raises(sf.UnsupportedError, match="vector"):
        sf.plot.surface(TRUTH, x, "mean", ("weights", 0))


def test_the_bound_touches_the_likelihood_and_lies_below_it():
    pytest.importorskip("matplotlib").use("Agg")
    x = TRUTH.sample(60, random_state=2)
    ax = sf.plot.bound(TRUTH, x, "mean", np.linspace(2, 7, 11), component=0)
    above, below = (line.get_xydata() for line in ax.lines[:2])
    assert (below[:, 1] <= above[:, 1] + 1e-9).all()
    at = int(np.argmin(np.abs(above[:, 0] - 4.0)))
    np.testing.assert_allclose(below[at, 1], above[at, 1], rtol=1e-12)
    with pytest.raises(sf.ParameterError, match="of a mixture"):
        sf.plot.bound(sf.Normal(), x, "mean")
