"""Linear and quadratic discriminants: scikit-learn's answers, the formulas, and what happens where it refuses."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import discriminant_analysis as theirs
from sklearn.covariance import OAS, LedoitWolf, oas
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import suffice as sf

X, Y = load_wine(return_X_y=True)
PRIORS = [0.2, 0.3, 0.5]
TWO = Y < 2


class StandardisedOAS:
    """OAS in units of each column's spread."""

    def fit(self, rows):
        scale = rows.std(axis=0)
        self.covariance_ = oas(rows / scale)[0] * np.outer(scale, scale)
        return self


def same_axes(mine, yours):
    turn = np.sign((mine * yours).sum(axis=0))
    assert_allclose(mine * turn, yours, rtol=1e-10, atol=1e-10 * np.abs(yours).max())


LINEAR = [
    ("svd", {}),
    ("svd", {"priors": PRIORS}),
    ("lsqr", {}),
    ("eigen", {}),
    ("lsqr", {"shrinkage": 0.3}),
    ("lsqr", {"shrinkage": "auto"}),
    ("eigen", {"shrinkage": "auto"}),
    ("eigen", {"shrinkage": 1.0}),
    ("lsqr", {"covariance_estimator": LedoitWolf()}),
]


@pytest.mark.parametrize(("solver", "options"), LINEAR, ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_linear_as_scikit_learn(solver, options, classes):
    rows, labels = X[classes > Y], np.array(["b", "a", "c"])[Y[classes > Y]]
    options = {**options, **({"priors": options["priors"][:classes]} if "priors" in options else {})}
    if "priors" in options:
        options["priors"] = np.array(options["priors"]) / np.sum(options["priors"])
    ours = sf.LinearDiscriminantAnalysis(solver, **options, store_covariance=True).fit(rows, labels)
    peer = theirs.LinearDiscriminantAnalysis(solver, **options, store_covariance=True).fit(rows, labels)
    names = ["coef_", "intercept_", "means_", "priors_"]
    for name in names if "priors" in options else [*names, "covariance_"]:
        assert_allclose(getattr(ours, name), getattr(peer, name), rtol=1e-10, err_msg=name)
    assert_allclose(ours.decision_function(rows), peer.decision_function(rows), rtol=1e-9, atol=1e-9)
    assert_allclose(ours.predict_proba(rows), peer.predict_proba(rows), atol=1e-10)
    assert_array_equal(ours.predict(rows), peer.predict(rows))


@pytest.mark.parametrize("solver", ["svd", "eigen"])
@pytest.mark.parametrize("classes", [2, 3])
def test_projection_as_scikit_learn(solver, classes):
    rows, labels = X[classes > Y], Y[classes > Y]
    for most in (None, 1):
        ours = sf.LinearDiscriminantAnalysis(solver, n_components=most, store_covariance=True).fit(rows, labels)
        peer = theirs.LinearDiscriminantAnalysis(solver, n_components=most).fit(rows, labels)
        same_axes(ours.transform(rows), peer.transform(rows))
        assert ours.scalings_.shape == peer.scalings_.shape
        assert_allclose(ours.explained_variance_ratio_, peer.explained_variance_ratio_, rtol=1e-10, atol=1e-12)
    assert_allclose(ours.scalings_.T @ ours.covariance_ @ ours.scalings_, np.eye(ours.scalings_.shape[1]), atol=1e-8)
    if solver == "svd":
        assert_allclose(ours.xbar_, peer.xbar_, rtol=1e-12)


def test_plane_of_two_classes():
    rows, labels = X[TWO], Y[TWO]
    model = sf.LinearDiscriminantAnalysis().fit(rows, labels)
    means = np.array([rows[labels == k].mean(axis=0) for k in (0, 1)])
    away = rows - means[labels]
    cov = away.T @ away / len(rows)
    inverse = np.linalg.inv(cov / np.outer(rows.std(axis=0), rows.std(axis=0))) / np.outer(rows.std(0), rows.std(0))
    w = inverse @ (means[1] - means[0])
    odds = np.log(np.mean(labels == 1) / np.mean(labels == 0))
    b = 0.5 * (means[0] @ inverse @ means[0] - means[1] @ inverse @ means[1]) + odds
    assert_allclose(model.coef_[0], w, rtol=1e-12, atol=1e-12 * np.abs(w).max())
    assert_allclose(model.intercept_[0], b, rtol=1e-12)
    assert_allclose(model.decision_function(rows), rows @ w + b, atol=1e-11)
    told = model.explain(rows[0], 1, 0)
    assert_allclose([told.terms[j] for j in range(13)], w * (rows[0] - means.mean(axis=0)), rtol=1e-9, atol=1e-12)
    assert_allclose(told.prior, odds, rtol=1e-12)


def test_terms_of_any_pair_of_classes_are_slope_times_distance_from_their_middle():
    model = sf.LinearDiscriminantAnalysis().fit(X, Y)
    told = model.explain(X[5], 2, 1)
    w = model.coef_[2] - model.coef_[1]
    assert_allclose(
        [told.terms[j] for j in range(13)], w * (X[5] - model.means_[1:].mean(axis=0)), rtol=1e-9, atol=1e-12
    )


def test_priors_leave_the_shared_covariance_alone():
    plain, given = (sf.LinearDiscriminantAnalysis("lsqr", priors=priors).fit(X, Y) for priors in (None, PRIORS))
    assert_array_equal(given.covariance_, plain.covariance_)
    assert_allclose(given.intercept_ - plain.intercept_, np.log(PRIORS) - np.log(plain.priors_), rtol=1e-9)
    with pytest.warns(UserWarning, match="Renormalizing"):
        twice = sf.LinearDiscriminantAnalysis("lsqr", priors=2 * np.array(PRIORS)).fit(X, Y)
    assert_allclose(twice.priors_, PRIORS)
    with pytest.raises(ValueError, match="non-negative"):
        sf.LinearDiscriminantAnalysis(priors=[-0.2, 0.6, 0.6]).fit(X, Y)
    with pytest.raises(ValueError, match="n_components cannot be larger"):
        sf.LinearDiscriminantAnalysis(n_components=3).fit(X, Y)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"reg_param": 0.1},
        {"priors": PRIORS},
        {"solver": "eigen", "shrinkage": "auto"},
        {"solver": "eigen", "shrinkage": 0.2},
        {"solver": "eigen", "covariance_estimator": OAS()},
    ],
    ids=str,
)
@pytest.mark.parametrize("classes", [2, 3])
def test_quadratic_as_scikit_learn(options, classes):
    rows, labels = X[classes > Y], Y[classes > Y]
    if "priors" in options:
        options = {"priors": np.array(PRIORS[:classes]) / sum(PRIORS[:classes])}
    ours = sf.QuadraticDiscriminantAnalysis(store_covariance=True, **options).fit(rows, labels)
    peer = theirs.QuadraticDiscriminantAnalysis(store_covariance=True, tol=1e-9, **options).fit(rows, labels)
    for name in ("means_", "priors_", "scalings_"):
        assert_allclose(getattr(ours, name), getattr(peer, name), rtol=1e-10, err_msg=name)
    assert_allclose(ours.covariance_, peer.covariance_, rtol=1e-10, atol=1e-9)
    for mine, yours in zip(ours.rotations_, peer.rotations_, strict=True):
        assert_allclose(np.abs((mine * yours).sum(axis=0)), 1.0, rtol=1e-9)
    assert_allclose(ours.decision_function(rows), peer.decision_function(rows), rtol=1e-9, atol=1e-9)
    assert_allclose(ours.predict_proba(rows), peer.predict_proba(rows), atol=1e-10)


