"""Whatever a caller gives, every verb answers or refuses with one of suffice's errors: a table of verbs × bad input."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

import suffice as sf
from suffice.errors import DataError, ParameterError, SufficeError

rng = np.random.default_rng(0)
X = rng.normal(size=12)
SPARSE = scipy.sparse.csr_matrix(rng.normal(size=(4, 2)))
TWICE = pd.DataFrame([[1.0, 2.0], [3.0, 4.0], [2.0, 2.0]], columns=["a", "a"])
RECORDS = np.array([(1.0, 2), (3.0, 4)], dtype=[("p", float), ("q", int)])
TABLE = {"a": X, "b": X**2}

BAD = {
    "a sparse matrix": SPARSE,
    "two columns of one name": TWICE,
    "no columns": np.empty((5, 0)),
    "a frame without columns": pd.DataFrame(index=range(3)),
    "a table of Arrow without columns": pa.table({}),
    "a number beyond float64": [10**400, 1],
    "rows with a number beyond float64": [[10**400, 1], [1, 2]],
    "a number": 5,
    "ragged rows": [[1, 2], [3]],
    "deeply ragged rows": [[[1], [2, 3]], [1]],
    "nothing": None,
    "a function": len,
    "an object": object(),
    "a class": int,
    "a word": "abc",
    "bytes": b"abc",
    "records": RECORDS,
    "complex numbers": X + 1j,
    "objects with complex numbers": np.array([np.complex128(1j), 1.0], dtype=object),
    "a set": {1, 2},
    "three axes": np.ones((2, 2, 2)),
    "columns of different lengths": {"a": [1, 2], "b": [1]},
    "one row with a name": {"a": 1.0},
    "no rows": [],
    "an empty mapping": {},
    "a mapping of mappings": {"a": {"b": 1}},
    "a mapping of sparse matrices": {"a": SPARSE, "b": SPARSE},
    "a mapping of records": {"a": RECORDS, "b": RECORDS},
    "a mapping with a number beyond float64": {"a": [10**400, 1], "b": [1, 2]},
    "rows with different names": [{"a": 1}, {"b": [1]}],
    "a series of lists": pd.Series([[1], [1, 2]]),
    "a frame of lists": pd.DataFrame({"a": [[1], [1, 2]], "b": [1, 2]}),
    "a series of polars": pl.Series(["a", "b"]),
    "a masked value": np.ma.masked,
    "a slice": slice(3),
}
NORMAL = sf.fit(sf.Normal(), X)
MIXTURE = sf.fit(sf.Mixture(sf.Normal(), 2), X, random_state=0)
PRODUCT = sf.fit(sf.Product({"a": sf.Normal(), "b": sf.Normal()}), TABLE)
PROTOTYPES = {
    "Normal": sf.Normal(),
    "Poisson": sf.Poisson(),
    "StudentT": sf.StudentT(),
    "MultivariateNormal": sf.MultivariateNormal(),
    "Categorical": sf.Categorical(),
    "Multinomial": sf.Multinomial(),
    "Dirichlet": sf.Dirichlet(),
    "Mixture": sf.Mixture(sf.Normal(), 2),
    "Product by name": sf.Product({"a": sf.Normal(), "b": sf.Categorical()}),
    "Product by place": sf.Product([sf.Normal(), sf.Normal()]),
}
VERBS = {
    **{f"fit {name}": (lambda bad, one=one: sf.fit(one, bad, random_state=0)) for name, one in PROTOTYPES.items()},
    "posterior": lambda bad: sf.posterior(sf.Normal(), bad, prior="weak"),
    "infer": sf.infer,
    "infer a column": lambda bad: sf.infer({"q": bad}),
    **{f"Normal.{verb}": getattr(NORMAL, verb) for verb in ("log_prob", "suffstats", "cdf", "quantile", "sample")},
    **{
        f"Mixture.{verb}": getattr(MIXTURE, verb)
        for verb in ("log_prob", "predict", "predict_proba", "cdf", "quantile", "sample")
    },
    **{f"Product.{verb}": getattr(PRODUCT, verb) for verb in ("log_prob", "impute", "surprisal", "given", "marginal")},
    "Product.predict": lambda bad: PRODUCT.predict("a", given=bad),
    "Product.predict of a column": lambda bad: PRODUCT.predict(bad, given={"a": 1.0}),
    "a given value": lambda bad: PRODUCT.given({"a": bad}),
    "mutual_information": lambda bad: PRODUCT.mutual_information(bad, "a"),
    "weights": lambda bad: sf.fit(sf.Normal(), X, weights=bad),
    "start": lambda bad: sf.fit(sf.Mixture(sf.Normal(), 2), X, start=bad),
    "prior": lambda bad: sf.fit(sf.Normal(), X, prior=bad),
    "scan": sf.scan,
    "components": sf.Mixture,
    "number of components": lambda bad: sf.Mixture(sf.Normal(), bad),
    "parts": sf.Product,
    "stack": sf.Stack,
    "parameter": sf.Normal,
    "level": NORMAL.interval,
    "load": sf.load,
    "loads": sf.io.loads,
}


@pytest.mark.filterwarnings("error", "ignore::suffice.SufficeWarning")
@pytest.mark.parametrize("verb", VERBS)
def test_bad_input_is_answered_or_refused_with_a_reason(verb):
    for what, bad in BAD.items():
        try:
            VERBS[verb](bad)
        except SufficeError:
            continue
        except Exception as raw:  # noqa: BLE001 (that is what must not happen)
            pytest.fail(f"{verb} of {what}: {type(raw).__name__}: {raw}")


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: sf.fit(sf.Normal(), SPARSE), DataError, ["Normal", "sparse", "toarray"]),
        (lambda: sf.infer(TWICE), DataError, ["two columns", "'a'", "Rename"]),
        (lambda: sf.GaussianMixture(1).fit(TWICE), DataError, ["two columns", "'a'", "Rename"]),
        (lambda: sf.fit(sf.MultivariateNormal(), np.empty((5, 0))), DataError, ["at least one column", "(5, 0)"]),
        (lambda: sf.fit(sf.Multinomial(), []), DataError, ["Multinomial", "at least one column"]),
        (lambda: sf.fit(sf.Normal(), [10**400, 1]), DataError, ["row 0", "float64", "Divide"]),
        (lambda: NORMAL.quantile("a"), ParameterError, ["quantile", "from 0 to 1", "'a'"]),
        (lambda: sf.fit(PROTOTYPES["Product by place"], [[1, 2], [3]]), DataError, ["row 1 has 1", "row 0 has 2"]),
        (lambda: sf.fit(sf.Mixture(sf.Normal(), 2), X, start=[[1, 2], [3]]), DataError, ["start=", "row 1"]),
        (lambda: sf.scan(None), ParameterError, ["scan", "paths", "None"]),
        (lambda: NORMAL.sample(10**20), ParameterError, ["sample", str(10**20), "fewer"]),
        (lambda: MIXTURE.sample(10**20), ParameterError, ["sample", "fewer"]),
        (lambda: MIXTURE.sample(-1), ParameterError, ["sample", "-1"]),
        (lambda: sf.fit(sf.Normal(), X, weights=X + 1j), DataError, ["weights", "complex", "abs"]),
        (lambda: sf.infer({"a": RECORDS}), DataError, ["'a'", "records", "columns of their own"]),
        (lambda: PRODUCT.marginal(pl.Series(["a"])), ParameterError, ["no column", "'a', 'b'"]),
    ],
)
def test_the_refusal_says_what_to_do(call, kind, words):
    with pytest.raises(kind) as refusal:
        call()
    assert all(word in str(refusal.value) for word in words), str(refusal.value)


INVERSE_GAMMA = sf.NormalInverseGamma(0.0, 1.0, 2.0, 2.0)
INVERSE_WISHART = sf.NormalInverseWishart([0.0, 0.0], 1.0, 4.0, np.eye(2))


@pytest.mark.parametrize(
    ("belief", "at", "words"),
    [
        (INVERSE_GAMMA, 3.0, ["'mean'", "'std'", "3.0"]),
        (INVERSE_GAMMA, {"mean": 1.0}, ["'mean'", "'std'"]),
        (INVERSE_GAMMA, {"mean": [1.0, 2.0, 3.0], "std": [1.0, 2.0]}, ["(3,)", "(2,)", "as many"]),
        (INVERSE_WISHART, [1.0], ["'mean'", "'cov'"]),
        (INVERSE_WISHART, {"mean": [1.0, 2.0, 3.0], "cov": np.eye(3)}, ["mean", "(3,)", "(2)"]),
        (INVERSE_WISHART, {"mean": [1.0, 2.0], "cov": [1.0, 2.0]}, ["cov", "(2, 2)"]),
    ],
)
def test_a_belief_about_several_parameters_says_how_they_are_given(belief, at, words):
    with pytest.raises(DataError) as refusal:
        belief.log_prob(at)
    assert all(word in str(refusal.value) for word in words), refusal.value


def test_a_belief_about_several_parameters_is_minus_infinity_where_there_are_none():
    assert INVERSE_GAMMA.log_prob({"mean": 0.0, "std": -1.0}) == -np.inf
    assert INVERSE_WISHART.log_prob({"mean": [0.0, 0.0], "cov": -np.eye(2)}) == -np.inf


@pytest.mark.parametrize("belief", [INVERSE_GAMMA, INVERSE_WISHART], ids=lambda one: one.name)
@pytest.mark.parametrize("verb", ["entropy", "quantile", "cdf"])
def test_what_only_numbers_have_is_refused_of_several_parameters(belief, verb):
    with pytest.raises(SufficeError, match="only distributions over numbers"):
        getattr(belief, verb)(*[0.3][: verb != "entropy"])


def test_draws_of_several_beliefs_have_a_density_each():
    many = sf.NormalInverseWishart([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], [4.0, 5.0], np.array([np.eye(2)] * 2))
    drawn = many.sample(3, 0)
    found = many.log_prob(drawn)
    assert found.shape == (3, 2)
    for row, column in np.ndindex(3, 2):
        one = sf.NormalInverseWishart(many.mean[column], many.count[column], many.df[column], many.scale[column])
        at = {name: value[row, column] for name, value in drawn.items()}
        assert found[row, column] == pytest.approx(one.log_prob(at), rel=1e-12)


@pytest.mark.parametrize(
    "one",
    [
        *(sf.Gamma(2.0, rate) for rate in (1e-300, 1e300)),
        *(sf.Beta(*both) for both in [(1e-300, 1e-300), (1e300, 1e300), (1e-200, 1e200)]),
        *(sf.Geometric(1e-200), sf.NegativeBinomial(2.0, 1e-200), sf.Uniform(-1e200, 1e200)),
    ],
    ids=repr,
)
def test_variances_beyond_float64_are_0_or_infinite(one):
    with np.errstate(over="ignore", under="ignore"):
        for value in (one.var, one.std):
            assert value >= 0
            assert not np.isnan(value)


def test_a_single_label_is_a_row():
    assert sf.fit(sf.Categorical(), 5).distribution.probs.tolist() == [1.0]
