"""What happens to bad input: an error or an alert that says who, which rule, which value, where, and what to do.

Over 400 lines: one table, a row for each bad input.
"""

import math
import os
from unittest import mock

import numpy as np
import pytest

import suffice as sf
from suffice.errors import DataError, ParameterError, UnsupportedError

NAN, INF = float("nan"), float("inf")
X = np.array([0.5, 1.5, 2.5, 4.0])
COUNTS = [0, 1, 3, 2]
MATRIX = np.column_stack([X, X[::-1] ** 2])


def with_environment(name, value, call):
    with mock.patch.dict(os.environ, {name: value}):
        return call()


def own(**changes):
    parts = {"u": lambda x: x, "h": np.ones_like, "A": lambda eta: -np.log(-eta), "start": -1.0} | changes
    return sf.ExponentialFamily(parts["u"], parts["h"], parts["A"], support=(0, np.inf), start=parts["start"])


def stats(distribution, x):
    return distribution.suffstats(x)


# id: (what is called, the error it raises, fragments of the message)
ERRORS = {
    # ---- data -------------------------------------------------------------------------------------------------------
    "no rows": (lambda: sf.fit(sf.Normal(), []), DataError, ["Normal", "no rows", "at least one"]),
    "no rows of two columns": (lambda: sf.fit(sf.Normal(), np.empty((0, 2))), DataError, ["Normal", "no rows"]),
    "only missing": (lambda: sf.fit(sf.Normal(), [NAN, NAN]), DataError, ["Normal", "every cell is missing"]),
    "only None": (lambda: sf.fit(sf.Poisson(), [None, None]), DataError, ["Poisson", "every cell is missing"]),
    "infinite value": (lambda: sf.fit(sf.Normal(), [1.0, INF, 2.0]), DataError, ["Normal", "finite", "row 1", "inf"]),
    "minus infinity": (lambda: sf.fit(sf.Laplace(), [1.0, 2.0, -INF]), DataError, ["Laplace", "row 2", "-inf"]),
    "infinity in a column": (
        lambda: sf.fit(sf.Normal(), [[1.0, 2.0], [2.0, INF]]),
        DataError,
        ["Normal", "row 1", "column 1", "inf"],
    ),
    "infinity in a vector": (
        lambda: sf.fit(sf.MultivariateNormal(), [[1.0, 2.0], [2.0, INF], [0.0, 1.0]]),
        DataError,
        ["MultivariateNormal", "row 1", "inf"],
    ),
    "text": (lambda: sf.fit(sf.Normal(), ["a", "b"]), DataError, ["Normal", "numbers", "text", "'a'", "Categorical"]),
    "numbers as text": (lambda: sf.fit(sf.Poisson(), ["1", "2"]), DataError, ["Poisson", "text", "Convert"]),
    "one word among numbers": (
        lambda: sf.fit(sf.Normal(), [1.0, "high", None]),
        DataError,
        ["Normal", "row 1", "'high'"],
    ),
    "an object among numbers": (
        lambda: sf.fit(sf.Normal(), np.array([1.0, {}, None], dtype=object)),
        DataError,
        ["Normal", "row 1", "dict"],
    ),
    "dates": (
        lambda: sf.fit(sf.Normal(), np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]")),
        DataError,
        ["Normal", "dates", "Convert"],
    ),
    "complex numbers": (lambda: sf.fit(sf.Normal(), [1 + 2j]), DataError, ["Normal", "complex"]),
    "three axes": (lambda: sf.fit(sf.Normal(), np.zeros((2, 2, 2))), DataError, ["Normal", "(2, 2, 2)", "Reshape"]),
    "negative count": (
        lambda: sf.fit(sf.Poisson(), [1, -1, 2]),
        DataError,
        ["Poisson", "at least 0", "row 1", "-1"],
    ),
    "fractional count": (
        lambda: sf.fit(sf.Poisson(), [1, 2, 2.5]),
        DataError,
        ["Poisson", "whole number", "row 2", "2.5"],
    ),
    "neither yes nor no": (lambda: sf.fit(sf.Bernoulli(), [0, 2]), DataError, ["Bernoulli", "0 or 1", "row 1", "2"]),
    "zero trials": (lambda: sf.fit(sf.Geometric(), [1, 0]), DataError, ["Geometric", "at least 1", "row 1", "0"]),
    "more successes than trials": (
        lambda: sf.fit(sf.Binomial(5), [3, 6]),
        DataError,
        ["Binomial", "trials = 5", "row 1", "6"],
    ),
    "negative failures": (lambda: sf.fit(sf.NegativeBinomial(), [3, -2]), DataError, ["NegativeBinomial", "row 1"]),
    "negative waiting time": (
        lambda: sf.fit(sf.Exponential(), [1.0, -0.5]),
        DataError,
        ["Exponential", "row 1", "-0.5"],
    ),
    "zero for a Gamma": (lambda: sf.fit(sf.Gamma(), [1.0, 0.0]), DataError, ["Gamma", "above 0", "row 1", "0"]),
    "negative for a LogNormal": (lambda: sf.fit(sf.LogNormal(), [1.0, -2.0]), DataError, ["LogNormal", "row 1", "-2"]),
    "negative for a Weibull": (lambda: sf.fit(sf.Weibull(), [-1.0, 2.0]), DataError, ["Weibull", "row 0", "-1"]),
    "share of 1": (lambda: sf.fit(sf.Beta(), [0.2, 1.0]), DataError, ["Beta", "strictly between 0 and 1", "row 1"]),
    "shares that sum to 2": (
        lambda: sf.fit(sf.Dirichlet(), [[0.2, 0.8], [1.0, 1.0]]),
        DataError,
        ["Dirichlet", "sum to 1", "row 1"],
    ),
    "negative count in a vector": (
        lambda: sf.fit(sf.Multinomial(), [[1, 2], [3, -1]]),
        DataError,
        ["Multinomial", "at least 0", "row 1"],
    ),
    "undeclared level": (
        lambda: sf.fit(sf.Categorical(["a", "b"]), ["a", "c"]),
        DataError,
        ["Categorical", "row 1", "'c'", "Declare"],
    ),
    "fixed bounds passed": (
        lambda: sf.fit(sf.Uniform(low=0.0).fix("low"), [1.0, -1.0]),
        DataError,
        ["Uniform", "low", "-1"],
    ),
    "other number of columns": (
        lambda: sf.fit(sf.Normal(), MATRIX).distribution.log_prob(np.zeros((4, 3))),
        DataError,
        ["Normal", "2 columns", "have 3"],
    ),
    "several columns for one": (
        lambda: sf.Normal(0, 1).log_prob(np.zeros((4, 3))),
        DataError,
        ["Normal", "1 column", "have 3"],
    ),
    "columns of a fitted vector": (
        lambda: sf.fit(sf.MultivariateNormal(), MATRIX).log_prob(np.zeros((4, 3))),
        DataError,
        ["MultivariateNormal", "2 columns", "3"],
    ),
    "product misses a column": (
        lambda: sf.fit(sf.Product({"a": sf.Normal(), "b": sf.Poisson()}), {"a": X}),
        DataError,
        ["lack the column 'b'", "Rename or add"],
    ),
    "product of uneven columns": (
        lambda: sf.fit(sf.Product({"a": sf.Normal(), "b": sf.Poisson()}), {"a": X, "b": [1, 2]}),
        DataError,
        ["different lengths", "'b': 2"],
    ),
    "bad cell in a product": (
        lambda: sf.fit(sf.Product({"a": sf.Normal(), "b": sf.Poisson()}), {"a": X, "b": [1, 2, -3, 0]}),
        DataError,
        ["column 'b'", "Poisson", "row 2", "-3"],
    ),
    "product with too few columns": (
        lambda: sf.fit(sf.Product([sf.Normal(), sf.Poisson()]), MATRIX[:, :1]),
        DataError,
        ["2 columns", "(4, 1)"],
    ),
    # ---- weights ----------------------------------------------------------------------------------------------------
    "negative weight": (
        lambda: sf.fit(sf.Normal(), X, weights=[1, -1, 1, 1]),
        DataError,
        ["weights", "at least 0", "row 1", "-1"],
    ),
    "weight NaN": (lambda: sf.fit(sf.Normal(), X, weights=[1, 1, NAN, 1]), DataError, ["weights", "row 2", "nan"]),
    "weight infinite": (lambda: sf.fit(sf.Normal(), X, weights=[1, 1, 1, INF]), DataError, ["weights", "row 3", "inf"]),
    "all weights zero": (
        lambda: sf.fit(sf.Normal(), X, weights=np.zeros(4)),
        DataError,
        ["all weights are 0", "positive"],
    ),
    "too few weights": (lambda: sf.fit(sf.Normal(), X, weights=[1, 2]), DataError, ["weights", "(2,)", "4 rows"]),
    "weights of components": (
        lambda: sf.fit(sf.Normal(), X, weights=np.ones((4, 2))),
        DataError,
        ["weights", "(4, 2)", "one weight per row"],
    ),
    "weights as text": (lambda: sf.fit(sf.Normal(), X, weights=list("abcd")), DataError, ["weights", "numbers", "'a'"]),
    "weights as a word": (lambda: sf.fit(sf.Normal(), X, weights="balanced"), DataError, ["weights", "balanced"]),
    "weights for other components": (
        lambda: sf.Normal([[0.0], [1.0]], 1.0).suffstats(X, np.ones((4, 3))),
        DataError,
        ["3 components", "stack has 2"],
    ),
    "one-hot of an unknown component": (
        lambda: sf.Normal().suffstats(X, sf.OneHot(np.array([0, 1, 2, 0]), 2)),
        DataError,
        ["row 2", "component 2", "0 to 1"],
    ),
    "one-hot of other length": (
        lambda: sf.Normal().suffstats(X, sf.OneHot(np.array([0, 1]), 2)),
        DataError,
        ["codes", "(2,)", "4 rows"],
    ),
    # ---- parameters -------------------------------------------------------------------------------------------------
    "negative std": (lambda: sf.Normal(0, -1), ParameterError, ["Normal", "std", "above 0", "-1"]),
    "std NaN": (lambda: sf.Normal(0, NAN), ParameterError, ["Normal", "std", "nan"]),
    "mean infinite": (lambda: sf.Normal(INF, 1), ParameterError, ["Normal", "mean", "finite", "inf"]),
    "one std of several": (lambda: sf.Normal([0, 1], [1, -2]), ParameterError, ["std", "-2", "position (1,)"]),
    "std as text": (lambda: sf.Normal(0, "one"), ParameterError, ["Normal", "std", "'one'", "not numeric"]),
    "shapes that do not fit": (lambda: sf.Normal([0, 1], [1, 2, 3]), ParameterError, ["Normal", "(2,)", "(3,)"]),
    "too many axes": (lambda: sf.Normal(np.zeros((2, 2, 2)), 1), ParameterError, ["Normal", "components × columns"]),
    "probability above 1": (lambda: sf.Bernoulli(1.2), ParameterError, ["Bernoulli", "p", "from 0 to 1", "1.2"]),
    "probability of 0 for waiting": (lambda: sf.Geometric(0.0), ParameterError, ["Geometric", "p", "above 0"]),
    "rate of 0": (lambda: sf.Exponential(0.0), ParameterError, ["Exponential", "rate", "above 0"]),
    "probabilities that sum to 0.9": (
        lambda: sf.Categorical(["a", "b"], [0.5, 0.4]),
        ParameterError,
        ["Categorical", "probs", "sum to 1", "0.5"],
    ),
    "a negative probability": (lambda: sf.Multinomial(3, [1.5, -0.5]), ParameterError, ["Multinomial", "probs", "1.5"]),
    "levels without probabilities": (
        lambda: sf.Categorical(["a", "b", "c"], [0.5, 0.5]),
        ParameterError,
        ["Categorical", "levels"],
    ),
    "the same level twice": (lambda: sf.Categorical(["a", "a"]), ParameterError, ["Categorical", "different"]),
    "levels as one word": (lambda: sf.Categorical("ab"), ParameterError, ["Categorical", "levels", "'ab'"]),
    "fractional trials": (lambda: sf.Binomial(2.5, 0.5), ParameterError, ["Binomial", "trials", "whole", "2.5"]),
    "covariance not positive definite": (
        lambda: sf.MultivariateNormal([0, 0], [[1, 2], [2, 1]]),
        ParameterError,
        ["MultivariateNormal", "cov", "positive definite"],
    ),
    "covariance not symmetric": (
        lambda: sf.MultivariateNormal([0, 0], [[1, 0.5], [0.0, 1]]),
        ParameterError,
        ["cov", "symmetric"],
    ),
    "covariance of other size": (
        lambda: sf.MultivariateNormal([0, 0, 0], np.eye(2)),
        ParameterError,
        ["MultivariateNormal", "3", "2"],
    ),
    "unknown structure": (
        lambda: sf.MultivariateNormal(structure="round"),
        ParameterError,
        ["structure", "'round'", "spherical"],
    ),
    "low above high": (lambda: sf.Uniform(2.0, 1.0), ParameterError, ["Uniform", "low", "high", "2", "1"]),
    "negative alpha": (lambda: sf.Dirichlet([1.0, -1.0]), ParameterError, ["Dirichlet", "alpha", "above 0"]),
    "alpha as a number": (lambda: sf.Dirichlet(2.0), ParameterError, ["Dirichlet", "alpha"]),
    "empty product": (lambda: sf.Product({}), ParameterError, ["Product", "at least one part"]),
    "product of numbers": (lambda: sf.Product({"a": 3}), ParameterError, ["Product", "'a'", "distribution", "3"]),
    "empty stack": (lambda: sf.Stack([]), ParameterError, ["Stack", "at least one component"]),
    "stack of stacks": (
        lambda: sf.Normal(np.zeros((2, 1)), 1.0).stack(3),
        ParameterError,
        ["Normal", "stack of 2 components"],
    ),
    "a parameter of another name": (lambda: sf.Normal(sigma=2), ParameterError, ["Normal", "'sigma'", "mean, std"]),
    "scale for rate": (lambda: sf.Gamma(scale=3), TypeError, ["Gamma", "'scale'", "shape, rate"]),
    "n for trials": (lambda: sf.Binomial(n=10), ParameterError, ["Binomial", "'n'", "trials, p"]),
    "covariance for structure": (
        lambda: sf.MultivariateNormal(covariance="diag"),
        ParameterError,
        ["MultivariateNormal", "'covariance'", "structure"],
    ),
    "a parameter too many": (lambda: sf.Normal(0, 1, 2), ParameterError, ["Normal", "number 3", "mean, std"]),
    "an unknown option of a product": (lambda: sf.Product([sf.Normal()], n=2), ParameterError, ["Product", "'n'"]),
    "an unknown option of a user's family": (
        lambda: sf.ExponentialFamily(np.abs, np.ones_like, np.abs, begin=1),
        ParameterError,
        ["ExponentialFamily", "'begin'", "start"],
    ),
    "a number as text": (lambda: sf.Normal(std="1"), ParameterError, ["Normal", "std", "'1'", "not numeric"]),
    "one number as text": (lambda: sf.Normal([1.0, "2"]), ParameterError, ["Normal", "mean", "not numeric"]),
    "a complex parameter": (lambda: sf.Normal(np.array(1j)), ParameterError, ["Normal", "mean", "not numeric"]),
    # ---- prototypes -------------------------------------------------------------------------------------------------
    "fix an unknown parameter": (lambda: sf.Normal().fix("sd"), ParameterError, ["Normal", "'sd'", "mean, std"]),
    "tie an unknown parameter": (lambda: sf.Poisson().tie("mean"), ParameterError, ["Poisson", "'mean'", "rate"]),
    "fix what has no value": (
        lambda: sf.Categorical().fix("probs"),
        ParameterError,
        ["Categorical", "probs", "no value"],
    ),
    "a class for an instance": (lambda: sf.fit(sf.Normal, X), ParameterError, ["instance", "Normal()"]),
    "a word for a distribution": (lambda: sf.fit("normal", X), ParameterError, ["sf.Normal()", "str"]),
    "fit of a stack": (
        lambda: sf.fit(sf.Normal(np.zeros((2, 1)), 1.0), X),
        UnsupportedError,
        ["single prototype", "stack"],
    ),
    "no starts": (lambda: sf.fit(sf.StudentT(), X, n_init=0), ParameterError, ["n_init", "at least 1", "0"]),
    "fractional passes": (lambda: sf.fit(sf.StudentT(), X, max_iter=2.5), ParameterError, ["max_iter", "2.5"]),
    "negative tolerance": (lambda: sf.fit(sf.StudentT(), X, tol=-1.0), ParameterError, ["tol", "-1"]),
    "ddof for a Poisson": (lambda: sf.fit(sf.Poisson(), COUNTS, ddof=1), UnsupportedError, ["ddof", "Poisson"]),
    "ddof of as many as rows": (
        lambda: sf.fit(sf.Normal(), X, ddof=4),
        ParameterError,
        ["ddof=4", "more than 4", "Lower"],
    ),
    "ddof on one value": (lambda: sf.fit(sf.Normal(), [1.0], ddof=1), ParameterError, ["ddof=1", "there are 1"]),
    "a predictive is not fitted": (lambda: sf.fit(sf.Lomax(2.0, 1.0), X), UnsupportedError, ["Lomax", "Exponential"]),
    "scoring before fitting": (
        lambda: sf.Categorical().log_prob(["a"]),
        ParameterError,
        ["Categorical", "before", "probs"],
    ),
    "sampling before fitting": (
        lambda: sf.MultivariateNormal().sample(2),
        ParameterError,
        ["MultivariateNormal", "mean"],
    ),
    # ---- beliefs ----------------------------------------------------------------------------------------------------
    "prior of the wrong kind": (
        lambda: sf.fit(sf.Bernoulli(), [0, 1], prior=sf.Poisson(1)),
        UnsupportedError,
        ["Bernoulli", "Poisson", "Beta"],
    ),
    "a number as a prior": (
        lambda: sf.posterior(sf.Poisson(), COUNTS, prior=2.0),
        UnsupportedError,
        ["Poisson", "float 2.0", "Gamma"],
    ),
    "an unknown word as a prior": (
        lambda: sf.fit(sf.Poisson(), COUNTS, prior="strong"),
        UnsupportedError,
        ["'strong'", "'weak'"],
    ),
    "a belief about the mean with unknown std": (
        lambda: sf.posterior(sf.Normal(), X, prior=sf.NormalPrior(0, 1)),
        UnsupportedError,
        ["NormalPrior", "fix('std')"],
    ),
    "nothing left to believe": (
        lambda: sf.posterior(sf.Poisson(2.0).fix("rate"), COUNTS, prior=sf.Gamma(1, 1)),
        UnsupportedError,
        ["fixed"],
    ),
    "Dirichlet of other length": (
        lambda: sf.fit(sf.Categorical(["a", "b"]), ["a"], prior=sf.Dirichlet([1, 1, 1])),
        ParameterError,
        ["Categorical", "2 levels", "3 entries"],
    ),
    "prior for a column that is not there": (
        lambda: sf.fit(sf.Product({"a": sf.Poisson()}), {"a": COUNTS}, prior={"b": sf.Gamma(1, 1)}),
        ParameterError,
        ["'b'", "'a'"],
    ),
    # ---- families of one's own --------------------------------------------------------------------------------------
    "u that is not vectorised": (lambda: own(u=math.log), ParameterError, [": u must", "np.log"]),
    "h that is not vectorised": (lambda: own(h=math.log), ParameterError, [": h must", "np.log"]),
    "A that is not vectorised": (
        lambda: own(A=lambda eta: -math.log(-eta)),
        ParameterError,
        ["A takes an array", "TypeError", "np.log"],
    ),
    "a tuple of statistics": (lambda: own(u=(np.abs, np.log)), ParameterError, ["u is a function", "lambda x: [x"]),
    "A with η on the last axis": (
        lambda: own(u=lambda x: (x, np.log(x)), A=lambda eta: -np.log(-eta[..., 0]), start=[-1.0, 0.0]),
        ParameterError,
        ["A takes one array", "(2, …)", "eta[0], eta[1]", "(2, 3)"],
    ),
    "A of two arguments": (
        lambda: own(u=lambda x: (x, np.log(x)), A=lambda a, b: a + b, start=[-1.0, 0.0]),
        ParameterError,
        ["A takes one array", "eta[0], eta[1]", "TypeError"],
    ),
    "start as text": (lambda: own(start="low"), ParameterError, ["eta", "'low'", "not numeric"]),
    "a fit drawn as a belief": (
        lambda: sf.plot.posterior(sf.fit(sf.Normal(), X)),
        ParameterError,
        ["sf.posterior", "Fit", "plot.likelihood"],
    ),
    # ---- questions --------------------------------------------------------------------------------------------------
    "quantile above 1": (lambda: sf.Normal(0, 1).quantile(1.5), ParameterError, ["quantile", "0 to 1", "1.5"]),
    "quantile NaN": (lambda: sf.Normal(0, 1).quantile(NAN), ParameterError, ["quantile", "nan"]),
    "negative sample": (lambda: sf.Normal(0, 1).sample(-1), ParameterError, ["sample", "at least 0", "-1"]),
    "fractional sample": (lambda: sf.Normal(0, 1).sample(1.5), ParameterError, ["sample", "whole", "1.5"]),
    "negative sample of a product": (
        lambda: sf.Product([sf.Normal(0, 1)]).sample(-1),
        ParameterError,
        ["sample", "-1"],
    ),
    "fractional sample of a belief": (
        lambda: sf.NormalInverseGamma(0, 1, 2, 2).sample(1.5),
        ParameterError,
        ["sample", "1.5"],
    ),
    "interval of level 1": (lambda: sf.fit(sf.Normal(), X).interval(1.0), ParameterError, ["level", "1.0"]),
    "interval of level 95": (lambda: sf.Normal(0, 1).interval(95), ParameterError, ["level", "95"]),
    "credible interval of level 0": (
        lambda: sf.posterior(sf.Normal(), X, prior=sf.NormalInverseGamma()).interval(0),
        ParameterError,
        ["level", "0"],
    ),
    "mean of labels": (lambda: sf.Categorical(["a", "b"]).mean, UnsupportedError, ["labels", "mean", "probs"]),
    "cdf of a product": (
        lambda: sf.Product([sf.Normal(0, 1), sf.Normal(0, 1)]).cdf(0.0),
        UnsupportedError,
        ["Product", "cdf", "blocks"],
    ),
    # ---- statistics -------------------------------------------------------------------------------------------------
    "statistics of different kinds": (
        lambda: stats(sf.Normal(), X) + stats(sf.Poisson(), COUNTS),
        DataError,
        ["Moments", "Sums", "one model"],
    ),
    "statistics of different shapes": (
        lambda: stats(sf.Normal(), X) + stats(sf.Normal(), MATRIX),
        DataError,
        ["Moments(1, 1)", "Moments(1, 2)"],
    ),
    "more removed than added": (
        lambda: stats(sf.Normal(), X[:2]) - stats(sf.Normal(), X),
        DataError,
        ["more rows than were ever added"],
    ),
    "rows removed from extremes": (
        lambda: stats(sf.Uniform(), X) - stats(sf.Uniform(), X[:1]),
        UnsupportedError,
        ["minimum", "Fit again"],
    ),
    "rows removed from passes": (
        lambda: stats(sf.StudentT(), X) - stats(sf.StudentT(), X[:1]),
        UnsupportedError,
        ["given parameters", "Fit again"],
    ),
    # ---- settings ---------------------------------------------------------------------------------------------------
    "threads as text": (
        lambda: with_environment("SUFFICE_THREADS", "abc", lambda: sf.fit(sf.Normal(), np.zeros(3_000_000) + 1.0)),
        ValueError,
        ["SUFFICE_THREADS", "'abc'", "unset"],
    ),
    "no threads": (
        lambda: with_environment("SUFFICE_THREADS", "0", lambda: sf.fit(sf.Normal(), np.zeros(3_000_000) + 1.0)),
        ValueError,
        ["SUFFICE_THREADS", "at least 1", "'0'"],
    ),
    "unknown kernels": (
        lambda: with_environment("SUFFICE_KERNELS", "fast", lambda: sf.fit(sf.Normal(), X)),
        ValueError,
        ["SUFFICE_KERNELS", "'fast'", "reference"],
    ),
    "unknown public name": (lambda: sf.Gaussian, AttributeError, ["suffice", "'Gaussian'", "dir(suffice)"]),
}

