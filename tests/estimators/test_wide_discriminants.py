"""Discriminants of fewer rows than columns: good probabilities, and a warning that says what was done."""

import tracemalloc

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as Theirs
from sklearn.metrics import log_loss

import suffice as sf
from suffice.distributions import gaussian, gaussian_pass
from suffice.distributions.shrinkage import regularise_wide
from suffice.numerics.low_rank import LowRank

BOTH = [sf.LinearDiscriminantAnalysis, sf.QuadraticDiscriminantAnalysis]


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


# ---- by the rows, and not by products of columns -------------------------------------------------------------------
def scaled(n=40, d=150, k=3):
    """Columns of different units, and one that is constant."""
    x, y, new, _ = problem(n, d, seed=d, k=k)
    unit = 10.0 ** np.random.default_rng(1).integers(-2, 3, size=d)
    x, new = x * unit, new[:30] * unit
    x[:, 7] = new[:, 7] = 3.25
    return x, y, new


@pytest.fixture
def whole_matrices(monkeypatch):
    """A switch to the formulas of (d, d) matrices."""

    def switch():
        for module in (gaussian, gaussian_pass):
            monkeypatch.setattr(module, "MANY_COLUMNS", 10**9)

    return switch


@pytest.mark.filterwarnings("ignore::suffice.SufficeWarning")
@pytest.mark.parametrize("options", [{}, {"shrinkage": "auto"}, {"shrinkage": "oas"}, {"shrinkage": 0.2}])
@pytest.mark.parametrize("kind", BOTH)
def test_wide_rows_give_what_whole_matrices_give(kind, options, whole_matrices):
    x, y, new = scaled()
    found = kind(**options).fit(x, y)
    assert isinstance(found.distribution_.components.matrices, LowRank)
    whole_matrices()
    dense = kind(**options).fit(x, y)
    assert not isinstance(dense.distribution_.components.matrices, LowRank)
    stack, other = found.distribution_.components, dense.distribution_.components
    np.testing.assert_allclose(stack.cov, other.cov, rtol=1e-8, atol=1e-8 * np.abs(other.cov).max())
    np.testing.assert_allclose(stack.var, other.var, rtol=1e-9)
    for ask in ("predict_joint_log_proba", "predict_proba", "decision_function"):
        np.testing.assert_allclose(getattr(found, ask)(new), getattr(dense, ask)(new), rtol=1e-8, atol=1e-10)
    likelihoods = [np.sum(one.distribution_.log_likelihood(one.statistics_)) for one in (found, dense)]
    assert likelihoods[0] == pytest.approx(likelihoods[1], rel=1e-9)
    np.testing.assert_allclose(found.statistics_.components.scatter, dense.statistics_.components.scatter, atol=1e-8)
    assert found.alerts_ == dense.alerts_


