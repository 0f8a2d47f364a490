"""Short runs over numbers and levels: the loop of a kernel makes the passes of the mixture itself."""

from dataclasses import replace

import numpy as np
import pytest

import suffice as sf
from suffice.em.init.packed_gaussians import unpacked
from suffice.em.init.partitions import soften_labels
from suffice.em.init.short_runs import ShortRuns, tag_assignments
from suffice.em.init.starts import floors_of
from suffice.em.loop import run_em
from suffice.em.training import TrainingData
from suffice.statistics.weights import Weights
from suffice.tables.streams import read


def table(n=300, holes=0.0, seed=0):
    rng = np.random.default_rng(seed)
    who = rng.integers(3, size=n)
    numbers = rng.normal(size=(n, 2)) * [1, 1e-3] + np.outer(who, [3, 4e-3]) + [0, 5]
    yes, kind = (rng.random(n) < 0.2 + 0.3 * who).astype(float), (who + rng.integers(3, size=n)) % 4
    some = rng.random((4, n)) < holes
    numbers[some[:2].T], yes[some[2]] = np.nan, np.nan
    kinds = [None if hole else "abcd"[one] for one, hole in zip(kind, some[3], strict=True)]
    other = [str(one) for one in (who + rng.integers(2, size=n)).tolist()]
    return {"a": numbers[:, 0], "b": numbers[:, 1], "yes": yes, "kind": kinds, "other": other}, who


PROTOTYPES = {
    "mixed": sf.Product({("a", "b"): sf.Normal(), "yes": sf.Bernoulli(), "kind": sf.Categorical()}),
    "numbers": sf.Product({("a", "b"): sf.Normal()}),
    "labels": sf.Product({("kind", "other"): sf.Categorical()}),
    "flags": sf.Product({"yes": sf.Bernoulli(), "kind": sf.Categorical(), "other": sf.Categorical()}),
}


def begun(name, holes=0.0, *, weighted=False, k=3, seed=0):
    data, who = table(holes=holes, seed=seed)
    prototype = sf.Mixture(PROTOTYPES[name], k)
    rows = read(prototype, {key: data[key] for key in prototype.components.column_names})
    mixture = prototype.for_data(rows)
    weights = Weights.of(np.random.default_rng(1).uniform(0.2, 3, len(who)) if weighted else None, len(who))
    return replace(mixture, floors=floors_of(mixture, rows, weights)), rows, weights, who


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("holes", [0.0, 0.1])
@pytest.mark.parametrize("name", list(PROTOTYPES))
@pytest.mark.parametrize("k", [3, 9])
def test_a_run_of_the_kernel_is_that_of_the_mixture(name, holes, weighted, k):
    model, rows, weights, who = begun(name, holes, weighted=weighted, k=k)
    runs = ShortRuns(model, rows, weights, None)
    owners = np.where(np.arange(len(who)) % 2, who, np.arange(len(who)) % k)
    shares = soften_labels(owners, k, 0.2)
    packed = runs.run_from(shares, None, 7, 0.0, accelerate=False)
    assert packed.statistics is None  # it was no run of the mixture
    first = tag_assignments(model, rows, shares * weights.dense(), None)
    data = TrainingData(model.preprocess(rows), weights)
    slow = run_em(first, data, max_iter=7, tol=0.0, accelerate=False, brief=True)
    found = unpacked(packed)
    np.testing.assert_allclose(found.trace.objective, slow.trace.objective, rtol=1e-10)
    np.testing.assert_allclose(found.trace.entropy, slow.trace.entropy, rtol=1e-7)
    assert found.distribution.distance(slow.distribution) < 1e-7
    assert found.robust_objective == pytest.approx(slow.robust_objective, rel=1e-9)
    assert packed.robust_objective == pytest.approx(slow.robust_objective, rel=1e-9)
    np.testing.assert_allclose(found.statistics.count, slow.statistics.count, rtol=1e-6, atol=1e-9)
    further = runs.run_em(packed.distribution, 3, 0.0)
    assert further.trace.objective[0] == pytest.approx(found.trace.objective[-1], rel=1e-12)


def test_leaps_never_lower_the_objective_and_save_passes():
    model, rows, weights, _ = begun("mixed", seed=4)
    runs, shares = ShortRuns(model, rows, weights, None), np.random.default_rng(0).dirichlet(np.ones(3), size=300)
    plain, fast = (runs.run_from(shares, None, 600, 1e-9, accelerate=way) for way in (False, True))
    assert fast.converged
    assert (np.diff(fast.trace.objective) >= 0).all()
    assert fast.trace.passes < 0.7 * plain.trace.passes
    assert fast.objective >= plain.objective - 1e-6


@pytest.mark.parametrize(
    "change",
    [
        lambda mixture: replace(mixture, hard=True),
        lambda mixture: mixture.fix("weights"),
    ],
)
def test_a_mixture_that_is_restricted_runs_by_itself(change):
    model, rows, weights, who = begun("numbers")
    runs = ShortRuns(change(model), rows, weights, None)
    assert runs.columns is None
    found = runs.run_from(soften_labels(who, 3), None, 5, 0.0)
    assert found.trace.objective[-1] > found.trace.objective[0]


@pytest.mark.parametrize("component", [sf.Normal(std=1.0).fix("std"), sf.Normal().tie("std"), sf.Laplace()])
def test_other_m_steps_have_no_loop_of_the_kernel(component):
    x = np.random.default_rng(0).normal(size=50)
    mixture = sf.Mixture(component, 2)
    rows = read(mixture, x)
    assert ShortRuns(mixture.for_data(rows), rows, Weights(50), None).columns is None


def test_a_run_that_shrinks_to_its_floor_is_made_by_the_mixture():
    x = np.concatenate([np.random.default_rng(0).normal(size=200), np.full(60, 1.25)])
    mixture = sf.Mixture(sf.Normal(), 2)
    rows = read(mixture, x)
    model = mixture.for_data(rows)
    model = replace(model, floors=floors_of(model, rows, Weights(260)))
    runs = ShortRuns(model, rows, Weights(260), None)
    found = runs.run_from(soften_labels((x == 1.25).astype(int), 2, 1e-6), None, 60, 0.0)
    assert found.statistics is not None
    assert found.distribution.is_spurious(found.statistics)