def test_quadratic_forms_are_the_scores():
    rows = StandardScaler().fit_transform(X)
    model = sf.QuadraticDiscriminantAnalysis().fit(rows, Y)
    scores = model.decision_function(rows)
    assert_allclose(np.column_stack([model.form(k)(rows) for k in range(3)]), scores, rtol=1e-9, atol=1e-8)
    A, w, b = model.form(2, 0)
    brute = [row @ A @ row + w @ row + b for row in rows]
    assert_allclose(brute, scores[:, 2] - scores[:, 0], rtol=1e-8, atol=1e-8)
    with pytest.raises(sf.ParameterError, match="7 is not a class"):
        model.form(7)


@pytest.mark.parametrize("kind", ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"])
def test_oas_is_that_of_standardised_rows_and_streams(kind):
    peer = getattr(theirs, kind)(solver="eigen", covariance_estimator=StandardisedOAS()).fit(X, Y)
    ours = getattr(sf, kind)(shrinkage="oas")
    for part in np.array_split(np.random.default_rng(0).permutation(len(X)), 4):
        ours.partial_fit(X[part], Y[part], classes=[0, 1, 2])
    assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-10)


@pytest.mark.parametrize("options", [{"shrinkage": "auto"}, {"covariance_estimator": OAS()}], ids=str)
@pytest.mark.parametrize("kind", [sf.LinearDiscriminantAnalysis, sf.QuadraticDiscriminantAnalysis])
def test_what_needs_all_rows_says_so(kind, options):
    model = kind(**options).fit(X, Y)
    before = model.predict_proba(X)
    for add in (lambda: model.merge(model), lambda: model.unlearn(X[:5], Y[:5])):
        with pytest.raises(sf.UnsupportedError, match="needs all rows"):
            add()
    assert_array_equal(model.predict_proba(X), before)
    with pytest.raises(AttributeError) as refusal:
        model.partial_fit(X, Y)
    assert "needs all rows" in str(refusal.value.__cause__)
    with pytest.raises(sf.UnsupportedError, match=r"some have no class|rows of unknown class"):
        kind(**options).fit(X, np.where(np.arange(len(Y)) % 5 == 0, np.nan, Y))
    with pytest.raises(ValueError, match="Only one of the two"):
        kind(shrinkage=0.1, covariance_estimator=OAS()).fit(X, Y)


