"""The closed set of kinds that a file may name: suffice's own values, each written by the fields that make it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice import distributions
from suffice.core.distribution import Distribution
from suffice.em.alerts import are_alerts, as_alerts
from suffice.errors import UnsupportedError
from suffice.io import compact, rules
from suffice.io.messages import guarded
from suffice.io.shells import estimator_of, is_estimator, tree_of_estimator
from suffice.models.summaries import knows_icl
from suffice.numerics.low_rank import LowRank, stored
from suffice.storage import read_budget
from suffice.storage.plain import read, refused, written
from suffice.storage.read_budget import size_of

if TYPE_CHECKING:
    from suffice.em.result import Fit

# Fields that are not written: rows are not part of a model, and what follows from the other fields is made again.
LEFT_OUT = {
    "Fit": {"_data", "_mark", "_like"},
    "Mixture": {"n"},
    "Classes": {"n"},
    "HiddenMarkov": {"n"},
    "VariationalMixture": {
        *("components", "n", "weights", "hard", "floors", "measured", "offset", "barred", "fixed", "tied")
    },
    "Selection": {"best"},
}

# Names of fields in files that were written before they were called otherwise.
FORMER = {
    "Joint": {"members": "components", "evidence": "log_likelihood"},
    "Parts": {"of_members": "of_components"},
    "StackPosterior": {"members": "components"},
}

MADE_OF_FUNCTIONS = {"ExponentialFamily", "SeveralStatistics", "DensityPosterior"}  # a file holds data, never code
SPARING = {"Alert", "Cell", "Columns"}  # kinds whose fields are written only where they say something
BASE = ("fixed", "tied", "family", "pool")  # written last, and only where they say something
ERRORS, ICL = "standard_errors", "icl"  # that a fit was asked for go with it: they need the rows


@cache
def values() -> dict[str, type]:
    """Every kind of value, by its name."""
    from suffice.bayes.finite_posterior import FinitePosterior
    from suffice.bayes.mixed_posterior import MixedPosterior
    from suffice.bayes.posterior import Posterior
    from suffice.bayes.predictive import Averaged
    from suffice.core.responsibilities import Joint
    from suffice.densities.histogram import BinCounts, Histogram
    from suffice.densities.kernel import KDE
    from suffice.densities.nearest_neighbours import KNN
    from suffice.densities.rows import WeightedRows
    from suffice.distributions.label_posterior import LabelPosterior
    from suffice.distributions.laplace import Cuts
    from suffice.distributions.structured_wishart import StructuredWishart
    from suffice.distributions.tokens import Flags, Tokens
    from suffice.em.result import Fit
    from suffice.em.trace import Trace
    from suffice.message_parts import Cell, Columns
    from suffice.models.classifier import Classes
    from suffice.models.hidden_markov import HiddenMarkov
    from suffice.models.markov_chain import MarkovChain
    from suffice.models.markov_statistics import Chains
    from suffice.models.mixture import Mixture
    from suffice.models.product import Product
    from suffice.models.product_posterior import ProductPosterior
    from suffice.models.stack import Stack
    from suffice.models.stack_posterior import StackPosterior
    from suffice.models.variational import VariationalMixture
    from suffice.models.variational_posterior import VariationalPosterior
    from suffice.models.weight_posterior import DirichletShares, KnownShares, StickBreaking
    from suffice.schema.infer import Schema
    from suffice.schema.rules import Finding
    from suffice.selection.select import Selection
    from suffice.selection.table import Table
    from suffice.statistics.moments import Moments, Scatter
    from suffice.statistics.sums import Counts, Extremes, Parts, Sums
    from suffice.types import Alert

    public = (getattr(distributions, name) for name in distributions.NAMES)
    families = [one for one in public if isinstance(one, type) and one.__name__ not in MADE_OF_FUNCTIONS]
    others: tuple[Any, ...] = (
        *(Alert, Averaged, Cell, Classes, Columns, Flags, Mixture, Product, Schema, Stack, StructuredWishart, Tokens),
        *(HiddenMarkov, MarkovChain, VariationalMixture, Histogram, KDE, KNN, BinCounts, WeightedRows),
        *(Chains, Counts, Cuts, Extremes, Joint, Moments, Parts, Scatter, Sums),
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
def tree_of(value: object, path: str) -> Any:
    """A value as a tree of JSON."""
    if isinstance(value, LowRank):
        return compact.tree(value, path, tree_of)
    kind = type(value)
    if values().get(kind.__name__) is kind:
        return {"kind": kind.__name__, **_own(value, path)}
    if getattr(kind, "get_params", None) is not None:
        return tree_of_estimator(value, path, tree_of)
    if hasattr(kind, "__dataclass_fields__") and not isinstance(value, tuple):
        raise refused(path, _unknown(value))
    return written(value, path, tree_of)


def _unknown(value: object) -> str:
    name, module = type(value).__name__, type(value).__module__
    if module.startswith("suffice."):
        functions = "it is made of Python functions, and a file holds data, never code"
        why = functions if name in MADE_OF_FUNCTIONS else "files hold no values of this kind"
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
    found = {f: stored(value, f) if f in compact.FIELDS.get(name, ()) else getattr(value, f) for f in _fields(kind)}
    if name == "Categorical" and value.levels is not None:
        found["levels"] = value.named  # by column, as labels that are tuples themselves are else taken for columns
    if name == "Fit":
        if _has_icl(value) and knows_icl(value):
            _ = value.icl
        found |= {asked: vars(value)[asked] for asked in (ERRORS, ICL) if asked in vars(value)}
    kept = {f: one for f, one in found.items() if not _is_default(kind, f, one)}
    return {f: tree_of(one, f"{path}.{f}" if path else f) for f, one in kept.items()}


def _is_default(kind: type, name: str, value: object) -> bool:
    """Whether one of these fields has its default, so that the file leaves it out."""
    known = _fields(kind).get(name)
    if known is None or known.default is MISSING:  # a field of its own may have the same name
        return False
    return (
        not value
        if name in BASE
        else kind.__name__ in SPARING and type(value) is type(known.default) and (value == known.default)
    )


# ---- reading ---------------------------------------------------------------------------------------------------------
def value_of(node: Any, path: str) -> Any:
    """The value of a tree, with all that its kind asks of it."""
    if type(node) is dict and "kind" in node:
        return _made(node, path)
    return compact.value(node, path, value_of) if compact.is_compact(node) else read(node, path, value_of)


def _made(node: dict[str, Any], path: str) -> Any:
    name = node["kind"]
    kind = values().get(name) if isinstance(name, str) else None
    if kind is None:
        if isinstance(name, str) and is_estimator(name):
            return estimator_of(node, path, value_of)
        raise refused(path, f"there is no kind {name!r:.40}; was it written by a newer suffice?")
    expected = {"rows": None} if name == "Table" else _fields(kind)
    former = FORMER.get(name, {})
    given = {former.get(key, key): one for key, one in node.items() if key != "kind"}
    errors, icl = (given.pop(asked, None) if name == "Fit" else None for asked in (ERRORS, ICL))
    for key in given:
        if key not in expected:
            raise refused(path, f"{name} has no field {key!r:.40}; was it written by a newer suffice?")
    found = {key: value_of(one, f"{path}.{key}" if path else key) for key, one in given.items()}
    for key, f in expected.items():
        if key not in found and (f is None or (f.default is MISSING and f.default_factory is MISSING)):
            raise refused(path, f"{name} is without its {key!r}.")
        if isinstance(found.get(key), LowRank) and key not in compact.FIELDS.get(name, ()):
            raise refused(f"{path}.{key}" if path else key, f"{key!r} of {name} is not a matrix of many columns.")
        if key in found and f is not None:
            rules.check_type(name, key, str(f.type), found[key], path)
            found[key] = as_alerts(found[key]) if f.type == "tuple[Alert, ...]" else found[key]
    made = guarded(path, name, lambda: rules.checked(_BUILD.get(name, kind), name, found))
    if name == "Fit":
        _ask(made, errors, icl, path)
    return made


def _ask(fit: Fit, errors: dict[Any, Any] | None, icl: float | None, path: str) -> None:
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


def _mixture(**found: Any) -> Any:
    return values()["Mixture"](n=_number(found), **found)


def _classes(**found: Any) -> Any:
    return values()["Classes"](n=_number(found), **found)


def _hidden_markov(**found: Any) -> Any:
    return values()["HiddenMarkov"](n=_number(found, "initial", "emissions"), **found)


def _number(found: dict[str, Any], shares: str = "weights", parts: str = "components") -> int:
    """How many components there are: as many as weights, so that no number of the file asks for memory."""
    weights = found.get(shares)
    if not isinstance(weights, np.ndarray) or weights.ndim != 1:
        msg = f"the {shares} of a mixture, or of states, are an array of one number for each component."
        raise UnsupportedError(msg)
    k, component = len(weights), found.get(parts)
    copies = k * size_of(component) if isinstance(component, Distribution) and component.lone else 0
    if not read_budget.takes("numbers", copies):
        msg = f"{k} copies of its component, which is made of copies itself, are more than a file of this size holds."
        raise UnsupportedError(msg)
    return k


def _variational(**found: Any) -> Any:
    made: Any = values()["VariationalMixture"]
    return made.of(found["beliefs"], found["shares"], found["prior"])


def _table(rows: tuple[Any, ...]) -> Any:
    """The table of a selection; in files of earlier versions alerts are pairs of a code and a text."""
    current = ({**row, "alerts": as_alerts(row["alerts"])} if are_alerts(row.get("alerts")) else row for row in rows)
    return values()["Table"](current)


def _selection(**found: Any) -> Any:
    return values()["Selection"](best=found["fits"][0], **found)


_BUILD: dict[str, Callable[..., Any]] = {
    "Mixture": _mixture,
    "Classes": _classes,
    "HiddenMarkov": _hidden_markov,
    "VariationalMixture": _variational,
    "Selection": _selection,
    "Table": _table,
}
