"""The closed set of kinds that a file may name: suffice's own values, each written by the fields that make it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from functools import cache
from typing import Any

import numpy as np

from suffice.combinators.portraits import knows_icl
from suffice.core import budget
from suffice.core.budget import size_of
from suffice.core.compact import Compact
from suffice.core.distribution import Distribution
from suffice.core.errors import SufficeError, UnsupportedError
from suffice.core.plain import read, refused, written
from suffice.io import rules

# Fields that are not written: rows are no part of a model, and what follows from the other fields is made again.
LEFT_OUT = {
    "Fit": {"_data", "_mark", "_like"},
    "Mixture": {"n"},
    "Classes": {"n"},
    "VariationalMixture": {
        *("components", "n", "weights", "hard", "floors", "measured", "offset", "barred", "fixed", "tied")
    },
    "Selection": {"best"},
}

BASE = ("fixed", "tied", "family", "pool")  # written last, and only where they say something
ERRORS, ICL = "standard_errors", "icl"  # that a fit was asked for go with it: they need the rows


@cache
def values() -> dict[str, type]:
    """Every kind of value, by its name."""
    from suffice.combinators.classes import Classes
    from suffice.combinators.mixture import Mixture
    from suffice.combinators.product import Product
    from suffice.combinators.product_posterior import ProductPosterior
    from suffice.combinators.select import Selection, Table
    from suffice.combinators.shares import DirichletShares, KnownShares, StickBreaking
    from suffice.combinators.stack import Stack
    from suffice.combinators.stack_posterior import StackPosterior
    from suffice.combinators.variational import VariationalMixture
    from suffice.combinators.variational_posterior import VariationalPosterior
    from suffice.core.averaged import Averaged
    from suffice.core.em import Trace
    from suffice.core.finite_posterior import FinitePosterior
    from suffice.core.latent import Joint
    from suffice.core.mixed_posterior import MixedPosterior
    from suffice.core.moments import Moments, Scatter
    from suffice.core.posterior import Posterior
    from suffice.core.result import Fit
    from suffice.core.statistics import Counts, Extremes, Parts, Sums
    from suffice.distributions import (
        Bernoulli,
        Beta,
        BetaBinomial,
        BetaGeometric,
        Binomial,
        Categorical,
        Dirichlet,
        DirichletMultinomial,
        Exponential,
        Gamma,
        Geometric,
        HurdleGamma,
        HurdleLogNormal,
        HurdleNormal,
        HurdlePoisson,
        Laplace,
        LogNormal,
        Lomax,
        Multinomial,
        MultivariateNormal,
        MultivariateStudentT,
        NegativeBinomial,
        Normal,
        NormalInverseGamma,
        NormalInverseWishart,
        NormalPrior,
        Poisson,
        StudentT,
        Uniform,
        VonMises,
        Weibull,
    )
    from suffice.distributions.label_posterior import LabelPosterior
    from suffice.distributions.laplace import Cuts
    from suffice.distributions.structured_wishart import StructuredWishart
    from suffice.distributions.tokens import Flags, Tokens
    from suffice.frames.rules import Finding
    from suffice.frames.schema import Schema

    families: tuple[Any, ...] = (
        *(Bernoulli, Beta, BetaBinomial, BetaGeometric, Binomial, Categorical, Dirichlet, DirichletMultinomial),
        *(HurdleGamma, HurdleLogNormal, HurdleNormal, HurdlePoisson),
        *(Exponential, Flags, Gamma, Geometric, Laplace, LogNormal, Lomax, Multinomial, MultivariateNormal),
        *(MultivariateStudentT, NegativeBinomial, Normal, NormalInverseGamma, NormalInverseWishart, NormalPrior),
        *(Poisson, StructuredWishart, StudentT, Tokens, Uniform, VonMises, Weibull),
    )
    others: tuple[Any, ...] = (
        *(Averaged, Classes, Mixture, Product, Schema, Stack, VariationalMixture),
        *(Counts, Cuts, Extremes, Joint, Moments, Parts, Scatter, Sums),
        *(DirichletShares, KnownShares, LabelPosterior, Posterior, ProductPosterior, StackPosterior, StickBreaking),
        *(Finding, FinitePosterior, Fit, MixedPosterior, Selection, Table, Trace, VariationalPosterior),
    )
    return {kind.__name__: kind for kind in (*families, *others)}


@cache
def _fields(kind: type) -> dict[str, Field[Any]]:
    """The fields of a kind that a file holds, in the order in which they are declared."""
    left_out = LEFT_OUT.get(kind.__name__, set())
    found: Any = fields(kind) if hasattr(kind, "__dataclass_fields__") else ()
    own = {f.name: f for f in found if f.init and f.name not in left_out}
    first = [name for name in own if name not in BASE]
    return {name: own[name] for name in (*first, *(name for name in own if name not in first))}


# ---- writing ---------------------------------------------------------------------------------------------------------
def tree_of(value: Any, path: str) -> Any:
    """A value as a tree of JSON."""
    value = value.dense() if isinstance(value, Compact) else value
    kind = type(value)
    if values().get(kind.__name__) is kind:
        return {"kind": kind.__name__, **_own(value, path)}
    if getattr(kind, "get_params", None) is not None:
        from suffice.io.shells import tree_of_estimator

        return tree_of_estimator(value, path)
    if hasattr(kind, "__dataclass_fields__") and not isinstance(value, tuple):
        raise refused(path, _unknown(value))
    return written(value, path, tree_of)


def _unknown(value: Any) -> str:
    name, module = type(value).__name__, type(value).__module__
    if module.startswith("suffice."):
        made_of = {"ExponentialFamily", "SeveralStatistics", "DensityPosterior"}
        functions = "it is made of Python functions, and a file holds data, never code"
        why = functions if name in made_of else "files hold no values of this kind"
    else:
        why = f"the kinds that a file may name are a closed set, suffice's own, and {module}.{name} is none of them"
    return (
        f"a {name} cannot be written to a file: {why}. Save a part of it, the numbers that make it, or pickle it for "
        "yourself alone."
    )


def _own(value: Any, path: str) -> dict[str, Any]:
    """The fields of a value."""
    kind: Any = type(value)
    name = kind.__name__
    if name == "Table":
        return {"rows": tree_of(tuple(value.rows), f"{path}.rows")}
    found = {f: getattr(value, f) for f in _fields(kind)}
    if name == "Categorical" and value.levels is not None:
        found["levels"] = value.named  # by column, as labels that are tuples themselves are else taken for columns
    if name == "Fit":
        if _has_icl(value) and knows_icl(value):
            _ = value.icl
        found |= {asked: vars(value)[asked] for asked in (ERRORS, ICL) if asked in vars(value)}
    kept = {f: one for f, one in found.items() if not _is_default(kind, f, one)}
    return {f: tree_of(one, f"{path}.{f}" if path else f) for f, one in kept.items()}


def _is_default(kind: type, name: str, value: Any) -> bool:
    """Whether one of these fields has its default, so that the file leaves it out."""
    known = _fields(kind).get(name)
    if name not in BASE or known is None or known.default is MISSING:  # a field of its own may have the same name
        return False
    return not value


# ---- reading ---------------------------------------------------------------------------------------------------------
def value_of(node: Any, path: str) -> Any:
    """The value of a tree, with all that its kind asks of it."""
    if type(node) is dict and "kind" in node:
        return _made(node, path)
    return read(node, path, value_of)


def _made(node: dict[str, Any], path: str) -> Any:
    name = node["kind"]
    kind = values().get(name) if isinstance(name, str) else None
    if kind is None:
        from suffice.io.shells import estimator_of, is_estimator

        if isinstance(name, str) and is_estimator(name):
            return estimator_of(node, path)
        raise refused(path, f"there is no kind {name!r:.40}; was it written by a newer suffice?")
    expected = {"rows": None} if name == "Table" else _fields(kind)
    given = {key: one for key, one in node.items() if key != "kind"}
    errors, icl = (given.pop(asked, None) if name == "Fit" else None for asked in (ERRORS, ICL))
    for key in given:
        if key not in expected:
            raise refused(path, f"{name} has no field {key!r:.40}; was it written by a newer suffice?")
    found = {key: value_of(one, f"{path}.{key}" if path else key) for key, one in given.items()}
    for key, f in expected.items():
        if key not in found and (f is None or (f.default is MISSING and f.default_factory is MISSING)):
            raise refused(path, f"{name} is without its {key!r}.")
        if key in found and f is not None:
            rules.check_type(name, key, str(f.type), found[key], path)
    made = guarded(path, name, lambda: rules.checked(_BUILD.get(name, kind), name, found))
    if name == "Fit":
        _ask(made, errors, icl, path)
    return made


def _ask(fit: Any, errors: Any, icl: Any, path: str) -> None:
    """Let a fit know what it was asked for before it was written."""
    if errors is not None:
        inside = f"{path}.{ERRORS}" if path else ERRORS
        known = value_of(errors, inside)
        vars(fit)[ERRORS] = guarded(inside, ERRORS, lambda: rules.like_parameters(known, fit.params))
    if icl is not None:
        inside = f"{path}.{ICL}" if path else ICL
        known = value_of(icl, inside)
        if type(known) is not float or not _has_icl(fit):
            raise refused(inside, f"an ICL is a number, of a mixture; got {known!r:.40} of {fit.distribution.name}.")
        vars(fit)[ICL] = known


def _has_icl(fit: Any) -> bool:
    return hasattr(type(fit.distribution), "certainty")


def guarded(path: str, name: str, make: Callable[[], Any]) -> Any:
    """What ``make`` makes of a part of a file; whatever it cannot make a value of is a fault of the file."""
    try:
        with np.errstate(all="ignore"):
            return make()
    except SufficeError as error:
        raise refused(path, str(error)) from error
    except (MemoryError, RecursionError) as error:
        raise refused(path, f"{name} is too large: {error}.") from error
    except Exception as error:
        raise refused(
            path, f"the parts of {name} do not fit together ({type(error).__name__}: {error!s:.200})."
        ) from error


def _mixture(**found: Any) -> Any:
    return values()["Mixture"](n=_number(found), **found)


def _classes(**found: Any) -> Any:
    return values()["Classes"](n=_number(found), **found)


def _number(found: dict[str, Any]) -> int:
    """How many members there are: as many as weights, so that no number of the file asks for memory."""
    weights = found.get("weights")
    if not isinstance(weights, np.ndarray) or weights.ndim != 1:
        msg = "the weights of a mixture are an array of one number for each member."
        raise UnsupportedError(msg)
    k, component = len(weights), found.get("components")
    copies = k * size_of(component) if isinstance(component, Distribution) and component.lone else 0
    if not budget.takes("numbers", copies):
        msg = f"{k} copies of its component, which is made of copies itself, are more than a file of this size holds."
        raise UnsupportedError(msg)
    return k


def _variational(**found: Any) -> Any:
    made: Any = values()["VariationalMixture"]
    return made.of(found["beliefs"], found["shares"], found["prior"])


def _selection(**found: Any) -> Any:
    return values()["Selection"](best=found["fits"][0], **found)


_BUILD: dict[str, Callable[..., Any]] = {
    "Mixture": _mixture,
    "Classes": _classes,
    "VariationalMixture": _variational,
    "Selection": _selection,
}
