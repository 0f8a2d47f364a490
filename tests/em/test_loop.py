"""The loop around mixtures: where it begins, how it ends, what it tells."""

import numpy as np
import pytest

import suffice as sf
from suffice.em.acceleration import Accelerator
from suffice.em.convergence import parameters_rest
from suffice.em.loop import run_em
from suffice.em.training import Iterate, TrainingData
from suffice.statistics.weights import Weights
from suffice.tables.scales import scale_of
from suffice.tables.sketch import sketch, subsample_rows

TRUTH = sf.Mixture([sf.Normal(4, 0.8), sf.Normal(8, 2)], weights=[0.3, 0.7])
LIVES = TRUTH.sample(600, random_state=3)
TWO = sf.Mixture(sf.Normal(), 2)


def blobs(seed=0, n=400, d=3, k=4):
    rng = np.random.default_rng(seed)
    return (rng.normal(0, 4, (k, d))[rng.integers(k, size=n)] + rng.normal(size=(n, d))).round(3)


# ---- where it begins -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("start", [None, "k-means++", "random", "labels", "responsibilities", "distribution", "stack"])
def test_every_start_leads_to_the_maximum(start):
    kinds = {
        "labels": np.where(LIVES < 5.5, "young", "old"),
        "responsibilities": TRUTH.predict_proba(LIVES),
        "distribution": TRUTH,
        "stack": sf.Normal([[3.0], [9.0]], 1.0),
    }
    fit = sf.fit(TWO, LIVES, start=kinds.get(start, start), random_state=1)
    assert fit.log_likelihood == pytest.approx(sf.fit(TWO, LIVES, start=TRUTH).log_likelihood, abs=1e-5)
    assert fit.converged


def test_a_start_that_is_given_keeps_its_order():
    swapped = sf.Mixture([sf.Normal(8, 2), sf.Normal(4, 0.8)], weights=[0.7, 0.3])
    assert np.argmax(sf.fit(TWO, LIVES, start=swapped).distribution.params["mean"]) == 0
    assert np.argmax(sf.fit(TWO, LIVES).distribution.params["mean"]) == 1


@pytest.mark.parametrize(
    "start", [np.full((600, 2), 0.5), sf.Mixture([sf.Normal(5, 1), sf.Normal(5, 1)]), np.tile([[0.2, 0.8]], (600, 1))]
)
def test_a_symmetric_start_is_reported_and_broken(start):
    fit = sf.fit(TWO, LIVES, start=start, random_state=0)
    assert "symmetric" in dict(fit.alerts)
    assert fit.log_likelihood == pytest.approx(sf.fit(TWO, LIVES).log_likelihood, abs=1e-5)


def test_even_responsibilities_are_reported_of_components_that_draw_their_own_starts():
    """Mixtures inside a mixture begin at random, and so differ by chance where they get the same rows."""
    nested = sf.Mixture(sf.Mixture(sf.Normal(), 2), 2)
    even = sf.fit(nested, LIVES, start=np.tile([[0.2, 0.8]], (600, 1)), random_state=0, max_iter=20)
    assert "symmetric" in dict(even.alerts)
    told_apart = sf.fit(nested, LIVES, start=(LIVES > 6).astype(int), random_state=0, max_iter=20)
    assert "symmetric" not in dict(told_apart.alerts)
    unlike = sf.fit(sf.Mixture([sf.Normal(), sf.Laplace()]), LIVES, start=np.full((600, 2), 0.5), max_iter=20)
    assert "symmetric" not in dict(unlike.alerts)


@pytest.mark.parametrize(
    ("start", "told"),
    [
        ("kmeans", "start='kmeans' is not known"),
        (np.zeros(3), "one label for each of 600 rows"),
        (np.arange(600), "names 600 groups"),
        (np.full((600, 2), np.nan), "finite numbers of at least 0"),
        (np.where(np.arange(1200).reshape(600, 2) == 15, -0.5, 0.5), "row 7 has -0.5 for component 1"),
        (sf.Mixture(sf.Normal(), 3), "has 3 components"),
    ],
)
def test_a_start_that_cannot_be_is_refused(start, told):
    with pytest.raises(sf.SufficeError, match=told):
        sf.fit(TWO, LIVES, start=start)


