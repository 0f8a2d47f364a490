"""Bounds, risks and consistency: every formula against its closed form, every experiment with a fixed seed."""

import time

import numpy as np
import pytest
from scipy import stats

import suffice as sf
from suffice import theory


def test_hoeffding_interval_is_the_mean_and_the_half_width():
    x = np.array([1, 0, 0, 1] * 50)
    half = np.sqrt(np.log(2 / 0.1) / (2 * 200))
    np.testing.assert_allclose(theory.hoeffding_interval(x, 0.1), (0.5 - half, 0.5 + half), rtol=1e-14)


def test_hoeffding_interval_keeps_its_width_and_leaves_missing_values_out():
    low, high = theory.hoeffding_interval([0, 0, 1], 0.05)
    half = np.sqrt(np.log(40) / 6)
    np.testing.assert_allclose([low, high - low], [1 / 3 - half, 2 * half], rtol=1e-14)
    assert theory.hoeffding_interval([1.0, np.nan, 0.0] * 40, 0.05) == theory.hoeffding_interval([1, 0] * 40, 0.05)


def test_hoeffding_interval_covers():
    rng = np.random.default_rng(0)
    ends = np.array([theory.hoeffding_interval(rng.random(60) < 0.3, 0.1) for _ in range(2000)])
    covered = np.mean((ends[:, 0] <= 0.3) & (ends[:, 1] >= 0.3))
    assert 0.9 <= covered < 1.0


@pytest.mark.parametrize("width", [0.5, 0.1, 0.01, 0.0333])
@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-6])
def test_hoeffding_sample_size_is_the_least(width, delta):
    size = theory.hoeffding_sample_size(width, delta)

    def half(m):
        return np.sqrt(np.log(2 / delta) / (2 * m))

    assert half(size) <= width
    assert size == 1 or half(size - 1) > width


def test_hoeffding_sample_size_at_an_exact_width():
    for m in (1, 7, 100, 12345):
        assert theory.hoeffding_sample_size(float(np.sqrt(np.log(2 / 0.05) / (2 * m))), 0.05) == m


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: theory.hoeffding_interval([0.5, 3.0]), "value 1 is 3"),
        (lambda: theory.hoeffding_interval([]), "at least one"),
        (lambda: theory.hoeffding_interval([1], delta=0), "delta"),
        (lambda: theory.hoeffding_sample_size(0), "half-width"),
        (lambda: theory.hoeffding_sample_size(0.1, 2), "delta"),
        (lambda: theory.regularised_bernoulli([0.5]), "0 and 1"),
        (lambda: theory.probability_all_zeros(2, 3), "from 0 to 1"),
        (lambda: theory.probability_all_zeros(0.3, -5), "at least 0; got -5"),
        (lambda: theory.risk(sf.Normal(), []), "at least one row"),
        (lambda: theory.entropy("Normal"), "takes a distribution"),
        (lambda: theory.consistency(sf.Bernoulli(0.3), epsilon=0), "epsilon"),
        (lambda: theory.consistency(sf.Bernoulli(0.3), sizes=[0]), "sizes"),
        (lambda: theory.consistency(sf.Bernoulli(0.3), repeats=0.5), "repeats"),
        (lambda: theory.consistency(sf.Bernoulli(0.3).fix("p")), "nothing to estimate"),
        (lambda: theory.consistency(sf.Bernoulli([[0.3], [0.4]])), "single distribution"),
    ],
)
def test_wrong_questions_are_refused(ask, words):
    with pytest.raises(sf.SufficeError) as caught:
        ask()
    assert words in str(caught.value)


def test_probability_of_all_zeros():
    assert theory.probability_all_zeros(0.25, 3) == pytest.approx(0.75**3, rel=1e-15)
    assert theory.probability_all_zeros(1e-12, 10**6) == pytest.approx(np.exp(-1e-6), rel=1e-15)
    assert theory.probability_all_zeros(1.0, 2) == 0.0
    assert theory.probability_all_zeros(1.0, 0) == 1.0


def test_all_zeros_have_infinite_risk_and_the_fit_says_so():
    fit = sf.fit(sf.Bernoulli(), np.zeros(5))
    assert theory.risk(fit, sf.Bernoulli(0.1)) == np.inf
    assert "boundary" in dict(fit.alerts)
    assert "infinite" in dict(fit.alerts)["boundary"]