def test_ledoit_wolf_of_weighted_rows_is_that_of_repeated_rows():
    counts = np.arange(len(Y)) % 3
    for kind in (sf.LinearDiscriminantAnalysis, sf.QuadraticDiscriminantAnalysis):
        weighted = kind(shrinkage="auto").fit(X, Y, sample_weight=counts)
        repeated = kind(shrinkage="auto").fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts))
        assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-10)


def copies(rng, n):
    """SPEC's example: the second column repeats the first in one class, and is independent in the other."""
    y = rng.integers(0, 2, n)
    first = rng.normal(size=n)
    return np.column_stack([first, np.where(y == 1, first, rng.normal(size=n))]), y


def test_a_singular_class_is_floored_with_a_warning_and_still_distinguished():
    rng = np.random.default_rng(0)
    rows, labels = copies(rng, 400)
    model = sf.QuadraticDiscriminantAnalysis(store_covariance=True)
    with pytest.raises(np.linalg.LinAlgError):
        theirs.QuadraticDiscriminantAnalysis().fit(rows, labels)
    with pytest.warns(sf.SufficeWarning, match=r"class 1 .* spread of nearly 0"):
        model.fit(rows, labels)
    assert "singular" in dict(model.alerts_)
    fresh, truth = copies(rng, 4000)
    assert model.score(fresh, truth) > 0.999
    assert sf.GaussianNB().fit(rows, labels).score(fresh, truth) < 0.6
    within = model.statistics_.components.scatter.sum(axis=0).diagonal() / 400
    assert_allclose(np.linalg.eigvalsh(model.covariance_[1])[0], 2 * 1e-8 * within.mean(), rtol=0.1)


@pytest.mark.parametrize("options", [{"shrinkage": 0.1}, {"reg_param": 0.1}, {"prior": "weak"}], ids=str)
def test_a_class_of_one_row_needs_a_spread_from_elsewhere(options):
    rows, labels = load_iris(return_X_y=True)
    labels = np.where(np.arange(150) == 3, 9, labels)
    for kind in (theirs, sf):
        with pytest.raises(ValueError, match="y has only 1 sample in class 9, covariance is ill defined"):
            kind.QuadraticDiscriminantAnalysis().fit(rows, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.SufficeWarning)
        model = sf.QuadraticDiscriminantAnalysis(**options).fit(rows, labels)
    assert np.mean(model.predict(rows) == labels) > 0.9