def test_a_sketch_knows_neither_order_nor_repetition_nor_partition():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 2)).round(1)
    whole = sketch(x, Weights(3000), 50, seed=7)
    order = rng.permutation(3000)
    moved = sketch(x[order], Weights(3000), 50, seed=7)
    np.testing.assert_array_equal(whole.hashes, moved.hashes)
    np.testing.assert_array_equal(whole.weights, moved.weights)
    distinct, count = np.unique(x, axis=0, return_counts=True)
    weighed = sketch(distinct, Weights.of(count.astype(float), len(distinct)), 50, seed=7)
    np.testing.assert_array_equal(whole.weights, weighed.weights)
    scale = scale_of(x, Weights(3000))
    halves = sketch(x[:1000], Weights(1000), 50, 7, scale).merged(sketch(x[1000:], Weights(2000), 50, 7, scale), 50)
    np.testing.assert_array_equal(whole.hashes, halves.hashes)
    np.testing.assert_array_equal(whole.weights, halves.weights)
    assert not np.array_equal(whole.hashes, sketch(x, Weights(3000), 50, seed=8).hashes)


def test_a_sketch_of_labels_does_not_depend_on_the_other_labels():
    cells = np.array(list("abcabdabe"))
    prototype = sf.Categorical()
    whole = sketch(prototype.read(cells), Weights(9), 9, 1)
    few = sketch(prototype.read(cells[:3]), Weights(3), 9, 1)
    assert set(few.hashes) <= set(whole.hashes)
    assert len(whole.hashes) == 5


