"""Summaries of mixtures and products: each column under each component, and its information about the component."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from suffice.core.family import Family
from suffice.display.fit_summary import MANY, by_column, column_names, errors_of, strongest
from suffice.display.summary import Fact, Head, Parameter, Row, Summary
from suffice.display.values import ColumnSummary, count, levels_of, number, percent, score
from suffice.em.result import Fit
from suffice.errors import SufficeError
from suffice.models import column_information
from suffice.models.columns import names_of
from suffice.models.compound import width_of
from suffice.models.stack import Stack
from suffice.types import Array

CELLS = 2_000_000  # rows × columns × components of one more pass that a page still makes by itself
TOP = 3  # columns that are named for each component
FAINT = 0.01  # nats that are not worth a word
MEASURE = "info: mutual information of the column and the component, in nats"


@dataclass(frozen=True)
class Strip:
    """Columns with one name each, what components say of them (d × k), and D(component‖all) of each, (k, d)."""

    names: tuple[Any, ...]
    column_summaries: list[list[ColumnSummary]]
    divergences: Array
    family: str


# ---- components
# ---------------------------------------------------------------------------------------------------------
def of_mixture(mixture: Any, names: Sequence[Any] | None, fit: Fit | None) -> Summary:
    """The summary of a mixture: its components as columns, canonical order and shares as they stand."""
    labels = getattr(mixture, "labels", ()) or tuple(range(mixture.n))
    kinds = [_kind(one) for one in mixture.parts]
    unlike = len(set(kinds)) > 1
    title = _title(mixture, kinds)
    if not mixture.ready or mixture.components.lone:
        return Summary(title, judged=False)
    rows_of = None if fit is None else np.asarray(fit.statistics.count)
    heads = tuple(
        Head(
            label, float(mixture.weights[j]), kinds[j] if unlike else "", None if rows_of is None else float(rows_of[j])
        )
        for j, label in enumerate(labels)
    )
    strips = _strips(mixture.components, names, mixture.weights)
    informative = mixture.n > 1 and any(np.isfinite(one.divergences).any() for one in strips)
    rows = [row for strip in strips for row in _rows(strip, mixture.weights, informative=informative)]
    order = sorted(rows, key=lambda row: -row.information if row.information >= 0 else 1.0) if informative else rows
    if informative and len(order) > 1 and order[0].information > FAINT:
        order[0] = replace(order[0], note="separates components best")
    return Summary(
        title,
        statistics=() if fit is None else hidden(mixture, fit),
        components=heads,
        rows=tuple(order),
        measure=_measure(mixture) if informative else "",
        apart=_apart(strips, mixture.n) if informative and len(rows) > 1 else (),
        parameters=_parameters(mixture, names, fit),
        correlations=_once(tuple(_correlations(one, names) for one in mixture.parts)),
        judged=False,
    )


def _parameters(mixture: Family, names: Sequence[Any] | None, fit: Fit | None) -> tuple[Parameter, ...]:
    """The numbers of a mixture, unless there are too many to be read; with standard errors that are there already."""
    known = {} if fit is None else fit.__dict__
    return mixture.numbers(names, known.get("standard_errors")) if mixture.n_parameters <= MANY else ()


def numbers_of_mixture(mixture: Any, names: Sequence[Any] | None, errors: Any, reach: float) -> tuple[Parameter, ...]:
    """The weight and every number of each component; those of a mixture inside go by places such as 0/1."""
    labels = getattr(mixture, "labels", ()) or tuple(range(mixture.n))
    unknown = np.full(mixture.n, np.nan)
    error = unknown if errors is None else np.asarray(errors["weights"])
    ends = np.clip(np.stack([mixture.weights - reach * error, mixture.weights + reach * error]), 0.0, 1.0).T
    found = []
    for j, (label, one) in enumerate(zip(labels, mixture.parts, strict=True)):
        at, low, high = float(mixture.weights[j]), float(ends[j, 0]), float(ends[j, 1])
        found.append(Parameter(None, "weight", at, float(error[j]), low, high, "weights" in mixture.fixed, label))
        own = one.numbers(names, _of_component(mixture.components, errors, j), reach)
        found += [replace(two, component=label if two.component is None else f"{label}/{two.component}") for two in own]
    return tuple(found)


def _of_component(stack: Any, errors: Any, j: int) -> Any:
    """The standard errors of one component, in the layout of the component alone."""
    if errors is None or isinstance(stack, Stack):
        return None if errors is None else errors[j]
    if stack.blocks:
        return {key: _of_component(block, errors[key], j) for key, block in stack.blocks.items()}
    return {name: errors[name][j] for name in stack.params}


def numbers_of_product(
    product: Family, names: tuple[Hashable, ...] | None, errors: Any, reach: float
) -> tuple[Parameter, ...]:
    """The numbers of each block under the names of its columns."""
    own = _block_names(product, names)
    return tuple(
        replace(one, column=key) if one.column is None else one  # a weight of hidden components
        for key, block in product.blocks.items()
        for one in block.numbers(own[key], None if errors is None else errors[key], reach)
    )


def _title(mixture: Any, kinds: list[str]) -> str:
    kind = kinds[0] if len(set(kinds)) == 1 and kinds[0] not in ("Product", "Mixture") else ""
    noun = "class" if getattr(mixture, "labels", ()) else "component"
    plural = noun + ("" if mixture.n == 1 else "es" if noun == "class" else "s")
    hard = ", each row given to one as a whole," if mixture.hard else ""
    if noun == "class":
        return f"{mixture.n} {plural}{f' of {kind}' if kind else ''}{hard}"
    return f"Mixture of {mixture.n} {f'{kind} ' if kind else ''}{plural}{hard}"


def _kind(one: Family) -> str:
    name = str(one.name)
    form = getattr(one, "structure", "full")
    return name if form == "full" or not isinstance(form, str) else f"{name} ({form})"


def _measure(mixture: Any) -> str:
    w = np.asarray(mixture.weights)
    whole = float(-np.sum(w[w > 0] * np.log(w[w > 0])))
    who = "class" if getattr(mixture, "labels", ()) else "component"
    return MEASURE.replace("component", who) + f"; knowing the {who} is worth {whole:.2f}"


def hidden(mixture: Any, fit: Any) -> tuple[Fact, ...]:
    """ICL and the entropy of who made which row, where they are there or quickly found."""
    found = []
    if knows_icl(fit):
        found.append(Fact("ICL", fit.icl, f"ICL {score(fit.icl)}"))
    entropy = np.sum(getattr(fit.statistics, "entropy", np.nan))
    if mixture.n > 1 and np.isfinite(entropy) and fit.n > 0 and not mixture.hard_assignment:
        share = float(entropy) / (fit.n * np.log(mixture.n))
        found.append(Fact("entropy", share, f"entropy {abs(share):.2f}"))
    return tuple(found)


def knows_icl(fit: Fit) -> bool:
    """Whether a mixture's ICL is known, or its rows are there, as they were, and few enough for one more pass."""
    if "icl" in fit.__dict__:
        return True
    data = fit.data
    small = data is not None and bool(np.prod(np.shape(data[0])) * fit.distribution.n <= CELLS)
    return small and bool(fit.intact)


