"""Components of different kinds, side by side."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from suffice.core.distribution import Distribution
from suffice.core.family import Family
from suffice.engines.once import cached_property
from suffice.errors import ParameterError, UnsupportedError, naming
from suffice.models.compound import Compound, Table, filled
from suffice.models.stack_posterior import StackPosterior, diagonal
from suffice.queries.conditional import ConditionalColumn
from suffice.statistics.sums import Parts
from suffice.statistics.weights import Weights
from suffice.tables.labels import in_order
from suffice.tables.rows import is_several
from suffice.tables.sketch import take_rows
from suffice.tables.streams import Streamed, read
from suffice.types import Alert, Array, Data, Prior, Rows, Seed


class RowsByComponent(Table):
    """The same rows, as each component reads them."""


@dataclass(frozen=True, eq=False, repr=False)
class Stack(Compound, register=False):
    """A tuple of single components under the contract of a stack: unlike families, mixtures, anything.

    Weights (n, k) give column j to component j, and ``log_prob`` is (n, k). Nothing can be tied across components.

    Parameters
    ----------
    parts, fixed, tied : dict or sequence of distributions, set of str, set of str
        The components, each alone; a stack has no parameters of its own that could be fixed or tied.

    Examples
    --------
    >>> sf.Stack([sf.Normal(0, 1), sf.Exponential(1)]).log_prob([[1.0]]).round(3)
    array([[-1.419, -1.   ]])
    """

    heterogeneous: ClassVar[bool] = True

    parts: Any = ()

    def __post_init__(self) -> None:
        """Check the components."""
        if isinstance(self.parts, Distribution) or not is_several(self.parts):
            msg = f"Stack takes a list of distributions, as in Stack([Normal(), Laplace()]); got {self.parts!r:.60}."
            raise ParameterError(msg)
        object.__setattr__(self, "parts", tuple(self.parts))
        if not self.parts:
            msg = "Stack needs at least one component, as in Stack([Normal(), Laplace()])."
            raise ParameterError(msg)
        for index, component in enumerate(self.parts):
            if not isinstance(component, Distribution) or not component.lone:
                msg = f"Stack: component {index} must be a single distribution, not a stack; got {component!r:.60}."
                raise ParameterError(msg)
        object.__setattr__(self, "batch", (len(self.parts),))

    @cached_property
    def blocks(self) -> dict[Any, Any]:
        return dict(enumerate(self.parts))

    def rebuilt(self, components: Any) -> Self:
        """As many other components."""
        return replace(self, parts=tuple(components))

    @property
    def columns(self) -> int | None:
        known = {component.columns for component in self.parts}
        return known.pop() if len(known) == 1 else None

    @property
    def column_names(self) -> tuple[Any, ...] | None:
        known: tuple[Any, ...] | None = self.parts[0].column_names
        return known

    @property
    def stacked(self) -> Self:
        return self

    @property
    def unstacked(self) -> tuple[Any, ...]:
        return tuple(self.parts)

    def squeezed(self, axes: int) -> Any:
        return self.parts[0] if axes else self

    # ---- rows ---------------------------------------------------------------------------------------------------
    def materialize(self, x: Data) -> Any:
        return self.parts[0].materialize(x)

    def read(self, x: Data) -> Any:
        x = self.materialize(x)
        views = x.parts if isinstance(x, RowsByComponent) else [x] * len(self.parts)
        parts = []
        for index, (component, view) in enumerate(zip(self.parts, views, strict=True)):
            with naming(f"component {index}"):
                parts.append(component.read(view))
        return RowsByComponent(tuple(parts), len(parts[0]))

    def views(self, x: Any) -> tuple[Any, ...]:
        """The rows of each component; rows that a prototype read before it was stacked are the same for all."""
        kind = x.kind if isinstance(x, Streamed) else type(x)
        return x.parts if issubclass(kind, RowsByComponent) else (x,) * len(self.parts)

    def rows_of_units(self, rows: Data, weights: Weights) -> tuple[Any, Any]:
        return self.parts[0].rows_of_units(self.views(rows)[0], weights) if self.parts[0].is_chain else (rows, weights)

    def is_single(self, x: Data) -> bool:
        if isinstance(x, RowsByComponent):
            return False
        return bool(self.parts[0].is_single(x))

    def score_width(self, rows: Rows) -> int:
        return int(np.prod(np.shape(self.views(rows)[0])[1:])) + self.n_components

    def for_data(self, rows: Rows) -> Self:
        return self.rebuilt(
            component.for_data(view) for component, view in zip(self.parts, self.views(rows), strict=True)
        )

    def check_columns(self, rows: Rows) -> None:
        for index, (component, view) in enumerate(zip(self.parts, self.views(rows), strict=True)):
            with naming(f"component {index}"):
                component.check_columns(view)

    def warn_about_rows(self, rows: Rows, where: str = "") -> None:
        for index, (component, view) in enumerate(zip(self.parts, self.views(rows), strict=True)):
            component.warn_about_rows(view, f"{where}component {index}: ")

    def log_density(self, x: Rows) -> Array:
        paired = zip(self.parts, self.views(x), strict=True)
        return np.concatenate([component.stacked.log_density(view) for component, view in paired], axis=1)

    def log_prob_by_column(self, x: Rows) -> list[tuple[Any, Array]]:
        each = [
            component.stacked.log_prob_by_column(view)
            for component, view in zip(self.parts, self.views(x), strict=True)
        ]
        keys = [[key for key, _ in pieces] for pieces in each]
        if any(one != keys[0] for one in keys):  # components that take the columns together in different ways
            everything = tuple(dict.fromkeys(column for key in keys[0] for column in key))
            return [(everything, self.log_density(x))]
        return [(key, np.concatenate([pieces[i][1] for pieces in each], axis=1)) for i, key in enumerate(keys[0])]

    def unseen_levels(self, x: Rows) -> list[tuple[Any, Array]]:
        each = [
            dict(component.stacked.unseen_levels(view))
            for component, view in zip(self.parts, self.views(x), strict=True)
        ]
        common = [columns for columns in each[0] if all(columns in one for one in each)]
        return [(columns, np.all([one[columns] for one in each], axis=0)) for columns in common]

    def gather(self, x: Rows, w: Weights) -> Parts:
        parts = []
        for index, (component, view) in enumerate(zip(self.parts, self.views(x), strict=True)):
            with naming(f"component {index}"):
                parts.append(component.stacked.gather(view, w.of_component(index)))
        weights = [np.asarray(part.weight).reshape(1, -1) for part in parts]
        if len({weight.shape for weight in weights}) > 1:  # families that count cells beside families that count rows
            weights = [weight.mean(axis=1, keepdims=True) for weight in weights]
        return Parts(tuple(parts), np.concatenate(weights), of_components=True)

    # ---- as components of a mixture --------------------------------------------------------------------------------
    def preprocess(self, rows: Rows) -> Any:
        views = self.views(rows)
        return RowsByComponent(
            tuple(one.preprocess(view) for one, view in zip(self.parts, views, strict=True)), len(rows)
        )

    def can_generate(self, x: Rows) -> Array:
        """Which rows each component can have made, (n, k)."""
        each = [one.can_generate(view) for one, view in zip(self.parts, self.views(x), strict=True)]
        return np.stack(each, axis=1)

    def with_own_rows(self, x: Rows, weights: Weights) -> Iterator[tuple[Any, Any, Weights]]:
        """Each component with the rows that it can have made; with all, of which it names one, where there are none."""
        held = weights.dense()[:, 0]
        for one, view, able in zip(self.parts, self.views(x), self.can_generate(x).T, strict=True):
            kept = np.flatnonzero(able & (held > 0))
            if able.all() or not len(kept):
                yield one, view, weights
            else:
                yield one, take_rows(view, kept), Weights.of(held[kept], len(kept))

    def floor(self) -> Any:
        return [one.floor() for one in self.parts]

    def apply_floor(self, floor: list[Any] | None) -> Self:
        if floor is None:
            return self
        return self.rebuilt(one.apply_floor(least) for one, least in zip(self.parts, floor, strict=True))

    def on_floor(self, floor: list[Any] | None) -> Array:
        floors = [None] * self.n_components if floor is None else floor
        return np.array([bool(one.on_floor(least).any()) for one, least in zip(self.parts, floors, strict=True)])

    def floor_columns(self, floor: list[Any], index: int) -> tuple[Any, ...]:
        return () if floor is None else tuple(self.parts[index].floor_columns(floor[index], 0))

    def with_parameters_of(self, components: tuple[Any, ...], proportions: Array) -> Self:
        del proportions
        pairs = zip(self.parts, components, strict=True)
        return self.rebuilt(mine.with_parameters_of([one], np.ones(1)) for mine, one in pairs)

    def take_components(self, order: Array) -> Self:
        return self.rebuilt(self.parts[j] for j in order)

    # ---- learning -----------------------------------------------------------------------------------------------
    def start(self, x: Rows, weights: Any = None, rng: np.random.Generator | None = None) -> Self:
        rows = read(self, x)
        checked = Weights.of(weights, len(rows))
        pairs = enumerate(zip(self.parts, self.views(rows), strict=True))
        return self.rebuilt(one.start(view, checked.of_component(index), rng) for index, (one, view) in pairs)

    def m_step(self, stats: Parts, prior: list[Any] | None, floor: object) -> Self:
        self.check_family(stats)
        floors = floor if isinstance(floor, list) else [floor] * self.n_components
        whole = zip(self.parts, stats.parts, self.priors(prior), floors, strict=True)
        return self.rebuilt(component.m_step(part, belief, least) for component, part, belief, least in whole)

    def likelihood_cells(self, stats: Parts) -> Array:
        paired = zip(self.parts, stats.parts, strict=True)
        return np.array([[np.sum(component.log_likelihood(part))] for component, part in paired])

    def priors(self, prior: Prior) -> tuple[Any, ...]:
        """The prior of each component, from one for all or as many as there are components."""
        found = tuple(prior) if isinstance(prior, (list, tuple, StackPosterior)) else (prior,) * self.n_components
        if len(found) != self.n_components:
            text = f"there are {len(found)} priors for {self.n_components} components"
            raise ParameterError(f"{text}; give one for each, or one for all.")
        return found

    def log_prior(self, prior: list[Any]) -> Array:
        paired = zip(self.parts, self.priors(prior), strict=True)
        return np.array(
            [0.0 if belief is None else np.sum(component.log_prior(belief)) for component, belief in paired]
        )

    def default_prior(self, rows: Rows, weights: Weights, part: float = 1.0) -> Any:
        found = [one.default_prior(view, held, part) for one, view, held in self.with_own_rows(rows, weights)]
        return None if all(one is None for one in found) else found

    def resolve_block_prior(self, prior: Prior, rows: Rows, weights: Weights, part: float = 1.0) -> Any:
        beliefs, resolved = self.priors(prior), []
        paired = zip(self.with_own_rows(rows, weights), beliefs, strict=True)
        for index, ((component, view, held), belief) in enumerate(paired):
            with naming(f"component {index}", UnsupportedError):
                resolved.append(component.resolve_block_prior(belief, view, held, part))
        return prior if all(new is old for new, old in zip(resolved, beliefs, strict=True)) else resolved

    def blocks_without_prior(self, prior: list[Any]) -> tuple[str, ...]:
        paired = zip(self.parts, self.priors(prior), strict=True)
        return tuple(
            dict.fromkeys(name for component, belief in paired for name in component.blocks_without_prior(belief))
        )

    def posterior(self, stats: Parts, prior: Prior) -> StackPosterior:
        """What to believe of each component; ``prior`` is one for all or as many as there are components."""
        self.check_family(stats)
        paired = zip(self.parts, stats.parts, self.priors(prior), strict=True)
        return StackPosterior(self, tuple(component.posterior(part, belief) for component, part, belief in paired))

    def exposure(self, x: Rows) -> Array | None:
        """Of each component's cells side by side."""
        stacks = [component.stacked for component in self.parts]
        parts = [stack.exposure(view) for stack, view in zip(stacks, self.views(x), strict=True)]
        if all(part is None for part in parts):
            return None
        return np.concatenate([filled(part, stack, len(x)) for part, stack in zip(parts, stacks, strict=True)], axis=1)

    def exposed(self, stats: Parts) -> Array:
        paired = zip(self.parts, stats.parts, strict=True)
        return diagonal([component.stacked.exposed(part) for component, part in paired])

    def alerts_under(self, stats: Parts, prior: list[Any] | None) -> tuple[Alert, ...]:
        return tuple(alert.of_component(index) for index, alert in self.block_alerts(stats, prior))

    # ---- asking -------------------------------------------------------------------------------------------------
    def sample(self, n: int = 1, random_state: Seed = None) -> Any:
        """Draw rows of every component: (n, k, d) where all give numbers of one shape, else a tuple."""
        rng = np.random.default_rng(random_state)
        drawn = tuple(component.sample(n, rng) for component in self.parts)
        if any(isinstance(rows, dict) for rows in drawn) or len({np.shape(rows) for rows in drawn}) > 1:
            return drawn
        stacked = np.stack(drawn, axis=1)
        return stacked[..., None] if stacked.ndim == 2 else stacked

    @property
    def column_labels(self) -> tuple[Any, ...]:
        known: tuple[Any, ...] = self.parts[0].column_labels
        return known

    @property
    def vector_labels(self) -> frozenset[Any]:
        known: frozenset[Any] = self.parts[0].vector_labels
        return known

    @property
    def row_axes(self) -> int:
        return int(self.parts[0].row_axes)

    def with_column_names(self, names: tuple[Any, ...]) -> Any:
        return self.rebuilt(component.with_column_names(names) for component in self.parts)

    def arranged(self, columns: dict[Any, Any]) -> Any:
        return self.parts[0].arranged(columns)

    def marginal_columns(self, columns: list[int]) -> Any:
        return self.rebuilt(component.marginal_columns(columns) for component in self.parts)

    def marginal_of(self, labels: tuple[Any, ...]) -> Any:
        return self.rebuilt(component.marginal_of(labels) for component in self.parts)

    def marginal_column(self, label: Any) -> Any:
        return side_by_side([component.marginal_column(label) for component in self.parts])

    def column_levels(self, label: Hashable) -> tuple[Any, ...] | None:
        each = [component.column_levels(label) for component in self.parts]
        if any(levels is None for levels in each):
            return None
        same = all(levels == each[0] for levels in each)
        return each[0] if same else in_order({one for levels in each for one in levels})

    def conditional_column(self, x: RowsByComponent, label: Hashable) -> list[ConditionalColumn]:
        return [
            one.stacked.conditional_column(view, label)[0] for one, view in zip(self.parts, self.views(x), strict=True)
        ]

    def leave_one_out_log_prob(self, x: RowsByComponent) -> Iterator[tuple[Any, Array]]:
        each = [
            dict(one.stacked.leave_one_out_log_prob(view)) for one, view in zip(self.parts, self.views(x), strict=True)
        ]
        for label in self.column_labels:
            yield label, np.concatenate([densities[label] for densities in each], axis=1)

    def entropy(self) -> Any:
        return np.array([component.entropy() for component in self.parts])

    def kl(self, other: Any) -> Any:
        """D(self‖other) component by component."""
        if not isinstance(other, Distribution) or other.n_components != self.n_components:
            msg = f"Stack is compared with a stack of {self.n_components} components; got {other!r:.80}."
            raise UnsupportedError(msg)
        return np.array([mine.kl(theirs) for mine, theirs in zip(self.parts, other.unstacked, strict=True)])

    def __repr__(self) -> str:
        """Show the call that makes it."""
        return f"Stack([{', '.join(map(repr, self.parts))}])"