@pytest.mark.parametrize(("ones", "m"), [(0, 5), (3, 10), (70, 100)])
def test_the_regularised_estimate_and_its_bounds(ones, m):
    x = np.r_[np.ones(ones), np.zeros(m - ones)]
    found = theory.regularised_bernoulli(x, delta=0.1)
    error = (1 + np.sqrt(m * np.log(2 / 0.1) / 2)) / (m + 2)
    np.testing.assert_allclose(found.estimate, (1 + ones) / (m + 2), rtol=1e-15)
    np.testing.assert_allclose(found.error, error, rtol=1e-14)
    np.testing.assert_allclose(found.divergence, error**2 / (found.estimate * (1 - found.estimate)), rtol=1e-14)
    np.testing.assert_allclose(found.risk(0.3), stats.bernoulli(0.3).entropy() + found.divergence, rtol=1e-13)
    assert sf.fit(sf.Bernoulli(), x, prior=sf.Beta(2, 2)).distribution.p == pytest.approx(found.estimate, rel=1e-14)


@pytest.mark.parametrize("p", [0.05, 0.4])
def test_the_bounds_of_the_regularised_estimate_hold(p):
    rng = np.random.default_rng(1)
    misses = 0
    for _ in range(500):
        found = theory.regularised_bernoulli(rng.random(40) < p, delta=0.1)
        loss = theory.risk(sf.Bernoulli(found.estimate), sf.Bernoulli(p))
        within = abs(found.estimate - p) <= found.error
        assert not within or (loss.divergence <= found.divergence and loss <= found.risk(p))
        misses += not within
    assert misses <= 50


def test_empirical_risk_is_the_mean_log_loss():
    x = np.random.default_rng(2).normal(1, 2, 50)
    model = sf.Normal(0.5, 1.5)
    np.testing.assert_allclose(theory.risk(model, x), -stats.norm(0.5, 1.5).logpdf(x).mean(), rtol=1e-13)
    weights = np.arange(50.0)
    expected = -(weights @ stats.norm(0.5, 1.5).logpdf(x)) / weights.sum()
    np.testing.assert_allclose(theory.risk(model, x, weights), expected, rtol=1e-13)


def test_true_risk_is_divergence_plus_entropy():
    truth, model = sf.Normal(1.0, 2.0), sf.Normal(0.0, 1.5)
    loss = theory.risk(model, truth)
    divergence = np.log(1.5 / 2) + (4 + 1) / (2 * 1.5**2) - 0.5
    np.testing.assert_allclose(loss.divergence, divergence, rtol=1e-13)
    np.testing.assert_allclose(loss.entropy, stats.norm(1, 2).entropy(), rtol=1e-13)
    np.testing.assert_allclose(loss, loss.divergence + loss.entropy, rtol=1e-15)
    assert theory.kl(truth, model) == loss.divergence
    assert theory.entropy(truth) == loss.entropy
    drawn = truth.sample(200_000, random_state=0)
    assert abs(theory.risk(model, drawn) - loss) < 0.02


@pytest.mark.parametrize("at", [-3.0, 0.0, 0.7])
def test_the_excess_risk_of_unit_normals_is_half_the_squared_error(at):
    loss = theory.risk(sf.Normal(at, 1.0), sf.Normal(0.2, 1.0))
    np.testing.assert_allclose(loss.divergence, 0.5 * (at - 0.2) ** 2, rtol=1e-12)
    np.testing.assert_allclose(loss - loss.entropy, 0.5 * (at - 0.2) ** 2, rtol=1e-12, atol=1e-15)


TRUTHS = [
    sf.Bernoulli(0.3),
    sf.Normal(1.0, 2.0),
    sf.Exponential(2.0),
    sf.Uniform(0.0, 2.0),
    sf.Beta(2.0, 3.0),
    sf.Gamma(2.0, 1.0),
    sf.Normal([0.0, 5.0], [1.0, 2.0]),
]


