"""Hidden Markov models: sums over all paths, and laws of fitting."""

from itertools import pairwise, product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import suffice as sf

RNG = np.random.default_rng(0)
NUMBERS = np.array([0.3, np.nan, 2.5, -0.4, 3.1, np.nan, 0.9])
PAIRS = np.stack([NUMBERS, np.roll(NUMBERS, 2)], axis=1)
COUNTS = np.array([1.0, 0.0, 5.0, np.nan, 7.0, 2.0, 4.0])
LABELS = ["a", "b", None, "b", "a", "c", "a"]
FRAME = {"x": NUMBERS, "c": np.array(LABELS, dtype=object)}


def _categorical(probs):
    return sf.Categorical(["a", "b", "c"], probs)


KINDS = {
    "normal": ([sf.Normal(0, 1), sf.Normal(2, 0.5), sf.Normal(1, 3)], NUMBERS),
    "poisson": ([sf.Poisson(1.0), sf.Poisson(4.0), sf.Poisson(8.0)], COUNTS),
    "labels": ([_categorical([0.6, 0.3, 0.1]), _categorical([0.1, 0.5, 0.4]), _categorical([0.3, 0.3, 0.4])], LABELS),
    "multivariate": (
        [sf.MultivariateNormal([0.0, m], [[1.0, c], [c, 2.0]]) for m, c in ((0.0, 0.3), (2.0, -0.5), (1.0, 0.0))],
        PAIRS,
    ),
    "unlike": ([sf.Normal(0, 1), sf.Laplace(2, 1), sf.StudentT(4, 1, 1)], NUMBERS),
    "mixture": ([sf.Mixture([sf.Normal(m, 1), sf.Normal(m + 3, 2)]) for m in (0, 1, 2)], NUMBERS),
    "columns": (
        [
            sf.Product({"x": sf.Normal(m, 1), "c": _categorical(p)})
            for m, p in ((0, [0.6, 0.3, 0.1]), (2, [0.1, 0.5, 0.4]), (1, [0.3, 0.3, 0.4]))
        ],
        FRAME,
    ),
}
CHAINS = {
    "free": (np.array([0.5, 0.3, 0.2]), np.array([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.1, 0.8]])),
    "left to right": (np.array([1.0, 0.0, 0.0]), np.array([[0.6, 0.4, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])),
}


def _rows(x, start, stop):
    return {name: column[start:stop] for name, column in x.items()} if isinstance(x, dict) else x[start:stop]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("chain", CHAINS)
def test_answers_are_sums_over_all_paths(kind, chain):
    emissions, x = KINDS[kind]
    initial, transitions = CHAINS[chain]
    model = sf.HiddenMarkov(emissions, initial=initial, transitions=transitions)
    scores = np.stack([one.log_prob(x) for one in emissions], axis=1)
    n, total, shares, moves, best = len(scores), 0.0, np.zeros(scores.shape), np.zeros((3, 3)), (0.0, None)
    for path in product(range(3), repeat=n):
        p = initial[path[0]] * np.exp(sum(scores[t, s] for t, s in enumerate(path)))
        p *= np.prod([transitions[a, b] for a, b in pairwise(path)])
        total, best = total + p, max(best, (p, path), key=lambda one: one[0])
        for t, s in enumerate(path):
            shares[t, s] += p
        for a, b in pairwise(path):
            moves[a, b] += p
    assert model.log_prob(x) == pytest.approx(np.log(total), abs=1e-12)
    assert_allclose(model.smooth(x), shares / total, atol=1e-12)
    assert_array_equal(model.decode(x), best[1])
    assert model.best_path_log_prob(x) == pytest.approx(np.log(best[0]), abs=1e-12)
    stats = model.suffstats(x)
    assert_allclose(stats.moves, moves / total, atol=1e-12)
    assert model.log_likelihood(stats) == pytest.approx(np.log(total), rel=1e-10)
    for t in range(1, n + 1):  # the filter is the smoother of the rows so far
        assert_allclose(model.filter(x)[t - 1], model.smooth(_rows(x, 0, t))[-1], atol=1e-12)


