"""suffice: learn distributions from additive statistics, then ask them anything.

>>> fit = sf.fit(sf.Normal(), [4.1, 3.9, 4.4])
>>> round(fit.distribution.mean, 3)
4.133
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import suffice.engines.blas  # noqa: F401 (what a fork waits for, from the first: modules are loaded below)
from suffice.core.combinators import provide
from suffice.distributions import NAMES as _FAMILIES

__version__ = "0.1.0"

# The public names and where they live; a module is loaded when one of its names is first used.
_NAMES = {
    "suffice.estimators.decision": "decide",
    "suffice.core.distribution": "Distribution",
    "suffice.errors": (
        "ArgumentError DataError ModelFileError ParameterError SufficeError SufficeWarning UnsupportedError"
    ),
    "suffice.densities.bandwidth": "bandwidth",
    "suffice.densities.histogram": "Histogram",
    "suffice.densities.kernel": "KDE",
    "suffice.densities.nearest_neighbours": "KNN",
    "suffice.em.fit": "fit",
    "suffice.em.fit_posterior": "posterior",
    "suffice.bayes.posterior": "Posterior",
    "suffice.em.result": "Fit",
    "suffice.statistics.weights": "OneHot",
    "suffice.models": "HiddenMarkov MarkovChain Mixture Product Stack StickBreaking",
    "suffice.em.merge": "merge",
    "suffice.em.order": "align",
    "suffice.selection.select": "Selection select",
    "suffice.tables.scan": "Scan scan",
    "suffice.tables.sequences": "Sequences",
    "suffice.tables.read_sequences": "sequences",
    "suffice.schema.infer": "Schema infer",
    "suffice.estimators": (
        "BayesClassifier BayesianGaussianMixture BernoulliNB CategoricalNB Density GaussianMixture GaussianNB "
        "HiddenMarkovModel KMeans KernelDensity LatentClass LinearDiscriminantAnalysis LogisticClassifier MixtureModel "
        "MultinomialNB NaiveBayes QuadraticDiscriminantAnalysis"
    ),
    "suffice.estimators.compare": "compare",
    "suffice.estimators.comparison": "Comparison",
    "suffice.io": "load save",
}
_HOME = dict.fromkeys(_FAMILIES, "suffice.distributions") | {
    name: module for module, names in _NAMES.items() for name in names.split()
}
_MODULES = {
    "hmm": "suffice.hmm",
    "io": "suffice.io",
    "plot": "suffice.plot",
    "report": "suffice.report",
    "testing": "suffice.testing",
    "theory": "suffice.theory",
}

__all__ = ["__version__", *sorted(_HOME), *sorted(_MODULES)]  # noqa: PLE0604 (names are strings)


provide(  # what lower layers make of the higher ones
    Product=lambda: import_module("suffice.models.product").Product,
    Mixture=lambda: import_module("suffice.models.mixture").Mixture,
    variational_posterior=lambda: import_module("suffice.models.variational_posterior").believe,
    conjugate_posterior=lambda: import_module("suffice.bayes.conjugate").conjugate_posterior,
)


def __getattr__(name: str) -> Any:  # noqa: ANN401 (any public name)
    """Load a public name on first use."""
    if name in _MODULES:
        value: Any = import_module(_MODULES[name])
    elif name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    else:
        from suffice.tables.column_names import guessed

        guess = "" if name.startswith("_") else guessed(name, (*_HOME, *_MODULES))
        msg = f"suffice has no {name!r}. {guess}dir(suffice) lists what it has."
        raise AttributeError(msg)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