@pytest.mark.parametrize("truth", TRUTHS, ids=repr)
def test_estimates_are_consistent(truth):
    table = theory.consistency(truth, sizes=[20, 200, 5000], epsilon=0.2, repeats=100, random_state=7)
    exceeds, errors = table["exceeds"], table["mean_error"]
    assert (np.diff(errors) < 0).all()
    assert (np.diff(exceeds) <= 0).all()
    assert exceeds[0] > 0
    assert exceeds[-1] < 0.05
    assert table["rms_error"][0] >= errors[0]
    assert table.truth_is_best
    assert table.alerts == ()
    if not truth.batch:
        assert (np.diff(table["mean_gap"]) < 0).all()
        assert table["uniform"][-1] <= table["uniform"][0]
        assert table["uniform"][-1] < 0.05


def test_the_error_of_a_mean_is_what_theory_says():
    truth = sf.Normal(0.0, 1.0).fix("std")
    table = theory.consistency(truth, sizes=[100], epsilon=0.1, repeats=4000, random_state=0)
    assert abs(table["exceeds"][0] - 2 * stats.norm.sf(1.0)) < 0.025
    assert abs(table["rms_error"][0] - 0.1) < 0.005


def test_one_repeat_is_the_same_as_a_fit():
    truth = sf.Gamma(2.0, 1.0)
    table = theory.consistency(truth, sizes=[50], repeats=1, random_state=3)
    learned = sf.fit(truth, truth.sample(50, np.random.default_rng(3))).distribution
    error = np.hypot(learned.shape - 2.0, learned.rate - 1.0)
    np.testing.assert_allclose(table["mean_error"][0], error, rtol=1e-8)


def test_the_table_reads_well_and_repeats_from_its_seed():
    one = theory.consistency(sf.Bernoulli(0.3), sizes=[10, 1000], random_state=1)
    two = theory.consistency(sf.Bernoulli(0.3), sizes=[10, 1000], random_state=1)
    assert one.rows == two.rows
    lines = repr(one).splitlines()
    assert lines[0] == "Bernoulli(p=0.3), 200 repeats"
    assert "P(‖θ̂−θ₀‖>0.1)" in lines[1]
    assert lines[3].split()[0] == "1,000"
    assert lines[4] == "θ₀ maximises L(θ) on the grid"


def test_a_grid_of_ones_own():
    grid = [sf.Bernoulli(0.2), sf.Bernoulli(0.6)]
    table = theory.consistency(sf.Bernoulli(0.3), sizes=[50], repeats=20, random_state=0, grid=grid)
    expected = [0.3 * np.log(p) + 0.7 * np.log(1 - p) for p in (0.2, 0.6)]
    np.testing.assert_allclose(table.expected, expected, rtol=1e-12)
    np.testing.assert_allclose(table.best, 0.3 * np.log(0.3) + 0.7 * np.log(0.7), rtol=1e-12)


def test_what_cannot_be_distinguished_is_named():
    class Turned(sf.Normal, register=False):
        """A Normal whose std is not identified: it is not in the density."""

        def log_density(self, x):
            return sf.Normal(self.mean, np.ones_like(np.asarray(self.std))).log_density(x)

        def kl(self, other):
            return sf.Normal(self.mean, 1.0).kl(sf.Normal(other.mean, 1.0))

    table = theory.consistency(Turned(0.0, 2.0), sizes=[20], repeats=10, random_state=0)
    assert table.alerts[0][0] == "not identified"
    assert "same distribution" in table.alerts[0][1]
    assert "! not identified" in repr(table)


def test_parameters_that_only_move_together_are_named():
    class Sum(sf.Normal, register=False):
        """A Normal with the mean mean + std: only their sum is seen."""

        def log_density(self, x):
            total = np.asarray(self.mean) + np.asarray(self.std)
            return sf.Normal(total, np.ones_like(total)).log_density(x)

        def kl(self, other):
            return 0.5 * (self.mean + self.std - other.mean - other.std) ** 2 + 1e-9

    table = theory.consistency(Sum(0.3, 1.0), sizes=[20], repeats=10, random_state=0)
    assert table.alerts[0][0] == "not identified"
    assert table.alerts[0][1].startswith("mean, std can move together")


