"""scikit-learn estimators: verbs over the library's values, with no mathematics of their own."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "BayesClassifier": "bayes_classifier",
    "BayesianGaussianMixture": "bayesian_gaussian_mixture",
    "BernoulliNB": "discrete_nb",
    "CategoricalNB": "categorical_nb",
    "Density": "density",
    "GaussianMixture": "gaussian_mixture",
    "GaussianNB": "gaussian_nb",
    "HiddenMarkovModel": "hidden_markov_model",
    "KMeans": "k_means",
    "KernelDensity": "kernel_density",
    "LatentClass": "latent_class",
    "LinearDiscriminantAnalysis": "linear_discriminant",
    "LogisticClassifier": "logistic",
    "MixtureModel": "mixture_model",
    "MultinomialNB": "discrete_nb",
    "NaiveBayes": "naive_bayes",
    "QuadraticDiscriminantAnalysis": "quadratic_discriminant",
}

__all__ = sorted(_HOME)  # noqa: PLE0605 (names are strings)


def __getattr__(name: str) -> Any:
    """Load an estimator when it is first named."""
    if name not in _HOME:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
