"""Discriminants of fewer rows than columns: good probabilities, and a warning that says what was done."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as Theirs
from sklearn.metrics import log_loss

import suffice as sf
from suffice.distributions.shrinkage import regularise_wide


def problem(n, d, seed, k=3):
    """Classes that share a covariance: rows to learn from, and 300 to be judged by."""
    rng = np.random.default_rng(seed)
    means, root = 0.3 * rng.normal(size=(k, d)), rng.normal(size=(d, d)) / np.sqrt(d)
    y = np.r_[np.arange(n) % k, rng.integers(k, size=300)]
    x = means[y] + rng.normal(size=(len(y), d)) @ root.T
    return x[:n], y[:n], x[n:], y[n:]


@pytest.mark.parametrize("d", [120, 200])
def test_probabilities_of_wide_rows_are_as_good_as_those_of_a_shrunk_covariance(d):
    x, y, new, truth = problem(60, d, seed=d)
    with pytest.warns(sf.SufficeWarning, match="fewer rows than columns"):
        ours = sf.LinearDiscriminantAnalysis().fit(x, y)
    theirs, shrunk = Theirs().fit(x, y), Theirs(solver="lsqr", shrinkage="auto").fit(x, y)
    assert ours.score(new, truth) >= theirs.score(new, truth)
    assert ours.score(new, truth) >= shrunk.score(new, truth) - 0.02
    assert log_loss(truth, ours.predict_proba(new)) < log_loss(truth, shrunk.predict_proba(new)) + 0.02
    assert "singular" in dict(ours.alerts_)


def test_each_wide_class_of_a_quadratic_discriminant_is_shrunk():
    x, y, new, truth = problem(60, 30, seed=1)
    with pytest.warns(sf.SufficeWarning, match="covariances of 3 classes"):
        ours = sf.QuadraticDiscriminantAnalysis().fit(x, y)
    losses = {"": log_loss(truth, ours.predict_proba(new))}
    for shrinkage in (1e-8, "oas", "auto"):
        other = sf.QuadraticDiscriminantAnalysis(shrinkage=shrinkage).fit(x, y)
        losses[shrinkage] = log_loss(truth, other.predict_proba(new))
    assert losses[""] == pytest.approx(losses["oas"], rel=1e-6)
    assert losses[""] < 1.1 * losses["auto"]
    assert losses[""] < 0.5 * losses[1e-8]  # all but singular: what the floor alone gives


@pytest.mark.filterwarnings("ignore::suffice.SufficeWarning")
def test_rows_in_parts_are_shrunk_as_all_at_once():
    x, y, new, _ = problem(40, 60, seed=2)
    whole = sf.LinearDiscriminantAnalysis().fit(x, y)
    parts = sf.LinearDiscriminantAnalysis().partial_fit(x[:15], y[:15], classes=[0, 1, 2])
    parts.partial_fit(x[15:], y[15:])
    np.testing.assert_allclose(parts.predict_proba(new), whole.predict_proba(new), rtol=1e-6, atol=1e-12)


def test_rows_enough_are_left_as_they_are():
    x, y, new, _ = problem(200, 20, seed=3)
    x[:, 4] = 7.0  # a constant column does not make them wide
    found = sf.LinearDiscriminantAnalysis()
    with pytest.warns(sf.SufficeWarning, match="constant"):
        found.fit(x, y)
    keep = np.arange(20) != 4
    theirs = Theirs().fit(x[:, keep], y)
    new[:, 4] = 7.0
    np.testing.assert_allclose(found.predict_proba(new), theirs.predict_proba(new[:, keep]), atol=1e-8)


def test_weights_that_are_not_numbers_of_rows_do_not_make_them_wide():
    x, y, new, _ = problem(200, 20, seed=4)
    plain = sf.LinearDiscriminantAnalysis().fit(x, y)
    light = sf.LinearDiscriminantAnalysis().fit(x, y, sample_weight=np.full(200, 0.01))
    np.testing.assert_allclose(light.predict_proba(new), plain.predict_proba(new), rtol=1e-8)


def test_the_drawn_scatter_keeps_variances_units_and_constant_columns():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6, 9))
    rows[:, 3] = 0.0
    scatter = (rows - rows.mean(axis=0)).T @ (rows - rows.mean(axis=0))
    found, amount = regularise_wide(scatter[None], np.array([6.0]), np.array([5.0]), np.zeros(9))
    np.testing.assert_allclose(np.diag(found[0]), np.diag(scatter))
    assert 0 < amount[0] < 1
    unit = 10.0 ** rng.integers(-5, 6, size=9)
    scaled, same = regularise_wide(
        (scatter * unit[:, None] * unit)[None], np.array([6.0]), np.array([5.0]), np.zeros(9)
    )
    np.testing.assert_allclose(scaled[0], found[0] * unit[:, None] * unit, rtol=1e-9, atol=1e-30)
    assert same == pytest.approx(amount)
