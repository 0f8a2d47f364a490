"""Choosing a mixture: the table, the criteria, what never wins, and that workers change nothing."""

import os
from dataclasses import replace

import numpy as np
import pytest
from joblib import parallel_config

import suffice as sf
from suffice.em.restarts import robust_objective_of
from suffice.selection import search, select, trials
from suffice.selection.table import Table


def two_groups(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(0, 1, n // 3), rng.normal(6, 1.5, n - n // 3)])


def test_the_table_and_the_best():
    x = two_groups()
    found = sf.select(sf.Normal(), x, n_components=range(1, 5), random_state=0)
    assert found.best.distribution.n == 2
    assert sorted(found.table["n_components"]) == [1, 2, 3, 4]
    for row, fit in zip(found.table, found.fits, strict=True):
        entropy = float(np.sum(fit.statistics.entropy))
        proba = fit.distribution.predict_proba(x)
        assert entropy == pytest.approx(-np.sum(proba * np.log(np.maximum(proba, 1e-300))), abs=1e-6)
        assert row["bic"] == pytest.approx(fit.n_parameters * np.log(len(x)) - 2 * fit.log_likelihood)
        assert row["entropy"] == entropy
        assert row["icl"] == pytest.approx(row["bic"] - 2 * np.log(proba.max(axis=1)).sum())
        assert fit.icl == row["icl"]
        assert row["aic"] == pytest.approx(2 * fit.n_parameters - 2 * fit.log_likelihood)
        assert row["log_likelihood"] == pytest.approx(float(np.sum(fit.log_prob(x))))
    heights = {row["n_components"]: row["log_likelihood"] for row in found.table}
    assert heights[1] < heights[2] <= heights[3] + 1e-6
    assert "2 × Normal by BIC, of 4 candidates" in repr(found)


def test_families_are_compared():
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.gamma(2.0, 1.0, 300), rng.gamma(60.0, 0.5, 200)])
    found = sf.select(sf.Normal(), x, n_components=[1, 2], families=[sf.Gamma(), sf.LogNormal()], random_state=0)
    assert len(found.table) == 6
    assert (found.table[0]["family"], found.table[0]["n_components"]) == ("Gamma", 2)
    assert "Gamma" in repr(found)


def test_a_family_that_is_named_twice_is_fitted_once():
    x = two_groups(100, 1)
    found = sf.select(sf.Normal(), x, n_components=[1, 2], families=[sf.Normal(), sf.Laplace()], random_state=0)
    assert sorted((row["family"], row["n_components"]) for row in found.table) == [
        *(("Laplace", 1), ("Laplace", 2), ("Normal", 1), ("Normal", 2)),
    ]


def test_held_out_rows_are_not_fitted():
    x = two_groups(200, 2)
    found = sf.select(sf.Normal(), x, n_components=[1, 2, 5], criterion="held_out", random_state=0)
    rows = {row["n_components"]: row for row in found.table}
    assert found.table[0]["held_out"] == max(row["held_out"] for row in found.table)
    assert rows[2]["held_out"] > rows[1]["held_out"]
    for row in found.table:  # rows that were not seen are described worse than rows that were
        assert row["held_out"] < row["log_likelihood"] / len(x)
    once = sf.select(sf.Normal(), x, n_components=2, holdout=0.25, random_state=0)
    assert np.isfinite(once.table[0]["held_out"])


def test_weights_count_as_repetition():
    x = two_groups(120, 3)
    w = np.random.default_rng(4).integers(1, 4, len(x))
    once = sf.select(sf.Normal(), x, n_components=[1, 2], weights=w.astype(float), random_state=0)
    many = sf.select(sf.Normal(), np.repeat(x, w), n_components=[1, 2], random_state=0)
    np.testing.assert_allclose(once.table["bic"], many.table["bic"], rtol=1e-6)