def _sequences(n=12, length=40, seed=0, transitions=None):
    transitions = 0.8 * np.eye(2) + 0.1 if transitions is None else transitions
    truth = sf.HiddenMarkov([sf.Normal(0, 1), sf.Normal(3, 0.7)], transitions=transitions)
    return [truth.sample(length + i, [seed, i]) for i in range(n)]


def test_equal_rows_of_transitions_are_a_mixture():
    weights, x = np.array([0.3, 0.7]), _sequences(1)[0]
    emissions = [sf.Normal(0, 1), sf.Normal(3, 2)]
    model = sf.HiddenMarkov(emissions, initial=weights, transitions=np.tile(weights, (2, 1)))
    mixture = sf.Mixture(emissions, weights=weights)
    assert model.log_prob(x) == pytest.approx(mixture.log_prob(x).sum(), rel=1e-12)
    assert_allclose(model.smooth(x), mixture.predict_proba(x), atol=1e-12)


def test_one_state_is_the_fit_of_its_emission():
    x = _sequences(1)[0]
    one, plain = sf.fit(sf.HiddenMarkov(sf.Normal(), 1), x), sf.fit(sf.Normal(), x)
    assert one.log_likelihood == pytest.approx(plain.log_likelihood, rel=1e-12)
    assert one.n_parameters == plain.n_parameters
    assert one.bic == pytest.approx(plain.bic)


def test_a_missing_row_drops_its_factor():
    model = sf.HiddenMarkov([sf.Normal(0, 1), sf.Normal(3, 1)], transitions=[[0.9, 0.1], [0.3, 0.7]])
    twice = sf.HiddenMarkov(model.emissions, initial=model.initial, transitions=model.transitions @ model.transitions)
    assert model.log_prob([0.2, np.nan, 2.5]) == pytest.approx(twice.log_prob([0.2, 2.5]), rel=1e-13)


def test_a_weight_of_two_is_the_sequence_twice():
    data = _sequences(6)
    weighted = sf.fit(sf.HiddenMarkov(sf.Normal(), 2), sf.sequences(data), weights=[2, 2, 1, 1, 1, 1], random_state=0)
    repeated = sf.fit(sf.HiddenMarkov(sf.Normal(), 2), sf.sequences(data + data[:2]), random_state=0)
    assert weighted.log_likelihood == pytest.approx(repeated.log_likelihood, rel=1e-10)
    assert weighted.n == repeated.n == sum(map(len, data + data[:2]))
    assert weighted.distribution.distance(repeated.distribution) < 1e-5


def test_threads_and_groups_do_not_change_a_bit(monkeypatch):
    from suffice.models import hidden_markov_rows

    model = sf.HiddenMarkov([sf.Normal(0, 1), sf.Normal(3, 1)], transitions=[[0.9, 0.1], [0.3, 0.7]])
    data = sf.sequences(_sequences(30))
    monkeypatch.setattr(hidden_markov_rows, "GROUP_CELLS", 256)
    found = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("SUFFICE_THREADS", threads)
        found.append((model.suffstats(data), model.log_prob(data), model.decode(data)))
    for stats, likelihood, path in found[1:]:
        assert stats == found[0][0]
        assert_array_equal(likelihood, found[0][1])
        assert_array_equal(path, found[0][2])


def test_a_long_sequence_in_pieces_is_the_whole(monkeypatch):
    from suffice.models import hidden_markov_rows

    model = sf.HiddenMarkov([sf.Normal(0, 1), sf.Normal(3, 1)], transitions=[[0.9, 0.1], [0.3, 0.7]])
    x = _sequences(1, 3000)[0]
    x[5] = np.nan
    data, weights = sf.sequences([x], states=np.where(np.arange(3000) % 50 == 0, 1, -1)), [2.0]
    whole = model.suffstats(data, weights)
    monkeypatch.setattr(hidden_markov_rows, "LONG_CELLS", 100)
    monkeypatch.setattr(hidden_markov_rows, "PIECE_CELLS", 500)
    pieces = model.suffstats(data, weights)
    for name in ("log_likelihood", "entropy", "first", "moves", "count", "solid"):
        assert_allclose(getattr(pieces, name), getattr(whole, name), rtol=1e-11, atol=1e-11, err_msg=name)
    assert model.estimate(pieces).distance(model.estimate(whole)) < 1e-11