def _rows(strip: Strip, weights: Array, *, informative: bool) -> list[Row]:
    some = weights > 0
    mean = (weights[some, None] * strip.divergences[some]).sum(axis=0)
    information = mean.tolist() if informative else [float("nan")] * len(strip.names)
    parts = zip(strip.names, strip.column_summaries, information, strict=True)
    return [Row(name, tuple(cells), strip.family, nats) for name, cells, nats in parts]


def _apart(strips: list[Strip], k: int) -> tuple[tuple[tuple[Any, float], ...], ...]:
    """The columns that set each component apart from the whole, best first."""
    names = [name for strip in strips for name in strip.names]
    matrix = np.nan_to_num(np.concatenate([strip.divergences for strip in strips], axis=1))
    found = []
    for j in range(k):
        order = np.argsort(-matrix[j], kind="stable")[:TOP]
        found.append(tuple((names[i], float(matrix[j, i])) for i in order if matrix[j, i] >= FAINT))
    return tuple(found)


# ---- columns ---------------------------------------------------------------------------------------------------------
def _strips(stack: Family, names: Sequence[Any] | None, weights: Array) -> list[Strip]:
    """The columns of a stack of components, block by block."""
    if isinstance(stack, Stack):
        return _unlike(stack, names, weights)
    if stack.blocks:
        own = _block_names(stack, names)
        return [strip for key, block in stack.blocks.items() for strip in _strips(block, own[key], weights)]
    columns, k = stack.marginals, stack.n_components
    titles = column_names(stack, names)
    if columns is None:
        event = titles if len(titles) == 1 else (tuple(titles),)
        readings = asked(lambda: stack.column_summaries()[:1], [[ColumnSummary((stack.name,))] * k])
        return [Strip(event, readings, column_information.drawn(stack, weights)[:, None], stack.name)]
    readings = asked(stack.column_summaries, None) or _by_parameters(stack, len(titles))
    found = asked(lambda: column_information.divergences(columns, weights), np.full((k, len(titles)), np.nan))
    return [Strip(titles, readings, found, stack.name)]