def test_a_spurious_optimum_never_wins():
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.normal(0, 1, 60), np.full(4, 0.31)])  # ties that a narrow component would love
    found = sf.select(sf.Normal(), x, n_components=[1, 2], random_state=0)
    assert not found.table[0]["spurious"]
    std = found.best.params["std"]
    assert std.min() > 1e-3 * x.std()


def test_only_spurious_candidates_are_marked():
    found = sf.select(sf.Normal(), [1.0, 1.0, 5.0, 5.0], n_components=[2], random_state=0)
    assert found.table[0]["spurious"]
    assert "spurious" in dict(found.alerts)
    assert "spurious" in repr(found)


def test_workers_change_nothing(monkeypatch):
    x = np.random.default_rng(6).normal(size=(80, 2)) + np.repeat([[0, 0], [4, 4]], 40, axis=0)
    options = {"n_components": [1, 2, 3], "structures": ["EII", "VVV"], "random_state": 3}
    alone = sf.select(sf.MultivariateNormal(), x, n_jobs=1, **options)
    monkeypatch.setattr(search, "WORTH", 0.0)
    together = sf.select(sf.MultivariateNormal(), x, n_jobs=2, **options)
    assert [row["log_likelihood"] for row in together.table] == [row["log_likelihood"] for row in alone.table]
    assert together.best.distribution == alone.best.distribution
    assert np.isfinite(together.best.standard_errors["mean"]).all()  # the rows are known here too


def test_interrupted_it_returns_what_is_there(monkeypatch):
    usual = search.searched

    def stopping(group):
        if group.candidates[0].n == 3:
            raise KeyboardInterrupt
        return usual(group)

    monkeypatch.setattr(search, "searched", stopping)
    found = sf.select(sf.Normal(), two_groups(), n_components=[1, 2, 3], random_state=0, n_jobs=1)
    assert sorted(found.table["n_components"]) == [1, 2]
    assert "1 candidates were not fitted" in dict(found.alerts)["interrupted"]


def test_products_and_mixtures_as_components():
    rng = np.random.default_rng(7)
    who = rng.random(200) < 0.5
    rows = {"a": np.where(who, rng.normal(0, 1, 200), rng.normal(5, 1, 200)), "b": rng.poisson(np.where(who, 2, 8))}
    product = sf.Product({"a": sf.Normal(), "b": sf.Poisson()})
    found = sf.select(product, rows, n_components=[1, 2, 3], random_state=0)
    assert found.best.distribution.n == 2
    unlike = sf.Mixture([sf.Normal(), sf.Exponential()])
    x = np.concatenate([rng.exponential(1.0, 200), rng.normal(9, 1, 200)])
    found = sf.select(unlike, x, n_components=[1, 2], families=[sf.Normal()], random_state=0)
    assert len(found.table) == 3
    assert found.table[0]["family"] == "Normal + Exponential"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_components": 2, "criterion": "best"}, "criterion"),
        ({"n_components": []}, "empty"),
        ({}, "n_components"),
        ({"n_components": 2, "structures": ["VVV"]}, "MultivariateNormal"),
        ({"n_components": 2, "holdout": 1.5}, "holdout"),
        ({"n_components": 2.0}, "n_components is a whole number of at least 1, .*; got 2.0"),
        ({"n_components": [1, "2"]}, "n_components is a whole number of at least 1, .*; got '2'"),
        ({"n_components": 0}, "n_components is a whole number of at least 1, .*; got 0"),
        ({"n_components": 2, "structures": 3}, "structures is a list of names"),
        ({"n_components": 2, "families": 3}, "families is a prototype or a list of them"),
        ({"n_components": 2, "n_jobs": "x"}, "n_jobs is a number of processes"),
        ({"n_components": 2, "n_jobs": 0}, "n_jobs is a number of processes"),
    ],
)
def test_what_is_wrong_is_named(arguments, message):
    with pytest.raises(sf.ParameterError, match=message):
        sf.select(sf.Normal(), [1.0, 2.0, 3.0], **arguments)