def test_known_states_are_counted():
    truth = sf.HiddenMarkov([sf.Normal(0, 1), sf.Normal(1, 2)], transitions=[[0.8, 0.2], [0.4, 0.6]])
    x, states = truth.sample_with_states(400, 3)
    fit = sf.fit(sf.HiddenMarkov(sf.Normal(), 2), sf.sequences([x], states=[states]), random_state=0)
    moves = np.zeros((2, 2))
    np.add.at(moves, (states[:-1], states[1:]), 1)
    assert_allclose(fit.distribution.transitions, moves / moves.sum(axis=1, keepdims=True), rtol=1e-12)
    assert_allclose(fit.params["mean"], [x[states == j].mean() for j in range(2)], rtol=1e-12)
    assert_array_equal(fit.decode(sf.sequences([x], states=[states])), states)


def test_a_few_known_states_name_the_states():
    truth = sf.HiddenMarkov([sf.Normal(5, 1), sf.Normal(0, 1)], transitions=[[0.9, 0.1], [0.1, 0.9]])
    x, states = truth.sample_with_states(500, 4)
    part = [int(s) if t % 25 == 0 else None for t, s in enumerate(states)]
    fit = sf.fit(sf.HiddenMarkov(sf.Normal(), 2), sf.sequences([x], states=[part]), random_state=0)
    assert fit.params["mean"][0] > fit.params["mean"][1]  # canonical order would have it the other way round
    assert (fit.decode(x) == states).mean() > 0.98


def test_zeros_of_transitions_stay_zeros_and_are_no_parameters():
    pattern = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
    x = np.concatenate([RNG.normal(m, 0.5, 60) for m in (0, 3, 6)])
    prototype = sf.HiddenMarkov(sf.Normal(), 3, initial=[1.0, 0.0, 0.0], transitions=pattern)
    fit = sf.fit(prototype, x, random_state=0)
    assert (fit.distribution.transitions[pattern == 0] == 0).all()
    assert fit.n_parameters == 6 + 2
    assert_array_equal(fit.decode(x), np.repeat([0, 1, 2], 60))


def test_fixed_probabilities_are_kept():
    transitions = np.array([[0.7, 0.3], [0.2, 0.8]])
    prototype = sf.HiddenMarkov(sf.Normal(), 2, initial=[0.5, 0.5], transitions=transitions).fix(
        "transitions", "initial"
    )
    fit = sf.fit(prototype, sf.sequences(_sequences()), random_state=0)
    assert_array_equal(fit.distribution.transitions, transitions)
    assert_array_equal(fit.distribution.initial, [0.5, 0.5])
    assert fit.n_parameters == 4


def test_a_sticky_prior_adds_its_counts():
    data, alpha = sf.sequences(_sequences()), 30.0 * np.eye(2) + 1.0
    prior = {"transitions": sf.Dirichlet(alpha), "initial": sf.Dirichlet([2.0, 2.0])}
    fit = sf.fit(sf.HiddenMarkov(sf.Normal(), 2), data, prior=prior, random_state=0)
    stats = fit.statistics
    expected = stats.moves + alpha - 1
    assert_allclose(fit.distribution.transitions, expected / expected.sum(axis=1, keepdims=True), atol=1e-6)
    assert_allclose(fit.distribution.initial, (stats.first + 1) / (stats.first + 1).sum(), atol=1e-6)
    assert (np.diff(fit.trace.objective) >= -1e-9).all()