@pytest.mark.filterwarnings("ignore::suffice.SufficeWarning")
def test_wide_linear_discriminants_show_what_whole_matrices_give(whole_matrices):
    x, y, new = scaled()
    found = sf.LinearDiscriminantAnalysis(store_covariance=True).fit(x, y)
    whole_matrices()
    dense = sf.LinearDiscriminantAnalysis(store_covariance=True).fit(x, y)
    assert found.covariance_.shape == (150, 150)
    for name in ("coef_", "intercept_", "explained_variance_ratio_", "covariance_"):
        mine, theirs = getattr(found, name), getattr(dense, name)
        np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-10 * np.abs(theirs).max())
    sign = np.sign((found.scalings_ * dense.scalings_).sum(axis=0))  # that of an axis is arbitrary
    np.testing.assert_allclose(found.scalings_ * sign, dense.scalings_, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(found.transform(new) * sign, dense.transform(new), rtol=1e-8, atol=1e-8)


@pytest.mark.filterwarnings("ignore::suffice.SufficeWarning")
def test_axes_of_wide_quadratic_discriminants_are_made_when_asked_for(whole_matrices):
    x, y, new = scaled()
    found = sf.QuadraticDiscriminantAnalysis().fit(x, y)
    assert "rotations_" not in vars(found)
    with pytest.raises(AttributeError, match="rotations_"):
        _ = sf.QuadraticDiscriminantAnalysis().rotations_
    before = found.predict_joint_log_proba(new)
    found.scalings_ = [2.0 * one for one in found.scalings_]  # whoever sets them changes the distribution
    after = found.predict_joint_log_proba(new)
    assert not np.allclose(before, after)
    whole_matrices()
    dense = sf.QuadraticDiscriminantAnalysis().fit(x, y)
    for mine, theirs in zip(found.scalings_, dense.scalings_, strict=True):
        np.testing.assert_allclose(mine, 2.0 * theirs, rtol=1e-7)
    dense.scalings_ = [2.0 * one for one in dense.scalings_]
    np.testing.assert_allclose(after, dense.predict_joint_log_proba(new), rtol=1e-6)


@pytest.mark.filterwarnings("ignore::suffice.SufficeWarning")
@pytest.mark.parametrize("kind", BOTH)
def test_wide_rows_are_added_merged_and_removed(kind):
    x, y, new, _ = problem(40, 100, seed=5)
    whole = kind().fit(x, y)
    parts = kind().partial_fit(x[:20], y[:20], classes=[0, 1, 2]).partial_fit(x[20:], y[20:])
    assert isinstance(parts.statistics_.components.kept, LowRank)
    np.testing.assert_allclose(parts.predict_joint_log_proba(new), whole.predict_joint_log_proba(new), rtol=1e-8)
    more = kind().fit(np.vstack([x, x[:9] + 0.5]), np.append(y, y[:9])).unlearn(x[:9] + 0.5, y[:9])
    np.testing.assert_allclose(more.predict_joint_log_proba(new), whole.predict_joint_log_proba(new), rtol=1e-6)
    many = kind().partial_fit(x, y, classes=[0, 1, 2]).partial_fit(x + 1.0, y).partial_fit(x * 2.0, y)
    assert not isinstance(many.statistics_.components.kept, LowRank)  # more rows than columns
    once = kind().fit(np.vstack([x, x + 1.0, x * 2.0]), np.tile(y, 3))
    np.testing.assert_allclose(many.predict_joint_log_proba(new), once.predict_joint_log_proba(new), rtol=1e-6)


@pytest.mark.filterwarnings("ignore::suffice.SufficeWarning")
@pytest.mark.parametrize("kind", BOTH)
def test_wide_rows_need_memory_for_rows_and_not_for_matrices(kind):
    n, d = 60, 2000
    x, y = np.random.default_rng(0).normal(size=(n, d)), np.arange(n) % 3
    kind().fit(x[:, :70], y).predict_proba(x[:, :70])  # what is imported and kept once
    tracemalloc.start()
    try:
        found = kind().fit(x, y)
        found.predict_proba(x)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40 * n * d * 8


@pytest.mark.filterwarnings("ignore::suffice.SufficeWarning")
def test_a_wide_model_comes_back_from_a_file_and_a_pickle(tmp_path):
    import pickle

    x, y, new, _ = problem(20, 70, seed=6)
    found = sf.LinearDiscriminantAnalysis().fit(x, y)
    sf.save(found, tmp_path / "model.json")
    for other in (sf.load(tmp_path / "model.json"), pickle.loads(pickle.dumps(found))):  # noqa: S301 (our own bytes)
        np.testing.assert_allclose(other.predict_proba(new), found.predict_proba(new), rtol=1e-9, atol=1e-14)
        assert other.distribution_ == found.distribution_
        assert other.statistics_ == found.statistics_


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("lacking", ["cell", "class"])
def test_one_missing_cell_or_class_leaves_wide_rows_shrunk(kind, lacking):
    x, y, new, truth = problem(60, 90, seed=7)
    x, classes = x.copy(), y.astype(float)
    with pytest.warns(sf.SufficeWarning, match="fewer rows than columns"):
        complete = log_loss(truth, kind().fit(x, classes).predict_proba(new))
    if lacking == "cell":
        x[3, 7] = np.nan
    else:
        classes[3] = np.nan
    with pytest.warns(sf.SufficeWarning):
        model = kind().fit(x, classes)
    assert "fewer rows than columns" in dict(model.alerts_)["singular"]
    assert log_loss(truth, model.predict_proba(new)) < complete + 0.1
