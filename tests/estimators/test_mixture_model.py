"""Mixtures of anything, and latent classes, as estimators."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV

import suffice as sf
from suffice.errors import DataError

MIXED = sf.Product({"age": sf.Normal(), "visits": sf.Poisson(), "city": sf.Categorical()})


def people(n=500, seed=0):
    rng = np.random.default_rng(seed)
    who = (rng.random(n) < 0.4).astype(int)
    age = np.where(who, rng.normal(50, 5, n), rng.normal(20, 3, n))
    city = np.where(rng.random(n) < np.where(who, 0.9, 0.2), "Bern", "Genf").astype(object)
    frame = pd.DataFrame({"age": age, "visits": rng.poisson(np.where(who, 8, 1)), "city": city})
    frame.loc[3, "age"], frame.loc[5, "city"] = np.nan, None
    return frame, who


# ---- any prototype -------------------------------------------------------------------------------------------------
def test_columns_of_different_kinds_by_name():
    frame, who = people()
    model = sf.MixtureModel(MIXED, 2, random_state=0).fit(frame)
    assert adjusted_rand_score(who, model.predict(frame)) > 0.98
    assert_allclose(np.sort(model.weights_), [0.4, 0.6], atol=0.05)
    ages = np.sort(model.fit_.params["age"]["mean"])
    assert_allclose(ages, [20, 50], atol=1)
    assert_allclose(model.bic(frame), model.fit_.bic, rtol=1e-10)
    assert_allclose(model.aic(frame), model.fit_.aic, rtol=1e-10)
    assert_allclose(model.score(frame) * 500, model.fit_.log_likelihood, rtol=1e-10)
    assert_array_equal(model.predict_proba(frame).argmax(axis=1), model.predict(frame))
    shuffled = frame[["city", "age", "visits"]]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(shuffled)


def test_polars_is_pandas():
    frame, _ = people()
    ours = sf.MixtureModel(MIXED, 2, random_state=0).fit(pl.from_pandas(frame))
    theirs = sf.MixtureModel(MIXED, 2, random_state=0).fit(frame)
    assert_array_equal(ours.predict_proba(pl.from_pandas(frame)), theirs.predict_proba(frame))
    assert ours.feature_names_in_.tolist() == ["age", "visits", "city"]


def test_no_prototype_is_gaussian():
    X = np.random.default_rng(0).normal(size=(300, 3)) + 5 * (np.arange(300) % 2)[:, None]
    model = sf.MixtureModel(random_state=0).fit(X)
    fit = sf.fit(sf.Mixture(sf.MultivariateNormal(), 2), X, random_state=0)
    assert_allclose(model.score(X) * 300, fit.log_likelihood, rtol=1e-6)
    assert model.distribution_.components.name == "MultivariateNormal"
    assert sf.MixtureModel(random_state=0).fit(X[:, :1]).distribution_.components.name == "Normal"


def test_components_of_different_families():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(10, 1, 400), rng.exponential(1, 400)])[:, None]
    model = sf.MixtureModel([sf.Normal(), sf.Exponential()]).fit(X)
    normal, exponential = model.distribution_.unstacked[0].components.unstacked
    assert_allclose([normal.mean, exponential.rate], [10, 1], atol=0.15)


def test_a_weight_is_a_repetition_for_labels_too():
    frame, _ = people(200)
    weights = np.random.default_rng(3).integers(0, 4, 200)
    weighted = sf.MixtureModel(MIXED, 2, random_state=0).fit(frame, sample_weight=weights)
    repeated = sf.MixtureModel(MIXED, 2, random_state=0).fit(frame.loc[np.repeat(frame.index, weights)])
    assert_allclose(weighted.predict_proba(frame), repeated.predict_proba(frame), atol=1e-6)
    assert weighted.n_seen_ == repeated.n_seen_ == weights.sum()


@pytest.mark.parametrize("prototype", [sf.Normal(), None])
def test_holes(prototype):
    X = np.random.default_rng(0).normal(size=(200, 2)) + 6 * (np.arange(200) % 2)[:, None]
    X[::7, 0] = np.nan
    model = sf.MixtureModel(prototype, random_state=0).fit(X)
    assert adjusted_rand_score(np.arange(200) % 2, model.predict(X)) > 0.95


def test_starts_steps_and_copies():
    frame, who = people()
    model = sf.MixtureModel(MIXED, 2, start=who, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.fit(frame)
    assert adjusted_rand_score(who, model.predict(frame)) > 0.98
    again = pickle.loads(pickle.dumps(model))  # noqa: S301 (our own bytes)
    assert_array_equal(again.predict(frame), model.predict(frame))
    copy = clone(model).set_params(max_iter=500, warm_start=True).fit(frame)
    passes = copy.n_iter_
    assert copy.fit(frame).n_iter_ < passes
    before = copy.score(frame)
    copy.partial_fit(frame.iloc[:100])
    assert copy.n_seen_ == 600
    assert abs(copy.score(frame) - before) < 0.1


def test_grids_choose_the_number_of_components():
    X = np.concatenate([np.random.default_rng(j).poisson(3 + 20 * j, 200) for j in range(3)])[:, None]
    grid = GridSearchCV(sf.MixtureModel(sf.Poisson(), random_state=0), {"n_components": [1, 2, 3]}, cv=3)
    X = np.random.default_rng(9).permutation(X)
    assert grid.fit(X).best_params_ == {"n_components": 3}


def test_samples_are_rows_of_columns():
    frame, _ = people()
    rows, who = sf.MixtureModel(MIXED, 2, random_state=0).fit(frame).sample(400)
    assert list(rows) == ["age", "visits", "city"]
    assert {len(column) for column in rows.values()} == {400}
    gap = rows["age"][who == 0].mean() - rows["age"][who == 1].mean()
    assert_allclose(abs(gap), 30, atol=2)


# ---- latent classes ------------------------------------------------------------------------------------------------
PATTERNS = ["01000010", "11111111", "00001111"]


def words(n=300, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    who = rng.integers(3, size=n)
    bits = np.array([[int(c) for c in PATTERNS[j]] for j in who])
    return bits ^ (rng.random(bits.shape) < noise), who


def test_hidden_patterns_are_recovered_from_strings():
    bits, who = words()
    strings = ["".join(map(str, row)) for row in bits.astype(int)]
    model = sf.LatentClass(3, random_state=0).fit(strings)
    likeliest = {"".join(p[1, j].round().astype(int).astype(str) for p in model.probabilities_) for j in range(3)}
    assert likeliest == set(PATTERNS)
    flips = (bits[:, None, :] != np.array([[c == "1" for c in pattern] for pattern in PATTERNS])).sum(axis=2)
    best = adjusted_rand_score(who, flips.argmin(axis=1))  # of somebody who knows the patterns
    assert adjusted_rand_score(who, model.predict(strings)) > best - 0.1
    for column, levels in zip(model.probabilities_, model.levels_, strict=True):
        assert levels == ("0", "1")
        assert_allclose(column.sum(axis=0), 1.0)
    assert_allclose(model.bic(strings), model.fit_.bic, rtol=1e-10)
    series = sf.LatentClass(3, random_state=0).fit(pd.Series(strings))
    assert_allclose(series.score_samples(strings), model.score_samples(strings))


def test_whole_numbers_and_frames_are_labels():
    bits, _ = words()
    numbers = sf.LatentClass(3, random_state=0).fit(bits.astype(int))
    symbols = np.where(bits, "yes", "no").astype(object)
    frame = pd.DataFrame(symbols, columns=[f"q{j}" for j in range(8)]).astype("category")
    frames = sf.LatentClass(3, random_state=1).fit(frame)
    assert_allclose(numbers.score(bits.astype(int)), frames.score(frame), rtol=1e-6)
    assert frames.levels_[0] == ("no", "yes")
    assert frames.feature_names_in_.tolist() == list(frame.columns)
    polar = sf.LatentClass(3, random_state=1).fit(
        pl.DataFrame(symbols.tolist(), schema=list(frame.columns), orient="row")
    )
    assert_allclose(polar.weights_, frames.weights_)


def test_missing_cells_are_left_out():
    bits, who = words()
    cells = bits.astype(object)
    cells[np.random.default_rng(1).random(bits.shape) < 0.1] = None
    model = sf.LatentClass(3, random_state=0).fit(cells)
    assert adjusted_rand_score(who, model.predict(cells)) > 0.75
    nothing = np.full((1, 8), None, dtype=object)
    assert_allclose(model.predict_proba(nothing)[0], model.weights_)
    assert_allclose(model.score_samples(nothing), 0.0, atol=1e-12)


def test_unseen_labels_are_left_out_with_a_warning():
    model = sf.LatentClass(2, random_state=0).fit([["a", "x"], ["b", "y"], ["a", "x"]])
    with pytest.warns(sf.SufficeWarning, match="'z'"):
        score = model.score_samples([["z", "x"]])
    assert np.isfinite(score).all()


def test_a_prior_keeps_levels_possible():
    bits, _ = words(30)
    free = sf.LatentClass(3, random_state=0).fit(bits)
    kept = sf.LatentClass(3, random_state=0, prior=sf.Dirichlet([2.0])).fit(bits)
    assert min(p.min() for p in free.probabilities_) < 1e-6
    assert min(p.min() for p in kept.probabilities_) > 0.01


def test_bad_labels_are_named():
    with pytest.raises(ValueError, match="row 0 has 3 symbols, row 1 has 2"):
        sf.LatentClass().fit(["010", "01"])
    with pytest.raises(TypeError, match=r"row 1, column 0 holds dict"):
        sf.LatentClass().fit(np.array([["a", "b"], [{}, "b"]], dtype=object))
    with pytest.raises(ValueError, match="expecting 3 features"):
        sf.LatentClass(1).fit(["010", "011"]).predict(["01"])


def test_verbose_tells_of_every_start(capsys):
    X = np.random.default_rng(0).normal(size=(60, 1)) + np.repeat([[0.0], [6.0]], 30, axis=0)
    options = {"n_init": 2, "random_state": 0}
    loud = sf.MixtureModel(sf.Normal(), **options, verbose=1, verbose_interval=1).fit(X)
    told = capsys.readouterr().out.splitlines()
    assert [line for line in told if "Initialization" in line and "lower" not in line] == [
        "Initialization 0",
        "Initialization 1",
    ]
    assert sum(line.startswith("Initialization converged. lower bound") for line in told) == 2
    assert "  Iteration 1" in told
    quiet = sf.MixtureModel(sf.Normal(), **options).fit(X)
    assert capsys.readouterr().out == ""
    assert_allclose(loud.lower_bounds_, quiet.lower_bounds_, rtol=1e-12)


def test_a_warm_start_honours_changed_options():
    X = np.random.default_rng(0).normal(size=(60, 1)) + np.repeat([[0.0], [6.0]], 30, axis=0)
    model = sf.MixtureModel(sf.Normal(), random_state=0, warm_start=True).fit(X)
    model.set_params(prototype=sf.Normal().tie("std")).fit(X)
    assert np.ptp(model.distribution_.components.std) == 0
    assert model.set_params(prototype=sf.Laplace()).fit(X).distribution_.components.name == "Laplace"
    assert len(model.set_params(n_components=3).fit(X).weights_) == 3


@pytest.mark.parametrize(
    "model",
    [sf.MixtureModel(), sf.LatentClass(), sf.GaussianMixture(2), sf.BayesianGaussianMixture(n_components=2)],
)
def test_sparse_matrices_are_refused(model):
    with pytest.raises(TypeError, match="dense data is required"):
        model.fit(csr_array(np.eye(4)))


def test_alerts_are_those_of_the_fit_and_the_fit_goes_when_rows_come():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(100, 1)), np.full((6, 1), 3.0)])
    model = sf.MixtureModel(sf.Normal(), 2, start=np.repeat([0, 1], [100, 6]), random_state=0).fit(X)
    assert model.alerts_ == model.fit_.alerts
    assert "collapsed" in dict(model.alerts_)
    model.partial_fit(rng.normal(size=(100, 1)))
    assert not hasattr(model, "fit_")
    assert "not converged" in dict(model.alerts_)


def test_empty_strings_have_no_columns():
    with pytest.raises(DataError, match="all 3 strings are empty"):
        sf.LatentClass(2).fit(["", "", ""])


def test_columns_by_name_are_a_frame():
    with pytest.raises(DataError, match=r"a mapping of 'p', 'q'. Make a DataFrame of it"):
        sf.LatentClass(2).fit({"p": ["u", "v"] * 9, "q": ["a", "b"] * 9})
