"""KMeans beside scikit-learn's."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_matrix, csc_array, csr_array
from sklearn.cluster import KMeans as Theirs
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning

import suffice as sf
from suffice.em.init.k_means import Centres
from suffice.engines import local
from suffice.statistics.weights import Weights

IRIS = load_iris().data
BLOBS, WHO = make_blobs(600, centers=5, n_features=3, random_state=0)


@pytest.mark.parametrize("tol", [0.0, 1e-4, 1e-2])
@pytest.mark.parametrize("X", [IRIS, BLOBS, BLOBS + 1e6], ids=["iris", "blobs", "far"])
def test_the_same_start_gives_the_same_answer(X, tol):
    first = X[[3, 50, 90, 120]]
    ours = sf.KMeans(4, init=first, tol=tol).fit(X)
    theirs = Theirs(4, init=first, tol=tol).fit(X)
    assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-9)
    assert_array_equal(ours.labels_, theirs.labels_)
    assert_allclose(ours.inertia_, theirs.inertia_, rtol=1e-7)
    assert ours.n_iter_ == theirs.n_iter_
    assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-2 if X.max() > 1e5 else 1e-9)
    assert_allclose(ours.score(X), theirs.score(X), rtol=1e-7)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.labels_.dtype == theirs.labels_.dtype


def test_halves_on_two_threads_have_the_bits_of_halves_on_one(monkeypatch):
    X, found = np.random.default_rng(0).normal(size=(4000, 16)), []
    seen, partition = set(), local.partition

    def noticed(*shape):
        seen.add(len(partition(*shape)))
        return partition(*shape)

    monkeypatch.setattr(local, "partition", noticed)
    for threads in ("1", "2"):
        monkeypatch.setenv("SUFFICE_THREADS", threads)
        model = sf.KMeans(100, init=X[:100], max_iter=3, tol=0.0)
        found.append(model.fit(X).cluster_centers_.tobytes() + model.predict(X).tobytes())
    assert found[0] == found[1]
    assert 2 in seen
    assert_array_equal(model.predict(X), model.transform(X).argmin(axis=1))


def test_the_constructor_takes_what_theirs_takes():
    assert sf.KMeans().get_params() == Theirs().get_params()


@pytest.mark.parametrize("how", ["k-means++", "random"])
def test_starts_find_the_clusters(how):
    best = Theirs(5, n_init=20, random_state=0).fit(BLOBS).inertia_
    for seed in range(5):
        model = sf.KMeans(5, init=how, n_init=10, random_state=seed).fit(BLOBS)
        assert_allclose(model.inertia_, best, rtol=1e-6)


@pytest.mark.parametrize("how", ["k-means++", "random"])
def test_a_weight_is_a_repetition_and_order_does_not_matter(how):
    weights = np.random.default_rng(1).integers(0, 5, len(BLOBS))
    weighted = sf.KMeans(5, init=how, random_state=2).fit(BLOBS, sample_weight=weights)
    rows = np.repeat(np.arange(len(BLOBS)), weights)
    repeated = sf.KMeans(5, init=how, random_state=2).fit(BLOBS[np.random.default_rng(0).permutation(rows)])
    assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, rtol=1e-10)
    assert_allclose(weighted.inertia_, repeated.inertia_, rtol=1e-10)
    assert weighted.n_iter_ == repeated.n_iter_


def test_empty_centres_move_to_the_farthest_rows():
    X = np.array([[0.0, 0.0], [0.5, 0.0], [0.5, 1.0], [1.0, 1.0]])
    model = sf.KMeans(2, init=np.array([[0.5, 0.5], [3.0, 3.0]])).fit(X)
    assert_allclose(model.inertia_, 0.25)
    assert_allclose(np.sort(model.cluster_centers_[:, 0]), [0.25, 0.75])
    for seed in range(5):
        far = np.random.default_rng(seed).normal(size=(6, 3)) + 100
        assert len(np.unique(sf.KMeans(6, init=far).fit(BLOBS).labels_)) == 6


def test_passes_never_raise_the_inertia():
    rng = np.random.default_rng(0)
    for seed in range(20):
        X = rng.normal(size=(50, 2)).round(1)
        first = Centres(rng.normal(size=(8, 2)) * 3)
        path = first.run_em(X, Weights.of(rng.random(50), 50), 100)
        assert (np.diff(path.trace.objective) >= -1e-12).all(), seed
        assert path.converged


def test_fewer_distinct_rows_than_centres_warn():
    X = np.repeat([[0.0, 1.0], [2.0, 3.0]], 5, axis=0)
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(2\)"):
        model = sf.KMeans(3, random_state=0).fit(X)
    assert model.inertia_ == 0
    with pytest.raises(ValueError, match=r"n_samples=10 should be >= n_clusters=11"):
        sf.KMeans(11).fit(X)


WORDS = np.random.default_rng(0).poisson(0.1, (400, 30)) * np.linspace(0.5, 2.0, 30)


@pytest.mark.parametrize("kind", [csr_array, csc_array, coo_matrix])
@pytest.mark.parametrize("weights", [None, np.linspace(0, 2, 400)], ids=["even", "weighted"])
def test_sparse_rows_give_the_answers_of_dense_ones(kind, weights):
    rows, few = kind(WORDS), WORDS[:9] * 1.1
    ours, dense = (sf.KMeans(5, init=WORDS[:5]).fit(X, sample_weight=weights) for X in (rows, WORDS))
    theirs = Theirs(5, init=WORDS[:5]).fit(rows, sample_weight=weights)
    assert_array_equal(ours.labels_, theirs.labels_)
    assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-13)
    for name in ("inertia_", "cluster_centers_", "n_iter_"):
        assert_allclose(getattr(ours, name), getattr(dense, name), rtol=1e-12, atol=1e-13)
    assert_array_equal(ours.predict(kind(few)), dense.predict(few))
    assert_allclose(ours.transform(kind(few)), dense.transform(few), atol=1e-12)
    assert_allclose(ours.score(kind(few)), dense.score(few), rtol=1e-12)


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_sparse_starts_depend_on_neither_order_nor_repetition(init):
    rng = np.random.default_rng(1)
    times = rng.integers(0, 4, len(WORDS))
    again = rng.permutation(np.repeat(np.arange(len(WORDS)), times))
    weighted = sf.KMeans(6, init=init, random_state=3).fit(csr_array(WORDS), sample_weight=times)
    repeated = sf.KMeans(6, init=init, random_state=3).fit(csr_array(WORDS[again]))
    assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, atol=1e-12)
    theirs = min(Theirs(6, random_state=seed).fit(WORDS, sample_weight=times).inertia_ for seed in range(5))
    assert weighted.inertia_ <= 1.1 * theirs


def test_sparse_cells_in_two_parts_or_kept_as_zero_change_nothing():
    plain = csr_array(np.array([[1.0, 0.0], [0.0, 3.0], [1.5, 0.0], [0.0, 2.5], [0.0, 0.0]]))
    values, places = [0.25, 0.75, 3.0, 0.0, 1.5, 2.5], [0, 0, 1, 0, 0, 1]
    odd = csr_array((values, places, [0, 2, 4, 5, 6, 6]), shape=(5, 2))
    ours, theirs = (sf.KMeans(2, random_state=0).fit(X) for X in (odd, plain))
    assert_array_equal(ours.labels_, theirs.labels_)
    assert_allclose(ours.cluster_centers_, theirs.cluster_centers_)
    assert odd.nnz == 6  # what was given is as it was


def test_sparse_rows_may_be_fewer_than_centres_and_single():
    same = csr_array(np.repeat(np.eye(3, 2000, dtype=np.float32), 5, axis=0))
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(3\)"):
        model = sf.KMeans(4, random_state=0).fit(same)
    assert model.inertia_ == 0
    assert model.cluster_centers_.dtype == model.transform(same).dtype == np.float32


def test_functions_and_arrays_give_the_first_centres():
    asked = []

    def first(X, n_clusters, random_state):
        asked.append(random_state.randint(10**6))
        return X[:n_clusters]

    model = sf.KMeans(3, init=first, n_init=4, random_state=0).fit(IRIS)
    assert len(set(asked)) == 4
    assert_allclose(model.inertia_, sf.KMeans(3, init=IRIS[:3]).fit(IRIS).inertia_)
    with pytest.warns(RuntimeWarning, match="performing only one init"):
        sf.KMeans(3, init=IRIS[:3], n_init=2).fit(IRIS)
    with pytest.raises(ValueError, match=r"initial centers \(2, 4\) does not match the number of clusters 3"):
        sf.KMeans(3, init=IRIS[:2]).fit(IRIS)
    with pytest.raises(ValueError, match="number of features of the data 4"):
        sf.KMeans(3, init=IRIS[:3, :2]).fit(IRIS)


def test_transforms_are_named_columns():
    frame = pd.DataFrame(IRIS, columns=list("abcd"))
    model = sf.KMeans(3, random_state=0).set_output(transform="pandas").fit(frame)
    assert model.transform(frame).columns.tolist() == ["kmeans0", "kmeans1", "kmeans2"]
    assert model.get_feature_names_out().tolist() == ["kmeans0", "kmeans1", "kmeans2"]
    assert_allclose(model.fit_transform(frame).to_numpy().min(axis=1) ** 2 @ np.ones(150), model.inertia_)


def test_both_algorithms_are_one(capsys):
    lloyd = sf.KMeans(3, random_state=0, verbose=1).fit(IRIS)
    elkan = sf.KMeans(3, random_state=0, algorithm="elkan").fit(IRIS)
    assert_array_equal(lloyd.labels_, elkan.labels_)
    told = capsys.readouterr().out
    assert "Iteration 0, inertia" in told
    assert "Converged at iteration" in told
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sf.KMeans(1).fit(IRIS)


def test_large_problems_begin_on_a_part():
    X, _ = make_blobs(60_000, centers=6, n_features=4, cluster_std=2.0, random_state=1)
    ours = sf.KMeans(6, random_state=0).fit(X)
    assert ours.inertia_ <= Theirs(6, n_init=3, random_state=0).fit(X).inertia_ * 1.001


def test_an_interrupt_ends_the_starts_and_is_reported(monkeypatch):
    gather, seen = Centres.gather_rows, []

    def interrupted(self, rows, weights=None):
        seen.append(rows)
        if len(seen) == stop:
            raise KeyboardInterrupt
        return gather(self, rows, weights)

    monkeypatch.setattr(Centres, "gather_rows", interrupted)
    stop = 0
    options = {"init": "random", "tol": 0.0, "random_state": 0}
    alone = sf.KMeans(5, n_init=1, **options).fit(BLOBS)
    stop, seen = len(seen), []  # the first pass of the second run, instead of the last of all
    with pytest.warns(ConvergenceWarning, match="interrupted after 1 of 9 starts") as told:
        several = sf.KMeans(5, n_init=9, **options).fit(BLOBS)
    assert told[0].filename == __file__
    assert_array_equal(several.cluster_centers_, alone.cluster_centers_)
    stop, seen = 3, []
    with pytest.raises(KeyboardInterrupt):  # while the first start is drawn
        sf.KMeans(5, random_state=0).fit(BLOBS)


@pytest.mark.parametrize("centre", [0.0, 7.0, 1e6])
def test_one_centre_rests_in_whatever_unit(centre):
    X = BLOBS - BLOBS.mean(axis=0) + centre
    plain = sf.KMeans(1, tol=0.0, random_state=0).fit(X)
    assert plain.n_iter_ < 5
    for factor in (2.0**-300, 2.0**300):
        scaled = sf.KMeans(1, tol=0.0, random_state=0).fit(factor * X)
        assert scaled.n_iter_ == plain.n_iter_
        assert_allclose(scaled.cluster_centers_ / factor, plain.cluster_centers_, rtol=1e-14, atol=1e-14)


def test_labels_of_single_precision_are_those_that_predict_gives():
    """Centres are shown in the precision of the rows: rows next to the middle belong to what is shown."""
    rng = np.random.default_rng(0)
    heaps = np.concatenate([rng.random(50) - 1.5, rng.random(50) + 0.5]) * 3
    heaps -= (heaps[:50].mean() + heaps[50:].mean()) / 2  # the middle is near 0, where numbers lie close together
    X = np.concatenate([heaps, np.linspace(-2e-7, 2e-7, 5000)]).astype(np.float32)[:, None]
    counted = np.repeat([1.0, 0.0], [100, 5000])
    model = sf.KMeans(2, init=np.array([[-2.0], [2.0]]), n_init=1).fit(X, sample_weight=counted)
    assert model.cluster_centers_.dtype == np.float32
    assert_array_equal(model.labels_, model.predict(X))
    assert model.inertia_ == pytest.approx(-model.score(X, sample_weight=counted), rel=1e-15)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("called", [False, True])
def test_centres_to_begin_at_are_numbers(value, called):
    first = np.array([[0.0, 0.0], [1.0, value]])
    init = (lambda *_, **__: first) if called else first
    with pytest.raises(ValueError, match=f"contain {value}: centre 1 has it in column 1"):
        sf.KMeans(n_clusters=2, init=init, n_init=1).fit(np.arange(20.0).reshape(10, 2))


def test_rows_of_more_columns_than_rows_rest_at_a_fixed_point_of_their_own_space():
    """The search runs in the span of the rows; what it finds is at rest among all columns, too."""
    x = np.random.default_rng(0).normal(size=(30, 200)) + 1e3 + 3 * np.repeat(np.eye(3), 10, axis=0) @ np.ones((3, 200))
    ours = sf.KMeans(3, random_state=0).fit(x)
    again = sf.KMeans(3, init=ours.cluster_centers_).fit(x)
    np.testing.assert_array_equal(again.labels_, ours.labels_)
    means = [x[ours.labels_ == j].mean(axis=0) for j in range(3)]
    np.testing.assert_allclose(ours.cluster_centers_, means, rtol=1e-13)
    np.testing.assert_allclose(ours.inertia_, sum(((x[ours.labels_ == j] - means[j]) ** 2).sum() for j in range(3)))
