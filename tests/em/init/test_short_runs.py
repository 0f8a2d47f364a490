"""Short runs: over packed sums they are the runs of the mixture itself, which makes those that cannot be."""

from dataclasses import replace

import numpy as np
import pytest

import suffice as sf
from suffice.em.init import short_runs as courses
from suffice.em.init.packed_gaussians import unpacked
from suffice.em.init.partitions import soften_labels
from suffice.em.init.short_runs import ShortRuns, tag_assignments
from suffice.em.init.starts import floors_of
from suffice.em.loop import run_em
from suffice.em.training import TrainingData
from suffice.statistics.weights import Weights


def blobs(n=400, d=3, k=3, seed=0):
    rng = np.random.default_rng(seed)
    who = rng.integers(k, size=n)
    places = 4 * rng.normal(size=(k, d))
    return (places[who] + rng.normal(size=(n, d)) @ rng.normal(size=(d, d))) * np.logspace(-3, 3, d) + 50, who


def begun(x, k, weights=None, floors="measured", structure="full"):
    mixture = sf.Mixture(sf.MultivariateNormal(structure=structure), k).for_data(x)
    every = Weights.of(weights, len(x))
    floors = floors_of(mixture, x, every) if floors == "measured" else floors
    return replace(mixture, floors=floors), every


@pytest.mark.parametrize("kernels", ["reference", "compiled"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("floors", ["measured", None, 1e-6])
def test_a_run_over_packed_sums_is_that_of_the_mixture(monkeypatch, kernels, weighted, floors):
    monkeypatch.setenv("SUFFICE_KERNELS", kernels)
    x, who = blobs()
    weights = np.random.default_rng(1).uniform(0.2, 3, len(x)) if weighted else None
    model, every = begun(x, 3, weights, floors)
    course = ShortRuns(model, x, every, None)
    assert course.packed is not None
    shares = soften_labels(who, 3)
    packed = course.run_from(shares, None, 12, 0.0, accelerate=False)
    found = unpacked(packed)
    assert found.robust_objective == pytest.approx(packed.robust_objective, rel=1e-12)
    first = tag_assignments(model, x, shares * every.dense(), None)
    slow = run_em(first, TrainingData(x, every), max_iter=12, tol=0.0, accelerate=False, brief=True)
    np.testing.assert_allclose(found.trace.objective, slow.trace.objective, rtol=1e-11)
    assert found.distribution.distance(slow.distribution) < 1e-8
    np.testing.assert_allclose(found.statistics.count, slow.statistics.count, rtol=1e-9)
    np.testing.assert_allclose(found.statistics.components.mean, slow.statistics.components.mean, rtol=1e-9)
    np.testing.assert_allclose(found.statistics.components.scatter, slow.statistics.components.scatter, rtol=1e-6)
    assert found.statistics.entropy[0] == pytest.approx(slow.statistics.entropy[0], rel=1e-9)
    assert found.statistics.solid == pytest.approx(slow.statistics.solid)
    assert found.robust_objective == pytest.approx(slow.robust_objective)
    for last in (packed, found):
        further = course.run_em(last.distribution, 5, 0.0)
        assert further.trace.objective[0] == pytest.approx(found.trace.objective[-1], rel=1e-12)
        assert (np.diff(further.trace.objective) >= 0).all() or floors == 1e-6  # a ridge lowers it


STRUCTURES = ["EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV"]


@pytest.mark.parametrize(
    ("structure", "floors"),
    [(name, "measured") for name in STRUCTURES] + [(name, 1e-6) for name in ("diag", "spherical", "tied")],
)
def test_a_structure_has_its_own_step_over_packed_sums(structure, floors):
    x, who = blobs(d=2, seed=4)
    x = (x - 50) * [1e3, 1e-3]
    model, every = begun(x, 3, None, floors, structure)
    course, shares = ShortRuns(model, x, every, None), soften_labels(who, 3)
    found = unpacked(course.run_from(shares, None, 10, 0.0, accelerate=False))
    first, data = tag_assignments(model, x, shares, None), TrainingData(x, every)
    slow = run_em(first, data, max_iter=10, tol=0.0, accelerate=False, brief=True)
    assert course.packed is not None
    np.testing.assert_allclose(found.trace.objective[-1], slow.trace.objective[-1], rtol=1e-7)
    assert found.distribution.components.form.holds(np.asarray(found.distribution.components.cov))
    assert found.robust_objective == pytest.approx(slow.robust_objective, rel=1e-7)


def test_accelerated_steps_over_packed_sums_need_fewer_passes():
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.normal(size=(500, 2)), rng.normal(size=(500, 2)) * 1.5 + [1.5, 0]])
    model, every = begun(x, 2)
    course, shares = ShortRuns(model, x, every, None), soften_labels((x[:, 0] > 0.7).astype(int), 2)
    plain, fast = (course.run_from(shares, None, 300, 1e-9, accelerate=way) for way in (False, True))
    assert fast.converged
    assert len(fast.trace.objective) < len(plain.trace.objective) / 2
    assert fast.trace.objective[-1] >= plain.trace.objective[-1] - 1e-6


@pytest.mark.parametrize(
    "change",
    [
        lambda mixture: replace(mixture, hard=True),
        lambda mixture: mixture.fix("weights"),
        lambda mixture: replace(mixture, components=mixture.components.fix("mean")),
        lambda mixture: replace(mixture, components=replace(mixture.components, structure="identity")),
        lambda mixture: replace(mixture, components=mixture.components.tie("cov")),
    ],
)
def test_a_restricted_mixture_runs_its_own_em(change):
    x, who = blobs()
    model, every = begun(x, 3)
    course = ShortRuns(change(model), x, every, None)
    assert course.packed is None
    found = course.run_from(soften_labels(who, 3), None, 5, 0.0)
    assert found.trace.objective[-1] > found.trace.objective[0]


def test_rows_that_are_not_complete_have_no_track():
    x, _ = blobs()
    model, every = begun(x, 3)
    for value in (np.nan, np.inf):
        holed = x.copy()
        holed[3, 1] = value
        assert ShortRuns(model, holed, every, None).packed is None
    flat = x.copy()
    flat[:, 1] = 5.0
    assert ShortRuns(model, flat, every, None).packed is None


@pytest.mark.parametrize("factor", [1e-155, 1e305])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_column_whose_squares_are_out_of_range_has_no_track(factor):
    x, _ = blobs()
    model, every = begun(x, 3)
    x = (x - x.mean(axis=0)) / x.std(axis=0) * [1, factor, 1]
    x[:, 1] += 5 * factor
    assert ShortRuns(model, x, every, None).packed is None


def test_a_run_that_loses_a_component_to_its_floor_is_made_by_the_mixture(monkeypatch):
    x, who = blobs()
    x = np.concatenate([x, np.tile(x[:1], (40, 1))])  # forty times the same row: a component shrinks to it
    owners = np.concatenate([who % 2, np.full(40, 2)])
    model, every = begun(x, 3)
    calls = []
    real = run_em

    def noted(first, *arguments, **options):
        calls.append(type(first).__name__)
        return real(first, *arguments, **options)

    monkeypatch.setattr(courses, "run_em", noted)
    found = ShortRuns(model, x, every, None).run_from(soften_labels(owners, 3, 1e-3), None, 40, 0.0)
    assert calls[-1] == "Mixture"
    assert found.distribution.is_spurious(found.statistics)
    assert np.isfinite(found.trace.objective).all()
