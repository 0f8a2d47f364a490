"""suffice: learn distributions from additive statistics, then ask them anything.

>>> fit = sf.fit(sf.Normal(), [4.1, 3.9, 4.4])
>>> round(fit.distribution.mean, 3)
4.133
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# The public names and where they live; a module is loaded when one of its names is first used.
_NAMES = {
    "suffice.core.decision": "decide",
    "suffice.core.distribution": "Distribution",
    "suffice.errors": (
        "ArgumentError DataError ModelFileError ParameterError SufficeError SufficeWarning UnsupportedError"
    ),
    "suffice.core.fit": "fit posterior",
    "suffice.core.posterior": "Posterior",
    "suffice.core.result": "Fit",
    "suffice.core.weights": "OneHot",
    "suffice.distributions": (
        "Bernoulli Beta BetaBinomial BetaGeometric Binomial Categorical Dirichlet DirichletMultinomial Exponential "
        "ExponentialFamily Gamma Geometric Hurdle HurdleGamma HurdleLogNormal HurdleNormal HurdlePoisson Laplace "
        "LogNormal Lomax Multinomial MultivariateNormal MultivariateStudentT "
        "NegativeBinomial Normal NormalInverseGamma NormalInverseWishart NormalPrior Poisson StudentT Uniform VonMises "
        "Weibull"
    ),
    "suffice.combinators": "Mixture Product Stack StickBreaking",
    "suffice.combinators.merging": "merge",
    "suffice.combinators.order": "align",
    "suffice.combinators.select": "Selection select",
    "suffice.frames.scan": "Scan scan",
    "suffice.frames.schema": "Schema infer",
    "suffice.estimators": (
        "BayesClassifier BayesianGaussianMixture BernoulliNB CategoricalNB Density GaussianMixture GaussianNB KMeans "
        "LatentClass LinearDiscriminantAnalysis LogisticClassifier MixtureModel MultinomialNB NaiveBayes "
        "QuadraticDiscriminantAnalysis"
    ),
    "suffice.estimators.compare": "compare",
    "suffice.estimators.comparison": "Comparison",
    "suffice.io": "load save",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}
_MODULES = {
    "io": "suffice.io",
    "plot": "suffice.plot",
    "report": "suffice.report",
    "testing": "suffice.testing",
    "theory": "suffice.theory",
}

__all__ = ["__version__", *sorted(_HOME), *sorted(_MODULES)]  # noqa: PLE0604 (names are strings)


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name in _MODULES:
        value: Any = import_module(_MODULES[name])
    elif name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    else:
        from suffice.core.names import guessed

        guess = "" if name.startswith("_") else guessed(name, (*_HOME, *_MODULES))
        msg = f"suffice has no {name!r}. {guess}dir(suffice) lists what it has."
        raise AttributeError(msg)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