def side_by_side(components: Sequence[Any]) -> Any:
    """Components as one stack where they are of one kind and know their columns, else as a `Stack`."""
    components, first = tuple(components), components[0]
    kind, specs = _kind(first), first.specs()
    for one in components:
        if not one.ready or (one is not first and _kind(one) != kind):
            return Stack(components)
    if first.blocks:
        return first.rebuilt(side_by_side([one.blocks[key] for one in components]) for key in first.blocks)
    values = [{n: np.asarray(v) for n in specs if (v := getattr(one, n)) is not None} for one in components]
    shapes = {name: value.shape for name, value in values[0].items()}
    if not specs or any({name: value.shape for name, value in one.items()} != shapes for one in values[1:]):
        return Stack(components)
    lead = (len(components), *(1,) * (first.lacking - 1))
    return replace(first, **{n: np.stack([one[n] for one in values]).reshape(lead + s) for n, s in shapes.items()})


def _kind(one: Family) -> Any:
    """What components of one stack have in common: the family, what is fixed and tied, the columns and the options."""
    specs, blocks = one.specs(), one.blocks
    if blocks:
        return type(one), [(key, _kind(block)) for key, block in blocks.items()]
    if not specs:  # a mixture: side by side whatever it is
        return (type(one),)
    return type(one), one.batch, [(f.name, getattr(one, f.name)) for f in fields(one) if f.init and f.name not in specs]


def stacked_or_side_by_side(prototype: Family, k: int) -> Any:
    """K copies of a prototype: as one stack, or side by side where its kind has none."""
    try:
        return prototype.stack(k)
    except UnsupportedError:
        return Stack((prototype,) * k)


def shape_components(components: Family, rows: Data, k: int) -> Any:
    """The components made to fit the rows: where each of k reads the rows by itself, each to its own view of them."""
    kind = rows.kind if isinstance(rows, Streamed) else type(rows)
    if issubclass(kind, RowsByComponent) and not isinstance(components, Stack):
        components = Stack(components.unstacked * (k if components.lone else 1))
    return components.for_data(rows)
