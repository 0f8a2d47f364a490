"""Generative and discriminative classifiers: the same rows, honest scores, and who overtakes whom."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB as TheirNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import suffice as sf


def gaussian(n, d, seed=0, apart=2.0):
    """Two Gaussians with one covariance: the assumption of the default holds."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], n // 2)
    mixing = np.eye(d) + rng.normal(size=(d, d)) / np.sqrt(d)
    return (rng.normal(size=(n, d)) + apart / np.sqrt(d) * y[:, None]) @ mixing.T, y


def exponential(n, d, seed=0, ratio=2.2):
    """Exponential columns, half of them longer in one class: skewed, with log-odds that are linear."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], n // 2)
    scale = np.where(np.arange(d) < d // 2, ratio, 1.0)
    return rng.exponential(size=(n, d)) * np.where(y[:, None] == 1, scale, 1.0), y


# ---- the classical finding ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", [0, 1])
def test_where_the_assumption_holds_the_generative_model_needs_fewer_rows_and_ends_the_same(seed):
    found = sf.compare(*gaussian(3000, 15, seed), sizes=[40, 60, 2100], repeats=12, random_state=seed)
    ours, theirs = found.curves["generative"], found.curves["logistic"]
    early = theirs.errors[:, :2].mean(axis=1) - ours.errors[:, :2].mean(axis=1)
    assert early.mean() > 2 * early.std(ddof=1) / np.sqrt(len(early))
    assert early.mean() > 0.01
    assert abs(ours.error[-1] - theirs.error[-1]) < 0.005
    assert ours.log_loss[0] < theirs.log_loss[0]
    assert found.crossover["logistic"] is None
    assert "logistic, none seen up to 2,100 rows" in repr(found)


@pytest.mark.parametrize("seed", [0, 1])
def test_where_it_does_not_hold_logistic_regression_overtakes_and_the_crossover_is_reported(seed):
    found = sf.compare(*exponential(4000, 24, seed), sizes=[72, 120, 400, 2000], repeats=8, random_state=0)
    ours, theirs = found.curves["generative"], found.curves["logistic"]
    assert (ours.error[:2] < theirs.error[:2]).all()
    assert theirs.error[-1] < ours.error[-1] - 2 * found.leads["logistic"].se[-1]
    assert found.crossover["logistic"] in (400, 2000)
    assert f"logistic overtakes the generative model at {found.crossover['logistic']:,} rows" in repr(found)


def test_a_crossover_is_the_first_size_from_which_on_the_lead_exceeds_its_standard_error():
    from suffice.estimators.comparison import Lead

    sizes, se = np.array([10, 20, 40, 80]), np.full(4, 0.01)
    assert Lead(sizes, np.array([-0.1, 0.02, 0.0, 0.02]), se).crossover == 80
    assert Lead(sizes, np.array([-0.1, 0.02, 0.03, 0.02]), se).crossover == 20
    assert Lead(sizes, np.full(4, 0.02), se).crossover == 10
    assert Lead(sizes, np.array([0.02, 0.02, 0.02, 0.01]), se).crossover is None


# ---- boundaries -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("scales", [np.ones(4), np.array([1e-8, 1.0, 1e8, 1.0])])
def test_the_generative_boundary_is_that_of_shared_covariances(scales):
    x, y = gaussian(400, 4)
    x, keep = x * scales + 3 * scales, np.r_[:230, 300:400]
    x, y = x[keep], y[keep]
    one = sf.compare(x, y, repeats=1, random_state=0).boundaries["generative"]
    groups = [x[y == code] / scales for code in (0, 1)]
    zero, first = (g.mean(axis=0) for g in groups)
    pooled = sum((g - g.mean(axis=0)).T @ (g - g.mean(axis=0)) for g in groups) / len(x)
    toward = [np.linalg.solve(pooled, mean) for mean in (zero, first)]
    b = 0.5 * (zero @ toward[0] - first @ toward[1]) + np.log(len(groups[1]) / len(groups[0]))
    np.testing.assert_allclose(one.w * scales, np.linalg.solve(pooled, first - zero), rtol=1e-10)
    np.testing.assert_allclose(one.b, b, rtol=1e-10)
    np.testing.assert_allclose(one.direction, one.w / np.linalg.norm(one.w), rtol=1e-12)


def test_logistic_regression_maximises_the_conditional_likelihood():
    x, y = gaussian(600, 3)
    one = sf.compare(x, y, repeats=1, random_state=0).boundaries["logistic"]
    p = 1 / (1 + np.exp(-(x @ one.w + one.b)))
    np.testing.assert_allclose(np.column_stack([x, np.ones(len(x))]).T @ (y - p) / len(x), 0, atol=1e-5)


def test_the_boundary_of_the_machine_decides_as_it_does():
    x, y = gaussian(300, 3)
    found = sf.compare(x, y, C=0.5, repeats=1, random_state=0)
    one = found.boundaries["svm"]
    z = (x - x.mean(0)) / x.std(0)
    from sklearn.svm import LinearSVC

    theirs = LinearSVC(C=0.5, dual=False, max_iter=10_000).fit(z, y)
    np.testing.assert_allclose(x @ one.w + one.b, theirs.decision_function(z), rtol=1e-9)
    assert "C = 0.5" in repr(found)


def test_classes_with_their_own_variances_have_no_linear_boundary_and_the_page_says_so():
    found = sf.compare(*gaussian(300, 2), sf.GaussianNB(), repeats=2, random_state=0)
    assert found.boundaries["generative"] is None
    assert "generative are not linear in the columns" in repr(found)


def test_binary_columns_have_a_linear_boundary_under_naive_bayes():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 150)
    x = (rng.random((300, 3)) < np.where(y[:, None] == 1, [0.7, 0.4, 0.5], [0.3, 0.5, 0.2])).astype(float)
    one = sf.compare(x, y, sf.Bernoulli(), repeats=1, random_state=0).boundaries["generative"]
    logit = [np.log(x[y == c].mean(0) / (1 - x[y == c].mean(0))) for c in (0, 1)]
    np.testing.assert_allclose(one.w, logit[1] - logit[0], rtol=1e-9)


def test_three_classes_have_a_boundary_of_each_with_the_first():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 100)
    means = {"a": [0, 0], "b": [3, 0], "c": [0, 3]}
    x = rng.normal(size=(300, 2)) + np.array([means[one] for one in y])
    found = sf.compare(x, y, repeats=3, random_state=0)
    for one in found.boundaries.values():
        assert one.w.shape == (2, 2)
        np.testing.assert_allclose(one.direction, np.eye(2), atol=0.25)
    assert all(row["error"] < 0.15 for row in found.table)
    assert "each class with the first" in repr(found)


# ---- the same rows --------------------------------------------------------------------------------------------------
def test_all_models_learn_from_and_are_asked_about_the_same_rows():
    twin = make_pipeline(StandardScaler(), LogisticRegression(C=np.inf, tol=1e-6, max_iter=1000))
    found = sf.compare(*gaussian(300, 3), twin, sizes=[60, 210], repeats=4, random_state=1)
    np.testing.assert_array_equal(found.curves["generative"].errors, found.curves["logistic"].errors)
    np.testing.assert_allclose(found.curves["generative"].log_losses, found.curves["logistic"].log_losses, rtol=1e-9)
    np.testing.assert_allclose(found.boundaries["generative"].w, found.boundaries["logistic"].w, rtol=1e-6)
    assert found.calibration["generative"].error == pytest.approx(found.calibration["logistic"].error, rel=1e-9)


def test_seeds_reproduce_bitwise_and_others_differ():
    x, y = gaussian(200, 3)
    one, same, other = (sf.compare(x, y, repeats=3, random_state=seed) for seed in (5, 5, 6))
    assert repr(one) == repr(same)
    for name, curve in one.curves.items():
        np.testing.assert_array_equal(curve.errors, same.curves[name].errors)
        np.testing.assert_array_equal(curve.log_losses, same.curves[name].log_losses)
        assert one.boundaries[name].w.tobytes() == same.boundaries[name].w.tobytes()
    assert (one.curves["logistic"].errors != other.curves["logistic"].errors).any()


def test_our_model_scores_as_scikit_learns_own():
    x, y = gaussian(300, 3)
    ours, theirs = (sf.compare(x, y, one, repeats=3, random_state=0) for one in (sf.GaussianNB(), TheirNB()))
    np.testing.assert_allclose(ours.curves["generative"].log_losses, theirs.curves["generative"].log_losses, rtol=1e-6)


def test_rows_of_weight_zero_are_none():
    x, y = gaussian(240, 2)
    kept = np.arange(240) % 3 > 0
    weighed = sf.compare(x, y, sample_weight=kept.astype(float), repeats=3, random_state=0)
    alone = sf.compare(x[kept], y[kept], repeats=3, random_state=0)
    for name, curve in alone.curves.items():
        np.testing.assert_allclose(weighed.curves[name].errors, curve.errors, atol=1e-12)
    np.testing.assert_allclose(weighed.boundaries["svm"].w, alone.boundaries["svm"].w, rtol=1e-6)


def test_reliability_of_a_calibrated_model_is_on_the_diagonal():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6000, 1))
    y = rng.random(6000) < 1 / (1 + np.exp(-2 * x[:, 0]))
    found = sf.compare(x, y, repeats=2, sizes=[4200], random_state=0)
    one = found.calibration["logistic"]
    assert one.weight.sum() == 2 * 1800
    assert one.error < 0.03
    assert one.error == pytest.approx(np.sum(one.weight * abs(one.predicted - one.observed)) / one.weight.sum())
    assert "svm" not in found.calibration
    assert np.isnan(found.table[2]["log_loss"])


# ---- frames ---------------------------------------------------------------------------------------------------------
def frame_of(kind):
    x, y = gaussian(240, 2)
    town = np.where(np.arange(240) % 3 == 0, "Bonn", np.where(np.arange(240) % 3 == 1, "Aachen", "Celle"))
    columns = {"height": x[:, 0], "weight": x[:, 1], "town": town}
    return pytest.importorskip(kind), columns, y


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames_with_labels_become_columns_of_zeros_and_ones(kind):
    library, columns, y = frame_of(kind)
    frame = library.table(columns) if kind == "pyarrow" else library.DataFrame(columns)
    found = sf.compare(frame, y, repeats=2, random_state=0)
    assert found.columns == ("height", "weight", "town=Bonn", "town=Celle")
    by_hand = np.column_stack(
        [columns["height"], columns["weight"], columns["town"] == "Bonn", columns["town"] == "Celle"]
    )
    alone = sf.compare(by_hand, y, repeats=2, random_state=0)
    np.testing.assert_array_equal(found.curves["svm"].errors, alone.curves["svm"].errors)
    if kind == "pyarrow":  # narrower than frames in general: NaiveBayes asks a frame for its columns by name
        return
    mixed = sf.compare(frame, y, sf.NaiveBayes(), repeats=2, random_state=0)
    np.testing.assert_array_equal(mixed.curves["svm"].errors, alone.curves["svm"].errors)
    assert mixed.table[0]["error"] < 0.3


def test_a_missing_cell_is_named_and_such_rows_can_be_left_out():
    pandas, columns, y = frame_of("pandas")
    frame = pandas.DataFrame(columns)
    frame.loc[7, "weight"] = np.nan
    with pytest.raises(sf.DataError, match=r"row 7, column 'weight' is missing.*missing='drop'"):
        sf.compare(frame, y)
    dropped = sf.compare(frame, y, missing="drop", repeats=2, random_state=0)
    whole = sf.compare(frame.drop(index=7), np.delete(y, 7), repeats=2, random_state=0)
    assert dropped.rows == 239
    np.testing.assert_array_equal(dropped.curves["svm"].errors, whole.curves["svm"].errors)


# ---- refusals -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"y": np.zeros(60, int)}, "needs two at least; y has 1"),
        ({"y": np.r_[np.zeros(58, int), 1, 1]}, "class 1 has 2 of 60 rows"),
        ({"y": np.r_[np.zeros(30), np.ones(29), np.nan]}, "row 59 has no class"),
        ({"y": np.zeros(59, int)}, "there are 60 rows, but 59 labels"),
        ({"sizes": [3, 20]}, "sizes are whole numbers from 6"),
        ({"sizes": [10, 60]}, "to 42"),
        ({"test_size": 1.5}, "test_size is a share"),
        ({"repeats": 0}, "repeats is a number of splits"),
        ({"C": -1.0}, "C is a finite number above 0"),
        ({"missing": "impute"}, "'error' or 'drop'"),
        ({"generative": 3}, "generative is a classifier"),
        ({"X": np.arange(60.0)}, "takes rows × columns; got 1 axes"),
        ({"X": np.full((60, 2), np.inf)}, "column 0: .*row 0 is inf"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_the_reason(change, told):
    x, y = gaussian(60, 2)
    with pytest.raises(ValueError, match=told):
        sf.compare(**{"X": x, "y": y, **change})


def test_an_interrupted_comparison_keeps_the_splits_that_were_done(monkeypatch):
    from suffice.estimators import compared_models

    calls = []
    learn = compared_models.Linear.learn

    def stop(self, *arguments):
        calls.append(1)
        if len(calls) == 40:
            raise KeyboardInterrupt
        return learn(self, *arguments)

    monkeypatch.setattr(compared_models.Linear, "learn", stop)
    found = sf.compare(*gaussian(120, 2), repeats=9, random_state=0)
    whole = sf.compare(*gaussian(120, 2), repeats=found.repeats, random_state=0)
    assert found.repeats == 2
    assert found.alerts[0][0] == "interrupted"
    np.testing.assert_array_equal(found.curves["svm"].errors, whole.curves["svm"].errors)
    np.testing.assert_array_equal(found.calibration["generative"].weight, whole.calibration["generative"].weight)


# ---- the page and the picture ---------------------------------------------------------------------------------------
def test_no_line_of_the_page_is_wider_than_80_columns():
    x, y = gaussian(400, 14)
    scales = 10.0 ** np.arange(-7, 7)
    names = {f"a column with quite a long name {i}": x[:, i] * scales[i] for i in range(14)}
    page = repr(sf.compare(names, y, repeats=3, random_state=0))
    assert max(map(len, page.splitlines())) <= 80
    assert "… 2 more columns" in page
    assert "separable: logistic" in page


def test_the_picture_shows_curves_and_boundaries():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    found = sf.compare(*gaussian(300, 2), repeats=3, random_state=0)
    left, right = sf.plot.comparison(found)
    lines = {line.get_label(): line for line in left.lines}
    np.testing.assert_array_equal(lines["svm"].get_ydata(), found.curves["svm"].error)
    for line in right.lines[2:]:
        one = found.boundaries[line.get_label()]
        np.testing.assert_allclose(one.w @ np.array(line.get_data()) + one.b, 0, atol=1e-9)
    assert len(right.lines) == 5
    found = sf.compare(*gaussian(300, 3), repeats=3, random_state=0)
    _, right = sf.plot.comparison(found)
    reliability = found.calibration["generative"]
    np.testing.assert_array_equal(right.lines[1].get_ydata(), reliability.observed[reliability.weight > 0])
    plt.close("all")
    with pytest.raises(sf.ParameterError, match="draws what sf"):
        sf.plot.comparison(3)


@pytest.mark.parametrize("framed", [False, True])
def test_a_curved_boundary_is_drawn_where_classes_are_equally_probable(framed):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    rows = rng.normal(size=(300, 2)) * (1 + y)[:, None]  # one class around the other
    X = pd.DataFrame({"u": rows[:, 0], "v": rows[:, 1]}) if framed else rows
    model = sf.NaiveBayes({"u": sf.Normal(), "v": sf.Normal()}) if framed else sf.QuadraticDiscriminantAnalysis()
    found = sf.compare(X, y, model, repeats=2, random_state=0)
    assert found.boundaries["generative"] is None
    _, right = sf.plot.comparison(found)
    curve = next(one for one in right.collections if one.get_linestyle() and len(one.get_paths()))
    points = np.concatenate([path.vertices for path in curve.get_paths()])
    at = pd.DataFrame({"u": points[:, 0], "v": points[:, 1]}) if framed else points
    np.testing.assert_allclose(model.fit(X, y).predict_proba(at)[:, 1], 0.5, atol=5e-3)
    assert np.ptp(np.arctan2(points[:, 1], points[:, 0])) > 6  # all around
    assert "generative" in [text.get_text() for text in right.get_legend().get_texts()]
    assert "has none" not in right.get_title(loc="left")


def test_the_legend_of_the_calibration_leaves_the_curves_free():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    x = np.where(y == 1, rng.exponential(4, 2000), rng.normal(-0.5, 0.3, 2000))  # far from Gaussian: curves far above
    rows = np.column_stack([x, rng.normal(size=2000) + y / 2, rng.normal(size=2000)])
    _, right = sf.plot.comparison(sf.compare(rows, y, sizes=[200, 1000], repeats=3, random_state=0))
    right.figure.canvas.draw()
    box = right.get_legend().get_window_extent()
    for line in right.get_lines():
        steps = np.linspace(0, 1, 50)[:, None, None]
        corners = right.transData.transform(np.column_stack(line.get_data()))
        along = (corners[:-1] + steps * (corners[1:] - corners[:-1])).reshape(-1, 2)
        assert not any(box.contains(*point) for point in along)