@pytest.mark.parametrize(
    "emission",
    [sf.Normal(), sf.Poisson(), sf.Laplace(), sf.StudentT(), sf.Gamma(), sf.Mixture(sf.Normal(), 2)],
    ids=lambda one: one.name,
)
@pytest.mark.parametrize("start", ["free", "stationary"])
def test_em_never_falls_and_ends_at_its_bound(emission, start):
    rng = np.random.default_rng(5)
    x = rng.poisson(np.where(np.arange(120) // 30 % 2, 3.0, 9.0)) + 1.0
    x[rng.random(120) < 0.1] = np.nan
    fit = sf.fit(sf.HiddenMarkov(emission, 2, initial=start), x, random_state=0, max_iter=60)
    assert (np.diff(fit.trace.objective) >= -1e-9 * np.abs(fit.trace.objective[:-1])).all()
    assert fit.log_likelihood == pytest.approx(fit.distribution.log_prob(x), rel=1e-9)
    assert_allclose(fit.trace.bound, fit.trace.log_likelihood, rtol=1e-8)


def test_forecasts_go_to_the_stationary_distribution():
    model = sf.HiddenMarkov([sf.Normal(0, 1), sf.Normal(3, 1)], transitions=[[0.9, 0.1], [0.3, 0.7]])
    found = model.forecast([0.1, 3.2, 2.9], 400)
    assert_allclose(found.states[0], model.filter([0.1, 3.2, 2.9])[-1] @ model.transitions)
    assert_allclose(found.states[-1], model.stationary, atol=1e-12)
    assert_allclose(found.mean[-1], model.mean, atol=1e-10)
    low, high = found.interval(0.8)
    assert_allclose(found.distribution(1).cdf(high[0]) - found.distribution(1).cdf(low[0]), 0.8, atol=1e-8)
    drawn = found.sample(20000, 0)
    assert drawn.shape == (20000, 400)
    assert_allclose(drawn[:, 0].mean(), found.mean[0], atol=0.05)
    joint = model.log_prob([0.1, 3.2, 2.9, 1.5]) - model.log_prob([0.1, 3.2, 2.9])
    assert found.distribution(1).log_prob(1.5) == pytest.approx(joint, rel=1e-12)


def test_surprisal_of_rows_sums_to_that_of_the_sequence():
    model = sf.HiddenMarkov([sf.Normal(0, 1), sf.Normal(3, 1)], transitions=[[0.9, 0.1], [0.3, 0.7]])
    x = np.array([0.1, 3.2, np.nan, 2.9, 9.0])
    found = model.surprisal(x)
    assert found.rows.sum() == pytest.approx(-model.log_prob(x), rel=1e-12)
    assert np.isnan(found.matrix[2, 0])
    others = [model.log_prob(np.where(np.arange(5) == t, np.nan, x)) for t in range(5)]
    assert_allclose(found.matrix[[0, 1, 3, 4], 0], np.array(others)[[0, 1, 3, 4]] - model.log_prob(x), rtol=1e-10)


def test_holes_are_filled_from_the_rows_around_them():
    model = sf.HiddenMarkov([sf.Normal(0, 1), sf.Normal(10, 1)], transitions=[[0.99, 0.01], [0.01, 0.99]])
    x = np.array([10.1, np.nan, 9.7, 0.2, np.nan, -0.3])
    filled = model.impute(x)
    assert_allclose(filled[1], model.smooth(x)[1] @ [0, 10], rtol=1e-10)
    assert abs(filled[4]) < 0.1
    drawn = model.impute(np.tile(x, 300), draw=True, random_state=0).reshape(300, 6)
    assert_allclose(drawn[:, 1].mean(), 10, atol=0.3)
    assert_allclose(drawn[:, 1].std(), 1, atol=0.2)


def test_samples_have_the_transitions_of_the_model():
    model = sf.HiddenMarkov([sf.Normal(0, 1), sf.Normal(3, 1)], transitions=[[0.9, 0.1], [0.3, 0.7]])
    x, states = model.sample_with_states(20000, 1)
    moves = np.zeros((2, 2))
    np.add.at(moves, (states[:-1], states[1:]), 1)
    assert_allclose(moves / moves.sum(axis=1, keepdims=True), model.transitions, atol=0.02)
    assert_allclose([x[states == j].mean() for j in range(2)], [0, 3], atol=0.05)
    assert_array_equal(model.sample(5, 7), model.sample(5, 7))


def test_merging_two_fits_and_going_on_is_the_fit_of_all():
    data = _sequences(20)
    a, b = (
        sf.fit(sf.HiddenMarkov(sf.Normal(), 2), sf.sequences(part), random_state=0) for part in (data[:10], data[10:])
    )
    merged = sf.merge(a, b)
    whole = sf.fit(sf.HiddenMarkov(sf.Normal(), 2), sf.sequences(data), random_state=0)
    on = sf.fit(sf.HiddenMarkov(sf.Normal(), 2), sf.sequences(data), start=merged.distribution)
    assert on.log_likelihood == pytest.approx(whole.log_likelihood, rel=1e-8)
    assert merged.n == whole.n
    with pytest.raises(sf.DataError, match="states"):
        sf.merge(a, sf.fit(sf.HiddenMarkov(sf.Normal(), 3), sf.sequences(data), random_state=0))


def test_files_keep_a_fit_to_the_bit(tmp_path):
    fit = sf.fit(sf.HiddenMarkov(sf.Normal(), 2, initial="stationary"), sf.sequences(_sequences()), random_state=0)
    sf.save(fit, tmp_path / "model.json")
    again = sf.load(tmp_path / "model.json")
    assert again == fit
    assert str(again) == str(fit)
    assert again.distribution.n_parameters == fit.n_parameters


def test_mixtures_cluster_sequences_and_classifiers_tell_them_apart():
    slow, fast = _sequences(25), _sequences(25, seed=1, transitions=np.array([[0.2, 0.8], [0.8, 0.2]]))
    both = sf.sequences(slow + fast)
    fit = sf.fit(sf.Mixture(sf.HiddenMarkov(sf.Normal(), 2), 2), both, random_state=0)
    labels = fit.predict(both)
    assert len(set(labels[:25])) == len(set(labels[25:])) == 1
    assert labels[0] != labels[-1]
    names = np.repeat(["slow", "fast"], 25)
    model = sf.BayesClassifier(sf.HiddenMarkov(sf.Normal(), 2), random_state=0).fit(both, names)
    assert (model.predict(both) == names).all()
    parts = dict(zip(model.classes_, model.distribution_.parts, strict=True))
    odds = parts["slow"].log_prob(both) - parts["fast"].log_prob(both)
    assert_allclose(
        model.predict_proba(both)[:, list(model.classes_).index("slow")], 1 / (1 + np.exp(-odds)), atol=1e-10
    )


def test_the_number_of_states_is_chosen():
    found = sf.select(
        sf.HiddenMarkov(sf.Normal(), 2), sf.sequences(_sequences(10)), n_components=[1, 2, 3], random_state=0
    )
    assert found.best.distribution.n == 2
    held = sf.select(
        sf.HiddenMarkov(sf.Normal(), 2),
        sf.sequences(_sequences(10)),
        n_components=[1, 2],
        criterion="held_out",
        random_state=0,
    )
    assert held.best.distribution.n == 2
    assert held.table[0]["held_out"] > held.table[1]["held_out"]


def test_what_cannot_be_is_named():
    pattern = [[0.5, 0.5], [0.0, 1.0]]
    with pytest.raises(sf.DataError, match="row 2 of sequence 1 cannot be"):
        sf.fit(
            sf.HiddenMarkov(sf.Normal(), 2, transitions=pattern),
            sf.sequences([[0.0, 1, 2], [0.0, 3, 1]], states=[0, 0, 1, 0, 1, 0]),
        )
    model = sf.HiddenMarkov([sf.Exponential(1.0), sf.Exponential(3.0)])
    with pytest.raises(sf.DataError, match="row 1 of sequence 0"):
        model.decode([1.0, -1.0])
    with pytest.raises(sf.DataError, match="has the state 5"):
        sf.fit(sf.HiddenMarkov(sf.Normal(), 2), sf.sequences([[0.0, 1.0]], states=[0, 5]))
    with pytest.raises(sf.ParameterError, match="'stationary'"):
        sf.HiddenMarkov(sf.Normal(), 2, initial="stationery")
    with pytest.raises(sf.ParameterError, match="transitions has shape"):
        sf.HiddenMarkov(sf.Normal(), 2, transitions=np.eye(3))


def test_a_summary_says_how_long_states_last_and_where_they_go():
    model = sf.HiddenMarkov([sf.Normal(0, 1), sf.Normal(3, 1)], transitions=[[0.9, 0.1], [0.25, 0.75]])
    fit = sf.fit(model, model.sample(300, 0), start=model)
    text = str(fit)
    assert "Hidden Markov model of 2 Normal states" in text
    stay = fit.distribution.transitions[0, 0]
    assert f"lasts {1 / (1 - stay):.3g} rows" in text
    assert "component" not in text


@pytest.mark.parametrize("start", ["free", "stationary"])
def test_standard_errors_are_those_of_the_curvature_of_the_likelihood(start):
    truth = sf.HiddenMarkov([sf.Poisson(2.0), sf.Poisson(9.0)], transitions=[[0.85, 0.15], [0.3, 0.7]])
    data, weights = sf.sequences([truth.sample(40, [1, i]) for i in range(12)]), np.linspace(0.5, 2.0, 12)
    fit = sf.fit(sf.HiddenMarkov(sf.Poisson(), 2, initial=start), data, weights=weights, random_state=0)
    model = fit.distribution

    def likelihood(z):
        moves = np.array([[1.0, np.exp(z[2])], [np.exp(z[3]), 1.0]])
        first = "stationary" if start == "stationary" else np.array([1.0, np.exp(z[4])]) / (1 + np.exp(z[4]))
        moves /= moves.sum(axis=1, keepdims=True)
        return weights @ sf.HiddenMarkov(
            [sf.Poisson(z[0]), sf.Poisson(z[1])], initial=first, transitions=moves
        ).log_prob(data)

    g, d = model.transitions, model.initial
    at = np.array([*model.params["rate"], np.log(g[0, 1] / g[0, 0]), np.log(g[1, 0] / g[1, 1]), np.log(d[1] / d[0])])
    at, steps = at[: 5 if start == "free" else 4], 1e-3 * np.eye(5)[:, : 5 if start == "free" else 4]
    steps = steps[: len(at)]
    curvature = [
        [sum(s * r * likelihood(at + s * a + r * b) for s in (1, -1) for r in (1, -1)) / 4e-6 for b in steps]
        for a in steps
    ]
    expected = np.sqrt(np.diag(np.linalg.inv(-np.array(curvature))))
    errors = fit.standard_errors
    assert_allclose(errors["rate"], expected[:2], rtol=1e-4)
    assert errors["transitions"][0, 1] == pytest.approx(expected[2] * g[0, 0] * g[0, 1], rel=1e-4)
    assert errors["transitions"][1, 0] == pytest.approx(expected[3] * g[1, 0] * g[1, 1], rel=1e-4)
    if start == "free":
        assert errors["initial"][0] == pytest.approx(expected[4] * d[0] * d[1], rel=1e-4)
    low, high = fit.interval()["transitions"]
    assert ((low <= g) & (g <= high)).all()


def test_standard_errors_of_several_columns_have_the_layout_of_the_parameters():
    emissions, _ = KINDS["columns"]
    model = sf.HiddenMarkov(emissions[:2], transitions=[[0.9, 0.1], [0.2, 0.8]])
    drawn = model.sample(400, 0)
    fit = sf.fit(
        sf.HiddenMarkov(sf.Product({"x": sf.Normal(), "c": sf.Categorical(["a", "b", "c"])}), 2), drawn, random_state=0
    )
    errors = fit.standard_errors
    assert errors["x"]["mean"].shape == (2,)
    assert (errors["x"]["mean"] > 0).all()
    assert errors["transitions"].shape == (2, 2)
    assert np.isnan(errors["initial"]).all()  # one sequence: the likelihood is greatest at an edge


def test_a_row_of_the_long_run_is_asked_given_some_columns():
    parts = [sf.Product({"a": sf.Normal(mean, 1), "b": sf.Normal(2 * mean, 1)}) for mean in (0.0, 3.0)]
    model = sf.HiddenMarkov(parts, transitions=[[0.9, 0.1], [0.3, 0.7]])
    weights = model.stationary * np.exp([part.marginal("a").log_prob([2.5])[0] for part in parts])
    expected = 6.0 * weights[1] / weights.sum()
    assert model.given(a=2.5).marginal("b").mean == pytest.approx(expected, rel=1e-12)