def asked(question: Callable[[], Any], otherwise: object) -> Any:
    """An answer, or what stands for it: a family of a user's own need not have a mean, quantiles or draws."""
    try:
        return question()
    except (SufficeError, AttributeError, TypeError, ValueError, ArithmeticError):
        return otherwise


def _by_parameters(stack: Any, d: int) -> list[list[ColumnSummary]]:
    """A family that has no mean: its numbers by name."""
    found = []
    for j in range(d):
        cells = []
        for component in stack.unstacked:
            values = {
                name: float(np.ravel(value)[min(j, np.size(value) - 1)]) for name, value in component.params.items()
            }
            cells.append(ColumnSummary(tuple(f"{name} {number(v, 3)}" for name, v in values.items()), values))
        found.append(cells)
    return found


def _block_names(product: Any, names: Sequence[Any] | None) -> dict[Any, Any]:
    """The names of the columns of each block: its key, or its share of the names of the data."""
    if product.named:
        return {key: names_of(key) for key in product.blocks}
    widths = [width_of(block) or 1 for block in product.blocks.values()]
    cuts = np.cumsum([0, *widths])
    whole = tuple(names) if names is not None and len(names) == cuts[-1] else tuple(range(int(cuts[-1])))
    return {key: whole[cuts[i] : cuts[i + 1]] for i, key in enumerate(product.blocks)}


def _unlike(stack: Any, names: Sequence[Any] | None, weights: Array) -> list[Strip]:
    """Components that are not one stack: column by column, as each of them has it."""
    each = [_families_of(one, names) for one in stack.parts]
    columns = list(dict.fromkeys(name for own in each for name in own))
    found = []
    for name in columns:
        components = [own.get(name, []) for own in each]
        families = dict.fromkeys(family.name for parts in components for _, family in parts)
        family = next(iter(families)) if len(families) == 1 else ""
        none = np.full(len(each), np.nan)
        apart = asked(partial(column_information.apart, components, weights), none) if all(components) else none
        found.append(Strip((name,), [[_joint_reading(parts) for parts in components]], apart[:, None], family))
    return found


def _families_of(one: Any, names: Sequence[Any] | None, share: float = 1.0) -> dict[Any, list[tuple[float, Any]]]:
    """The columns of a lone distribution, each as a mixture of (share, stack of one cell)."""
    found: dict[Any, list[tuple[float, Any]]] = {}
    if hasattr(one, "log_weights"):
        parts = [_families_of(part, names, share * float(w)) for part, w in zip(one.parts, one.weights, strict=True)]
    elif one.blocks:
        own = _block_names(one, names)
        parts = [_families_of(block, own[key], share) for key, block in one.blocks.items()]
    else:
        columns, titles = one.marginals, column_names(one, names)
        if columns is None:
            return {titles[0] if len(titles) == 1 else tuple(titles): [(share, one.stacked)]}
        return {name: [(share, columns.reshaped(lambda v, j=j: v[:, j : j + 1]))] for j, name in enumerate(titles)}
    for part in parts:
        for name, families in part.items():
            found.setdefault(name, []).extend(families)
    return found


def _joint_reading(parts: list[tuple[float, Any]]) -> ColumnSummary:
    """What a component says of a column: as its family does, or part by part with their shares."""
    readings: list[ColumnSummary] = [
        (asked(family.column_summaries, None) or _by_parameters(family, 1))[0][0] for _, family in parts
    ]
    if not readings:
        return ColumnSummary(("–",))
    if len(readings) == 1:
        found: ColumnSummary = readings[0]
        return found
    total = sum(share for share, _ in parts) or 1.0
    if all(one.levels for one in readings):
        return _averaged([share / total for share, _ in parts], readings)
    order = sorted(range(len(parts)), key=lambda i: -parts[i][0])
    pieces = tuple(f"{percent(parts[i][0] / total)} {' '.join(readings[i].pieces[:1])}" for i in order)
    return ColumnSummary(pieces, {f"{i}: {name}": v for i in order for name, v in readings[i].numbers.items()})


def _averaged(shares: list[float], readings: list[ColumnSummary]) -> ColumnSummary:
    levels = list(dict.fromkeys(level for one in readings for level in one.numbers))
    probs = np.array(
        [sum(s * one.numbers.get(level, 0.0) for s, one in zip(shares, readings, strict=True)) for level in levels]
    )
    return levels_of(levels, probs)