def test_under_a_prior_it_maximises_the_posterior(monkeypatch):
    monkeypatch.setenv("SUFFICE_STRICT", "1")  # M-steps of a mode that were judged by log L would fall, and raise
    rng = np.random.default_rng(8)
    x = np.concatenate([rng.normal(0, 1, (40, 2)), rng.normal(4, 0.5, (40, 2))])
    found = sf.select(sf.MultivariateNormal(), x, n_components=[2, 3, 4], prior="weak", random_state=0)
    for row, fit in zip(found.table, found.fits, strict=True):
        again = sf.fit(sf.Mixture(sf.MultivariateNormal(), row["n_components"]), x, prior="weak", random_state=0)
        assert fit.log_posterior >= again.log_posterior - 1e-6
        assert row["bic"] == pytest.approx(fit.n_parameters * np.log(80) - 2 * np.sum(fit.log_prob(x)))


def test_larger_mixtures_are_no_worse():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(4, 0.8, 300), rng.normal(8, 2, 700)])
    found = sf.select(sf.Normal(), x, n_components=[4, 1, 3, 2], random_state=0)
    heights = found.table.pivot("log_likelihood")["Normal"]
    for k in (2, 3, 4):
        assert heights[k] >= heights[k - 1] - 1e-6
        alone = sf.fit(sf.Mixture(sf.Normal(), k), x, random_state=0)
        (chosen,) = (fit for fit in found.fits if fit.distribution.n == k)
        assert robust_objective_of(chosen) >= robust_objective_of(alone) - 1e-3  # what both rank their runs by


def test_what_a_size_misses_it_has_from_a_smaller_one(monkeypatch):
    x, usual = two_groups(90, 9), trials.Trials.begin

    def poorly(one):
        poor = sf.Mixture([sf.Normal(3.0 + 0.1 * j, 10.0) for j in range(one.model.n)])
        usual(one) if one.model.n == 2 else one.resume(poor)

    monkeypatch.setattr(trials.Trials, "begin", poorly)
    monkeypatch.setattr(trials.Trials, "borrow", lambda *_: None)  # splits lead nowhere
    monkeypatch.setattr(trials, "fit", lambda *given, **options: sf.fit(*given, **options, max_iter=1))
    found = sf.select(sf.Normal(), x, n_components=[2, 4], random_state=0)
    rows = {row["n_components"]: row for row in found.table}
    assert rows[4]["log_likelihood"] == pytest.approx(rows[2]["log_likelihood"], abs=1e-4)  # of two components twice


def test_held_out_rows_do_not_leak():
    x = two_groups(100, 10)
    options = {"n_components": 2, "holdout": 0.3, "prior": "weak", "random_state": 0}
    usual = sf.select(sf.Normal(), x, **options)
    out = np.random.default_rng(seed_of_groups(0, 2)).permutation(len(x))[:30]
    rest = np.setdiff1d(np.arange(len(x)), out)
    again = sf.fit(sf.Mixture(sf.Normal(), 2), x[rest], prior="weak", random_state=0)
    assert usual.table[0]["held_out"] == pytest.approx(np.mean(again.log_prob(x[out])), rel=1e-9)


def seed_of_groups(random_state, n):
    return int(np.random.default_rng(random_state).integers(1 << 62)) + n


def test_hard_components_are_counted_once():
    x = two_groups()
    found = sf.select(sf.Mixture(sf.Normal(), 2, hard=True), x, n_components=[1, 2], random_state=0)
    for row, fit in zip(found.table, found.fits, strict=True):
        assert row["log_likelihood"] == pytest.approx(np.sum(fit.log_prob(x)))
        joint = np.sum(fit.distribution.scores(fit.distribution.read(x)).max(axis=1))  # of rows and components, once
        assert row["icl"] == pytest.approx(fit.n_parameters * np.log(len(x)) - 2 * joint)


