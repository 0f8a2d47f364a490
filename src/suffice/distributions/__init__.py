"""One file per family, its conjugate prior beside it. A file is loaded when one of its names is first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from suffice.core.document import document

_FILES = {
    "bernoulli": "Bernoulli",
    "beta": "Beta",
    "beta_binomial": "BetaBinomial",
    "beta_geometric": "BetaGeometric",
    "binomial": "Binomial",
    "categorical": "Categorical",
    "dirichlet": "Dirichlet",
    "dirichlet_multinomial": "DirichletMultinomial",
    "exponential": "Exponential",
    "gamma": "Gamma",
    "geometric": "Geometric",
    "hurdle": "Hurdle HurdleGamma HurdleLogNormal HurdleNormal HurdlePoisson",
    "laplace": "Laplace",
    "lognormal": "LogNormal",
    "lomax": "Lomax",
    "multinomial": "Multinomial",
    "multivariate_normal": "MultivariateNormal",
    "multivariate_student_t": "MultivariateStudentT",
    "negative_binomial": "NegativeBinomial",
    "normal": "Normal NormalPrior",
    "normal_inverse_gamma": "NormalInverseGamma",
    "normal_inverse_wishart": "NormalInverseWishart",
    "poisson": "Poisson",
    "student_t": "StudentT",
    "uniform": "Uniform",
    "user_family": "ExponentialFamily",
    "von_mises": "VonMises",
    "weibull": "Weibull",
}
_HOME = {name: file for file, names in _FILES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Load a family on first use and write its parameters into its docstring."""
    if name not in _HOME:
        msg = f"suffice.distributions has no {name!r}; it has {', '.join(_HOME)}."
        raise AttributeError(msg)
    value = getattr(import_module(f"suffice.distributions.{_HOME[name]}"), name)
    if isinstance(value, type):
        document(value)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the families, priors and predictives."""
    return sorted([*_HOME, "load"])


def load() -> dict[str, Any]:
    """Load every family and return them by name: the registry that the laws run over."""
    from suffice.core.distribution import REGISTRY

    for name in _HOME:
        __getattr__(name)
    return REGISTRY
