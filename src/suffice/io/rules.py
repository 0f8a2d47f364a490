"""What must hold of a value that comes from a file beyond what its constructor checks.

Its fields have their types, its arrays shapes that fit together, and its parts belong to each other.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.bayes.posterior import Posterior
from suffice.core.family import Family
from suffice.core.parameters import SIMPLEX, as_parameter
from suffice.em.alerts import are_alerts
from suffice.em.result import Fit
from suffice.errors import DataError, UnsupportedError
from suffice.io import messages
from suffice.io.compact import is_covariance
from suffice.io.messages import require
from suffice.io.shapes import SHAPES, check_shapes
from suffice.models.columns import ByColumn, names_of
from suffice.models.mixture import Mixture
from suffice.numerics.low_rank import LowRank
from suffice.statistics.sums import Additive, Counts, Parts, Statistics
from suffice.storage.plain import refused
from suffice.tables.labels import is_missing
from suffice.tables.layout import FINEST
from suffice.tables.layout import KINDS as LAYOUT_KINDS
from suffice.types import Array

if TYPE_CHECKING:
    from suffice.bayes.finite_posterior import FinitePosterior
    from suffice.bayes.mixed_posterior import MixedPosterior
    from suffice.core.responsibilities import Joint
    from suffice.em.trace import Trace
    from suffice.models.product_posterior import ProductPosterior
    from suffice.models.stack_posterior import StackPosterior
    from suffice.models.variational_posterior import VariationalPosterior
    from suffice.models.weight_posterior import KnownShares, StickBreaking
    from suffice.schema.rules import Finding
    from suffice.selection.select import Selection

UNITS = {float(10.0**-p) for p in range(FINEST + 1)}


def _is_real(value: object) -> bool:
    return isinstance(value, (int, float, np.floating, np.integer)) and not isinstance(value, bool)


def _is_array(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.float64


def _of(*names: str) -> Callable[[Any], bool]:
    return lambda value: type(value).__name__ in names


def _each(*names: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, tuple) and all(type(one).__name__ in names for one in value)


# What the annotation of a field asks for, in words and as a question; others are left to constructors.
TYPES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "float": ("a number", _is_real),
    "float | None": ("a number or null", lambda value: value is None or _is_real(value)),
    "int": ("a whole number", lambda value: type(value) is int),
    "bool": ("true or false", lambda value: isinstance(value, (bool, np.bool_))),
    "str": ("text", lambda value: isinstance(value, str)),
    "Array": ("an array of numbers", lambda value: isinstance(value, LowRank) or _is_array(value)),
    "frozenset[str]": ("a set of names", lambda value: isinstance(value, frozenset) and all(map(_of("str"), value))),
    "tuple[Alert, ...]": ("pairs of a code and a text", are_alerts),
    "tuple[Hashable, ...]": ("a list", lambda value: isinstance(value, tuple)),
    "tuple[Any, ...]": ("a list", lambda value: isinstance(value, tuple)),
    "tuple[Any, ...] | None": ("a list or null", lambda value: value is None or isinstance(value, tuple)),
    "tuple[tuple[Any, ...], ...]": ("a list of lists", _each("tuple")),
    "dict[Any, Any]": ("a dictionary", lambda value: isinstance(value, dict)),
    "Distribution": ("a distribution", lambda value: isinstance(value, Family)),
    "Dirichlet": ("a Dirichlet", _of("Dirichlet")),
    "Beta | None": ("a Beta or null", _of("Beta", "NoneType")),
    "Trace": ("a Trace", _of("Trace")),
    "Table": ("a Table", _of("Table")),
    "Fit": ("a Fit", _of("Fit")),
    "tuple[Fit, ...]": ("a list of fits", _each("Fit")),
    "tuple[Finding, ...]": ("a list of findings", _each("Finding")),
    "VariationalMixture": ("a VariationalMixture", _of("VariationalMixture")),
}


def check_type(kind: str, name: str, annotation: str, value: object, path: str) -> None:
    """Refuse a field that is not of the type that its declaration says."""
    words, holds = TYPES.get(annotation, ("", None))
    if holds is not None and not holds(value):
        where = f"{path}.{name}" if path else name
        raise refused(where, f"{name!r} of {kind} is {words}; got {type(value).__name__} {value!r:.60}.")


def checked(make: Callable[..., Any], kind: str, found: dict[str, Any]) -> Any:
    """A value of its fields, if all that is asked of its kind holds."""
    if kind in SHAPES:
        check_shapes(kind, found)
    if kind == "MultivariateNormal":
        form = found.get("structure", "full")
        require(is_covariance(found.get("cov"), form), f"the matrix is not a covariance of the structure {form!r:.20}.")
    value = make(**found)
    rule = RULES.get(kind)
    if rule is not None:
        rule(value)
    return value


# ---- statistics ------------------------------------------------------------------------------------------------------
def _check_counts(stats: Counts) -> None:
    _, columns, width = stats.count.shape
    require(len(stats.levels) == columns, f"there are levels of {len(stats.levels)} columns, and counts of {columns}.")
    for levels in stats.levels:
        require(len(levels) <= width, f"there are {len(levels)} levels, and counts of {width}.")
        require(len(set(levels)) == len(levels) and not any(map(is_missing, levels)), "levels are different labels.")


def _check_parts(stats: Parts) -> None:
    require(stats.parts and all(isinstance(one, Additive) for one in stats.parts), "parts are statistics, one or more.")
    components = [len(np.asarray(part.weight)) for part in stats.parts]
    if stats.of_components:
        require(
            len(stats.parts) == len(stats.weight) and set(components) == {1}, "there is one part for each component."
        )
    else:
        widths = [np.asarray(part.weight).reshape(len(stats.weight), -1).shape[1] for part in stats.parts]
        alike = sum(widths) == stats.weight.shape[1] or set(widths) == {
            stats.weight.shape[1]
        }  # a hurdle's are the same
        same = set(components) == {len(stats.weight)} and alike
        require(same, "every part has as many components as the whole, and their columns are those of the whole.")


def _check_joint(stats: Joint) -> None:
    require(isinstance(stats.components, Additive), "the components of a Joint are statistics.")
    require(
        len(stats.components.weight) == len(stats.count), "a Joint has statistics of each component that it counts."
    )


def belong(distribution: Family, stats: Statistics) -> None:
    """Refuse statistics that are not of the distribution: of other components, columns, levels or families."""
    require(isinstance(distribution, Family), "a distribution was expected; got {!r:.60}.", distribution)
    require(isinstance(stats, Additive), "statistics were expected; got {!r:.60}.", stats)
    distribution.check_family(stats)
    _belong(distribution.stacked, stats)
    _ = distribution.log_likelihood(stats)


def _belong(stack: Any, stats: Any) -> None:
    if hasattr(stack, "log_weights"):  # a mixture
        require(type(stats).__name__ == "Joint" and len(stats.count) == stack.n, f"a mixture of {stack.n} has others.")
        _belong(stack.components.stacked, stats.components)
    elif stack.blocks:
        parts = stats.parts if isinstance(stats, Parts) else ()
        require(len(parts) == len(stack.blocks), f"{stack.name} has {len(stack.blocks)} parts.")
        for (key, block), part in zip(stack.blocks.items(), parts, strict=True):
            _belong(block.stacked, part)
            wide = 1 if block.row_vector else np.shape(part.weight)[-1]
            named = getattr(stack, "named", False) is True and not block.row_vector
            require(not named or len(names_of(key)) == wide, f"the block {key!r:.60} has {wide} columns.")
    else:
        weight, columns = np.asarray(stats.weight), stack.columns if stack.row_vector else stack.batch[-1]
        wide = stats.centre.shape[1] if stack.row_vector and hasattr(stats, "centre") else weight.shape[-1]
        same = len(weight) == stack.n_components and (
            wide == columns or (stack.row_vector and not hasattr(stats, "centre"))
        )
        if not same:
            msg = f"{stack.name} of {stack.n_components} components and {columns} columns has statistics of other ones."
            raise DataError(msg)


# ---- beliefs ---------------------------------------------------------------------------------------------------------
def _check_posterior(posterior: Posterior) -> None:
    likelihood, belief = posterior.likelihood, posterior.belief
    require(isinstance(belief, likelihood.conjugates), "{!r:.60} is not a belief about {}.", belief, likelihood.name)
    require(posterior.prior is None or isinstance(posterior.prior, Family), "the prior is a distribution.")
    shape = () if likelihood.lone else (likelihood.n_components,)
    require(np.shape(posterior.log_evidence) == shape, "there is one log_evidence for each component.")
    require(np.asarray(posterior.log_evidence).dtype.kind == "f", "log_evidence is a number.")
    _check_names(posterior.column_names, likelihood)
    if hasattr(posterior, "stated"):
        require(np.shape(posterior.stated) in ((), likelihood.batch), "'stated' is a number for each column.")
        require((np.asarray(posterior.stated, dtype=float) >= 0).all(), "'stated' is at least 0.")
    _ask(posterior)


def _check_finite(posterior: FinitePosterior) -> None:
    likelihood, candidates = posterior.likelihood, posterior.candidates
    require(isinstance(likelihood, Family), "the likelihood is a distribution.")
    require(len(candidates) > 0, "there is at least one candidate.")
    alike = all(type(one) is type(likelihood) and one.lone and one.ready for one in candidates)
    require(alike, f"each candidate is one {likelihood.name}.")
    for name in ("weights", "prior_weights"):
        shares: Array = as_parameter("FinitePosterior", name, getattr(posterior, name), SIMPLEX)
        require(shares.shape == (len(candidates),), f"there is one of the {name} for each candidate.")
    _check_names(posterior.column_names, likelihood)
    _ask(posterior)


def _check_mixed(posterior: MixedPosterior) -> None:
    likelihood, components = posterior.likelihood, posterior.components
    require(isinstance(likelihood, Family), "the likelihood is a distribution.")
    require(len(components) > 0, "there is at least one component.")
    alike = all(isinstance(one, Posterior) and type(one.likelihood) is type(likelihood) for one in components)
    require(alike, f"each component is a posterior of {likelihood.name}.")
    require(len({type(one.belief) for one in components}) == 1, "the components are beliefs of one kind.")
    for name in ("weights", "prior_weights"):
        shares: Array = as_parameter("MixedPosterior", name, getattr(posterior, name), SIMPLEX)
        require(shares.shape == (len(components),), f"there is one of the {name} for each component.")
    _check_names(posterior.column_names, likelihood)
    _ask(posterior)


def _ask(posterior: Any) -> None:
    """Have a belief answer; what does not fit together cannot. A question that its kind never answers is left out."""
    for question in ("mean", "log_evidence", "alerts"):
        getattr(posterior, question)
    with suppress(UnsupportedError):
        posterior.predictive()


def _check_names(names: tuple[Hashable, ...] | None, model: Family) -> None:
    columns = model.columns or 1
    require(names is None or len(names) == columns, f"there is a name for each of {columns} columns.")


def _check_product(posterior: ProductPosterior) -> None:
    keys = getattr(posterior.likelihood, "blocks", {})
    require(keys and list(posterior.beliefs) == list(keys), "there is a belief about each part, in their order.")
    _check_names(posterior.column_names, posterior.likelihood)
    _ask(posterior)


def _check_stack(posterior: StackPosterior) -> None:
    components = getattr(posterior.likelihood, "n_components", 0)
    require(len(posterior.components) == components, "there is a belief about each component.")
    _ask(posterior)


def _check_known(shares: KnownShares) -> None:
    require(shares.belief.ndim == 1, "known weights are one number for each component.")
    as_parameter("KnownShares", "weights", shares.belief, SIMPLEX)


def _check_sticks(shares: StickBreaking) -> None:
    require(shares.parts is None or len(shares.parts.batch) == 1, "the parts of a stick are one for each component.")


def _check_variational(mixture: Any) -> None:
    prior = mixture.prior
    require(
        isinstance(prior, dict) and set(prior) == {"weights", "components"}, "a prior is of weights and components."
    )
    require(type(prior["weights"]) is type(mixture.shares), "weights are believed as their prior is.")
    require(np.isfinite(mixture.learned) and mixture.log_weights.shape == (mixture.n,), "belief and prior do not fit.")
    _ = mixture.predictive


# ---- what is learned -------------------------------------------------------------------------------------------------
def _check_floor(components: Any, floor: Any) -> None:
    """A floor has the shape that its components give it: LAPACK is not to be asked about another."""
    if isinstance(floor, dict):
        require(set(floor) == set(components.blocks), "a product has a floor for each of its parts.")
        for key, own in floor.items():
            _check_floor(components.blocks[key], own)
    elif isinstance(floor, (tuple, list)):
        require(len(floor) == len(components.parts), "components of their own have a floor each.")
        for component, own in zip(components.parts, floor, strict=True):
            _check_floor(component, own)
    elif isinstance(floor, np.ndarray) and components.row_vector:
        d = components.columns
        require(floor.shape == (d, d), f"the floor of {d} columns is a matrix of as many; got {floor.shape}.")
    elif isinstance(floor, np.ndarray):
        require(0 not in floor.shape, "a floor is not empty.")


def _check_mixture(mixture: Mixture) -> None:
    require(mixture.fixed <= {"weights"} and not mixture.tied, "a mixture fixes its weights, or nothing.")
    if mixture.floors is not None and not isinstance(mixture.floors, float) and not mixture.components.lone:
        _check_floor(mixture.components, mixture.floors)
        mixture.components.on_floor(mixture.floors)
    labels = getattr(mixture, "labels", None)
    if labels is not None:
        require(isinstance(labels, tuple) and len(set(labels)) == len(labels), "labels are different names.")
        require(len(labels) in (0, mixture.n), f"{mixture.n} classes have as many labels; got {len(labels)}.")


def _check_wishart(belief: Any) -> None:
    from suffice.distributions.structured_wishart import KEPT

    require(belief.structure in KEPT, f"structure is one of {', '.join(KEPT)}; got {belief.structure!r:.40}.")
    require(0 <= belief.ridge < np.inf, "ridge is a number of at least 0.")


def _check_averaged(average: Any) -> None:
    require(isinstance(average.nodes, Family) and not average.nodes.lone, "nodes are a stack.")
    shares: Array = as_parameter("Averaged", "shares", average.shares, SIMPLEX)
    require(shares.shape == (average.nodes.n_components,), "there is a share of each node.")


def _check_trace(trace: Trace) -> None:
    for name in ("entropy", "seconds", "objective"):
        own = getattr(trace, name)
        require(own.shape in ((0,), trace.log_likelihood.shape), f"{name} has a number for each pass, or none.")
    require(trace.passes >= 0, "the number of passes is at least 0.")


def _check_fit(fit: Fit) -> None:
    require(np.isfinite(fit.n) and fit.n >= 0 and fit.missing >= 0, "numbers of rows are at least 0.")
    belong(fit.distribution, fit.statistics)
    require(all(map(_is_column_layout, fit.layout)), "layout has a name, a kind and a unit of each column.")


def _is_column_layout(one: tuple[Any, ...]) -> bool:
    if len(one) != 3 or one[1] not in LAYOUT_KINDS:
        return False
    hash(one[0])
    return one[2] is None or (type(one[2]) is float and one[2] in UNITS)


def like_parameters(errors: Any, params: Any) -> Any:
    """Standard errors in the form of the parameters that they are of."""
    if not isinstance(params, dict):
        require(np.shape(errors) == np.shape(params) and np.asarray(errors).dtype.kind == "f", "errors are numbers.")
        return errors
    require(isinstance(errors, dict) and list(errors) == list(params), "there is an error of each parameter.")
    found = {name: like_parameters(errors[name], one) for name, one in params.items()}
    return ByColumn(found, params.owners) if isinstance(params, ByColumn) else found


def _check_finding(finding: Finding) -> None:
    require(finding.family is None or isinstance(finding.family, Family), "the family is a distribution.")
    hash(finding.name)


def _check_believed(posterior: VariationalPosterior) -> None:
    belong(posterior.mixture, posterior.statistics)
    _check_names(posterior.column_names, posterior.mixture)


def _check_selection(selection: Selection) -> None:
    from suffice.selection.table import CRITERIA

    require(selection.criterion in CRITERIA, f"criterion is one of {', '.join(CRITERIA)}.")
    require(len(selection.table) == len(selection.fits), "there is a row of the table for each fit.")
    _ = repr(selection)


RULES: dict[str, Callable[[Any], None]] = {
    **messages.RULES,
    "Averaged": _check_averaged,
    "Classes": _check_mixture,
    "Counts": _check_counts,
    "Finding": _check_finding,
    "FinitePosterior": _check_finite,
    "Fit": _check_fit,
    "Joint": _check_joint,
    "KnownShares": _check_known,
    "LabelPosterior": _check_posterior,
    "MixedPosterior": _check_mixed,
    "Mixture": _check_mixture,
    "Parts": _check_parts,
    "Posterior": _check_posterior,
    "ProductPosterior": _check_product,
    "Selection": _check_selection,
    "StackPosterior": _check_stack,
    "StickBreaking": _check_sticks,
    "StructuredWishart": _check_wishart,
    "Trace": _check_trace,
    "VariationalMixture": _check_variational,
    "VariationalPosterior": _check_believed,
}