def test_one_of_each_will_do():
    x = two_groups()
    found = sf.select(sf.Normal(), x, n_components=2, families=sf.Laplace(), n_jobs=-1, random_state=0)
    assert sorted(found.table["family"]) == ["Laplace", "Normal"]
    assert isinstance(found.best, sf.Fit)
    assert found.best.distribution.n == 2


def test_the_table_is_one_of_pandas():
    pandas = pytest.importorskip("pandas")
    found = sf.select(sf.Normal(), two_groups(40), n_components=[1, 2], random_state=0)
    frame = pandas.DataFrame(found.table)
    assert list(frame.columns) == list(found.table[0])
    assert frame["bic"].tolist() == found.table["bic"]
    assert frame["n_components"].dtype.kind == "i"
    many = replace(found, table=Table(found.table.rows * 40))
    shown = repr(replace(many, alerts=()))
    assert len(shown.splitlines()) == 1 + 1 + 60 + 1
    assert shown.endswith("… and 20 more")


def test_a_callback_gets_every_candidate_once():
    told = []
    found = sf.select(sf.Normal(), two_groups(60), n_components=[1, 2, 3], random_state=0, callback=told.append)
    assert sorted(row["n_components"] for row in told) == [1, 2, 3]
    assert {row["n_parameters"] for row in told} == set(found.table["n_parameters"])


def test_an_interrupting_callback_keeps_what_was_found():
    def stop(row):
        if row["n_components"] == 2:
            raise KeyboardInterrupt

    found = sf.select(sf.Normal(), two_groups(60), n_components=[1, 2, 3], random_state=0, callback=stop)
    assert sorted(found.table["n_components"]) == [1, 2]
    assert found.alerts[0][0] == "interrupted"


def test_workers_that_are_threads_leave_the_environment_alone(monkeypatch):
    """joblib may be told to use threads: then what a worker sets, it would set for everybody."""
    monkeypatch.delenv("SUFFICE_THREADS", raising=False)
    done: dict[int, list[str | None]] = {}
    with parallel_config(backend="threading"):
        search._in_processes(lambda _: [os.environ.get("SUFFICE_THREADS")], {0: None, 1: None}, 2, done, None)
    assert done == {0: [None], 1: [None]}


def test_a_candidate_without_a_value_leaves_the_order_of_the_others():
    rows = [{"bic": bic, "spurious": spurious} for bic, spurious in [(5, True), (np.nan, True), (3, True), (9, False)]]
    ranked = sorted(rows, key=lambda row: select._rank(row, "bic"))
    assert [row["bic"] for row in ranked[:3]] == [9, 3, 5]


def test_how_much_worse_a_candidate_is_has_a_sign():
    x = np.random.default_rng(0).normal(size=(12, 3))
    found = sf.select(sf.MultivariateNormal(), x, n_components=[1, 3], random_state=0)
    best, last = found.table  # which is spurious, though its BIC is lower
    assert last["spurious"]
    assert last["bic"] < best["bic"]
    told = f"−{best['bic'] - last['bic']:.1f}"
    (line,) = (line for line in found.summary(width=120).splitlines() if line.split()[:1] == ["3"])
    assert line.split()[-1] == told
    assert f">{told}<" in found._repr_html_()
    outside = sf.select(sf.Normal(), two_groups(100), n_components=[1, 2], criterion="held_out", random_state=0)
    assert dict(outside.alerts)["largest"].startswith("the best number of components is the largest that was tried")
    worse = outside.table[0]["held_out"] - outside.table[1]["held_out"]
    assert outside.summary(width=120).splitlines()[-2].split()[-1] == f"{worse:.4f}"


def test_a_share_of_zero_is_no_remark_about_a_candidate():
    rows = {"x": np.append(np.arange(20.0), 100 + np.arange(20.0)), "c": ["a", "b"] * 10 + ["b"] * 20}
    found = sf.select(sf.Product({"x": sf.Normal(), "c": sf.Categorical()}), rows, n_components=[1, 2], random_state=0)
    assert "boundary" in dict(found.best.alerts)
    assert "!" not in repr(found.table)
