"""The likelihood as a function of the parameter: its values, its profile, its intervals, its pictures."""

import builtins

import numpy as np
import pytest
from scipy import stats

import suffice as sf
from suffice import theory

X = np.random.default_rng(0).normal(3.0, 2.0, 15)
HALF = stats.chi2(1).ppf(0.95) / 2


def test_values_on_a_grid():
    p = np.linspace(0.05, 0.95, 7)
    found = theory.likelihood(sf.Bernoulli(), [1, 0, 1, 1], p=p)
    np.testing.assert_allclose(found, 3 * np.log(p) + np.log1p(-p), rtol=1e-13)


def test_two_parameters_make_two_axes_in_the_order_given():
    mean, std = np.array([0.0, 3.0, 4.0]), np.array([1.0, 2.5])
    expected = np.array([[stats.norm(m, s).logpdf(X).sum() for m in mean] for s in std])
    np.testing.assert_allclose(theory.likelihood(sf.Normal(), X, std=std, mean=mean), expected, rtol=1e-12)
    weights = np.arange(1.0, 16.0)
    expected = [weights @ stats.norm(m, 2.0).logpdf(X) for m in mean]
    np.testing.assert_allclose(theory.likelihood(sf.Normal(0, 2), X, weights=weights, mean=mean), expected, rtol=1e-12)


def test_more_candidates_than_one_batch_holds():
    p = np.linspace(0.01, 0.99, 20_000)
    found = theory.likelihood(sf.Bernoulli(), [1, 0, 0], p=p)
    assert abs(p[int(np.argmax(found))] - 1 / 3) < 1e-4
    np.testing.assert_allclose(found[-1], np.log(0.99) + 2 * np.log(0.01), rtol=1e-12)


def test_the_grid_peaks_at_the_estimate():
    fit = sf.fit(sf.Normal(), X)
    mean = fit.distribution.mean + np.linspace(-1, 1, 21)
    found = theory.likelihood(fit.distribution, X, mean=mean)
    assert int(np.argmax(found)) == 10
    np.testing.assert_allclose(found[10], fit.log_likelihood, rtol=1e-12)


def test_the_profile_of_a_mean():
    grid = np.linspace(1, 5, 9)
    scatter = np.array([np.square(X - m).mean() for m in grid])
    expected = -len(X) / 2 * (np.log(2 * np.pi * scatter) + 1)
    np.testing.assert_allclose(theory.profile(sf.Normal(), X, "mean", grid), expected, rtol=1e-12)


def test_the_profile_of_a_standard_deviation():
    grid = np.array([0.5, 1.5, 4.0])
    expected = [stats.norm(X.mean(), s).logpdf(X).sum() for s in grid]
    np.testing.assert_allclose(theory.profile(sf.Normal(), X, "std", grid), expected, rtol=1e-12)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_the_interval_of_a_normal_mean(level):
    var = np.square(X - X.mean()).mean()
    reach = np.sqrt(var * np.expm1(stats.chi2(1).ppf(level) / len(X)))
    found = theory.likelihood_interval(sf.Normal(), X, "mean", level)
    np.testing.assert_allclose(found, (X.mean() - reach, X.mean() + reach), rtol=1e-11)


def test_the_interval_of_a_normal_mean_with_known_std():
    reach = 2.0 * np.sqrt(2 * HALF / len(X))
    found = theory.likelihood_interval(sf.Normal(std=2.0).fix("std"), X, "mean")
    np.testing.assert_allclose(found, (X.mean() - reach, X.mean() + reach), rtol=1e-12)


def test_the_ends_of_an_interval_lie_at_the_cut():
    height = sf.fit(sf.Gamma(), np.exp(X / 4)).log_likelihood
    for name in ("shape", "rate"):
        ends = theory.likelihood_interval(sf.Gamma(), np.exp(X / 4), name)
        np.testing.assert_allclose(theory.profile(sf.Gamma(), np.exp(X / 4), name, ends), height - HALF, rtol=1e-10)


