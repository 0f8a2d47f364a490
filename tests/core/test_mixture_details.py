"""What a mixture keeps of a prototype, of a start, of the caller's order and rows, and what it tells."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import suffice as sf
from suffice.combinators import course, seeding, splitting, starts, swift
from suffice.core.latent import plus

TRUTH = sf.Mixture([sf.Normal(4, 0.8), sf.Normal(8, 2)], weights=[0.3, 0.7])
LIVES = TRUTH.sample(600, random_state=3)
FAITHFUL = Path(__file__).parents[1] / "golden" / "faithful.csv"
TWO = sf.Mixture(sf.Normal(), 2)
PLANE = np.random.default_rng(1).normal(size=(300, 2)) * [1, 3] + np.repeat([[0, 0], [9, 1]], 150, axis=0)


# ---- a start has parameters, the prototype has the rules -------------------------------------------------------------
def test_a_start_frees_nothing_that_the_prototype_fixes():
    start = sf.Mixture([sf.Normal(3, 2), sf.Normal(8, 2)], weights=[0.4, 0.6])
    fit = sf.fit(sf.Mixture(sf.Normal(std=1.0).fix("std"), 2), LIVES, start=start)
    np.testing.assert_array_equal(fit.params["std"], [1, 1])
    same = sf.fit(sf.Mixture(sf.Normal(std=1.0).fix("std"), 2), LIVES)
    assert fit.log_likelihood == pytest.approx(same.log_likelihood, abs=1e-5)
    kept = sf.fit(sf.Mixture(sf.Normal(), 2, weights=[0.5, 0.5]).fix("weights"), LIVES, start=start)
    np.testing.assert_array_equal(kept.params["weights"], [0.5, 0.5])


def test_a_start_unties_nothing():
    prototype = sf.Mixture(sf.Normal().tie("std"), 2)
    fit = sf.fit(prototype, LIVES, start=TRUTH)
    assert np.ptp(fit.params["std"]) == 0
    assert fit.log_likelihood == pytest.approx(sf.fit(prototype, LIVES).log_likelihood, abs=1e-5)


@pytest.mark.parametrize("name", ["EII", "VVI", "EEE", "VEV", "VVV"])
def test_a_start_is_brought_into_the_structure_of_the_prototype(name):
    covs = [[[1.0, 0.3], [0.3, 9.0]], [[2.0, -0.2], [-0.2, 8.0]]]
    start = sf.Mixture([sf.MultivariateNormal(m, c) for m, c in zip([[0, 0], [9, 1]], covs, strict=True)])
    fit = sf.fit(sf.Mixture(sf.MultivariateNormal(structure=name), 2), PLANE, start=start)
    assert fit.distribution.components.structure == name
    own = sf.fit(sf.Mixture(sf.MultivariateNormal(structure=name), 2), PLANE)
    assert fit.log_likelihood == pytest.approx(own.log_likelihood, abs=1e-4)


def test_a_start_of_another_family_is_refused():
    start = sf.Mixture([sf.Laplace(3, 1), sf.Laplace(8, 1)])
    with pytest.raises(sf.SufficeError, match="where the prototype has Normal"):
        sf.fit(TWO, LIVES, start=start)


def test_a_start_of_labels_is_matched_by_their_names():
    x = np.array([["a", "x"], ["a", "x"], ["b", "y"], ["b", "y"], ["a", "y"]] * 20)
    start = sf.Mixture(
        [
            sf.Categorical((("b", "a", "c"), ("y", "x")), [[0.1, 0.8, 0.1], [0.2, 0.8, 0.0]]),
            sf.Categorical((("b", "a", "c"), ("y", "x")), [[0.8, 0.1, 0.1], [0.7, 0.3, 0.0]]),
        ]
    )
    fit = sf.fit(sf.Mixture(sf.Categorical(), 2), x, start=start)
    assert fit.distribution.components.named == (("a", "b"), ("x", "y"))
    assert fit.distribution.components.probs[0, 0, 0] > fit.distribution.components.probs[1, 0, 0]
    none = sf.Mixture([sf.Categorical(("a", "c"), [0.5, 0.5]), sf.Categorical(("a", "c"), [0.4, 0.6])])
    with pytest.raises(sf.SufficeError, match="no probability to 'b'"):
        sf.fit(sf.Mixture(sf.Categorical(), 2), x[:, 0], start=none)


# ---- the order of members --------------------------------------------------------------------------------------------
def test_members_that_a_prior_tells_apart_keep_their_places():
    prior = {"weights": sf.Dirichlet([800.0, 1.0])}
    fit = sf.fit(TWO, LIVES, prior=prior, random_state=0)
    believed = fit.log_likelihood + float(fit.distribution.log_prior(prior))
    assert fit.log_posterior == pytest.approx(believed, rel=1e-12)
    assert fit.params["weights"][0] > 0.5
    assert fit.trace.objective[-1] == pytest.approx(believed, rel=1e-9)
    places = {"components": sf.NormalInverseGamma([[9.0], [3.0]], 50.0, 3.0, 3.0)}
    fit = sf.fit(TWO, LIVES, prior=places, random_state=0)
    assert fit.log_posterior == pytest.approx(fit.trace.objective[-1], rel=1e-9)


def test_prototypes_that_fix_different_things_keep_their_places():
    fit = sf.fit(sf.Mixture([sf.Normal(8, 2).fix("mean", "std"), sf.Normal()]), LIVES)
    assert fit.distribution.parts[0] == sf.Normal(8.0, 2.0).fix("mean", "std")
    both = [sf.Normal(8, 2).fix("mean"), sf.Normal(4, 2).fix("mean")]
    np.testing.assert_array_equal(sf.fit(sf.Mixture(both), LIVES).params["mean"], [8, 4])


def test_fixed_weights_keep_their_places():
    fit = sf.fit(sf.Mixture(sf.Normal(), 2, weights=[0.9, 0.1]).fix("weights"), LIVES)
    np.testing.assert_array_equal(fit.params["weights"], [0.9, 0.1])
    even = sf.fit(sf.Mixture(sf.Normal(), 2).fix("weights"), LIVES)
    assert even.params["mean"][0] < even.params["mean"][1]


# ---- floors ----------------------------------------------------------------------------------------------------------
def test_a_learned_mixture_as_prototype_forgets_the_floors_of_its_rows():
    learned = sf.fit(TWO, LIVES, random_state=0).distribution
    small = sf.fit(learned, LIVES * 1e-10, random_state=0)
    assert not {"collapsed", "unidentified"} & set(dict(small.alerts))
    np.testing.assert_allclose(small.params["std"] * 1e10, learned.params["std"], rtol=1e-3)
    large = sf.fit(TWO, LIVES, start=learned).distribution
    assert sf.fit(large, LIVES * 1e-10, random_state=0).log_likelihood == pytest.approx(small.log_likelihood, rel=1e-6)


def test_a_ridge_that_the_caller_gave_stays():
    ridged = sf.Mixture(sf.MultivariateNormal(), 2, floors=0.5)
    once = sf.fit(ridged, PLANE, random_state=0).distribution
    assert once.floors == 0.5
    assert sf.fit(once, PLANE, random_state=0).distribution.floors == 0.5


# ---- interrupts ------------------------------------------------------------------------------------------------------
def interrupting(monkeypatch, where):
    """Let pass number ``where`` over rows be interrupted, and count the passes."""
    seen = []

    def counting(gather):
        def suffstats(self, x, weights=None):
            seen.append(len(x))
            if len(seen) == where:
                raise KeyboardInterrupt
            return gather(self, x, weights)

        return suffstats

    for kind in (sf.Mixture, swift.Swift):
        monkeypatch.setattr(kind, "suffstats", counting(kind.suffstats))
    return seen


@pytest.mark.parametrize("where", [4, 60])
def test_an_interrupt_while_a_start_is_sought_ends_the_fit(monkeypatch, where):
    seen = interrupting(monkeypatch, where)
    fit = sf.fit(sf.Mixture(sf.Normal(), 3), LIVES, random_state=0, n_init=5)
    assert len(seen) == where + 1
    assert not fit.converged
    assert "interrupted" in dict(fit.alerts)["not converged"]
    assert fit.log_likelihood == pytest.approx(fit.distribution.log_prob(LIVES).sum(), rel=1e-12)


def test_an_interrupt_keeps_what_two_members_made_one_led_to(monkeypatch):
    rows = np.random.default_rng(0).normal(size=200) + np.repeat([0, 20, 40, 60], 50)
    climb, moves, paths, moved = course.climb, starts.moves, [], []

    def badly(partitions, *_):  # the first two share a heap, and the last has two
        heap = np.argsort(np.argsort(partitions.places[:, 0])) // 50
        return np.array([[0, 1], [2, 2], [3, 3], [3, 3]])[heap, np.arange(200) % 2]

    def counted(*given):
        moved.append(len(paths))
        return moves(*given)

    def interrupted(*given, **options):
        path = climb(*given, **options)
        gained = moved and max(paths[moved[0] :], default=-np.inf) > max(paths[: moved[0]])
        paths.append(path.height)
        return replace(path, interrupted=True) if gained else path

    for place, name, stub in (
        (seeding.Partitions, "draw", badly),
        (course, "climb", interrupted),
        (starts, "moves", counted),
    ):
        monkeypatch.setattr(place, name, stub)
    fit = sf.fit(sf.Mixture(sf.Normal(), 4), rows, random_state=0)
    assert "interrupted" in dict(fit.alerts)["not converged"]
    assert max(paths) > max(paths[: moved[0]]) + 50
    assert fit.log_likelihood >= max(paths) * (1 + 1e-9)


def test_an_interrupt_ends_further_starts_as_well():
    passes = []

    def callback(one):
        passes.append(one.number)
        if len(passes) == 5:
            raise KeyboardInterrupt

    fit = sf.fit(sf.Mixture(sf.Normal(), 3), LIVES, random_state=0, n_init=5, callback=callback)
    assert len(passes) == 5
    assert "1 of 5 starts" in dict(fit.alerts)["interrupted"]


def test_an_interrupt_before_anything_is_known_is_one(monkeypatch):
    interrupting(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt):
        sf.fit(TWO, LIVES)


def test_an_interrupt_ends_the_starts_of_an_estimator(monkeypatch):
    seen = interrupting(monkeypatch, 0)
    alone = sf.GaussianMixture(3, random_state=0).fit(PLANE)
    one = len(seen)
    seen = interrupting(monkeypatch, one + 1)  # the first pass of the second climb; starts climb on their track
    with pytest.warns(ConvergenceWarning, match="interrupted after 1 of 50 starts") as told:
        several = sf.GaussianMixture(3, n_init=50, random_state=0).fit(PLANE)
    assert told[0].filename == __file__
    assert len(seen) == one + 1
    np.testing.assert_array_equal(several.means_, alone.means_)


# ---- rows that cannot be ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [500, 9000])
@pytest.mark.parametrize("start", [None, "labels"])
@pytest.mark.parametrize(
    ("prototype", "bad"),
    [
        (sf.Normal(), np.inf),
        (sf.MultivariateNormal(), np.inf),
        (sf.Gamma(), -1.0),
        (sf.Mixture(sf.Normal(), 2), np.inf),
    ],
)
def test_errors_name_the_row_of_the_data(n, start, prototype, bad):
    x = np.random.default_rng(0).gamma(2.0, size=(n, 2))
    x[n - 37, 1] = bad
    with pytest.raises(sf.SufficeError, match=f"row {n - 37}, column 1"):
        sf.fit(sf.Mixture(prototype, 2), x, start=np.arange(n) % 2 if start else None)


def test_errors_name_the_row_of_a_member_and_a_column():
    x = np.random.default_rng(0).gamma(2.0, size=200)
    x[7] = -1
    with pytest.raises(sf.SufficeError, match="row 7 has -1"):
        sf.fit(sf.Mixture([sf.Gamma(), sf.Exponential()]), x)
    with pytest.raises(sf.SufficeError, match="row 7 has -1"):
        sf.fit(sf.Mixture(sf.Product({"a": sf.Normal(), "b": sf.Gamma()}), 2), {"a": x, "b": x})


# ---- rows that are no longer what they were --------------------------------------------------------------------------
def _changed(kind):
    x, w = LIVES.copy(), np.ones(len(LIVES))
    labels = np.where(x > 6, "old", "young")
    if kind == "weights":
        return sf.fit(TWO, x, weights=w), (w, 3, 2.0)
    if kind == "product":
        members = sf.Mixture(sf.Product({"age": sf.Normal(), "word": sf.Categorical()}), 2)
        return sf.fit(members, {"age": x, "word": labels}), (x, 3, 0.0)
    if kind == "stack":
        return sf.fit(sf.Mixture([sf.Normal(), sf.Laplace()]), x), (x, 3, 0.0)
    return sf.fit(TWO, x), (x, 3, 0.0)


@pytest.mark.parametrize("kind", ["numbers", "weights", "product", "stack"])
def test_standard_errors_of_rows_that_changed_are_refused(kind):
    fit, _ = _changed(kind)
    assert fit.standard_errors["weights"][0] > 0
    fit, (array, place, value) = _changed(kind)
    array[place] = value
    with pytest.raises(sf.SufficeError, match="changed after the fit"):
        fit.standard_errors  # noqa: B018 (computed when asked)
    assert "standard errors are left out" in fit.summary(errors=True)
    assert "ICL" not in str(fit)
    with pytest.raises(sf.SufficeError, match="ICL needs the rows"):
        fit.icl  # noqa: B018 (computed when asked)


# ---- the likelihood of a fit is that of its distribution -------------------------------------------------------------
def test_a_hard_mixture_offers_both_likelihoods_and_says_which_is_which():
    w = np.random.default_rng(3).uniform(0.5, 2, len(LIVES))
    fit = sf.fit(sf.Mixture(sf.Normal(), 2, hard=True), LIVES, weights=w, random_state=0)
    joint = np.stack([fit.distribution.log_prob(LIVES, component=j) for j in range(2)], axis=1)
    np.testing.assert_allclose(fit.classification_log_likelihood, w @ joint.max(axis=1), rtol=1e-10)
    np.testing.assert_allclose(fit.classification_log_likelihood, fit.trace.log_likelihood[-1], rtol=1e-10)
    np.testing.assert_allclose(fit.log_likelihood, w @ fit.distribution.log_prob(LIVES), rtol=1e-10)
    assert fit.classification_log_likelihood < fit.log_likelihood
    page = fit.summary(width=120)
    assert "log-likelihood −" in page
    assert "of rows and components together" in page
    soft = sf.fit(sf.Mixture(sf.Normal(), 2), LIVES, random_state=0)
    joint = np.stack([soft.distribution.log_prob(LIVES, component=j) for j in range(2)], axis=1)
    np.testing.assert_allclose(soft.classification_log_likelihood, joint.max(axis=1).sum(), rtol=1e-10)
    assert "together" not in soft.summary(width=120)
    with pytest.raises(sf.UnsupportedError, match="no hidden components"):
        sf.fit(sf.Normal(), LIVES).classification_log_likelihood  # noqa: B018 (it is asked for)


def test_the_likelihood_of_a_hard_mixture_is_that_of_its_rows():
    w = np.random.default_rng(0).gamma(2.0, size=len(LIVES))
    fit = sf.fit(sf.Mixture(sf.Normal(), 2, hard=True), LIVES, weights=w)
    assert fit.log_likelihood == pytest.approx(w @ fit.distribution.log_prob(LIVES), rel=1e-12)
    assert fit.bic == pytest.approx(5 * np.log(w.sum()) - 2 * fit.log_likelihood)
    assert fit.trace.objective[-1] < fit.log_likelihood - 1
    both = sf.Product({"a": sf.Mixture(sf.Normal(), 2, hard=True), "b": sf.Normal()})
    fit = sf.fit(both, {"a": LIVES, "b": LIVES})
    assert fit.log_likelihood == pytest.approx(fit.distribution.log_prob({"a": LIVES, "b": LIVES}).sum(), rel=1e-12)


# ---- what is refused, and how ----------------------------------------------------------------------------------------
def test_labels_that_are_numbers_of_members_keep_them():
    first = np.where(LIVES < 5.5, 2, 0)
    fit = sf.fit(sf.Mixture(sf.Normal(), 3), LIVES, start=first, max_iter=1)
    assert fit.statistics.count[1] < 1e-6 * len(LIVES)
    assert fit.params["mean"][2] < fit.params["mean"][0]
    words = sf.fit(sf.Mixture(sf.Normal(), 3), LIVES, start=np.where(LIVES < 5.5, 7, 5), max_iter=1)
    assert words.params["mean"][1] < words.params["mean"][0]


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: sf.Mixture(sf.Normal, 2), r"Normal\(\) instead of Normal"),
        (lambda: sf.Mixture(3), "got 3"),
        (lambda: sf.Mixture("ab"), "got 'ab'"),
        (lambda: sf.Mixture([sf.Normal(), sf.Exponential()], floors=1e-3), "floors=0.001"),
        (lambda: sf.Mixture(sf.MultivariateNormal(), 2, floors=-1.0), "floors=-1.0"),
        (lambda: sf.Mixture(sf.Product({"weights": sf.Normal(), "b": sf.Normal()}), 2), "cannot be called 'weights'"),
        (lambda: sf.fit(TWO, LIVES, tol="a"), "tol is a number"),
        (lambda: sf.fit(TWO, LIVES, random_state="a"), "random_state is a seed"),
        (lambda: sf.fit(TWO, LIVES, random_state=-1), "random_state is a seed"),
        (lambda: TRUTH.permuted([0, 0]), "every number from 0 to 1 once"),
        (lambda: TRUTH.permuted([0, -1, 1]), "choose a part instead"),
        (lambda: TRUTH.permuted(sf.align(sf.Mixture([*TRUTH.parts, sf.Normal(20, 1)]), TRUTH)), "choose a part"),
    ],
)
def test_what_cannot_be_is_refused_in_words(make, told):
    with pytest.raises(sf.SufficeError, match=told):
        make()


# ---- members that are equal ------------------------------------------------------------------------------------------
THREE = sf.Mixture([sf.Normal(0, 1), sf.Normal(10, 1), sf.Normal(20, 1)])
APART = THREE.sample(600, random_state=0)


@pytest.mark.parametrize("places", [(5, 20, 5), (0, 15, 15), (5, 5, 5.001)])
def test_members_that_begin_equal_are_told_and_split(places):
    start = sf.Mixture([sf.Normal(m, 4) for m in places])
    fit = sf.fit(sf.Mixture(sf.Normal(), 3), APART, start=start, random_state=0)
    assert "symmetric" in dict(fit.alerts)
    assert fit.log_likelihood == pytest.approx(sf.fit(sf.Mixture(sf.Normal(), 3), APART).log_likelihood, abs=1e-5)
    none = sf.fit(sf.Mixture(sf.Normal(), 3), APART, start=THREE)
    assert "symmetric" not in dict(none.alerts)


def test_members_that_begin_equal_in_several_columns_are_split():
    x = np.stack([APART, APART[::-1] + APART], axis=1)
    start = sf.Mixture([sf.MultivariateNormal([m, m], 30 * np.eye(2)) for m in (3, 20, 3)])
    fit = sf.fit(sf.Mixture(sf.MultivariateNormal(), 3), x, start=start, random_state=0)
    assert "members 0, 2 of the start" in dict(fit.alerts)["symmetric"]
    assert "unidentified" not in dict(fit.alerts)


def test_members_that_end_equal_are_told_wherever_they_stand():
    members = [sf.Normal(5, 1), sf.Normal(0, 1), sf.Normal(5, 1), sf.Exponential(1)]
    stats = sf.Mixture(members).suffstats([0.1, 5.0, 4.0, 1.0] * 9)
    assert "members 0 and 2 are equal" in dict(sf.Mixture(members).alerts(stats))["unidentified"]


# ---- alerts ----------------------------------------------------------------------------------------------------------
def test_alerts_count_rows_and_not_the_sum_of_shares():
    whole, shares = (sf.fit(THREE, APART, weights=np.full(600, w), random_state=0) for w in (1.0, 1 / 600))
    assert not whole.alerts
    assert not shares.alerts
    np.testing.assert_allclose(shares.statistics.rows, whole.statistics.rows, rtol=1e-6)
    few = sf.fit(sf.Mixture(sf.MultivariateNormal(), 5), PLANE[:8], weights=np.full(8, 1 / 8), random_state=0)
    assert {"few rows", "collapsed"} & set(dict(few.alerts))


def test_rows_of_a_member_are_those_of_repeated_and_of_added_rows():
    w = np.arange(600) % 3 + 0.0
    once, again = THREE.suffstats(APART, w), THREE.suffstats(np.repeat(APART, w.astype(int)))
    np.testing.assert_allclose(once.rows, again.rows, rtol=1e-12)
    both = THREE.suffstats(APART[:100], w[:100]) + THREE.suffstats(APART[100:], w[100:])
    np.testing.assert_allclose(both.rows, once.rows, rtol=1e-12)


def test_many_alerts_are_told_in_few():
    x = np.random.default_rng(0).normal(size=(310, 2))
    fit = sf.fit(sf.Mixture(sf.MultivariateNormal(), 100), x, max_iter=3, random_state=0)
    assert len(fit.alerts) < 16
    assert any("more members likewise" in text for _, text in fit.alerts)
    lost = sf.Mixture([sf.Normal(m, 1) for m in (0, 900, 1800, 2700)])
    assert dict(lost.alerts(lost.suffstats(APART)))["empty"].startswith("members 1, 2 and 3 have no rows: their")
    lost = sf.Mixture([sf.Normal(m, 1) for m in range(0, 9000, 900)])
    assert dict(lost.alerts(lost.suffstats(APART)))["empty"].startswith("members 1, 2, 3 and 6 more have no rows")


@pytest.mark.parametrize("name", ["full", "diag", "tied"])
def test_a_member_with_a_weight_near_the_end_of_float64_has_none(name):
    lost = [sf.MultivariateNormal(m, np.eye(2)) for m in ([0, 0], [26.73, 26.73])]
    mixture = sf.Mixture(sf.Mixture(lost).components, weights=[0.5, 0.5])
    mixture = sf.Mixture(sf.MultivariateNormal(mixture.components.mean, mixture.components.cov, name))
    x = np.zeros((50, 2))
    assert 0 < np.exp(mixture.log_prob(x[0]) - 26.73**2) < 1e-290
    stats = mixture.suffstats(x)
    assert stats.count[1] == 0
    assert np.isfinite(stats.members.scatter).all()
    assert mixture.estimate(stats).components.mean[1] == pytest.approx([26.73, 26.73])


def test_mixtures_as_members_may_be_equal():
    inner = [sf.Mixture([sf.Normal(0, 1), sf.Normal(5, 1)], weights=[w, 1 - w]) for w in (0.5, 0.5, 0.3)]
    mixture = sf.Mixture(inner)
    assert "members 0 and 1 are equal" in dict(mixture.alerts(mixture.suffstats(LIVES)))["unidentified"]


# ---- two members made one, and another cut ---------------------------------------------------------------------------
def test_members_that_share_a_heap_are_made_one_and_the_one_with_two_is_cut():
    rng = np.random.default_rng(5)
    heap = np.repeat([0, 1, 2, 3], 50)
    places = rng.normal(size=(200, 2)) + np.array([[0, 0], [30, 0], [0, 30], [0, 50]])[heap]
    half = np.full(50, 0.5)
    shares = np.zeros((200, 4))
    shares[heap == 0, 0] = shares[heap == 0, 2] = half
    shares[heap == 1, 1] = shares[heap >= 2, 3] = 1
    first = next(splitting.moves(shares, places, np.ones(200), np.zeros(200)))
    np.testing.assert_allclose(first.sum(axis=1), 1)
    np.testing.assert_array_equal(first.argmax(axis=1)[heap < 2], heap[heap < 2])
    assert sorted({*first.argmax(axis=1)[heap == 2]} | {*first.argmax(axis=1)[heap == 3]}) == [2, 3]


def test_a_member_of_hardly_any_rows_is_given_those_that_nobody_describes():
    rng = np.random.default_rng(6)
    heap = np.repeat([0, 1, 2], 100)
    places = rng.normal(size=(300, 2)) + np.array([[0, 0], [30, 0], [0, 30]])[heap]
    shares = np.zeros((300, 4))
    shares[np.arange(300), heap] = 1.0
    shares[:3] = [0.6, 0, 0, 0.4]  # the fourth has hardly any rows, and those of the first
    heights = np.where(heap == 2, -20.0, -3.0)
    first, *others = splitting.moves(shares, places, np.ones(300), heights)
    lost = [first, *others][1]
    np.testing.assert_allclose(lost.sum(axis=1), 1)
    np.testing.assert_array_equal(lost.argmax(axis=1)[heap < 2], heap[heap < 2])
    assert (lost[:, 3] > 0.5).sum() == 75  # as many as members have on average


@pytest.mark.parametrize("factor", [2.0**-570, 2.0**660])
def test_moves_are_the_same_in_whatever_unit_rows_are_weighed(factor):
    rng = np.random.default_rng(7)
    places = np.concatenate([rng.normal(size=(200, 2)) * [9, 1], rng.normal(size=(100, 2)) + [[-6, 40], [6, 40]] * 50])
    shares = np.zeros((300, 4))
    shares[np.arange(200), np.arange(200) % 3] = shares[200:, 3] = 1.0  # the last lies in two heaps, others spread more
    found, expected = (list(splitting.moves(shares, places, np.full(300, w), np.arange(300.0))) for w in (factor, 1.0))
    np.testing.assert_array_equal(found, expected)


def test_the_lightest_member_and_its_next_are_made_one_once():
    rng = np.random.default_rng(6)
    heap = np.repeat([0, 1, 2], 100)
    places = rng.normal(size=(300, 2)) + np.array([[0, 0], [30, 0], [0, 30]])[heap]
    shares = np.zeros((300, 4))
    shares[np.arange(300), heap + 1] = 1.0
    shares[:9] = [0.4, 0.6, 0, 0]  # the first, light as it is, shares more with the second than any others do
    shares[100:102] = [0, 0.1, 0.9, 0]
    found = list(splitting.moves(shares, places, np.ones(300), np.zeros(300)))
    partitions = {tuple(np.round(sorted(map(tuple, one.T)), 6).ravel()) for one in found}
    assert len(partitions) == len(found)


def test_the_principal_axis_of_many_columns_is_found_without_their_matrix(monkeypatch):
    rng, sizes, eigh = np.random.default_rng(2), [], np.linalg.eigh
    axis = rng.normal(size=300)
    places = rng.normal(size=(400, 300)) + 2 * rng.choice([-1, 1], size=(400, 1)) * axis / np.linalg.norm(axis) * 3
    mine = rng.uniform(size=400)
    centred = places - mine @ places / mine.sum()
    longest = eigh((centred * mine[:, None]).T @ centred)[0][-1]
    monkeypatch.setattr(np.linalg, "eigh", lambda matrix: (sizes.append(matrix.shape[-1]), eigh(matrix))[1])
    place, spread = splitting.along(mine, places)
    assert max(sizes) <= splitting.WIDE
    assert spread == pytest.approx(longest, rel=1e-3)
    assert mine @ place**2 == pytest.approx(spread, rel=1e-9)


@pytest.mark.parametrize("places", [np.zeros((5, 90)), np.eye(5, 90), np.ones((1, 90))])
def test_the_principal_axis_of_few_rows_of_many_columns(places):
    narrow = places[:, :5]
    for mine in (np.ones(len(places)), np.zeros(len(places))):
        assert splitting.along(mine, places)[1] == pytest.approx(splitting.along(mine, narrow)[1], abs=1e-12)


@pytest.mark.parametrize("kind", [np.float32, np.int64])
def test_scores_of_another_type_lose_no_digits_of_the_weights(kind):
    np.testing.assert_array_equal(plus(np.ones((2, 2), kind), np.log([0.3, 0.7])), 1 + np.log([[0.3, 0.7]] * 2))


@pytest.mark.parametrize("kind", [np.int64, np.float32])
def test_a_floor_of_any_type_holds(kind):
    covs = [
        sf.fit(sf.Mixture(sf.MultivariateNormal(), 2, floors=np.eye(2, dtype=one) * one(4)), PLANE, random_state=0)
        for one in (np.float64, kind)
    ]
    np.testing.assert_array_equal(covs[0].params["cov"], covs[1].params["cov"])
    assert np.linalg.eigvalsh(covs[1].params["cov"]).min() >= 4 * (1 - 1e-12)


def test_members_of_which_only_some_have_a_mean_keep_their_places():
    """A product with labels has one mean less than one with numbers for them."""
    members = [sf.Product({"a": sf.Normal(), "b": kind}) for kind in (sf.Bernoulli(), sf.Categorical(levels=[0, 1]))]
    rng = np.random.default_rng(0)
    rows = {"a": rng.normal(size=60) + 4 * (np.arange(60) % 2), "b": rng.integers(0, 2, 60)}
    learned = sf.fit(sf.Mixture(members), rows, random_state=0).distribution
    kinds = [type(one.blocks["b"]) for one in learned.ordered().parts]
    assert kinds == [sf.Bernoulli, sf.Categorical]


# ---- rows that are far from all others -------------------------------------------------------------------------------


@pytest.mark.parametrize("far", [[[100.0, 100.0]], [[3.0, 95.0], [5.5, 40.0], [100.0, 100.0]]], ids=["one", "three"])
def test_far_rows_do_not_make_more_members_worse_than_fewer(far):
    """A row that nobody else is near gets a member of its own, with an alert, rather than spoil one of the others."""
    x = np.vstack([np.loadtxt(FAITHFUL, delimiter=",", skiprows=1), far])
    fits = [sf.fit(sf.Mixture(sf.MultivariateNormal(), k), x, random_state=0) for k in (1, 2, 3, 4)]
    heights = [one.log_likelihood for one in fits]
    assert heights == sorted(heights)
    assert all("collapsed" in {code for code, _ in one.alerts} for one in fits[1:])
    bulk = fits[2].distribution.predict(x[:272])
    assert len(np.unique(bulk)) == 2  # the two sorts of eruptions


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_a_spike_is_not_worth_its_height(unit):
    """Three nearly equal rows among three hundred: a member on them is higher, by no more than it owes to them."""
    rng = np.random.default_rng(0)
    x = np.vstack([rng.normal(size=(150, 2)), rng.normal(size=(150, 2)) + 4, 2 + 1e-9 * rng.normal(size=(3, 2))])
    spike = np.repeat([0, 1, 2], [150, 150, 3])
    model, weights = sf.Mixture(sf.MultivariateNormal(), 3), np.full(len(x), unit)
    high = sf.fit(model, x, weights=weights, start=spike)
    found = sf.fit(model, x, weights=weights, random_state=0)
    assert high.log_likelihood > found.log_likelihood
    assert not found.alerts
    assert high.log_likelihood - high.distribution.spurious_gain(high.statistics) < found.log_likelihood
