"""A label that no fit has seen: the prior's mass, or nothing at all with a warning, and never an IndexError."""

import pickle
import warnings

import numpy as np
import pytest

import suffice as sf

RNG = np.random.default_rng(3)
WORDS = list("abbcabbcca")
UNKNOWN = ["z", 7, 2.5, True, np.datetime64("2024-01-01")]


@pytest.mark.parametrize("alpha", [1.5, 2.0, 5.0])
@pytest.mark.parametrize("unknown", UNKNOWN, ids=repr)
def test_it_costs_what_a_declared_level_without_rows_costs(alpha, unknown):
    prior, n = sf.Dirichlet([alpha]), len(WORDS)
    declared = sf.fit(sf.Categorical(["a", "b", "c", "d"]), WORDS, prior=prior)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert declared.log_prob([unknown])[0] == pytest.approx(declared.log_prob(["d"])[0], rel=1e-14)
    learned = sf.fit(sf.Categorical(), WORDS, prior=prior)
    assert np.exp(learned.log_prob(["z", None])) == pytest.approx([(alpha - 1) / (n + (alpha - 1) * 3), 1.0])


def test_a_predictive_knows_it_too_and_posteriors_in_a_row_keep_it():
    whole = sf.posterior(sf.Categorical(list("abcd")), WORDS, prior=sf.Dirichlet([0.5]))
    p = whole.predictive()
    assert p.log_prob("z") == pytest.approx(p.log_prob("d"), rel=1e-14)
    first = sf.posterior(sf.Categorical(list("abcd")), WORDS[:4], prior=sf.Dirichlet([0.5]))
    second = sf.posterior(sf.Categorical(list("abcd")), WORDS[4:], prior=first)
    assert second.predictive().unseen == pytest.approx(p.unseen, rel=1e-14)
    assert second.estimate().unseen is None  # 0.5 − 1 is no pseudo-row: nothing is left for it


@pytest.mark.parametrize("prior", [None, sf.Dirichlet([1.0]), sf.Dirichlet([0.5])])
def test_without_pseudo_rows_the_cell_is_left_out(prior):
    fit = sf.fit(sf.Categorical(), WORDS, prior=prior)
    with pytest.warns(sf.SufficeWarning, match="row 1 has 'z'"):
        assert fit.log_prob(["a", "z"])[1] == 0


def test_of_unequal_concentrations_the_smallest_counts():
    fit = sf.fit(sf.Categorical(), ["a", "b", "b"], prior=sf.Dirichlet([4.0, 2.0]))
    assert fit.distribution.unseen == pytest.approx(1 / (3 + 3 + 1))


def test_maximum_likelihood_forgets_it():
    learned = sf.fit(sf.Categorical(), WORDS, prior="weak").distribution
    assert learned.unseen > 0
    assert sf.fit(learned, WORDS).distribution.unseen is None


def test_in_products_and_blocks():
    data = {"u": list("aabb"), "v": list("xyzz"), "w": [1.0, 2.0, 3.0, 5.0]}
    for prototype in (
        sf.Product({"u": sf.Categorical(), "v": sf.Categorical(), "w": sf.Normal()}),
        sf.Product({("u", "v"): sf.Categorical(), "w": sf.Normal()}),
    ):
        fit = sf.fit(prototype, data, prior={"u": sf.Dirichlet([2.0]), "v": sf.Dirichlet([3.0])})
        rows = {"u": ["?", "a", "?"], "v": ["?", "?", None], "w": [None, None, None]}
        u, v, known = 1 / (4 + 2), 2 / (4 + 2 * 3), 3 / 6
        assert np.exp(fit.log_prob(rows)) == pytest.approx([u * v, known * v, u])
        assert fit.log_prob({"u": "?", "v": "?", "w": None}) == pytest.approx(np.log(u * v))
        again = pickle.loads(pickle.dumps(fit))  # noqa: S301 (our own)
        np.testing.assert_array_equal(again.log_prob(rows), fit.log_prob(rows))


def test_each_component_has_its_own():
    codes = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1])
    prototype = sf.Categorical(list("abc"))
    stack = prototype.estimate(prototype.suffstats(WORDS, sf.OneHot(codes, 2)), sf.Dirichlet([2.0]))
    expected = [1 / (6 + 3), 1 / (4 + 3)]
    assert np.exp(stack.log_prob(["z"])[0]) == pytest.approx(expected)
    for one, cost in zip(stack.unstacked, expected, strict=True):
        assert np.exp(one.log_prob(["z"])) == pytest.approx([cost])
    mixed = sf.Mixture(list(stack.unstacked), weights=[0.25, 0.75])
    assert mixed.predict_proba(["z"])[0] == pytest.approx(
        np.array([0.25, 0.75]) * expected / np.dot([0.25, 0.75], expected)
    )
    beside = sf.Stack([sf.fit(sf.Categorical(), WORDS, prior="weak").distribution, sf.Categorical(list("abcz"))])
    assert np.exp(beside.log_prob(["z"])[0]) == pytest.approx([1 / 33, 0.25])


def test_in_mixtures_under_a_prior():
    data = {"u": RNG.choice(list("abc"), 60), "w": RNG.normal(size=60)}
    fit = sf.fit(
        sf.Mixture(sf.Product({"u": sf.Categorical(), "w": sf.Normal()}), 2), data, prior="weak", random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = fit.log_prob({"u": ["z"], "w": [None]})
        fit.predict_proba({"u": ["z"], "w": [0.3]})
    counts = fit.statistics.count
    assert np.exp(scores[0]) == pytest.approx(np.dot(fit.weights, 1 / 3 / (counts + 1)), rel=1e-6)
    ordinary = sf.fit(sf.Mixture(sf.Categorical(), 2), WORDS, random_state=0)
    with pytest.warns(sf.SufficeWarning, match="'z'"):
        assert ordinary.predict_proba(["z"])[0] == pytest.approx(ordinary.weights)


def test_components_that_differ_in_it_alone_are_distinguished_by_nothing():
    data = {"u": list("abababcc"), "w": [5.0, 5.1, 4.9, 5.2, 4.8, 1.0, 1.1, 0.9]}
    fit = sf.fit(
        sf.Mixture(sf.Product({"u": sf.Categorical(), "w": sf.Normal()}), 2), data, prior="weak", random_state=0
    )
    first, second = (one.blocks for one in fit.distribution.parts)
    assert first["u"].unseen > second["u"].unseen  # fewer rows
    assert first["w"].mean < second["w"].mean  # in canonical order


@pytest.mark.parametrize("prior", [None, "weak"])
@pytest.mark.filterwarnings("ignore::suffice.SufficeWarning")
def test_columns_of_nothing_but_news(prior):
    fit = sf.fit(sf.Product({("u", "v"): sf.Categorical()}), {"u": list("aab"), "v": [1, 2, 2]}, prior=prior)
    for rows in (
        {"u": ["x", "y"], "v": [8, 9]},
        {"u": [1.5, 2.5], "v": ["p", None]},
        {"u": [None, None], "v": [True, False]},
    ):
        scores = fit.log_prob(rows)
        assert np.isfinite(scores).all()
        assert scores.shape == (2,)