def test_on_the_boundary_the_interval_has_one_free_end():
    low, high = theory.likelihood_interval(sf.Bernoulli(), np.zeros(10), "p")
    assert low == 0.0
    np.testing.assert_allclose(high, 1 - np.exp(-HALF / 10), rtol=1e-12)
    low, high = theory.likelihood_interval(sf.Bernoulli(), np.ones(10), "p")
    assert high == 1.0
    np.testing.assert_allclose(low, np.exp(-HALF / 10), rtol=1e-12)


def test_a_uniform_interval_begins_at_the_largest_value():
    low, high = theory.likelihood_interval(sf.Uniform(low=0).fix("low"), [1.0, 3.0, 2.0], "high")
    np.testing.assert_allclose(low, 3.0, rtol=1e-12)
    np.testing.assert_allclose(high, 3.0 * np.exp(HALF / 3), rtol=1e-12)


def test_intervals_cover():
    rng = np.random.default_rng(4)
    ends = np.array(
        [theory.likelihood_interval(sf.Exponential(), rng.exponential(0.5, 40), "rate") for _ in range(600)]
    )
    assert 0.925 <= np.mean((ends[:, 0] < 2.0) & (ends[:, 1] > 2.0)) <= 0.975


def test_weights_are_repetitions():
    grid = [0.2, 0.6]
    np.testing.assert_allclose(
        theory.profile(sf.Bernoulli(), [1, 0], "p", grid, weights=[3, 2]),
        theory.profile(sf.Bernoulli(), [1, 1, 1, 0, 0], "p", grid),
        rtol=1e-14,
    )
    assert theory.likelihood_interval(sf.Bernoulli(), [1, 0], "p", weights=[3, 2]) == pytest.approx(
        theory.likelihood_interval(sf.Bernoulli(), [1, 1, 1, 0, 0], "p"), rel=1e-12
    )


def test_on_a_simplex_the_maximum_has_counts_over_shares_all_equal():
    data = list("aabbbccccc")
    fit = sf.fit(sf.Categorical(), data)
    counts = np.array([2.0, 3.0, 5.0])
    shares = np.asarray(fit.distribution.probs).ravel()
    np.testing.assert_allclose(counts / shares, counts.sum(), rtol=1e-12)
    grid = np.random.default_rng(0).dirichlet(np.ones(3), 500)
    found = theory.likelihood(fit.distribution, data, probs=grid)
    np.testing.assert_allclose(found, np.log(grid) @ counts, rtol=1e-11)
    assert (found <= fit.log_likelihood).all()


def test_families_without_statistics_pass_over_the_rows():
    loc = np.array([2.0, 3.0, 4.5])
    found = theory.likelihood(sf.StudentT(df=4.0, scale=2.0), X, loc=loc)
    np.testing.assert_allclose(found, [stats.t(4, m, 2).logpdf(X).sum() for m in loc], rtol=1e-12)
    prototype = sf.StudentT(df=4.0).fix("df")
    height = sf.fit(prototype, X).log_likelihood
    ends = theory.likelihood_interval(prototype, X, "loc")
    np.testing.assert_allclose(theory.profile(prototype, X, "loc", ends), height - HALF, rtol=1e-8)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: theory.likelihood(sf.Bernoulli(), [1]), "name at least one parameter"),
        (lambda: theory.likelihood(sf.Bernoulli(), [1], q=[0.5]), "no parameter 'q'"),
        (lambda: theory.likelihood(sf.Bernoulli(), [1], p=[]), "at least one"),
        (lambda: theory.likelihood(sf.Bernoulli(), [1], p=0.5), "list of its values"),
        (lambda: theory.likelihood(sf.Bernoulli(), [1], p=[1.5]), "from 0 to 1"),
        (lambda: theory.likelihood(sf.Bernoulli(), [], p=[0.5]), "at least one row"),
        (lambda: theory.likelihood(sf.Bernoulli([[0.1], [0.2]]), [1], p=[0.5]), "single distribution"),
        (lambda: theory.profile(sf.Normal(std=1).fix("std"), [1.0], "std", [1.0]), "is fixed"),
        (lambda: theory.profile(sf.Normal(), np.ones((3, 2)), "std", [1.0]), "one column"),
        (lambda: theory.profile(sf.Normal(), [1.0, 2.0], "std", [-1.0]), "above 0"),
        (lambda: theory.likelihood_interval(sf.Bernoulli(), [1, 0], "p", 0.0), "level"),
    ],
)
def test_wrong_questions_are_refused(ask, words):
    with pytest.raises(sf.SufficeError) as caught:
        ask()
    assert words in str(caught.value)


