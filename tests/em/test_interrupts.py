"""Ctrl-C while a mixture is fitted: the best so far is kept, or nothing was known yet."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import suffice as sf
from suffice.em.init import packed_columns, packed_gaussians, partitions, short_runs, starts

TRUTH = sf.Mixture([sf.Normal(4, 0.8), sf.Normal(8, 2)], weights=[0.3, 0.7])


LIVES = TRUTH.sample(600, random_state=3)


TWO = sf.Mixture(sf.Normal(), 2)


PLANE = np.random.default_rng(1).normal(size=(300, 2)) * [1, 3] + np.repeat([[0, 0], [9, 1]], 150, axis=0)


# ---- interrupts ------------------------------------------------------------------------------------------------------
def by_passes(monkeypatch):
    """Let short runs be made pass by pass, and not in a loop of a kernel."""
    monkeypatch.setattr(packed_columns.ColumnRows, "of", lambda *_: None)


def interrupting(monkeypatch, where):
    """Let pass number ``where`` over rows be interrupted, and count the passes."""
    by_passes(monkeypatch)
    seen = []

    def counting(gather):
        def suffstats(self, x, weights=None):
            seen.append(len(x))
            if len(seen) == where:
                raise KeyboardInterrupt
            return gather(self, x, weights)

        return suffstats

    for kind in (sf.Mixture, packed_gaussians.PackedMixture):
        monkeypatch.setattr(kind, "gather_rows", counting(kind.gather_rows))
    return seen


@pytest.mark.parametrize("where", [4, 60])
def test_an_interrupt_while_a_start_is_sought_ends_the_fit(monkeypatch, where):
    seen = interrupting(monkeypatch, where)
    fit = sf.fit(sf.Mixture(sf.Normal(), 3), LIVES, random_state=0, n_init=5)
    assert len(seen) == where + 1
    assert not fit.converged
    assert "interrupted" in dict(fit.alerts)["not converged"]
    assert fit.log_likelihood == pytest.approx(fit.distribution.log_prob(LIVES).sum(), rel=1e-12)


@pytest.mark.parametrize("where", [2, 13])
def test_an_interrupt_in_a_loop_of_a_kernel_keeps_the_best_run(monkeypatch, where):
    ends, run = [], packed_columns.ColumnRows.run

    def counting(*given, **options):
        if len(ends) + 1 == where:
            raise KeyboardInterrupt
        ends.append(run(*given, **options))
        return ends[-1]

    monkeypatch.setattr(packed_columns.ColumnRows, "run", counting)
    fit = sf.fit(sf.Mixture(sf.Normal(), 3), LIVES, random_state=0, n_init=5)
    assert "interrupted" in dict(fit.alerts)["not converged"]
    best = max(ends, key=lambda path: path.robust_objective)
    assert fit.log_likelihood == pytest.approx(best.objective, rel=1e-12)


def test_an_interrupt_keeps_what_two_components_made_one_led_to(monkeypatch):
    by_passes(monkeypatch)
    rows = np.random.default_rng(0).normal(size=200) + np.repeat([0, 20, 40, 60], 50)
    run, moves, paths, moved = short_runs.run_em, starts.moves, [], []

    def badly(partitions, *_):  # the first two share a heap, and the last has two
        heap = np.argsort(np.argsort(partitions.places[:, 0])) // 50
        return np.array([[0, 1], [2, 2], [3, 3], [3, 3]])[heap, np.arange(200) % 2]

    def counted(*given):
        moved.append(len(paths))
        return moves(*given)

    def interrupted(*given, **options):
        path = run(*given, **options)
        gained = moved and max(paths[moved[0] :], default=-np.inf) > max(paths[: moved[0]])
        paths.append(path.objective)
        return replace(path, interrupted=True) if gained else path

    for place, name, stub in (
        (partitions.Partitions, "draw", badly),
        (short_runs, "run_em", interrupted),
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
    seen = interrupting(monkeypatch, one + 1)  # the first pass of the second run; starts run on their track
    with pytest.warns(ConvergenceWarning, match="interrupted after 1 of 50 starts") as told:
        several = sf.GaussianMixture(3, n_init=50, random_state=0).fit(PLANE)
    assert told[0].filename == __file__
    assert len(seen) == one + 1
    np.testing.assert_array_equal(several.means_, alone.means_)