@pytest.mark.parametrize("prototype", [sf.MultivariateNormal(), sf.Normal()])
def test_weight_is_repetition_and_order_is_nothing(prototype):
    x = blobs()
    rng = np.random.default_rng(1)
    count = rng.integers(1, 4, len(x))
    model = sf.Mixture(prototype, 4)
    weighed = sf.fit(model, x, weights=count, random_state=5)
    repeated = sf.fit(model, np.repeat(x, count, axis=0)[rng.permutation(count.sum())], random_state=5)
    assert weighed.log_likelihood == pytest.approx(repeated.log_likelihood, rel=1e-10)
    np.testing.assert_allclose(weighed.params["mean"], repeated.params["mean"], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("start", [None, "labels"])
@pytest.mark.parametrize("prototype", [sf.MultivariateNormal(), sf.Normal()])
def test_weights_in_any_unit_lead_to_the_same_end(prototype, start):
    """A power of two rounds nothing: the fit of weights that are so much smaller is the same to the bit."""
    x, model = blobs(n=300, k=5), sf.Mixture(prototype, 5)
    start = np.random.default_rng(2).integers(5, size=len(x)) if start else None
    plain = sf.fit(model, x, weights=np.ones(len(x)), start=start, random_state=0)
    small = sf.fit(model, x, weights=np.full(len(x), 2.0**-40), start=start, random_state=0)
    assert small.distribution == plain.distribution
    assert small.n_iter == plain.n_iter
    assert dict(small.alerts).keys() == dict(plain.alerts).keys()


@pytest.mark.parametrize(
    ("weights", "unit"), [(None, 1), ([1, 0, 3], 1), ([2.0**-40] * 3, 2.0**-40), ([0.3, 0.3], 0.25)]
)
def test_the_unit_of_weights_is_what_a_row_weighs(weights, unit):
    held = Weights.of(None if weights is None else np.array(weights, float), 3 if weights is None else len(weights))
    assert held.unit == unit


def test_a_picture_holds_all_rows_while_they_fit():
    x = blobs(n=100)
    rows, weights = subsample_rows(x, Weights(100), 2000, 0)
    assert len(rows) == len(np.unique(x, axis=0))
    assert weights.total == 100


# ---- how it ends -----------------------------------------------------------------------------------------------------
def test_an_interrupt_keeps_the_best_so_far():
    seen = []

    def impatient(one):
        seen.append(one)
        if len(seen) == 3:
            raise KeyboardInterrupt

    fit = sf.fit(TWO, LIVES, start="random", accelerate=False, callback=impatient, random_state=0)
    assert not fit.converged
    assert "interrupted after 3 passes" in dict(fit.alerts)["not converged"]
    assert fit.log_likelihood >= seen[0].log_likelihood
    assert fit.log_likelihood == pytest.approx(np.sum(fit.log_prob(LIVES)), rel=1e-12)  # of the pass it stands at
    np.testing.assert_array_equal(fit.trace.log_likelihood, [one.log_likelihood for one in seen[:2]])


def test_a_callback_sees_every_pass():
    seen = []
    fit = sf.fit(TWO, LIVES, start="random", accelerate=False, callback=seen.append, random_state=0)
    np.testing.assert_array_equal([one.log_likelihood for one in seen], fit.trace.log_likelihood)
    assert [one.number for one in seen] == list(range(1, fit.n_iter + 1))
    assert all(one.seconds > 0 and isinstance(one.distribution, sf.Mixture) for one in seen)


def test_too_few_passes_are_reported():
    fit = sf.fit(TWO, LIVES, start="random", max_iter=2, random_state=0)
    assert fit.n_iter == 2
    assert "not converged" in dict(fit.alerts)


def test_a_short_run_ends_at_the_same_place_without_asking_for_the_next_step():
    x = blobs(3, n=200, d=2, k=3)
    model = sf.Mixture(sf.MultivariateNormal(), 3)
    start = model.for_data(x).initialize(x, Weights(200), np.random.default_rng(0), "random", None)[0]
    whole, brief = (run_em(start, TrainingData(x), max_iter=5, tol=1e-12, brief=b) for b in (False, True))
    assert whole.trace.passes == brief.trace.passes == 5
    assert whole.reason == brief.reason == "stopped after 5 passes"
    np.testing.assert_array_equal(whole.trace.objective, brief.trace.objective)
    np.testing.assert_array_equal(whole.trace.change[:-1], brief.trace.change[:-1])
    assert np.isfinite(whole.trace.change[-1])
    assert np.isnan(brief.trace.change[-1])


def test_passes_that_tell_no_leap_are_not_all_remembered():
    """Statistics that go to and fro have no way ahead; of large models each would be megabytes."""
    model = sf.fit(sf.Categorical(), list("aab")).distribution
    ways = [sf.fit(sf.Categorical(), list(x)).statistics for x in ("aab", "abb")]
    speed = Accelerator(ways[0])
    for number in range(20):
        assert speed.propose(Iterate(model, ways[number % 2], float(number)), None) is None
    assert len(speed.chain) <= 3


@pytest.mark.slow
def test_acceleration_halves_the_passes_and_ends_no_lower():
    rng = np.random.default_rng(0)
    ratios = []
    for seed in range(5):
        x = rng.normal(size=(800, 2)) @ [[1, 0.6], [0, 0.8]] + rng.choice([-1.0, 0.0, 1.3], size=(800, 1))
        model = sf.Mixture(sf.MultivariateNormal(), 3)
        rows = model.read(x)
        start = model.for_data(rows).initialize(rows, Weights(800), np.random.default_rng(seed), "k-means++", None)[0]
        plain, fast = (run_em(start, TrainingData(rows), max_iter=3000, tol=1e-9, accelerate=a) for a in (False, True))
        assert (np.diff(fast.trace.log_likelihood) >= -1e-9 * abs(fast.trace.log_likelihood[-1])).all()
        ratios.append(plain.trace.passes / fast.trace.passes)
    assert np.median(ratios) >= 2


def test_the_trace_tells_the_bound_its_entropy_and_the_time():
    trace = sf.fit(TWO, LIVES, start="random", accelerate=False, random_state=0).trace
    np.testing.assert_allclose(trace.bound, trace.log_likelihood, rtol=1e-12)
    lengths = {len(getattr(trace, name)) for name in ("bound", "change", "entropy", "seconds", "objective")}
    assert lengths == {trace.passes}
    assert (trace.seconds > 0).all()
    assert ((trace.entropy >= 0) & (trace.entropy <= 600 * np.log(2))).all()
    assert trace.change[-1] < trace.change[0]


def test_slow_progress_is_not_taken_for_rounding():
    shrinking = [1e-8 * 0.9**i for i in range(4)]
    assert not parameters_rest(shrinking, [-1.0, -1.0, -1.0, -1.0])
    assert parameters_rest([2e-9, 2.1e-9], [-1.0, -1.0, -1.0, -1.0])  # neither the moves nor the likelihood improve
    assert not parameters_rest([2e-9, 2.1e-9], [-1.3, -1.2, -1.1, -1.0])
    assert parameters_rest([6e-11, 5e-11], [-1.3, -1.2, -1.1, -1.0])
    assert parameters_rest([1.0, 1e-12], [-1.3, -1.2])
    assert not parameters_rest([1e-5, 4e-11], [-1.3, -1.2])  # still more than halving


def test_several_starts_keep_the_best():
    x = blobs(3, n=300, d=2, k=6)
    model = sf.Mixture(sf.MultivariateNormal(structure="spherical"), 6)
    single = [sf.fit(model, x, start="random", random_state=np.random.default_rng(0)).log_likelihood]
    several = sf.fit(model, x, start="random", n_init=6, random_state=np.random.default_rng(0)).log_likelihood
    assert several >= single[0]


# ---- what is learned -------------------------------------------------------------------------------------------------
def test_hard_assignments_are_the_k_means_of_round_clusters():
    x = blobs(1, n=300, d=2, k=3)
    model = sf.Mixture(sf.MultivariateNormal(structure="identity"), 3, hard=True).fix("weights")
    fit = sf.fit(model, x, random_state=0)
    owner = fit.predict(x)
    np.testing.assert_allclose(fit.params["mean"], [x[owner == j].mean(axis=0) for j in range(3)], atol=1e-12)
    inertia = sum(((x[owner == j] - x[owner == j].mean(axis=0)) ** 2).sum() for j in range(3))
    assert inertia == pytest.approx(sf.KMeans(3, n_init=5, random_state=0).fit(x).inertia_, rel=1e-9)


def test_hard_em_estimates_from_the_rows_that_a_component_owns():
    fit = sf.fit(sf.Mixture(sf.Normal(), 2, hard=True), LIVES, random_state=0)
    owner = fit.predict(LIVES)
    for j, one in enumerate(fit.distribution.parts):
        assert one.mean == pytest.approx(LIVES[owner == j].mean(), rel=1e-9)
        assert one.std == pytest.approx(LIVES[owner == j].std(), rel=1e-9)
    assert (np.diff(fit.trace.log_likelihood) >= -1e-9 * abs(fit.log_likelihood)).all()


def test_a_dirichlet_prior_moves_the_weights_to_its_mode():
    fit = sf.fit(TWO, LIVES, prior=sf.Dirichlet([51.0]), start=TRUTH)
    count = fit.statistics.count
    np.testing.assert_allclose(fit.distribution.weights, (count + 50) / (count.sum() + 100), rtol=1e-4)
    assert fit.log_posterior == pytest.approx(fit.trace.objective[-1], rel=1e-12)


def test_fixed_weights_and_parameters_stay():
    model = sf.Mixture(sf.Normal(std=1).fix("std"), 2, weights=[0.5, 0.5]).fix("weights")
    fit = sf.fit(model, LIVES, random_state=0)
    np.testing.assert_array_equal(fit.distribution.weights, [0.5, 0.5])
    np.testing.assert_array_equal(fit.params["std"], [1.0, 1.0])
    assert fit.n_parameters == 2


def test_tied_components_share():
    fit = sf.fit(sf.Mixture(sf.Normal().tie("std"), 3), LIVES, random_state=0)
    assert len(set(fit.params["std"])) == 1
    assert fit.n_parameters == 2 + 3 + 1


def test_online_statistics_mix():
    fit = sf.fit(TWO, LIVES, random_state=0)
    again = fit.statistics * 0.5 + fit.distribution.suffstats(LIVES) * 0.5
    np.testing.assert_allclose(fit.distribution.estimate(again).weights, fit.distribution.weights, atol=1e-5)
    with pytest.raises(sf.UnsupportedError, match="cannot be removed"):
        _ = fit.statistics - fit.statistics


def test_a_column_without_numbers_does_not_disturb_the_order():
    rng = np.random.default_rng(0)
    old = rng.random(300) < 0.6
    table = {
        "kind": np.where(rng.random(300) < np.where(old, 0.9, 0.1), "a", "b"),
        "age": np.where(old, 70.0, 20.0) + rng.normal(0, 3, 300),
    }
    fit = sf.fit(sf.Mixture(sf.Product({"kind": sf.Categorical(), "age": sf.Normal()}), 2), table, random_state=0)
    assert fit.params["age"]["mean"][0] < fit.params["age"]["mean"][1]


def test_a_mixture_is_a_part_of_a_product_and_a_product_a_component_of_a_mixture():
    rng = np.random.default_rng(0)
    left = rng.random(200) < 0.5
    table = {"a": np.where(left, rng.normal(0, 1, 200), rng.normal(9, 1, 200)), "b": rng.normal(size=200)}
    fit = sf.fit(sf.Product({"a": sf.Mixture(sf.Normal(), 2), "b": sf.Normal()}), table, random_state=0)
    alone = sf.fit(sf.Mixture(sf.Normal(), 2), table["a"], random_state=0)
    assert fit.log_likelihood == pytest.approx(alone.log_likelihood + sf.fit(sf.Normal(), table["b"]).log_likelihood)
    assert fit.log_likelihood == pytest.approx(fit.log_prob(table).sum())
    np.testing.assert_allclose(fit.params["a"]["mean"], alone.params["mean"], atol=1e-4)


@pytest.mark.parametrize("structure", ["full", "tied", "diag", "EVE", None])
def test_a_component_with_hardly_a_row_has_finite_parameters(structure):
    x = np.random.default_rng(0).normal(size=(500, 3))
    for away in (5.0, 9.0, 12.0, 15.0, 20.0, 25.0, 27.0, 30.0, 40.0):
        places = np.array([[0.0] * 3, [away] * 3])
        stack = sf.Normal(places, 1.0) if structure is None else sf.MultivariateNormal(structure=structure)
        if structure is not None:
            stack = sf.MultivariateNormal(places, np.broadcast_to(np.eye(3), (2, 3, 3)), structure=structure)
        mixture = sf.Mixture(stack)
        for _ in range(3):
            mixture = mixture.estimate(mixture.suffstats(x))
            assert all(np.isfinite(value).all() for value in mixture.params.values())
        assert np.isfinite(mixture.log_prob(x)).all()