# ---- pictures -------------------------------------------------------------------------------------------------------
@pytest.fixture
def ax():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def test_the_curve_marks_estimate_and_interval(ax):
    assert sf.plot.likelihood(sf.Bernoulli(), [1, 0, 1, 1], ax=ax) is ax
    curve, cut, *ends, best = ax.lines
    assert best.get_xdata()[0] == 0.75
    low, high = theory.likelihood_interval(sf.Bernoulli(), [1, 0, 1, 1], "p")
    assert [line.get_xdata()[0] for line in ends] == [low, high]
    np.testing.assert_allclose(cut.get_ydata()[0], -HALF, rtol=1e-12)
    x, y = curve.get_data()
    inside = np.isfinite(y)
    height = sf.fit(sf.Bernoulli(), [1, 0, 1, 1]).log_likelihood
    np.testing.assert_allclose(y[inside], 3 * np.log(x[inside]) + np.log1p(-x[inside]) - height, atol=1e-12)
    assert ax.get_xlabel() == "p"


def test_the_curve_of_one_of_several_parameters_is_its_profile(ax):
    sf.plot.likelihood(sf.Normal(), X, "std", ax=ax)
    assert "profile" in ax.get_title(loc="left")
    with pytest.raises(sf.ParameterError, match="say which one"):
        sf.plot.likelihood(sf.Normal(), X)


def test_the_picture_of_a_belief_shows_prior_posterior_and_interval(ax):
    post = sf.posterior(sf.Bernoulli(), [1, 0, 1, 1], prior=sf.Beta(2, 2))
    assert sf.plot.posterior(post, ax=ax) is ax
    prior, curve, mean = ax.lines
    np.testing.assert_allclose(prior.get_ydata(), stats.beta(2, 2).pdf(prior.get_xdata()), rtol=1e-10)
    np.testing.assert_allclose(curve.get_ydata(), stats.beta(5, 3).pdf(curve.get_xdata()), rtol=1e-10)
    assert mean.get_xdata()[0] == pytest.approx(5 / 8)
    shaded = ax.collections[0].get_paths()[0].vertices[:, 0]
    np.testing.assert_allclose([shaded.min(), shaded.max()], post.interval(), atol=2e-3)
    assert ax.get_xlim() == (0.0, 1.0)


def test_the_picture_of_a_density_normalises_its_prior(ax):
    post = sf.posterior(sf.Bernoulli(), [1, 0, 1, 1], prior=lambda p: np.where(p > 0.5, 16.0, 4.0))
    sf.plot.posterior(post, ax=ax)
    heights = np.unique(ax.lines[0].get_ydata().round(9))
    np.testing.assert_allclose(heights, [0.4, 1.6], rtol=1e-8)


def test_one_of_several_parameters_is_drawn_by_itself(ax):
    post = sf.posterior(sf.Normal(), X, prior=lambda m, s: stats.norm.pdf(m, 0, 9) * stats.gamma.pdf(s, 3))
    sf.plot.posterior(post, "std", ax=ax)
    x, y = ax.lines[0].get_data()
    np.testing.assert_allclose(np.trapezoid(y, x), 1.0, atol=2e-3)
    with pytest.raises(sf.ParameterError, match="speaks of mean, std"):
        sf.plot.posterior(post, "rate", ax=ax)


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    real = builtins.__import__

    def refuse(name, *rest, **options):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"suffice\[plot\]"):
        sf.plot.likelihood(sf.Bernoulli(), [1, 0])


def test_a_held_size_is_profiled_with_statistics_of_its_own():
    x = [1, 2, 9, 0, 3]
    heights = sf.theory.profile(sf.NegativeBinomial(), x, "size", [1.0, 3.0])
    for size, height in zip((1.0, 3.0), heights, strict=True):
        best = sf.fit(sf.NegativeBinomial(size=size).fix("size"), x).distribution
        np.testing.assert_allclose(height, best.log_prob(x).sum(), rtol=1e-12)