def test_rows_of_unknown_class_may_give_the_spread_of_a_class_of_one_row():
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 9])
    labels = np.concatenate([np.zeros(20), [1.0], np.full(19, np.nan)])
    with pytest.warns(sf.SufficeWarning, match="19 of 40 rows have no class"):
        model = sf.QuadraticDiscriminantAnalysis().fit(rows, labels)
    assert_array_equal(model.predict(rows), np.repeat([0, 1], 20))


def test_a_stream_may_begin_with_one_row_of_a_class():
    rows, labels = load_iris(return_X_y=True)
    parts = sf.QuadraticDiscriminantAnalysis()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.SufficeWarning)
        parts.partial_fit(rows[:1], labels[:1], classes=[0, 1, 2]).partial_fit(rows[1:], labels[1:])
    whole = sf.QuadraticDiscriminantAnalysis().fit(rows, labels)
    assert_allclose(parts.predict_proba(rows), whole.predict_proba(rows), atol=1e-10)


def test_as_many_classes_as_rows_and_a_single_class_are_refused_in_scikit_learns_words():
    for kind in (theirs, sf):
        with pytest.raises(ValueError, match="The number of samples must be more than the number of classes"):
            kind.LinearDiscriminantAnalysis().fit(X[:3], ["a", "b", "c"])
        with pytest.raises(ValueError, match="The number of classes has to be greater than one"):
            kind.QuadraticDiscriminantAnalysis().fit(X[:20], np.zeros(20))
    assert sf.LinearDiscriminantAnalysis(shrinkage=0.5).fit(X[[0, 70, 150]], [0, 1, 2]).predict(X[[70]]) == [1]


def test_columns_that_follow_from_others_or_are_constant_change_nothing():
    plain = sf.LinearDiscriminantAnalysis().fit(X, Y)
    more = np.column_stack([X, X[:, 0] + X[:, 1], np.full(len(X), 3.0)])
    with pytest.warns(sf.SufficeWarning, match="every class has a spread of nearly 0") as told:
        model = sf.LinearDiscriminantAnalysis().fit(more, Y)
    assert len(told) == 1
    assert_allclose(model.predict_proba(more), plain.predict_proba(X), atol=1e-6)
    same_axes(model.transform(more).round(6), plain.transform(X).round(6))


def test_pixels_most_of_which_are_empty():
    rows, labels = load_digits(return_X_y=True)
    train, test = slice(0, None, 2), slice(1, None, 2)
    with pytest.warns(sf.SufficeWarning, match="nearly 0"):
        linear = sf.LinearDiscriminantAnalysis().fit(rows[train], labels[train])
    peer = theirs.LinearDiscriminantAnalysis().fit(rows[train], labels[train])
    assert linear.score(rows[test], labels[test]) >= peer.score(rows[test], labels[test]) - 0.005
    ours, peer = (
        kind(reg_param=0.1) for kind in (sf.QuadraticDiscriminantAnalysis, theirs.QuadraticDiscriminantAnalysis)
    )
    ours.fit(rows[train], labels[train])
    assert_array_equal(ours.predict(rows), peer.fit(rows[train], labels[train]).predict(rows))


def test_units_and_offsets_do_not_matter():
    rows, labels = load_breast_cancer(return_X_y=True)
    scale, offset = 10.0 ** np.linspace(-8, 8, 30), 1e6 * rows.std(axis=0)
    for kind in (sf.LinearDiscriminantAnalysis, sf.QuadraticDiscriminantAnalysis):
        plain = kind().fit(rows, labels)
        assert_allclose(
            kind().fit(rows * scale, labels).predict_proba(rows * scale), plain.predict_proba(rows), atol=1e-6
        )
        moved = kind().fit(rows + offset, labels).predict(rows + offset)
        assert np.mean(moved == plain.predict(rows)) > 0.998


def test_far_classes_are_distinguished_by_small_differences():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 500)
    centres = np.array([[0.0, 0.0], [3.0, 0.0], [1e7, 1e7]])
    model = sf.LinearDiscriminantAnalysis().fit(rng.normal(size=(1500, 2)) + centres[labels], labels)
    fresh = rng.normal(size=(1500, 2)) + centres[labels]
    assert model.score(fresh, labels) > 0.95
    assert_array_equal(model.predict(fresh), model.classes_[model.predict_joint_log_proba(fresh).argmax(axis=1)])


