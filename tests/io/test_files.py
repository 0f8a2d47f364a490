"""What is saved comes back: the same bits, the same answers, and it goes on learning as the original does."""

import copy
import datetime as dt
import importlib
import pickle
import pkgutil
import warnings
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

import suffice as sf
from suffice.core.value import Value
from suffice.distributions import load
from suffice.io import dumps, loads
from suffice.io.kinds import values
from suffice.statistics.sums import Additive

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(size=(40, 2)), RNG.normal(size=(40, 2)) * 0.5 + 4.0])
Y = np.repeat([0, 1], 40)
NAMED = np.repeat(["ham", "spam"], 40)
COUNTS = RNG.poisson(3.0, (80, 3))
KINDS = RNG.integers(0, 3, (80, 2))
FRAME = pd.DataFrame(
    {
        "size": X[:, 0],
        "visits": COUNTS[:, 0],
        "colour": np.array(["red", "green", "blue"])[KINDS[:, 0]],
        "smokes": KINDS[:, 1] > 0,
        "grade": KINDS[:, 1] + 7,
    }
)
FRAME.loc[3, "size"] = np.nan
FRAME.loc[5, "colour"] = None


def fitted(estimator, *data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(*data)


def estimators():
    """Fitted estimators of every kind, and the data that they learned from."""
    seed = {"random_state": 0}
    prior = {"weights": sf.Dirichlet([2.0, 2.0])}
    yield "GaussianMixture", sf.GaussianMixture(2, **seed), (X,)
    yield "GaussianMixture-tied", sf.GaussianMixture(2, covariance_type="tied", prior=prior, **seed), (X,)
    yield "GaussianMixture-VEI", sf.GaussianMixture(2, covariance_type="VEI", means_init=[[0, 0], [4, 4]], **seed), (X,)
    yield "GaussianMixture-frame", sf.GaussianMixture(2, **seed), (pd.DataFrame(X, columns=["a", "b"]),)
    yield "GaussianMixture-float32", sf.GaussianMixture(2, covariance_type="diag", **seed), (X.astype(np.float32),)
    yield "GaussianMixture-max_iter_0", sf.GaussianMixture(2, max_iter=0, **seed), (X,)
    yield "BayesianGaussianMixture", sf.BayesianGaussianMixture(n_components=3, **seed), (X,)
    dirichlet = {"weight_concentration_prior_type": "dirichlet_distribution", "covariance_type": "tied"}
    yield "BayesianGaussianMixture-dirichlet", sf.BayesianGaussianMixture(n_components=2, **dirichlet, **seed), (X,)
    yield "KMeans", sf.KMeans(2, **seed), (X,)
    yield "KMeans-float32", sf.KMeans(2, init=X[:2], n_init=1).set_output(transform="pandas"), (X.astype(np.float32),)
    yield "MixtureModel", sf.MixtureModel(sf.Normal(), 2, **seed), (X,)
    yield "MixtureModel-frame", sf.MixtureModel(sf.infer(FRAME), 2, **seed), (FRAME,)
    yield "MixtureModel-families", sf.MixtureModel([sf.Normal(), sf.Laplace()], start=Y, **seed), (X[:, :1],)
    yield "LatentClass", sf.LatentClass(2, **seed), (KINDS,)
    yield "LatentClass-words", sf.LatentClass(2, **seed), (["0001", "0011", "0111", "1111", "0000", "1110"] * 3,)
    yield "NaiveBayes", sf.NaiveBayes(), (FRAME, NAMED)
    yield "NaiveBayes-polars", sf.NaiveBayes({"visits": sf.Poisson()}, prior=None), (pl.from_pandas(FRAME), Y)
    yield "NaiveBayes-array", sf.NaiveBayes(joint=True), (X, NAMED)
    yield "BayesClassifier", sf.BayesClassifier(sf.MultivariateNormal(), priors=[0.3, 0.7]), (X, NAMED)
    yield "BayesClassifier-mixtures", sf.BayesClassifier(sf.Mixture(sf.Normal(), 2), **seed), (X, NAMED)
    yield "BayesClassifier-each", sf.BayesClassifier({0: sf.Normal(), 1: sf.Laplace()}, **seed), (X, Y)
    some = np.where(np.arange(80) % 3 == 0, None, NAMED.astype(object))
    yield "BayesClassifier-partly", sf.BayesClassifier(sf.Normal(), prior="weak"), (X, some)
    yield "BayesClassifier-bool", sf.BayesClassifier(sf.Normal()), (X, Y > 0)
    yield "GaussianNB", sf.GaussianNB(), (X, Y)
    yield "BernoulliNB", sf.BernoulliNB(alpha=[0.5, 2.0]), (X, NAMED)
    yield "CategoricalNB", sf.CategoricalNB(min_categories=4), (KINDS, Y)
    yield "MultinomialNB", sf.MultinomialNB(class_prior=[0.2, 0.8]), (COUNTS, NAMED)
    yield "LinearDiscriminantAnalysis", sf.LinearDiscriminantAnalysis(shrinkage="oas"), (X, NAMED)
    yield "LinearDiscriminantAnalysis-3", sf.LinearDiscriminantAnalysis(solver="eigen"), (X, np.arange(80) % 3)
    yield "QuadraticDiscriminantAnalysis", sf.QuadraticDiscriminantAnalysis(reg_param=0.1), (X, Y.astype(float))
    yield "Density", sf.Density(sf.Normal(), **seed), (X,)
    yield "Density-joint", sf.Density(prior="weak", **seed), (X,)
    yield "Density-frame", sf.Density(sf.infer(FRAME), **seed), (FRAME,)
    yield "Density-mixture", sf.Density(sf.Mixture(sf.Normal(), 2), **seed), (X,)


ESTIMATORS = {name: (fitted(estimator, *data), data) for name, estimator, data in estimators()}


def fits():
    """Fits of models of every kind."""
    days = np.array(["2026-01-01", "2026-01-02", "2026-01-05"], dtype="datetime64[D]")[KINDS[:, 0]]
    yield "Normal", sf.fit(sf.Normal(), X[:, 0])
    yield "Normal-unbiased", sf.fit(sf.Normal(), X[:, 0], ddof=1)
    yield "Normal-weak", sf.fit(sf.Normal(), X, prior="weak")
    yield "Uniform", sf.fit(sf.Uniform(low=0.0).fix("low"), np.abs(X[:, 0]))
    yield "StudentT", sf.fit(sf.StudentT(), X[:, 0])
    yield "Laplace", sf.fit(sf.Laplace(), X)
    yield "Categorical-dates", sf.fit(sf.Categorical(), days, prior=sf.Dirichlet([2.0, 2.0, 2.0]))
    yield "Categorical-days", sf.fit(sf.Categorical(), [dt.date(2026, 1, 1), dt.date(2026, 2, 3)] * 3)
    yield "Categorical-moments", sf.fit(sf.Categorical(), [dt.datetime(2026, 1, 1, 12, 30), dt.datetime(2026, 2, 3)])  # noqa: DTZ001
    yield "Categorical-bools", sf.fit(sf.Categorical(), [True, False, True])
    yield "Categorical-bytes", sf.fit(sf.Categorical(), _objects([b"\x00x", b"\xff"]))
    yield "Categorical-text", sf.fit(sf.Categorical(), ["é\n", "", "日本", '"', "\\u0000"])
    yield "Categorical-numbers", sf.fit(sf.Categorical(), [0.5, 2.0**-1074, 1e308, 0.1])
    yield "Categorical-large", sf.fit(sf.Categorical(), _objects([10**30, 7, -(10**30)]))
    yield "Product-frame", sf.fit(sf.infer(FRAME), FRAME)
    yield "Product-weak", sf.fit(sf.infer(FRAME[["size", "smokes"]]), FRAME, prior="weak")
    yield "Product-numbered", sf.fit(sf.Product({0: sf.Normal(), 7: sf.Poisson()}), {0: X[:, 0], 7: COUNTS[:, 0]})
    yield "MultivariateNormal-impossible", sf.fit(sf.MultivariateNormal(), np.c_[X, X[:, 0]])  # floored, with an alert
    yield "Mixture", sf.fit(sf.Mixture(sf.MultivariateNormal(structure="tied"), 2), X, random_state=0)
    yield "Mixture-hard", sf.fit(sf.Mixture(sf.Normal(), 2, hard=True).fix("weights"), X, random_state=0)
    yield "Mixture-families", sf.fit(sf.Mixture([sf.Normal(), sf.StudentT()]), X[:, 0], random_state=0)
    yield "Mixture-mixtures", sf.fit(sf.Mixture(sf.Mixture(sf.Normal(), 2), 2), X[:, 0], random_state=0, max_iter=20)
    yield "Mixture-frame", sf.fit(sf.Mixture(sf.infer(FRAME), 2), FRAME, random_state=0)
    yield "Mixture-prior", sf.fit(sf.Mixture(sf.Poisson(), 2), COUNTS[:, 0], prior="weak", random_state=0)
    nested = sf.Product({"x": sf.Mixture(sf.Normal(), 2), "y": sf.Exponential()})
    yield "Product-mixture", sf.fit(nested, {"x": X[:, 0], "y": np.abs(X[:, 1])}, random_state=0)


def _objects(values):
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    FITS = dict(fits())


def beliefs():
    """Posteriors of every kind."""
    yield "Bernoulli", sf.posterior(sf.Bernoulli(), [1, 0, 1], prior=sf.Beta(1, 1))
    yield "Normal", sf.posterior(sf.Normal(), X, prior=sf.NormalInverseGamma(0.0, 1.0, 2.0, 2.0))
    yield "Normal-known", sf.posterior(sf.Normal(std=1.0).fix("std"), X[:, 0], prior=sf.NormalPrior(0.0, 2.0))
    yield "MultivariateNormal", sf.posterior(sf.MultivariateNormal(), X, prior="weak")
    yield "Categorical", sf.posterior(sf.Categorical(), KINDS, prior=sf.Dirichlet([0.5, 0.5, 0.5]))
    yield "Product", sf.posterior(sf.infer(FRAME[["size", "colour"]]), FRAME, prior="weak")
    two = sf.Stack([sf.Normal(), sf.Exponential()])
    yield "Stack", two.posterior(two.suffstats(np.abs(X[:, 0])), [sf.NormalInverseGamma(0, 1, 2, 2), sf.Gamma(1, 1)])
    yield "Mixture", sf.posterior(sf.Mixture(sf.Normal(), 3), X, prior="weak", random_state=0)
    sticks = {"weights": sf.StickBreaking(0.5), "components": "weak"}
    yield "Mixture-sticks", sf.posterior(sf.Mixture(sf.MultivariateNormal(), 3), X, prior=sticks, random_state=0)
    known = sf.Mixture(sf.Poisson(), 2, weights=[0.3, 0.7]).fix("weights")
    yield "Mixture-known", sf.posterior(known, COUNTS[:, 0], prior="weak", random_state=0)
    values = sf.Categorical([0.2, 0.5, 0.9], [0.3, 0.4, 0.3])
    either = sf.Mixture([sf.Beta(2, 8), sf.Beta(8, 2)], weights=[0.3, 0.7])
    yield "Mixed", sf.posterior(sf.Bernoulli(), [1, 0, 1], prior=either)
    yield "Finite", sf.posterior(sf.Bernoulli(), [1, 0, 1], prior=values)
    yield "Finite-several", sf.posterior(sf.Normal(), X[:, 0], prior={sf.Normal(0, 1): 1, sf.Normal(1, 2): 3})


BELIEFS = dict(beliefs())


def same(left, right, where="it"):
    """Assert that two things are equal in every bit and type, all the way down."""
    assert type(left) is type(right) or (isinstance(left, tuple) and isinstance(right, tuple)), where
    if isinstance(left, np.ndarray):
        assert (left.dtype, left.shape) == (right.dtype, right.shape), where
        if left.dtype == object:
            same(left.tolist(), right.tolist(), where)
        else:
            assert np.ascontiguousarray(left).tobytes() == np.ascontiguousarray(right).tobytes(), where
    elif isinstance(left, dict):
        assert list(left) == list(right), where
        for key in left:
            same(left[key], right[key], f"{where}[{key!r}]")
    elif isinstance(left, (list, tuple)):
        assert len(left) == len(right), where
        for index, pair in enumerate(zip(left, right, strict=True)):
            same(*pair, f"{where}[{index}]")
    elif is_dataclass(left) or hasattr(left, "get_params"):
        mine, theirs = ({f.name for f in fields(one)} if is_dataclass(one) else set(vars(one)) for one in (left, right))
        assert mine == theirs, where
        for name in mine - {"_data", "_mark", "_like"}:
            same(getattr(left, name), getattr(right, name), f"{where}.{name}")
    else:
        assert left == right or (left != left and right != right), where  # noqa: PLR0124 (NaN)
        assert repr(left) == repr(right), where  # 0.0 and −0.0


# ---- estimators -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_comes_back_with_every_attribute(name):
    model, _ = ESTIMATORS[name]
    data = dumps(model)
    loaded = loads(data)
    assert dumps(loaded) == data
    same(loaded, model)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_loaded_estimator_gives_the_same_answers(name):
    model, (rows, *_) = ESTIMATORS[name]
    loaded = loads(dumps(model))
    asked = ("predict", "predict_proba", "score_samples", "transform", "decision_function", "predict_joint_log_proba")
    verbs = [verb for verb in asked if hasattr(model, verb)]
    assert verbs
    for verb in verbs:
        same(getattr(loaded, verb)(rows), getattr(model, verb)(rows), verb) if verb != "transform" else np.array_equal(
            loaded.transform(rows), model.transform(rows)
        )
    if hasattr(model, "explain"):
        row = rows.iloc[:1] if isinstance(rows, pd.DataFrame) else rows[:1]
        assert repr(loaded.explain(row)) == repr(model.explain(row))
    if hasattr(model, "sample"):
        seed = {"random_state": 0} if hasattr(model, "classes_") else {}  # of mixtures it is an option of their own
        same(loaded.sample(5, **seed), model.sample(5, **seed), "sample")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_loaded_estimator_goes_on_learning(name):
    model, data = ESTIMATORS[name]
    if not hasattr(model, "partial_fit") or name == "BayesClassifier-partly":
        pytest.skip("it does not learn row by row")
    here, loaded = copy.copy(model), loads(dumps(model))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for one in (here, loaded):
            one.partial_fit(*data)
    same(loaded, here)
    same(loads(dumps(loaded)), here)
    assert loaded.statistics_ != getattr(model, "statistics_", None)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_loaded_estimators_merge(name):
    model, _ = ESTIMATORS[name]
    loaded = loads(dumps(model))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole = sf.merge(model, model)
    except sf.SufficeError as refusal:
        with pytest.raises(type(refusal)):
            sf.merge(loaded, loaded)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        merged = sf.merge(loaded, loads(dumps(model)))
    same(merged, whole)
    assert np.sum(merged.statistics_.weight) == pytest.approx(2 * np.sum(model.statistics_.weight))


def test_an_estimator_that_has_learned_nothing_is_saved_with_its_options():
    for name, (model, _) in ESTIMATORS.items():
        bare = type(model)(**model.get_params(deep=False))
        loaded = loads(dumps(bare))
        same(loaded.get_params(deep=False), bare.get_params(deep=False), name)
        assert not hasattr(loaded, "distribution_")


def test_unlearning_after_loading():
    model, (rows, labels) = ESTIMATORS["GaussianNB"]
    loaded = loads(dumps(model))
    same(loaded.unlearn(rows[:5], labels[:5]), copy.copy(model).unlearn(rows[:5], labels[:5]))


# ---- fits and beliefs -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", FITS)
def test_a_fit_comes_back(name):
    fit = FITS[name]
    data = dumps(fit)
    loaded = loads(data)
    assert dumps(loaded) == data
    same(loaded, fit)
    assert loaded == fit
    assert loaded._data is None
    rows = fit.sample(20, random_state=0)
    same(loaded.log_prob(rows), fit.log_prob(rows), "log_prob")
    drawn = [one.distribution.sample(20, random_state=0) for one in (loaded, fit)]  # of a frame a fit draws a frame
    same(*drawn, "sample")
    assert (loaded.bic, loaded.n_iter, loaded.n_parameters) == (fit.bic, fit.n_iter, fit.n_parameters)


@pytest.mark.parametrize("name", FITS)
def test_the_statistics_of_a_fit_come_back_alone(name):
    stats = FITS[name].statistics
    data = dumps(stats)
    loaded = loads(data)
    assert dumps(loaded) == data
    same(loaded, stats)
    assert loaded + loaded == stats + stats


@pytest.mark.parametrize("name", FITS)
def test_a_loaded_fit_needs_no_rows_or_says_so(name):
    loaded = loads(dumps(FITS[name]))
    if "ixture" in name:
        with pytest.raises(sf.UnsupportedError, match="need the rows, which a fit keeps only while it is in memory"):
            _ = loaded.standard_errors
    else:
        same(loaded.standard_errors, copy.copy(FITS[name]).standard_errors)
    page = str(loaded).replace("−", "-")
    assert f"log-likelihood {loaded.log_likelihood:.1f}" in page


@pytest.mark.parametrize("name", ["Mixture", "Mixture-frame", "Mixture-families", "Product-mixture", "Product-frame"])
def test_standard_errors_that_were_asked_for_are_saved(name):
    fit = replace(FITS[name])  # with its rows, and without what was asked of it
    errors, page = fit.standard_errors, fit.summary(errors=True)
    data = dumps(fit)
    loaded = loads(data)
    same(loaded.standard_errors, errors)
    assert vars(loaded).get("icl") == vars(fit).get("icl")
    assert dumps(loaded) == data
    assert loaded.summary(errors=True) == page


@pytest.mark.parametrize("name", BELIEFS)
def test_a_belief_comes_back(name):
    belief = BELIEFS[name]
    data = dumps(belief)
    loaded = loads(data)
    assert dumps(loaded) == data
    same(loaded, belief)
    same(loaded.mean, belief.mean, "mean")
    same(loaded.interval(0.9), belief.interval(0.9), "interval")
    same(loaded.sample(3, random_state=0), belief.sample(3, random_state=0), "sample")
    same(loaded.predictive(), belief.predictive(), "predictive")


def test_the_predictive_of_a_density_prior_can_be_saved():
    post = sf.posterior(sf.Bernoulli(), [1, 0, 1], prior=lambda p: 1 + (p > 0.5))
    average = sf.posterior(sf.Poisson(), [1, 0, 4], prior=lambda r: np.exp(-r)).predictive()
    same(loads(dumps(post.predictive())), post.predictive())
    loaded = loads(dumps(average))
    same(loaded.log_prob([0, 1, 2]), average.log_prob([0, 1, 2]))


def test_a_belief_after_more_data():
    before = loads(dumps(BELIEFS["Categorical"]))
    same(
        sf.posterior(sf.Categorical(), KINDS, prior=before),
        sf.posterior(sf.Categorical(), KINDS, prior=BELIEFS["Categorical"]),
    )


def test_a_selection_comes_back():
    found = sf.select(sf.MultivariateNormal(), X, n_components=[1, 2], structures=["EII", "VVV"], random_state=0)
    data = dumps(found)
    loaded = loads(data)
    assert dumps(loaded) == data
    assert repr(loaded) == repr(found)
    same(loaded.table.rows, found.table.rows)
    assert loaded.best == found.best
    assert loaded.best is loaded.fits[0]


def test_a_schema_tells_its_reasons_after_loading():
    schema = sf.infer(FRAME)
    loaded = loads(dumps(schema))
    assert str(loaded) == str(schema)
    assert sf.fit(loaded, FRAME) == sf.fit(schema, FRAME)


def test_a_prototype_comes_back_as_one():
    waiting = sf.Mixture(sf.Product({"a": sf.Categorical(), ("b", "c"): sf.Normal().tie("std")}), 3)
    loaded = loads(dumps(waiting))
    assert loaded == waiting
    assert not loaded.ready
    data = {"a": KINDS[:, 0], "b": X[:, 0], "c": X[:, 1]}
    assert sf.fit(loaded, data, random_state=0) == sf.fit(waiting, data, random_state=0)


def test_numbers_keep_their_bits_and_names_their_types():
    odd = [0.1 + 0.2, -0.0, 5e-324, 1.7976931348623157e308, -1e-17]
    value = loads(dumps(sf.Normal(odd, 1.0)))
    assert value.mean.tobytes() == np.array(odd).tobytes()
    stats = sf.Uniform().suffstats(np.empty((0, 1)))
    loaded = loads(dumps(stats))
    assert loaded.low.tolist() == [[np.inf]]
    assert loaded.high.tolist() == [[-np.inf]]
    fit = sf.fit(sf.Product({1: sf.Normal(), "1": sf.Normal()}), {1: [1.0, 2.0], "1": [3.0, 5.0]})
    assert list(loads(dumps(fit)).distribution.blocks) == [1, "1"]
    labels = sf.Categorical([np.datetime64("2026-01-01T10", "h"), "b", True, dt.date(2026, 1, 2), 2.5, 3])
    same(loads(dumps(labels)).levels, labels.levels)


def heirs(kind):
    for one in kind.__subclasses__():
        yield one
        yield from heirs(one)


def test_every_kind_of_value_is_known_to_files():
    """A new distribution or statistic must be entered in `suffice.io.kinds`, or it cannot be saved."""
    made_of_functions = {"ExponentialFamily", "SeveralStatistics"}
    # The sums of one pass of k-means; a part that its hurdle makes anew; what a profile likelihood holds fixed.
    passing = {"Apart", "ZeroTruncatedNegativeBinomial", "ZeroTruncatedPoisson", "HeldWeight"}
    for module in pkgutil.walk_packages(sf.__path__, "suffice."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    load()
    known = tuple(values().values())
    kinds = {one for base in (Value, Additive) for one in heirs(base) if one.__module__.startswith("suffice.")}
    unknown = {one.__name__ for one in kinds if not any(issubclass(own, one) for own in known)}
    assert unknown <= made_of_functions | passing


def test_a_file_can_be_read_by_a_person():
    text = dumps(FITS["Product-frame"]).decode()
    assert text.startswith('{\n "suffice": "1",\n "kind": "Fit",\n "distribution": {\n  "kind": "Product",\n')
    assert '"mean":' in text
    assert max(map(len, text.splitlines())) < 1000


@pytest.mark.parametrize("name", ["GaussianMixture", "NaiveBayes", "LinearDiscriminantAnalysis"])
def test_pickles_work_too(name):
    model, _ = ESTIMATORS[name]
    same(pickle.loads(pickle.dumps(model)), model)  # noqa: S301 (written just now)