def test_a_bound_that_excludes_a_row_has_no_likelihood():
    x = [1.0, 2.0, 4.0]
    heights = sf.theory.profile(sf.Uniform(), x, "high", [3.0, 4.0, 5.0])
    np.testing.assert_allclose(heights, [-np.inf, -3 * np.log(3), -3 * np.log(4)])
    low, high = sf.theory.likelihood_interval(sf.Uniform(), x, "high")
    np.testing.assert_allclose(low, 4.0)
    np.testing.assert_allclose(high, 1 + 3 * np.exp(1.920729410347062 / 3), rtol=1e-9)


def test_the_interval_of_an_angle_is_one_of_angles():
    x = sf.VonMises(3.0, 2.0).sample(50, random_state=0)
    low, high = sf.theory.likelihood_interval(sf.VonMises(), x, "loc")
    best = sf.fit(sf.VonMises(), x).distribution.loc
    assert best - 0.6 < low < best - 0.1
    assert best + 0.1 < high < best + 0.6
    height = sf.theory.profile(sf.VonMises(), x, "loc", [best, high])
    np.testing.assert_allclose(height[0] - height[1], 1.920729410347062, rtol=1e-6)


def test_blocks_and_weights_of_components_are_refused_with_a_remedy():
    both = sf.Product([sf.Normal(), sf.Poisson()])
    x = np.array([[1.0, 2.0], [2.0, 3.0]])
    for ask in (
        lambda: sf.theory.likelihood(both, x, mean=[1.0]),
        lambda: sf.theory.profile(both, x, "mean", [1.0]),
    ):
        with pytest.raises(sf.UnsupportedError, match="ask each of its blocks"):
            ask()
    with pytest.raises(sf.DataError, match="one weight for each row"):
        sf.theory.risk(sf.Normal(), [1.0, 2.0], weights=np.ones((2, 2)))


# ---- one probability among several ----------------------------------------------------------------------------------
def test_the_profile_of_a_level_has_the_others_in_proportion_to_their_counts():
    rows, model = list("aabbbcd"), sf.Categorical(list("abcd"))
    v = np.array([0.1, 2 / 7, 0.6])
    exact = 2 * np.log(v) + 3 * np.log((1 - v) * 3 / 5) + 2 * np.log((1 - v) / 5)
    np.testing.assert_allclose(sf.theory.profile(model, rows, ("probs", 0), v), exact, rtol=1e-12)
    assert sf.theory.profile(model, rows, ("probs", 0), [2 / 7])[0] == pytest.approx(sf.fit(model, rows).log_likelihood)


def test_the_interval_of_a_level_is_that_of_this_level_against_all_others():
    rows = list("aabbbcd")
    binary = sf.theory.likelihood_interval(sf.Bernoulli(), [one == "a" for one in rows], "p")
    assert sf.theory.likelihood_interval(sf.Categorical(list("abcd")), rows, ("probs", 0)) == pytest.approx(binary)
    assert sf.theory.likelihood_interval(sf.Multinomial(), [[2, 3, 2]], ("probs", 0)) == pytest.approx(binary)
    always = sf.theory.likelihood_interval(sf.Categorical(list("ab")), list("aaa"), ("probs", 0))
    assert always == pytest.approx(sf.theory.likelihood_interval(sf.Bernoulli(), [1, 1, 1], "p"))


def test_the_curve_of_a_level_is_drawn_as_a_profile(ax):
    sf.plot.likelihood(sf.Categorical(list("abc")), list("aabc"), ("probs", 0), ax=ax)
    x, y = ax.lines[0].get_data()
    inside = np.isfinite(y)
    np.testing.assert_allclose(y[inside], 2 * np.log(2 * x[inside]) + 2 * np.log(2 * (1 - x[inside])), atol=1e-10)
    assert "profile" in ax.get_title(loc="left")
    with pytest.raises(sf.ParameterError, match="no parameter at"):
        sf.theory.profile(sf.Categorical(list("abc")), list("aabc"), ("probs", 7), [0.5])