# id: (the fit, the code of its alert, fragments of its text)
ALERTS = {
    "all zeros": (lambda: sf.fit(sf.Bernoulli(), [0, 0, 0]), "boundary", ["p = 0", "infinite", "prior"]),
    "all ones": (lambda: sf.fit(sf.Bernoulli(), [1, 1]), "boundary", ["p = 1"]),
    "all successes": (lambda: sf.fit(sf.Binomial(4), [4, 4]), "boundary", ["p = 1"]),
    "always at once": (lambda: sf.fit(sf.Geometric(), [1, 1, 1]), "boundary", ["p = 1"]),
    "never an event": (lambda: sf.fit(sf.Poisson(), [0, 0]), "boundary", ["rate"]),
    "a level that was never seen": (
        lambda: sf.fit(sf.Categorical(["a", "b", "c"]), ["a", "b"]),
        "boundary",
        ["'c'", "probability 0"],
    ),
    "one value": (lambda: sf.fit(sf.Normal(), [3.0]), "collapsed", ["3", "standard deviation is 0", "prior"]),
    "one value many times": (lambda: sf.fit(sf.Normal(), [2.0, 2.0, 2.0]), "collapsed", ["every value equals 2"]),
    "one positive value": (lambda: sf.fit(sf.LogNormal(), [3.0]), "collapsed", ["every value is the same", "sigma"]),
    "one value of a Gamma": (lambda: sf.fit(sf.Gamma(), [2.0, 2.0]), "collapsed", ["shape", "1e+10"]),
    "one value of a Laplace": (lambda: sf.fit(sf.Laplace(), [2.0, 2.0]), "collapsed", ["2"]),
    "one value of a StudentT": (lambda: sf.fit(sf.StudentT(), [2.0, 2.0]), "collapsed", ["equal", "scale"]),
    "one value of a Weibull": (lambda: sf.fit(sf.Weibull(), [2.0, 2.0]), "collapsed", ["shape"]),
    "one value of a Uniform": (lambda: sf.fit(sf.Uniform(), [2.0, 2.0]), "collapsed", ["2"]),
    "one angle": (lambda: sf.fit(sf.VonMises(), [1.0, 1.0]), "collapsed", ["concentration"]),
    "one row of shares": (lambda: sf.fit(sf.Dirichlet(), [[0.5, 0.5], [0.5, 0.5]]), "collapsed", ["concentrations"]),
    "no time at all": (lambda: sf.fit(sf.Exponential(), [0.0, 0.0]), "collapsed", ["rate", "sf.Gamma"]),
    "one value of a Beta": (lambda: sf.fit(sf.Beta(), [0.5, 0.5]), "collapsed", ["a + b", "point"]),
    "fewer rows than columns": (
        lambda: sf.fit(sf.MultivariateNormal(), [[1.0, 2.0, 3.0], [2.0, 1.0, 0.0]]),
        "singular",
        ["rank 1", "Drop a column"],
    ),
    "a column that repeats another": (
        lambda: sf.fit(sf.MultivariateNormal(), np.column_stack([X, X])),
        "singular",
        ["rank 1", "Drop a column"],
    ),
    "light tails": (
        lambda: sf.fit(sf.StudentT(), np.linspace(-1, 1, 50)),
        "boundary",
        ["df"],
    ),
    "less spread than a Poisson": (
        lambda: sf.fit(sf.NegativeBinomial(), [3, 3, 4, 3, 2, 3]),
        "boundary",
        ["size"],
    ),
    "an empty column": (
        lambda: sf.fit(sf.Normal(), [[1.0, NAN], [2.0, NAN]]),
        "unseen",
        ["column 1", "prototype"],
    ),
    "stopped early": (
        lambda: sf.fit(sf.StudentT(), [0.1, 0.5, -3.0, 8.0, 0.2], max_iter=1),
        "not converged",
        ["max_iter"],
    ),
}


@pytest.mark.parametrize("case", ERRORS, ids=lambda case: case.replace(" ", "_"))
def test_bad_input_is_refused_with_a_reason(case):
    call, kind, fragments = ERRORS[case]
    with pytest.raises(kind) as caught:
        call()
    message = str(caught.value)
    missing = [fragment for fragment in fragments if fragment not in message]
    assert not missing, f"{missing} not in: {message}"


@pytest.mark.parametrize("case", ALERTS, ids=lambda case: case.replace(" ", "_"))
def test_doubtful_fit_carries_an_alert(case):
    call, code, fragments = ALERTS[case]
    fit = call()
    texts = [text for found, text in fit.alerts if found == code]
    assert texts, f"no alert {code!r} among {fit.alerts}"
    assert any(all(fragment in text for fragment in fragments) for text in texts), texts
    assert code in str(fit)


def test_the_table_is_long_enough():
    assert len(ERRORS) + len(ALERTS) >= 120