def _once(found: tuple[Any, ...]) -> tuple[Any, ...]:
    """The correlations of each component, or those of all where they share them."""
    return found[:1] if len(found) > 1 and len(set(found)) == 1 else found


def _correlations(one: Family, names: Sequence[Any] | None) -> tuple[tuple[Any, Any, float], ...]:
    """The strongest correlations within a component."""
    if hasattr(one, "log_weights"):
        return ()
    if one.blocks:
        own = _block_names(one, names)
        pairs = [pair for key, block in one.blocks.items() for pair in _correlations(block, own[key])]
        return tuple(sorted(pairs, key=lambda pair: -abs(pair[2]))[:TOP])
    return strongest(one, column_names(one, names), TOP)


def of_classes(classes: Any, names: Any, shell: Any) -> Summary:
    """The summary of a classifier: its classes as columns, and how it learned them."""
    own = of_mixture(classes, names, None)
    stats = getattr(shell, "statistics_", None)
    if stats is None:
        return replace(own, title=f"{type(shell).__name__}, {count(classes.n, 'class')}, of known distributions")
    n, d = float(np.sum(stats.count)), getattr(shell, "n_features_in_", classes.columns or 1)
    of = f" of {own.title.partition(' of ')[2]}" if " of " in own.title else ""
    seen = f"{count(n, 'row')} × {count(d, 'column')}"
    title = f"{type(shell).__name__}, {count(classes.n, 'class')}{of}, {seen}"
    numbers = [Fact("parameters", classes.n_parameters, count(classes.n_parameters, "parameter"))]
    log_likelihood = classes.measured_log_likelihood(stats)
    if np.isfinite(log_likelihood):
        numbers.insert(
            0, Fact("log-likelihood", log_likelihood, f"log-likelihood of rows and classes {score(log_likelihood)}")
        )
    state = "converged" if shell.converged_ else "NOT converged"
    return replace(
        own,
        title=title,
        statistics=tuple(numbers),
        convergence="exact after one pass over the data"
        if stats.exact
        else f"{state} after {count(shell.n_iter_, 'pass')}",
        components=tuple(replace(head, rows=float(stats.count[j])) for j, head in enumerate(own.components)),
        alerts=tuple(shell.alerts_),
        judged=True,
    )


# ---- a product alone -------------------------------------------------------------------------------------------------
def of_product(product: Family, names: Sequence[Any], fit: Fit) -> Summary:
    """The summary of a product that stands alone: a row for each column with its parameters and standard errors."""
    if not product.lone:
        return Summary(f"{product.n_components} components", judged=False)
    title = "Product" if fit is not None else f"Product of {product.columns or len(product.blocks)} columns"
    if not product.ready:
        rows = tuple(
            Row(name, (ColumnSummary(("",)),), block.name)
            for key, block in product.blocks.items()
            for name in names_of(key)
        )
        return Summary(title, components=(Head(""),), rows=rows, judged=False)
    errors, own = errors_of(fit), _block_names(product, names)
    found: list[Row] = []
    pairs: list[tuple[Any, Any, float]] = []
    for key, block in product.blocks.items():
        if block.blocks or hasattr(block, "log_weights"):
            part = block.summarize(own[key])
            found += [
                replace(row, cells=(_folded(part, row),), information=float("nan"), note="", family=_folded_family(row))
                for row in part.rows
            ]
            continue
        columns = column_names(block, own[key])
        own_numbers = block.numbers(columns, None if errors is None else errors[key])
        found += by_column(block, columns, own_numbers, None if errors is None else errors[key])
        pairs += strongest(block, columns, TOP)
    return Summary(title, components=(Head(""),), rows=tuple(found), parameters=product.numbers(names, errors),
                    correlations=(tuple(pairs),), judged=False)  # fmt: skip


def _folded(part: Summary, row: Row) -> ColumnSummary:
    """A column of a mixture inside a product: its components one after the other."""
    if len(row.cells) == 1:
        return row.cells[0]
    pieces = [
        f"{percent(head.share or 0.0)} {_spelt(' '.join(cell.pieces[:1]))}"
        for head, cell in zip(part.components, row.cells, strict=True)
    ]
    return ColumnSummary(tuple(pieces))


def _spelt(piece: str) -> str:
    """A mean and a spread in words: beside it ± is a standard error."""
    mean, _, spread = piece.partition(" ± ")
    return f"{mean} (std {spread})" if spread else piece


def _folded_family(row: Row) -> str:
    """The family of a column of a mixture inside a product."""
    return row.family if len(row.cells) == 1 else f"{len(row.cells)} × {row.family}".removesuffix(" × ")
