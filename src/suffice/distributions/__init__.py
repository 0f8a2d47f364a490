"""The families, one file each, registered here: everything that lists families asks this module.

A family is one line of ``FILES``, its file and the public names in it; the class statement enters it into the registry
that ``load`` gives. The public names of suffice, model files, the command line and the laws follow from these two.
A file is loaded when one of its names is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

FILES = {
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
    "hurdle": "Hurdle HurdleGamma HurdleLogNormal HurdleNegativeBinomial HurdleNormal HurdlePoisson",
    "inverse_gaussian": "InverseGaussian",
    "laplace": "Laplace",
    "logistic": "Logistic",
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
_HOME = {name: file for file, names in FILES.items() for name in names.split()}
NAMES = tuple(_HOME)  # families, priors, predictives, and the functions that make them


def __getattr__(name: str) -> Any:
    """Load a family on first use and write its parameters into its docstring."""
    if name not in _HOME:
        msg = f"suffice.distributions has no {name!r}; it has {', '.join(_HOME)}."
        raise AttributeError(msg)
    value = getattr(import_module(f"suffice.distributions.{_HOME[name]}"), name)
    if isinstance(value, type):
        from suffice.distributions.docstrings import document

        document(value)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the families, priors and predictives."""
    return sorted([*NAMES, "load"])


def load() -> dict[str, Any]:
    """Load every family and return those that are learned from rows by name: the registry that the laws run over."""
    from suffice.core.distribution import REGISTRY

    for name in NAMES:
        __getattr__(name)
    return REGISTRY