@pytest.mark.parametrize("p", [0.3, 0.5, 0.2, 0.7])
@pytest.mark.parametrize("epsilon", [0.1, 0.2])
def test_distances_that_equal_epsilon_do_not_exceed_it(p, epsilon):
    sizes = [10, 20, 50, 100]
    table = theory.consistency(sf.Bernoulli(p), sizes=sizes, epsilon=epsilon, repeats=3000, random_state=0)
    for size, found in zip(sizes, table["exceeds"], strict=True):
        k = np.arange(size + 1)
        exact = stats.binom.pmf(k, size, p)[np.abs(10 * k - round(10 * p) * size) > round(10 * epsilon) * size].sum()
        assert abs(found - exact) < 4 * np.sqrt(exact * (1 - exact) / 3000) + 1e-9, (size, found, exact)


def test_time_grows_with_the_number_of_repeats_and_not_with_its_cube():
    def seconds(repeats):
        begin = time.process_time()
        theory.consistency(sf.Bernoulli(0.3), sizes=[50], repeats=repeats, random_state=0)
        return time.process_time() - begin

    seconds(200)
    assert seconds(3200) < 40 * max(seconds(200), 0.01)  # 16 times the work


VECTORS = [
    sf.Categorical(("a", "b", "c"), [0.2, 0.3, 0.5]),
    sf.Normal([0.0, 1.0], [1.0, 2.0]),
    sf.MultivariateNormal([0.0, 1.0], [[1.0, 0.3], [0.3, 2.0]]),
    sf.Dirichlet([1.0, 2.0, 3.0]),
    sf.Product({"a": sf.Normal(0.0, 1.0), "b": sf.Poisson(2.0), "c": sf.Categorical(("x", "y"), [0.4, 0.6])}),
    sf.Normal(0.0, 1.0).tie("std"),
]


@pytest.mark.parametrize("truth", VECTORS, ids=repr)
def test_the_uniform_law_holds_for_vectors_and_products(truth):
    table = theory.consistency(truth, sizes=[50, 5000], epsilon=0.25, repeats=30, random_state=0)
    assert table["mean_error"][1] < 0.25 * table["mean_error"][0]
    assert table["mean_gap"][1] < 0.25 * table["mean_gap"][0]
    assert table["uniform"][0] > 0
    assert table["uniform"][1] == 0.0
    assert table.truth_is_best
    assert table.alerts == ()


def test_the_uniform_law_of_a_mixture_of_vectors_uses_draws():
    truth = sf.Mixture([sf.MultivariateNormal([0.0, 0.0], np.eye(2)), sf.MultivariateNormal([6.0, 6.0], np.eye(2))])
    table = theory.consistency(truth, sizes=[40, 1000], epsilon=0.5, repeats=3, random_state=0)
    assert table["mean_gap"][1] < 0.5 * table["mean_gap"][0]
    assert table.truth_is_best


EQUAL = sf.Mixture([sf.Normal(0, 1), sf.Normal(0, 1)])
DOUBLED = sf.ExponentialFamily(
    lambda x: [x, x],
    lambda x: np.exp(-x * x / 2) / np.sqrt(2 * np.pi),
    lambda eta: (eta[0] + eta[1]) ** 2 / 2,
    start=[0.1, 0.2],
)


@pytest.mark.parametrize(
    ("truth", "words"),
    [
        (EQUAL, "components 0 and 1 are equal"),
        (sf.Mixture([sf.Normal(0, 1), sf.Normal(5, 1)], weights=[1.0, 0.0]), "component 1 has weight 0"),
        (DOUBLED, "eta[0], eta[1] can move together"),
        (sf.Product([DOUBLED, sf.Poisson(2.0)]), "eta[0]"),
    ],
    ids=["equal", "empty", "doubled", "block"],
)
def test_models_that_are_not_identified_are_named(truth, words):
    table = theory.consistency(truth, sizes=[30], repeats=2, random_state=0)
    assert table.alerts[0][0] == "not identified"
    assert words in table.alerts[0][1]


def test_a_fit_with_dependent_statistics_ends_and_says_so():
    x = np.array([0.5, 1.0, 2.5])
    fit = sf.fit(DOUBLED, x)
    np.testing.assert_allclose(fit.distribution.eta.sum(), x.mean(), rtol=1e-6)
    assert "not identified" in dict(fit.alerts)


def test_families_that_iterate_are_consistent_too():
    table = theory.consistency(sf.Laplace(0.0, 1.0), sizes=[50, 2000], epsilon=0.2, repeats=30, random_state=0)
    assert table["exceeds"][0] > 0.1
    assert table["exceeds"][1] == 0.0
