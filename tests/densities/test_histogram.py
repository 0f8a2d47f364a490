"""Histograms: NumPy's bins, Knuth's and Scargle's posteriors, and their answers as distributions."""

import numpy as np
import pytest
from scipy.special import gammaln

import suffice as sf
from suffice.densities.bandwidth import Points
from suffice.densities.bins import counts, edges_of, knuth_log_posterior


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(0).gamma(2.0, 1.0, 700)


@pytest.mark.parametrize("rule", ["fd", "scott", "sturges", 13])
def test_even_bins_are_those_of_numpy(x, rule):
    model = sf.fit(sf.Histogram(rule), x).distribution
    count, edges = np.histogram(x, bins=rule)
    assert model.bars[0] == pytest.approx(edges, rel=1e-12)
    assert model.bars[1] * len(x) == pytest.approx(count, abs=1e-9)


def test_density_integrates_to_one_and_to_the_cdf(x):
    model = sf.fit(sf.Histogram("blocks"), x).distribution
    edges, probs = model.bars
    middle = (edges[1:] + edges[:-1]) / 2
    assert np.exp(model.log_prob(middle)) @ np.diff(edges) == pytest.approx(1.0)
    assert model.cdf(edges) == pytest.approx(np.concatenate([[0], np.cumsum(probs)]))
    assert model.log_prob([edges[0] - 1e-9, edges[-1] + 1e-9]).tolist() == [-np.inf, -np.inf]
    assert np.isfinite(model.log_prob(edges[-1]))


def test_quantile_is_the_smallest_value_that_reaches_the_level():
    model = sf.fit(sf.Histogram([0.0, 1.0, 2.0, 3.0]), [0.5, 0.7, 2.5, 2.6]).distribution
    assert model.quantile([0.0, 0.25, 0.5, 0.75, 1.0]) == pytest.approx([0.0, 0.5, 1.0, 2.5, 3.0])


def test_moments_and_entropy_are_those_of_draws(x):
    model = sf.fit(sf.Histogram(), x).distribution
    drawn = model.sample(200_000, 1)
    assert model.mean == pytest.approx(drawn.mean(), abs=5 * drawn.std() / np.sqrt(len(drawn)))
    assert model.var == pytest.approx(drawn.var(), rel=0.03)
    scores = -model.log_prob(drawn)
    assert model.entropy() == pytest.approx(scores.mean(), abs=5 * scores.std() / np.sqrt(len(drawn)))


def test_knuths_posterior_is_its_formula_and_its_bins_are_most_probable(x):
    def formula(m):
        count = np.histogram(x, m)[0]
        n = len(x)
        return (
            n * np.log(m)
            + gammaln(m / 2)
            - m * gammaln(0.5)
            - gammaln(n + m / 2)
            + sum(gammaln(one + 0.5) for one in count)
        )

    assert knuth_log_posterior(np.histogram(x, 9)[0].astype(float)) == pytest.approx(formula(9), rel=1e-12)
    best = max(range(1, 80), key=formula)
    assert len(sf.fit(sf.Histogram("knuth"), x).distribution.bars[1]) == best


def test_blocks_find_the_steps_of_a_step_function():
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.uniform(0, 1, 300), rng.uniform(1, 2, 2000), rng.uniform(2, 5, 300)])
    inner = sf.fit(sf.Histogram("blocks"), x).distribution.bars[0][1:-1]
    assert len(inner) == 2
    assert inner == pytest.approx([1.0, 2.0], abs=0.02)


def test_blocks_are_the_best_partition_of_few_values():
    x = np.array([0.0, 0.1, 0.15, 2.0, 2.9, 3.0, 3.05, 3.1])
    found = edges_of(Points.of(x), "blocks")
    ends = np.concatenate([x[:1], (x[1:] + x[:-1]) / 2, x[-1:]])
    cost = 4 - np.log(73.53 * 0.05 * len(x) ** -0.478)

    def fitness(edges):
        count = counts(Points.of(x), edges)
        filled = count > 0
        return np.sum(count[filled] * np.log(count[filled] / np.diff(edges)[filled])) - cost * len(count)

    every = [
        np.concatenate([ends[:1], ends[1:-1][[bool(code >> j & 1) for j in range(7)]], ends[-1:]])
        for code in range(2**7)
    ]
    assert fitness(found) == pytest.approx(max(map(fitness, every)))


def test_weight_is_repetition_and_parts_merge(x):
    weights = np.random.default_rng(3).integers(0, 4, len(x))
    for prototype in (sf.Histogram("knuth"), sf.Histogram(np.linspace(0, 20, 12))):
        weighted, repeated = sf.fit(prototype, x, weights=weights), sf.fit(prototype, np.repeat(x, weights))
        assert weighted.distribution == repeated.distribution
        assert (
            sf.merge(sf.fit(prototype, x[:99]), sf.fit(prototype, x[99:])).distribution
            == sf.fit(prototype, x).distribution
        )


def test_fixed_edges_keep_counts_alone(x):
    prototype = sf.Histogram([0.0, 2.0, 20.0])
    stats = prototype.suffstats(x)
    assert stats.mass.tolist() == [[(x < 2).sum(), (x >= 2).sum()]]
    assert stats - prototype.suffstats(x[:100]) == prototype.suffstats(x[100:])
    with pytest.raises(sf.DataError, match="different bins"):
        stats + sf.Histogram([0.0, 3.0, 20.0]).suffstats(x)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_scale_of_the_data_does_not_matter(x, unit):
    one, other = (sf.fit(sf.Histogram("knuth"), values).distribution for values in (x, x * unit))
    assert other.log_prob(x[:50] * unit) == pytest.approx(one.log_prob(x[:50]) - np.log(unit), rel=1e-9)


def test_classes_of_different_bins_stand_in_one_stack(x):
    y = (x > 2).astype(int)
    model = sf.BayesClassifier(sf.Histogram()).fit(x[:, None], y)
    for label in (0, 1):
        alone = sf.fit(sf.Histogram(), x[y == label]).distribution
        assert (
            model.distribution_.components.unstacked[label].log_prob(x[:30]).tolist() == alone.log_prob(x[:30]).tolist()
        )


def test_constant_values_are_told():
    fit = sf.fit(sf.Histogram(), [2.0, 2.0])
    assert [alert.code for alert in fit.alerts] == ["collapsed"]
    assert fit.distribution.cdf([1.0, 3.0]).tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda: sf.Histogram("best"), "bins is one of fd"),
        (lambda: sf.Histogram(0), "at least 1"),
        (lambda: sf.Histogram([1.0, 1.0]), "ascending"),
        (lambda: sf.fit(sf.Histogram([0.0, 1.0]), [0.5, 1.5]), "the data have 1.5"),
        (lambda: sf.fit(sf.Histogram(), [[1.0, 2.0], [2.0, 3.0]]), "describes 1 column|describes one column"),
    ],
)
def test_what_cannot_be_is_refused(make, rule):
    with pytest.raises((sf.DataError, sf.ParameterError), match=rule):
        make()