@pytest.mark.parametrize("model", [sf.LinearDiscriminantAnalysis(), sf.LinearDiscriminantAnalysis(shrinkage=0.1)])
def test_rows_of_unknown_class_take_part(model):
    rng = np.random.default_rng(0)
    labels = np.arange(2000) % 2
    rows = rng.normal(size=(2000, 2)) + 3.0 * np.outer(labels, [1.0, 0.0])
    hidden = np.where(np.arange(2000) < 10, labels, np.nan)
    half, full = model.fit(rows, hidden).predict(rows), sf.LinearDiscriminantAnalysis().fit(rows, labels).predict(rows)
    assert np.mean(half != labels) < 1.1 * np.mean(full != labels)
    objects = np.where(np.isnan(hidden), None, labels)
    assert_array_equal(sf.LinearDiscriminantAnalysis(shrinkage=model.shrinkage).fit(rows, objects).predict(rows), half)
    assert_allclose(model.coef_.shape, (1, 2))
    assert_array_equal(np.sign(model.decision_function(rows)) > 0, half == 1)


@pytest.mark.parametrize("kind", [sf.LinearDiscriminantAnalysis, sf.QuadraticDiscriminantAnalysis])
def test_infinite_cells_are_refused(kind):
    model, rows = kind().fit(X, Y), X.copy()
    rows[3, 4] = np.inf
    with pytest.raises(ValueError, match="row 3, column 4 has inf"):
        kind().fit(rows, Y)
    with pytest.raises(ValueError, match="infinity"):
        model.predict(rows)


def test_projection_in_a_pipeline_keeps_names():
    steps = make_pipeline(StandardScaler(), sf.LinearDiscriminantAnalysis(n_components=2)).fit(X, Y)
    assert steps.get_feature_names_out().tolist() == ["lineardiscriminantanalysis0", "lineardiscriminantanalysis1"]
    assert steps.transform(X).shape == (178, 2)


def test_shrinkage_of_columns_of_unlike_scale_does_not_hang_on_rounding():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 400)
    scale = np.array([1.0, 1e-6, 1e6, 3.0])
    rows = (rng.normal(size=(400, 4)) + y[:, None]) * scale + [1e3, 0.0, 1e7, 0.0]
    whole = sf.LinearDiscriminantAnalysis(shrinkage=0.2).fit(rows, y)
    for start in range(1, 6):
        parts = sf.LinearDiscriminantAnalysis(shrinkage=0.2)
        for part in np.split(np.arange(400), [50 * start, 300, 350]):
            parts.partial_fit(rows[part], y[part], classes=[0, 1, 2])
        assert_allclose(parts.predict_log_proba(rows), whole.predict_log_proba(rows), rtol=1e-10, atol=1e-12)
    yours = theirs.LinearDiscriminantAnalysis("lsqr", shrinkage=0.2).fit(rows, y)
    assert_allclose(whole.predict_log_proba(rows), yours.predict_log_proba(rows), rtol=1e-8)


def test_a_singular_covariance_that_regularising_hides_is_told_where_cells_are_missing():
    """EM regards no reg_param: what it came to depends on the last digits, though what is shown can be inverted."""
    gone = np.nan
    rows = np.array([[4.4, 5, gone], [gone, 5, 4.5], [4.9, 0, 0.8], [3.9, gone, 4.0], [gone, 5, -1.0], [3.6, 1, 4]])
    other = np.random.default_rng(0).normal(size=(20, 3))
    options = {"reg_param": 0.1}, {"shrinkage": 0.1}
    for option in options:
        model = sf.QuadraticDiscriminantAnalysis(**option)
        with pytest.warns(sf.SufficeWarning, match="before it was regularised, class 0"):
            model.fit(np.r_[rows, other], [0] * 6 + [1] * 20)
        assert [code for code, _ in model.alerts_] == ["singular"]
        model.fit(other, np.arange(20) % 2)
        assert model.alerts_ == ()
